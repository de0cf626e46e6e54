/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of ldlt_tiles.h: Bunch-Kaufman, in two stages beyond order 16. */
int row = TILES > 3 ? lane : TILES == 3 ? lane < 24 ? lane : lane - 24 : lane &(8 * TILES - 1);
int place = row < N ? -1 : 0;
int p = 0;
int again = 1; /* another column is to wait; a bool would be bytes to nvcc */
int late = 0;  /* updates that are not applied yet: those of the last columns of L, */
int first = 0; /* from this one on */
T u = 0;       /* the column that waits */
#if N > 16
#define STOP (N - 16)
#include "ldlt_tiles_steps.h"
#undef STOP
#include "ldlt_tiles_pack.h"
#endif
#define STOP (N - 1)
#include "ldlt_tiles_steps.h"
if (s < N) { /* one row is left */
    if (again != 0) {
        int wanted = p;
        int put = C + 4 * COLUMN;
#include "ldlt_tiles_column.h"
        u = v;
    }
    int slot = C + late * COLUMN;
    c[slot + ROW] = u;
    barrier(CLK_LOCAL_MEM_FENCE);
    worst = max(worst, magnitude(c[slot + p]));
    c[L + s * COLUMN + ROW] = magnitude(u) > least ? u : (T)0;
    place = row == p ? s : place;
}
barrier(CLK_LOCAL_MEM_FENCE);
int to = place & PLACE;
#if N > 16
int fits = to - LANE / 16; /* two columns by each store */
for (int j = N - 16; j < N; j += 2) {
    T x = c[L + (j + LANE / 16) * COLUMN + ROW];
    if (fits >= j && (j > N - 16 || j + LANE / 16 >= done))
        a[base + (long)(j + LANE / 16) * lda + to] = x;
}
place = shuffle(place, rank);
place = before < 0 ? place : before;
to = place & PLACE;
T pivot = c[before < 0 ? L + to * COLUMN + rank : to * FIRST_COLUMN + LANE];
int last = LANE < N ? min(to, done - 1) : -1;
for (int j = 0; j < N - 15; ++j) {
    T x = c[j * FIRST_COLUMN + LANE % FIRST_ROWS];
    if (last >= j) a[base + (long)j * lda + to] = x;
}
#else
T pivot = c[to * COLUMN + ROW];
for (int j = 0; j < N; j += 4 / TILES) { /* several columns by each store */
    int column = j + LANE / (8 * TILES);
    T x = c[column * COLUMN + ROW];
    if (ROW < N && to >= column) a[base + (long)column * lda + to] = x;
}
place = LANE < N ? place : 0;
#endif
