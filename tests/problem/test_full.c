/* SPDX-License-Identifier: BSD-3-Clause */
/* Both triangles by rows: against the lower triangle's own product, entry by entry, and the same
 * bits for any number of threads. */
#include "support.h"

#include "problem/full.h"
#include <complex.h>
#include <float.h>
#include <math.h>

static double complex get(mpk_scalar scalar, const void *x, int64_t k) {
    return scalar == MPK_S   ? ((const float *)x)[k]
           : scalar == MPK_D ? ((const double *)x)[k]
           : scalar == MPK_C ? ((const float complex *)x)[k]
                             : ((const double complex *)x)[k];
}

static void put(mpk_scalar scalar, void *x, int64_t k, double complex value) {
    if (scalar == MPK_S)
        ((float *)x)[k] = (float)creal(value);
    else if (scalar == MPK_D)
        ((double *)x)[k] = creal(value);
    else if (scalar == MPK_C)
        ((float complex *)x)[k] = (float complex)value;
    else
        ((double complex *)x)[k] = value;
}

/* The same pattern and values as another scalar. */
static mpk_problem *generate(mpk_context *ctx, const char *spec, mpk_scalar scalar) {
    mpk_problem *p = NULL, *q = NULL;
    assert_int_equal(mpk_problem_generate(ctx, spec, 3, &p), MPK_OK);
    mpk_problem_view v;
    mpk_problem_view_get(p, &v);
    if (v.scalar == scalar) return p;
    void *ax = malloc((size_t)v.nnz * mpk_scalar_size(scalar));
    for (int64_t k = 0; k < v.nnz; k++) put(scalar, ax, k, get(v.scalar, v.ax, k));
    assert_int_equal(
        mpk_problem_from_csc(ctx, v.n, scalar, v.symmetry, MPK_LOWER, v.ap, v.ai, ax, &q), MPK_OK);
    free(ax);
    mpk_problem_destroy(&p);
    return q;
}

/* Rows sorted, every entry of the lower triangle twice, mirrored. */
static void check_entries(const mpk_problem_view *a, const mpki_full *f) {
    int64_t diagonal = 0;
    assert_int_equal(f->ptr[0], 0);
    assert_int_equal(f->cut[0], 0);
    assert_int_equal(f->cut[f->parts], a->n);
    int64_t *at = malloc(((size_t)a->n + 1) * sizeof *at);
    memcpy(at, f->ptr, ((size_t)a->n + 1) * sizeof *at);
    for (int32_t i = 0; i < a->n; i++)
        for (int64_t k = f->ptr[i] + 1; k < f->ptr[i + 1]; k++)
            assert_true(f->col[k] > f->col[k - 1]);
    /* the columns in order meet row i's lower entries in order, then its diagonal and the rest */
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t i = a->ai[k];
            double complex value = get(a->scalar, a->ax, k);
            diagonal += i == j;
            if (i != j) {
                assert_int_equal(f->col[at[i]], j);
                assert_true(get(a->scalar, f->val, at[i]++) == value);
            }
            assert_int_equal(f->col[at[j]], i);
            if (i != j && a->symmetry == MPK_HERMITIAN) value = conj(value);
            assert_true(get(a->scalar, f->val, at[j]++) == value);
        }
    assert_int_equal(f->nnz, 2 * a->nnz - diagonal);
    free(at);
}

