/* SPDX-License-Identifier: BSD-3-Clause */
/* What a factorization says of the rank: structurally singular, singular with a vector that shows
 * it, full, and what a second scaling makes of a first doubt. Random matrices: tests/oracle/. */
#include "support.h"

#include "factor/rank.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef struct outcome {
    mpk_status analysed, factored, solved;
    mpk_factor_info factor;
    mpk_solve_info solve;
    char text[512]; /* of the solve */
} outcome;

static outcome go(const dense *m, const mpk_options *o, const void *b, void *x) {
    mpk_context *ctx = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    const char *text = "";
    outcome r = {0};
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_problem *problem = dense_problem(ctx, m, 0);
    r.analysed = mpk_analyse(ctx, problem, o, &an);
    r.factored = mpk_factorize(ctx, an, NULL, o, &fac);
    assert_true(r.factored >= 0);
    if (r.factored > 0) {
        mpk_last_error(ctx, NULL, NULL, &text);
        assert_true(*text);
    }
    assert_int_equal(mpk_certify(ctx, fac, NULL), MPK_OK);
    mpk_factor_info_get(fac, &r.factor);
    r.solved = mpk_solve(ctx, fac, 1, b, m->n, x, m->n, o, &r.solve);
    mpk_last_error(ctx, NULL, NULL, &text);
    snprintf(r.text, sizeof r.text, "%s", text);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return r;
}

static mpk_options defaults(void) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    return o;
}

/* The Laplacian of a path: A 1 = 0, and no pivot but the last is small. */
static dense path(int n, mpk_scalar scalar) {
    dense m = dense_new(n, scalar, MPK_SYMMETRIC);
    for (int i = 0; i < n; i++) {
        dense_set(&m, i, i, i == 0 || i == n - 1 ? 1 : 2);
        if (i) dense_set(&m, i, i - 1, -1);
    }
    return m;
}

static void test_numerical(void **unused) {
    (void)unused;
    enum { N = 40 };
    for (int matching = MPK_AUTO; matching <= MPK_ON; matching++) {
        dense m = path(N, MPK_D);
        double b[N] = {1, -1}, x[N];
        mpk_options o = defaults();
        o.matching = (mpk_switch)matching;
        outcome r = go(&m, &o, b, x); /* consistent: b sums to 0 */
        assert_int_equal(r.factored, MPK_SINGULAR);
        assert_int_equal(r.factor.rank, MPK_RANK_NUMERICAL);
        assert_true(r.factor.rank_bound <= 1e-14);
        assert_int_equal(r.factor.inertia.zero, 1);
        assert_int_equal(r.factor.inertia.positive, N - 1);
        assert_false(r.factor.inertia.certified);
        assert_int_equal(r.solved, MPK_SINGULAR);
        assert_true(r.solve.relative_residual <= 1e-14);
        b[1] = 1; /* no solution */
        r = go(&m, &o, b, x);
        assert_int_equal(r.solved, MPK_SINGULAR);
        assert_true(r.solve.relative_residual > 0.1);
        free(m.a);
    }
}

/* What no change of a vector removes: of the path's Laplacian with delta more in one place 1^T A 1
 * = delta, shared by rows that weigh 4 (n - 1) in all; and never more than the flatness. */
