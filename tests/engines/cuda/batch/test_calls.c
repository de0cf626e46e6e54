/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches in device memory: arguments, memory that fails, and that nothing else is needed than a
 * context: on a GPU, or on the module that computes on the host. */
#include "support.h"

#include "device_batch.h"
#undef mpk_batch_ldlt
#undef mpk_batch_solve
#undef mpk_batch_gemm

enum { N = 6, COUNT = 50 };

/* 0 ... n - 1 */
static int below(int n) {
    return (int)((uniform() + 1) / 2 * n) % n;
}

/* No module: the reason is told, nothing was written, and host memory goes on. */
static void test_absent(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    char *before = getenv("METAPACK_CUDA_MODULE");
    before = before ? strdup(before) : NULL;
    assert_int_equal(setenv("METAPACK_CUDA_MODULE", "/nowhere/libmetapack_cuda.so", 1), 0);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    double a = 2, b = 6;
    int32_t outcome = -7;
    mpk_batch batch = batch_of(COUNT, N, MPK_PIVOTING_NONE);
    mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_DEVICE, &a, 1, 1, 1}, y = x;
    mpk_batch_product product = {1, 1, 1, NULL, 0, 1, 0};
    mpk_batch_results results = {&outcome, NULL};
    batch.count = 1, batch.n = 1, y.data = &b;
    for (int turn = 0; turn < 2; turn++) {
        refused(ctx, mpk_batch_ldlt(ctx, &batch, &x, NULL, &results), MPK_ERR_DEVICE, "/nowhere");
        refused(ctx, mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &x, NULL, 1, &y, &results),
                MPK_ERR_DEVICE, "/nowhere");
        refused(ctx, mpk_batch_gemm(ctx, &batch, &product, &x, NULL, &x, &y), MPK_ERR_DEVICE,
                "/nowhere");
    }
    assert_true(outcome == -7 && a == 2 && b == 6);
    x.memory = MPK_HOST;
    assert_int_equal(mpk_batch_ldlt(ctx, &batch, &x, NULL, &results), MPK_OK);
    assert_int_equal(outcome, MPK_BATCH_OK);
    mpk_context_destroy(&ctx);
    if (before)
        setenv("METAPACK_CUDA_MODULE", before, 1);
    else
        unsetenv("METAPACK_CUDA_MODULE");
    free(before);
}

/* Addresses that no kernel could read from: each is told before a kernel runs. */
static void test_misaligned(mpk_context *ctx, mpk_batch_array x) {
    static const struct {
        mpk_scalar scalar;
        int bytes;
        const char *word;
    } cases[] = {{MPK_S, 2, "of 4 bytes"},
                 {MPK_D, 4, "of 8 bytes"},
                 {MPK_C, 4, "of 8 bytes"},
                 {MPK_Z, 8, "of 16 bytes"},
                 {MPK_Z, 24, "of 16 bytes"}};
    mpk_batch batch = batch_of(COUNT, N, MPK_PIVOTING_NONE);
    const mpk_batch_array good = x;
    batch.n = 2, batch.count = 2, x.ld = 2, x.stride = 4;
    for (int k = 0; k < 5; k++) {
        batch.scalar = cases[k].scalar;
        x.data = (char *)good.data + cases[k].bytes;
        refused(ctx, mpk_batch_ldlt(ctx, &batch, &x, NULL, NULL), MPK_ERR_ARGUMENT, cases[k].word);
        refused(ctx, mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &good, NULL, 1, &x, NULL),
                MPK_ERR_ARGUMENT, cases[k].word);
    }
    x.layout = MPK_BATCH_POINTERS;
    x.data = (char *)good.data + 4;
    refused(ctx, mpk_batch_ldlt(ctx, &batch, &x, NULL, NULL), MPK_ERR_ARGUMENT, "of 8 bytes");
}

