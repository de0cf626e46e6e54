/* SPDX-License-Identifier: BSD-3-Clause */
/* Verdicts on the rank where a factor takes other values: of another scale than those analysed, and
 * again and again. */
#include "support.h"

#include "factor/rank.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { MOST = 6, ENTRIES = MOST * (MOST + 1) / 2 };

static mpk_context *ctx;

static int below(int n) {
    return (int)((mpki_random_lcg(&support_state) >> 33) % (unsigned)n);
}

static mpk_options defaults(void) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    return o;
}

/* ---- values of another scale ----------------------------------------------------------------- */

/* A factor of `values`, all of the lower triangle by columns, with an analysis of `first`, which
 * was factorized before where `warm` says so. */
static mpk_factor_info go(int n, mpk_scalar scalar, mpk_symmetry symmetry, const void *first,
                          const void *values, bool warm, mpk_switch matching, mpk_status *status) {
    int32_t rows[ENTRIES], cols[ENTRIES];
    int64_t count = 0;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info info;
    mpk_options o = defaults();
    o.matching = matching;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) rows[count] = i, cols[count++] = j;
    assert_int_equal(mpk_problem_from_triplets(ctx, n, scalar, symmetry, MPK_LOWER, count, rows,
                                               cols, first, &problem),
                     MPK_OK);
    assert_true(mpk_analyse(ctx, problem, &o, &an) >= 0);
    if (warm) (void)mpk_factorize(ctx, an, NULL, &o, &fac);
    *status = mpk_factorize(ctx, an, values, &o, &fac);
    mpk_factor_info_get(fac, &info);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    return info;
}

/* det A = -1e-20, and rho(|A^-1| |A|) is 1: no E with |E| <= 0.9 |A| makes it singular. With scales
 * of other values a column of the third row's size hides that. B alike. */
static void test_stale_scaling(void **unused) {
    (void)unused;
    static const double a[] = {1e-6, 0, 10, 0, -1e-7, 1e-7}, other[] = {0, -2, 2, 0, -3, 2};
    static const double b[] = {0, 0, 0, 0.001, 0, 0.001, 10000, -10000, 0.0001, -100};
    static const double other_b[] = {3, 0, -2, -1, 0, 1, 0, 0, 0, -2}, none[ENTRIES] = {0};
    static const struct {
        int n;
        const double *first, *values;
    } cases[] = {{3, other, a}, {3, none, a}, {3, a, a}, {4, other_b, b}, {4, none, b}, {4, b, b}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int how = 0; how < 4; how++) {
            mpk_status status;
            const mpk_factor_info info =
                go(cases[k].n, MPK_D, MPK_SYMMETRIC, cases[k].first, cases[k].values, how % 2,
                   how / 2 ? MPK_OFF : MPK_AUTO, &status);
            assert_int_equal(status, MPK_OK);
            assert_true(info.rank == MPK_RANK_FULL || info.rank == MPK_RANK_UNDECIDED);
            if (how < 2) { /* matched on these values, once the others' scales show nothing */
                assert_int_equal(info.rank, MPK_RANK_FULL);
                assert_int_equal(info.inertia.zero, 0);
            }
        }
}

/* The permanent of |A|, and |det A|, of an n x n matrix: the determinant is far from cancelling
 * where both are close, and then no small relative change of entries makes A singular. */
static double expand(const double complex *a, int n, int row, unsigned used, double complex *det) {
    double sum = 0;
    *det = 0;
    if (row == n) return *det = 1, 1;
    int sign = 1;
    for (int j = 0; j < n; j++) {
        if (used >> j & 1) continue;
        double complex minor;
        const double complex x = a[row * n + j];
        sum += cabs(x) * expand(a, n, row + 1, used | 1u << j, &minor);
        *det += sign * x * minor;
        sign = -sign;
    }
    return sum;
}

/* Small integers times powers of two, some of them 0. */
static void draw(const dense *m, int spread, int zeros, void *values, double complex *a) {
    const bool complex_ = m->scalar >= MPK_C;
    const int n = m->n;
    int k = 0;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++, k++) {
            double complex x = below(100) < zeros ? 0 : below(2) ? 1 + below(9) : -1 - below(9);
            if (x != 0 && complex_ && (i != j || m->symmetry == MPK_SYMMETRIC))
                x += (below(9) - 4) * I;
            x *= ldexp(1, below(2 * spread + 1) - spread);
            scalar_store(m->scalar, values, k, x);
            a[i * n + j] = x;
            a[j * n + i] = m->symmetry == MPK_HERMITIAN ? conj(x) : x;
        }
}

