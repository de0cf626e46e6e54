/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_COMMON_CUH
#define MPKI_CUDA_MULTIFRONTAL_COMMON_CUH
/** What all kernels of the multifrontal engine share: where things lie, choices over a block. */
#include "engines/cuda/module/scalar.cuh"
#include "engines/cuda/module/shared_memory.cuh"
#include "multifrontal.h"
#include "stamps.cuh"

namespace mpki {

static const int TILE = MPKI_FRONT_TILE, CUT = MPKI_FRONT_CONTRIBUTION;
static const int LDS_ =
    TILE + 2; /* leading dimension of a tile in shared memory: pairs of rows begin evenly */

enum { LINE = 128 /* bytes of a line of the L2 cache */ };
/** A thread: asks for the line at p of the L1 cache, and goes on. Barriers: none. */
__device__ inline void prefetch_l1(const void *p) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L1 [%0];" ::"l"(p));
#else
    (void)p;
#endif
}
/** A thread: asks for the line at p of the L2 cache, and goes on. Barriers: none. */
__device__ inline void prefetch_l2(const void *p) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#else
    (void)p;
#endif
}

/** The leading dimension of an array of so many rows: even, so that entries are read in twos. */
__host__ __device__ inline int leading(int rows) {
    return (rows + 1) & ~1;
}
/** Bytes of a panel of w columns over nrows rows: L, D, D^-1, positions; a multiple of 64. */
template <class T> __host__ __device__ inline int64_t panel_bytes(int nrows, int w) {
    const int64_t b = ((int64_t)leading(nrows) * w + 4 * (int64_t)w) * (int64_t)sizeof(T) +
                      (int64_t)w * (int64_t)sizeof(int32_t);
    return (b + 63) & ~(int64_t)63;
}

/** A panel in memory: L (a, by columns, leading dimension ld), D (d, 2 w: entry 2 k is d_kk, entry
 *  2 k + 1 couples columns k and k + 1), D^-1 (dinv, alike), positions (id). */
template <class T> struct panel {
    T *a, *d, *dinv;
    int32_t *id;
    int ld, w;
    __device__ panel(void *p, int w_, int ld_) : a((T *)p), ld(ld_), w(w_) {
        d = a + (int64_t)ld * w;
        dinv = d + 2 * w;
        id = (int32_t *)(dinv + 2 * w);
    }
    __device__ T &at(int i, int j) const { return a[i + (int64_t)j * ld]; }
};

/** Leading dimension of panel k of a contribution of m rows. */
__host__ __device__ inline int contribution_leading(int m, int k) {
    return leading(m - CUT * k);
}
/** Entries of a contribution of m rows that lie before its panel k. */
__host__ __device__ inline int64_t contribution_before(int m, int k) {
    /* leading(m - 64 k) = leading(m) - 64 k */
    return (int64_t)CUT * ((int64_t)k * leading(m) - (int64_t)CUT * k * (k - 1) / 2);
}
/** Entries of a contribution of m rows. */
__host__ __device__ inline int64_t contribution_entries(int m) {
    const int k = m / CUT;
    return contribution_before(m, k) + (int64_t)(m - CUT * k) * contribution_leading(m, k);
}
/** A thread: column j of the contribution c of m rows, so that [i] is its entry in row i >= j. */
template <class T> __device__ inline T *contribution_column(T *c, int m, int j) {
    const int k = j / CUT;
    return c + contribution_before(m, k) + (int64_t)(j - CUT * k) * contribution_leading(m, k) -
           CUT * k;
}

/** A thread: its share, of one in `step`, of what a factorization begins with. Barriers: none. */
__device__ inline void begin_share(const mpki_cuda_beginning &what, int first, int step) {
    for (int k = first; k < what.fronts; k += step)
        what.state[k] = mpki_cuda_front_state{NULL, 0, 0, 0, MPKI_CUDA_WAITING, 0, 0};
    for (int k = first; k < what.tickets; k += step) what.ticket[k] = 0;
    if (first == 0) *what.to = what.flags;
}

/** A thread: *word := ticket, in the host's memory, after what the grid has written there. The
 *  blocks have met at a counter behind a fence. Barriers: none. */
__device__ inline void report_is_there(int32_t *word, int32_t ticket) {
    __threadfence_system();
    *(volatile int32_t *)word = ticket;
}

/** A thread: the index of the first entry of an increasing list that is at least `value`; count if
 *  there is none. Barriers: none. */
