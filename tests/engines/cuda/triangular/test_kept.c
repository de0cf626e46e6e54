/* SPDX-License-Identifier: BSD-3-Clause */
/* A device's factor on blocks keeps what its applications need from one to the next: the same bits,
 * until the numbers change, and for calls of its own context. */
#include "support.h"

#include "../device_there.h"
#include "engines/cuda/block_factor/state.h"
#include "factor/stages.h"
#include <metapack/metapack.h>

enum { N = 96, SIDES = 3 };

static mpk_problem *matrix(mpk_context *ctx, double diagonal) {
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < N; i++) dense_set(&m, i, i, diagonal + i % 7);
    for (int i = 1; i < N; i++) dense_set(&m, i, i - 1, -1);
    for (int i = 9; i < N; i++) dense_set(&m, i, i - 9, 0.5);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    free(m.a);
    return problem;
}

static void test_kept(void **unused) {
    (void)unused;
    static const mpk_part parts[] = {MPK_PART_ALL, MPK_PART_L, MPK_PART_D, MPK_PART_LT};
    mpk_context *ctx = NULL, *other = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    double b[SIDES * N], x[4][SIDES * N], y[SIDES * N];
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT;
    o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_context_create(NULL, &other), MPK_OK);
    mpk_problem *problem = matrix(ctx, 5);
    mpk_problem_view a;
    mpk_problem_view_get(problem, &a);
    for (int k = 0; k < SIDES * N; k++) b[k] = 1 + k % 11;
    assert_false(mpk_failed(mpk_analyse(ctx, problem, &o, &an)));
    assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
    for (int turn = 0; turn < 2; turn++) {
        mpki_block_solver *first = NULL;
        for (int again = 0; again < 2; again++)
            for (int p = 0; p < 4; p++) {
                memcpy(y, b, sizeof y);
                assert_int_equal(mpk_solve_part(ctx, fac, parts[p], 1, y, N), MPK_OK);
                if (!again) memcpy(x[p], y, N * sizeof *y);
                assert_memory_equal(x[p], y, N * sizeof *y);
                mpki_block_solver *const kept = fac->blocks->numbers->solver;
                assert_non_null(kept);
                assert_true(!first || kept == first);
                first = kept;
            }
        /* more at once, which takes another one; then fewer, which do not */
        memcpy(y, b, sizeof y);
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ALL, SIDES, y, N), MPK_OK);
        for (int k = 0; k < N; k++) assert_true(fabs(y[k] - x[0][k]) <= 1e-12);
        mpki_block_solver *const wide = fac->blocks->numbers->solver;
        memcpy(y, b, sizeof y);
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ALL, 1, y, N), MPK_OK);
        assert_memory_equal(x[0], y, N * sizeof *y);
        assert_ptr_equal(fac->blocks->numbers->solver, wide);
        /* another context's calls leave it alone */
        memcpy(y, b, sizeof y);
        assert_int_equal(mpk_solve_part(other, fac, MPK_PART_ALL, 1, y, N), MPK_OK);
        assert_memory_equal(x[0], y, N * sizeof *y);
        assert_ptr_equal(fac->blocks->numbers->solver, wide);
        double *ax = malloc((size_t)a.nnz * sizeof *ax);
        for (int64_t k = 0; k < a.nnz; k++) ax[k] = (2 + turn) * ((const double *)a.ax)[k];
        assert_false(mpk_failed(mpk_refactorize(ctx, ax, &o, fac)));
        assert_null(fac->blocks->numbers->solver);
        memcpy(y, b, sizeof y);
        assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ALL, 1, y, N), MPK_OK);
        assert_memory_not_equal(x[0], y, N * sizeof *y);
        free(ax);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&other);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept)};
    return device_has(DEVICE_BLOCKS) ? cmocka_run_group_tests(tests, NULL, NULL) : 0;
}
