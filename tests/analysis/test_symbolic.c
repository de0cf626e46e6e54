/* SPDX-License-Identifier: BSD-3-Clause */
/* The symbolic phase against elimination by brute force. */
#include "context.h"

/* An analysis that mpki_symbolic can work on: pattern and permutation only. */
static mpk_analysis *bare_analysis(mpk_context *c, const mpk_problem *a, const int32_t *perm) {
    mpk_analysis *an = mpki_calloc(c, "test", 1, sizeof *an);
    if (!an) return NULL;
    an->ctx = c;
    mpk_options_init(&an->options);
    an->n = a->n;
    an->nnz = a->nnz;
    an->scalar = a->scalar;
    an->symmetry = a->symmetry;
    an->layout = mpki_layout_share(c, "test", a->layout);
    an->perm = mpki_alloc(c, "test", a->n, sizeof *an->perm);
    if (!an->layout || !an->perm) {
        mpk_analysis_destroy(&an);
        return NULL;
    }
    an->ap = an->layout->ap;
    an->ai = an->layout->ai;
    an->core = mpki_core_all(an->ap, an->ai);
    memcpy(an->perm, perm, (size_t)a->n * sizeof *perm);
    return an;
}

/* Every entry of L has its place in the front of its column. */
static void assert_superset(const mpk_analysis *an, const char *filled) {
    int32_t n = an->n;
    for (int32_t s = 0; s < an->nsuper; s++)
        for (int32_t c = an->sptr[s]; c < an->sptr[s + 1]; c++) {
            int64_t k = an->rptr[s];
            for (int32_t i = an->sptr[s + 1]; i < n; i++) {
                if (!filled[(size_t)i * n + c]) continue;
                while (k < an->rptr[s + 1] && an->ridx[k] < i) k++;
                assert_true(k < an->rptr[s + 1] && an->ridx[k] == i);
            }
        }
}

static void check_against_brute_force(const pattern *p, const int32_t *perm,
                                      mpk_symmetry symmetry) {
    int32_t n = p->n;
    char *filled = malloc((size_t)n * n + 1);
    double flops, flops_after;
    mpk_problem *a = problem_new(p, MPK_Z, symmetry);
    int64_t nnz = eliminate(p, perm, filled, &flops);

    mpk_analysis *an = bare_analysis(ctx, a, perm);
    assert_int_equal(mpki_symbolic_relaxed(ctx, an, NULL, NULL, &mpki_relax_none), MPK_OK);
    assert_int_equal(mpki_analysis_check(ctx, an), MPK_OK);
    assert_int_equal(an->info.factor_nnz, nnz); /* fundamental supernodes hold no zeros */
    assert_true(fabs(an->info.factor_flops - flops) <= 1e-9 * flops);
    /* the order is equivalent: it fills as much, and where the rows say */
    assert_int_equal(eliminate(p, an->perm, filled, &flops_after), nnz);
    assert_true(flops_after == flops);
    assert_superset(an, filled);
    mpk_analysis_destroy(&an);

    an = bare_analysis(ctx, a, perm);
    assert_int_equal(mpki_symbolic(ctx, an, NULL, NULL), MPK_OK);
    assert_int_equal(mpki_analysis_check(ctx, an), MPK_OK);
    assert_true(an->info.factor_nnz >= nnz);
    assert_true(an->info.factor_flops >= flops * (1 - 1e-9));
    assert_int_equal(eliminate(p, an->perm, filled, &flops_after), nnz);
    assert_superset(an, filled);
    mpk_analysis_destroy(&an);
    problem_free(&a);
    free(filled);
}

static void test_random_graphs(void **state) {
    (void)state;
    for (int trial = 0; trial < 150; trial++) {
        int32_t n = 1 + random_below(trial < 140 ? 60 : 300);
        pattern p = pattern_random(n, random_below(4 * n), trial % 3 ? 100 : 40);
        int32_t *perm = random_perm(n);
        check_against_brute_force(&p, perm, trial % 2 ? MPK_SYMMETRIC : MPK_HERMITIAN);
        free(perm);
        free(p.entry);
    }
}

