/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong: breakdown, singular systems, operators that fail, limits, memory, odd sizes. */
#include "operators.h"

static const mpk_krylov all[] = {MPK_KRYLOV_SQMR,     MPK_KRYLOV_MINRES, MPK_KRYLOV_SYMMLQ,
                                 MPK_KRYLOV_CG,       MPK_KRYLOV_GMRES,  MPK_KRYLOV_FGMRES,
                                 MPK_KRYLOV_BICGSTAB, MPK_KRYLOV_IDR};
enum { METHODS = 8 };

static mpk_context *context(void) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    return ctx;
}

static void assert_said(mpk_context *ctx, const char *what) {
    const char *text;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (!strstr(text, what)) fail_msg("\"%s\" does not say \"%s\"", text, what);
}

/* Eigenvalues 1 .. 10 and their negatives, one of them 0 for a singular matrix. */
static dense spread(int n, mpk_scalar scalar, mpk_symmetry symmetry, bool definite, int zeros) {
    double complex w[200];
    for (int i = 0; i < n; i++) {
        w[i] = 1 + 9.0 * i / n;
        if (!definite && i % 2) w[i] = -w[i];
        if (i < zeros) w[i] = 0;
    }
    return with_spectrum(n, scalar, symmetry, w);
}

/* The first product: [0 1; 1 0] with b = (1, 0): q^T A q = 0, and r is orthogonal to A r. */
static void test_breakdown_at_once(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    for (int kind = 0; kind < KINDS; kind++)
        for (int k = 0; k < METHODS; k++) {
            if (!takes(all[k], kind, 0)) continue;
            dense m = dense_new(2, kinds[kind].scalar, kinds[kind].symmetry);
            dense_set(&m, 1, 0, 1);
            dense_operator a;
            mpk_krylov_task task = task_for(&m, &a, all[k]);
            char b[32] = {0}, x[32] = {0};
            scalar_store(m.scalar, b, 0, 1);
            task.tolerance = single_precision(kind) ? 1e-5 : 1e-12;
            mpk_krylov_info info;
            mpk_status status = mpk_krylov_solve(ctx, &task, b, x, &info);
            if (status != MPK_OK) {
                const char *text;
                mpk_last_error(ctx, NULL, NULL, &text);
                fail_msg("kind %d, %s", kind, text);
            }
            assert_true(cabs(scalar_load(m.scalar, x, 1) - 1) <= 2 * task.tolerance);
            assert_true(info.iterations <= 20);
            free(m.a);
        }
    mpk_context_destroy(&ctx);
}

/* b = (1, i): r^T r = 0 for a complex symmetric matrix, whatever the matrix. */
static void test_isotropic_residual(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    dense m = dense_new(2, MPK_Z, MPK_SYMMETRIC);
    dense_set(&m, 0, 0, 2), dense_set(&m, 1, 1, 3 - I), dense_set(&m, 1, 0, 0.5 * I);
    dense_operator a;
    mpk_krylov_task task = task_for(&m, &a, MPK_KRYLOV_SQMR);
    double complex b[2] = {1, I}, x[2] = {0};
    mpk_krylov_info info;
    assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, &info), MPK_OK);
    assert_true(info.breakdowns >= 1 && info.restarts >= 1);
    assert_true(true_residual(&m, b, x) <= 1e-6);
    free(m.a);
    mpk_context_destroy(&ctx);
}

/* A preconditioner with r^T M^-1 r = 0 although it is the inverse: one repair solves it. */
static void test_exact_but_orthogonal(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    dense m = dense_new(2, MPK_D, MPK_SYMMETRIC);
    dense_set(&m, 0, 0, 1), dense_set(&m, 1, 1, -1);
    dense_operator a, inverse;
    mpk_krylov_task task = task_for(&m, &a, MPK_KRYLOV_SQMR);
    (void)task_for(&m, &inverse, MPK_KRYLOV_SQMR); /* its own inverse */
    task.m = (mpk_operator){dense_apply, &inverse};
    double b[2] = {1, 1}, x[2] = {0};
    mpk_krylov_info info;
    assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, &info), MPK_OK);
    assert_int_equal(info.breakdowns, 1);
    assert_true(fabs(x[0] - 1) < 1e-15 && fabs(x[1] + 1) < 1e-15);
    free(m.a);
    mpk_context_destroy(&ctx);
}

