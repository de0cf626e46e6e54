/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_solve: backward errors that are what the header says, every kind of right-hand side, parts,
 * condition. */
#include "../sanitized.h"
#include "support.h"

#include "core/pool.h"

typedef struct solved {
    mpk_context *ctx;
    dense m;
    mpk_problem *problem;
    mpk_problem_view view;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_status status;
} solved;

static solved start(dense m, const mpk_options *options) {
    solved s = {.m = m};
    assert_int_equal(mpk_context_create(NULL, &s.ctx), MPK_OK);
    mpki_context_set_cores(s.ctx, 64);
    s.problem = dense_problem(s.ctx, &m, 0);
    assert_non_null(s.problem);
    mpk_problem_view_get(s.problem, &s.view);
    assert_true(mpk_analyse(s.ctx, s.problem, options, &s.an) >= 0);
    s.status = mpk_factorize(s.ctx, s.an, s.view.ax, options, &s.fac);
    assert_true(!mpk_failed(s.status));
    return s;
}

static void finish(solved *s) {
    mpk_factor_destroy(&s->fac);
    mpk_analysis_destroy(&s->an);
    mpk_problem_destroy(&s->problem);
    mpk_context_destroy(&s->ctx);
    free(s->m.a);
}

static double eps_of(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C ? 0x1p-24 : 0x1p-53;
}

