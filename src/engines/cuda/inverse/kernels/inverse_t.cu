/* SPDX-License-Identifier: BSD-3-Clause */
/* Launches the kernels of one kind of entries. */
#include "launches.cuh"

#include "baseline.cuh"
#include "frames.cuh"
#include "gather.cuh"
#include "product.cuh"
#include "prune.cuh"
#include "small.cuh"
#include "values.cuh"

using namespace mpki;

/* ---- values ---- */

static mpk_status move(mpki_cuda *cuda, int64_t count, const int64_t *which, const void *from,
                       void *to) {
    if (count == 0) return MPK_OK;
    MPKI_LAUNCH(move_kernel<T>, blocks_of(count, VALUE_THREADS), VALUE_THREADS, 0, cuda->sparse,
                count, which, (const T *)from, (T *)to);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status split_values(mpki_cuda *cuda, const mpki_isai_splitting *s) {
    if (s->n == 0) return MPK_OK;
    MPKI_LAUNCH(diagonals_kernel<T>, blocks_of(s->n, VALUE_THREADS), VALUE_THREADS, 0, cuda->sparse,
                *s);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status to_single(mpki_cuda *cuda, int64_t count, const void *from, void *to,
                            int32_t *bad) {
    const int64_t parts = scalar_of<T>::complex ? 2 * count : count;
    if (count == 0) return MPK_OK;
    MPKI_LAUNCH(to_single_kernel<R>, blocks_of(parts, VALUE_THREADS), VALUE_THREADS, 0,
                cuda->sparse, parts, (const R *)from, (float *)to, bad);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status finite(mpki_cuda *cuda, int64_t count, const void *val, int64_t *bad) {
    if (count == 0) return MPK_OK;
    MPKI_LAUNCH(finite_kernel<T>, blocks_of(count, VALUE_THREADS), VALUE_THREADS, 0, cuda->sparse,
                count, (const T *)val, bad);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* ---- columns of triangles ---- */

static mpk_status prune(mpki_cuda *cuda, const mpki_isai_pruning *p) {
    if (!p->to_index) {
        MPKI_TRY(cudaMemsetAsync(p->to_ptr, 0, sizeof *p->to_ptr, cuda->sparse));
        if (p->n > 0)
            MPKI_LAUNCH(prune_count_kernel, blocks_of(p->n, TURN_THREADS), TURN_THREADS, 0,
                        cuda->sparse, *p);
    } else if (p->n > 0) {
        MPKI_LAUNCH(prune_kernel<T>, p->n, TURN_THREADS, 0, cuda->sparse, *p);
    }
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* The class with groups of W lanes. */
template <int W, int R, bool UPPER>
static mpk_status fused(mpki_cuda *cuda, const mpki_isai_inversion *v, const int32_t *list,
                        int64_t count) {
    const int64_t blocks = blocks_of(count, ISAI_THREADS / W);
    if (v->way == MPKI_ISAI_HELD && R == 1)
        MPKI_LAUNCH((held_kernel<T, W, UPPER>), blocks, ISAI_THREADS, 0, cuda->sparse, *v, list,
                    count);
    else
        MPKI_LAUNCH((streamed_kernel<T, W, R, UPPER>), blocks, ISAI_THREADS, 0, cuda->sparse, *v,
                    list, count);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

template <bool UPPER>
static mpk_status class_of(mpki_cuda *cuda, const mpki_isai_inversion *v, int k,
                           const int32_t *list, int64_t count) {
    switch (k) {
    case 0:
        if (!v->dinv) return MPK_OK;
        MPKI_LAUNCH(diagonal_kernel<T>, blocks_of(count, ISAI_THREADS), ISAI_THREADS, 0,
                    cuda->sparse, *v, list, count);
        break;
    case 1:
        return fused<1, 1, UPPER>(cuda, v, list, count);
    case 2:
        return fused<4, 1, UPPER>(cuda, v, list, count);
    case 3:
        return fused<8, 1, UPPER>(cuda, v, list, count);
    case 4:
        return fused<16, 1, UPPER>(cuda, v, list, count);
    case 5:
        return fused<32, 1, UPPER>(cuda, v, list, count);
    case 6:
        return fused<32, 2, UPPER>(cuda, v, list, count);
    case 7:
        return fused<32, 4, UPPER>(cuda, v, list, count);
    case LONGEST_IN_BLOCK:
        if (v->longest <= LONGEST_IN_WARP) return fused<32, 8, UPPER>(cuda, v, list, count);
        MPKI_LAUNCH((block_kernel<T, UPPER>), count, ISAI_BLOCK, 0, cuda->sparse, *v, list);
        break;
    default:
        MPKI_LAUNCH((sparse_kernel<T, UPPER>), count, ISAI_BLOCK, 0, cuda->sparse, *v, list);
    }
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

template <bool UPPER> static mpk_status baseline(mpki_cuda *cuda, const mpki_isai_inversion *v) {
    for (int64_t first = 0; first < v->n; first += v->portion) {
        const int32_t begin = (int32_t)first;
        const int32_t count = v->n - begin < v->portion ? v->n - begin : v->portion;
        const int64_t blocks = blocks_of(count, ISAI_THREADS / SYSTEM);
        MPKI_LAUNCH(find_kernel<UPPER>, blocks, ISAI_THREADS, 0, cuda->sparse, *v, begin, count);
        MPKI_TRY(cudaMemsetAsync(v->systems, 0, (size_t)count * SYSTEM * SYSTEM * sizeof(T),
                                 cuda->sparse));
        MPKI_LAUNCH((extract_kernel<T, UPPER>), blocks, ISAI_THREADS, 0, cuda->sparse, *v, count);
        MPKI_LAUNCH(substitute_kernel<T>, blocks, ISAI_THREADS, 0, cuda->sparse, *v, count);
        MPKI_LAUNCH((scatter_kernel<T, UPPER>), blocks, ISAI_THREADS, 0, cuda->sparse, *v, begin,
                    count);
        MPKI_TRY(cudaGetLastError());
    }
    return MPK_OK;
}

static mpk_status invert_columns(mpki_cuda *cuda, const mpki_isai_inversion *v) {
    if (v->way == MPKI_ISAI_BASELINE)
        return v->upper ? baseline<true>(cuda, v) : baseline<false>(cuda, v);
    int64_t first = v->n; /* long columns first: they take longest */
    for (int k = MPK_ISAI_CLASSES - 1; k >= 0; --k) {
        const int64_t count = v->count[k];
        first -= count;
        if (count == 0) continue;
        MPKI_PASS(v->upper ? class_of<true>(cuda, v, k, v->list + first, count)
                           : class_of<false>(cuda, v, k, v->list + first, count));
    }
    return MPK_OK;
}

/* ---- columns of frames ---- */

enum { NARROW = MPKI_ISAI_PORTION / 2 }; /* columns: kernels for portions that are no wider */

template <int W, int R, int C>
static mpk_status framed_of(mpki_cuda *cuda, const mpki_isai_inversion *v,
                            const mpki_isai_portions *g, const int32_t *list, int64_t count) {
    const int64_t blocks = blocks_of(count, ISAI_THREADS / W);
    if (v->upper)
        MPKI_LAUNCH((framed_kernel<T, W, R, C, true>), blocks, ISAI_THREADS, 0, cuda->sparse, *v,
                    *g, list, count);
    else
        MPKI_LAUNCH((framed_kernel<T, W, R, C, false>), blocks, ISAI_THREADS, 0, cuda->sparse, *v,
                    *g, list, count);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

template <int W, int R>
static mpk_status framed(mpki_cuda *cuda, const mpki_isai_inversion *v, const mpki_isai_portions *g,
                         const int32_t *list, int64_t count) {
    return (g->widest <= NARROW ? framed_of<W, R, NARROW>
                                : framed_of<W, R, MPKI_ISAI_PORTION>)(cuda, v, g, list, count);
}

template <int R, int C>
static mpk_status framed_by_blocks(mpki_cuda *cuda, const mpki_isai_inversion *v,
                                   const mpki_isai_portions *g, const int32_t *list,
                                   int64_t count) {
    if (v->upper)
        MPKI_LAUNCH((framed_block_kernel<T, R, C, true>), count, ISAI_BLOCK, 0, cuda->sparse, *v,
                    *g, list);
    else
        MPKI_LAUNCH((framed_block_kernel<T, R, C, false>), count, ISAI_BLOCK, 0, cuda->sparse, *v,
                    *g, list);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

template <int R>
static mpk_status framed_rows(mpki_cuda *cuda, const mpki_isai_inversion *v,
                              const mpki_isai_portions *g, const int32_t *list, int64_t count) {
    return (g->widest <= NARROW ? framed_by_blocks<R, NARROW>
                                : framed_by_blocks<R, MPKI_ISAI_PORTION>)(cuda, v, g, list, count);
}

static mpk_status framed_long(mpki_cuda *cuda, const mpki_isai_inversion *v,
                              const mpki_isai_portions *g, const int32_t *list, int64_t count) {
    const int64_t rows = g->longest - 1; /* the diagonal is not one */
    return (rows <= ISAI_BLOCK       ? framed_rows<1>
            : rows <= 2 * ISAI_BLOCK ? framed_rows<2>
                                     : framed_rows<4>)(cuda, v, g, list, count);
}

static mpk_status invert_portions(mpki_cuda *cuda, const mpki_isai_inversion *v,
                                  const mpki_isai_portions *g) {
    static mpk_status (*const of_class[MPKI_ISAI_PORTIONED])(
        mpki_cuda *, const mpki_isai_inversion *, const mpki_isai_portions *, const int32_t *,
        int64_t) = {NULL,          framed<1, 1>,  framed<4, 1>,  framed<8, 1>, framed<16, 1>,
                    framed<32, 1>, framed<32, 2>, framed<32, 4>, framed_long};
    int64_t first = g->many[0]; /* columns of one entry have their diagonal alone */
    for (int k = 1; k < MPKI_ISAI_PORTIONED; first += g->many[k++])
        if (g->many[k] > 0) MPKI_PASS(of_class[k](cuda, v, g, g->list + first, g->many[k]));
    return MPK_OK;
}

/* ---- columns that are not triangular ---- */

static mpk_status dense(mpki_cuda *cuda, const mpki_isai_dense *d) {
    int64_t small = 0, all = 0;
    for (int k = 0; k < MPK_ISAI_CLASSES; ++k) {
        if (k <= 5) small += d->count[k];
        all += d->count[k];
    }
    if (small > 0)
        MPKI_LAUNCH(small_kernel<T>, blocks_of(small, SMALL_WARPS), 32 * SMALL_WARPS, 0,
                    cuda->sparse, *d, d->list, small);
    MPKI_TRY(cudaGetLastError());
    if (all > small)
        MPKI_LAUNCH(large_kernel<T>, d->slots, SMALL_BLOCK, 0, cuda->sparse, *d, d->list + small,
                    all - small);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* ---- products ---- */

template <class V, bool CONJUGATE, int LANES>
static mpk_status times_by(mpki_cuda *cuda, const mpki_isai_times *p) {
    MPKI_LAUNCH((times_kernel<T, V, CONJUGATE, LANES>), blocks_of(p->n, TIMES_THREADS / LANES),
                TIMES_THREADS, 0, cuda->sparse, *p);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

template <class V, bool CONJUGATE>
static mpk_status times(mpki_cuda *cuda, const mpki_isai_times *p) {
    /* by the mean length, as measured on an H100 (bench/results/isai-gpu.md) */
    const double mean = (double)p->entries / p->n;
    const int best = mean < 5     ? 1
                     : mean < 9   ? 2
                     : mean < 18  ? 4
                     : mean < 64  ? 8
                     : mean < 256 ? 16
                                  : 32;
    const int lanes = p->lanes > 0 ? p->lanes : best;
    switch (lanes) {
    case 1:
        return times_by<V, CONJUGATE, 1>(cuda, p);
    case 2:
        return times_by<V, CONJUGATE, 2>(cuda, p);
    case 4:
        return times_by<V, CONJUGATE, 4>(cuda, p);
    case 8:
        return times_by<V, CONJUGATE, 8>(cuda, p);
    case 16:
        return times_by<V, CONJUGATE, 16>(cuda, p);
    default:
        return times_by<V, CONJUGATE, 32>(cuda, p);
    }
}

static mpk_status multiply(mpki_cuda *cuda, const mpki_isai_times *p) {
    typedef single_of<T>::type N;
    const bool conjugate = scalar_of<T>::complex && p->conjugate;
    if (p->n == 0 || p->nrhs == 0) return MPK_OK;
    if (p->single)
        return conjugate ? times<N, scalar_of<T>::complex>(cuda, p) : times<N, false>(cuda, p);
    return conjugate ? times<T, scalar_of<T>::complex>(cuda, p) : times<T, false>(cuda, p);
}

/* ---- factors on blocks ---- */

static mpk_status gather(mpki_cuda *cuda, const mpki_isai_gathering *g) {
    if (!g->fill) MPKI_TRY(cudaMemsetAsync(g->to_ptr, 0, sizeof *g->to_ptr, cuda->sparse));
    if (g->store.m == 0) return MPK_OK;
    MPKI_LAUNCH(gather_kernel<T>, blocks_of(g->store.m, GATHER_WARPS), 32 * GATHER_WARPS, 0,
                cuda->sparse, *g);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status identity(mpki_cuda *cuda, const mpki_isai_gathering *g) {
    MPKI_TRY(cudaMemsetAsync(g->mixed, 0, sizeof *g->mixed, cuda->sparse));
    if (g->store.m == 0) return MPK_OK;
    MPKI_LAUNCH(identity_kernel<T>, blocks_of(g->store.m, VALUE_THREADS), VALUE_THREADS, 0,
                cuda->sparse, *g);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status pivots(mpki_cuda *cuda, const mpki_isai_gathering *g, int backward, void *x) {
    if (g->store.m == 0) return MPK_OK;
    MPKI_LAUNCH(pivot_kernel<T>, blocks_of(g->store.m, GATHER_WARPS), 32 * GATHER_WARPS, 0,
                cuda->sparse, *g, backward, (T *)x);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

extern const mpki_isai_launches FN(isai_launches) = {
    move,     split_values, prune,    invert_columns, invert_portions, dense,
    multiply, gather,       identity, pivots,         to_single,       finite};
