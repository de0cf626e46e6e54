/* SPDX-License-Identifier: BSD-3-Clause */
/* NumPy's files: each version, type, byte order and order of entries; what is no such file; what is
 * written is read again. */
#include "../support.h"

#include "problem/npy.h"

enum { ROOM = 4096 };

typedef struct file {
    unsigned char bytes[ROOM];
    size_t size;
} file;

/* The header of a version, then the entries. */
static void make(file *f, int version, const char *header, const void *data, size_t size) {
    const size_t length = strlen(header), wide = version == 1 ? 2 : 4;
    memcpy(f->bytes, "\x93NUMPY", 6);
    f->bytes[6] = (unsigned char)version, f->bytes[7] = 0;
    for (size_t k = 0; k < wide; k++) f->bytes[8 + k] = (unsigned char)(length >> 8 * k);
    memcpy(f->bytes + 8 + wide, header, length);
    memcpy(f->bytes + 8 + wide + length, data, size);
    f->size = 8 + wide + length + size;
}

static mpk_status read_matrix(mpk_context *ctx, const file *f, mpk_problem **p) {
    mpki_stream *s = NULL;
    mpk_status status = mpki_stream_memory(ctx, "file", f->bytes, f->size, &s);
    bool npy = false;
    if (!mpk_failed(status)) status = mpki_npy_is(s, &npy);
    if (!mpk_failed(status)) {
        assert_true(npy);
        mpki_clear_error(ctx);
        status = mpki_npy_read(ctx, s, p);
    }
    mpki_stream_close(&s);
    return status;
}

static mpk_status read_rhs(mpk_context *ctx, const file *f, int n, mpk_scalar scalar, int32_t *k,
                           void **b) {
    mpki_stream *s = NULL;
    mpk_status status = mpki_stream_memory(ctx, "file", f->bytes, f->size, &s);
    if (!mpk_failed(status)) {
        mpki_clear_error(ctx);
        status = mpki_npy_read_rhs(ctx, s, n, scalar, k, b);
    }
    mpki_stream_close(&s);
    return status;
}

static bool little(void) {
    const uint16_t one = 1;
    return *(const uint8_t *)&one == 1;
}

/* [1 3 4; 3 2 5; 4 5 0], complex ones Hermitian with 1i added above the diagonal. */
static double part(int i, int j, int imaginary) {
    static const double a[3][3] = {{1, 3, 4}, {3, 2, 5}, {4, 5, 0}};
    return imaginary ? (i < j) - (i > j) : a[i][j];
}

static void every_kind(void **state) {
    (void)state;
    static const char *const types[] = {"f4", "f8", "c8", "c16"};
    mpk_context *ctx = NULL;
    file *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < 4 * 2 * 2 * 3; k++) {
        const int type = k % 4, other = k / 4 % 2, by_columns = k / 8 % 2, version = 1 + k / 16;
        const int parts = type >= 2 ? 2 : 1, width = type % 2 ? 8 : 4;
        unsigned char data[9 * 16];
        char header[128];
        size_t at = 0;
        for (int e = 0; e < 9; e++)
            for (int p = 0; p < parts; p++) {
                const double x = part(by_columns ? e % 3 : e / 3, by_columns ? e / 3 : e % 3, p);
                const float single = (float)x;
                const unsigned char *raw = width == 4 ? (const void *)&single : (const void *)&x;
                for (int i = 0; i < width; i++) data[at++] = raw[other ? width - 1 - i : i];
            }
        snprintf(header, sizeof header,
                 k % 3 ? "{'descr': '%c%s', 'fortran_order': %s, 'shape': (3, 3), }   \n"
                       : "{\"shape\": (3L,3L), \"descr\":\"%c%s\",\"fortran_order\":%s}\n",
                 (other == 0) == little() ? '<' : '>', types[type], by_columns ? "True" : "False");
        make(f, version, header, data, at);
        mpk_problem *p = NULL;
        mpk_problem_view v;
        assert_int_equal(read_matrix(ctx, f, &p), MPK_OK);
        mpk_problem_view_get(p, &v);
        assert_int_equal(v.n, 3);
        assert_int_equal(v.scalar, type);
        assert_int_equal(v.symmetry, type >= 2 ? MPK_HERMITIAN : MPK_SYMMETRIC);
        assert_int_equal(v.nnz, 6);
        for (int j = 0; j < 3; j++)
            for (int64_t e = v.ap[j]; e < v.ap[j + 1]; e++) {
                const double complex x = scalar_load(v.scalar, v.ax, e);
                assert_true(creal(x) == part(v.ai[e], j, 0));
                assert_true(cimag(x) == (parts == 2 ? part(v.ai[e], j, 1) : 0));
            }
        mpk_problem_destroy(&p);
        int32_t columns = 0;
        void *b = NULL;
        assert_int_equal(read_rhs(ctx, f, 3, MPK_Z, &columns, &b), MPK_OK);
        assert_int_equal(columns, 3);
        assert_true(creal(((double complex *)b)[1 + 2 * 3]) == 5); /* row 1, column 2 */
        mpk_free(ctx, &b);
        assert_int_equal(read_rhs(ctx, f, 3, MPK_D, &columns, &b),
                         parts == 2 ? MPK_ERR_INPUT : MPK_OK);
        mpk_free(ctx, &b);
        assert_int_equal(read_rhs(ctx, f, 4, MPK_Z, &columns, &b), MPK_ERR_INPUT);
    }
    mpk_context_destroy(&ctx);
    free(f);
}

