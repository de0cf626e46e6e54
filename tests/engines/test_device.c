/* SPDX-License-Identifier: BSD-3-Clause */
/* A device that is not there, a module that is none: every verb that can be asked for one says so,
 * with a text, and touches nothing. */
#include "support.h"

enum {
    N = 6,
    COUNT = 3,
    ROOM = 1 << 16,
    NOWHERE = 4711
}; /* wherever this runs, there is none of that number */

static const char *const modules[] = {NULL, "/nowhere/libmetapack_cuda.so", "/etc/passwd",
                                      "libz.so.1"};

static mpk_context *context(void) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    return ctx;
}

static void assert_refused(mpk_context *ctx, mpk_status status) {
    const char *stage = NULL, *text = NULL;
    int64_t now = -1;
    assert_int_equal(mpk_last_error(ctx, &stage, NULL, &text), status);
    if (status != MPK_ERR_DEVICE) fail_msg("%s: %s", mpk_status_name(status), text);
    assert_true(*stage && strlen(text) > 10);
    mpk_memory_usage(ctx, &now, NULL);
    assert_int_equal(now, 0);
    assert_int_equal(mpk_exit_code(status), 7);
}

static void test_dense(void **unused) {
    (void)unused;
    mpk_context *ctx = context();
    double a[N * N], f[N * N], b[N], x[N], before[N * N];
    static int32_t pivots[ROOM];
    static _Alignas(64) char extra[ROOM];
    mpk_dense_sizes sizes = {.pivots = -77};
    mpk_inertia inertia = {-1, -1, -1, -1, -1};
    mpk_dense_info info;
    for (int i = 0; i < N * N; i++) a[i] = f[i] = before[i] = i % 7;
    for (int i = 0; i < N; i++) b[i] = x[i] = i;
    for (int method = 0; method < MPK_DENSE_COUNT; method++) {
        mpk_dense d;
        mpk_dense_init(&d);
        d.n = N;
        d.method = (mpk_dense_method)method;
        d.memory = MPK_DEVICE;
        d.device = NOWHERE;
        d.threads = 1;
        mpk_dense_factor factor = {
            .struct_size = sizeof factor, .f = f, .ldf = N, .pivots = pivots, .extra = extra};
        assert_refused(ctx, mpk_dense_query(ctx, &d, 1, &sizes));
        assert_int_equal(sizes.pivots, -77);
        assert_refused(ctx, mpk_dense_factorize(ctx, &d, a, N, &factor, NULL, 0, &info));
        assert_refused(ctx, mpk_dense_sysv(ctx, &d, a, N, &factor, 1, b, N, x, N, NULL, 0, &info));
        assert_memory_equal(a, before, sizeof a);
        assert_memory_equal(f, before, sizeof f);
        assert_memory_equal(x, b, sizeof x);
        /* factors made on the host are no factors there */
        d.memory = MPK_HOST;
        mpk_dense_sizes here;
        assert_int_equal(mpk_dense_query(ctx, &d, 1, &here), MPK_OK);
        assert_true(here.pivots <= ROOM && here.extra_bytes <= ROOM);
        assert_true(mpk_dense_factorize(ctx, &d, a, N, &factor, NULL, 0, NULL) <= MPK_SINGULAR);
        d.memory = MPK_DEVICE;
        mpk_status status = mpk_dense_solve(ctx, &d, a, N, &factor, 1, b, N, x, N, NULL, 0, &info);
        assert_true(status == MPK_ERR_DEVICE || status == MPK_ERR_ARGUMENT);
        assert_memory_equal(x, b, sizeof x);
        status = mpk_dense_inertia(ctx, &d, &factor, NULL, 0, &inertia);
        assert_true(status == MPK_ERR_DEVICE || status == MPK_ERR_ARGUMENT);
        assert_int_equal(inertia.positive, -1);
        memcpy(f, before, sizeof f);
        memcpy(a, before, sizeof a);
    }
    mpk_context_destroy(&ctx);
}

