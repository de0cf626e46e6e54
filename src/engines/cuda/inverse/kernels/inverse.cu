/* SPDX-License-Identifier: BSD-3-Clause */
/* Incomplete sparse approximate inverses: the module's table for them, and what has no values. */
#include "launches.cuh"

#include "pattern.cuh"
#include "split.cuh"

using namespace mpki;

static const mpki_isai_launches *const kinds[] = {&mpki_s_isai_launches, &mpki_d_isai_launches,
                                                  &mpki_c_isai_launches, &mpki_z_isai_launches};

static int sum(mpki_cuda *cuda, int32_t n, int64_t *ptr, int64_t *sums) {
    const int64_t count = (int64_t)n + 1, parts = blocks_of(count, SUM_PART);
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_LAUNCH(part_kernel, parts, TURN_THREADS, 0, cuda->sparse, count, ptr, sums);
    MPKI_LAUNCH(before_kernel, 1, TURN_THREADS, 0, cuda->sparse, parts, sums);
    MPKI_LAUNCH(sums_kernel, parts, TURN_THREADS, 0, cuda->sparse, count, ptr, sums);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int check(mpki_cuda *cuda, int32_t n, int64_t entries, const int64_t *ptr,
                 const int32_t *index, int32_t *bad) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (n == 0) return MPK_OK;
    MPKI_LAUNCH(check_kernel, blocks_of(n, TURN_THREADS / DEAL_LANES), TURN_THREADS, 0,
                cuda->sparse, n, entries, ptr, index, bad);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int turn(mpki_cuda *cuda, const mpki_isai_turning *t) {
    enum { MOST = 4096 };
    const size_t pointers = ((size_t)t->n + 1) * sizeof(int64_t);
    const int64_t blocks = blocks_of(t->entries, 4 * TURN_THREADS);
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(cudaMemsetAsync(t->to_ptr, 0, pointers, cuda->sparse));
    if (t->entries == 0) return MPK_OK;
    MPKI_TRY(cudaMemsetAsync(t->longs, 0, sizeof *t->longs, cuda->sparse));
    MPKI_LAUNCH(count_kernel, blocks, TURN_THREADS, 0, cuda->sparse, t->entries, t->index,
                t->to_ptr);
    MPKI_PASS(sum(cuda, t->n, t->to_ptr, t->sums));
    MPKI_TRY(cudaMemcpyAsync(t->next, t->to_ptr, pointers, cudaMemcpyDeviceToDevice, cuda->sparse));
    MPKI_LAUNCH(deal_kernel, blocks_of(t->n, TURN_THREADS / DEAL_LANES), TURN_THREADS, 0,
                cuda->sparse, *t);
    MPKI_LAUNCH(sort_kernel, blocks_of(t->n, TURN_THREADS / SORT_LANES), TURN_THREADS, 0,
                cuda->sparse, *t);
    const int64_t longs = t->entries / SORT_SHORT; /* there cannot be more */
    if (longs > 0)
        MPKI_LAUNCH(sort_long_kernel, longs < MOST ? longs : MOST, TURN_THREADS, 0, cuda->sparse,
                    *t);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int move(mpki_cuda *cuda, mpk_scalar scalar, int64_t count, const int64_t *which,
                const void *from, void *to) {
    return kinds[scalar]->move(cuda, count, which, from, to);
}

static int reverse(mpki_cuda *cuda, int64_t count, const int64_t *which, int64_t *to) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (count == 0) return MPK_OK;
    MPKI_LAUNCH(reverse_kernel, blocks_of(count, TURN_THREADS), TURN_THREADS, 0, cuda->sparse,
                count, which, to);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int split(mpki_cuda *cuda, const mpki_isai_splitting *s) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (!s->to_index) MPKI_TRY(cudaMemsetAsync(s->to_ptr, 0, sizeof *s->to_ptr, cuda->sparse));
    if (s->n == 0) return MPK_OK;
    if (s->to_index) {
        MPKI_LAUNCH(split_kernel, blocks_of(s->n, TURN_THREADS / DEAL_LANES), TURN_THREADS, 0,
                    cuda->sparse, *s);
    } else {
        MPKI_LAUNCH(split_count_kernel, blocks_of(s->n, TURN_THREADS), TURN_THREADS, 0,
                    cuda->sparse, *s);
        MPKI_PASS(sum(cuda, s->n, s->to_ptr, s->sums));
    }
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int split_values(mpki_cuda *cuda, const mpki_isai_splitting *s) {
    return kinds[s->scalar]->split_values(cuda, s);
}

static int classes(mpki_cuda *cuda, const mpki_isai_classes *c) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    int64_t *const to = c->list ? c->next : c->count;
    const size_t count = MPK_ISAI_CLASSES + !c->list;
    MPKI_TRY(cudaMemsetAsync(to, 0, count * sizeof *to, cuda->sparse));
    if (c->n == 0) return MPK_OK;
    MPKI_LAUNCH(classes_kernel, blocks_of(c->n, TURN_THREADS), TURN_THREADS, 0, cuda->sparse, *c);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int powers(mpki_cuda *cuda, const mpki_isai_powers *p) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (!p->to_index) MPKI_TRY(cudaMemsetAsync(p->to_ptr, 0, sizeof *p->to_ptr, cuda->sparse));
    if (p->n == 0) return MPK_OK;
    if (p->block > 0) {
        MPKI_LAUNCH(blocks_kernel, blocks_of(p->n, TURN_THREADS), TURN_THREADS, 0, cuda->sparse,
                    *p);
    } else {
        /* few rows, more of them; the rest is left to far_columns() */
        enum { FEW = 85, BLOCKS = 2048 };
        const double met = mpki_isai_met(p->n, p->entries, p->power);
        const int64_t blocks = blocks_of(p->n, POWER_THREADS / 32);
        int32_t *const mids = &p->notes->mid, *const fars = &p->notes->far;
        const bool few = met < FEW;
        if (few)
            MPKI_LAUNCH((powers_kernel<128, 88>), blocks, POWER_THREADS, 0, cuda->sparse, *p, NULL,
                        NULL, p->mid, mids);
        MPKI_LAUNCH((powers_kernel<1024, 700>), few && blocks > BLOCKS ? BLOCKS : blocks,
                    POWER_THREADS, 0, cuda->sparse, *p, few ? p->mid : NULL, mids, p->far, fars);
        if (p->to_index && p->found_each > 0)
            MPKI_LAUNCH(found_kernel, blocks_of(p->n, TURN_THREADS / 8), TURN_THREADS, 0,
                        cuda->sparse, *p);
    }
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int far_columns(mpki_cuda *cuda, const mpki_isai_powers *p) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(cudaMemsetAsync(p->seen, 0xff, (size_t)p->slots * (size_t)p->n * sizeof *p->seen,
                             cuda->sparse));
    MPKI_LAUNCH(far_kernel, p->slots, TURN_THREADS, 0, cuda->sparse, *p);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int prune(mpki_cuda *cuda, const mpki_isai_pruning *p) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[p->scalar]->prune(cuda, p);
}

static int set(mpki_cuda *cuda, void *to, int byte, int64_t bytes) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (bytes > 0) MPKI_TRY(cudaMemsetAsync(to, byte, (size_t)bytes, cuda->sparse));
    return MPK_OK;
}

