/* SPDX-License-Identifier: BSD-3-Clause */
/* b - A x as if in twice the working precision, rounded once: rows of a hundred thousand entries
 * lose more in an ordinary residual than refinement is to gain. Products and sums without error
 * (Dekker 1971, Knuth 1969; summed as Ogita, Rump & Oishi 2005, SIAM J. Sci. Comput. 26(6),
 * algorithm 5.3). Compiled without contraction. */
#include "problem.h"

#include <math.h>

/* *high + *low += a b */
static inline void add_product(double a, double b, double *high, double *low) {
    double p = a * b, e = fma(a, b, -p);
    double s = *high + p, t = s - *high;
    *low += e + ((*high - (s - t)) + (p - t));
    *high = s;
}

static void real_residual(const mpk_problem_view *a, const double *x, double *r, double *low) {
    const double *ax = a->ax;
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t i = a->ai[k];
            add_product(-ax[k], x[j], &r[i], &low[i]);
            if (i != j) add_product(-ax[k], x[i], &r[j], &low[j]);
        }
}

/* r[i] -= a x[j] for complex numbers as pairs; conjugated: conj(a) */
static inline void add_complex(const double *a, int conjugated, const double *x, double *r,
                               double *low) {
    const double re = a[0], im = conjugated ? -a[1] : a[1];
    add_product(-re, x[0], &r[0], &low[0]);
    add_product(im, x[1], &r[0], &low[0]);
    add_product(-re, x[1], &r[1], &low[1]);
    add_product(-im, x[0], &r[1], &low[1]);
}

static void complex_residual(const mpk_problem_view *a, const double *x, double *r, double *low) {
    const double *ax = a->ax;
    const int hermitian = a->symmetry == MPK_HERMITIAN;
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int64_t i = a->ai[k];
            add_complex(ax + 2 * k, 0, x + 2 * (int64_t)j, r + 2 * i, low + 2 * i);
            if (i != j)
                add_complex(ax + 2 * k, hermitian, x + 2 * i, r + 2 * (int64_t)j,
                            low + 2 * (int64_t)j);
        }
}

void mpki_residual_compensated(const mpk_problem_view *a, const void *x, const void *b, void *r,
                               double *low) {
    const int parts = a->scalar == MPK_Z ? 2 : 1;
    const double *from = b;
    double *to = r;
    for (int64_t i = 0; i < (int64_t)a->n * parts; i++) to[i] = from[i], low[i] = 0;
    if (parts == 1)
        real_residual(a, x, to, low);
    else
        complex_residual(a, x, to, low);
    for (int64_t i = 0; i < (int64_t)a->n * parts; i++) to[i] += low[i];
}
