/* SPDX-License-Identifier: BSD-3-Clause */
/* Precision by block, and static butterflies. */
#include "runs.h"

#include "engines/cpu/block_factor/block_factor.h"

/* bound: of the distance to the solution with the whole factor, over the tolerance; four times what
 * was measured, since A's condition is in it. */
static const struct {
    const char *spec;
    mpk_scalar scalar;
    mpk_symmetry symmetry;
    double bound;
} cases[] = {
    {"nlpkkt 4", MPK_D, MPK_SYMMETRIC, 0.4},
    {"helmholtz 2d 18 0.3", MPK_D, MPK_SYMMETRIC, 8},
    {"helmholtz 2d 14 0.3 boundary=absorbing", MPK_Z, MPK_SYMMETRIC, 1.2},
    {"random 140 0.03 0.3 hermitian", MPK_Z, MPK_HERMITIAN, 110},
    {"convection 12", MPK_D, MPK_GENERAL, 0.8},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Fewer bytes the larger the tolerance, and a factor as far from the whole one as it allows; for
 * all precisions and forms, whatever the threads. */
static void test_tolerance(void **state) {
    (void)state;
    static const double tolerances[] = {1e-7, 1e-4, 1e-2};
    mpk_context *ctx = context();
    for (int k = 0; k < CASES; k++)
        for (int type = cases[k].symmetry == MPK_GENERAL; type < 2; type++)
            for (int single = 0; single < 2; single++) {
                mpk_options o = complete();
                o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
                o.precision = (mpk_precision)single;
                run whole = go(ctx, cases[k].spec, &o);
                assert_true(!mpk_failed(whole.status));
                assert_int_equal(whole.a.scalar, cases[k].scalar);
                assert_int_equal(whole.a.symmetry, cases[k].symmetry);
                mpk_factor_info f;
                mpk_block_info info;
                int64_t narrow = 0, bytes = INT64_MAX;
                for (int t = 0; t < 3; t++) {
                    o.block_tolerance = tolerances[t];
                    run r = go(ctx, cases[k].spec, &o);
                    assert_true(!mpk_failed(r.status));
                    mpk_factor_block_info_get(r.fac, &info);
                    mpk_factor_info_get(r.fac, &f);
                    assert_true(info.in_single + info.in_bf16 >= narrow && f.bytes <= bytes);
                    narrow = info.in_single + info.in_bf16, bytes = f.bytes;
                    const double d = distance(&whole, &r);
                    if (!(d <= cases[k].bound * tolerances[t]) || (d > 0) != (narrow > 0))
                        fail_msg("%s type %d single %d tolerance %g: distance %g", cases[k].spec,
                                 type, single, tolerances[t], d);
                    o.threads = 3;
                    run more = go(ctx, cases[k].spec, &o);
                    assert_true(distance(&r, &more) == 0);
                    o.threads = 2;
                    end(&more);
                    end(&r);
                }
                assert_true(info.in_bf16 > 0);
                end(&whole);
            }
    mpk_context_destroy(&ctx);
}

static uint16_t rounded(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return mpki_bf16_of(x);
}

/* To the nearest, ties to even, beyond the largest number to infinity; NaN of any payload stays. */
static void test_rounding(void **state) {
    (void)state;
    static const uint32_t whole[] = {0,          0x80000000, 0x3f800000, 0xc0490000,
                                     0x7f7f0000, 0x00010000, 0x7f800000, 0xff800000};
    static const uint32_t nans[] = {0x7f800001, 0x7fc00000, 0x7fffffff,
                                    0xff800001, 0xffffffff, 0x7fff8000};
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++) {
        assert_int_equal(rounded(whole[k]), whole[k] >> 16);
        const float back = mpki_bf16_to((uint16_t)(whole[k] >> 16));
        assert_memory_equal(&back, &whole[k], sizeof back);
    }
    for (size_t k = 0; k < sizeof nans / sizeof *nans; k++)
        assert_true(isnan(mpki_bf16_to(rounded(nans[k]))));
    assert_int_equal(rounded(0x3f808000), 0x3f80);
    assert_int_equal(rounded(0x3f818000), 0x3f82);
    assert_int_equal(rounded(0x3f808001), 0x3f81);
    assert_int_equal(rounded(0x3f807fff), 0x3f80);
    assert_int_equal(rounded(0x7f7fffff), 0x7f80);
}