/* Singular: a solution where b is in the range, an honest end where it is not. */
static void test_singular(void **unused) {
    (void)unused;
    enum { N = 50 };
    mpk_context *ctx = context();
    for (int kind = 1; kind < KINDS; kind++)
        for (int k = 0; k < METHODS; k++) {
            if (single_precision(kind) || !takes(all[k], kind, 1)) continue;
            const bool definite = all[k] == MPK_KRYLOV_CG;
            dense m = spread(N, kinds[kind].scalar, kinds[kind].symmetry, definite, 3);
            dense_operator a;
            mpk_krylov_task task = task_for(&m, &a, all[k]);
            void *y = random_vector(N, m.scalar), *b = calloc(N, 16), *x = calloc(N, 16);
            dense_apply(&a, y, b);
            task.tolerance = 1e-8;
            task.restart = N;
            mpk_krylov_info info;
            mpk_status status = mpk_krylov_solve(ctx, &task, b, x, &info);
            if (status != MPK_OK) {
                const char *text;
                mpk_last_error(ctx, NULL, NULL, &text);
                fail_msg("kind %d, %s", kind, text);
            }
            assert_true(true_residual(&m, b, x) <= 1e-8 * 1.001);
            /* not in the range */
            memset(x, 0, N * 16);
            a.calls = 0;
            status = mpk_krylov_solve(ctx, &task, y, x, &info);
            assert_int_equal(status, MPK_NOT_CONVERGED);
            assert_true(a.calls < 5000);
            assert_true(info.residual <= 1);
            double x_norm = 0; /* x may grow along the null space, and the rounding with it */
            for (int i = 0; i < N; i++) x_norm = fmax(x_norm, cabs(scalar_load(m.scalar, x, i)));
            assert_true(fabs(true_residual(&m, y, x) - info.residual) <= 1e-13 * (1 + x_norm));
            assert_said(ctx, mpk_option_word("krylov", all[k]));
            free(y), free(b), free(x), free(m.a);
        }
    mpk_context_destroy(&ctx);
}

/* An operator that fails or gives NaN at its k-th call: its status, and x is what it was. */
static void test_operator_fails(void **unused) {
    (void)unused;
    enum { N = 30 };
    mpk_context *ctx = context();
    for (int kind = 0; kind < KINDS; kind++)
        for (int k = 0; k < METHODS; k++)
            for (int which = 0; which < 4; which++) {
                if (!takes(all[k], kind, 1)) continue;
                dense m = spread(N, kinds[kind].scalar, kinds[kind].symmetry, true, 0);
                dense one = dense_new(N, m.scalar, m.symmetry);
                for (int i = 0; i < N; i++) dense_set(&one, i, i, 1);
                void *b = random_vector(N, m.scalar), *x = random_vector(N, m.scalar),
                     *guess = calloc(N, 16);
                memcpy(guess, x, N * mpk_scalar_size(m.scalar));
                for (int at = 1; at < 14; at++) {
                    dense_operator a, p;
                    mpk_krylov_task task = task_for(&m, &a, all[k]);
                    (void)task_for(&one, &p, all[k]);
                    task.m = (mpk_operator){dense_apply, &p};
                    task.tolerance = single_precision(kind) ? 1e-4 : 1e-8;
                    task.check = 3;
                    dense_operator *bad = which % 2 ? &a : &p;
                    bad->fail_at = at;
                    bad->error = which < 2 ? 0 : MPK_ERR_DEVICE;
                    mpk_krylov_info info = {.iterations = -7};
                    mpk_status status = mpk_krylov_solve(ctx, &task, b, x, &info);
                    if (bad->calls < at) break; /* it was done before */
                    assert_int_equal(status, which < 2 ? MPK_ERR_NUMERIC : MPK_ERR_DEVICE);
                    assert_said(ctx, which % 2 ? "product with A" : "preconditioner");
                    assert_memory_equal(guess, x, N * mpk_scalar_size(m.scalar));
                    assert_int_equal(info.iterations, -7);
                }
                free(b), free(x), free(guess), free(m.a), free(one.a);
            }
    mpk_context_destroy(&ctx);
}

static int stop_at(void *user, int32_t iteration, double residual) {
    assert_true(residual >= 0);
    return iteration == *(int *)user;
}

static void test_monitor(void **unused) {
    (void)unused;
    enum { N = 40 };
    mpk_context *ctx = context();
    for (int k = 0; k < METHODS; k++) {
        dense m = spread(N, MPK_D, MPK_SYMMETRIC, true, 0);
        dense_operator a;
        int at = 3;
        mpk_krylov_task task = task_for(&m, &a, all[k]);
        task.monitor = stop_at;
        task.user = &at;
        task.tolerance = 1e-12;
        double *b = random_vector(N, MPK_D), x[N] = {0};
        assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, NULL), MPK_ERR_CANCELLED);
        for (int i = 0; i < N; i++) assert_true(x[i] == 0);
        at = -1;
        assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, NULL), MPK_OK);
        free(b), free(m.a);
    }
    mpk_context_destroy(&ctx);
}

