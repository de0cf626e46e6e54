/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal engine of a device beside the processor's: on a GPU, or on the module that
 * computes on the host. */
#include "../support.h"

#include "device_direct_cases.h"

/* As a user asks for it. */
static void test_option(void **unused) {
    (void)unused;
    enum { MOST = 400 };
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_solve_info solve;
    mpk_options o;
    double x[MOST];
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 3", 3, &problem), MPK_OK);
    mpk_problem_view_get(problem, &a);
    assert_true(a.n <= MOST);
    for (int32_t i = 0; i < a.n; i++) x[i] = 1 + i % 3;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    mpk_factor_info_get(fac, &info);
    assert_true(info.inertia.certified);
    assert_int_equal(info.inertia.positive + info.inertia.negative, a.n);
    mpk_estimate e; /* the factor takes what was told, the solves their part of it */
    assert_int_equal(mpk_factor_estimate(ctx, an, &o, &e), MPK_OK);
    assert_true(e.device_bytes > info.bytes && e.device_bytes < 2 * info.bytes);
    for (int k = 0; k < 2; k++) { /* the second solve finds the first one's work space */
        assert_int_equal(mpk_solve(ctx, fac, 1, x, a.n, x, a.n, &o, &solve), MPK_OK);
        assert_true(solve.componentwise <= 1e-14);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static void test_generated(void **unused) {
    (void)unused;
    check_generated();
}

/* More children than are described together, of which some leave columns: where one thread read what another had
 * written for the next ones, a kernel did not end. */
static void test_many_children(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 8", 1, &problem), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    mpk_factor_info_get(fac, &info);
    assert_int_equal(info.inertia.positive, 896);
    assert_int_equal(info.inertia.negative, 512);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static void test_families(void **unused) {
    (void)unused;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    static const int n[] = {1, 2, 7, 40, 130};
    for (int k = 0; k < FAMILY_COUNT; k++)
        for (int s = 0; s < 6; s++)
            for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
                const family f = {(enum support_family)k, n[i], (mpk_scalar)(s % 4),
                                  s >= 4 || s < 2 ? (s >= 4 ? MPK_HERMITIAN : MPK_SYMMETRIC)
                                                  : MPK_SYMMETRIC};
                family g = f;
                char text[80];
                if (s >= 4) g.scalar = s == 4 ? MPK_C : MPK_Z;
                o.accuracy = single_precision(g.scalar) ? 1e-6 : 1e-14;
                snprintf(text, sizeof text, "family %d, n = %d, scalar %d, symmetry %d", k, g.n,
                         (int)g.scalar, (int)g.symmetry);
                compare(text, of_family, &g, &o, i % 2 ? 5 : 1);
            }
}

static void test_files(void **unused) {
    (void)unused;
    check_files();
}

static void test_shapes(void **unused) {
    (void)unused;
    check_shapes();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_option),        cmocka_unit_test(test_generated),
        cmocka_unit_test(test_many_children), cmocka_unit_test(test_families),
        cmocka_unit_test(test_files),         cmocka_unit_test(test_shapes)};
    if (device_lacks(DEVICE_DIRECT)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