static void test_backward_error(void **unused) {
    (void)unused;
    for (int family = 0; family < FAMILY_COUNT; family++)
        for (int scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
            for (int h = 0; h <= (scalar >= MPK_C); h++) {
                const int n = 64, nrhs = 3, ld = 70;
                solved s = start(
                    family_matrix(family, n, scalar, h ? MPK_HERMITIAN : MPK_SYMMETRIC), NULL);
                if (s.status == MPK_SINGULAR) {
                    finish(&s);
                    continue;
                }
                const size_t size = mpk_scalar_size(scalar);
                void *b = calloc((size_t)ld * nrhs, size), *x = calloc((size_t)ld * nrhs, size);
                for (int k = 0; k < ld * nrhs; k++)
                    scalar_store(scalar, b, k, uniform() + uniform() * I);
                mpk_solve_info info;
                mpk_status status = mpk_solve(s.ctx, s.fac, nrhs, b, ld, x, ld, NULL, &info);
                double worst = 0, normwise = 0, a_norm = 0;
                for (int i = 0; i < n; i++) {
                    double row = 0;
                    for (int j = 0; j < n; j++) row += cabs(dense_get(&s.m, i, j));
                    a_norm = row > a_norm ? row : a_norm;
                }
                for (int r = 0; r < nrhs; r++) {
                    double x_norm = 0, b_norm = 0, r_norm = 0, omega1 = 0, omega2 = 0;
                    for (int i = 0; i < n; i++) {
                        x_norm = fmax(x_norm, cabs(scalar_load(scalar, x, i + r * ld)));
                        b_norm = fmax(b_norm, cabs(scalar_load(scalar, b, i + r * ld)));
                    }
                    for (int i = 0; i < n;
                         i++) { /* row by row, as Arioli, Demmel & Duff write it */
                        double complex sum = scalar_load(scalar, b, i + r * ld);
                        double ax = 0, row = 0, bi = cabs(sum);
                        for (int j = 0; j < n; j++) {
                            double complex t =
                                dense_get(&s.m, i, j) * scalar_load(scalar, x, j + r * ld);
                            sum -= t;
                            ax += cabs(t);
                            row += cabs(dense_get(&s.m, i, j));
                        }
                        r_norm = fmax(r_norm, cabs(sum));
                        if (ax + bi > 1000 * n * eps_of(scalar) * (row * x_norm + bi))
                            omega1 = fmax(omega1, cabs(sum) / (ax + bi));
                        else if (cabs(sum) > 0)
                            omega2 = fmax(omega2, cabs(sum) / (ax + row * x_norm));
                    }
                    worst = fmax(worst, omega1 + omega2);
                    normwise = fmax(normwise, r_norm / (a_norm * x_norm + b_norm));
                }
                if (status == MPK_OK)
                    assert_true(worst <= 200 * eps_of(scalar));
                else
                    assert_int_equal(status, MPK_INACCURATE);
                /* what is told is what is: to the rounding of the residual itself */
                assert_true(fabs(info.componentwise - worst) <=
                            100 * eps_of(scalar) + 0.01 * worst);
                assert_true(fabs(info.normwise - normwise) <=
                            20 * eps_of(scalar) + 0.01 * normwise);
                assert_true(info.unrefined >= info.componentwise);
                /* in place gives the same */
                assert_true(mpk_solve(s.ctx, s.fac, nrhs, b, ld, b, ld, NULL, NULL) >= 0);
                for (int r = 0; r < nrhs; r++)
                    assert_memory_equal((char *)b + (size_t)r * ld * size,
                                        (char *)x + (size_t)r * ld * size, n * size);
                free(b), free(x);
                finish(&s);
            }
}

/* 1, 2, 16, 17, 40 right-hand sides: the same solutions as one by one, to rounding */
static void test_many(void **unused) {
    (void)unused;
    static const int counts[] = {1, 2, 16, 17, 40};
    for (int scalar = MPK_D; scalar <= MPK_Z; scalar += 2)
        for (int c = 0; c < 5; c++) {
            const int n = 90, nrhs = counts[c];
            solved s = start(
                family_matrix(BANDED, n, scalar, scalar == MPK_Z ? MPK_HERMITIAN : MPK_SYMMETRIC),
                NULL);
            const size_t size = mpk_scalar_size(scalar);
            void *b = calloc((size_t)n * nrhs, size), *x = calloc((size_t)n * nrhs, size),
                 *y = calloc(n, size);
            for (int k = 0; k < n * nrhs; k++)
                scalar_store(scalar, b, k, uniform() + uniform() * I);
            assert_int_equal(mpk_solve(s.ctx, s.fac, nrhs, b, n, x, n, NULL, NULL), MPK_OK);
            for (int r = 0; r < nrhs; r++) {
                assert_int_equal(mpk_solve(s.ctx, s.fac, 1, (char *)b + (size_t)r * n * size, n, y,
                                           n, NULL, NULL),
                                 MPK_OK);
                for (int i = 0; i < n; i++) {
                    double complex u = scalar_load(scalar, y, i),
                                   v = scalar_load(scalar, x, i + (int64_t)r * n);
                    assert_true(cabs(u - v) <= 1e-9 * (1 + cabs(u)));
                }
            }
            free(b), free(x), free(y);
            finish(&s);
        }
}

/* one and several right-hand sides on 1 to 16 threads, the tree shared or each block one worker's:
 * the same bits, and a side has those of 19 beside any others */
static void test_threads(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_problem *problem = NULL;
    mpki_context_set_cores(ctx, 64);
    assert_int_equal(mpk_problem_generate(ctx, "helmholtz 3d 18", 1, &problem), MPK_OK);
    mpk_problem_view view;
    mpk_problem_view_get(problem, &view);
    const int n = view.n, nrhs = 19;
    static const int all[] = {1, 2, 3, 16}, counts[] = {19, 8, 3, 1};
    double *b = malloc((size_t)n * nrhs * sizeof *b), *x = malloc((size_t)n * nrhs * sizeof *x);
    double *y = malloc((size_t)n * nrhs * sizeof *y);
    double *first = malloc((size_t)n * nrhs * sizeof *first),
           *plain = malloc((size_t)n * nrhs * sizeof *plain),
           *one = malloc((size_t)n * sizeof *one);
    for (int k = 0; k < n * nrhs; k++) b[k] = uniform();
    for (int t = 0; t < 4; t++) {
        const int threads = all[t];
        mpk_options options;
        mpk_options_init(&options);
        options.ordering = MPK_ORDERING_AMD;
        options.threads = threads;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        assert_int_equal(mpk_analyse(ctx, problem, &options, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, view.ax, &options, &fac), MPK_OK);
        assert_int_equal(mpk_solve(ctx, fac, nrhs, b, n, x, n, &options, NULL), MPK_OK);
        if (threads == 1) memcpy(first, x, (size_t)n * nrhs * sizeof *x);
        assert_memory_equal(first, x, (size_t)n * nrhs * sizeof *x);
        assert_int_equal(mpk_solve(ctx, fac, 1, b, n, x, n, &options, NULL), MPK_OK);
        if (threads == 1) memcpy(one, x, (size_t)n * sizeof *x);
        assert_memory_equal(one, x, (size_t)n * sizeof *x);
        options.refine = 0; /* the whole in place is the solve before refinement */
        for (int k = 0; k < 4; k++) {
            const int count = counts[k];
            assert_true(mpk_solve(ctx, fac, count, b, n, x, n, &options, NULL) >= 0);
            if (threads == 1 && k == 0) memcpy(plain, x, (size_t)n * nrhs * sizeof *x);
            if (count > 1) assert_memory_equal(plain, x, (size_t)n * count * sizeof *x);
            memcpy(y, b, (size_t)n * count * sizeof *y);
            assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ALL, count, y, n), MPK_OK);
            assert_memory_equal(y, x, (size_t)n * count * sizeof *x);
        }
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
    }
    free(b), free(x), free(y), free(first), free(plain), free(one);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* Dense groups beside a dense rest. */
