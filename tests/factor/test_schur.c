/* SPDX-License-Identifier: BSD-3-Clause */
/* Schur complements against dense algebra: for every scalar, variables anywhere, interiors that are
 * indefinite, that delay columns, that are singular. */
#include "support.h"

#include "core/core.h"
#include "factor/factor.h"

#include <metapack/schur.h>

static mpk_options options(int threads) {
    mpk_options o;
    mpk_options_init(&o);
    o.threads = threads;
    return o;
}

static bool single(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/* ---- what dense algebra says ----------------------------------------------------------------- */

/* count distinct indices below n, in no order */
static void choose(int n, int count, int32_t *list) {
    int32_t *all = malloc(((size_t)n + 1) * sizeof *all);
    for (int i = 0; i < n; i++) all[i] = i;
    for (int k = 0; k < count; k++) {
        const int at = k + (int)(fabs(uniform()) * (n - k));
        const int32_t pick = all[at < n ? at : n - 1];
        all[at < n ? at : n - 1] = all[k];
        all[k] = list[k] = pick;
    }
    free(all);
}

/* The interior variables, increasing. */
static int others(int n, int count, const int32_t *list, int32_t *inner) {
    int next = 0;
    for (int i = 0; i < n; i++) {
        bool is_outer = false;
        for (int k = 0; k < count; k++) is_outer |= list[k] == i;
        if (!is_outer) inner[next++] = i;
    }
    return next;
}

typedef struct exact {
    double complex *s; /* count x count */
    double *values;    /* of A_11: singular values */
    double condition;  /* of A_11; infinite: singular */
    double least;      /* singular value of A_11 */
    double size;       /* of the terms that S is the difference of */
    mpk_inertia inertia;
} exact;

static exact exact_schur(const dense *m, int count, const int32_t *list) {
    exact e = {.s = calloc((size_t)count * count + 1, sizeof *e.s), .condition = 1, .size = 1e-30};
    int32_t *inner = malloc(((size_t)m->n + 1) * sizeof *inner);
    const int n = others(m->n, count, list, inner);
    double complex *a = malloc(((size_t)n * n + 1) * sizeof *a),
                   *copy = malloc(((size_t)n * n + 1) * sizeof *a);
    double complex *x = malloc(((size_t)n * count + 1) * sizeof *x);
    double *values = malloc(((size_t)n + 1) * sizeof *values),
           *work = malloc(((size_t)n + 1) * sizeof *work);
    lapack_int *pivots = malloc(((size_t)n + 1) * sizeof *pivots);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < n; i++)
            copy[i + j * n] = a[i + j * n] = dense_get(m, inner[i], inner[j]);
    for (int j = 0; j < count; j++)
        for (int i = 0; i < n; i++) x[i + j * n] = dense_get(m, inner[i], list[j]);
    for (int j = 0; j < count; j++)
        for (int i = 0; i < count; i++) e.s[i + j * count] = dense_get(m, list[i], list[j]);
    for (int k = 0; k < count * count; k++) e.size = fmax(e.size, cabs(e.s[k]));
    if (n > 0) {
        assert_int_equal(LAPACKE_zgesvd(LAPACK_COL_MAJOR, 'N', 'N', n, n, copy, n, values, NULL, 1,
                                        NULL, 1, work),
                         0);
        e.least = values[n - 1];
        e.condition = values[n - 1] > 1e-13 * values[0] ? values[0] / values[n - 1] : INFINITY;
    }
    if (m->symmetry == MPK_HERMITIAN || m->scalar <= MPK_D) {
        dense part = {n, a, m->scalar, m->symmetry};
        e.inertia = dense_inertia(&part, 0);
    }
    if (isfinite(e.condition) && n > 0) {
        if (count > 0)
            assert_int_equal(LAPACKE_zgesv(LAPACK_COL_MAJOR, n, count, a, n, pivots, x, n), 0);
        for (int j = 0; j < count; j++)
            for (int i = 0; i < count; i++) {
                double complex sum = 0;
                for (int k = 0; k < n; k++) sum += dense_get(m, list[i], inner[k]) * x[k + j * n];
                e.s[i + j * count] -= sum;
                e.size = fmax(e.size, cabs(sum));
            }
    }
    free(inner), free(a), free(copy), free(x), free(values), free(work), free(pivots);
    return e;
}

