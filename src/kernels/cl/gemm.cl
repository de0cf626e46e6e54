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

__kernel void gemm(__global T *c, __global const T *a, __global const T *b)
{
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
}
