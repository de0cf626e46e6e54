/* SPDX-License-Identifier: BSD-3-Clause */
/* Values come in the order in which the caller gave the pattern: sorted or not, one triangle or
 * both, with duplicates. Every way in must factorize the same matrix, at once and with new values.
 */
#include "support.h"

#include "factor/factor.h"

typedef struct given {
    int64_t count;
    int32_t *rows, *cols;
    int64_t *ap; /* compressed columns where they were asked for, else NULL */
    void *values;
} given;

static void given_free(given *g) {
    free(g->rows), free(g->cols), free(g->ap), free(g->values);
}

static void add(given *g, mpk_scalar scalar, int i, int j, double complex x) {
    g->rows[g->count] = i;
    g->cols[g->count] = j;
    scalar_store(scalar, g->values, g->count++, x);
}

static void swap(given *g, mpk_scalar scalar, int64_t a, int64_t b) {
    const int32_t row = g->rows[a], col = g->cols[a];
    const double complex x = scalar_load(scalar, g->values, a);
    g->rows[a] = g->rows[b], g->cols[a] = g->cols[b];
    scalar_store(scalar, g->values, a, scalar_load(scalar, g->values, b));
    g->rows[b] = row, g->cols[b] = col;
    scalar_store(scalar, g->values, b, x);
}

/* The matrix in a dress drawn by `seed`, which fixes all but the values: entries of zero stay. */
static given dressed(const dense *m, const char *pattern, mpk_triangle triangle, int compressed,
                     uint64_t seed) {
    const size_t most = 4 * (size_t)m->n * m->n + 4;
    const uint64_t kept = support_state;
    given g = {0, calloc(most, sizeof *g.rows), calloc(most, sizeof *g.cols), NULL,
               calloc(most, 16)};
    support_state = seed;
    for (int j = 0; j < m->n; j++)
        for (int i = j; i < m->n; i++) {
            if (!pattern[i + (size_t)j * m->n]) continue;
            const double complex x = dense_get(m, i, j), y = dense_get(m, j, i);
            const int both = triangle == MPK_FULL, flip = triangle == MPK_EITHER && uniform() > 0;
            const int twice = uniform() > 0.5; /* half and half: their sum has no rounding error */
            for (int k = 0; k <= twice; k++) {
                const double part = twice ? 0.5 : 1;
                if (i == j || (triangle != MPK_UPPER && !flip)) add(&g, m->scalar, i, j, part * x);
                if (i != j && (both || triangle == MPK_UPPER || flip))
                    add(&g, m->scalar, j, i, part * y);
                if (i != j && !both && triangle != MPK_EITHER && uniform() > 0.7) /* counts not */
                    add(&g, m->scalar, triangle == MPK_LOWER ? j : i, triangle == MPK_LOWER ? i : j,
                        77);
            }
        }
    for (int64_t k = g.count - 1; k > 0; k--)
        swap(&g, m->scalar, k, (int64_t)(fabs(uniform()) * (double)k));
    if (compressed) { /* by columns, unsorted within; a stable sort */
        g.ap = calloc((size_t)m->n + 1, sizeof *g.ap);
        for (int64_t a = 1; a < g.count; a++)
            for (int64_t b = a; b > 0 && g.cols[b - 1] > g.cols[b]; b--)
                swap(&g, m->scalar, b - 1, b);
        for (int64_t k = 0; k < g.count; k++) g.ap[g.cols[k] + 1]++;
        for (int j = 0; j < m->n; j++) g.ap[j + 1] += g.ap[j];
    }
    support_state = kept;
    return g;
}

static mpk_status create(mpk_context *ctx, const dense *m, mpk_triangle triangle, const given *g,
                         mpk_problem **problem) {
    return g->ap ? mpk_problem_from_csc(ctx, m->n, m->scalar, m->symmetry, triangle, g->ap, g->rows,
                                        g->values, problem)
                 : mpk_problem_from_triplets(ctx, m->n, m->scalar, m->symmetry, triangle, g->count,
                                             g->rows, g->cols, g->values, problem);
}

