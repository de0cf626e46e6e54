/* SPDX-License-Identifier: BSD-3-Clause */
/* "Converged" is said of a residual that is more than rounding. Singular systems without a
 * solution, where x may grow until b - A x is noise, must end without it, and with a word about A.
 */
#include "../../support.h"

#include "../../oracle/quad.h"

enum { METHODS = MPK_KRYLOV_IDR + 1 };

typedef struct system_of {
    int n;
    const double *a; /* n x n, symmetric */
} system_of;

static mpk_status product(void *self, const void *x, void *y) {
    const system_of *s = self;
    for (int i = 0; i < s->n; i++) {
        double sum = 0;
        for (int j = 0; j < s->n; j++) sum += s->a[i * s->n + j] * ((const double *)x)[j];
        ((double *)y)[i] = sum;
    }
    return MPK_OK;
}

static double true_residual(const system_of *s, const double *x, const double *b) {
    const int n = s->n;
    quad_entry *e = malloc((size_t)n * n * sizeof *e);
    double *xs = calloc(2 * (size_t)n, sizeof *xs), *bs = calloc(2 * (size_t)n, sizeof *bs);
    for (int i = 0; i < n; i++) {
        xs[2 * i] = x[i], bs[2 * i] = b[i];
        for (int j = 0; j < n; j++) e[i * n + j] = (quad_entry){i, j, s->a[i * n + j], 0};
    }
    const double relative = quad_judge(n, (int64_t)n * n, e, xs, bs, DBL_EPSILON).relative;
    free(e), free(xs), free(bs);
    return relative;
}

/* The matrix as a problem: mpk_solve without a preconditioner, with options' tolerance. */
static mpk_status by_solve(mpk_context *ctx, const system_of *s, mpk_options *options,
                           const double *b, double *x, mpk_solve_info *info) {
    const int n = s->n;
    dense m = dense_new(n, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) dense_set(&m, i, j, s->a[i * n + j]);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    options->method = MPK_METHOD_NONE;
    assert_true(mpk_analyse(ctx, problem, options, &an) >= 0);
    assert_true(mpk_factorize(ctx, an, NULL, options, &fac) >= 0);
    mpk_status status = mpk_solve(ctx, fac, 1, b, n, x, n, options, info);
    const char *text;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (status != MPK_OK) assert_true(strlen(text) > 10);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    free(m.a);
    return status;
}

static mpk_status by_operator(mpk_context *ctx, const system_of *s, mpk_krylov method,
                              double tolerance, int64_t seed, const double *b, double *x,
                              mpk_krylov_info *info) {
    mpk_krylov_task task;
    mpk_krylov_task_init(&task);
    task.method = method;
    task.n = s->n;
    task.a = (mpk_operator){product, (void *)s};
    task.tolerance = tolerance;
    task.seed = seed;
    memset(x, 0, (size_t)s->n * sizeof *x);
    return mpk_krylov_solve(ctx, &task, b, x, info);
}

/* No x solves it: no method says so, by either way, and what is reported is the truth. */
static void check_hopeless(const system_of *s, const double *b, const char *said) {
    double *x = calloc((size_t)s->n, sizeof *x);
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int method = MPK_KRYLOV_SQMR; method < METHODS; method++)
        for (int way = 0; way < 4; way++) {
            mpk_solve_info info = {0};
            mpk_krylov_info krylov = {0};
            mpk_options options;
            mpk_options_init(&options);
            options.krylov = (mpk_krylov)method;
            options.seed = way;
            if (way) options.tolerance = way == 1 ? 1e-6 : 1e-12;
            const mpk_status status =
                way < 3 ? by_solve(ctx, s, &options, b, x, &info)
                        : by_operator(ctx, s, (mpk_krylov)method, 1e-8, method, b, x, &krylov);
            const double true_one = true_residual(s, x, b),
                         told = way < 3 ? info.relative_residual : krylov.residual;
            assert_int_equal(status, MPK_NOT_CONVERGED);
            assert_true(told >= 0.5 * true_one && told <= 2 * true_one);
            if (said && method == MPK_KRYLOV_GMRES) {
                const char *text;
                mpk_last_error(ctx, NULL, NULL, &text);
                assert_non_null(strstr(text, said));
            }
        }
    mpk_context_destroy(&ctx);
    free(x);
}

