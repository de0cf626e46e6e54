/* SPDX-License-Identifier: BSD-3-Clause */
/* How many workers a walk takes, what they push and wake, and that their number is not in the bits:
 * chains, stars, wide trees. */
#include "../../../sanitized.h"
#include "support.h"

#include "core/pool.h"
#include "engines/cpu/multifrontal/tasks.h"
#include "engines/cpu/multifrontal/workers.h"
#include "factor/direct_numbers.h"

static mpk_context *context(int cores) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_context_set_cores(ctx, cores);
    return ctx;
}

/* n columns that meet nothing but some of the last `hub` ones. */
static mpk_problem *star(mpk_context *ctx, int n, int hub) {
    const int64_t most = (int64_t)n * 5 + (int64_t)hub * hub;
    int32_t *row = malloc((size_t)most * sizeof *row), *col = malloc((size_t)most * sizeof *col);
    double *x = malloc((size_t)most * sizeof *x);
    int64_t nnz = 0;
    for (int j = 0; j < n + hub; j++) {
        row[nnz] = col[nnz] = j, x[nnz++] = j < n ? (j & 1 ? 1 : -1) : 0;
        for (int k = 0; j < n && k < 4; k++)
            row[nnz] = n + (j * 7 + k * k * 13) % hub, col[nnz] = j,
            x[nnz++] = (j * 31 + k * 17) % 23 - 11.5;
    }
    mpk_problem *problem = NULL;
    assert_int_equal(mpk_problem_from_triplets(ctx, n + hub, MPK_D, MPK_SYMMETRIC, MPK_LOWER, nnz,
                                               row, col, x, &problem),
                     MPK_OK);
    free(row), free(col), free(x);
    return problem;
}

static mpk_problem *problem_of(mpk_context *ctx, int which) {
    static const char *const specs[] = {"optimal-control 300", "helmholtz 3d 14", "stokes mac 40",
                                        "random 400 density=0.05"};
    mpk_problem *problem = NULL;
    if (which == 4) return star(ctx, TEST_SANITIZED ? 1000 : 5000, 150);
    assert_int_equal(mpk_problem_generate(ctx, specs[which], 1, &problem), MPK_OK);
    return problem;
}

enum { PROBLEMS = 5, MANY = 12 };

/* D twice (a factor, and once more), a solution, and several together. */
static double *results(int which, int threads, int64_t *count) {
    mpk_context *ctx = context(64);
    mpk_problem *problem = problem_of(ctx, which);
    mpk_problem_view v;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_options o;
    mpk_options_init(&o);
    o.threads = threads;
    mpk_problem_view_get(problem, &v);
    const size_t n = (size_t)v.n, all = n * (4 + 2 + 2 * MANY);
    double *out = calloc(all, sizeof *out), *b = malloc(n * MANY * sizeof *b);
    for (size_t i = 0; i < n * MANY; i++) b[i] = (double)((i * 37) % 101) - 50;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    assert_true(mpk_factorize(ctx, an, NULL, &o, &fac) >= 0);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, out, 2 * n * sizeof *out), MPK_OK);
    assert_true(mpk_refactorize(ctx, NULL, &o, fac) >= 0);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, out + 2 * n, 2 * n * sizeof *out), MPK_OK);
    mpk_factor_info_get(fac, &info);
    assert_int_equal(info.threads, threads);
    double *x = out + 4 * n;
    assert_true(mpk_solve(ctx, fac, 1, b, v.n, x, v.n, &o, NULL) >= 0);
    o.refine = 0;
    assert_true(mpk_solve(ctx, fac, 1, b, v.n, x + n, v.n, &o, NULL) >= 0);
    assert_true(mpk_solve(ctx, fac, MANY, b, v.n, x + 2 * n, v.n, &o, NULL) >= 0);
    memcpy(b, x, n * sizeof *b); /* in place */
    for (size_t i = 0; i < n; i++) x[(2 + MANY) * n + i] = (double)((i * 37) % 101) - 50;
    assert_true(
        mpk_solve(ctx, fac, 1, x + (2 + MANY) * n, v.n, x + (2 + MANY) * n, v.n, &o, NULL) >= 0);
    assert_memory_equal(x + (2 + MANY) * n, x + n, n * sizeof *x);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(b);
    *count = (int64_t)all;
    return out;
}

