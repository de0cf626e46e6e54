/* SPDX-License-Identifier: BSD-3-Clause */
/* An analysis is the same for any number of threads, and ends cleanly where one of them is stopped or
 * gets no memory. */
#include "../sanitized.h"
#include "context.h"

#include "analysis/symbolic/symbolic.h"
#include "core/pool.h"

#include <math.h>

static mpk_options options_for(mpk_device device, int threads) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.device = device;
    o.threads = threads;
    return o;
}

static mpk_options options_of(int threads) {
    return options_for(MPK_ON_CPU, threads);
}

/* Structurally singular: ROWS constraints of up to three of the first FEW of n - ROWS variables. */
static mpk_problem *singular_kkt(void) {
    enum { N = 700, ROWS = 300, FEW = 150 };
    int64_t ap[N + 1] = {0};
    static int32_t ai[4 * N];
    static double ax[4 * N];
    bool has[ROWS][FEW] = {{false}};
    for (int r = 0; r < ROWS; r++)
        for (int k = 0; k < 3; k++) has[r][random_below(FEW)] = true;
    int64_t fill = 0;
    for (int32_t j = 0; j < N; j++) {
        ap[j] = fill;
        if (j < N - ROWS) ai[fill] = j, ax[fill++] = 1 + j % 7;
        for (int r = 0; j < FEW && r < ROWS; r++)
            if (has[r][j]) ai[fill] = N - ROWS + r, ax[fill++] = 1 + (r + j) % 5;
    }
    ap[N] = fill;
    mpk_problem *a = NULL;
    assert_int_equal(mpk_problem_from_csc(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &a),
                     MPK_OK);
    return a;
}

/* Without matching, with pairs, with a dissection that is taken, one that is begun and given up, and
 * a core. */
static const char *const specs[] = {"helmholtz 2d 60",
                                    "stokes mac 40",
                                    "optimal-control 400",
                                    "lp-kkt 700 2100",
                                    "control-distributed 14",
                                    "nlpkkt 16",
                                    "helmholtz 2d 50 boundary=absorbing",
                                    NULL};

static mpk_problem *make(const char *spec) {
    mpk_problem *a = NULL;
    if (!spec) return singular_kkt();
    assert_int_equal(mpk_problem_generate(ctx, spec, 1, &a), MPK_OK);
    return a;
}

static void assert_same(const mpk_analysis *a, const mpk_analysis *b) {
    const size_t n = (size_t)a->n, ns = (size_t)a->nsuper;
    assert_int_equal(a->nsuper, b->nsuper);
    assert_int_equal(a->info.ordering, b->info.ordering);
    assert_int_equal(a->info.matching, b->info.matching);
    assert_int_equal(a->info.structural_rank, b->info.structural_rank);
    assert_int_equal(a->failing, b->failing);
    assert_int_equal(a->scale_far, b->scale_far);
    assert_true((a->scale == NULL) == (b->scale == NULL));
    if (a->scale) assert_memory_equal(a->scale, b->scale, n * sizeof *a->scale);
    assert_memory_equal(a->perm, b->perm, n * sizeof *a->perm);
    assert_memory_equal(a->iperm, b->iperm, n * sizeof *a->iperm);
    assert_memory_equal(a->sptr, b->sptr, (ns + 1) * sizeof *a->sptr);
    assert_memory_equal(a->parent, b->parent, ns * sizeof *a->parent);
    assert_memory_equal(a->rptr, b->rptr, (ns + 1) * sizeof *a->rptr);
    assert_memory_equal(a->ridx, b->ridx, (size_t)a->rptr[ns] * sizeof *a->ridx);
    assert_memory_equal(a->scatter_ptr, b->scatter_ptr, (ns + 1) * sizeof *a->scatter_ptr);
    for (size_t s = 0; s < ns; s++) /* roots have no rel */
        if (a->parent[s] >= 0)
            assert_memory_equal(a->rel + a->rptr[s], b->rel + a->rptr[s],
                                (size_t)(a->rptr[s + 1] - a->rptr[s]) * sizeof *a->rel);
    for (int64_t k = 0; k < a->scatter_ptr[ns]; k++) {
        assert_true(mpki_scatter_at(&a->scatter, k).src == mpki_scatter_at(&b->scatter, k).src);
        assert_true(mpki_scatter_at(&a->scatter, k).row == mpki_scatter_at(&b->scatter, k).row);
        assert_true(mpki_scatter_at(&a->scatter, k).col == mpki_scatter_at(&b->scatter, k).col);
    }
    assert_true(a->info.factor_flops == b->info.factor_flops);
}

static void test_same_for(mpk_device device) {
    static const int threads[] = {1, 8, 3, 2};
    mpki_context_set_cores(ctx, 8);
    for (size_t k = 0; k < sizeof specs / sizeof *specs; k++) {
        mpk_problem *a = make(specs[k]);
        mpk_analysis *an[4] = {NULL};
        for (int t = 0; t < 4 - 2 * TEST_SANITIZED; t++) {
            const mpk_options o = options_for(device, threads[t]);
            assert_int_equal(mpk_analyse(ctx, a, &o, &an[t]), specs[k] ? MPK_OK : MPK_SINGULAR);
            assert_int_equal(an[t]->info.ordered_for, device);
            assert_int_equal(mpki_analysis_check(ctx, an[t]), MPK_OK);
            assert_same(an[0], an[t]);
        }
        assert_true(specs[k] || mpki_core_is_part(&an[0]->core));
        for (int t = 0; t < 4 - 2 * TEST_SANITIZED; t++) mpk_analysis_destroy(&an[t]);
        mpk_problem_destroy(&a);
    }
}

static void test_same(void **state) {
    (void)state;
    test_same_for(MPK_ON_CPU);
}

