/* SPDX-License-Identifier: BSD-3-Clause */
/* Conflict-free subsets: each level is partitioned, first fit, and nothing conflicts. */
#include "../block/cases.h"

/* Do two frames share a successor? By the definition. */
static bool conflict(const mpki_ibcsr *x, int32_t f, int32_t g) {
    for (int64_t a = x->diagonal[f] + 1; a < x->ptr[f + 1]; a++)
        for (int64_t b = x->diagonal[g] + 1; b < x->ptr[g + 1]; b++)
            if (x->entry[a].other == x->entry[b].other) return true;
    return false;
}

/* first_fit: also that every frame has the lowest colour it can have after those before it. */
static void check(const mpki_ibcsr *x, bool first_fit) {
    mpki_levels levels, subsets;
    int32_t *of, set = 0;
    assert_int_equal(mpki_levels_make(ctx, x, 0, &levels), MPK_OK);
    assert_int_equal(mpki_subsets_make(ctx, x, &levels, &subsets, &of), MPK_OK);
    assert_int_equal(mpki_subsets_check(ctx, x, &subsets), MPK_OK);
    char *seen = calloc((size_t)x->m + 1, 1);
    for (int32_t s = 0; s < levels.count; s++) {
        int32_t first = set, members = 0;
        for (; set < subsets.count && of[set] == s; set++) {
            assert_true(subsets.ptr[set + 1] > subsets.ptr[set]);
            for (int32_t k = subsets.ptr[set]; k < subsets.ptr[set + 1]; k++) {
                int32_t f = subsets.frame[k];
                assert_false(seen[f]);
                seen[f] = 1;
                members++;
                if (k > subsets.ptr[set]) assert_true(x->place[f] > x->place[subsets.frame[k - 1]]);
                for (int32_t j = subsets.ptr[set]; j < k; j++)
                    assert_false(conflict(x, f, subsets.frame[j]));
                for (int32_t lower = first; first_fit && lower < set; lower++) {
                    bool blocked = false;
                    for (int32_t j = subsets.ptr[lower]; j < subsets.ptr[lower + 1]; j++)
                        if (x->place[subsets.frame[j]] < x->place[f])
                            blocked = blocked || conflict(x, f, subsets.frame[j]);
                    assert_true(blocked);
                }
            }
        }
        assert_int_equal(members, levels.ptr[s + 1] - levels.ptr[s]);
        for (int32_t k = levels.ptr[s]; k < levels.ptr[s + 1]; k++)
            assert_true(seen[levels.frame[k]]);
    }
    assert_int_equal(set, subsets.count);
    free(seen);
    mpki_release(ctx, of);
    mpki_levels_free(ctx, &levels);
    mpki_levels_free(ctx, &subsets);
}

static void test_random(void **state) {
    (void)state;
    int32_t frames[64];
    for (int kind = 0; kind < KINDS; kind++)
        for (int32_t n = 0; n < 60; n += n < 4 ? 1 : 11)
            for (int level = 0; level < 2; level++) {
                pattern p = pattern_kind(kind, n);
                mpki_ibcsr x = index_of(&p, level);
                check(&x, true);
                int32_t last = random_frames(&x, n, 50, frames);
                assert_int_equal(mpki_ibcsr_push_back(ctx, &x, last, frames), MPK_OK);
                check(&x, true);
                mpki_ibcsr_free(ctx, &x);
                free(p.entry);
            }
}

/* Leaves l of `width` each, updating one of `hubs` successors at random, and their neighbours' hub:
 * levels with many more colours than a window has, and chains of conflicts between. */
static mpki_pattern star(int32_t leaves, int32_t hubs, bool second) {
    int32_t m = leaves + hubs;
    mpki_pattern p = {.m = m,
                      .ptr = MPKI_NEW(ctx, "test", (int64_t)m + 1, int64_t),
                      .row = MPKI_NEW(ctx, "test", 3 * (int64_t)m, int32_t)};
    int64_t k = 0;
    for (int32_t j = 0; j < m; j++) {
        p.ptr[j] = k;
        p.row[k++] = j;
        if (j >= leaves) continue;
        int32_t a = random_below(hubs), b = random_below(hubs);
        p.row[k++] = leaves + (a < b ? a : b);
        if (second && a != b) p.row[k++] = leaves + (a < b ? b : a);
    }
    p.ptr[m] = k;
    return p;
}

