/* SPDX-License-Identifier: BSD-3-Clause */
/* Arguments, memory, threads: what does not depend on the precision. */
#include "../support.h"

#include "engines/cpu/batch/batch.h"

enum { N = 9, COUNT = 700 };

static double *random_batch(int64_t count, int n) {
    double *a = malloc((size_t)(count * n * n + 1) * sizeof *a);
    for (int64_t k = 0; k < count * n * n; k++) a[k] = uniform();
    return a;
}

static mpk_batch batch_of(int64_t count, int n, mpk_pivoting pivoting) {
    mpk_batch batch;
    mpk_batch_init(&batch);
    batch.count = count, batch.n = n, batch.pivoting = pivoting;
    return batch;
}

static void refused(mpk_context *ctx, mpk_status got, mpk_status expected) {
    const char *text = NULL;
    assert_int_equal(got, expected);
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), expected);
    assert_true(strlen(text) > 5);
}

static void test_arguments(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_context_create(NULL, &ctx);
    double *a = random_batch(4, N);
    int32_t piv[4 * 2 * N] = {0}, outcome[4] = {-7, -7, -7, -7}, sizes[4] = {1, 2, N + 1, 3};
    mpk_batch good = batch_of(4, N, MPK_PIVOTING_PARTIAL), bad;
    mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, a, N * N, N, 1}, y;
    mpk_batch_results results = {outcome, NULL};
    const mpk_status argument = MPK_ERR_ARGUMENT;
    assert_int_equal(mpk_batch_ldlt(NULL, &good, &x, piv, NULL), argument);
#define BAD_BATCH(field, value, expected)                                                          \
    bad = good, bad.field = value;                                                                 \
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &x, piv, &results), expected)
    BAD_BATCH(struct_size, 0, argument);
    BAD_BATCH(scalar, (mpk_scalar)9, argument);
    BAD_BATCH(symmetry, (mpk_symmetry)9, argument);
    BAD_BATCH(pivoting, (mpk_pivoting)9, argument);
    BAD_BATCH(count, -1, argument);
    BAD_BATCH(n, -1, argument);
    BAD_BATCH(n, MPK_BATCH_MAX_N + 1, MPK_ERR_UNSUPPORTED);
    BAD_BATCH(sizes, sizes, argument);
    BAD_BATCH(threads, -2, argument);
    BAD_BATCH(zero_tolerance, NAN, argument);
    BAD_BATCH(kernels, (mpk_batch_kernels)9, argument);
    BAD_BATCH(kernels, MPK_BATCH_KERNELS_SHARED, argument);
