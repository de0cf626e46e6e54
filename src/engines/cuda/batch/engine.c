/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's engine for batches (engines/interface/batch.h): sorts the matrices by order, copies
 * lists that lie in host memory to the device and back, and calls the module. */
#include "engines/interface/batch.h"
#include "kernels/batch.h"
#include "engines/cuda/module/load.h"

typedef struct call {
    mpk_context *ctx;
    const mpki_batch_call *job;
    const mpki_device *device;
    mpki_cuda_batch todo;
    mpki_cuda_bin bin[MPK_BATCH_MAX_N + 1];
    int32_t *order; /* host: the matrices by order */
    char *memory;   /* device; NULL: none is wanted */
} call;

static mpk_status status_of(call *c, int status) {
    if (!mpk_failed(status)) return (mpk_status)status;
    return mpki_error(c->ctx, (mpk_status)status, "batch", -1, "%s",
                      c->device->table->last_error(c->device->cuda));
}

/* ---- arguments that only the device can judge ---- */

static mpk_status check_pointer(call *c, const char *name, const void *p) {
    if (!p || c->device->table->is_device(c->device->cuda, p)) return MPK_OK;
    return mpki_error(c->ctx, MPK_ERR_ARGUMENT, "batch", -1,
                      "%s is said to lie in device memory, and does not", name);
}

static mpk_status check_pointers(call *c) {
    const mpki_batch_call *job = c->job;
    const mpk_batch_array *arrays[] = {job->a, job->b, job->c, job->d};
    static const char *const names[] = {"a", "b", "c", "d"};
    mpk_status status = MPK_OK;
    for (int k = 0; k < 4 && !mpk_failed(status); k++)
        if (arrays[k]) status = check_pointer(c, names[k], arrays[k]->data);
    if (!mpk_failed(status) && job->batch.pivots_memory == MPK_DEVICE)
        status = check_pointer(c, "pivots", job->pivots);
    if (!mpk_failed(status) && job->batch.results_memory == MPK_DEVICE) {
        status = check_pointer(c, "results->outcome", job->results.outcome);
        if (!mpk_failed(status))
            status = check_pointer(c, "results->inertia", job->results.inertia);
    }
    return status;
}

/* ---- matrices by order ---- */

static mpk_status sort(call *c) {
    const mpk_batch *batch = &c->job->batch;
    int64_t start[MPK_BATCH_MAX_N + 2] = {0};
    if (!batch->sizes || c->job->product) {
        c->bin[0] = (mpki_cuda_bin){0, batch->count, batch->n};
        c->todo.bins = 1;
        return MPK_OK;
    }
    c->order = MPKI_NEW(c->ctx, "batch", batch->count, int32_t);
    if (!c->order) return mpki_failed(c->ctx);
    for (int64_t b = 0; b < batch->count; b++) start[batch->sizes[b] + 1]++;
    for (int n = 0; n <= batch->n; n++) {
        c->bin[n] = (mpki_cuda_bin){start[n], start[n + 1], n};
        start[n + 1] += start[n];
    }
    c->todo.bins = batch->n + 1;
    for (int64_t b = 0; b < batch->count; b++) c->order[start[batch->sizes[b]]++] = (int32_t)b;
    return MPK_OK;
}

/* ---- lists between the host and the device ---- */

typedef struct list {
    void *host;
    int64_t ints;
    int32_t **device; /* where the address on the device goes */
    bool in, out;
} list;

static mpk_status move(call *c, const list *x, bool in) {
    const mpki_cuda_table *table = c->device->table;
    const int64_t bytes = x->ints * (int64_t)sizeof(int32_t);
    return status_of(c, in ? table->copy(c->device->cuda, *x->device, bytes, x->host, bytes, bytes,
                                         1, 1, c->todo.stream)
                           : table->copy(c->device->cuda, x->host, bytes, *x->device, bytes, bytes,
                                         1, 0, c->todo.stream));
}

/* Device memory, of the batches' memory, for lists that lie in host memory; those that are read
 * are sent there. */
static mpk_status place(call *c, list *lists, int count) {
    const mpki_cuda_batch_table *batches = c->device->table->batch;
    int64_t at[8], bytes = 0;
    void *memory = NULL;
    for (int k = 0; k < count; k++) {
        at[k] = bytes;
        if (lists[k].host) bytes += (lists[k].ints * (int64_t)sizeof(int32_t) + 255) / 256 * 256;
    }
    if (bytes == 0) return MPK_OK;
    mpk_status status =
        status_of(c, batches->memory(c->device->cuda, bytes, c->todo.stream, &memory));
    c->memory = memory;
    for (int k = 0; k < count && !mpk_failed(status); k++) {
        if (!lists[k].host) continue;
        *lists[k].device = (int32_t *)(void *)(c->memory + at[k]);
        if (lists[k].in && lists[k].ints > 0) status = move(c, &lists[k], true);
    }
    return status;
}

