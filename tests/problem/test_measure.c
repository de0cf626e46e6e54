/* SPDX-License-Identifier: BSD-3-Clause */
/* Backward errors at every distance from 1: near overflow, among denormal numbers, with rows of
 * both kinds; against quadruple precision. And what mpk_solve says there. */
#include "../support.h"

#include "../oracle/quad.h"
#include "problem/measure.h"

static bool single(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/* The same numbers as the judge wants them. */
static quad_errors judged(const dense *m, const void *x, const void *b) {
    const int n = m->n;
    quad_entry *e = malloc((size_t)n * n * sizeof *e);
    double *xs = malloc(2 * (size_t)n * sizeof *xs), *bs = malloc(2 * (size_t)n * sizeof *bs);
    for (int i = 0; i < n; i++) {
        xs[2 * i] = creal(scalar_load(m->scalar, x, i)),
               xs[2 * i + 1] = cimag(scalar_load(m->scalar, x, i));
        bs[2 * i] = creal(scalar_load(m->scalar, b, i)),
               bs[2 * i + 1] = cimag(scalar_load(m->scalar, b, i));
        for (int j = 0; j < n; j++)
            e[i + (size_t)j * n] =
                (quad_entry){i, j, creal(dense_get(m, i, j)), cimag(dense_get(m, i, j))};
    }
    const quad_errors q =
        quad_judge(n, (int64_t)n * n, e, xs, bs, single(m->scalar) ? FLT_EPSILON : DBL_EPSILON);
    free(e), free(xs), free(bs);
    return q;
}

static void assert_near(double got, double want) {
    if (want == 0 || isinf(want))
        assert_true(got == want);
    else
        assert_true(fabs(got - want) <= 1e-4 * want);
}

static void check(mpk_context *ctx, const dense *m, const void *x, const void *b) {
    const int n = m->n;
    mpk_problem *p = dense_problem(ctx, m, 1);
    assert_non_null(p);
    double *norm = malloc((size_t)n * sizeof *norm), *w = malloc((size_t)n * sizeof *w),
           *work = malloc(5 * (size_t)n * sizeof *work);
    void *r = malloc(16 * (size_t)n);
    mpki_system s = {.ctx = ctx, .row_norm = norm};
    mpk_problem_view_get(p, &s.a);
    s.norm_inf = mpki_row_sums(&s.a, norm);
    const mpki_quality q = m->scalar == MPK_S   ? mpki_s_measure(&s, x, b, r, w, work)
                           : m->scalar == MPK_D ? mpki_d_measure(&s, x, b, r, w, work)
                           : m->scalar == MPK_C ? mpki_c_measure(&s, x, b, r, w, work)
                                                : mpki_z_measure(&s, x, b, r, w, work);
    const quad_errors want = judged(m, x, b);
    assert_near(q.componentwise, want.componentwise);
    assert_near(q.normwise, want.normwise);
    assert_near(q.relative, want.relative);
    mpk_problem_destroy(&p);
    free(norm), free(w), free(work), free(r);
}

/* A, x and b = A x of random numbers, times powers of two of their own; b a little off. */
static void every_distance(void **unused) {
    (void)unused;
    static const mpk_scalar scalars[] = {MPK_S, MPK_D, MPK_C, MPK_Z, MPK_C, MPK_Z};
    enum { N = 9 };
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < 6; k++)
        for (int round = 0; round < 400; round++) {
            dense m = dense_new(N, scalars[k], k > 3 ? MPK_HERMITIAN : MPK_SYMMETRIC);
            void *x = calloc(N, 16), *b = calloc(N, 16);
            const int most = single(scalars[k]) ? 120 : 1015; /* b = A x must be a number */
            const int ea = (int)(most * uniform()), room = most - (ea > 0 ? ea : 0);
            const int ex = ea > 0 ? (int)(room * uniform()) : (int)(most * uniform());
            const int rows = round % 3 == 0 ? 1 + most / 8 : 1; /* scaled row by row */
            int up[N];
            for (int i = 0; i < N; i++) up[i] = -(int)(fabs(uniform()) * rows);
            for (int j = 0; j < N; j++)
                for (int i = j; i < N; i++)
                    if (fabs(uniform()) < 0.6)
                        dense_set(&m, i, j,
                                  (uniform() + uniform() * I) * ldexp(1, ea + up[i] + up[j]));
            for (int i = 0; i < N; i++)
                scalar_store(scalars[k], x, i, (uniform() + uniform() * I) * ldexp(1, ex));
            for (int i = 0; i < N; i++) {
                double complex sum = 0;
                for (int j = 0; j < N; j++)
                    sum += dense_get(&m, i, j) * ldexp(1, -10) * scalar_load(scalars[k], x, j);
                sum *= 1024 * (1 + 1e-5 * uniform());
                if (round % 7 == 0) sum = i == 3 ? sum : 0;
                scalar_store(scalars[k], b, i, sum);
            }
            bool finite = true;
            for (int i = 0; i < N; i++) finite &= isfinite(cabs(scalar_load(scalars[k], b, i)));
            if (finite) check(ctx, &m, x, b);
            free(m.a), free(x), free(b);
        }
    mpk_context_destroy(&ctx);
}

