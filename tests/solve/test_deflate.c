/* SPDX-License-Identifier: BSD-3-Clause */
/* Singular systems: which right-hand sides have a solution, and how accurate it becomes. */
#include "support.h"

#include "factor/deflate.h"
#include "factor/rank.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static mpk_context *ctx;

static mpk_options defaults(void) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    return o;
}

/* A Stokes flow whose kernel is both translations: plain refinement stays at 7e-12. b's own
 * rounding leaves 1.6e-15 of what no change of x removes. A pivot of rounding that is made zero is
 * not the smallest any more, so nothing is factorized again, and the next values need nothing but
 * the vectors of the first. */
static void test_stokes(void **unused) {
    (void)unused;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_solve_info solve;
    mpk_problem_view a;
    const mpk_options o = defaults();
    assert_int_equal(mpk_problem_read(ctx, METAPACK_DATA "/saddle/stokes64.mtx.xz", &problem),
                     MPK_OK);
    mpk_problem_view_get(problem, &a);
    double *ones = malloc((size_t)a.n * sizeof *ones), *b = malloc((size_t)a.n * sizeof *b),
           *x = malloc((size_t)a.n * sizeof *x), *ax = malloc((size_t)a.nnz * sizeof *ax);
    memcpy(ax, a.ax, (size_t)a.nnz * sizeof *ax);
    for (int32_t i = 0; i < a.n; i++) ones[i] = 1;
    assert_int_equal(mpk_problem_multiply(ctx, problem, 1, ones, a.n, b, a.n), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    for (int turn = 0; turn < 3; turn++) {
        assert_int_equal(mpk_factorize_lower(ctx, an, ax, &o, &fac), MPK_SINGULAR);
        mpk_factor_info_get(fac, &info);
        assert_int_equal(info.rank, MPK_RANK_NUMERICAL);
        assert_int_equal(info.inertia.zero, 2);
        assert_int_equal(info.stages, 1);
        assert_true(info.min_pivot > mpki_pivot_noise(fac));
        assert_int_equal(mpk_solve(ctx, fac, 1, b, a.n, x, a.n, &o, &solve), MPK_SINGULAR);
        assert_true(solve.componentwise <= 5e-15);
        assert_int_equal(solve.consistent, 1);
        for (int64_t k = 0; k < a.nnz; k++) ax[k] *= 2; /* and b as it was: x is half of it */
    }
    for (int32_t i = 0; i < a.n; i++) x[i] = uniform();
    assert_int_equal(mpk_solve(ctx, fac, 1, x, a.n, x, a.n, &o, &solve), MPK_SINGULAR);
    assert_int_equal(solve.consistent, -1);
    free(ones), free(b), free(x), free(ax);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
}

/* Many right-hand sides are refined together, each to the bits that it has beside any other one, and
 * to the verdicts that it has by itself: of singular systems, consistent ones and others, and to the
 * end of a regular one. */
static void test_together(void **unused) {
    (void)unused;
    enum { SIDES = 19 };
    static const char *const files[] = {"/saddle/stokes64.mtx.xz",
                                        "/least_squares/NYPA_Maragal_2.mtx.xz",
                                        "/lp_kkt/25fv47_it26.mtx.xz"};
    for (int f = 0; f < 3; f++) {
        char path[400];
        mpk_problem *problem = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_problem_view a;
        mpk_solve_info all, one, worst = {0};
        mpk_options o = defaults();
        snprintf(path, sizeof path, "%s%s", METAPACK_DATA, files[f]);
        assert_int_equal(mpk_problem_read(ctx, path, &problem), MPK_OK);
        mpk_problem_view_get(problem, &a);
        const size_t n = (size_t)a.n;
        double *y = malloc(SIDES * n * sizeof *y), *b = malloc(SIDES * n * sizeof *b),
               *x = malloc(SIDES * n * sizeof *x);
        double *pair = malloc(2 * n * sizeof *pair);
        for (size_t k = 0; k < SIDES * n; k++) y[k] = uniform();
        assert_int_equal(mpk_problem_multiply(ctx, problem, SIDES, y, a.n, b, a.n), MPK_OK);
        for (size_t k = 0; k < n; k++) b[(SIDES / 2) * n + k] = y[k];
        assert_true(mpk_analyse(ctx, problem, &o, &an) >= 0);
        const mpk_status how = mpk_factorize(ctx, an, NULL, &o, &fac);
        assert_int_equal(how, f < 2 ? MPK_SINGULAR : MPK_OK);
        if (f == 2) o.accuracy = 0;
        const mpk_status status = mpk_solve(ctx, fac, SIDES, b, a.n, x, a.n, &o, &all);
        worst.consistent = 1, worst.solved = 1;
        for (int c = 0; c < SIDES; c++) {
            const mpk_status s = mpk_solve(ctx, fac, 1, b + c * n, a.n, y, a.n, &o, &one);
            assert_int_equal(f < 2 ? s : status, status);
            assert_true(one.componentwise <= 1e-14 || all.solved == 0);
            memcpy(pair, b + c * n, n * sizeof *pair);
            memcpy(pair + n, b + (c * 5 + 3) % SIDES * n, n * sizeof *pair);
            assert_false(mpk_failed(mpk_solve(ctx, fac, 2, pair, a.n, pair, a.n, &o, &one)));
            assert_memory_equal(x + c * n, pair, n * sizeof *pair);
            worst.componentwise = fmax(worst.componentwise, one.componentwise);
            worst.correction = fmax(worst.correction, one.correction);
            if (one.iterations > worst.iterations) worst.iterations = one.iterations;
            if (one.consistent < worst.consistent) worst.consistent = one.consistent;
            worst.solved &= one.solved;
        }
        assert_true(all.componentwise == worst.componentwise && all.correction == worst.correction);
        assert_int_equal(all.iterations, worst.iterations);
        assert_int_equal(all.solved, worst.solved);
        if (f < 2) assert_int_equal(all.consistent, worst.consistent);
        free(y), free(b), free(x), free(pair);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
    }
}

/* Four cycles side by side, each of which 1 is the kernel of (complex symmetric: a vector of powers
 * of i, of which v^T b counts): b is consistent where its part in each is, of several the worst
 * counts, and one vector is not enough to say so. */
static void test_consistent(void **unused) {
    (void)unused;
    enum { CYCLES = 12, LONG = 8, N = CYCLES * LONG };
    static const double complex turn[] = {1, I, -1, -I};
    for (int kind = 0; kind < 5; kind++) {
        const mpk_scalar scalar = kind < 4 ? (mpk_scalar)kind : MPK_Z;
        const bool hermitian = scalar >= MPK_C && kind < 4;
        const bool symmetric = kind == 4;
        dense m = dense_new(N, scalar, hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC);
        for (int c = 0; c < CYCLES; c++)
            for (int i = 0; i < LONG; i++) {
                const int j = (i + 1) % LONG, p = c * LONG + i, q = c * LONG + j;
                /* w (e_p / v_p - e_q / v_q)(...)^T with v of modulus 1 */
                const double w = 1 + (i * 5 + c) % 7;
                const double complex vi = symmetric ? turn[i % 4] : 1;
                const double complex vj = symmetric ? turn[j % 4] : 1;
                dense_set(&m, p, p, dense_get(&m, p, p) + w / (vi * vi));
                dense_set(&m, q, q, dense_get(&m, q, q) + w / (vj * vj));
                dense_set(&m, p > q ? p : q, p > q ? q : p, -w / (vi * vj));
            }
        mpk_options o = defaults();
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_problem *problem = dense_problem(ctx, &m, 0);
        assert_true(mpk_analyse(ctx, problem, &o, &an) >= 0);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_SINGULAR);
        double complex b[2 * N], x[2 * N], first[2 * N];
        /* what a solve finds of the kernel serves later ones, which give the same bits: of other
         * sides, of the same once more (3), and with new numbers (4) */
        for (int turn = 0; turn < 5; turn++) {
            const int how = turn % 3;
            mpk_solve_info info;
            if (turn == 4) {
                assert_int_equal(mpk_refactorize(ctx, NULL, &o, fac), MPK_SINGULAR);
            }
            for (int k = 0; k < 2 * N; k++) scalar_store(scalar, b, k, 0);
            for (int i = 0; i < N; i++) {
                double complex sum = 0;
                for (int j = 0; j < N; j++) sum += dense_get(&m, i, j) * (j % 5 - 1);
                scalar_store(scalar, b, i, sum);
                scalar_store(scalar, b, N + i, sum);
            }
            /* parts of two cycles that a sum of both kernels does not see */
            if (how > 0) {
                const int at = how > 1 ? N : 0;
                scalar_store(scalar, b, at, scalar_load(scalar, b, at) + 1);
                scalar_store(scalar, b, at + LONG, scalar_load(scalar, b, at + LONG) - 1);
            }
            mpk_factor_info before, after;
            mpk_factor_info_get(fac, &before);
            assert_int_equal(mpk_solve(ctx, fac, 2, b, N, x, N, &o, &info), MPK_SINGULAR);
            assert_int_equal(info.consistent, how > 0 ? -1 : 1);
            /* of a b whose rows are all solved no vector of the kernel is made, and kept */
            mpk_factor_info_get(fac, &after);
            assert_int_equal(after.bytes > before.bytes, turn == 1 || turn == 4);
            if (turn == 0) memcpy(first, x, sizeof x);
            if (turn == 3) assert_memory_equal(x, first, 2 * N * mpk_scalar_size(scalar));
        }
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        free(m.a);
    }
}

