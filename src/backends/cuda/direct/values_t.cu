/* SPDX-License-Identifier: BSD-3-Clause */
/* Values from a caller's array on the device to those of the lower triangle, and their scaling: Ruiz 2001 as
 * analysis/match/equilibrate.c has it, with its bits: maxima do not depend on who is first. */
#include "../launch.cuh"
#include "common.cuh"
#include "values.h"

#include <float.h>

using namespace mpki;

enum { THREADS = 256, WARPS = THREADS / 32, MORE = 12 /* sweeps beyond those asked for */ };

__device__ static inline bool finite_entry(float x) {
    return is_finite(x);
}
__device__ static inline bool finite_entry(double x) {
    return is_finite(x);
}
template <class F> __device__ inline bool finite_entry(cx<F> x) {
    return is_finite(x.x) && is_finite(x.y);
}
__device__ static inline bool equal(float x, float y) {
    return x == y;
}
__device__ static inline bool equal(double x, double y) {
    return x == y;
}
template <class F> __device__ inline bool equal(cx<F> x, cx<F> y) {
    return x.x == y.x && x.y == y.y;
}
__device__ static inline bool is_real(float) {
    return true;
}
__device__ static inline bool is_real(double) {
    return true;
}
template <class F> __device__ inline bool is_real(cx<F> x) {
    return x.y == 0;
}
template <class E> __device__ inline E mirrored(E x, int hermitian) {
    return hermitian ? conj(x) : x;
}

template <class E> __global__ void check_kernel(const mpki_cuda_given a, int32_t *flag) {
    const E *x = (const E *)a.values;
    const int64_t first = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    bool odd = false;
    for (int64_t k = first; k < a.given; k += step) odd |= !finite_entry(x[k]);
    for (int64_t k = first; a.upper && k < a.nnz; k += step) {
        const int32_t i = a.lower[k], j = a.upper[k];
        if (i >= 0 && j >= 0) odd |= !equal(x[i], mirrored(x[j], a.hermitian));
    }
    for (int64_t k = first; a.diagonal && k < a.n; k += step) {
        const int32_t e = a.diagonal[k];
        if (e >= 0) odd |= !is_real(x[!a.lower ? e : a.lower[e] >= 0 ? a.lower[e] : a.upper[e]]);
    }
    if (odd) *flag = 1;
}

static int blocks_for(int64_t count) {
    const int64_t blocks = (count + THREADS - 1) / THREADS;
    return (int)(blocks < 1 ? 1 : blocks < 2048 ? blocks : 2048);
}

static int check(mpki_cuda *cuda, const mpki_cuda_given *a, int32_t *flag, int32_t *odd) {
    auto kernel = check_kernel<T>;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(cudaMemsetAsync(flag, 0, sizeof *flag, cuda->sparse));
    MPKI_LAUNCH(kernel, blocks_for(a->given), THREADS, 0, cuda->sparse, *a, flag);
    MPKI_TRY(cudaGetLastError());
    MPKI_TRY(cudaMemcpyAsync(odd, flag, sizeof *odd, cudaMemcpyDeviceToHost, cuda->sparse));
    MPKI_TRY(cudaStreamSynchronize(cuda->sparse));
    return MPK_OK;
}

template <class E> __global__ void gather_kernel(const mpki_cuda_given a, E *ax) {
    const E *x = (const E *)a.values;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < a.nnz;
         k += (int64_t)gridDim.x * blockDim.x) {
        const int32_t i = a.lower[k];
        ax[k] = i >= 0 ? x[i] : mirrored(x[a.upper[k]], a.hermitian);
    }
}

static int gather(mpki_cuda *cuda, const mpki_cuda_given *a, void *ax) {
    auto kernel = gather_kernel<T>;
    MPKI_TRY(cudaSetDevice(cuda->device));
    if (a->lower)
        MPKI_LAUNCH(kernel, blocks_for(a->nnz), THREADS, 0, cuda->sparse, *a, (T *)ax);
    else
        MPKI_TRY(cudaMemcpyAsync(ax, a->values, (size_t)a->nnz * sizeof(T),
                                 cudaMemcpyDeviceToDevice, cuda->sparse));
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

/* ---- scaling ---- */

__device__ static inline double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}
__device__ static inline double size_of(float x) {
    return (double)fabsf(x);
}
__device__ static inline double size_of(double x) {
    return fabs(x);
}
template <class F> __device__ inline double size_of(cx<F> x) {
    const double a = (double)modulus(x), wide = hypot((double)x.x, (double)x.y);
    return is_finite(a) ? a : wide < DBL_MAX ? wide : DBL_MAX;
}
__device__ static inline bool even(double m) {
    return m <= 0x1p16 && (m >= 0x1p-16 || m == 0);
}

/* max |s_i a_ij s_j| over entries begin, begin + step, .. before `end` of row i; s NULL: all 1 */
template <class E>
__device__ double largest_in(const mpki_cuda_by_rows &a, const E *ax, const double *s, int i,
                             int64_t begin, int64_t end, int step) {
    const double own = s ? s[i] : 1;
    double most = 0;
    for (int64_t e = begin; e < end; e += step) {
        const int32_t at = a.src[e];
        const double x = size_of(ax[at >= 0 ? at : ~at]);
        if (x > 0) most = fmax(most, clamp(scaled(x, own, s ? s[a.col[e]] : 1), DBL_MIN, DBL_MAX));
    }
    return most;
}

