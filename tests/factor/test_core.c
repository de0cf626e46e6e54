/* SPDX-License-Identifier: BSD-3-Clause */
/* Structurally singular matrices, of which a core is factorized: equality constraints with slacks
 * and one row that holds all variables, as a linear programme has them. Were the columns that the
 * matching leaves bare to wait for that row, all of them would meet at the root. */
#include "support.h"

#include "factor/factor.h"

#include <math.h>
#include <metapack/save.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

typedef struct programme {
    int32_t n, vars, rows, count;
    int32_t *i, *j;
    double *a;
} programme;

/* Not core/random.h: what the tests below say of ranks was found for these matrices. */
static unsigned draw(unsigned *state, unsigned below) {
    *state = *state * 1103515245u + 12345u;
    return (*state >> 16) % below;
}

static void put(programme *p, int32_t i, int32_t j, double a) {
    p->i[p->count] = i, p->j[p->count] = j, p->a[p->count++] = a;
}

/* [H 0 A^T; 0 0 -I; A -I 0] with H of two entries, as many slacks as rows and fewer variables. */
static programme programme_new(int32_t vars, bool ones) {
    const int32_t rows = 2 * vars, most = 3 * rows + rows + vars + 2;
    programme p = {.n = vars + 2 * rows,
                   .vars = vars,
                   .rows = rows,
                   .i = malloc((size_t)most * sizeof *p.i),
                   .j = malloc((size_t)most * sizeof *p.j),
                   .a = malloc((size_t)most * sizeof *p.a)};
    unsigned state = 7;
    put(&p, 0, 0, 2);
    put(&p, 1, 1, 2);
    for (int32_t r = 0; r < rows; r++) {
        const int32_t row = vars + rows + r;
        if (r < rows - 9) put(&p, row, vars + r, -1);
        int32_t before = -1;
        const int32_t entries = r == rows - 1 ? vars : 2 + (int32_t)draw(&state, 2);
        for (int32_t k = 0; k < entries; k++) {
            int32_t col = r / 2 - 8 + (int32_t)draw(&state, 6) + 6 * k;
            if (r == rows - 1) col = k;
            if (col <= before || col >= vars) continue;
            before = col;
            const double sign = draw(&state, 2) ? 1 : -1;
            put(&p, row, col, sign * (ones ? 1 : 0.01 + draw(&state, 10000) / 100.0));
        }
    }
    return p;
}

static void programme_free(programme *p) {
    free(p->i), free(p->j), free(p->a);
}

typedef struct outcome {
    mpk_status analysed, factored, solved;
    mpk_analysis_info analysis;
    mpk_factor_info factor;
    mpk_solve_info solve;
} outcome;

/* b = A 1. values [in] to factorize with, NULL: those analysed */
static outcome go(const programme *p, const mpk_options *o, const double *values) {
    mpk_context *ctx = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem *problem = NULL;
    outcome r = {0};
    double *b = calloc((size_t)p->n, sizeof *b), *x = calloc((size_t)p->n, sizeof *x);
    const double *a = values ? values : p->a;
    for (int32_t k = 0; k < p->count; k++) {
        b[p->i[k]] += a[k];
        if (p->i[k] != p->j[k]) b[p->j[k]] += a[k];
    }
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_from_triplets(ctx, p->n, MPK_D, MPK_SYMMETRIC, MPK_LOWER, p->count,
                                               p->i, p->j, p->a, &problem),
                     MPK_OK);
    r.analysed = mpk_analyse(ctx, problem, o, &an);
    if (r.analysed >= 0) {
        mpk_analysis_info_get(an, &r.analysis);
        r.factored = mpk_factorize(ctx, an, values, o, &fac);
        if (r.factored >= 0) assert_int_equal(mpk_certify(ctx, fac, NULL), MPK_OK);
        mpk_factor_info_get(fac, &r.factor);
        if (r.factored >= 0) r.solved = mpk_solve(ctx, fac, 1, b, p->n, x, p->n, o, &r.solve);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(b), free(x);
    return r;
}

static mpk_options defaults(void) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    return o;
}

