/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal engine of a device by the shared memory of a block: fronts that are large, in
 * tiles of 128, cut into columns and parts; where their contributions lie. The module that computes
 * on the host has as much as it is told. */
#include "support.h"

#include "device_cases.h"
#include "device_places.h"
#include "factor/direct_numbers.h"
#include "share.h"

/* ---- with little shared memory nearly all fronts are large, and tasks stop at those that grow --- */

static void test_small_blocks(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    small_blocks("13000");
    check_generated();
    check_shapes();
    small_blocks("20000");
    check_files();
    if (test_all_cases()) {
        small_blocks("101376"); /* as on 8.6, 8.9 and 12.0 */
        check_shapes();
    }
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

/* The root of a matrix, 332 columns, with or without tiles of 128: how many columns of one it has
 * seen beyond a tile of 32. */
static int columns_of_128(const char *code) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    setenv("METAPACK_CUDA_HOST_CODE", code, 1);
    small_blocks("13000");
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = generated(ctx, "nlpkkt 10");
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    int columns = 0;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    ((mpki_direct *)fac->direct)->queued_most = 0;
    assert_int_equal(mpk_refactorize(ctx, NULL, &o, fac), MPK_OK);
    assert_true(fac->direct->large[0].w > MPKI_FRONT_TILE_128);
    for (int k = MPKI_FRONT_TILE; k < MPKI_FRONT_TILE_128; k++)
        columns += fac->direct->large[0].order[k] > 0;
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
    unsetenv("METAPACK_CUDA_HOST_CODE");
    return columns;
}

/* Two fronts of 357 columns, two of which are small but in the rows below: the first tile of 128
 * fails, of the tiles of 32 in its place some are done twice, and of the columns that are left then the
 * next tile of 128 takes all but a few. These must have its update, too. */
static void test_more_left(void **unused) {
    enum { LEAF = 357, ROOT = 60, N = 2 * LEAF + ROOT };
    (void)unused;
    setenv("METAPACK_CUDA_HOST_CODE", "90", 1);
    small_blocks("13000");
    support_state = 5;
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
    for (int j = 0; j < N; j++)
        for (int i = j; i < N; i++) {
            const double x = uniform(), of_leaf = 0.1 * x + (i > j ? 0 : x > 0 ? 3 : -3);
            const bool small_row = i % LEAF == 42 || i % LEAF == 179;
            const bool small_column = j % LEAF == 42 || j % LEAF == 179;
            if (i < 2 * LEAF && i / LEAF == j / LEAF)
                dense_set(&m, i, j, of_leaf * (small_row ? 1e-5 : 1) * (small_column ? 1e-5 : 1));
            else if (i >= 2 * LEAF)
                dense_set(&m, i, j, j < 2 * LEAF ? 2 * x : 20 * x);
        }
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.ordering = MPK_ORDERING_NATURAL;
    o.scaling = o.matching = MPK_OFF;
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_solve_info told;
    double b[N], x[N];
    for (int k = 0; k < N; k++) b[k] = 1 + k % 7;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    assert_int_equal(mpk_solve(ctx, fac, 1, b, N, x, N, &o, &told), MPK_OK);
    assert_true(told.unrefined <= 1e-10);
    free(m.a);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
    unsetenv("METAPACK_CUDA_HOST_CODE");
}

/* Large fronts in tiles of 128 columns, which those of 32 take over where one fails. */
static void test_tiles_of_128(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    assert_int_equal(columns_of_128("86"), 0);
    assert_true(columns_of_128("90") > 80);
    setenv("METAPACK_CUDA_HOST_CODE", "90", 1);
    small_blocks("13000");
    without_queues = true;
    check_shapes();
    if (test_all_cases()) {
        check_generated();
        check_files();
    }
    without_queues = false;
    unsetenv("METAPACK_CUDA_HOST_SHARED");
    unsetenv("METAPACK_CUDA_HOST_CODE");
}

/* ---- with a little more, fronts are cut into some columns and parts of what these leave ---- */

/* What a plan is to be like. */
typedef struct plan_shape {
    int32_t steps;              /* at least */
    bool rounds, large, panels; /* panels: contributions lie where those of later steps will be */
} plan_shape;

/* The plan of a matrix where a block has so much shared memory: contributions lie on each other
 * where they may, and what is looked for is found where one is moved. */