static void test_least(void **unused) {
    (void)unused;
    enum { N = 40 };
    for (int scalar = 0; scalar < 4; scalar++) {
        const double delta = scalar % 2 ? 1e-7 : 1e-3;
        dense m = path(N, (mpk_scalar)scalar);
        mpk_options o = defaults();
        mpk_context *ctx = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpki_solve_work work;
        char v[N * 16];
        o.scaling = MPK_OFF;
        dense_set(&m, 7, 7, 2 + delta);
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        mpk_problem *problem = dense_problem(ctx, &m, 0);
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
        assert_int_equal(mpki_solve_work_make(ctx, fac, 1, 1, &work), MPK_OK);
        for (int turn = 0; turn < 20; turn++) {
            for (int i = 0; i < N; i++)
                scalar_store(m.scalar, v, i, turn ? uniform() + uniform() * I : 1);
            const double eta =
                MPKI_DISPATCH(m.scalar, flatness)(fac->scale, 0, MPKI_FLATNESS_MOST, &work, v).eta;
            const double least = MPKI_DISPATCH(m.scalar, null_least)(fac->scale, &work, v);
            assert_true(least >= 0 && least <= 1.0001 * eta);
            if (turn == 0) {
                assert_true(fabs(eta / (delta / 4) - 1) < 0.01);
                assert_true(fabs(least / (delta / (4 * (N - 1))) - 1) < 0.01);
            }
        }
        mpki_solve_work_free(ctx, &work);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
        free(m.a);
    }
}

static void test_structural(void **unused) {
    (void)unused;
    /* three columns with entries in two rows alone */
    dense m = dense_new(5, MPK_D, MPK_SYMMETRIC);
    const double b[5] = {1, 2, 3, 4, 5};
    double x[5];
    mpk_options o = defaults();
    o.matching = MPK_ON;
    for (int j = 0; j < 3; j++)
        for (int i = 3; i < 5; i++) dense_set(&m, i, j, 1 + i * j);
    outcome r = go(&m, &o, b, x);
    assert_int_equal(r.analysed, MPK_SINGULAR);
    assert_int_equal(r.factored, MPK_SINGULAR);
    assert_int_equal(r.factor.rank, MPK_RANK_STRUCTURAL);
    assert_int_equal(r.solved, MPK_SINGULAR);
    free(m.a);
}

enum { INNER_N = 60, INNER_M = 40 };

/* As at the end of an interior-point method: D spans 85 powers of 2, and two rows of B are sums of
 * others, so that the nullity is 2 exactly. */
static dense inner(uint64_t x) {
    enum { N = INNER_N, M = INNER_M };
    int rows[M][N] = {{0}};
    dense m = dense_new(N + M, MPK_D, MPK_SYMMETRIC);
#define DRAW(k) (x = x * 6364136223846793005u + 1442695040888963407u, (int)((x >> 33) % (k)))
    for (int j = 0; j < 3 * N; j++) rows[DRAW(M - 2)][j / 3] = 1;
    for (int j = 0; j < N; j++) {
        const int e = 20 + DRAW(23);
        dense_set(&m, j, j, ldexp(1, DRAW(10) < 3 ? e : -e));
        rows[M - 2][j] = rows[3][j] + rows[4][j] - rows[5][j];
        rows[M - 1][j] = rows[0][j] + rows[1][j] - rows[2][j];
        for (int i = 0; i < M; i++) dense_set(&m, N + i, j, rows[i][j]);
    }
#undef DRAW
    return m;
}

/* With a threshold this low the factor is so inaccurate that its vectors of the kernel must be
 * refined more than once (seed 39: 1.8e-14 after one step). */
static void test_inaccurate_factor(void **unused) {
    (void)unused;
    double b[INNER_N + INNER_M] = {0}, y[INNER_N + INNER_M];
    mpk_options o = defaults();
    o.ordering = MPK_ORDERING_NATURAL;
    o.pivot_threshold = 1e-8;
    for (uint64_t seed = 36; seed < 41; seed++) {
        dense m = inner(seed);
        const outcome r = go(&m, &o, b, y);
        assert_int_equal(r.factored, MPK_SINGULAR);
        assert_int_equal(r.factor.rank, MPK_RANK_NUMERICAL);
        assert_int_equal(r.factor.inertia.zero, 2);
        free(m.a);
    }
}

/* Some pivots of the kernel are zero, one is only nearly so, and a solve with it brings back what
 * refinement has removed: without its part the vector of the zero pivots left 1.1e-14 to 5e-14. */
