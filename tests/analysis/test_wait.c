/* SPDX-License-Identifier: BSD-3-Clause */
/* Our minimum degree, which waits for pivots that hold; and where the analysis takes it. */
#include "analysis/order/order.h"
#include "analysis/trials.h"
#include "context.h"

#include <stdio.h>

/* A problem with its rows, moduli and graph. */
typedef struct given {
    mpk_problem *a;
    mpki_core core;
    mpki_lower rows;
    mpki_moduli moduli;
    mpki_graph graph;
    double *ones;
} given;

static given give(const char *spec, int64_t seed) {
    given g = {.a = NULL};
    assert_int_equal(mpk_problem_generate(ctx, spec, seed, &g.a), MPK_OK);
    g.core = mpki_core_all(g.a->ap, g.a->ai);
    assert_int_equal(mpki_lower_make(ctx, NULL, g.a->n, g.a->ap, g.a->ai, &g.rows), MPK_OK);
    assert_int_equal(mpki_moduli_build(ctx, NULL, g.a, &g.moduli), MPK_OK);
    assert_int_equal(mpki_graph_build(ctx, g.a->n, g.a->ap, g.a->ai, NULL, NULL, &g.graph), MPK_OK);
    g.ones = malloc((size_t)g.a->n * sizeof *g.ones);
    for (int32_t i = 0; i < g.a->n; i++) g.ones[i] = 1;
    return g;
}

static void take_back(given *g) {
    mpki_moduli_free(ctx, &g->moduli);
    mpki_lower_free(ctx, &g->rows);
    mpki_graph_free(ctx, &g->graph);
    mpk_problem_destroy(&g->a);
    free(g->ones);
}

static void check_perm(int32_t n, const int32_t *perm) {
    char *seen = calloc((size_t)n + 1, 1);
    for (int32_t k = 0; k < n; k++) {
        assert_true(perm[k] >= 0 && perm[k] < n && !seen[perm[k]]);
        seen[perm[k]] = 1;
    }
    free(seen);
}

static const char *const graphs[] = {"helmholtz 2d 40",         "helmholtz 3d 12",
                                     "random 900 density=0.01", "lp-kkt 400 900 coupling=random",
                                     "optimal-control 60",      "random 300 density=0.2",
                                     "stokes mac 14",           "random 700 density=0.0005"};

/* Without pivots it is minimum degree: about AMD's fill on each graph, less than 1.05 of it in the mean. */
static void test_degree(void **state) {
    (void)state;
    double sum = 0;
    const int count = (int)(sizeof graphs / sizeof *graphs);
    for (int k = 0; k < count; k++) {
        given g = give(graphs[k], 1 + k);
        const int32_t n = g.a->n;
        int32_t *perm = malloc((size_t)n * sizeof *perm), *amd = malloc((size_t)n * sizeof *amd);
        double nnz[2], flops[2];
        bool done = false;
        assert_int_equal(mpki_order_waiting(ctx, &g.graph, NULL, INFINITY, perm, &done), MPK_OK);
        assert_true(done);
        check_perm(n, perm);
        assert_int_equal(mpki_order(ctx, &g.graph, MPK_ORDERING_AMD, 1, 1, amd, NULL), MPK_OK);
        assert_int_equal(mpki_order_cost(ctx, &g.graph, perm, &nnz[0], &flops[0]), MPK_OK);
        assert_int_equal(mpki_order_cost(ctx, &g.graph, amd, &nnz[1], &flops[1]), MPK_OK);
        assert_true(nnz[0] < 1.2 * nnz[1]);
        sum += log(nnz[0] / nnz[1]);
        assert_int_equal(mpki_order_waiting(ctx, &g.graph, NULL, flops[0] / 4, perm, &done),
                         MPK_OK);
        assert_false(done);
        take_back(&g);
        free(perm), free(amd);
    }
    assert_true(sum / count < log(1.05));
}

/* Zeros on the diagonal wait: by the guess hardly a pivot fails, where hundreds do in AMD's order. */
static void test_waits(void **state) {
    (void)state;
    static const int32_t rows[] = {50, 300, 1000};
    for (int k = 0; k < 3; k++) {
        char spec[80];
        snprintf(spec, sizeof spec, "lp-kkt %d %d coupling=random decades=0", rows[k], 2 * rows[k]);
        given g = give(spec, 3);
        const int32_t n = g.a->n;
        int32_t *perm = malloc((size_t)n * sizeof *perm),
                *until = malloc((size_t)n * sizeof *until);
        int32_t failed[2];
        mpki_pivots pivots;
        bool done = false;
        assert_int_equal(mpki_order(ctx, &g.graph, MPK_ORDERING_AMD, 1, 1, perm, NULL), MPK_OK);
        assert_int_equal(mpki_weak_pivots(ctx, n, &g.core, &g.rows, &g.moduli, g.ones, perm, NULL,
                                          0.01, &failed[1], NULL, until),
                         MPK_OK);
        for (int32_t i = 0; i < n; i++)
            assert_true(until[i] >= -1 && until[i] <= n && until[i] != i);
        assert_int_equal(
            mpki_pivots_begin(ctx, n, &g.core, &g.rows, &g.moduli, g.ones, 0.01, &pivots), MPK_OK);
        assert_int_equal(mpki_order_waiting(ctx, &g.graph, &pivots, INFINITY, perm, &done), MPK_OK);
        mpki_pivots_end(ctx, &pivots);
        assert_true(done);
        check_perm(n, perm);
        assert_int_equal(mpki_weak_pivots(ctx, n, &g.core, &g.rows, &g.moduli, g.ones, perm, NULL,
                                          0.01, &failed[0], NULL, NULL),
                         MPK_OK);
        assert_true(failed[0] <= n / 500);
        assert_true(failed[1] > n / 100);
        take_back(&g);
        free(perm), free(until);
    }
}

