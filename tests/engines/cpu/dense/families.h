/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FAMILIES_H
#define TEST_FAMILIES_H
/** Dense matrices that kill pivoting, each with what is known of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include "core/random.h"
#include <complex.h>
#define lapack_complex_float float _Complex
#define lapack_complex_double double _Complex
#include <lapacke.h>
#include <math.h>
#include <metapack/metapack.h>

static uint64_t state = 1;
static inline double uniform(void) { /* (-1, 1) */
    return mpki_random_lcg_signed(&state);
}

enum family {
    RANDOM,
    ZERO_DIAGONAL,
    FIEDLER,   /* |i - j|: one positive eigenvalue, zero diagonal */
    WILKINSON, /* growth 2^(n/2) where no pivot is compared with its row below the tile */
    CHAIN,     /* [0 1; 1 0] along the diagonal, weakly coupled */
    GRADED,    /* entries over eight decades */
    SADDLE,    /* [D B^T; B 0] */
    LATE_IPM,  /* (1,1) over 12 decades, -1e-8 in (2,2), B between */
    DOMINANT,  /* what needs no pivoting */
    SINGULAR,  /* a third of the rows exactly zero */
    ZERO,      /* all of it */
    FAMILIES
};

static const char *const family_names[] = {"random",   "zero diagonal", "fiedler", "wilkinson",
                                           "chain",    "graded",        "saddle",  "late ipm",
                                           "dominant", "singular",      "zero"};

static inline int family_strong(enum family f) { /* factors without pivoting */
    return f == DOMINANT;
}
static inline int family_singular(enum family f, int n) {
    return (f == ZERO && n > 0) || (f == SINGULAR && n >= 3) ||
           ((f == FIEDLER || f == ZERO_DIAGONAL) && n == 1);
}
static inline int family_definitive(enum family f) { /* no eigenvalue near rounding */
    return f != LATE_IPM && f != GRADED;
}

/* n x n, both triangles */
static inline double complex *family_matrix(enum family family, int n, int is_complex,
                                            int hermitian) {
    double complex *a = calloc((size_t)n * n + 1, sizeof *a);
    const int m = n - n / 3; /* of a saddle's first block */
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double complex x = uniform() + (is_complex ? uniform() : 0) * I;
            switch (family) {
            case ZERO_DIAGONAL:
                if (i == j) x = 0;
                break;
            case FIEDLER:
                x = i - j;
                break;
            case WILKINSON:
                x = i == j                 ? (i == n - 1 ? 1 : 1e-3)
                    : j == 0 || i == n - 1 ? 1
                                           : -1 + 1e-3 * creal(x);
                break;
            case CHAIN:
                x = i == j + 1 && j % 2 == 0 ? 1
                    : i == j                 ? (i == n - 1 && n % 2 ? 1 : 0)
                                             : 1e-3 * x;
                break;
            case GRADED:
                x *= pow(10, -4.0 * (i + j) / (2.0 * n));
                break;
            case SADDLE:
                if (j >= m)
                    x = 0;
                else if (i < m)
                    x = i == j ? 2 + creal(x) : 0;
                break;
            case LATE_IPM:
                if (i == j)
                    x = j < m ? pow(10, 12 * fabs(uniform()) - 6) : -1e-8;
                else if (j >= m || i < m)
                    x = 0;
                break;
            case DOMINANT:
                if (i == j) x = (i % 2 ? -2.0 : 2.0) * n;
                break;
            case SINGULAR:
                if (i % 3 == 2 || j % 3 == 2) x = 0;
                break;
            case ZERO:
                x = 0;
                break;
            default:
                break;
            }
            if (i == j && hermitian) x = creal(x);
            a[i + (size_t)j * n] = x;
            a[j + (size_t)i * n] = hermitian ? conj(x) : x;
        }
    return a;
}

/* by the eigenvalues of a real symmetric or Hermitian matrix; |lambda| <= zero counts as zero */
static inline mpk_inertia family_inertia(const double complex *a, int n, double zero) {
    double complex *copy = malloc(((size_t)n * n + 1) * sizeof *copy);
    double *w = malloc(((size_t)n + 1) * sizeof *w);
    mpk_inertia in = {0};
    memcpy(copy, a, (size_t)n * n * sizeof *copy);
    if (n > 0) assert_int_equal(LAPACKE_zheev(LAPACK_COL_MAJOR, 'N', 'L', n, copy, n, w), 0);
    for (int k = 0; k < n; k++) {
        in.positive += w[k] > zero;
        in.negative += w[k] < -zero;
        in.zero += fabs(w[k]) <= zero;
    }
    free(copy), free(w);
    return in;
}

#endif
