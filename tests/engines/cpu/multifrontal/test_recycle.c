/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks that come back: contents do not overlap, memory returns, failures are told. */
#include "support.h"

#include "engines/cpu/multifrontal/recycle.h"

enum { COUNT = 300 };

static void test_large_blocks(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpki_recycler r;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpki_recycler_init(ctx, "factorize", &r), MPK_OK);
    char *block[COUNT] = {0};
    int64_t bytes[COUNT] = {0}, peak, held = 0, most = 0;
    for (int step = 0; step < 4000; step++) {
        int k = (int)(fabs(uniform()) * COUNT);
        if (block[k]) {
            for (int64_t i = 0; i < bytes[k]; i += 4001) assert_int_equal(block[k][i], (char)k);
            mpki_recycler_put(&r, block[k], bytes[k]);
            block[k] = NULL;
            held -= bytes[k];
        } else {
            bytes[k] = 1 + (int64_t)(fabs(uniform()) * 600000);
            block[k] = mpki_recycler_get(&r, bytes[k]);
            assert_non_null(block[k]);
            memset(block[k], (char)k, (size_t)bytes[k]);
            held += bytes[k];
            most = held > most ? held : most;
        }
    }
    mpki_recycler_put(&r, NULL, 10);
    for (int k = 0; k < COUNT; k++) mpki_recycler_put(&r, block[k], bytes[k]);
    mpki_recycler_free(&r);
    int64_t now;
    mpk_memory_usage(ctx, &now, &peak);
    assert_int_equal(now, 0);
    assert_true(peak <= 2 * most); /* what waits does not pile up */
    mpk_context_destroy(&ctx);
}

/* blocks travel between two workers' lists */
static void test_small_blocks(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_small_blocks s[2] = {{.ctx = ctx, .stage = "factorize"},
                              {.ctx = ctx, .stage = "factorize"}};
    char *block[COUNT] = {0};
    int64_t bytes[COUNT] = {0};
    for (int step = 0; step < 20000; step++) {
        int k = (int)(fabs(uniform()) * COUNT), w = step & 1;
        if (block[k]) {
            for (int64_t i = 0; i < bytes[k]; i++) assert_int_equal(block[k][i], (char)k);
            mpki_small_put(&s[w], block[k], bytes[k]);
            block[k] = NULL;
        } else {
            bytes[k] = 8 + (int64_t)(fabs(uniform()) * (MPKI_SMALL - 8));
            block[k] = mpki_small_get(&s[w], bytes[k]);
            assert_non_null(block[k]);
            assert_int_equal((uintptr_t)block[k] % 64, 0);
            memset(block[k], (char)k, (size_t)bytes[k]);
        }
    }
    int64_t now;
    mpki_small_free(&s[0]);
    mpki_small_free(&s[1]);
    mpk_memory_usage(ctx, &now, NULL);
    assert_int_equal(now, 0);
    /* empty, and of use again: one block after the other */
    const char *first = mpki_small_get(&s[0], 5000), *second = mpki_small_get(&s[0], 100);
    assert_int_equal(second - first, 5120);
    mpki_small_free(&s[0]);
    mpki_small_free(&s[1]);
    mpk_memory_usage(ctx, &now, NULL);
    assert_int_equal(now, 0);
    mpk_context_destroy(&ctx);
}

static void test_no_memory(void **unused) {
    (void)unused;
    failing f = {.fail_at = 2};
    mpk_allocator allocator = {failing_alloc, failing_release, &f};
    mpk_context *ctx = NULL;
    mpki_recycler r;
    assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
    mpki_small_blocks s = {.ctx = ctx, .stage = "factorize"};
    assert_null(mpki_small_get(&s, 100));
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, NULL), MPK_ERR_MEMORY);
    f.fail_at = f.calls + 1;
    assert_int_equal(mpki_recycler_init(ctx, "factorize", &r), MPK_OK);
    assert_null(mpki_recycler_get(&r, 1 << 20));
    mpki_recycler_free(&r);
    mpk_context_destroy(&ctx);
    assert_int_equal(f.held, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_large_blocks),
                                       cmocka_unit_test(test_small_blocks),
                                       cmocka_unit_test(test_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