static mpk_problem *arrow(mpk_context *ctx) {
    enum { GROUPS = 8, EACH = 50, REST = 600, N = GROUPS * EACH + REST };
    mpk_problem *problem = NULL;
    int64_t ap[N + 1], nnz = 0;
    int32_t *ai = malloc((size_t)N * N * sizeof *ai);
    double *ax = malloc((size_t)N * N * sizeof *ax);
    for (int j = 0; j < N; j++) {
        ap[j] = nnz;
        for (int i = j; i < N; i++) {
            if (j < N - REST && i < N - REST && i / EACH != j / EACH) continue;
            ai[nnz] = i;
            ax[nnz++] = uniform() + (i == j ? (j % 2 ? 40 : -40) : 0);
        }
    }
    ap[N] = nnz;
    assert_int_equal(
        mpk_problem_from_csc(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, ap, ai, ax, &problem),
        MPK_OK);
    free(ai), free(ax);
    return problem;
}

/* Where the tree has no work for several, each worker takes blocks of right-hand sides, of which
 * the last one has fewer. */
static void test_blocks(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_options options;
    mpk_options_init(&options);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_problem *problem = arrow(ctx);
    mpk_problem_view view;
    mpk_problem_view_get(problem, &view);
    enum { NRHS = 21, MORE = 12 };
    const size_t n = (size_t)view.n;
    double *b = malloc(3 * n * NRHS * sizeof *b), *x = b + n * NRHS, *first = x + n * NRHS;
    for (size_t k = 0; k < n * NRHS; k++) b[k] = uniform();
    for (int threads = 1; threads <= 3; threads++) {
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        options.threads = threads;
        assert_int_equal(mpk_analyse(ctx, problem, &options, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, view.ax, &options, &fac), MPK_OK);
        for (int again = 0; again < (threads == 1 ? 1 : MORE); again++)
            for (int nrhs = threads == 1 ? NRHS : 9; nrhs <= NRHS; nrhs += 4) {
                memcpy(x, b, n * nrhs * sizeof *x);
                assert_int_equal(mpk_solve_part(ctx, fac, MPK_PART_ALL, nrhs, x, view.n), MPK_OK);
                if (threads == 1) memcpy(first, x, n * NRHS * sizeof *x);
                assert_memory_equal(first, x, n * nrhs * sizeof *x);
            }
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
    }
    free(b);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

/* L, D, L^T one after the other are the whole */
static void test_parts(void **unused) {
    (void)unused;
    for (int scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
        for (int h = 0; h <= (scalar >= MPK_C); h++) {
            const int n = 50;
            solved s = start(
                family_matrix(SADDLE_POINT, n, scalar, h ? MPK_HERMITIAN : MPK_SYMMETRIC), NULL);
            const size_t size = mpk_scalar_size(scalar);
            void *b = calloc(n, size), *x = calloc(n, size);
            for (int k = 0; k < n; k++) scalar_store(scalar, b, k, uniform() + uniform() * I);
            mpk_options options;
            mpk_options_init(&options);
            options.refine = 0;
            assert_true(mpk_solve(s.ctx, s.fac, 1, b, n, x, n, &options, NULL) >= 0);
            for (int part = MPK_PART_L; part <= MPK_PART_LT; part++)
                assert_int_equal(mpk_solve_part(s.ctx, s.fac, part, 1, b, n), MPK_OK);
            assert_memory_equal(b, x, n * size);
            assert_int_equal(mpk_solve_part(s.ctx, s.fac, 9, 1, b, n), MPK_ERR_ARGUMENT);
            free(b), free(x);
            finish(&s);
        }
}

/* the estimate is below the condition number, and not far below on these */
static void test_condition(void **unused) {
    (void)unused;
    for (int scalar = MPK_D; scalar <= MPK_Z; scalar += 2) {
        const int n = 40;
        solved s = start(family_matrix(BANDED, n, scalar, MPK_SYMMETRIC), NULL);
        const size_t size = mpk_scalar_size(scalar);
        void *x = calloc((size_t)n * n, size);
        for (int k = 0; k < n; k++) scalar_store(scalar, x, k + (int64_t)k * n, 1);
        assert_int_equal(mpk_solve(s.ctx, s.fac, n, x, n, x, n, NULL, NULL), MPK_OK);
        double inverse = 0, norm = 0;
        for (int j = 0; j < n; j++) {
            double sum = 0, row = 0;
            for (int i = 0; i < n; i++) {
                sum += cabs(scalar_load(scalar, x, i + (int64_t)j * n));
                row += cabs(dense_get(&s.m, i, j));
            }
            inverse = fmax(inverse, sum);
            norm = fmax(norm, row);
        }
        mpk_options options;
        mpk_options_init(&options);
        options.condition = MPK_ON;
        mpk_solve_info info;
        void *b = calloc(n, size);
        scalar_store(scalar, b, 0, 1);
        assert_int_equal(mpk_solve(s.ctx, s.fac, 1, b, n, b, n, &options, &info), MPK_OK);
        assert_true(info.condition <= 1.0001 * inverse * norm);
        assert_true(info.condition >= 0.2 * inverse * norm);
        free(x), free(b);
        finish(&s);
    }
}

static void test_singular(void **unused) {
    (void)unused;
    dense m = dense_new(6, MPK_D, MPK_SYMMETRIC);
    for (int i = 0; i < 4; i++) dense_set(&m, i, i, i % 2 ? 2 : -3);
    dense_set(&m, 5, 4, 0);
    solved s = start(m, NULL);
    assert_int_equal(s.status, MPK_SINGULAR);
    double good[6] = {1, 2, 3, 4, 0, 0}, bad[6] = {1, 2, 3, 4, 5, 0}, x[6];
    mpk_solve_info info;
    assert_int_equal(mpk_solve(s.ctx, s.fac, 1, good, 6, x, 6, NULL, &info), MPK_SINGULAR);
    assert_true(info.componentwise <= 1e-15);
    assert_int_equal(mpk_solve(s.ctx, s.fac, 1, bad, 6, x, 6, NULL, &info), MPK_SINGULAR);
    assert_true(info.componentwise > 0.5); /* and it says so */
    finish(&s);
}

static void test_bad_input(void **unused) {
    (void)unused;
    solved s = start(family_matrix(BANDED, 8, MPK_D, MPK_SYMMETRIC), NULL);
    double b[8] = {1, 2, 3, NAN, 5, 6, 7, 8}, x[8] = {0};
    const char *text;
    int64_t index;
    assert_int_equal(mpk_solve(s.ctx, s.fac, 1, b, 8, x, 8, NULL, NULL), MPK_ERR_INPUT);
    mpk_last_error(s.ctx, NULL, &index, &text);
    assert_int_equal(index, 3);
    assert_non_null(strstr(text, "row 4"));
    b[3] = 4;
    assert_int_equal(mpk_solve(s.ctx, s.fac, 1, b, 7, x, 8, NULL, NULL), MPK_ERR_ARGUMENT);
    mpk_last_error(s.ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "ldb = 7, the leading dimension of the right-hand sides"));
    assert_int_equal(mpk_solve(s.ctx, s.fac, 1, b, 8, x, 6, NULL, NULL), MPK_ERR_ARGUMENT);
    mpk_last_error(s.ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "ldx = 6, the leading dimension of the solutions"));
    assert_int_equal(mpk_solve(s.ctx, s.fac, -1, b, 8, x, 8, NULL, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_solve(s.ctx, NULL, 1, b, 8, x, 8, NULL, NULL), MPK_ERR_ARGUMENT);
    mpk_last_error(s.ctx, NULL, NULL, &text);
    assert_string_equal(text, "the factor is NULL");
    mpk_options beyond;
    mpk_options_init(&beyond);
    beyond.refine = 1001;
    assert_int_equal(mpk_solve(s.ctx, s.fac, 1, b, 8, x, 8, &beyond, NULL), MPK_ERR_ARGUMENT);
    mpk_last_error(s.ctx, NULL, NULL, &text);
    assert_string_equal(text, "refine = 1001 is out of its range, 0 to 1000");
    assert_int_equal(mpk_solve(s.ctx, s.fac, 1, NULL, 8, x, 8, NULL, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_solve(NULL, s.fac, 1, b, 8, x, 8, NULL, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_solve(s.ctx, s.fac, 0, b, 8, x, 8, NULL, NULL), MPK_OK);
    finish(&s);
}

static void test_allocation(void **unused) {
    (void)unused;
    dense m = family_matrix(BANDED, 30, MPK_C, MPK_HERMITIAN);
    float complex b[30], x[30];
    for (int k = 0; k < 30; k++) b[k] = (float)k;
    int succeeded = 0;
    for (int64_t k = 1; !succeeded && k < 100; k++) {
        failing f = {0};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *ctx = NULL;
        assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
        mpk_problem *problem = dense_problem(ctx, &m, 0);
        mpk_problem_view view;
        mpk_problem_view_get(problem, &view);
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        assert_int_equal(mpk_analyse(ctx, problem, NULL, &an), MPK_OK);
        assert_int_equal(mpk_factorize(ctx, an, view.ax, NULL, &fac), MPK_OK);
        f.calls = 0;
        f.fail_at = k;
        mpk_status status = mpk_solve(ctx, fac, 1, b, 30, x, 30, NULL, NULL);
        succeeded = f.calls < k;
        assert_int_equal(mpk_failed(status), !succeeded);
        if (!succeeded) assert_int_equal(status, MPK_ERR_MEMORY);
        f.calls = 0;
        f.fail_at = k;
        status = mpk_solve_part(ctx, fac, MPK_PART_L, 1, x, 30);
        if (f.calls >= k) assert_int_equal(status, MPK_ERR_MEMORY);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
        assert_int_equal(f.held, 0);
    }
    assert_true(succeeded);
    free(m.a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_backward_error), cmocka_unit_test(test_many),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_parts),          cmocka_unit_test(test_condition),
        cmocka_unit_test(test_singular),       cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
