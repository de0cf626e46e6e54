/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_MANY_H
#define MPKI_BLOCK_MANY_H
/** Rows of a block times several vectors, at most TILE_NV machine vectors of right-hand sides at a
 * time. */
#include "block_tile.h"
#include "block_turn.h"

/** Rows of right-hand sides, padded to nv vectors each. */
typedef struct many_block {
    T x[MPKI_BLOCK_MAX * TILE_NV * LANES_MAX / PARTS] __attribute__((aligned(64)));
} many_block;

/** Copy rows row[0 .. n-1] (NULL: 0 .. n-1) of x, `wide` of nrhs right-hand sides; returns nv. */
INLINE int many_copy(int n, const uint8_t *row, const T *x, int nrhs, int wide, int conjugate,
                     many_block *to) {
    int nv = (wide + TURN - 1) / TURN;
    for (int h = 0; h < n; h++)
        for (int j = 0; j < nv; j++) {
            const R *from = (const R *)(x + (row ? row[h] : h) * nrhs + j * TURN);
            int left = wide - j * TURN;
            vec v = left >= TURN ? v_load(from) : v_load_n(from, left * PARTS);
            v_store((R *)(to->x + (h * nv + j) * TURN), FN(v_conj_if)(conjugate, v));
        }
    return nv;
}

/** Vector j of a row of `wide` right-hand sides -= v; or = v. */
INLINE void many_minus(T *y, int j, int wide, vec v) {
    R *to = (R *)(y + j * TURN);
    int left = wide - j * TURN;
    if (left >= TURN)
        v_store(to, v_load(to) - v);
    else
        v_store_n(to, v_load_n(to, left * PARTS) - v, left * PARTS);
}
INLINE void many_set(T *y, int j, int wide, vec v) {
    int left = wide - j * TURN;
    if (left >= TURN)
        v_store((R *)(y + j * TURN), v);
    else
        v_store_n((R *)(y + j * TURN), v, left * PARTS);
}

INLINE void many_dots_tile(const int mr, const int nv, const uint8_t *row, int cols, const T *a,
                           int lda, const T *x, T *y, int nrhs, int wide, int set) {
    tile t;
    tile_sum(mr, nv, cols, a, lda, x, nv * TURN, &t);
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++)
            if (set)
                many_set(y + row[i] * nrhs, j, wide, tile_at(&t, i, j));
            else
                many_minus(y + row[i] * nrhs, j, wide, tile_at(&t, i, j));
}

/** y(row[h]) -= row h of a times x; `set`: = instead of -=. */
static void many_dots(int nv, int held, const uint8_t *row, int cols, const T *a, int lda,
                      const many_block *x, T *y, int nrhs, int wide, int set) {
    int mr = tile_rows(nv);
    for (int h = 0; h < held; h += mr) {
        while (mr > held - h) mr /= 2;
#define DOTS(mr, nv)                                                                               \
    many_dots_tile(mr, nv, row + h, cols, a + h * lda, lda, x->x, y, nrhs, wide, set)
        TILE_SHAPES(mr, nv, DOTS)
#undef DOTS
    }
}

/** y (nv vectors) += value times x */
INLINE void many_add(int nv, const T *value, const T *x, T *y) {
    for (int j = 0; j < nv; j++) {
        R *to = (R *)(y + j * TURN);
        v_store(to, v_load(to) + FN(v_scaled)(v_load((const R *)(x + j * TURN)), *value));
    }
}

/* y(k) += n rows' entries at k times their right-hand sides, for all k and one vector of these */
INLINE void many_combine_rows(const int n, int nv, int cols, const T *a, int lda, const T *x,
                              T *y) {
    vec x0[4];
#if MPKI_COMPLEX
    vec x1[4];
#endif
#pragma GCC unroll 4
    for (int i = 0; i < n; i++) {
        x0[i] = v_load((const R *)(x + i * nv * TURN));
#if MPKI_COMPLEX
        x1[i] = v_times_i(x0[i]);
#endif
    }
    for (int k = 0; k < cols; k++, y += nv * TURN) {
        vec sum = v_load((R *)y);
#pragma GCC unroll 4
        for (int i = 0; i < n; i++) {
            const R *entry = (const R *)(a + i * lda + k);
            sum += x0[i] * v_all(entry[0]);
#if MPKI_COMPLEX
            sum += x1[i] * v_all(entry[1]);
#endif
        }
        v_store((R *)y, sum);
    }
}

/** y(k) += sum over h of a(h, k) x(h). */
static void many_combine(int nv, int held, int cols, const T *a, int lda, const many_block *x,
                         many_block *y) {
    int h = 0;
    for (; h + 4 <= held; h += 4)
        for (int j = 0; j < nv; j++)
            many_combine_rows(4, nv, cols, a + h * lda, lda, x->x + (h * nv + j) * TURN,
                              y->x + j * TURN);
    for (; h < held; h++)
        for (int j = 0; j < nv; j++)
            many_combine_rows(1, nv, cols, a + h * lda, lda, x->x + (h * nv + j) * TURN,
                              y->x + j * TURN);
}

#endif
