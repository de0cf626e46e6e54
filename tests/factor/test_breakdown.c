/* SPDX-License-Identifier: BSD-3-Clause */
/* LLT that meets a pivot <= 0: what was dropped is repaired by a shift, what is indefinite is
 * refused, and the words for either are true. */
#include "support.h"

#include <stdbool.h>

static mpk_context *context(void) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    return ctx;
}

/* Scalars, the pattern of A: what breaks down the soonest. */
static mpk_options incomplete(void) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_ILDLT;
    o.factor_type = MPK_TYPE_LLT;
    o.krylov = MPK_KRYLOV_CG;
    o.level = 0;
    o.block = 1;
    o.drop_tolerance = o.fill_factor = 0;
    o.threads = 1;
    return o;
}

/* Kershaw 1978: definite (its least eigenvalue is 3 - 2 sqrt 2), and without fill in this order the
 * last pivot is -5. */
static dense kershaw(mpk_scalar scalar, mpk_symmetry symmetry) {
    static const double a[4][4] = {{3, -2, 0, 2}, {-2, 3, -2, 0}, {0, -2, 3, -2}, {2, 0, -2, 3}};
    dense m = dense_new(4, scalar, symmetry);
    for (int j = 0; j < 4; j++)
        for (int i = j; i < 4; i++) dense_set(&m, i, j, a[i][j]);
    return m;
}

/* Stiffness as elements of a structure give it: sums of k b b^H, b on four rows near each other,
 * k over six decades, and a little on the diagonal. Definite, for every term is. */
static dense structure(int n, mpk_scalar scalar, mpk_symmetry symmetry) {
    dense m = dense_new(n, scalar, symmetry);
    double complex *sum = calloc((size_t)n * (size_t)n, sizeof *sum);
    for (int e = 0; e < 2 * n; e++) {
        int at[4];
        double complex b[4];
        const double k = pow(10, 3 * uniform());
        for (int r = 0; r < 4; r++) {
            at[r] = (int)(fabs(uniform()) * (r < 3 ? 12 : n)) + e / 2;
            at[r] %= n;
            b[r] = uniform() + (symmetry == MPK_HERMITIAN ? uniform() * I : 0);
        }
        for (int r = 0; r < 4; r++)
            for (int s = 0; s < 4; s++) sum[at[r] + at[s] * n] += k * b[r] * conj(b[s]);
    }
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++)
            dense_set(&m, i, j,
                      sum[i + j * n] + (i == j ? 1e-3 * creal(sum[i + j * n]) + 1e-3 : 0));
    free(sum);
    return m;
}

typedef struct run {
    mpk_status status, solved;
    mpk_block_info block;
    mpk_solve_info info;
    double complex x[512];
    const char *text;
} run;

