/* SPDX-License-Identifier: BSD-3-Clause */
/* Graphs and orderings. */
#include "analysis/order/order.h"
#include "config.h"
#include "context.h"

static const mpk_ordering methods[] = {MPK_ORDERING_AUTO,   MPK_ORDERING_AMD,
#if MPKI_HAVE_METIS
                                       MPK_ORDERING_METIS,
#endif
#if MPKI_HAVE_SCOTCH
                                       MPK_ORDERING_SCOTCH,
#endif
                                       MPK_ORDERING_RCM,    MPK_ORDERING_GMC, MPK_ORDERING_NATURAL};
enum { METHODS = sizeof methods / sizeof *methods };

static mpki_graph graph_of(const pattern *p, const int32_t *mate, int32_t *map) {
    mpki_graph graph;
    mpk_problem *a = problem_new(p, MPK_D, MPK_SYMMETRIC);
    assert_int_equal(mpki_graph_build(ctx, a->n, a->ap, a->ai, mate, map, &graph), MPK_OK);
    problem_free(&a);
    return graph;
}

/* Random pairs on n columns: mate. */
static void random_pairs(int32_t n, int32_t *mate) {
    for (int32_t i = 0; i < n; i++) mate[i] = i;
    for (int32_t k = 0; k < n / 2; k++) {
        int32_t i = random_below(n), j = random_below(n);
        if (i == j || mate[i] != i || mate[j] != j) continue;
        mate[i] = j;
        mate[j] = i;
    }
}

static void test_graph(void **state) {
    (void)state;
    for (int trial = 0; trial < 100; trial++) {
        int32_t n = random_below(50);
        pattern p = pattern_random(n, random_below(3 * n + 1), 60);
        int32_t *mate = malloc((n + 1) * sizeof *mate), *map = malloc((n + 1) * sizeof *map);
        bool compressed = trial % 2;
        random_pairs(compressed ? n : 0, mate);
        mpki_graph graph = graph_of(&p, compressed ? mate : NULL, map);
        char *edge = calloc((size_t)graph.n * graph.n + 1, 1);
        int32_t columns = 0;
        for (int32_t v = 0; v < graph.n; v++) {
            columns += graph.weight ? graph.weight[v] : 1;
            for (int64_t k = graph.xadj[v]; k < graph.xadj[v + 1]; k++) {
                assert_true(k == graph.xadj[v] || graph.adj[k - 1] < graph.adj[k]);
                assert_int_not_equal(graph.adj[k], v);
                edge[(size_t)v * graph.n + graph.adj[k]] = 1;
            }
        }
        assert_int_equal(columns, n);
        int64_t edges = 0;
        for (int32_t i = 0; i < n; i++) {
            if (compressed)
                assert_int_equal(map[i], map[mate[i]]);
            else
                assert_int_equal(map[i], i);
            for (int32_t j = 0; j < n; j++) {
                size_t at = (size_t)map[i] * graph.n + map[j];
                if (map[i] == map[j] || !p.entry[(size_t)i * n + j]) continue;
                assert_true(edge[at]); /* each entry has its edge ... */
                edge[at] = 2;
            }
        }
        for (int64_t k = 0; k < (int64_t)graph.n * graph.n; k++) {
            assert_int_not_equal(edge[k], 1); /* ... and each edge its entry */
            edges += edge[k] != 0;
        }
        assert_int_equal(graph.xadj[graph.n], edges);
        mpki_graph_free(ctx, &graph);
        free(mate), free(map), free(edge), free(p.entry);
    }
}

static void check_order(const mpki_graph *graph, mpk_ordering method) {
    int32_t *perm = malloc(((size_t)graph->n + 1) * sizeof *perm);
    int32_t *again = malloc(((size_t)graph->n + 1) * sizeof *again);
    mpk_ordering used = MPK_ORDERING_AUTO;
    assert_int_equal(mpki_order(ctx, graph, method, 5, 2, perm, &used), MPK_OK);
    assert_true(method == MPK_ORDERING_AUTO ? used != MPK_ORDERING_AUTO : used == method);
    assert_true(is_permutation(graph->n, perm));
    rand(); /* someone else draws random numbers in between */
    assert_int_equal(mpki_order(ctx, graph, method, 5, 1, again, NULL), MPK_OK);
    if (graph->n) assert_memory_equal(perm, again, graph->n * sizeof *perm);
    free(perm), free(again);
}

