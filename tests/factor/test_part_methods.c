/* SPDX-License-Identifier: BSD-3-Clause */
/* Preconditioners that are parts of A - diagonal, block_jacobi, ssor - against dense matrices made
 * by their definitions; symmetric, definite where that is asked for, with all Krylov methods. */
#include "support.h"

#include "factor/apply.h"
#include "factor/stages.h"

enum { MOST = 1200 };

typedef struct run {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_problem_view a;
    mpk_options o;
    mpk_analysis *an;
    mpk_factor *fac;
} run;

static mpk_options options(mpk_method method) {
    mpk_options o;
    mpk_options_init(&o);
    o.method = method;
    o.threads = 1;
    return o;
}

static void factorize(run *r) {
    mpk_problem_view_get(r->problem, &r->a);
    assert_true(r->a.n <= MOST);
    assert_false(mpk_failed(mpk_analyse(r->ctx, r->problem, &r->o, &r->an)));
    assert_false(mpk_failed(mpk_factorize(r->ctx, r->an, NULL, &r->o, &r->fac)));
}

static run generated(const char *spec, const mpk_options *o) {
    run r = {.o = *o};
    assert_int_equal(mpk_context_create(NULL, &r.ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(r.ctx, spec, 3, &r.problem), MPK_OK);
    factorize(&r);
    return r;
}

static void end(run *r) {
    mpk_factor_destroy(&r->fac);
    mpk_analysis_destroy(&r->an);
    mpk_problem_destroy(&r->problem);
    mpk_context_destroy(&r->ctx);
}

static double complex entry(int64_t i, mpk_scalar scalar) {
    return scalar == MPK_C || scalar == MPK_Z ? sin(i + 1.0) + cos(3.0 * (double)i) * I
                                              : sin((double)i + 1);
}

/* x := the part of M^-1 applied to the vector with entries entry(i + shift) */
static void apply(const run *r, mpk_part part, int64_t shift, double complex *x) {
    static double complex memory[MOST];
    mpki_application m;
    for (int32_t i = 0; i < r->a.n; i++)
        scalar_store(r->a.scalar, memory, i, entry(i + shift, r->a.scalar));
    assert_int_equal(mpki_apply_make(r->ctx, r->fac, 1, 1, &m), MPK_OK);
    assert_int_equal(mpki_apply(&m, part, 1, memory, r->a.n, memory, r->a.n), MPK_OK);
    mpki_apply_free(&m);
    for (int32_t i = 0; i < r->a.n; i++) x[i] = scalar_load(r->a.scalar, memory, i);
}

/* A in full, by rows */
static double complex *in_full(const run *r) {
    const mpk_problem_view *a = &r->a;
    double complex *d = calloc((size_t)a->n * (size_t)a->n, sizeof *d);
    assert_non_null(d);
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const double complex v = scalar_load(a->scalar, a->ax, k);
            d[(int64_t)a->ai[k] * a->n + j] = v;
            d[(int64_t)j * a->n + a->ai[k]] =
                a->symmetry == MPK_HERMITIAN && a->ai[k] != j ? conj(v) : v;
        }
    return d;
}

static void assert_near(double complex x, double complex want, const char *what) {
    if (!(cabs(x - want) <= 1e-10 * (1 + cabs(want))))
        fail_msg("%s: %g%+gi, not %g%+gi", what, creal(x), cimag(x), creal(want), cimag(want));
}

static const char *const families[] = {"nlpkkt 3", "helmholtz 2d 14 0.3",
                                       "random 200 0.03 0.9 complex",
                                       "random 190 0.03 0.9 hermitian"};
enum { FAMILIES = sizeof families / sizeof *families };

static run from_triplets(mpk_method method, int32_t n, int64_t nnz, const int32_t *row,
                         const int32_t *col, const double *value) {
    run r = {.o = options(method)};
    assert_int_equal(mpk_context_create(NULL, &r.ctx), MPK_OK);
    assert_int_equal(mpk_problem_from_triplets(r.ctx, n, MPK_D, MPK_SYMMETRIC, MPK_EITHER, nnz, row,
                                               col, value, &r.problem),
                     MPK_OK);
    return r;
}