/* A column that fails at the first position and holds with the last is a row of all fronts between. */
static void test_late(void **state) {
    (void)state;
    pattern p = pattern_new(6);
    for (int32_t i = 0; i < 6; i++) p.entry[i * 6 + i] = 1;
    for (int32_t i = 0; i < 5; i++) p.entry[i * 6 + i + 1] = p.entry[(i + 1) * 6 + i] = 1;
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    mpki_graph graph;
    mpki_etree tree;
    int32_t perm[6], until[6];
    double none_s, one_s, all_s;
    assert_int_equal(mpki_graph_build(ctx, 6, a->ap, a->ai, NULL, NULL, &graph), MPK_OK);
    for (int32_t i = 0; i < 6; i++) perm[i] = i, until[i] = -1;
    assert_int_equal(mpki_etree_make(ctx, NULL, 0, &graph, perm, &tree), MPK_OK);
    assert_int_equal(mpki_etree_late(ctx, &graph, &tree, until, 1, &none_s), MPK_OK);
    until[0] = 1;
    assert_int_equal(mpki_etree_late(ctx, &graph, &tree, until, 1, &one_s), MPK_OK);
    until[0] = 6;
    assert_int_equal(mpki_etree_late(ctx, &graph, &tree, until, 1, &all_s), MPK_OK);
    assert_true(none_s == 0 && one_s > 0 && all_s > 2 * one_s);
    mpki_etree_free(ctx, &tree);
    mpki_graph_free(ctx, &graph);
    problem_free(&a);
    free(p.entry);
}

/* Linear programs and random matrices of several sizes: a fraction of the operations that all pairs take, few
 * columns come late, and the answer is accurate to rounding; the same permutation for any number of threads. */
static void test_taken(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        double share;
    } cases[] = {{"lp-kkt 700 1400 coupling=random", 0.35},
                 {"lp-kkt 1500 3000 coupling=random", 0.35},
                 {"lp-kkt 1500 2250 coupling=random", 0.35},
                 {"random 1500 density=0.004 zeros=0.6", 0.6}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_problem *a = NULL;
        mpk_analysis *an = NULL, *pairs = NULL, *many = NULL;
        mpk_factor *f = NULL;
        mpk_analysis_info info[2];
        mpk_factor_info made;
        mpk_solve_info solved;
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.threads = 1;
        assert_int_equal(mpk_problem_generate(ctx, cases[k].spec, 2, &a), MPK_OK);
        assert_int_equal(mpk_analyse(ctx, a, &o, &an), MPK_OK);
        mpk_analysis_info_get(an, &info[0]);
        o.matching = MPK_ON;
        assert_int_equal(mpk_analyse(ctx, a, &o, &pairs), MPK_OK);
        mpk_analysis_info_get(pairs, &info[1]);
        o.matching = MPK_AUTO, o.threads = 6;
        mpki_context_set_cores(ctx, 6);
        assert_int_equal(mpk_analyse(ctx, a, &o, &many), MPK_OK);
        assert_memory_equal(an->perm, many->perm, (size_t)an->n * sizeof *an->perm);
        assert_int_equal(info[0].matching, 0);
        assert_int_equal(info[0].scaling, 2);
        assert_true(info[0].factor_flops < cases[k].share * info[1].factor_flops);
        o.threads = 1;
        double *b = malloc((size_t)a->n * sizeof *b), *x = malloc((size_t)a->n * sizeof *x);
        for (int32_t i = 0; i < a->n; i++) b[i] = 1 + i % 7;
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &f), MPK_OK);
        mpk_factor_info_get(f, &made);
        assert_true(made.rejected < an->n / 10);
        assert_true(made.flops < 1.5 * info[0].factor_flops);
        assert_int_equal(mpk_solve(ctx, f, 1, b, a->n, x, a->n, &o, &solved), MPK_OK);
        assert_true(solved.componentwise <= 1e-14);
        free(b), free(x);
        mpk_factor_destroy(&f);
        mpk_analysis_destroy(&an);
        mpk_analysis_destroy(&pairs);
        mpk_analysis_destroy(&many);
        mpk_problem_destroy(&a);
    }
}

/* Whichever allocation fails, and wherever it is stopped, nothing is lost. */
static void test_failing_memory(void **state) {
    (void)state;
    mpk_context *apart = NULL;
    mpk_problem *a = NULL;
    assert_int_equal(mpk_context_create(NULL, &apart), MPK_OK);
    assert_int_equal(mpk_problem_generate(apart, "lp-kkt 700 1400 coupling=random", 2, &a), MPK_OK);
    bool succeeded = false;
    for (long k = 0; !succeeded; k += k < 60 ? 1 : 5) {
        failing f = {.countdown = -1};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *c = NULL;
        mpk_analysis *an = NULL;
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.threads = 1;
        assert_int_equal(mpk_context_create(&allocator, &c), MPK_OK);
        f.countdown = k;
        const mpk_status status = mpk_analyse(c, a, &o, &an);
        assert_true(status == MPK_OK || status == MPK_ERR_MEMORY);
        assert_true((status == MPK_OK) == (an != NULL));
        succeeded = status == MPK_OK;
        mpk_analysis_destroy(&an);
        mpk_context_destroy(&c);
        assert_int_equal(f.held, 0);
    }
    mpk_problem_destroy(&a);
    mpk_context_destroy(&apart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_degree, setup, teardown),
        cmocka_unit_test_setup_teardown(test_waits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failing_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