static void test_arguments(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const mpki_device *d = device_open(ctx);
    double host[N * N * COUNT] = {0};
    int32_t piv[N * COUNT] = {0}, outcome[COUNT];
    for (int k = 0; k < COUNT; k++) outcome[k] = -7;
    double *a = device_up(d, host, sizeof host), *b = device_up(d, host, sizeof host);
    int32_t *dpiv = device_up(d, piv, sizeof piv);
    mpk_batch_results results = {outcome, NULL};
    mpk_batch good = batch_of(COUNT, N, MPK_PIVOTING_PARTIAL), bad = good;
    mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_DEVICE, a, N * N, N, 1}, y = x, z = x;
    mpk_batch_product product = {N, N, N, NULL, 0, 1, 0};
    y.data = host, z.data = b;
    const mpk_status argument = MPK_ERR_ARGUMENT;
    refused(ctx, mpk_batch_ldlt(ctx, &good, &y, piv, &results), argument, "a is said to lie");
    y.memory = MPK_HOST;
    refused(ctx, mpk_batch_solve(ctx, &good, MPK_BATCH_LDLT, &x, NULL, 1, &y, &results), argument,
            "others in device memory");
    refused(ctx, mpk_batch_gemm(ctx, &good, &product, &x, NULL, &y, &z), argument, "others");
    refused(ctx, mpk_batch_gemm(ctx, &good, &product, &x, &y, &z, &x), argument, "in place");
    bad.pivots_memory = MPK_DEVICE;
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &y, dpiv, &results), argument, "host memory");
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &x, piv, &results), argument, "pivots is said");
    bad = good, bad.results_memory = MPK_DEVICE;
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &y, piv, &results), argument, "host memory");
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &x, piv, &results), argument, "outcome is said");
    bad.results_memory = (mpk_memory)3;
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &x, piv, &results), argument, "memory");
    bad = good, bad.asynchronous = 1;
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &x, piv, NULL), argument, "asynchronous");
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &y, piv, NULL), argument, "asynchronous");
    bad.pivots_memory = MPK_DEVICE;
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &x, dpiv, &results), argument, "asynchronous");
    bad.asynchronous = 2;
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &x, dpiv, NULL), argument, "neither");
    bad = good, bad.device = 12345;
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &x, piv, &results), MPK_ERR_DEVICE, "12345");
    bad = good, bad.count = (int64_t)1 << 31;
    refused(ctx, mpk_batch_ldlt(ctx, &bad, &x, piv, &results), MPK_ERR_SIZE, "2^31");
    test_misaligned(ctx, x);
    for (int k = 0; k < COUNT; k++) assert_int_equal(outcome[k], -7);
    /* pivots on the device are judged there: matrix 0 alone has right ones */
    for (int k = 0; k < N; k++) piv[k] = N - 1 - k;
    for (int k = 0; k < N; k++) piv[N + k] = k - 3, piv[2 * N + k] = k + 1;
    for (int k = 0; k < N * N * COUNT; k++) host[k] = k % (N * N) % (N + 1) == 0;
    device_down(d, dpiv, NULL, 0), device_down(d, a, NULL, 0);
    dpiv = device_up(d, piv, sizeof piv);
    x.data = a = device_up(d, host, sizeof host);
    bad = good, bad.pivots_memory = MPK_DEVICE, bad.pivoting = MPK_PIVOTING_STATIC;
    assert_int_equal(mpk_batch_ldlt(ctx, &bad, &x, dpiv, &results), MPK_PARTIAL);
    for (int k = 0; k < COUNT; k++)
        assert_int_equal(outcome[k], k == 0 ? MPK_BATCH_OK : MPK_BATCH_BREAKDOWN);
    assert_int_equal(mpk_batch_solve(ctx, &bad, MPK_BATCH_LDLT, &x, dpiv, 1, &z, &results),
                     MPK_PARTIAL);
    for (int k = 0; k < COUNT; k++)
        assert_int_equal(outcome[k], k == 0 ? MPK_BATCH_OK : MPK_BATCH_BREAKDOWN);
    device_down(d, dpiv, NULL, 0), device_down(d, a, NULL, 0), device_down(d, b, NULL, 0);
    mpk_context_destroy(&ctx);
}

