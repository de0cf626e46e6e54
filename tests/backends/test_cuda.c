/* SPDX-License-Identifier: BSD-3-Clause */
/* A device is asked for and absent: a status with the reason, and the context goes on. Where there is
 * one (METAPACK_TEST_DEVICE=1 in the environment says that there must be), factors and solutions
 * agree with the host's. */
#include "backends/cuda/load.h"
#include "cases.h"

#include <metapack/dense.h>

static void no_module(void **state) {
    mpk_context *ctx = NULL;
    mpk_dense dense;
    mpk_dense_sizes sizes;
    const char *stage, *text;
    (void)state;
    assert_int_equal(setenv("METAPACK_CUDA_MODULE", "/nowhere/libmetapack_cuda.so", 1), 0);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_dense_init(&dense);
    dense.n = 10, dense.memory = MPK_DEVICE, dense.method = MPK_DENSE_TILE;
    for (int turn = 0; turn < 2; turn++) { /* asking again changes nothing */
        assert_int_equal(mpk_dense_query(ctx, &dense, 1, &sizes), MPK_ERR_DEVICE);
        assert_int_equal(mpk_last_error(ctx, &stage, NULL, &text), MPK_ERR_DEVICE);
        assert_non_null(strstr(text, "/nowhere/libmetapack_cuda.so"));
    }
    dense.memory = MPK_HOST;
    assert_int_equal(mpk_dense_query(ctx, &dense, 1, &sizes), MPK_OK);
    mpk_context_destroy(&ctx);
    unsetenv("METAPACK_CUDA_MODULE");
}

/* Something that can be loaded and is no module of ours. */
static void wrong_module(void **state) {
    mpk_context *ctx = NULL;
    const char *text;
    (void)state;
    assert_int_equal(setenv("METAPACK_CUDA_MODULE", "libm.so.6", 1), 0);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_null(mpki_cuda_open(ctx, 0));
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), MPK_ERR_DEVICE);
    assert_non_null(strstr(text, "interface 0"));
    mpk_context_destroy(&ctx);
    unsetenv("METAPACK_CUDA_MODULE");
}

static void no_device(void **state) {
    mpk_context *ctx = NULL;
    mpk_dense dense;
    mpk_dense_factor factor = {sizeof factor, NULL, 1, NULL, NULL, 0, 0, 0};
    const char *text;
    double a = 1;
    (void)state;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    if (mpki_cuda_open(ctx, 0)) { /* there is one */
        mpk_context_destroy(&ctx);
        skip();
    }
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), MPK_ERR_DEVICE);
    assert_true(strlen(text) > 10);
    print_message("the reason: %s\n", text);
    mpk_dense_init(&dense);
    dense.n = 1, dense.memory = MPK_DEVICE;
    factor.f = &a;
    int32_t pivot;
    factor.pivots = &pivot;
    assert_int_equal(mpk_dense_factorize(ctx, &dense, &a, 1, &factor, NULL, 0, NULL),
                     MPK_ERR_DEVICE);
    assert_true(a == 1);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(no_module), cmocka_unit_test(wrong_module),
                                       cmocka_unit_test(no_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
