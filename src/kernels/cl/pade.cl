/* SPDX-License-Identifier: BSD-3-Clause */
/* PADE: backward pass of the Pade activation unit (Molina, Schramowski & Kersting 2020), f = P / Q with
 * P = sum_0^5 a_k x^k and Q = 1 + |sum_1^4 b_k x^k|. One item of input for each work-item: the gradient of x,
 * and what it adds to the gradients of the ten coefficients, coefficient by coefficient (`total` items each). */
#include "real.h"

__kernel void pade(__global T *dx, __global T *dab, __global const T *x, __global const T *g,
                   __global const T *ab, long total)
{
    long i = GROUP * N + LANE;
    T v = x[i];
    T grad = g[i];
    T power[6];
    T p = 0;
    T q = 0;
    T dp = 0;
    T dq = 0;
    power[0] = 1;
    for (int k = 1; k < 6; ++k)
        power[k] = power[k - 1] * v;
    for (int k = 0; k < 6; ++k)
        p += ab[k] * power[k];
    for (int k = 1; k < 6; ++k)
        dp += (T)k * ab[k] * power[k - 1];
    for (int k = 1; k < 5; ++k)
        q += ab[5 + k] * power[k];
    for (int k = 1; k < 5; ++k)
        dq += (T)k * ab[5 + k] * power[k - 1];
    T sign = q < 0 ? (T)-1 : (T)1;
    T r = rcp((T)1 + fabs(q));
    T f = p * r;
    dx[i] = grad * (dp - f * sign * dq) * r;
    for (int k = 0; k < 6; ++k)
        dab[k * total + i] = grad * power[k] * r;
    for (int k = 1; k < 5; ++k)
        dab[(5 + k) * total + i] = -grad * sign * f * power[k] * r;
}