/* Numbers that are none, and none at all. */
static void corners(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    dense m = dense_new(2, MPK_D, MPK_SYMMETRIC);
    dense_set(&m, 0, 0, 2), dense_set(&m, 1, 1, 3);
    const double zero[2] = {0, 0}, one[2] = {1, 1}, bad[2] = {1, NAN}, open[2] = {1, INFINITY};
    check(ctx, &m, zero, zero);
    check(ctx, &m, one, zero);
    check(ctx, &m, zero, one);
    check(ctx, &m, bad, one);
    check(ctx, &m, open, one);
    dense_set(&m, 1, 1, 0); /* an empty row */
    const double first[2] = {1, 0};
    check(ctx, &m, first, first);
    check(ctx, &m, one, one);
    free(m.a);
    mpk_context_destroy(&ctx);
}

/* mpk_solve says ok of an x only if it is accurate, whatever the numbers' size. */
static void solves(void **unused) {
    (void)unused;
    static const double sizes[] = {1e-320, 1e-308, 1e-300, 1e-200, 1, 1e200, 1e300, 1e307, 8e307};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    mpk_context *ctx = NULL;
    int good = 0;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int sa = 0; sa < SIZES; sa++)
        for (int sb = 0; sb < SIZES; sb++) {
            /* [2 1 0; 1 0 1; 0 1 2], inertia (2, 1, 0) */
            dense m = dense_new(3, MPK_D, MPK_SYMMETRIC);
            dense_set(&m, 0, 0, 2 * sizes[sa]), dense_set(&m, 1, 0, sizes[sa]);
            dense_set(&m, 2, 1, sizes[sa]), dense_set(&m, 2, 2, 1.9 * sizes[sa]);
            const double b[3] = {2 * sizes[sb], -sizes[sb], 0.3 * sizes[sb]};
            double x[3] = {0};
            mpk_problem *p = dense_problem(ctx, &m, 0);
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            mpk_solve_info info = {0};
            assert_int_equal(mpk_analyse(ctx, p, NULL, &an), MPK_OK);
            assert_int_equal(mpk_factorize(ctx, an, NULL, NULL, &fac), MPK_OK);
            const mpk_status status = mpk_solve(ctx, fac, 1, b, 3, x, 3, NULL, &info);
            if (!mpk_failed(status)) {
                const quad_errors q = judged(&m, x, b);
                assert_true((status == MPK_OK) == (q.componentwise <= 1e-14));
                assert_near(info.componentwise, q.componentwise);
                assert_near(info.normwise, q.normwise);
                assert_near(info.relative_residual, q.relative);
                good += status == MPK_OK;
            } else {
                assert_int_equal(status, MPK_ERR_NUMERIC); /* x is beyond every number */
                assert_true(sizes[sb] / sizes[sa] > 1e307 || sizes[sa] / sizes[sb] > 1e300);
            }
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&p);
            free(m.a);
        }
    assert_true(good > SIZES * SIZES / 3);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_distance), cmocka_unit_test(corners),
                                       cmocka_unit_test(solves)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