static void test_weak_beside_zero(void **unused) {
    (void)unused;
    static const struct {
        uint64_t seed;
        double threshold;
    } cases[] = {{52, 1e-8}, {52, 1e-4}, {50, 1e-4}};
    double b[INNER_N + INNER_M] = {0}, y[INNER_N + INNER_M];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        dense m = inner(cases[k].seed);
        mpk_options o = defaults();
        o.ordering = MPK_ORDERING_NATURAL;
        o.pivot_threshold = cases[k].threshold;
        o.zero_tolerance = 1.01e-14;
        const outcome r = go(&m, &o, b, y);
        assert_int_equal(r.factored, MPK_SINGULAR);
        assert_int_equal(r.factor.rank, MPK_RANK_NUMERICAL);
        assert_true(r.factor.rank_bound <= 1e-14);
        free(m.a);
    }
}

/* Thresholds are relative, scaling or none, at any distance from 1. */
static void test_small_numbers(void **unused) {
    (void)unused;
    static const double sizes[] = {1e-15, 1e-160, 4e-308, 1e-320, 1e160, 1e308};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (int scaling = MPK_AUTO; scaling <= MPK_ON; scaling++) {
            dense m = dense_new(2, MPK_D, MPK_SYMMETRIC);
            const double b[2] = {3 * sizes[k] / 4, sizes[k] / 2};
            double x[2];
            mpk_options o = defaults();
            o.scaling = (mpk_switch)scaling;
            dense_set(&m, 0, 0, sizes[k] / 2);
            dense_set(&m, 1, 0, sizes[k] / 4);
            dense_set(&m, 1, 1, sizes[k] / 4);
            const outcome r = go(&m, &o, b, x);
            assert_int_equal(r.factored, MPK_OK);
            assert_int_equal(r.factor.rank, MPK_RANK_FULL);
            assert_int_equal(r.factor.inertia.positive, 2);
            assert_true(r.factor.inertia.certified);
            assert_int_equal(r.solved, MPK_OK);
            assert_true(fabs(x[0] - 1) <= 1e-3 && fabs(x[1] - 1) <= 1e-3); /* of few digits */
            free(m.a);
        }
}

/* Of full rank, with a pivot that the first scaling takes for zero and another does not. */
static dense doubtful(void) {
    static const struct {
        int i, j, sign, exponent;
    } entry[] = {{2, 2, 1, 40},   {4, 0, 1, 30},  {5, 2, 1, -40},  {6, 3, 1, -10},
                 {7, 2, 1, 0},    {7, 6, 1, -30}, {8, 1, 1, 25},   {8, 7, 2, 18},
                 {8, 8, 1, 20},   {9, 3, 1, 0},   {9, 6, 1, 30},   {10, 1, -1, 31},
                 {10, 7, -1, 25}, {10, 9, 1, 0},  {11, 1, 1, -40}, {11, 5, 1, 30}};
    dense m = dense_new(12, MPK_D, MPK_SYMMETRIC);
    for (size_t k = 0; k < sizeof entry / sizeof *entry; k++)
        dense_set(&m, entry[k].i, entry[k].j, ldexp(entry[k].sign, entry[k].exponent));
    return m;
}

static void test_other_scaling(void **unused) {
    (void)unused;
    for (int matching = MPK_AUTO; matching <= MPK_ON; matching++) {
        dense m = doubtful();
        double b[12], x[12];
        mpk_options o = defaults();
        o.matching = (mpk_switch)matching;
        for (int i = 0; i < m.n; i++) b[i] = i % 3 - 1;
        const outcome r = go(&m, &o, b, x);
        assert_int_equal(r.factored, MPK_OK);
        assert_int_equal(r.factor.again, 1);
        assert_int_equal(r.factor.rank, MPK_RANK_FULL);
        assert_int_equal(r.factor.inertia.positive, 6);
        assert_int_equal(r.factor.inertia.negative, 6);
        assert_int_equal(r.solved, MPK_OK);
        assert_true(r.solve.componentwise <= 1e-14);
        free(m.a);
    }
}

