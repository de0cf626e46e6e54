/* SPDX-License-Identifier: BSD-3-Clause */
/* Right-hand sides, read and written. */
#include "support.h"

#include "problem/text.h"
#include <complex.h>
#include <unistd.h>

static mpk_status read_text(mpk_context *ctx, const char *text, int32_t n, mpk_scalar scalar,
                            int32_t *nrhs, void **b) {
    mpki_stream *stream = NULL;
    mpki_clear_error(ctx);
    mpk_status status = mpki_stream_memory(ctx, "text", text, strlen(text), &stream);
    if (!mpk_failed(status)) status = mpki_rhs_read_stream(ctx, stream, n, scalar, nrhs, b);
    mpki_stream_close(&stream);
    return status;
}

#define ARRAY "%%MatrixMarket matrix array "
#define COORDINATE "%%MatrixMarket matrix coordinate "

/* The columns (1, 2, 3) and (4, 0, -1) as every scalar and from every form. */
static void forms(void **state) {
    (void)state;
    static const char *const files[] = {
        ARRAY "real general\n3 2\n1\n2\n3\n4\n0\n-1\n",
        ARRAY "integer general\n% c\n3 2\n1\n2\n\n3\n4\n0\n-1",
        ARRAY "complex general\n3 2\n1 0\n2 0\n3 0\n4 0\n0 0\n-1 0\n",
        COORDINATE "real general\n3 2 6\n3 2 -1\n1 1 1\n2 1 2\n3 1 1\n3 1 2\n1 2 4\n",
    };
    static const double want[] = {1, 2, 3, 4, 0, -1};
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof files / sizeof *files; k++)
        for (int t = MPK_S; t <= MPK_Z; t++) {
            int32_t nrhs = -1;
            void *b = NULL;
            mpk_status status = read_text(ctx, files[k], 3, (mpk_scalar)t, &nrhs, &b);
            if (strstr(files[k], "complex") && t < MPK_C) {
                assert_int_equal(status, MPK_ERR_INPUT);
                assert_said(ctx, "the matrix is real");
                assert_null(b);
                continue;
            }
            assert_int_equal(status, MPK_OK);
            assert_int_equal(nrhs, 2);
            for (int i = 0; i < 6; i++)
                assert_true(want[i] == (t == MPK_S   ? ((float *)b)[i]
                                        : t == MPK_D ? ((double *)b)[i]
                                        : t == MPK_C ? ((float complex *)b)[i]
                                                     : ((double complex *)b)[i]));
            mpk_free(ctx, &b);
            assert_null(b);
        }
    mpk_context_destroy(&ctx);
}

static void refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        mpk_status status;
        const char *said;
    } cases[] = {
        {ARRAY "real general\n4 1\n1\n2\n3\n4\n", MPK_ERR_INPUT,
         "text:2: 4 rows, but the matrix has 3"},
        {ARRAY "real general\n3 0\n", MPK_ERR_INPUT, "no column"},
        {ARRAY "real general\n3 1\n1\nnan\n3\n", MPK_ERR_INPUT, "text:4: row 2, column 1: NaN"},
        {ARRAY "real general\n3 1\n1\n2\n", MPK_ERR_FORMAT, "after 2 of 3"},
        {ARRAY "real general\n3 1\n1\n2\n3\n4\n", MPK_ERR_FORMAT, "more than the 3"},
        {ARRAY "real general\n3 2000000000\n1\n2\n3\n4\n", MPK_ERR_FORMAT, "characters follow"},
        {ARRAY "real general\n3 3000000000\n1\n2\n3\n4\n", MPK_ERR_SIZE, "too many"},
        {ARRAY "real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n", MPK_ERR_INPUT, "'general'"},
        {COORDINATE "pattern general\n3 1 1\n1 1\n", MPK_ERR_INPUT, "values"},
        {COORDINATE "real general\n3 2000000000 1\n1 1 1\n", MPK_ERR_SIZE, "too many"},
        {COORDINATE "real general\n3 1 1\n1 2 1\n", MPK_ERR_INPUT, "row 1, column 2 is outside"},
        {COORDINATE "real general\n3 1 2\n1 1 1.7e308\n1 1 1.7e308\n", MPK_ERR_INPUT,
         "text: row 1, column 1 is too large"},
        {"1\n2\n3\n", MPK_ERR_FORMAT, "not a Matrix Market"},
    };
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        int32_t nrhs = -1;
        void *b = NULL;
        assert_int_equal(read_text(ctx, cases[k].text, 3, MPK_D, &nrhs, &b), cases[k].status);
        assert_said(ctx, cases[k].said);
        assert_null(b);
        assert_int_equal(nrhs, -1);
        int64_t held;
        mpk_memory_usage(ctx, &held, NULL);
        assert_int_equal(held, 0);
    }
    int32_t nrhs;
    void *b = NULL;
    assert_int_equal(read_text(ctx, ARRAY "real general\n1 1\n1e200\n", 1, MPK_S, &nrhs, &b),
                     MPK_ERR_INPUT);
    assert_said(ctx, "too large for its type");
    assert_int_equal(mpk_rhs_read(ctx, NULL, 1, MPK_D, &nrhs, &b), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_rhs_read(ctx, "x", -1, MPK_D, &nrhs, &b), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_rhs_read(ctx, "/nonexistent", 1, MPK_D, &nrhs, &b), MPK_ERR_FILE);
    assert_int_equal(mpk_rhs_write(ctx, NULL, 1, MPK_D, 1, &nrhs, 1), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_rhs_write(ctx, "x", 2, MPK_D, 1, &nrhs, 1), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_rhs_write(ctx, "x", 2, MPK_D, 1, NULL, 2), MPK_ERR_ARGUMENT);
    const double x[2000] = {1};
    assert_int_equal(mpk_rhs_write(ctx, "/dev/full", 2000, MPK_D, 1, x, 2000), MPK_ERR_FILE);
    mpk_context_destroy(&ctx);
}

static void there_and_back(void **state) {
    (void)state;
    enum { N = 3, LDX = 5, NRHS = 2 };
    char path[] = "/tmp/metapack-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    mpk_context *ctx = new_context();
    double complex x[LDX * NRHS], *back;
    for (int k = 0; k < LDX * NRHS; k++) x[k] = 1.0 / (k + 1) - k * 1e-200 * I;
    int32_t nrhs = 0;
    void *b = NULL;
    assert_int_equal(mpk_rhs_write(ctx, path, N, MPK_Z, NRHS, x, LDX), MPK_OK);
    assert_int_equal(mpk_rhs_read(ctx, path, N, MPK_Z, &nrhs, &b), MPK_OK);
    assert_int_equal(nrhs, NRHS);
    back = b;
    for (int c = 0; c < NRHS; c++)
        for (int i = 0; i < N; i++) assert_true(back[c * N + i] == x[c * LDX + i]);
    mpk_free(ctx, &b);
    unlink(path);
    mpk_context_destroy(&ctx);
}

static mpk_status read_small(mpk_context *ctx) {
    int32_t nrhs;
    void *b = NULL;
    mpk_status status = read_text(ctx, ARRAY "real general\n2 1\n1\n2\n", 2, MPK_C, &nrhs, &b);
    mpk_free(ctx, &b);
    return status;
}

static void memory_runs_out(void **state) {
    (void)state;
    sweep_allocations(read_small);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms),
        cmocka_unit_test(refused),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
