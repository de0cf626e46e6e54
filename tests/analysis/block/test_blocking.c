/* SPDX-License-Identifier: BSD-3-Clause */
/* Blockings: what every one of them must keep, and what the strategies are for. */
#include "analysis/block/block.h"
#include "analysis/block/grouping.h"
#include "analysis/context.h"

static mpki_graph graph_of(const pattern *p) {
    mpki_graph graph;
    mpk_problem *a = problem_new(p, MPK_D, MPK_SYMMETRIC);
    assert_int_equal(mpki_graph_build(ctx, a->n, a->ap, a->ai, NULL, NULL, &graph), MPK_OK);
    problem_free(&a);
    return graph;
}

/* Random pairs on n columns: mate. */
static int32_t *random_pairs(int32_t n) {
    int32_t *mate = malloc(((size_t)n + 1) * sizeof *mate);
    for (int32_t i = 0; i < n; i++) mate[i] = i;
    for (int32_t k = 0; k < n / 2; k++) {
        int32_t i = random_below(n), j = random_below(n);
        if (i == j || mate[i] != i || mate[j] != j) continue;
        mate[i] = j;
        mate[j] = i;
    }
    return mate;
}

/* Permutation, frames, pairs. */
static void check_blocking(const mpki_blocking *b, int32_t n, const int32_t *mate,
                           const mpk_options *options) {
    bool grid = options->grid == MPK_ON;
    assert_int_equal(b->n, n);
    assert_true(is_permutation(n, b->perm));
    assert_int_equal(b->bptr[0], 0);
    assert_int_equal(b->bptr[b->nframes], n);
    int32_t largest = 0;
    for (int32_t f = 0; f < b->nframes; f++) {
        int32_t rows = b->bptr[f + 1] - b->bptr[f];
        if (rows > largest) largest = rows;
        assert_true(rows >= 1 && rows <= options->block);
        if (grid && f + 1 < b->nframes) assert_int_equal(rows, options->block);
        for (int32_t k = b->bptr[f]; k < b->bptr[f + 1]; k++) assert_int_equal(b->of[k], f);
    }
    assert_int_equal(b->largest, largest);
    for (int32_t k = 0; k < n; k++) assert_int_equal(b->iperm[b->perm[k]], k);
    assert_true(b->strategy != MPK_STRATEGY_AUTO && b->ordering != MPK_ORDERING_AUTO);
    for (int32_t i = 0; mate && options->block > 1 && i < n; i++) {
        int32_t here = b->iperm[i], there = b->iperm[mate[i]];
        if (grid && b->of[here] != b->of[there]) continue; /* cut apart */
        assert_int_equal(abs(here - there), mate[i] != i);
        assert_int_equal(b->of[here], b->of[there]);
    }
}

static const mpk_ordering orderings[] = {MPK_ORDERING_AUTO, MPK_ORDERING_AMD,     MPK_ORDERING_RCM,
                                         MPK_ORDERING_GMC,  MPK_ORDERING_NATURAL, MPK_ORDERING_ND,
                                         MPK_ORDERING_GIVEN};
enum { ORDERINGS = sizeof orderings / sizeof *orderings };
static const int sizes[] = {1, 2, 3, 8, 32, 128};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void test_invariants(void **state) {
    (void)state;
    for (int trial = 0; trial < 1200; trial++) {
        int32_t n = trial < 60 ? trial % 4 : random_below(120);
        pattern p = trial % 3 ? pattern_random(n, random_below(4 * n + 1), 60)
                              : pattern_grid(n / 10, random_below(12));
        mpki_graph graph = graph_of(&p);
        int32_t *mate = random_pairs(p.n), *given = random_perm(p.n);
        mpk_options options;
        mpk_options_init(&options);
        options.strategy = (mpk_strategy)(trial % 4);
        options.ordering = orderings[random_below(ORDERINGS)];
        options.block = sizes[random_below(SIZES)];
        options.grid = random_below(2) ? MPK_ON : MPK_OFF;
        options.given_perm = given;
        options.threads = 1;
        options.level = random_below(3) - 1;
        options.joining = random_below(3) ? MPK_ON : MPK_OFF;
        const int32_t *pairs = random_below(2) ? mate : NULL;
        mpki_blocking b;
        assert_int_equal(mpki_blocking_make(ctx, &graph, pairs, &options, &b), MPK_OK);
        check_blocking(&b, p.n, pairs, &options);
        if (options.strategy && options.ordering != MPK_ORDERING_GIVEN)
            assert_int_equal(b.strategy, options.strategy);
        if (options.ordering == MPK_ORDERING_GIVEN && !pairs)
            assert_memory_equal(b.perm, given, (size_t)p.n * sizeof *given);
        if (options.ordering == MPK_ORDERING_NATURAL && !pairs && b.strategy != MPK_STRATEGY_BR)
            for (int32_t k = 0; k < p.n; k++) assert_int_equal(b.perm[k], k);
        mpki_blocking_free(ctx, &b);
        mpki_graph_free(ctx, &graph);
        free(mate);
        free(given);
        free(p.entry);
    }
}