static void test_windows(void **state) {
    (void)state;
    const int32_t leaves[] = {63, 64, 65, 200, 700}, hubs[] = {1, 2, 3, 40};
    for (int a = 0; a < 5; a++)
        for (int b = 0; b < 4; b++) {
            mpki_pattern p = star(leaves[a], hubs[b], true);
            mpki_ibcsr x;
            assert_int_equal(mpki_ibcsr_make(ctx, &p, &x), MPK_OK);
            check(&x, leaves[a] < 300);
            int32_t levels, sublevels;
            assert_int_equal(mpki_count_levels(ctx, &p, &levels, &sublevels), MPK_OK);
            if (hubs[b] == 1) assert_int_equal(sublevels, leaves[a] + 1);
            mpki_ibcsr_free(ctx, &x);
            mpki_pattern_free(ctx, &p);
        }
}

/* More than all windows hold: the rest is coloured by another rule, still without conflict. */
static void test_beyond_windows(void **state) {
    (void)state;
    for (int32_t hubs = 1; hubs < 4; hubs++) {
        mpki_pattern p = star(12000, hubs, true);
        mpki_ibcsr x;
        mpki_levels levels, subsets;
        assert_int_equal(mpki_ibcsr_make(ctx, &p, &x), MPK_OK);
        assert_int_equal(mpki_levels_make(ctx, &x, 0, &levels), MPK_OK);
        assert_int_equal(mpki_subsets_make(ctx, &x, &levels, &subsets, NULL), MPK_OK);
        assert_int_equal(mpki_subsets_check(ctx, &x, &subsets), MPK_OK);
        assert_true(subsets.count > 4097); /* so it came to that */
        if (hubs == 1) assert_int_equal(subsets.count, 12001);
        int32_t again;
        assert_int_equal(mpki_count_levels(ctx, &p, NULL, &again), MPK_OK);
        assert_int_equal(again, subsets.count);
        mpki_levels_free(ctx, &levels);
        mpki_levels_free(ctx, &subsets);
        mpki_ibcsr_free(ctx, &x);
        mpki_pattern_free(ctx, &p);
    }
}

/* The checker sees two frames that conflict. */
static void test_check(void **state) {
    (void)state;
    mpki_pattern p = star(30, 3, false);
    mpki_ibcsr x;
    mpki_levels levels;
    assert_int_equal(mpki_ibcsr_make(ctx, &p, &x), MPK_OK);
    assert_int_equal(mpki_levels_make(ctx, &x, 0, &levels), MPK_OK);
    assert_int_equal(mpki_levels_check(ctx, &x, &levels), MPK_OK);
    assert_int_equal(mpki_subsets_check(ctx, &x, &levels), MPK_ERR_INTERNAL);
    mpki_levels_free(ctx, &levels);
    mpki_ibcsr_free(ctx, &x);
    mpki_pattern_free(ctx, &p);
}

static void test_no_memory(void **state) {
    (void)state;
    pattern p = pattern_kind(1, 30);
    mpki_ibcsr x = index_of(&p, 0);
    mpki_levels levels, subsets;
    int32_t *of;
    assert_int_equal(mpki_levels_make(ctx, &x, 0, &levels), MPK_OK);
    for (int act = 0; act < 2; act++) {
        mpk_status status = MPK_ERR_MEMORY;
        long k = 0;
        for (; status; k++) {
            mpki_clear_error(ctx);
            test_memory.countdown = k;
            status = act == 0 ? mpki_subsets_make(ctx, &x, &levels, &subsets, &of)
                              : mpki_subsets_check(ctx, &x, &subsets);
            test_memory.countdown = -1;
            assert_true(k < 100);
            if (!mpk_failed(status)) break;
            assert_int_equal(status, MPK_ERR_MEMORY);
            if (act == 0) assert_true(!subsets.ptr && !of);
        }
        assert_true(k > 0);
    }
    mpki_release(ctx, of);
    mpki_levels_free(ctx, &levels);
    mpki_levels_free(ctx, &subsets);
    mpki_ibcsr_free(ctx, &x);
    free(p.entry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random, setup, teardown),
        cmocka_unit_test_setup_teardown(test_windows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_beyond_windows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_check, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
