/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches for an accelerator: lists of tuples, and kernels run on them. */
#include "core/trace.h"
#include "offload.h"

#include <string.h>

static const char STAGE[] = "factorize";

static int64_t dense_bytes(const struct mpki_offload *o) {
    return (int64_t)o->n * o->n * (int64_t)sizeof(double);
}

mpk_status mpki_offload_status(mpki_blocks *f, mpk_status status, const char *what) {
    if (!mpk_failed(status) || mpk_failed(mpki_failed(f->stages->ctx))) return status;
    return mpki_error(f->stages->ctx, status, STAGE, -1, "%s: %s failed",
                      f->offload->on->table->name, what);
}

/* ---- memory ---------------------------------------------------------------------------------- */

mpk_status mpki_offload_block(mpki_blocks *f, void **p) {
    const mpk_accelerator *a = f->offload->on->table;
    const int64_t bytes =
        a->stored_bytes ? a->stored_bytes(a->self, f->offload->n) : dense_bytes(f->offload);
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
        const mpk_status status = mpki_offload_status(
            f, a->allocate(a->self, dense_bytes(o), &more[o->scratches]), "memory for a block");
        if (mpk_failed(status)) return status;
        o->scratches++;
    }
    *p = o->scratch[k];
    return MPK_OK;
}

/* Load or store one block, dense <-> at rest. */
static mpk_status convert(mpki_blocks *f, bool store, void *dense, void *rest) {
    const mpk_accelerator *a = f->offload->on->table;
    void *one[2] = {dense, rest};
    const mpk_accelerator_batch b = {.n = f->offload->n, .count = 1, .block = {&one[0], &one[1]}};
    return mpki_offload_status(f, (store ? a->store : a->load)(a->self, &b),
                               store ? "store" : "load");
}

mpk_status mpki_offload_put(mpki_blocks *f, void *to, const double *from) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    void *dense = to;
    mpk_status status = a->store ? scratch(f, 0, &dense) : MPK_OK;
    if (!mpk_failed(status))
        status = mpki_offload_status(f, a->upload(a->self, dense, from, dense_bytes(o)), "upload");
    if (!mpk_failed(status) && a->store) status = convert(f, true, dense, to);
    o->on->report.uploads++;
    o->on->report.bytes += dense_bytes(o);
    return status;
}

mpk_status mpki_offload_take(mpki_blocks *f, double *to, void *from) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    void *dense = from;
    mpk_status status = a->load ? scratch(f, 0, &dense) : MPK_OK;
    if (!mpk_failed(status) && a->load) status = convert(f, false, dense, from);
    if (!mpk_failed(status))
        status =
            mpki_offload_status(f, a->download(a->self, to, dense, dense_bytes(o)), "download");
    o->on->report.downloads++;
    o->on->report.bytes += dense_bytes(o);
    return status;
}

/* ---- lists ----------------------------------------------------------------------------------- */

void mpki_batch_lists_free(mpk_context *ctx, mpki_batch_lists *list) {
    for (int k = 0; k < 3; k++) mpki_release(ctx, list->block[k]);
    for (int k = 0; k < MPK_ACCELERATOR_BUFFERS; k++) mpki_release(ctx, list->buffer[k]);
    mpki_release(ctx, list->pivot);
    mpki_release(ctx, list->perm);
    mpki_release(ctx, list->id);
    mpki_release(ctx, list->trouble);
    mpki_release(ctx, list->largest);
    *list = (mpki_batch_lists){0};
}

static mpk_status reserve(mpki_blocks *f, mpki_batch_lists *list) {
    mpk_context *ctx = f->stages->ctx;
    const int64_t capacity = list->capacity ? 2 * list->capacity : 64;
    void **pointers[] = {(void **)&list->block[0], (void **)&list->block[1],
                         (void **)&list->block[2], (void **)&list->pivot,
                         (void **)&list->perm,     (void **)&list->id,
                         (void **)&list->trouble,  (void **)&list->largest};
    const size_t sizes[] = {sizeof(void *), sizeof(void *),  sizeof(void *),  sizeof(void *),
                            sizeof(void *), sizeof(int64_t), sizeof(int32_t), sizeof(double)};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        void *more = mpki_resize(ctx, STAGE, *pointers[k], capacity, sizes[k]);
        if (!more) return mpki_failed(ctx);
        *pointers[k] = more;
    }
    for (int k = 0; k < f->offload->on->table->nbuffers; k++) {
        void **more = mpki_resize(ctx, STAGE, list->buffer[k], capacity, sizeof *more);
        if (!more) return mpki_failed(ctx);
        list->buffer[k] = more;
    }
    list->capacity = capacity;
    return MPK_OK;
}