static void test_random_values(void **unused) {
    (void)unused;
    enum { CASES = 4000 };
    int regular = 0;
    support_state = 41;
    for (int k = 0; k < CASES; k++) {
        dense m = {.n = 3 + below(4), .scalar = (mpk_scalar)below(4)};
        const bool single = m.scalar == MPK_S || m.scalar == MPK_C;
        double complex first[ENTRIES], values[ENTRIES], a[MOST * MOST], det;
        m.symmetry = m.scalar >= MPK_C && below(2) ? MPK_HERMITIAN : MPK_SYMMETRIC;
        draw(&m, below(20) * !single, below(8) ? below(60) : 100, first, a);
        draw(&m, single ? below(12) : below(30), below(70), values, a);
        const double all = expand(a, m.n, 0, 0, &det);
        if (!(cabs(det) > 1e-3 * all)) continue;
        mpk_status status;
        const mpk_factor_info info = go(m.n, m.scalar, m.symmetry, first, values, below(2),
                                        below(8) ? MPK_AUTO : MPK_OFF, &status);
        regular++;
        assert_true(status != MPK_SINGULAR);
        assert_true(info.rank != MPK_RANK_NUMERICAL && info.rank != MPK_RANK_STRUCTURAL);
    }
    assert_true(regular > CASES / 4);
}

/* An integer L D L^T with zeros in D, rows scaled by powers of two: exactly singular, and found to
 * be, whatever was analysed. */
static void test_true_kernels(void **unused) {
    (void)unused;
    enum { CASES = 400 };
    support_state = 5;
    for (int k = 0; k < CASES; k++) {
        const int n = 3 + below(4), zero = below(n);
        double l[MOST][MOST] = {{0}}, first[ENTRIES], values[ENTRIES];
        int d[MOST], s[MOST], at = 0;
        for (int i = 0; i < n; i++) {
            l[i][i] = 1, s[i] = below(41) - 20;
            d[i] = i == zero ? 0 : below(2) ? 1 + below(3) : -1 - below(3);
            for (int j = 0; j < i; j++) l[i][j] = below(5) - 2;
        }
        for (int j = 0; j < n; j++)
            for (int i = j; i < n; i++, at++) {
                double sum = 0;
                for (int c = 0; c <= j; c++) sum += l[i][c] * d[c] * l[j][c];
                values[at] = ldexp(sum, s[i] + s[j]);
                first[at] = below(3) ? 1 + below(9) : 0;
            }
        mpk_status status;
        const mpk_factor_info info =
            go(n, MPK_D, MPK_SYMMETRIC, first, values, below(2), MPK_AUTO, &status);
        assert_int_equal(status, MPK_SINGULAR);
        assert_true(info.rank == MPK_RANK_NUMERICAL || info.rank == MPK_RANK_STRUCTURAL);
    }
}

/* ---- again and again ------------------------------------------------------------------------- */

/* [D A^T; A 0] as an interior-point method makes them: D > 0 changes, the dependent rows of A do
 * not. */
enum { COLUMNS = 300, INDEPENDENT = 120, SUMS = 60, ROWS = INDEPENDENT + SUMS };

