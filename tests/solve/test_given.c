/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices that were given whole: which are refused as not symmetric, and in which matrix errors
 * are measured of those that are not. And whether a system is consistent, row by row. */
#include "support.h"

#include <stdbool.h>

/* Triplets of both triangles, n <= 200. */
typedef struct whole {
    int n;
    int64_t count;
    int32_t row[4000], col[4000];
    double complex value[4000];
} whole;

static void add(whole *w, int i, int j, double complex x) {
    w->row[w->count] = i, w->col[w->count] = j;
    w->value[w->count++] = x;
}

static void *values_of(const whole *w, mpk_scalar scalar) {
    void *v = calloc((size_t)w->count + 1, mpk_scalar_size(scalar));
    for (int64_t k = 0; k < w->count; k++) scalar_store(scalar, v, k, w->value[k]);
    return v;
}

static mpk_status problem_of(mpk_context *ctx, const whole *w, mpk_scalar scalar,
                             mpk_symmetry symmetry, mpk_problem **p) {
    void *v = values_of(w, scalar);
    const mpk_status status = mpk_problem_from_triplets(ctx, w->n, scalar, symmetry, MPK_FULL,
                                                        w->count, w->row, w->col, v, p);
    free(v);
    return status;
}

static mpk_context *context(double tolerance) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_context_set_symmetry_tolerance(ctx, tolerance), MPK_OK);
    return ctx;
}

static void expect(const whole *w, mpk_scalar scalar, bool symmetric, const char *what) {
    mpk_context *ctx = context(-1);
    mpk_problem *p = NULL;
    const char *text = "";
    const mpk_status status = problem_of(ctx, w, scalar, MPK_SYMMETRIC, &p);
    mpk_last_error(ctx, NULL, NULL, &text);
    if (status != (symmetric ? MPK_OK : MPK_ERR_INPUT))
        fail_msg("%s, scalar %d: %d, %s", what, (int)scalar, (int)status, text);
    if (!symmetric) assert_non_null(strstr(text, "is not symmetric"));
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

static void path(whole *w, int n, double size) {
    *w = (whole){.n = n};
    for (int i = 0; i < n; i++) {
        add(w, i, i, 2 * size);
        if (i > 0) add(w, i, i - 1, -size), add(w, i - 1, i, -size);
    }
}

/* +b against -b, zeroed rows, convection, a controlled source: whatever the units. */
static void unsymmetric_is_refused(void **state) {
    (void)state;
    static whole w;
    for (int scalar = MPK_S; scalar <= MPK_Z; scalar++) {
        const bool single = scalar == MPK_S || scalar == MPK_C;
        for (double big = 1e3; big <= 1e30; big *= 10) {
            const double complex b = scalar >= MPK_C && big > 1e5 ? I : 1; /* hermitian forgotten */
            w = (whole){.n = 2};
            add(&w, 0, 0, big), add(&w, 0, 1, b), add(&w, 1, 0, -b), add(&w, 1, 1, 1);
            expect(&w, scalar, false, "coupling of +b against -b");
            path(&w, 50, 1);
            for (int64_t k = 0; k < w.count; k++)
                if (w.row[k] == 0 || w.row[k] == 49) w.value[k] = w.row[k] != w.col[k] ? 0 : big;
            expect(&w, scalar, false, "zeroed rows");
        }
        for (double e = 1; e <= (single ? 1e6 : 1e11); e *= 10) {
            path(&w, 40, e);
            for (int i = 0; i < 40; i++) {
                add(&w, i, 40 + i, -1), add(&w, 40 + i, i, 1);
                add(&w, 40 + i, 40 + i, 1e-9);
            }
            w.n = 80;
            expect(&w, scalar, false, "poroelasticity");
        }
        for (double dt = 1e-3; dt >= (single ? 1e-4 : 1e-9); dt /= 10) {
            w = (whole){.n = 100};
            for (int i = 0; i < 100; i++) {
                add(&w, i, i, 1 / dt);
                if (i > 0) add(&w, i, i - 1, -50), add(&w, i - 1, i, 50);
            }
            expect(&w, scalar, false, "mass and convection");
        }
        const double g = single ? 1e5 : 1e9;
        w = (whole){.n = 4};
        const double a[4][4] = {
            {g + 1, -g, 0, 0}, {-g, g + 1e-3, -1e-3, 0}, {100, -1e-3, g, -g}, {0, 0, -g, g + 1}};
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) add(&w, i, j, a[i][j]);
        expect(&w, scalar, false, "a controlled source");
    }
}

