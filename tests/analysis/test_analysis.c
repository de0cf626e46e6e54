/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_analyse as its callers meet it. */
#include "analysis/block/block.h"
#include "context.h"

static void assert_text_has(const char *word) {
    const char *text;
    mpk_last_error(ctx, NULL, NULL, &text);
    if (!strstr(text, word)) fail_msg("'%s' is not in '%s'", word, text);
}

static void test_arguments(void **state) {
    (void)state;
    pattern p = pattern_grid(4, 5);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    mpk_analysis *an = NULL;
    mpk_options options;
    mpk_options_init(&options);
    assert_int_equal(mpk_analyse(NULL, a, NULL, &an), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_analyse(ctx, NULL, NULL, &an), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_analyse(ctx, a, NULL, NULL), MPK_ERR_ARGUMENT);
    options.pivot_threshold = NAN;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_ERR_ARGUMENT);
    assert_null(an);
    assert_int_equal(mpk_analyse(ctx, a, NULL, &an), MPK_OK);
    mpk_analysis *first = an;
    assert_int_equal(mpk_analyse(ctx, a, NULL, &an), MPK_ERR_ARGUMENT); /* *an is in use */
    assert_ptr_equal(an, first);
    mpk_analysis_destroy(&an);
    assert_null(an);
    mpk_analysis_destroy(&an);
    mpk_analysis_destroy(NULL);
    problem_free(&a);
    free(p.entry);
}

static void test_info(void **state) {
    (void)state;
    pattern p = pattern_grid(13, 11);
    const mpk_scalar scalars[] = {MPK_S, MPK_D, MPK_C, MPK_Z};
    for (int k = 0; k < 4; k++) {
        mpk_problem *a = problem_new(&p, scalars[k], k > 1 ? MPK_HERMITIAN : MPK_SYMMETRIC);
        mpk_analysis *an = NULL;
        assert_int_equal(mpk_analyse(ctx, a, NULL, &an), MPK_OK);
        assert_int_equal(mpki_analysis_check(ctx, an), MPK_OK);
        mpk_analysis_info info;
        mpk_analysis_info_get(an, &info);
        assert_int_equal(info.n, p.n);
        assert_int_equal(info.nnz, a->nnz);
        assert_true(info.ordering != MPK_ORDERING_AUTO);
        assert_true(info.supernodes > 0 && info.tree_height > 0 &&
                    info.tree_height <= info.supernodes);
        assert_true(info.max_front > 1 && info.max_front <= p.n);
        assert_true(info.factor_nnz >= a->nnz && info.factor_flops > 0);
        assert_true(info.factor_bytes >= info.factor_nnz * (int64_t)mpk_scalar_size(scalars[k]));
        assert_true(info.peak_bytes >= info.factor_bytes);
        assert_true(info.time_s > 0 && info.time_s < 60);
        int32_t *perm = malloc(p.n * sizeof *perm);
        mpk_analysis_perm(an, perm);
        assert_true(is_permutation(p.n, perm));
        free(perm);
        mpk_analysis_destroy(&an);
        mpk_options o; /* n and nnz are there whatever the method */
        mpk_options_init(&o);
        for (int m = MPK_METHOD_ILDLT; m <= MPK_METHOD_SSOR; m++) {
            o.method = (mpk_method)m;
            assert_int_equal(mpk_analyse(ctx, a, &o, &an), MPK_OK);
            mpk_analysis_info_get(an, &info);
            assert_int_equal(info.n, p.n);
            assert_int_equal(info.nnz, a->nnz);
            mpk_analysis_destroy(&an);
        }
        problem_free(&a);
    }
    free(p.entry);
    mpk_analysis_info zero;
    mpk_analysis_info_get(NULL, &zero);
    assert_int_equal(zero.n, 0);
}