/* dependent [in] n - rank */
static void check(const outcome *r, const programme *p, int64_t dependent) {
    assert_int_equal(r->analysed, MPK_SINGULAR);
    assert_int_equal(r->factored, MPK_SINGULAR);
    assert_int_equal(r->factor.rank, MPK_RANK_STRUCTURAL);
    assert_true(r->factor.rank_bound == 0);
    assert_int_equal(r->factor.inertia.zero, dependent);
    assert_int_equal(r->factor.inertia.positive + r->factor.inertia.negative, p->n - dependent);
    assert_int_equal(r->solved, MPK_SINGULAR);
    assert_true(r->solve.componentwise <= 1e-13);
}

static void test_core(void **unused) {
    (void)unused;
    const mpk_options o = defaults();
    programme p = programme_new(2000, false);
    const outcome r = go(&p, &o, NULL);
    check(&r, &p, p.n - r.analysis.structural_rank);
    assert_int_equal(r.factor.stages, 1);
    assert_true(r.factor.nnz <= 20 * (int64_t)p.count);
    assert_true(r.factor.max_front <= 200);
    programme_free(&p);
}

/* With entries of one size the matching may choose a singular core; what it lacks is found. */
static void test_singular_core(void **unused) {
    (void)unused;
    const mpk_options o = defaults();
    programme p = programme_new(2000, true);
    const outcome r = go(&p, &o, NULL);
    check(&r, &p,
          2000); /* as elimination modulo 2^61 - 1 has it; two more than the structure says */
    assert_true(r.factor.stages > 1);
    assert_true(r.factor.nnz <= 100 * (int64_t)p.count);
    programme_free(&p);
}

/* Most columns are delayed up to the root, which no analysis expects. Values of the same rank that
 * come later are factorized once all the same. */
static void test_later_values(void **unused) {
    (void)unused;
    const mpk_options o = defaults();
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_problem_view a;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_factor_info first, info;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_read(ctx, METAPACK_DATA "/qp_kkt/dualc5.mtx.xz", &problem),
                     MPK_OK);
    mpk_problem_view_get(problem, &a);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_SINGULAR);
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_SINGULAR);
    mpk_factor_info_get(fac, &first);
    const int32_t n = a.n;
    assert_int_equal(first.inertia.zero, n - 16); /* the structural rank */
    double *values = malloc((size_t)a.nnz * sizeof *values);
    int *shift = malloc((size_t)n * sizeof *shift);
    unsigned state = 11;
    for (int turn = 0; turn < 4; turn++) {
        for (int32_t i = 0; i < n; i++) shift[i] = (int)draw(&state, 3) - 1;
        for (int32_t j = 0; j < n; j++)
            for (int64_t k = a.ap[j]; k < a.ap[j + 1]; k++)
                values[k] = ldexp(((const double *)a.ax)[k], shift[a.ai[k]] + shift[j]);
        assert_int_equal(mpk_refactorize(ctx, values, &o, fac), MPK_SINGULAR);
        mpk_factor_info_get(fac, &info);
        assert_int_equal(info.inertia.zero, first.inertia.zero);
        if (turn > 0) assert_int_equal(info.stages, 1);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(values), free(shift);
}

/* The same, but there is no room for more than the core: then that is what is said. */
static void test_no_room(void **unused) {
    (void)unused;
    mpk_options o = defaults();
    programme p = programme_new(2000, true);
    outcome r = go(&p, &o, NULL);
    o.memory_limit = 1.2 * (double)r.analysis.peak_bytes;
    r = go(&p, &o, NULL);
    assert_int_equal(r.factored, MPK_SINGULAR);
    assert_int_equal(r.factor.rank, MPK_RANK_STRUCTURAL);
    assert_true(r.factor.rank_bound > 1e-10);
    assert_false(r.factor.inertia.certified);
    assert_int_equal(r.solved, MPK_SINGULAR);
    programme_free(&p);
}

