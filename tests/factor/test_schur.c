/* SPDX-License-Identifier: BSD-3-Clause */
/* Schur complements against dense algebra: for every scalar, variables anywhere, interiors that are
 * indefinite, that delay columns, that are singular. */
#include "../sanitized.h"
#include "support.h"

#include "config.h"
#include "core/core.h"
#include "engines/cpu/multifrontal/multifrontal.h"
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
    /* OpenBLAS 0.3.21 reads behind the last column (zgemv_n with AVX-512) */
    const size_t room = (size_t)n * (n + 4) + 1;
    double complex *a = malloc(room * sizeof *a), *copy = malloc(room * sizeof *a);
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
static void whole_solve(const made *f, const dense *m, int count, const int32_t *list, int nrhs,
                        double condition) {
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
    const double bound = single(m->scalar) ? 2e-4 : fmax(1e-10, 1e-14 * condition);
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
        if (count == 0 || solvable) whole_solve(&f, m, count, list, 1, e.condition);
        if (count == 0 || solvable) whole_solve(&f, m, count, list, 13, e.condition);
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

/* ---- the last node --------------------------------------------------------------------------- */

/* Columns that were delayed up to the outer rows are eliminated there. */
static void delayed_to_the_end(void **state) {
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = options(1);
    o.matching = MPK_OFF;
    o.ordering = MPK_ORDERING_NATURAL;
    int compared = 0, delayed = 0;
    for (int scalar = MPK_D; scalar <= MPK_Z; scalar += MPK_Z - MPK_D)
        for (int n = 12; n <= 90; n += 13)
            for (int family = 0; family < FAMILY_COUNT; family++) {
                dense m = family_matrix((enum support_family)family, n, (mpk_scalar)scalar,
                                        scalar == MPK_Z ? MPK_HERMITIAN : MPK_SYMMETRIC);
                int32_t list[6];
                check_one(ctx, &m, 5, &o, &compared);
                choose(n, 6, list);
                made f = make(ctx, &m, 6, list, &o);
                if (f.fac->direct) { /* of another analysis after outer pivoting, it may be */
                    const mpki_direct *d = f.fac->direct;
                    delayed += d->node[d->tree.nsuper - 1].w;
                    assert_int_equal(d->node[d->tree.nsuper - 1].nelim,
                                     d->node[d->tree.nsuper - 1].w);
                }
                clear(&f);
                free(m.a);
            }
    if (compared < 30 || delayed < 20) fail_msg("%d compared, %d delayed", compared, delayed);
    mpk_context_destroy(&ctx);
}

/* Outer rows do not make a pivot wait: it would gain nothing. */
static void large_in_outer_rows(void **state) {
    enum { N = 60, OUTER = 12 };
    (void)state;
    mpk_context *ctx = context();
    mpk_options o = options(1);
    o.matching = MPK_OFF, o.scaling = MPK_OFF;
    for (int dense_below = 0; dense_below < 2; dense_below++)
        for (mpk_scalar scalar = MPK_D; scalar <= MPK_Z; scalar += MPK_Z - MPK_D) {
            dense m = dense_new(N, scalar, scalar == MPK_Z ? MPK_HERMITIAN : MPK_SYMMETRIC);
            int32_t list[OUTER];
            for (int j = 0; j < N - OUTER; j++) {
                dense_set(&m, j, j, j == 0 ? 1 : j % 3 ? 1e-5 : -2e-5);
                if (j > 0) dense_set(&m, j, j - 1, 3e-6);
                for (int i = N - OUTER; i < N; i++)
                    if (dense_below || i % OUTER == j % OUTER) dense_set(&m, i, j, uniform());
            }
            for (int k = 0; k < OUTER; k++) list[k] = N - OUTER + k;
            made f = make(ctx, &m, OUTER, list, &o);
            assert_int_equal(f.status, MPK_OK);
            assert_int_equal(f.info.rejected, 0);
            exact e = exact_schur(&m, OUTER, list);
            double complex *s = calloc(OUTER * OUTER, sizeof *s);
            assert_int_equal(mpk_schur_get(ctx, f.fac, s, OUTER), MPK_OK);
            for (int k = 0; k < OUTER * OUTER; k++)
                assert_true(cabs(scalar_load(scalar, s, k) - e.s[k]) <= 1e-13 * e.size);
            assert_memory_equal(&f.info.inertia, &e.inertia, sizeof e.inertia);
            free(s), free(e.s), free(e.values);
            clear(&f);
            free(m.a);
        }
    mpk_context_destroy(&ctx);
}

/* Outer variables that hang everywhere on a long path: the interior's order counts them. One that
 * has not seen them takes 115 times as many operations as the whole. */
static void everywhere(void **state) {
    enum { EVERY = 19, MOST = 400 };
    (void)state;
    mpk_context *ctx = context();
    const mpk_options o = options(1);
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL, *whole = NULL;
    mpk_analysis_info info, of_whole;
    mpk_problem_view view;
    int32_t list[MOST];
    int count = 0;
    assert_int_equal(mpk_problem_generate(ctx, "optimal-control 300", 1, &problem), MPK_OK);
    mpk_problem_view_get(problem, &view);
    for (int32_t i = 0; i < view.n && count < MOST; i += EVERY) list[count++] = i;
    assert_int_equal(mpk_analyse(ctx, problem, &o, &whole), MPK_OK);
    assert_int_equal(mpk_analyse_schur(ctx, problem, &o, count, list, &an), MPK_OK);
    mpk_analysis_info_get(an, &info);
    mpk_analysis_info_get(whole, &of_whole);
#if MPKI_HAVE_CAMD
    if (!(info.factor_flops <= 5 * of_whole.factor_flops))
        fail_msg("%g operations, the whole %g", info.factor_flops, of_whole.factor_flops);
#endif
    mpk_analysis_destroy(&an);
    mpk_analysis_destroy(&whole);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* ---- singular interiors ---------------------------------------------------------------------- */

static dense lower(int n, const double *a) {
    dense m = dense_new(n, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) dense_set(&m, i, j, *a++);
    return m;
}

static void singular_one(const dense *m, int count, const int32_t *list, bool exists,
                         const double *want) {
    mpk_context *ctx = context();
    const mpk_options o = options(1);
    double s[16], b[8] = {1, 2, 3, 4, 5, 6, 7, 8}, c[8];
    made f = make(ctx, m, count, list, &o);
    assert_int_equal(f.status, MPK_SINGULAR);
    assert_int_equal(f.info.inertia.zero, 1);
    const mpk_status got = mpk_schur_get(ctx, f.fac, s, count);
    assert_int_equal(got, exists ? MPK_OK : MPK_ERR_NUMERIC);
    assert_int_equal(mpk_schur_condense(ctx, f.fac, 1, b, 8, c, 8),
                     exists ? MPK_OK : MPK_ERR_NUMERIC);
    assert_int_equal(mpk_schur_expand(ctx, f.fac, 1, b, 8, c, 8, b, 8),
                     exists ? MPK_OK : MPK_ERR_NUMERIC);
    for (int k = 0; exists && k < count * count; k++) assert_true(fabs(s[k] - want[k]) <= 1e-13);
    mpk_certificate found;
    assert_int_equal(mpk_certify(ctx, f.fac, &found), MPK_OK);
    assert_false(found.certified);
    clear(&f);
    mpk_context_destroy(&ctx);
}

static void singular_interiors(void **state) {
    (void)state;
    const int32_t last[] = {1}, third[] = {3}, two[] = {3, 0};
    /* A_11 = 0 */
    dense m = lower(2, (const double[]){0, 1, 5});
    singular_one(&m, 1, last, false, NULL);
    free(m.a);
    m = lower(2, (const double[]){0, 0, 5});
    singular_one(&m, 1, last, true, (const double[]){5});
    free(m.a);
    /* the Laplacian of a path: constants are its kernel */
    m = lower(4, (const double[]){1, -1, 2, 0, -1, 1, 1, 1, 1, 7});
    singular_one(&m, 1, third, false, NULL);
    free(m.a);
    m = lower(4, (const double[]){1, -1, 2, 0, -1, 1, 1, -1, 0, 7});
    singular_one(&m, 1, third, true, (const double[]){6});
    free(m.a);
    /* [1 1; 1 1] with a third variable, and one outside on either side */
    m = lower(4, (const double[]){3, 1, 1, 1, 1, 1, 2, 4, 4, 9});
    singular_one(&m, 2, two, true, (const double[]){9 - 16, 2 - 4, 2 - 4, 3 - 1});
    free(m.a);
}

/* ---- new values ------------------------------------------------------------------------------ */

static void values_of(const mpk_problem *problem, int seed, double *ax) {
    mpk_problem_view view;
    mpk_problem_view_get(problem, &view);
    support_state = (uint64_t)seed;
    for (int64_t k = 0; k < view.nnz; k++) ax[k] = ((const double *)view.ax)[k] + 0.3 * uniform();
}

/* An interior of zeros: those of its columns that the outer rows have entries in are broken. */
static void nothing_but_the_rows_below(void **state) {
    (void)state;
    enum { N = 40, COUNT = 3 };
    mpk_context *ctx = context();
    for (int scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
        for (int every = 1; every <= 3; every++) {
            const mpk_options o = options(1);
            dense m = dense_new(N + COUNT, (mpk_scalar)scalar, MPK_SYMMETRIC);
            int32_t list[COUNT];
            for (int k = 0; k < COUNT; k++) {
                list[k] = N + k;
                for (int j = 0; j < N; j += every)
                    m.a[list[k] + j * m.n] = m.a[j + list[k] * m.n] = 1 + k;
            }
            made f = make(ctx, &m, COUNT, list, &o);
            assert_int_equal(f.status, MPK_SINGULAR);
            assert_int_equal(f.info.inertia.zero, N);
            assert_int_equal(f.fac->broken, (N + every - 1) / every);
            clear(&f);
            free(m.a);
        }
    mpk_context_destroy(&ctx);
}

static void refactorized(void **state) {
    (void)state;
    enum { N = 50, COUNT = 7 };
    mpk_context *ctx = context();
    const mpk_options o = options(1);
    dense m = family_matrix(SADDLE_POINT, N, MPK_D, MPK_SYMMETRIC);
    int32_t list[COUNT];
    choose(N, COUNT, list);
    made f = make(ctx, &m, COUNT, list, &o);
    mpk_problem_view view;
    mpk_problem_view_get(f.problem, &view);
    double *ax = malloc((size_t)view.nnz * sizeof *ax), s[COUNT * COUNT], t[COUNT * COUNT];
    for (int round = 0; round < 6; round++) {
        values_of(f.problem, round + 1, ax);
        for (int j = 0; j < N; j++)
            for (int64_t k = view.ap[j]; k < view.ap[j + 1]; k++)
                dense_set(&m, view.ai[k], j, ax[k]);
        if (round == 3) memset(ax, 0, (size_t)view.nnz * sizeof *ax); /* and on with others */
        mpk_problem *other = dense_problem(ctx, &m, 0);
        const mpk_status status = round == 4   ? mpk_factorize_lower(ctx, f.an, ax, &o, &f.fac)
                                  : round == 5 ? mpk_factorize_problem(ctx, f.an, other, &o, &f.fac)
                                               : mpk_refactorize(ctx, ax, &o, f.fac);
        assert_false(mpk_failed(status));
        if (round != 3) {
            exact e = exact_schur(&m, COUNT, list);
            assert_int_equal(mpk_schur_get(ctx, f.fac, s, COUNT), MPK_OK);
            assert_true(worst_of(MPK_D, COUNT, s, COUNT, &e) <= bound_of(MPK_D, &e));
            free(e.s);
        } else { /* A_11 = 0 and A_21 = 0: S is there, and it is 0 */
            assert_int_equal(status, MPK_SINGULAR);
            assert_int_equal(mpk_schur_get(ctx, f.fac, s, COUNT), MPK_OK);
            for (int k = 0; k < COUNT * COUNT; k++) assert_true(s[k] == 0);
        }
        mpk_problem_destroy(&other);
    }
    /* the problem's own values once more */
    made g = make(ctx, &m, COUNT, list, &o);
    assert_false(mpk_failed(mpk_factorize(ctx, g.an, ax, &o, &g.fac)));
    mpk_problem_view_get(g.problem, &view);
    assert_false(mpk_failed(mpk_refactorize(ctx, view.ax, &o, g.fac)));
    assert_int_equal(mpk_schur_get(ctx, g.fac, t, COUNT), MPK_OK);
    for (int k = 0; k < COUNT * COUNT; k++) assert_true(fabs(s[k] - t[k]) <= 1e-10);
    clear(&g);
    clear(&f);
    free(ax), free(m.a);
    mpk_context_destroy(&ctx);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void same_bits(void **state) {
    (void)state;
    enum { COUNT = 60, NRHS = 11 };
    double *s[3], *x[3], *y[3];
    int64_t n = 0;
    for (int t = 0; t < 3; t++) {
        mpk_context *ctx = context();
        mpk_problem *problem = NULL;
        mpk_problem_view view;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        const mpk_options o = options(t + 1);
        int32_t list[COUNT];
        assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 9", 1, &problem), MPK_OK);
        mpk_problem_view_get(problem, &view);
        n = view.n;
        support_state = 5;
        choose(view.n, COUNT, list);
        s[t] = calloc(COUNT * COUNT, sizeof(double));
        x[t] = calloc((size_t)view.n * NRHS, sizeof(double));
        y[t] = calloc((size_t)view.n * NRHS, sizeof(double));
        assert_false(mpk_failed(mpk_analyse_schur(ctx, problem, &o, COUNT, list, &an)));
        assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
        assert_int_equal(mpk_schur_get(ctx, fac, s[t], COUNT), MPK_OK);
        for (int64_t k = 0; k < n * NRHS; k++) x[t][k] = y[t][k] = uniform();
        assert_int_equal(mpk_schur_solve(ctx, fac, NRHS, x[t], n, x[t], n, &o, NULL), MPK_OK);
        assert_int_equal(mpk_schur_solve(ctx, fac, 1, y[t], n, y[t], n, &o, NULL), MPK_OK);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
    }
    for (int t = 1; t < 3; t++) {
        assert_memory_equal(s[0], s[t], COUNT * COUNT * sizeof(double));
        assert_memory_equal(x[0], x[t], (size_t)n * NRHS * sizeof(double));
        assert_memory_equal(y[0], y[t], (size_t)n * sizeof(double));
    }
    for (int t = 0; t < 3; t++) free(s[t]), free(x[t]), free(y[t]);
}

/* ---- the whole solve ------------------------------------------------------------------------- */

static void as_the_whole(void **state) {
    (void)state;
    enum { N = 70, COUNT = 9, NRHS = 3 };
    mpk_context *ctx = context();
    for (int scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
        for (int hermitian = 0; hermitian <= (scalar >= MPK_C); hermitian++)
            for (int family = 0; family < FAMILY_COUNT; family++) {
                const mpk_options o = options(1);
                dense m = family_matrix((enum support_family)family, N, (mpk_scalar)scalar,
                                        hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC);
                int32_t list[COUNT];
                choose(N, COUNT, list);
                exact all = exact_schur(&m, 0, list), e = exact_schur(&m, COUNT, list);
                const double most = single(m.scalar) ? 1e3 : 1e8;
                if (all.condition < most && e.condition < most) {
                    made f = make(ctx, &m, COUNT, list, &o);
                    const size_t size = mpk_scalar_size(m.scalar);
                    void *b = calloc(N * NRHS, size), *x = calloc(N * NRHS, size);
                    void *y = calloc(N * NRHS, size);
                    mpk_analysis *an = NULL;
                    mpk_factor *fac = NULL;
                    mpk_solve_info info;
                    for (int k = 0; k < N * NRHS; k++)
                        scalar_store(m.scalar, b, k, uniform() + uniform() * I);
                    assert_int_equal(mpk_schur_solve(ctx, f.fac, NRHS, b, N, x, N, &o, &info),
                                     MPK_OK);
                    assert_true(info.solved &&
                                info.componentwise <= (single(m.scalar) ? 6e-6 : 1e-14));
                    assert_false(mpk_failed(mpk_analyse(ctx, f.problem, &o, &an)));
                    assert_false(mpk_failed(mpk_factorize(ctx, an, NULL, &o, &fac)));
                    assert_int_equal(mpk_solve(ctx, fac, NRHS, b, N, y, N, &o, NULL), MPK_OK);
                    double off = 0, largest = 0;
                    for (int k = 0; k < N * NRHS; k++) {
                        const double complex u = scalar_load(m.scalar, x, k);
                        off = fmax(off, cabs(u - scalar_load(m.scalar, y, k)));
                        largest = fmax(largest, cabs(u));
                    }
                    assert_true(off <= (single(m.scalar) ? 1e-4 : 1e-12) * all.condition * largest);
                    assert_int_equal(mpk_schur_solve(ctx, f.fac, NRHS, b, N, b, N, &o, &info),
                                     MPK_OK);
                    assert_memory_equal(b, x, N * NRHS * size);
                    mpk_factor_destroy(&fac);
                    mpk_analysis_destroy(&an);
                    clear(&f);
                    free(b), free(x), free(y);
                }
                free(all.s), free(e.s), free(m.a);
            }
    mpk_context_destroy(&ctx);
}

/* D A D with D far apart, and a small A whose outer part is nearly all of it: S has rows of any
 * size, and is regular all the same. */
static void badly_scaled(void **state) {
    (void)state;
    enum { N = 24, NRHS = 2 };
    static const int counts[] = {2, 12, N - 1, N};
    mpk_context *ctx = context();
    for (int scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
        for (int hermitian = 0; hermitian <= (scalar >= MPK_C); hermitian++)
            for (int c = 0; c < 4; c++) {
                const mpk_options o = options(1);
                dense m =
                    dense_new(N, (mpk_scalar)scalar, hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC);
                const size_t size = mpk_scalar_size(m.scalar);
                const int most = single(m.scalar) ? 20 : 200, count = counts[c];
                int32_t list[N];
                int exponent[N];
                void *b = calloc(N * NRHS, size), *x = calloc(N * NRHS, size);
                mpk_solve_info info;
                choose(N, count, list);
                for (int i = 0; i < N; i++) exponent[i] = (int)(uniform() * most);
                for (int j = 0; j < N; j++)
                    for (int i = j; i < N; i++) {
                        const double complex z =
                            i == j ? (i % 2 ? 3 : -3) : 0.2 * (uniform() + uniform() * I);
                        const double complex y = scalar >= MPK_C ? z : creal(z);
                        const double d = ldexp(1, exponent[i] + exponent[j]);
                        m.a[i + j * N] = y * d;
                        m.a[j + i * N] = (hermitian ? conj(y) : y) * d;
                    }
                for (int k = 0; k < N * NRHS; k++)
                    scalar_store(m.scalar, b, k, ldexp(uniform(), exponent[k % N]));
                made f = make(ctx, &m, count, list, &o);
                assert_int_equal(f.status, MPK_OK);
                assert_int_equal(mpk_schur_solve(ctx, f.fac, NRHS, b, N, x, N, &o, &info), MPK_OK);
                assert_true(info.solved && info.componentwise <= (single(m.scalar) ? 6e-6 : 1e-14));
                clear(&f);
                free(b), free(x), free(m.a);
            }
    mpk_context_destroy(&ctx);
}

/* ---- what the factor tells of the interior --------------------------------------------------- */

static void told(void **state) {
    (void)state;
    enum { N = 40, COUNT = 6, INNER = N - COUNT };
    mpk_context *ctx = context();
    dense m = family_matrix(BANDED, N, MPK_D, MPK_SYMMETRIC);
    int32_t list[COUNT], inner[N], given[N], perm[N], of_an[N];
    choose(N, COUNT, list);
    others(N, COUNT, list, inner);
    mpk_options o = options(1);
    for (int k = 0; k < N; k++) given[k] = N - 1 - k;
    o.ordering = MPK_ORDERING_GIVEN;
    o.given_perm = given;
    made f = make(ctx, &m, COUNT, list, &o);
    assert_int_equal(f.an->info.n, INNER);
    mpk_analysis_perm(f.an, of_an);
    for (int k = 0; k < COUNT; k++) assert_int_equal(of_an[INNER + k], list[k]);
    int seen[N] = {0};
    for (int k = 0; k < N; k++) seen[of_an[k]]++;
    for (int k = 0; k < N; k++) assert_int_equal(seen[k], 1);
    /* the rows of L and D, multiplied together, are those of A_11: here its determinant */
    double logdet[3], want = 0, d[2 * N], w[N];
    assert_int_equal(mpk_get_size(f.fac, MPK_GET_PERM), INNER * sizeof(int32_t));
    assert_int_equal(mpk_get(ctx, f.fac, MPK_GET_PERM, perm, sizeof perm), MPK_OK);
    assert_int_equal(mpk_get(ctx, f.fac, MPK_GET_D, d, sizeof d), MPK_OK);
    assert_int_equal(mpk_get(ctx, f.fac, MPK_GET_LOGDET, logdet, sizeof logdet), MPK_OK);
    memset(seen, 0, sizeof seen);
    for (int k = 0; k < INNER; k++) seen[perm[k]]++;
    for (int k = 0; k < INNER; k++) assert_int_equal(seen[inner[k]], 1);
    dense part = dense_new(INNER, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < INNER; i++)
        for (int j = 0; j <= i; j++) dense_set(&part, i, j, dense_get(&m, inner[i], inner[j]));
    dense_eigenvalues(&part, w);
    int negative = 0;
    for (int k = 0; k < INNER; k++) want += log(fabs(w[k])), negative += w[k] < 0;
    assert_true(fabs(logdet[0] - want) <= 1e-9 * fabs(want) + 1e-9);
    assert_true(logdet[1] == (negative % 2 ? -1 : 1));
    mpk_certificate found;
    assert_int_equal(mpk_certify(ctx, f.fac, &found), MPK_OK);
    assert_true(found.certified);
    assert_int_equal(f.info.inertia.negative, negative);
    clear(&f);
    free(part.a), free(m.a);
    mpk_context_destroy(&ctx);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void refused(void **state) {
    (void)state;
    enum { N = 20, COUNT = 3 };
    mpk_context *ctx = context();
    mpk_options o = options(1);
    dense m = family_matrix(BANDED, N, MPK_D, MPK_SYMMETRIC);
    mpk_problem *problem = dense_problem(ctx, &m, 0), *general = NULL;
    mpk_analysis *an = NULL, *plain = NULL;
    mpk_factor *fac = NULL, *whole = NULL;
    const int32_t good[] = {4, 19, 0}, twice[] = {4, 5, 4}, outside[] = {1, 20, 2},
                  below[] = {1, -1, 2};
    double b[N], x[N], s[N * N];
    for (int i = 0; i < N; i++) b[i] = i;
    assert_int_equal(mpk_analyse_schur(NULL, problem, &o, COUNT, good, &an), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_analyse_schur(ctx, NULL, &o, COUNT, good, &an), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_analyse_schur(ctx, problem, &o, COUNT, good, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_analyse_schur(ctx, problem, &o, COUNT, NULL, &an), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_analyse_schur(ctx, problem, &o, N + 1, good, &an), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_analyse_schur(ctx, problem, &o, -1, good, &an), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_analyse_schur(ctx, problem, &o, COUNT, twice, &an), MPK_ERR_ARGUMENT);
    assert_non_null(strstr(text_of(ctx), "variable 4 stands twice"));
    assert_int_equal(mpk_analyse_schur(ctx, problem, &o, COUNT, outside, &an), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_analyse_schur(ctx, problem, &o, COUNT, below, &an), MPK_ERR_ARGUMENT);
    o.method = MPK_METHOD_ILDLT;
    assert_int_equal(mpk_analyse_schur(ctx, problem, &o, COUNT, good, &an), MPK_ERR_UNSUPPORTED);
    o.method = MPK_METHOD_AUTO;
    o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_analyse_schur(ctx, problem, &o, COUNT, good, &an), MPK_ERR_UNSUPPORTED);
    assert_null(an);
    const int64_t ap[] = {0, 2, 3};
    const int32_t ai[] = {0, 1, 1};
    assert_int_equal(
        mpk_problem_from_csc(ctx, 2, MPK_D, MPK_GENERAL, MPK_FULL, ap, ai, b, &general), MPK_OK);
    o.device = MPK_ON_AUTO;
    assert_int_equal(mpk_analyse_schur(ctx, general, &o, 1, good + 2, &an), MPK_ERR_UNSUPPORTED);
    assert_int_equal(mpk_analyse_schur(ctx, problem, &o, COUNT, good, &an), MPK_OK);
    o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_ERR_UNSUPPORTED);
    o.device = MPK_ON_AUTO;
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    assert_int_equal(mpk_solve(ctx, fac, 1, b, N, x, N, &o, NULL), MPK_ERR_UNSUPPORTED);
    assert_non_null(strstr(text_of(ctx), "mpk_schur_condense"));
    assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ALL, 1, x, N), MPK_ERR_UNSUPPORTED);
    assert_int_equal(mpk_null_space(ctx, fac, 0, 0, 0, NULL, N, NULL, NULL), MPK_ERR_UNSUPPORTED);
    const int64_t bptr[] = {0, 0};
    assert_int_equal(
        mpk_solve_sparse(ctx, fac, 1, bptr, NULL, NULL, N, NULL, MPK_SPARSE_BARE, x, N, NULL),
        MPK_ERR_UNSUPPORTED);
    assert_int_equal(mpk_solve_minimum_norm(ctx, fac, 0, NULL, N, 1, b, N, x, N, &o, NULL),
                     MPK_ERR_UNSUPPORTED);
    double inverse[N];
    assert_int_equal(
        mpk_selected_inverse(ctx, fac, MPK_SELECT_DIAGONAL, inverse, sizeof inverse, &o, NULL),
        MPK_ERR_UNSUPPORTED);
    assert_int_equal(mpk_schur_get(ctx, fac, s, COUNT - 1), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_schur_get(ctx, fac, NULL, COUNT), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_schur_get(ctx, NULL, s, COUNT), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_schur_condense(ctx, fac, -1, b, N, x, N), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_schur_condense(ctx, fac, 1, b, N - 1, x, N), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_schur_condense(ctx, fac, 1, b, N, x, COUNT - 1), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_schur_condense(ctx, fac, 1, NULL, N, x, N), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_schur_condense(ctx, fac, 0, NULL, N, NULL, N), MPK_OK);
    assert_int_equal(mpk_schur_expand(ctx, fac, 1, b, N, s, COUNT - 1, x, N), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_schur_expand(ctx, fac, 1, b, N, NULL, COUNT, x, N), MPK_ERR_ARGUMENT);
    b[7] = NAN;
    assert_int_equal(mpk_schur_condense(ctx, fac, 1, b, N, x, N), MPK_ERR_INPUT);
    assert_int_equal(mpk_schur_expand(ctx, fac, 1, b, N, b, N, x, N), MPK_ERR_INPUT);
    assert_int_equal(mpk_schur_solve(ctx, fac, 1, b, N, x, N, &o, NULL), MPK_ERR_INPUT);
    assert_int_equal(mpk_schur_order(NULL), -1);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &plain), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, plain, NULL, &o, &whole), MPK_OK);
    assert_int_equal(mpk_schur_order(whole), -1);
    assert_int_equal(mpk_schur_get(ctx, whole, s, N), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_schur_solve(ctx, whole, 1, b, N, x, N, &o, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_factorize_problem(ctx, an, general, &o, &fac), MPK_ERR_ARGUMENT);
    mpk_factor_destroy(&whole);
    mpk_analysis_destroy(&plain);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&general);
    mpk_problem_destroy(&problem);
    free(m.a);
    mpk_context_destroy(&ctx);
}

/* ---- memory that fails, calls that are stopped ----------------------------------------------- */

/* All that can be called, one after the other; the first failure ends it. */
static mpk_status all_calls(mpk_context *ctx, const mpk_problem *problem, int threads) {
    enum { COUNT = 5, NRHS = 3 };
    const mpk_options o = options(threads);
    const int32_t list[COUNT] = {40, 3, 17, 29, 8};
    mpk_problem_view view;
    mpk_problem_view_get(problem, &view);
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    double s[COUNT * COUNT], *b = calloc((size_t)view.n * NRHS, sizeof *b);
    for (int64_t k = 0; k < (int64_t)view.n * NRHS; k++) b[k] = 1 + (double)(k % 7);
    mpk_status status = mpk_analyse_schur(ctx, problem, &o, COUNT, list, &an);
    if (mpk_failed(status)) assert_null(an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, &o, &fac);
    if (mpk_failed(status)) assert_null(fac);
    if (!mpk_failed(status)) status = mpk_refactorize(ctx, view.ax, &o, fac);
    if (!mpk_failed(status)) status = mpk_schur_get(ctx, fac, s, COUNT);
    if (!mpk_failed(status))
        status = mpk_schur_solve(ctx, fac, NRHS, b, view.n, b, view.n, &o, NULL);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    free(b);
    return status;
}

static void memory_fails(void **state) {
    (void)state;
    dense m = family_matrix(BANDED, 60, MPK_D, MPK_SYMMETRIC);
    for (int threads = 1; threads <= 2; threads++) {
        bool done = false;
        for (int64_t k = 1; !done && k < 5000; k++) {
            failing f = {0};
            mpk_context *ctx = NULL;
            mpk_allocator allocator = {failing_alloc, failing_release, &f};
            assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
            mpk_problem *problem = dense_problem(ctx, &m, 0);
            f.calls = 0;
            f.fail_at = k;
            const mpk_status status = all_calls(ctx, problem, threads);
            done = f.calls < k;
            if (done)
                assert_false(mpk_failed(status));
            else if (mpk_failed(status))
                assert_int_equal(status, MPK_ERR_MEMORY);
            f.fail_at = 0;
            mpk_problem_destroy(&problem);
            mpk_context_destroy(&ctx);
            assert_int_equal(f.held, 0);
        }
        assert_true(done);
    }
    free(m.a);
}

static int stop_after(const char *stage, double fraction, void *user) {
    (void)stage, (void)fraction;
    int *left = user;
    return --*left <= 0;
}

static void stopped(void **state) {
    (void)state;
    mpk_context *ctx = context();
    dense m = family_matrix(BANDED, 60, MPK_D, MPK_SYMMETRIC);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    bool cancelled = false, through = false;
    for (int k = 1; k < 40 && !through; k++) {
        int left = k;
        mpk_context_set_progress(ctx, stop_after, &left);
        const mpk_status status = all_calls(ctx, problem, 1);
        mpk_context_set_progress(ctx, NULL, NULL);
        if (mpk_failed(status) && status != MPK_ERR_CANCELLED) fail_msg("%d: %s", k, text_of(ctx));
        cancelled |= status == MPK_ERR_CANCELLED;
        through |= !mpk_failed(status);
    }
    assert_true(cancelled && through);
    mpk_problem_destroy(&problem);
    free(m.a);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_dense),
        cmocka_unit_test(delayed_to_the_end),
        cmocka_unit_test(singular_interiors),
        cmocka_unit_test(nothing_but_the_rows_below),
        cmocka_unit_test(refactorized),
        cmocka_unit_test(same_bits),
        cmocka_unit_test(as_the_whole),
        cmocka_unit_test(badly_scaled),
        cmocka_unit_test(told),
        cmocka_unit_test(refused),
        cmocka_unit_test(memory_fails),
        cmocka_unit_test(stopped),
        cmocka_unit_test(large_in_outer_rows),
        cmocka_unit_test(everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