static void test_tiny(void **state) {
    (void)state;
    for (int32_t n = 0; n < 3; n++) {
        pattern p = pattern_random(n, 0, 100);
        mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
        for (int m = MPK_ORDERING_AUTO; m <= MPK_ORDERING_NATURAL; m++) {
            mpk_options options;
            int32_t given[] = {1, 0};
            if (n == 1) given[0] = 0;
            mpk_analysis *an = NULL;
            mpk_options_init(&options);
            options.ordering = (mpk_ordering)m;
            options.given_perm = given;
            mpk_status status = mpk_analyse(ctx, a, &options, &an);
            if (status == MPK_ERR_UNSUPPORTED) continue;
            assert_int_equal(status, MPK_OK);
            assert_int_equal(mpki_analysis_check(ctx, an), MPK_OK);
            assert_int_equal(an->nsuper, n);
            assert_int_equal(an->info.factor_nnz, n);
            mpk_analysis_destroy(&an);
        }
        problem_free(&a);
        free(p.entry);
    }
}

static void test_given_order(void **state) {
    (void)state;
    pattern p = pattern_grid(5, 4);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    mpk_options options;
    mpk_analysis *an = NULL;
    int32_t perm[20];
    for (int32_t k = 0; k < 20; k++) perm[k] = 19 - k;
    mpk_options_init(&options);
    options.ordering = MPK_ORDERING_GIVEN;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_ERR_ARGUMENT);
    assert_text_has("given_perm is NULL");
    options.given_perm = perm;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_OK);
    assert_int_equal(an->info.ordering, MPK_ORDERING_GIVEN);
    assert_null(an->options.given_perm);
    /* an equivalent order: the same fill as that of the given one */
    char *filled = malloc((size_t)p.n * p.n);
    double flops;
    int64_t nnz = eliminate(&p, perm, filled, &flops);
    assert_int_equal(eliminate(&p, an->perm, filled, &flops), nnz);
    free(filled);
    mpk_analysis_destroy(&an);
    int64_t index;
    perm[7] = 20;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_ERR_ARGUMENT);
    mpk_last_error(ctx, NULL, &index, NULL);
    assert_int_equal(index, 7);
    assert_text_has("given_perm[7] = 20");
    perm[7] = -1;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_ERR_ARGUMENT);
    assert_text_has("given_perm[7] = -1");
    perm[7] = perm[2];
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_ERR_ARGUMENT);
    assert_text_has("not a permutation");
    assert_null(an);
    problem_free(&a);
    free(p.entry);
}

/* What is wrong with blocks and pivots of the caller's own, and what they do not go with. */
static void test_given_blocks_and_pivots(void **state) {
    (void)state;
    static const int32_t good[] = {0, 4, 10, 20},
                         singles[] = {0, 2, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20};
    static const struct {
        int32_t blocks[6], pivots[14];
        const char *said;
    } bad[] = {{{1, 20}, {0}, "given_blocks[0] = 1"},
               {{0, 5, 5, 20}, {0}, "given_blocks[1] = 5 and then 5"},
               {{0, 9, 3, 20}, {0}, "given_blocks[1] = 9 and then 3"},
               {{0, 9, 21}, {0}, "given_blocks[2] = 21"},
               {{0}, {0, 3, 20}, "given_pivots[0] = 0 and then 3"},
               {{0, 3, 20},
                {0, 2, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20},
                "given_blocks[1] = 3 is inside a pivot"}};
    pattern p = pattern_grid(5, 4);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    mpk_options options;
    mpk_analysis *an = NULL;
    mpk_options_init(&options);
    options.method = MPK_METHOD_ILDLT;
    options.ordering = MPK_ORDERING_GIVEN;
    options.given_blocks = good;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_ERR_ARGUMENT);
    assert_text_has("given_perm is NULL"); /* with methods on blocks, too */
    options.ordering = MPK_ORDERING_NATURAL;
    options.given_pivots = singles;
    options.matching = MPK_OFF;
    options.pivoting = MPK_PIVOTING_STATIC;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_OK);
    assert_null(an->options.given_blocks);
    assert_null(an->options.given_pivots);
    assert_memory_equal(an->block->blocking.bptr, good, sizeof good);
    for (int32_t k = 0; k < 20; k++) /* two rows each, but for the third and the fourth pivot */
        assert_int_equal(an->block->pair[k], k == 4 || k == 5 ? k : k ^ 1);
    mpk_analysis_destroy(&an);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        options.given_blocks = bad[k].blocks[1] ? bad[k].blocks : NULL;
        options.given_pivots = bad[k].pivots[1] ? bad[k].pivots : NULL;
        options.pivoting = MPK_PIVOTING_ROOK;
        assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_ERR_ARGUMENT);
        assert_text_has(bad[k].said);
    }
    options.given_blocks = good;
    options.given_pivots = NULL;
    options.grid = MPK_ON;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_ERR_ARGUMENT);
    assert_text_has("grid");
    options.grid = MPK_OFF;
    options.ordering = MPK_ORDERING_AMD;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_ERR_ARGUMENT);
    assert_text_has("ordering given or natural");
    options.ordering = MPK_ORDERING_NATURAL;
    for (int m = 0; m < 2; m++) {
        options.method = m ? MPK_METHOD_LDLT : MPK_METHOD_ILU0;
        assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_ERR_ARGUMENT);
        assert_text_has("is for methods");
    }
    assert_null(an);
    problem_free(&a);
    free(p.entry);
}

