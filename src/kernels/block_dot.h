/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_DOT_H
#define MPKI_BLOCK_DOT_H
/** Rows of a block times one vector, and one vector times rows. Complex products are formed as two
 * real ones, so that nothing is shuffled inside the loops. */
#include "block_row.h"
#include "block_turn.h"

enum { SPREAD = MPKI_BLOCK_MAX * PARTS + LANES_MAX }; /* reals of a padded vector */

/** x of `dots`, padded with zeros: x itself, or (re, -im) and (im, re) for the two parts. */
typedef struct spread {
    R part[PARTS][SPREAD];
} spread;

INLINE void spread_of(int n, const T *x, spread *s) {
    for (int k = 0; k < n; k += TURN) {
        int left = n - k;
        vec v =
            left >= TURN ? v_load((const R *)(x + k)) : v_load_n((const R *)(x + k), left * PARTS);
#if MPKI_COMPLEX
        v = FN(v_conj_if)(1, v);
        v_store(s->part[1] + k * PARTS, v_times_i(v));
#endif
        v_store(s->part[0] + k * PARTS, v);
    }
}

/** out(h) = row h of a (`held` rows, `cols` columns, lda) times x; out is padded to a vector.
 * `whole`: rows may be read in whole vectors. Rows are taken one after the other: several at once,
 * a stride apart in memory, were slower. */
INLINE void dots(const int whole, int held, int cols, const T *a, int64_t lda, const spread *x,
                 T *out) {
    vec v[LANES_MAX];
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++) v[i] = (vec){0};
    for (int h = 0; h < held; h++, a += lda) {
        const R *row = (const R *)a;
        vec v0 = {0}, v1 = {0};
        int j = 0;
        for (; whole ? j < cols : j + TURN <= cols; j += TURN) {
            vec r = v_load(row + j * PARTS);
            v0 += r * v_load(x->part[0] + j * PARTS);
            if (PARTS == 2) v1 += r * v_load(x->part[PARTS - 1] + j * PARTS);
        }
        if (j < cols) {
            vec r = v_load_n(row + j * PARTS, (cols - j) * PARTS);
            v0 += r * v_load(x->part[0] + j * PARTS);
            if (PARTS == 2) v1 += r * v_load(x->part[PARTS - 1] + j * PARTS);
        }
        v[h % TURN * PARTS] = v0;
        if (PARTS == 2) v[h % TURN * PARTS + PARTS - 1] = v1;
        if (h % TURN == TURN - 1 || h == held - 1) v_store((R *)(out + h / TURN * TURN), sums(v));
    }
}

/** y of `combine`, padded: sums of rows times the real, and times the imaginary part of x. */
INLINE void gathered_zero(int n, spread *y) {
    for (int p = 0; p < PARTS; p++)
        for (int k = 0; k < n; k += TURN) v_store(y->part[p] + k * PARTS, (vec){0});
}

/** The vector at entry k of y. */
INLINE vec gathered_at(const spread *y, int k) {
#if MPKI_COMPLEX
    return v_load(y->part[0] + k * PARTS) + v_times_i(v_load(y->part[1] + k * PARTS));
#else
    return v_load(y->part[0] + k);
#endif
}

/* y += x times a row, one vector of it */
INLINE void combine_vector(const R *row, T x, int j, int left, spread *y) {
    vec r = left >= TURN ? v_load(row + j * PARTS) : v_load_n(row + j * PARTS, left * PARTS);
    R *y0 = y->part[0] + j * PARTS;
    v_store(y0, v_load(y0) + r * v_all(t_re(x)));
#if MPKI_COMPLEX
    R *y1 = y->part[1] + j * PARTS;
    v_store(y1, v_load(y1) + r * v_all(t_im(x)));
#endif
}

INLINE void combine_row(const int whole, int cols, const T *row, T x, spread *y) {
    int j = 0;
    for (; whole ? j < cols : j + TURN <= cols; j += TURN)
        combine_vector((const R *)row, x, j, TURN, y);
    if (j < cols) combine_vector((const R *)row, x, j, cols - j, y);
}

/* y := all rows times their entries of x, where a row has at most 4 vectors (nv): y stays in
 * registers */
INLINE void combine_narrow(const int nv, int held, int last, const T *a, int64_t lda, const T *x,
                           spread *y) {
    vec y0[4];
#if MPKI_COMPLEX
    vec y1[4];
#endif
#pragma GCC unroll 4
    for (int j = 0; j < nv; j++) {
        y0[j] = (vec){0};
#if MPKI_COMPLEX
        y1[j] = (vec){0};
#endif
    }
    for (int h = 0; h < held; h++, a += lda) {
        vec x0 = v_all(((const R *)(x + h))[0]);
#if MPKI_COMPLEX
        vec x1 = v_all(((const R *)(x + h))[1]);
#endif
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) {
            const R *from = (const R *)(a + j * TURN);
            vec r = j < nv - 1 || last == TURN ? v_load(from) : v_load_n(from, last * PARTS);
            y0[j] += r * x0;
#if MPKI_COMPLEX
            y1[j] += r * x1;
#endif
        }
    }
#pragma GCC unroll 4
    for (int j = 0; j < nv; j++) {
        v_store(y->part[0] + j * LANES, y0[j]);
#if MPKI_COMPLEX
        v_store(y->part[1] + j * LANES, y1[j]);
#endif
    }
}

/** y := sum over h of x(h) times row h of a; arguments as in `dots`. */
INLINE void combine(const int whole, int held, int cols, const T *a, int64_t lda, const T *x,
                    spread *y) {
    int nv = (cols + TURN - 1) / TURN, last = whole ? TURN : cols - (nv - 1) * TURN;
    switch (nv) {
    case 1:
        combine_narrow(1, held, last, a, lda, x, y);
        return;
    case 2:
        combine_narrow(2, held, last, a, lda, x, y);
        return;
    case 3:
        combine_narrow(3, held, last, a, lda, x, y);
        return;
    case 4:
        combine_narrow(4, held, last, a, lda, x, y);
        return;
    default:
        break;
    }
    gathered_zero(cols, y);
    for (int h = 0; h < held; h++) combine_row(whole, cols, a + h * lda, x[h], y);
}

#endif
