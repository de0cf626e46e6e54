/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LDU_ROWS_H
#define LDU_ROWS_H
#include "info.h"

/* What LDU by dot products shares (ldu_partial, ldu_rook): work-item i holds row i of L and column
 * i of D U; nothing moves until it is written. */

/* The largest entry of the matrix. check: its entries times 0, NaN if one is not finite. */
static R largest_of(__global const T *a, int lda, long base, T check[1]) {
    R most = 0;
    for (int j = 0; j < N; ++j) {
        T x = a[base + j * lda + LANE];
        check[0] += x * (T)0;
        most = max(most, SIZE_OF(x));
    }
    return work_group_reduce_max(most);
}

/* Column q (c in the matrix) and row p (r in the matrix) of what is left after s steps; left, open:
 * this row and this column are not finished. */
static T column_of(T c, const T l[N], const T u[N], int s, int q, bool left) {
    for (int k = 0; k < s; ++k) c -= l[k] * shuffle(u[k], q);
    return left ? c : (T)0;
}
static T row_of(T r, const T l[N], const T u[N], int s, int p, bool open) {
    for (int k = 0; k < s; ++k) r -= shuffle(l[k], p) * u[k];
    return open ? r : (T)0;
}

/* Write L, U (scaled) and piv; row and col say where this row and this column go. */
static void put_ldu(__global T *a, int lda, long base, __global int *piv, const T l[N],
                    const T u[N], int row, int col) {
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int s = 0; s < N; ++s) {
        T d = work_group_reduce_sum(row == s ? l[s] : (T)0);
        if (row >= s) a[base + s * lda + row] = l[s];
        if (col > s) a[base + col * lda + s] = SIZE_OF(d) > 0 ? u[s] * rcp(d) : (T)0;
    }
    piv[GROUP * (2 * N) + row] = LANE;
    piv[GROUP * (2 * N) + N + col] = LANE;
}
#endif