/* What is joined to a basis is of length 1 and orthogonal to what was there; what depends on it is
 * refused. */
static void test_join(void **unused) {
    (void)unused;
    enum { N = 30, COUNT = 5 };
    for (int scalar = 0; scalar < 4; scalar++) {
        char all[N * (COUNT + 1) * 16];
        double scale[N];
        const size_t size = mpk_scalar_size((mpk_scalar)scalar);
        const double bound = scalar == MPK_S || scalar == MPK_C ? 1e-5 : 1e-14;
        for (int i = 0; i < N; i++) scale[i] = ldexp(1, i % 9 - 4);
        for (int k = 0; k < COUNT; k++)
            for (int i = 0; i < N; i++)
                scalar_store((mpk_scalar)scalar, all, k * N + i, uniform() + uniform() * I);
        for (int k = 0; k < COUNT; k++)
            assert_true(MPKI_DISPATCH((mpk_scalar)scalar, basis_join)(N, scale, k, all,
                                                                      all + k * N * size));
        for (int k = 0; k < COUNT; k++)
            for (int j = 0; j <= k; j++) {
                double complex sum = 0;
                for (int i = 0; i < N; i++)
                    sum += conj(scalar_load((mpk_scalar)scalar, all, j * N + i)) *
                           scalar_load((mpk_scalar)scalar, all, k * N + i);
                assert_true(cabs(sum - (j == k)) <= 10 * bound);
            }
        for (int i = 0; i < N; i++) {
            double complex sum = 0;
            for (int k = 0; k < COUNT; k++)
                sum += (k + 1) * scalar_load((mpk_scalar)scalar, all, k * N + i) * scale[i];
            scalar_store((mpk_scalar)scalar, all, COUNT * N + i, sum);
        }
        assert_false(MPKI_DISPATCH((mpk_scalar)scalar, basis_join)(N, scale, COUNT, all,
                                                                   all + COUNT * N * size));
    }
}