/* [1 1 1 1]' [1 1 1 1], inertia (1, 0, 3), and b outside of its range: gmres used to end at x =
 * 1e32 with a residual of 0. */
static void all_ones(void **unused) {
    (void)unused;
    double a[16];
    const double b[] = {1, 0, 0.5, 0.25};
    for (int k = 0; k < 16; k++) a[k] = 1;
    const system_of s = {4, a};
    check_hopeless(&s, b, "A is singular");
}

/* The second difference with free ends, inertia (n-1, 0, 1), kernel (1, ..., 1); b at random is not
 * orthogonal to it. */
static void free_ends(void **unused) {
    (void)unused;
    enum { N = 40 };
    double a[N * N] = {0}, b[N];
    for (int i = 0; i < N; i++) {
        a[i * N + i] = i == 0 || i == N - 1 ? 1 : 2;
        if (i > 0) a[i * N + i - 1] = a[(i - 1) * N + i] = -1;
    }
    const system_of s = {N, a};
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < N; i++) b[i] = uniform() + 0.3;
        check_hopeless(&s, b, NULL);
    }
}

/* Singular, but with a solution: that is found. */
static void consistent(void **unused) {
    (void)unused;
    enum { N = 40 };
    double a[N * N] = {0}, b[N] = {0}, x[N];
    for (int i = 0; i < N; i++) {
        a[i * N + i] = i == 0 || i == N - 1 ? 1 : 2;
        if (i > 0) a[i * N + i - 1] = a[(i - 1) * N + i] = -1;
    }
    const system_of s = {N, a};
    b[3] = 1, b[30] = -1;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int method = MPK_KRYLOV_SQMR; method < METHODS; method++) {
        if (method == MPK_KRYLOV_SYMMLQ) continue; /* its iterates need a regular matrix */
        mpk_solve_info info = {0};
        mpk_krylov_info krylov = {0};
        mpk_options options;
        mpk_options_init(&options);
        options.krylov = (mpk_krylov)method;
        options.tolerance = 1e-9;
        assert_int_equal(by_solve(ctx, &s, &options, b, x, &info), MPK_OK);
        assert_true(true_residual(&s, x, b) <= 1e-9);
        assert_int_equal(by_operator(ctx, &s, (mpk_krylov)method, 1e-9, 1, b, x, &krylov), MPK_OK);
        assert_true(true_residual(&s, x, b) <= 1e-9);
    }
    mpk_context_destroy(&ctx);
}

/* Without a tolerance the answer is accurate to rounding, or it is said that it is not. Hilbert's
 * matrix of order n, condition 1e13 at n = 10. */
static void to_rounding(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int n = 2; n <= 12; n++) {
        double a[144], b[12], x[12];
        for (int i = 0; i < n; i++) {
            b[i] = 0;
            for (int j = 0; j < n; j++) b[i] += a[i * n + j] = 1.0 / (i + j + 1);
        }
        const system_of s = {n, a};
        mpk_solve_info info = {0};
        mpk_options options;
        mpk_options_init(&options);
        options.krylov = MPK_KRYLOV_GMRES;
        const mpk_status status = by_solve(ctx, &s, &options, b, x, &info);
        if (n < 6) assert_int_equal(status, MPK_OK);
        assert_true(status == MPK_OK || status == MPK_INACCURATE || status == MPK_NOT_CONVERGED);
        assert_true((status == MPK_OK) == (info.componentwise <= 1e-14));
        const double true_one = true_residual(&s, x, b);
        assert_true(info.relative_residual >= 0.5 * true_one &&
                    info.relative_residual <= 2 * true_one);
        if (status == MPK_INACCURATE) assert_true(true_one <= 1e-6);
    }
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_ones), cmocka_unit_test(free_ends),
                                       cmocka_unit_test(consistent), cmocka_unit_test(to_rounding)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
