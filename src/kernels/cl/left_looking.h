/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LEFT_LOOKING_H
#define LEFT_LOOKING_H
#include "info.h"
#include "tile.h"

/* Where each lane has a matrix, all of it is read first. Where work-items share registers, columns
 * come in tiles; complex ones do not. */
#if WG_VECTOR_BYTES && WG_PACK >= LANES
#define READ_AT_ONCE 1
#elif WG_VECTOR_BYTES && !defined(COMPLEX)
#define BY_TILES 1
#endif

/* How llt and ldlt begin, and where their columns come from. Their steps differ: LLT's column waits
 * for a square root and is written whole; LDLT's next pivot is formed before its column, and D is
 * kept. */

/* The diagonal entry of this row, n: the order. t: where each lane has a matrix, all of the matrix,
 * so that its diagonal is in registers. */
static T diagonal_of(int n, __global const T *a, int lda, long base, T t[N]) {
#if READ_AT_ONCE
    T diagonal = 0;
    for (int j = 0; j < N; ++j) {
        t[j] = LANE >= j ? a[base + j * lda + LANE] : (T)0;
        diagonal = LANE == j ? t[j] : diagonal;
    }
    return diagonal;
#else
    T diagonal = 0;
    if (N <= LEAST_ROWS || LANE < n) diagonal = a[base + LANE * (lda + 1)];
    return diagonal;
#endif
}

/* What counts as zero: tol times the largest entry on the diagonal. */
static R small_of(T diagonal, R tol) {
    R most = work_group_reduce_max(SIZE_OF(pivot_of(diagonal)));
    return most > 0 ? tol * most : (R)0;
}

/* Columns s, s + 1, ... of the lower triangle. */
static void fetch_columns(__global const T *a, int lda, long base, int s, T z[TILE]) {
    for (int j = 0; j < TILE; ++j)
        if (s + j < N) z[j] = LANE >= s + j ? a[base + (s + j) * lda + LANE] : (T)0;
}
#endif