static void compare(mpk_context *ctx, const char *spec, mpk_scalar scalar, bool pooled) {
    mpk_problem *p = generate(ctx, spec, scalar);
    mpk_problem_view a;
    mpk_problem_view_get(p, &a);
    const size_t size = mpk_scalar_size(scalar), n = (size_t)a.n;
    const double eps = scalar == MPK_S || scalar == MPK_C ? FLT_EPSILON : DBL_EPSILON;
    char *x = malloc(n * size), *y = malloc(n * size), *first = malloc(n * size),
         *r = malloc(n * size), *want = malloc(n * size);
    double *w = malloc(n * 8), *w2 = malloc(n * 8), *work = malloc(5 * n * 8);
    for (size_t i = 0; i < n; i++)
        put(scalar, x, (int64_t)i,
            ((double)(i % 7) - 3) / 4 + (scalar >= MPK_C ? (double)(i % 5) * 0.5 * I : 0));
    for (int threads = 1; threads <= 5; threads += 2) {
        mpki_full f;
        mpki_pool *pool = NULL;
        assert_int_equal(mpki_full_make(ctx, &a, threads, &f, &pool), MPK_OK);
        if (pooled && threads > 1) assert_non_null(pool);
        check_entries(&a, &f);
        mpki_full_multiply(&f, pool, x, y);
        if (threads == 1) memcpy(first, y, n * size);
        assert_memory_equal(first, y, n * size);
        mpki_residual(&a, x, y, want, w, work); /* of b = y */
        memcpy(r, y, n * size);
        mpki_full_residual(&f, pool, x, r, r, w2); /* in place of b */
        for (int64_t i = 0; i < a.n; i++) {
            assert_true(fabs(w[i] - w2[i]) <= 100 * DBL_EPSILON * w[i]);
            assert_true(cabs(get(scalar, r, i)) <= 100 * eps * w[i]);
            assert_true(cabs(get(scalar, r, i) - get(scalar, want, i)) <=
                        100 * DBL_EPSILON * w[i] + eps * cabs(get(scalar, r, i)));
        }
        mpki_full_free(ctx, &f);
    }
    free(x), free(y), free(first), free(r), free(want), free(w), free(w2), free(work);
    mpk_problem_destroy(&p);
}

static void small_ones(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    for (int scalar = MPK_S; scalar <= MPK_Z; scalar++)
        compare(ctx, "random 60 0.2 0.3", (mpk_scalar)scalar, false);
    for (int scalar = MPK_C; scalar <= MPK_Z; scalar++) {
        compare(ctx, "random 60 0.2 0.3 hermitian", (mpk_scalar)scalar, false);
        compare(ctx, "random 1 1 0 hermitian", (mpk_scalar)scalar, false);
    }
    compare(ctx, "random 1 1 0", MPK_D, false);
    mpk_context_destroy(&ctx);
}

static void in_parallel(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    compare(ctx, "helmholtz 2d 200", MPK_D, true);
    compare(ctx, "helmholtz 2d 200 boundary=absorbing", MPK_Z, true);
    compare(ctx, "lp-kkt 3000 30000 6 8", MPK_S, true); /* rows of very different length */
    mpk_context_destroy(&ctx);
}

/* No entry at all; no row at all. */
static void empty_ones(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    const int64_t ap[] = {0, 0, 0};
    const mpk_problem_view views[] = {{2, 0, MPK_D, MPK_SYMMETRIC, ap, NULL, NULL},
                                      {0, 0, MPK_D, MPK_SYMMETRIC, ap, NULL, NULL},
                                      {0, 0, MPK_D, MPK_SYMMETRIC, NULL, NULL, NULL}};
    for (int k = 0; k < 3; k++) {
        mpki_full f;
        double x[2] = {1, 2}, y[2] = {5, 5};
        assert_int_equal(mpki_full_make(ctx, &views[k], 4, &f, NULL), MPK_OK);
        assert_int_equal(f.nnz, 0);
        mpki_full_multiply(&f, NULL, x, y);
        assert_true(y[0] == (k == 0 ? 0 : 5));
        mpki_full_free(ctx, &f);
    }
    mpk_context_destroy(&ctx);
}

static mpk_status make_one(mpk_context *ctx) {
    mpk_problem *p = NULL;
    mpki_full f = {0};
    mpk_status status = mpk_problem_generate(ctx, "random 30 0.2", 1, &p);
    mpk_problem_view a;
    mpk_problem_view_get(p, &a);
    if (!mpk_failed(status)) status = mpki_full_make(ctx, &a, 2, &f, NULL);
    if (mpk_failed(status)) assert_null(f.ptr);
    mpki_full_free(ctx, &f);
    mpk_problem_destroy(&p);
    return status;
}

static void out_of_memory(void **state) {
    (void)state;
    sweep_allocations(make_one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones),
        cmocka_unit_test(in_parallel),
        cmocka_unit_test(empty_ones),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
