/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of ldlt_tiles_partial.h: steps until STOP columns are done. Barriers stand between what
 * work-items write and others read before or behind it: two places where columns are fetched to
 * save some. */
c[C + 3 * COLUMN + ROW] = 0; /* where three updates come together */
#pragma nounroll
while (s < STOP) {
    if (again != 0) {
        int wanted = p;
        int put = C + 4 * COLUMN;
#include "ldlt_tiles_column.h"
        u = v;
    }
    int slot = C + late * COLUMN; /* where the column waits for its update */
    c[slot + ROW] = u;
    uint best = work_group_reduce_max(place < 0 && row != p ? named_as(magnitude(u), row) : 0u);
    barrier(CLK_LOCAL_MEM_FENCE);
    T d1 = c[slot + p];
    uint k1 = magnitude(d1);
    int wanted = (int)(best & (uint)LAST);
    int to = L + s * COLUMN + ROW;
    worst = max(worst, max(best, k1));
    if (best <= least || k1 + LOG >= best) { /* no other column is looked at */
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
        int put = C + 5 * COLUMN;
#include "ldlt_tiles_column.h"
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
            c[slot + ROW] = v;
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
            c[to + COLUMN] = row == wanted ? v : w * (u - e1 * v);
            c[slot + COLUMN + ROW] = v;
            place = row == p ? s + FIRST : row == wanted ? s + 1 + SECOND : place;
            p = LAST - work_group_reduce_max(place < 0 ? LAST - row : 0);
            s += 2;
            late += 2;
            again = 1;
        }
    }
    if (late > 2) {
#include "ldlt_tiles_apply.h"
    }
}
