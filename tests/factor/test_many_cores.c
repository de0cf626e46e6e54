/* SPDX-License-Identifier: BSD-3-Clause */
/* What many cores share inside a factorization: leaves by thousands below small fronts, passes over the
 * entries. The numbers, and the norms that errors are measured by, are the same for any number of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/pool.h"
#include "core/random.h"
#include "factor/factor.h"

static uint64_t state = 7;
static int32_t below(int32_t n) {
    return (int32_t)((uint32_t)(mpki_random_next(&state) >> 33) % (uint32_t)n);
}

/* LEAVES columns of up to four of ROOTS rows each, which are dense among themselves: fronts of few rows
 * with thousands of children. Some diagonals are weak, so that leaves are delayed. */
enum { LEAVES = 36000, ROOTS = 40, N = LEAVES + ROOTS, EACH = 4 };

static mpk_problem *star(mpk_context *ctx, mpk_scalar scalar) {
    const int64_t most = (int64_t)LEAVES * (EACH + 1) + ROOTS * (ROOTS + 1) / 2;
    const int width = scalar == MPK_Z ? 2 : 1;
    int64_t *ap = malloc((N + 1) * sizeof *ap), fill = 0;
    int32_t *ai = malloc((size_t)most * sizeof *ai);
    double *ax = calloc((size_t)(most * width), sizeof *ax);
    for (int32_t j = 0; j < N; j++) {
        ap[j] = fill;
        const int32_t first = j < LEAVES ? LEAVES + j % (ROOTS - EACH) : j;
        if (j < LEAVES) ai[fill] = j, ax[width * fill++] = below(50) ? 3 + below(9) : 1e-4;
        for (int32_t i = first; i < (j < LEAVES ? first + 1 + below(EACH) : N); i++, fill++) {
            ai[fill] = i, ax[width * fill] = i == j ? -4000 - below(99) : (below(200) - 100) / 50.0;
            if (width == 2 && i != j) ax[2 * fill + 1] = below(100) / 90.0;
        }
    }
    ap[N] = fill;
    mpk_problem *a = NULL;
    assert_int_equal(mpk_problem_from_csc(ctx, N, scalar, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &a),
                     MPK_OK);
    free(ap), free(ai), free(ax);
    return a;
}

static void test_stars(void **unused) {
    (void)unused;
    static const int threads[] = {1, 2, 5, 16};
    for (int kind = 0; kind < 2; kind++) {
        mpk_context *ctx = NULL;
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        mpki_context_set_cores(ctx, 16);
        mpk_problem *a = star(ctx, kind ? MPK_Z : MPK_D);
        const size_t size = kind ? 16 : 8;
        double *d[2], *x[2], *b = calloc(2 * N, sizeof *b), norm = 0;
        for (int k = 0; k < 2; k++) d[k] = calloc(4 * N, 8), x[k] = calloc(2 * N, 8);
        for (int32_t i = 0; i < 2 * N; i++) b[i] = below(1000) - 500;
        for (int t = 0; t < 4; t++) {
            const int k = t > 0;
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpk_solve_info solved;
            mpk_options o;
            mpk_options_init(&o);
            o.method = MPK_METHOD_LDLT, o.threads = threads[t], o.matching = MPK_OFF;
            assert_int_equal(mpk_analyse(ctx, a, &o, &an), MPK_OK);
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
            assert_int_equal(mpk_refactorize(ctx, NULL, &o, fac), MPK_OK);
            assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, d[k], 2 * N * size), MPK_OK);
            assert_int_equal(mpk_solve(ctx, fac, 1, b, N, x[k], N, &o, &solved), MPK_OK);
            assert_true(solved.componentwise <= 1e-14);
            if (k == 0) norm = fac->norm_inf;
            assert_true(norm == fac->norm_inf);
            if (k > 0) assert_memory_equal(d[0], d[1], 2 * N * size);
            if (k > 0) assert_memory_equal(x[0], x[1], N * size);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
        }
        for (int k = 0; k < 2; k++) free(d[k]), free(x[k]);
        free(b);
        mpk_problem_destroy(&a);
        mpk_context_destroy(&ctx);
    }
}

/* Row sums by threads: those of one, bit by bit, and those of the sum column by column but for rounding. */
static void test_row_sums(void **unused) {
    (void)unused;
    static const char *const specs[] = {"helmholtz 2d 300", "nlpkkt 14", "quasi-definite 60",
                                        "helmholtz 2d 200 boundary=absorbing"};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, 9);
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
        mpk_problem *a = NULL;
        mpk_problem_view v;
        assert_int_equal(mpk_problem_generate(ctx, specs[k], 1, &a), MPK_OK);
        mpk_problem_view_get(a, &v);
        const size_t n = (size_t)v.n;
        double *sums = malloc(3 * n * sizeof *sums);
        const double plain = mpki_row_sums(&v, sums);
        const double one = mpki_row_sums_by(ctx, 1, &v, sums + n);
        for (int threads = 2; threads <= 9; threads++) {
            assert_true(mpki_row_sums_by(ctx, threads, &v, sums + 2 * n) == one);
            assert_memory_equal(sums + n, sums + 2 * n, n * sizeof *sums);
        }
        assert_true(one <= plain * (1 + 1e-14) && plain <= one * (1 + 1e-14));
        for (size_t i = 0; i < n; i++)
            assert_true(sums[i] <= sums[n + i] * (1 + 1e-13) &&
                        sums[n + i] <= sums[i] * (1 + 1e-13));
        free(sums);
        mpk_problem_destroy(&a);
    }
    mpk_context_destroy(&ctx);
}

