/* SPDX-License-Identifier: BSD-3-Clause */
/* The estimated condition number beside the exact one: within a factor of 10, also where two rows
 * are nearly equal, wherever they stand: a sparse factor's and a dense one's. */
#include "support.h"
#include <stdbool.h>

/* ||A||_1 ||A^-1||_1 */
static double exact(const dense *m) {
    const int n = m->n;
    double complex *a = malloc(sizeof *a * (size_t)(n * n));
    int32_t *pivots = malloc(sizeof *pivots * (size_t)n);
    double norm[2] = {0, 0};
    memcpy(a, m->a, sizeof *a * (size_t)(n * n));
    for (int which = 0; which < 2; which++) {
        if (which) {
            assert_int_equal(LAPACKE_zgetrf(LAPACK_COL_MAJOR, n, n, a, n, pivots), 0);
            assert_int_equal(LAPACKE_zgetri(LAPACK_COL_MAJOR, n, a, n, pivots), 0);
        }
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int i = 0; i < n; i++) sum += cabs(a[i + j * n]);
            norm[which] = fmax(norm[which], sum);
        }
    }
    free(a);
    free(pivots);
    return norm[0] * norm[1];
}

static double sparse_estimate(mpk_context *ctx, const dense *m) {
    mpk_options o;
    mpk_solve_info info;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    const size_t size = mpk_scalar_size(m->scalar);
    mpk_problem *problem = dense_problem(ctx, m, 0);
    void *b = calloc((size_t)m->n, size), *x = calloc((size_t)m->n, size);
    for (int k = 0; k < m->n; k++) scalar_store(m->scalar, b, k, 1 + k % 3);
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.condition = MPK_ON;
    assert_false(mpk_failed(mpk_analyse(ctx, problem, &o, &an)));
    assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
    assert_false(mpk_failed(mpk_solve(ctx, fac, 1, b, m->n, x, m->n, &o, &info)));
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    free(b);
    free(x);
    return info.condition;
}

static double dense_estimate(mpk_context *ctx, const dense *m) {
    const int64_t n = m->n;
    const size_t size = mpk_scalar_size(m->scalar);
    mpk_dense d;
    mpk_dense_info info;
    void *a = calloc((size_t)(n * n), size),
         *f = aligned_alloc(64, (size_t)(n * n + 64) / 64 * 64 * size);
    void *b = calloc((size_t)n, size), *x = calloc((size_t)n, size);
    int32_t *pivots = calloc((size_t)n, sizeof *pivots);
    for (int64_t k = 0; k < n * n; k++) scalar_store(m->scalar, a, k, m->a[k]);
    for (int64_t k = 0; k < n; k++) scalar_store(m->scalar, b, k, 1 + k % 3);
    mpk_dense_init(&d);
    d.scalar = m->scalar, d.symmetry = m->symmetry, d.n = n, d.method = MPK_DENSE_ROOK;
    d.condition = MPK_ON, d.threads = 1;
    mpk_dense_factor g = {.struct_size = sizeof g, .f = f, .ldf = n, .pivots = pivots};
    mpk_status status = mpk_dense_sysv(ctx, &d, a, n, &g, 1, b, n, x, n, NULL, 0, &info);
    const char *text;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (mpk_failed(status)) fail_msg("%s", text);
    free(a), free(f), free(b), free(x), free(pivots);
    return info.condition;
}

static void compare(mpk_context *ctx, const dense *m, const char *what) {
    const double want = exact(m);
    if (!(want < 1e11)) return; /* the exact one is none */
    for (int k = 0; k < 2; k++) {
        const double got = k ? dense_estimate(ctx, m) : sparse_estimate(ctx, m);
        if (!(got <= 1.01 * want && got >= want / 10))
            fail_msg("%s, n = %d, %s: %g estimated, %g exact", what, m->n, k ? "dense" : "sparse",
                     got, want);
    }
}

enum { TRIALS = 300 };

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {{MPK_D, MPK_SYMMETRIC}, {MPK_Z, MPK_SYMMETRIC}, {MPK_Z, MPK_HERMITIAN}};

/* 1 on the diagonal but for rows p and q: [1 1-d; 1-d 1]: n/2 too low before. */
static void test_two_equal_rows(void **state) {
    mpk_context *ctx = NULL;
    (void)state;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int trial = 0; trial < TRIALS; trial++) {
        const int n = 3 + (int)(60 * fabs(uniform()));
        const int p = (int)((n - 1) * fabs(uniform())),
                  q = p + 1 + (int)((n - p - 2) * fabs(uniform()));
        const double d = pow(10, -2 - trial % 8);
        dense m = dense_new(n, kinds[trial % 3].scalar, kinds[trial % 3].symmetry);
        for (int i = 0; i < n; i++) dense_set(&m, i, i, trial % 4 ? 1 : 1 + 0.2 * uniform());
        dense_set(&m, p, p, 1), dense_set(&m, q, q, 1);
        dense_set(&m, q, p, (trial % 2 ? 1 : -1) * (1 - d));
        compare(ctx, &m, "two equal rows");
        free(m.a);
    }
    mpk_context_destroy(&ctx);
}

static void test_families(void **state) {
    mpk_context *ctx = NULL;
    (void)state;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int trial = 0; trial < TRIALS; trial++) {
        const int n = 2 + (int)(50 * fabs(uniform())), family = trial % FAMILY_COUNT;
        const int kind = trial / FAMILY_COUNT % 3;
        dense m =
            family_matrix((enum support_family)family, n, kinds[kind].scalar, kinds[kind].symmetry);
        for (int i = 0; i < n; i++)
            dense_set(&m, i, i, dense_get(&m, i, i) + 0.3 * (i % 2 ? 1 : -1));
        if (trial % 2) /* row 0 and the last one nearly equal */
            for (int i = 0; i < n; i++) {
                const double complex x = dense_get(&m, i, 0);
                if (i < n - 1) dense_set(&m, n - 1, i, conj(x) * (1 + 1e-5 * uniform()));
            }
        compare(ctx, &m, "a family");
        free(m.a);
    }
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_two_equal_rows),
                                       cmocka_unit_test(test_families)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
