/* SPDX-License-Identifier: BSD-3-Clause */
/* Outer pivoting with sweeps: which blocks are pushed back, when that is decided, what stays. */
#include "../sanitized.h"
#include "runs.h"

static mpk_options options(void) {
    mpk_options o = complete();
    o.method = MPK_METHOD_JACOBI;
    o.jacobi_epsilon = 1e-12;
    o.sweeps = 100;
    o.stages = 5;
    o.pivoting = MPK_PIVOTING_NONE;
    o.matching = MPK_OFF;
    o.block = 4;
    o.jacobi_push = 0.1;
    return o;
}

/* Some blocks fail and are pushed back; as many sweeps as there are level sets are exact all the
 * same, whenever it is decided, with either norm, for LDLT and LDU, by any number of threads. */
static void test_exact(void **state) {
    (void)state;
    mpk_context *ctx = context();
    const char *spec = test_sanitizer_skips(1, 2) ? "quasi-definite 7" : "quasi-definite 9";
    int64_t kept = 0;
    for (int judge = 0; judge < 2; judge++)
        for (int norm = 0; norm < 2; norm++)
            for (int type = 0; type < 2; type++) {
                if (TEST_SANITIZED && (judge != norm || judge != type)) continue;
                mpk_options o = options();
                o.jacobi_judge = (mpk_jacobi_judge)judge;
                o.jacobi_norm = (mpk_jacobi_norm)norm;
                o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
                mpk_block_info info;
                run r = go(ctx, spec, &o);
                assert_true(!mpk_failed(r.status));
                mpk_factor_block_info_get(r.fac, &info);
                assert_true(info.rejected > 0 && info.stages > 1);
                assert_true(info.swept >= (int64_t)o.sweeps * info.block_rows);
                if (!judge) assert_true(info.swept == (int64_t)o.sweeps * info.block_rows);
                if (judge) kept += (int64_t)o.sweeps * info.block_rows * info.stages - info.swept;
                const double res = residual(ctx, &r);
                if (!(res <= 1e-8))
                    fail_msg("judge %d norm %d type %d: %g", judge, norm, type, res);
                o.threads = 3;
                run more = go(ctx, spec, &o);
                assert_true(distance(&r, &more) == 0);
                end(&more);
                end(&r);
            }
    assert_true(kept > 0); /* some were accepted, and swept over no more */
    mpk_context_destroy(&ctx);
}

/* Where all blocks fail none is pushed back, and that is told; a bound of 0 pushes none here. */
static void test_all_or_none(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int push = 0; push < 2; push++) {
        mpk_options o = options();
        o.jacobi_push = push;
        mpk_block_info info;
        run r = go(ctx, "helmholtz 2d 14 0.4", &o);
        assert_true(!mpk_failed(r.status));
        mpk_factor_block_info_get(r.fac, &info);
        assert_int_equal(info.rejected, 0);
        assert_int_equal(info.stages, 1);
        assert_int_equal(info.unpushed, push ? info.block_rows : 0);
        end(&r);
    }
    mpk_context_destroy(&ctx);
}

/* To judge pivots costs no operations in the report and changes no result, whenever it is done. */
static void test_judge_looks(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int type = 0; type < 2; type++) {
        mpk_options o = options();
        mpk_factor_info alone, judged;
        o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
        o.jacobi_push = 0;
        o.sweeps = 10;
        o.stages = 1; /* nothing to push back to */
        run r = go(ctx, "helmholtz 2d 14 0.4", &o);
        assert_true(!mpk_failed(r.status));
        mpk_factor_info_get(r.fac, &alone);
        assert_true(alone.flops > 0);
        o.stages = 5;
        for (int judge = 0; judge < 2; judge++) {
            o.jacobi_judge = (mpk_jacobi_judge)judge;
            run also = go(ctx, "helmholtz 2d 14 0.4", &o);
            assert_true(!mpk_failed(also.status));
            mpk_factor_info_get(also.fac, &judged);
            assert_true(judged.flops == alone.flops);
            assert_true(distance(&r, &also) == 0);
            end(&also);
        }
        end(&r);
    }
    mpk_context_destroy(&ctx);
}

/* One dense row raises the norm of A, and with it what sweeps replace; not where each block has its
 * own. */
static void test_norms(void **state) {
    (void)state;
    enum { N = 120 };
    mpk_context *ctx = context();
    int64_t ap[N + 1], replaced[2];
    int32_t ai[2 * N];
    double ax[2 * N];
    int64_t nnz = 0;
    for (int j = 0; j < N; j++) {
        ap[j] = nnz;
        ai[nnz] = j, ax[nnz++] = j % 2 ? -1 : 1;
        if (j < N - 1) ai[nnz] = N - 1, ax[nnz++] = 0.9;
    }
    ap[N] = nnz;
    mpk_problem *problem = NULL;
    assert_int_equal(
        mpk_problem_from_csc(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &problem),
        MPK_OK);
    for (int norm = 0; norm < 2; norm++) {
        mpk_options o = options();
        o.ordering = MPK_ORDERING_NATURAL;
        o.scaling = MPK_OFF;
        o.jacobi_epsilon = 0.05;
        o.jacobi_decay = 1;
        o.stages = 1;
        o.jacobi_norm = (mpk_jacobi_norm)norm;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_block_info info;
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        assert_true(!mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
        mpk_factor_block_info_get(fac, &info);
        replaced[norm] = info.perturbed;
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
    }
    assert_true(replaced[0] >= N - 1);
    assert_true(replaced[1] <= 4);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact), cmocka_unit_test(test_all_or_none),
        cmocka_unit_test(test_judge_looks), cmocka_unit_test(test_norms)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
