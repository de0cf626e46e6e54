/* SPDX-License-Identifier: BSD-3-Clause */
/* The pattern on which a general matrix is analysed, against a dense table; and what level sets and
 * subsets of it promise for L and U, by eliminating the unsymmetric pattern itself. */
#include "cases.h"

/* A pattern without symmetry: entry[i * n + j]. */
static pattern general_random(int32_t n, int percent) {
    pattern p = pattern_new(n);
    for (int64_t k = 0; k < (int64_t)n * n; k++) p.entry[k] = random_below(100) < percent;
    return p;
}

typedef struct columns {
    int64_t *ap;
    int32_t *ai;
} columns;

/* Rows in falling order: they need not be sorted. */
static columns to_columns(const pattern *p) {
    columns c = {malloc(((size_t)p->n + 1) * sizeof *c.ap),
                 malloc(((size_t)p->n * p->n + 1) * sizeof *c.ai)};
    int64_t k = 0;
    c.ap[0] = 0;
    for (int32_t j = 0; j < p->n; j++) {
        for (int32_t i = p->n; i-- > 0;)
            if (has(p, i, j)) c.ai[k++] = i;
        c.ap[j + 1] = k;
    }
    return c;
}

static void random_order(int32_t n, int32_t *order) {
    for (int32_t k = 0; k < n; k++) {
        const int32_t j = random_below(k + 1);
        order[k] = order[j];
        order[j] = k;
    }
}

static void check_union(const pattern *p, const int32_t *row_of) {
    const int32_t n = p->n;
    const columns c = to_columns(p);
    mpki_union u;
    assert_int_equal(mpki_union_make(ctx, n, c.ap, c.ai, row_of, &u), MPK_OK);
    assert_int_equal(u.ap[0], 0);
    for (int32_t j = 0; j < n; j++) {
        int64_t k = u.ap[j];
        for (int32_t i = j; i < n; i++) { /* sorted, each once, and nothing else */
            if (!has(p, row_of ? row_of[i] : i, j) && !has(p, row_of ? row_of[j] : j, i)) continue;
            assert_true(k < u.ap[j + 1]);
            assert_int_equal(u.ai[k++], i);
        }
        assert_int_equal(k, u.ap[j + 1]);
    }
    mpki_union_free(ctx, &u);
    assert_null(u.ap);
    free(c.ap), free(c.ai);
}

static void test_against_table(void **state) {
    (void)state;
    int32_t order[64];
    for (int32_t n = 0; n < 30; n += n < 4 ? 1 : 5)
        for (int percent = 0; percent <= 100; percent += 20) {
            pattern p = general_random(n, percent);
            check_union(&p, NULL);
            random_order(n, order);
            check_union(&p, order);
            free(p.entry);
        }
}

/* The complete L and U of an unsymmetric pattern, in place. */
static void eliminate_general(pattern *p) {
    const int32_t n = p->n;
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = k + 1; i < n; i++)
            for (int32_t j = k + 1; j < n && has(p, i, k); j++)
                if (has(p, k, j)) p->entry[(size_t)i * n + j] = 1;
}

/* Do pivots p and q both write to a block (i, j)? Thuerck 2021, theorem 4. */
static bool write_conflict(const pattern *lu, int32_t p, int32_t q) {
    const int32_t later = p > q ? p : q;
    for (int32_t i = later + 1; i < lu->n; i++)
        for (int32_t j = later + 1; j < lu->n; j++)
            if (has(lu, i, p) && has(lu, p, j) && has(lu, i, q) && has(lu, q, j)) return true;
    return false;
}

/* In one level no pivot needs another; in one subset no two write to the same place. */
static void check_sets(const pattern *lu, const mpki_levels *sets, bool conflicts_too,
                       int64_t *pairs) {
    for (int32_t s = 0; s < sets->count; s++)
        for (int32_t a = sets->ptr[s]; a < sets->ptr[s + 1]; a++)
            for (int32_t b = sets->ptr[s]; b < a; b++) {
                const int32_t p = sets->frame[a], q = sets->frame[b];
                assert_false(has(lu, p, q) || has(lu, q, p));
                if (conflicts_too) assert_false(write_conflict(lu, p, q));
                ++*pairs;
            }
}

static void test_theorem_4(void **state) {
    (void)state;
    int64_t in_levels = 0, in_subsets = 0, conflicts = 0;
    for (int trial = 0; trial < 200; trial++) {
        const int32_t n = 4 + trial % 57;
        pattern p = general_random(n, 1 + trial % 5);
        for (int32_t i = 0; i < n; i++) p.entry[(size_t)i * n + i] = 1;
        const columns c = to_columns(&p);
        mpki_union u;
        mpki_ibcsr x;
        mpki_pattern a, filled;
        mpki_levels levels, subsets;
        assert_int_equal(mpki_union_make(ctx, n, c.ap, c.ai, NULL, &u), MPK_OK);
        a = (mpki_pattern){n, u.ap, u.ai};
        assert_int_equal(mpki_pattern_fill(ctx, &a, -1, 1, 0, &filled), MPK_OK);
        assert_int_equal(mpki_ibcsr_make(ctx, &filled, &x), MPK_OK);
        assert_int_equal(mpki_levels_make(ctx, &x, 0, &levels), MPK_OK);
        assert_int_equal(mpki_subsets_make(ctx, &x, &levels, &subsets, NULL), MPK_OK);
        eliminate_general(&p);
        for (int32_t j = 0; j < n; j++) /* every block of L and of U has a place in the fill */
            for (int32_t i = 0; i < n; i++) {
                const int32_t row = i > j ? i : j, col = i > j ? j : i;
                bool there = false;
                for (int64_t k = filled.ptr[col]; k < filled.ptr[col + 1]; k++)
                    there |= filled.row[k] == row;
                assert_true(there || !has(&p, i, j));
            }
        check_sets(&p, &levels, false, &in_levels);
        check_sets(&p, &subsets, true, &in_subsets);
        for (int32_t s = 0; s < levels.count; s++) /* the subsets are needed */
            for (int32_t e = levels.ptr[s]; e < levels.ptr[s + 1]; e++)
                for (int32_t f = levels.ptr[s]; f < e; f++)
                    conflicts += write_conflict(&p, levels.frame[e], levels.frame[f]);
        mpki_levels_free(ctx, &levels);
        mpki_levels_free(ctx, &subsets);
        mpki_ibcsr_free(ctx, &x);
        mpki_pattern_free(ctx, &filled);
        mpki_union_free(ctx, &u);
        free(c.ap), free(c.ai), free(p.entry);
    }
    if (!(in_subsets > 100 && in_levels > in_subsets && conflicts > 10))
        fail_msg("%lld pairs in levels, %lld in subsets, %lld conflicts: too few to tell",
                 (long long)in_levels, (long long)in_subsets, (long long)conflicts);
}

static void test_memory_runs_out(void **state) {
    (void)state;
    pattern p = general_random(20, 20);
    const columns c = to_columns(&p);
    mpki_union u;
    for (int k = 0;; k++) {
        test_memory.countdown = k;
        const mpk_status status = mpki_union_make(ctx, 20, c.ap, c.ai, NULL, &u);
        test_memory.countdown = -1;
        if (status == MPK_OK) break;
        assert_int_equal(status, MPK_ERR_MEMORY);
        assert_null(u.ap);
        assert_null(u.ai);
        mpki_clear_error(ctx);
    }
    mpki_union_free(ctx, &u);
    free(c.ap), free(c.ai), free(p.entry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_against_table, setup, teardown),
        cmocka_unit_test_setup_teardown(test_theorem_4, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_runs_out, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