static dense random_dense(int n, mpk_scalar scalar, mpk_symmetry symmetry, const char *pattern) {
    dense m = dense_new(n, scalar, symmetry);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            if (pattern[i + (size_t)j * n])
                dense_set(&m, i, j, (i == j ? 3.0 : 1.0) * (uniform() + uniform() * I));
    return m;
}

/* The factor solves with m: A x = b for b = m x, x = 1, 2, ... */
static void check_solves(mpk_context *ctx, const dense *m, const mpk_factor *fac) {
    void *b = calloc((size_t)m->n + 1, 16);
    for (int i = 0; i < m->n; i++) {
        double complex sum = 0;
        for (int j = 0; j < m->n; j++) sum += dense_get(m, i, j) * (j + 1);
        scalar_store(m->scalar, b, i, sum);
    }
    assert_int_equal(mpk_solve(ctx, fac, 1, b, m->n, b, m->n, NULL, NULL), MPK_OK);
    const double bound = m->scalar == MPK_S || m->scalar == MPK_C ? 1e-2 : 1e-8;
    for (int i = 0; i < m->n; i++)
        assert_true(cabs(scalar_load(m->scalar, b, i) - (i + 1)) < bound * m->n);
    free(b);
}

/* Which matrix the factor says it holds. */
static void check_values(const dense *m, const mpk_factor *fac) {
    const mpk_analysis *an = fac->base;
    for (int32_t j = 0; j < m->n; j++)
        for (int64_t k = an->ap[j]; k < an->ap[j + 1]; k++)
            assert_true(scalar_load(m->scalar, fac->ax, k) == dense_get(m, an->ai[k], j));
}

static void one_dress(mpk_scalar scalar, mpk_symmetry symmetry, mpk_triangle triangle,
                      int compressed, int blocks, int n) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options options;
    char *pattern = calloc((size_t)n * n + 1, 1);
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            pattern[i + (size_t)j * n] = i == j || fabs(uniform()) < 4.0 / n;
    dense first = random_dense(n, scalar, symmetry, pattern);
    dense second = random_dense(n, scalar, symmetry, pattern);
    given g = dressed(&first, pattern, triangle, compressed, 11);
    given h = dressed(&second, pattern, triangle, compressed, 11);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(create(ctx, &first, triangle, &g, &problem), MPK_OK);
    mpk_options_init(&options);
    options.method = blocks ? MPK_METHOD_ILDLT : MPK_METHOD_LDLT;
    options.level = -1;
    options.fill_factor = options.drop_tolerance = 0;
    options.krylov = blocks ? MPK_KRYLOV_GMRES : MPK_KRYLOV_AUTO;
    options.tolerance = scalar == MPK_S || scalar == MPK_C ? 1e-5 : 1e-12;
    assert_true(mpk_analyse(ctx, problem, &options, &an) >= 0);
    assert_int_equal(mpk_factorize(ctx, an, g.values, &options, &fac), MPK_OK);
    check_values(&first, fac);
    if (!blocks) check_solves(ctx, &first, fac);
    assert_int_equal(mpk_refactorize(ctx, h.values, &options, fac), MPK_OK);
    check_values(&second, fac);
    if (!blocks) check_solves(ctx, &second, fac);
    assert_int_equal(mpk_problem_set_values(ctx, problem, h.values), MPK_OK);
    assert_int_equal(mpk_refactorize(ctx, NULL, &options, fac), MPK_OK); /* those analysed */
    check_values(&first, fac);
    mpk_problem_view view;
    mpk_problem_view_get(problem, &view);
    assert_int_equal(mpk_factorize_lower(ctx, an, view.ax, &options, &fac), MPK_OK);
    check_values(&second, fac);
    mpk_problem_destroy(&problem); /* the analysis needs it no more */
    assert_int_equal(mpk_factorize(ctx, an, NULL, &options, &fac), MPK_OK);
    check_values(&first, fac);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_context_destroy(&ctx);
    given_free(&g), given_free(&h);
    free(first.a), free(second.a), free(pattern);
}