/* The k-th allocation of a singular solve fails. */
typedef struct meter {
    int left;
} meter;

static void *metered(void *self, size_t size) {
    meter *m = self;
    return m->left-- > 0 ? malloc(size) : NULL;
}

static void metered_free(void *self, void *ptr, size_t size) {
    (void)self, (void)size;
    free(ptr);
}

static void test_without_memory(void **unused) {
    (void)unused;
    enum { N = 40 };
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
    const double b[N] = {1, -1};
    for (int i = 0; i < N; i++) dense_set(&m, i, i, i == 0 || i == N - 1 ? 1 : 2);
    for (int i = 1; i < N; i++) dense_set(&m, i, i - 1, -1);
    mpk_status status = MPK_ERR_MEMORY;
    for (int k = 0; status < 0; k++) {
        meter gauge = {1 << 30};
        const mpk_allocator allocator = {metered, metered_free, &gauge};
        const mpk_options o = defaults();
        mpk_context *own = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_solve_info info;
        double x[N];
        assert_int_equal(mpk_context_create(&allocator, &own), MPK_OK);
        mpk_problem *problem = dense_problem(own, &m, 0);
        assert_int_equal(mpk_analyse(own, problem, &o, &an), MPK_OK);
        assert_int_equal(mpk_factorize(own, an, NULL, &o, &fac), MPK_SINGULAR);
        gauge.left = k;
        status = mpk_solve(own, fac, 1, b, N, x, N, &o, &info);
        gauge.left = 1 << 30;
        assert_true(k < 100);
        if (status < 0)
            assert_int_equal(status, MPK_ERR_MEMORY);
        else
            assert_int_equal(info.consistent, 1);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&own);
    }
    free(m.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join), cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_together), cmocka_unit_test(test_consistent),
        cmocka_unit_test(test_stokes)};
    if (mpk_context_create(NULL, &ctx) != MPK_OK) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mpk_context_destroy(&ctx);
    return failed;
}
