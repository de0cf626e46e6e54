/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_solve by Krylov methods: a direct factor as preconditioner, definite by |D| where the method
 * asks for it; the info is what the header says. */
#include "support.h"

#include "../oracle/quad.h"

#include "solve/iterate.h"
#include <stdbool.h>

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};
enum { KINDS = 6 };

typedef struct solved {
    mpk_context *ctx;
    dense m;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
} solved;

static solved start(dense m) {
    solved s = {.m = m};
    mpk_problem_view view;
    assert_int_equal(mpk_context_create(NULL, &s.ctx), MPK_OK);
    s.problem = dense_problem(s.ctx, &m, 0);
    mpk_problem_view_get(s.problem, &view);
    assert_true(mpk_analyse(s.ctx, s.problem, NULL, &s.an) >= 0);
    assert_true(mpk_factorize(s.ctx, s.an, view.ax, NULL, &s.fac) >= 0);
    return s;
}

static void finish(solved *s) {
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
    free(s->m.a);
}

/* ||b - A x|| / ||b|| of column c, in quadruple precision */
static double true_residual(const dense *m, const void *x, const void *b, int c) {
    const int n = m->n;
    quad_entry *e = malloc((size_t)n * n * sizeof *e);
    double *xs = malloc(2 * (size_t)n * sizeof *xs), *bs = malloc(2 * (size_t)n * sizeof *bs);
    for (int i = 0; i < n; i++) {
        const double complex xi = scalar_load(m->scalar, x, i + (int64_t)c * n);
        const double complex bi = scalar_load(m->scalar, b, i + (int64_t)c * n);
        xs[2 * i] = creal(xi), xs[2 * i + 1] = cimag(xi);
        bs[2 * i] = creal(bi), bs[2 * i + 1] = cimag(bi);
        for (int j = 0; j < n; j++) {
            const double complex a = dense_get(m, i, j);
            e[i + (size_t)j * n] = (quad_entry){i, j, creal(a), cimag(a)};
        }
    }
    const double relative = quad_judge(n, (int64_t)n * n, e, xs, bs, DBL_EPSILON).relative;
    free(e), free(xs), free(bs);
    return relative;
}

/* A complete factor is an exact preconditioner: one or two steps; with |D| the preconditioned
 * matrix has the eigenvalues 1 and -1: two or three. */
static void test_exact_preconditioner(void **unused) {
    (void)unused;
    enum { N = 70, NRHS = 3 };
    for (int kind = 0; kind < KINDS; kind++)
        for (int method = MPK_KRYLOV_SQMR; method <= MPK_KRYLOV_IDR; method++) {
            const mpk_scalar scalar = kinds[kind].scalar;
            const bool lanczos = method >= MPK_KRYLOV_MINRES && method <= MPK_KRYLOV_CG;
            const bool single = scalar == MPK_S || scalar == MPK_C;
            if (method == MPK_KRYLOV_CG) continue; /* the matrices are indefinite */
            solved s = start(family_matrix(BANDED, N, scalar, kinds[kind].symmetry));
            void *b = calloc(N * NRHS, 16), *x = calloc(N * NRHS, 16);
            for (int k = 0; k < N * NRHS; k++)
                scalar_store(scalar, b, k, uniform() + uniform() * I);
            mpk_options options;
            mpk_options_init(&options);
            options.krylov = (mpk_krylov)method;
            options.tolerance = single ? 1e-4 : 1e-10;
            mpk_solve_info info;
            mpk_status status = mpk_solve(s.ctx, s.fac, NRHS, b, N, x, N, &options, &info);
            if (lanczos && scalar >= MPK_C && kinds[kind].symmetry == MPK_SYMMETRIC) {
                assert_int_equal(status, MPK_ERR_UNSUPPORTED);
            } else {
                assert_int_equal(status, MPK_OK);
                assert_int_equal(info.krylov.method, method);
                assert_in_range(info.krylov.iterations, 1, lanczos ? 5 : 3);
                assert_true(info.krylov.applications > 0);
                double worst = 0;
                for (int c = 0; c < NRHS; c++) worst = fmax(worst, true_residual(&s.m, x, b, c));
                assert_true(worst <= options.tolerance);
                assert_true(fabs(worst - info.relative_residual) <= 1e-6 * worst);
                assert_true(info.componentwise > 0 || worst == 0);
                assert_true(info.normwise <= info.componentwise * 1.01);
            }
            free(b), free(x);
            finish(&s);
        }
}

