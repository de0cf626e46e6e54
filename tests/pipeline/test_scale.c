/* SPDX-License-Identifier: BSD-3-Clause */
/* Thresholds are relative to the matrix, also where nothing scales it: A, 1e-12 A and 1e12 A have
 * the same status, as many pivots replaced and iterations near each other, and x scaled. */
#include "problem/support.h"

#include <math.h>
#include <metapack/metapack.h>

typedef struct way {
    const char *key[4], *value[4];
    double x_error; /* what x may differ by, relatively */
} way;

typedef struct found {
    mpk_status status;
    int64_t perturbed, zero;
    int32_t iterations;
    double growth;
    double *x;
} found;

/* factor A x = b, without scaling; n entries of x. */
static found solve(double factor, const way *w, int32_t *n) {
    mpk_context *ctx = new_context();
    mpk_options o;
    mpk_problem_view a;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_solve_info info = {0};
    mpk_factor_info f = {0};
    found r = {0};
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 6", 1, &problem), MPK_OK);
    mpk_problem_view_get(problem, &a);
    double *ax = calloc((size_t)a.nnz, sizeof *ax), *b = calloc((size_t)a.n, sizeof *b);
    for (int64_t k = 0; k < a.nnz; k++) ax[k] = factor * ((const double *)a.ax)[k];
    for (int32_t i = 0; i < a.n; i++) b[i] = 1 + i % 7;
    assert_int_equal(mpk_problem_set_lower(ctx, problem, ax), MPK_OK);
    mpk_options_init(&o);
    o.scaling = MPK_OFF;
    o.threads = 1;
    for (int k = 0; k < 4 && w->key[k]; k++)
        assert_int_equal(mpk_options_set(ctx, &o, w->key[k], w->value[k]), MPK_OK);
    r.status = mpk_analyse(ctx, problem, &o, &an);
    assert_true(r.status >= 0);
    r.status = mpk_factorize(ctx, an, NULL, &o, &fac);
    assert_true(r.status >= 0);
    mpk_factor_info_get(fac, &f);
    r.x = calloc((size_t)a.n, sizeof *r.x);
    r.status = mpk_solve(ctx, fac, 1, b, a.n, r.x, a.n, &o, &info);
    r.perturbed = f.perturbed, r.zero = f.inertia.zero;
    r.growth = f.growth;
    r.iterations = info.krylov.iterations;
    *n = a.n;
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(ax), free(b);
    return r;
}

static void compare(double factor, const way *w) {
    int32_t n;
    found one = solve(1, w, &n), other = solve(factor, w, &n);
    double most = 0, error = 0;
    if (one.status != other.status || one.perturbed != other.perturbed || one.zero != other.zero)
        fail_msg("%s %s %s %s, times %g: status %d %d, replaced %d %d, zero %d %d", w->key[0],
                 w->value[0], w->key[1], w->value[1], factor, one.status, other.status,
                 (int)one.perturbed, (int)other.perturbed, (int)one.zero, (int)other.zero);
    for (int32_t i = 0; i < n; i++) {
        most = fmax(most, fabs(one.x[i]));
        error = fmax(error, fabs(one.x[i] - factor * other.x[i]));
    }
    if (!(error <= w->x_error * most))
        fail_msg("%s %s %s %s, times %g: x differs by %g", w->key[0], w->value[0], w->key[1],
                 w->value[1], factor, error / most);
    assert_true(fabs(one.growth - other.growth) <= 0.2 * one.growth); /* relative to A's entries */
    assert_true(abs(one.iterations - other.iterations) <= 3 + one.iterations / 4);
    free(one.x), free(other.x);
}

static void scales(void **state) {
    (void)state;
    static const way ways[] = {
        {{"method"}, {"ldlt"}, 1e-9},
        {{"method", "static_shift"}, {"ldlt", "1e-3"}, 1e-9},
        {{"method", "matching"}, {"ldlt", "off"}, 1e-9},
        {{"method", "krylov"}, {"ldlt", "gmres"}, 1e-9},
        {{"method"}, {"ildlt"}, 1e-9},
        {{"method", "stages"}, {"ildlt", "3"}, 1e-9},
        {{"method", "static_shift"}, {"ildlt", "1e-2"}, 1e-9},
        {{"method", "schedule"}, {"ildlt", "subsets"}, 1e-9},
        {{"method", "factor_type"}, {"ildlt", "ldu"}, 1e-9},
        {{"method", "drop_tolerance", "fill_factor", "level"}, {"ildlt", "0", "0", "-1"}, 1e-9},
        {{"method"}, {"jacobi"}, 1e-9},
        {{"method", "factor_type", "krylov"}, {"jacobi", "ldu", "gmres"}, 1e-9},
        {{"method"}, {"none"}, 1e-9},
    };
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++) {
        compare(1e-12, &ways[k]);
        compare(1e12, &ways[k]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(scales)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
