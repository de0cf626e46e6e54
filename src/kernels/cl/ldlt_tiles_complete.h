/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LDLT_TILES_COMPLETE_H
#define LDLT_TILES_COMPLETE_H
#include "ldlt_tiles.h"

/* Bunch-Parlett by tiles: every step applies an update of one or two columns, since all entries are
 * compared. */
#define COLUMN 36 /* from one column to the next: four of them lie in different banks */
#define ZEROS (2 * COLUMN + 4) /* where columns that do not exist are read */
#define COMPLETE_PLACES (ZEROS + 32)
#define COMPLETE_COLUMNS (N * COLUMN)

/* c[put ...] = a column of column and row B of tiles, which is finished: it is `column` (0, 1) of
 * this work-item's columns, or its row where `row` is 0. rows and columns are bits of sizes that
 * count, none where a row is finished, or a column. */
static void fetch_of(int B, const T t[], __local volatile T c[COMPLETE_PLACES], int column, int row,
                     int put, uint rows[TILES], uint columns[2 * TILES]) {
    int r = TILE_ROW;
    int h = TILE_PLACE;
    if (column == 0)
        for (int q = B; q < TILES; ++q) c[put + 8 * q + r] = t[q * (q + 1) + 2 * B];
    if (row == 0)
        for (int q = 0; q < B; ++q)
            for (int e = 0; e < 2; ++e) c[put + 8 * q + 2 * h + e] = t[B * (B + 1) + 2 * q + e];
    if (column == 1)
        for (int q = B; q < TILES; ++q) c[put + 8 * q + r] = t[q * (q + 1) + 2 * B + 1];
    rows[B] = row == 0 ? 0u : rows[B];
    columns[2 * B] = column == 0 ? 0u : columns[2 * B];
    columns[2 * B + 1] = column == 1 ? 0u : columns[2 * B + 1];
}

