/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_COMMON_CUH
#define MPKI_CUDA_MULTIFRONTAL_COMMON_CUH
/** What all kernels of the multifrontal engine share: where things lie, choices over a block. */
#include "engines/cuda/module/scalar.cuh"
#include "multifrontal.h"
#include "stamps.cuh"

#ifndef MPKI_SMEM
#define MPKI_SMEM extern __shared__ __align__(16) char smem[]
#endif

/* A function that is compiled by itself, with registers of its own: what is alive around it does
 * not drive its loops out of registers. Shared memory it asks for itself (MPKI_SMEM): a pointer to
 * it that comes from outside is one to anywhere. */
#ifdef __CUDACC__
#define MPKI_APART __noinline__
#else
#define MPKI_APART
#endif

namespace mpki {

static const int TILE = MPKI_FRONT_TILE, CUT = MPKI_FRONT_CONTRIBUTION;
static const int LDS_ =
    TILE + 2; /* leading dimension of a tile in shared memory: pairs of rows begin evenly */

enum { LINE = 128 /* bytes of a line of the second cache */ };
/** What will be read soon is brought to the first cache; */
__device__ inline void prefetch_l1(const void *p) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L1 [%0];" ::"l"(p));
#else
    (void)p;
#endif
}
/** to the second cache. */
__device__ inline void prefetch_l2(const void *p) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#else
    (void)p;
#endif
}

__host__ __device__ inline int leading(int rows) {
    return (rows + 1) & ~1;
}
/** Bytes of a panel of w columns over nrows rows. */
template <class T> __host__ __device__ inline int64_t panel_bytes(int nrows, int w) {
    const int64_t b = ((int64_t)leading(nrows) * w + 4 * (int64_t)w) * (int64_t)sizeof(T) +
                      (int64_t)w * (int64_t)sizeof(int32_t);
    return (b + 63) & ~(int64_t)63;
}

/** A panel: L, D, D^-1 and the columns' positions. */
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
/** Entries before its panel k. */
__host__ __device__ inline int64_t contribution_before(int m, int k) {
    /* leading(m - 64 k) = leading(m) - 64 k */
    return (int64_t)CUT * ((int64_t)k * leading(m) - (int64_t)CUT * k * (k - 1) / 2);
}
__host__ __device__ inline int64_t contribution_entries(int m) {
    const int k = m / CUT;
    return contribution_before(m, k) + (int64_t)(m - CUT * k) * contribution_leading(m, k);
}
/** Column j, so that [i] is its entry in row i >= j. */
template <class T> __device__ inline T *contribution_column(T *c, int m, int j) {
    const int k = j / CUT;
    return c + contribution_before(m, k) + (int64_t)(j - CUT * k) * contribution_leading(m, k) -
           CUT * k;
}

/** The first entry of an increasing list that is not below a value. */
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

__device__ inline bool is_finite(float x) {
    return x - x == 0;
}
__device__ inline bool is_finite(double x) {
    return x - x == 0;
}

/** The inverse of a pivot of order 2, as src/kernels/pivot.h. */
template <bool H, class T>
__device__ inline void pair_inverse(T d11, T d21, T d22, T &i11, T &i21, T &i22) {
    const T o = inverse(d21), oc = cj<H>(o), e11 = d11 * oc, e22 = d22 * o;
    const T t = inverse(e11 * e22 - make<T>(1));
    i11 = diagonal<H>(e22 * t * oc);
    i21 = -(t * oc);
    i22 = diagonal<H>(e11 * t * o);
}

/** Two entries side by side, in one access. */
template <class T> struct alignas(sizeof(T) < 16 ? 2 * sizeof(T) : 16) two_of { T a, b; };
template <class T> __device__ inline two_of<T> two_at(const T *p) {
    return *(const two_of<T> *)p;
}

/** A value and where it stands; of equal ones the first. */
template <class R> struct best {
    R value;
    int at;
};
template <class R> __device__ inline best<R> better(best<R> a, best<R> b) {
    return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
}
template <class R> __device__ inline best<R> warp_best(best<R> x) {
    for (int o = 16; o; o >>= 1) {
        best<R> y;
        y.value = shfl_xor(x.value, o), y.at = __shfl_xor_sync(0xffffffffu, x.at, o);
        x = better(x, y);
    }
    return x;
}
/** By all threads of a block; `space`: one entry for each warp. */
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

/** x by the scales of its row and column, whose product may be out of range: core/scaled.h. */
__device__ inline double scaled(double a, double s, double t) {
    const double p = s * t;
    if (p > 0x1p-1000 && p < 0x1p+1000) return a * p;
    const double least = s < t ? s : t, most = s < t ? t : s;
    return fabs(a) < 1 ? a * most * least : a * least * most;
}
__device__ inline float scaled_entry(float x, double s, double t) {
    return (float)scaled((double)x, s, t);
}
__device__ inline double scaled_entry(double x, double s, double t) {
    return scaled(x, s, t);
}
template <class F> __device__ inline cx<F> scaled_entry(cx<F> x, double s, double t) {
    return {(F)scaled((double)x.x, s, t), (F)scaled((double)x.y, s, t)};
}

/** Entry e of A for a front: its row and column there, its value in S A S. */
template <class T> struct entry_of_a {
    int row, col;
    T value;
    __device__ entry_of_a(const mpki_cuda_tree &t, const mpki_cuda_node &f, int64_t e) {
        const mpki_cuda_entry x = t.scatter[e];
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
