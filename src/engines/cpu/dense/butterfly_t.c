/* SPDX-License-Identifier: BSD-3-Clause */
/* Random butterflies (Parker 1995; Becker, Baboulin & Dongarra 2012; Baboulin et al. 2017, section
 * 2.4): A_r = U^T A U with U = diag(B_1, B_2) B for depth 2, then factored without pivoting. A
 * butterfly of odd order only scales its middle row, so any n will do without padding (the papers
 * pad). The diagonals are exp(r / 10), r uniform in (-1/2, 1/2), from the caller's seed. */
#include "core/random.h"
#include "host.h"

#include <string.h>

enum { TILE = 32 };

/* rows first .. first + size - 1: i and i + half are partners for i < size / 2, half = (size + 1) /
 * 2; the middle row of an odd size has no partner */
typedef struct fly {
    int64_t first, size, half, pairs;
    const double *r; /* one for each row, scaled by 1/sqrt(2) where the row has a partner */
} fly;

static fly fly_of(int64_t first, int64_t size, const double *level) {
    return (fly){first, size, (size + 1) / 2, size / 2, level};
}

/* the butterflies of a level: level 0, the whole; level 1, its two halves, which come first */
static int flies(const mpki_dense_call *call, int level, fly out[2]) {
    const int64_t n = call->dense.n, c = (n + 1) / 2;
    const double *r = (const double *)call->f->extra + level * n;
    if (level == 0) {
        out[0] = fly_of(0, n, r);
        return 1;
    }
    out[0] = fly_of(0, c, r);
    out[1] = fly_of(c, n - c, r);
    return 2;
}

static void draw(const mpki_dense_call *call) {
    const int64_t n = call->dense.n;
    double *r = call->f->extra;
    uint64_t x = (uint64_t)call->dense.seed * MPKI_GOLDEN + UINT64_C(0x632BE59BD9B4E019);
    for (int level = 0; level < call->dense.depth; level++) {
        fly f[2];
        const int count = flies(call, level, f);
        for (int h = 0; h < count; h++)
            for (int64_t k = 0; k < f[h].size; k++) {
                double e = exp((mpki_random_unit(mpki_random_next(&x)) - 0.5) / 10);
                const bool middle = f[h].size % 2 && k == f[h].pairs;
                r[level * n + f[h].first + k] = middle ? e : e * 0.70710678118654752;
            }
    }
}

/* ---- the matrix ------------------------------------------------------------------------------ */

typedef struct sides {
    const FN(lower) * s;
    fly rows, cols; /* the same two: a diagonal block */
    int64_t tiles;  /* down the rows' halves */
} sides;

/* B^T M B for one 2x2 group: m[row side][column side]; NULL where a partner is missing */
static void group(const sides *t, int64_t i, int64_t j, int hermitian) {
    const fly *p = &t->rows, *q = &t->cols;
    const bool symmetric = p->first == q->first, pi = i < p->pairs, pj = j < q->pairs;
    T *a = t->s->a;
    const int64_t ld = t->s->ld, i1 = p->first + i, i2 = i1 + p->half, j1 = q->first + j,
                  j2 = j1 + q->half;
    T *m11 = a + i1 + j1 * ld, *m21 = pi ? a + i2 + j1 * ld : NULL, *m12 = NULL,
      *m22 = pi && pj ? a + i2 + j2 * ld : NULL;
    const bool mirrored = symmetric; /* (i1, j2) stands above the diagonal: its mirror (j2, i1) */
    if (pj) m12 = mirrored ? a + j2 + i1 * ld : a + i1 + j2 * ld;
    const T zero = t_make(0, 0);
    const bool same = symmetric && i == j; /* m12 mirrors m21 */
    T x11 = *m11, x21 = m21 ? *m21 : zero, x22 = m22 ? *m22 : zero, x12 = zero;
    if (m12) x12 = mirrored ? conj_if(hermitian, *m12) : *m12;
    const R ri = (R)p->r[i1], rj = (R)q->r[j1], si = pi ? (R)p->r[i2] : 0,
            sj = pj ? (R)q->r[j2] : 0;
    /* rows: top = r (t + b), bottom = s (t - b); then columns likewise */
    T y11 = (x11 + x21) * ri, y12 = (x12 + x22) * ri;
    T y21 = (x11 - x21) * si, y22 = (x12 - x22) * si;
    *m11 = (y11 + y12) * rj;
    if (m21) *m21 = (y21 + y22) * rj;
    if (m22) *m22 = (y21 - y22) * sj;
    if (m12 && !same) *m12 = conj_if(mirrored && hermitian, (y11 - y12) * sj);
}