static mpk_problem *program(void) {
    enum { N = COLUMNS + ROWS };
    static double a[ROWS][COLUMNS];
    static int32_t rows[N + ROWS * COLUMNS], cols[N + ROWS * COLUMNS];
    static double values[N + ROWS * COLUMNS];
    int64_t count = 0;
    mpk_problem *problem = NULL;
    memset(a, 0, sizeof a);
    for (int i = 0; i < INDEPENDENT; i++)
        for (int k = 0; k < 4; k++) a[i][below(COLUMNS)] = below(2) ? 1 + below(3) : -1 - below(2);
    for (int i = INDEPENDENT; i < ROWS; i++)
        for (int k = 0; k < 3; k++) {
            const int from = below(INDEPENDENT), times = below(2) ? 1 : below(2) ? -1 : 2;
            for (int j = 0; j < COLUMNS; j++) a[i][j] += times * a[from][j];
        }
    for (int j = 0; j < COLUMNS; j++) {
        rows[count] = cols[count] = j;
        values[count++] = 1;
        for (int i = 0; i < ROWS; i++) {
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

/* What helped or failed is remembered: at most one second factorization a call, none once it is
 * known what there is to know, and the same zeros each time. */
static void test_program(void **unused) {
    (void)unused;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        support_state = seed;
        mpk_problem *problem = program();
        mpk_problem_view view;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_factor_info info;
        const mpk_options o = defaults();
        mpk_problem_view_get(problem, &view);
        double *ax = malloc((size_t)view.nnz * sizeof *ax);
        memcpy(ax, view.ax, (size_t)view.nnz * sizeof *ax);
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        for (int turn = 0; turn < 12; turn++) {
            for (int j = 0; j < COLUMNS; j++) /* the first entry of its column */
                ax[view.ap[j]] = ldexp(1 + 0.25 * uniform(), below(27) - 7);
            assert_int_equal(mpk_factorize_lower(ctx, an, ax, &o, &fac), MPK_SINGULAR);
            mpk_factor_info_get(fac, &info);
            assert_int_equal(info.rank, MPK_RANK_NUMERICAL);
            assert_true(info.rank_bound <= 1e-14);
            assert_true(info.inertia.zero <= SUMS);
            assert_true(info.stages <= 2);
        }
        for (int turn = 0; turn < 6; turn++) { /* the same values */
            assert_int_equal(mpk_factorize_lower(ctx, an, ax, &o, &fac), MPK_SINGULAR);
            mpk_factor_info_get(fac, &info);
            if (turn > 2) assert_int_equal(info.stages, 1);
        }
        assert_int_equal(info.inertia.zero, SUMS);
        free(ax);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
    }
}

/* Springs without a wall, A 1 = 0: a pivot at the level of rounding becomes zero, and the smallest
 * one is then another; the vector of the first values is that of the next ones, until a wall is
 * there: then A has full rank. */
static void test_springs(void **unused) {
    (void)unused;
    enum { SIDE = 20, N = SIDE * SIDE };
    for (int scalar = 0; scalar < 4; scalar++) {
        if (scalar == MPK_C || scalar == MPK_S) continue; /* 0.1 is not 0.1 there */
        int32_t rows[3 * N], cols[3 * N];
        double complex ax[3 * N], moved[3 * N];
        int64_t at = 0;
        mpk_problem *problem = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_factor_info info;
        mpk_options o = defaults();
        o.ordering = MPK_ORDERING_AMD;
        for (int j = 0; j < N; j++) {
            const int x = j % SIDE, y = j / SIDE;
            rows[at] = cols[at] = j;
            scalar_store((mpk_scalar)scalar, ax, at++,
                         0.7 * ((x > 0) + (x < SIDE - 1)) + 0.1 * ((y > 0) + (y < SIDE - 1)));
            if (x < SIDE - 1)
                rows[at] = j + 1, cols[at] = j, scalar_store((mpk_scalar)scalar, ax, at++, -0.7);
            if (y < SIDE - 1)
                rows[at] = j + SIDE, cols[at] = j, scalar_store((mpk_scalar)scalar, ax, at++, -0.1);
        }
        const mpk_symmetry symmetry = scalar == MPK_Z ? MPK_HERMITIAN : MPK_SYMMETRIC;
        assert_int_equal(mpk_problem_from_triplets(ctx, N, (mpk_scalar)scalar, symmetry, MPK_LOWER,
                                                   at, rows, cols, ax, &problem),
                         MPK_OK);
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        for (int turn = 0; turn < 5; turn++) {
            for (int64_t k = 0; k < at; k++)
                scalar_store((mpk_scalar)scalar, moved, k,
                             scalar_load((mpk_scalar)scalar, ax, k) * (1 << turn));
            if (turn == 3) scalar_store((mpk_scalar)scalar, moved, 0, 16);
            const mpk_status status = mpk_factorize(ctx, an, moved, &o, &fac);
            mpk_factor_info_get(fac, &info);
            assert_int_equal(status, turn == 3 ? MPK_OK : MPK_SINGULAR);
            assert_int_equal(info.inertia.zero, turn != 3);
            assert_int_equal(info.inertia.positive, turn == 3 ? N : N - 1);
            assert_int_equal(info.stages, 1);
            assert_true(info.min_pivot > mpki_pivot_noise(fac));
        }
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stale_scaling), cmocka_unit_test(test_random_values),
        cmocka_unit_test(test_true_kernels), cmocka_unit_test(test_program),
        cmocka_unit_test(test_springs)};
    if (mpk_context_create(NULL, &ctx) != MPK_OK) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mpk_context_destroy(&ctx);
    return failed;
}
