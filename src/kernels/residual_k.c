/* SPDX-License-Identifier: BSD-3-Clause */
/* b - A x and |A| |x| in one pass over the stored entries. Where entries are doubles, sums are held
 * in twice their precision (Ogita, Rump & Oishi 2005, SIAM J. Sci. Comput. 26(6), algorithm 5.3):
 * otherwise a residual of the size of the roundoff is lost in the rounding errors of its own sum.
 * Products of floats are summed in double, which is enough. */
#include "exact.h"
#include "isa.h"
#include "vector.h"

#define WIDE (sizeof(R) == sizeof(double)) /* sums have a low part */

/* One row: real and imaginary part of the residual, each with its low part, and the denominator. */
typedef struct row {
    double part[PARTS][2], w;
#if !MPKI_COMPLEX
    double unused; /* so that no row lies across two cache lines */
#endif
} row;
_Static_assert(sizeof(row) == MPKI_RESIDUAL_ROW * sizeof(double), "work as the header says");

INLINE double modulus(double re, double im) {
    const double square = re * re + im * im;
    if (!MPKI_COMPLEX) return fabs(re);
    return square > 1e-280 && square < 1e280 ? sqrt(square) : hypot(re, im);
}

INLINE row begin(T b) {
    row r = {.part = {{t_re(b)}}, .w = modulus(t_re(b), t_im(b))};
#if MPKI_COMPLEX
    r.part[1][0] = t_im(b);
#endif
    return r;
}

INLINE T end(const row *r) {
    const double *re = r->part[0], *im = r->part[PARTS - 1];
    return t_make((R)(re[0] + re[1]), (R)(im[0] + im[1]));
}

#if MPKI_COMPLEX
INLINE void subtract(row *r, double re, double im, const R *x) {
    const double xr = x[0], xi = x[1];
    if (WIDE) {
        exact_add_product(-re, xr, &r->part[0][0], &r->part[0][1]);
        exact_add_product(im, xi, &r->part[0][0], &r->part[0][1]);
        exact_add_product(-re, xi, &r->part[1][0], &r->part[1][1]);
        exact_add_product(-im, xr, &r->part[1][0], &r->part[1][1]);
    } else {
        r->part[0][0] -= re * xr - im * xi;
        r->part[1][0] -= re * xi + im * xr;
    }
}
#else
INLINE void subtract(row *r, double a, double x) {
    if (WIDE) {
        double p, e;
        exact_product(-a, x, &p, &e);
        exact_add(p, &r->part[0][0], &r->part[0][1]);
        r->part[0][1] += e;
        r->w += fabs(p);
    } else {
        const double p = a * x;
        r->part[0][0] -= p;
        r->w += fabs(p);
    }
}
#endif

/* column j times the rows below and times itself */
INLINE void column(int32_t j, int64_t k, const int64_t last, const int32_t *ai, const T *ax,
                   const T *x, const double *x_abs, int hermitian, row *rows) {
    row own = rows[j];
#if MPKI_COMPLEX
    const R *a = (const R *)ax, *xs = (const R *)x, *xj = xs + 2 * (int64_t)j;
    for (; k < last; k++) {
        const int64_t i = ai[k];
        const double re = a[2 * k], im = a[2 * k + 1], m = modulus(re, im);
        own.w += m * x_abs[i];
        if (i == j) {
            subtract(&own, re, im, xj);
            continue;
        }
        subtract(&rows[i], re, im, xj);
        rows[i].w += m * x_abs[j];
        subtract(&own, re, hermitian ? -im : im, xs + 2 * i);
    }
#else
    (void)x_abs, (void)hermitian;
    const double xj = x[j];
    if (k < last && ai[k] == j) subtract(&own, ax[k++], xj);
    for (; k < last; k++) {
        const int32_t i = ai[k];
        subtract(&rows[i], ax[k], xj);
        subtract(&own, ax[k], x[i]);
    }
#endif
    rows[j] = own;
}

void ISA_FN(residual)(int32_t n, const int64_t *ap, const int32_t *ai, const T *ax, int hermitian,
                      const T *x, const T *b, T *r, double *w, double *work) {
    row *rows = (row *)work;
    double *x_abs = MPKI_COMPLEX ? w : NULL; /* |x|, until w is written */
    for (int32_t i = 0; i < n; i++) {
        rows[i] = begin(b[i]);
#if MPKI_COMPLEX
        x_abs[i] = modulus(t_re(x[i]), t_im(x[i]));
#endif
    }
    for (int32_t j = 0; j < n; j++) column(j, ap[j], ap[j + 1], ai, ax, x, x_abs, hermitian, rows);
    for (int32_t i = 0; i < n; i++) {
        r[i] = end(&rows[i]);
        w[i] = rows[i].w;
    }
}

void ISA_FN(residual_columns)(int32_t n, const int64_t *ap, const int32_t *ai, const T *ax,
                              const T *x, const T *b, T *r, double *w, double *work) {
    row *rows = (row *)work;
    for (int32_t i = 0; i < n; i++) rows[i] = begin(b[i]);
    for (int32_t j = 0; j < n; j++) {
        const T xj = x[j];
#if MPKI_COMPLEX
        const double x_abs = modulus(t_re(xj), t_im(xj));
#endif
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
#if MPKI_COMPLEX
            subtract(&rows[ai[k]], t_re(ax[k]), t_im(ax[k]), (const R *)&xj);
            rows[ai[k]].w += modulus(t_re(ax[k]), t_im(ax[k])) * x_abs;
#else
            subtract(&rows[ai[k]], ax[k], xj);
#endif
        }
    }
    for (int32_t i = 0; i < n; i++) {
        r[i] = end(&rows[i]);
        w[i] = rows[i].w;
    }
}

void ISA_FN(residual_rows)(int32_t r0, int32_t r1, const int64_t *ptr, const int32_t *col,
                           const T *val, const T *x, const T *b, T *r, double *w) {
    for (int32_t i = r0; i < r1; i++) {
        row s = begin(b[i]);
        for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) {
            const T xk = x[col[k]];
            __builtin_prefetch(val + k + 2048 / sizeof(T)); /* rows are too short for */
            __builtin_prefetch(col + k + 4096 / sizeof(T)); /* the hardware's own prefetching */
#if MPKI_COMPLEX
            subtract(&s, t_re(val[k]), t_im(val[k]), (const R *)&xk);
            s.w += modulus(t_re(val[k]), t_im(val[k])) * modulus(t_re(xk), t_im(xk));
#else
            subtract(&s, val[k], xk);
#endif
        }
        r[i] = end(&s);
        w[i] = s.w;
    }
}
