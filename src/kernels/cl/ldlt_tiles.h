/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LDLT_TILES_H
#define LDLT_TILES_H
#include "info.h"
#include "ldlt_pivots.h"

/* LDLT with pivots of orders up to 32 by 32 work-items, a warp of a GPU: P A P^T = L D L^T in
 * place, lower triangle, right-looking, updates of tiles of 8 rows and 8 columns by mma8x8x4. What
 * is left of the lower triangle stays in tiles: work-item 4 r + h holds row r of tile (q, b) and of
 * it columns 2 h and 2 h + 1, so a tile is t[2 (q (q + 1) / 2 + b)] and the one behind it. A column
 * is fetched from its tiles to memory near to the work-items, where entry i lies with number i; a
 * work-item then looks at one row. Columns of L wait there until all is done, too. Rows do not
 * move: `place` is where the row goes, and flags. Sizes are compared as in ldlt_partial.cl and
 * ldlt_complete.cl. */
#if N > 32 || WG_SIZE != 32
#error a warp's tiles take 32 work-items and orders up to 32
#endif
#define TILES ((N + 7) / 8)
#define TILE_ROW (LANE / 4)   /* r */
#define TILE_PLACE (LANE % 4) /* h */

/* A's lower triangle as tiles, n its order. own: the work-item's row of them; whole: a tile with
 * all of its rows is read without a test. Returns the largest size that this work-item has seen. */
static uint read_tiles(int n, T t[TILES * (TILES + 1)], __global const S *a, int lda, long base,
                       int own, bool whole) {
    int r = TILE_ROW;
    int h = TILE_PLACE;
    uint size = 0;
    for (int b = 0; b < TILES; ++b)
        for (int q = b; q < TILES; ++q)
            for (int e = 0; e < 2; ++e) {
                int i = 8 * q + (q > b ? r : max(own, 2 * h + e));
                int j = 8 * b + (q > b ? 2 * h + e : min(own, 2 * h + e));
                T x = 0;
                if ((whole && 8 * q + 8 <= LEAST_ROWS) || i < n) x = (T)a[base + (long)j * lda + i];
                t[q * (q + 1) + 2 * b + e] = x;
                size = max(size, magnitude(x));
            }
    return size;
}

/* The tiles, `tiles` rows of them, plus x y^T. */
static void update_tiles(int tiles, T t[], const T x[], const T y[]) {
    for (int q = 0; q < tiles; ++q)
        for (int b = 0; b < q + 1; ++b)
            for (int e = 0; e < 2; ++e)
                t[q * (q + 1) + 2 * b + e] = mma8x8x4(x[q], y[b], t[q * (q + 1) + 2 * b + e], e);
}

/* piv and info: `place` says where this row went, `to` without its flags, and `pivot` is its
 * diagonal entry of D. */
static void put_tiles(int n, __global int *piv, __global int *info, int place, int to, T pivot,
                      bool finite) {
    if (LANE < n) piv[GROUP * n + to] = (place & (FIRST | SECOND)) != 0 ? ~LANE : LANE;
    bool alone = LANE < n && (place & (FIRST | SECOND)) == 0;
    int counts = work_group_reduce_sum((alone && pivot > 0) || (place & FIRST) != 0 ? POSITIVE
                                       : alone && pivot == (T)0                     ? ZERO
                                                                                    : 0);
    int zero = counts >> 16;
    int positive = (counts & (ZERO - 1)) >> 8;
    put_info(info, finite, false, positive, n - positive - zero, zero);
}
#endif
