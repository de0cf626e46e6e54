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
                free(b), free(x), free(m.a);
            }
    mpk_context_destroy(&ctx);
}

/* -Laplace - shift on a square with homogeneous Dirichlet conditions, 5-point, indefinite: nothing
 * preconditions it, and a dozen eigenvalues are on the other side of zero. */
static void test_shifted_laplacian(void **unused) {
    (void)unused;
    enum { SIDE = 14, N = SIDE * SIDE };
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int absorbing = 0; absorbing < 2; absorbing++) { /* with an imaginary shift: complex */
        dense m = dense_new(N, absorbing ? MPK_Z : MPK_D, MPK_SYMMETRIC);
        for (int k = 0; k < N; k++) {
            dense_set(&m, k, k, 4 - 0.73 + (absorbing ? 0.1 * I : 0));
            if (k % SIDE) dense_set(&m, k, k - 1, -1);
            if (k >= SIDE) dense_set(&m, k, k - SIDE, -1);
        }
        void *b = random_vector(N, m.scalar), *x = calloc(N, 16);
        for (int method = MPK_KRYLOV_SQMR; method <= MPK_KRYLOV_IDR; method++) {
            if (method == MPK_KRYLOV_CG || (absorbing && method <= MPK_KRYLOV_CG && method > 2))
                continue;
            dense_operator a;
            mpk_krylov_task task = task_for(&m, &a, (mpk_krylov)method);
            task.tolerance = 1e-8;
            task.restart = N;
            task.max_iterations = 4000;
            memset(x, 0, N * 16);
            mpk_krylov_info info;
            assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, &info), MPK_OK);
            assert_true(true_residual(&m, b, x) <= 1.001e-8);
            if (method <= MPK_KRYLOV_FGMRES) assert_true(info.iterations <= 2 * N);
        }
        free(b), free(x), free(m.a);
    }
    mpk_context_destroy(&ctx);
}

/* A preconditioner that is another one at each call, as an inner iteration is. */
static mpk_status moody(void *self, const void *x, void *y) {
    dense_operator *op = self;
    op->calls++;
    for (int i = 0; i < op->n; i++)
        scalar_store(op->scalar, y, i,
                     scalar_load(op->scalar, x, i) * (1 + 0.5 * sin(i * 7.0 + op->calls * 3.0)));
    return MPK_OK;
}

/* fgmres does not mind; for gmres the truth is far from the recurrence, which the restarts repair.
 */
static void test_changing_preconditioner(void **unused) {
    (void)unused;
    enum { N = 80 };
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    dense m = easy(N, 1, 0);
    double *b = random_vector(N, MPK_D);
    mpk_krylov_info info[2];
    for (int k = 0; k < 2; k++) {
        double x[N] = {0};
        dense_operator a, p;
        mpk_krylov_task task = task_for(&m, &a, k ? MPK_KRYLOV_GMRES : MPK_KRYLOV_FGMRES);
        (void)task_for(&m, &p, task.method);
        task.m = (mpk_operator){moody, &p};
        task.tolerance = 1e-10;
        task.restart = N;
        task.max_iterations = 4000;
        const mpk_status status = mpk_krylov_solve(ctx, &task, b, x, &info[k]);
        assert_true(status == MPK_OK || (k == 1 && status == MPK_NOT_CONVERGED));
        assert_true(fabs(true_residual(&m, b, x) - info[k].residual) <= 1e-3 * info[k].residual);
    }
    assert_true(info[0].restarts == 0 && info[0].gap < 1.1 && info[0].iterations < 2 * N);
    assert_true(info[1].gap > 10 && info[1].restarts > 0);
    free(b), free(m.a);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_method),
                                       cmocka_unit_test(test_shifted_laplacian),
                                       cmocka_unit_test(test_changing_preconditioner)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