static void test_permutations(void **state) {
    (void)state;
    for (int trial = 0; trial < 24; trial++) {
        int32_t n = trial < 4 ? trial : random_below(400);
        pattern p =
            trial % 4 == 3 ? pattern_grid(19, 21) : pattern_random(n, random_below(n + 1), 0);
        int32_t *mate = malloc((p.n + 1) * sizeof *mate), *map = malloc((p.n + 1) * sizeof *map);
        random_pairs(p.n, mate);
        mpki_graph graph = graph_of(&p, trial % 2 ? mate : NULL, map);
        for (int m = 0; m < METHODS; m++) check_order(&graph, methods[m]);
        mpki_graph_free(ctx, &graph);
        free(mate), free(map), free(p.entry);
    }
}

static double fill_of(const mpki_graph *graph, mpk_ordering method) {
    int32_t *perm = malloc(graph->n * sizeof *perm);
    double nnz, flops;
    assert_int_equal(mpki_order(ctx, graph, method, 1, 1, perm, NULL), MPK_OK);
    assert_int_equal(mpki_order_cost(ctx, graph, perm, &nnz, &flops), MPK_OK);
    free(perm);
    return nnz;
}

/* A 40 x 40 grid: natural order fills about n^1.5, the methods against fill far less. */
static void test_quality(void **state) {
    (void)state;
    pattern p = pattern_grid(40, 40);
    mpki_graph graph = graph_of(&p, NULL, NULL);
    double natural = fill_of(&graph, MPK_ORDERING_NATURAL);
    assert_true(fill_of(&graph, MPK_ORDERING_RCM) < 0.8 * natural);
    for (int m = 0; m < METHODS; m++) {
        if (methods[m] == MPK_ORDERING_NATURAL || methods[m] == MPK_ORDERING_RCM ||
            methods[m] == MPK_ORDERING_GMC)
            continue;
        assert_true(fill_of(&graph, methods[m]) < 0.6 * natural);
    }
    mpki_graph_free(ctx, &graph);
    free(p.entry);
}

/* A grid has two colours, and each stands together; an odd cycle has three. */
static void test_colours(void **state) {
    (void)state;
    pattern p = pattern_grid(8, 6), odd = pattern_random(7, 0, 0);
    for (int32_t i = 0; i < 7; i++) pattern_set(&odd, i, (i + 1) % 7);
    for (int trial = 0; trial < 2; trial++) {
        mpki_graph graph = graph_of(trial ? &odd : &p, NULL, NULL);
        int32_t n = graph.n, colours = 1, from = 0, *perm = malloc((size_t)n * sizeof *perm);
        assert_int_equal(mpki_order(ctx, &graph, MPK_ORDERING_GMC, 1, 1, perm, NULL), MPK_OK);
        for (int32_t k = 0; k < n; k++) {
            bool joined = false;
            for (int32_t j = from; j < k; j++)
                joined |= (trial ? &odd : &p)->entry[(size_t)perm[j] * n + perm[k]];
            if (!joined) continue;
            colours++;
            from = k;
        }
        assert_int_equal(colours, 2 + trial);
        mpki_graph_free(ctx, &graph);
        free(perm);
    }
    free(p.entry), free(odd.entry);
}

