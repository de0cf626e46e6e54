/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT with pivots, SEARCH PARTIAL or COMPLETE, of orders up to 32 by 32 work-items, a warp of a
 * GPU: P A P^T = L D L^T in place, lower triangle, right-looking, updates of tiles of 8 rows and 8
 * columns by mma8x8x4. What is left of the lower triangle stays in tiles: work-item 4 r + h holds
 * row r of tile (q, b) and of it columns 2 h and 2 h + 1, so a tile is t[2 (q (q + 1) / 2 + b)] and
 * the one behind it. A column is fetched from its tiles (ldlt_tiles_fetch.h) to memory near to the
 * work-items, where entry i lies with number i; a work-item then looks at one row. Columns of L
 * wait there until all is done, too. Rows do not move: `place` is where the row goes, and flags.
 * Bunch-Kaufman (ldlt_tiles_partial.h): a column always waits, that of row p; updates are applied
 * when three or four of them have come together (mma8x8x4 does four in one), a column that is
 * fetched lacks up to two. Of more than 16 rows those that are left when they are 16 move together.
 * Bunch-Parlett (ldlt_tiles_complete.h): an update in each step, of one or two columns, as all
 * entries are looked at. Sizes are compared as in ldlt_partial.cl and ldlt_complete.cl. The body of
 * a kernel, behind ldlt_pivots.h. */
#if N > 32 || WG_SIZE != 32
#error a warp's tiles take 32 work-items and orders up to 32
#endif
#define TILES ((N + 7) / 8)
#if SEARCH == COMPLETE
#define COLUMN 36 /* from one column to the next: four of them lie in different banks */
#define ZEROS (2 * COLUMN + 4) /* where columns that are not there are read */
#define PLACES (ZEROS + 32)
#else
#define COLUMN (8 * TILES + 4)
#define ROW (LANE % (8 * TILES)) /* others may have the same row, and do the same */
#define L 0                      /* where columns of L begin, */
#if N > 16
#define FIRST_ROWS (8 * ((N + 7) / 8))
#define FIRST_COLUMN (FIRST_ROWS + 4)
#define PACKED ((N - 15) * FIRST_COLUMN) /* rows that are left, and their columns of L, */
#define C PACKED                         /* four columns of updates, two that were fetched */
#define PLACES (PACKED + 22 * 20)
#else
#define C (N * COLUMN)
#define PLACES (C + 6 * COLUMN)
#endif
#endif

long base = GROUP * stride;
int r = LANE / 4;
int h = LANE % 4;
T t[TILES * (TILES + 1)];
#if SEARCH == COMPLETE
__local volatile T l[N * COLUMN];
#endif
__local volatile T c[PLACES]; /* columns of updates and of what was fetched; zeros; L */
uint size = 0;
#if SEARCH == COMPLETE
int lane = LANE;
#else
int lane = LANE + (int)(GROUP >> 62); /* LANE, but no constant: no tables of what it decides */
#endif
int own = lane >> 2;
for (int b = 0; b < TILES; ++b)
    for (int q = b; q < TILES; ++q)
        for (int e = 0; e < 2; ++e) {
            int i = 8 * q + (q > b ? r : max(own, 2 * h + e));
            int j = 8 * b + (q > b ? 2 * h + e : min(own, 2 * h + e));
            T x = 0;
            if ((SEARCH == PARTIAL && 8 * q + 8 <= N) || i < N) x = a[base + (long)j * lda + i];
            t[q * (q + 1) + 2 * b + e] = x;
            size = max(size, magnitude(x));
        }
uint worst = work_group_reduce_max(size);
uint least = threshold(worst, tol);
int s = 0;
#if SEARCH == COMPLETE
#include "ldlt_tiles_complete.h"
#else
#include "ldlt_tiles_partial.h"
#endif
if (LANE < N) piv[GROUP * N + to] = (place & (FIRST | SECOND)) != 0 ? ~LANE : LANE;
bool alone = LANE < N && (place & (FIRST | SECOND)) == 0;
int counts = work_group_reduce_sum((alone && pivot > 0) || (place & FIRST) != 0 ? POSITIVE
                                   : alone && pivot == (T)0                     ? ZERO
                                                                                : 0);
bool finite = worst < ENDLESS;
int zero = counts >> 16;
int positive = (counts & (ZERO - 1)) >> 8;
#include "ldlt_info.h"