/* What rounding leaves: of sums that cancel, of graded rows, of entries that are all noise. */
static void rounding_passes(void **state) {
    (void)state;
    static whole w;
    for (int scalar = MPK_S; scalar <= MPK_Z; scalar++) {
        const bool single = scalar == MPK_S || scalar == MPK_C;
        for (double noise = single ? 1e-7 : 1e-16; noise <= (single ? 1e-6 : 1e-12); noise *= 10)
            for (double grade = 1; grade <= 1e8; grade *= 100) {
                path(&w, 100, 1);
                for (int i = 2; i < 100; i++) /* sums that cancel, in one triangle exactly */
                    add(&w, i, i - 2, noise), add(&w, i - 2, i, i % 3 ? -noise * uniform() : 0);
                for (int64_t k = 0; k < w.count; k++) {
                    const double di = pow(grade, w.row[k] / 99.0 - 0.5);
                    const double dj = pow(grade, w.col[k] / 99.0 - 0.5);
                    w.value[k] *= di * dj * (1 + noise * uniform());
                }
                expect(&w, scalar, true, "noise of graded rows");
            }
        for (double noise = 1e-13; noise <= 1e-10 && !single; noise *= 10) {
            path(&w, 60, 1e9);
            for (int64_t k = 0; k < w.count; k++) w.value[k] *= 1 + noise * uniform();
            for (int i = 0; i < 3; i++) add(&w, i, i, 1e30); /* a penalty */
            expect(&w, scalar, true, "noise of entries");
        }
        w = (whole){.n = 60};
        for (int i = 0; i < 60; i++)
            for (int j = 0; j < 60; j++) add(&w, i, j, i == j ? 1 : 1e-17 * uniform());
        expect(&w, scalar, true, "nothing but noise beside the diagonal");
    }
}

/* One entry of a large matrix. */
static void one_entry_is_named(void **state) {
    (void)state;
    const int32_t n = 100000;
    mpk_context *ctx = context(-1);
    mpk_problem *p = NULL;
    int64_t *ap = calloc((size_t)n + 1, sizeof *ap);
    int32_t *ai = calloc((size_t)n * 3, sizeof *ai);
    double *ax = calloc((size_t)n * 3, sizeof *ax);
    for (int32_t j = 0, k = 0; j < n; j++) {
        for (int32_t i = j - 1; i <= j + 1; i++)
            if (i >= 0 && i < n)
                ai[k] = i, ax[k++] = i == j ? 4 : i == 54321 && j == 54320 ? -2 : -1;
        ap[j + 1] = k;
    }
    const char *text = "";
    assert_int_equal(mpk_problem_from_csc(ctx, n, MPK_D, MPK_SYMMETRIC, MPK_FULL, ap, ai, ax, &p),
                     MPK_ERR_INPUT);
    mpk_last_error(ctx, NULL, NULL, &text);
    assert_non_null(
        strstr(text, "row 54321, column 54320 is -2 but row 54320, column 54321 is -1"));
    free(ap), free(ai), free(ax);
    mpk_context_destroy(&ctx);
}

/* max |b - A x| / (|A| |x| + |b|) in long double, in the matrix of the triplets */
static double error_in(const whole *w, mpk_scalar scalar, const void *b, const void *x) {
    static long double complex r[200];
    static long double s[200];
    double worst = 0;
    for (int i = 0; i < w->n; i++)
        r[i] = scalar_load(scalar, b, i), s[i] = cabsl((long double complex)r[i]);
    for (int64_t k = 0; k < w->count; k++) {
        double complex pair[2] = {0, 0}; /* as it was rounded */
        scalar_store(scalar, pair, 0, w->value[k]);
        const long double complex a = scalar_load(scalar, pair, 0);
        const long double complex xj = scalar_load(scalar, x, w->col[k]);
        r[w->row[k]] -= a * xj;
        s[w->row[k]] += cabsl(a) * cabsl(xj);
    }
    for (int i = 0; i < w->n; i++)
        if (s[i] > 0) worst = fmax(worst, (double)(cabsl(r[i]) / s[i]));
    return worst;
}

typedef struct handles {
    mpk_context *ctx;
    mpk_problem *p;
    mpk_analysis *an;
    mpk_factor *fac;
} handles;

