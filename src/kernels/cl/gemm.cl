/* SPDX-License-Identifier: BSD-3-Clause */
/* GEMM: C = A B, n x n, column-major, in outer-product form. Work-item i holds row i of all three. */
/* -D WG_SIZE=n: the order; -D SINGLE: float instead of double. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif
#define N WG_SIZE
#define LANE ((int)get_local_id(0))
#define GROUP ((long)get_group_id(0))
#if WG_VECTOR_BYTES /* columns at a time: with their rows they fill the registers of a vector machine */
#ifdef SINGLE
#define LANES (WG_VECTOR_BYTES / 4)
#else
#define LANES (WG_VECTOR_BYTES / 8)
#endif
#define REGISTERS ((N * WG_PACK + LANES - 1) / LANES)
#if WG_VECTOR_BYTES > 32
#define MOST 24
#else
#define MOST 12
#endif
#if WG_PACK >= LANES
#define TILE N
#elif REGISTERS * 8 <= MOST
#define TILE 8
#elif REGISTERS * 6 <= MOST
#define TILE 6
#elif REGISTERS * 4 <= MOST
#define TILE 4
#elif REGISTERS * 2 <= MOST
#define TILE 2
#else
#define TILE 1
#endif
#else
#define TILE N
#endif

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