static void every_dress(void **state) {
    (void)state;
    static const mpk_scalar scalars[] = {MPK_S, MPK_D, MPK_C, MPK_Z, MPK_C, MPK_Z};
    for (int triangle = MPK_LOWER; triangle <= MPK_EITHER; triangle++)
        for (int k = 0; k < 6; k++)
            for (int compressed = 0; compressed < 2; compressed++)
                for (int blocks = 0; blocks < 2; blocks++)
                    one_dress(scalars[k], k > 3 ? MPK_HERMITIAN : MPK_SYMMETRIC,
                              (mpk_triangle)triangle, compressed, blocks, 1 + 12 * (k + 1) / 2);
}

/* [4 1 2; 1 5 3; 2 3 6], inertia (3, 0, 0), by its upper triangle. Its values read as those of the
 * lower triangle by columns gave 1.79 1.64 2.5 for 1 1 1, with a backward error of 1e-16. */
static void upper_triangle(void **state) {
    (void)state;
    const int64_t ap[] = {0, 1, 3, 6};
    const int32_t ai[] = {0, 0, 1, 0, 1, 2};
    const double ax[] = {4, 1, 5, 2, 3, 6};
    double x[] = {7, 9, 11};
    mpk_context *ctx = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_UPPER, ap, ai, ax, &a),
                     MPK_OK);
    assert_int_equal(mpk_analyse(ctx, a, NULL, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, ax, NULL, &fac), MPK_OK);
    assert_int_equal(mpk_solve(ctx, fac, 1, x, 3, x, 3, NULL, NULL), MPK_OK);
    for (int i = 0; i < 3; i++) assert_true(fabs(x[i] - 1) < 1e-14);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&ctx);
}

/* What is refused when a problem is made is refused when its values change; factor and problem then
 * have those they had. */
static void refusals(void **state) {
    (void)state;
    const int32_t rows[] = {0, 1, 0, 1}, cols[] = {0, 0, 1, 1};
    const double complex good[] = {1, 2 + I, 2 - I, 3}, skew[] = {1, 2 + I, 2 + I, 3},
                         diagonal[] = {1, 2 + I, 2 - I, 3 + I}, nan[] = {1, 2 + I, NAN, 3};
    const struct {
        const double complex *values;
        const char *said;
    } bad[] = {{skew, "not Hermitian"}, {diagonal, "real diagonal"}, {nan, "NaN"}};
    double complex b[] = {1, 1}, x[2];
    const char *text;
    mpk_context *ctx = NULL, *other = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_context_create(NULL, &other), MPK_OK);
    assert_int_equal(
        mpk_problem_from_triplets(ctx, 2, MPK_Z, MPK_HERMITIAN, MPK_FULL, 4, rows, cols, good, &a),
        MPK_OK);
    assert_int_equal(mpk_analyse(ctx, a, NULL, &an), MPK_OK);
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        assert_int_equal(mpk_factorize(ctx, an, bad[k].values, NULL, &fac), MPK_ERR_INPUT);
        assert_null(fac);
        assert_int_equal(mpk_factorize(ctx, an, good, NULL, &fac), MPK_OK);
        assert_int_equal(mpk_refactorize(ctx, bad[k].values, NULL, fac), MPK_ERR_INPUT);
        mpk_last_error(ctx, NULL, NULL, &text);
        assert_non_null(strstr(text, bad[k].said));
        assert_int_equal(mpk_solve(ctx, fac, 1, b, 2, x, 2, NULL, NULL), MPK_OK); /* as it was */
        assert_int_equal(mpk_problem_set_values(ctx, a, bad[k].values), MPK_ERR_INPUT);
        assert_int_equal(mpk_refactorize(other, good, NULL, fac), MPK_ERR_ARGUMENT);
        mpk_factor_destroy(&fac);
    }
    const double complex lower[] = {1, 2 + I, 3 + I};
    assert_int_equal(mpk_factorize_lower(ctx, an, lower, NULL, &fac), MPK_ERR_INPUT);
    assert_int_equal(mpk_problem_set_lower(ctx, a, lower), MPK_ERR_INPUT);
    mpk_problem_view view;
    mpk_problem_view_get(a, &view);
    assert_true(((const double complex *)view.ax)[1] == 2 + I);
    /* values whose sum is beyond every number */
    const int32_t twice[] = {0, 0};
    const double one[] = {1, 1}, huge[] = {1e308, 1e308};
    mpk_problem *small = NULL;
    assert_int_equal(mpk_problem_from_triplets(ctx, 1, MPK_D, MPK_SYMMETRIC, MPK_LOWER, 2, twice,
                                               twice, one, &small),
                     MPK_OK);
    assert_int_equal(mpk_problem_set_values(ctx, small, huge), MPK_ERR_INPUT);
    mpk_problem_destroy(&small);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&other);
    mpk_context_destroy(&ctx);
}

