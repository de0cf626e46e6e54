/* SPDX-License-Identifier: BSD-3-Clause */
/* Stored blocks times one vector: the inner part of the triangular solves, which should run at the
 * speed of memory. A row with a bitmap is expanded by vectors where the instruction set can do
 * that; otherwise its bits are walked. */
#include "block_isa.h"
#include "block_dot.h"
#include "block_expand.h"
#include "block_stored.h"

#if EXPANDS
/* *v0, *v1 += nv vectors of a row times x; returns where its values end */
INLINE const T *dot_word(const int nv, uint32_t bits, const T *value, const T *last,
                         const vec x0[4], const vec x1[4], vec *v0, vec *v1) {
#pragma GCC unroll 4
    for (int j = 0; j < nv; j++) {
        uint32_t here = bits >> (j * TURN) & (uint32_t)((1 << TURN) - 1);
        vec r = expand(here, value, last);
        value += __builtin_popcount(here);
        *v0 += r * x0[j];
        if (PARTS == 2) *v1 += r * x1[j];
    }
    return value;
}

INLINE void load_word(const int nv, const spread *x, int k, vec x0[4], vec x1[4]) {
#pragma GCC unroll 4
    for (int j = 0; j < nv; j++) {
        x0[j] = v_load(x->part[0] + (k + j * TURN) * PARTS);
        x1[j] = v_load(x->part[PARTS - 1] + (k + j * TURN) * PARTS);
    }
}

/* out(h) = row h times x, nv vectors at once; one row after the other, as they lie in memory */
INLINE void dots_expanded_by(const int nv, const int once, int held, int cols, const FN(stored) * s,
                             int nnz, const spread *x, T *out) {
    const T *value = s->value, *const last = value + nnz;
    const uint32_t *mask = s->col_mask;
    vec v[LANES_MAX], x0[4], x1[4];
    for (int i = 0; i < LANES; i++) v[i] = (vec){0};
    load_word(nv, x, 0, x0, x1);
    for (int h = 0; h < held; h++, mask += s->col_words) {
        vec v0 = {0}, v1 = {0};
        if (once) value = dot_word(nv, mask[0], value, last, x0, x1, &v0, &v1);
        for (int k = 0; k < cols && !once; k += nv * TURN) {
            load_word(nv, x, k, x0, x1);
            value = dot_word(nv, mask[k / 32] >> k % 32, value, last, x0, x1, &v0, &v1);
        }
        v[h % TURN * PARTS] = v0;
        if (PARTS == 2) v[h % TURN * PARTS + PARTS - 1] = v1;
        if (h % TURN == TURN - 1 || h == held - 1) v_store((R *)(out + h / TURN * TURN), sums(v));
    }
}

static void dots_expanded(int held, int cols, const FN(stored) * s, int nnz, const spread *x,
                          T *out) {
    const int four = 4 * TURN <= 32 ? 4 : 1; /* at most as many columns as a word has bits */
    if (cols > (four - 1) * TURN && cols <= four * TURN)
        dots_expanded_by(four, 1, held, cols, s, nnz, x, out);
    else if (cols % (four * TURN) == 0)
        dots_expanded_by(four, 0, held, cols, s, nnz, x, out);
    else if (cols % (2 * TURN) == 0)
        dots_expanded_by(2, 0, held, cols, s, nnz, x, out);
    else
        dots_expanded_by(1, 0, held, cols, s, nnz, x, out);
}
#endif

/* ---- few bits in a row: entry after entry, without a branch where rows end ---- */

/* A held row has a bit in its 32 or 64 columns, so where one ends the next one begins. */
typedef struct walk {
    uint64_t word[MPKI_BLOCK_MAX + 1];
} walk;

static void walk_of(int held, const FN(stored) * s, walk *w) {
    for (int h = 0; h < held; h++)
        w->word[h] = s->col_words == 1
                         ? s->col_mask[h]
                         : s->col_mask[2 * h] | (uint64_t)s->col_mask[2 * h + 1] << 32;
    w->word[held] = 1;
}