/* count 0, n 0, nrhs 0, and arrays without data */
static void test_empty(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_batch_array none = {MPK_BATCH_STRIDED, MPK_DEVICE, NULL, 0, N, 1};
    int32_t outcome[3] = {9, 9, 9}, inertia[9] = {9, 9, 9, 9, 9, 9, 9, 9, 9}, piv[3];
    mpk_batch_results results = {outcome, inertia};
    mpk_batch_product product = {0, 0, 0, NULL, 0, 1, 1};
    mpk_batch batch = batch_of(COUNT, N, MPK_PIVOTING_NONE);
    batch.count = 0;
    assert_int_equal(mpk_batch_ldlt(ctx, &batch, &none, NULL, &results), MPK_OK);
    assert_int_equal(outcome[0], 9);
    for (int pivoting = 0; pivoting < MPK_PIVOTING_COUNT; pivoting++) {
        batch = batch_of(COUNT, N, (mpk_pivoting)pivoting);
        batch.count = 3, batch.n = 0;
        for (int k = 0; k < 3; k++) outcome[k] = 9;
        assert_int_equal(mpk_batch_ldlt(ctx, &batch, &none, piv, &results), MPK_OK);
        assert_int_equal(mpk_batch_ldu(ctx, &batch, &none, piv, &results), MPK_OK);
        for (int k = 0; k < 3; k++) assert_int_equal(outcome[k], MPK_BATCH_OK);
        for (int k = 0; k < 9; k++) assert_int_equal(inertia[k], 0);
        assert_int_equal(
            mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &none, NULL, 4, &none, &results), MPK_OK);
    }
    assert_int_equal(mpk_batch_gemm(ctx, &batch, &product, &none, NULL, &none, &none), MPK_OK);
    mpk_context_destroy(&ctx);
}

/* Pivots of a matrix without factors are a permutation nevertheless: a solve checks all of them.
 * Orders that borgc made kernels for, and others, and more than one. */
static void test_failed_pivots(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    enum { MOST = 16, BAD = 3 };
    double host[COUNT * MOST * MOST];
    int32_t piv[COUNT * MOST * 2], outcome[COUNT], sizes[COUNT];
    mpk_batch_results results = {outcome, NULL};
    const int orders[] = {4, 7, 8, 16};
    for (int method = 1; method < 3; method++)
        for (int mixed = 0; mixed < 2; mixed++)
            for (int k = 0; k < 4; k++) {
                const int n = orders[k], lists = method == MPK_BATCH_LDU ? 2 : 1;
                mpk_batch batch = batch_of(COUNT, N, MPK_PIVOTING_PARTIAL);
                batch.n = n, batch.sizes = mixed ? sizes : NULL;
                for (int b = 0; b < COUNT; b++) sizes[b] = b == BAD ? n : b % (n + 1);
                for (int i = 0; i < COUNT * n * n; i++) host[i] = uniform();
                for (int b = 0; b < COUNT; b++) /* symmetric */
                    for (int j = 0; j < n; j++)
                        for (int i = 0; i < j; i++)
                            host[(b * n + j) * n + i] = host[(b * n + i) * n + j];
                host[BAD * n * n + n - 1] = NAN;
                for (int i = 0; i < COUNT * n * lists; i++) piv[i] = i % n;
                mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, host, n * n, n, 1};
                assert_int_equal(
                    (method == 1 ? device_ldlt : device_ldu)(ctx, &batch, &x, piv, &results),
                    MPK_PARTIAL);
                for (int b = 0; b < COUNT; b++)
                    assert_int_equal(outcome[b], b == BAD ? MPK_BATCH_NOT_FINITE : MPK_BATCH_OK);
                for (int i = 0; i < n * lists; i++)
                    assert_int_equal(piv[BAD * n * lists + i], i % n);
                mpk_batch_array y = {MPK_BATCH_STRIDED, MPK_HOST, host, n * n, n, 1};
                assert_int_equal(mpk_batch_solve(ctx, &batch, (mpk_batch_method)method, &x, piv, 0,
                                                 &y, &results),
                                 MPK_OK);
            }
    mpk_context_destroy(&ctx);
}

/* Matrices that lie one after the other have kernels of their own: the same solutions and outcomes
 * as where they are not aligned or lie apart, and what is above the diagonal stays. */
