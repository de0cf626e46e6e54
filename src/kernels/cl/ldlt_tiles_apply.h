/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of ldlt_tiles_partial.h: the updates that are late, four with those that are zero. */
{
    int low = L + (s - max(late - h, 1)) * COLUMN + r;
    T x[TILES];
    T y[TILES];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < TILES; ++k) {
        y[k] = c[C + h * COLUMN + r + 8 * k];
        x[k] = -c[low + 8 * k];
    }
#include "ldlt_tiles_update.h"
    late = 0;
    first = s;
    barrier(CLK_LOCAL_MEM_FENCE);
    c[C + 3 * COLUMN + ROW] = 0;
}