static void test_special_graphs(void **state) {
    (void)state;
    pattern cases[8];
    int count = 0;
    cases[count++] = pattern_new(0);             /* nothing */
    cases[count++] = pattern_new(1);             /* one column without any entry */
    cases[count++] = pattern_random(40, 0, 100); /* diagonal only: 40 roots */
    cases[count++] = pattern_grid(17, 16);
    pattern arrow = pattern_new(50), full = pattern_new(30), path = pattern_new(64);
    for (int32_t i = 0; i < 50; i++) pattern_set(&arrow, 0, i);
    for (int32_t i = 0; i < 30; i++)
        for (int32_t j = 0; j < 30; j++) pattern_set(&full, i, j);
    for (int32_t i = 1; i < 64; i++) pattern_set(&path, i, i - 1);
    cases[count++] = arrow;
    cases[count++] = full;
    cases[count++] = path;
    pattern islands = pattern_new(60); /* three grids side by side, and loose columns */
    for (int32_t k = 0; k < 3; k++)
        for (int32_t i = 1; i < 15; i++)
            pattern_set(&islands, 16 * k + i, 16 * k + random_below(i));
    cases[count++] = islands;
    for (int k = 0; k < count; k++) {
        int32_t n = cases[k].n, *perm = random_perm(n);
        check_against_brute_force(&cases[k], perm, MPK_HERMITIAN);
        for (int32_t i = 0; i < n; i++) perm[i] = i;
        check_against_brute_force(&cases[k], perm, MPK_SYMMETRIC);
        for (int32_t i = 0; i < n; i++) perm[i] = n - 1 - i;
        check_against_brute_force(&cases[k], perm, MPK_HERMITIAN);
        free(perm);
        free(cases[k].entry);
    }
}

/* Tree and counts column by column; mpki_order_cost says the same. */
static void test_tree_and_counts(void **state) {
    (void)state;
    for (int trial = 0; trial < 60; trial++) {
        int32_t n = 1 + random_below(80);
        pattern p = pattern_random(n, random_below(3 * n), 100);
        mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
        mpki_graph graph;
        assert_int_equal(mpki_graph_build(ctx, n, a->ap, a->ai, NULL, NULL, &graph), MPK_OK);
        int32_t *perm = random_perm(n), *iperm = malloc(n * sizeof *iperm);
        int32_t *parent = malloc(n * sizeof *parent), *count = malloc(n * sizeof *count);
        char *filled = malloc((size_t)n * n);
        double flops, cost_nnz, cost_flops;
        int64_t nnz = eliminate(&p, perm, filled, &flops);
        assert_int_equal(mpki_order_cost(ctx, &graph, perm, &cost_nnz, &cost_flops), MPK_OK);
        assert_true(cost_nnz == (double)nnz);
        assert_true(fabs(cost_flops - flops) <= 1e-9 * flops);
        for (int32_t k = 0; k < n; k++) iperm[perm[k]] = k;
        assert_int_equal(mpki_elimination(ctx, &graph, perm, iperm, parent, count), MPK_OK);
        assert_true(is_permutation(n, perm));
        eliminate(&p, perm, filled, &flops);
        for (int32_t c = 0; c < n; c++) {
            int32_t first = -1, entries = 0;
            assert_int_equal(iperm[perm[c]], c);
            for (int32_t i = n - 1; i >= c; i--)
                if (filled[(size_t)i * n + c]) {
                    entries++;
                    if (i > c) first = i;
                }
            assert_int_equal(parent[c], first);
            assert_int_equal(count[c], entries);
        }
        mpki_graph_free(ctx, &graph);
        problem_free(&a);
        free(perm), free(iperm), free(parent), free(count), free(filled), free(p.entry);
    }
}

/* Mates that are neighbours in the order, and joined by an entry, stay neighbours in one supernode.
 */