static void finish(handles *h) {
    mpk_factor_destroy(&h->fac);
    mpk_analysis_destroy(&h->an);
    mpk_problem_destroy(&h->p);
    mpk_context_destroy(&h->ctx);
}

/* Solve with the factor: what is said of x is true in the matrix as it was given. */
static mpk_status solve_in(const handles *h, const whole *w, mpk_scalar scalar, double *error) {
    const double eps = scalar == MPK_S || scalar == MPK_C ? 0x1p-24 : 0x1p-53;
    double complex b[200] = {0}, x[200];
    mpk_solve_info info;
    for (int i = 0; i < w->n; i++) scalar_store(scalar, b, i, 1 + uniform());
    const mpk_status status = mpk_solve(h->ctx, h->fac, 1, b, w->n, x, w->n, NULL, &info);
    assert_true(!mpk_failed(status));
    *error = error_in(w, scalar, b, x);
    assert_true(fabs(*error - info.componentwise) <= 20 * eps + 0.01 * *error);
    return status;
}

/* Symmetric but for skew * noise, of all its entries; one of them is missing, another an explicit
 * zero; unsorted, and each given as two halves. */
static void nearly(whole *w, double skew, bool hermitian) {
    static whole once;
    path(&once, 60, 1);
    add(&once, 7, 20, skew);
    add(&once, 30, 3, skew), add(&once, 3, 30, 0);
    for (int64_t k = 0; k < once.count; k++)
        if (once.row[k] != once.col[k]) {
            once.value[k] *= 1 + skew * uniform();
            if (hermitian && once.row[k] > once.col[k]) once.value[k] *= I;
            if (hermitian && once.row[k] < once.col[k]) once.value[k] *= -I;
        }
    for (int i = 0; i < 60; i++) add(&once, i, i, 0.7 + (hermitian ? skew * I * uniform() : 0));
    *w = (whole){.n = 60};
    for (int64_t k = once.count - 1; k >= 0; k--)
        add(w, once.row[k], once.col[k], once.value[k] / 2);
    for (int64_t k = 0; k < once.count; k++) add(w, once.row[k], once.col[k], once.value[k] / 2);
}

static void errors_are_those_of_the_given_matrix(void **state) {
    (void)state;
    static whole w, v;
    for (int scalar = MPK_S; scalar <= MPK_Z; scalar++)
        for (int hermitian = 0; hermitian <= (scalar >= MPK_C); hermitian++)
            for (double skew = 1e-13; skew <= 0.1; skew *= 10) {
                const bool single = scalar == MPK_S || scalar == MPK_C;
                const mpk_symmetry symmetry = hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC;
                const double rounding = single ? 0x1p29 * 1e-14 : 1e-14;
                handles h = {.ctx = context(1)};
                mpk_asymmetry apart;
                mpk_factor_info info;
                double error;
                nearly(&w, skew, hermitian);
                assert_int_equal(problem_of(h.ctx, &w, scalar, symmetry, &h.p), MPK_OK);
                mpk_problem_asymmetry_get(h.p, &apart);
                assert_true(apart.pairs > 0 || (single && skew < 1e-6));
                assert_int_equal(mpk_analyse(h.ctx, h.p, NULL, &h.an), MPK_OK);
                assert_int_equal(mpk_factorize(h.ctx, h.an, NULL, NULL, &h.fac), MPK_OK);
                mpk_factor_info_get(h.fac, &info);
                assert_int_equal(info.asymmetry.pairs, apart.pairs);
                mpk_status status = solve_in(&h, &w, scalar, &error);
                assert_int_equal(status, error <= rounding ? MPK_OK : MPK_INACCURATE);
                if (skew <= 1e-3) assert_true(status == MPK_OK); /* refinement converges */
                /* other values, in the given order, and by a problem of another context */
                nearly(&v, 0.7 * skew, hermitian);
                void *ax = values_of(&v, scalar);
                assert_int_equal(mpk_factorize(h.ctx, h.an, ax, NULL, &h.fac), MPK_OK);
                status = solve_in(&h, &v, scalar, &error);
                assert_int_equal(status, error <= rounding ? MPK_OK : MPK_INACCURATE);
                free(ax);
                handles other = {.ctx = context(1)};
                assert_int_equal(problem_of(other.ctx, &w, scalar, symmetry, &other.p), MPK_OK);
                assert_int_equal(mpk_factorize_problem(h.ctx, h.an, other.p, NULL, &h.fac), MPK_OK);
                finish(&other);
                status = solve_in(&h, &w, scalar, &error);
                assert_int_equal(status, error <= rounding ? MPK_OK : MPK_INACCURATE);
                /* and by a Krylov method with an incomplete factor */
                mpk_options o;
                mpk_options_init(&o);
                o.method = MPK_METHOD_ILDLT, o.drop_tolerance = 1e-3, o.level = 1;
                mpk_factor_destroy(&h.fac);
                mpk_analysis_destroy(&h.an);
                assert_int_equal(mpk_analyse(h.ctx, h.p, &o, &h.an), MPK_OK);
                assert_int_equal(mpk_factorize(h.ctx, h.an, NULL, &o, &h.fac), MPK_OK);
                status = solve_in(&h, &w, scalar, &error);
                assert_true((status == MPK_OK) == (error <= rounding) || status > 0);
                finish(&h);
            }
}

