/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors where doubles over- or underflow: entries above 1e307, denormal right-hand sides. In long
 * double, whose exponents have room for every product of two doubles and every sum of them; what
 * its 64 bits cannot hold of a sum is kept beside it, as in kernels/exact.h. Slow, and seldom run.
 */
#include "columns.h"
#include "measure.h"
#include "../core/precision.h"

#include <string.h>

typedef long double wide;

/* One row, while it is summed: there are as many as unknowns. */
typedef struct row {
    wide part[1 + MPKI_COMPLEX], low[1 + MPKI_COMPLEX]; /* of the residual: re and im */
    wide w, norm;                                       /* sums of |a| |x|, |a| */
} row;

static wide real_of(const row *r) {
    return r->part[0] + r->low[0];
}
static wide imaginary_of(const row *r) {
    return MPKI_COMPLEX ? r->part[MPKI_COMPLEX] + r->low[MPKI_COMPLEX] : 0;
}

static wide modulus(double re, double im) {
    if (im == 0) return fabsl((wide)re);
    if (re == 0) return fabsl((wide)im);
    return sqrtl((wide)re * re + (wide)im * im);
}

/* The leading half of the digits: products of halves are exact. */
static double half(double a) {
    uint64_t bits;
    memcpy(&bits, &a, sizeof bits);
    bits &= ~((UINT64_C(1) << 27) - 1);
    memcpy(&a, &bits, sizeof a);
    return a;
}

static void add(wide x, wide *sum, wide *low) {
    const wide s = *sum + x, t = s - *sum;
    *low += (*sum - (s - t)) + (x - t);
    *sum = s;
}

/* sum += a b */
static void add_product(double a, double b, wide *sum, wide *low) {
    const wide ah = half(a), al = (wide)a - ah, bh = half(b), bl = (wide)b - bh;
    add(ah * bh, sum, low);
    add(ah * bl, sum, low);
    add(al * bh, sum, low);
    add(al * bl, sum, low);
}

static void subtract(row *r, double re, double im, T x) {
    const double xr = (double)t_re(x), xi = (double)t_im(x);
    add_product(-re, xr, &r->part[0], &r->low[0]);
    if (!MPKI_COMPLEX) return;
    wide *part = &r->part[MPKI_COMPLEX], *low = &r->low[MPKI_COMPLEX];
    add_product(im, xi, &r->part[0], &r->low[0]);
    add_product(-re, xi, part, low);
    add_product(-im, xr, part, low);
}

static void sum_rows(const mpk_problem_view *a, const T *x, const T *b, row *rows) {
    const T *ax = a->ax;
    const int hermitian = a->symmetry == MPK_HERMITIAN;
    for (int32_t i = 0; i < a->n; i++) {
        rows[i] = (row){.part[0] = (wide)t_re(b[i])};
        if (MPKI_COMPLEX) rows[i].part[MPKI_COMPLEX] = (wide)t_im(b[i]);
    }
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t i = a->ai[k];
            const double re = (double)t_re(ax[k]), im = (double)t_im(ax[k]);
            const wide m = modulus(re, im);
            subtract(&rows[i], re, im, x[j]);
            rows[i].w += m * modulus((double)t_re(x[j]), (double)t_im(x[j]));
            rows[i].norm += m;
            if (i == j || a->symmetry == MPK_GENERAL) continue;
            subtract(&rows[j], re, hermitian ? -im : im, x[i]);
            rows[j].w += m * modulus((double)t_re(x[i]), (double)t_im(x[i]));
            rows[j].norm += m;
        }
}

