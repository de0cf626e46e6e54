/* SPDX-License-Identifier: BSD-3-Clause */
/* What a verdict on the rank costs where a factor takes other values again and again: factorizations
 * and applications of the factor, which an engine counts. */
#include "support.h"

#include "factor/measured.h"
#include "factor/rank.h"

#include <math.h>
#include <metapack/save.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static int factorized, applied;

static mpk_status factorize(mpki_direct *f, const void *ax, const double *scale,
                            const mpki_pivot_rules *rules, const mpki_stop *stop,
                            mpki_numeric_result *result) {
    factorized++;
    return mpki_cpu_direct.factorize(f, ax, scale, rules, stop, result);
}

static mpk_status apply(mpki_direct_solver *s, mpk_part part, int32_t nrhs, const void *b,
                        int64_t ldb, void *x, int64_t ldx) {
    applied += part == MPK_PART_ALL ? 2 : part == MPK_PART_D ? 0 : 1; /* triangles */
    return mpki_cpu_direct.apply(s, part, nrhs, b, ldb, x, ldx);
}

static const char *name(const mpk_context *ctx) {
    (void)ctx;
    return "counting";
}

static mpki_direct_engine direct;
static mpki_engine counting;

/* A matrix whose values change. */
typedef struct series {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_problem_view view;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options options;
    double *ax;
} series;

static void begin(series *s) {
    *s = (series){0};
    direct = mpki_cpu_direct;
    direct.factorize = factorize, direct.apply = apply;
    counting = (mpki_engine){
        .name = name, .direct = &direct, .blocks = &mpki_cpu_blocks, .vectors = &mpki_cpu_vectors};
    assert_int_equal(mpk_context_create(NULL, &s->ctx), MPK_OK);
    mpki_engine_use(s->ctx, &counting);
    mpk_options_init(&s->options);
    s->options.method = MPK_METHOD_LDLT;
    s->options.threads = 1;
}

static void factorize_first(series *s) {
    mpk_problem_view_get(s->problem, &s->view);
    s->ax = malloc((size_t)s->view.nnz * sizeof *s->ax);
    assert_false(mpk_failed(mpk_analyse(s->ctx, s->problem, &s->options, &s->an)));
    assert_false(mpk_failed(mpk_factorize(s->ctx, s->an, NULL, &s->options, &s->fac)));
    factorized = applied = 0;
}

/* Factorized with D A D, the entries of D up to a twentieth from 1: the same rank, other vectors. */
static mpk_factor_info next(series *s, mpk_status *status) {
    double *d = malloc((size_t)s->view.n * sizeof *d);
    mpk_factor_info info;
    for (int i = 0; i < s->view.n; i++) d[i] = 1 + 0.05 * uniform();
    for (int j = 0; j < s->view.n; j++)
        for (int64_t k = s->view.ap[j]; k < s->view.ap[j + 1]; k++)
            s->ax[k] = ((const double *)s->view.ax)[k] * d[s->view.ai[k]] * d[j];
    *status = mpk_factorize_lower(s->ctx, s->an, s->ax, &s->options, &s->fac);
    assert_false(mpk_failed(*status));
    mpk_factor_info_get(s->fac, &info);
    free(d);
    return info;
}

static void end(series *s) {
    free(s->ax);
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
}

/* Of each matrix so many factorizations and triangles in TURNS turns. */
static void test_costs(void **unused) {
    (void)unused;
    enum { TURNS = 24 };
    static const struct {
        const char *file;
        int factorized, applied;
    } cases[] = {
        {"singular/Erdos971.mtx.xz", TURNS, 4 * TURNS},                /* a core explains A */
        {"least_squares/NYPA_Maragal_2.mtx.xz", TURNS + 1, 4 * TURNS}, /* of another rank */
        {"qp_kkt/cvxqp1_m.mtx.xz", TURNS + 4, 10 * TURNS}}; /* now zero, now at rounding */
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char path[512];
        series s;
        support_state = 7;
        begin(&s);
        (void)snprintf(path, sizeof path, "%s/%s", METAPACK_DATA, cases[k].file);
        assert_int_equal(mpk_problem_read(s.ctx, path, &s.problem), MPK_OK);
        factorize_first(&s);
        for (int turn = 0; turn < TURNS; turn++) {
            mpk_status status;
            (void)next(&s, &status);
        }
        print_message("%s: %d factorizations, %d triangles\n", cases[k].file, factorized, applied);
        assert_true(factorized <= cases[k].factorized);
        assert_true(applied <= cases[k].applied);
        end(&s);
    }
}

