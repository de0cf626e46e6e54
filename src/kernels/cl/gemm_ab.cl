/* SPDX-License-Identifier: BSD-3-Clause */
/* C -= A B, n x n each, column-major. Work-item i holds row i of all three. */
/* -D WG_SIZE=n: the order; -D SINGLE: float instead of double. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif
#define N WG_SIZE
#define LANE ((int)get_local_id(0))
#define GROUP ((long)get_group_id(0))

__kernel void gemm_ab(__global T *c, int ldc, long stride_c, __global const T *a, int lda,
                      long stride_a, __global const T *b, int ldb, long stride_b)
{
    T y[N];
    T z[N];
    for (int j = 0; j < N; ++j) {
        y[j] = b[GROUP * stride_b + j * ldb + LANE];
        z[j] = c[GROUP * stride_c + j * ldc + LANE];
    }
    for (int k = 0; k < N; ++k) {
        T x = a[GROUP * stride_a + k * lda + LANE];
        for (int j = 0; j < N; ++j)
            z[j] -= x * shuffle(y[j], k);
    }
    for (int j = 0; j < N; ++j)
        c[GROUP * stride_c + j * ldc + LANE] = z[j];
}