/* As printed: RB leaves the rows as AMD has them and cuts by the cosine alone; joined along the
 * tree there are fewer blocks. */
static void test_without_joining(void **state) {
    (void)state;
    pattern p = pattern_grid(20, 20);
    mpki_graph graph = graph_of(&p);
    mpk_options options;
    mpk_options_init(&options);
    options.ordering = MPK_ORDERING_AMD;
    options.strategy = MPK_STRATEGY_RB;
    options.block = 8;
    mpki_blocking joined, printed;
    int32_t amd[400];
    mpk_ordering used;
    assert_int_equal(mpki_order(ctx, &graph, MPK_ORDERING_AMD, 1, 1, amd, &used), MPK_OK);
    assert_int_equal(mpki_blocking_make(ctx, &graph, NULL, &options, &joined), MPK_OK);
    options.joining = MPK_OFF;
    assert_int_equal(mpki_blocking_make(ctx, &graph, NULL, &options, &printed), MPK_OK);
    assert_true(joined.nframes < printed.nframes);
    assert_memory_equal(printed.perm, amd, sizeof amd);
    /* ends of the falling threshold: above it each row is a block; the lower, the fewer blocks */
    int32_t before = 400;
    static const double ends[] = {0.9, 0.5, 0.2, 0};
    for (int k = 0; k < 4; k++) {
        mpki_blocking other;
        options.similarity_end = ends[k];
        assert_int_equal(mpki_blocking_make(ctx, &graph, NULL, &options, &other), MPK_OK);
        assert_true(k == 0 ? other.nframes == 400 : other.nframes <= before);
        before = other.nframes;
        mpki_blocking_free(ctx, &other);
    }
    assert_true(before < 400 && before <= printed.nframes);
    mpki_blocking_free(ctx, &joined);
    mpki_blocking_free(ctx, &printed);
    mpki_graph_free(ctx, &graph);
    free(p.entry);
}

/* Blocks of the caller's own, in an order of the caller's own: both as they are, pairs or not. */
static void test_given_blocks(void **state) {
    (void)state;
    for (int trial = 0; trial < 100; trial++) {
        const int32_t n = 1 + random_below(150);
        pattern p = pattern_random(n, random_below(4 * n + 1), 60);
        mpki_graph graph = graph_of(&p);
        int32_t *mate = random_pairs(n), *given = random_perm(n), *start, blocks = 0;
        start = malloc(((size_t)n + 1) * sizeof *start);
        for (int32_t k = 0; k < n; k += 1 + random_below(40)) start[blocks++] = k;
        start[blocks] = n;
        mpk_options options;
        mpk_options_init(&options);
        options.strategy = (mpk_strategy)(trial % 4);
        options.ordering = trial % 3 ? MPK_ORDERING_GIVEN : MPK_ORDERING_NATURAL;
        options.given_perm = given;
        options.given_blocks = start;
        options.block = 4; /* means nothing then */
        mpki_blocking b;
        assert_int_equal(mpki_blocking_make(ctx, &graph, trial % 2 ? mate : NULL, &options, &b),
                         MPK_OK);
        assert_int_equal(b.nframes, blocks);
        assert_memory_equal(b.bptr, start, ((size_t)blocks + 1) * sizeof *start);
        for (int32_t k = 0; k < n; k++) assert_int_equal(b.perm[k], trial % 3 ? given[k] : k);
        mpki_blocking_free(ctx, &b);
        mpki_graph_free(ctx, &graph);
        free(mate), free(given), free(start), free(p.entry);
    }
}

