/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangular solves with a factor on blocks in device memory, beside those of the processor with
 * the same factor: on a GPU, or on the module that computes on the host. */
#include "device_sweeps.h"

#include "analysis/schedule/schedule.h"
#include "share.h"

enum { NRHS = 17 };

static const char *const families[] = {
    "nlpkkt 3",
    "stokes mac 7",
    "lp-kkt 40 70 3",
    "random 120 0.04 0.3 complex",
    "random 130 0.04 0.3 hermitian",
};
enum { FAMILIES = sizeof families / sizeof *families };

static void test_parts(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    int staged = 0;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int f = 0; f < FAMILIES; f++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int single = 0; single < 2; single++) {
                const bool complex_one = f >= 3;
                const mpk_options o = options_of(kind);
                const int32_t nrhs[] = {1, kind % 2 ? 3 : 6};
                if (single && kind == 6) continue;
                if (test_left_out(f + kind + single, 2)) continue;
                run r = go(ctx, families[f],
                           complex_one ? (single ? MPK_C : MPK_Z) : (single ? MPK_S : MPK_D), &o);
                char what[100];
                snprintf(what, sizeof what, "%s, kind %d%s", families[f], kind,
                         single ? ", single" : "");
                mpk_block_info info;
                mpk_factor_block_info_get(r.fac, &info);
                if (!r.bf->border) {
                    staged += info.stages > 1;
                    compare(&r, what, nrhs, single ? 1 : 2);
                }
                end(&r);
            }
    assert_true(staged > 0);
    mpk_context_destroy(&ctx);
}

/* Level sets of the way back: those of the way there with each frame as late as what needs it
 * allows. */
static void test_late_levels(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    const mpk_options o = options_of(2);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int f = 0; f < FAMILIES; f++) {
        run r = go(ctx, families[f], f >= 3 ? MPK_Z : MPK_D, &o);
        const mpki_stages *stages = r.bf->stages;
        const mpki_ibcsr *x = &stages->index;
        mpki_levels late;
        assert_int_equal(mpki_cuda_sweeps_latest_levels(ctx, stages, &late), MPK_OK);
        assert_int_equal(late.count, stages->levels.count);
        assert_int_equal(late.ptr[late.count], x->m);
        assert_int_equal(mpki_levels_check(ctx, x, &late), MPK_OK);
        int32_t *level = calloc((size_t)x->m + 1, 4);
        for (int32_t l = 0; l < late.count; l++)
            for (int32_t j = late.ptr[l]; j < late.ptr[l + 1]; j++) level[late.frame[j]] = l;
        for (int32_t k = 0; k < x->m; k++) {
            int32_t least = late.count;
            for (int64_t e = x->diagonal[k] + 1; e < x->ptr[k + 1]; e++)
                if (level[x->entry[e].other] < least) least = level[x->entry[e].other];
            assert_int_equal(level[k], least - 1);
        }
        free(level);
        mpki_levels_free(ctx, &late);
        end(&r);
    }
    mpk_context_destroy(&ctx);
}

/* Every number of vectors, and matrices that are not symmetric. */
static void test_vectors(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    int32_t nrhs[NRHS];
    for (int k = 0; k < NRHS; k++) nrhs[k] = k + 1;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int scalar = MPK_S; scalar <= MPK_Z; scalar++) {
        mpk_options o = options_of(1);
        run r = go(ctx, "stokes mac 5", (mpk_scalar)scalar, &o);
        compare(&r, "vectors", nrhs, NRHS);
        end(&r);
        o = options_of(3);
        o.level = -1;
        r = go(ctx, "convection 7 rows=shuffled", (mpk_scalar)scalar, &o);
        compare(&r, "not symmetric", nrhs + 3, 2);
        end(&r);
    }
    mpk_context_destroy(&ctx);
}

/* A row of many blocks is the work of several tasks; a level set of many rows has them together in
 * units. */
