/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangular solves on blocks in device memory where something goes wrong: NaN, no memory, a
 * limit. */
#include "device_sweeps.h"

/* NaN goes through, whatever its bits, and nothing waits for ever; the next application is not
 * touched by it. */
static void test_nan(void **unused) {
    (void)unused;
    static const uint64_t bits[] = {0x7ff8000000000000u, 0x7ffd5eed7ffd5eedu, 0xfff8000000000001u,
                                    0x7ff0000000000000u};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int sweeps = 0; sweeps < 3; sweeps += 2) {
        mpk_options o = options_of(1);
        o.solve_sweeps = sweeps;
        run r = go(ctx, "stokes mac 7", MPK_D, &o);
        int32_t takes;
        mpki_block_solver *s = solver_of(&r, 1, &takes);
        double *before = vectors(&r, 1), *after = vectors(&r, 1);
        on_device(&r, s, takes, MPK_PART_ALL, 1, before, 1);
        for (int k = 0; k < 4; k++)
            for (int part = MPK_PART_ALL; part <= MPK_PART_LT; part++) {
                double *x = vectors(&r, 1), *y = vectors(&r, 1);
                memcpy(&x[r.n / 3], &bits[k], 8);
                memcpy(&y[r.n / 3], &bits[k], 8);
                on_processor(&r, (mpk_part)part, 1, x);
                on_device(&r, s, takes, (mpk_part)part, 1, y, 1);
                int lost = 0;
                for (int32_t i = 0; i < r.n; i++) {
                    lost += !isfinite(y[i]);
                    /* blocks of the processor spread it to all of their rows */
                    if (!isfinite(y[i])) assert_false(isfinite(x[i]));
                    if (isfinite(x[i])) assert_true(fabs(x[i] - y[i]) <= 1e-9 * (1 + fabs(x[i])));
                }
                assert_true(lost > 0);
                free(x), free(y);
            }
        on_device(&r, s, takes, MPK_PART_ALL, 1, after, 1);
        assert_memory_equal(before, after, (size_t)r.n * 8);
        free(before), free(after);
        mpki_cuda_sweeps_free(ctx, &s);
        end(&r);
    }
    mpk_context_destroy(&ctx);
}

/* Every allocation of the host's that fails, device memory that is not there, and a limit. */
static void test_failures(void **unused) {
    (void)unused;
    failing f = {0};
    mpk_allocator allocator = {failing_alloc, failing_release, &f};
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
    mpk_options o = options_of(1);
    run r = go(ctx, "stokes mac 5", MPK_D, &o);
    mpki_stages *stages = (mpki_stages *)(uintptr_t)r.bf->stages;
    int32_t takes;
    mpki_block_solver *s = NULL;
    int failed = 0;
    const int64_t held = f.held;
    for (int64_t k = 1;; k++) {
        mpki_clear_error(ctx);
        f.calls = 0, f.fail_at = k;
        const mpk_status status = mpki_cuda_sweeps_make(ctx, stages, &r.store.store, 3, &s, &takes);
        f.fail_at = 0;
        if (!mpk_failed(status)) break;
        assert_int_equal(status, MPK_ERR_MEMORY);
        assert_null(s);
        assert_int_equal(f.held, held);
        failed++;
    }
    assert_true(failed > 10);
    const int64_t bytes = mpki_cuda_sweeps_summary(s).bytes;
    mpki_cuda_sweeps_free(ctx, &s);
    mpki_cuda_sweeps_free(ctx, &s);
    assert_int_equal(f.held, held);
    int refused = 0;
    for (int k = 0; k < 40; k++) {
        mpk_options limited = *stages->options;
        const mpk_options *before = stages->options;
        limited.device_memory_limit = (double)bytes * (k + 1) / 30;
        stages->options = &limited;
        mpki_clear_error(ctx);
        const mpk_status status = mpki_cuda_sweeps_make(ctx, stages, &r.store.store, 3, &s, &takes);
        stages->options = before;
        if (mpk_failed(status)) {
            const char *text = NULL;
            assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), MPK_ERR_MEMORY);
            assert_non_null(strstr(text, "device_memory_limit is"));
            assert_null(s);
            assert_true(limited.device_memory_limit < (double)bytes);
            refused++;
        } else { /* where there is little, arrays take no more than they need */
            assert_true((double)mpki_cuda_sweeps_summary(s).bytes <= limited.device_memory_limit);
        }
        mpki_cuda_sweeps_free(ctx, &s);
        assert_int_equal(f.held, held);
    }
    assert_true(refused > 10 && refused < 30);
#ifdef METAPACK_CUDA_HOST
    const char *must = getenv("METAPACK_TEST_DEVICE");
    for (int64_t limit = 64; limit < 1 << 20 && !(must && !strcmp(must, "1")); limit *= 2) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)limit);
        mpki_clear_error(ctx);
        setenv("METAPACK_CUDA_HOST_LIMIT", text, 1);
        const mpk_status status = mpki_cuda_sweeps_make(ctx, stages, &r.store.store, 3, &s, &takes);
        unsetenv("METAPACK_CUDA_HOST_LIMIT");
        if (limit < 1 << 10) assert_int_equal(status, MPK_ERR_MEMORY);
        if (mpk_failed(status)) assert_null(s);
        mpki_cuda_sweeps_free(ctx, &s);
        assert_int_equal(f.held, held);
    }
#endif
    end(&r);
    mpk_context_destroy(&ctx);
    assert_int_equal(f.held, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nan),
        cmocka_unit_test(test_failures),
    };
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