/* Other values in the pattern are as singular, unless they are where the analysis saw a zero. */
static void test_other_values(void **unused) {
    (void)unused;
    const mpk_options o = defaults();
    programme p = programme_new(300, false);
    double *values = malloc((size_t)p.count * sizeof *values);
    for (int32_t k = 0; k < p.count; k++) values[k] = p.a[k] * (1 + 0.1 * (k % 7));
    const outcome other = go(&p, &o, values);
    check(&other, &p, p.n - other.analysis.structural_rank);
    for (int32_t k = 0; k < p.count; k++) p.a[k] = p.i[k] == p.j[k] ? 0 : p.a[k];
    const outcome fuller = go(&p, &o, values); /* H is there now: the rank grows by two */
    assert_int_equal(fuller.factor.inertia.zero, p.n - other.analysis.structural_rank);
    assert_true(fuller.analysis.structural_rank < other.analysis.structural_rank);
    free(values);
    programme_free(&p);
}

/* A factor that delayed columns let outgrow memory_limit ends in an error, not in a swapping
 * machine. */
static void test_delayed_beyond_limit(void **unused) {
    (void)unused;
    mpk_options o = defaults();
    programme p = programme_new(2000, false);
    o.matching = MPK_OFF;
    outcome r = go(&p, &o, NULL);
    assert_true(r.factored >= 0);
    o.memory_limit = 1.5 * (double)r.analysis.peak_bytes;
    assert_true(o.memory_limit < (double)r.factor.peak_bytes);
    r = go(&p, &o, NULL);
    assert_int_equal(r.analysed, MPK_OK);
    assert_int_equal(r.factored, MPK_ERR_MEMORY);
    programme_free(&p);
}

/* The rank of a symmetric matrix of small integers, modulo a prime: that of A, but for bad luck. */
static int rank_of(int n, const int *a) {
    const int64_t P = 2147483647;
    int64_t *m = malloc((size_t)(n * n) * sizeof *m);
    int rank = 0;
    assert_non_null(m);
    for (int k = 0; k < n * n; k++) m[k] = (a[k] + P) % P;
    for (int col = 0; col < n && rank < n; col++) {
        int at = rank;
        while (at < n && m[at * n + col] == 0) at++;
        if (at == n) continue;
        int64_t inverse = 1;
        for (int64_t power = P - 2, base = m[at * n + col]; power; power >>= 1) { /* Fermat */
            if (power & 1) inverse = inverse * base % P;
            base = base * base % P;
        }
        for (int k = 0; k < n; k++) {
            const int64_t x = m[at * n + k];
            m[at * n + k] = m[rank * n + k], m[rank * n + k] = x;
        }
        for (int i = rank + 1; i < n; i++) {
            const int64_t l = m[i * n + col] * inverse % P;
            for (int k = 0; l && k < n; k++)
                m[i * n + k] = (m[i * n + k] + (P - l) * m[rank * n + k]) % P;
        }
        rank++;
    }
    free(m);
    return rank;
}

/* Of few integers: sums cancel where the numbers are 1 and -1, and a core that lacks a row of A
 * then passes for all of it. */
static void test_integers(void **unused) {
    (void)unused;
    enum { N = 22, MATRICES = 400 };
    /* known solutions of 1 and -1 say that rank 16 is all it has */
    static const int seventeen[][3] = {
        {6, 2, -2},   {9, 5, 3},   {9, 8, 2},   {11, 6, -3},  {11, 8, -3},  {13, 2, 3},
        {14, 1, 2},   {14, 5, -2}, {15, 0, -1}, {15, 1, 1},   {15, 5, 1},   {15, 6, 2},
        {15, 9, 2},   {16, 2, 3},  {16, 9, -2}, {16, 16, 2},  {17, 14, -1}, {17, 15, 2},
        {18, 1, -2},  {19, 7, 1},  {19, 8, 1},  {19, 10, -2}, {19, 18, -2}, {20, 11, -1},
        {20, 12, -2}, {21, 9, -1}, {21, 20, -1}};
    mpk_context *ctx = NULL;
    int singular = 0;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < MATRICES; k++) {
        unsigned state = 11u + (unsigned)k;
        int a[N * N] = {0}, count = 0, entries = 24 + (int)draw(&state, 12);
        int32_t i[3 * N], j[3 * N];
        double x[3 * N];
        for (size_t e = 0; k == 0 && e < sizeof seventeen / sizeof *seventeen; e++) {
            const int *q = seventeen[e];
            a[q[0] * N + q[1]] = a[q[1] * N + q[0]] = q[2];
        }
        for (int e = 0; k > 0 && e < entries; e++) {
            const int row = (int)draw(&state, N), col = (int)draw(&state, N);
            const int size = 1 + (int)draw(&state, 3), value = draw(&state, 2) ? size : -size;
            a[row * N + col] = a[col * N + row] = value;
        }
        for (int row = 0; row < N; row++)
            for (int col = 0; col <= row; col++)
                if (a[row * N + col]) i[count] = row, j[count] = col, x[count++] = a[row * N + col];
        mpk_problem *problem = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_options o;
        mpk_factor_info info;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT;
        assert_int_equal(mpk_problem_from_triplets(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, count,
                                                   i, j, x, &problem),
                         MPK_OK);
        assert_false(mpk_failed(mpk_analyse(ctx, problem, &o, &an)));
        assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
        mpk_factor_info_get(fac, &info);
        const int rank = rank_of(N, a);
        singular += rank < N;
        if (info.inertia.zero != N - rank)
            fail_msg("matrix %d: %d zero pivots, rank %d", k, (int)info.inertia.zero, rank);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
    }
    assert_true(singular > MATRICES / 2);
    mpk_context_destroy(&ctx);
}

