/* SPDX-License-Identifier: BSD-3-Clause */
/* b - A x against quadruple precision, by columns of the lower triangle and by rows of both, by the
 * kernels of every instruction set that this processor has. */
#include "support.h"

#include "../oracle/quad.h"
#include "core/random.h"
#include "config.h"
#include "core/cpu.h"
#include "problem/full.h"
#include <complex.h>

static uint64_t state = 1;
static double draw(void) {
    return mpki_random_signed(&state);
}

static double complex get(mpk_scalar scalar, const void *x, int64_t k) {
    switch (scalar) {
    case MPK_S:
        return ((const float *)x)[k];
    case MPK_D:
        return ((const double *)x)[k];
    case MPK_C:
        return ((const float complex *)x)[k];
    default:
        return ((const double complex *)x)[k];
    }
}

static void put(mpk_scalar scalar, void *x, int64_t k, double complex value) {
    if (scalar == MPK_S) ((float *)x)[k] = (float)creal(value);
    if (scalar == MPK_D) ((double *)x)[k] = creal(value);
    if (scalar == MPK_C) {
        ((float *)x)[2 * k] = (float)creal(value);
        ((float *)x)[2 * k + 1] = (float)cimag(value);
    }
    if (scalar == MPK_Z) ((double complex *)x)[k] = value;
}

/* b - A x and |A| |x| + |b| of row i, in quadruple precision */
static void truth(const mpk_problem_view *a, const void *x, const void *b, quad *re, quad *im,
                  quad *w) {
    for (int32_t i = 0; i < a->n; i++) {
        const double complex bi = get(a->scalar, b, i);
        re[i] = creal(bi), im[i] = cimag(bi), w[i] = quad_modulus(creal(bi), cimag(bi));
    }
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++)
            for (int mirrored = 0; mirrored <= (a->ai[k] != j); mirrored++) {
                const int32_t row = mirrored ? j : a->ai[k], col = mirrored ? a->ai[k] : j;
                const double complex v = get(a->scalar, a->ax, k), y = get(a->scalar, x, col);
                const quad vr = creal(v), yr = creal(y), yi = cimag(y);
                const quad vi = mirrored && a->symmetry == MPK_HERMITIAN ? -cimag(v) : cimag(v);
                re[row] -= vr * yr - vi * yi;
                im[row] -= vr * yi + vi * yr;
                w[row] += quad_modulus(vr, vi) * quad_modulus(yr, yi);
            }
}

/* Rounded once, and off by a few units of the squared roundoff of w (of the roundoff of a double
 * for floats). */
static void check(const mpk_problem_view *a, const void *r, const double *w, const quad *re,
                  const quad *im, const quad *want) {
    const bool single = a->scalar == MPK_S || a->scalar == MPK_C;
    const double unit = single ? 0x1p-24 : 0x1p-53, low = single ? 1e-14 : 1e-29;
    for (int32_t i = 0; i < a->n; i++) {
        const double complex ri = get(a->scalar, r, i);
        const double size = (double)quad_modulus(re[i], im[i]);
        const double off = (double)quad_modulus(creal(ri) - re[i], cimag(ri) - im[i]);
        assert_true(off <= 2 * unit * size + low * (double)want[i]);
        assert_true(fabs(w[i] - (double)want[i]) <= 1e-13 * w[i]);
    }
}

static void one(mpk_scalar scalar, mpk_symmetry symmetry, int n) {
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    mpk_problem_view a;
    int32_t *rows = malloc(4000 * sizeof *rows), *cols = malloc(4000 * sizeof *cols);
    char *values = calloc(4000, 16), *x = calloc((size_t)n, 16), *b = calloc((size_t)n, 16),
         *r = calloc((size_t)n, 16);
    double *w = calloc((size_t)n, 8), *work = calloc(5 * (size_t)n, 8);
    quad *re = calloc((size_t)n, sizeof *re), *im = calloc((size_t)n, sizeof *im),
         *want = calloc((size_t)n, sizeof *want);
    int64_t nnz = 0;
    for (int j = 0; j < n; j++)
        for (int i = j; i < n; i++) {
            if (i > j + 1 && j > 0 && fabs(draw()) > 6.0 / n) continue; /* a dense first column */
            rows[nnz] = i, cols[nnz] = j;
            put(scalar, values, nnz++,
                ldexp(draw(), (int)(20 * draw())) + (i > j      ? draw() * I
                                                     : symmetry ? 0
                                                                : draw() * I));
        }
    assert_int_equal(
        mpk_problem_from_triplets(ctx, n, scalar, symmetry, MPK_LOWER, nnz, rows, cols, values, &p),
        MPK_OK);
    mpk_problem_view_get(p, &a);
    for (int i = 0; i < n; i++) put(scalar, x, i, draw() + draw() * I);
    /* b such that residuals are small: what rounding would hide */
    for (int i = 0; i < n; i++) put(scalar, b, i, 0);
    truth(&a, x, b, re, im, want);
    for (int i = 0; i < n; i++) put(scalar, b, i, -(double)re[i] - (double)im[i] * I);
    truth(&a, x, b, re, im, want);
    mpki_residual(&a, x, b, r, w, work);
    check(&a, r, w, re, im, want);
    mpki_full f;
    assert_int_equal(mpki_full_make(ctx, &a, 1, &f, NULL), MPK_OK);
    mpki_full_residual(&f, NULL, x, b, r, w);
    check(&a, r, w, re, im, want);
    memcpy(r, b, 16 * (size_t)n);
    mpki_residual(&a, x, r, r, w, work); /* in place of b */
    check(&a, r, w, re, im, want);
    mpki_full_free(ctx, &f);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
    free(rows), free(cols), free(values), free(x), free(b), free(r), free(w), free(work);
    free(re), free(im), free(want);
}

static void against_quadruple(void **unused) {
    (void)unused;
    static const mpk_scalar scalars[] = {MPK_S, MPK_D, MPK_C, MPK_Z, MPK_C, MPK_Z};
    for (size_t isa = 0; isa < MPKI_LEVEL_COUNT; isa++) {
        if (!(MPKI_ISAS >> isa & 1) || (int)isa > mpki_cpu_widest()) continue; /* not here */
        setenv("METAPACK_CPU", mpki_cpu_words[isa], 1);
        for (int k = 0; k < 6; k++)
            for (int n = 1; n < 200; n = 2 * n + 5)
                one(scalars[k], k > 3 ? MPK_HERMITIAN : MPK_SYMMETRIC, n);
    }
    unsetenv("METAPACK_CPU");
}

/* b - A x with cancellation beyond double: row 0 is 1 + 2^60 - 2^60 */
static void cancellation(void **unused) {
    (void)unused;
    const int64_t ap[] = {0, 3, 4, 5};
    const int32_t ai[] = {0, 1, 2, 1, 2};
    const double ax[] = {1, 0x1p60, -0x1p60, 3, 5}, x[] = {1, 1, 1}, b[] = {0.5, 0x1p60, 0};
    mpk_problem_view a = {3, 5, MPK_D, MPK_SYMMETRIC, ap, ai, ax};
    double r[3], w[3], work[12];
    mpki_residual(&a, x, b, r, w, work);
    assert_true(r[0] == -0.5);
    assert_true(r[1] == -3);
    assert_true(r[2] == 0x1p60 - 5 || r[2] == 0x1p60);
    assert_true(w[0] == 0x1p61 + 1.5 || w[0] == 0x1p61);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_quadruple),
                                       cmocka_unit_test(cancellation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