/* A problem of another pattern, or kind, is refused. */
static void another_problem_is_refused(void **state) {
    (void)state;
    static whole w;
    handles h = {.ctx = context(-1)};
    mpk_problem *other = NULL;
    path(&w, 20, 1);
    assert_int_equal(problem_of(h.ctx, &w, MPK_D, MPK_SYMMETRIC, &h.p), MPK_OK);
    assert_int_equal(mpk_analyse(h.ctx, h.p, NULL, &h.an), MPK_OK);
    add(&w, 9, 2, 1), add(&w, 2, 9, 1);
    assert_int_equal(problem_of(h.ctx, &w, MPK_D, MPK_SYMMETRIC, &other), MPK_OK);
    assert_int_equal(mpk_factorize_problem(h.ctx, h.an, other, NULL, &h.fac), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_factorize_problem(h.ctx, h.an, NULL, NULL, &h.fac), MPK_ERR_ARGUMENT);
    assert_null(h.fac);
    mpk_problem_destroy(&other);
    finish(&h);
}

/* A body that floats beside three rows of size `big`: whatever their size, the load on it decides
 * whether there is a solution. */
static void consistency_is_judged_by_rows(void **state) {
    (void)state;
    static whole w;
    static const double sizes[] = {1, 1e6, 1e8, 1e10, 1e30}, loads[] = {1, 1e4, 1e8, 1e11};
    for (int c = 0; c < 5 * 4 * 4; c++) {
        const double big = sizes[c % 5], load = loads[c / 5 % 4];
        const bool consistent = c / 20 % 2, incomplete = c / 40;
        handles h = {.ctx = context(-1)};
        mpk_options o;
        mpk_options_init(&o);
        if (incomplete) o.method = MPK_METHOD_ILDLT;
        path(&w, 33, 1);
        for (int64_t k = 0; k < w.count; k++) {
            const int i = w.row[k], j = w.col[k];
            if (i < 3 || j < 3) w.value[k] = i != j ? 0 : big;
            if (i == j && (i == 3 || i == 32)) w.value[k] = 1;
        }
        double b[33], x[33];
        for (int i = 0; i < 33; i++) b[i] = i < 3 ? big * load : consistent && i % 2 ? -1 : 1;
        mpk_solve_info info;
        assert_int_equal(problem_of(h.ctx, &w, MPK_D, MPK_SYMMETRIC, &h.p), MPK_OK);
        assert_true(mpk_analyse(h.ctx, h.p, &o, &h.an) >= 0);
        assert_true(mpk_factorize(h.ctx, h.an, NULL, &o, &h.fac) >= 0);
        const mpk_status status = mpk_solve(h.ctx, h.fac, 1, b, 33, x, 33, &o, &info);
        if (!incomplete) {
            if (status != MPK_SINGULAR || info.solved != consistent)
                fail_msg("rows of %g, load %g: status %d, solved %d, error %g", big, load,
                         (int)status, info.solved, info.componentwise);
        } else if (!consistent && (status == MPK_OK || info.solved)) {
            fail_msg("rows of %g, load %g: status %d, solved %d, error %g", big, load, (int)status,
                     info.solved, info.componentwise);
        }
        finish(&h);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsymmetric_is_refused),
        cmocka_unit_test(rounding_passes),
        cmocka_unit_test(one_entry_is_named),
        cmocka_unit_test(errors_are_those_of_the_given_matrix),
        cmocka_unit_test(another_problem_is_refused),
        cmocka_unit_test(consistency_is_judged_by_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
