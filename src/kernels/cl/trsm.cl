/* SPDX-License-Identifier: BSD-3-Clause */
/* X := X L^-T D^-1, n x n each: a block below a factored diagonal block, L unit lower. dinv: D^-1, as d in gemm_adb.
 * Work-item i holds row i of X and of L. */
#include "real.h"

__kernel void trsm(__global T *x, int ldx, long stride_x, __global const T *l, int ldl,
                   long stride_l, __global const T *dinv)
{
    T z[N];
    T side = 0;
    T before = 0;
    for (int j = 0; j < N; ++j)
        z[j] = x[GROUP * stride_x + j * ldx + LANE];
    for (int k = 0; k < N; ++k) {
        T y = l[GROUP * stride_l + k * ldl + LANE];
        for (int j = k + 1; j < N; ++j)
            z[j] -= z[k] * shuffle(y, j);
    }
    for (int k = 0; k < N; ++k) {
        T next = k + 1 < N ? z[min(k + 1, N - 1)] : (T)0;
        T down = dinv[GROUP * (2 * N) + 2 * k + 1];
        x[GROUP * stride_x + k * ldx + LANE] =
            dinv[GROUP * (2 * N) + 2 * k] * z[k] + side * before + down * next;
        before = z[k];
        side = down;
    }
}
