/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_QUAD_H
#define TEST_QUAD_H
/** Errors of a solution in quadruple precision, by code that shares nothing with the library: the
 * product of two doubles is exact, a sum of a million products is off by at most 1e-28 of the
 * largest, and nothing that fits a double over- or underflows. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __SIZEOF_FLOAT128__
typedef __float128 quad;
#else
typedef long double quad; /* quadruple on 64-bit ARM */
_Static_assert(LDBL_MANT_DIG >= 113, "no quadruple precision here");
#endif

/** An entry of the whole matrix: both triangles are given. */
typedef struct quad_entry {
    int32_t i, j;
    double re, im;
} quad_entry;

typedef struct quad_errors {
    double normwise;      /* ||b - A x||_inf / (||A||_inf ||x||_inf + ||b||_inf) */
    double componentwise; /* omega_1 + omega_2 of Arioli, Demmel & Duff (1989) */
    double plain;         /* max_i |b - A x|_i / (|A||x| + |b|)_i; 0/0 = 0 */
    double relative;      /* ||b - A x||_2 / ||b||_2; 0/0 = 0 */
    double noise;         /* by how much rounding in quadruple precision may change that */
    double row;           /* max_i |b - A x|_i / |b|_i; 0/0 = 0 */
} quad_errors;

static inline quad quad_abs1(quad a) {
    return a < 0 ? -a : a;
}

/* Heron's iteration, starting from the nearest double; exponents beyond those of a double are taken
 * out first. */
static inline quad quad_sqrt(quad a) {
    if (!(a > 0)) return 0;
    quad unit = 1;
    const quad big = (quad)0x1p512;
    while (a > big * big) a /= big * big, unit *= big;
    while (a < 1 / (big * big)) a *= big * big, unit /= big;
    quad x = (quad)sqrt((double)(a > (quad)DBL_MAX ? (quad)DBL_MAX : a));
    if (!(x > 0)) x = (quad)0x1p-512;
    for (int k = 0; k < 4; k++) x = (x + a / x) / 2;
    return x * unit;
}

static inline quad quad_modulus(quad re, quad im) {
    re = quad_abs1(re);
    im = quad_abs1(im);
    if (im == 0) return re;
    if (re == 0) return im;
    return quad_sqrt(re * re + im * im);
}

/** x and b: n complex numbers, as pairs; eps: the spacing of the working precision at 1. */
static inline quad_errors quad_judge(int32_t n, int64_t count, const quad_entry *e, const double *x,
                                     const double *b, double eps) {
    quad *r = calloc((size_t)n * 2 + 1, sizeof *r), *w = calloc((size_t)n + 1, sizeof *w),
         *row = calloc((size_t)n + 1, sizeof *row), *xa = calloc((size_t)n + 1, sizeof *xa);
    quad_errors errors = {INFINITY, INFINITY, INFINITY, INFINITY, 0, INFINITY};
    quad x_norm = 0, b_norm = 0, r_norm = 0, a_norm = 0, b2 = 0, r2 = 0, omega1 = 0, omega2 = 0,
         plain = 0, w2 = 0, worst = 0;
    int finite = 1;
    if (!r || !w || !row || !xa) goto done;
    for (int32_t i = 0; i < 2 * n; i++) finite &= isfinite(x[i]) && isfinite(b[i]);
    if (!finite) goto done;
    for (int32_t i = 0; i < n; i++) {
        r[2 * i] = b[2 * i];
        r[2 * i + 1] = b[2 * i + 1];
        xa[i] = quad_modulus(x[2 * i], x[2 * i + 1]);
        if (xa[i] > x_norm) x_norm = xa[i];
    }
    for (int64_t k = 0; k < count; k++) {
        const quad re = e[k].re, im = e[k].im, xr = x[2 * e[k].j], xi = x[2 * e[k].j + 1];
        const quad a = quad_modulus(re, im);
        r[2 * e[k].i] -= re * xr - im * xi;
        r[2 * e[k].i + 1] -= re * xi + im * xr;
        w[e[k].i] += a * xa[e[k].j];
        row[e[k].i] += a;
    }
    for (int32_t i = 0; i < n; i++) {
        const quad ri = quad_modulus(r[2 * i], r[2 * i + 1]),
                   bi = quad_modulus(b[2 * i], b[2 * i + 1]);
        const quad small = 1000 * (quad)n * (quad)(eps / 2) * (row[i] * x_norm + bi);
        if (row[i] > a_norm) a_norm = row[i];
        if (bi > b_norm) b_norm = bi;
        if (ri > r_norm) r_norm = ri;
        b2 += bi * bi;
        r2 += ri * ri;
        w2 += w[i] * w[i];
        if (ri == 0) continue;
        if (!(ri <= worst * bi)) worst = bi > 0 ? ri / bi : (quad)INFINITY;
        if (!(ri <= plain * (w[i] + bi))) plain = ri / (w[i] + bi);
        quad *omega = w[i] + bi > small ? &omega1 : &omega2;
        const quad q = ri / (omega == &omega1 ? w[i] + bi : w[i] + row[i] * x_norm);
        if (!(q <= *omega)) *omega = q;
    }
    errors.componentwise = (double)(omega1 + omega2);
    errors.plain = (double)plain;
    errors.row = (double)worst;
    errors.normwise = r_norm == 0 ? 0 : (double)(r_norm / (a_norm * x_norm + b_norm));
    errors.relative = r2 == 0 ? 0 : b2 == 0 ? INFINITY : (double)(quad_sqrt(r2) / quad_sqrt(b2));
    errors.noise = b2 == 0 ? 0 : (double)(n * 0x1p-112 * (quad_sqrt(w2) / quad_sqrt(b2)));
done:
    free(r);
    free(w);
    free(row);
    free(xa);
    return errors;
}

#endif
