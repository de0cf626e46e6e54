/* SPDX-License-Identifier: BSD-3-Clause */
/* Problems from arrays: triangles, duplicates, bad entries, new values. */
#include "support.h"

#include "core/random.h"
#include "problem/problem.h"
#include <complex.h>
#include <float.h>
#include <math.h>
#include <unistd.h>

/* [ 4 1 0 ]
 * [ 1 0 2 ]   inertia (2, 1, 0); zero on the diagonal is stored
 * [ 0 2 5 ] */
static const double lower_values[] = {4, 1, 0, 2, 5};
static const int64_t lower_ap[] = {0, 2, 4, 5};
static const int32_t lower_ai[] = {0, 1, 1, 2, 2};

static void assert_same(const mpk_problem *p) {
    mpk_problem_view v;
    mpk_problem_view_get(p, &v);
    assert_int_equal(v.n, 3);
    assert_int_equal(v.nnz, 5);
    assert_int_equal(v.scalar, MPK_D);
    assert_int_equal(v.symmetry, MPK_SYMMETRIC);
    assert_memory_equal(v.ap, lower_ap, sizeof lower_ap);
    assert_memory_equal(v.ai, lower_ai, sizeof lower_ai);
    assert_memory_equal(v.ax, lower_values, sizeof lower_values);
}

static void csc_lower(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_LOWER, lower_ap,
                                          lower_ai, lower_values, &p),
                     MPK_OK);
    assert_same(p);
    mpk_problem_destroy(&p);
    assert_null(p);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* NaN in the triangle that is not looked at, when a problem is made and when values come. */
static void ignored_triangle(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    static const int64_t ap[] = {0, 2, 5, 7};
    static const int32_t ai[] = {0, 1, 0, 1, 2, 1, 2};
    const double values[] = {4, 1, NAN, 0, 2, -INFINITY, 5};
    for (int direction = 0; direction < 2; direction++) {
        const mpk_triangle triangle = direction ? MPK_UPPER : MPK_LOWER;
        double given[7]; /* of the other triangle: the mirror image */
        memcpy(given, values, sizeof given);
        if (direction) given[1] = NAN, given[2] = 1, given[4] = INFINITY, given[5] = 2;
        mpk_problem *p = NULL;
        assert_int_equal(
            mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, triangle, ap, ai, given, &p),
            MPK_OK);
        assert_same(p);
        assert_int_equal(mpk_problem_set_values(ctx, p, given), MPK_OK);
        assert_same(p);
        given[6] = NAN;
        const char *text;
        assert_int_equal(mpk_problem_set_values(ctx, p, given), MPK_ERR_INPUT);
        mpk_last_error(ctx, NULL, NULL, &text);
        assert_non_null(strstr(text, "row 2, column 2"));
        assert_same(p);
        mpk_problem_destroy(&p);
        assert_int_equal(
            mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, triangle, ap, ai, given, &p),
            MPK_ERR_INPUT);
        assert_null(p);
    }
    mpk_context_destroy(&ctx);
}

/* What is wrong with column pointers is named, and what becomes of an order of 2^31. */
static void pointers(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    static const struct {
        int64_t ap[4];
        const char *words;
    } cases[] = {{{1, 2, 4, 5}, "ap[0] is 1, not 0"},
                 {{0, 4, 2, 5}, "from ap[1] = 4 to ap[2] = 2"},
                 {{0, -1, 4, 5}, "from ap[0] = 0 to ap[1] = -1"}};
    const char *text;
    mpk_problem *p = NULL;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        assert_int_equal(mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_LOWER, cases[k].ap,
                                              lower_ai, lower_values, &p),
                         MPK_ERR_ARGUMENT);
        mpk_last_error(ctx, NULL, NULL, &text);
        if (!strstr(text, cases[k].words)) fail_msg("%s", text);
    }
    static const int64_t much[] = {0, 2, 4, INT64_MAX / 2};
    mpk_status status = mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_LOWER, much,
                                             lower_ai, lower_values, &p);
    assert_true(status == MPK_ERR_SIZE || status == MPK_ERR_MEMORY);
    assert_int_equal(mpk_problem_from_csc(ctx, INT32_MIN, MPK_D, MPK_SYMMETRIC, MPK_LOWER, lower_ap,
                                          lower_ai, lower_values, &p),
                     MPK_ERR_ARGUMENT);
    mpk_last_error(ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "is negative"));
    assert_int_equal((mpk_problem_from_csc)(ctx, INT32_MIN, MPK_D, MPK_SYMMETRIC, MPK_LOWER,
                                            lower_ap, lower_ai, lower_values, &p),
                     MPK_ERR_ARGUMENT); /* as a program of an older header calls it */
    mpk_last_error(ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "2147483648 or more does not fit"));
    mpk_context_destroy(&ctx);
}

