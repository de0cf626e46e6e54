/* SPDX-License-Identifier: BSD-3-Clause */
/* C -= A D B^T, n x n each, column-major: the update of a block of a symmetric matrix. d: D(k,k), D(k+1,k) for each k,
 * the second 0 where k is not the first of a 2x2 block. Work-item i holds row i of A, B and C; its B D is formed
 * column by column. */
/* -D WG_SIZE=n: the order; -D SINGLE: float instead of double. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif
#define N WG_SIZE
#define LANE ((int)get_local_id(0))
#define GROUP ((long)get_group_id(0))

__kernel void gemm_adb(__global T *c, int ldc, long stride_c, __global const T *a, int lda,
                       long stride_a, __global const T *d, __global const T *b, int ldb,
                       long stride_b)
{
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
}
