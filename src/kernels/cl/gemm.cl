/* SPDX-License-Identifier: BSD-3-Clause */
/* GEMM: C = A B, n x n, column-major, in outer-product form. Work-item i holds row i of all three. */
#include "real.h"
#include "tile.h"

__kernel void gemm(__global T *c, __global const T *a, __global const T *b)
{
#if WG_VECTOR_BYTES && WG_PACK < LANES
    long base = GROUP * (N * N);
#pragma unroll
    for (int j0 = 0; j0 < N; j0 += TILE) {
        T z[TILE];
        for (int j = 0; j < TILE; ++j)
            z[j] = 0;
#if N > 8
#pragma nounroll
#endif
        for (int k = 0; k < N; ++k) {
            T x = a[base + k * N + LANE];
            for (int j = 0; j < TILE; ++j)
                if (j0 + j < N)
                    z[j] += x * b[base + (j0 + j) * N + k];
        }
        for (int j = 0; j < TILE; ++j)
            if (j0 + j < N)
                c[base + (j0 + j) * N + LANE] = z[j];
    }
#else
    long base = GROUP * (N * N);
    T x[N];
    T y[N];
    T z[N];
    for (int j = 0; j < N; ++j) {
        x[j] = a[base + j * N + LANE];
        y[j] = b[base + j * N + LANE];
        z[j] = 0;
    }
    for (int k = 0; k < N; ++k)
        for (int j = 0; j < N; ++j)
            z[j] += x[k] * shuffle(y[j], k);
    for (int j = 0; j < N; ++j)
        c[base + j * N + LANE] = z[j];
#endif
}