/* The graph of groups against the definition. */
static void test_quotient(void **state) {
    (void)state;
    for (int trial = 0; trial < 200; trial++) {
        int32_t n = 1 + random_below(60), m = 1 + random_below(n);
        pattern p = pattern_random(n, random_below(4 * n + 1), 50);
        mpki_graph graph = graph_of(&p), quotient;
        int32_t *of = malloc((size_t)n * sizeof *of);
        for (int32_t v = 0; v < n; v++) of[v] = v < m ? v : random_below(m);
        assert_int_equal(mpki_quotient(ctx, &graph, of, m, &quotient), MPK_OK);
        char *edge = calloc((size_t)m * m, 1);
        for (int32_t i = 0; i < n; i++)
            for (int32_t j = 0; j < n; j++)
                if (p.entry[(size_t)i * n + j] && of[i] != of[j])
                    edge[(size_t)of[i] * m + of[j]] = 1;
        int64_t edges = 0, columns = 0;
        for (int32_t k = 0; k < m * m; k++) edges += edge[k];
        assert_int_equal(quotient.n, m);
        assert_int_equal(quotient.xadj[m], edges);
        for (int32_t v = 0; v < m; v++) {
            columns += quotient.weight[v];
            for (int64_t e = quotient.xadj[v]; e < quotient.xadj[v + 1]; e++) {
                assert_true(edge[(size_t)v * m + quotient.adj[e]]);
                assert_true(e == quotient.xadj[v] || quotient.adj[e - 1] < quotient.adj[e]);
            }
        }
        assert_int_equal(columns, n);
        mpki_graph_free(ctx, &quotient);
        mpki_graph_free(ctx, &graph);
        free(of);
        free(edge);
        free(p.entry);
    }
}

/* Every point of a grid has `unknowns` unknowns, all joined, numbered apart from each other: BR
 * must find them again. */
static void test_unknowns_of_a_point(void **state) {
    (void)state;
    enum { NX = 9, UNKNOWNS = 3, N = NX * NX * UNKNOWNS };
    pattern grid = pattern_grid(NX, NX), p = pattern_new(N);
    for (int32_t i = 0; i < N; i++)
        for (int32_t j = 0; j < N; j++)
            if (grid.entry[(size_t)(i % (NX * NX)) * grid.n + j % (NX * NX)]) pattern_set(&p, i, j);
    mpki_graph graph = graph_of(&p);
    int32_t *of = calloc(N, sizeof *of), count = 0;
    assert_int_equal(mpki_group_identical(ctx, &graph, 32, of, &count), MPK_OK);
    assert_int_equal(count, NX * NX);
    for (int32_t i = 0; i < N; i++) assert_int_equal(of[i], of[i % (NX * NX)]);
    mpk_options options;
    mpk_options_init(&options);
    options.strategy = MPK_STRATEGY_BR;
    options.ordering = MPK_ORDERING_AMD;
    options.block = UNKNOWNS;
    options.threads = 1;
    mpki_blocking b;
    assert_int_equal(mpki_blocking_make(ctx, &graph, NULL, &options, &b), MPK_OK);
    assert_int_equal(b.nframes, NX * NX);
    for (int32_t i = 0; i < N; i++)
        assert_int_equal(b.of[b.iperm[i]], b.of[b.iperm[i % (NX * NX)]]);
    mpki_blocking_free(ctx, &b);
    mpki_graph_free(ctx, &graph);
    free(of);
    free(grid.entry);
    free(p.entry);
}

/* Rows {0,1,2,3,x} with x different: cosine 4/5 with the diagonal's columns counted or less. By
 * hand: vertices 4..7 have patterns {0,1,2,3,own}; 4 shared of 5, cosine 0.8. */
