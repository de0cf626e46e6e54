/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_DEVICE_MATRICES_H
#define TESTS_DEVICE_MATRICES_H
/** Matrices of some shapes in every precision and symmetry, and vectors, for tests of the device's
 *  Krylov methods. */
#include "vectors/device_krylov.h"

#include "engines/interface/engine.h"
#include "analysis/analysis.h"
#include "engines/cuda/vectors/kernels/vectors.h"
#include "problem/columns.h"
#include "problem/full.h"
#include "problem/measure.h"
#include "problem/problem.h"

#undef mpk_krylov_solve

static inline mpk_context *context(void) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    return ctx;
}

static inline void refused(mpk_context *ctx, mpk_status got, mpk_status expected,
                           const char *word) {
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    assert_int_equal(got, expected);
    assert_non_null(text);
    assert_non_null(strstr(text, word));
}

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN},
             {MPK_S, MPK_GENERAL},   {MPK_D, MPK_GENERAL},   {MPK_C, MPK_GENERAL},
             {MPK_Z, MPK_GENERAL}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static inline bool single(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/* ---- matrices ---- */

/* Entries of the lower triangle (all of them: general) by columns. */
typedef struct sparse {
    mpk_problem_view a;
    int64_t *ap;
    int32_t *ai;
    void *ax;
} sparse;

/* Is (i, j) an entry? shape 0: the diagonal and a few below; 1: the last row is full, and the last
 * column of a general matrix; 2: rows without entries between others */
static inline bool has(int shape, int32_t n, int32_t i, int32_t j) {
    const int32_t d = i < j ? j - i : i - j;
    if (shape == 2 && (i % 3 == 1 || j % 3 == 1)) return false;
    if (shape == 1 && (i == n - 1 || j == n - 1)) return true;
    return d == 0 || d == 1 || d == 7 || d == 8;
}

static inline sparse sparse_of(int shape, int32_t n, int kind) {
    const mpk_scalar scalar = kinds[kind].scalar;
    const mpk_symmetry symmetry = kinds[kind].symmetry;
    sparse s = {0};
    for (int turn = 0; turn < 2; turn++) {
        int64_t k = 0;
        for (int32_t j = 0; j < n; j++) {
            if (turn) s.ap[j] = k;
            for (int32_t i = symmetry == MPK_GENERAL ? 0 : j; i < n; i++) {
                if (!has(shape, n, i, j)) continue;
                if (turn) {
                    s.ai[k] = i;
                    const double complex x = uniform() + uniform() * I;
                    scalar_store(scalar, s.ax, k,
                                 i == j && symmetry == MPK_HERMITIAN ? creal(x) : x);
                }
                k++;
            }
        }
        if (turn) {
            s.ap[n] = k;
            continue;
        }
        s.ap = calloc((size_t)n + 1, sizeof *s.ap);
        s.ai = calloc((size_t)k + 1, sizeof *s.ai);
        s.ax = calloc((size_t)k + 1, mpk_scalar_size(scalar));
    }
    s.a = (mpk_problem_view){n, s.ap[n], scalar, symmetry, s.ap, s.ai, s.ax};
    return s;
}

static inline void sparse_free(sparse *s) {
    free(s->ap), free(s->ai), free(s->ax);
}

static inline mpk_status make_problem(mpk_context *ctx, const sparse *s, mpk_problem **problem) {
    return mpk_problem_from_csc(ctx, s->a.n, s->a.scalar, s->a.symmetry,
                                s->a.symmetry == MPK_GENERAL ? MPK_FULL : MPK_LOWER, s->ap, s->ai,
                                s->ax, problem);
}

static inline void *vector(int32_t n, mpk_scalar scalar) {
    void *x = calloc((size_t)n + 1, mpk_scalar_size(scalar));
    for (int32_t i = 0; i < n; i++) scalar_store(scalar, x, i, uniform() + uniform() * I);
    return x;
}

static inline void *up(const mpki_device *d, const void *host, int64_t bytes) {
    void *p = NULL;
    assert_int_equal(d->table->alloc(d->cuda, bytes > 0 ? bytes : 8, &p), 0);
    assert_int_equal(d->table->copy(d->cuda, p, bytes, host, bytes, bytes, 1, 1, NULL), 0);
    assert_int_equal(d->table->synchronize(d->cuda, NULL), 0);
    return p;
}

#endif