/* The analysis of more of a core takes the matching, and the pairs kept together, of an older one of the
 * same values: they are what it would find; from a file, too. */
static void test_same_matching(void **unused) {
    (void)unused;
    static const char *const files[] = {
        "qp_kkt/dualc5.mtx.xz", "least_squares/NYPA_Maragal_2.mtx.xz", "singular/Erdos971.mtx.xz"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        char path[512], file[] = "/tmp/test_core_XXXXXX";
        mpk_context *ctx = NULL;
        mpk_problem *problem = NULL;
        mpk_analysis *an = NULL, *loaded = NULL, *fresh = NULL, *taken = NULL, *other = NULL;
        mpk_options o;
        const int made = mkstemp(file);
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT;
        (void)snprintf(path, sizeof path, "%s/%s", METAPACK_DATA, files[f]);
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        assert_int_equal(mpk_problem_read(ctx, path, &problem), MPK_OK);
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_SINGULAR);
        assert_true(mpki_core_is_part(&an->core) && an->core.mate);
        const int32_t n = an->n;
        char *keep = calloc((size_t)n, 1);
        for (int32_t i = 0, some = 0; i < n; i++) keep[i] = an->core.bare[i] && some++ % 3 == 0;
        assert_false(mpk_failed(mpki_analyse(ctx, problem, &an->options, keep, NULL, &fresh)));
        assert_false(mpk_failed(mpki_analyse(ctx, problem, &an->options, keep, an, &taken)));
        assert_int_equal(taken->info.structural_rank, an->info.structural_rank);
        assert_memory_equal(taken->core.bare, fresh->core.bare, (size_t)n);
        assert_memory_equal(taken->core.mate, fresh->core.mate, (size_t)n * sizeof(int32_t));
        assert_memory_equal(taken->scale, fresh->scale, (size_t)n * sizeof(double));
        assert_memory_equal(taken->perm, fresh->perm, (size_t)n * sizeof(int32_t));
        assert_int_equal(taken->core.pairs, an->core.pairs);
        assert_true(made >= 0);
        assert_int_equal(mpk_analysis_save(ctx, an, file), MPK_OK);
        assert_false(mpk_failed(mpk_analysis_load(ctx, problem, file, &loaded)));
        assert_memory_equal(loaded->core.mate, an->core.mate, (size_t)n * sizeof(int32_t));
        assert_int_equal(loaded->core.pairs, an->core.pairs);
        loaded->scale[0] *= 4; /* it is this one's matching */
        assert_false(mpk_failed(mpki_analyse(ctx, problem, &an->options, keep, loaded, &other)));
        assert_true(other->scale[0] == 4 * an->scale[0]);
        close(made);
        remove(file);
        free(keep);
        mpk_analysis_destroy(&other);
        mpk_analysis_destroy(&taken);
        mpk_analysis_destroy(&fresh);
        mpk_analysis_destroy(&loaded);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_core),         cmocka_unit_test(test_same_matching),
        cmocka_unit_test(test_integers),     cmocka_unit_test(test_singular_core),
        cmocka_unit_test(test_later_values), cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_other_values), cmocka_unit_test(test_delayed_beyond_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
