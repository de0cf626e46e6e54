/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices that are not symmetric: arrays, files, new values, products, residuals, norms. */
#include "reading.h"

#include "core/pool.h"
#include "core/random.h"
#include "problem/full.h"
#include "problem/measure.h"

#include <complex.h>
#include <math.h>
#include <unistd.h>

/* [ 0 3 0 ]
 * [ 2 0 2 ]   by columns
 * [ 0 4 5 ] */
static const int64_t known_ap[] = {0, 1, 3, 5};
static const int32_t known_ai[] = {1, 0, 2, 1, 2};
static const double known_ax[] = {2, 3, 4, 2, 5};

static void assert_known(const mpk_problem *p) {
    mpk_problem_view v;
    mpk_problem_view_get(p, &v);
    assert_int_equal(v.n, 3);
    assert_int_equal(v.nnz, 5);
    assert_int_equal(v.scalar, MPK_D);
    assert_int_equal(v.symmetry, MPK_GENERAL);
    assert_memory_equal(v.ap, known_ap, sizeof known_ap);
    assert_memory_equal(v.ai, known_ai, sizeof known_ai);
    assert_memory_equal(v.ax, known_ax, sizeof known_ax);
}

static mpk_status known(mpk_context *ctx, mpk_triangle triangle, mpk_problem **p) {
    return mpk_problem_from_csc(ctx, 3, MPK_D, MPK_GENERAL, triangle, known_ap, known_ai, known_ax,
                                p);
}