/* An analysis in another context than its problem's, which ends first. */
static void contexts_apart(void **state) {
    (void)state;
    const int32_t rows[] = {1, 0, 1}, cols[] = {0, 0, 1};
    const double values[] = {1, 2, 3};
    double x[] = {3, 4};
    mpk_context *first = NULL, *second = NULL;
    mpk_problem *a = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    assert_int_equal(mpk_context_create(NULL, &first), MPK_OK);
    assert_int_equal(mpk_context_create(NULL, &second), MPK_OK);
    assert_int_equal(mpk_problem_from_triplets(first, 2, MPK_D, MPK_SYMMETRIC, MPK_LOWER, 3, rows,
                                               cols, values, &a),
                     MPK_OK);
    assert_int_equal(mpk_analyse(second, a, NULL, &an), MPK_OK);
    mpk_problem_destroy(&a);
    mpk_context_destroy(&first);
    assert_int_equal(mpk_factorize(second, an, values, NULL, &fac), MPK_OK);
    assert_int_equal(mpk_solve(second, fac, 1, x, 2, x, 2, NULL, NULL), MPK_OK);
    assert_true(fabs(x[0] - 1) < 1e-15 && fabs(x[1] - 1) < 1e-15);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_context_destroy(&second);
}

/* The k-th allocation fails. */
static void memory_runs_out(void **state) {
    (void)state;
    const int32_t rows[] = {1, 0, 1, 0, 1}, cols[] = {0, 0, 1, 1, 1};
    const double values[] = {1, 2, 3, 1, 4}, more[] = {2, 2, 3, 2, 5};
    int done = 0;
    for (int64_t k = 1; !done; k++) {
        assert_true(k < 1000);
        failing f = {.fail_at = -1};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *ctx = NULL;
        mpk_problem *a = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_options options;
        mpk_options_init(&options);
        options.threads = 1;
        assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
        f.calls = 0;
        f.fail_at = k;
        mpk_status status = mpk_problem_from_triplets(ctx, 2, MPK_D, MPK_SYMMETRIC, MPK_FULL, 5,
                                                      rows, cols, values, &a);
        assert_true((status == MPK_OK) == (a != NULL));
        if (!mpk_failed(status)) status = mpk_problem_set_values(ctx, a, more);
        if (!mpk_failed(status)) status = mpk_analyse(ctx, a, &options, &an);
        if (!mpk_failed(status)) status = mpk_factorize(ctx, an, values, &options, &fac);
        if (!mpk_failed(status)) status = mpk_refactorize(ctx, NULL, &options, fac);
        if (!mpk_failed(status)) status = mpk_refactorize(ctx, more, &options, fac);
        assert_true(status == MPK_OK || status == MPK_ERR_MEMORY);
        done = status == MPK_OK;
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&a);
        mpk_context_destroy(&ctx);
        assert_int_equal(f.held, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dress),     cmocka_unit_test(upper_triangle),
        cmocka_unit_test(refusals),        cmocka_unit_test(contexts_apart),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
