/* SPDX-License-Identifier: BSD-3-Clause */
/* What a caller has given, and is told: a solve that fails at any product leaves x as it was
 * (attack/03), and no NaN comes to monitor, history or info, however small A's entries are
 * (attack/08). */
#include "support.h"

enum { N = 20 };

static int calls, fail_at;

static mpk_status failing_product(void *self, const void *vx, void *vy) {
    const double *x = vx;
    double *y = vy;
    (void)self;
    for (int i = 0; i < N; i++)
        y[i] = (i % 3 ? 1 : -1) * (1 + i) * x[i] + (i ? x[i - 1] : 0) + (i < N - 1 ? x[i + 1] : 0);
    return ++calls >= fail_at ? MPK_ERR_DEVICE : MPK_OK;
}

/* most > 0: after so many steps it gives up, and asks why. */
static int failures(mpk_context *ctx, int method, int most) {
    int failed = 0;
    for (fail_at = 1; fail_at < 70; fail_at++) {
        double b[N], x[N], kept[N];
        mpk_krylov_task t;
        mpk_krylov_task_init(&t);
        t.method = method, t.n = N, t.a.apply = failing_product, t.tolerance = 1e-10;
        if (most > 0) t.max_iterations = most;
        for (int i = 0; i < N; i++) b[i] = 1, kept[i] = x[i] = i;
        calls = 0;
        mpk_krylov_info info = {.iterations = -7};
        const mpk_status status = mpk_krylov_solve(ctx, &t, b, x, &info);
        if (!mpk_failed(status)) break;
        assert_int_equal(status, MPK_ERR_DEVICE);
        assert_memory_equal(x, kept, sizeof x);
        assert_int_equal(info.iterations, -7);
        failed++;
    }
    return failed;
}

static void test_failures_change_nothing(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int method = MPK_KRYLOV_SQMR; method <= MPK_KRYLOV_IDR; method++) {
        assert_true(failures(ctx, method, 0) > 5);
        assert_true(failures(ctx, method, 5) > 5);
    }
    mpk_context_destroy(&ctx);
}

enum { SMALL = 5, STEPS = 200 };
static double scale;
static int told, bad;

static mpk_status tiny_product(void *self, const void *vx, void *vy) {
    static const double d[SMALL] = {-1, 2, 0, 1, 3};
    const double *x = vx;
    double *y = vy;
    (void)self;
    for (int i = 0; i < SMALL; i++) y[i] = scale * d[i] * x[i];
    return MPK_OK;
}

static int monitor(void *user, int32_t iteration, double residual) {
    (void)user, (void)iteration;
    told++;
    bad += !isfinite(residual);
    return 0;
}

static void test_only_numbers_are_told(void **unused) {
    (void)unused;
    static const double scales[] = {1,      1e-100, 1e-150, 1e-160, 1e-200, 1e-250,
                                    1e-290, 1e-300, 1e-305, 1e150,  1e200,  1e300};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int method = MPK_KRYLOV_SQMR; method <= MPK_KRYLOV_IDR; method++)
        for (size_t k = 0; k < sizeof scales / sizeof *scales; k++)
            for (int seed = 1; seed <= 10; seed++) {
                double b[SMALL] = {-1.2, 1.3, -.06, 1.5, .5 + seed}, x[SMALL] = {0, 0, 1.75, 0, 0};
                double history[STEPS];
                mpk_krylov_task t;
                mpk_krylov_info info;
                mpk_krylov_task_init(&t);
                scale = scales[k], told = bad = 0;
                t.method = method, t.n = SMALL, t.seed = seed, t.a.apply = tiny_product;
                t.monitor = monitor, t.history = history, t.history_size = STEPS;
                const mpk_status status = mpk_krylov_solve(ctx, &t, b, x, &info);
                assert_int_equal(bad, 0);
                if (mpk_failed(status)) continue;
                assert_true(isfinite(info.recurred) && isfinite(info.gap) &&
                            isfinite(info.quasi_gap) && isfinite(info.residual));
                assert_int_equal(told, info.iterations);
                for (int i = 0; i < info.history_count; i++) assert_true(isfinite(history[i]));
                for (int i = 0; i < SMALL; i++) assert_true(isfinite(x[i]));
            }
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_failures_change_nothing),
                                       cmocka_unit_test(test_only_numbers_are_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