__device__ inline int first_not_below(const int32_t *list, int count, int value) {
    int low = 0, high = count;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (list[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** A thread: false for NaN and for infinities. */
__device__ inline bool is_finite(float x) {
    return x - x == 0;
}
__device__ inline bool is_finite(double x) {
    return x - x == 0;
}

/** A thread: [i11 .; i21 i22] := [d11 conj(d21); d21 d22]^-1, with the off-diagonal entry as the
 *  scale, as src/kernels/pivot.h does it. H: A is Hermitian; else conj(x) is x. Barriers:
 *  none. */
template <bool H, class T>
__device__ inline void pair_inverse(T d11, T d21, T d22, T &i11, T &i21, T &i22) {
    const T o = inverse(d21), oc = cj<H>(o), e11 = d11 * oc, e22 = d22 * o;
    const T t = inverse(e11 * e22 - make<T>(1));
    i11 = diagonal<H>(e22 * t * oc);
    i21 = -(t * oc);
    i22 = diagonal<H>(e11 * t * o);
}

/** Two entries side by side, read in one access. */
template <class T> struct alignas(sizeof(T) < 16 ? 2 * sizeof(T) : 16) two_of { T a, b; };
/** A thread: the entries at p and p + 1; p is aligned for two. */
template <class T> __device__ inline two_of<T> two_at(const T *p) {
    return *(const two_of<T> *)p;
}

/** A value and where it stands. */
template <class R> struct best {
    R value;
    int at;
};
/** A thread: the larger of a and b; of equal ones, which decides ties alike on any number of
 *  threads, the one that stands first. */
template <class R> __device__ inline best<R> better(best<R> a, best<R> b) {
    return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
}
/** A warp: the best of its lanes' x, for all of them. Barriers: it meets the warp. */
template <class R> __device__ inline best<R> warp_best(best<R> x) {
    for (int o = 16; o; o >>= 1) {
        best<R> y;
        y.value = shfl_xor(x.value, o), y.at = __shfl_xor_sync(0xffffffffu, x.at, o);
        x = better(x, y);
    }
    return x;
}
/** A block: the best of its threads' x, for all of them. space [work] one entry for each warp.
 *  Barriers: it meets the block, also before it returns; a block of one warp meets that warp
 *  alone. */
template <class R> __device__ inline best<R> block_best(best<R> x, best<R> *space) {
    const int warps = (int)blockDim.x / 32;
    x = warp_best(x);
    if (warps == 1) return x;
    if ((threadIdx.x & 31) == 0) space[threadIdx.x / 32] = x;
    __syncthreads();
    x = space[0];
    for (int k = 1; k < warps; ++k) x = better(x, space[k]);
    __syncthreads();
    return x;
}

/** A thread: a s t, where s t may be out of the range of a double and a s t is not: as
 *  core/scaled.h. */
__device__ inline double scaled(double a, double s, double t) {
    const double p = s * t;
    if (p > 0x1p-1000 && p < 0x1p+1000) return a * p;
    const double least = s < t ? s : t, most = s < t ? t : s;
    return fabs(a) < 1 ? a * most * least : a * least * most;
}
/** A thread: x s t of an entry of any type, formed in double. */
__device__ inline float scaled_entry(float x, double s, double t) {
    return (float)scaled((double)x, s, t);
}
__device__ inline double scaled_entry(double x, double s, double t) {
    return scaled(x, s, t);
}
template <class F> __device__ inline cx<F> scaled_entry(cx<F> x, double s, double t) {
    return {(F)scaled((double)x.x, s, t), (F)scaled((double)x.y, s, t)};
}

/** A thread: entry e of the list of A's entries. Barriers: none. */
__device__ inline mpki_cuda_entry listed_entry(const mpki_cuda_tree &t, int64_t e) {
    if (!t.short_scatter) return t.scatter[e];
    const mpki_cuda_short_entry x = t.short_scatter[e];
    const int32_t row = (int32_t)(x.place & (MPKI_CUDA_SHORT_ROWS - 1));
    return {(int64_t)x.src, x.place >> 31 ? ~row : row,
            (int32_t)(x.place >> 16 & (MPKI_CUDA_SHORT_COLUMNS - 1))};
}

/** Entry e of that list as front f takes it: row and column in the front, and the value
 *  s_i a_ij s_j, conjugated where it comes from the other triangle. Made by a thread. Barriers:
 *  none. */
template <class T> struct entry_of_a {
    int row, col;
    T value;
    __device__ entry_of_a(const mpki_cuda_tree &t, const mpki_cuda_node &f, int64_t e) {
        const mpki_cuda_entry x = listed_entry(t, e);
        row = (x.row < 0 ? ~x.row : x.row) - f.shift;
        col = x.col - f.shift;
        const int position = row < f.own ? f.first + row : t.ridx[f.ridx + row - f.own];
        value = ((const T *)t.ax)[x.src];
        if (x.row < 0) value = conj(value);
        value = scaled_entry(value, t.scale[position], t.scale[f.first + col]);
    }
};

} // namespace mpki
#endif
