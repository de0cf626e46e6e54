/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of ldlt_tiles.h: Bunch-Parlett. */
int place = LANE < N ? -1 : 0;
int at = LANE; /* in l, of this row in column s */
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
        wide = max(wide, named_as(size, 8 * q + r));
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
int to = place & PLACE;
T pivot = l[to * COLUMN + LANE];
for (int j = 0; j < N; ++j) {
    T x = l[j * COLUMN + LANE];
    if (LANE < N && to >= j) a[base + (long)j * lda + to] = x;
}
