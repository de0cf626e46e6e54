/* SPDX-License-Identifier: BSD-3-Clause */
/* Precision by block, and static butterflies. */
#include "runs.h"

/* Fewer bytes the larger the tolerance, and a factor as far from the whole one as it allows; for
 * all precisions and forms, whatever the threads. */
static void test_tolerance(void **state) {
    (void)state;
    static const char *const specs[] = {"nlpkkt 4", "helmholtz 2d 18 0.3",
                                        "helmholtz 2d 14 0.3 scalar=c", "convection 12"};
    static const double tolerances[] = {1e-9, 1e-4, 1e-2};
    mpk_context *ctx = context();
    for (int k = 0; k < 4; k++)
        for (int type = k == 3; type < 2; type++)
            for (int single = 0; single < 2; single++) {
                mpk_options o = complete();
                o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
                o.precision = (mpk_precision)single;
                mpk_problem *probe = NULL;
                if (mpk_problem_generate(ctx, specs[k], 3, &probe) != MPK_OK) continue;
                mpk_problem_destroy(&probe);
                run whole = go(ctx, specs[k], &o);
                assert_true(!mpk_failed(whole.status));
                mpk_block_info before, info;
                mpk_factor_block_info_get(whole.fac, &before);
                int64_t narrow = 0;
                for (int t = 0; t < 3; t++) {
                    o.block_tolerance = tolerances[t];
                    run r = go(ctx, specs[k], &o);
                    assert_true(!mpk_failed(r.status));
                    mpk_factor_block_info_get(r.fac, &info);
                    assert_true(info.in_single + info.in_bf16 >= narrow);
                    narrow = info.in_single + info.in_bf16;
                    const double d = distance(&whole, &r);
                    if (!(d <= 1e3 * tolerances[t] + 1e-5 * single))
                        fail_msg("%s type %d single %d tolerance %g: distance %g", specs[k], type,
                                 single, tolerances[t], d);
                    o.threads = 3;
                    run more = go(ctx, specs[k], &o);
                    assert_true(distance(&r, &more) == 0);
                    o.threads = 2;
                    end(&more);
                    end(&r);
                }
                assert_true(narrow > 0 && info.in_bf16 > 0);
                end(&whole);
            }
    mpk_context_destroy(&ctx);
}

/* Without stages a butterfly turns all blocks: nothing is delayed, and no row is searched. */
static void test_static_butterfly(void **state) {
    (void)state;
    mpk_context *ctx = context();
    double res[2];
    for (int on = 0; on < 2; on++) {
        mpk_options o = complete();
        o.pivoting = MPK_PIVOTING_NONE;
        o.butterfly = on ? MPK_ON : MPK_OFF;
        run r = go(ctx, "helmholtz 2d 18 0.5", &o);
        assert_true(!mpk_failed(r.status));
        mpk_block_info info;
        mpk_factor_block_info_get(r.fac, &info);
        assert_int_equal(info.stages, 1);
        assert_int_equal(info.rejected, 0);
        res[on] = residual(ctx, &r);
        end(&r);
    }
    assert_true(res[0] != res[1]);
    assert_true(res[1] <= 1e-6);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_tolerance),
                                       cmocka_unit_test(test_static_butterfly)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