static void test_memory_limit(void **state) {
    (void)state;
    pattern p = pattern_grid(20, 20);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    mpk_options options;
    mpk_analysis *an = NULL;
    mpk_options_init(&options);
    options.memory_limit = 1000;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_ERR_MEMORY);
    assert_null(an);
    assert_text_has("bytes");
    options.memory_limit = 1e9;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_OK);
    mpk_analysis_destroy(&an);
    problem_free(&a);
    free(p.entry);
}

/* A saddle point [H B^T; B 0]: H = h I of order 60, B with two entries in each of 30 rows. */
static mpk_problem *saddle(double h, bool dependent) {
    pattern p = pattern_new(90);
    for (int32_t i = 0; i < 60; i++) pattern_set(&p, i, i);
    for (int32_t i = 0; i < 30; i++) {
        if (dependent && i < 5)
            pattern_set(&p, 60 + i, 0); /* five rows with one column */
        else
            pattern_set(&p, 60 + i, 2 * i), pattern_set(&p, 60 + i, 2 * i + 1);
    }
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    for (int32_t j = 0; j < 60; j++) ((double *)a->ax)[a->ap[j]] = h;
    free(p.entry);
    return a;
}

/* [0 K; K^T 0] with K tridiagonal of order 45 and 100 on its diagonal. */
static mpk_problem *coupled(void) {
    pattern p = pattern_new(90);
    for (int32_t i = 0; i < 45; i++)
        for (int32_t j = i ? i - 1 : 0; j <= i + 1 && j < 45; j++) pattern_set(&p, 45 + i, j);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    for (int32_t j = 0; j < 45; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++)
            if (a->ai[k] == j + 45) ((double *)a->ax)[k] = 100;
    free(p.entry);
    return a;
}

static mpk_analysis *analyse_with(const mpk_problem *a, mpk_switch matching, mpk_status expected) {
    mpk_options options;
    mpk_analysis *an = NULL;
    mpk_options_init(&options);
    options.matching = matching;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), expected);
    assert_int_equal(mpki_analysis_check(ctx, an), MPK_OK);
    return an;
}

