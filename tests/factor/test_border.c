/* SPDX-License-Identifier: BSD-3-Clause */
/* Stages that get nowhere: the dense pivot that ends them, frames that are joined, and pivots that
 * are replaced at last. */
#include "../sanitized.h"
#include "stuck.h"

static mpk_block_info info_of(const run *r) {
    mpk_block_info info;
    mpk_factor_block_info_get(r->fac, &info);
    return info;
}

/* With as many stages as it takes every family is solved as by the direct solver, by each schedule,
 * and the inertia is that of the matrix. */
static void test_ends_by_itself(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < STUCK + FAMILIES; k++)
        for (int schedule = MPK_SCHEDULE_PULL; schedule <= MPK_SCHEDULE_ATOMIC; schedule++) {
            if (test_sanitizer_skips(k + schedule, 3)) continue;
            const char *family = k < STUCK ? stuck[k] : families[k - STUCK];
            mpk_options o = stubborn(), direct;
            mpk_factor_info found, want;
            o.schedule = (mpk_schedule)schedule;
            run r = go(ctx, family, &o);
            assert_true(!mpk_failed(r.status));
            const mpk_block_info info = info_of(&r);
            const double res = residual(ctx, &r);
            if (!(res <= 1e-8) || info.perturbed > 0)
                fail_msg("%s schedule %d: %d stages, %d rows, %lld replaced, residual %g", family,
                         schedule, info.stages, info.border_rows, (long long)info.perturbed, res);
            if (k < STUCK) assert_true(info.border_rows > 0);
            mpk_factor_info_get(r.fac, &found);
            mpk_options_init(&direct);
            direct.method = MPK_METHOD_LDLT;
            run exact = go(ctx, family, &direct);
            mpk_factor_info_get(exact.fac, &want);
            if (r.a.symmetry == MPK_HERMITIAN || r.a.scalar == MPK_D) {
                assert_int_equal(found.inertia.positive, want.inertia.positive);
                assert_int_equal(found.inertia.negative, want.inertia.negative);
            }
            assert_true(distance(&r, &exact) <= 1e-6);
            end(&exact);
            end(&r);
        }
    mpk_context_destroy(&ctx);
}

/* The same bits for any number of threads, and from the same values again. */
static void test_bits(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = stubborn();
    o.threads = 1;
    run one = go(ctx, "nlpkkt 4", &o);
    o.threads = 3;
    run three = go(ctx, "nlpkkt 4", &o);
    assert_true(info_of(&one).border_rows > 0);
    assert_memory_equal(one.x, three.x, (size_t)one.a.n * sizeof(double));
    assert_int_equal(mpk_refactorize(ctx, one.a.ax, &one.o, one.fac), MPK_OK);
    apply(ctx, &one, MPK_PART_ALL);
    assert_memory_equal(one.x, three.x, (size_t)one.a.n * sizeof(double));
    end(&one);
    end(&three);
    mpk_context_destroy(&ctx);
}

/* L, D and L^T one after the other are the whole; |D| gives a definite operator; columns together
 * are columns one by one. */
static void test_parts(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < STUCK; k++) {
        const mpk_options o = stubborn();
        run r = go(ctx, stuck[k], &o);
        const int64_t n = r.a.n;
        const size_t size = mpk_scalar_size(r.a.scalar);
        mpki_application m;
        enum { COLUMNS = 5 };
        char *x = malloc(COLUMNS * (size_t)n * size), *whole = malloc((size_t)n * size);
        memcpy(whole, r.x, (size_t)n * size);
        memcpy(x, r.b, (size_t)n * size);
        assert_int_equal(mpki_apply_make(ctx, r.fac, 2, COLUMNS, &m), MPK_OK);
        for (mpk_part part = MPK_PART_L; part <= MPK_PART_LT; part++)
            assert_int_equal(mpki_apply(&m, part, 1, x, n, x, n), MPK_OK);
        assert_memory_equal(x, whole, (size_t)n * size);
        double complex product = 0;
        memcpy(x, r.b, (size_t)n * size);
        if (k != COMPLEX_SYMMETRIC)
            assert_int_equal(mpki_apply(&m, MPK_PART_ABS, 1, x, n, x, n), MPK_OK);
        for (int64_t i = 0; i < n; i++)
            product += conj(scalar_load(r.a.scalar, r.b, i)) * scalar_load(r.a.scalar, x, i);
        if (k != COMPLEX_SYMMETRIC) assert_true(creal(product) > 0);
        for (int c = 0; c < COLUMNS; c++) memcpy(x + (size_t)c * n * size, r.b, (size_t)n * size);
        assert_int_equal(mpki_apply(&m, MPK_PART_ALL, COLUMNS, x, n, x, n), MPK_OK);
        for (int c = 0; c < COLUMNS; c++)
            for (int64_t i = 0; i < n; i++)
                assert_true(cabs(scalar_load(r.a.scalar, x + (size_t)c * n * size, i) -
                                 scalar_load(r.a.scalar, whole, i)) <=
                            1e-8 * cabs(scalar_load(r.a.scalar, whole, i)) + 1e-10);
        mpki_apply_free(&m);
        free(x), free(whole);
        end(&r);
    }
    mpk_context_destroy(&ctx);
}

