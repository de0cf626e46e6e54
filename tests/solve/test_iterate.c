/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_solve by Krylov methods: a direct factor as preconditioner, definite by |D| where the method
 * asks for it; the info is what the header says. */
#include "support.h"

#include "solve/precondition.h"

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
                for (int c = 0; c < NRHS; c++) {
                    double rr = 0, bb = 0;
                    for (int i = 0; i < N; i++) {
                        double complex r = scalar_load(scalar, b, i + c * N);
                        bb += creal(r * conj(r));
                        for (int j = 0; j < N; j++)
                            r -= dense_get(&s.m, i, j) * scalar_load(scalar, x, j + c * N);
                        rr += creal(r * conj(r));
                    }
                    worst = fmax(worst, sqrt(rr / bb));
                }
                assert_true(worst <= options.tolerance);
                assert_true(fabs(worst - info.relative_residual) <= 0.01 * worst + 1e-15);
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exact_preconditioner),
                                       cmocka_unit_test(test_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
