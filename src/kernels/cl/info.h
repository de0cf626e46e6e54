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
#endif