/* Each has an error with a text, and nothing is left. */
static void no_such_file(void **state) {
    (void)state;
    static const struct {
        int version, bytes;
        mpk_status status;
        const char *header;
    } cases[] = {
        {1, 31, MPK_ERR_FORMAT, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n"},
        {1, 33, MPK_ERR_FORMAT, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n"},
        {4, 32, MPK_ERR_FORMAT, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n"},
        {1, 48, MPK_ERR_INPUT, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n"},
        {1, 64, MPK_ERR_INPUT, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2, 2), }\n"},
        {1, 16, MPK_ERR_INPUT, "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n"},
        {1, 8, MPK_ERR_INPUT, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n"},
        {1, 32, MPK_ERR_INPUT, "{'descr': '<i8', 'fortran_order': False, 'shape': (2, 2), }\n"},
        {1, 8, MPK_ERR_INPUT, "{'descr': '<f2', 'fortran_order': False, 'shape': (2, 2), }\n"},
        {1, 32, MPK_ERR_INPUT, "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }\n"},
        {1, 32, MPK_ERR_INPUT, "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (2,)}"},
        {1, 32, MPK_ERR_FORMAT, "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (2, 2), }\n"},
        {1, 32, MPK_ERR_FORMAT, "{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 2), }\n"},
        {1, 32, MPK_ERR_FORMAT, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2)"},
        {1, 32, MPK_ERR_FORMAT, "{'descr': '<f8', 'shape': (2, 2), }\n"},
        {1, 32, MPK_ERR_FORMAT, "{'descr': '<f8', 'descr': '<f8', 'shape': (2, 2), }\n"},
        {1, 32, MPK_ERR_FORMAT, ""},
        {1, 0, MPK_ERR_FORMAT,
         "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999, 1), }\n"},
        {1, 0, MPK_ERR_SIZE,
         "{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000, 4000000000), }\n"},
        {1, 0, MPK_ERR_FORMAT, "{'descr': '<f8', 'fortran_order': False, 'shape': (99, 99), }\n"}};
    mpk_context *ctx = NULL;
    file *f = calloc(1, sizeof *f);
    assert_non_null(f);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    static const double data[8] = {1, 2, 2, 1, 0, 0, 0, 0};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_problem *p = NULL;
        const char *text = NULL;
        make(f, cases[k].version, cases[k].header, data, (size_t)cases[k].bytes);
        const mpk_status status = read_matrix(ctx, f, &p);
        if (status != cases[k].status) fail_msg("%zu: %s", k, mpk_status_name(status));
        assert_null(p);
        mpk_last_error(ctx, NULL, NULL, &text);
        assert_true(text && !strncmp(text, "file: ", 6));
    }
    make(f, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n", data, 32);
    for (size_t size = 6; size < f->size; size++) { /* cut off anywhere */
        file *cut = malloc(sizeof *cut);
        assert_non_null(cut);
        *cut = *f, cut->size = size;
        mpk_problem *p = NULL;
        assert_int_equal(read_matrix(ctx, cut, &p), MPK_ERR_FORMAT);
        free(cut);
    }
    double bad[4] = {1, NAN, NAN, 1};
    mpk_problem *p = NULL;
    make(f, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n", bad, 32);
    if (little()) assert_int_equal(read_matrix(ctx, f, &p), MPK_ERR_INPUT);
    mpk_context_destroy(&ctx);
    free(f);
}

static void back_again(void **state) {
    (void)state;
    static const char *const names[] = {"back.npy", "back.npy.gz", "back.NPY.xz"};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < 12; k++) {
        const mpk_scalar scalar = (mpk_scalar)(k % 4);
        const char *name = names[k / 4];
        dense m = dense_new(9, scalar, scalar >= MPK_C ? MPK_HERMITIAN : MPK_SYMMETRIC);
        for (int j = 0; j < m.n; j++)
            for (int i = j; i < m.n; i++)
                dense_set(&m, i, j, (float)uniform() + (i > j && scalar >= MPK_C ? 0.5 * I : 0));
        mpk_problem *p = dense_problem(ctx, &m, 1), *q = NULL;
        mpk_problem_view a, b;
        assert_int_equal(mpk_problem_write(ctx, p, name), MPK_OK);
        assert_int_equal(mpk_problem_read(ctx, name, &q), MPK_OK);
        mpk_problem_view_get(p, &a), mpk_problem_view_get(q, &b);
        assert_int_equal(a.nnz, b.nnz);
        assert_int_equal(b.scalar, scalar);
        assert_int_equal(b.symmetry, m.symmetry);
        assert_memory_equal(a.ax, b.ax, (size_t)a.nnz * mpk_scalar_size(scalar));
        for (int columns = 1; columns <= 3; columns += 2) {
            int32_t found = 0;
            void *x = NULL;
            assert_int_equal(mpk_rhs_write(ctx, name, 9, scalar, columns, a.ax, 11), MPK_OK);
            assert_int_equal(mpk_rhs_read(ctx, name, 9, scalar, &found, &x), MPK_OK);
            assert_int_equal(found, columns);
            const size_t size = mpk_scalar_size(scalar);
            for (int c = 0; c < columns; c++)
                assert_memory_equal((char *)x + 9 * (size_t)c * size,
                                    (const char *)a.ax + 11 * (size_t)c * size, 9 * size);
            mpk_free(ctx, &x);
        }
        mpk_problem_destroy(&p);
        mpk_problem_destroy(&q);
        free(m.a);
        remove(name);
    }
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_kind), cmocka_unit_test(no_such_file),
                                       cmocka_unit_test(back_again)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