static void go(mpk_context *ctx, const mpk_problem *problem, const mpk_options *o, run *r) {
    mpk_problem_view v;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    double complex b[512];
    memset(r, 0, sizeof *r);
    mpk_problem_view_get(problem, &v);
    assert_true(v.n <= 512);
    for (int i = 0; i < v.n; i++) scalar_store(v.scalar, b, i, sin(i + 1.0));
    r->status = mpk_analyse(ctx, problem, o, &an);
    if (!mpk_failed(r->status)) r->status = mpk_factorize(ctx, an, v.ax, o, &fac);
    mpk_last_error(ctx, NULL, NULL, &r->text);
    r->solved = r->status;
    if (!mpk_failed(r->status)) {
        mpk_factor_block_info_get(fac, &r->block);
        r->solved = mpk_solve(ctx, fac, 1, b, v.n, r->x, v.n, o, &r->info);
        mpk_last_error(ctx, NULL, NULL, &r->text);
    } else {
        assert_null(fac);
    }
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
}

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {
    {MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};

static void test_kershaw(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    for (int k = 0; k < 4; k++)
        for (int jacobi = 0; jacobi < 2; jacobi++) {
            dense m = kershaw(kinds[k].scalar, kinds[k].symmetry);
            mpk_problem *problem = dense_problem(ctx, &m, 0);
            mpk_options o = incomplete();
            run r;
            o.ordering = MPK_ORDERING_NATURAL;
            o.strategy = MPK_STRATEGY_RB;
            o.matching = MPK_OFF;
            if (jacobi) o.method = MPK_METHOD_JACOBI, o.jacobi_epsilon = 1e-3;
            go(ctx, problem, &o, &r);
            assert_int_equal(r.status, MPK_OK);
            assert_int_equal(r.solved, MPK_OK);
            const bool single = m.scalar == MPK_S || m.scalar == MPK_C;
            assert_true(r.info.componentwise <= (single ? 5.4e-6 : 1e-14));
            assert_true(r.block.breakdowns >= 1);
            /* the shift that the number of tries comes to */
            const double shift = 1e-3 * pow(4, r.block.breakdowns - 1);
            assert_true(fabs(r.block.diagonal_shift - shift) <= 1e-12);
            o = incomplete();
            o.level = -1; /* nothing is missing: nothing breaks down */
            go(ctx, problem, &o, &r);
            assert_int_equal(r.solved, MPK_OK);
            assert_int_equal(r.block.breakdowns, 0);
            assert_true(r.block.diagonal_shift == 0);
            assert_true(r.info.krylov.iterations <= 4); /* exact but for rounding */
            mpk_problem_destroy(&problem);
            free(m.a);
        }
    mpk_context_destroy(&ctx);
}

/* In all kinds and block sizes; the same bits for any number of threads. */
static void test_structures(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    int broken = 0;
    for (int k = 0; k < 4; k++)
        for (int block = 1; block <= 16; block *= 4) {
            dense m = structure(150, kinds[k].scalar, kinds[k].symmetry);
            mpk_problem *problem = dense_problem(ctx, &m, 0);
            const bool single = k % 2 == 0;
            mpk_options o = incomplete();
            run r, again;
            o.block = block;
            o.tolerance = single ? 1e-3 : 1e-8;
            o.max_iterations = 3000;
            go(ctx, problem, &o, &r);
            if (r.solved != MPK_OK) fail_msg("kind %d, block %d: %s", k, block, r.text);
            assert_true(r.info.relative_residual <= o.tolerance);
            broken += r.block.breakdowns > 0;
            for (o.threads = 2; o.threads <= 4; o.threads++) {
                go(ctx, problem, &o, &again);
                assert_int_equal(again.block.breakdowns, r.block.breakdowns);
                assert_memory_equal(again.x, r.x, sizeof r.x);
            }
            mpk_problem_destroy(&problem);
            free(m.a);
        }
    assert_true(broken >= 6); /* else nothing was tested */
    mpk_context_destroy(&ctx);
}

static void test_data(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    static const char *const paths[] = {METAPACK_DATA "/definite/bcsstk03.mtx.xz",
                                        METAPACK_DATA "/definite/1138_bus.mtx.xz"};
    for (int k = 0; k < 2; k++) {
        mpk_problem *problem = NULL;
        mpk_problem_view v;
        assert_int_equal(mpk_problem_read(ctx, paths[k], &problem), MPK_OK);
        mpk_problem_view_get(problem, &v);
        for (int level = 0; level < 3; level++)
            for (int block = 1; block <= 32; block *= 32) {
                mpk_analysis *an = NULL;
                mpk_factor *fac = NULL;
                mpk_block_info info;
                mpk_options o = incomplete();
                o.level = level;
                o.block = block;
                o.fill_factor = 1.5;
                o.max_iterations = 3000;
                double *b = malloc((size_t)v.n * sizeof *b), *x = malloc((size_t)v.n * sizeof *x);
                for (int i = 0; i < v.n; i++) b[i] = 1;
                assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
                assert_int_equal(mpk_factorize(ctx, an, v.ax, &o, &fac), MPK_OK);
                assert_int_equal(mpk_solve(ctx, fac, 1, b, v.n, x, v.n, &o, NULL), MPK_OK);
                mpk_factor_block_info_get(fac, &info);
                if (k == 0 && level == 0) assert_true(info.breakdowns > 0);
                mpk_factor_destroy(&fac);
                mpk_analysis_destroy(&an);
                free(b), free(x);
            }
        mpk_problem_destroy(&problem);
    }
    mpk_context_destroy(&ctx);
}

static mpk_problem *two_by_two(mpk_context *ctx, double a, double o, double c) {
    dense m = dense_new(2, MPK_D, MPK_SYMMETRIC);
    dense_set(&m, 0, 0, a), dense_set(&m, 1, 0, o), dense_set(&m, 1, 1, c);
    mpk_problem *problem = dense_problem(ctx, &m, 1);
    free(m.a);
    return problem;
}

/* What is truly indefinite: refused with the reason, or left to CG, which sees it. */
static void test_indefinite(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    run r;
    for (int level = -1; level < 1; level++) {
        mpk_options o = incomplete();
        o.level = level;
        mpk_problem *p = two_by_two(ctx, 4, 1, -1); /* a diagonal entry shows it */
        go(ctx, p, &o, &r);
        assert_int_equal(r.status, MPK_ERR_NUMERIC);
        assert_non_null(strstr(r.text, "row 2: its diagonal entry is not positive"));
        mpk_problem_destroy(&p);
        p = two_by_two(ctx, 4, 1, 0);
        go(ctx, p, &o, &r);
        assert_int_equal(r.status, MPK_ERR_NUMERIC);
        assert_non_null(strstr(r.text, "row 2: its diagonal entry is not positive"));
        mpk_problem_destroy(&p);
        p = two_by_two(ctx, 1, 3, 1); /* inertia 1, 1 */
        go(ctx, p, &o, &r);
        assert_int_equal(r.status, MPK_ERR_NUMERIC);
        if (level < 0)
            assert_non_null(strstr(r.text, "complete factorization is not positive"));
        else
            assert_non_null(strstr(r.text, "whether the matrix is definite this does not tell"));
        mpk_problem_destroy(&p);
        p = two_by_two(ctx, 1, 1.1, 1); /* a shift helps the factorization, not the matrix */
        go(ctx, p, &o, &r);
        if (level < 0)
            assert_int_equal(r.status, MPK_ERR_NUMERIC);
        else
            assert_true(r.block.breakdowns > 0 && r.solved != MPK_OK);
        assert_non_null(strstr(r.text, "definite"));
        mpk_problem_destroy(&p);
    }
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_generate(ctx, "helmholtz 2d 18 0.9", 1, &p), MPK_OK);
    mpk_options o = incomplete();
    o.level = -1;
    go(ctx, p, &o, &r);
    assert_int_equal(r.status, MPK_ERR_NUMERIC);
    assert_non_null(strstr(r.text, "not positive definite"));
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* A factor of less precision than the matrix says nothing of it either. */
static void test_single(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    enum { N = 12 };
    dense m = dense_new(N, MPK_D, MPK_SYMMETRIC); /* Hilbert's, 1e-12 added: condition 2e12 */
    for (int j = 0; j < N; j++)
        for (int i = j; i < N; i++) dense_set(&m, i, j, 1.0 / (i + j + 1) + (i == j ? 1e-12 : 0));
    mpk_problem *p = dense_problem(ctx, &m, 1);
    run r;
    mpk_options o = incomplete();
    o.level = -1;
    o.matching = MPK_OFF;
    go(ctx, p, &o, &r);
    assert_int_equal(r.status, MPK_OK);
    assert_int_equal(r.block.breakdowns, 0);
    o.precision = MPK_PRECISION_SINGLE;
    go(ctx, p, &o, &r);
    assert_int_equal(r.status, MPK_OK);
    assert_true(r.block.breakdowns > 0);
    mpk_problem_destroy(&p);
    free(m.a);
    mpk_context_destroy(&ctx);
}

/* The shift is of the values at hand, and option `shift` is beside it as it was. */
static void test_refactorize(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    dense m = kershaw(MPK_D, MPK_SYMMETRIC);
    mpk_problem *p = dense_problem(ctx, &m, 0);
    mpk_problem_view v;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_block_info info;
    mpk_options o = incomplete();
    o.ordering = MPK_ORDERING_NATURAL;
    o.strategy = MPK_STRATEGY_RB;
    double good[16];
    mpk_problem_view_get(p, &v);
    for (int64_t k = 0; k < v.nnz; k++) good[k] = ((const double *)v.ax)[k] / 2;
    for (int j = 0; j < 4; j++) good[v.ap[j]] = 3;
    assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_OK);
    for (int turn = 0; turn < 4; turn++) {
        assert_int_equal(mpk_factorize(ctx, an, turn % 2 ? good : v.ax, &o, &fac), MPK_OK);
        mpk_factor_block_info_get(fac, &info);
        assert_int_equal(info.breakdowns > 0, turn % 2 == 0);
        assert_int_equal(info.diagonal_shift > 0, turn % 2 == 0);
    }
    o.shift = 0.9;
    assert_int_equal(mpk_refactorize(ctx, v.ax, &o, fac), MPK_OK);
    mpk_factor_block_info_get(fac, &info);
    assert_int_equal(info.breakdowns, 0);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    free(m.a);
    mpk_context_destroy(&ctx);
}

