/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_SUPPORT_H
#define TEST_SUPPORT_H
/** Matrices, oracles and a failing allocator for the tests of factor/ and solve/. */
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

/* ---- random numbers: the same on every machine ---- */

static uint64_t support_state = 1;
static inline double uniform(void) { /* (-1, 1) */
    return mpki_random_lcg_signed(&support_state);
}

/* ---- a dense Hermitian or symmetric matrix as double complex, and its ways into METAPACK ---- */

typedef struct dense {
    int n;
    double complex *a; /* n x n, both triangles */
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} dense;

static inline dense dense_new(int n, mpk_scalar scalar, mpk_symmetry symmetry) {
    return (dense){n, calloc((size_t)n * n + 1, sizeof(double complex)), scalar, symmetry};
}

static inline void dense_set(dense *m, int i, int j, double complex x) {
    if (m->scalar == MPK_S || m->scalar == MPK_D) x = creal(x);
    if (m->scalar == MPK_S || m->scalar == MPK_C) {
        /* volatile: gcc 12 vectorises the two roundings away at -O2 */
        volatile float re = (float)creal(x), im = (float)cimag(x);
        __real__ x = re;
        __imag__ x = im;
    }
    if (i == j && m->symmetry == MPK_HERMITIAN) x = creal(x);
    m->a[i + (size_t)j * m->n] = x;
    m->a[j + (size_t)i * m->n] = m->symmetry == MPK_HERMITIAN ? conj(x) : x;
}

static inline double complex dense_get(const dense *m, int i, int j) {
    return m->a[i + (size_t)j * m->n];
}

static inline void scalar_store(mpk_scalar scalar, void *array, int64_t k, double complex x) {
    if (scalar == MPK_S)
        ((float *)array)[k] = (float)creal(x);
    else if (scalar == MPK_D)
        ((double *)array)[k] = creal(x);
    else if (scalar == MPK_C)
        ((float complex *)array)[k] = (float complex)x;
    else
        ((double complex *)array)[k] = x;
}

static inline double complex scalar_load(mpk_scalar scalar, const void *array, int64_t k) {
    if (scalar == MPK_S) return ((const float *)array)[k];
    if (scalar == MPK_D) return ((const double *)array)[k];
    if (scalar == MPK_C) return ((const float complex *)array)[k];
    return ((const double complex *)array)[k];
}

/* keep: 1 = all of the lower triangle (general: of the matrix), else only the nonzeros */
static inline mpk_problem *dense_problem(mpk_context *ctx, const dense *m, int keep) {
    const int general = m->symmetry == MPK_GENERAL;
    int64_t most = (int64_t)m->n * (general ? m->n : m->n / 2 + 1) + 1, nnz = 0;
    int64_t *ap = calloc((size_t)m->n + 1, sizeof *ap);
    int32_t *ai = malloc((size_t)most * sizeof *ai);
    void *ax = malloc((size_t)most * mpk_scalar_size(m->scalar));
    for (int j = 0; j < m->n; j++) {
        for (int i = general ? 0 : j; i < m->n; i++)
            if (keep || dense_get(m, i, j) != 0) {
                ai[nnz] = i;
                scalar_store(m->scalar, ax, nnz++, dense_get(m, i, j));
            }
        ap[j + 1] = nnz;
    }
    mpk_problem *problem = NULL;
    mpk_status status = mpk_problem_from_csc(ctx, m->n, m->scalar, m->symmetry,
                                             general ? MPK_FULL : MPK_LOWER, ap, ai, ax, &problem);
    if (mpk_failed(status)) problem = NULL;
    free(ap), free(ai), free(ax);
    return problem;
}

/* eigenvalues of the real symmetric or Hermitian matrix, ascending */
static inline void dense_eigenvalues(const dense *m, double *w) {
    double complex *copy = malloc(((size_t)m->n * m->n + 1) * sizeof *copy);
    memcpy(copy, m->a, (size_t)m->n * m->n * sizeof *copy);
    if (m->n > 0)
        assert_int_equal(LAPACKE_zheev(LAPACK_COL_MAJOR, 'N', 'L', m->n, copy, m->n, w), 0);
    free(copy);
}

static inline mpk_inertia dense_inertia(const dense *m, double zero) {
    double *w = malloc(((size_t)m->n + 1) * sizeof *w);
    dense_eigenvalues(m, w);
    mpk_inertia in = {0};
    for (int k = 0; k < m->n; k++) {
        if (fabs(w[k]) <= zero)
            in.zero++;
        else if (w[k] > 0)
            in.positive++;
        else
            in.negative++;
    }
    free(w);
    return in;
}

/* ---- families ---- */

enum support_family { SPARSE, SADDLE_POINT, PAIRS, ARROW, GRADED_KKT, BANDED, FAMILY_COUNT };

static inline dense family_matrix(enum support_family family, int n, mpk_scalar scalar,
                                  mpk_symmetry symmetry) {
    dense m = dense_new(n, scalar, symmetry);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            double complex x = uniform() + uniform() * I;
            double pick = fabs(uniform());
            switch (family) {
            case SPARSE: /* a few entries a column, a third of the diagonal zero */
                if (i == j ? i % 3 == 0 : pick > 4.0 / n) x = 0;
                break;
            case SADDLE_POINT: /* [D B'; B 0], D diagonal */
                if (j >= n - n / 3)
                    x = 0;
                else if (i < n - n / 3)
                    x = i == j ? 2 + creal(x) : 0;
                else if (pick > 3.0 / n && i - (n - n / 3) != j)
                    x = 0;
                break;
            case PAIRS: /* [0 1; 1 0] along the diagonal, coupled weakly: zero diagonal everywhere
                         */
                if (i == j)
                    x = 0;
                else if (i == j + 1 && j % 2 == 0)
                    x = 1;
                else if (pick > 2.0 / n)
                    x = 0;
                else
                    x *= 0.1;
                break;
            case ARROW: /* dense last rows */
                if (i != j && i < n - 2) x = 0;
                if (i == j) x = i % 2 ? 3 : -3;
                break;
            case GRADED_KKT: /* late interior point: diagonal over 12 decades, -1e-8 in the corner
                              */
                if (i == j)
                    x = j < n - n / 3 ? pow(10, 12 * fabs(uniform()) - 6) : -1e-8;
                else if (j >= n - n / 3 || i < n - n / 3)
                    x = 0;
                else if (pick > 3.0 / n && i - (n - n / 3) != j)
                    x = 0;
                break;
            default: /* BANDED */
                if (i - j > 4) x = 0;
                break;
            }
            dense_set(&m, i, j, x);
        }
    return m;
}

/* ---- an allocator that fails at its k-th call and counts what is held ---- */

typedef struct failing {
    int64_t calls, fail_at;
    int64_t held;
} failing;

static inline void *failing_alloc(void *user, size_t size) {
    failing *f = user;
    if (__atomic_add_fetch(&f->calls, 1, __ATOMIC_SEQ_CST) == f->fail_at) return NULL;
    void *ptr = aligned_alloc(64, (size + 63) / 64 * 64);
    if (ptr) __atomic_add_fetch(&f->held, 1, __ATOMIC_SEQ_CST);
    return ptr;
}

static inline void failing_release(void *user, void *ptr, size_t size) {
    (void)size;
    __atomic_sub_fetch(&((failing *)user)->held, 1, __ATOMIC_SEQ_CST);
    free(ptr);
}

#endif
