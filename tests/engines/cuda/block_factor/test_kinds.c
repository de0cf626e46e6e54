/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's factorization on blocks against the processor's by the kind of matrix and method:
 * definite, general, of scalars, degenerate, what is refused; and applied. Without a GPU its
 * kernels run on the host. */
#include "device_both.h"

/* A definite matrix on which LLT without fill breaks down: Kershaw's, in blocks along the
 * diagonal. */
static mpk_problem *breaking(mpk_context *ctx, mpk_scalar scalar) {
    static const double kershaw[4][4] = {
        {3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}};
    dense m = dense_new(24, scalar, MPK_SYMMETRIC);
    for (int b = 0; b < 6; b++)
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) dense_set(&m, 4 * b + i, 4 * b + j, kershaw[i][j]);
    for (int b = 0; b < 5; b++) dense_set(&m, 4 * b + 7, 4 * b, 0.01);
    mpk_problem *p = dense_problem(ctx, &m, 0);
    free(m.a);
    return p;
}

/* Breakdowns are repaired by the same shifts. */
static void test_llt(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int single = 0; single < 2; single++)
        for (int pivoting = MPK_PIVOTING_NONE; pivoting <= MPK_PIVOTING_ROOK; pivoting += 3) {
            mpk_options o = complete();
            o.factor_type = MPK_TYPE_LLT;
            o.pivoting = (mpk_pivoting)pivoting;
            o.matching = MPK_OFF;
            o.scaling = MPK_OFF;
            o.block = pivoting ? 5 : 1;
            o.level = 0;
            o.ordering = MPK_ORDERING_NATURAL;
            both r = factor_both(ctx, breaking(ctx, single ? MPK_S : MPK_D), &o);
            assert_true(!mpk_failed(r.status[1]));
            const mpk_block_info *p = &r.cpu->blocks->stages.info, *q = &r.gpu->blocks->stages.info;
            assert_int_equal(p->breakdowns, q->breakdowns);
            assert_true(p->diagonal_shift == q->diagonal_shift);
            if (!pivoting) assert_true(p->breakdowns > 0);
            same_counts("kershaw", &r);
            const difference d = compare_factors(ctx, r.cpu, r.gpu);
            assert_true(d.entries <= (single ? 1e-5 : 1e-13));
            both_end(&r);
            /* an indefinite one has no such factor, and both say it alike */
            r = factor_both(ctx, generated(ctx, "nlpkkt 3"), &o);
            assert_true(mpk_failed(r.status[0]));
            both_end(&r);
        }
    mpk_context_destroy(&ctx);
}

/* Methods that are parts of A, and frames of one row. */
static void test_methods(void **state) {
    (void)state;
    mpk_context *ctx = context();
    static const mpk_method methods[] = {MPK_METHOD_ILU0, MPK_METHOD_DIAGONAL,
                                         MPK_METHOD_BLOCK_JACOBI, MPK_METHOD_SSOR};
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
        for (int scalar = 0; scalar < 4; scalar++) {
            dense m = family_matrix(BANDED, 40, (mpk_scalar)scalar, MPK_SYMMETRIC);
            mpk_options o = complete();
            char what[60];
            o.method = methods[k];
            o.omega = 1.3;
            o.shift = scalar == 1 ? 0.1 : 0;
            snprintf(what, sizeof what, "%s, scalar %d", mpk_method_name(methods[k]), scalar);
            agree(ctx, what, dense_problem(ctx, &m, 0), &o, scalar % 2 ? 1e-12 : 1e-4);
            free(m.a);
        }
    mpk_context_destroy(&ctx);
}

/* Matrices that are not symmetric. */
static void test_general(void **state) {
    (void)state;
    mpk_context *ctx = context();
    static const char *const specs[] = {"convection 7 2d 20", "random 50 0.06 0.3 general"};
    int tried = 0;
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++)
        for (int level = -1; level < 2; level++) {
            mpk_problem *p = NULL;
            mpk_options o = complete();
            if (mpk_failed(mpk_problem_generate(ctx, specs[k], 3, &p))) continue;
            tried++;
            o.factor_type = MPK_TYPE_LDU;
            o.level = level;
            o.block = 11;
            if (level == 1) o.drop_tolerance = 1e-2, o.fill_factor = 2;
            agree(ctx, specs[k], p, &o, bound(1e-12, 1e-10));
        }
    assert_true(tried > 0);
    mpk_context_destroy(&ctx);
}

