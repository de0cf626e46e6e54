/* SPDX-License-Identifier: BSD-3-Clause */
/* Approximate inverses of matrices: (A M - I) = 0 on the pattern, for all kinds, patterns and
 * scalars; lengths around the classes. */
#include "../sanitized.h"
#include "matrices.h"

/* ---- the equation ---------------------------------------------------------------------------- */

static void test_powers(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
        for (int k = 0; k < SHAPES; k++)
            for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_DEFINITE; kind++) {
                csc a;
                if (!shape_of(k, kind, scalar, 70, &a)) continue;
                for (int power = 0; power <= 3; power++) {
                    mpk_isai_options o = options_of(kind);
                    o.power = power;
                    bool *s = power_of(&a, kind, power);
                    mpk_isai *isai = create(ctx, &a, &o);
                    const double worst = check(ctx, &a, kind, isai, s);
                    if (!(worst <= 200))
                        fail_msg("scalar %d, shape %d, kind %d, power %d: %g", (int)scalar, k,
                                 (int)kind, power, worst);
                    mpk_isai_destroy(&isai);
                    free(s);
                }
                csc_free(&a);
            }
    mpk_context_destroy(&ctx);
}

/* Patterns of others: blocks, of which one row each is Jacobi's; given; and the whole triangle,
 * with which M is the inverse. */
static void test_patterns(void **unused) {
    (void)unused;
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
        for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_GENERAL; kind++) {
            const int32_t n = 37;
            const size_t N = 37;
            csc a = make(n, scalar, scattered, 0), full = make(n, scalar, all, 0);
            mpk_isai_options o = options_of(kind);
            o.source = MPK_ISAI_BLOCKS;
            for (o.block = 1; o.block <= 64; o.block = 3 * o.block + 2) {
                bool *s = calloc(N * N, sizeof *s);
                for (int32_t j = 0; j < n; j++)
                    for (int32_t i = 0; i < n; i++)
                        s[(size_t)i + (size_t)j * N] =
                            i / o.block == j / o.block && in_triangle(kind, i, j);
                mpk_isai *isai = create(ctx, &a, &o);
                assert_true(check(ctx, &a, kind, isai, s) <= 200);
                if (o.block == 1) { /* Jacobi */
                    csc m = copy_of(ctx, isai, n, scalar);
                    for (int32_t j = 0; j < n; j++) {
                        int64_t e = a.ptr[j];
                        while (a.row[e] != j) e++;
                        const double complex x = scalar_load(scalar, a.val, e);
                        assert_true(cabs(x * scalar_load(scalar, m.val, j) - 1) <=
                                    8 * eps_of(scalar));
                    }
                    csc_free(&m);
                }
                mpk_isai_destroy(&isai);
                free(s);
            }
            /* a power of another pattern; that pattern itself */
            o = options_of(kind);
            o.ptr = full.ptr, o.row = full.row;
            for (int given = 0; given < 2; given++) {
                o.source = given ? MPK_ISAI_GIVEN : MPK_ISAI_POWER;
                bool *s = power_of(&full, kind, 1);
                mpk_isai *isai = create(ctx, &a, &o);
                assert_true(check(ctx, &a, kind, isai, s) <= 500);
                /* M A = I, everywhere: apply to columns of A */
                double complex *d = dense_of(&a, kind);
                void *b = calloc(N, mpk_scalar_size(scalar));
                for (int32_t j = 0; j < n; j++) {
                    for (int32_t i = 0; i < n; i++)
                        scalar_store(scalar, b, i, d[(size_t)i + (size_t)j * N]);
                    assert_int_equal(mpk_isai_apply(ctx, isai, MPK_ISAI_AS_IS, 1, b, n, b, n),
                                     MPK_OK);
                    for (int32_t i = 0; i < n; i++)
                        assert_true(cabs(scalar_load(scalar, b, i) - (i == j)) <=
                                    2e4 * eps_of(scalar));
                }
                free(b), free(d), free(s);
                mpk_isai_destroy(&isai);
            }
            csc_free(&a), csc_free(&full);
        }
    mpk_context_destroy(&ctx);
}