static void layout_case(mpk_context *ctx, const mpki_device *d, mpk_pivoting pivoting, int n,
                        int shift, int ld, double *host, int32_t *piv, int32_t *told) {
    const int each = n * ld, total = COUNT * each + 1;
    double *a = malloc((size_t)total * sizeof *a);
    for (int k = 0; k < total; k++) a[k] = 77;
    for (int b = 0; b < COUNT; b++)
        for (int j = 0; j < n; j++)
            for (int i = j; i < n; i++)
                a[shift + b * each + j * ld + i] = host[(b * n + j) * n + i];
    double *there = device_up(d, a, total * (int64_t)sizeof *a);
    mpk_batch batch = batch_of(COUNT, N, pivoting);
    batch.n = n;
    mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_DEVICE, there + shift, each, ld, 1};
    mpk_batch_results results = {told, told + COUNT};
    assert_int_equal(mpk_batch_ldlt(ctx, &batch, &x, pivoting ? piv : NULL, &results), MPK_PARTIAL);
    device_down(d, there, a, total * (int64_t)sizeof *a);
    for (int b = 0; b < COUNT; b++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < ld; i++) {
                const double got = a[shift + b * each + j * ld + i];
                if (i < j || i >= n)
                    assert_true(got == 77);
                else
                    host[(b * n + j) * n + i] = got;
            }
    free(a);
}

/* A x = 1, 2, ... */
static void solve_case(mpk_context *ctx, mpk_pivoting pivoting, int n, double *factors,
                       int32_t *piv, double *x) {
    int32_t outcome[COUNT];
    mpk_batch batch = batch_of(COUNT, N, pivoting);
    mpk_batch_results results = {outcome, NULL};
    batch.n = n;
    mpk_batch_array a = {MPK_BATCH_STRIDED, MPK_HOST, factors, n * n, n, 1};
    mpk_batch_array b = {MPK_BATCH_STRIDED, MPK_HOST, x, n, n, 1};
    for (int i = 0; i < COUNT * n; i++) x[i] = 1 + i % n;
    assert_true(mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &a, pivoting ? piv : NULL, 1, &b,
                                &results) >= 0);
}

static void test_layouts(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const mpki_device *d = device_open(ctx);
    static double host[COUNT * 64], packed[COUNT * 64], other[COUNT * 64];
    double solved[2][COUNT * 8];
    const int orders[] = {1, 4, 6, 8};
    for (int pivoting = 0; pivoting < MPK_PIVOTING_COUNT; pivoting++) {
        if (pivoting == MPK_PIVOTING_STATIC) continue;
        for (int k = 0; k < 4; k++) {
            const int n = orders[k], bytes = COUNT * n * n * (int)sizeof *host;
            int32_t piv[2][COUNT * 8] = {{0}}, told[2][4 * COUNT];
            for (int b = 0; b < COUNT; b++)
                for (int j = 0; j < n; j++)
                    for (int i = 0; i < n; i++)
                        host[(b * n + j) * n + i] =
                            i == j ? (b + j) % 3 ? 30.0 - 2 * j : 2.0 * j - 30 : uniform();
            for (int i = 0; i < n * n; i++) host[7 * n * n + i] = 0;
            host[40 * n * n + n - 1] = NAN;
            memcpy(packed, host, (size_t)bytes);
            layout_case(ctx, d, (mpk_pivoting)pivoting, n, 0, n, packed, piv[0], told[0]);
            solve_case(ctx, (mpk_pivoting)pivoting, n, packed, piv[0], solved[0]);
            for (int turn = 0; turn < 2; turn++) {
                memcpy(other, host, (size_t)bytes);
                layout_case(ctx, d, (mpk_pivoting)pivoting, n, turn, n + 1 - turn, other, piv[1],
                            told[1]);
                solve_case(ctx, (mpk_pivoting)pivoting, n, other, piv[1], solved[1]);
                assert_memory_equal(told[0], told[1], sizeof told[0]);
                for (int i = 0; i < COUNT * n; i++)
                    assert_true(i / n == 40 || fabs(solved[0][i] - solved[1][i]) < 1e-14);
            }
            assert_int_equal(told[0][7], MPK_BATCH_SINGULAR);
            assert_int_equal(told[0][40], MPK_BATCH_NOT_FINITE);
        }
    }
    mpk_context_destroy(&ctx);
}

/* Random orders up to 9, numbers of matrices, layouts: blocks, warps and groups that are not full.
 * The host's outcomes, and its solutions to rounding. */