static void group_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const sides *t = arg;
    const int64_t bi = item % t->tiles * TILE, bj = item / t->tiles * TILE;
    const bool symmetric = t->rows.first == t->cols.first;
    (void)pool, (void)worker;
    if (symmetric && bi < bj) return;
    for (int64_t j = bj; j < bj + TILE && j < t->cols.half; j++)
        for (int64_t i = symmetric && j > bi ? j : bi; i < bi + TILE && i < t->rows.half; i++)
            group(t, i, j, t->s->hermitian);
}

static void both_sides(const FN(lower) * s, const fly *rows, const fly *cols) {
    sides t = {s, *rows, *cols, (rows->half + TILE - 1) / TILE};
    if (rows->size == 0 || cols->size == 0) return;
    mpki_pool_for(s->pool, 0, t.tiles * ((cols->half + TILE - 1) / TILE), group_item, &t);
}

mpk_status FN(butterfly_need)(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need) {
    mpk_status status = FN(tile_need)(call, nrhs, need);
    need->extra_bytes = call->dense.n * call->dense.depth * (int64_t)sizeof(double);
    return status;
}

mpk_status FN(butterfly_factorize)(mpki_dense_call *call, FN(lower) * s) {
    draw(call);
    for (int level = call->dense.depth - 1; level >= 0; level--) {
        fly f[2];
        const int count = flies(call, level, f);
        for (int j = 0; j < count; j++)
            for (int i = j; i < count; i++) both_sides(s, &f[i], &f[j]);
    }
    return FN(tile_factorize)(call, s);
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* x := B^T x or B x */
static void one_side(const fly *f, T *x, bool transposed) {
    const double *r = f->r + f->first;
    x += f->first;
    for (int64_t i = 0; i < f->pairs; i++) {
        T top = x[i], bottom = x[i + f->half];
        const R p = (R)r[i], q = (R)r[i + f->half];
        if (transposed) {
            x[i] = (top + bottom) * p, x[i + f->half] = (top - bottom) * q;
        } else {
            top = top * p, bottom = bottom * q;
            x[i] = top + bottom, x[i + f->half] = top - bottom;
        }
    }
    if (f->size % 2) x[f->pairs] = x[f->pairs] * (R)r[f->pairs];
}

static void transform(const mpki_dense_call *call, int32_t nrhs, T *x, int64_t ldx,
                      bool transposed) {
    const int depth = call->dense.depth;
    FN(reverse_rows)(call, nrhs, x, ldx);
    for (int k = 0; k < depth; k++) {
        fly f[2];
        const int count = flies(call, transposed ? depth - 1 - k : k, f);
        for (int32_t c = 0; c < nrhs; c++)
            for (int h = 0; h < count; h++) one_side(&f[h], x + c * ldx, transposed);
    }
    FN(reverse_rows)(call, nrhs, x, ldx);
}

mpk_status FN(butterfly_solve)(mpki_dense_call *call, int32_t nrhs, void *x, int64_t ldx) {
    transform(call, nrhs, x, ldx, true);
    mpk_status status = FN(tile_solve)(call, nrhs, x, ldx);
    transform(call, nrhs, x, ldx, false);
    return status;
}