/* A solution that A takes to nothing is no solution, though its backward error is small. */
static void test_kernel_in_solution(void **unused) {
    (void)unused;
    enum { N = 40 };
    dense m = path(N, MPK_D);
    double b[N] = {1}, x[N];
    mpk_options o = defaults();
    o.zero_tolerance = 0; /* so that the last pivot is taken for one */
    dense_set(&m, N - 1, N - 1, 1 + 0x1p-52);
    const outcome r = go(&m, &o, b, x);
    assert_int_equal(r.factored, MPK_OK);
    assert_true(r.solve.componentwise <= 1e-14);
    assert_int_equal(r.solved, MPK_SINGULAR);
    assert_non_null(strstr(r.text, "(A + E) x = 0"));
    free(m.a);
}

/* Springs between neighbours of a grid, stiffness 0.7 and 0.1, and no wall, once or side by side: A
 * 1 = 0 but for the rounding of each diagonal entry, the same in all rows. Their sum, which is what
 * the order of elimination leaves in one row, is far above the zero tolerance. */
static mpk_problem *springs(mpk_context *ctx, int side, int copies) {
    const int n = side * side * copies;
    int64_t *ap = malloc((size_t)(n + 1) * sizeof *ap), at = 0;
    int32_t *ai = malloc((size_t)(3 * n) * sizeof *ai);
    double *ax = malloc((size_t)(3 * n) * sizeof *ax);
    mpk_problem *problem = NULL;
    for (int j = 0; j < n; j++) {
        const int x = j % side, y = j / side % side;
        ap[j] = at;
        ai[at] = j;
        ax[at++] = 0.7 * ((x > 0) + (x < side - 1)) + 0.1 * ((y > 0) + (y < side - 1));
        if (x < side - 1) ai[at] = j + 1, ax[at++] = -0.7;
        if (y < side - 1) ai[at] = j + side, ax[at++] = -0.1;
    }
    ap[n] = at;
    assert_int_equal(
        mpk_problem_from_csc(ctx, n, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &problem),
        MPK_OK);
    free(ap), free(ai), free(ax);
    return problem;
}

/* The verdict is the matrix's, not that of an order of elimination or a scaling. */
static void test_any_order(void **unused) {
    (void)unused;
    enum { SIDE = 30 };
    const mpk_ordering order[] = {MPK_ORDERING_AMD, MPK_ORDERING_ND, MPK_ORDERING_RCM,
                                  MPK_ORDERING_NATURAL};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_problem *problem = springs(ctx, SIDE, 2);
    for (int k = 0; k < 8; k++) {
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_factor_info info;
        mpk_options o = defaults();
        o.ordering = order[k / 2];
        o.scaling = k % 2 ? MPK_OFF : MPK_AUTO;
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_SINGULAR);
        mpk_factor_info_get(fac, &info);
        assert_int_equal(info.rank, MPK_RANK_NUMERICAL);
        assert_int_equal(info.inertia.zero, 2);
        assert_int_equal(info.inertia.positive, 2 * (SIDE * SIDE - 1));
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
    }
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* [D A^T; A 0] with D > 0: one negative eigenvalue for each independent row of A, one zero for each
 * of the others, which are small sums of these. Rounding leaves some of these zeros as pivots of
 * its own size. */
enum { COLUMNS = 500, INDEPENDENT = 200, SUMS = 160 };

static int below(int n) {
    return (int)((mpki_random_lcg(&support_state) >> 33) % (unsigned)n);
}