/* Incomplete, and in single precision. */
static void test_incomplete(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int single = 0; single < 2; single++) {
        mpk_options o = stubborn();
        o.level = 1;
        o.drop_tolerance = 0.02;
        o.fill_factor = 0;
        o.precision = single ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
        run ended = go(ctx, "nlpkkt 4", &o);
        assert_true(!mpk_failed(ended.status));
        assert_true(info_of(&ended).border_rows > 0 && info_of(&ended).perturbed == 0);
        assert_true(isfinite(residual(ctx, &ended)));
        end(&ended);
    }
    mpk_context_destroy(&ctx);
}

/* Where memory has no room for the dense pivot frames are joined. */
static void test_joined(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = stubborn();
    run r = go(ctx, "nlpkkt 4", &o);
    const mpk_block_info with = info_of(&r);
    assert_true(with.border_rows > 0 && with.joins == 0);
    end(&r);
    int joined = 0;
    for (double limit = 4e6; limit > 1e5; limit *= test_sanitizer_skips(1, 2) ? 0.9 : 0.95) {
        o.memory_limit = limit;
        r = go(ctx, "nlpkkt 4", &o);
        if (!mpk_failed(r.status) && info_of(&r).joins > 0) {
            joined++;
            assert_true(residual(ctx, &r) <= 1e-6 || info_of(&r).perturbed > 0);
        }
        end(&r);
    }
    assert_true(joined > 0);
    mpk_context_destroy(&ctx);
}

/* Numbers are joined, too, and the factor of the run that was given up is not looked at: LDU, which
 * has no dense pivot. */
static void test_joined_numbers(void **state) {
    (void)state;
    mpk_context *ctx = context();
    int joined = 0;
    for (int k = 0; k < STUCK; k++)
        for (int single = 0; single < 2; single++) {
            mpk_options o = stubborn();
            o.factor_type = MPK_TYPE_LDU;
            o.block = 1;
            o.stages = 5;
            o.precision = single ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
            run r = go(ctx, stuck[k], &o);
            assert_true(!mpk_failed(r.status));
            joined += info_of(&r).joins > 0;
            end(&r);
        }
    assert_true(joined > 0);
    mpk_context_destroy(&ctx);
}

/* A singular matrix leaves zero pivots in it, which are replaced. */
static void test_singular(void **state) {
    (void)state;
    mpk_context *ctx = context();
    const int32_t rows[] = {0, 1, 2, 3, 0, 1, 2, 3}, cols[] = {0, 1, 2, 3, 1, 0, 3, 2};
    const double values[] = {0, 0, 1, 1, 2, 2, 1, 1};
    mpk_problem *p = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o = stubborn();
    o.block = 1;
    assert_true(mpk_problem_from_triplets(ctx, 4, MPK_D, MPK_SYMMETRIC, MPK_FULL, 8, rows, cols,
                                          values, &p) >= 0);
    assert_true(mpk_analyse(ctx, p, &o, &an) >= 0);
    assert_true(!mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
    mpk_block_info info;
    mpk_factor_block_info_get(fac, &info);
    assert_true(info.border_rows >= 2 && info.perturbed == 1);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_by_itself), cmocka_unit_test(test_bits),
        cmocka_unit_test(test_parts),          cmocka_unit_test(test_incomplete),
        cmocka_unit_test(test_joined),         cmocka_unit_test(test_joined_numbers),
        cmocka_unit_test(test_singular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
