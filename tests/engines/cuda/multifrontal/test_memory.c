/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal engine of a device where memory ends: allocations of the host that fail, limits,
 * a full device. */
#include "support.h"

#include "device_multifrontal.h"

/* Factorize and solve; whatever fails, nothing is lost. */
static mpk_status attempt(const mpk_allocator *allocator, const char *spec, const mpk_options *o,
                          char *said, size_t size) {
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_problem_view a;
    const char *text = "";
    mpk_status status = mpk_context_create(allocator, &ctx);
    if (mpk_failed(status)) return status;
    if (!mpki_cuda_keep(ctx, 0)) {
        status = mpk_last_error(ctx, NULL, NULL, NULL);
        mpk_context_destroy(&ctx);
        return status;
    }
    mpki_engine_use(ctx, &direct_engine);
    status = mpk_problem_generate(ctx, spec, 1, &problem);
    if (!mpk_failed(status)) status = mpk_analyse(ctx, problem, o, &an);
    if (!mpk_failed(status)) status = mpk_factorize(ctx, an, NULL, o, &fac);
    if (!mpk_failed(status)) {
        mpk_problem_view_get(problem, &a);
        double *x = calloc((size_t)a.n + 1, sizeof *x);
        x[0] = 1;
        status = mpk_solve(ctx, fac, 1, x, a.n, x, a.n, o, NULL);
        double logdet[3];
        if (!mpk_failed(status)) status = mpk_get(ctx, fac, MPK_GET_LOGDET, logdet, sizeof logdet);
        free(x);
    }
    mpk_last_error(ctx, NULL, NULL, &text);
    if (said) snprintf(said, size, "%s", text);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
    return status;
}

static void test_memory(void **unused) {
    (void)unused;
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.condition = MPK_ON; /* through the host, which nobody stands in for (else: test_refine.c) */
    bool done = false;
    for (int64_t k = 1; !done; k++) {
        failing f = {.fail_at = k};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        const mpk_status status = attempt(&allocator, "nlpkkt 2", &o, NULL, 0);
        done = f.calls < k;
        assert_int_equal(status, done ? MPK_OK : MPK_ERR_MEMORY);
        assert_int_equal(f.held, 0);
        assert_true(k < 5000);
    }
}

/* A limit is held, and both numbers are told; so is what the device has. */
static void test_device_memory(void **unused) {
    (void)unused;
    char said[300];
    mpk_options o;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT;
    o.device_memory_limit = 1000;
    assert_int_equal(attempt(NULL, "nlpkkt 3", &o, said, sizeof said), MPK_ERR_MEMORY);
    assert_non_null(strstr(said, "device_memory_limit allows 1000"));
    o.device_memory_limit = 1e9;
    assert_int_equal(attempt(NULL, "nlpkkt 3", &o, said, sizeof said), MPK_OK);
    o.device_memory_limit = 0;
    if (device_is_real()) return;
    bool done = false;
    for (int64_t limit = 1000; !done;
         limit *= 2) { /* one piece of the device's memory after another */
        char text[40];
        snprintf(text, sizeof text, "%lld", (long long)limit);
        setenv("METAPACK_CUDA_HOST_LIMIT", text, 1);
        const mpk_status status = attempt(NULL, "nlpkkt 3", &o, said, sizeof said);
        done = status == MPK_OK;
        if (!done) assert_int_equal(status, MPK_ERR_MEMORY);
        assert_true(limit < (int64_t)1 << 34);
    }
    unsetenv("METAPACK_CUDA_HOST_LIMIT");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory),
                                       cmocka_unit_test(test_device_memory)};
    if (device_lacks(DEVICE_DIRECT)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