static mpki_cuda_operand operand(const mpk_batch_array *x) {
    mpki_cuda_operand y = {0};
    if (x) y = (mpki_cuda_operand){x->data, x->stride, x->ld, x->width, (int32_t)x->layout};
    return y;
}

static void describe(call *c) {
    const mpki_batch_call *job = c->job;
    const mpk_batch *batch = &job->batch;
    const mpk_batch_product *p = job->product;
    mpki_cuda_batch *t = &c->todo;
    t->scalar = batch->scalar;
    t->verb = p ? MPKI_CUDA_PRODUCT : job->b ? MPKI_CUDA_SOLVE : MPKI_CUDA_FACTORIZE;
    t->method = (int32_t)job->method, t->pivoting = (int32_t)batch->pivoting;
    t->hermitian = batch->symmetry == MPK_HERMITIAN;
    t->n = batch->n, t->count = batch->count;
    t->kernels = (int32_t)batch->kernels;
    t->zero_tolerance = batch->zero_tolerance < 0 ? -1 : batch->zero_tolerance;
    t->a = operand(job->a), t->b = operand(job->b), t->c = operand(job->c);
    t->d = operand(job->d);
    t->nrhs = job->nrhs;
    if (p) {
        t->rows = p->m, t->cols = p->n, t->inner = p->k, t->transpose_b = p->transpose_b;
        t->alpha = p->alpha, t->beta = p->beta;
    }
    t->pivots = job->pivots;
    t->outcome = job->results.outcome, t->inertia = job->results.inertia;
    t->bin = c->bin;
    t->wait = !batch->asynchronous;
    t->stream = batch->stream;
}

static mpk_status run(mpk_context *ctx, const mpki_batch_call *job) {
    const mpk_batch *batch = &job->batch;
    call c = {.ctx = ctx, .job = job, .device = mpki_cuda_open(ctx, batch->device)};
    if (!c.device) return mpki_failed(ctx);
    if (!c.device->table->batch)
        return mpki_error(ctx, MPK_ERR_DEVICE, "batch", -1, "the CUDA module has no batches");
    if (batch->count > INT32_MAX)
        return mpki_error(ctx, MPK_ERR_SIZE, "batch", batch->count,
                          "a batch on a device has at most 2^31 - 1 matrices");
    mpk_status status = check_pointers(&c);
    if (!mpk_failed(status)) status = sort(&c);
    if (mpk_failed(status)) goto done;
    describe(&c);
    const bool factorize = c.todo.verb == MPKI_CUDA_FACTORIZE;
    const bool given = !factorize || batch->pivoting == MPK_PIVOTING_STATIC;
    const int64_t pivots = batch->count * batch->n * (job->method == MPK_BATCH_LDU ? 2 : 1);
    const bool host = batch->results_memory == MPK_HOST, moved = batch->pivots_memory == MPK_HOST;
    int32_t *order = NULL, *sizes = NULL;
    list lists[] = {
        {c.order, batch->count, &order, true, false},
        {job->product ? (void *)(uintptr_t)job->product->sizes : NULL, 3 * batch->count, &sizes,
         true, false},
        {moved ? job->pivots : NULL, pivots, &c.todo.pivots, given, !given},
        {host ? job->results.outcome : NULL, batch->count, &c.todo.outcome, false, true},
        {host ? job->results.inertia : NULL, 3 * batch->count, &c.todo.inertia, false, factorize},
    };
    enum { LISTS = sizeof lists / sizeof *lists };
    /* matrices of mixed orders: where no pivot is written, the caller's values stay */
    if (factorize && !given && batch->sizes) lists[2].in = true;
    status = place(&c, lists, LISTS);
    c.todo.order = order, c.todo.sizes = sizes;
    if (!mpk_failed(status))
        status = status_of(&c, c.device->table->batch->run(c.device->cuda, &c.todo));
    for (int k = 0; k < LISTS && !mpk_failed(status); k++)
        if (lists[k].host && lists[k].out && lists[k].ints > 0) status = move(&c, &lists[k], false);
    if (c.memory && !mpk_failed(status))
        status = status_of(&c, c.device->table->batch->done(c.device->cuda, c.todo.stream));
    if (c.todo.wait && !mpk_failed(status))
        status = status_of(&c, c.device->table->synchronize(c.device->cuda, c.todo.stream));
    if (!mpk_failed(status))
        status = c.todo.failed ? MPK_PARTIAL : c.todo.singular ? MPK_SINGULAR : MPK_OK;
done:
    mpki_release(ctx, c.order);
    return status;
}

static const mpki_batch_engine table = {run};

const mpki_batch_engine *mpki_cuda_batch_engine(mpk_context *ctx, int device) {
    return mpki_cuda_open(ctx, device) ? &table : NULL;
}
