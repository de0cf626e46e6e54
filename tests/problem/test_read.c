/* SPDX-License-Identifier: BSD-3-Clause */
/* One matrix in many Matrix Market files, and files that are refused. */
#include "reading.h"

#include <zlib.h>

#define REAL "%%MatrixMarket matrix coordinate real "

static void one_matrix_in_many_files(void **state) {
    (void)state;
    static const char *const files[] = {
        REAL "symmetric\n3 3 5\n1 1 4\n2 1 1\n2 2 0\n3 2 2\n3 3 5\n",
        REAL "symmetric\r\n% by hand\r\n\r\n3 3 5\r\n1 1 4\r\n2 1 1\r\n2 2 0\r\n3 2 2\r\n3 3 5\r\n",
        REAL
        "symmetric\n%\n%c\n3 3 5\n3 3 5.0\n2 3 2d0\n\n2 2 0E5\n1 2 +1\n%\n1 1 .4e1", /* no \n */
        REAL "general\n3 3 7\n1 1 4\n1 2 1\n2 1 1\n2 2 0\n2 3 2\n3 2 2\n3 3 5\n  \n%end\n",
        "%MatrixMarket MATRIX Coordinate Integer Symmetric\n3 3 5\n1 1 4\n2 1 1\n2 2 0\n3 2 2\n3 3 "
        "5\n",
        REAL "symmetric\n3 3 6\n1 1 4\n2 1 .5\n2 2 0\n\t3 2 2\n3 3 5\n2 1 0.5 \n",
        REAL "hermitian\n3 3 5\n1 1 4\n2 1 1\n2 2 0\n3 2 2\n3 3 5\n",
        "\xEF\xBB\xBF" REAL "symmetric\n3 3 5\n1 1 4\n2 1 1\n2 2 0\n3 2 2\n3 3 5\n",
    };
    static const int64_t ap[] = {0, 2, 4, 5};
    static const int32_t ai[] = {0, 1, 1, 2, 2};
    static const double ax[] = {4, 1, 0, 2, 5};
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        mpk_problem *p = NULL;
        mpk_problem_view v;
        assert_int_equal(read_text(ctx, files[k], &p), MPK_OK);
        mpk_problem_view_get(p, &v);
        assert_int_equal(v.n, 3);
        assert_int_equal(v.nnz, 5);
        assert_int_equal(v.scalar, MPK_D);
        assert_memory_equal(v.ap, ap, sizeof ap);
        assert_memory_equal(v.ai, ai, sizeof ai);
        assert_memory_equal(v.ax, ax, sizeof ax);
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

static void refused_files(void **state) {
    (void)state;
    static const refused_text cases[] = {
        {REAL "symmetric\n2 2 1\n1 1 nan\n", MPK_ERR_INPUT, "text:3: row 1, column 1: NaN"},
        {REAL "symmetric\n2 2 1\n2 1 -inf\n", MPK_ERR_INPUT, "text:3: row 2, column 1"},
        {REAL "symmetric\n2 2 1\n2 1 1e400\n", MPK_ERR_INPUT, "too large"},
        {REAL "symmetric\n2 2 1\n3 1 1\n", MPK_ERR_INPUT, "text:3: row 3, column 1 is outside"},
        {REAL "symmetric\n2 2 1\n0 1 1\n", MPK_ERR_INPUT, "row 0"},
        {REAL "symmetric\n2 2 1\n-1 1 1\n", MPK_ERR_FORMAT, "row and a column"},
        {REAL "symmetric\n2 2 1\n1 1\n", MPK_ERR_FORMAT,
         "text:3: row 1, column 1: expected a number"},
        {REAL "symmetric\n2 2 1\n1 1 1 1\n", MPK_ERR_FORMAT, "after the last number"},
        {REAL "symmetric\n2 2 1\n1 1 1x\n", MPK_ERR_FORMAT, "expected a number"},
        {REAL "symmetric\n2 2 2\n1 1 10000\n", MPK_ERR_FORMAT, "after 1 of 2 entries"},
        {REAL "symmetric\n2 2 1\n1 1 1\n2 2 1\n", MPK_ERR_FORMAT, "text:4: more than the 1"},
        {REAL "symmetric\n2 3 1\n1 1 1\n", MPK_ERR_INPUT, "not square: 2 x 3"},
        {REAL "symmetric\n0 0 0\n", MPK_ERR_INPUT, "empty"},
        {REAL "symmetric\n3000000000 3000000000 1\n1 1 1\n", MPK_ERR_SIZE, "3000000000"},
        {REAL "symmetric\n2000000000 2000000000 1\n1 1 1\n", MPK_ERR_INPUT, "rows are empty"},
        {REAL "symmetric\n2 2 1000000\n1 1 1\n", MPK_ERR_FORMAT, "characters follow"},
        {REAL "symmetric\n2 2 99999999999999999999\n", MPK_ERR_FORMAT, "sizes"},
        {REAL "symmetric\n2 2\n", MPK_ERR_FORMAT, "text:2: expected the sizes"},
        {REAL "symmetric\n", MPK_ERR_FORMAT, "before the sizes"},
        {REAL "symmetric\n2 2 2\n2 1 1\n1 2 1\n", MPK_ERR_INPUT, "both triangles"},
        {REAL "skew-symmetric\n2 2 1\n1 2 1\n", MPK_ERR_INPUT,
         "text: row 1, column 2: a skew-symmetric matrix lists the entries below its diagonal"},
        {REAL "skew-symmetric\n2 2 1\n1 1 1\n", MPK_ERR_INPUT, "and is zero on it"},
        {REAL "skew-symmetric\n2 3 1\n1 1 1\n", MPK_ERR_INPUT, "not square: 2 x 3"},
        {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n2 2 1\n2 1\n", MPK_ERR_FORMAT,
         "no signs"},
        {REAL "sym\n2 2 1\n2 1 1\n", MPK_ERR_FORMAT, "sym"},
        {"%%MatrixMarket vector coordinate real symmetric\n", MPK_ERR_FORMAT, "vector"},
        {"%%MatrixMarket matrix array pattern symmetric\n1 1\n", MPK_ERR_FORMAT, "pattern"},
        {"%%MatrixMarket\n", MPK_ERR_FORMAT, "expected"},
        {"%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n", MPK_ERR_INPUT, "3 x 1"},
        {"", MPK_ERR_FORMAT, "empty"},
        {"hello\n", MPK_ERR_FORMAT, "neither"},
        {"\x01\x02\x03", MPK_ERR_FORMAT, "binary"},
        {"BZh91AY&SY", MPK_ERR_FORMAT, "bzip2"},
        {"%%MatrixMarket matrix coordinate complex symmetric\n1 1 1\n1 1 1\n", MPK_ERR_FORMAT,
         "two for each"},
        {"%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 1 1\n", MPK_ERR_INPUT,
         "real diagonal"},
    };
    assert_refused(cases, sizeof cases / sizeof *cases);
}

/* Dense files: every entry is stored, zeros too. */
static void arrays(void **state) {
    (void)state;
    static const struct {
        const char *text;
        mpk_scalar scalar;
        mpk_symmetry symmetry;
    } cases[] = {
        {"%%MatrixMarket matrix array real general\n2 2\n1\n0\n0\n3\n", MPK_D, MPK_SYMMETRIC},
        {"%%MatrixMarket matrix array integer symmetric\n2 2\n1\n0\n3\n", MPK_D, MPK_SYMMETRIC},
        {"%%MatrixMarket matrix array complex general\n2 2\n1 0\n0 2\n0 -2\n3 0\n", MPK_Z,
         MPK_HERMITIAN},
        {"%%MatrixMarket matrix array complex general\n2 2\n1 1\n0 2\n0 2\n3 0\n", MPK_Z,
         MPK_SYMMETRIC},
        {"%%MatrixMarket matrix array complex hermitian\n2 2\n1 0\n0 2\n3 0\n", MPK_Z,
         MPK_HERMITIAN},
    };
    static const int64_t ap[] = {0, 2, 3};
    static const int32_t ai[] = {0, 1, 1};
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_problem *p = NULL;
        mpk_problem_view v;
        assert_int_equal(read_text(ctx, cases[k].text, &p), MPK_OK);
        mpk_problem_view_get(p, &v);
        assert_int_equal(v.scalar, cases[k].scalar);
        assert_int_equal(v.symmetry, cases[k].symmetry);
        assert_int_equal(v.nnz, 3);
        assert_memory_equal(v.ap, ap, sizeof ap);
        assert_memory_equal(v.ai, ai, sizeof ai);
        if (v.scalar == MPK_Z) assert_true(((const double *)v.ax)[3] == 2); /* Im of (2, 1) */
        mpk_problem_destroy(&p);
    }
    mpk_context_destroy(&ctx);
}

