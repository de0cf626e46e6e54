/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches for an accelerator: lists of tuples, and kernels run on them. */
#include "core/trace.h"
#include "offload.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

mpk_status mpki_offload_status(mpki_blocks *f, mpk_status status, const char *what) {
    if (!mpk_failed(status) || mpk_failed(mpki_failed(f->stages->ctx))) return status;
    const mpk_accelerator *a = f->offload->on->table;
    const char *why = a->last_error ? a->last_error(a->self) : NULL;
    return mpki_error(f->stages->ctx, status, STAGE, -1, "%s: %s failed%s%s", a->name, what,
                      why ? ": " : "", why ? why : "");
}

/* ---- memory ---------------------------------------------------------------------------------- */

void mpki_offload_let_go(const mpk_accelerator *a, void *const *list, int64_t count) {
    for (int64_t k = 0; list && k < count; k++)
        if (list[k]) a->release(a->self, list[k]);
}

mpk_status mpki_offload_block(mpki_blocks *f, void **p) {
    const mpk_accelerator *a = f->offload->on->table;
    const int64_t bytes =
        a->stored_bytes ? a->stored_bytes(a->self, f->offload->n) : mpki_offload_bytes(f->offload);
    return mpki_offload_status(f, a->allocate(a->self, bytes, p), "memory for a block");
}

/* A dense block of the accelerator's memory, number k. */
static mpk_status scratch(mpki_blocks *f, int64_t k, void **p) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    while (k >= o->scratches) {
        void **more =
            mpki_resize(f->stages->ctx, STAGE, o->scratch, o->scratches + 1, sizeof *more);
        if (!more) return mpki_failed(f->stages->ctx);
        o->scratch = more;
        const mpk_status status =
            mpki_offload_status(f, a->allocate(a->self, mpki_offload_bytes(o), &more[o->scratches]),
                                "memory for a block");
        if (mpk_failed(status)) return status;
        o->scratches++;
    }
    *p = o->scratch[k];
    return MPK_OK;
}

/* Load or store blocks, dense <-> at rest. */
static mpk_status convert(mpki_blocks *f, bool store, int64_t count, void **dense, void **rest) {
    const mpk_accelerator *a = f->offload->on->table;
    const mpk_accelerator_batch b = {.n = f->offload->n, .count = count, .block = {dense, rest}};
    return mpki_offload_status(f, (store ? a->store : a->load)(a->self, &b),
                               store ? "store" : "load");
}

mpk_status mpki_offload_put(mpki_blocks *f, void *to, const void *from) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    void *dense = to;
    mpk_status status = a->store ? scratch(f, 0, &dense) : MPK_OK;
    if (!mpk_failed(status))
        status = mpki_offload_status(f, a->upload(a->self, dense, from, mpki_offload_bytes(o)),
                                     "upload");
    if (!mpk_failed(status) && a->store) status = convert(f, true, 1, &dense, &to);
    o->on->report.uploads++;
    o->on->report.bytes += mpki_offload_bytes(o);
    return status;
}

mpk_status mpki_offload_put_all(mpki_blocks *f, int64_t count, void *const *to, const void *from) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    const int64_t bytes = mpki_offload_bytes(o);
    mpk_status status = MPK_OK;
    if (count == 0) return MPK_OK;
    if (!a->scatter || a->store) {
        for (int64_t k = 0; k < count && !mpk_failed(status); k++)
            status = mpki_offload_put(f, to[k], (const char *)from + k * bytes);
        return status;
    }
    o->on->report.uploads += count;
    o->on->report.bytes += count * bytes;
    return mpki_offload_status(f, a->scatter(a->self, count, to, from, bytes), "upload");
}

mpk_status mpki_offload_room(mpki_blocks *f, int64_t blocks) {
    struct mpki_offload *o = f->offload;
    if (o->staging_capacity >= blocks) return MPK_OK;
    const int64_t room = blocks + blocks / 2;
    void *more =
        mpki_resize(f->stages->ctx, STAGE, o->staging, room, (size_t)mpki_offload_bytes(o));
    if (!more) return mpki_failed(f->stages->ctx);
    o->staging = more;
    o->staging_capacity = room;
    return MPK_OK;
}