static void test_cosine_by_hand(void **state) {
    (void)state;
    pattern p = pattern_new(8);
    for (int32_t i = 4; i < 8; i++)
        for (int32_t j = 0; j < 4; j++) pattern_set(&p, i, j);
    mpki_graph graph = graph_of(&p);
    int32_t of[8], count = 0;
    double below = -1;
    assert_int_equal(mpki_group_similar(ctx, &graph, 0.79, 8, 1, of, &count, &below), MPK_OK);
    assert_int_equal(count, 2);
    for (int32_t i = 0; i < 8; i++) assert_int_equal(of[i], i / 4);
    assert_true(fabs(below - 0.4) < 1e-12); /* a row of one side with one of the other: 2 of 5 */
    assert_int_equal(mpki_group_similar(ctx, &graph, 0.81, 8, 1, of, &count, &below), MPK_OK);
    assert_int_equal(count, 8);
    assert_true(fabs(below - 0.8) < 1e-12);
    assert_int_equal(mpki_group_similar(ctx, &graph, 0.79, 3, 1, of, &count, &below), MPK_OK);
    assert_int_equal(count, 4); /* 3 + 1 + 3 + 1 */
    assert_int_equal(mpki_group_neighbours(ctx, &graph, 0.7, 8, of, &count, &below), MPK_OK);
    assert_int_equal(of[0], of[1]);
    mpki_graph_free(ctx, &graph);
    free(p.entry);
}

/* Length of the longest chain of blocks in the complete factor. */
static int32_t chain(const mpki_graph *graph, const int32_t *of, int32_t count) {
    mpki_graph blocks;
    assert_int_equal(mpki_quotient(ctx, graph, of, count, &blocks), MPK_OK);
    int32_t *perm = malloc((size_t)count * sizeof *perm), longest = 0;
    int32_t *iperm = malloc((size_t)count * sizeof *iperm);
    int32_t *parent = malloc((size_t)count * sizeof *parent);
    int32_t *columns = malloc((size_t)count * sizeof *columns);
    int32_t *height = calloc((size_t)count, sizeof *height);
    for (int32_t k = 0; k < count; k++) perm[k] = iperm[k] = k;
    assert_int_equal(mpki_elimination(ctx, &blocks, perm, iperm, parent, columns), MPK_OK);
    for (int32_t k = 0; k < count; k++) {
        if (++height[k] > longest) longest = height[k];
        if (parent[k] >= 0 && height[parent[k]] < height[k]) height[parent[k]] = height[k];
    }
    mpki_graph_free(ctx, &blocks);
    free(perm);
    free(iperm);
    free(parent);
    free(columns);
    free(height);
    return longest;
}

/* Joining blocks along the elimination tree keeps them contiguous and lengthens no chain. */
static void test_subtrees(void **state) {
    (void)state;
    int64_t before = 0, after = 0;
    for (int trial = 0; trial < 300; trial++) {
        int32_t n = 1 + random_below(80), most = 1 + random_below(12), groups = n;
        pattern p =
            trial % 2 ? pattern_random(n, random_below(2 * n + 1), 50) : pattern_grid(1 + n / 9, 9);
        n = p.n;
        groups = n;
        mpki_graph graph = graph_of(&p), ordered;
        int32_t *perm = malloc((size_t)n * sizeof *perm), *iperm = malloc((size_t)n * sizeof *perm);
        int32_t *parent = malloc((size_t)n * sizeof *parent), *of = malloc((size_t)n * sizeof *of);
        int32_t *count = malloc((size_t)n * sizeof *count);
        assert_int_equal(mpki_order(ctx, &graph, MPK_ORDERING_AMD, 1, 1, perm, NULL), MPK_OK);
        for (int32_t k = 0; k < n; k++) iperm[perm[k]] = k;
        assert_int_equal(mpki_elimination(ctx, &graph, perm, iperm, parent, count), MPK_OK);
        assert_int_equal(mpki_quotient(ctx, &graph, iperm, n, &ordered), MPK_OK);
        for (int32_t k = 0; k < n; k++) of[k] = k;
        int32_t longest = chain(&ordered, of, n);
        assert_int_equal(mpki_group_subtrees(ctx, n, NULL, parent, most, of, &groups), MPK_OK);
        assert_int_equal(of[0], 0);
        assert_int_equal(of[n - 1], groups - 1);
        for (int32_t k = 0, size = 1; k + 1 < n; k++) {
            assert_true(of[k + 1] == of[k] || of[k + 1] == of[k] + 1);
            size = of[k + 1] == of[k] ? size + 1 : 1;
            assert_true(size <= most);
        }
        int32_t shorter = chain(&ordered, of, groups);
        assert_true(shorter <= longest);
        before += longest;
        after += shorter;
        mpki_graph_free(ctx, &ordered);
        mpki_graph_free(ctx, &graph);
        free(perm);
        free(iperm);
        free(parent);
        free(of);
        free(count);
        free(p.entry);
    }
    assert_true(after < before / 2);
}

