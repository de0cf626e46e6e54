/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_SYSTEMS_TILE_H
#define MPKI_CPU_SYSTEMS_TILE_H
/** A tile of entries of all lanes, as large as registers hold it, less products: its shape changes
 *  no bits, for each entry has its products in the order of the pivots. */
#include "entry.h"

#if REGISTERS == 32
#define TILE_ROWS 4
#define TILE_COLS (MPKI_COMPLEX ? 2 : 4)
#else
#define TILE_ROWS (MPKI_COMPLEX ? 2 : 4)
#define TILE_COLS 2
#endif

/* x := x - L W of `depth` pivots.
 * l [in] row 0 of the first pivot; the next one is `step` entries on, and so on by one less
 * w [in] the columns' entries of L D, those of pivots `rows` entries apart */
INLINE void tile(const int mr, const int nr, int depth, const R *l, int64_t step, const R *w,
                 int64_t rows, entry x[TILE_ROWS][TILE_COLS]) {
    for (int k = 0; k < depth; k++) {
        entry y[TILE_COLS];
#pragma GCC unroll 4
        for (int b = 0; b < nr; b++) y[b] = e_load(w + b * EL);
#pragma GCC unroll 4
        for (int a = 0; a < mr; a++) {
            const entry z = e_load(l + a * EL);
#pragma GCC unroll 4
            for (int b = 0; b < nr; b++) x[a][b] = e_less(x[a][b], z, y[b]);
        }
        l += (step - k) * EL;
        w += rows * EL;
    }
}

#endif