/* Columns joined to everything go last, whoever orders, and cost no more than their own rows. */
static void test_dense_vertices(void **state) {
    (void)state;
    int32_t n = 1200, dense[] = {0, 600, 1199};
    pattern p = pattern_random(n, 0, 100);
    for (int32_t i = 1; i < n; i++) pattern_set(&p, i, i - 1);
    for (int d = 0; d < 3; d++)
        for (int32_t i = 0; i < n; i++) pattern_set(&p, dense[d], i);
    mpki_graph graph = graph_of(&p, NULL, NULL);
    int32_t *perm = malloc(n * sizeof *perm);
    for (int m = 0; m < METHODS; m++) {
        if (methods[m] == MPK_ORDERING_NATURAL) continue;
        assert_int_equal(mpki_order(ctx, &graph, methods[m], 1, 1, perm, NULL), MPK_OK);
        assert_true(is_permutation(n, perm));
        for (int32_t k = 0; k < n - 3; k++)
            for (int d = 0; d < 3; d++) assert_int_not_equal(perm[k], dense[d]);
    }
    mpki_graph_free(ctx, &graph);
    free(perm), free(p.entry);
}

/* Each point of a grid three times, all joined: an order keeps the three together. */
static void test_twins(void **state) {
    (void)state;
    pattern grid = pattern_grid(14, 15), p = pattern_new(3 * grid.n);
    for (int32_t i = 0; i < p.n; i++)
        for (int32_t j = 0; j < p.n; j++)
            if (grid.entry[(size_t)(i % grid.n) * grid.n + j % grid.n]) pattern_set(&p, i, j);
    mpki_graph graph = graph_of(&p, NULL, NULL), small;
    int32_t *map = malloc(p.n * sizeof *map), *perm = malloc(p.n * sizeof *perm);
    assert_int_equal(mpki_twins_merge(ctx, &graph, 0.9, map, &small), MPK_OK);
    assert_int_equal(small.n, grid.n);
    for (int32_t i = 0; i < p.n; i++) assert_int_equal(map[i], i % grid.n);
    for (int32_t v = 0; v < small.n; v++) {
        assert_int_equal(small.weight[v], 3);
        for (int64_t k = small.xadj[v]; k < small.xadj[v + 1]; k++) {
            assert_true(small.adj[k] != v && grid.entry[(size_t)v * grid.n + small.adj[k]]);
            assert_true(k == small.xadj[v] || small.adj[k - 1] < small.adj[k]);
        }
    }
    mpki_graph_free(ctx, &small);
    assert_int_equal(mpki_twins_merge(ctx, &graph, 0.2, map, &small), MPK_OK);
    assert_int_equal(small.n, 0); /* not worth it */
    for (int m = 0; m < METHODS; m++) {
        mpk_ordering method = methods[m];
        if (method != MPK_ORDERING_ND && method != MPK_ORDERING_METIS &&
            method != MPK_ORDERING_SCOTCH)
            continue;
        assert_int_equal(mpki_order(ctx, &graph, method, 1, 1, perm, NULL), MPK_OK);
        assert_true(is_permutation(p.n, perm));
        for (int32_t k = 0; k < p.n; k++)
            assert_int_equal(perm[k] % grid.n, perm[k - k % 3] % grid.n);
    }
    mpki_graph_free(ctx, &graph);
    free(map), free(perm), free(p.entry), free(grid.entry);
}

/* Graphs that no separator divides well: the dissection ends all the same, with a permutation. */
static void test_awkward_graphs(void **state) {
    (void)state;
    int32_t n = 700;
    pattern cases[5] = {pattern_new(n), pattern_new(n), pattern_new(n), pattern_new(n),
                        pattern_new(n)};
    for (int32_t i = 1; i < n; i++) {
        if (i % 2 == 0) pattern_set(&cases[0], i, i - 1); /* pairs: 350 components */
        pattern_set(&cases[1], i, i / 200 * 200);         /* stars */
        for (int32_t j = 0; j < i && j < 30; j++) pattern_set(&cases[2], i, j); /* thick star */
        for (int32_t j = 1; j <= 12 && j <= i; j++) pattern_set(&cases[3], i, i - j); /* band */
        if (i >= 600) /* a clique beside nothing */
            for (int32_t j = 600; j < i; j++) pattern_set(&cases[4], i, j);
    }
    for (int k = 0; k < 5; k++) {
        mpki_graph graph = graph_of(&cases[k], NULL, NULL);
        int32_t *perm = malloc(n * sizeof *perm);
        assert_int_equal(mpki_order_nd(ctx, &graph, 3, MPKI_ND_LEAF, 1, perm), MPK_OK);
        assert_true(is_permutation(n, perm));
        mpki_graph_free(ctx, &graph);
        free(perm), free(cases[k].entry);
    }
}