static void check_places(const char *shared, mpk_problem *(*make)(mpk_context *, const void *),
                         const void *arg, const mpk_options *o, plan_shape like) {
    small_blocks(shared);
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = make(ctx, arg);
    mpk_analysis *an = NULL;
    mpki_direct *f = NULL;
    int64_t pairs, in_panels;
    int32_t most = 0;
    assert_int_equal(mpk_analyse(ctx, problem, o, &an), MPK_OK);
    const mpki_tree_view tree = mpki_tree_view_of(an);
    assert_non_null(mpki_cuda_keep(ctx, 0));
    assert_int_equal(mpki_cuda_direct.make(ctx, &tree, &f), MPK_OK);
    const mpki_cuda_plan *plan = &f->plan;
    for (int32_t k = 0; k < plan->larges; k++)
        if (plan->round[k] > most) most = plan->round[k];
    assert_true(plan->steps >= like.steps && (most > 0) == like.rounds &&
                (plan->larges > 0) == like.large);
    assert_int_equal(places_in_conflict(plan, tree.scalar, &pairs, &in_panels), 0);
    assert_true(pairs > 0 && (in_panels > 0) == like.panels);
    for (int32_t k = 0; k < plan->fronts; k += 16) {
        const mpki_cuda_node *node = &plan->node[k];
        if (node->children == 0 || node->rows == 0) continue;
        mpki_cuda_node *child = &plan->node[plan->child[node->child]];
        const int64_t kept = child->contribution;
        if (child->rows == 0) continue;
        child->contribution = node->contribution; /* the parent writes what it takes */
        assert_true(places_in_conflict(plan, tree.scalar, &pairs, &in_panels) > 0);
        child->contribution = kept;
    }
    mpki_cuda_direct.free(&f);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

/* A round for each large front: the same bits. */
static void check_rounds(const mpk_options *o) {
    small_blocks("13000");
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = generated(ctx, "nlpkkt 5");
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    double first[3], other[3];
    assert_int_equal(mpk_analyse(ctx, problem, o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, o, &fac), MPK_OK);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_LOGDET, first, sizeof first), MPK_OK);
    assert_true(fac->direct->plan.larges > 4);
    for (int32_t k = 0; k < fac->direct->plan.larges; k++) fac->direct->plan.round[k] = k;
    assert_int_equal(mpk_refactorize(ctx, NULL, o, fac), MPK_OK);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_LOGDET, other, sizeof other), MPK_OK);
    assert_memory_equal(first, other, sizeof first);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static void test_places(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    const enum shape ladder = LADDER, gate = GATE;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    check_places("60000", generated, "nlpkkt 5", &o,
                 (plan_shape){1, false, false, false}); /* with parts */
    check_places("101376", generated, "stokes mac 30", &o, (plan_shape){1, false, false, false});
    /* nearly all fronts are large, and assembled in rounds */
    check_places("13000", generated, "nlpkkt 12", &o, (plan_shape){2, true, true, true});
    check_rounds(&o);
    /* one step in two halves */
    o.ordering = MPK_ORDERING_NATURAL, o.matching = o.scaling = MPK_OFF;
    check_places("60000", of_shape, &ladder, &o, (plan_shape){2, false, false, true});
    small_blocks("60000");
    compare("in halves", of_shape, &ladder, &o, 1);
    /* contributions lie where a large front will be, so that halves save nothing */
    check_places("60000", of_shape, &gate, &o, (plan_shape){2, false, true, true});
    small_blocks("60000");
    compare("below a large front", of_shape, &gate, &o, 1);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

static void test_panels(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    small_blocks("60000"); /* a part takes 53 kB */
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 5", 1, &problem), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    const mpki_cuda_plan *plan = &fac->direct->plan;
    int32_t lower = 0, parts = 0, units = 0;
    for (int32_t f = 0; f < plan->fronts; f++) {
        lower += plan->kind[f] == MPKI_CUDA_LOWER;
        parts += plan->node[f].parts;
        units += plan->node[f].own;
    }
    assert_true(lower > 0 && parts > lower);
    assert_int_equal(units, an->n);
    int32_t *there = calloc((size_t)plan->fronts + 1, sizeof *there); /* 1 + parts */
    for (int32_t t = 0; t < plan->tasks; t++) { /* each after those that it waits for */
        const mpki_cuda_task *task = &plan->task[t];
        for (int32_t f = task->first; f <= task->last; f++) {
            if (task->part >= 0)
                assert_true(there[f] > 0 && task->part < plan->node[f].parts);
            else
                assert_int_equal(there[f], 0);
            there[f]++;
            for (int32_t k = 0; k < plan->node[f].children; k++) {
                const int32_t child = plan->child[plan->node[f].child + k];
                assert_true(child < f);
                assert_int_equal(there[child], 1 + plan->node[child].parts);
            }
        }
    }
    for (int32_t f = 0; f < plan->fronts; f++) assert_int_equal(there[f], 1 + plan->node[f].parts);
    free(there);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    check_generated();
    check_shapes();
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

/* Columns of a cut front that were delayed, beyond shared memory, in pieces that leave them to the
 * next one: they lie apart, and the numbers are those of the processor. PLANTED and WAITING leave
 * many. */
static void test_delayed_apart(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    int apart = 0;
    for (int shape = PLANTED; shape <= WAITING; shape++)
        for (int k = 0; k < 2; k++) {
            static const char *const shared[] = {"60000", "101376"};
            const enum shape which = (enum shape)shape;
            mpk_options o;
            mpk_options_init(&o);
            o.method = MPK_METHOD_LDLT, o.scaling = MPK_OFF, o.matching = MPK_OFF;
            small_blocks(shared[k]);
            compare(shared[k], of_shape, &which, &o, 1);
            mpk_context *ctx = new_context(true);
            mpk_problem *problem = of_shape(ctx, &which);
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
            const mpki_direct *f = fac->direct;
            const mpki_cuda_direct_table *table = f->device->table->direct;
            const int64_t most = table->class_bytes(f->device->cuda, MPKI_CUDA_CLASSES - 1);
            for (int32_t s = 0; s < f->plan.fronts; s++) {
                const mpki_cuda_node *node = &f->plan.node[s];
                const int32_t w = f->state[s].w, nrows = w + node->rows;
                apart += f->plan.kind[s] == MPKI_CUDA_LOWER &&
                         table->task_bytes(MPK_D, nrows, w, w) > most &&
                         table->task_bytes(MPK_D, nrows, node->own, node->own) <= most;
            }
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
            mpk_context_destroy(&ctx);
        }
    assert_true(apart > 0);
    unsetenv("METAPACK_CUDA_HOST_SHARED");
}

/* Large fronts from step to step: what they leave takes turns in panels of later steps and behind them, so that
 * less than two fifths of the panels' memory is behind (nearly a half, where each took the first place). */
static void test_turns(void **unused) {
    (void)unused;
    if (device_is_real()) return;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = generated(ctx, "nlpkkt 20");
    mpk_analysis *an = NULL;
    mpki_direct *f = NULL;
    int64_t pairs, in_panels;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    const mpki_tree_view tree = mpki_tree_view_of(an);
    assert_non_null(mpki_cuda_keep(ctx, 0));
    assert_int_equal(mpki_cuda_direct.make(ctx, &tree, &f), MPK_OK);
    const mpki_cuda_plan *plan = &f->plan;
    assert_true(plan->steps > 4 && plan->by_level);
    /* what waits for nothing is done in the first step, whatever is above it */
    for (int32_t t = plan->step[0].task[MPKI_CUDA_CLASSES]; t < plan->tasks; t++) {
        const mpki_cuda_task *task = &plan->task[t];
        bool waits = false;
        for (int32_t k = task->first; k <= task->last; k++)
            for (int32_t c = 0; c < plan->node[k].children; c++)
                waits |= plan->child[plan->node[k].child + c] < task->first;
        assert_true(waits);
    }
    assert_int_equal(places_in_conflict(plan, tree.scalar, &pairs, &in_panels), 0);
    assert_true(5 * plan->contribution_entries * (int64_t)sizeof(double) < 2 * plan->panel_bytes);
    mpki_cuda_direct.free(&f);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* A front of 300 columns with 80 children of a few rows, and two that have nearly all of its rows: the helpers
 * add up the small ones alone, so that none of them is as large as the front. */
static void test_large_children(void **unused) {
    enum { LEAVES = 80, GROUP = 70, ROOT = 300, REST = LEAVES + 2 * GROUP, N = REST + ROOT };
    (void)unused;
    support_state = 7;
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC);
    for (int j = 0; j < N; j++)
        for (int i = j; i < N; i++) {
            const bool leaf = j < LEAVES, group = !leaf && j < REST;
            const bool there = leaf
                                   ? i == REST + j % 10 || i == REST + 10 + j / 10
                                   : !group || i >= REST ||
                                         (i < REST && (i - LEAVES) / GROUP == (j - LEAVES) / GROUP);
            if (i == j || there) dense_set(&m, i, j, uniform() + (i == j ? (j % 3 ? 9 : -9) : 0));
        }
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.ordering = MPK_ORDERING_NATURAL;
    o.scaling = o.matching = MPK_OFF;
    mpk_context *ctx = new_context(true);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_solve_info told;
    double b[N], x[N];
    for (int k = 0; k < N; k++) b[k] = 1 + k % 7;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    const mpki_cuda_plan *plan = &fac->direct->plan;
    int32_t helpers = 0, apart = 0;
    for (int32_t f = 0; f < plan->fronts; f++)
        for (int32_t k = 0; k < plan->node[f].children; k++) {
            const bool helper = plan->kind[f] == MPKI_CUDA_HELPER;
            const bool large = plan->node[plan->child[plan->node[f].child + k]].rows > ROOT / 2;
            assert_false(helper && large);
            helpers += helper && k == 0, apart += large;
        }
    assert_true(helpers > 0 && apart >= 2);
    assert_int_equal(mpk_solve(ctx, fac, 1, b, N, x, N, &o, &told), MPK_OK);
    assert_true(told.unrefined <= 1e-12);
    free(m.a);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_blocks),   cmocka_unit_test(test_more_left),
        cmocka_unit_test(test_tiles_of_128),   cmocka_unit_test(test_panels),
        cmocka_unit_test(test_places),         cmocka_unit_test(test_delayed_apart),
        cmocka_unit_test(test_large_children), cmocka_unit_test(test_turns)};
    if (device_lacks(DEVICE_DIRECT)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