static void test_same_bits(void **unused) {
    (void)unused;
    static const int threads[] = {2, 3, 8, 16, 64};
    for (int which = 0; which < PROBLEMS; which++) {
        int64_t count;
        double *one = results(which, 1, &count);
        for (int t = 0; t < 5; t++) {
            double *x = results(which, threads[t], &count);
            if (memcmp(one, x, (size_t)count * sizeof *x))
                fail_msg("problem %d: other bits with %d threads", which, threads[t]);
            free(x);
        }
        free(one);
    }
}

/* A chain is done by who does its end: it is cut into many tasks, but few are pushed, whoever else
 * may wait. */
static void test_chain_is_not_pushed(void **unused) {
    (void)unused;
    for (int threads = 2; threads <= 64; threads *= 2) {
        mpk_context *ctx = context(64);
        mpk_problem *problem = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_options o;
        mpk_options_init(&o);
        o.threads = threads;
        assert_int_equal(mpk_problem_generate(ctx, "optimal-control 500", 1, &problem), MPK_OK);
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        const mpki_tree_view tree = mpki_tree_view_of(an);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        mpki_pool *pool = mpki_context_pool(ctx, threads, 1);
        const mpki_pool_counts before = mpki_pool_count(pool);
        assert_int_equal(mpk_refactorize(ctx, NULL, &o, fac), MPK_OK);
        const mpki_pool_counts walk = mpki_pool_count(pool);
        double *x = calloc((size_t)tree.n, sizeof *x);
        o.refine = 0;
        assert_true(mpk_solve(ctx, fac, 1, x, tree.n, x, tree.n, &o, NULL) >= 0);
        const mpki_pool_counts solve = mpki_pool_count(pool);
        const int64_t pushed = walk.pushes - before.pushes;
        if (pushed > tree.nsuper / 8 || solve.pushes - walk.pushes > 2 * (pushed + 1))
            fail_msg("%d threads: %lld tasks pushed, %lld in a solve, of %d nodes", threads,
                     (long long)pushed, (long long)(solve.pushes - walk.pushes), tree.nsuper);
        assert_true(walk.wakes - before.wakes <= 2 * (pushed + walk.loops - before.loops) + 2);
        free(x);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
}

static mpki_useful useful_if(int model, const char *spec, int threads, double wake) {
    mpk_context *ctx = context(64);
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_options o;
    mpk_options_init(&o);
    o.model_threads = model;
    assert_int_equal(mpk_problem_generate(ctx, spec, 1, &problem), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    const mpki_tree_view tree = mpki_tree_view_of(an);
    const mpki_useful found = mpki_useful_of_plan(ctx, &tree, threads, wake);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return found;
}

static mpki_useful useful(const char *spec, int threads, double wake) {
    return useful_if(2, spec, threads, wake);
}

/* Small trees take one worker, chains about as many as they have ends or parts, large ones all; who is dear to wake
 * is not woken. */
static void test_useful(void **unused) {
    (void)unused;
    static const double WAKE = 5e-6;
    if (TEST_SANITIZED) skip(); /* of an analysis, as others are: figures */
    assert_int_equal(useful_if(1, "optimal-control 2000", 64, WAKE).factor, 1);
    const int ends = useful("optimal-control 500", 64, WAKE).factor;
    assert_true(ends >= 2 && ends <= 6);
    assert_true(useful("optimal-control 2000", 64, WAKE).factor >= 8);
    assert_int_equal(useful("helmholtz 2d 20", 64, WAKE).factor, 1);
    const mpki_useful cube = useful("helmholtz 3d 22", 16, WAKE);
    assert_true(cube.factor >= 8 && cube.factor <= 16);
    assert_true(cube.solve >= 1 && cube.solve <= cube.factor);
    assert_int_equal(useful("helmholtz 3d 22", 2, WAKE).factor, 2);
    assert_int_equal(useful("helmholtz 3d 22", 1, WAKE).factor, 1);
    assert_int_equal(useful("helmholtz 3d 22", 16, 1).factor, 1);
}

/* Who offers more threads is never expected to wait longer: chains, bands, grids in the plane and in space, networks
 * and programs, a star; for any price of waking a worker. And where one side's tree has enough to do, they are taken. */
static void test_never_longer(void **unused) {
    (void)unused;
    static const char *const specs[] = {
        "optimal-control 500", "optimal-control 3000",   "helmholtz 2d 120",
        "helmholtz 3d 18",     "stokes mac 60",          "lp-kkt 2000 6000",
        "nlpkkt 14",           "control-distributed 16", "random 400 density=0.05"};
    enum { SPECS = sizeof specs / sizeof *specs, MOST = 64 };
    static const double wakes[] = {0, 1e-6, 5e-6, 2e-5, 2e-4};
    int many = 0;
    for (int m = 0; m <= SPECS; m++) {
        mpk_context *ctx = context(MOST);
        mpk_problem *problem = NULL;
        mpk_analysis *an = NULL;
        mpk_options o;
        mpk_options_init(&o);
        if (m < SPECS)
            assert_int_equal(mpk_problem_generate(ctx, specs[m], 1, &problem), MPK_OK);
        else
            problem = star(ctx, 5000, 150);
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        const mpki_tree_view tree = mpki_tree_view_of(an);
        for (size_t w = 0; w < sizeof wakes / sizeof *wakes; w++) {
            mpki_useful before = mpki_useful_of_plan(ctx, &tree, 1, wakes[w]);
            assert_int_equal(before.factor, 1);
            for (int threads = 2; threads <= MOST; threads++) {
                const mpki_useful u = mpki_useful_of_plan(ctx, &tree, threads, wakes[w]);
                if (u.factor_s > before.factor_s || u.solve_s > before.solve_s ||
                    u.sides_s > before.sides_s || u.factor > threads)
                    fail_msg("%s, wake %g: %d threads (%d %d %d) %g %g %g s, one fewer %g %g %g",
                             m < SPECS ? specs[m] : "star", wakes[w], threads, u.factor, u.solve,
                             u.sides, u.factor_s, u.solve_s, u.sides_s, before.factor_s,
                             before.solve_s, before.sides_s);
                many += u.factor > before.factor;
                before = u;
            }
        }
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
    assert_true(many > 100);
}

static mpki_tree_view tree_of(mpk_context *ctx, mpk_problem *problem, mpk_analysis **an) {
    mpk_options o;
    mpk_options_init(&o);
    assert_int_equal(mpk_analyse(ctx, problem, &o, an), MPK_OK);
    return mpki_tree_view_of(*an);
}

/* Thousands of leaves of one column are some tenths of a millisecond, however cheap wakes are. */
static void test_tiny_nodes(void **unused) {
    (void)unused;
    mpk_context *ctx = context(64);
    mpk_problem *problem = star(ctx, 2000, 4);
    mpk_analysis *an = NULL;
    const mpki_tree_view tree = tree_of(ctx, problem, &an);
    assert_true(tree.nsuper > 1000);
    const mpki_useful u = mpki_useful_of_plan(ctx, &tree, 64, 1e-6);
    assert_int_equal(u.factor, 1);
    assert_int_equal(u.solve, 1);
    assert_int_equal(u.sides, 1);
    assert_true(u.factor_s > 0 && u.factor_s < 500e-6);
    assert_true(u.solve_s > 0 && u.solve_s < 200e-6 && u.sides_s < 600e-6);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* Parts of similar size take all threads where wakes are as dear as on many cores. */
static void test_wide(void **unused) {
    (void)unused;
    if (TEST_SANITIZED) skip(); /* of an analysis, as others are: figures */
    static const double wakes[] = {2e-6, 5e-6, 1e-5, 2e-5};
    for (size_t k = 0; k < sizeof wakes / sizeof *wakes; k++) {
        const mpki_useful u = useful("nlpkkt 20", 16, wakes[k]);
        if (u.factor < 15 || u.solve > u.factor || u.solve < 6)
            fail_msg("wake %g: %d workers, %d in a solve", wakes[k], u.factor, u.solve);
    }
}

/* A tree is cut for a solve by what nodes cost there, and for its own workers: tasks are ranges of nodes that cover
 * the tree, and hardly more than are asked for. */
static void test_cut(void **unused) {
    (void)unused;
    mpk_context *ctx = context(64);
    mpk_problem *problem = star(ctx, 5000, 150);
    mpk_analysis *an = NULL;
    const mpki_tree_view tree = tree_of(ctx, problem, &an);
    for (int workers = 1; workers <= 16; workers *= 4) {
        mpki_tasks t;
        int32_t next = 0, top = 0;
        assert_int_equal(mpki_tasks_build(ctx, &tree, mpki_sweep_cost, workers, 8, &t), MPK_OK);
        for (int32_t k = 0; k < t.count; k++) {
            assert_int_equal(t.task[k].first, next);
            next = t.task[k].last + 1;
            top += t.task[k].top;
        }
        assert_int_equal(next, tree.nsuper);
        if (workers > 1 && (t.count - top < 4 * workers || t.count - top > 3 * 8 * workers))
            fail_msg("%d workers: %d tasks, %d at the top", workers, t.count, top);
        mpki_tasks_free(ctx, &t);
    }
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* No more workers than cores, in what is predicted and told, too. */
static void test_cores(void **unused) {
    static const mpk_method methods[] = {MPK_METHOD_LDLT, MPK_METHOD_ILDLT, MPK_METHOD_NONE};
    (void)unused;
    for (size_t k = 0; k < sizeof methods / sizeof *methods; k++) {
        mpk_context *ctx = NULL;
        mpk_problem *problem = NULL;
        mpk_analysis_info predicted[2];
        mpk_options o;
        mpk_options_init(&o);
        o.method = methods[k];
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        assert_int_equal(mpk_problem_generate(ctx, "helmholtz 3d 14", 1, &problem), MPK_OK);
        for (int more = 0; more < 2; more++) {
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpk_factor_info info;
            o.threads = mpki_cores() + 1000 * more;
            assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
            mpk_analysis_info_get(an, &predicted[more]);
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
            mpk_factor_info_get(fac, &info);
            assert_true(info.threads >= 1 && info.threads <= mpki_cores());
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
        }
        assert_true(predicted[0].peak_bytes == predicted[1].peak_bytes);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
}

/* Workers that wait most of the time become fewer, and more again if that is slower. */
static void test_pace(void **unused) {
    (void)unused;
    mpki_pace p = {0};
    mpki_pace_learn(&p, 16, 1, 1); /* the first walk does not count */
    assert_int_equal(p.workers, 16);
    mpki_pace_learn(&p, 16, 1, 15);
    assert_int_equal(p.workers, 16);
    mpki_pace_learn(&p, 16, 1, 3);
    const int fewer = p.workers;
    assert_true(fewer < 16 && fewer >= 8);
    mpki_pace_learn(&p, fewer, 2, 3);
    mpki_pace_learn(&p, fewer, 0.9, 3);
    assert_true(p.workers < fewer);
    const int least = p.workers;
    mpki_pace_learn(&p, least, 1.2, 1);
    mpki_pace_learn(&p, least, 1.2, 1); /* slower: back, for good */
    assert_int_equal(p.workers, fewer);
    mpki_pace_learn(&p, fewer, 1, 0.1);
    mpki_pace_learn(&p, fewer, 1, 0.1);
    assert_int_equal(p.workers, fewer);
    mpki_pace alone = {0};
    for (int k = 0; k < 3; k++) mpki_pace_learn(&alone, 1, 1, 0);
    assert_int_equal(alone.workers, 0);
    mpki_pace creeping = {0}; /* 2 % slower by each step: back to the quickest before they add up */
    const double walls[] = {1, 1, 1, 1.02, 1, 1.04};
    int now = 16;
    for (int k = 0; k < 6; k++) {
        mpki_pace_learn(&creeping, now, walls[k], 1);
        now = creeping.workers;
    }
    assert_int_equal(now, 16);
    assert_true(creeping.settled);
    mpki_pace two = {0};
    for (int k = 0; k < 2; k++) mpki_pace_learn(&two, 2, 1, 0.5);
    assert_int_equal(two.workers, 1);
}

/* Where memory_limit is too little for several workers, one does it within the limit. */
static void test_memory_limit(void **unused) {
    (void)unused;
    mpk_context *ctx = context(16);
    mpk_problem *problem = NULL;
    mpk_problem_view v;
    mpk_analysis *an = NULL;
    mpk_analysis_info predicted;
    mpk_factor *fac = NULL, *many = NULL;
    mpk_factor_info info;
    mpk_options o;
    mpk_options_init(&o);
    o.threads = 16;
    assert_int_equal(mpk_problem_generate(ctx, "helmholtz 3d 22", 1, &problem), MPK_OK);
    mpk_problem_view_get(problem, &v);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
    mpk_analysis_info_get(an, &predicted);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &many), MPK_OK);
    o.memory_limit = (double)predicted.peak_bytes;
    for (int again = 0; again < 2; again++) {
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        mpk_factor_info_get(fac, &info);
        if ((double)info.peak_bytes > 1.1 * o.memory_limit)
            fail_msg("%lld bytes of %.0f, %d threads", (long long)info.peak_bytes, o.memory_limit,
                     info.threads);
    }
    o.memory_limit = 0; /* and several again where it is gone */
    const int fewer = info.threads;
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    mpk_factor_info_get(fac, &info);
    assert_true(fewer == 1 ? info.threads > 1 : info.threads >= 1);
    const size_t size = 2 * (size_t)v.n * sizeof(double);
    double *d = malloc(size), *e = malloc(size);
    assert_int_equal(mpk_get(ctx, many, MPK_GET_D, d, size), MPK_OK);
    assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, e, size), MPK_OK);
    assert_memory_equal(d, e, size);
    free(d), free(e);
    mpk_factor_destroy(&fac);
    mpk_factor_destroy(&many);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* A limit above that steers what workers begin: all of them stay at work, within it. */
static void test_steered(void **unused) {
    (void)unused;
    static const char *const specs[] = {"helmholtz 3d 22", "nlpkkt 14"};
    static const double shares[] = {1.0, 1.1, 1.2, 1.3, 1.5};
    mpk_context *ctx = context(16);
    mpk_options o;
    mpk_options_init(&o);
    for (size_t m = 0; m < sizeof specs / sizeof *specs; m++)
        for (o.threads = 4; o.threads <= (TEST_SANITIZED ? 4 : 16); o.threads *= 4) {
            mpk_problem *problem = NULL;
            mpk_problem_view v;
            mpk_analysis *an = NULL;
            mpk_analysis_info predicted;
            mpk_factor *free_one = NULL;
            o.memory_limit = 0;
            assert_int_equal(mpk_problem_generate(ctx, specs[m], 1, &problem), MPK_OK);
            mpk_problem_view_get(problem, &v);
            assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
            mpk_analysis_info_get(an, &predicted);
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &free_one), MPK_OK);
            const size_t size = 2 * (size_t)v.n * sizeof(double);
            double *d = malloc(size), *e = malloc(size);
            assert_int_equal(mpk_get(ctx, free_one, MPK_GET_D, d, size), MPK_OK);
            for (size_t k = 0; k < sizeof shares / sizeof *shares; k += 1 + TEST_SANITIZED) {
                mpk_factor *fac = NULL;
                mpk_factor_info info;
                o.memory_limit = shares[k] * (double)predicted.peak_bytes;
                assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
                mpk_factor_info_get(fac, &info);
                if ((double)info.peak_bytes > 1.05 * o.memory_limit || (k > 0 && info.threads < 2))
                    fail_msg("%s, limit %.2f of predicted: %.2f, %d threads of %d", specs[m],
                             shares[k], (double)info.peak_bytes / (double)predicted.peak_bytes,
                             info.threads, o.threads);
                assert_int_equal(mpk_get(ctx, fac, MPK_GET_D, e, size), MPK_OK);
                assert_memory_equal(d, e, size);
                mpk_factor_destroy(&fac);
            }
            free(d), free(e);
            mpk_factor_destroy(&free_one);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
        }
    mpk_context_destroy(&ctx);
}

/* Most resident bytes since the call before this one, beyond those at that time; 0: it cannot be told. */
static double resident(double *before) {
    char line[256];
    double now = 0, most = 0;
    FILE *status = fopen("/proc/self/status", "r"), *reset = fopen("/proc/self/clear_refs", "w");
    while (status && fgets(line, sizeof line, status)) {
        if (!strncmp(line, "VmRSS:", 6)) now = 1024 * strtod(line + 6, NULL);
        if (!strncmp(line, "VmHWM:", 6)) most = 1024 * strtod(line + 6, NULL);
    }
    const bool told = status && reset && fputs("5", reset) >= 0;
    if (status) fclose(status);
    if (reset) fclose(reset);
    const double grown = told ? most - *before : 0;
    *before = now;
    return grown;
}

/* A limit a twentieth above what one worker is predicted to need is enough for any number of threads: who
 * analyses is not refused, and the factorization stays within it, resident; counted, but for what the context
 * makes for its threads, and late columns. */
static void test_limit_is_kept(void **unused) {
    (void)unused;
    enum { POOL = 1 << 18 };
    static const char *const specs[] = {"helmholtz 3d 22",
                                        "nlpkkt 12",
                                        "quasi-definite 100",
                                        "stokes mac 60",
                                        "helmholtz 2d 120 boundary=absorbing",
                                        "random 900 density=0.01",
                                        "optimal-control 300"};
    for (size_t m = 0; m < sizeof specs / sizeof *specs; m += 1 + 2 * TEST_SANITIZED) {
        double limit = 0;
        for (int threads = 1; threads <= 16; threads = threads == 1 ? 2 : 8 * threads) {
            mpk_context *ctx = context(16);
            mpk_problem *problem = NULL;
            mpk_analysis *an = NULL;
            mpk_analysis_info predicted;
            mpk_factor *fac = NULL;
            mpk_factor_info info;
            mpk_options o;
            double before = 0;
            mpk_options_init(&o);
            o.threads = threads;
            assert_int_equal(mpk_problem_generate(ctx, specs[m], 1, &problem), MPK_OK);
            o.memory_limit = limit;
            assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
            mpk_analysis_info_get(an, &predicted);
            if (threads == 1) limit = o.memory_limit = 1.05 * (double)predicted.peak_bytes;
            (void)resident(&before);
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
            const double held = resident(&before);
            mpk_factor_info_get(fac, &info);
            /* a walk that one worker had to do again counts up to a tenth more */
            if ((double)info.peak_bytes > 1.15 * limit + POOL || (!TEST_SANITIZED && held > limit))
                fail_msg("%s, %d threads: limit %.0f, %lld counted, %.0f resident", specs[m],
                         threads, limit, (long long)info.peak_bytes, held);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
            mpk_context_destroy(&ctx);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_limit_is_kept),
                                       cmocka_unit_test(test_same_bits),
                                       cmocka_unit_test(test_chain_is_not_pushed),
                                       cmocka_unit_test(test_useful),
                                       cmocka_unit_test(test_never_longer),
                                       cmocka_unit_test(test_tiny_nodes),
                                       cmocka_unit_test(test_wide),
                                       cmocka_unit_test(test_cut),
                                       cmocka_unit_test(test_cores),
                                       cmocka_unit_test(test_pace),
                                       cmocka_unit_test(test_memory_limit),
                                       cmocka_unit_test(test_steered)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