#define BAD_ARRAY(field, value, expected)                                                          \
    y = x, y.field = value;                                                                        \
    refused(ctx, mpk_batch_ldlt(ctx, &good, &y, piv, &results), expected)
    BAD_ARRAY(data, NULL, argument);
    BAD_ARRAY(ld, N - 1, argument);
    BAD_ARRAY(stride, N * N - 1, argument);
    BAD_ARRAY(layout, (mpk_batch_layout)5, argument);
    BAD_ARRAY(memory, (mpk_memory)5, argument);
    y = x, y.layout = MPK_BATCH_INTERLEAVED, y.width = 0;
    refused(ctx, mpk_batch_ldlt(ctx, &good, &y, piv, &results), argument);
    void *pointers[4] = {a, a, NULL, a};
    y = x, y.layout = MPK_BATCH_POINTERS, y.data = pointers;
    refused(ctx, mpk_batch_ldlt(ctx, &good, &y, piv, &results), argument);
    BAD_ARRAY(data, (char *)a + 4, argument);
    pointers[2] = (char *)a + 4;
    y = x, y.layout = MPK_BATCH_POINTERS, y.data = pointers;
    refused(ctx, mpk_batch_ldlt(ctx, &good, &y, piv, &results), argument);
    y.data = (char *)pointers + 4;
    refused(ctx, mpk_batch_ldlt(ctx, &good, &y, piv, &results), argument);
    refused(ctx, mpk_batch_ldlt(ctx, &good, &x, (void *)((char *)piv + 2), &results), argument);
    mpk_batch_results odd = {(void *)((char *)outcome + 1), NULL};
    refused(ctx, mpk_batch_ldlt(ctx, &good, &x, piv, &odd), argument);
    odd = (mpk_batch_results){NULL, (void *)((char *)outcome + 2)};
    refused(ctx, mpk_batch_ldlt(ctx, &good, &x, piv, &odd), argument);
    refused(ctx, mpk_batch_ldlt(ctx, NULL, &x, piv, &results), argument);
    refused(ctx, mpk_batch_ldlt(ctx, &good, NULL, piv, &results), argument);
    refused(ctx, mpk_batch_ldlt(ctx, &good, &x, NULL, &results), argument);
    refused(ctx, mpk_batch_llt(ctx, &good, &x, piv, &results), MPK_ERR_UNSUPPORTED);
    /* pivots from outside: all zeros, a lone mark, an index beyond n */
    bad = good, bad.pivoting = MPK_PIVOTING_STATIC;
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &x, piv, &results), argument);
    for (int k = 0; k < 4 * N; k++) piv[k] = k % N;
    piv[N - 1] = ~(N - 1);
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &x, piv, &results), argument);
    piv[N - 1] = N;
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &x, piv, &results), argument);
    refused(ctx, mpk_batch_solve(ctx, &good, MPK_BATCH_LDLT, &x, piv, 1, &x, &results), argument);
    refused(ctx, mpk_batch_solve(ctx, &good, (mpk_batch_method)4, &x, NULL, 1, &x, &results),
            argument);
    refused(ctx, mpk_batch_solve(ctx, &good, MPK_BATCH_LDLT, &x, NULL, -1, &x, &results), argument);
    refused(ctx, mpk_batch_solve(ctx, &good, MPK_BATCH_LDLT, &x, NULL, 65, &x, &results),
            MPK_ERR_UNSUPPORTED);
    mpk_batch_product product = {N, N, N, NULL, 0, 1, 0};
    refused(ctx, mpk_batch_gemm(ctx, NULL, &product, &x, NULL, &x, &x), argument);
    refused(ctx, mpk_batch_gemm(ctx, &good, NULL, &x, NULL, &x, &x), argument);
    refused(ctx, mpk_batch_gemm(ctx, &good, &product, &x, &y, &x, NULL), argument);
    product.k = 65;
    refused(ctx, mpk_batch_gemm(ctx, &good, &product, &x, NULL, &x, &x), MPK_ERR_UNSUPPORTED);
    product.k = -1;
    refused(ctx, mpk_batch_gemm(ctx, &good, &product, &x, NULL, &x, &x), argument);
    int32_t triples[12] = {N, N, N, N, N, N, N, N, N + 1};
    product.k = N, product.sizes = triples;
    refused(ctx, mpk_batch_gemm(ctx, &good, &product, &x, NULL, &x, &x), argument);
    for (int k = 0; k < 4; k++) assert_int_equal(outcome[k], -7); /* nothing was written */
    free(a);
    mpk_context_destroy(&ctx);
}

static void test_empty(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_context_create(NULL, &ctx);
    mpk_batch_array none = {MPK_BATCH_STRIDED, MPK_HOST, NULL, 0, 1, 1};
    int32_t outcome[3] = {9, 9, 9}, inertia[9] = {9, 9, 9, 9, 9, 9, 9, 9, 9};
    mpk_batch_results results = {outcome, inertia};
    mpk_batch batch = batch_of(0, 5, MPK_PIVOTING_NONE);
    none.ld = 5;
    assert_int_equal(mpk_batch_ldlt(ctx, &batch, &none, NULL, &results), MPK_OK);
    assert_int_equal(outcome[0], 9);
    batch = batch_of(3, 0, MPK_PIVOTING_COMPLETE);
    assert_int_equal(mpk_batch_ldlt(ctx, &batch, &none, NULL, &results), MPK_OK);
    assert_int_equal(mpk_batch_ldu(ctx, &batch, &none, NULL, &results), MPK_OK);
    for (int k = 0; k < 3; k++) assert_int_equal(outcome[k], MPK_BATCH_OK);
    for (int k = 0; k < 9; k++) assert_int_equal(inertia[k], 0);
    assert_int_equal(mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &none, NULL, 4, &none, &results),
                     MPK_OK);
    double one = -3;
    int32_t piv = 5;
    mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, &one, 1, 1, 1};
    batch = batch_of(1, 1, MPK_PIVOTING_ROOK);
    assert_int_equal(mpk_batch_ldlt(ctx, &batch, &x, &piv, &results), MPK_OK);
    assert_int_equal(piv, 0);
    assert_int_equal(inertia[1], 1);
    assert_true(one == -3);
    batch = batch_of(2, 0, MPK_PIVOTING_NONE);
    mpk_batch_product product = {0, 0, 0, NULL, 0, 1, 1};
    assert_int_equal(mpk_batch_gemm(ctx, &batch, &product, &none, NULL, &none, &none), MPK_OK);
    mpk_context_destroy(&ctx);
}