/* auto takes the cheaper of the two. */
static void test_auto(void **state) {
    (void)state;
    mpk_strategy seen[2] = {MPK_STRATEGY_AUTO, MPK_STRATEGY_AUTO};
    for (int trial = 0; trial < 40; trial++) {
        int32_t n = 20 + random_below(100);
        pattern p = trial % 2 ? pattern_random(n, 3 * n, 50) : pattern_grid(n / 5, 8);
        mpki_graph graph = graph_of(&p);
        mpk_options options;
        mpk_options_init(&options);
        options.threads = 1;
        options.block = 8;
        options.level = trial % 3 - 1;
        double cost[3];
        static const mpk_strategy strategies[3] = {MPK_STRATEGY_BR, MPK_STRATEGY_RBR,
                                                   MPK_STRATEGY_AUTO};
        for (int k = 0; k < 3; k++) {
            mpki_blocking b;
            options.strategy = strategies[k];
            assert_int_equal(mpki_blocking_make(ctx, &graph, NULL, &options, &b), MPK_OK);
            assert_int_equal(mpki_blocking_cost(ctx, &graph, &b, options.level, 1, &cost[k]),
                             MPK_OK);
            if (k == 2) seen[b.strategy == MPK_STRATEGY_RBR] = b.strategy;
            mpki_blocking_free(ctx, &b);
        }
        assert_true(cost[2] == (cost[0] <= cost[1] ? cost[0] : cost[1]));
        mpki_graph_free(ctx, &graph);
        free(p.entry);
    }
    assert_int_equal(seen[0], MPK_STRATEGY_BR);
    assert_int_equal(seen[1], MPK_STRATEGY_RBR);
}

/* A matrix large enough to be judged by patches. */
static void test_auto_by_patches(void **state) {
    (void)state;
    enum { NX = 260, N = NX * NX }; /* also more than one part of mpki_group_similar */
    mpki_graph graph = {.n = N};
    mpk_options options;
    mpki_blocking b;
    mpk_options_init(&options);
    options.threads = 1;
    graph.xadj = mpki_alloc(ctx, "test", N + 1, sizeof *graph.xadj);
    graph.adj = mpki_alloc(ctx, "test", 4 * N, sizeof *graph.adj);
    int64_t next = 0;
    for (int32_t v = 0; v < N; v++) {
        graph.xadj[v] = next;
        if (v >= NX) graph.adj[next++] = v - NX;
        if (v % NX) graph.adj[next++] = v - 1;
        if (v % NX < NX - 1) graph.adj[next++] = v + 1;
        if (v < N - NX) graph.adj[next++] = v + NX;
    }
    graph.xadj[N] = next;
    assert_int_equal(mpki_blocking_make(ctx, &graph, NULL, &options, &b), MPK_OK);
    check_blocking(&b, N, NULL, &options);
    assert_true(b.nframes < N / 20);
    for (int k = 0; k < 2; k++) { /* the same for any number of threads */
        mpki_blocking other;
        options.strategy = MPK_STRATEGY_BR;
        options.threads = 1 + 2 * k;
        if (k == 0) mpki_blocking_free(ctx, &b);
        assert_int_equal(mpki_blocking_make(ctx, &graph, NULL, &options, k ? &other : &b), MPK_OK);
        if (k == 0) continue;
        assert_memory_equal(b.perm, other.perm, N * sizeof *b.perm);
        assert_memory_equal(b.of, other.of, N * sizeof *b.of);
        mpki_blocking_free(ctx, &other);
    }
    mpki_blocking_free(ctx, &b);
    mpki_graph_free(ctx, &graph);
}