/* The order in which entries come, and how often, makes no difference. */
static void arrays(void **state) {
    (void)state;
    static const int32_t rows[] = {2, 1, 0, 2, 1, 2}, cols[] = {2, 2, 1, 1, 0, 2};
    static const double values[] = {3, 2, 3, 4, 2, 2}, twice[] = {6, 4, 6, 8, 4, 4};
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    mpk_problem_view v;
    assert_int_equal(known(ctx, MPK_FULL, &p), MPK_OK);
    assert_known(p);
    mpk_problem_destroy(&p);
    assert_int_equal(
        mpk_problem_from_triplets(ctx, 3, MPK_D, MPK_GENERAL, MPK_FULL, 6, rows, cols, values, &p),
        MPK_OK);
    assert_known(p);
    assert_int_equal(mpk_problem_set_values(ctx, p, twice), MPK_OK);
    mpk_problem_view_get(p, &v);
    for (int k = 0; k < 5; k++) assert_true(((const double *)v.ax)[k] == 2 * known_ax[k]);
    assert_int_equal(mpk_problem_set_lower(ctx, p, known_ax), MPK_OK);
    assert_known(p);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

static void refused_arrays(void **state) {
    (void)state;
    static const int32_t at[] = {0, 0};
    static const double huge[] = {1e308, 1e308};
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    for (int t = MPK_LOWER; t <= MPK_EITHER; t++) {
        if (t == MPK_FULL) continue;
        assert_int_equal(known(ctx, (mpk_triangle)t, &p), MPK_ERR_ARGUMENT);
        assert_said(ctx, "give all of its entries, with triangle MPK_FULL");
        assert_null(p);
    }
    assert_int_equal(
        mpk_problem_from_triplets(ctx, 1, MPK_D, MPK_GENERAL, MPK_FULL, 2, at, at, huge, &p),
        MPK_ERR_INPUT);
    assert_said(ctx, "overflows");
    assert_int_equal(
        mpk_problem_from_triplets(ctx, 1, MPK_D, (mpk_symmetry)3, MPK_FULL, 2, at, at, huge, &p),
        MPK_ERR_ARGUMENT);
    mpk_context_destroy(&ctx);
}

#define REAL "%%MatrixMarket matrix coordinate real "
#define RB                                                                                         \
    "Three unknowns                                                          KEY     \n"           \
    "             4             1             1             2\n"

/* Files with both triangles: general only where no law holds. */
static void files(void **state) {
    (void)state;
    static const struct {
        const char *text;
        mpk_symmetry symmetry;
        mpk_scalar scalar;
        int nnz;
    } cases[] = {
        {REAL "general\n3 3 5\n2 1 2\n1 2 3\n3 2 4\n2 3 2\n3 3 5\n", MPK_GENERAL, MPK_D, 5},
        {REAL "general\n3 3 5\n3 3 5\n1 2 3\n3 2 4\n2 3 2\n2 1 2\n", MPK_GENERAL, MPK_D, 5},
        {REAL "general\n3 3 6\n3 3 5\n1 2 1\n3 2 4\n1 2 2\n2 3 2\n2 1 2\n", MPK_GENERAL, MPK_D, 5},
        {REAL "general\n2 2 1\n2 1 1\n", MPK_GENERAL, MPK_D, 1},
        {REAL "general\n2 2 3\n1 1 1\n2 1 1\n1 2 1.0000001\n", MPK_SYMMETRIC, MPK_D, 2},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", MPK_GENERAL, MPK_D, 4},
        {"%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 1\n1 2\n", MPK_GENERAL, MPK_D,
         2},
        {"%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 2 1 1\n2 1 1 -1\n",
         MPK_HERMITIAN, MPK_Z, 1},
        {"%%MatrixMarket matrix coordinate complex general\n2 2 2\n1 2 1 1\n2 1 2 -1\n",
         MPK_GENERAL, MPK_Z, 2},
        {RB "rua            3  3  5  0\n(4I1)(5I1)(5F3.0)\n1246\n21323\n 2. 3. 4. 2. 5.\n",
         MPK_GENERAL, MPK_D, 5},
        {RB "cua            2  2  2  0\n(3I1)(2I1)(4F3.0)\n123\n21\n 1. 2. 3. 4.\n", MPK_GENERAL,
         MPK_Z, 2},
        {RB "pua            2  2  1  0\n(3I1)(2I1)\n122\n2\n", MPK_GENERAL, MPK_D, 1},
    };
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_problem *p = NULL;
        mpk_problem_view v;
        const mpk_status status = read_text(ctx, cases[k].text, &p);
        const char *said = NULL;
        mpk_last_error(ctx, NULL, NULL, &said);
        if (status != MPK_OK) fail_msg("case %zu: %s", k, said);
        mpk_problem_view_get(p, &v);
        assert_int_equal(v.symmetry, cases[k].symmetry);
        assert_int_equal(v.scalar, cases[k].scalar);
        assert_int_equal(v.nnz, cases[k].nnz);
        if (k < 3 || strstr(cases[k].text, "rua")) assert_known(p);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

/* A = -A^T: the half that is listed, and the other one. */
static void skew(void **state) {
    (void)state;
    static const int64_t ap[] = {0, 2, 4, 6};
    static const int32_t ai[] = {1, 2, 0, 2, 0, 1};
    static const double ax[] = {1, -2, -1, 3, 2, -3};
    static const char *const texts[] = {
        REAL "skew-symmetric\n3 3 3\n2 1 1\n3 2 3\n3 1 -2\n",
        "%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n-2\n3\n",
        RB "rza            3  3  3  0\n(4I1)(3I1)(3F3.0)\n1344\n233\n 1.-2. 3.\n"};
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    mpk_problem_view v;
    for (int k = 0; k < 3; k++) {
        assert_int_equal(read_text(ctx, texts[k], &p), MPK_OK);
        mpk_problem_view_get(p, &v);
        assert_int_equal(v.symmetry, MPK_GENERAL);
        assert_int_equal(v.nnz, 6);
        assert_memory_equal(v.ap, ap, sizeof ap);
        assert_memory_equal(v.ai, ai, sizeof ai);
        assert_memory_equal(v.ax, ax, sizeof ax);
        mpk_problem_destroy(&p);
    }
    /* zeros on the diagonal may be listed; complex; one row */
    assert_int_equal(read_text(ctx, REAL "skew-symmetric\n2 2 2\n1 1 0\n2 1 1\n", &p), MPK_OK);
    mpk_problem_view_get(p, &v);
    assert_int_equal(v.nnz, 3);
    mpk_problem_destroy(&p);
    assert_int_equal(read_text(ctx,
                               "%%MatrixMarket matrix coordinate complex skew-symmetric\n"
                               "2 2 1\n2 1 1 -2\n",
                               &p),
                     MPK_OK);
    mpk_problem_view_get(p, &v);
    assert_true(((const double complex *)v.ax)[1] == -1 + 2 * I);
    mpk_problem_destroy(&p);
    assert_int_equal(read_text(ctx, "%%MatrixMarket matrix array real skew-symmetric\n1 1\n", &p),
                     MPK_OK);
    mpk_problem_view_get(p, &v);
    assert_int_equal(v.nnz, 0);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

/* Who says how far from symmetric a matrix may be wants a symmetric one. */
static void asked_to_be_symmetric(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    assert_int_equal(mpk_context_set_symmetry_tolerance(ctx, 1e-6), MPK_OK);
    assert_int_equal(read_text(ctx, REAL "general\n2 2 1\n2 1 1\n", &p), MPK_ERR_INPUT);
    assert_said(ctx, "row 2, column 1 is 1 but row 1, column 2 is 0: the matrix is not symmetric");
    assert_null(p);
    assert_int_equal(known(ctx, MPK_FULL, &p), MPK_OK); /* this one is called general */
    assert_known(p);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

static void written_and_read(void **state) {
    (void)state;
    static const char *const specs[] = {"convection 6 rows=shuffled", "convection 5 damping=3"};
    static const char *const names[] = {"/tmp/metapack-general-%d.mtx",
                                        "/tmp/metapack-general-%d.rb"};
    mpk_context *ctx = new_context();
    for (int k = 0; k < 4; k++) {
        char path[64];
        mpk_problem *p = NULL, *q = NULL;
        mpk_problem_view v, w;
        snprintf(path, sizeof path, names[k / 2], (int)getpid());
        assert_int_equal(mpk_problem_generate(ctx, specs[k % 2], 5, &p), MPK_OK);
        assert_int_equal(mpk_problem_write(ctx, p, path), MPK_OK);
        assert_int_equal(mpk_problem_read(ctx, path, &q), MPK_OK);
        unlink(path);
        mpk_problem_view_get(p, &v);
        mpk_problem_view_get(q, &w);
        assert_int_equal(w.symmetry, MPK_GENERAL);
        assert_int_equal(v.nnz, w.nnz);
        assert_memory_equal(v.ap, w.ap, ((size_t)v.n + 1) * sizeof *v.ap);
        assert_memory_equal(v.ai, w.ai, (size_t)v.nnz * sizeof *v.ai);
        assert_memory_equal(v.ax, w.ax, (size_t)v.nnz * mpk_scalar_size(v.scalar));
        mpk_problem_destroy(&p);
        mpk_problem_destroy(&q);
    }
    mpk_context_destroy(&ctx);
}

/* ---- products -------------------------------------------------------------------------------- */

enum { N = 40 };

static double complex load(mpk_scalar s, const void *a, int64_t k) {
    return s == MPK_S   ? ((const float *)a)[k]
           : s == MPK_D ? ((const double *)a)[k]
           : s == MPK_C ? ((const float complex *)a)[k]
                        : ((const double complex *)a)[k];
}

static void store(mpk_scalar s, void *a, int64_t k, double complex x) {
    if (s == MPK_S) ((float *)a)[k] = (float)creal(x);
    if (s == MPK_D) ((double *)a)[k] = creal(x);
    if (s == MPK_C) ((float complex *)a)[k] = (float complex)x;
    if (s == MPK_Z) ((double complex *)a)[k] = x;
}

/* Some 200 entries at random places, and what they are as a dense matrix. */
static mpk_problem *random_problem(mpk_context *ctx, mpk_scalar scalar, double complex *dense) {
    int32_t rows[200], cols[200];
    double complex values[200];
    uint64_t state = 9;
    mpk_problem *p = NULL;
    memset(dense, 0, N * N * sizeof *dense);
    for (int k = 0; k < 200; k++) {
        rows[k] = (int32_t)(mpki_random_next(&state) >> 33) % N;
        cols[k] = (int32_t)(mpki_random_next(&state) >> 33) % N;
        const double re = (double)(mpki_random_next(&state) >> 60) - 7.5;
        const double im = scalar >= MPK_C ? (double)(mpki_random_next(&state) >> 60) - 7.5 : 0;
        dense[rows[k] * N + cols[k]] += re + im * I;
        store(scalar, values, k, re + im * I);
    }
    assert_int_equal(mpk_problem_from_triplets(ctx, N, scalar, MPK_GENERAL, MPK_FULL, 200, rows,
                                               cols, values, &p),
                     MPK_OK);
    return p;
}

/* All ways to b - A x, in small numbers that every precision adds without rounding. */
static void products(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    double complex dense[N * N], x[N], b[N], y[N], r[N];
    double w[N], sums[N], work[MPKI_RESIDUAL_WORK(MPK_Z) * N];
    for (int scalar = MPK_S; scalar <= MPK_Z; scalar++) {
        const mpk_scalar s = (mpk_scalar)scalar;
        mpk_problem *p = random_problem(ctx, s, dense);
        mpk_problem_view v;
        mpki_full full;
        double norm = 0;
        mpk_problem_view_get(p, &v);
        for (int i = 0; i < N; i++) {
            store(s, x, i, i % 5 - 2 + (s >= MPK_C ? (i % 3) * I : 0));
            store(s, b, i, i % 7);
        }
        assert_int_equal(mpk_problem_multiply(ctx, p, 1, x, N, y, N), MPK_OK);
        mpki_residual(&v, x, b, r, w, work);
        const double inf = mpki_row_sums(&v, sums);
        for (int i = 0; i < N; i++) {
            double complex ax = 0;
            double size = cabs(load(s, b, i)), sum = 0;
            for (int j = 0; j < N; j++) {
                ax += dense[i * N + j] * load(s, x, j);
                size += cabs(dense[i * N + j]) * cabs(load(s, x, j));
                sum += cabs(dense[i * N + j]);
            }
            norm = fmax(norm, sum);
            assert_true(cabs(load(s, y, i) - ax) <= 1e-4);
            assert_true(cabs(load(s, r, i) - (load(s, b, i) - ax)) <= 1e-4);
            assert_true(fabs(w[i] - size) <= 1e-9 * size);
            assert_true(fabs(sums[i] - sum) <= 1e-9 * sum + 1e-300);
        }
        assert_true(fabs(inf - norm) <= 1e-9 * norm);
        assert_int_equal(mpki_full_make(ctx, &v, 3, &full, NULL), MPK_OK);
        assert_int_equal(full.nnz, v.nnz);
        for (int i = 0; i < N; i++)
            for (int64_t k = full.ptr[i]; k < full.ptr[i + 1]; k++) {
                if (k > full.ptr[i]) assert_true(full.col[k] > full.col[k - 1]);
                assert_true(load(s, full.val, k) == dense[i * N + full.col[k]]);
            }
        mpki_full_residual(&full, NULL, x, b, y, w);
        assert_memory_equal(y, r, N * mpk_scalar_size(s));
        /* in extended range the same */
        const mpki_system system = {.ctx = ctx, .a = v, .row_norm = sums, .norm_inf = inf};
        const mpki_quality q = MPKI_DISPATCH(s, measure)(&system, x, b, y, w, work);
        const mpki_quality wide = MPKI_DISPATCH(s, measure_wide)(&system, x, b, y);
        assert_true(fabs(q.componentwise - wide.componentwise) <= 1e-6 * q.componentwise);
        assert_true(fabs(q.normwise - wide.normwise) <= 1e-6 * q.normwise);
        mpki_full_free(ctx, &full);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

/* Rows split among threads give the same matrix. */
static void full_by_threads(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    mpk_problem_view v;
    mpki_full one, four;
    assert_int_equal(mpk_problem_generate(ctx, "convection 180 rows=shuffled", 2, &p), MPK_OK);
    mpk_problem_view_get(p, &v);
    assert_int_equal(mpki_full_make(ctx, &v, 1, &one, NULL), MPK_OK);
    assert_int_equal(mpki_full_make(ctx, &v, 4, &four, NULL), MPK_OK);
    assert_true(four.parts > one.parts);
    assert_memory_equal(one.ptr, four.ptr, ((size_t)v.n + 1) * sizeof *one.ptr);
    assert_memory_equal(one.col, four.col, (size_t)v.nnz * sizeof *one.col);
    assert_memory_equal(one.val, four.val, (size_t)v.nnz * sizeof(double));
    mpki_full_free(ctx, &one);
    mpki_full_free(ctx, &four);
    mpk_problem_destroy(&p);
    mpk_context_destroy(&ctx);
}

static mpk_status from_file(mpk_context *ctx) {
    mpk_problem *p = NULL;
    const mpk_status status =
        read_text(ctx, REAL "general\n3 3 5\n3 3 5\n1 2 3\n3 2 4\n2 3 2\n2 1 2\n", &p);
    mpk_problem_destroy(&p);
    return status;
}
static mpk_status from_skew(mpk_context *ctx) {
    mpk_problem *p = NULL;
    const mpk_status status = read_text(ctx, REAL "skew-symmetric\n3 3 2\n3 1 5\n2 1 3\n", &p);
    mpk_problem_destroy(&p);
    return status;
}
static mpk_status from_arrays(mpk_context *ctx) {
    mpk_problem *p = NULL;
    const mpk_status status = known(ctx, MPK_FULL, &p);
    mpk_problem_destroy(&p);
    return status;
}
static mpk_status generated(mpk_context *ctx) {
    mpk_problem *p = NULL;
    const mpk_status status = mpk_problem_generate(ctx, "convection 3 rows=shuffled", 1, &p);
    mpk_problem_destroy(&p);
    return status;
}
static void memory_runs_out(void **state) {
    (void)state;
    sweep_allocations(from_file);
    sweep_allocations(from_skew);
    sweep_allocations(from_arrays);
    sweep_allocations(generated);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays),
        cmocka_unit_test(refused_arrays),
        cmocka_unit_test(files),
        cmocka_unit_test(asked_to_be_symmetric),
        cmocka_unit_test(skew),
        cmocka_unit_test(written_and_read),
        cmocka_unit_test(products),
        cmocka_unit_test(full_by_threads),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
