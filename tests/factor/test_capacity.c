/* SPDX-License-Identifier: BSD-3-Clause */
/* What blocks may keep, by hand, for both rules: blocks of six rows, so of 36 places, and a
 * diagonal of 1 to begin with. */
#include "runs.h"

enum { ROWS = 6, MOST = 12, ENTRIES = 200 };

typedef struct entry {
    int32_t row, col;
    double value;
} entry;

typedef struct matrix {
    int blocks, count;
    entry e[ENTRIES];
} matrix;

static matrix diagonal(int blocks) {
    matrix a = {.blocks = blocks};
    for (int32_t i = 0; i < blocks * ROWS; i++) a.e[a.count++] = (entry){i, i, 1};
    return a;
}

static void put(matrix *a, int32_t row, int32_t col, double value) {
    assert_true(a->count < ENTRIES);
    a->e[a->count++] = (entry){row, col, value};
}

/* Entries that L has below its diagonal blocks. */
static int64_t kept(mpk_context *ctx, const matrix *a, double fill_factor, int level,
                    mpk_precision precision, mpk_capacity_rule rule) {
    int32_t start[MOST + 1], row[ENTRIES], col[ENTRIES];
    double value[ENTRIES];
    mpk_options o = complete();
    mpk_block_info info;
    run r = {0};
    for (int k = 0; k <= a->blocks; k++) start[k] = k * ROWS;
    for (int k = 0; k < a->count; k++)
        row[k] = a->e[k].row, col[k] = a->e[k].col, value[k] = a->e[k].value;
    o.ordering = MPK_ORDERING_NATURAL;
    o.given_blocks = start;
    o.matching = o.scaling = MPK_OFF;
    o.pivoting = MPK_PIVOTING_NONE;
    o.precision = precision;
    o.level = level;
    o.drop_tolerance = 0;
    o.fill_factor = fill_factor;
    o.capacity_rule = rule;
    assert_int_equal(mpk_problem_from_triplets(ctx, a->blocks * ROWS, MPK_D, MPK_SYMMETRIC,
                                               MPK_LOWER, a->count, row, col, value, &r.problem),
                     MPK_OK);
    assert_int_equal(mpk_analyse(ctx, r.problem, &o, &r.an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, r.an, NULL, &o, &r.fac), MPK_OK);
    mpk_factor_block_info_get(r.fac, &info);
    end(&r);
    return info.kept;
}

/* The last two of `blocks` blocks, the first of them with a full triangle: three entries of A
 * between them become 18 of L. */
static matrix spreading(int blocks) {
    matrix a = diagonal(blocks);
    const int32_t at = (blocks - 2) * ROWS;
    for (int32_t i = 1; i < ROWS; i++)
        for (int32_t j = 0; j < i; j++) put(&a, at + i, at + j, 0.01 * (1 + i + 7 * j));
    for (int32_t i = 0; i < 3; i++) put(&a, at + ROWS + i, at, 0.1 * (1 + i));
    return a;
}

/* A capacity of a third of the places, 12, takes half of the dense bytes with an index of four
 * bytes to each value of eight, and 9 do in single precision; in a bitmap neither does. */
static void test_keeps_all(void **state) {
    (void)state;
    mpk_context *ctx = context();
    const matrix a = spreading(2);
    for (int rule = MPK_CAPACITY_RULE_BITMAP; rule <= MPK_CAPACITY_RULE_INDEX; rule++) {
        const mpk_capacity_rule which = (mpk_capacity_rule)rule;
        const bool index = which == MPK_CAPACITY_RULE_INDEX;
        assert_int_equal(kept(ctx, &a, 11. / 3, 0, MPK_PRECISION_DOUBLE, which), 11);
        assert_int_equal(kept(ctx, &a, 4, 0, MPK_PRECISION_DOUBLE, which), index ? 18 : 12);
        assert_int_equal(kept(ctx, &a, 8. / 3, 0, MPK_PRECISION_SINGLE, which), 8);
        assert_int_equal(kept(ctx, &a, 3, 0, MPK_PRECISION_SINGLE, which), index ? 18 : 9);
        assert_int_equal(kept(ctx, &a, 0, 0, MPK_PRECISION_DOUBLE, which), 18);
    }
    mpk_context_destroy(&ctx);
}

/* Of eleven block columns the last hundredth is one, the last tenth two. */
static void test_tail(void **state) {
    (void)state;
    mpk_context *ctx = context();
    const matrix a = spreading(11);
    assert_int_equal(kept(ctx, &a, 1, 0, MPK_PRECISION_DOUBLE, MPK_CAPACITY_RULE_BITMAP), 3);
    assert_int_equal(kept(ctx, &a, 1, 0, MPK_PRECISION_DOUBLE, MPK_CAPACITY_RULE_INDEX), 18);
    mpk_context_destroy(&ctx);
}

/* The first of three blocks has four entries in each of the others, whose block of fill then has
 * 16. In A nothing but the diagonal, six entries, is in the column of that one. */
static void test_mean(void **state) {
    (void)state;
    mpk_context *ctx = context();
    matrix a = diagonal(3);
    for (int32_t i = 0; i < 4; i++) {
        put(&a, ROWS + i, 0, 0.1 * (1 + i));
        put(&a, 2 * ROWS + i, 0, 0.15 * (1 + i));
    }
    assert_int_equal(kept(ctx, &a, 1, 1, MPK_PRECISION_DOUBLE, MPK_CAPACITY_RULE_BITMAP),
                     4 + 4 + 1);
    assert_int_equal(kept(ctx, &a, 1, 1, MPK_PRECISION_DOUBLE, MPK_CAPACITY_RULE_INDEX), 4 + 4 + 6);
    put(&a, 2 * ROWS + 5, ROWS + 5, 0.2); /* one of A: its capacity is that, and no mean's */
    assert_int_equal(kept(ctx, &a, 1, 1, MPK_PRECISION_DOUBLE, MPK_CAPACITY_RULE_INDEX), 4 + 4 + 1);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps_all),
        cmocka_unit_test(test_tail),
        cmocka_unit_test(test_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
