/* SPDX-License-Identifier: BSD-3-Clause */
/* Fill against the definitions, on dense patterns. */
#include "cases.h"

static void check_rule(const pattern *p, int level, mpk_level_rule rule) {
    mpki_pattern a = columns_of(p), filled;
    int *lev = levels_by_rule(p, level, rule == MPK_LEVEL_RULE_MAX);
    assert_int_equal(mpki_pattern_fill_by(ctx, &a, level, rule, 1, 0, &filled), MPK_OK);
    pattern got = dense_of(&filled);
    for (int32_t i = 0; i < p->n; i++)
        for (int32_t j = 0; j <= i; j++)
            assert_int_equal(has(&got, i, j), lev[(size_t)i * p->n + j] >= 0);
    free(got.entry);
    free(lev);
    mpki_pattern_free(ctx, &filled);
    mpki_pattern_free(ctx, &a);
}

static void check_level(const pattern *p, int level) {
    check_rule(p, level, MPK_LEVEL_RULE_SUM);
    check_rule(p, level, MPK_LEVEL_RULE_MAX);
}

/* The path 4 - 0 - 2 - 1 - 5, its inner vertices before its ends: (4, 2) and (5, 2) have level 1,
 * and so (5, 4) level 3 by sums and 2 by the maximum. */
static void test_rules_differ(void **state) {
    (void)state;
    pattern p = pattern_new(6);
    const int32_t edges[][2] = {{4, 0}, {2, 0}, {2, 1}, {5, 1}};
    for (int k = 0; k < 6; k++) pattern_set(&p, k, k);
    for (int k = 0; k < 4; k++) pattern_set(&p, edges[k][0], edges[k][1]);
    mpki_pattern a = columns_of(&p), sum, max;
    assert_int_equal(mpki_pattern_fill_by(ctx, &a, 2, MPK_LEVEL_RULE_SUM, 1, 0, &sum), MPK_OK);
    assert_int_equal(mpki_pattern_fill_by(ctx, &a, 2, MPK_LEVEL_RULE_MAX, 1, 0, &max), MPK_OK);
    assert_int_equal(sum.ptr[6], 6 + 4 + 2);
    assert_int_equal(max.ptr[6], 6 + 4 + 3);
    mpki_pattern_free(ctx, &sum);
    mpki_pattern_free(ctx, &max);
    mpki_pattern_free(ctx, &a);
    free(p.entry);
}

static void test_levels_and_complete(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int32_t n = 0; n < 70; n += n < 4 ? 1 : 11) {
            pattern p = pattern_kind(kind, n);
            for (int level = -1; level <= 5; level++) check_level(&p, level);
            free(p.entry);
        }
}

/* Whether the search does what the recursion says must not depend on luck with one graph. */
static void test_many_small(void **state) {
    (void)state;
    for (int k = 0; k < 300; k++) {
        pattern p = pattern_random(1 + random_below(14), random_below(40), 100);
        for (int level = -1; level <= 4; level++) check_level(&p, level);
        free(p.entry);
    }
}

static void test_elimination(void **state) {
    (void)state;
    pattern p = pattern_kind(0, 60);
    int32_t *perm = malloc(60 * sizeof *perm);
    char *full = malloc(60 * 60);
    double flops;
    for (int32_t k = 0; k < 60; k++) perm[k] = k;
    int64_t nnz = eliminate(&p, perm, full, &flops);
    mpki_pattern a = columns_of(&p), filled;
    assert_int_equal(mpki_pattern_fill(ctx, &a, -1, 1, 0, &filled), MPK_OK);
    assert_int_equal(filled.ptr[60], nnz);
    mpki_pattern_free(ctx, &filled);
    mpki_pattern_free(ctx, &a);
    free(perm), free(full), free(p.entry);
}

/* Several chunks of columns: any number of threads gives the same result. */
static void test_threads(void **state) {
    (void)state;
    pattern p = pattern_random(900, 2000, 100);
    mpki_pattern a = columns_of(&p), one, many;
    for (int level = -1; level < 4; level++) {
        assert_int_equal(mpki_pattern_fill(ctx, &a, level, 1, 0, &one), MPK_OK);
        for (int threads = 2; threads <= 4; threads++) {
            assert_int_equal(mpki_pattern_fill(ctx, &a, level, threads, 0, &many), MPK_OK);
            assert_memory_equal(one.ptr, many.ptr, 901 * sizeof *one.ptr);
            assert_memory_equal(one.row, many.row, (size_t)one.ptr[900] * sizeof *one.row);
            mpki_pattern_free(ctx, &many);
        }
        mpki_pattern_free(ctx, &one);
    }
    mpki_pattern_free(ctx, &a);
    free(p.entry);
}

static void test_max_blocks(void **state) {
    (void)state;
    pattern p = pattern_kind(1, 300);
    mpki_pattern a = columns_of(&p), filled;
    for (int level = -1; level < 4; level++) {
        assert_int_equal(mpki_pattern_fill(ctx, &a, level, 2, 0, &filled), MPK_OK);
        int64_t blocks = filled.ptr[300];
        mpki_pattern_free(ctx, &filled);
        assert_int_equal(mpki_pattern_fill(ctx, &a, level, 2, blocks, &filled), MPK_OK);
        mpki_pattern_free(ctx, &filled);
        for (int64_t bound = 1; bound < blocks; bound += bound < blocks - 40 ? blocks / 5 : 1) {
            mpki_clear_error(ctx);
            assert_int_equal(mpki_pattern_fill(ctx, &a, level, 2, bound, &filled), MPK_ERR_MEMORY);
            assert_null(filled.ptr);
            assert_null(filled.row);
        }
    }
    mpki_pattern_free(ctx, &a);
    free(p.entry);
}

static void test_no_memory(void **state) {
    (void)state;
    pattern p = pattern_kind(1, 300);
    mpki_pattern a = columns_of(&p), filled;
    for (int level = -1; level < 3; level++)
        for (int threads = 1; threads < 3; threads++) {
            long k = 0;
            mpk_status status = MPK_ERR_MEMORY;
            for (; status; k++) {
                mpki_clear_error(ctx);
                test_memory.countdown = k;
                status = mpki_pattern_fill(ctx, &a, level, threads, 0, &filled);
                test_memory.countdown = -1;
                if (mpk_failed(status)) assert_int_equal(status, MPK_ERR_MEMORY);
                if (mpk_failed(status)) assert_null(filled.ptr);
                assert_true(k < 1000);
            }
            assert_true(k > (level == 0 ? 1 : 4));
            mpki_pattern_free(ctx, &filled);
        }
    mpki_pattern_free(ctx, &a);
    free(p.entry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rules_differ, setup, teardown),
        cmocka_unit_test_setup_teardown(test_levels_and_complete, setup, teardown),
        cmocka_unit_test_setup_teardown(test_many_small, setup, teardown),
        cmocka_unit_test_setup_teardown(test_elimination, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_max_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