/* Many right-hand sides on many cores: the same bits for any number of them, of threads, and of sides beside
 * (of two or more); 64 go over the tree at once, with as many tasks as 16. Largest fronts have enough rows
 * to be shared. */
static void test_sides(void **unused) {
    (void)unused;
    enum { SIDES = 70, FEW = 7, WORKERS = 16 };
    static const struct {
        const char *spec;
        bool shared; /* rows that a node moves, and panels */
    } kinds[] = {{"helmholtz 3d 22", true},
                 {"helmholtz 3d 10 boundary=absorbing", false},
                 {"nlpkkt 16", true}};
    static const int threads[] = {1, 3, WORKERS};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        mpk_context *ctx = NULL;
        mpk_problem *a = NULL;
        mpk_analysis *an = NULL;
        mpk_problem_view v;
        mpk_factor_info info;
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.threads = WORKERS, o.refine = 0;
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        mpki_context_set_cores(ctx, WORKERS); /* all of them, whether or not they pay */
        assert_int_equal(mpk_problem_generate(ctx, kinds[kind].spec, 1, &a), MPK_OK);
        mpk_problem_view_get(a, &v);
        assert_int_equal(mpk_analyse(ctx, a, &o, &an), MPK_OK);
        const int64_t n = v.n, width = v.scalar == MPK_Z ? 2 : 1;
        const size_t bytes = (size_t)(n * width) * sizeof(double);
        double *b = malloc(SIDES * bytes),
               *x[3] = {malloc(SIDES * bytes), malloc(SIDES * bytes), malloc(SIDES * bytes)};
        for (int64_t i = 0; i < SIDES * n * width; i++) b[i] = below(1000) - 500;
        for (int t = 0; t < 3; t++) {
            mpk_factor *fac = NULL;
            o.threads = threads[t];
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
            mpk_factor_info_get(fac, &info);
            if (kinds[kind].shared) assert_true(info.max_front >= 512);
            assert_false(mpk_failed(mpk_solve(ctx, fac, SIDES, b, n, x[t > 0], n, &o, NULL)));
            if (t > 0) assert_memory_equal(x[0], x[1], SIDES * bytes);
            for (int64_t r = 0; t == 0 && r < SIDES; r += FEW)
                assert_false(mpk_failed(mpk_solve(ctx, fac, FEW, b + r * n * width, n,
                                                  x[2] + r * n * width, n, &o, NULL)));
            if (t == 0) assert_memory_equal(x[0], x[2], SIDES * bytes);
            if (threads[t] == WORKERS) {
                mpki_pool *pool = mpki_context_pool(ctx, WORKERS, 1);
                int64_t pushed[3] = {mpki_pool_count(pool).pushes};
                for (int k = 1; k <= 2; k++) {
                    assert_false(
                        mpk_failed(mpk_solve(ctx, fac, k == 1 ? 16 : 64, b, n, x[1], n, &o, NULL)));
                    pushed[k] = mpki_pool_count(pool).pushes;
                }
                assert_true(pushed[1] > pushed[0]);
                assert_true(pushed[2] - pushed[1] == pushed[1] - pushed[0]);
                /* of entries that are not finite the first is told, whoever has found which */
                const double kept = b[41 * n * width + 3 * width];
                b[41 * n * width + 3 * width] = NAN;
                b[63 * n * width] = b[69 * n * width] = INFINITY;
                assert_int_equal(mpk_solve(ctx, fac, SIDES, b, n, x[1], n, &o, NULL),
                                 MPK_ERR_INPUT);
                const char *said = NULL;
                int64_t row = -1;
                assert_int_equal(mpk_last_error(ctx, NULL, &row, &said), MPK_ERR_INPUT);
                assert_int_equal(row, 3);
                assert_non_null(strstr(said, "side 42 is not finite in row 4"));
                b[41 * n * width + 3 * width] = kept;
            }
            mpk_factor_destroy(&fac);
        }
        for (int k = 0; k < 3; k++) free(x[k]);
        free(b);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&a);
        mpk_context_destroy(&ctx);
    }
}

/* The steps of a time are two paths from their ends, not one, so that two workers have something to do; as
 * many tasks are queued as there are ends, not as there are steps. Not where one thread is all there is. */
static void test_steps(void **unused) {
    (void)unused;
    enum { STEPS = 1000, WORKERS = 16 };
    for (int model = 1; model <= 2; model++) {
        mpk_context *ctx = NULL;
        mpk_problem *a = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_analysis_info found;
        mpk_options o;
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        mpki_context_set_cores(ctx, WORKERS);
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.threads = WORKERS, o.model_threads = model;
        assert_int_equal(mpk_problem_generate(ctx, "optimal-control 1000", 1, &a), MPK_OK);
        assert_int_equal(mpk_analyse(ctx, a, &o, &an), MPK_OK);
        mpk_analysis_info_get(an, &found);
        if (model == 1) assert_true(found.tree_height > STEPS * 9 / 10);
        if (model == 2) assert_true(found.tree_height < STEPS * 6 / 10);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        mpki_pool *pool = mpki_context_pool(ctx, WORKERS, 1);
        const int64_t before = mpki_pool_count(pool).pushes;
        assert_int_equal(mpk_refactorize(ctx, NULL, &o, fac), MPK_OK);
        assert_true(mpki_pool_count(pool).pushes - before <= 2 * WORKERS);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&a);
        mpk_context_destroy(&ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_stars),
                                       cmocka_unit_test(test_row_sums),
                                       cmocka_unit_test(test_sides), cmocka_unit_test(test_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