/* [0 1; 1 0], [1 2; 2 4], diag(1, -1, 0): inertia by hand */
static void test_by_hand(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_context_create(NULL, &ctx);
    for (int pivoting = MPK_PIVOTING_PARTIAL; pivoting <= MPK_PIVOTING_COMPLETE; pivoting++) {
        double a[] = {0, 1, 1, 0, 1, 2, 2, 4, 3, 0, 0, -2};
        int32_t piv[6], outcome[3], inertia[9];
        mpk_batch_results results = {outcome, inertia};
        mpk_batch batch = batch_of(3, 2, pivoting);
        mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, a, 4, 2, 1};
        assert_int_equal(mpk_batch_ldlt(ctx, &batch, &x, piv, &results), MPK_SINGULAR);
        const int32_t expected[] = {1, 1, 0, 1, 0, 1, 1, 1, 0};
        assert_memory_equal(inertia, expected, sizeof expected);
        assert_true(piv[0] < 0 && piv[1] < 0 && piv[2] >= 0 && piv[4] >= 0);
        assert_int_equal(outcome[0], MPK_BATCH_OK);
        assert_int_equal(outcome[1], MPK_BATCH_SINGULAR);
    }
    mpk_context_destroy(&ctx);
}

/* The same bits for one thread and for three, in any layout's chunks. */
static void test_threads(void **unused) {
    (void)unused;
    double *a[2], *b[2];
    int32_t *piv[2], *sizes = malloc(COUNT * sizeof *sizes);
    for (int k = 0; k < COUNT; k++) sizes[k] = (k * 5) % (N + 1);
    for (int t = 0; t < 2; t++) {
        mpk_context *ctx = NULL;
        mpk_context_create(NULL, &ctx);
        support_state = 3;
        a[t] = random_batch(COUNT, N), b[t] = random_batch(COUNT, N);
        piv[t] = calloc(COUNT * N, sizeof **piv);
        mpk_batch batch = batch_of(COUNT, N, MPK_PIVOTING_ROOK);
        batch.sizes = sizes, batch.threads = 1 + 2 * t;
        mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, a[t], N * N, N, 1}, y = x;
        y.data = b[t];
        assert_int_equal(mpk_batch_ldlt(ctx, &batch, &x, piv[t], NULL), MPK_OK);
        assert_int_equal(mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &x, piv[t], N, &y, NULL),
                         MPK_OK);
        mpk_context_destroy(&ctx);
    }
    assert_memory_equal(a[0], a[1], COUNT * N * N * sizeof(double));
    assert_memory_equal(b[0], b[1], COUNT * N * N * sizeof(double));
    assert_memory_equal(piv[0], piv[1], COUNT * N * sizeof(int32_t));
    for (int t = 0; t < 2; t++) free(a[t]), free(b[t]), free(piv[t]);
    free(sizes);
}

/* The k-th allocation fails: an error, nothing written, nothing lost. */
static void test_allocations(void **unused) {
    (void)unused;
    int done = 0;
    int32_t *piv = calloc(COUNT * N, sizeof *piv), *sizes = malloc(COUNT * sizeof *sizes);
    double *third = malloc(COUNT * N * N * sizeof *third);
    for (int k = 0; k < COUNT; k++) sizes[k] = k % (N + 1);
    for (int k = 1; !done; k++) {
        failing f = {0, k, 0};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_context *ctx = NULL;
        support_state = 3;
        double *a = random_batch(COUNT, N), *copy = malloc(COUNT * N * N * sizeof *copy);
        memcpy(copy, a, COUNT * N * N * sizeof *copy);
        if (mpk_context_create(&allocator, &ctx) == MPK_OK) {
            mpk_batch batch = batch_of(COUNT, N, MPK_PIVOTING_COMPLETE);
            batch.sizes = sizes, batch.threads = 2;
            mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, a, N * N, N, 1};
            mpk_status status = mpk_batch_ldlt(ctx, &batch, &x, piv, NULL);
            if (mpk_failed(status)) {
                assert_int_equal(status, MPK_ERR_MEMORY);
                assert_memory_equal(a, copy, COUNT * N * N * sizeof *a);
            } else { /* the next verb, and the one after it */
                mpk_batch_array y = x, z = x;
                mpk_batch_product product = {N, N, N, NULL, 0, 1, 0};
                y.data = copy, z.data = third;
                memset(third, 0, COUNT * N * N * sizeof *third);
                status = mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &x, piv, N, &y, NULL);
                if (!mpk_failed(status))
                    status = mpk_batch_gemm(ctx, &batch, &product, &x, NULL, &y, &z);
                if (mpk_failed(status)) {
                    assert_int_equal(status, MPK_ERR_MEMORY);
                    for (int64_t i = 0; i < COUNT * N * N; i++) assert_true(third[i] == 0);
                }
                done = status == MPK_OK;
            }
        }
        mpk_context_destroy(&ctx);
        assert_int_equal(f.held, 0);
        free(a), free(copy);
        assert_true(k < 50);
    }
    free(piv), free(sizes), free(third);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),   cmocka_unit_test(test_empty),
        cmocka_unit_test(test_by_hand),     cmocka_unit_test(test_threads),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