/* Orders for a device: several graphs are dissected, each down to two sizes of leaves. */
static void test_same_for_device(void **state) {
    (void)state;
    test_same_for(MPK_ON_CUDA);
}

/* Trees and counts of any order: subtrees side by side or not. */
static void test_same_trees(void **state) {
    (void)state;
    mpki_context_set_cores(ctx, 5);
    for (int trial = 0; trial < (TEST_SANITIZED ? 40 : 120); trial++) {
        const int32_t n = 1 + random_below(trial % 6 ? 80 : 500);
        pattern p = trial % 10 ? pattern_random(n, random_below(3 * n), 100) : pattern_grid(31, 30);
        mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
        int32_t *perm = random_perm(p.n);
        mpki_graph graph = {0};
        mpki_etree one = {0}, many = {0}, again = {0};
        assert_int_equal(mpki_graph_build(ctx, p.n, a->ap, a->ai, NULL, NULL, &graph), MPK_OK);
        assert_int_equal(mpki_etree_make(ctx, NULL, 0, &graph, perm, &one), MPK_OK);
        mpki_pool *pool = mpki_context_pool(ctx, 5, 1);
        assert_non_null(pool);
        assert_int_equal(mpki_etree_make(ctx, pool, 0, &graph, perm, &many), MPK_OK);
        assert_memory_equal(one.perm, many.perm, 4 * (size_t)p.n * sizeof *perm);
        /* its own postorder has subtrees that are intervals */
        assert_int_equal(mpki_etree_make(ctx, pool, 0, &graph, one.perm, &again), MPK_OK);
        assert_memory_equal(one.count, again.count, (size_t)p.n * sizeof *perm);
        assert_memory_equal(one.parent, again.parent, (size_t)p.n * sizeof *perm);
        mpki_etree_free(ctx, &one);
        mpki_etree_free(ctx, &many);
        mpki_etree_free(ctx, &again);
        mpki_graph_free(ctx, &graph);
        problem_free(&a);
        free(perm);
        free(p.entry);
    }
}

/* A dissection by itself: whatever the threads, and from several starts on a middle graph. */
static void test_same_dissection(void **state) {
    (void)state;
    mpk_problem *a = make("helmholtz 2d 100");
    mpk_analysis *an[2] = {NULL};
    mpki_context_set_cores(ctx, 6);
    for (int t = 0; t < 2; t++) {
        mpk_options o = options_of(t ? 6 : 1);
        o.ordering = MPK_ORDERING_ND;
        assert_int_equal(mpk_analyse(ctx, a, &o, &an[t]), MPK_OK);
    }
    assert_same(an[0], an[1]);
    for (int t = 0; t < 2; t++) mpk_analysis_destroy(&an[t]);
    mpk_problem_destroy(&a);
}

/* Whichever allocation fails, in a loop or a task. */
static void test_failing_memory(void **state) {
    (void)state;
    static const char *const some[] = {"stokes mac 24", "nlpkkt 16", NULL, "stokes mac 24"};
    for (size_t s = 0; s < sizeof some / sizeof *some; s++) {
        mpk_problem *a = make(some[s]);
        const mpk_device device = s == 3 ? MPK_ON_CUDA : MPK_ON_CPU;
        bool succeeded = false;
        for (long k = 0; !succeeded; k += k < 90 ? 1 + 4 * TEST_SANITIZED
                                                 : (some[s] ? 97 : 31) * (1 + 3 * TEST_SANITIZED)) {
            failing f = {.countdown = -1};
            const mpk_allocator allocator = {failing_alloc, failing_release, &f};
            const mpk_options o = options_for(device, 4);
            mpk_context *c = NULL;
            mpk_analysis *an = NULL;
            assert_int_equal(mpk_context_create(&allocator, &c), MPK_OK);
            mpki_context_set_cores(c, 4);
            f.countdown = k;
            const mpk_status status = mpk_analyse(c, a, &o, &an);
            assert_true(!mpk_failed(status) || status == MPK_ERR_MEMORY);
            assert_true(mpk_failed(status) == (an == NULL));
            succeeded = !mpk_failed(status);
            assert_true(k > 40 || !succeeded);
            mpk_analysis_destroy(&an);
            mpk_context_destroy(&c);
            assert_int_equal(f.held, 0);
        }
        mpk_problem_destroy(&a);
    }
}

typedef struct asked {
    _Atomic int times, stop_at;
} asked;

static int stop(const char *stage, double fraction, void *user) {
    asked *q = user;
    (void)stage, (void)fraction;
    return ++q->times >= q->stop_at;
}

static void test_cancelled(void **state) {
    (void)state;
    mpk_problem *a = make("nlpkkt 20");
    const mpk_options o = options_of(4);
    asked q = {.times = 0, .stop_at = 1};
    mpk_analysis *an = NULL;
    mpk_status status = MPK_ERR_CANCELLED;
    mpki_context_set_cores(ctx, 4);
    mpki_progress_each(ctx, 0);
    mpk_context_set_progress(ctx, stop, &q);
    for (; mpk_failed(status) && q.stop_at < 100000; q.stop_at += 1 + q.stop_at / 4) {
        q.times = 0;
        status = mpk_analyse(ctx, a, &o, &an);
        assert_true(status == MPK_OK || status == MPK_ERR_CANCELLED);
        assert_true((status == MPK_OK) == (an != NULL));
    }
    assert_int_equal(status, MPK_OK);
    assert_true(q.stop_at > 10);
    mpk_analysis_destroy(&an);
    mpk_context_set_progress(ctx, NULL, NULL);
    mpk_problem_destroy(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_same, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same_for_device, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same_trees, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same_dissection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failing_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancelled, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
