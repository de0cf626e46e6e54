/* SPDX-License-Identifier: BSD-3-Clause */
/* GEMA: C = A + B, n x n each, one after the other. Work-item i holds row i. */
#include "real.h"

__kernel void gema(__global T *c, __global const T *a, __global const T *b)
{
    long base = GROUP * (N * N);
    T x[N];
    T y[N];
    for (int j = 0; j < N; ++j) {
        x[j] = a[base + j * N + LANE];
        y[j] = b[base + j * N + LANE];
    }
    for (int j = 0; j < N; ++j)
        c[base + j * N + LANE] = x[j] + y[j];
}