/* Columns around the edges of the classes, in a matrix whose first rows are dense. */
static int32_t corner;
static int dense_corner(int32_t n, int32_t i, int32_t j) {
    (void)n;
    return i < corner && j < corner;
}

static void test_lengths(void **unused) {
    (void)unused;
    static const int32_t sizes[] = {1, 2, 3, 4, 8, 9, 16, 17, 31, 32, 33, 64, 65, 128, 129};
    mpk_context *ctx = begin();
    for (mpk_scalar scalar = TEST_SCALAR_FIRST; scalar <= MPK_Z; scalar += TEST_SCALAR_STEP)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_GENERAL; kind++) {
                static const int64_t most[] = {1, 2, 4, 8, 16, 32, 64, 128, 1024};
                int64_t want[MPK_ISAI_CLASSES] = {0};
                mpk_isai_info info;
                if (TEST_SANITIZED && sizes[k] > 16 && ((int)k + (int)kind + (int)scalar) % 6)
                    continue;
                corner = sizes[k];
                csc a = make(corner + 5, scalar, dense_corner, 0);
                for (int64_t e = 0; e < a.ptr[a.n]; e++) /* mild, or the inverse grows */
                    scalar_store(scalar, a.val, e,
                                 scalar_load(scalar, a.val, e) *
                                     (cabs(scalar_load(scalar, a.val, e)) < 1 ? 3.0 / corner : 1));
                const mpk_isai_options o = options_of(kind);
                mpk_isai *isai = create(ctx, &a, &o);
                bool *s = power_of(&a, kind, 1);
                assert_true(check(ctx, &a, kind, isai, s) <= 300);
                mpk_isai_info_get(isai, &info);
                for (int32_t j = 0; j < a.n; j++) {
                    int64_t count = 0;
                    int c = 0;
                    for (int32_t i = 0; i < a.n; i++)
                        count += s[(size_t)i + (size_t)j * (size_t)a.n];
                    while (c < MPK_ISAI_CLASSES - 1 && count > most[c]) c++;
                    want[c]++;
                }
                assert_memory_equal(want, info.columns, sizeof want);
                assert_int_equal(info.longest, corner);
                free(s);
                mpk_isai_destroy(&isai);
                csc_free(&a);
            }
    mpk_context_destroy(&ctx);
}

/* The same beyond what a dense check can afford: a residual in vectors, M A x = x. */
static void test_long(void **unused) {
    (void)unused;
    static const int32_t sizes[] = {1025, 1023, 1024};
    mpk_context *ctx = begin();
    for (size_t k = 0; k < (TEST_SANITIZED ? 1 : 3); k++)
        for (mpk_isai_kind kind = MPK_ISAI_LOWER; kind <= MPK_ISAI_UPPER; kind++) {
            if (TEST_SANITIZED && kind == MPK_ISAI_UPPER) continue;
            mpk_isai_info info;
            corner = sizes[k];
            csc a = make(corner + 2, MPK_D, dense_corner, 0);
            double *v = a.val;
            for (int64_t e = 0; e < a.ptr[a.n]; e++)
                if (fabs(v[e]) < 1) v[e] *= 3.0 / corner;
            const mpk_isai_options o = options_of(kind);
            mpk_isai *isai = create(ctx, &a, &o);
            mpk_isai_info_get(isai, &info);
            assert_int_equal(info.longest, corner);
            assert_int_equal(info.columns[MPK_ISAI_CLASSES - 1], corner > 1024);
            double *x = malloc((size_t)a.n * sizeof *x), *b = calloc((size_t)a.n, sizeof *b);
            for (int32_t j = 0; j < a.n; j++) {
                x[j] = sin(j);
                for (int64_t e = a.ptr[j]; e < a.ptr[j + 1]; e++)
                    if (in_triangle(kind, a.row[e], j)) b[a.row[e]] += v[e] * x[j];
            }
            assert_int_equal(mpk_isai_apply(ctx, isai, MPK_ISAI_AS_IS, 1, b, a.n, b, a.n), MPK_OK);
            for (int32_t j = 0; j < a.n; j++) assert_true(fabs(b[j] - x[j]) <= 1e-12);
            free(x), free(b);
            mpk_isai_destroy(&isai);
            csc_free(&a);
        }
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powers),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