/* |D|: positive definite, and its square is that of D: M |M|^-1 M |M|^-1 = I. */
static void test_parts(void **unused) {
    (void)unused;
    enum { N = 40 };
    for (int family = 0; family < FAMILY_COUNT; family++)
        for (int kind = 0; kind < KINDS; kind++) {
            const mpk_scalar scalar = kinds[kind].scalar;
            const mpk_symmetry symmetry = kinds[kind].symmetry;
            const double eps = scalar == MPK_S || scalar == MPK_C ? 0x1p-24 : 0x1p-53;
            if (family == GRADED_KKT) continue; /* too ill-conditioned for such bounds */
            solved s = start(family_matrix(family, N, scalar, symmetry));
            mpk_factor_info fi;
            mpk_factor_info_get(s.fac, &fi);
            void *x = calloc(N, 16), *y = calloc(N, 16), *z = calloc(N, 16);
            for (int k = 0; k < N; k++) scalar_store(scalar, x, k, uniform() + uniform() * I);
            const size_t bytes = N * mpk_scalar_size(scalar);
            /* ALL is L, D, LT in turn (through the solver's own order of positions) */
            memcpy(y, x, bytes);
            assert_int_equal(mpk_solve_part(s.ctx, s.fac, MPK_PART_ALL, 1, y, N), MPK_OK);
            memcpy(z, x, bytes);
            for (int part = MPK_PART_L; part <= MPK_PART_LT; part++)
                assert_int_equal(mpk_solve_part(s.ctx, s.fac, (mpk_part)part, 1, z, N), MPK_OK);
            assert_memory_equal(y, z, bytes);
            memcpy(y, x, bytes);
            mpk_status status = mpk_solve_part(s.ctx, s.fac, MPK_PART_ABS, 1, y, N);
            if (scalar >= MPK_C && symmetry == MPK_SYMMETRIC) {
                assert_int_equal(status, MPK_ERR_UNSUPPORTED);
            } else if (fi.inertia.zero == 0) {
                assert_int_equal(status, MPK_OK);
                double quadratic = 0;
                for (int i = 0; i < N; i++)
                    quadratic += creal(conj(scalar_load(scalar, x, i)) * scalar_load(scalar, y, i));
                assert_true(quadratic > 0);
                /* A |M|^-1 A |M|^-1 x = x, as |D|^-1 D |D|^-1 D = I */
                for (int round = 0; round < 2; round++) {
                    if (round) mpk_solve_part(s.ctx, s.fac, MPK_PART_ABS, 1, y, N);
                    for (int i = 0; i < N; i++) {
                        double complex sum = 0;
                        for (int j = 0; j < N; j++)
                            sum += dense_get(&s.m, i, j) * scalar_load(scalar, y, j);
                        scalar_store(scalar, z, i, sum);
                    }
                    memcpy(y, z, bytes);
                }
                double worst = 0;
                for (int i = 0; i < N; i++)
                    worst =
                        fmax(worst, cabs(scalar_load(scalar, y, i) - scalar_load(scalar, x, i)));
                assert_true(worst <= 1e7 * eps);
            }
            free(x), free(y), free(z);
            finish(&s);
        }
}

/* Many right-hand sides, in place and with room between the columns; the same bits for any number
 * of threads; what was not reached is told. */