/* The form of one block of four reals. */
static int form_of(mpk_context *ctx, mpk_scalar scalar, const double *x, double tolerance) {
    float single[4];
    for (int k = 0; k < 4; k++) single[k] = (float)x[k];
    mpk_options o = complete();
    o.block_tolerance = tolerance;
    const bool real = scalar == MPK_S || scalar == MPK_D,
               small = scalar == MPK_S || scalar == MPK_C;
    mpki_block b = {.data = small ? (void *)single : (void *)x,
                    .nnz = real ? 4 : 2,
                    .rows = 1,
                    .cols = real ? 4 : 2,
                    .format = MPKI_DENSE,
                    .scalar = (uint8_t)scalar};
    mpki_stages s = {.ctx = ctx, .options = &o, .index = {.nblocks = 1}};
    mpki_blocks f = {.scalar = scalar, .stages = &s, .lower = &b, .upper = &b};
    assert_int_equal(mpki_arena_init(ctx, 64, 0, &f.arena), MPK_OK);
    assert_int_equal(MPKI_DISPATCH(scalar, blocks_narrow)(&f), MPK_OK);
    mpki_arena_free(&f.arena);
    return b.scalar;
}

/* A block is as narrow as its largest number allows; never one with NaN, wherever it stands, or
 * with what single precision has no room for. */
static void test_forms(void **state) {
    (void)state;
    mpk_context *ctx = context();
    for (int k = 0; k < 4; k++) {
        const mpk_scalar scalar = (mpk_scalar)k;
        const int bf16 = MPKI_BF16 + (k >= MPK_C);
        const int single = k >= MPK_C ? MPK_C : MPK_S;
        for (int place = 0; place < 4; place++) {
            static const double wild[] = {NAN, INFINITY, -INFINITY, 3e38};
            double x[] = {0.25, -0.25, 0.25, 0.25};
            x[place] = -1;
            assert_int_equal(form_of(ctx, scalar, x, 0x1p-9), bf16);
            assert_int_equal(form_of(ctx, scalar, x, 0x1p-10), single);
            assert_int_equal(form_of(ctx, scalar, x, 0x1p-25), scalar);
            for (int w = 0; w < 4; w++) {
                x[place] = wild[w];
                assert_int_equal(form_of(ctx, scalar, x, 1), scalar);
            }
        }
    }
    mpk_context_destroy(&ctx);
}

/* Whichever allocation of a factorization fails, until the last block is narrow: that is said, and
 * nothing is left. */
static void test_no_memory(void **state) {
    (void)state;
    for (int type = 0; type < 2; type++) {
        int64_t k = 1;
        for (mpk_status status = MPK_ERR_MEMORY; mpk_failed(status); k++) {
            failing f = {0};
            mpk_allocator allocator = {failing_alloc, failing_release, &f};
            mpk_context *ctx = NULL;
            mpk_problem *p = NULL;
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpk_problem_view v;
            mpk_block_info info;
            mpk_options o = complete();
            o.factor_type = type ? MPK_TYPE_LDU : MPK_TYPE_LDLT;
            o.block_tolerance = 1e-2;
            o.threads = 1;
            assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
            assert_int_equal(mpk_problem_generate(ctx, "random 60 0.06 0.3 hermitian", 3, &p),
                             MPK_OK);
            mpk_problem_view_get(p, &v);
            assert_int_equal(v.symmetry, MPK_HERMITIAN);
            assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_OK);
            f.fail_at = f.calls + k;
            status = mpk_factorize(ctx, an, v.ax, &o, &fac);
            f.fail_at = 0;
            if (status != MPK_OK) assert_int_equal(status, MPK_ERR_MEMORY);
            assert_int_equal(fac != NULL, status == MPK_OK);
            if (fac) mpk_factor_block_info_get(fac, &info);
            if (fac) assert_true(info.in_bf16 > 0);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&p);
            mpk_context_destroy(&ctx);
            assert_int_equal(f.held, 0);
        }
        assert_true(k > 40);
    }
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tolerance), cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_forms), cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_static_butterfly)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