/* The dissection is the same whatever the threads; tasks begin at 4000 vertices. */
static void test_threads(void **state) {
    (void)state;
    int32_t side = 130, n = side * side;
    int64_t *ap = malloc((n + 1) * sizeof *ap), nnz = 0;
    int32_t *ai = malloc(2 * n * sizeof *ai);
    for (int32_t j = 0; j < n; j++) {
        ap[j] = nnz;
        if (j % side + 1 < side) ai[nnz++] = j + 1;
        if (j + side < n) ai[nnz++] = j + side;
    }
    ap[n] = nnz;
    mpki_graph graph;
    assert_int_equal(mpki_graph_build(ctx, n, ap, ai, NULL, NULL, &graph), MPK_OK);
    int32_t *one = malloc(n * sizeof *one), *many = malloc(n * sizeof *many);
    double nnz_l, flops;
    assert_int_equal(mpki_order_nd(ctx, &graph, 9, MPKI_ND_LEAF, 1, one), MPK_OK);
    assert_true(is_permutation(n, one));
    for (int threads = 2; threads <= 4; threads++) {
        assert_int_equal(mpki_order_nd(ctx, &graph, 9, MPKI_ND_LEAF, threads, many), MPK_OK);
        assert_memory_equal(one, many, n * sizeof *one);
    }
    assert_int_equal(mpki_order_nd(ctx, &graph, 10, MPKI_ND_LEAF, 2, many), MPK_OK);
    assert_memory_not_equal(one, many, n * sizeof *one); /* the seed matters */
    /* 31 n log2 n / 4 is what nested dissection costs on such grids (George & Liu 1981,
     * theorem 8.1.4) */
    assert_int_equal(mpki_order_cost(ctx, &graph, one, &nnz_l, &flops), MPK_OK);
    assert_true(nnz_l < 31.0 * n * log2(n) / 4 * 0.5);
    mpki_graph_free(ctx, &graph);
    free(ap), free(ai), free(one), free(many);
}

/* Columns of a Schur complement's outer variables are in the caller's order: a diagonal entry may come
 * anywhere, or not at all. */
static void test_unsorted_columns(void **state) {
    (void)state;
    static const int64_t ap[] = {0, 2, 4, 5};
    static const int32_t ai[] = {1, 0, 2, 1, 0}, adj[] = {1, 2, 0, 2, 1, 0};
    mpki_graph graph;
    assert_int_equal(mpki_graph_build(ctx, 3, ap, ai, NULL, NULL, &graph), MPK_OK);
    for (int32_t v = 0; v < 3; v++) {
        assert_int_equal(graph.xadj[v + 1] - graph.xadj[v], 2);
        assert_int_equal(graph.adj[graph.xadj[v]] + graph.adj[graph.xadj[v] + 1],
                         adj[2 * v] + adj[2 * v + 1]);
    }
    mpki_graph_free(ctx, &graph);
}

/* A chain: minimum degree takes a leaf from its ends on, one column after the other, so that a device is
 * sooner done the smaller the leaves are; the order is the same for any number of threads. */