mpk_status mpki_offload_take_all(mpki_blocks *f, int64_t count, int64_t first, void *const *from) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    const int64_t bytes = mpki_offload_bytes(o);
    mpk_status status = mpki_offload_room(f, first + count);
    if (count == 0 || mpk_failed(status)) return status;
    if (!a->gather || a->load) {
        for (int64_t k = 0; k < count && !mpk_failed(status); k++)
            status = mpki_offload_take(f, mpki_offload_staging(o, first + k), from[k]);
        return status;
    }
    o->on->report.downloads += count;
    o->on->report.bytes += count * bytes;
    return mpki_offload_status(
        f, a->gather(a->self, count, mpki_offload_staging(o, first), from, bytes), "download");
}

mpk_status mpki_offload_wait(mpki_blocks *f) {
    mpki_accelerated *on = f->offload->on;
    if (!on->own.wait) return MPK_OK;
    const double began = mpki_now_s(), traced = mpki_trace_begin(f->stages->ctx);
    const mpk_status status = mpki_offload_status(f, on->own.wait(on->own.self), "a kernel");
    on->report.waits++;
    on->report.wait_s += mpki_now_s() - began;
    mpki_trace_end(f->stages->ctx, MPKI_LANE_CALLER, "wait", f->meta->level, traced);
    return status;
}

mpk_status mpki_offload_take(mpki_blocks *f, void *to, void *from) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    void *dense = from;
    mpk_status status = a->load ? scratch(f, 0, &dense) : MPK_OK;
    if (!mpk_failed(status) && a->load) status = convert(f, false, 1, &dense, &from);
    if (!mpk_failed(status))
        status = mpki_offload_status(f, a->download(a->self, to, dense, mpki_offload_bytes(o)),
                                     "download");
    o->on->report.downloads++;
    o->on->report.bytes += mpki_offload_bytes(o);
    return status;
}