/* Orders that 32 bits do not hold: cut, the second one would be 3. */
static void wide_orders(void **state) {
    (void)state;
    static const int64_t orders[] = {INT64_C(1) << 31, (INT64_C(1) << 32) + 3, INT64_MAX};
    mpk_context *ctx = NULL;
    mpk_problem *p = NULL;
    mpk_isai *isai = NULL;
    mpk_asymmetry apart;
    const char *text = NULL;
    void *b = NULL;
    double a[9] = {0};
    int32_t nrhs;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < 3; k++)
        for (int call = 0; call < 6; call++) {
            const int64_t n = orders[k];
            char words[64];
            const mpk_status status =
                call == 0 ? mpk_problem_from_csc(ctx, n, MPK_D, MPK_SYMMETRIC, MPK_LOWER, lower_ap,
                                                 lower_ai, lower_values, &p)
                : call == 1 ? mpk_problem_from_triplets(ctx, n, MPK_D, MPK_SYMMETRIC, MPK_LOWER, 1,
                                                        lower_ai, lower_ai, lower_values, &p)
                : call == 2 ? mpk_symmetrize(ctx, n, MPK_D, MPK_SYMMETRIC, a, n, &apart)
                : call == 3 ? mpk_rhs_read(ctx, "/nowhere/b.mtx", n, MPK_D, &nrhs, &b)
                : call == 4
                    ? mpk_rhs_write(ctx, "/nowhere/x.mtx", n, MPK_D, 1, a, n)
                    : mpk_isai_create(ctx, MPK_D, n, lower_ap, lower_ai, lower_values, NULL, &isai);
            assert_int_equal(status, MPK_ERR_SIZE);
            mpk_last_error(ctx, NULL, NULL, &text);
            snprintf(words, sizeof words, "n = %lld is above 2147483647", (long long)n);
            if (!strstr(text, words)) fail_msg("%s", text);
            assert_true(!p && !isai && !b);
        }
    mpk_context_destroy(&ctx);
}

/* The same of files. */
static void wide_files(void **state) {
    (void)state;
    static const char *const orders[] = {"2147483648", "4294967299"};
    for (int k = 0; k < 2; k++)
        for (int format = 0; format < 4; format++) {
            char path[] = "/tmp/metapack-wide-XXXXXX", text[512];
            const char *n = orders[k], *told = NULL;
            mpk_context *ctx = NULL;
            mpk_problem *p = NULL;
            size_t length;
            if (format == 0)
                snprintf(text, sizeof text,
                         "%%%%MatrixMarket matrix coordinate real symmetric\n%s %s 1\n1 1 1\n", n,
                         n);
            else if (format == 1)
                snprintf(text, sizeof text,
                         "%%%%MatrixMarket matrix array real symmetric\n%s %s\n1\n", n, n);
            else if (format == 2)
                snprintf(text, sizeof text,
                         "a title%65sKEY\n%14d%14d%14d%14d\nrsa           %14s%14s%14d%14d\n"
                         "(8I10)          (8I10)          (4E20.12)\n1 2\n",
                         "", 3, 1, 1, 1, n, n, 1, 0);
            length = strlen(text);
            if (format == 3) { /* .npy, version 1 */
                char *header = text + 10;
                snprintf(header, sizeof text - 10,
                         "{'descr': '<f8', 'fortran_order': False, 'shape': (%s, %s), }\n", n, n);
                const size_t bytes = strlen(header);
                memcpy(text, "\x93NUMPY\1\0", 8);
                text[8] = (char)bytes, text[9] = 0;
                length = 10 + bytes;
            }
            const int file = mkstemp(path);
            assert_true(file >= 0 && write(file, text, length) == (ssize_t)length);
            close(file);
            assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
            const mpk_status status = mpk_problem_read(ctx, path, &p);
            unlink(path);
            mpk_last_error(ctx, NULL, NULL, &told);
            if (status != MPK_ERR_SIZE) fail_msg("format %d: %d, %s", format, (int)status, told);
            if (!strstr(told, n)) fail_msg("format %d: %s", format, told);
            mpk_context_destroy(&ctx);
        }
}

