/* SPDX-License-Identifier: BSD-3-Clause */
/* C -= A D B^T, n x n each, column-major: the update of a block of a symmetric matrix. d: D(k,k), D(k+1,k) for each k,
 * the second 0 where k is not the first of a 2x2 block. Work-item i holds row i of A, B and C; its B D is formed
 * column by column. */
#include "real.h"
#include "tile.h"

__kernel void gemm_adb(__global T *c, int ldc, long stride_c, __global const T *a, int lda,
                       long stride_a, __global const T *d, __global const T *b, int ldb,
                       long stride_b)
{
#if WG_VECTOR_BYTES && WG_PACK < LANES
#pragma unroll
    for (int j0 = 0; j0 < N; j0 += TILE) {
        T z[TILE];
        for (int j = 0; j < TILE; ++j)
            if (j0 + j < N)
                z[j] = c[GROUP * stride_c + (j0 + j) * ldc + LANE];
        T before = 0; /* columns k-1, k, k+1 of A */
        T here = a[GROUP * stride_a + LANE];
        T side = 0; /* D(k,k-1) */
#if N > 8
#pragma nounroll
#endif
        for (int k = 0; k < N; ++k) {
            T middle = d[GROUP * (2 * N) + 2 * k];
            T down = d[GROUP * (2 * N) + 2 * k + 1];
            T next = a[GROUP * stride_a + min(k + 1, N - 1) * lda + LANE];
            next = k + 1 < N ? next : (T)0;
            T x = middle * here + side * before + down * next;
            for (int j = 0; j < TILE; ++j)
                if (j0 + j < N)
                    z[j] -= x * b[GROUP * stride_b + k * ldb + j0 + j];
            before = here;
            here = next;
            side = down;
        }
        for (int j = 0; j < TILE; ++j)
            if (j0 + j < N)
                c[GROUP * stride_c + (j0 + j) * ldc + LANE] = z[j];
    }
#else
    T z[N];
    T before = 0; /* row i of B, columns k-1, k, k+1 */
    T here = b[GROUP * stride_b + LANE];
    T side = 0; /* D(k,k-1) */
    for (int j = 0; j < N; ++j)
        z[j] = c[GROUP * stride_c + j * ldc + LANE];
    for (int k = 0; k < N; ++k) {
        T x = a[GROUP * stride_a + k * lda + LANE];
        T next = k + 1 < N ? b[GROUP * stride_b + min(k + 1, N - 1) * ldb + LANE] : (T)0;
        T down = d[GROUP * (2 * N) + 2 * k + 1];
        T y = d[GROUP * (2 * N) + 2 * k] * here + side * before + down * next;
        for (int j = 0; j < N; ++j)
            z[j] -= x * shuffle(y, j);
        before = here;
        here = next;
        side = down;
    }
    for (int j = 0; j < N; ++j)
        c[GROUP * stride_c + j * ldc + LANE] = z[j];
#endif
}
