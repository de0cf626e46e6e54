/* SPDX-License-Identifier: BSD-3-Clause */
/* Kinds of kernels for batches in device memory: each that there is gives the same factors, and
 * what there is not is refused before anything is written. */
#include "support.h"

#include "device_batch.h"
#undef mpk_batch_llt
#undef mpk_batch_ldlt
#undef mpk_batch_ldu
#undef mpk_batch_solve

enum { N = 6, COUNT = 5, MOST = 33 };

typedef mpk_status (*factorization)(mpk_context *, const mpk_batch *, const mpk_batch_array *,
                                    int32_t *, const mpk_batch_results *);
static const factorization verbs[] = {mpk_batch_llt, mpk_batch_ldlt, mpk_batch_ldu};

/* A kind of kernels is used where there is one, and else refused before anything is written. What
 * is in registers gives the pivots and factors of what is in shared memory. */
static void kernels_case(mpk_context *ctx, const mpki_device *d, int method, mpk_pivoting pivoting,
                         int n, double *host) {
    double got[2][COUNT * MOST * MOST];
    int32_t piv[2][COUNT * MOST * 2], outcome[COUNT];
    const int64_t bytes = (int64_t)COUNT * n * n * (int64_t)sizeof *host;
    mpk_batch batch = batch_of(COUNT, N, pivoting);
    batch.n = n;
    mpk_batch_results results = {outcome, NULL};
    for (int kind = MPK_BATCH_KERNELS_SHARED; kind >= MPK_BATCH_KERNELS_AUTO; kind--) {
        const int at = kind < MPK_BATCH_KERNELS_SHARED;
        const bool rows = n <= 32;
        const bool panel = method == MPK_BATCH_LDLT && n > 16 && pivoting != MPK_PIVOTING_STATIC;
        for (int b = 0; b < COUNT; b++) {
            outcome[b] = -7;
            for (int k = 0; k < n; k++) {
                int32_t *p = piv[at] + b * n * (method == MPK_BATCH_LDU ? 2 : 1);
                p[k] = n - 1 - k;
                if (method == MPK_BATCH_LDU) p[n + k] = (k + 1) % n;
            }
        }
        double *there = device_up(d, host, bytes);
        mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_DEVICE, there, n * n, n, 1};
        batch.kernels = (mpk_batch_kernels)kind;
        const mpk_status status =
            verbs[method](ctx, &batch, &x, pivoting ? piv[at] : NULL, &results);
        device_down(d, there, got[at], bytes);
        if (status == MPK_ERR_UNSUPPORTED) {
            assert_true(kind == MPK_BATCH_KERNELS_MADE ||
                        (kind == MPK_BATCH_KERNELS_REGISTERS && !rows) ||
                        (kind == MPK_BATCH_KERNELS_PANEL && !panel));
            for (int b = 0; b < COUNT; b++) assert_int_equal(outcome[b], -7);
            assert_memory_equal(got[at], host, (size_t)bytes);
            continue;
        }
        assert_int_equal(status, MPK_OK);
        if (kind == MPK_BATCH_KERNELS_PANEL) assert_true(panel);
        if (kind != MPK_BATCH_KERNELS_REGISTERS) continue;
        assert_true(rows);
        if (pivoting == MPK_PIVOTING_ROOK) continue; /* takes pivots that are largest of all */
        for (int b = 0; b < COUNT; b++)
            for (int j = 0; j < n; j++)
                for (int i = method == MPK_BATCH_LDU ? 0 : j; i < n; i++) {
                    const int k = (b * n + j) * n + i;
                    assert_true(fabs(got[0][k] - got[1][k]) < 1e-12);
                }
        if (pivoting)
            assert_memory_equal(piv[0], piv[1],
                                sizeof **piv *
                                    (size_t)(COUNT * n * (method == MPK_BATCH_LDU ? 2 : 1)));
    }
}

static void test_kernels(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    const mpki_device *d = device_open(ctx);
    static double host[COUNT * MOST * MOST];
    const int orders[] = {1, 4, 7, 16, 23, 32, 33};
    for (int method = 0; method < 3; method++)
        for (int pivoting = 0; pivoting < MPK_PIVOTING_COUNT; pivoting++) {
            if (method == 0 && pivoting != MPK_PIVOTING_NONE && pivoting != MPK_PIVOTING_COMPLETE)
                continue;
            for (int k = 0; k < 7; k++) {
                const int n = orders[k];
                for (int b = 0; b < COUNT; b++)
                    for (int j = 0; j < n; j++)
                        for (int i = 0; i < n; i++) { /* the largest of LDU off the diagonal */
                            const int large =
                                method == 2 && pivoting > MPK_PIVOTING_STATIC    ? (i + 3) % n == j
                                : method == 2 && pivoting == MPK_PIVOTING_STATIC ? (n - i) % n == j
                                                                                 : i == j;
                            /* so that no two candidates are as good */
                            const double x = large ? 4 * n + i : uniform() / 4;
                            host[(b * n + j) * n + i] = x;
                            if (method < 2 && i < j)
                                host[(b * n + j) * n + i] = host[(b * n + i) * n + j];
                        }
                kernels_case(ctx, d, method, (mpk_pivoting)pivoting, n, host);
            }
        }
    mpk_batch batch = batch_of(COUNT, N, MPK_PIVOTING_NONE);
    mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_HOST, host, N * N, N, 1};
    batch.count = 1, batch.kernels = MPK_BATCH_KERNELS_REGISTERS;
    refused(ctx, mpk_batch_ldlt(ctx, &batch, &x, NULL, NULL), MPK_ERR_ARGUMENT, "device memory");
    double *there = device_up(d, host, sizeof host);
    x.memory = MPK_DEVICE, x.data = there;
    refused(ctx, mpk_batch_solve(ctx, &batch, MPK_BATCH_LDLT, &x, NULL, 1, &x, NULL),
            MPK_ERR_ARGUMENT, "factorizations");
    x.layout = MPK_BATCH_INTERLEAVED;
    refused(ctx, mpk_batch_ldlt(ctx, &batch, &x, NULL, NULL), MPK_ERR_UNSUPPORTED, "layout");
    batch.kernels = (mpk_batch_kernels)5;
    refused(ctx, mpk_batch_ldlt(ctx, &batch, &x, NULL, NULL), MPK_ERR_ARGUMENT, "no such kernels");
    device_down(d, there, NULL, 0);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernels)};
    if (!device_there()) {
        print_message("no device, and no module that does without: nothing to test\n");
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
