/* SPDX-License-Identifier: BSD-3-Clause */
/* C = 5 (A + B), the sum in a loop (thesis of 2021, figure 7.10). -D UNROLLED: its bound is a constant; -D MASKED: each
 * work-item reads its own; else (-D UNIFORM) all read the same. */
#include "../../src/kernels/cl/real.h"

__kernel void gema5(__global T *c, __global const T *a, __global const T *b, __global const int *turns)
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
#ifdef UNROLLED
    int bound = 5;
#elif defined(MASKED)
    int bound = turns[LANE];
#else
    int bound = turns[0];
#endif
    for (int t = 0; t < bound; ++t)
        for (int j = 0; j < N; ++j)
            z[j] += x[j] + y[j];
    for (int j = 0; j < N; ++j)
        c[base + j * N + LANE] = z[j];
}