static void test_batch(void **unused) {
    (void)unused;
    static mpk_status (*const verbs[])(mpk_context *, const mpk_batch *, const mpk_batch_array *,
                                       int32_t *, const mpk_batch_results *) = {
        mpk_batch_llt, mpk_batch_ldlt, mpk_batch_ldu};
    mpk_context *ctx = context();
    double a[COUNT * N * N], before[COUNT * N * N], b[COUNT * N] = {1}, c[COUNT * N] = {1};
    const double was[COUNT * N] = {1};
    int32_t pivots[2 * COUNT * N], outcome[COUNT] = {-5, -5, -5};
    const mpk_batch_results results = {outcome, NULL};
    for (int i = 0; i < 2 * COUNT * N; i++) pivots[i] = i % N; /* of no exchange at all */
    for (int i = 0; i < COUNT * N * N; i++) a[i] = before[i] = i % 5 + (i % (N + 1) ? 0 : 9);
    const mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_DEVICE, a, N * N, N, 1};
    const mpk_batch_array y = {MPK_BATCH_STRIDED, MPK_DEVICE, b, N, N, 1};
    const mpk_batch_array z = {MPK_BATCH_STRIDED, MPK_DEVICE, c, N, N, 1};
    for (int asynchronous = 0; asynchronous < 2; asynchronous++)
        for (int method = 0; method < 3; method++) {
            mpk_batch batch;
            mpk_batch_init(&batch);
            batch.count = COUNT;
            batch.n = N;
            batch.pivoting = MPK_PIVOTING_COMPLETE;
            batch.device = NOWHERE;
            batch.asynchronous = asynchronous;
            batch.pivots_memory = batch.results_memory = asynchronous ? MPK_DEVICE : MPK_HOST;
            const mpk_batch_product product = {N, 1, N, NULL, 0, 1, 0};
            assert_refused(ctx, verbs[method](ctx, &batch, &x, pivots, &results));
            assert_refused(ctx, mpk_batch_solve(ctx, &batch, (mpk_batch_method)method, &x, pivots,
                                                1, &y, &results));
            assert_refused(ctx, mpk_batch_gemm(ctx, &batch, &product, &x, NULL, &y, &z));
            assert_memory_equal(a, before, sizeof a);
            assert_memory_equal(b, was, sizeof b);
            assert_memory_equal(c, was, sizeof c);
            for (int i = 0; i < 2 * COUNT * N; i++) assert_int_equal(pivots[i], i % N);
            for (int k = 0; k < COUNT; k++) assert_int_equal(outcome[k], -5);
        }
    mpk_context_destroy(&ctx);
}

/* A factor that is to be made there is not made elsewhere; `auto` may be. */
static void test_sparse(void **unused) {
    (void)unused;
    static const mpk_method methods[] = {MPK_METHOD_LDLT, MPK_METHOD_ILDLT, MPK_METHOD_DIAGONAL};
    mpk_device_info info = {.name = "as it was"};
    double here = 1, there = 2;
    for (int k = 0; k < 3; k++) {
        mpk_context *ctx = context(), *other = context();
        mpk_problem *problem = NULL;
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        mpk_options options;
        mpk_options_init(&options);
        options.method = methods[k];
        options.device = MPK_ON_CUDA;
        options.device_number = 1000; /* the last is 1023 */
        assert_int_equal(mpk_problem_generate(other, "nlpkkt 3", 1, &problem), MPK_OK);
        assert_int_equal(mpk_analyse(other, problem, &options, &an), MPK_OK);
        assert_refused(ctx, mpk_factorize(ctx, an, NULL, &options, &fac));
        assert_null(fac);
        assert_refused(ctx, mpk_device_info_get(ctx, NOWHERE, &info));
        assert_string_equal(info.name, "as it was");
        assert_refused(ctx, mpk_device_copy(ctx, NOWHERE, &there, 8, &here, 8, 8, 1));
        assert_true(there == 2);
        void *none = NULL, *some = &there;
        assert_refused(ctx, mpk_device_alloc(ctx, NOWHERE, 8, &none));
        assert_refused(ctx, mpk_device_free(ctx, NOWHERE, &some));
        assert_true(!none && some == &there);
        options.device = MPK_ON_AUTO;
        assert_int_equal(mpk_factorize(ctx, an, NULL, &options, &fac), MPK_OK);
        assert_memory_equal(mpk_factor_engine(fac), "cpu-", 4);
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
        mpk_context_destroy(&other);
    }
}

/* With a name for the module in the environment that leads nowhere, too; and the processor goes on.
 */
static void test_modules(void **unused) {
    for (size_t k = 0; k < sizeof modules / sizeof *modules; k++) {
        if (modules[k]) setenv("METAPACK_CUDA_MODULE", modules[k], 1);
        test_dense(unused);
        test_batch(unused);
        test_sparse(unused);
        unsetenv("METAPACK_CUDA_MODULE");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_dense), cmocka_unit_test(test_batch),
                                       cmocka_unit_test(test_sparse),
                                       cmocka_unit_test(test_modules)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