/* n = 0 and 1, a zero matrix, a zero row, numbers beyond the range of single precision. */
static void test_degenerate(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int n = 0; n < 3; n++)
        for (int type = 0; type < 2; type++) {
            dense m = dense_new(n, MPK_D, MPK_SYMMETRIC);
            mpk_options o = complete();
            o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
            if (n > 0) dense_set(&m, 0, 0, -2);
            agree(ctx, "small", dense_problem(ctx, &m, 0), &o, 1e-14);
            free(m.a);
        }
    dense m = family_matrix(SPARSE, 30, MPK_D, MPK_SYMMETRIC);
    for (int k = 0; k < 30; k++) dense_set(&m, 7, k, 0);
    mpk_options o = complete();
    agree(ctx, "singular", dense_problem(ctx, &m, 1), &o, bound(1e-12, 1e-10));
    free(m.a);
    /* an update beyond the range of single precision */
    m = dense_new(9, MPK_D, MPK_SYMMETRIC);
    for (int k = 0; k < 8; k++) dense_set(&m, k, k, 1.3e-38), dense_set(&m, 8, k, 1);
    dense_set(&m, 8, 8, 1);
    o.precision = MPK_PRECISION_SINGLE;
    o.scaling = o.matching = MPK_OFF;
    o.pivoting = MPK_PIVOTING_NONE;
    o.ordering = MPK_ORDERING_NATURAL;
    o.static_shift = 1e-39;
    o.block = 1;
    o.stages = 1;
    both r = factor_both(ctx, dense_problem(ctx, &m, 0), &o);
    assert_int_equal(r.status[1], MPK_ERR_NUMERIC);
    both_end(&r);
    free(m.a);
    mpk_context_destroy(&ctx);
}

/* What the device does not do is refused by name. */
static void test_refused(void **state) {
    (void)state;
    mpk_context *ctx = context();
    static const char *const why[] = {"at most 32", "subsets", "atomic"};
    for (int k = 0; k < 3; k++) {
        mpk_options o = complete();
        mpk_problem *p = generated(ctx, "nlpkkt 4");
        mpk_problem_view a;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        const char *text = "";
        mpk_problem_view_get(p, &a);
        if (k == 0)
            o.method = MPK_METHOD_BLOCK_JACOBI, o.block = 64;
        else
            o.schedule = k == 1 ? MPK_SCHEDULE_SUBSETS : MPK_SCHEDULE_ATOMIC;
        assert_true(mpk_analyse(ctx, p, &o, &an) >= 0);
        mpki_engine_use(ctx, device_engine_of(ctx));
        assert_int_equal(mpk_factorize(ctx, an, a.ax, &o, &fac), MPK_ERR_UNSUPPORTED);
        mpk_last_error(ctx, NULL, NULL, &text);
        assert_non_null(strstr(text, why[k]));
        assert_null(fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

/* All the way: factored and applied on the device. */
static void test_applied(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < FEW; k++)
        for (int type = 0; type < 2; type++) {
            mpk_options o = complete();
            o.level = 1;
            o.drop_tolerance = 1e-3;
            o.fill_factor = 3;
            o.block = 11;
            o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
            run r[2];
            device_both(ctx, few[k], &o, r);
            const double d = distance(&r[0], &r[1]);
            if (!(d <= 1e-9)) fail_msg("%s, type %d: distance %g", few[k], type, d);
            end(&r[0]), end(&r[1]);
        }
    mpk_context_destroy(&ctx);
}

/* By the option alone, and what it says of itself. */
static void test_by_option(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_block_info info[2];
    run r[2];
    for (int device = 0; device < 2; device++) {
        mpk_options o = complete();
        o.level = 0;
        o.device = device ? MPK_ON_CUDA : MPK_ON_CPU;
        r[device] = go(ctx, "optimal-control 8", &o);
        assert_true(!mpk_failed(r[device].status));
        mpk_factor_block_info_get(r[device].fac, &info[device]);
    }
    assert_non_null(strstr(mpk_factor_engine(r[1].fac), "cuda"));
    assert_int_equal(info[0].kept, info[1].kept);
    assert_int_equal(info[0].blocks, info[1].blocks);
    assert_true(info[1].bytes > 0 && info[0].flops == info[1].flops);
    assert_true(distance(&r[0], &r[1]) <= 1e-11);
    end(&r[0]), end(&r[1]);
    mpk_context_destroy(&ctx);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_llt),       cmocka_unit_test(test_methods),
        cmocka_unit_test(test_general),   cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_applied),
        cmocka_unit_test(test_by_option),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    if (device_lacks(DEVICE_BLOCKS)) return 0;
    return cmocka_run_group_tests_name("device: kinds of factorizations on blocks", tests,
                                       device_setup, NULL);
}