static void test_many(void **unused) {
    (void)unused;
    enum { N = 60, NRHS = 5, LD = 64 };
    solved s = start(family_matrix(SADDLE_POINT, N, MPK_D, MPK_SYMMETRIC));
    static double b[LD * NRHS], x[LD * NRHS], y[LD * NRHS], first[LD * NRHS];
    mpk_options options;
    mpk_options_init(&options);
    options.krylov = MPK_KRYLOV_SQMR;
    for (int k = 0; k < LD * NRHS; k++) b[k] = uniform();
    for (int i = 0; i < N; i++) b[i + 2 * LD] = 0; /* one of them is zero */
    mpk_solve_info info;
    for (options.threads = 1; options.threads <= 3; options.threads++) {
        assert_int_equal(mpk_solve(s.ctx, s.fac, NRHS, b, LD, x, LD, &options, &info), MPK_OK);
        if (options.threads == 1) memcpy(first, x, sizeof x);
        assert_memory_equal(first, x, sizeof x);
    }
    for (int i = 0; i < N; i++) assert_true(x[i + 2 * LD] == 0);
    memcpy(y, b, sizeof b);
    assert_int_equal(mpk_solve(s.ctx, s.fac, NRHS, y, LD, y, LD, &options, NULL), MPK_OK);
    for (int c = 0; c < NRHS; c++) assert_memory_equal(y + c * LD, x + c * LD, N * sizeof(double));
    assert_int_equal(mpk_solve(s.ctx, s.fac, 0, NULL, LD, NULL, LD, &options, &info), MPK_OK);
    assert_int_equal(info.krylov.iterations, 0);
    options.max_iterations = 0;
    assert_int_equal(mpk_solve(s.ctx, s.fac, NRHS, b, LD, x, LD, &options, &info),
                     MPK_NOT_CONVERGED);
    assert_true(info.relative_residual == 1 && info.krylov.residual == 1);
    const char *text;
    mpk_last_error(s.ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "0 iterations were not enough"));
    finish(&s);
}

/* What the report gets: the residuals of the longest right-hand side, as many as there is room for.
 */
