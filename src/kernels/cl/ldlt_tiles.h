/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT with pivots, SEARCH PARTIAL or COMPLETE, of orders up to 32 by 32 work-items, a warp of a
 * GPU: P A P^T = L D L^T in place, lower triangle, right-looking, updates of tiles of 8 rows and 8
 * columns by mma8x8x4. What is left of the lower triangle stays in tiles: work-item 4 r + h holds
 * row r of tile (q, b) and of it columns 2 h and 2 h + 1, so a tile is t[2 (q (q + 1) / 2 + b)] and
 * the one behind it. A column is fetched from its tiles (ldlt_tiles_fetch.h) to memory near to the
 * work-items, where entry i lies with number i; work-item i then looks at row i. Columns of L wait
 * there until all is done, too. Rows never move: `place` is where the row goes, and flags.
 * Bunch-Kaufman: a column always waits, that of row p; updates are applied when three or four of
 * them have come together (mma8x8x4 does four in one), a column that is fetched lacks up to two.
 * Bunch-Parlett: an update in each step, of one or two columns, as all entries are looked at.
 * Sizes are compared as in ldlt_partial.cl and ldlt_complete.cl. The body of a kernel, behind
 * ldlt_pivots.h. */
#if N > 32
#error a warp's tiles take orders up to 32
#endif
#define TILES ((N + 7) / 8)
#define COLUMN 36 /* from one column to the next: four of them lie in different banks */
#if SEARCH == COMPLETE
#define ZEROS (2 * COLUMN + 4) /* where columns that are not there are read */
#define PLACES (ZEROS + 32)
#else
#define WAITING (4 * COLUMN)
#define FETCHED (5 * COLUMN)
#define PLACES (6 * COLUMN)
#endif

long base = GROUP * stride;
int r = LANE / 4;
int h = LANE % 4;
T t[TILES * (TILES + 1)];
__local volatile T l[N * COLUMN];
__local volatile T c[PLACES]; /* columns of updates, one that waits, one that was fetched; zeros */
uint size = 0;
for (int b = 0; b < TILES; ++b)
    for (int q = b; q < TILES; ++q)
        for (int e = 0; e < 2; ++e) {
            int i = max(8 * q + r, 8 * b + 2 * h + e);
            int j = min(8 * q + r, 8 * b + 2 * h + e);
            T x = 0;
            if (i < N) x = a[base + (long)j * lda + i];
            t[q * (q + 1) + 2 * b + e] = x;
            size = max(size, magnitude(x));
        }