static void dots_walked(int held, const walk *w, int nnz, const T *value, const T *x, T *out) {
    uint64_t bits = w->word[0];
    for (int h = 0; h < held; h++) out[h] = t_make(0, 0);
    for (int e = 0, h = 0; e < nnz; e++) {
        out[h] += t_mul(value[e], x[__builtin_ctzll(bits)]);
        bits &= bits - 1;
        h += bits == 0;
        uint64_t next = w->word[h];
        bits = bits ? bits : next;
    }
}

static void combine_walked(const walk *w, int nnz, const T *value, const T *x, int conjugate,
                           T *y) {
    uint64_t bits = w->word[0];
    for (int e = 0, h = 0; e < nnz; e++) {
        y[__builtin_ctzll(bits)] -= t_mul(conj_if(conjugate, value[e]), x[h]);
        bits &= bits - 1;
        h += bits == 0;
        uint64_t next = w->word[h];
        bits = bits ? bits : next;
    }
}

#if EXPANDS
/* y(columns from k, nv <= 4 vectors) += sum of x(h) times row h; at(h): the first value of row h
 * there, advanced */
INLINE void combine_word(const int nv, int held, const FN(stored) * s, int k, const T **at,
                         const T *last, const T *x, spread *y) {
    vec y0[4];
#if MPKI_COMPLEX
    vec y1[4];
#endif
    const int first = k % 32;
    const uint32_t *mask = s->col_mask + k / 32;
#pragma GCC unroll 4
    for (int j = 0; j < nv; j++) {
        y0[j] = (vec){0};
#if MPKI_COMPLEX
        y1[j] = (vec){0};
#endif
    }
    for (int h = 0; h < held; h++, mask += s->col_words) {
        uint32_t bits = *mask >> first;
        const T *value = at[h];
        vec x0 = v_all(t_re(x[h]));
#if MPKI_COMPLEX
        vec x1 = v_all(t_im(x[h]));
#endif
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) {
            uint32_t here = bits >> (j * TURN) & (uint32_t)((1 << TURN) - 1);
            vec r = expand(here, value, last);
            value += __builtin_popcount(here);
            y0[j] += r * x0;
#if MPKI_COMPLEX
            y1[j] += r * x1;
#endif
        }
        at[h] = value;
    }
#pragma GCC unroll 4
    for (int j = 0; j < nv; j++) {
        v_store(y->part[0] + (k + j * TURN) * PARTS, y0[j]);
#if MPKI_COMPLEX
        v_store(y->part[1] + (k + j * TURN) * PARTS, y1[j]);
#endif
    }
}

static void combine_expanded(int held, int cols, const FN(stored) * s, int nnz, const T *x,
                             spread *y) {
    const T *at[256], *value = s->value, *const last = value + nnz;
    const uint32_t *mask = s->col_mask;
    for (int h = 0; h < held; h++) {
        at[h] = value;
        for (int i = 0; i < s->col_words; i++) value += __builtin_popcount(*mask++);
    }
    for (int k = 0; k < cols;) {
        int left = (cols - k + TURN - 1) / TURN;
        if (left >= 4 && 4 * TURN <= 32) {
            combine_word(4 * TURN <= 32 ? 4 : 1, held, s, k, at, last, x, y);
            k += 4 * TURN;
        } else if (left >= 2) {
            combine_word(2, held, s, k, at, last, x, y);
            k += 2 * TURN;
        } else {
            combine_word(1, held, s, k, at, last, x, y);
            k += TURN;
        }
    }
}
#endif

static void dots_bits(int held, const FN(stored) * s, const T *x, T *out) {
    const T *value = s->value;
    const uint32_t *mask = s->col_mask;
    for (int h = 0; h < held; h++) {
        T sum = t_make(0, 0);
        const T *from = x;
        for (int i = 0; i < s->col_words; i++, from += 32)
            for (uint32_t bits = *mask++; bits; bits &= bits - 1)
                sum += t_mul(*value++, from[__builtin_ctz(bits)]);
        out[h] = sum;
    }
}

