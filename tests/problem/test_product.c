/* SPDX-License-Identifier: BSD-3-Clause */
/* Products with A against dense ones, for every precision and symmetry. */
#include "support.h"

#include "core/random.h"
#include "problem/problem.h"
#include <complex.h>
#include <float.h>
#include <math.h>

enum { N = 23 };

typedef struct dense {
    double complex a[N][N]; /* the whole matrix */
} dense;

/* A random matrix of any kind, sparse and dense. */
static mpk_problem *draw(mpk_context *ctx, mpk_scalar scalar, mpk_symmetry symmetry, dense *d) {
    static float complex values_c[N * N];
    static double complex values_z[N * N];
    static float values_s[N * N];
    static double values_d[N * N];
    int32_t rows[N * N], cols[N * N];
    int count = 0;
    uint64_t s = 99;
    memset(d, 0, sizeof *d);
    for (int j = 0; j < N; j++)
        for (int i = j; i < N; i++) {
            const uint64_t bits = mpki_random_next(&s);
            if (bits >> 62) continue; /* a quarter of the places */
            double re = (double)(int)((bits >> 20) % 2001 - 1000) / 256.0;
            double im = (double)(int)((bits >> 40) % 2001 - 1000) / 256.0;
            if (scalar == MPK_S || scalar == MPK_D || (symmetry == MPK_HERMITIAN && i == j)) im = 0;
            rows[count] = i;
            cols[count] = j;
            values_s[count] = (float)re;
            values_d[count] = re;
            values_c[count] = (float)re + (float)im * I;
            values_z[count] = re + im * I;
            d->a[i][j] = re + im * I;
            d->a[j][i] = symmetry == MPK_HERMITIAN ? conj(d->a[i][j]) : d->a[i][j];
            count++;
        }
    const void *values[] = {values_s, values_d, values_c, values_z};
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_from_triplets(ctx, N, scalar, symmetry, MPK_LOWER, count, rows,
                                               cols, values[scalar], &p),
                     MPK_OK);
    return p;
}

static void put(mpk_scalar scalar, void *x, int k, double complex value) {
    if (scalar == MPK_S)
        ((float *)x)[k] = (float)creal(value);
    else if (scalar == MPK_D)
        ((double *)x)[k] = creal(value);
    else if (scalar == MPK_C)
        ((float complex *)x)[k] = (float complex)value;
    else
        ((double complex *)x)[k] = value;
}

static double complex get(mpk_scalar scalar, const void *x, int k) {
    return scalar == MPK_S   ? ((const float *)x)[k]
           : scalar == MPK_D ? ((const double *)x)[k]
           : scalar == MPK_C ? ((const float complex *)x)[k]
                             : ((const double complex *)x)[k];
}

static const struct {
    mpk_scalar scalar;
    mpk_symmetry symmetry;
} kinds[] = {{MPK_S, MPK_SYMMETRIC}, {MPK_D, MPK_SYMMETRIC}, {MPK_C, MPK_SYMMETRIC},
             {MPK_Z, MPK_SYMMETRIC}, {MPK_C, MPK_HERMITIAN}, {MPK_Z, MPK_HERMITIAN}};

static double unit(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C ? FLT_EPSILON : DBL_EPSILON;
}

