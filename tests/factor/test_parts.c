/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of a direct factor, D, the permutation and the scaling have one order: a sampler's
 * covariance W W^T = A^-1, |D|, 2x2 pivots, columns that are delayed or exchanged, zero pivots,
 * static shifts, all scalar types, several right-hand sides. */
#include "support.h"
#include "../parts.h"

static void check(const dense *m, bool definite, double shift) {
    mpk_context *ctx = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    const bool single = m->scalar == MPK_S || m->scalar == MPK_C;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_problem *problem = dense_problem(ctx, m, 0);
    for (int way = 0; way < 3; way++) {
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.static_shift = shift;
        o.scaling = way == 1 ? MPK_OFF : MPK_AUTO;
        o.matching = way == 2 ? MPK_ON : MPK_OFF;
        assert_false(mpk_failed(mpk_analyse(ctx, problem, &o, &an)));
        assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
        check_parts(ctx, fac, m, definite, single ? 1e-3 : 1e-9);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
    }
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Reported: exchanged pivots of a 4 x 4 matrix made samples silently wrong. */
static void test_four(void **state) {
    static const double a[] = {1, 2, 0.5, 1, -3, 1, 7, 0.1, 2, 5};
    (void)state;
    dense m = dense_new(4, MPK_D, MPK_SYMMETRIC);
    for (int j = 0, k = 0; j < 4; j++)
        for (int i = j; i < 4; i++) dense_set(&m, i, j, a[k++]);
    check(&m, false, 0);
    free(m.a);
}

/* W W^T A = 1. */
static void test_definite(void **state) {
    enum { N = 40 };
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        if (kinds[kind].scalar >= MPK_C && kinds[kind].symmetry == MPK_SYMMETRIC) continue;
        dense m = dense_new(N, kinds[kind].scalar, kinds[kind].symmetry);
        for (int i = 0; i < N; i++)
            for (int j = 0; j <= i; j++)
                if (i == j || (i * 7 + j * 3) % 5 == 0)
                    dense_set(&m, i, j,
                              i == j ? N * (1 + uniform() / 2) : uniform() + uniform() * I);
        check(&m, true, 0);
        free(m.a);
    }
}

/* Everything that exchanges columns and pairs them. */
static void test_families(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int family = 0; family < FAMILY_COUNT; family++)
            for (int n = 1; n < 40; n += 19) {
                dense m = family_matrix((enum support_family)family, n, kinds[kind].scalar,
                                        kinds[kind].symmetry);
                check(&m, false, 0);
                free(m.a);
            }
}

/* Saddle points whose constraints depend on one another: zero pivots, or shifted ones. */
static void test_zero_pivots(void **state) {
    enum { N = 24, HALF = 16 };
    (void)state;
    for (int shifted = 0; shifted < 2; shifted++)
        for (int kind = 0; kind < KINDS; kind++) {
            dense m = dense_new(N, kinds[kind].scalar, kinds[kind].symmetry);
            for (int i = 0; i < HALF; i++) {
                dense_set(&m, i, i, 2 + i % 3);
                dense_set(&m, HALF + i % 4, i, 1);
                dense_set(&m, HALF + 4 + i % 4, i, 2);
            }
            check(&m, false, shifted ? 1e-4 : 0);
            free(m.a);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_four), cmocka_unit_test(test_definite),
                                       cmocka_unit_test(test_families),
                                       cmocka_unit_test(test_zero_pivots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
