/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of ldlt_tiles.h: c[put ...] = column `wanted` of the tiles. */
{
    int column = (wanted & 7) - 2 * h; /* 0, 1: it is of those of this work-item, */
    int row = (wanted & 7) - r;        /* 0: or, as a row, the one of its tiles */
#if SEARCH == PARTIAL
    bool mine = (wanted & 6) == 2 * h;
#endif
    if (TILES == 1 || wanted < 8) {
#define B 0
#include "ldlt_tiles_of.h"
    } else {
#undef B
#if TILES > 1
        if (TILES == 2 || wanted < 16) {
#define B 1
#include "ldlt_tiles_of.h"
        } else {
#undef B
#if TILES > 2
            if (TILES == 3 || wanted < 24) {
#define B 2
#include "ldlt_tiles_of.h"
            } else {
#undef B
#if TILES > 3
#define B 3
#include "ldlt_tiles_of.h"
#undef B
#endif
            }
#endif
        }
#endif
    }
}
#if SEARCH == COMPLETE
barrier(CLK_LOCAL_MEM_FENCE);
#endif