/* Solves for A x = b with x known, and returns the error that is told. */
static double solve_error(series *s) {
    const int n = s->view.n;
    double *x = malloc((size_t)n * sizeof *x), *b = calloc((size_t)n, sizeof *b);
    mpk_solve_info info;
    for (int i = 0; i < n; i++) x[i] = 1 + 0.5 * uniform();
    for (int j = 0; j < n; j++)
        for (int64_t k = s->view.ap[j]; k < s->view.ap[j + 1]; k++) {
            const int i = s->view.ai[k];
            b[i] += s->ax[k] * x[j];
            if (i != j) b[j] += s->ax[k] * x[i];
        }
    assert_false(mpk_failed(mpk_solve(s->ctx, s->fac, 1, b, n, x, n, &s->options, &info)));
    free(x);
    free(b);
    return info.componentwise;
}

/* A factor that was saved solves with the same bits. */
static void save_and_load(series *s) {
    const int n = s->view.n;
    char path[] = "/tmp/test_rank_cost_XXXXXX";
    const int file = mkstemp(path);
    double *b = malloc((size_t)n * sizeof *b), *x[2];
    mpk_factor *other = NULL;
    assert_true(file >= 0);
    assert_int_equal(mpk_factor_save(s->ctx, s->fac, path), MPK_OK);
    assert_false(mpk_failed(mpk_factor_load(s->ctx, s->an, path, &other)));
    for (int i = 0; i < n; i++) b[i] = uniform();
    for (int k = 0; k < 2; k++) {
        x[k] = malloc((size_t)n * sizeof *x[k]);
        assert_false(
            mpk_failed(mpk_solve(s->ctx, k ? other : s->fac, 1, b, n, x[k], n, &s->options, NULL)));
    }
    assert_true(mpki_measured(other));
    assert_memory_equal(x[0], x[1], (size_t)n * sizeof *x[0]);
    mpk_factor_destroy(&other);
    close(file);
    remove(path);
    free(b), free(x[0]), free(x[1]);
}

/* S B S, B regular and S 1e-9 in a few rows, without scaling: pivots there are 1e-18, and so zero.
 * A itself tells them, with values that follow, too, from the vectors that there are; but where it
 * has a kernel it tells none of it. */
static void test_lost_pivots(void **unused) {
    (void)unused;
    enum { N = 40, ENTRIES = N * (N + 1) / 2, SMALL = 3, TURNS = 8 };
    for (int singular = 0; singular < 2; singular++) {
        static int32_t rows[ENTRIES], cols[ENTRIES];
        static double values[ENTRIES];
        double b[N][N];
        int64_t at = 0;
        bool made;
        series s;
        support_state = 5;
        for (int j = 0; j < N; j++)
            for (int i = j; i < N; i++) b[i][j] = b[j][i] = uniform() + (i == j) * 8;
        for (int i = 0; i < N && singular; i++) /* the last row is the one before */
            b[N - 1][i] = b[i][N - 1] = b[N - 2][i];
        if (singular) b[N - 1][N - 1] = b[N - 2][N - 2];
        for (int j = 0; j < N; j++)
            for (int i = j; i < N; i++) {
                rows[at] = i, cols[at] = j;
                values[at++] =
                    b[i][j] * (i < N - SMALL ? 1 : 0x1p-30) * (j < N - SMALL ? 1 : 0x1p-30);
            }
        begin(&s);
        s.options.scaling = MPK_OFF;
        s.options.ordering = MPK_ORDERING_NATURAL;
        assert_int_equal(mpk_problem_from_triplets(s.ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, at,
                                                   rows, cols, values, &s.problem),
                         MPK_OK);
        factorize_first(&s);
        memcpy(s.ax, s.view.ax, (size_t)s.view.nnz * sizeof *s.ax);
        assert_int_equal(s.fac->info.inertia.zero, SMALL);
        if (singular) {
            assert_int_not_equal(s.fac->info.rank, MPK_RANK_FULL);
            assert_int_equal(mpki_measured_make(s.fac, &made), MPK_OK);
            assert_false(made);
            end(&s);
            continue;
        }
        assert_true(mpki_measured(s.fac) && s.fac->measured->count == SMALL);
        assert_true(s.fac->known.measures);
        assert_true(solve_error(&s) <= 1e-14);
        factorized = applied = 0;
        for (int turn = 0; turn < TURNS; turn++) {
            mpk_status status;
            const mpk_factor_info info = next(&s, &status);
            assert_int_equal(status, MPK_OK);
            assert_int_equal(info.rank, MPK_RANK_UNDECIDED);
            assert_true(mpki_measured(s.fac));
            const int before = applied;
            assert_true(solve_error(&s) <= 1e-14);
            applied = before;
        }
        print_message("lost: %d factorizations, %d triangles\n", factorized, applied);
        assert_int_equal(factorized, TURNS);
        save_and_load(&s);
        assert_true(applied <= 6 * TURNS);
        end(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_costs),
                                       cmocka_unit_test(test_lost_pivots)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
