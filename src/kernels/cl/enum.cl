/* SPDX-License-Identifier: BSD-3-Clause */
/* ENUM: candidates of a small integer program max c'x, D x <= b, x in {-2, -1, 0, 1}^10, D 8 x 10
 * by rows. Each work-item decodes its candidate from the digits of its number in base four. Result:
 * the value, or -1e30 where a constraint does not hold. */
#include "real.h"

__kernel void enumerate(__global T *value, __global const T *c, __global const T *d,
                        __global const T *b)
{
    long i = GROUP * N + LANE;
    uint digits = (uint)i;
    T x[10];
    T sum = 0;
    bool good = true;
    for (int k = 0; k < 10; ++k) {
        int digit = (int)((digits >> (2 * k)) & 3u) - 2;
        x[k] = (T)digit;
        sum += c[k] * x[k];
    }
    for (int r = 0; r < 8; ++r) {
        T left = 0;
        for (int k = 0; k < 10; ++k)
            left += d[10 * r + k] * x[k];
        T most = b[r]; /* here, not after &&, where it would be read under a mask */
        good = good && left <= most;
    }
    value[i] = good ? sum : (T)-1e30;
}