/* The same matrix in every dress; what is in the other triangle does not count. */
static void triangles(void **state) {
    (void)state;
    static const struct {
        mpk_triangle triangle;
        int nnz;
        int32_t rows[9], cols[9];
        double values[9];
    } dress[] = {
        {MPK_LOWER, 5, {2, 1, 2, 0, 1}, {2, 1, 1, 0, 0}, {5, 0, 2, 4, 1}},
        {MPK_LOWER, 6, {2, 1, 2, 0, 1, 0}, {2, 1, 1, 0, 0, 2}, {5, 0, 2, 4, 1, 77}},
        {MPK_UPPER, 5, {0, 0, 1, 1, 2}, {0, 1, 1, 2, 2}, {4, 1, 0, 2, 5}},
        {MPK_UPPER, 6, {2, 0, 0, 1, 1, 2}, {0, 0, 1, 1, 2, 2}, {77, 4, 1, 0, 2, 5}},
        {MPK_EITHER, 5, {0, 0, 1, 2, 2}, {0, 1, 1, 1, 2}, {4, 1, 0, 2, 5}},
        {MPK_FULL, 7, {0, 0, 1, 1, 1, 2, 2}, {0, 1, 0, 1, 2, 1, 2}, {4, 1, 1, 0, 2, 2, 5}},
        /* duplicates, in both triangles */
        {MPK_FULL,
         9,
         {0, 0, 1, 1, 1, 2, 2, 1, 0},
         {0, 1, 0, 1, 2, 1, 2, 0, 1},
         {4, .5, .75, 0, 2, 2, 5, .25, .5}},
        {MPK_LOWER, 7, {2, 1, 2, 0, 1, 2, 0}, {2, 1, 1, 0, 0, 2, 0}, {2, 0, 2, 3, 1, 3, 1}},
    };
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof dress / sizeof *dress; k++) {
        mpk_problem *p = NULL;
        assert_int_equal(mpk_problem_from_triplets(ctx, 3, MPK_D, MPK_SYMMETRIC, dress[k].triangle,
                                                   dress[k].nnz, dress[k].rows, dress[k].cols,
                                                   dress[k].values, &p),
                         MPK_OK);
        assert_same(p);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

/* Many entries in random order with duplicates against a dense sum. */
static void shuffled(void **state) {
    (void)state;
    enum { N = 40, NNZ = 3000 };
    static int32_t rows[NNZ], cols[NNZ];
    static double values[NNZ], dense[N][N];
    uint64_t s = 12345;
    for (int k = 0; k < NNZ; k++) {
        const uint64_t bits = mpki_random_next(&s);
        rows[k] = (int32_t)((bits >> 33) % N);
        cols[k] = (int32_t)((bits >> 45) % N);
        if (rows[k] < cols[k]) {
            int32_t t = rows[k];
            rows[k] = cols[k];
            cols[k] = t;
        }
        values[k] = (double)((bits >> 20) % 64); /* small integers: sums are exact */
        dense[rows[k]][cols[k]] += values[k];
    }
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_from_triplets(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_LOWER, NNZ, rows,
                                               cols, values, &p),
                     MPK_OK);
    mpk_problem_view v;
    mpk_problem_view_get(p, &v);
    for (int32_t j = 0; j < N; j++)
        for (int64_t k = v.ap[j]; k < v.ap[j + 1]; k++) {
            assert_true(v.ai[k] >= j && (k == v.ap[j] || v.ai[k] > v.ai[k - 1]));
            assert_true(((const double *)v.ax)[k] == dense[v.ai[k]][j]);
            dense[v.ai[k]][j] = 0;
        }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) assert_true(dense[i][j] == 0);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

static void refuse(mpk_context *ctx, mpk_scalar scalar, mpk_symmetry symmetry,
                   mpk_triangle triangle, int nnz, const int32_t *rows, const int32_t *cols,
                   const void *values, mpk_status status, const char *said) {
    mpk_problem *p = NULL;
    assert_int_equal(
        mpk_problem_from_triplets(ctx, 3, scalar, symmetry, triangle, nnz, rows, cols, values, &p),
        status);
    assert_null(p);
    assert_said(ctx, said);
}