static void test_record(void **unused) {
    (void)unused;
    enum { N = 60 };
    dense m = family_matrix(BANDED, N, MPK_D, MPK_SYMMETRIC);
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    mpk_problem_view view;
    mpk_problem_view_get(problem, &view);
    mpk_options options;
    mpk_options_init(&options);
    options.method = MPK_METHOD_NONE;
    options.krylov = MPK_KRYLOV_GMRES;
    options.restart = N;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    assert_int_equal(mpk_analyse(ctx, problem, &options, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, view.ax, &options, &fac), MPK_OK);
    double b[2 * N] = {0}, x[2 * N], room[N];
    for (int i = 0; i < N; i++) b[N + i] = uniform(); /* the first one needs no iteration */
    for (int32_t size = 0; size <= N; size += 12) {
        mpki_record record = {room, size, -1};
        mpk_solve_info info;
        for (int i = 0; i < N; i++) room[i] = -1;
        assert_int_equal(mpki_solve(ctx, fac, 2, b, N, x, N, &options, &info, &record), MPK_OK);
        const int32_t want = info.krylov.iterations < size ? info.krylov.iterations : size;
        assert_true(info.krylov.iterations > 12);
        assert_int_equal(record.count, want);
        for (int i = 0; i < N; i++) assert_true(i < want ? room[i] >= 0 : room[i] == -1);
        if (want == info.krylov.iterations) assert_true(room[want - 1] == info.krylov.recurred);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(m.a);
}

typedef struct bar {
    double last;
    int calls, stop_after;
} bar;

static int on_progress(const char *stage, double fraction, void *user) {
    bar *p = user;
    assert_string_equal(stage, "solve");
    assert_true(fraction >= p->last && fraction <= 1);
    p->last = fraction;
    return ++p->calls == p->stop_after;
}

static void test_progress(void **unused) {
    (void)unused;
    enum { N = 60 };
    solved s = start(family_matrix(BANDED, N, MPK_D, MPK_SYMMETRIC));
    double b[2 * N], x[2 * N];
    for (int i = 0; i < 2 * N; i++) b[i] = uniform();
    mpk_options options;
    mpk_options_init(&options);
    options.krylov = MPK_KRYLOV_MINRES;
    bar p = {.stop_after = 1};
    mpk_context_set_progress(s.ctx, on_progress, &p); /* a new stage is told at once */
    memset(x, 0, sizeof x);
    assert_int_equal(mpk_solve(s.ctx, s.fac, 2, b, N, x, N, &options, NULL), MPK_ERR_CANCELLED);
    for (int i = 0; i < 2 * N; i++) assert_true(x[i] == 0);
    p = (bar){0};
    assert_int_equal(mpk_solve(s.ctx, s.fac, 2, b, N, x, N, &options, NULL), MPK_OK);
    finish(&s);
}

static void test_allocation(void **unused) {
    (void)unused;
    dense m = family_matrix(BANDED, 30, MPK_D, MPK_SYMMETRIC);
    static const mpk_method factors[] = {MPK_METHOD_LDLT, MPK_METHOD_ILDLT, MPK_METHOD_NONE};
    for (int f = 0; f < 3; f++) {
        bool succeeded = false;
        for (int64_t k = 1; k < 300 && !succeeded; k++) {
            failing a = {0};
            mpk_allocator allocator = {failing_alloc, failing_release, &a};
            mpk_context *ctx = NULL;
            assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
            mpk_problem *problem = dense_problem(ctx, &m, 0);
            mpk_problem_view view;
            mpk_problem_view_get(problem, &view);
            mpk_options options;
            mpk_options_init(&options);
            options.method = factors[f];
            options.krylov = MPK_KRYLOV_GMRES;
            mpk_analysis *an = NULL;
            mpk_factor *fac = NULL;
            assert_int_equal(mpk_analyse(ctx, problem, &options, &an), MPK_OK);
            assert_int_equal(mpk_factorize(ctx, an, view.ax, &options, &fac), MPK_OK);
            double b[30] = {1, 2, 3}, x[30] = {0}, room[8];
            mpki_record record = {room, 8, 0};
            a.calls = 0;
            a.fail_at = k;
            mpk_status status = mpki_solve(ctx, fac, 1, b, 30, x, 30, &options, NULL, &record);
            succeeded = a.calls < k;
            assert_int_equal(status, succeeded ? MPK_OK : MPK_ERR_MEMORY);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            mpk_problem_destroy(&problem);
            mpk_context_destroy(&ctx);
            assert_int_equal(a.held, 0);
        }
        assert_true(succeeded);
    }
    free(m.a);
}

/* Options that exclude each other: named, nothing computed. */
static void test_exclusive(void **unused) {
    (void)unused;
    enum { N = 30 };
    dense m = family_matrix(BANDED, N, MPK_D, MPK_SYMMETRIC);
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_problem *problem = dense_problem(ctx, &m, 0);
    mpk_problem_view view;
    mpk_problem_view_get(problem, &view);
    mpk_options options;
    mpk_options_init(&options);
    options.method = MPK_METHOD_ILDLT;
    options.factor_type = MPK_TYPE_LDU;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    assert_int_equal(mpk_analyse(ctx, problem, &options, &an), MPK_OK);
    assert_int_equal(mpk_factorize(ctx, an, view.ax, &options, &fac), MPK_OK);
    double b[N] = {1}, x[N] = {0};
    for (int method = MPK_KRYLOV_NONE; method <= MPK_KRYLOV_IDR; method++) {
        options.krylov = (mpk_krylov)method;
        assert_int_equal(mpk_solve(ctx, fac, 1, b, N, x, N, &options, NULL),
                         method <= MPK_KRYLOV_CG ? MPK_ERR_ARGUMENT : MPK_OK);
        const char *text;
        mpk_last_error(ctx, NULL, NULL, &text);
        if (method <= MPK_KRYLOV_CG)
            assert_non_null(strstr(text, mpk_option_word("krylov", method)));
    }
    options.krylov = MPK_KRYLOV_AUTO;
    mpk_solve_info info;
    assert_int_equal(mpk_solve(ctx, fac, 1, b, N, x, N, &options, &info), MPK_OK);
    assert_int_equal(info.krylov.method, MPK_KRYLOV_GMRES);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(m.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exact_preconditioner),
                                       cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_many),
                                       cmocka_unit_test(test_record),
                                       cmocka_unit_test(test_progress),
                                       cmocka_unit_test(test_allocation),
                                       cmocka_unit_test(test_exclusive)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
