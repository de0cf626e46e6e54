/* SPDX-License-Identifier: BSD-3-Clause */
/* Pivots of their own: in each panel of a front a lane takes the order and the pairs that suit its
 * numbers, by the largest entries of the diagonal block (Bunch & Parlett 1971). What lies below the
 * block is not looked at, and no column is delayed: the tally tells whether the pivots will do.
 * A copy of the block is eliminated first, to choose; then the panel itself, in that order. */
#include "front.h"

static const R ALPHA = (R)0.6403882032022076; /* (1 + sqrt(17)) / 8 */

INLINE mask m_all(int k) {
    return (mask){0} + k;
}
INLINE bool m_any(mask m) {
    lane_int all = 0;
    for (int q = 0; q < LANES; q++) all |= m[q];
    return all != 0;
}
INLINE mask m_pick(mask m, mask yes, mask no) {
    return (yes & m) | (no & ~m);
}
INLINE entry e_pick(mask m, entry yes, entry no) {
    entry x = {.re = v_pick(m, yes.re, no.re)};
#if MPKI_COMPLEX
    x.im = v_pick(m, yes.im, no.im);
#endif
    return x;
}

/* Entry (i, j), j <= i, of the copy. */
INLINE R *copied(const front *f, int i, int j) {
    return f->block + ((int64_t)i * PANEL + j) * EL;
}
/* What the pair that pivot k belongs to loses to cancellation. */
INLINE R *lost_of(const front *f, int k) {
    return f->block + (int64_t)PANEL * PANEL * EL + (int64_t)k * LANES;
}

/* [a, op(b); b, c]^-1, what its determinant loses, and size and eigenvalues. */
typedef struct two {
    entry i11, i21, i22;
    vec most, size, lost, least; /* largest modulus; |det| / most; the smaller eigenvalue */
    vec det, mean;               /* signs */
} two;