static void test_same_bits(void **state) {
    (void)state;
    pattern p = pattern_grid(23, 17);
    mpki_graph graph = graph_of(&p);
    mpk_options options;
    mpk_options_init(&options);
    for (int trial = 0; trial < 8; trial++) {
        mpki_blocking one, two;
        options.strategy = (mpk_strategy)(trial % 4);
        options.ordering = trial < 4 ? MPK_ORDERING_ND : MPK_ORDERING_AUTO;
        options.block = 8;
        options.threads = 1;
        assert_int_equal(mpki_blocking_make(ctx, &graph, NULL, &options, &one), MPK_OK);
        options.threads = 3;
        assert_int_equal(mpki_blocking_make(ctx, &graph, NULL, &options, &two), MPK_OK);
        assert_int_equal(one.nframes, two.nframes);
        assert_memory_equal(one.perm, two.perm, (size_t)p.n * sizeof *one.perm);
        assert_memory_equal(one.of, two.of, (size_t)p.n * sizeof *one.of);
        mpki_blocking_free(ctx, &one);
        mpki_blocking_free(ctx, &two);
    }
    mpki_graph_free(ctx, &graph);
    free(p.entry);
}

/* The k-th request for memory fails: nothing is held, and it says so. */
static void test_memory_fails(void **state) {
    (void)state;
    pattern p = pattern_grid(12, 9);
    mpki_graph graph = graph_of(&p);
    int32_t *mate = random_pairs(p.n);
    mpk_options options;
    mpk_options_init(&options);
    options.block = 4;
    options.threads = 1;
    for (int trial = 0; trial < 8; trial++) {
        options.strategy = (mpk_strategy)(trial % 4);
        options.grid = trial < 4 ? MPK_OFF : MPK_ON;
        options.ordering = trial % 2 ? MPK_ORDERING_AMD : MPK_ORDERING_GMC;
        mpk_status status = MPK_ERR_MEMORY;
        for (long k = 0; status; k++) {
            assert_true(k < 10000);
            mpki_blocking b;
            mpki_clear_error(ctx);
            test_memory.countdown = k;
            status = mpki_blocking_make(ctx, &graph, mate, &options, &b);
            test_memory.countdown = -1;
            if (mpk_failed(status)) {
                assert_int_equal(status, MPK_ERR_MEMORY);
                assert_null(b.perm);
                assert_null(b.bptr);
            } else {
                assert_true(k > 0);
                check_blocking(&b, p.n, mate, &options);
            }
            mpki_blocking_free(ctx, &b);
        }
    }
    mpki_graph_free(ctx, &graph);
    free(mate);
    free(p.entry);
}

static int stop(const char *stage, double fraction, void *user) {
    (void)stage;
    (void)fraction;
    (void)user;
    return 1;
}

static void test_cancelled(void **state) {
    (void)state;
    pattern p = pattern_grid(12, 9);
    mpki_graph graph = graph_of(&p);
    mpk_options options;
    mpki_blocking b;
    mpk_options_init(&options);
    options.threads = 1;
    mpk_context_set_progress(ctx, stop, NULL);
    assert_int_equal(mpki_blocking_make(ctx, &graph, NULL, &options, &b), MPK_ERR_CANCELLED);
    assert_null(b.perm);
    mpk_context_set_progress(ctx, NULL, NULL);
    mpki_graph_free(ctx, &graph);
    free(p.entry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_invariants, setup, teardown),
        cmocka_unit_test_setup_teardown(test_without_joining, setup, teardown),
        cmocka_unit_test_setup_teardown(test_given_blocks, setup, teardown),
        cmocka_unit_test_setup_teardown(test_quotient, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unknowns_of_a_point, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cosine_by_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(test_subtrees, setup, teardown),
        cmocka_unit_test_setup_teardown(test_auto, setup, teardown),
        cmocka_unit_test_setup_teardown(test_auto_by_patches, setup, teardown),
        cmocka_unit_test_setup_teardown(test_same_bits, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cancelled, setup, teardown),
    };
    return cmocka_run_group_tests_name("blocking", tests, NULL, NULL);
}
