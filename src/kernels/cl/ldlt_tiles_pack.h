/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of ldlt_tiles_partial.h: the 15 or 16 rows that are left move together, in their order, into
 * two tiles; two work-items have each of them from here on. `before` is what `place` was, of `done`
 * columns. */
if (late > 0) {
    c[C + 2 * COLUMN + ROW] = 0;
    if (late < 2) c[C + COLUMN + ROW] = 0;
#include "ldlt_tiles_apply.h"
}
int before = LANE < N ? place : 0;
int done = s;
uint left = work_group_reduce_sum(before < 0 ? 1u << LANE : 0u);
int rank = before < 0 ? ones(left & ((1u << LANE) - 1u))
                      : 16; /* rows that are done: all to one that nobody reads */
__local volatile int ranks[32];
ranks[LANE] = rank;
barrier(CLK_LOCAL_MEM_FENCE);
int below[TILES];
int beside[2 * TILES];
for (int q = 0; q < TILES; ++q) below[q] = 20 * ranks[8 * q + r];
for (int b = 0; b < 2 * TILES; ++b) beside[b] = ranks[8 * (b / 2) + 2 * h + b % 2];
p = ranks[p];
for (int q = 0; q < TILES; ++q)
    for (int b = 0; b < 2 * q + 2; ++b) c[PACKED + below[q] + beside[b]] = t[q * (q + 1) + b];
barrier(CLK_LOCAL_MEM_FENCE);
#undef TILES
#undef L
#undef C
#define TILES 2
#define L (PACKED - (N - 16) * COLUMN)
#define C (PACKED + 16 * COLUMN)
for (int b = 0; b < TILES; ++b)
    for (int q = b; q < TILES; ++q)
        for (int e = 0; e < 2; ++e) {
            int i = 8 * q + (q > b ? r : max(own, 2 * h + e));
            int j = 8 * b + (q > b ? 2 * h + e : min(own, 2 * h + e));
            t[q * (q + 1) + 2 * b + e] = c[PACKED + i * COLUMN + j];
        }
barrier(CLK_LOCAL_MEM_FENCE);
row = lane & 15;
place = row < N - done ? -1 : 0;
again = 1;