static void bad_entries(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    const int32_t r[] = {1, 0}, c[] = {0, 1}, out[] = {3, 0}, minus[] = {-1, 0};
    const double v[] = {1, 2}, nan[] = {1, NAN}, inf[] = {-INFINITY, 1},
                 huge[] = {DBL_MAX, DBL_MAX};
    refuse(ctx, MPK_D, MPK_SYMMETRIC, MPK_FULL, 2, r, c, v, MPK_ERR_INPUT,
           "row 1, column 0 is 1 but row 0, column 1 is 2: the matrix is not symmetric");
    refuse(ctx, MPK_D, MPK_SYMMETRIC, MPK_FULL, 1, r, c, v, MPK_ERR_INPUT, "not symmetric");
    refuse(ctx, MPK_D, MPK_SYMMETRIC, MPK_EITHER, 2, r, c, v, MPK_ERR_INPUT, "both triangles");
    refuse(ctx, MPK_D, MPK_SYMMETRIC, MPK_UPPER, 2, r, c, nan, MPK_ERR_INPUT, "row 0, column 1");
    refuse(ctx, MPK_D, MPK_SYMMETRIC, MPK_LOWER, 2, r, c, inf, MPK_ERR_INPUT, "row 1, column 0");
    refuse(ctx, MPK_D, MPK_SYMMETRIC, MPK_LOWER, 2, out, c, v, MPK_ERR_INPUT, "row 3");
    refuse(ctx, MPK_D, MPK_SYMMETRIC, MPK_LOWER, 2, c, minus, v, MPK_ERR_INPUT, "column -1");
    const int32_t same[] = {1, 1};
    refuse(ctx, MPK_D, MPK_SYMMETRIC, MPK_LOWER, 2, same, same, huge, MPK_ERR_INPUT, "overflows");
    refuse(ctx, MPK_D, MPK_HERMITIAN, MPK_LOWER, 2, r, c, v, MPK_ERR_ARGUMENT, "Hermitian");
    refuse(ctx, MPK_D, MPK_SYMMETRIC, MPK_LOWER, 2, NULL, c, v, MPK_ERR_ARGUMENT, "NULL");
    refuse(ctx, MPK_D, MPK_SYMMETRIC, MPK_LOWER, -1, r, c, v, MPK_ERR_ARGUMENT, "negative");
    refuse(ctx, (mpk_scalar)4, MPK_SYMMETRIC, MPK_LOWER, 2, r, c, v, MPK_ERR_ARGUMENT, "scalar");
    refuse(ctx, MPK_D, MPK_SYMMETRIC, (mpk_triangle)4, 2, r, c, v, MPK_ERR_ARGUMENT, "triangle");
    const double complex skewed[] = {1 + 2 * I, 1 + 2 * I}, imaginary[] = {1, I};
    refuse(ctx, MPK_Z, MPK_HERMITIAN, MPK_FULL, 2, r, c, skewed, MPK_ERR_INPUT, "not Hermitian");
    refuse(ctx, MPK_Z, MPK_HERMITIAN, MPK_LOWER, 2, same, same, imaginary, MPK_ERR_INPUT,
           "real diagonal");
    mpk_problem *p = NULL;
    const int64_t down[] = {0, 2, 1, 1}, high[] = {1, 1, 1, 1};
    assert_int_equal(mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_LOWER, down, r, v, &p),
                     MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_LOWER, high, r, v, &p),
                     MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_LOWER, NULL, r, v, &p),
                     MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_from_csc(ctx, -1, MPK_D, MPK_SYMMETRIC, MPK_LOWER, high, r, v, &p),
                     MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_from_csc(NULL, 3, MPK_D, MPK_SYMMETRIC, MPK_LOWER, lower_ap,
                                          lower_ai, lower_values, &p),
                     MPK_ERR_ARGUMENT);
    assert_null(p);
    mpk_context_destroy(&ctx);
}

/* The two triangles of 3 x 3 matrices with the entries 1000, lower and upper, 1. */
static mpk_status from_both(mpk_context *ctx, double lower, double upper, mpk_problem **p) {
    const int32_t r[] = {0, 1, 0, 2}, c[] = {0, 0, 1, 2};
    const double v[] = {1000, lower, upper, 1};
    return mpk_problem_from_triplets(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_FULL, 4, r, c, v, p);
}