static void random_case(mpk_context *ctx) {
    enum { MOST = 9, MANY = 200 };
    static double here[MANY * MOST * (MOST + 1)], there[MANY * MOST * (MOST + 1)];
    double *list[MANY], x[2][MANY * MOST];
    int32_t sizes[MANY], piv[2][MANY * MOST], told[2][MANY], solved[MANY];
    const int n = 1 + below(MOST), ld = n + below(2), count = 1 + below(MANY), bad = below(MANY);
    const bool pointers = below(2);
    mpk_batch batch = batch_of(COUNT, N, below(2) ? MPK_PIVOTING_PARTIAL : MPK_PIVOTING_NONE);
    batch.count = count, batch.n = n, batch.sizes = below(3) ? NULL : sizes;
    for (int b = 0; b < count; b++) {
        double *a = here + b * n * ld;
        sizes[b] = below(n + 1);
        for (int i = 0; i < n * ld; i++) a[i] = b == bad + 1 ? 0 : uniform();
        for (int i = 0; i < n && b != bad + 1; i++) a[i * (ld + 1)] += b % 3 ? 10 : -10;
        if (b == bad) a[0] = NAN;
        list[b] = there + (pointers ? count - 1 - b : b) * n * ld;
        memcpy(list[b], a, (size_t)(n * ld) * sizeof *a);
    }
    for (int k = 0; k < 2; k++) {
        mpk_batch_array a = {MPK_BATCH_STRIDED, MPK_HOST, k ? there : here, n * ld, ld, 1};
        mpk_batch_array y = {MPK_BATCH_STRIDED, MPK_HOST, x[k], n, n, 1};
        if (k && pointers) a.layout = MPK_BATCH_POINTERS, a.data = list, a.stride = 0;
        int32_t *p = batch.pivoting ? piv[k] : NULL;
        mpk_batch_results results = {told[k], NULL}, ignored = {solved, NULL};
        for (int i = 0; i < count * n; i++) piv[k][i] = i % n, x[k][i] = 1 + i % 5;
        assert_true((k ? device_ldlt : mpk_batch_ldlt)(ctx, &batch, &a, p, &results) >= 0);
        assert_true(mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &a, p, 1, &y, &ignored) >= 0);
    }
    assert_memory_equal(told[1], told[0], (size_t)count * sizeof *told[0]);
    for (int b = 0; b < count; b++)
        for (int i = 0; i < (batch.sizes ? sizes[b] : n); i++)
            if (told[0][b] == MPK_BATCH_OK && !(fabs(x[1][b * n + i] - x[0][b * n + i]) < 1e-13))
                fail_msg("order %d of %d, matrix %d of %d, row %d: %g, host %g",
                         batch.sizes ? sizes[b] : n, n, b, count, i, x[1][b * n + i],
                         x[0][b * n + i]);
}

static void test_random(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int k = 0; k < 200; k++) random_case(ctx);
    mpk_context_destroy(&ctx);
}

/* Order 8 in single precision, where a block takes 64 matrices and copies 16 bytes at a time:
 * numbers of matrices around warps and blocks, aligned and one entry beyond. The host's outcomes,
 * and its solutions to rounding; no byte beyond the last one. */