/* b = 0, n = 0, n = 1, a guess that is the solution, no iterations allowed. */
static void test_trivial(void **unused) {
    (void)unused;
    enum { N = 9 };
    mpk_context *ctx = context();
    for (int kind = 0; kind < KINDS; kind++)
        for (int k = 0; k < METHODS; k++) {
            if (!takes(all[k], kind, 1)) continue;
            dense m = spread(N, kinds[kind].scalar, kinds[kind].symmetry, true, 0);
            dense_operator a;
            mpk_krylov_task task = task_for(&m, &a, all[k]);
            const size_t size = mpk_scalar_size(m.scalar);
            void *x = random_vector(N, m.scalar), *zero = calloc(N, 16), *b = calloc(N, 16);
            void *guess = calloc(N, 16);
            mpk_krylov_info info;
            task.tolerance = 1e-5;
            memcpy(guess, x, N * size);
            dense_apply(&a, x, b);
            assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, &info), MPK_OK);
            assert_int_equal(info.iterations, 0);
            assert_true(info.residual <= 1e-5);
            for (int i = 0; i < N; i++)
                assert_true(scalar_load(m.scalar, x, i) == scalar_load(m.scalar, guess, i));
            assert_int_equal(mpk_krylov_solve(ctx, &task, zero, x, &info), MPK_OK);
            assert_memory_equal(x, zero, N * size);
            assert_int_equal(info.products, 0);
            task.max_iterations = 0;
            assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, &info), MPK_NOT_CONVERGED);
            assert_memory_equal(x, zero, N * size);
            assert_true(info.residual == 1);
            task.n = 0;
            assert_int_equal(mpk_krylov_solve(ctx, &task, NULL, NULL, &info), MPK_OK);
            free(x), free(zero), free(b), free(guess), free(m.a);
            m = dense_new(1, kinds[kind].scalar, kinds[kind].symmetry);
            dense_set(&m, 0, 0, -2);
            task = task_for(&m, &a, all[k]);
            double complex one[1] = {0}, y[1] = {0};
            scalar_store(m.scalar, one, 0, 3);
            assert_int_equal(mpk_krylov_solve(ctx, &task, one, y, &info), MPK_OK);
            assert_true(cabs(scalar_load(m.scalar, y, 0) + 1.5) < 1e-5);
            free(m.a);
        }
    mpk_context_destroy(&ctx);
}

/* A tolerance below what rounding allows: a bounded number of restarts, then an honest answer. */
static void test_unreachable(void **unused) {
    (void)unused;
    enum { N = 60 };
    mpk_context *ctx = context();
    for (int kind = 0; kind < KINDS; kind++)
        for (int k = 0; k < METHODS; k++) {
            if (!takes(all[k], kind, 1)) continue;
            dense m = spread(N, kinds[kind].scalar, kinds[kind].symmetry, true, 0);
            dense_operator a;
            mpk_krylov_task task = task_for(&m, &a, all[k]);
            task.tolerance = 0;
            task.max_iterations = 100000;
            void *b = random_vector(N, m.scalar), *x = calloc(N, 16);
            mpk_krylov_info info;
            const mpk_status status = mpk_krylov_solve(ctx, &task, b, x, &info);
            const double truth = true_residual(&m, b, x);
            if (status != MPK_OK) assert_int_equal(status, MPK_NOT_CONVERGED);
            if (!(truth <= (single_precision(kind) ? 1e-5 : 1e-14)))
                fail_msg("kind %d method %d: %g", kind, (int)all[k], truth);
            assert_true(info.iterations < 5000);
            free(b), free(x), free(m.a);
        }
    mpk_context_destroy(&ctx);
}

/* Right-hand sides at the ends of the range. */
static void test_scales(void **unused) {
    (void)unused;
    enum { N = 40 };
    mpk_context *ctx = context();
    static const double scales[] = {1e-300, 1e-200, 1e200, 1e300};
    for (int k = 0; k < METHODS; k++)
        for (int s = 0; s < 4; s++) {
            dense m = spread(N, MPK_D, MPK_SYMMETRIC, true, 0);
            dense_operator a;
            mpk_krylov_task task = task_for(&m, &a, all[k]);
            double *b = random_vector(N, MPK_D), x[N] = {0};
            for (int i = 0; i < N; i++) b[i] *= scales[s];
            mpk_krylov_info info;
            assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, &info), MPK_OK);
            assert_true(info.residual <= 1e-6 && info.restarts == 0);
            for (int i = 0; i < N; i++) b[i] /= scales[s], x[i] /= scales[s];
            assert_true(true_residual(&m, b, x) <= 1.01e-6);
            free(b), free(m.a);
        }
    mpk_context_destroy(&ctx);
}

