/* SPDX-License-Identifier: BSD-3-Clause */
/* Histories against what the methods promise in exact arithmetic, computed densely: an orthonormal
 * basis of the Krylov space by Arnoldi done twice, then the smallest residual over it (gmres,
 * minres, and sqmr where nothing preconditions), or the one that is orthogonal to it (cg, symmlq).
 */
#include "operators.h"

enum { N = 60 };

static void multiply(const dense *m, const double complex *x, double complex *y) {
    for (int i = 0; i < m->n; i++) {
        y[i] = 0;
        for (int j = 0; j < m->n; j++) y[i] += dense_get(m, i, j) * x[j];
    }
}

static double norm(const double complex *x) {
    double sum = 0;
    for (int i = 0; i < N; i++) sum += creal(x[i] * conj(x[i]));
    return sqrt(sum);
}

/* least[k] = min ||b - A V_k y|| / ||b||, ritz[k] = ||b - A V_k y|| with V_k^H (b - A V_k y) = 0,
 * where V_k spans b, A b, ..., k vectors; by Gram-Schmidt on A V_k, and by the Hessenberg matrix.
 */
static void reference(const dense *m, const void *b, int steps, double *least, double *ritz) {
    static double complex v[N + 1][N], w[N][N], h[N + 1][N], r[N], t[N], s[N + 1][N + 1];
    double b_norm;
    memset(h, 0, sizeof h);
    for (int i = 0; i < N; i++) r[i] = scalar_load(m->scalar, b, i);
    b_norm = norm(r);
    for (int i = 0; i < N; i++) v[0][i] = r[i] / b_norm;
    for (int k = 0; k < steps; k++) {
        multiply(m, v[k], t);
        /* the residual loses its part along A v_k, orthogonalised against the others' */
        memcpy(w[k], t, sizeof t);
        for (int pass = 0; pass < 2; pass++)
            for (int j = 0; j < k; j++) {
                double complex c = 0;
                for (int i = 0; i < N; i++) c += conj(w[j][i]) * w[k][i];
                for (int i = 0; i < N; i++) w[k][i] -= c * w[j][i];
            }
        const double length = norm(w[k]);
        double complex c = 0;
        for (int i = 0; i < N; i++) w[k][i] /= length;
        for (int i = 0; i < N; i++) c += conj(w[k][i]) * r[i];
        for (int i = 0; i < N; i++) r[i] -= c * w[k][i];
        least[k] = norm(r) / b_norm;
        for (int pass = 0; pass < 2; pass++)
            for (int j = 0; j <= k; j++) {
                c = 0;
                for (int i = 0; i < N; i++) c += conj(v[j][i]) * t[i];
                h[j][k] += c;
                for (int i = 0; i < N; i++) t[i] -= c * v[j][i];
            }
        h[k + 1][k] = norm(t);
        for (int i = 0; i < N; i++) v[k + 1][i] = t[i] / h[k + 1][k];
        /* H_k y = ||b|| e_1; the residual is h_{k+1,k} |y_k| */
        int n = k + 1, pivots[N];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) s[j][i] = h[i][j]; /* column-major, ld N + 1 */
        double complex y[N] = {1};
        assert_int_equal(LAPACKE_zgesv(LAPACK_COL_MAJOR, n, 1, &s[0][0], N + 1, pivots, y, N), 0);
        ritz[k] = cabs(h[k + 1][k] * y[k]);
    }
}

static void compare(mpk_scalar scalar, mpk_symmetry symmetry, mpk_krylov method, bool definite) {
    mpk_context *ctx = NULL;
    double complex w[N];
    double least[N], ritz[N], history[N];
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int i = 0; i < N; i++) w[i] = (1 + 4.0 * i / N) * (definite || i % 3 ? 1 : -1);
    dense m = with_spectrum(N, scalar, symmetry, w);
    void *b = random_vector(N, scalar), *x = calloc(N, 16);
    dense_operator a;
    mpk_krylov_task task = task_for(&m, &a, method);
    /* short recurrences lose orthogonality slowly, the long one does not */
    const bool all = method == MPK_KRYLOV_GMRES || method == MPK_KRYLOV_FGMRES;
    task.tolerance = all ? 1e-10 : 1e-7;
    task.restart = N;
    task.history = history;
    task.history_size = N;
    mpk_krylov_info info;
    assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, &info), MPK_OK);
    assert_in_range(info.iterations, 10, N - 1);
    reference(&m, b, info.iterations, least, ritz);
    const bool galerkin = method == MPK_KRYLOV_CG || method == MPK_KRYLOV_SYMMLQ;
    for (int k = 0; k < info.iterations; k++) {
        const double want = galerkin ? ritz[k] : least[k];
        if (!(fabs(history[k] - want) <= (all || want > 1e-5 ? 1e-5 : 0.05) * want + 1e-13))
            fail_msg("%s, step %d: %.6e, not %.6e", mpk_option_word("krylov", (int)method), k + 1,
                     history[k], want);
    }
    /* and the number of iterations is the reference's */
    const double *curve = galerkin ? ritz : least;
    int first = 0;
    while (first < info.iterations && curve[first] > task.tolerance) first++;
    assert_in_range(info.iterations, first, first + 2);
    free(b), free(x), free(m.a);
    mpk_context_destroy(&ctx);
}

