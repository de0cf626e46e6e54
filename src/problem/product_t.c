/* SPDX-License-Identifier: BSD-3-Clause */
#include "product.h"
#include "../core/precision.h"

#include <string.h>

#if MPKI_COMPLEX
typedef double complex W; /* what sums are held in */
static inline W wide(T x) {
    W w;
    ((double *)&w)[0] = t_re(x);
    ((double *)&w)[1] = t_im(x);
    return w;
}
static inline W wide_mul(T a, W x) {
    const double ar = t_re(a), ai = t_im(a);
    const double xr = ((const double *)&x)[0], xi = ((const double *)&x)[1];
    W w;
    ((double *)&w)[0] = ar * xr - ai * xi;
    ((double *)&w)[1] = ar * xi + ai * xr;
    return w;
}
#else
typedef double W;
static inline W wide(T x) {
    return x;
}
static inline W wide_mul(T a, W x) {
    return a * x;
}
#endif

/* y = A x: each stored entry serves its column (scatter) and, mirrored, its row (gather). */
static void multiply(const mpk_problem_view *a, const void *xv, void *yv) {
    const T *ax = a->ax, *x = xv;
    T *y = yv;
    const bool hermitian = a->symmetry == MPK_HERMITIAN;
    memset(y, 0, (size_t)a->n * sizeof *y);
    for (int32_t j = 0; j < a->n; j++) {
        const T xj = x[j];
        T sum = 0;
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            int32_t i = a->ai[k];
            if (i != j) y[i] += t_mul(ax[k], xj);
            sum += t_mul(i != j ? conj_if(hermitian, ax[k]) : ax[k], x[i]);
        }
        y[j] += sum;
    }
}

static void residual_sums(const mpk_problem_view *a, const T *x, W *r) {
    const T *ax = a->ax;
    const bool hermitian = a->symmetry == MPK_HERMITIAN;
    for (int32_t j = 0; j < a->n; j++) {
        const W xj = wide(x[j]);
        W sum = 0;
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            int32_t i = a->ai[k];
            if (i != j) r[i] -= wide_mul(ax[k], xj);
            sum += wide_mul(i != j ? conj_if(hermitian, ax[k]) : ax[k], wide(x[i]));
        }
        r[j] -= sum;
    }
}

/* Moduli in double, so that float entries do not overflow; hypot() only where squares might. */
static inline double modulus(T x) {
#if MPKI_COMPLEX
    const double re = t_re(x), im = t_im(x), square = re * re + im * im;
    return square > 1e-280 && square < 1e280 ? sqrt(square) : hypot(re, im);
#else
    return fabs((double)x);
#endif
}

static void denominator(const mpk_problem_view *a, const T *x, const T *b, double *w) {
    const T *ax = a->ax;
    for (int32_t i = 0; i < a->n; i++) w[i] = modulus(b[i]);
    for (int32_t j = 0; j < a->n; j++) {
        const double xj = modulus(x[j]);
        double sum = 0;
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            int32_t i = a->ai[k];
            double m = modulus(ax[k]);
            if (i != j) w[i] += m * xj;
            sum += m * modulus(x[i]);
        }
        w[j] += sum;
    }
}

static void residual(const mpk_problem_view *a, const void *xv, const void *bv, void *rv, double *w,
                     double *work) {
    const T *x = xv, *b = bv;
    T *r = rv;
    /* in double precision the sums live in r itself */
    W *sums = sizeof(T) == sizeof(W) ? (W *)rv : (W *)work;
    for (int32_t i = 0; i < a->n; i++) sums[i] = wide(b[i]);
    if (w) denominator(a, x, b, w);
    residual_sums(a, x, sums);
    if (sizeof(T) != sizeof(W))
        for (int32_t i = 0; i < a->n; i++) r[i] = (T)sums[i];
}

static void row_sums(const mpk_problem_view *a, double *sums) {
    const T *ax = a->ax;
    for (int32_t i = 0; i < a->n; i++) sums[i] = 0;
    for (int32_t j = 0; j < a->n; j++) {
        double sum = 0;
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            int32_t i = a->ai[k];
            double m = modulus(ax[k]);
            if (i != j) sums[i] += m;
            sum += m;
        }
        sums[j] += sum;
    }
}

const mpki_product_table FN(product) = {multiply, residual, row_sums};