static void eight_case(mpk_context *ctx, const mpki_device *d, mpk_pivoting pivoting, int count,
                       int shift) {
    enum { E = 8, EE = E * E };
    const int total = shift + count * EE, bad = count / 2;
    float *a[2], *x[2];
    int32_t *piv[2], *told[2];
    for (int k = 0; k < 2; k++) {
        a[k] = malloc((size_t)total * sizeof(float)),
        x[k] = malloc((size_t)count * E * sizeof(float));
        piv[k] = malloc((size_t)count * E * sizeof(int32_t));
        told[k] = malloc((size_t)count * sizeof(int32_t));
    }
    for (int i = 0; i < total; i++) a[0][i] = (float)uniform();
    for (int b = 0; b < count; b++)
        for (int j = 0; j < E; j++) a[0][shift + b * EE + j * (E + 1)] += b % 3 ? 10 : -10;
    if (count > 1) a[0][shift + bad * EE + E - 1] = NAN;
    memcpy(a[1], a[0], (size_t)total * sizeof(float));
    float *there = device_up(d, a[1], total * (int64_t)sizeof(float));
    for (int k = 0; k < 2; k++) {
        mpk_batch batch = batch_of(COUNT, N, pivoting);
        batch.scalar = MPK_S, batch.count = count, batch.n = E;
        mpk_batch_array m = {MPK_BATCH_STRIDED, MPK_HOST, a[0] + shift, EE, E, 1};
        mpk_batch_array y = {MPK_BATCH_STRIDED, MPK_HOST, x[k], E, E, 1};
        mpk_batch_results results = {told[k], NULL}, ignored = {NULL, NULL};
        if (k) m.memory = MPK_DEVICE, m.data = there + shift;
        assert_int_equal(mpk_batch_ldlt(ctx, &batch, &m, pivoting ? piv[k] : NULL, &results),
                         count > 1 ? MPK_PARTIAL : MPK_OK);
        if (k) {
            device_down(d, there, a[1], total * (int64_t)sizeof(float));
            m.memory = MPK_HOST, m.data = a[1] + shift;
        }
        for (int i = 0; i < count * E; i++) x[k][i] = (float)(1 + i % 5);
        assert_true(mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &m, pivoting ? piv[k] : NULL, 1,
                                    &y, &ignored) >= 0);
    }
    assert_memory_equal(told[1], told[0], (size_t)count * sizeof(int32_t));
    for (int i = 0; i < count * E; i++)
        if (told[0][i / E] == MPK_BATCH_OK && !(fabsf(x[1][i] - x[0][i]) < 1e-5f))
            fail_msg("pivoting %d, matrix %d of %d, shift %d: %g, host %g", (int)pivoting, i / E,
                     count, shift, (double)x[1][i], (double)x[0][i]);
    for (int k = 0; k < 2; k++) free(a[k]), free(x[k]), free(piv[k]), free(told[k]);
}

static void test_single_of_eight(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const mpki_device *d = device_open(ctx);
    const int counts[] = {1, 31, 33, 63, 64, 65, 129};
    for (int pivoting = 0; pivoting < MPK_PIVOTING_COUNT; pivoting++)
        for (int k = 0; k < 7 && pivoting != MPK_PIVOTING_STATIC; k++)
            for (int shift = 0; shift < 2; shift++)
                eight_case(ctx, d, (mpk_pivoting)pivoting, counts[k], shift);
    mpk_context_destroy(&ctx);
}

/* Memory of the host fails at each place in turn: an error, nothing lost, the context goes on. */
static int64_t allowed;
static void *limited(void *user, size_t size) {
    (void)user;
    return allowed-- > 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
}
static void give_back(void *user, void *ptr, size_t size) {
    (void)user, (void)size;
    free(ptr);
}

static void test_memory(void **state) {
    (void)state;
    double host[N * N * COUNT];
    int32_t sizes[COUNT], piv[N * COUNT], outcome[COUNT];
    for (int k = 0; k < N * N * COUNT; k++) host[k] = k % 7 - 3;
    for (int k = 0; k < COUNT; k++) sizes[k] = k % (N + 1);
    const mpk_allocator allocator = {limited, give_back, NULL};
    bool done = false;
    for (int64_t most = 1; !done && most < 100; most++) {
        mpk_context *ctx = NULL;
        allowed = most;
        if (mpk_context_create(&allocator, &ctx) != MPK_OK) continue;
        const mpki_device *d = mpki_cuda_open(ctx, 0);
        if (d) {
            mpk_batch batch = batch_of(COUNT, N, MPK_PIVOTING_ROOK);
            batch.sizes = sizes;
            mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_DEVICE, NULL, N * N, N, 1};
            mpk_batch_results results = {outcome, NULL};
            x.data = device_up(d, host, sizeof host);
            mpk_status status = mpk_batch_ldlt(ctx, &batch, &x, piv, &results);
            if (mpk_failed(status)) assert_int_equal(status, MPK_ERR_MEMORY);
            done = !mpk_failed(status);
            if (!done) {
                allowed = 100;
                assert_true(mpk_batch_ldlt(ctx, &batch, &x, piv, &results) >= 0);
            }
            device_down(d, x.data, NULL, 0);
        }
        mpk_context_destroy(&ctx);
    }
    assert_true(done);
}

