/* SPDX-License-Identifier: BSD-3-Clause */
/* FRCG: nonlinear conjugate gradients (Fletcher & Reeves 1964) on f(x, y) = (a - x)^2 + b (y - x^2)^2, one
 * (a, b) and one start for each work-item: a fixed number of steps, the line search takes the best of a fixed
 * number of halved lengths. ab and xy hold pairs; xy is overwritten by the last point. */
#include "real.h"

#ifndef STEPS
#define STEPS 16
#endif
#ifndef HALVINGS
#define HALVINGS 8
#endif
static T value(T a, T b, T x, T y)
{
    T u = a - x;
    T v = y - x * x;
    return u * u + b * v * v;
}

__kernel void frcg(__global T *xy, __global const T *ab)
{
    long i = GROUP * N + LANE;
    T a = ab[2 * i];
    T b = ab[2 * i + 1];
    T x = xy[2 * i];
    T y = xy[2 * i + 1];
    T px = 0;
    T py = 0;
    T old = 1;
    for (int step = 0; step < STEPS; ++step) {
        T v = y - x * x;
        T gx = (T)-2 * (a - x) - (T)4 * b * x * v;
        T gy = (T)2 * b * v;
        T norm = gx * gx + gy * gy;
        T beta = step == 0 ? (T)0 : norm / max(old, (T)1e-30);
        px = beta * px - gx;
        py = beta * py - gy;
        old = norm;
        T length = (T)0.125;
        T best = value(a, b, x, y);
        T taken = 0;
        for (int k = 0; k < HALVINGS; ++k) {
            T f = value(a, b, x + length * px, y + length * py);
            if (f < best) {
                best = f;
                taken = length;
            }
            length = length * (T)0.25;
        }
        x += taken * px;
        y += taken * py;
    }
    xy[2 * i] = x;
    xy[2 * i + 1] = y;
}