static mpk_problem *redundant(mpk_context *ctx) {
    enum { M = INDEPENDENT + SUMS, N = COLUMNS + M };
    static double a[M][COLUMNS];
    static int32_t rows[N + M * COLUMNS], cols[N + M * COLUMNS];
    static double values[N + M * COLUMNS];
    int64_t count = 0;
    mpk_problem *problem = NULL;
    memset(a, 0, sizeof a);
    for (int i = 0; i < INDEPENDENT; i++)
        for (int k = 0; k < 4; k++) a[i][below(COLUMNS)] = below(2) ? 1 + below(3) : -1 - below(2);
    for (int i = INDEPENDENT; i < M; i++)
        for (int k = 0; k < 3; k++) {
            const int from = below(INDEPENDENT), times = below(2) ? 1 : below(2) ? -1 : 2;
            for (int j = 0; j < COLUMNS; j++) a[i][j] += times * a[from][j];
        }
    for (int j = 0; j < COLUMNS; j++) {
        rows[count] = cols[count] = j;
        values[count++] = ldexp(1 + 0.5 * uniform(), below(27) - 7);
        for (int i = 0; i < M; i++) {
            if (a[i][j] == 0) continue;
            rows[count] = COLUMNS + i, cols[count] = j;
            values[count++] = a[i][j];
        }
    }
    assert_int_equal(mpk_problem_from_triplets(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, count, rows,
                                               cols, values, &problem),
                     MPK_OK);
    return problem;
}

/* An engine that tells at most eight of the pivots that may be rounding, and none to who asks for all of
 * them: these are found by a second factorization. */
static int few_weak(const mpki_direct *f, double bound, int most, mpki_weak_pivot *list) {
    return most > 8 ? 0 : mpki_cpu_direct.weak(f, bound, most, list);
}
static const char *few_name(const mpk_context *ctx) {
    (void)ctx;
    return "few";
}
static const mpki_engine *few(void) {
    static mpki_direct_engine direct;
    static mpki_engine engine;
    direct = mpki_cpu_direct;
    direct.weak = few_weak;
    engine = (mpki_engine){.name = few_name,
                           .direct = &direct,
                           .blocks = &mpki_cpu_blocks,
                           .vectors = &mpki_cpu_vectors};
    return &engine;
}

/* fewer [in] so many of them may pass for pivots */
static void expect_sums(const mpk_factor *fac, int fewer) {
    mpk_factor_info info;
    mpk_factor_info_get(fac, &info);
    assert_int_equal(info.rank, MPK_RANK_NUMERICAL);
    assert_true(info.rank_bound <= 1e-14);
    assert_in_range(info.inertia.zero, SUMS - fewer, SUMS);
    assert_in_range(info.inertia.positive, COLUMNS, COLUMNS + fewer);
    assert_in_range(info.inertia.negative, INDEPENDENT, INDEPENDENT + fewer);
}

static uint64_t again_seed; /* of one whose zero pivots are not seen at once */

/* One vector shows all pivots that are rounding to be a kernel's, whole pairs among them; and later values
 * have as many zero pivots. An engine that tells few of them needs a second factorization. */
static void test_large_kernel(void **unused) {
    (void)unused;
    again_seed = 0;
    for (uint64_t seed = 1; seed <= 10; seed++)
        for (int all = 0; all < 2; all++) {
            mpk_context *ctx = NULL;
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpk_problem_view view;
            mpk_factor_info info;
            const mpk_options o = defaults();
            support_state = seed;
            assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
            if (!all) mpki_engine_use(ctx, few());
            mpk_problem *problem = redundant(ctx);
            assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
            assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_SINGULAR);
            expect_sums(fac, 0);
            mpk_factor_info_get(fac, &info);
            assert_int_equal(info.stages, 1 + (info.again && !all));
            if (!all && info.again) again_seed = seed;
            mpk_problem_view_get(problem, &view);
            double *ax = malloc((size_t)view.nnz * sizeof *ax), d[COLUMNS + INDEPENDENT + SUMS];
            for (int turn = 0; all && turn < 3; turn++) {
                for (int i = 0; i < view.n; i++) d[i] = turn ? 1 + 0.05 * uniform() : 1;
                for (int j = 0; j < view.n; j++)
                    for (int64_t k = view.ap[j]; k < view.ap[j + 1]; k++)
                        ax[k] = ((const double *)view.ax)[k] * d[view.ai[k]] * d[j];
                assert_int_equal(mpk_factorize_lower(ctx, an, ax, &o, &fac), MPK_SINGULAR);
                expect_sums(fac, turn ? SUMS / 16 : 0); /* some may pass for pivots */
                mpk_factor_info_get(fac, &info);
                assert_true(turn > 0 || info.stages == 1);
            }
            free(ax);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
            mpk_context_destroy(&ctx);
        }
    assert_true(again_seed > 0);
}