/* By hand: the entries of M^-1 are those of D^-1, and a row without diagonal entry, scaled to 1,
 * has the square of its scale. */
static void test_diagonal_by_hand(void **unused) {
    (void)unused;
    static const int32_t row[] = {0, 1, 2, 3, 1, 3}, col[] = {0, 1, 2, 2, 0, 0};
    static const double value[] = {4, -0.5, 1e-6, 1e-7, 2, 1};
    double complex x[MOST];
    run r = from_triplets(MPK_METHOD_DIAGONAL, 4, 6, row, col, value);
    factorize(&r);
    apply(&r, MPK_PART_ALL, 0, x);
    assert_near(x[0], entry(0, MPK_D) / 4, "row 1");
    assert_near(x[1], entry(1, MPK_D) / -0.5, "row 2");
    assert_near(x[2], entry(2, MPK_D) / 1e-6, "row 3");
    assert_near(x[3], entry(3, MPK_D) * r.fac->scale[3] * r.fac->scale[3],
                "row 4, without diagonal");
    apply(&r, MPK_PART_ABS, 0, x);
    assert_near(x[1], entry(1, MPK_D) / 0.5, "row 2, |D|");
    end(&r);
}

static void test_diagonal(void **unused) {
    (void)unused;
    for (int k = 0; k < FAMILIES; k++) {
        const mpk_options o = options(MPK_METHOD_DIAGONAL);
        static double complex x[MOST];
        run r = generated(families[k], &o);
        double complex *d = in_full(&r);
        apply(&r, MPK_PART_ALL, 0, x);
        for (int32_t i = 0; i < r.a.n; i++)
            if (d[(int64_t)i * (r.a.n + 1)] != 0)
                assert_near(x[i] * d[(int64_t)i * (r.a.n + 1)], entry(i, r.a.scalar), families[k]);
        free(d);
        end(&r);
    }
}

/* The blocks of M times x give b, with the blocks that the analysis found. */
static void test_block_jacobi(void **unused) {
    (void)unused;
    static const int sizes[] = {1, 5, 32};
    for (int k = 0; k < FAMILIES; k++)
        for (int s = 0; s < 6; s++) {
            mpk_options o = options(MPK_METHOD_BLOCK_JACOBI);
            static double complex x[MOST];
            o.block = sizes[s % 3];
            o.grid = s < 3 ? MPK_OFF : MPK_ON;
            if (s >= 3) o.ordering = MPK_ORDERING_NATURAL, o.strategy = MPK_STRATEGY_RB;
            run r = generated(families[k], &o);
            const mpki_blocking *b = r.fac->blocks->stages.blocking;
            double complex *d = in_full(&r);
            assert_true(b->largest <= o.block);
            apply(&r, MPK_PART_ALL, 0, x);
            mpk_block_info info;
            mpk_factor_block_info_get(r.fac, &info);
            for (int32_t f = 0; f < b->nframes && info.perturbed == 0; f++)
                for (int32_t p = b->bptr[f]; p < b->bptr[f + 1]; p++) {
                    double complex sum = 0;
                    for (int32_t q = b->bptr[f]; q < b->bptr[f + 1]; q++)
                        sum += d[(int64_t)b->perm[p] * r.a.n + b->perm[q]] * x[b->perm[q]];
                    if (!(cabs(sum - entry(b->perm[p], r.a.scalar)) <= 1e-8))
                        fail_msg("%s, blocks of %d: row %d", families[k], o.block, b->perm[p]);
                }
            free(d);
            end(&r);
        }
}

