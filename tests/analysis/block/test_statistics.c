/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a blocking against what brute force counts. */
#include "analysis/block/statistics.h"
#include "analysis/context.h"

/* Level of fill of every entry (n x n, by position), by the sum rule; -1: none. */
static int *fill_levels(const pattern *p, const int32_t *perm) {
    int32_t n = p->n;
    int *level = malloc(((size_t)n * n + 1) * sizeof *level);
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j < n; j++)
            level[(size_t)i * n + j] = i == j || p->entry[(size_t)perm[i] * n + perm[j]] ? 0 : -1;
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = k + 1; i < n; i++)
            for (int32_t j = k + 1; j < n; j++) {
                int a = level[(size_t)i * n + k], b = level[(size_t)k * n + j];
                int *to = &level[(size_t)i * n + j];
                if (a < 0 || b < 0) continue;
                if (*to < 0 || *to > a + b + 1) *to = a + b + 1;
            }
    return level;
}

static void expect(const pattern *p, const mpki_blocking *b, const mpk_block_level *row) {
    int32_t n = p->n, depth = 0, frames = b->nframes, levels = 0;
    int *level = fill_levels(p, b->perm);
    int32_t *at = calloc((size_t)n + 1, sizeof *at), *frame_at = calloc((size_t)n + 1, sizeof *at);
    int64_t nnz = 0, capacity = 0, blocks = 0;
    double shares = 0;
    pattern coarse = pattern_new(frames);
    int32_t *identity = malloc(((size_t)n + 1) * sizeof *identity);
    for (int32_t i = 0; i < n; i++) {
        identity[i] = i;
        for (int32_t j = 0; j <= i; j++) {
            if (p->entry[(size_t)b->perm[i] * n + b->perm[j]])
                pattern_set(&coarse, b->of[i], b->of[j]);
            int l = level[(size_t)i * n + j];
            if (l < 0 || (row->level >= 0 && l > row->level)) continue;
            nnz++;
            shares += 1 / mpki_block_room(b, b->of[i], b->of[j]);
            if (j < i && at[i] <= at[j]) at[i] = at[j] + 1;
        }
        if (at[i] >= depth) depth = at[i] + 1;
    }
    int *block_level = fill_levels(&coarse, identity);
    for (int32_t i = 0; i < frames; i++) {
        for (int32_t j = 0; j <= i; j++) {
            int l = block_level[(size_t)i * frames + j];
            if (l < 0 || (row->level >= 0 && l > row->level)) continue;
            blocks++;
            capacity += (int64_t)mpki_block_room(b, i, j);
            if (j < i && frame_at[i] <= frame_at[j]) frame_at[i] = frame_at[j] + 1;
        }
        if (frame_at[i] >= levels) levels = frame_at[i] + 1;
    }
    assert_int_equal(row->blocks, blocks);
    assert_int_equal(row->capacity, capacity);
    assert_int_equal(row->levels, levels);
    assert_true(row->sublevels >= levels && row->sublevels <= frames);
    assert_int_equal(row->scalar_nnz, nnz);
    assert_int_equal(row->scalar_depth, depth);
    assert_true(nnz <= capacity); /* no entry falls outside the blocks */
    if (n > 0) {
        assert_true(fabs(row->mean_fill - shares / (double)blocks) < 1e-12);
        assert_true(row->mean_fill <= 1 + 1e-12);
        assert_true(fabs(row->memory_ratio - (double)capacity / (double)nnz) < 1e-12);
        assert_true(fabs(row->mean_block - (double)capacity / (double)blocks) < 1e-9);
    }
    free(level);
    free(block_level);
    free(at);
    free(frame_at);
    free(identity);
    free(coarse.entry);
}

static void test_against_brute_force(void **state) {
    (void)state;
    static const int32_t levels[] = {0, 1, 2, 5, -1};
    enum { LEVELS = sizeof levels / sizeof *levels };
    for (int trial = 0; trial < 120; trial++) {
        int32_t n = trial < 4 ? trial : random_below(45);
        pattern p =
            trial % 3 ? pattern_random(n, random_below(2 * n + 1), 70) : pattern_grid(1 + n / 7, 7);
        if (trial < 4) {
            free(p.entry);
            p = pattern_random(trial, trial, 50);
        }
        mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
        mpk_options options;
        mpk_block_stats stats;
        mpk_options_init(&options);
        options.strategy = (mpk_strategy)(1 + trial % 3);
        options.ordering = trial % 2 ? MPK_ORDERING_AMD : MPK_ORDERING_GMC;
        options.block = 1 + random_below(6);
        options.grid = random_below(2) ? MPK_ON : MPK_OFF;
        options.matching = MPK_OFF;
        options.threads = 1 + trial % 2;
        assert_int_equal(mpk_block_statistics(ctx, a, &options, levels, LEVELS, 1, &stats), MPK_OK);
        mpki_graph graph;
        mpki_blocking b;
        assert_int_equal(mpki_graph_build(ctx, a->n, a->ap, a->ai, NULL, NULL, &graph), MPK_OK);
        assert_int_equal(mpki_blocking_make(ctx, &graph, NULL, &options, &b), MPK_OK);
        assert_int_equal(stats.n, p.n);
        assert_int_equal(stats.count, LEVELS);
        assert_int_equal(stats.block_rows, b.nframes);
        assert_int_equal(stats.largest, b.largest);
        assert_int_equal(stats.strategy, options.strategy);
        for (int k = 0; k < LEVELS; k++) {
            assert_int_equal(stats.row[k].level, levels[k]);
            expect(&p, &b, &stats.row[k]);
        }
        double shares = 0;
        for (int32_t j = 0; j < a->n; j++)
            for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++)
                shares += 1 / mpki_block_room(&b, b.of[b.iperm[j]], b.of[b.iperm[a->ai[k]]]);
        if (p.n > 0)
            assert_true(fabs(stats.input_fill - shares / (double)stats.row[0].blocks) < 1e-12);
        mpk_block_stats_clear(ctx, &stats);
        mpki_blocking_free(ctx, &b);
        mpki_graph_free(ctx, &graph);
        problem_free(&a);
        free(p.entry);
    }
}

