/* SPDX-License-Identifier: BSD-3-Clause */
/* Every method on every kind of matrix it takes. */
#include "operators.h"

/* Spectrum in [-3, -1] and [1, 3] (definite: [1, 3]): all methods must be quick. */
static dense easy(int n, int kind, int definite) {
    double complex w[200];
    for (int i = 0; i < n; i++) {
        w[i] = 2 + uniform();
        if (!definite && i % 3 == 0) w[i] = -w[i];
        if (complex_symmetric(kind)) w[i] *= cexp(0.3 * I * uniform());
    }
    return with_spectrum(n, kinds[kind].scalar, kinds[kind].symmetry, w);
}

static void test_every_method(void **unused) {
    (void)unused;
    enum { N = 80 };
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int kind = 0; kind < KINDS; kind++)
        for (int method = MPK_KRYLOV_SQMR; method <= MPK_KRYLOV_IDR; method++)
            for (int definite = 0; definite < 2; definite++) {
                if (!takes((mpk_krylov)method, kind, definite)) continue;
                dense m = easy(N, kind, definite);
                dense_operator a;
                mpk_krylov_task task = task_for(&m, &a, (mpk_krylov)method);
                void *b = random_vector(N, m.scalar), *x = calloc(N, mpk_scalar_size(m.scalar));
                double history[1000];
                task.tolerance = single_precision(kind) ? 1e-5 : 1e-10;
                task.history = history;
                task.history_size = 1000;
                mpk_krylov_info info;
                mpk_status status = mpk_krylov_solve(ctx, &task, b, x, &info);
                if (status != MPK_OK) {
                    const char *text;
                    mpk_last_error(ctx, NULL, NULL, &text);
                    print_message("kind %d method %d definite %d: %s\n", kind, method, definite,
                                  text);
                }
                assert_int_equal(status, MPK_OK);
                const double truth = true_residual(&m, b, x);
                assert_true(truth <= task.tolerance * (1 + 1e-3));
                assert_true(fabs(truth - info.residual) <=
                            0.1 * truth + (single_precision(kind) ? 1e-6 : 1e-14));
                assert_int_equal(info.method, method);
                assert_true(info.iterations > 3 && info.iterations < 2 * N);
                assert_int_equal(info.history_count, info.iterations);
                assert_true(history[info.iterations - 1] == info.recurred);
                assert_int_equal(info.products, a.calls);
                assert_int_equal(info.applications, 0);
                assert_int_equal(info.restarts, 0);
                if (getenv("SHOW"))
                    print_message("kind %d method %d definite %d: %d iterations, gap %.3g\n", kind,
                                  method, definite, info.iterations, info.gap);
                free(b), free(x), free(m.a);
            }
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_method)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
