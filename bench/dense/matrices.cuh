/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_DENSE_MATRICES_CUH
#define BENCH_DENSE_MATRICES_CUH
/** Test matrices by formula, filled on the device: entry (i, j) of an order n depends on (i, j)
 *  alone, so that any part can be made anywhere. */
#include "../../src/engines/cuda/module/scalar.cuh"
#include "../../src/core/random.h"

enum family {
    RANDOM, /* uniform in (-1, 1), both parts where complex */
    ZERO_DIAGONAL,
    SADDLE,    /* [D B^T; B 0], D diagonal positive, a third of the rows below */
    GRADED,    /* random, scaled by 10^(-6 i / n) on both sides */
    FIEDLER,   /* |i - j| */
    CHAIN,     /* zero but for pairs [0 1; 1 0] far apart: row i with row n - 1 - i */
    WILKINSON, /* growth: 1 on the diagonal and in the last column, -1 below */
    INTERIOR,  /* late interior point: diagonal over 16 decades, coupling, -1e-8 below */
    SINGULAR,  /* random of rank n - n/8: the last rows repeat the first */
    DOMINANT,  /* random with sqrt(n) on the diagonal: for methods without pivoting */
    POSITIVE,  /* random with n on the diagonal: for Cholesky */
    ZERO,      /* nothing */
    FAMILIES
};
static const char *const family_name[FAMILIES] = {
    "random",    "zero-diagonal", "saddle",   "graded",   "fiedler",  "chain",
    "wilkinson", "interior",      "singular", "dominant", "positive", "zero"};

__host__ __device__ inline double hash01(uint64_t i, uint64_t j, uint64_t seed) {
    const uint64_t z = (i * MPKI_GOLDEN) ^ (j * UINT64_C(0xC2B2AE3D27D4EB4F)) ^
                       (seed * UINT64_C(0x165667B19E3779F9));
    return 2 * mpki_random_unit(mpki_random_mix(z)) - 1; /* [-1, 1) */
}

/** Lower entry (i, j), i >= j: real and imaginary part. */
__host__ __device__ inline void entry(int f, int n, int i, int j, uint64_t seed, double *re,
                                      double *im) {
    double x = hash01(i, j, seed), y = i == j ? 0 : hash01(j + 0x10000000ull, i, seed), s;
    const int head = n - n / 3;
    *re = x, *im = y;
    switch (f) {
    case ZERO_DIAGONAL:
        if (i == j) *re = *im = 0;
        break;
    case SADDLE:
        if (i < head) {
            *re = i == j ? 1.5 + x : 0, *im = 0;
        } else if (j >= head) {
            *re = *im = 0;
        }
        break;
    case GRADED:
        s = exp10(-6.0 * ((double)i + j) / n);
        *re = x * s, *im = y * s;
        break;
    case FIEDLER:
        *re = i - j, *im = 0;
        break;
    case CHAIN:
        *re = i + j == n - 1 ? 1 : 0, *im = 0;
        break;
    case WILKINSON:
        *re = i == j || i == n - 1 ? 1 : -1, *im = 0;
        break;
    case INTERIOR:
        *im = 0;
        if (i < head)
            *re = i == j ? exp10(8 * x) : 0;
        else if (j < head)
            *re = x;
        else
            *re = i == j ? -1e-8 : 0;
        break;
    case SINGULAR: {
        const int m = n - n / 8, p = i % m, q = j % m;
        const int a = p > q ? p : q, b = p > q ? q : p;
        *re = hash01(a, b, seed), *im = 0;
        break;
    }
    case DOMINANT:
        if (i == j) *re = sqrt((double)n) * (i & 1 ? -1.5 : 1.5), *im = 0;
        break;
    case POSITIVE:
        if (i == j) *re = 2.0 * n, *im = 0;
        break;
    case ZERO:
        *re = *im = 0;
        break;
    default:
        break;
    }
}

template <class T> __host__ __device__ inline T from_parts(double re, double im);
template <> __host__ __device__ inline float from_parts<float>(double re, double) {
    return (float)re;
}
template <> __host__ __device__ inline double from_parts<double>(double re, double) {
    return re;
}
template <>
__host__ __device__ inline mpki::cx<float> from_parts<mpki::cx<float>>(double re, double im) {
    return {(float)re, (float)im};
}
template <>
__host__ __device__ inline mpki::cx<double> from_parts<mpki::cx<double>>(double re, double im) {
    return {re, im};
}

/** What: 0 lower triangle (NaN above, so that whoever reads it is found out), 1 both triangles. */
template <class T>
__global__ void fill_kernel(int f, int n, uint64_t seed, int hermitian, int what, T *A,
                            int64_t lda) {
    const int64_t j = blockIdx.y + (int64_t)blockIdx.z * 65535;
    if (j >= n) return;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double re, im;
        if (i < j && !what) {
            A[i + j * lda] = from_parts<T>(NAN, NAN);
            continue;
        }
        entry(f, n, i < j ? (int)j : i, i < j ? i : (int)j, seed, &re, &im);
        if (hermitian && i < j) im = -im;
        if (hermitian && i == j) im = 0;
        A[i + j * lda] = from_parts<T>(re, im);
    }
}

template <class T>
static void fill(int f, int n, uint64_t seed, bool hermitian, bool both, T *A, int64_t lda) {
    fill_kernel<<<dim3((n + 255) / 256, n < 65535 ? n : 65535, (n + 65534) / 65535), 256>>>(
        f, n, seed, hermitian, both, A, lda);
}
#endif