/* What sweep k makes of row i, whose largest entry is known. */
__device__ static void finish_row(int k, int i, double most, int32_t *uneven, const double *s,
                                  double *next) {
    const double own = s ? s[i] : 1;
    if (!even(most)) uneven[k] = 1;
    next[i] = most > 0 ? clamp(own / sqrt(most), 0x1p-1000, 0x1p+1000) : own;
}

/* Sweep k: next := scale / sqrt(maxima), unless the one before found all rows even. Warps of the first `pieces` blocks
 * take pieces of long rows, of which the last one knows the row's largest entry; other warps take other rows in
 * turn. */
template <class E>
__global__ void __launch_bounds__(THREADS)
    sweep_kernel(const mpki_cuda_by_rows a, const E *ax, int k, int sweeps, int pieces,
                 int32_t *uneven, mpki_cuda_long_row *rows, const double *s, double *next) {
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x / 32, block = (int)blockIdx.x;
    if (k >= sweeps && !uneven[k - 1]) return;
    if (block < pieces) {
        const int p = block * WARPS + warp;
        if (p >= a.pieces) return;
        const int j = a.piece_of[p], i = a.long_row[j];
        const int64_t begin = a.ptr[i] + (int64_t)(p - a.first[j]) * MPKI_CUDA_ROW_LONG;
        const int64_t end =
            begin + MPKI_CUDA_ROW_LONG < a.ptr[i + 1] ? begin + MPKI_CUDA_ROW_LONG : a.ptr[i + 1];
        double most = largest_in(a, ax, s, i, begin + lane, end, 32);
        for (int o = 16; o; o /= 2) most = fmax(most, shfl_xor(most, o));
        if (lane > 0) return;
        atomicMax(&rows[j].most, (unsigned long long)__double_as_longlong(most));
        __threadfence();
        if (atomicAdd(&rows[j].done, 1) + 1 < a.first[j + 1] - a.first[j]) return;
        __threadfence();
        most = __longlong_as_double((long long)atomicMax(&rows[j].most, 0ull));
        rows[j].most = 0, rows[j].done = 0; /* for the next sweep */
        finish_row(k, i, most, uneven, s, next);
        return;
    }
    const int at_once = ((int)gridDim.x - pieces) * WARPS;
    for (int i = (block - pieces) * WARPS + warp; i < a.n; i += at_once) {
        const int64_t begin = a.ptr[i], end = a.ptr[i + 1];
        if (end - begin > MPKI_CUDA_ROW_LONG) continue;
        double most = largest_in(a, ax, s, i, begin + lane, end, 32);
        for (int o = 16; o; o /= 2) most = fmax(most, shfl_xor(most, o));
        if (lane == 0) finish_row(k, i, most, uneven, s, next);
    }
}

/* The nearest powers of two, from the copy that the last sweep left: sweep k reads copy k & 1, writes the other. The
 * last one that was asked for counts even if it found all rows even, later ones do not. */
static __global__ void round_kernel(int n, int sweeps, const int32_t *uneven, double limit,
                                    double *scale, const double *other, const int32_t *perm,
                                    double *by_position) {
    const int p = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (p >= n) return;
    int k = sweeps - 1;
    while (k < sweeps + MORE && uneven[k]) ++k;
    const int copy = (k < sweeps ? k + 1 : k) & 1;
    const int i = perm[p];
    const double last = copy ? other[i] : scale[i];
    double x = last > 0 ? last * 1.4142135623730951 : 1;
    x = clamp(x, 1 / limit, limit);
    x = __longlong_as_double(__double_as_longlong(x) & (0x7ffLL << 52));
    scale[i] = by_position[p] = x;
}

static int scale(mpki_cuda *cuda, const mpki_cuda_by_rows *a, const void *ax, int32_t sweeps,
                 const double *from, int32_t *uneven, mpki_cuda_long_row *rows, double *scale_,
                 double *other, const int32_t *perm, double *by_position) {
    auto kernel = sweep_kernel<T>;
    const int all = (a->n + WARPS - 1) / WARPS, blocks = all < 1024 ? all : 1024;
    const int pieces = (a->pieces + WARPS - 1) / WARPS;
    const double limit = sizeof(R) == sizeof(float) ? 0x1p120 : 0x1p1000;
    MPKI_TRY(cudaSetDevice(cuda->device));
    MPKI_TRY(cudaMemsetAsync(uneven, 0, MPKI_CUDA_SCALE_SWEEPS * sizeof *uneven, cuda->sparse));
    for (int k = 0; k < sweeps + MORE; ++k)
        MPKI_LAUNCH(kernel, pieces + blocks, THREADS, 0, cuda->sparse, *a, (const T *)ax, k, sweeps,
                    pieces, uneven, rows,
                    k == 0  ? from
                    : k & 1 ? other
                            : scale_,
                    k & 1 ? scale_ : other);
    MPKI_LAUNCH(round_kernel, (a->n + THREADS - 1) / THREADS, THREADS, 0, cuda->sparse, a->n,
                sweeps, uneven, limit, scale_, other, perm, by_position);
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

extern const mpki_cuda_values_kind FN(cuda_values) = {check, gather, scale};