static double entry_of(const mpk_problem *p, int k) {
    mpk_problem_view view;
    mpk_problem_view_get(p, &view);
    return ((const double *)view.ax)[k];
}

/* Rounding apart, the two triangles agree: rounding is relative to the two entries, or to rows
 * where both are nothing but that; the mean is kept. A row of size 1000 alone is no excuse. */
static void nearly_symmetric(void **state) {
    (void)state;
    static const struct {
        double lower, upper, mean; /* the mean of what is refused is 0 */
    } cases[] = {
        {5.2e-18, 4.3e-18, 4.75e-18}, /* of sums that cancel: both halves are noise */
        {0, 1e-20, 5e-21},
        {1, 1 + 1e-6, 1 + 5e-7},
        {1, 1 + 2e-6, 0},
        {1, 1 + 1e-3, 0},
        {1e-3, -1e-3, 0},
        {0, 1e-6, 0},
        {DBL_MAX, DBL_MAX, DBL_MAX},
        {DBL_MAX, -DBL_MAX, 0},
        {1, 1, 1},
    };
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_problem *p = NULL;
        const mpk_status status = from_both(ctx, cases[k].lower, cases[k].upper, &p);
        assert_int_equal(status, cases[k].mean != 0 ? MPK_OK : MPK_ERR_INPUT);
        if (p) assert_true(fabs(entry_of(p, 1) - cases[k].mean) <= 1e-15 * cases[k].mean);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

/* The tolerance is the context's when the problem is made, and the problem's from then on. */
static void symmetry_tolerance(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    assert_int_equal(mpk_context_set_symmetry_tolerance(ctx, 0), MPK_OK);
    assert_int_equal(from_both(ctx, 1, 1 + DBL_EPSILON, &p), MPK_ERR_INPUT);
    assert_int_equal(mpk_context_set_symmetry_tolerance(ctx, 0.01), MPK_OK);
    assert_int_equal(from_both(ctx, 1, 10, &p), MPK_OK);
    assert_true(entry_of(p, 1) == 5.5);
    assert_int_equal(mpk_context_set_symmetry_tolerance(ctx, -1), MPK_OK);
    const double near[] = {1000, 2, 4, 1}, far[] = {100, 2, 4, 1};
    assert_int_equal(mpk_problem_set_values(ctx, p, near), MPK_OK);
    assert_true(entry_of(p, 1) == 3);
    assert_int_equal(mpk_problem_set_values(ctx, p, far), MPK_ERR_INPUT);
    assert_said(ctx, "row 1, column 0 is 2 but row 0, column 1 is 4: the matrix is not symmetric "
                     "(the difference 2 is more than the tolerance, 0.01 times the rows' largest "
                     "entry 100: option symmetry_tolerance)");
    mpk_problem_destroy(&p);
    assert_int_equal(mpk_context_set_symmetry_tolerance(ctx, 1.5), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_context_set_symmetry_tolerance(ctx, NAN), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_context_set_symmetry_tolerance(NULL, 0), MPK_ERR_ARGUMENT);
    mpk_context_destroy(&ctx);
}

/* Triangles that differ: made, given new values, seen from another context, without memory. */
static mpk_status make_apart(mpk_context *ctx) {
    enum { N = 40 };
    static int32_t r[2 * N], c[2 * N];
    static double v[2 * N];
    for (int k = 0; k < N; k++) {
        r[k] = c[N + k] = (k + 1) % N, c[k] = r[N + k] = k;
        v[k] = 1, v[N + k] = 1 + 1e-9 * k;
    }
    mpk_problem *p = NULL;
    mpk_asymmetry a;
    mpk_status status =
        mpk_problem_from_triplets(ctx, N, MPK_D, MPK_SYMMETRIC, MPK_FULL, 2 * N, r, c, v, &p);
    if (!mpk_failed(status)) status = mpk_problem_set_values(ctx, p, v);
    mpk_problem_asymmetry_get(p, &a);
    assert_true(mpk_failed(status) || (a.pairs == N - 1 && a.rough == N - 1));
    mpk_problem_destroy(&p);
    return status;
}

static void apart_without_memory(void **state) {
    (void)state;
    sweep_allocations(make_apart);
    mpk_asymmetry a = {1, 1, 1};
    mpk_problem_asymmetry_get(NULL, &a);
    assert_true(a.pairs == 0 && a.rough == 0 && a.apart == 0);
}

/* A dense matrix by the same law: its mean, or the entry that breaks it. */
static void symmetrize(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_asymmetry a;
    double m[] = {4, 1 + 1e-12, 9, 1, 3, 9};
    assert_int_equal(mpk_symmetrize(ctx, 2, MPK_D, MPK_SYMMETRIC, m, 3, &a), MPK_OK);
    assert_true(m[1] == m[3] && m[1] > 1 && m[1] < 1 + 1e-12 && m[2] == 9 && m[5] == 9);
    assert_true(a.pairs == 1 && a.rough == 0 && fabs(a.apart - 1e-12) < 1e-15);
    float complex h[] = {2, 1 - I, 1 + I, -1};
    assert_int_equal(mpk_symmetrize(ctx, 2, MPK_C, MPK_HERMITIAN, h, 2, &a), MPK_OK);
    assert_true(h[1] == 1 - I && h[2] == 1 + I && a.pairs == 0);
    assert_int_equal(mpk_symmetrize(ctx, 2, MPK_C, MPK_SYMMETRIC, h, 2, &a), MPK_ERR_INPUT);
    assert_said(ctx, "row 1, column 0 is (1, -1) but row 0, column 1 is (1, 1)");
    double bad[] = {1e7, -1, 1, 1};
    assert_int_equal(mpk_symmetrize(ctx, 2, MPK_D, MPK_SYMMETRIC, bad, 2, NULL), MPK_ERR_INPUT);
    assert_true(bad[1] == -1 && bad[2] == 1);
    assert_int_equal(mpk_symmetrize(ctx, 2, MPK_D, MPK_HERMITIAN, bad, 2, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_symmetrize(ctx, 2, MPK_D, MPK_SYMMETRIC, bad, 1, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_symmetrize(ctx, 0, MPK_D, MPK_SYMMETRIC, NULL, 0, NULL), MPK_OK);
    mpk_context_destroy(&ctx);
}

/* Moduli that overflow, of parts that do not: infinity is not near to everything. */
static void largest_moduli(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    const int32_t r[] = {0, 1, 1, 0}, c[] = {0, 1, 0, 1};
    for (int hermitian = 0; hermitian < 2; hermitian++) {
        const mpk_symmetry law = hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC;
        const double turn = hermitian ? -1 : 1;
        const double other[] = {1, 0, 1, 0, 1.5e308, 1.5e308, -1.5e308, 1.4e308};
        const double same[] = {1, 0, 1, 0, 1.5e308, 1.5e308, 1.5e308, turn * 1.5e308};
        const float small[] = {1, 0, 1, 0, 3e38f, 3e38f, -3e38f, 2.9e38f};
        refuse(ctx, MPK_Z, law, MPK_FULL, 4, r, c, other, MPK_ERR_INPUT, "the matrix is not");
        refuse(ctx, MPK_C, law, MPK_FULL, 4, r, c, small, MPK_ERR_INPUT, "the matrix is not");
        assert_int_equal(mpk_problem_from_triplets(ctx, 2, MPK_Z, law, MPK_FULL, 4, r, c, same, &p),
                         MPK_OK);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

static void orders_zero_and_one(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    mpk_problem_view v;
    const int64_t none[] = {0, 0};
    assert_int_equal(
        mpk_problem_from_csc(ctx, 0, MPK_D, MPK_SYMMETRIC, MPK_LOWER, none, NULL, NULL, &p),
        MPK_OK);
    mpk_problem_view_get(p, &v);
    assert_int_equal(v.n, 0);
    assert_int_equal(v.nnz, 0);
    assert_int_equal(v.ap[0], 0);
    assert_int_equal(mpk_problem_multiply(ctx, p, 3, NULL, 0, NULL, 0), MPK_OK);
    mpk_problem_destroy(&p);
    assert_int_equal(
        mpk_problem_from_csc(ctx, 1, MPK_S, MPK_SYMMETRIC, MPK_LOWER, none, NULL, NULL, &p),
        MPK_OK);
    mpk_problem_view_get(p, &v);
    assert_int_equal(v.nnz, 0);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* Hermitian: an entry of the upper triangle is conjugated on its way down. */
static void hermitian(void **state) {
    (void)state;
    const int32_t r[] = {0, 0, 1}, c[] = {0, 1, 1};
    const float complex v[] = {2, 1 + 3 * I, -1};
    mpk_context *ctx = new_context();
    for (int triangle = MPK_UPPER; triangle <= MPK_EITHER; triangle += MPK_EITHER - MPK_UPPER) {
        mpk_problem *p = NULL;
        mpk_problem_view view;
        assert_int_equal(mpk_problem_from_triplets(ctx, 2, MPK_C, MPK_HERMITIAN,
                                                   (mpk_triangle)triangle, 3, r, c, v, &p),
                         MPK_OK);
        mpk_problem_view_get(p, &view);
        assert_int_equal(view.nnz, 3);
        assert_true(((const float complex *)view.ax)[1] == 1 - 3 * I);
        float complex x[] = {1, I}, y[2];
        assert_int_equal(mpk_problem_multiply(ctx, p, 1, x, 2, y, 2), MPK_OK);
        assert_true(y[0] == -1 + I && y[1] == 1 - 4 * I); /* (2 + (1+3i) i, 1-3i - i) */
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

static void set_values(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    mpk_problem_view v;
    assert_int_equal(mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_LOWER, lower_ap,
                                          lower_ai, lower_values, &p),
                     MPK_OK);
    const double bad[] = {1, 2, 3, INFINITY, 5}, good[] = {1, 2, 3, 4, 5};
    assert_int_equal(mpk_problem_set_values(ctx, p, bad), MPK_ERR_INPUT);
    assert_said(ctx, "row 2, column 1");
    assert_same(p);
    assert_int_equal(mpk_problem_set_values(ctx, p, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_set_values(ctx, NULL, good), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_set_values(ctx, p, good), MPK_OK);
    mpk_problem_view_get(p, &v);
    assert_memory_equal(v.ax, good, sizeof good);
    mpk_problem_destroy(&p);
    const double complex h[] = {1, I}, imaginary[] = {1 + I, I};
    const int64_t ap[] = {0, 2, 2};
    const int32_t ai[] = {0, 1};
    assert_int_equal(mpk_problem_from_csc(ctx, 2, MPK_Z, MPK_HERMITIAN, MPK_LOWER, ap, ai, h, &p),
                     MPK_OK);
    assert_int_equal(mpk_problem_set_values(ctx, p, imaginary), MPK_ERR_INPUT);
    assert_int_equal(mpk_problem_set_values(ctx, p, h), MPK_OK);
    mpk_problem_destroy(&p);
    mpk_problem_view_get(NULL, &v);
    assert_int_equal(v.n, 0);
    mpk_context_destroy(&ctx);
}

static mpk_status build_unsorted(mpk_context *ctx) {
    const int32_t r[] = {2, 1, 2, 0, 1, 2}, c[] = {2, 1, 0, 0, 0, 0};
    const double v[] = {5, 0, 2, 4, 1, 3};
    mpk_problem *p = NULL;
    mpk_status status =
        mpk_problem_from_triplets(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_LOWER, 6, r, c, v, &p);
    assert_true((status == MPK_OK) == (p != NULL));
    mpk_problem_destroy(&p);
    return status;
}

static mpk_status build_csc(mpk_context *ctx) {
    mpk_problem *p = NULL;
    mpk_status status = mpk_problem_from_csc(ctx, 3, MPK_D, MPK_SYMMETRIC, MPK_LOWER, lower_ap,
                                             lower_ai, lower_values, &p);
    mpk_problem_destroy(&p);
    return status;
}

static void memory_runs_out(void **state) {
    (void)state;
    sweep_allocations(build_unsorted);
    sweep_allocations(build_csc);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_orders),
        cmocka_unit_test(wide_files),
        cmocka_unit_test(csc_lower),
        cmocka_unit_test(triangles),
        cmocka_unit_test(shuffled),
        cmocka_unit_test(bad_entries),
        cmocka_unit_test(nearly_symmetric),
        cmocka_unit_test(symmetry_tolerance),
        cmocka_unit_test(apart_without_memory),
        cmocka_unit_test(symmetrize),
        cmocka_unit_test(largest_moduli),
        cmocka_unit_test(orders_zero_and_one),
        cmocka_unit_test(hermitian),
        cmocka_unit_test(set_values),
        cmocka_unit_test(ignored_triangle),
        cmocka_unit_test(pointers),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
