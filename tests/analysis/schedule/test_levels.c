/* SPDX-License-Identifier: BSD-3-Clause */
/* Level sets against the longest path. */
#include "../block/cases.h"

/* Longest path to each frame among those at places >= first, by relaxing until nothing changes. */
static void check(const mpki_ibcsr *x, int32_t first) {
    int32_t m = x->m, highest = -1, *level = calloc((size_t)m + 1, sizeof *level);
    mpki_levels levels;
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t f = 0; f < m; f++)
            for (int64_t e = x->ptr[f]; e < x->ptr[f + 1]; e++) {
                int32_t g = x->entry[e].other;
                if (x->place[f] < first || x->place[g] <= x->place[f]) continue;
                if (level[g] > level[f]) continue;
                level[g] = level[f] + 1;
                changed = true;
            }
    }
    assert_int_equal(mpki_levels_make(ctx, x, first, &levels), MPK_OK);
    assert_int_equal(mpki_levels_check(ctx, x, &levels), MPK_OK);
    assert_int_equal(levels.ptr[0], 0);
    assert_int_equal(levels.ptr[levels.count], m - first);
    for (int32_t s = 0; s < levels.count; s++) {
        assert_true(levels.ptr[s + 1] > levels.ptr[s]);
        for (int32_t k = levels.ptr[s]; k < levels.ptr[s + 1]; k++) {
            int32_t f = levels.frame[k];
            assert_true(x->place[f] >= first);
            assert_int_equal(level[f], s);
            if (k > levels.ptr[s]) assert_true(x->place[f] > x->place[levels.frame[k - 1]]);
        }
    }
    for (int32_t p = first; p < m; p++)
        if (level[x->frame[p]] > highest) highest = level[x->frame[p]];
    assert_int_equal(levels.count, highest + 1);
    mpki_levels_free(ctx, &levels);
    assert_null(levels.frame);
    mpki_levels_free(ctx, &levels);
    free(level);
}

static void test_longest_path(void **state) {
    (void)state;
    int32_t frames[64];
    for (int kind = 0; kind < KINDS; kind++)
        for (int32_t n = 0; n < 60; n += n < 4 ? 1 : 11)
            for (int level = 0; level < 2; level++) {
                pattern p = pattern_kind(kind, n);
                mpki_ibcsr x = index_of(&p, level);
                check(&x, 0);
                check(&x, n / 3);
                check(&x, n);
                int32_t last = n;
                for (int stage = 0; stage < 3; stage++) {
                    last = random_frames(&x, last, 50, frames);
                    assert_int_equal(mpki_ibcsr_push_back(ctx, &x, last, frames), MPK_OK);
                    check(&x, n - last);
                    check(&x, 0);
                }
                mpki_ibcsr_free(ctx, &x);
                free(p.entry);
            }
}

static void test_count(void **state) {
    (void)state;
    for (int kind = 0; kind < KINDS; kind++)
        for (int32_t n = 0; n < 60; n += n < 4 ? 1 : 11) {
            pattern p = pattern_kind(kind, n);
            mpki_pattern c = columns_of(&p);
            mpki_ibcsr x = index_of(&p, 0);
            mpki_levels levels, subsets;
            int32_t a, b, again;
            assert_int_equal(mpki_levels_make(ctx, &x, 0, &levels), MPK_OK);
            assert_int_equal(mpki_subsets_make(ctx, &x, &levels, &subsets, NULL), MPK_OK);
            assert_int_equal(mpki_count_levels(ctx, &c, &a, &b), MPK_OK);
            assert_int_equal(a, levels.count);
            assert_int_equal(b, subsets.count);
            assert_int_equal(mpki_count_levels(ctx, &c, &again, NULL), MPK_OK);
            assert_int_equal(a, again);
            assert_int_equal(mpki_count_levels(ctx, &c, NULL, &again), MPK_OK);
            assert_int_equal(b, again);
            mpki_levels_free(ctx, &levels);
            mpki_levels_free(ctx, &subsets);
            mpki_ibcsr_free(ctx, &x);
            mpki_pattern_free(ctx, &c);
            free(p.entry);
        }
}

/* A frame moved to the set before, or listed twice, is seen. */
static void test_check(void **state) {
    (void)state;
    pattern p = pattern_kind(2, 20);
    mpki_ibcsr x = index_of(&p, 0);
    mpki_levels levels;
    assert_int_equal(mpki_levels_make(ctx, &x, 0, &levels), MPK_OK);
    assert_true(levels.count > 3);
    for (int32_t s = 1; s < levels.count; s++) {
        levels.ptr[s]++;
        mpki_clear_error(ctx);
        assert_int_equal(mpki_levels_check(ctx, &x, &levels), MPK_ERR_INTERNAL);
        levels.ptr[s]--;
    }
    int32_t f = levels.frame[3];
    levels.frame[3] = levels.frame[5];
    mpki_clear_error(ctx);
    assert_int_equal(mpki_levels_check(ctx, &x, &levels), MPK_ERR_INTERNAL);
    levels.frame[3] = f;
    mpki_clear_error(ctx);
    assert_int_equal(mpki_levels_check(ctx, &x, &levels), MPK_OK);
    mpki_levels_free(ctx, &levels);
    mpki_ibcsr_free(ctx, &x);
    free(p.entry);
}

static void test_no_memory(void **state) {
    (void)state;
    pattern p = pattern_kind(1, 30);
    mpki_ibcsr x = index_of(&p, 0);
    mpki_pattern c = columns_of(&p);
    mpki_levels levels;
    int32_t a, b;
    for (int act = 0; act < 3; act++) {
        mpk_status status = MPK_ERR_MEMORY;
        long k = 0;
        for (; status; k++) {
            mpki_clear_error(ctx);
            test_memory.countdown = k;
            status = act == 0   ? mpki_levels_make(ctx, &x, 5, &levels)
                     : act == 1 ? mpki_levels_check(ctx, &x, &levels)
                                : mpki_count_levels(ctx, &c, &a, &b);
            test_memory.countdown = -1;
            assert_true(k < 100);
            if (!mpk_failed(status)) break;
            assert_int_equal(status, MPK_ERR_MEMORY);
            if (act == 0) assert_null(levels.ptr);
        }
        assert_true(k > 0);
    }
    mpki_levels_free(ctx, &levels);
    mpki_pattern_free(ctx, &c);
    mpki_ibcsr_free(ctx, &x);
    free(p.entry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_longest_path, setup, teardown),
        cmocka_unit_test_setup_teardown(test_count, setup, teardown),
        cmocka_unit_test_setup_teardown(test_check, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