static void test_pairs_stay_together(void **state) {
    (void)state;
    for (int trial = 0; trial < 60; trial++) {
        int32_t n = 2 * (1 + random_below(40));
        pattern p = pattern_random(n, random_below(3 * n), 50);
        int32_t *columns = random_perm(n), *mate = malloc(n * sizeof *mate);
        for (int32_t k = 0; k < n; k += 2) {
            bool pair = random_below(3) > 0;
            mate[columns[k]] = pair ? columns[k + 1] : columns[k];
            mate[columns[k + 1]] = pair ? columns[k] : columns[k + 1];
            if (pair) pattern_set(&p, columns[k], columns[k + 1]);
        }
        mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
        mpk_analysis *an = bare_analysis(ctx, a, columns);
        const mpki_relax *relax = trial % 3 == 0   ? &mpki_relax_none
                                  : trial % 3 == 1 ? &mpki_relax_device
                                                   : &mpki_relax_default;
        assert_int_equal(mpki_symbolic_relaxed(ctx, an, NULL, mate, relax), MPK_OK);
        assert_int_equal(mpki_analysis_check(ctx, an), MPK_OK);
        for (int32_t s = 0, c = 0; c < n; c++) {
            if (c >= an->sptr[s + 1]) s++;
            if (mate[an->perm[c]] == an->perm[c]) continue;
            int32_t other = an->iperm[mate[an->perm[c]]];
            assert_true(other == c + 1 || other == c - 1);
            assert_true(other >= an->sptr[s] && other < an->sptr[s + 1]);
        }
        char *filled = malloc((size_t)n * n);
        double flops;
        eliminate(&p, an->perm, filled, &flops);
        assert_superset(an, filled);
        mpk_analysis_destroy(&an);
        problem_free(&a);
        free(columns), free(mate), free(filled), free(p.entry);
    }
}

static void test_memory_limit(void **state) {
    (void)state;
    pattern p = pattern_grid(20, 20);
    int32_t *perm = random_perm(p.n);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    mpk_analysis *an = bare_analysis(ctx, a, perm);
    assert_int_equal(mpki_symbolic(ctx, an, NULL, NULL), MPK_OK);
    int64_t peak = an->info.peak_bytes, named;
    assert_true(peak >= an->info.factor_bytes && an->info.factor_bytes >= 8 * an->info.factor_nnz);
    mpk_analysis_destroy(&an);
    an = bare_analysis(ctx, a, perm);
    an->options.memory_limit = (double)peak - 1;
    assert_int_equal(mpki_symbolic(ctx, an, NULL, NULL), MPK_ERR_MEMORY);
    assert_null(an->ridx); /* refused before the large arrays */
    mpk_last_error(ctx, NULL, &named, NULL);
    assert_int_equal(named, peak);
    mpk_analysis_destroy(&an);
    mpki_clear_error(ctx);
    problem_free(&a);
    free(perm), free(p.entry);
}

/* A root of 10 columns and children of 40 with 8 rows below. One is the way to the root, and goes
 * into it; of two, either would make the other wait for its columns. */
static void test_shorten(void **unused) {
    (void)unused;
    enum { OWN = 60, ROOT = 66, BELOW = 40 };
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int32_t children = 1; children <= 2; children++) {
        int32_t parent[2 * OWN + ROOT], count[2 * OWN + ROOT], alive = 0, columns = 0;
        double longest;
        const int32_t root = children * OWN, n = root + ROOT;
        mpki_nodes nodes;
        for (int32_t k = 0; k < n; k++) {
            const int32_t left = k < root ? OWN - k % OWN + BELOW : n - k;
            parent[k] = k + 1 == n ? -1 : k < root && k % OWN == OWN - 1 ? root : k + 1;
            count[k] = left;
        }
        assert_int_equal(mpki_nodes_build(ctx, n, parent, count, NULL, &nodes), MPK_OK);
        assert_int_equal(nodes.count, children + 1);
        assert_true(mpki_nodes_uncut(&nodes));
        assert_int_equal(mpki_nodes_shorten(ctx, NULL, 0, &nodes, &longest), MPK_OK);
        assert_true(longest > 0);
        for (int32_t s = 0; s < nodes.count; s++) alive += nodes.alive[s];
        assert_int_equal(alive, children == 1 ? 1 : 3);
        const int32_t top = nodes.count - 1;
        for (int32_t k = nodes.head[top]; k >= 0; k = nodes.next[k]) columns++;
        assert_int_equal(columns, nodes.width[top]);
        assert_int_equal(nodes.width[top], children == 1 ? n : ROOT);
        assert_true(nodes.zeros[top] == (children == 1 ? OWN * (ROOT - BELOW) : 0));
        mpki_nodes_free(ctx, &nodes);
    }
    mpk_context_destroy(&ctx);
}