/* Enough rows for several work items of the complete factor. */
static void test_threads(void **state) {
    (void)state;
    mpk_problem *a = NULL;
    const int32_t level = -1;
    mpk_block_stats one, two;
    mpk_options options;
    mpk_options_init(&options);
    options.strategy = MPK_STRATEGY_RBR;
    options.ordering = MPK_ORDERING_AMD;
    assert_int_equal(mpk_problem_generate(ctx, "lin 20", 1, &a), MPK_OK);
    options.threads = 1;
    assert_int_equal(mpk_block_statistics(ctx, a, &options, &level, 1, 1, &one), MPK_OK);
    options.threads = 3;
    assert_int_equal(mpk_block_statistics(ctx, a, &options, &level, 1, 1, &two), MPK_OK);
    assert_true(one.row[0].mean_fill == two.row[0].mean_fill);
    assert_int_equal(one.row[0].scalar_nnz, two.row[0].scalar_nnz);
    assert_int_equal(one.row[0].blocks, two.row[0].blocks);
    mpk_block_stats_clear(ctx, &one);
    mpk_block_stats_clear(ctx, &two);
    mpk_problem_destroy(&a);
}

static void test_without_scalar(void **state) {
    (void)state;
    pattern p = pattern_grid(6, 6);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    const int32_t level = 0;
    mpk_block_stats stats;
    assert_int_equal(mpk_block_statistics(ctx, a, NULL, &level, 1, 0, &stats), MPK_OK);
    assert_int_equal(stats.row[0].scalar_nnz, -1);
    assert_int_equal(stats.row[0].scalar_depth, -1);
    assert_true(stats.row[0].mean_fill == -1 && stats.row[0].memory_ratio == -1);
    assert_true(stats.row[0].blocks > 0);
    assert_int_not_equal(stats.strategy, MPK_STRATEGY_AUTO);
    mpk_block_stats_clear(ctx, &stats);
    assert_null(stats.row);
    mpk_block_stats_clear(ctx, NULL);
    problem_free(&a);
    free(p.entry);
}

static void test_arguments(void **state) {
    (void)state;
    pattern p = pattern_grid(3, 3);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    const int32_t level = 0, bad = -2;
    int32_t twice[9] = {0};
    mpk_block_stats stats;
    mpk_options options;
    mpk_options_init(&options);
    assert_int_equal(mpk_block_statistics(NULL, a, NULL, &level, 1, 0, &stats), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_block_statistics(ctx, NULL, NULL, &level, 1, 0, &stats), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_block_statistics(ctx, a, NULL, NULL, 1, 0, &stats), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_block_statistics(ctx, a, NULL, &level, -1, 0, &stats), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_block_statistics(ctx, a, NULL, &level, 1, 0, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_block_statistics(ctx, a, NULL, &bad, 1, 0, &stats), MPK_ERR_ARGUMENT);
    options.ordering = MPK_ORDERING_GIVEN;
    assert_int_equal(mpk_block_statistics(ctx, a, &options, &level, 1, 0, &stats),
                     MPK_ERR_ARGUMENT);
    options.given_perm = twice;
    assert_int_equal(mpk_block_statistics(ctx, a, &options, &level, 1, 0, &stats),
                     MPK_ERR_ARGUMENT);
    options.ordering = MPK_ORDERING_AMD;
    options.block = 200;
    assert_int_equal(mpk_block_statistics(ctx, a, &options, &level, 1, 0, &stats),
                     MPK_ERR_ARGUMENT);
    options.block = 2;
    options.memory_limit = 16; /* room for one block */
    assert_int_equal(mpk_block_statistics(ctx, a, &options, &level, 1, 0, &stats), MPK_ERR_MEMORY);
    assert_int_equal(mpk_block_statistics(ctx, a, NULL, NULL, 0, 0, &stats), MPK_OK);
    mpk_block_stats_clear(ctx, &stats);
    problem_free(&a);
    free(p.entry);
}

static void test_memory_fails(void **state) {
    (void)state;
    pattern p = pattern_grid(7, 6);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    const int32_t levels[] = {1, -1};
    mpk_options options;
    mpk_options_init(&options);
    options.threads = 1;
    options.block = 4;
    mpk_status status = MPK_ERR_MEMORY;
    for (long k = 0; status; k++) {
        mpk_block_stats stats = {0};
        assert_true(k < 10000);
        test_memory.countdown = k;
        status = mpk_block_statistics(ctx, a, &options, levels, 2, 1, &stats);
        test_memory.countdown = -1;
        if (mpk_failed(status)) {
            assert_int_equal(status, MPK_ERR_MEMORY);
            assert_null(stats.row);
        } else {
            assert_true(k > 10);
        }
        mpk_block_stats_clear(ctx, &stats);
    }
    problem_free(&a);
    free(p.entry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_against_brute_force, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_scalar, setup, teardown),
        cmocka_unit_test_setup_teardown(test_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_fails, setup, teardown),
    };
    return cmocka_run_group_tests_name("block statistics", tests, NULL, NULL);
}