static void test_complex_symmetric(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    mpk_problem *p = NULL;
    run r;
    mpk_options o = incomplete();
    assert_int_equal(mpk_problem_generate(ctx, "helmholtz 2d 8 0 absorbing", 1, &p), MPK_OK);
    go(ctx, p, &o, &r);
    assert_int_equal(r.status, MPK_ERR_ARGUMENT);
    assert_non_null(strstr(r.text, "complex symmetric"));
    o.factor_type = MPK_TYPE_LDLT; /* analysed so, and factorized otherwise */
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view v;
    mpk_problem_view_get(p, &v);
    assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_OK);
    o.factor_type = MPK_TYPE_LLT;
    assert_int_equal(mpk_factorize(ctx, an, v.ax, &o, &fac), MPK_ERR_ARGUMENT);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* No allocation of any try may fail and leave something behind. */
static void test_no_memory(void **unused) {
    (void)unused;
    int64_t k = 1, shifted = 0;
    for (mpk_status status = MPK_ERR_MEMORY; mpk_failed(status); k++) {
        failing f = {0};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *ctx = NULL;
        assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
        dense m = kershaw(MPK_D, MPK_SYMMETRIC);
        mpk_problem *p = dense_problem(ctx, &m, 0);
        mpk_problem_view v;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_block_info info;
        mpk_options o = incomplete();
        o.ordering = MPK_ORDERING_NATURAL;
        o.strategy = MPK_STRATEGY_RB;
        mpk_problem_view_get(p, &v);
        assert_int_equal(mpk_analyse(ctx, p, &o, &an), MPK_OK);
        f.fail_at = f.calls + k;
        status = mpk_factorize(ctx, an, v.ax, &o, &fac);
        f.fail_at = 0;
        assert_true(status == MPK_OK || status == MPK_ERR_MEMORY);
        assert_int_equal(fac != NULL, status == MPK_OK);
        mpk_factor_block_info_get(fac, &info);
        shifted += info.breakdowns;
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&p);
        mpk_context_destroy(&ctx);
        assert_int_equal(f.held, 0);
        free(m.a);
    }
    assert_true(k > 40 && shifted > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kershaw),   cmocka_unit_test(test_structures),
        cmocka_unit_test(test_data),      cmocka_unit_test(test_indefinite),
        cmocka_unit_test(test_single),    cmocka_unit_test(test_refactorize),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_complex_symmetric),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
