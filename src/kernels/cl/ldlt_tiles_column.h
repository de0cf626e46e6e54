/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of ldlt_tiles_partial.h: v = column `wanted`, of which up to two updates were missing, by
 * way of c[put ...]. */
#include "ldlt_tiles_fetch.h"
T v = c[put + ROW];
if (late > 0) {
    int of = L + first * COLUMN;
    T y = c[C + wanted];
    v -= c[of + ROW] * y;
    if (late > 1) {
        T z = c[C + COLUMN + wanted];
        v -= c[of + COLUMN + ROW] * z;
    }
}