static void test_leaves(void **state) {
    (void)state;
    pattern p = pattern_grid(1200, 1);
    mpki_graph graph = graph_of(&p, NULL, NULL);
    int32_t *perm = malloc(p.n * sizeof *perm), *other = malloc(p.n * sizeof *other);
    double large[2], small[2];
    assert_int_equal(mpki_nd_leaf(&graph, false), MPKI_ND_LEAF);
    assert_int_equal(mpki_nd_leaf(&graph, true), MPKI_ND_LEAF_DEVICE);
    assert_int_equal(mpki_dissect(ctx, &graph, 1, MPKI_ND_LEAF, 1, perm), MPK_OK);
    assert_int_equal(mpki_order_makespan(ctx, &graph, perm, NULL, large), MPK_OK);
    assert_int_equal(mpki_dissect(ctx, &graph, 1, MPKI_ND_LEAF_DEVICE, 1, perm), MPK_OK);
    assert_int_equal(mpki_order_makespan(ctx, &graph, perm, NULL, small), MPK_OK);
    assert_true(small[0] < 0.7 * large[0]);
    assert_int_equal(mpki_dissect(ctx, &graph, 1, MPKI_ND_LEAF_DEVICE, 4, other), MPK_OK);
    assert_memory_equal(perm, other, p.n * sizeof *perm);
    mpki_graph_free(ctx, &graph);
    free(perm), free(other), free(p.entry);
}

/* One dissection has two orders: each is that of a dissection down to its leaves alone. Grids, graphs without
 * small separators, of several components, and with twins; with and without threads. */
static void test_two_sizes_of_leaves(void **state) {
    (void)state;
    int differ = 0;
    for (int trial = 0; trial < 12; trial++) {
        pattern p = trial % 4 == 0   ? pattern_grid(30 + trial, 25)
                    : trial % 4 == 1 ? pattern_random(400 + 100 * trial, 900, 100)
                    : trial % 4 == 2 ? pattern_grid(700 + 100 * trial, 1)
                                     : pattern_random(500, 3000, 100);
        for (int32_t i = 1; trial >= 8 && i < 60; i++) /* twins */
            for (int32_t j = 0; j < i; j++) pattern_set(&p, i, j);
        mpki_graph graph = graph_of(&p, NULL, NULL);
        int32_t *alone = malloc(p.n * sizeof *alone), *perm = malloc(2 * p.n * sizeof *perm);
        const mpki_nd_leaves leaves = mpki_nd_leaves_for(&graph, true);
        assert_int_equal(leaves.size, MPKI_ND_LEAF_DEVICE);
        assert_int_equal(leaves.coarse, MPKI_ND_LEAF);
        for (int threads = 1; threads <= 4; threads += 3) {
            mpki_dissection *begun = NULL;
            assert_int_equal(mpki_dissection_run(ctx, &graph, 1, leaves, threads, &begun), MPK_OK);
            assert_int_equal(mpki_dissection_end(ctx, &begun, perm, perm + p.n), MPK_OK);
            differ += memcmp(perm, perm + p.n, p.n * sizeof *perm) != 0;
            assert_int_equal(mpki_dissect(ctx, &graph, 1, leaves.size, 1, alone), MPK_OK);
            assert_memory_equal(perm, alone, p.n * sizeof *perm);
            assert_int_equal(mpki_dissect(ctx, &graph, 1, leaves.coarse, 1, alone), MPK_OK);
            assert_memory_equal(perm + p.n, alone, p.n * sizeof *perm);
        }
        mpki_graph_free(ctx, &graph);
        free(alone), free(perm), free(p.entry);
    }
    assert_true(differ >= 12);
}

static void test_unknown_method(void **state) {
    (void)state;
    pattern p = pattern_grid(3, 3);
    mpki_graph graph = graph_of(&p, NULL, NULL);
    int32_t perm[9];
    assert_int_equal(mpki_order(ctx, &graph, (mpk_ordering)77, 1, 1, perm, NULL),
                     MPK_ERR_UNSUPPORTED);
    mpki_clear_error(ctx);
#if !MPKI_HAVE_METIS
    assert_int_equal(mpki_order(ctx, &graph, MPK_ORDERING_METIS, 1, 1, perm, NULL),
                     MPK_ERR_UNSUPPORTED);
    mpki_clear_error(ctx);
#endif
    mpki_graph_free(ctx, &graph);
    free(p.entry);
}