/* The Laplacian of a path, and beside it [1 1; 1 1 + d], whose second pivot d may be rounding by its
 * size, and is not: it stays, with all pivots looked at together, too. */
static void test_small_beside_kernel(void **unused) {
    (void)unused;
    enum { PATH = 10000, N = PATH + 2, ENTRIES = 2 * N };
    static int32_t rows[ENTRIES], cols[ENTRIES];
    static double values[ENTRIES];
    for (int sign = -1; sign <= 1; sign += 2) {
        int64_t count = 0;
        mpk_context *ctx = NULL;
        mpk_problem *problem = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_factor_info info;
        const mpk_options o = defaults();
        for (int i = 0; i < N; i++) {
            const double d = i < PATH ? 2 - (i == 0) - (i == PATH - 1) : 1;
            rows[count] = cols[count] = i;
            values[count++] = i == N - 1 ? 1 + sign * 1e-13 : d;
            if (i == N - 1 || i == PATH - 1) continue;
            rows[count] = i + 1, cols[count] = i;
            values[count++] = i < PATH ? -1 : 1;
        }
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        assert_int_equal(mpk_problem_from_triplets(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, count,
                                                   rows, cols, values, &problem),
                         MPK_OK);
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_SINGULAR);
        mpk_factor_info_get(fac, &info);
        assert_int_equal(info.rank, MPK_RANK_NUMERICAL);
        assert_int_equal(info.inertia.zero, 1);
        assert_int_equal(info.inertia.negative, sign < 0);
        assert_true(info.min_pivot > 9e-14 && info.min_pivot < 1.1e-13);
        mpk_problem_view view;
        mpk_problem_view_get(problem, &view);
        double *ax = malloc((size_t)view.nnz * sizeof *ax);
        for (int turn = 0; turn < 8;
             turn++) { /* others, too, may be smaller than what rounding left */
            memcpy(ax, view.ax, (size_t)view.nnz * sizeof *ax);
            ax[view.nnz - 1] = 1 + sign * (turn % 2 ? 5e-14 : 1e-13);
            for (int64_t k = 0; k < view.nnz - 3; k++) ax[k] *= 1 + turn * 0.11;
            assert_int_equal(mpk_factorize_lower(ctx, an, ax, &o, &fac), MPK_SINGULAR);
            mpk_factor_info_get(fac, &info);
            assert_int_equal(info.rank, MPK_RANK_NUMERICAL);
            assert_int_equal(info.inertia.zero, 1);
        }
        free(ax);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
}

/* The k-th allocation of a verdict that takes a second factorization fails. */
typedef struct meter {
    int left;
} meter;

static void *metered(void *self, size_t size) {
    meter *m = self;
    return m->left-- > 0 ? malloc(size) : NULL;
}

static void metered_free(void *self, void *ptr, size_t size) {
    (void)self, (void)size;
    free(ptr);
}

