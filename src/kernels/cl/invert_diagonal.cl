/* SPDX-License-Identifier: BSD-3-Clause */
/* The inverse of a block-diagonal D with 1x1 and 2x2 blocks, as d in gemm_adb; a block that is singular gives zeros.
 * Work-item k holds place k. */
#include "real.h"

__kernel void invert_diagonal(__global T *dinv, __global const T *d)
{
    T here = d[GROUP * (2 * N) + 2 * LANE];
    T down = d[GROUP * (2 * N) + 2 * LANE + 1];
    T up = shuffle(down, LANE > 0 ? LANE - 1 : 0);
    up = LANE > 0 ? up : (T)0;
    T next = shuffle(here, LANE + 1 < N ? LANE + 1 : N - 1);
    T last = shuffle(here, LANE > 0 ? LANE - 1 : 0);
    bool first = fabs(down) > 0;
    bool two = first || fabs(up) > 0;
    T d1 = first ? here : last;
    T d2 = first ? next : here;
    T off = first ? down : up;
    T scale = max(fabs(off), max(fabs(d1), fabs(d2)));
    T r = rcp(scale);
    T e1 = d1 * r;
    T e2 = d2 * r;
    T e = off * r;
    T det = e1 * e2 - e * e;
    T f = fabs(det) > 0 ? r * rcp(det) : (T)0;
    T single = fabs(here) > 0 ? rcp(here) : (T)0;
    dinv[GROUP * (2 * N) + 2 * LANE] = !two ? single : first ? e2 * f : e1 * f;
    dinv[GROUP * (2 * N) + 2 * LANE + 1] = first ? -(e * f) : (T)0;
}