static void test_matching(void **state) {
    (void)state;
    pattern grid = pattern_grid(12, 12);
    mpk_problem *definite = problem_new(&grid, MPK_D, MPK_SYMMETRIC);
    mpk_analysis *an = analyse_with(definite, MPK_AUTO, MPK_OK);
    assert_int_equal(an->info.matching, 0); /* a strong diagonal: not even looked for */
    assert_int_equal(an->info.scaling, 1);
    assert_int_equal(an->info.structural_rank, -1);
    assert_null(an->scale);
    mpk_analysis_destroy(&an);
    problem_free(&definite);
    free(grid.entry);

    /* no column has a pivot of its own: pairs are compressed */
    mpk_problem *a = coupled();
    an = analyse_with(a, MPK_AUTO, MPK_OK);
    assert_int_equal(an->info.matching, 1);
    assert_int_equal(an->info.scaling, 2);
    assert_int_equal(an->info.structural_rank, 90);
    for (int32_t i = 0; i < 45; i++) assert_int_equal(abs(an->iperm[45 + i] - an->iperm[i]), 1);
    for (int32_t j = 0; j < 90; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            double x = fabs(((double *)a->ax)[k]) * an->scale[j] * an->scale[a->ai[k]];
            assert_true(x <= 1 + 1e-9);
        }
    mpk_analysis_destroy(&an);
    an = analyse_with(a, MPK_OFF, MPK_OK);
    assert_int_equal(an->info.matching, 0);
    assert_null(an->scale);
    mpk_analysis_destroy(&an);
    problem_free(&a);

    /* H large: pivots on H first serve B too, nothing need be compressed unless asked for */
    a = saddle(1e3, false);
    an = analyse_with(a, MPK_AUTO, MPK_OK);
    assert_int_equal(an->info.matching, 0);
    mpk_analysis_destroy(&an);
    an = analyse_with(a, MPK_ON, MPK_OK);
    assert_int_equal(an->info.matching, 1);
    mpk_analysis_destroy(&an);
    problem_free(&a);
}

static void test_structurally_singular(void **state) {
    (void)state;
    mpk_problem *a = saddle(1, true);
    const mpk_switch switches[] = {MPK_ON, MPK_AUTO};
    for (int k = 0; k < 2; k++) {
        mpk_analysis *an = analyse_with(a, switches[k], MPK_SINGULAR);
        assert_text_has("structurally singular");
        assert_int_equal(an->info.structural_rank, 86);
        mpk_analysis_destroy(&an);
    }
    problem_free(&a);
}

/* Matching only scales where the order is given. */
static void test_given_order_with_matching(void **state) {
    (void)state;
    mpk_problem *a = saddle(1e-9, false);
    mpk_options options;
    mpk_analysis *an = NULL;
    int32_t perm[90];
    for (int32_t k = 0; k < 90; k++) perm[k] = 89 - k;
    mpk_options_init(&options);
    options.ordering = MPK_ORDERING_GIVEN;
    options.given_perm = perm;
    options.matching = MPK_ON;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_OK);
    assert_int_equal(an->info.matching, 0);
    assert_int_equal(an->info.scaling, 2);
    assert_non_null(an->scale);
    mpk_analysis_destroy(&an);
    options.scaling = MPK_OFF;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_OK);
    assert_int_equal(an->info.scaling, 0);
    assert_null(an->scale);
    mpk_analysis_destroy(&an);
    problem_free(&a);
}

static int stop_after(const char *stage, double fraction, void *user) {
    double *limit = user;
    assert_string_equal(stage, "analyse");
    assert_true(fraction >= 0 && fraction <= 1);
    return fraction >= *limit;
}

static void test_cancel(void **state) {
    (void)state;
    pattern p = pattern_grid(10, 10);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    mpk_analysis *an = NULL;
    double limit = 0;
    mpk_context_set_progress(ctx, stop_after, &limit);
    assert_int_equal(mpk_analyse(ctx, a, NULL, &an), MPK_ERR_CANCELLED);
    assert_null(an);
    limit = 2; /* never */
    assert_int_equal(mpk_analyse(ctx, a, NULL, &an), MPK_OK);
    mpk_analysis_destroy(&an);
    problem_free(&a);
    free(p.entry);
}