static void test_smallest_residual(void **unused) {
    (void)unused;
    static const mpk_krylov methods[] = {MPK_KRYLOV_MINRES, MPK_KRYLOV_GMRES, MPK_KRYLOV_FGMRES,
                                         MPK_KRYLOV_SQMR};
    for (int k = 0; k < 4; k++)
        for (int definite = 0; definite < 2; definite++) {
            compare(MPK_D, MPK_SYMMETRIC, methods[k], definite);
            compare(MPK_Z, MPK_HERMITIAN, methods[k], definite);
        }
    compare(MPK_Z, MPK_SYMMETRIC, MPK_KRYLOV_GMRES, false);
    compare(MPK_Z, MPK_SYMMETRIC, MPK_KRYLOV_FGMRES, false);
}

static void test_orthogonal_residual(void **unused) {
    (void)unused;
    compare(MPK_D, MPK_SYMMETRIC, MPK_KRYLOV_CG, true);
    compare(MPK_Z, MPK_HERMITIAN, MPK_KRYLOV_CG, true);
    for (int definite = 0; definite < 2; definite++) {
        compare(MPK_D, MPK_SYMMETRIC, MPK_KRYLOV_SYMMLQ, definite);
        compare(MPK_Z, MPK_HERMITIAN, MPK_KRYLOV_SYMMLQ, definite);
    }
}

/* The short recurrences of unsymmetric methods cost more products, but not many. */
static void test_short_recurrences(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    double complex w[N];
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int i = 0; i < N; i++) w[i] = (1 + 4.0 * i / N) * cexp(0.5 * I * (i % 7));
    dense m = with_spectrum(N, MPK_Z, MPK_SYMMETRIC, w);
    double complex *b = random_vector(N, MPK_Z);
    int64_t products[10] = {0};
    for (int method = MPK_KRYLOV_SQMR; method <= MPK_KRYLOV_IDR; method++) {
        if (method >= MPK_KRYLOV_MINRES && method <= MPK_KRYLOV_CG) continue;
        dense_operator a;
        double complex x[N] = {0};
        mpk_krylov_task task = task_for(&m, &a, (mpk_krylov)method);
        task.tolerance = 1e-9;
        task.restart = N;
        mpk_krylov_info info;
        assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, &info), MPK_OK);
        products[method] = info.products;
    }
    assert_true(products[MPK_KRYLOV_SQMR] <= 2 * products[MPK_KRYLOV_GMRES]);
    assert_true(products[MPK_KRYLOV_IDR] <= 2 * products[MPK_KRYLOV_GMRES]);
    assert_true(products[MPK_KRYLOV_BICGSTAB] <= 4 * products[MPK_KRYLOV_GMRES]);
    free(b), free(m.a);
    mpk_context_destroy(&ctx);
}

/* With a definite preconditioner MINRES never grows in the norm of M^-1; SQMR's quasi-residual
 * bounds its residual by sqrt(k + 1). */
static void test_preconditioned(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    double complex w[N], p[N];
    double history[N];
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int i = 0; i < N; i++) {
        w[i] = (1 + 40.0 * i / N) * (i % 3 ? 1 : -1);
        p[i] = 1 / (1 + 4.0 * (i % 10));
    }
    dense m = with_spectrum(N, MPK_D, MPK_SYMMETRIC, w), inverse = dense_new(N, MPK_D, 0);
    for (int i = 0; i < N; i++) dense_set(&inverse, i, i, p[i]);
    double *b = random_vector(N, MPK_D);
    static const mpk_krylov methods[] = {MPK_KRYLOV_MINRES, MPK_KRYLOV_SYMMLQ, MPK_KRYLOV_SQMR,
                                         MPK_KRYLOV_GMRES,  MPK_KRYLOV_FGMRES, MPK_KRYLOV_BICGSTAB,
                                         MPK_KRYLOV_IDR};
    for (int k = 0; k < 7; k++) {
        dense_operator a, q;
        double x[N] = {0}, before = INFINITY;
        mpk_krylov_task task = task_for(&m, &a, methods[k]);
        (void)task_for(&inverse, &q, methods[k]);
        task.m = (mpk_operator){dense_apply, &q};
        task.tolerance = 1e-8;
        task.restart = N;
        task.history = history;
        task.history_size = N;
        mpk_krylov_info info;
        assert_int_equal(mpk_krylov_solve(ctx, &task, b, x, &info), MPK_OK);
        assert_true(true_residual(&m, b, x) <= 1.001e-8);
        assert_int_equal(info.applications, q.calls);
        assert_true(info.gap < 1.5);
        if (methods[k] == MPK_KRYLOV_SQMR)
            assert_true(info.quasi_gap > 0.1 &&
                        info.quasi_gap <= sqrt(info.iterations + 1.0) * 1.01);
        else
            assert_true(info.quasi_gap == 0);
        /* iterates of k steps, for the norm of M^-1 */
        for (int steps = 1; methods[k] == MPK_KRYLOV_MINRES && steps < info.iterations; steps++) {
            double r[N], z[N], sum = 0;
            mpk_krylov_task part = task;
            part.max_iterations = steps;
            part.tolerance = 0;
            part.history = NULL;
            part.history_size = 0;
            memset(x, 0, sizeof x);
            assert_int_equal(mpk_krylov_solve(ctx, &part, b, x, NULL), MPK_NOT_CONVERGED);
            for (int i = 0; i < N; i++) {
                r[i] = b[i];
                for (int j = 0; j < N; j++) r[i] -= creal(dense_get(&m, i, j)) * x[j];
            }
            dense_apply(&q, r, z);
            for (int i = 0; i < N; i++) sum += r[i] * z[i];
            assert_true(sqrt(sum) <= before * (1 + 1e-10));
            before = sqrt(sum);
        }
    }
    free(b), free(m.a), free(inverse.a);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_smallest_residual), cmocka_unit_test(test_orthogonal_residual),
        cmocka_unit_test(test_short_recurrences), cmocka_unit_test(test_preconditioned)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