/* More entries than the first allocation, from a source whose size says nothing. */
static void grows(void **state) {
    (void)state;
    enum { N = 200000 };
    char *text = malloc(N * 24), *p = text;
    assert_non_null(text);
    p += sprintf(p, "%%%%MatrixMarket matrix coordinate pattern symmetric\n%d %d %d\n", N, N, N);
    for (int k = N; k > 0; k--) p += sprintf(p, "%d %d\n", k, k);
    unsigned char *packed = malloc(N * 24);
    uLongf size = N * 24;
    assert_non_null(packed);
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, 1, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)text;
    z.avail_in = (unsigned)(p - text);
    z.next_out = packed;
    z.avail_out = (unsigned)size;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size -= z.avail_out;
    deflateEnd(&z);
    mpk_context *ctx = new_context();
    mpki_stream *stream = NULL;
    mpk_problem *problem = NULL;
    mpk_problem_view v;
    assert_int_equal(mpki_stream_memory(ctx, "packed", packed, size, &stream), MPK_OK);
    assert_int_equal(mpki_problem_read_stream(ctx, stream, &problem), MPK_OK);
    mpki_stream_close(&stream);
    mpk_problem_view_get(problem, &v);
    assert_int_equal(v.nnz, N);
    for (int k = 0; k < N; k++) assert_true(v.ai[k] == k && ((const double *)v.ax)[k] == 1);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    free(packed);
    free(text);
}

static mpk_status one_file(mpk_context *ctx) {
    mpk_problem *p = NULL;
    mpk_status status = read_text(
        ctx, REAL "general\n3 3 7\n1 1 4\n1 2 1\n2 1 1\n2 2 0\n2 3 2\n3 2 2\n3 3 5\n", &p);
    mpk_problem_destroy(&p);
    return status;
}

static void memory_runs_out(void **state) {
    (void)state;
    sweep_allocations(one_file);
}

static void bad_arguments(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpk_problem *p = NULL;
    assert_int_equal(mpk_problem_read(ctx, NULL, &p), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_read(ctx, "x", NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_read(NULL, "x", &p), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_problem_read(ctx, "/nonexistent", &p), MPK_ERR_FILE);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_matrix_in_many_files),
        cmocka_unit_test(refused_files),
        cmocka_unit_test(arrays),
        cmocka_unit_test(grows),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
