/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LDLT_TILES_PARTIAL_H
#define LDLT_TILES_PARTIAL_H
#include "ldlt_tiles.h"

/* Bunch-Kaufman by tiles: a column always waits, that of row p; updates are applied when three or
 * four of them have come together (mma8x8x4 does four in one), a column that is fetched lacks up to
 * two. Of more than 16 rows those that are left when they are 16 move together, into two tiles; two
 * work-items have each of them from there on. What differs between the stages is given to all
 * functions: tiles, the rows of tiles; l and at, where in c columns of L begin, and four columns of
 * updates, behind which the two that are fetched have room. */
#define COLUMN (8 * TILES + 4) /* from one column to the next, in the first stage */
#if N > 16
#define PACKED ((N - 15) * COLUMN) /* rows that are left, and their columns of L */
#define PACKED_COLUMN 20
#define PARTIAL_PLACES (PACKED + 22 * PACKED_COLUMN)
#else
#define PARTIAL_PLACES ((N + 6) * COLUMN)
#endif

/* How far it is, in `go`: */
#define DONE 0  /* columns of L that are finished */
#define LATE 1  /* updates that are not applied yet: by the last columns of L, */
#define SINCE 2 /* from this one on */
#define NEXT 3  /* the row whose column waits */
#define AGAIN 4 /* another column has to wait; an int, since a bool would be bytes to nvcc */
#define WHERE 5 /* where this row goes, and flags; -1: it is left */
#define STATE 6

static int pitch(int tiles) {
    return 8 * tiles + 4;
}
/* This work-item's row of a column; other work-items may have the same row, and do the same. */
static int own_row(int tiles) {
    return LANE % (8 * tiles);
}

/* c[put ...] = a column of column and row B of tiles: held by this work-item, in the second of its
 * columns where `odd`, or, as a row of its tiles, where `row` is 0. */