mpk_status mpki_offload_multiple(mpki_blocks *f, double value, void **to) {
    mpk_status status = mpki_offload_block(f, to);
    if (mpk_failed(status)) return status;
    memset(f->offload->staging, 0, (size_t)mpki_offload_bytes(f->offload));
    MPKI_DISPATCH(f->offload->scalar, offload_pad)(f, 0, 0, value);
    return mpki_offload_put(f, *to, f->offload->staging);
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* The arrays of a list that are always there, and the bytes of their entries. */
enum { ARRAYS = 12 };
static const size_t sizes[ARRAYS] = {
    sizeof(void *),  sizeof(void *),  sizeof(void *),  sizeof(void *),  sizeof(void *),
    sizeof(void *),  sizeof(int64_t), sizeof(int32_t), sizeof(int32_t), 1,
    sizeof(int32_t), sizeof(double)};

static void list_arrays(mpki_batch_lists *list, void **at[ARRAYS]) {
    void **const all[ARRAYS] = {
        (void **)&list->block[0], (void **)&list->block[1], (void **)&list->block[2],
        (void **)&list->pivot,    (void **)&list->perm,     (void **)&list->columns,
        (void **)&list->id,       (void **)&list->frame,    (void **)&list->rows,
        (void **)&list->half,     (void **)&list->trouble,  (void **)&list->largest};
    memcpy(at, all, sizeof all);
}

void mpki_batch_lists_free(mpk_context *ctx, mpki_batch_lists *list) {
    void **at[ARRAYS];
    list_arrays(list, at);
    for (int k = 0; k < ARRAYS; k++) mpki_release(ctx, *at[k]);
    for (int k = 0; k < MPK_ACCELERATOR_BUFFERS; k++) mpki_release(ctx, list->buffer[k]);
    mpki_release(ctx, list->to);
    mpki_release(ctx, list->begin);
    *list = (mpki_batch_lists){0};
}

static mpk_status reserve(mpki_blocks *f, mpki_batch_lists *list) {
    mpk_context *ctx = f->stages->ctx;
    const int64_t capacity = list->capacity ? 2 * list->capacity : 64;
    void **at[ARRAYS];
    list_arrays(list, at);
    for (int k = 0; k < ARRAYS; k++) {
        void *more = mpki_resize(ctx, STAGE, *at[k], capacity, sizes[k]);
        if (!more) return mpki_failed(ctx);
        *at[k] = more;
    }
    for (int k = 0; k < f->offload->on->table->nbuffers; k++) {
        void **more = mpki_resize(ctx, STAGE, list->buffer[k], capacity, sizeof *more);
        if (!more) return mpki_failed(ctx);
        list->buffer[k] = more;
    }
    list->capacity = capacity;
    return MPK_OK;
}

mpk_status mpki_offload_add(mpki_blocks *f, mpki_batch_lists *list, int64_t block, int32_t frame,
                            mpki_half half) {
    const struct mpki_offload *o = f->offload;
    const mpki_ibcsr *x = &f->stages->index;
    const mpk_status status = list->count < list->capacity ? MPK_OK : reserve(f, list);
    if (mpk_failed(status)) return status;
    const int64_t k = list->count++, diagonal = mpki_offload_diagonal(x, frame);
    const bool upper = half == MPKI_HALF_UPPER;
    list->id[k] = block;
    list->half[k] = (unsigned char)half;
    list->frame[k] = frame;
    list->rows[k] = mpki_frame_rows(f->stages->blocking, frame);
    list->block[0][k] = (upper ? o->upper : o->block)[block];
    list->block[1][k] = list->block[2][k] = NULL;
    /* a block of L is solved with U, and the other way round; the pivot itself has both */
    list->pivot[k] = (upper ? o->block : o->upper)[diagonal];
    const bool turned = o->ldu && !upper && block != diagonal;
    void *const *perm = turned ? o->columns : o->perm;
    list->perm[k] = perm ? perm[frame] : NULL;
    list->columns[k] = o->columns ? o->columns[frame] : NULL;
    list->trouble[k] = 0;
    list->largest[k] = 0;
    for (int b = 0; b < o->on->table->nbuffers; b++)
        list->buffer[b][k] = o->buffer[b][o->on->table->buffers[b].of_pivot ? frame : block];
    return MPK_OK;
}

mpk_status mpki_offload_add_target(mpki_blocks *f, mpki_batch_lists *list, void *block,
                                   int64_t begin_at) {
    mpk_context *ctx = f->stages->ctx;
    if (list->targets == list->targets_room) {
        const int64_t more = list->targets_room ? 2 * list->targets_room : 64;
        void **to = mpki_resize(ctx, STAGE, list->to, more, sizeof *to);
        if (to) list->to = to;
        int64_t *begin = to ? mpki_resize(ctx, STAGE, list->begin, more, sizeof *begin) : NULL;
        if (!begin) return mpki_failed(ctx);
        list->begin = begin;
        list->targets_room = more;
    }
    list->to[list->targets] = block;
    list->begin[list->targets++] = begin_at;
    return MPK_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static const char *const names[] = {"F factorize", "S solve",   "D downdate", "T transpose",
                                    "Z zero out",  "P permute", "N norms",    "X drop"};

double mpki_offload_most_inside(const struct mpki_offload *o) {
    if (o->type == MPK_TYPE_LLT) return INFINITY; /* its pivots are good for any L */
    return o->scalar == MPK_S || o->scalar == MPK_C ? 0x1p+11 * 1.4142135623730951 : 0x1p+26;
}

/* By the table's own function, or by `run` where more is asked for. */
static mpk_status call_table(mpki_blocks *f, int kernel, const mpki_batch_lists *list,
                             const mpk_accelerator_batch *b) {
    const struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    mpk_accelerator_kernel *const plain[] = {a->factorize, a->solve,    a->downdate,
                                             a->transpose, a->zero_out, a->permute};
    if (!o->tasks && kernel <= MPKI_KERNEL_P) return plain[kernel](a->self, b);
    const bool factorizes = kernel == MPKI_KERNEL_F;
    const mpk_accelerator_task task = {
        .struct_size = sizeof task,
        .batch = b,
        .kernel = kernel,
        .scalar = o->scalar,
        .type = o->type,
        .hermitian = o->hermitian,
        .pairs = o->pairs,
        .shared = kernel == MPKI_KERNEL_D && list->shared,
        .last = f->stages->last,
        .rows = factorizes ? list->rows : NULL,
        .columns = factorizes && o->columns ? (int32_t *const *)list->columns : NULL,
        .state = o->state,
        .frame = o->state ? list->frame : NULL,
        .bound = factorizes   ? mpki_offload_most_inside(o)
                 : list->late ? (double)INFINITY
                              : f->stages->bound,
        .norm2 = o->norm2 ? o->norm2 + list->first * o->n : NULL,
        .limit = o->limit ? o->limit + list->first * o->n : NULL,
        .keep = o->keep ? o->keep + list->first : NULL,
        .kept = o->kept ? o->kept + list->first : NULL,
        .tag = f->meta->level,
        .first = list->targets ? list->begin : NULL};
    return a->run(a->self, &task);
}

static mpk_status call(mpki_blocks *f, int kernel, mpki_batch_lists *list) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    mpk_accelerator_report *r = &o->on->report;
    mpk_accelerator_batch b = {.n = o->n,
                               .count = list->count,
                               .block = {list->block[0]},
                               .small = f->stages->floor,
                               .trouble = o->state ? NULL : list->trouble,
                               .largest = o->state ? NULL : list->largest};
    if (list->targets) b.count = list->targets, b.block[0] = list->to;
    if (kernel == MPKI_KERNEL_D) b.block[1] = list->block[1], b.block[2] = list->block[2];
    if (kernel == MPKI_KERNEL_F && o->ldu) b.block[1] = list->block[1];
    if (kernel == MPKI_KERNEL_S || kernel == MPKI_KERNEL_D) b.pivot = list->pivot;
    if (o->perm && kernel != MPKI_KERNEL_T && kernel != MPKI_KERNEL_Z)
        b.perm = (int32_t *const *)list->perm;
    for (int k = 0; k < a->nbuffers; k++) b.buffer[k] = list->buffer[k];
    const double start = mpki_now_s(), began = mpki_trace_begin(f->stages->ctx);
    if (o->ended_s > 0) { /* the first kernel of a later stage */
        r->boundaries++;
        r->boundary_s += start - o->ended_s;
        o->ended_s = 0;
    }
    mpk_status status = mpki_offload_status(f, call_table(f, kernel, list, &b), names[kernel]);
    mpki_trace_end(f->stages->ctx, MPKI_LANE_CALLER, a->spans ? "queued" : names[kernel],
                   f->meta->level, began);
    const bool tells = kernel == MPKI_KERNEL_F || kernel == MPKI_KERNEL_S || kernel > MPKI_KERNEL_P;
    if (!mpk_failed(status) && !o->state && tells)
        status = mpki_offload_wait(f);         /* what they found decides what comes next */
    if (kernel > MPKI_KERNEL_P) return status; /* the report does not have them */
    r->calls[kernel]++;
    r->items[kernel] += list->count;
    r->time_s[kernel] += mpki_now_s() - start;
    return status;
}

/* ---- the accelerator's own clock ------------------------------------------------------------- */

void mpki_offload_trace_begin(mpki_blocks *f) {
    const mpk_accelerator *a = f->offload->on->table;
    if (a->spans && mpki_trace_of(f->stages->ctx)) a->spans(a->self, 0, NULL);
}

void mpki_offload_trace_end(mpki_blocks *f) {
    const mpk_accelerator *a = f->offload->on->table;
    if (a->spans && mpki_trace_of(f->stages->ctx)) a->spans(a->self, -1, NULL);
}

void mpki_offload_trace(mpki_blocks *f) {
    enum { SOME = 256 };
    const mpk_accelerator *a = f->offload->on->table;
    mpk_accelerator_span span[SOME];
    const double now = mpki_now_s();
    if (!a->spans || !mpki_trace_of(f->stages->ctx)) return;
    for (int64_t count = SOME; count == SOME;) {
        count = a->spans(a->self, SOME, span);
        for (int64_t k = 0; k < count; k++)
            mpki_trace_add(f->stages->ctx, MPKI_LANE_MACHINE, names[span[k].kernel], span[k].tag,
                           now - span[k].began_s, now - span[k].ended_s);
    }
}

/* ---- blocks at rest -------------------------------------------------------------------------- */

enum { CHUNK = 64 };

/* The items from `first` on that go through dense copies together: of blocks that are written there
 * is one copy. */
static int64_t chunk_end(const mpki_batch_lists *list, int64_t first) {
    int64_t end = first + 1;
    for (; end < list->count && end < first + CHUNK; end++)
        for (int64_t k = first; k < end; k++)
            if (list->block[0][k] == list->block[0][end]) return end;
    return end;
}

/* A part of a list, without memory of its own. */
static mpki_batch_lists part_of(const mpki_blocks *f, const mpki_batch_lists *list, int64_t first,
                                int64_t end) {
    mpki_batch_lists part = *list;
    void **at[ARRAYS];
    list_arrays(&part, at);
    for (int k = 0; k < ARRAYS; k++) *at[k] = (char *)*at[k] + (size_t)first * sizes[k];
    for (int b = 0; b < f->offload->on->table->nbuffers; b++) part.buffer[b] += first;
    part.first = first;
    part.count = end - first;
    return part;
}

/* Through dense copies: what a kernel reads is loaded, what it wrote is stored. */
static mpk_status call_at_rest(mpki_blocks *f, int kernel, mpki_batch_lists *list) {
    const bool downdates = kernel == MPKI_KERNEL_D,
               reads_pivot = downdates || kernel == MPKI_KERNEL_S;
    const bool both = kernel == MPKI_KERNEL_F && f->offload->ldu;
    const bool used[4] = {true, downdates || both, downdates, reads_pivot};
    const bool loaded[4] = {kernel != MPKI_KERNEL_Z, downdates, downdates, reads_pivot};
    mpk_status status = MPK_OK;
    for (int64_t first = 0, end; first < list->count && !mpk_failed(status); first = end) {
        end = chunk_end(list, first);
        mpki_batch_lists some = part_of(f, list, first, end);
        void **const rest[4] = {some.block[0], some.block[1], some.block[2], some.pivot};
        void *dense[4][CHUNK];
        for (int p = 0; p < 4 && !mpk_failed(status); p++) {
            for (int64_t k = 0; used[p] && k < some.count && !mpk_failed(status); k++)
                status = scratch(f, p * CHUNK + k, &dense[p][k]);
            if (!mpk_failed(status) && loaded[p])
                status = convert(f, false, some.count, dense[p], rest[p]);
        }
        for (int p = 0; p < 3; p++) some.block[p] = dense[p];
        some.pivot = dense[3];
        if (!mpk_failed(status)) status = call(f, kernel, &some);
        if (!mpk_failed(status)) status = convert(f, true, some.count, dense[0], rest[0]);
        if (!mpk_failed(status) && both) status = convert(f, true, some.count, dense[1], rest[1]);
    }
    return status;
}

mpk_status mpki_offload_run(mpki_blocks *f, int kernel, mpki_batch_lists *list) {
    if (list->count == 0) return MPK_OK;
    return (f->offload->on->table->load ? call_at_rest : call)(f, kernel, list);
}