/* c[put ...] = column `wanted`. */
static void fetch(const T t[], __local volatile T c[COMPLETE_PLACES], int wanted, int put,
                  uint rows[TILES], uint columns[2 * TILES]) {
    int column = (wanted & 7) - 2 * TILE_PLACE;
    int row = (wanted & 7) - TILE_ROW;
    if (TILES == 1 || wanted < 8) {
        fetch_of(0, t, c, column, row, put, rows, columns);
#if TILES > 1
    } else if (TILES == 2 || wanted < 16) {
        fetch_of(1, t, c, column, row, put, rows, columns);
#endif
#if TILES > 2
    } else if (TILES == 3 || wanted < 24) {
        fetch_of(2, t, c, column, row, put, rows, columns);
#endif
#if TILES > 3
    } else {
        fetch_of(3, t, c, column, row, put, rows, columns);
#endif
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/* l: columns of L; c: of updates and of what was fetched, and zeros. */
static void ldlt_tiles(int n, __local volatile T l[COMPLETE_COLUMNS],
                       __local volatile T c[COMPLETE_PLACES], __global S *a, int lda, long stride,
                       __global int *piv, __global int *info, T tol) {
    long base = GROUP * stride;
    int r = TILE_ROW;
    int h = TILE_PLACE;
    T t[TILES * (TILES + 1)];
    uint worst = work_group_reduce_max(read_tiles(n, t, a, lda, base, r, false));
    uint least = threshold(worst, tol);
    int s = 0;
    int place = LANE < n ? -1 : 0;
    int at = LANE; /* in l, of this row in column s */
    c[ZEROS + LANE] = 0;
    T dia = 0;
    if (LANE < n) dia = (T)a[base + LANE * (lda + 1)];
    uint rows[TILES];        /* bits of sizes that count: none where a row is finished, */
    uint columns[2 * TILES]; /* or a column */
    for (int q = 0; q < TILES; ++q) {
        rows[q] = 8 * q + r < n ? 0x7fffffffu : 0u;
        columns[2 * q] = 0xffffffffu;
        columns[2 * q + 1] = 0xffffffffu;
    }
    int one = r + (h == 0 ? 0 : ZEROS);
    int first = r + (h == 0 ? 0 : h == 1 ? COLUMN : ZEROS);
    int other = r + (h == 0 ? COLUMN : h == 1 ? 0 : ZEROS);
    bool more = true;
#pragma nounroll
    while (s < n - 1 && more) {
        uint wide = 0;
        for (int q = 0; q < TILES; ++q) {
            uint size = 0;
            for (int b = 0; b < 2 * q + 2; ++b)
                size = max(size, magnitude(t[q * (q + 1) + b]) & rows[q] & columns[b]);
            wide = max(wide, named_as(size, 8 * q + r));
        }
        uint key0 = work_group_reduce_max(wide);
        uint key1 = work_group_reduce_max(place < 0 ? key(dia) : 0u);
        worst = max(worst, key0);
        more = key0 > least;
        if (more) {
            bool two = key1 + LOG < key0;
            int p = (int)((two ? key0 : key1) & (uint)LAST);
            fetch(t, c, p, 0, rows, columns);
            T u = c[LANE];
            T d1 = c[p];
            T x[TILES];
            T y[TILES];
            if (two) {
                uint beyond = work_group_reduce_max(place < 0 && LANE != p ? key(u) : 0u);
                int wanted = (int)(beyond & (uint)LAST);
                fetch(t, c, wanted, COLUMN, rows, columns);
                T v = c[COLUMN + LANE];
                T d2 = c[COLUMN + wanted];
                T f = rcp(c[wanted]);
                T e1 = d1 * f; /* scaled, since the determinant could overflow: d1 d2 / d21^2 - 1 */
                T e2 = d2 * f;
                T w = f * rcp((T)1 - e1 * e2);
                T w1 = e1 * w;
                T w2 = e2 * w;
                T l1 = w * v - w2 * u;
                T l2 = w * u - w1 * v;
                l[at] = LANE == p || LANE == wanted ? u : l1;
                l[at + COLUMN] = LANE == wanted ? v : l2;
                T mine = h == 0 ? w2 : w1;
                for (int k = 0; k < TILES; ++k) {
                    y[k] = c[first + 8 * k];
                    x[k] = mine * y[k] - w * c[other + 8 * k];
                }
                dia = dia - l1 * u - l2 * v;
                place = LANE == p ? s + FIRST : LANE == wanted ? s + 1 + SECOND : place;
                s += 2;
                at += 2 * COLUMN;
            } else {
                T f = rcp(d1);
                T l1 = f * u;
                l[at] = LANE == p ? u : l1;
                for (int k = 0; k < TILES; ++k) {
                    y[k] = c[one + 8 * k];
                    x[k] = -f * y[k];
                }
                dia -= l1 * u;
                place = LANE == p ? s : place;
                s += 1;
                at += COLUMN;
            }
            update_tiles(TILES, t, x, y);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    if (more && s < n) { /* one row is left, its pivot in dia */
        uint key1 = work_group_reduce_max(place < 0 ? key(dia) : 0u);
        worst = max(worst, key1);
        l[at] = key1 > least ? dia : (T)0;
        place = place < 0 ? s : place;
        s += 1;
        at += COLUMN;
    }
#pragma nounroll
    while (s < n) { /* nothing is left */
        int p = work_group_reduce_max(place < 0 ? LANE : -1);
        l[at] = 0;
        place = LANE == p ? s : place;
        s += 1;
        at += COLUMN;
    }
    int to = place & PLACE;
    T pivot = l[to * COLUMN + LANE];
    for (int j = 0; j < N; ++j) {
        T x = l[j * COLUMN + LANE];
        if (LANE < n && to >= j) a[base + (long)j * lda + to] = (S)x;
    }
    put_tiles(n, piv, info, place, to, pivot, worst < ENDLESS);
}
#endif