/* grid: springs, whose kernel is looked for with all its pivots; else a second scaling is tried. */
static void run_without_memory(bool grid) {
    dense m = doubtful();
    mpk_status status = MPK_ERR_MEMORY;
    for (int k = 0; status < 0; k++) {
        meter gauge = {1 << 30};
        const mpk_allocator allocator = {metered, metered_free, &gauge};
        mpk_context *ctx = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_options o = defaults();
        o.ordering = grid ? MPK_ORDERING_NATURAL : MPK_ORDERING_AUTO;
        assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
        mpk_problem *problem = grid ? springs(ctx, 30, 1) : dense_problem(ctx, &m, 0);
        mpk_analyse(ctx, problem, &o, &an);
        gauge.left = k;
        status = mpk_factorize(ctx, an, NULL, &o, &fac);
        gauge.left = 1 << 30;
        if (status >= 0) {
            mpk_factor_info info;
            mpk_factor_info_get(fac, &info);
            assert_int_equal(status, grid ? MPK_SINGULAR : MPK_OK);
            assert_int_equal(info.again, !grid);
            assert_int_equal(info.inertia.zero, grid);
        } else {
            assert_true(k < 400);
            assert_int_equal(status, MPK_ERR_MEMORY);
            assert_null(fac);
        }
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
    free(m.a);
}

static void test_without_memory(void **unused) {
    (void)unused;
    run_without_memory(false);
    run_without_memory(true);
}

/* Where there is no memory for a second factor, the first one's zeros stand. */
static void test_large_kernel_without_memory(void **unused) {
    (void)unused;
    int fewer = 0;
    int64_t zeros = 0;
    for (int k = 0; zeros < SUMS; k += 1 + k / 16) {
        meter gauge = {1 << 30};
        const mpk_allocator allocator = {metered, metered_free, &gauge};
        mpk_context *ctx = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_factor_info info;
        const mpk_options o = defaults();
        support_state = again_seed;
        assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
        mpki_engine_use(ctx, few());
        mpk_problem *problem = redundant(ctx);
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        gauge.left = k;
        const mpk_status status = mpk_factorize(ctx, an, NULL, &o, &fac);
        gauge.left = 1 << 30;
        assert_true(status == MPK_SINGULAR || status == MPK_ERR_MEMORY);
        assert_true((status == MPK_SINGULAR) == (fac != NULL));
        mpk_factor_info_get(fac, &info);
        zeros = info.inertia.zero;
        fewer += status == MPK_SINGULAR && zeros < SUMS;
        assert_true(k < 4000);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
    assert_true(fewer > 0);
}

/* A last pivot that single precision takes for zero, of a regular A that a lower bound solves: full
 * rank, and not pivots that are measured and left undecided. */
static void test_lower_bound_first(void **state) {
    (void)state;
    for (int n = 18; n < 20; n++) {
        dense m = dense_new(n, MPK_S, MPK_SYMMETRIC);
        mpk_options o;
        float b[20], x[20];
        support_state = 19;
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++) {
                const double v = uniform();
                (void)uniform();
                if (i < n - 1)
                    dense_set(&m, i, j, i == j ? (i % 2 ? -1 : 1) * (40 + v) : v);
                else
                    dense_set(&m, i, j, (i == j ? 1e-3 : 1e-2) * v);
            }
        for (int i = 0; i < n; i++) b[i] = (float)uniform();
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.matching = MPK_OFF, o.scaling = MPK_OFF, o.accuracy = 1e-6;
        const outcome r = go(&m, &o, b, x);
        assert_int_equal(r.factored, MPK_OK);
        assert_int_equal(r.factor.rank, MPK_RANK_FULL);
        assert_int_equal(r.factor.inertia.zero, 0);
        assert_int_equal(r.solved, MPK_OK);
        assert_true(r.solve.unrefined <= 1e-6);
        free(m.a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_numerical),
                                       cmocka_unit_test(test_least),
                                       cmocka_unit_test(test_inaccurate_factor),
                                       cmocka_unit_test(test_weak_beside_zero),
                                       cmocka_unit_test(test_lower_bound_first),
                                       cmocka_unit_test(test_structural),
                                       cmocka_unit_test(test_small_numbers),
                                       cmocka_unit_test(test_other_scaling),
                                       cmocka_unit_test(test_kernel_in_solution),
                                       cmocka_unit_test(test_any_order),
                                       cmocka_unit_test(test_large_kernel),
                                       cmocka_unit_test(test_small_beside_kernel),
                                       cmocka_unit_test(test_without_memory),
                                       cmocka_unit_test(test_large_kernel_without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