/* A chain of fronts of few rows: they are merged as far as one warp has them, for columns cost little there
 * and fronts of more rows much. */
static void test_shorten_for_warps(void **unused) {
    (void)unused;
    enum { OWN = 6, PIECES = 40, BELOW = 4, N = OWN * PIECES, WARP_ROWS = 32 };
    mpk_context *ctx = NULL;
    mpki_nodes nodes;
    int32_t parent[N], count[N], alive = 0, widest = 0;
    double longest;
    for (int32_t k = 0; k < N; k++) {
        const int32_t left = OWN - k % OWN + BELOW;
        parent[k] = k + 1 < N ? k + 1 : -1;
        count[k] = left < N - k ? left : N - k;
    }
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpki_nodes_build(ctx, N, parent, count, NULL, &nodes), MPK_OK);
    assert_int_equal(mpki_nodes_shorten(ctx, NULL, 0, &nodes, &longest), MPK_OK);
    for (int32_t s = 0; s < nodes.count; s++) {
        if (!nodes.alive[s]) continue;
        alive++;
        assert_true(nodes.width[s] + nodes.rows[s] <= WARP_ROWS);
        widest = nodes.width[s] > widest ? nodes.width[s] : widest;
    }
    assert_true(alive < PIECES / 3 && widest > 3 * OWN);
    mpki_nodes_free(ctx, &nodes);
    mpk_context_destroy(&ctx);
}

/* Vertices from the end of the longest path of a tree to its beginning. */
static int32_t height_of(const mpki_etree *tree) {
    int32_t *height = calloc((size_t)tree->n, sizeof *height), most = 0;
    for (int32_t k = 0; k < tree->n; k++) {
        const int32_t up = tree->parent[k];
        height[k]++;
        if (height[k] > most) most = height[k];
        if (up >= 0 && height[up] < height[k]) height[up] = height[k];
    }
    free(height);
    return most;
}

/* Bands of one to five columns, with branches, and without: by another root the fill is the same, as a brute
 * elimination finds it, and the path half as long. Of graphs and orders of any kind it is not more: what was
 * filled needs no more, and some of it may not be needed at all. Vertices of weight 1 and 2. */
static void test_rerooted(void **state) {
    (void)state;
    int32_t bands = 0;
    for (int trial = 0; trial < 60; trial++) {
        const int32_t band = 1 + trial % 5, spine = 60 + random_below(60);
        const bool any = trial % 6 == 5;
        const int32_t twigs = any || trial % 2 ? 0 : random_below(40), n = spine + twigs;
        pattern p = any ? pattern_random(n, 2 * n, 100) : pattern_new(n);
        for (int32_t i = 0; i < n; i++) pattern_set(&p, i, i);
        for (int32_t i = 0; !any && i < spine; i++)
            for (int32_t j = i < band ? 0 : i - band; j < i; j++)
                pattern_set(&p, twigs + i, twigs + j);
        for (int32_t i = 0; i < twigs; i++) /* eliminated first */
            pattern_set(&p, i, i + 1 < twigs && i % 3 ? i + 1 : twigs + random_below(spine));
        mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
        int32_t *perm = any ? random_perm(n) : malloc((size_t)n * sizeof *perm), *weight = NULL;
        for (int32_t i = 0; !any && i < n; i++) perm[i] = i;
        mpki_graph graph = {0};
        mpki_etree tree = {0};
        assert_int_equal(mpki_graph_build(ctx, n, a->ap, a->ai, NULL, NULL, &graph), MPK_OK);
        if (trial % 4 == 3) {
            weight = mpki_alloc(ctx, "test", n, sizeof *weight);
            for (int32_t i = 0; i < n; i++) weight[i] = 1 + i % 2;
            graph.weight = weight;
        }
        assert_int_equal(mpki_etree_make(ctx, NULL, 0, &graph, perm, &tree), MPK_OK);
        const mpki_cost before = mpki_etree_cost(&graph, &tree, 1);
        const int32_t height = height_of(&tree);
        bool turned;
        assert_int_equal(mpki_etree_reroot(ctx, NULL, &graph, 2, 0, &tree, &turned), MPK_OK);
        assert_true(is_permutation(n, tree.perm));
        const mpki_cost after = mpki_etree_cost(&graph, &tree, 1);
        assert_true(any ? after.nnz <= before.nnz : after.nnz == before.nnz);
        if (!weight) {
            char *filled = malloc((size_t)n * n);
            double flops;
            assert_true((double)eliminate(&p, tree.perm, filled, &flops) == after.nnz);
            free(filled);
        }
        if (!any && twigs == 0) {
            assert_true(turned);
            assert_true(height_of(&tree) <= height / 2 + 2 * band);
            bands++;
        } else if (!turned) {
            assert_int_equal(height_of(&tree), height);
        }
        mpki_etree_free(ctx, &tree);
        mpki_graph_free(ctx, &graph);
        problem_free(&a);
        free(perm), free(p.entry);
    }
    assert_true(bands > 20);
}