static void combine_bits(int held, const FN(stored) * s, const T *x, int conjugate, T *y) {
    const T *value = s->value;
    const uint32_t *mask = s->col_mask;
    for (int h = 0; h < held; h++) {
        T *to = y;
        for (int i = 0; i < s->col_words; i++, to += 32)
            for (uint32_t bits = *mask++; bits; bits &= bits - 1)
                to[__builtin_ctz(bits)] -= t_mul(conj_if(conjugate, *value++), x[h]);
    }
}

/* the cost of an expanded row is that of its columns, of a walked row that of its entries; `worth`:
 * the entries of a row that cost as much as a whole word expanded (measured) */
static int is_walked(const mpki_block *a, int held, int worth) {
    int words = (a->cols + 31) / 32;
    return a->format == MPKI_BITMAP && words <= 2 &&
           (!EXPANDS || a->nnz * TURN <= held * words * worth);
}

void ISA_FN(block_apply)(const mpki_block *a, const T *x, int nrhs, T *y) {
    if (a->format == MPKI_EMPTY) return;
    if (nrhs != 1) {
        ISA_FN(block_apply_many)(a, x, nrhs, y);
        return;
    }
    FN(stored) s = FN(stored_of)(a);
    uint8_t row[256];
    int held = FN(stored_rows)(&s, a->rows, row), cols = a->cols;
    T out[MPKI_BLOCK_MAX + LANES_MAX];
    spread xs;
    walk rows;
    if (is_walked(a, held, 40)) {
        walk_of(held, &s, &rows);
        dots_walked(held, &rows, a->nnz, s.value, x, out);
    } else if (s.col_mask && !EXPANDS)
        dots_bits(held, &s, x, out);
    else {
        spread_of(cols, x, &xs);
#if EXPANDS
        if (s.col_mask)
            dots_expanded(held, cols, &s, a->nnz, &xs, out);
        else
#endif
            dots(0, held, cols, s.value, cols, &xs, out);
    }
    if (!s.row_mask)
        for (int h = 0; h < held; h++) y[h] -= out[h];
    else
        for (int h = 0; h < held; h++) y[row[h]] -= out[h];
}

void ISA_FN(block_apply_t)(const mpki_block *a, const T *x, int nrhs, int conjugate, T *y) {
    if (a->format == MPKI_EMPTY) return;
    if (nrhs != 1) {
        ISA_FN(block_apply_many_t)(a, x, nrhs, conjugate, y);
        return;
    }
    FN(stored) s = FN(stored_of)(a);
    uint8_t row[256];
    int held = FN(stored_rows)(&s, a->rows, row), cols = a->cols;
    T xh[256];
    for (int h = 0; h < held; h++) xh[h] = x[row[h]];
    walk rows;
    if (is_walked(a, held, 20 * PARTS)) {
        walk_of(held, &s, &rows);
        combine_walked(&rows, a->nnz, s.value, xh, conjugate, y);
        return;
    }
    if (s.col_mask && !EXPANDS) {
        combine_bits(held, &s, xh, conjugate, y);
        return;
    }
    /* A^H x = conj(A^T conj(x)) */
    for (int h = 0; MPKI_COMPLEX && conjugate && h < held; h++) xh[h] = t_conj(xh[h]);
    spread ys;
#if EXPANDS
    if (s.col_mask)
        combine_expanded(held, cols, &s, a->nnz, xh, &ys);
    else
#endif
        combine(0, held, cols, s.value, cols, xh, &ys);
    for (int k = 0; k < cols; k += TURN) {
        int left = cols - k;
        R *to = (R *)(y + k);
        vec v = FN(v_conj_if)(conjugate, gathered_at(&ys, k));
        if (left >= TURN)
            v_store(to, v_load(to) - v);
        else
            v_store_n(to, v_load_n(to, left * PARTS) - v, left * PARTS);
    }
}
