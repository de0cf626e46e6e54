/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows shared by fewer work-items than there are, ORDER of them: work-item w has w, w + WG_SIZE, ... Sums of their entries, and
 * what the owner of the last row has beside it. */
#define HAS_ORDER
#include "../../../src/kernels/cl/real.h"
#define ROWS ((N + WG_SIZE - 1) / WG_SIZE)

__kernel void rows(__global const T *a, int lda, long stride, __global T *sums)
{
    long base = GROUP * stride;
    T x[ROWS];
    for (int k = 0; k < ROWS; ++k) {
        x[k] = 0;
        for (int j = 0; j < N; ++j)
            x[k] += a[base + (long)j * lda + min(k * WG_SIZE + LANE, N - 1)];
        x[k] += shuffle(x[k], (N - 1) % WG_SIZE);
    }
    for (int k = 0; k < ROWS; ++k)
        if (k * WG_SIZE + LANE < N)
            sums[GROUP * N + k * WG_SIZE + LANE] = x[k];
}