/* A solution that no number of the type holds, and recurrences that leave the range: said, no NaN.
 */
static void test_overflow(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    for (int k = 0; k < METHODS; k++) {
        dense m = dense_new(2, MPK_S, MPK_SYMMETRIC);
        dense_set(&m, 0, 0, 1e-20), dense_set(&m, 1, 1, 2e-20);
        dense_operator a;
        mpk_krylov_task task = task_for(&m, &a, all[k]);
        float b[2] = {1e30f, 1e30f}, x[2] = {3, 4};
        mpk_krylov_info info;
        assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, &info), MPK_ERR_NUMERIC);
        assert_said(ctx, "overflows");
        assert_true(x[0] == 3 && x[1] == 4);
        free(m.a);
        m = spread(30, MPK_S, MPK_SYMMETRIC, true, 0); /* entries near the end of the range */
        for (int i = 0; i < 900; i++) m.a[i] *= 1e37;
        task = task_for(&m, &a, all[k]);
        task.tolerance = 1e-3;
        float *c = random_vector(30, MPK_S);
        for (int far = 0; far < 2; far++) { /* the product with the first guess overflows, too */
            float y[30];
            for (int i = 0; i < 30; i++) y[i] = 9.0f * far;
            const mpk_status status = mpk_krylov_solve(ctx, &task, c, y, &info);
            if (mpk_failed(status)) {
                const char *text;
                mpk_last_error(ctx, NULL, NULL, &text);
                print_error("method %d: %s: %s\n", k, mpk_status_text(status), text);
            }
            assert_true(status == MPK_OK || status == MPK_NOT_CONVERGED);
            for (int i = 0; i < 30; i++) assert_true(isfinite(y[i]));
        }
        free(c), free(m.a);
    }
    mpk_context_destroy(&ctx);
}

/* gmres(1) cannot move on [0 1; 1 0]: two cycles tell. cg says what an indefinite matrix is. */
static void test_hopeless(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    dense m = dense_new(2, MPK_D, MPK_SYMMETRIC);
    dense_set(&m, 1, 0, 1);
    dense_operator a;
    mpk_krylov_task task = task_for(&m, &a, MPK_KRYLOV_GMRES);
    double b[2] = {1, 0}, x[2] = {0};
    mpk_krylov_info info;
    task.restart = 1;
    assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, &info), MPK_NOT_CONVERGED);
    assert_said(ctx, "stagnates");
    assert_true(info.iterations <= 4);
    free(m.a);
    m = spread(40, MPK_D, MPK_SYMMETRIC, false, 0);
    task = task_for(&m, &a, MPK_KRYLOV_CG);
    double *c = random_vector(40, MPK_D), y[40] = {0};
    assert_int_equal(mpk_krylov_solve(ctx, &task, c, y, &info), MPK_NOT_CONVERGED);
    assert_said(ctx, "not definite");
    dense minus = dense_new(40, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < 40; i++) dense_set(&minus, i, i, i == 7 ? -1 : 1);
    dense_operator p;
    for (int method = MPK_KRYLOV_MINRES; method <= MPK_KRYLOV_CG; method++) {
        task = task_for(&m, &a, (mpk_krylov)method);
        (void)task_for(&minus, &p, (mpk_krylov)method);
        task.m = (mpk_operator){dense_apply, &p};
        memset(y, 0, sizeof y);
        memset(c, 0, sizeof y);
        c[7] = 1; /* c^T M^-1 c < 0 */
        assert_int_equal(mpk_krylov_solve(ctx, &task, c, y, &info), MPK_NOT_CONVERGED);
        assert_said(ctx, "preconditioner is not positive definite");
    }
    free(c), free(m.a), free(minus.a);
    mpk_context_destroy(&ctx);
}

