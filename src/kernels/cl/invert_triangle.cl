/* SPDX-License-Identifier: BSD-3-Clause */
/* X = L^-1 of a unit lower triangular L, n x n; zeros above the diagonal are written. Work-item j holds row j of L and
 * column j of X. */
#include "real.h"

__kernel void invert_triangle(__global T *x, int ldx, long stride_x, __global const T *l, int ldl,
                              long stride_l)
{
    T y[N];
    T z[N];
    for (int k = 0; k < N; ++k)
        y[k] = l[GROUP * stride_l + k * ldl + LANE];
    for (int i = 0; i < N; ++i) {
        T sum = LANE == i ? (T)1 : (T)0;
        for (int k = 0; k < i; ++k)
            sum -= shuffle(y[k], i) * z[k];
        z[i] = sum;
    }
    for (int i = 0; i < N; ++i)
        x[GROUP * stride_x + LANE * ldx + i] = z[i];
}