/* ---- a factorization ------------------------------------------------------------------------- */

typedef struct made {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_status status;
    mpk_factor_info info;
} made;

static mpk_context *context(void) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    return ctx;
}

static const char *text_of(mpk_context *ctx) {
    const char *text = NULL;
    (void)mpk_last_error(ctx, NULL, NULL, &text);
    return text ? text : "";
}

static made make(mpk_context *ctx, const dense *m, int count, const int32_t *list,
                 const mpk_options *o) {
    made f = {.ctx = ctx, .problem = dense_problem(ctx, m, 0)};
    assert_non_null(f.problem);
    const mpk_status status = mpk_analyse_schur(ctx, f.problem, o, count, list, &f.an);
    if (mpk_failed(status)) fail_msg("analyse: %s", text_of(ctx));
    assert_int_equal(mpki_analysis_check(ctx, f.an), MPK_OK);
    f.status = mpk_factorize(ctx, f.an, NULL, o, &f.fac);
    if (mpk_failed(f.status)) fail_msg("factorize: %s", text_of(ctx));
    mpk_factor_info_get(f.fac, &f.info);
    return f;
}

static void clear(made *f) {
    mpk_factor_destroy(&f->fac);
    mpk_analysis_destroy(&f->an);
    mpk_problem_destroy(&f->problem);
}

static double worst_of(mpk_scalar scalar, int count, const void *s, int64_t lds, const exact *e) {
    double worst = 0;
    for (int j = 0; j < count; j++)
        for (int i = 0; i < count; i++) {
            const double d = cabs(scalar_load(scalar, s, i + j * lds) - e->s[i + j * count]);
            worst = d <= worst ? worst : d;
        }
    return worst / e->size;
}

static double bound_of(mpk_scalar scalar, const exact *e) {
    return (single(scalar) ? 3e-6 : 1e-14) * fmin(e->condition, 1e10) +
           (single(scalar) ? 1e-5 : 1e-13);
}

/* ---- S, condense, expand --------------------------------------------------------------------- */

/* x of A x = b by way of S, against b. */
static void whole_solve(const made *f, const dense *m, int count, const int32_t *list, int nrhs) {
    const int n = m->n, ldb = n + 3, ldc = count + 1;
    const size_t size = mpk_scalar_size(m->scalar);
    void *b = calloc((size_t)ldb * nrhs + 1, size), *x = calloc((size_t)ldb * nrhs + 1, size);
    void *c = calloc((size_t)ldc * nrhs + 1, size), *s = calloc((size_t)count * count + 1, size);
    double complex *t = malloc(((size_t)count * count + 1) * sizeof *t);
    double complex *y = malloc(((size_t)count * nrhs + 1) * sizeof *y);
    lapack_int *pivots = malloc(((size_t)count + 1) * sizeof *pivots);
    for (int r = 0; r < nrhs; r++)
        for (int i = 0; i < n; i++)
            scalar_store(m->scalar, b, i + r * ldb, uniform() + uniform() * I);
    assert_int_equal(mpk_schur_condense(f->ctx, f->fac, nrhs, b, ldb, c, ldc), MPK_OK);
    assert_int_equal(mpk_schur_get(f->ctx, f->fac, s, count), MPK_OK);
    for (int k = 0; k < count * count; k++) t[k] = scalar_load(m->scalar, s, k);
    for (int r = 0; r < nrhs; r++)
        for (int k = 0; k < count; k++) y[k + r * count] = scalar_load(m->scalar, c, k + r * ldc);
    if (count > 0)
        assert_int_equal(LAPACKE_zgesv(LAPACK_COL_MAJOR, count, nrhs, t, count, pivots, y, count),
                         0);
    for (int r = 0; r < nrhs; r++)
        for (int k = 0; k < count; k++) scalar_store(m->scalar, c, k + r * ldc, y[k + r * count]);
    assert_int_equal(mpk_schur_expand(f->ctx, f->fac, nrhs, b, ldb, c, ldc, x, ldb), MPK_OK);
    const double bound = single(m->scalar) ? 2e-4 : 1e-10;
    for (int r = 0; r < nrhs; r++) {
        double largest = 0;
        for (int i = 0; i < n; i++)
            largest = fmax(largest, cabs(scalar_load(m->scalar, x, i + r * ldb)));
        for (int k = 0; k < count; k++)
            assert_true(scalar_load(m->scalar, x, list[k] + r * ldb) ==
                        scalar_load(m->scalar, c, k + r * ldc));
        for (int i = 0; i < n; i++) {
            double complex sum = scalar_load(m->scalar, b, i + r * ldb);
            double norm = 1;
            for (int j = 0; j < n; j++) {
                sum -= dense_get(m, i, j) * scalar_load(m->scalar, x, j + r * ldb);
                norm += cabs(dense_get(m, i, j));
            }
            if (!(cabs(sum) <= bound * norm * (largest + 1)))
                fail_msg("residual %g of %g", cabs(sum), norm * (largest + 1));
        }
    }
    /* x may be b */
    assert_int_equal(mpk_schur_expand(f->ctx, f->fac, nrhs, b, ldb, c, ldc, b, ldb), MPK_OK);
    for (int r = 0; r < nrhs; r++)
        assert_memory_equal((char *)b + (size_t)r * ldb * size, (char *)x + (size_t)r * ldb * size,
                            (size_t)n * size);
    free(b), free(x), free(c), free(s), free(t), free(y), free(pivots);
}