static int stop_at_once(const char *stage, double fraction, void *user) {
    assert_string_equal(stage, "analyse");
    assert_true(fraction >= 0.3 && fraction <= 0.7);
    ++*(int *)user;
    return 1;
}

static void test_cancelled_dissection(void **state) {
    (void)state;
    pattern p = pattern_grid(24, 25);
    mpki_graph graph = graph_of(&p, NULL, NULL);
    int32_t *perm = malloc(p.n * sizeof *perm);
    int calls = 0;
    mpk_context_set_progress(ctx, stop_at_once, &calls);
    assert_int_equal(mpki_order_nd(ctx, &graph, 1, MPKI_ND_LEAF, 1, perm), MPK_ERR_CANCELLED);
    assert_int_equal(calls, 1);
    mpki_graph_free(ctx, &graph);
    free(perm), free(p.entry);
}

static void test_failing_dissection(void **state) {
    (void)state;
    pattern p = pattern_grid(24, 25);
    mpki_graph graph = graph_of(&p, NULL, NULL);
    int32_t *perm = malloc(p.n * sizeof *perm);
    bool succeeded = false;
    for (long k = 0; !succeeded; k++) {
        failing f = {.countdown = -1};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *c = NULL;
        assert_int_equal(mpk_context_create(&allocator, &c), MPK_OK);
        f.countdown = k;
        mpk_status status = mpki_order_nd(c, &graph, 1, MPKI_ND_LEAF, 1, perm);
        assert_true(status == MPK_OK || status == MPK_ERR_MEMORY);
        succeeded = status == MPK_OK;
        assert_true(k > 30 || !succeeded);
        mpk_context_destroy(&c);
        assert_int_equal(f.held, 0);
    }
    mpki_graph_free(ctx, &graph);
    free(perm), free(p.entry);
}

static void test_failing_memory(void **state) {
    (void)state;
    pattern p = pattern_grid(12, 12);
    for (int32_t i = 0; i < p.n; i++) pattern_set(&p, 3, i); /* one dense vertex: stripped */
    int32_t mate[144], map[144], perm[144];
    for (int32_t i = 0; i < p.n; i++) mate[i] = i ^ 1;
    mpk_problem *a = problem_new(&p, MPK_D, MPK_SYMMETRIC);
    for (int m = 0; m < METHODS; m++) {
        bool succeeded = false;
        for (long k = 0; !succeeded; k++) {
            failing f = {.countdown = -1};
            mpk_allocator allocator = {failing_alloc, failing_release, &f};
            mpk_context *c = NULL;
            assert_int_equal(mpk_context_create(&allocator, &c), MPK_OK);
            mpki_graph graph = {0};
            double nnz, flops;
            f.countdown = k;
            mpk_status status = mpki_graph_build(c, p.n, a->ap, a->ai, mate, map, &graph);
            if (!mpk_failed(status)) status = mpki_order(c, &graph, methods[m], 1, 2, perm, NULL);
            if (!mpk_failed(status)) status = mpki_order_cost(c, &graph, perm, &nnz, &flops);
            assert_true(status == MPK_OK || status == MPK_ERR_MEMORY);
            succeeded = status == MPK_OK;
            assert_true(k > 3 || !succeeded);
            mpki_graph_free(c, &graph);
            mpk_context_destroy(&c);
            assert_int_equal(f.held, 0);
        }
    }
    problem_free(&a);
    free(p.entry);
}

/* The longest path counts on a device: a chain's under AMD has all of its fronts, so it is
 * dissected; of a tree that is short in any order AMD's stays. The processor's choice is not
 * changed. */
