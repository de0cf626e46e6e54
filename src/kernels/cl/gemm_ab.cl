/* SPDX-License-Identifier: BSD-3-Clause */
/* C -= A B, n x n each, column-major. Work-item i holds row i of all three. */
#include "real.h"
#include "tile.h"

__kernel void gemm_ab(__global T *c, int ldc, long stride_c, __global const T *a, int lda,
                      long stride_a, __global const T *b, int ldb, long stride_b)
{
#if WG_VECTOR_BYTES && WG_PACK < LANES
#pragma unroll
    for (int j0 = 0; j0 < N; j0 += TILE) {
        T z[TILE];
        for (int j = 0; j < TILE; ++j)
            if (j0 + j < N)
                z[j] = c[GROUP * stride_c + (j0 + j) * ldc + LANE];
#if N > 8
#pragma nounroll
#endif
        for (int k = 0; k < N; ++k) {
            T x = a[GROUP * stride_a + k * lda + LANE];
            for (int j = 0; j < TILE; ++j)
                if (j0 + j < N)
                    z[j] -= x * b[GROUP * stride_b + (j0 + j) * ldb + k];
        }
        for (int j = 0; j < TILE; ++j)
            if (j0 + j < N)
                c[GROUP * stride_c + (j0 + j) * ldc + LANE] = z[j];
    }
#elif defined(BORG_SIMT) && N >= 20 && N % 4 == 0
    /* each work-item has a tile of C, four rows by N / 4 columns: what it multiplies comes from
     * other work-items when each value serves several products */
    __local T x[N * N];
    __local T y[N * N];
    T z[N];
    T t[N];
    int row = LANE % (N / 4);
    int column = LANE / (N / 4) * (N / 4);
    for (int j = 0; j < N; ++j)
        x[j * N + LANE] = a[GROUP * stride_a + j * lda + LANE];
    for (int j = 0; j < N; ++j)
        y[j * N + LANE] = b[GROUP * stride_b + j * ldb + LANE];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int j = 0; j < N / 4; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            t[4 * j + i] = c[GROUP * stride_c + (column + j) * ldc + i * (N / 4) + row];
#if N > 48 /* unrolled it is over the budget, and long before that over a GPU's instruction cache */
#pragma nounroll
#else
#pragma unroll
#endif
    for (int k = 0; k < N; ++k) {
        T u[4];
        if (k % 4 == 0) /* otherwise compilers read everything first, and spill */
            barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (int i = 0; i < 4; ++i)
            u[i] = x[k * N + i * (N / 4) + row];
#pragma unroll
        for (int j = 0; j < N / 4; ++j) {
            T v = y[(column + j) * N + k];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                z[4 * j + i] -= u[i] * v;
        }
    }
#pragma unroll
    for (int j = 0; j < N / 4; ++j)
#pragma unroll
        for (int i = 0; i < 4; ++i)
            c[GROUP * stride_c + (column + j) * ldc + i * (N / 4) + row] = t[4 * j + i] + z[4 * j + i];
#else /* GPUs hide latency by many threads with few registers: C is read last */
    T x[N];
    T y[N];
    T z[N];
    for (int j = 0; j < N; ++j) {
        x[j] = a[GROUP * stride_a + j * lda + LANE];
        y[j] = b[GROUP * stride_b + j * ldb + LANE];
#ifdef BORG_SIMT
        z[j] = 0;
#else
        z[j] = c[GROUP * stride_c + j * ldc + LANE];
#endif
    }
    for (int k = 0; k < N; ++k)
        for (int j = 0; j < N; ++j)
            z[j] -= x[k] * shuffle(y[j], k);
#ifdef BORG_SIMT
    for (int j = 0; j < N; ++j)
        z[j] += c[GROUP * stride_c + j * ldc + LANE];
#endif
    for (int j = 0; j < N; ++j)
        c[GROUP * stride_c + j * ldc + LANE] = z[j];
#endif
}