static void against_dense(void **state) {
    (void)state;
    enum { LDX = N + 3, LDY = N + 1, NRHS = 3 };
    mpk_context *ctx = new_context();
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        const mpk_scalar t = kinds[kind].scalar;
        const int imaginary = t == MPK_C || t == MPK_Z;
        static dense d;
        mpk_problem *p = draw(ctx, t, kinds[kind].symmetry, &d);
        double complex x[LDX * NRHS], y[LDY * NRHS], b[N], r[N];
        double w[N], work[5 * N];
        for (int c = 0; c < NRHS; c++)
            for (int i = 0; i < N; i++)
                put(t, x, c * LDX + i, (i % 5 - 2) * 0.375 + (imaginary ? (c - 1) * 0.5 * I : 0));
        assert_int_equal(mpk_problem_multiply(ctx, p, NRHS, x, LDX, y, LDY), MPK_OK);
        for (int i = 0; i < N; i++) put(t, b, i, (i % 3) + (imaginary ? 2 * I : 0));
        mpk_problem_view v;
        mpk_problem_view_get(p, &v);
        mpki_residual(&v, x, b, r, w, work);
        double norm = 0;
        for (int i = 0; i < N; i++) {
            double sum = 0, bound = cabs(get(t, b, i));
            for (int j = 0; j < N; j++) {
                sum += cabs(d.a[i][j]);
                bound += cabs(d.a[i][j]) * cabs(get(t, x, j));
            }
            norm = fmax(norm, sum);
            double complex want = get(t, b, i);
            for (int j = 0; j < N; j++) want -= d.a[i][j] * get(t, x, j);
            /* sums are held in double: one rounding to the type */
            assert_true(cabs(get(t, r, i) - want) <=
                        unit(t) * cabs(want) + 100 * DBL_EPSILON * bound);
            assert_true(fabs(w[i] - bound) <= 100 * DBL_EPSILON * bound);
            for (int c = 0; c < NRHS; c++) {
                double complex product = 0;
                for (int j = 0; j < N; j++) product += d.a[i][j] * get(t, x, c * LDX + j);
                assert_true(cabs(get(t, y, c * LDY + i) - product) <= 100 * unit(t) * bound);
            }
        }
        double sums[N];
        assert_true(fabs(mpki_row_sums(&v, sums) - norm) <= 100 * DBL_EPSILON * norm);
        mpki_residual(&v, x, b, b, w, work); /* in place of b */
        for (int i = 0; i < N; i++) assert_true(get(t, b, i) == get(t, r, i));
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

/* Float entries whose sum of moduli is out of float's range. */
static void no_overflow_in_double(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    const int32_t at[] = {0};
    const float huge[] = {3e38f}, x[] = {2};
    const float b[] = {0};
    assert_int_equal(
        mpk_problem_from_triplets(ctx, 1, MPK_S, MPK_SYMMETRIC, MPK_LOWER, 1, at, at, huge, &p),
        MPK_OK);
    mpk_problem_view v;
    mpk_problem_view_get(p, &v);
    float r[1];
    double w[1], work[4];
    mpki_residual(&v, x, b, r, w, work);
    assert_true(isfinite(w[0]) && w[0] > 5e38);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

static void bad_arguments(void **state) {
    (void)state;
    static dense d;
    mpk_context *ctx = new_context();
    mpk_problem *p = draw(ctx, MPK_D, MPK_SYMMETRIC, &d);
    double x[N] = {0}, y[N];
    assert_int_equal(mpk_problem_multiply(ctx, NULL, 1, x, N, y, N), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_multiply(ctx, p, -1, x, N, y, N), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_multiply(ctx, p, 1, x, N - 1, y, N), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_multiply(ctx, p, 1, x, N, y, N - 1), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_multiply(ctx, p, 1, NULL, N, y, N), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_multiply(NULL, p, 1, x, N, y, N), MPK_ERR_ARGUMENT);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* y must not lie on x, not by one entry of any column; columns in turn are no overlap. */
static void in_place(void **state) {
    (void)state;
    enum { NRHS = 3, ROOM = 4 * N * NRHS };
    static dense d;
    mpk_context *ctx = new_context();
    mpk_problem *p = draw(ctx, MPK_D, MPK_SYMMETRIC, &d);
    double z[ROOM], before[ROOM], want[N * NRHS], *x = z + N * NRHS;
    const char *text;
    for (int i = 0; i < ROOM; i++) z[i] = before[i] = i % 7 - 3;
    assert_int_equal(mpk_problem_multiply(ctx, p, 1, x, N, x, N), MPK_ERR_ARGUMENT);
    mpk_last_error(ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "overlap"));
    for (int ldx = N; ldx <= N + 2; ldx++)
        for (int ldy = N; ldy <= N + 2; ldy++)
            for (int shift = -N * NRHS; shift <= 2 * N; shift++) {
                bool shared = false;
                for (int c = 0; c < NRHS; c++)
                    for (int k = 0; k < NRHS; k++) {
                        const int apart = shift + k * ldy - c * ldx;
                        shared |= apart > -N && apart < N;
                    }
                if (!shared) continue;
                assert_int_equal(mpk_problem_multiply(ctx, p, NRHS, x, ldx, x + shift, ldy),
                                 MPK_ERR_ARGUMENT);
                assert_memory_equal(z, before, sizeof z);
            }
    assert_int_equal(mpk_problem_multiply(ctx, p, NRHS, z, 2 * N, want, N), MPK_OK);
    assert_int_equal(mpk_problem_multiply(ctx, p, NRHS, z, 2 * N, z + N, 2 * N), MPK_OK);
    for (int c = 0; c < NRHS; c++)
        assert_memory_equal(z + N + 2 * N * c, want + N * c, N * sizeof *z);
    assert_int_equal(mpk_problem_multiply(ctx, p, 0, z, N, z, N), MPK_OK); /* nothing is touched */
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* First, last, and beyond a block of the scan. */
static void nonfinite(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    static double x[COUNT];
    static float y[COUNT];
    assert_int_equal(mpki_first_nonfinite(MPK_D, COUNT, x), -1);
    assert_int_equal(mpki_first_nonfinite(MPK_S, COUNT, y), -1);
    assert_int_equal(mpki_first_nonfinite(MPK_D, 0, NULL), -1);
    for (int k = COUNT - 1; k >= 0; k -= 833) {
        x[k] = k % 2 ? NAN : -INFINITY;
        y[k] = k % 2 ? INFINITY : NAN;
        assert_int_equal(mpki_first_nonfinite(MPK_D, COUNT, x), k);
        assert_int_equal(mpki_first_nonfinite(MPK_Z, COUNT / 2, x), k / 2);
        assert_int_equal(mpki_first_nonfinite(MPK_S, COUNT, y), k);
        assert_int_equal(mpki_first_nonfinite(MPK_C, COUNT / 2, y), k / 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_dense), cmocka_unit_test(no_overflow_in_double),
        cmocka_unit_test(bad_arguments), cmocka_unit_test(in_place),
        cmocka_unit_test(nonfinite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