static void test_shapes(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    const int32_t nrhs[] = {1, 5};
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    enum { N = 1100 };
    for (int block = 1; block < 33; block += 30) {
        dense a = dense_new(N, MPK_D, MPK_SYMMETRIC);
        for (int i = 0; i < N; i++) dense_set(&a, i, i, 4 + i % 3);
        for (int i = 0; i < N - 3; i++)
            for (int k = N - 3; k < N; k++) dense_set(&a, k, i, sin(i + 3 * k));
        mpk_options o = options_of(7);
        o.block = block, o.ordering = MPK_ORDERING_NATURAL, o.strategy = MPK_STRATEGY_RB;
        mpk_problem *p = dense_problem(ctx, &a, 0);
        free(a.a);
        run r = go_on(ctx, p, &o);
        int32_t takes;
        mpki_block_solver *s = solver_of(&r, 1, &takes);
        const mpki_cuda_sweeps_numbers told = mpki_cuda_sweeps_summary(s);
        mpki_cuda_sweeps_free(ctx, &s);
        if (block == 1) assert_true(told.tasks < 2 * N / 8);
        compare(&r, "arrow", nrhs, 2);
        end(&r);
    }
    mpk_options o = options_of(7);
    run r = go(ctx, "random 700 0.2 0.5", MPK_D, &o); /* full */
    int32_t takes;
    mpki_block_solver *s = solver_of(&r, 1, &takes);
    assert_true(mpki_cuda_sweeps_summary(s).parts > 0);
    mpki_cuda_sweeps_free(ctx, &s);
    compare(&r, "full", nrhs, 2);
    end(&r);
    mpk_context_destroy(&ctx);
}

/* n = 1, and the largest and smallest numbers in mixed precision. */
static void test_small(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    const int32_t nrhs[] = {1, 2};
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int n = 1; n < 4; n++) {
        dense a = dense_new(n, MPK_D, MPK_SYMMETRIC);
        for (int i = 0; i < n; i++) dense_set(&a, i, (i + 1) % n, 2 + i);
        mpk_options o = options_of(1);
        mpk_problem *p = dense_problem(ctx, &a, 0);
        run r = go_on(ctx, p, &o);
        compare(&r, "small", nrhs, 2);
        end(&r);
        free(a.a);
    }
    mpk_options o = options_of(6);
    run r = go(ctx, "stokes mac 5", MPK_D, &o);
    for (int sign = -1; sign < 2; sign += 2) {
        int32_t takes;
        mpki_block_solver *s = solver_of(&r, 1, &takes);
        double *x = vectors(&r, 1), *y = vectors(&r, 1);
        for (int32_t i = 0; i < r.n; i++) x[i] = y[i] = ldexp(x[i], 300 * sign);
        on_processor(&r, MPK_PART_ALL, 1, x);
        on_device(&r, s, takes, MPK_PART_ALL, 1, y, 1);
        assert_true(distance(&r, 1, x, y) <= bound_of(&r, MPK_PART_ALL, false));
        assert_true(fabs(x[0]) > 0 && isfinite(x[0]));
        free(x), free(y);
        mpki_cuda_sweeps_free(ctx, &s);
    }
    end(&r);
    mpk_context_destroy(&ctx);
}

/* While it is measured how many warps are best, and after that, bits stay the same. */
static void test_trials(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_options o = options_of(1);
    run r = go(ctx, "nlpkkt 3", MPK_D, &o);
    int32_t takes, before, changed = 0;
    mpki_block_solver *s = solver_of(&r, 1, &takes);
    double *first = vectors(&r, 1);
    before = mpki_cuda_sweeps_summary(s).warps;
    on_device(&r, s, takes, MPK_PART_ALL, 1, first, 1);
    for (int k = 0; k < 24; k++) {
        double *x = vectors(&r, 1);
        on_device(&r, s, takes, MPK_PART_ALL, 1, x, 1);
        assert_memory_equal(first, x, (size_t)r.n * 8);
        free(x);
        changed += mpki_cuda_sweeps_summary(s).warps != before;
    }
    const char *must = getenv("METAPACK_TEST_DEVICE"); /* the host's clock is made up */
    if (!must || strcmp(must, "1")) assert_true(changed > 0);
    assert_int_equal(mpki_cuda_sweeps_warps(s, 1), 1);
    double *x = vectors(&r, 1);
    on_device(&r, s, takes, MPK_PART_ALL, 1, x, 1);
    assert_memory_equal(first, x, (size_t)r.n * 8);
    free(x), free(first);
    mpki_cuda_sweeps_free(ctx, &s);
    end(&r);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trials), /* first: the host's made-up clock begins anew */
        cmocka_unit_test(test_parts),       cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_shapes),      cmocka_unit_test(test_small),
        cmocka_unit_test(test_late_levels),
    };
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