mpk_status mpki_offload_add(mpki_blocks *f, mpki_batch_lists *list, int64_t block, int32_t frame) {
    const struct mpki_offload *o = f->offload;
    const mpki_ibcsr *x = &f->stages->index;
    const mpk_status status = list->count < list->capacity ? MPK_OK : reserve(f, list);
    if (mpk_failed(status)) return status;
    const int64_t k = list->count++, diagonal = x->entry[x->diagonal[frame]].block;
    list->id[k] = block;
    list->block[0][k] = o->block[block];
    list->block[1][k] = list->block[2][k] = NULL;
    list->pivot[k] = o->block[diagonal];
    list->perm[k] = o->perm ? o->perm[frame] : NULL;
    list->trouble[k] = 0;
    list->largest[k] = 0;
    for (int b = 0; b < o->on->table->nbuffers; b++)
        list->buffer[b][k] = o->buffer[b][o->on->table->buffers[b].of_pivot ? frame : block];
    return MPK_OK;
}

/* ---- kernels --------------------------------------------------------------------------------- */

static const char *const names[] = {"F factorize", "S solve",    "D downdate",
                                    "T transpose", "Z zero out", "P permute"};

static mpk_status call(mpki_blocks *f, int kernel, mpki_batch_lists *list) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    mpk_accelerator_kernel *const run[] = {a->factorize, a->solve,    a->downdate,
                                           a->transpose, a->zero_out, a->permute};
    mpk_accelerator_report *r = &o->on->report;
    mpk_accelerator_batch b = {.n = o->n,
                               .count = list->count,
                               .block = {list->block[0]},
                               .small = f->stages->floor,
                               .trouble = list->trouble,
                               .largest = list->largest};
    if (kernel == MPKI_KERNEL_D) b.block[1] = list->block[1], b.block[2] = list->block[2];
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
    const mpk_status status = mpki_offload_status(f, run[kernel](a->self, &b), names[kernel]);
    mpki_trace_end(f->stages->ctx, MPKI_LANE_CALLER, names[kernel], f->meta->level, began);
    r->calls[kernel]++;
    r->items[kernel] += list->count;
    r->time_s[kernel] += mpki_now_s() - start;
    return status;
}

/* Item by item through dense copies: what a kernel reads is loaded, what it wrote is stored. */
static mpk_status call_at_rest(mpki_blocks *f, int kernel, mpki_batch_lists *list) {
    mpk_status status = MPK_OK;
    const int64_t count = list->count;
    for (int64_t k = 0; k < count && !mpk_failed(status); k++) {
        mpki_batch_lists one = *list;
        void *rest[4] = {list->block[0][k], list->block[1][k], list->block[2][k], list->pivot[k]};
        void *dense[4] = {NULL};
        const bool used[4] = {true, kernel == MPKI_KERNEL_D, kernel == MPKI_KERNEL_D,
                              kernel == MPKI_KERNEL_S || kernel == MPKI_KERNEL_D};
        for (int p = 0; p < 4 && !mpk_failed(status); p++) {
            if (!used[p]) continue;
            status = scratch(f, p, &dense[p]);
            if (kernel == MPKI_KERNEL_Z) continue; /* it reads nothing */
            if (!mpk_failed(status)) status = convert(f, false, dense[p], rest[p]);
        }
        for (int p = 0; p < 3; p++) one.block[p] = &dense[p];
        one.pivot = &dense[3];
        one.perm = &list->perm[k];
        one.trouble = &list->trouble[k];
        one.largest = &list->largest[k];
        for (int b = 0; b < f->offload->on->table->nbuffers; b++)
            one.buffer[b] = &list->buffer[b][k];
        one.count = 1;
        if (!mpk_failed(status)) status = call(f, kernel, &one);
        if (!mpk_failed(status)) status = convert(f, true, dense[0], rest[0]);
    }
    return status;
}

mpk_status mpki_offload_run(mpki_blocks *f, int kernel, mpki_batch_lists *list) {
    if (list->count == 0) return MPK_OK;
    return (f->offload->on->table->load ? call_at_rest : call)(f, kernel, list);
}