/* (D + w L) D^-1 (D + w L^T) x / (w (2 - w)) = b, with L^H where Hermitian. */
static void test_ssor(void **unused) {
    (void)unused;
    static const double omega[] = {1, 0.6, 1.7};
    for (int k = 0; k < FAMILIES; k++)
        for (int s = 0; s < 3; s++) {
            mpk_options o = options(MPK_METHOD_SSOR);
            static double complex x[MOST], y[MOST];
            o.omega = omega[s];
            run r = generated(families[k], &o);
            const double w = o.omega;
            const int64_t n = r.a.n;
            double complex *d = in_full(&r);
            mpk_block_info info;
            mpk_factor_block_info_get(r.fac, &info);
            assert_true(info.by_rows > 0);
            apply(&r, MPK_PART_ALL, 0, x);
            for (int64_t i = 0; i < n; i++) { /* y := (I + w D^-1 L^T) x */
                y[i] = d[i * n + i] * x[i];
                for (int64_t j = i + 1; j < n; j++) y[i] += w * d[i * n + j] * x[j];
                y[i] /= d[i * n + i];
            }
            double most = 0, size = 0;
            for (int64_t i = 0; i < n; i++) {
                double complex sum = d[i * n + i] * y[i];
                double terms = cabs(sum);
                for (int64_t j = 0; j < i; j++) {
                    sum += w * d[i * n + j] * y[j];
                    terms += w * cabs(d[i * n + j] * y[j]);
                }
                most = fmax(most, cabs(sum / (w * (2 - w)) - entry(i, r.a.scalar)));
                size = fmax(size, terms / (w * (2 - w)));
            }
            if (info.perturbed == 0 && !(most <= 1e-11 * (1 + size)))
                fail_msg("%s, omega %g: %g of %g", families[k], w, most, size);
            free(d);
            end(&r);
        }
}

/* u^T M^-1 v = v^T M^-1 u (u^H where Hermitian), and |D| makes it definite. */
static void test_symmetric(void **unused) {
    (void)unused;
    for (int k = 0; k < FAMILIES; k++)
        for (mpk_method method = MPK_METHOD_DIAGONAL; method <= MPK_METHOD_SSOR; method++) {
            const mpk_options o = options(method);
            static double complex x[MOST], y[MOST];
            run r = generated(families[k], &o);
            const bool hermitian = r.a.symmetry == MPK_HERMITIAN;
            const bool definite = hermitian || r.a.scalar == MPK_D;
            double complex p = 0, q = 0;
            double size = 0;
            apply(&r, MPK_PART_ALL, 0, x);
            apply(&r, MPK_PART_ALL, 9, y);
            for (int32_t i = 0; i < r.a.n; i++) {
                const double complex u = entry(i, r.a.scalar), v = entry(i + 9, r.a.scalar);
                p += (hermitian ? conj(v) : v) * x[i];
                q += (hermitian ? conj(u) : u) * y[i];
                size += cabs(v * x[i]) + cabs(u * y[i]);
            }
            assert_true(r.fac->form->symmetric(r.fac));
            assert_true(cabs(p - (hermitian ? conj(q) : q)) <= 1e-10 * size);
            if (definite) {
                apply(&r, MPK_PART_ABS, 0, x);
                p = 0;
                for (int32_t i = 0; i < r.a.n; i++) p += conj(entry(i, r.a.scalar)) * x[i];
                assert_true(creal(p) > 0 && fabs(cimag(p)) <= 1e-10 * cabs(p));
            }
            end(&r);
        }
}

/* On a definite matrix every Krylov method ends well with each of them, and with fewer iterations
 * than the order. */
static void test_krylov(void **unused) {
    (void)unused;
    static double b[MOST], x[MOST];
    for (mpk_method method = MPK_METHOD_DIAGONAL; method <= MPK_METHOD_SSOR; method++)
        for (mpk_krylov krylov = MPK_KRYLOV_SQMR; krylov <= MPK_KRYLOV_IDR; krylov++) {
            mpk_options o = options(method);
            mpk_solve_info info;
            o.krylov = krylov;
            o.tolerance = 1e-8;
            run r = generated("helmholtz 2d 20 0", &o);
            for (int32_t i = 0; i < r.a.n; i++) b[i] = creal(entry(i, MPK_D));
            assert_int_equal(mpk_solve(r.ctx, r.fac, 1, b, r.a.n, x, r.a.n, &o, &info), MPK_OK);
            assert_true(info.relative_residual <= 1e-8);
            assert_true(info.krylov.iterations < r.a.n);
            end(&r);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_diagonal_by_hand), cmocka_unit_test(test_diagonal),
        cmocka_unit_test(test_block_jacobi),     cmocka_unit_test(test_ssor),
        cmocka_unit_test(test_symmetric),        cmocka_unit_test(test_krylov)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