/* Certificates of what lies there are those of its copy, in every layout. */
static void test_certificates(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const mpki_device *d = device_open(ctx);
    for (int layout = MPK_BATCH_STRIDED; layout <= MPK_BATCH_INTERLEAVED; layout++) {
        enum { WIDTH = 8, ROOM = (COUNT + WIDTH) * N * N };
        static double a[ROOM], f[ROOM];
        double *a_list[COUNT], *f_list[COUNT];
        int32_t pivots[COUNT * N];
        mpk_certificate found[COUNT], again[COUNT];
        for (int k = 0; k < ROOM; k++) a[k] = uniform();
        memcpy(f, a, sizeof f);
        for (int b = 0; b < COUNT; b++) a_list[b] = a + b * N * N, f_list[b] = f + b * N * N;
        mpk_batch batch = batch_of(COUNT, N, MPK_PIVOTING_PARTIAL), there;
        mpk_batch_array given = {(mpk_batch_layout)layout, MPK_HOST, a, N * N, N, 1};
        if (layout == MPK_BATCH_INTERLEAVED) given.width = WIDTH, given.stride = WIDTH * N * N;
        mpk_batch_array factors = given;
        factors.data = f;
        if (layout == MPK_BATCH_POINTERS) given.data = a_list, factors.data = f_list;
        device_array a_up = array_up(d, &batch, &given, N), f_up = array_up(d, &batch, &factors, N);
        void *p_up = device_up(d, pivots, sizeof pivots);
        there = batch, there.pivots_memory = MPK_DEVICE;
        assert_int_equal(mpk_batch_ldlt(ctx, &there, &f_up.there, p_up, NULL), MPK_OK);
        assert_int_equal(
            mpk_batch_certify(ctx, &there, MPK_BATCH_LDLT, &a_up.there, &f_up.there, p_up, found),
            MPK_OK);
        device_down(d, p_up, pivots, sizeof pivots);
        array_down(d, &a_up);
        array_down(d, &f_up);
        assert_int_equal(
            mpk_batch_certify(ctx, &batch, MPK_BATCH_LDLT, &given, &factors, pivots, again),
            MPK_OK);
        for (int b = 0; b < COUNT; b++)
            assert_true(found[b].certified && found[b].contraction == again[b].contraction &&
                        found[b].vectors == again[b].vectors);
    }
    mpk_context_destroy(&ctx);
}

/* The device's memory fails: METAPACK_CUDA_HOST_LIMIT is the host module's. */
static void test_device_memory(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    if (device_is_real()) skip();
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const mpki_device *d = device_open(ctx);
    double one[COUNT];
    int32_t piv[COUNT], outcome[COUNT];
    for (int k = 0; k < COUNT; k++) one[k] = k + 1;
    mpk_batch batch = batch_of(COUNT, N, MPK_PIVOTING_PARTIAL);
    batch.n = 1;
    mpk_batch_results results = {outcome, NULL};
    mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_DEVICE, device_up(d, one, sizeof one), 1, 1, 1};
    setenv("METAPACK_CUDA_HOST_LIMIT", "10", 1);
    refused(ctx, mpk_batch_ldlt(ctx, &batch, &x, piv, &results), MPK_ERR_MEMORY, "bytes");
    unsetenv("METAPACK_CUDA_HOST_LIMIT");
    assert_int_equal(mpk_batch_ldlt(ctx, &batch, &x, piv, &results), MPK_OK);
    /* what was taken once is enough for a second call */
    setenv("METAPACK_CUDA_HOST_LIMIT", "10", 1);
    assert_int_equal(mpk_batch_ldlt(ctx, &batch, &x, piv, &results), MPK_OK);
    unsetenv("METAPACK_CUDA_HOST_LIMIT");
    device_down(d, x.data, NULL, 0);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest absent[] = {cmocka_unit_test(test_absent)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),     cmocka_unit_test(test_empty),
        cmocka_unit_test(test_failed_pivots), cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_random),        cmocka_unit_test(test_single_of_eight),
        cmocka_unit_test(test_certificates),  cmocka_unit_test(test_memory),
        cmocka_unit_test(test_device_memory)};
    int failed = cmocka_run_group_tests(absent, NULL, NULL);
    if (!device_there()) {
        print_message("no device, and no module that does without: nothing more to test\n");
        return failed;
    }
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