static void test_arguments(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    dense m = spread(5, MPK_D, MPK_SYMMETRIC, true, 0);
    dense_operator a;
    const mpk_krylov_task good = task_for(&m, &a, MPK_KRYLOV_SQMR);
    double b[5] = {1, 2, 3, 4, 5}, x[5] = {0}, history[4];
    mpk_krylov_task t;
#define BAD(what, status)                                                                          \
    t = good;                                                                                      \
    what;                                                                                          \
    assert_int_equal(mpk_krylov_solve(ctx, &t, b, x, NULL), status)
    BAD(t.struct_size = 0, MPK_ERR_ARGUMENT);
    BAD(t.method = MPK_KRYLOV_AUTO, MPK_ERR_ARGUMENT);
    BAD(t.method = MPK_KRYLOV_NONE, MPK_ERR_ARGUMENT);
    BAD(t.method = (mpk_krylov)10, MPK_ERR_ARGUMENT);
    BAD(t.scalar = (mpk_scalar)4, MPK_ERR_ARGUMENT);
    BAD(t.symmetry = (mpk_symmetry)3, MPK_ERR_ARGUMENT);
    BAD(t.symmetry = MPK_GENERAL, MPK_ERR_UNSUPPORTED);
    BAD(t.n = -1, MPK_ERR_ARGUMENT);
    BAD(t.a.apply = NULL, MPK_ERR_ARGUMENT);
    BAD(t.tolerance = -1, MPK_ERR_ARGUMENT);
    BAD(t.tolerance = NAN, MPK_ERR_ARGUMENT);
    BAD(t.max_iterations = -1, MPK_ERR_ARGUMENT);
    BAD(t.restart = 0, MPK_ERR_ARGUMENT);
    BAD(t.shadow = 0, MPK_ERR_ARGUMENT);
    BAD(t.shadow = 65, MPK_ERR_ARGUMENT);
    BAD(t.check = 0, MPK_ERR_ARGUMENT);
    BAD(t.history_size = 3, MPK_ERR_ARGUMENT);
    BAD((t.history = history, t.history_size = -1), MPK_ERR_ARGUMENT);
    BAD((t.scalar = MPK_Z, t.method = MPK_KRYLOV_MINRES), MPK_ERR_UNSUPPORTED);
    assert_int_equal(mpk_krylov_solve(ctx, &good, NULL, x, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_krylov_solve(ctx, &good, b, NULL, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_krylov_solve(ctx, NULL, b, x, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_krylov_solve(NULL, &good, b, x, NULL), MPK_ERR_ARGUMENT);
    b[3] = INFINITY;
    assert_int_equal(mpk_krylov_solve(ctx, &good, b, x, NULL), MPK_ERR_INPUT);
    b[3] = 4, x[1] = NAN;
    assert_int_equal(mpk_krylov_solve(ctx, &good, b, x, NULL), MPK_ERR_INPUT);
    x[1] = 0;
    assert_int_equal(mpk_krylov_solve(ctx, &good, b, x, NULL), MPK_OK);
    free(m.a);
    mpk_context_destroy(&ctx);
}

static void test_allocation(void **unused) {
    (void)unused;
    dense m = spread(12, MPK_Z, MPK_HERMITIAN, true, 0);
    for (int k = 0; k < METHODS; k++) {
        bool succeeded = false;
        for (int64_t at = 1; at < 500 && !succeeded; at++) {
            failing f = {0};
            mpk_allocator allocator = {failing_alloc, failing_release, &f};
            mpk_context *ctx = NULL;
            assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
            dense_operator a;
            mpk_krylov_task task = task_for(&m, &a, all[k]);
            double complex b[12] = {1, 2, 3}, x[12] = {0};
            f.calls = 0;
            f.fail_at = at;
            mpk_status status = mpk_krylov_solve(ctx, &task, b, x, NULL);
            succeeded = f.calls < at;
            assert_int_equal(status, succeeded ? MPK_OK : MPK_ERR_MEMORY);
            if (!succeeded)
                for (int i = 0; i < 12; i++) assert_true(x[i] == 0);
            mpk_context_destroy(&ctx);
            assert_int_equal(f.held, 0);
        }
        assert_true(succeeded);
    }
    free(m.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_breakdown_at_once),
                                       cmocka_unit_test(test_isotropic_residual),
                                       cmocka_unit_test(test_exact_but_orthogonal),
                                       cmocka_unit_test(test_singular),
                                       cmocka_unit_test(test_operator_fails),
                                       cmocka_unit_test(test_monitor),
                                       cmocka_unit_test(test_trivial),
                                       cmocka_unit_test(test_unreachable),
                                       cmocka_unit_test(test_scales),
                                       cmocka_unit_test(test_overflow),
                                       cmocka_unit_test(test_hopeless),
                                       cmocka_unit_test(test_arguments),
                                       cmocka_unit_test(test_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