/* What the triangles of A differ by, in the same way. */
static void add_skew(const mpki_skew *skew, const mpk_problem_view *a, const T *x, row *rows) {
    const int hermitian = a->symmetry == MPK_HERMITIAN;
    for (int64_t e = 0; e < skew->count; e++) {
        const T below = ((const T *)a->ax)[skew->entry[e]];
        const T mirror = conj_if(hermitian, below);
        const int32_t at[2] = {a->ai[skew->entry[e]], skew->column[e]};
        for (int side = 0; side < (at[0] == at[1] ? 1 : 2); side++) {
            const T k = ((const T *)(side ? skew->high : skew->low))[e], s = side ? mirror : below;
            const T whole = s + k, xj = x[at[1 - side]];
            row *r = &rows[at[side]];
            const wide more = modulus((double)t_re(whole), (double)t_im(whole)) -
                              modulus((double)t_re(s), (double)t_im(s));
            subtract(r, (double)t_re(k), (double)t_im(k), xj);
            r->w += more * modulus((double)t_re(xj), (double)t_im(xj));
            r->norm += more;
        }
    }
}

static wide length(const row *r) {
    const wide re = real_of(r), im = imaginary_of(r);
    return im == 0 ? fabsl(re) : hypotl(re, im);
}

mpki_quality FN(measure_wide)(const mpki_system *s, const void *vx, const void *vb, void *vr) {
    const T *x = vx, *b = vb;
    T *r = vr;
    const int32_t n = s->a.n;
    mpki_quality q = MPKI_UNMEASURED;
    if (!FN(column_finite)(n, x) || !FN(column_finite)(n, b)) return q;
    row *rows = MPKI_NEW(s->ctx, "solve", n, row);
    if (!rows) return q;
    sum_rows(&s->a, x, b, rows);
    if (s->skew) add_skew(s->skew, &s->a, x, rows);
    wide x_norm = 0, b_norm = 0, r_norm = 0, a_norm = 0, b2 = 0, r2 = 0, omega[2] = {0, 0};
    for (int32_t i = 0; i < n; i++)
        x_norm = fmaxl(x_norm, modulus((double)t_re(x[i]), (double)t_im(x[i])));
    mpki_by_rows by_rows = {0, 0, 0, false};
    const wide tiny = s->plain ? 0 : 1000 * (wide)n * R_EPS / 2;
    for (int32_t i = 0; i < n; i++) {
        const wide bi = modulus((double)t_re(b[i]), (double)t_im(b[i])), ri = length(&rows[i]);
        const wide all = rows[i].norm * x_norm + bi, w = rows[i].w + bi;
        const bool plain = w > tiny * all;
        const wide unit = rows[i].norm > 0 ? rows[i].norm : 1;
        mpki_row_beside((double)(ri / unit), (double)(bi / unit), (double)(w / unit), 1,
                        mpki_row_least(sizeof(R) == sizeof(float)), &by_rows);
        b_norm = fmaxl(b_norm, bi);
        r_norm = fmaxl(r_norm, ri);
        a_norm = fmaxl(a_norm, rows[i].norm);
        b2 += bi * bi;
        r2 += ri * ri;
        if (ri > 0)
            omega[!plain] =
                fmaxl(omega[!plain], ri / (plain ? w : rows[i].w + rows[i].norm * x_norm));
    }
    q.componentwise = (double)(omega[0] + omega[1]);
    q.normwise = r_norm > 0 ? (double)(r_norm / (a_norm * x_norm + b_norm)) : 0;
    q.relative = r_norm > 0 ? b_norm > 0 ? (double)(sqrtl(r2) / sqrtl(b2)) : INFINITY : 0;
    q.growth = x_norm > 0 ? b_norm > 0 ? (double)(a_norm * x_norm / b_norm) : INFINITY : 0;
    mpki_rows_told(&by_rows, &q);
    if (r_norm > 0) { /* the largest entry of 2^exponent r is about 1 */
        frexpl(r_norm, &q.exponent);
        q.exponent = -q.exponent;
    }
    for (int32_t i = 0; i < n; i++) { /* r last: it may be b */
        const wide re = real_of(&rows[i]), im = imaginary_of(&rows[i]);
        r[i] = t_make((R)ldexpl(re, q.exponent), (R)ldexpl(im, q.exponent));
    }
    mpki_release(s->ctx, rows);
    return q;
}