static int clone(mpki_cuda *cuda, void *to, const void *from, int64_t bytes) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (bytes > 0)
        MPKI_TRY(cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice, cuda->sparse));
    return MPK_OK;
}

static void *stream(mpki_cuda *cuda) {
    return (void *)cuda->sparse;
}

static int invert(mpki_cuda *cuda, const mpki_isai_inversion *v) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[v->scalar]->invert(cuda, v);
}

static int spread(mpki_cuda *cuda, const mpki_isai_spreading *s) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (!s->to_index) MPKI_TRY(cudaMemsetAsync(s->to_ptr, 0, sizeof *s->to_ptr, cuda->sparse));
    if (s->m == 0) return MPK_OK;
    MPKI_LAUNCH(spread_kernel, blocks_of(s->m, ISAI_THREADS / 32), ISAI_THREADS, 0, cuda->sparse,
                *s);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int portions(mpki_cuda *cuda, const mpki_isai_portions *g, const int64_t *ptr) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(cudaMemsetAsync(g->ptr, 0, sizeof *g->ptr, cuda->sparse));
    if (g->count == 0) return MPK_OK;
    MPKI_LAUNCH(portions_kernel, blocks_of(g->count, TURN_THREADS), TURN_THREADS, 0, cuda->sparse,
                g->count, g->first, ptr, g->ptr);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static int invert_portions(mpki_cuda *cuda, const mpki_isai_inversion *v,
                           const mpki_isai_portions *g) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[v->scalar]->invert_portions(cuda, v, g);
}

static int dense(mpki_cuda *cuda, const mpki_isai_dense *d) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[d->scalar]->dense(cuda, d);
}

static int multiply(mpki_cuda *cuda, const mpki_isai_times *p) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[p->scalar]->multiply(cuda, p);
}

static int gather(mpki_cuda *cuda, const mpki_isai_gathering *g) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[g->store.scalar]->gather(cuda, g);
}

static int identity(mpki_cuda *cuda, const mpki_isai_gathering *g) {
    return kinds[g->store.scalar]->identity(cuda, g);
}

static int pivots(mpki_cuda *cuda, const mpki_isai_gathering *g, int backward, void *x) {
    return kinds[g->store.scalar]->pivots(cuda, g, backward, x);
}

static int to_single(mpki_cuda *cuda, mpk_scalar scalar, int64_t count, const void *from, void *to,
                     int32_t *bad) {
    return kinds[scalar]->to_single(cuda, count, from, to, bad);
}

static int finite(mpki_cuda *cuda, mpk_scalar scalar, int64_t count, const void *val,
                  int64_t *bad) {
    MPKI_TRY(cudaSetDevice(cuda->device));
    return kinds[scalar]->finite(cuda, count, val, bad);
}

extern "C" const mpki_cuda_isai_table mpki_cuda_isai_functions = {
    check,        turn,     sum,    move,        reverse,  split,
    split_values, classes,  powers, far_columns, prune,    set,
    clone,        stream,   invert, spread,      portions, invert_portions,
    dense,        multiply, gather, identity,    pivots,   to_single,
    finite};