static void check_one(mpk_context *ctx, const dense *m, int count, const mpk_options *o,
                      int *compared) {
    const int lds = count + 2;
    const size_t size = mpk_scalar_size(m->scalar);
    int32_t *list = malloc(((size_t)count + 1) * sizeof *list);
    choose(m->n, count, list);
    exact e = exact_schur(m, count, list);
    made f = make(ctx, m, count, list, o);
    void *s = calloc((size_t)lds * count + 1, size);
    assert_int_equal(mpk_schur_order(f.fac), count);
    if (e.condition < (single(m->scalar) ? 1e3 : 1e9)) {
        assert_int_equal(f.fac->broken, 0);
        assert_int_equal(mpk_schur_get(ctx, f.fac, s, lds), MPK_OK);
        const double worst = worst_of(m->scalar, count, s, lds, &e);
        if (!(worst <= bound_of(m->scalar, &e)))
            fail_msg("n %d, %d outer, scalar %d, hermitian %d: off by %g, condition %g", m->n,
                     count, m->scalar, m->symmetry == MPK_HERMITIAN, worst, e.condition);
        if (m->symmetry == MPK_HERMITIAN || m->scalar <= MPK_D) {
            assert_int_equal(f.info.inertia.positive, e.inertia.positive);
            assert_int_equal(f.info.inertia.negative, e.inertia.negative);
        }
        dense outer = {count, e.s, MPK_Z, m->symmetry};
        exact of_s = exact_schur(&outer, 0, NULL);
        const bool solvable = of_s.least > (single(m->scalar) ? 1e-2 : 1e-5) * e.size;
        if (count == 0 || solvable) whole_solve(&f, m, count, list, 1);
        if (count == 0 || solvable) whole_solve(&f, m, count, list, 13);
        free(of_s.s);
        ++*compared;
    }
    clear(&f);
    free(s), free(e.s), free(list);
}

static void against_dense(void **state) {
    (void)state;
    static const struct {
        mpk_scalar scalar;
        mpk_symmetry symmetry;
    } kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
                 {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};
    mpk_context *ctx = context();
    const mpk_options o = options(1);
    int compared = 0, all = 0;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int family = 0; family < FAMILY_COUNT; family++)
            for (int n = 1; n <= 60; n = 2 * n + 1) {
                const int counts[] = {0, 1, n / 3, n - 1, n};
                dense m = family_matrix((enum support_family)family, n, kinds[k].scalar,
                                        kinds[k].symmetry);
                for (int c = 0; c < 5; c++, all++) check_one(ctx, &m, counts[c], &o, &compared);
                free(m.a);
            }
    assert_true(compared > all / 2);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_dense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