/* tol times the largest entry, by logarithms: to a tenth */
uint worst = work_group_reduce_max(size);
uint product = worst + magnitude(tol);
uint least = (tol > 0 && product > magnitude((T)1) ? product - magnitude((T)1) : 0u) | (uint)LAST;
int place = LANE < N ? -1 : 0;
int s = 0;
int at = LANE; /* in l, of this row in column s */
#if SEARCH == COMPLETE
c[ZEROS + LANE] = 0;
T dia = 0;
if (LANE < N) dia = a[base + LANE * (lda + 1)];
uint rows[TILES];        /* bits of sizes that count: none where a row is finished, */
uint columns[2 * TILES]; /* or a column */
for (int q = 0; q < TILES; ++q) {
    rows[q] = 8 * q + r < N ? 0x7fffffffu : 0u;
    columns[2 * q] = 0xffffffffu;
    columns[2 * q + 1] = 0xffffffffu;
}
int one = r + (h == 0 ? 0 : ZEROS);
int first = r + (h == 0 ? 0 : h == 1 ? COLUMN : ZEROS);
int other = r + (h == 0 ? COLUMN : h == 1 ? 0 : ZEROS);
bool more = true;
#pragma nounroll
while (s < N - 1 && more) {
    uint wide = 0;
    for (int q = 0; q < TILES; ++q) {
        uint size = 0;
        for (int b = 0; b < 2 * q + 2; ++b)
            size = max(size, magnitude(t[q * (q + 1) + b]) & rows[q] & columns[b]);
        wide = max(wide, (size & ~(uint)LAST) | (uint)(8 * q + r));
    }
    uint key0 = work_group_reduce_max(wide);
    uint key1 = work_group_reduce_max(place < 0 ? key(dia) : 0u);
    worst = max(worst, key0);
    more = key0 > least;
    if (more) {
        bool two = key1 + LOG < key0;
        int p = (int)((two ? key0 : key1) & (uint)LAST);
        int wanted = p;
        int put = 0;
#include "ldlt_tiles_fetch.h"
        T u = c[LANE];
        T d1 = c[p];
        T x[TILES];
        T y[TILES];
        if (two) {
            uint beyond = work_group_reduce_max(place < 0 && LANE != p ? key(u) : 0u);
            wanted = (int)(beyond & (uint)LAST);
            put = COLUMN;
#include "ldlt_tiles_fetch.h"
            T v = c[COLUMN + LANE];
            T d2 = c[COLUMN + wanted];
            T f = rcp(c[wanted]);
            T e1 = d1 * f; /* scaled, lest the determinant overflow: d1 d2 / d21^2 - 1 */
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
#include "ldlt_tiles_update.h"
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
if (more && s < N) { /* one row is left, its pivot in dia */
    uint key1 = work_group_reduce_max(place < 0 ? key(dia) : 0u);
    worst = max(worst, key1);
    l[at] = key1 > least ? dia : (T)0;
    place = place < 0 ? s : place;
    s += 1;
    at += COLUMN;
}
#pragma nounroll
while (s < N) { /* nothing is left */
    int p = work_group_reduce_max(place < 0 ? LANE : -1);
    l[at] = 0;
    place = LANE == p ? s : place;
    s += 1;
    at += COLUMN;
}
#else
int p = 0;
int late = 0;   /* updates that are not applied yet: the last columns of L, and c's first ones */
int start = at; /* of the first of these columns of L */
int wanted = 0;
int put = FETCHED;
c[LANE] = 0;
c[COLUMN + LANE] = 0;
c[3 * COLUMN + LANE] = 0; /* where three come together */
#include "ldlt_tiles_fetch.h"
T u = c[FETCHED + LANE];
c[WAITING + LANE] = u;
barrier(CLK_LOCAL_MEM_FENCE);
#pragma nounroll
while (s < N - 1) {
    uint best = work_group_reduce_max(place < 0 && LANE != p ? key(u) : 0u);
    T d1 = c[WAITING + p];
    uint k1 = magnitude(d1);
    int q0 = (int)(best & (uint)LAST);
    int again = 1; /* another column is to wait; a bool would be bytes to nvcc */
    worst = max(worst, max(best, k1));
    int slot = late * COLUMN + LANE;
    if (best <= least || (k1 > 0u && k1 + LOG >= best)) { /* no other column is looked at */
        bool good = best > least || k1 > least;
        T l1 = (good ? rcp(d1) : (T)0) * u;
        l[at] = LANE == p ? good ? u : (T)0 : l1;
        c[slot] = u;
        place = LANE == p ? s : place;
        p = q0;
        s += 1;
        at += COLUMN;
        late += 1;
    } else {
        wanted = q0;
#include "ldlt_tiles_fetch.h"
        T v = c[FETCHED + LANE];
        T d21 = c[WAITING + q0];
        T l0 = 0;
        T l1 = 0;
        if (late > 0) l0 = l[start];
        if (late > 1) l1 = l[at - COLUMN];
        v = v - l0 * c[q0] - l1 * c[COLUMN + q0];
        T d2 = shuffle(v, q0);
        uint top = work_group_reduce_max(place < 0 && LANE != q0 ? magnitude(v) : 0u);
        barrier(CLK_LOCAL_MEM_FENCE); /* what others read of c is written now */
        uint k2 = magnitude(d2);
        bool stay = k1 > 0u && k1 + top + LOG >= 2u * best;
        if (!stay && k2 + LOG < top) {
            T f = rcp(d21);
            T e1 = d1 * f; /* scaled, lest the determinant overflow: d1 d2 / d21^2 - 1 */
            T e2 = d2 * f;
            T w = f * rcp((T)1 - e1 * e2);
            l[at] = LANE == p || LANE == q0 ? u : w * v - e2 * w * u;
            l[at + COLUMN] = LANE == q0 ? v : w * u - e1 * w * v;
            c[slot] = u;
            c[slot + COLUMN] = v;
            place = LANE == p ? s + FIRST : LANE == q0 ? s + 1 + SECOND : place;
            p = work_group_reduce_max(place < 0 ? LANE : 0);
            s += 2;
            at += 2 * COLUMN;
            late += 2;
        } else {
            T z = stay ? u : v;
            T x = rcp(stay ? d1 : d2) * z;
            int q = stay ? p : q0;
            l[at] = LANE == q ? z : x;
            c[slot] = z;
            u = (stay ? v : u) - x * d21;
            c[WAITING + LANE] = u;
            place = LANE == q ? s : place;
            p = stay ? q0 : p;
            s += 1;
            at += COLUMN;
            late += 1;
            again = 0;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (late > 2) {
        int low = start - LANE + min(h, late - 1) * COLUMN + r;
        T x[TILES];
        T y[TILES];
        for (int k = 0; k < TILES; ++k) {
            y[k] = c[h * COLUMN + r + 8 * k];
            x[k] = -l[low + 8 * k];
        }
#include "ldlt_tiles_update.h"
        late = 0;
        start = at;
        barrier(CLK_LOCAL_MEM_FENCE);
        c[3 * COLUMN + LANE] = 0;
    }
    if (again != 0) {
        wanted = p;
#include "ldlt_tiles_fetch.h"
        T l0 = 0;
        T l1 = 0;
        if (late > 0) l0 = l[start];
        if (late > 1) l1 = l[at - COLUMN];
        u = c[FETCHED + LANE] - l0 * c[p] - l1 * c[COLUMN + p];
        c[WAITING + LANE] = u;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
if (s < N) { /* one row is left */
    worst = max(worst, magnitude(c[WAITING + p]));
    l[at] = magnitude(u) > least ? u : (T)0;
    place = LANE == p ? s : place;
}
#endif
int to = place & PLACE;
T pivot = l[to * COLUMN + LANE];
for (int j = 0; j < N; ++j) {
    T x = l[j * COLUMN + LANE];
    if (LANE < N && to >= j) a[base + (long)j * lda + to] = x;
}
if (LANE < N) piv[GROUP * N + to] = (place & (FIRST | SECOND)) != 0 ? ~LANE : LANE;
bool alone = LANE < N && (place & (FIRST | SECOND)) == 0;
int counts = work_group_reduce_sum((alone && pivot > 0) || (place & FIRST) != 0 ? POSITIVE
                                   : alone && pivot == (T)0                     ? ZERO
                                                                                : 0);
bool finite = worst < ENDLESS;
int zero = counts >> 16;
int positive = (counts & (ZERO - 1)) >> 8;
#include "ldlt_info.h"