INLINE two invert(entry a, entry b, entry c, bool h) {
    two x;
    const vec sa = e_modulus(a), sb = e_modulus(b), sc = e_modulus(c);
    x.most = v_max(v_max(sa, sb), sc);
    const vec by = 1 / x.most;
    const entry p1 = e_mul(e_scaled(a, by), c), p2 = e_mul(e_scaled(b, by), e_conj(b, h));
    const entry det = e_sub(p1, p2), inverse = e_scaled(e_inverse(det), by);
    x.size = e_modulus(det), x.lost = (e_modulus(p1) + e_modulus(p2)) / x.size;
    x.i11 = e_mul(c, inverse), x.i22 = e_mul(a, inverse);
    x.i21 = e_sub(e_zero(), e_mul(b, inverse));
    x.mean = (a.re + c.re) / 2;
    const vec half = (a.re - c.re) / 2;
    x.least = x.size * x.most / (v_size(x.mean) + v_root(half * half + sb * sb));
    x.det = det.re;
    return x;
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* Where the largest entries of what is left of the copy are. Returns the lanes that want a pair. */
static mask search(const front *f, int k, int np, mask *diagonal, mask *row, mask *col) {
    vec most = v_all(-1), beside = v_all(-1);
    *diagonal = *row = *col = m_all(k);
    for (int i = k; i < np; i++) {
        for (int j = k; j < i; j++) {
            const vec size = e_most(e_load(copied(f, i, j)));
            const mask more = size > beside;
            beside = v_pick(more, size, beside);
            *row = m_pick(more, m_all(i), *row), *col = m_pick(more, m_all(j), *col);
        }
        const vec size =
            f->hermitian ? v_size(e_load(copied(f, i, i)).re) : e_most(e_load(copied(f, i, i)));
        const mask more = size > most;
        most = v_pick(more, size, most);
        *diagonal = m_pick(more, m_all(i), *diagonal);
    }
    return (most < ALPHA * beside) & (beside > 0);
}

INLINE void exchange(R *x, R *y, int q, bool conjugate) {
    for (int part = 0; part < PARTS; part++) {
        R *a = x + part * LANES + q, *b = y + part * LANES + q;
        const R t = *a, sign = part && conjugate ? -1 : 1;
        *a = sign * *b, *b = sign * t;
    }
}

/* Rows and columns a < b of the panel in a lane, of the copy from k on and of the front. */
static void swap_lane(const front *f, int k, int np, int q, int a, int b) {
    const bool h = MPKI_COMPLEX && f->hermitian;
    const int64_t p = f->p0 + a, o = f->p0 + b;
    if (a == b) return;
    for (int m = k; m < a; m++) exchange(copied(f, a, m), copied(f, b, m), q, false);
    exchange(copied(f, a, a), copied(f, b, b), q, false);
    for (int m = a + 1; m < b; m++) exchange(copied(f, m, a), copied(f, b, m), q, h);
    for (int m = b + 1; m < np; m++) exchange(copied(f, m, a), copied(f, m, b), q, false);
    for (int64_t m = 0; m < p; m++)
        exchange(column(f, m) + p * EL, column(f, m) + o * EL, q, false);
    R *left = column(f, p), *right = column(f, o);
    exchange(left + p * EL, right + o * EL, q, false);
    for (int64_t m = p + 1; m < o; m++) exchange(left + m * EL, column(f, m) + o * EL, q, h);
    for (int64_t m = o + 1; m < f->r; m++) exchange(left + m * EL, right + m * EL, q, false);
    if (h) {
        copied(f, b, a)[LANES + q] = -copied(f, b, a)[LANES + q];
        left[o * EL + LANES + q] = -left[o * EL + LANES + q];
    }
    int32_t *perm = f->perm + q;
    const int32_t t = perm[p * LANES];
    perm[p * LANES] = perm[o * LANES], perm[o * LANES] = t;
}

/* Pivot k, or with the next one a pair, is taken from what is left of the copy; lanes whose pivot k
 * is the second of a pair wait. */
static void take_from_copy(const front *f, int k, int np, mask pair, mask second) {
    const bool h = f->hermitian;
    const bool some = m_any(pair);
    entry a = e_load(copied(f, k, k));
    if (MPKI_COMPLEX && h) a = e_real(a.re);
    entry i11 = MPKI_COMPLEX && h ? e_real(1 / a.re) : e_inverse(a), i21 = e_zero(), i22 = e_zero();
    if (some) {
        entry c = e_load(copied(f, k + 1, k + 1));
        if (MPKI_COMPLEX && h) c = e_real(c.re);
        const two x = invert(a, e_load(copied(f, k + 1, k)), c, h);
        i11 = e_pick(pair, x.i11, i11);
        i21 = e_pick(pair, x.i21, i21), i22 = e_pick(pair, x.i22, i22);
    }
    i11 = e_pick(second, e_zero(), i11);
    for (int i = k + 1; i < np; i++) {
        const bool both = some && i > k + 1;
        const entry x0 = e_load(copied(f, i, k));
        entry l0 = e_mul(x0, i11), l1 = e_zero();
        if (both) {
            const entry x1 = e_load(copied(f, i, k + 1));
            l0 = e_add(l0, e_mul(x1, i21));
            l1 = e_add(e_mul(x0, e_conj(i21, h)), e_mul(x1, i22));
        } else if (some) {
            l0 = e_pick(pair, e_zero(), l0);
        }
        for (int j = k + 1; j <= i; j++) {
            R *p = copied(f, i, j);
            entry w = e_conj(e_load(copied(f, j, k)), h);
            if (some && j == k + 1) w = e_pick(pair, e_zero(), w);
            entry x = e_less(e_load(p), l0, w);
            if (both && j > k + 1) x = e_less(x, l1, e_conj(e_load(copied(f, j, k + 1)), h));
            e_store(p, x);
        }
    }
}

/* second [out] np: the lanes whose pivot is the second of a pair */
static void choose(const front *f, int np, mask *second) {
    for (int i = 0; i < np; i++)
        for (int j = 0; j <= i; j++)
            e_store(copied(f, i, j), e_load(column(f, f->p0 + j) + (f->p0 + i) * EL));
    second[0] = m_all(0);
    for (int k = 0; k < np; k++) {
        mask diagonal, row, col;
        const mask pair = search(f, k, np, &diagonal, &row, &col) & ~second[k];
        for (int q = 0; q < LANES; q++) {
            if (second[k][q]) continue;
            swap_lane(f, k, np, q, k, (int)(pair[q] ? col[q] : diagonal[q]));
            if (pair[q]) swap_lane(f, k, np, q, k + 1, (int)row[q]);
        }
        if (k + 1 < np) second[k + 1] = pair;
        take_from_copy(f, k, np, pair, second[k]);
    }
}

/* ---- elimination ----------------------------------------------------------------------------- */

/* Which lanes have pairs where. */
typedef struct pairs {
    mask second[PANEL + 1], any; /* of the last: none */
} pairs;

/* mr rows from i on, x: their entries in the panel's first `len` columns; pivots before `upto` make
 * them L, and L D goes to the panel. */
INLINE_FAST void finish_rows(const front *f, const pairs *two, const int mr, int64_t i, int upto,
                             int len, entry x[][PANEL], vec *stress) {
    const int64_t rows = f->r - f->p0;
    const bool h = f->hermitian, some = m_any(two->any);
    entry before[4] = {{.re = v_all(0)}}; /* l of the pivot before */
    for (int k = 0; k < upto; k++) {
        const R *dinv = f->dinv + (int64_t)(2 * (f->p0 + k)) * EL;
        const R *d = f->d + (int64_t)(2 * (f->p0 + k)) * EL;
        const entry i11 = e_load(dinv);
        const mask is = some ? two->second[k] : m_all(0), first = two->second[k + 1];
        entry l[4];
#pragma GCC unroll 4
        for (int a = 0; a < mr; a++) {
            const entry x0 = x[a][k];
            l[a] = e_mul(x0, i11);
            if (some && k + 1 < len)
                l[a] = e_pick(first, e_add(l[a], e_mul(x[a][k + 1], e_load(dinv + EL))), l[a]);
            if (some && k > 0)
                l[a] =
                    e_pick(is, e_add(l[a], e_mul(x[a][k - 1], e_conj(e_load(dinv - EL), h))), l[a]);
            const vec s0 = e_most(l[a]), alone = v_max(s0 * e_most(x0), s0);
            *stress = v_max(some ? v_pick(is | first, s0, alone) : alone, *stress);
            if (some && k > 0) {
                const vec s1 = e_most(before[a]);
                const vec both = 2 * e_most(e_load(d - EL)) * (s1 * s0);
                const vec each =
                    e_most(e_load(d - 2 * EL)) * (s1 * s1) + e_most(e_load(d)) * (s0 * s0);
                const vec all = v_load(lost_of(f, k)) * (each + both);
                *stress = v_max(v_pick(is, all, v_all(0)), *stress);
            }
            before[a] = l[a];
            entry w = e_conj(x0, h);
            if (some && i + a == f->p0 + k + 1) w = e_pick(first, e_zero(), w);
            e_store(of_panel(f, i + a) + k * rows * EL, w);
            e_store(column(f, f->p0 + k) + (i + a) * EL, l[a]);
        }
        const R *w = of_panel(f, f->p0) + k * rows * EL;
        for (int j = k + 1; j < len; j++) {
            const entry y = e_load(w + j * EL);
#pragma GCC unroll 4
            for (int a = 0; a < mr; a++) x[a][j] = e_less(x[a][j], l[a], y);
        }
    }
}

/* Pivot k, whose row is finished: c is what is left of its diagonal, b what is beside it. */
static void note_pivot(const front *f, const pairs *pairs, int k, entry b, entry c, tally *t) {
    const bool h = f->hermitian;
    const mask second = pairs->second[k], first = pairs->second[k + 1], alone = ~(second | first);
    R *d = f->d + (int64_t)(2 * (f->p0 + k)) * EL,
      *dinv = f->dinv + (int64_t)(2 * (f->p0 + k)) * EL;
    if (MPKI_COMPLEX && h) c = e_real(c.re);
    const vec size = e_modulus(c);
    t->passed &= ~alone | ((size > t->small) & (size - size == 0));
    t->most = v_max(e_most(c), t->most);
    t->least = v_pick(alone & (size < t->least), size, t->least);
    t->positive += v_pick(alone, v_ones(c.re > 0), v_all(0));
    t->negative += v_pick(alone, v_ones(c.re < 0), v_all(0));
    e_store(d, c), e_store(d + EL, e_zero());
    const entry one = MPKI_COMPLEX && h ? e_real(1 / c.re) : e_inverse(c);
    e_store(dinv, e_pick(alone, one, e_zero())), e_store(dinv + EL, e_zero());
    v_store(lost_of(f, k), v_all(0));
    if (!m_any(second)) return;
    const two x = invert(e_load(d - 2 * EL), b, c, h);
    t->passed &= ~second | ((x.most > t->small) & (x.size > t->small) & (x.size - x.size == 0));
    t->stress = v_max(v_pick(second, x.lost * x.most, v_all(0)), t->stress);
    t->most = v_max(v_pick(second, e_most(b), v_all(0)), t->most);
    t->least = v_pick(second & (x.least < t->least), x.least, t->least);
    const vec both = v_ones(second & (x.det > 0)), split = v_ones(second & (x.det < 0));
    t->positive += split + v_pick(x.mean > 0, 2 * both, v_all(0));
    t->negative += split + v_pick(x.mean < 0, 2 * both, v_all(0));
    t->pairs += v_ones(second);
    e_store(d - EL, e_pick(second, b, e_load(d - EL)));
    e_store(dinv - 2 * EL, e_pick(second, x.i11, e_load(dinv - 2 * EL)));
    e_store(dinv - EL, e_pick(second, x.i21, e_load(dinv - EL)));
    e_store(dinv, e_pick(second, x.i22, e_load(dinv)));
    v_store(lost_of(f, k), v_pick(second, x.lost, v_all(0)));
}

void ISA_FN(lanes_own_panel)(const front *f, tally *t) {
    const int np = f->p1 - f->p0;
    entry x[4][PANEL];
    pairs two = {.any = m_all(0)};
    choose(f, np, two.second);
    two.second[np] = m_all(0);
    for (int k = 0; k < np; k++) two.any |= two.second[k];
    for (int k = 0; k < np; k++) {
        const int64_t i = f->p0 + k;
        for (int j = 0; j <= k; j++) x[0][j] = e_load(column(f, f->p0 + j) + i * EL);
        finish_rows(f, &two, 1, i, k, k + 1, x, &t->stress);
        note_pivot(f, &two, k, k > 0 ? x[0][k - 1] : e_zero(), x[0][k], t);
        e_store(column(f, i) + i * EL, e_real(v_all(1)));
    }
    int64_t i = f->p1;
    vec stress = t->stress;
    for (; i + 4 <= f->r; i += 4) {
        for (int j = 0; j < np; j++)
#pragma GCC unroll 4
            for (int a = 0; a < 4; a++) x[a][j] = e_load(column(f, f->p0 + j) + (i + a) * EL);
        finish_rows(f, &two, 4, i, np, np, x, &stress);
    }
    for (; i < f->r; i++) {
        for (int j = 0; j < np; j++) x[0][j] = e_load(column(f, f->p0 + j) + i * EL);
        finish_rows(f, &two, 1, i, np, np, x, &stress);
    }
    t->stress = stress;
}
