/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DENSE_BUTTERFLY_CUH
#define MPKI_CUDA_DENSE_BUTTERFLY_CUH
/** Random butterfly transformation U^T A U (Parker 1995; Baboulin, Dongarra, Herrmann & Tomov
 *  2013), in place on the lower triangle, for any n: a butterfly couples i with i + h, where h is
 *  half of its rows, and leaves an odd row out. Depth 2: first the butterflies of the two halves,
 *  then that of the whole. The diagonals, exp(r / 10) with r uniform in (-1/2, 1/2), are stored one
 *  after the other: depth x n. */
#include "core/random.h"
#include "engines/cuda/module/runtime.cuh"
#include "engines/cuda/module/scalar.cuh"

namespace mpki {

/** u := exp(r / 10), r uniform in (-1/2, 1/2): depth x n numbers. A thread takes numbers in
 *  turns; no barrier. */
template <class R> __global__ void butterfly_fill_kernel(int n, int depth, uint64_t seed, R *u) {
    for (int64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < (int64_t)n * depth;
         i += gridDim.x * blockDim.x) {
        const uint64_t z = seed * MPKI_GOLDEN + (uint64_t)i * UINT64_C(0xD1B54A32D192ED03) + 1;
        u[i] = (R)exp((mpki_random_unit(mpki_random_mix(z)) - 0.5) / 10);
    }
}

/** Where index i lies in the butterfly of [first, first + 2 h): its partner, and whether it is the
 *  second of the two. */
struct wing {
    int first, h;
};

/** A := B^T A B on the rows of butterfly r and the columns of c. A thread takes the four entries
 *  (i, j), (i + h, j), (i, j + g), (i + h, j + g) in turns; no barrier. */
template <bool H, class T, class R>
__global__ void butterfly_kernel(wing r, wing c, const R *u, T *A, int64_t lda) {
    const bool same = r.first == c.first;
    for (int64_t j = blockIdx.y; j < c.h; j += gridDim.y)
        for (int64_t i = (same ? j : 0) + blockIdx.x * blockDim.x + threadIdx.x; i < r.h;
             i += gridDim.x * blockDim.x) {
            const int64_t i0 = r.first + i, i1 = i0 + r.h, j0 = c.first + j, j1 = j0 + c.h;
            const bool turned = same && i < j + c.h; /* (i0, j1) lies above the diagonal */
            T *a00 = A + i0 + j0 * lda, *a10 = A + i1 + j0 * lda, *a11 = A + i1 + j1 * lda;
            T *a01 = turned ? A + j1 + i0 * lda : A + i0 + j1 * lda;
            const T x00 = *a00, x10 = *a10, x11 = *a11, x01 = turned ? cj<H>(*a01) : *a01;
            const R p0 = u[i0], p1 = u[i1], q0 = u[j0], q1 = u[j1];
            /* B = [R0 R1; R0 -R1] / sqrt(2): (B^T X B) */
            const T s = x00 + x01, t = x00 - x01, v = x10 + x11, w = x10 - x11;
            *a00 = (s + v) * (p0 * q0 / 2);
            *a10 = (s - v) * (p1 * q0 / 2);
            *a11 = (t - w) * (p1 * q1 / 2);
            if (same && i == j)
                ; /* a01 is a10's mirror image */
            else
                *a01 = turned ? cj<H>((t + w) * (p0 * q1 / 2)) : (t + w) * (p0 * q1 / 2);
        }
}

/** The row or column of an odd index times the butterfly w. A thread takes a pair of entries; no
 *  barrier. */
template <class T, class R>
__global__ void butterfly_odd_kernel(wing w, int odd, const R *u, T *A, int64_t lda) {
    const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.h) return;
    const int64_t a = w.first + i, b = a + w.h;
    T *x = odd > a ? A + odd + a * lda : A + a + odd * lda;
    T *y = odd > b ? A + odd + b * lda : A + b + odd * lda;
    const R root = (R)0.70710678118654752440;
    const T s = *x + *y, t = *x - *y;
    *x = s * (u[a] * root), *y = t * (u[b] * root);
}

/** x := B^T x (transposed) or B x for the butterfly of w. A thread takes a pair of rows; no
 *  barrier. */
template <class T, class R>
__global__ void butterfly_vector_kernel(wing w, const R *u, T *x, int64_t ldx, int transposed) {
    const int64_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= w.h) return;
    const int64_t a = w.first + i, b = a + w.h;
    const R root = (R)0.70710678118654752440;
    T *p = x + a + blockIdx.y * ldx, *q = x + b + blockIdx.y * ldx;
    if (transposed) {
        const T s = *p + *q, t = *p - *q;
        *p = s * (u[a] * root), *q = t * (u[b] * root);
    } else {
        const T s = *p * (u[a] * root), t = *q * (u[b] * root);
        *p = s + t, *q = s - t;
    }
}

/** The wings of level `level` (0: the whole; 1: its halves); returns how many. */
static inline int wings_of(int n, int level, wing *w) {
    if (level == 0) {
        w[0] = {0, n / 2};
        return 1;
    }
    const int h = n / 2;
    w[0] = {0, h / 2}, w[1] = {h, h / 2};
    return 2;
}

template <bool H>
static mpk_status butterfly_apply(mpki_cuda *cuda, int n, int depth, const R *u, T *A, int64_t lda,
                                  cudaStream_t stream) {
    for (int level = depth - 1; level >= 0; --level) {
        wing w[2];
        const int count = wings_of(n, level, w);
        const R *d = u + (int64_t)level * n;
        for (int a = 0; a < count; ++a)
            for (int b = 0; b <= a; ++b) {
                if (!w[a].h || !w[b].h) continue;
                const dim3 grid((w[a].h + 255) / 256, w[b].h < 32768 ? w[b].h : 32768);
                butterfly_kernel<H><<<grid, 256, 0, stream>>>(w[a], w[b], d, A, lda);
            }
        /* odd indices: those that are in no wing */
        for (int o = 0; o < 3; ++o) {
            const int part = level == 0 ? 0 : o;
            if (level == 0 && o > 0) break;
            const int from = level == 0 ? 0 : part == 0 ? 0 : part == 1 ? n / 2 : n / 2 * 2;
            const int to = level == 0 ? n : part == 0 ? n / 2 : part == 1 ? n / 2 * 2 : n;
            for (int odd = from + (to - from) / 2 * 2 * (part < 2); odd < to; ++odd)
                for (int b = 0; b < count; ++b)
                    if (w[b].h)
                        butterfly_odd_kernel<<<(w[b].h + 255) / 256, 256, 0, stream>>>(w[b], odd, d,
                                                                                       A, lda);
        }
    }
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

static mpk_status butterfly_vectors(mpki_cuda *cuda, int n, int depth, const R *u, int nrhs, T *x,
                                    int64_t ldx, bool transposed, cudaStream_t stream) {
    for (int k = 0; k < depth; ++k) {
        const int level = transposed ? depth - 1 - k : k;
        wing w[2];
        const int count = wings_of(n, level, w);
        for (int b = 0; b < count; ++b)
            if (w[b].h)
                butterfly_vector_kernel<<<dim3((w[b].h + 255) / 256, nrhs), 256, 0, stream>>>(
                    w[b], u + (int64_t)level * n, x, ldx, transposed);
    }
    MPKI_TRY(cudaGetLastError());
    return MPK_OK;
}

} // namespace mpki
#endif
