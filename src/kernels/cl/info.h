/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef INFO_H
#define INFO_H
#include "real.h"

/* info of the group's matrix: its outcome, and its positive, negative and zero pivots, as in
 * mpk_batch.h. broken: a pivot is zero, and what it should eliminate is not. */
static void put_info(__global int *info, bool finite, bool broken, int positive, int negative,
                     int zero) {
    if (LANE == 0) {
        bool bad = !finite || broken;
        info[4 * GROUP] = !finite ? 3 : broken ? 2 : zero > 0 ? 1 : 0;
        info[4 * GROUP + 1] = bad ? 0 : positive;
        info[4 * GROUP + 2] = bad ? 0 : negative;
        info[4 * GROUP + 3] = bad ? 0 : zero;
    }
}
/* The same, of the pivots that are not zero: positive or negative. A complex symmetric matrix has
 * no inertia. */
static void put_signs(__global int *info, bool finite, bool broken, int rows, int positive,
                      int zero) {
#if defined(COMPLEX) && !defined(HERMITIAN)
    put_info(info, finite, broken, 0, 0, zero);
#else
    put_info(info, finite, broken, positive, rows - positive - zero, zero);
#endif
}
#endif