static void test_for_a_device(void **state) {
    (void)state;
    static const struct {
        const char *spec;
        mpk_ordering cpu, device;
    } want[] = {{"optimal-control 400", MPK_ORDERING_AMD, MPK_ORDERING_ND},
                {"stokes mac 60", MPK_ORDERING_AMD, MPK_ORDERING_ND},
                {"lp-kkt 400 1200 coupling=random", MPK_ORDERING_AMD, MPK_ORDERING_AMD}};
    for (size_t k = 0; k < sizeof want / sizeof *want; k++)
        for (int device = 0; device < 2; device++) {
            mpk_problem *problem = NULL;
            mpk_analysis *an = NULL;
            mpk_analysis_info info;
            mpk_options o;
            mpk_options_init(&o);
            o.method = MPK_METHOD_LDLT;
            o.device = device ? MPK_ON_CUDA : MPK_ON_CPU;
            assert_int_equal(mpk_problem_generate(ctx, want[k].spec, 1, &problem), MPK_OK);
            assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
            mpk_analysis_info_get(an, &info);
            assert_int_equal(info.ordered_for, device ? MPK_ON_CUDA : MPK_ON_CPU);
            if (info.ordering != (device ? want[k].device : want[k].cpu))
                fail_msg("%s, device %d: %s", want[k].spec, device,
                         mpk_ordering_name(info.ordering));
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
        }
}

/* A path of n vertices in its natural order has n fronts but for amalgamation; one that halves it
 * over and over has a logarithm of that. */
static void test_makespan(void **state) {
    (void)state;
    enum { N = 4095 };
    int64_t xadj[N + 1];
    int32_t adj[2 * N], natural[N], halved[N], fails[N], next = 0, e = 0;
    double chain[2], tree[2], late[2];
    for (int32_t v = 0; v < N; v++) {
        xadj[v] = e;
        if (v > 0) adj[e++] = v - 1;
        if (v + 1 < N) adj[e++] = v + 1;
        natural[v] = v;
    }
    xadj[N] = e;
    for (int32_t half = 2; half <= 4096; half *= 2) /* every second one first */
        for (int32_t v = half / 2 - 1; v < N; v += half) halved[next++] = v;
    assert_int_equal(next, N);
    const mpki_graph graph = {.n = N, .xadj = xadj, .adj = adj};
    assert_int_equal(mpki_order_makespan(ctx, &graph, natural, NULL, chain), MPK_OK);
    assert_int_equal(mpki_order_makespan(ctx, &graph, halved, NULL, tree), MPK_OK);
    assert_true(tree[0] > 0 && chain[0] > 20 * tree[0] && tree[1] == tree[0]);
    for (int32_t v = 0; v < N; v++) fails[v] = 1; /* columns that come late take time */
    assert_int_equal(mpki_order_makespan(ctx, &graph, halved, fails, late), MPK_OK);
    assert_true(late[0] == tree[0] && late[1] > 1.2 * tree[0]);
    mpk_status status = MPK_ERR_MEMORY;
    for (int k = 0; status != MPK_OK; k++) { /* whichever allocation fails, nothing is lost */
        double s[2];
        const int64_t held = test_memory.held;
        test_memory.countdown = k;
        status = mpki_order_makespan(ctx, &graph, halved, fails, s);
        test_memory.countdown = -1;
        assert_true(status == MPK_OK || status == MPK_ERR_MEMORY);
        assert_int_equal(test_memory.held, held);
        assert_true(k < 40);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_graph, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unsorted_columns, setup, teardown),
        cmocka_unit_test_setup_teardown(test_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_two_sizes_of_leaves, setup, teardown),
        cmocka_unit_test_setup_teardown(test_permutations, setup, teardown),
        cmocka_unit_test_setup_teardown(test_quality, setup, teardown),
        cmocka_unit_test_setup_teardown(test_colours, setup, teardown),
        cmocka_unit_test_setup_teardown(test_dense_vertices, setup, teardown),
        cmocka_unit_test_setup_teardown(test_twins, setup, teardown),
        cmocka_unit_test_setup_teardown(test_awkward_graphs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
        cmocka_unit_test_setup_teardown(test_for_a_device, setup, teardown),
        cmocka_unit_test_setup_teardown(test_makespan, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknown_method, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancelled_dissection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failing_dissection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_failing_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