static void test_same_seed_same_order(void **state) {
    (void)state;
    pattern p = pattern_grid(25, 25);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    for (int m = MPK_ORDERING_AUTO; m <= MPK_ORDERING_RCM; m++) {
        mpk_options options;
        mpk_analysis *one = NULL, *two = NULL;
        mpk_options_init(&options);
        options.ordering = (mpk_ordering)m;
        options.seed = 42;
        options.threads = 1;
        mpk_status status = mpk_analyse(ctx, a, &options, &one);
        if (status == MPK_ERR_UNSUPPORTED) continue;
        assert_int_equal(status, MPK_OK);
        options.threads = 2;
        assert_int_equal(mpk_analyse(ctx, a, &options, &two), MPK_OK);
        assert_memory_equal(one->perm, two->perm, p.n * sizeof *one->perm);
        mpk_analysis_destroy(&one);
        mpk_analysis_destroy(&two);
    }
    problem_free(&a);
    free(p.entry);
}

static void test_failing_memory(void **state) {
    (void)state;
    bool succeeded = false;
    mpk_problem *a = saddle(1e-3, false); /* takes every branch: matching, both graphs */
    for (long k = 0; !succeeded; k++) {
        failing f = {.countdown = -1};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *c = NULL;
        assert_int_equal(mpk_context_create(&allocator, &c), MPK_OK);
        mpk_analysis *an = NULL;
        f.countdown = k;
        mpk_status status = mpk_analyse(c, a, NULL, &an);
        assert_true(status == MPK_OK || status == MPK_ERR_MEMORY);
        assert_true((status == MPK_OK) == (an != NULL));
        succeeded = status == MPK_OK;
        assert_true(k > 10 || !succeeded);
        mpk_analysis_destroy(&an);
        mpk_context_destroy(&c);
        assert_int_equal(f.held, 0);
    }
    problem_free(&a);
}

/* The checker sees what is broken. */
static void test_checker(void **state) {
    (void)state;
    pattern p = pattern_grid(8, 8);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    mpk_analysis *an = NULL;
    mpk_options options;
    mpk_options_init(&options);
    options.ordering = MPK_ORDERING_AMD;
    assert_int_equal(mpk_analyse(ctx, a, &options, &an), MPK_OK);
#define BROKEN(change, undo)                                                                       \
    do {                                                                                           \
        change;                                                                                    \
        mpki_clear_error(ctx);                                                                     \
        assert_int_equal(mpki_analysis_check(ctx, an), MPK_ERR_INTERNAL);                          \
        undo;                                                                                      \
        mpki_clear_error(ctx);                                                                     \
        assert_int_equal(mpki_analysis_check(ctx, an), MPK_OK);                                    \
    } while (0)
    BROKEN(an->perm[3]++, an->perm[3]--);
    BROKEN(an->rel[0]++, an->rel[0]--);
    BROKEN(an->ridx[1]--, an->ridx[1]++);
    BROKEN(an->parent[0]++, an->parent[0]--);
    mpki_short_scatter *e = &an->scatter.few[5];
    BROKEN(e->place += 1 << 16, e->place -= 1 << 16);
    BROKEN(e->place ^= 1u << 31, e->place ^= 1u << 31);
    BROKEN(e->src++, e->src--);
    BROKEN(an->flops[0] *= 2, an->flops[0] /= 2);
    BROKEN(an->child[0]++, an->child[0]--);
    mpk_analysis_destroy(&an);
    problem_free(&a);
    free(p.entry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_arguments, setup, teardown),
        cmocka_unit_test_setup_teardown(test_info, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tiny, setup, teardown),
        cmocka_unit_test_setup_teardown(test_given_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_given_blocks_and_pivots, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_matching, setup, teardown),
        cmocka_unit_test_setup_teardown(test_structurally_singular, setup, teardown),
        cmocka_unit_test_setup_teardown(test_given_order_with_matching, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancel, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same_seed_same_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failing_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_checker, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