static void fetch_of(int B, int tiles, const T t[], __local volatile T c[PARTIAL_PLACES], int row,
                     bool held, bool odd, int put) {
    int r = TILE_ROW;
    int h = TILE_PLACE;
    if (row == 0)
        for (int q = 0; q < B; ++q)
            for (int e = 0; e < 2; ++e) c[put + 8 * q + 2 * h + e] = t[B * (B + 1) + 2 * q + e];
    if (odd) {
        if (held)
            for (int q = B; q < tiles; ++q) c[put + 8 * q + r] = t[q * (q + 1) + 2 * B + 1];
        barrier(CLK_LOCAL_MEM_FENCE); /* here, so that the last stores do not become a branch */
    } else {
        if (held)
            for (int q = B; q < tiles; ++q) c[put + 8 * q + r] = t[q * (q + 1) + 2 * B];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* c[put ...] = column `wanted`. */
static void fetch(int tiles, const T t[], __local volatile T c[PARTIAL_PLACES], int wanted,
                  int put) {
    int row = (wanted & 7) - TILE_ROW;
    bool held = (wanted & 6) == 2 * TILE_PLACE;
    bool odd = (wanted & 1) != 0;
    if (TILES == 1 || wanted < 8) {
        fetch_of(0, tiles, t, c, row, held, odd, put);
#if TILES > 1
    } else if (TILES == 2 || tiles == 2 || wanted < 16) {
        fetch_of(1, tiles, t, c, row, held, odd, put);
#endif
#if TILES > 2
    } else if (TILES == 3 || tiles == 3 || wanted < 24) {
        fetch_of(2, tiles, t, c, row, held, odd, put);
#endif
#if TILES > 3
    } else {
        fetch_of(3, tiles, t, c, row, held, odd, put);
#endif
    }
}

/* Column `wanted`, of which up to two updates were missing, by way of c[put ...]. */
static T column_of(int tiles, int l, int at, const T t[], __local volatile T c[PARTIAL_PLACES],
                   int wanted, int put, int late, int since) {
    fetch(tiles, t, c, wanted, put);
    T v = c[put + own_row(tiles)];
    if (late > 0) {
        int of = l + since * pitch(tiles);
        T y = c[at + wanted];
        v -= c[of + own_row(tiles)] * y;
        if (late > 1) {
            T z = c[at + pitch(tiles) + wanted];
            v -= c[of + pitch(tiles) + own_row(tiles)] * z;
        }
    }
    return v;
}

/* Apply the `late` updates before column s, four including those that are zero. */
static void apply(int tiles, int l, int at, T t[], __local volatile T c[PARTIAL_PLACES], int s,
                  int late) {
    int r = TILE_ROW;
    int h = TILE_PLACE;
    int low = l + (s - max(late - h, 1)) * pitch(tiles) + r;
    T x[TILES];
    T y[TILES];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < tiles; ++k) {
        y[k] = c[at + h * pitch(tiles) + r + 8 * k];
        x[k] = -c[low + 8 * k];
    }
    update_tiles(tiles, t, x, y);
    barrier(CLK_LOCAL_MEM_FENCE);
    c[at + 3 * pitch(tiles) + own_row(tiles)] = 0;
}

/* Steps until `stop` columns are done; row: as own_row, but no constant; u: the column that waits.
 * Barriers stand between what work-items write and others read before or behind it: two places
 * where columns are fetched to save some. */
static void steps(int tiles, int l, int at, int stop, int row, uint least, T t[],
                  __local volatile T c[PARTIAL_PLACES], int go[STATE], T waits[1], uint worst[1]) {
    int s = go[DONE];
    int late = go[LATE];
    int since = go[SINCE];
    int p = go[NEXT];
    int again = go[AGAIN];
    int place = go[WHERE];
    T u = waits[0];
    c[at + 3 * pitch(tiles) + own_row(tiles)] = 0; /* where three updates come together */
#pragma nounroll
    while (s < stop) {
        if (again != 0) {
            u = column_of(tiles, l, at, t, c, p, at + 4 * pitch(tiles), late, since);
        }
        int slot = at + late * pitch(tiles); /* where the column waits for its update */
        c[slot + own_row(tiles)] = u;
        uint best = work_group_reduce_max(place < 0 && row != p ? named_as(magnitude(u), row) : 0u);
        barrier(CLK_LOCAL_MEM_FENCE);
        T d1 = c[slot + p];
        uint k1 = magnitude(d1);
        int wanted = (int)(best & (uint)LAST);
        int to = l + s * pitch(tiles) + own_row(tiles);
        worst[0] = max(worst[0], max(best, k1));
        if (best <= least || k1 + LOG >= best) { /* no other column is examined */
            bool good = best > least || k1 > least;
            c[to] = row == p ? u : rcp(d1) * u;
            if (!good) c[to] = 0;
            place = row == p ? s : place;
            p = wanted;
            s += 1;
            late += 1;
            again = 1;
        } else {
            T d21 = c[slot + wanted];
            T v = column_of(tiles, l, at, t, c, wanted, at + 5 * pitch(tiles), late, since);
            T d = shuffle(v, wanted);
            uint top = work_group_reduce_max(place < 0 && row != wanted ? magnitude(v) : 0u);
            uint k2 = magnitude(d);
            if (k1 > 0u && k1 + top + LOG >= 2u * best) { /* row p after all; the other one waits */
                T x = rcp(d1) * u;
                c[to] = row == p ? u : x;
                u = v - x * d21;
                place = row == p ? s : place;
                p = wanted;
                s += 1;
                late += 1;
                again = 0;
            } else if (k2 + LOG >= top) { /* the other one */
                T x = rcp(d) * v;
                c[to] = row == wanted ? v : x;
                c[slot + own_row(tiles)] = v;
                u -= x * d21;
                place = row == wanted ? s : place;
                s += 1;
                late += 1;
                again = 0;
            } else { /* both; the lowest row that is left comes next */
                T f = rcp(d21);
                T e1 = d1 * f; /* scaled, lest the determinant overflow: d1 d2 / d21^2 - 1 */
                T e2 = d * f;
                T w = f * rcp((T)1 - e1 * e2);
                c[to] = row == p || row == wanted ? u : w * (v - e2 * u);
                c[to + pitch(tiles)] = row == wanted ? v : w * (u - e1 * v);
                c[slot + pitch(tiles) + own_row(tiles)] = v;
                place = row == p ? s + FIRST : row == wanted ? s + 1 + SECOND : place;
                p = LAST - work_group_reduce_max(place < 0 ? LAST - row : 0);
                s += 2;
                late += 2;
                again = 1;
            }
        }
        if (late > 2) {
            apply(tiles, l, at, t, c, s, late);
            late = 0;
            since = s;
        }
    }
    go[DONE] = s;
    go[LATE] = late;
    go[SINCE] = since;
    go[NEXT] = p;
    go[AGAIN] = again;
    go[WHERE] = place;
    waits[0] = u;
}

/* The last row, if it is not finished. */
static void last_step(int n, int tiles, int l, int at, int row, uint least, const T t[],
                      __local volatile T c[PARTIAL_PLACES], int go[STATE], T waits[1],
                      uint worst[1]) {
    int p = go[NEXT];
    T u = waits[0];
    if (go[DONE] < n) {
        if (go[AGAIN] != 0)
            u = column_of(tiles, l, at, t, c, p, at + 4 * pitch(tiles), go[LATE], go[SINCE]);
        int slot = at + go[LATE] * pitch(tiles);
        c[slot + own_row(tiles)] = u;
        barrier(CLK_LOCAL_MEM_FENCE);
        worst[0] = max(worst[0], magnitude(c[slot + p]));
        c[l + go[DONE] * pitch(tiles) + own_row(tiles)] = magnitude(u) > least ? u : (T)0;
        go[WHERE] = row == p ? go[DONE] : go[WHERE];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

#if N > 16
/* The 15 or 16 rows that are left move together, in their order. The new name of this one; rows
 * that are done: 16, one that nobody reads. ranks: these names. */
static int pack(T t[TILES * (TILES + 1)], __local volatile T c[PARTIAL_PLACES],
                __local volatile int ranks[32], int own, int before, int go[STATE]) {
    int r = TILE_ROW;
    int h = TILE_PLACE;
    uint left = work_group_reduce_sum(before < 0 ? 1u << LANE : 0u);
    int rank = before < 0 ? ones(left & ((1u << LANE) - 1u)) : 16;
    ranks[LANE] = rank;
    barrier(CLK_LOCAL_MEM_FENCE);
    int below[TILES];
    int beside[2 * TILES];
    for (int q = 0; q < TILES; ++q) below[q] = PACKED_COLUMN * ranks[8 * q + r];
    for (int b = 0; b < 2 * TILES; ++b) beside[b] = ranks[8 * (b / 2) + 2 * h + b % 2];
    go[NEXT] = ranks[go[NEXT]];
    for (int q = 0; q < TILES; ++q)
        for (int b = 0; b < 2 * q + 2; ++b) c[PACKED + below[q] + beside[b]] = t[q * (q + 1) + b];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int b = 0; b < 2; ++b)
        for (int q = b; q < 2; ++q)
            for (int e = 0; e < 2; ++e) {
                int i = 8 * q + (q > b ? r : max(own, 2 * h + e));
                int j = 8 * b + (q > b ? 2 * h + e : min(own, 2 * h + e));
                t[q * (q + 1) + 2 * b + e] = c[PACKED + i * PACKED_COLUMN + j];
            }
    barrier(CLK_LOCAL_MEM_FENCE);
    return rank;
}

/* Both stages; ranks: room for the new names of rows. */
static void ldlt_tiles(int n, __local volatile T c[PARTIAL_PLACES], __local volatile int ranks[32],
                       __global T *a, int lda, long stride, __global int *piv, __global int *info,
                       T tol) {
    long base = GROUP * stride;
    int lane = LANE + (int)(GROUP >> 62); /* LANE, but no constant: no tables of what it decides */
    T t[TILES * (TILES + 1)];
    uint worst[1];
    worst[0] = work_group_reduce_max(read_tiles(n, t, a, lda, base, lane >> 2, true));
    uint least = threshold(worst[0], tol);
    int row = TILES > 3 ? lane : lane < 24 ? lane : lane - 24;
    int go[STATE] = {0, 0, 0, 0, 1, row < n ? -1 : 0};
    T u[1] = {0};
    steps(TILES, 0, PACKED, n - 16, row, least, t, c, go, u, worst);
    if (go[LATE] > 0) {
        c[PACKED + 2 * COLUMN + own_row(TILES)] = 0;
        if (go[LATE] < 2) c[PACKED + COLUMN + own_row(TILES)] = 0;
        apply(TILES, 0, PACKED, t, c, go[DONE], go[LATE]);
        go[LATE] = 0;
        go[SINCE] = go[DONE];
    }
    int before = LANE < n ? go[WHERE] : 0;
    int done = go[DONE];
    int rank = pack(t, c, ranks, lane >> 2, before, go);
    int l = PACKED - (n - 16) * PACKED_COLUMN;
    int at = PACKED + 16 * PACKED_COLUMN;
    row = lane & 15;
    go[WHERE] = row < n - done ? -1 : 0;
    go[AGAIN] = 1;
    steps(2, l, at, n - 1, row, least, t, c, go, u, worst);
    last_step(n, 2, l, at, row, least, t, c, go, u, worst);
    int to = go[WHERE] & PLACE;
    int fits = to - LANE / 16; /* two columns by each store */
    for (int k = 0; k < 16; k += 2) {
        int j = n - 16 + k;
        T x = c[l + (j + LANE / 16) * PACKED_COLUMN + LANE % 16];
        if (fits >= j && (k > 0 || j + LANE / 16 >= done))
            a[base + (long)(j + LANE / 16) * lda + to] = x;
    }
    int place = shuffle(go[WHERE], rank);
    place = before < 0 ? place : before;
    to = place & PLACE;
    T pivot = c[before < 0 ? l + to * PACKED_COLUMN + rank : to * COLUMN + LANE];
    int last = LANE < n ? min(to, done - 1) : -1;
    for (int j = 0; j < N - 15; ++j) {
        T x = c[j * COLUMN + own_row(TILES)];
        if (last >= j) a[base + (long)j * lda + to] = x;
    }
    put_tiles(n, piv, info, place, to, pivot, worst[0] < ENDLESS);
}
#else
/* One stage. */
static void ldlt_tiles(int n, __local volatile T c[PARTIAL_PLACES], __global T *a, int lda,
                       long stride, __global int *piv, __global int *info, T tol) {
    long base = GROUP * stride;
    int lane = LANE + (int)(GROUP >> 62); /* LANE, but no constant: no tables of what it decides */
    T t[TILES * (TILES + 1)];
    uint worst[1];
    worst[0] = work_group_reduce_max(read_tiles(n, t, a, lda, base, lane >> 2, true));
    uint least = threshold(worst[0], tol);
    int row = lane & (8 * TILES - 1);
    int go[STATE] = {0, 0, 0, 0, 1, row < n ? -1 : 0};
    T u[1] = {0};
    steps(TILES, 0, N * COLUMN, n - 1, row, least, t, c, go, u, worst);
    last_step(n, TILES, 0, N * COLUMN, row, least, t, c, go, u, worst);
    int to = go[WHERE] & PLACE;
    T pivot = c[to * COLUMN + own_row(TILES)];
    for (int j = 0; j < N; j += 4 / TILES) { /* several columns by each store */
        int column = j + LANE / (8 * TILES);
        T x = c[column * COLUMN + own_row(TILES)];
        if (own_row(TILES) < n && to >= column) a[base + (long)column * lda + to] = x;
    }
    int place = LANE < n ? go[WHERE] : 0;
    put_tiles(n, piv, info, place, to, pivot, worst[0] < ENDLESS);
}
#endif
#endif
