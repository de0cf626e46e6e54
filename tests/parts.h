/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_PARTS_H
#define TEST_PARTS_H
/** Do the parts of a direct factor fit D, the permutation and the scaling that mpk_get() gives?
 *  After support.h. */
#include <stdbool.h>

/* X := the part applied to n columns of complex numbers. */
static inline void part_of(mpk_context *ctx, const mpk_factor *fac, const dense *m, mpk_part part,
                           double complex *x) {
    const int n = m->n;
    void *own = calloc((size_t)n * n + 1, mpk_scalar_size(m->scalar));
    for (int k = 0; k < n * n; k++) scalar_store(m->scalar, own, k, x[k]);
    assert_int_equal(mpk_solve_part(ctx, fac, part, n, own, n), MPK_OK);
    for (int k = 0; k < n * n; k++) x[k] = scalar_load(m->scalar, own, k);
    free(own);
}

/* f(B) of the Hermitian [a conj(b); b c] by its eigenvalues; 0 goes to 0. */
static inline void block_function(double a, double complex b, double c, double (*f)(double),
                                  double complex out[2][2]) {
    const double mean = (a + c) / 2, half = hypot((a - c) / 2, cabs(b));
    const double e[2] = {mean + half, mean - half};
    /* f(B) = p + q B */
    const double q = half > 0 ? (f(e[0]) - f(e[1])) / (e[0] - e[1]) : 0, p = f(e[0]) - q * e[0];
    out[0][0] = p + q * a, out[1][1] = p + q * c;
    out[1][0] = q * b, out[0][1] = conj(out[1][0]);
}

static inline double inverse_root(double e) {
    return fabs(e) > 0 ? 1 / sqrt(fabs(e)) : 0;
}

/* Rows of X, in the order of pivots, times |D|^-1/2. */
static inline void times_root(int n, const double complex *d, double complex *x) {
    for (int k = 0; k < n; k++) {
        double complex r[2][2];
        const bool pair = cabs(d[2 * k + 1]) > 0;
        if (pair)
            block_function(creal(d[2 * k]), d[2 * k + 1], creal(d[2 * k + 2]), inverse_root, r);
        for (int j = 0; j < n; j++) {
            double complex *y = x + k + (size_t)j * n, u = y[0];
            if (!pair) {
                y[0] = u * inverse_root(creal(d[2 * k]));
                continue;
            }
            const double complex v = y[1];
            y[0] = r[0][0] * u + r[0][1] * v, y[1] = r[1][0] * u + r[1][1] * v;
        }
        k += pair;
    }
}

/* The largest entry of X - Y, beside the largest of Y. */
static inline double apart(int n, const double complex *x, const double complex *y) {
    double most = 0, size = 0;
    for (int k = 0; k < n * n; k++) {
        if (!(cabs(x[k] - y[k]) <= most)) most = cabs(x[k] - y[k]);
        size = fmax(size, cabs(y[k]));
    }
    return size > 0 ? most / size : most;
}

/* fac: of m. definite: m is, and then W W^H m = 1 for W = S P^T L^-T D^-1/2. bound: of
 * differences. */
static inline void check_parts(mpk_context *ctx, const mpk_factor *fac, const dense *m,
                               bool definite, double bound) {
    const int n = m->n;
    const size_t all = (size_t)n * n, size = mpk_scalar_size(m->scalar);
    const bool real = m->scalar <= MPK_D, hermitian = m->symmetry == MPK_HERMITIAN;
    double complex *x = calloc(all, sizeof *x), *y = calloc(all, sizeof *y);
    double complex *d = calloc(2 * (size_t)n, sizeof *d);
    void *own = calloc(2 * (size_t)n, size);
    int32_t *perm = calloc((size_t)n, sizeof *perm);
    double *scale = calloc((size_t)n, sizeof *scale);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, own, 2 * (size_t)n * size), MPK_OK);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_PERM, perm, (size_t)n * sizeof *perm), MPK_OK);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_SCALE, scale, (size_t)n * sizeof *scale), MPK_OK);
    for (int k = 0; k < 2 * n; k++) d[k] = scalar_load(m->scalar, own, k);
    /* L^-1 P S e / s for the row of each pivot: a column of L^-1, unit lower triangular */
    for (int k = 0; k < n; k++) x[perm[k] + (size_t)k * n] = 1 / scale[perm[k]];
    part_of(ctx, fac, m, MPK_PART_L, x);
    double most = 1;
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < k; i++) assert_true(cabs(x[i + (size_t)k * n]) == 0);
        if (!(cabs(x[k + (size_t)k * n] - 1) <= bound)) fail_msg("L(%d, %d) is not 1", k, k);
        for (int i = k; i < n; i++) most = fmax(most, cabs(x[i + (size_t)k * n]));
    }
    /* D^-1 takes D to 1, but where D is zero */
    memset(x, 0, all * sizeof *x);
    for (int k = 0; k < n; k++) {
        x[k + (size_t)k * n] = d[2 * k];
        if (k + 1 < n && cabs(d[2 * k + 1]) > 0) {
            x[k + 1 + (size_t)k * n] = d[2 * k + 1];
            x[k + (size_t)(k + 1) * n] = hermitian ? conj(d[2 * k + 1]) : d[2 * k + 1];
        }
    }
    part_of(ctx, fac, m, MPK_PART_D, x);
    for (int k = 0; k < n; k++) {
        double row = 0;
        for (int i = 0; i < n; i++) row += cabs(x[i + (size_t)k * n] - (i == k));
        const bool zero =
            cabs(d[2 * k]) == 0 && cabs(d[2 * k + 1]) == 0 && (k == 0 || cabs(d[2 * k - 1]) == 0);
        if (!(row <= 100 * bound) && !zero) fail_msg("D^-1 D, column %d, is off by %g", k, row);
    }
    if (real || hermitian) { /* W W^H is |A|'s inverse, and A's where that is definite */
        for (size_t k = 0; k < all; k++) x[k] = 0;
        for (int k = 0; k < n; k++) x[k + (size_t)k * n] = 1;
        times_root(n, d, x);
        part_of(ctx, fac, m, MPK_PART_LT, x);
        memset(y, 0, all * sizeof *y);
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                for (int i = 0; i < n; i++)
                    y[i + (size_t)j * n] += x[i + (size_t)k * n] * conj(x[j + (size_t)k * n]);
        memset(x, 0, all * sizeof *x);
        for (int k = 0; k < n; k++) x[k + (size_t)k * n] = 1;
        part_of(ctx, fac, m, MPK_PART_ABS, x);
        if (!(apart(n, y, x) <= most * bound))
            fail_msg("W W^H and |M|^-1 are %g apart, %g allowed", apart(n, y, x), most * bound);
        for (int j = 0; definite && j < n; j++)
            for (int i = 0; i < n; i++) {
                double complex sum = 0;
                for (int k = 0; k < n; k++) sum += y[i + (size_t)k * n] * dense_get(m, k, j);
                x[i + (size_t)j * n] = sum - (i == j);
            }
        memset(y, 0, all * sizeof *y);
        if (definite && !(apart(n, x, y) <= 100 * bound))
            fail_msg("W W^H A is %g from 1", apart(n, x, y));
    }
    free(x), free(y), free(d), free(own), free(perm), free(scale);
}

#endif