/* A grid whose every second supernode leaves its last column to its parent, all of them where there is one:
 * the tree is of the same matrix, no column is lost, and those that were late come after the others
 * of their fronts. */
static void test_gather(void **unused) {
    (void)unused;
    pattern p = pattern_grid(12, 11);
    int32_t *perm = random_perm(p.n), *where = malloc(p.n * sizeof *where);
    mpk_context *c = NULL;
    assert_int_equal(mpk_context_create(NULL, &c), MPK_OK);
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    mpk_analysis *an = bare_analysis(c, a, perm), *out = NULL;
    assert_int_equal(mpki_symbolic_relaxed(c, an, NULL, NULL, &mpki_relax_none), MPK_OK);
    for (int32_t s = 0; s < an->nsuper; s++)
        for (int32_t k = an->sptr[s]; k < an->sptr[s + 1]; k++) where[k] = s;
    for (int32_t s = 0; s < an->nsuper; s += 2)
        if (an->parent[s] >= 0) where[an->sptr[s + 1] - 1] = an->parent[s];
    assert_int_equal(mpki_gather_late(c, an, where, &out), MPK_OK);
    assert_non_null(out);
    assert_int_equal(mpki_analysis_check(c, out), MPK_OK);
    char *seen = calloc((size_t)p.n, 1);
    for (int32_t k = 0; k < p.n; k++) seen[out->perm[k]]++;
    for (int32_t k = 0; k < p.n; k++) assert_int_equal(seen[k], 1);
    for (int32_t s = 0; s < an->nsuper; s++) { /* after the columns that stayed */
        const int32_t last = an->sptr[s + 1] - 1;
        for (int32_t k = an->sptr[s]; where[last] != s && k < last; k++)
            assert_true(out->iperm[an->perm[k]] < out->iperm[an->perm[last]]);
    }
    mpk_analysis_destroy(&out);
    mpk_analysis_destroy(&an);
    problem_free(&a);
    mpk_context_destroy(&c);
    free(seen), free(where), free(perm), free(p.entry);
}

static void test_failing_memory(void **state) {
    (void)state;
    pattern p = pattern_grid(9, 8);
    int32_t *perm = random_perm(p.n), *mate = malloc(p.n * sizeof *mate);
    for (int32_t i = 0; i < p.n; i++) mate[i] = i ^ 1;
    bool succeeded = false;
    for (long k = 1; !succeeded; k++) {
        failing f = {.countdown = -1};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *c = NULL;
        assert_int_equal(mpk_context_create(&allocator, &c), MPK_OK);
        mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
        mpk_analysis *an = bare_analysis(c, a, perm);
        f.countdown = k - 1;
        mpk_status status = mpki_symbolic_relaxed(c, an, NULL, mate, &mpki_relax_device);
        assert_true(status == MPK_OK || status == MPK_ERR_MEMORY);
        succeeded = status == MPK_OK;
        assert_true(k > 5 || !succeeded);
        mpk_analysis_destroy(&an);
        problem_free(&a);
        mpk_context_destroy(&c);
        assert_int_equal(f.held, 0);
    }
    free(perm), free(mate), free(p.entry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_random_graphs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_special_graphs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_tree_and_counts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_pairs_stay_together, setup, teardown),
        cmocka_unit_test_setup_teardown(test_rerooted, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_limit, setup, teardown),
        cmocka_unit_test(test_shorten),
        cmocka_unit_test(test_shorten_for_warps),
        cmocka_unit_test(test_gather),
        cmocka_unit_test_setup_teardown(test_failing_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
