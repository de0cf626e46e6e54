/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user sees of a device without a matrix: which one it is, and copies to and from it. On a
 * GPU, or on the module that has none. */
#include "support.h"

#include "engines/cuda/module/load.h"
#include "factor/factor.h"
#include <metapack/metapack.h>

enum { ROWS = 5, COLUMNS = 3, LD = 7 };

/* Columns with gaps between them, there and back; what lies in the gaps stays. */
static void test_copies(void **state) {
    mpk_context *ctx = *state;
    const mpki_device *d = mpki_cuda_open(ctx, 0);
    void *there = NULL;
    double here[LD * COLUMNS], back[ROWS * COLUMNS], whole[LD * COLUMNS];
    assert_non_null(d);
    assert_int_equal(d->table->alloc(d->cuda, sizeof here, &there), MPK_OK);
    for (int k = 0; k < LD * COLUMNS; k++) here[k] = -1;
    assert_int_equal(mpk_device_copy(ctx, 0, there, sizeof here, here, sizeof here, sizeof here, 1),
                     MPK_OK);
    for (int k = 0; k < LD * COLUMNS; k++) here[k] = k;
    assert_int_equal(mpk_device_copy(ctx, 0, there, LD * 8, here, LD * 8, ROWS * 8, COLUMNS),
                     MPK_OK);
    assert_int_equal(mpk_device_copy(ctx, 0, back, ROWS * 8, there, LD * 8, ROWS * 8, COLUMNS),
                     MPK_OK);
    assert_int_equal(mpk_device_copy(ctx, 0, whole, 0, there, 0, sizeof whole, 1), MPK_OK);
    for (int j = 0; j < COLUMNS; j++)
        for (int i = 0; i < LD; i++) {
            assert_true(whole[j * LD + i] == (i < ROWS ? j * LD + i : -1));
            if (i < ROWS) assert_true(back[j * ROWS + i] == j * LD + i);
        }
    d->table->release(d->cuda, there);
}

static void refused(mpk_context *ctx, mpk_status status, const char *word) {
    const char *text = NULL;
    assert_int_equal(status, MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), status);
    if (!strstr(text, word)) fail_msg("%s: %s", word, text);
}

static void test_arguments(void **state) {
    mpk_context *ctx = *state;
    mpk_device_info info;
    const mpki_device *d = mpki_cuda_open(ctx, 0);
    void *there = NULL;
    double a[4] = {1, 2, 3, 4}, b[4] = {0};
    assert_non_null(d);
    assert_int_equal(d->table->alloc(d->cuda, 64, &there), MPK_OK);
    refused(ctx, mpk_device_copy(ctx, 0, a, 32, b, 32, 32, 1), "one must lie");
    refused(ctx, mpk_device_copy(ctx, 0, there, 32, (char *)there + 32, 32, 32, 1), "one must lie");
    refused(ctx, mpk_device_copy(ctx, 0, there, 32, NULL, 32, 32, 1), "one must lie");
    refused(ctx, mpk_device_copy(ctx, 0, NULL, 32, a, 32, 32, 1), "one must lie");
    refused(ctx, mpk_device_copy(ctx, 0, there, 8, a, 16, 16, 2), "overlap");
    refused(ctx, mpk_device_copy(ctx, 0, there, 16, a, 8, 16, 2), "overlap");
    refused(ctx, mpk_device_copy(ctx, 0, there, 16, a, 16, -16, 2), "negative");
    refused(ctx, mpk_device_copy(ctx, 0, there, 16, a, 16, 16, -2), "negative");
    refused(ctx, mpk_device_copy(ctx, -1, there, 16, a, 16, 16, 2), "negative");
    assert_int_equal(mpk_device_copy(ctx, 0, NULL, 0, NULL, 0, 0, 1), MPK_OK);
    assert_int_equal(mpk_device_copy(NULL, 0, there, 16, a, 16, 16, 1), MPK_ERR_ARGUMENT);
    refused(ctx, mpk_device_info_get(ctx, 0, NULL), "NULL");
    refused(ctx, mpk_device_info_get(ctx, -1, &info), "0");
    assert_int_equal(mpk_device_info_get(ctx, 0, &info), MPK_OK);
    assert_true(info.name[0] && info.total_bytes >= info.free_bytes && info.free_bytes > 0);
    d->table->release(d->cuda, there);
}

/* Memory of the device: taken, used, given back; what is refused changes nothing. */
static void test_memory(void **state) {
    mpk_context *ctx = *state;
    double a[4] = {1, 2, 3, 4}, b[4] = {0};
    void *there = NULL, *none = NULL, *here = a;
    assert_int_equal(mpk_device_alloc(ctx, 0, sizeof a, &there), MPK_OK);
    assert_non_null(there);
    assert_int_equal(mpk_device_copy(ctx, 0, there, 0, a, 0, sizeof a, 1), MPK_OK);
    assert_int_equal(mpk_device_copy(ctx, 0, b, 0, there, 0, sizeof a, 1), MPK_OK);
    assert_memory_equal(a, b, sizeof a);
    void *kept = there;
    refused(ctx, mpk_device_alloc(ctx, 0, 8, &there), "must be NULL");
    refused(ctx, mpk_device_alloc(ctx, 0, 8, NULL), "must not be NULL");
    refused(ctx, mpk_device_alloc(ctx, -1, 8, &none), "negative");
    refused(ctx, mpk_device_alloc(ctx, 0, -8, &none), "negative");
    refused(ctx, mpk_device_free(ctx, -1, &there), "0");
    refused(ctx, mpk_device_free(ctx, 0, &here), "not memory");
    assert_true(there == kept && here == a && !none);
    assert_int_equal(mpk_device_alloc(ctx, 0, INT64_MAX / 2, &none), MPK_ERR_MEMORY);
    assert_null(none);
    assert_int_equal(mpk_device_alloc(ctx, 0, 0, &none), MPK_OK);
    assert_null(none);
    assert_int_equal(mpk_device_free(ctx, 0, &none), MPK_OK);
    assert_int_equal(mpk_device_free(ctx, 0, NULL), MPK_OK);
    assert_int_equal(mpk_device_free(NULL, 0, &there), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_device_alloc(NULL, 0, 8, &none), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_device_free(ctx, 0, &there), MPK_OK);
    assert_null(there);
}

static mpk_status told = MPK_OK;

static mpk_status estimate(mpk_context *ctx, const mpki_tree_view *tree, mpk_switch emulation,
                           int64_t *bytes, int64_t *delayed_bytes, double *time_s) {
    assert_int_equal(emulation, MPK_AUTO);
    if (mpk_failed(told)) return mpki_error(ctx, told, "device", -1, "cannot say");
    *bytes = 1000 + tree->n, *delayed_bytes = 500;
    *time_s = 0.25;
    return MPK_OK;
}

static const char *name(const mpk_context *ctx) {
    (void)ctx;
    return "a device";
}

/* What an engine says beforehand, or that it cannot; the processor's figures; no device. */
static void test_estimate(void **state) {
    mpk_context *ctx = *state;
    mpki_direct_engine direct = mpki_cpu_direct;
    mpki_engine there = {.name = name,
                         .memory = MPK_DEVICE,
                         .direct = &direct,
                         .vectors = &mpki_cpu_vectors,
                         .blocks = &mpki_cpu_blocks};
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_analysis_info info;
    mpk_device_info device;
    mpk_options options;
    mpk_estimate e = {.host_bytes = -77};
    mpk_options_init(&options);
    options.method = MPK_METHOD_LDLT;
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 3", 1, &problem), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, problem, &options, &an), MPK_OK);
    mpk_analysis_info_get(an, &info);
    assert_int_equal(mpk_factor_estimate(ctx, NULL, &options, &e), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_factor_estimate(ctx, an, &options, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_factor_estimate(NULL, an, &options, &e), MPK_ERR_ARGUMENT);
    options.device = MPK_ON_CUDA;
    options.device_number = 1000;
    assert_int_equal(mpk_factor_estimate(ctx, an, &options, &e), MPK_ERR_DEVICE);
    assert_int_equal(e.host_bytes, -77);
    options.device_number = 0;
    options.device = MPK_ON_CPU;
    assert_int_equal(mpk_factor_estimate(ctx, an, &options, &e), MPK_OK);
    assert_memory_equal(e.engine, "cpu-", 4);
    assert_true(e.host_bytes == info.peak_bytes && e.flops == info.factor_flops);
    assert_true(e.device_bytes == 0 && e.device_free_bytes == 0 && e.time_s == 0);
    mpki_engine_use(ctx, &there);
    assert_int_equal(mpk_device_info_get(ctx, 0, &device), MPK_OK);
    assert_int_equal(mpk_factor_estimate(ctx, an, &options, &e), MPK_OK);
    assert_string_equal(e.engine, "a device");
    assert_true(e.device_bytes == -1 && e.device_free_bytes > 0 && e.time_s == 0);
    direct.estimate = estimate;
    options.device_memory_limit = 5000;
    assert_int_equal(mpk_factor_estimate(ctx, an, &options, &e), MPK_OK);
    assert_true(e.device_bytes == 1000 + info.n && e.device_free_bytes == 5000);
    assert_int_equal(e.device_delayed_bytes, 500);
    assert_true(e.time_s == 0.25);
    told = MPK_ERR_MEMORY;
    e.host_bytes = -77;
    assert_int_equal(mpk_factor_estimate(ctx, an, &options, &e), MPK_ERR_MEMORY);
    assert_int_equal(e.host_bytes, -77);
    mpki_engine_use(ctx, NULL);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
}

/* The report of an analysis has it, as text and as JSON. */
static void test_report(void **state) {
    mpk_context *ctx = *state;
    mpki_direct_engine direct = mpki_cpu_direct;
    const mpki_engine there = {.name = name,
                               .memory = MPK_DEVICE,
                               .direct = &direct,
                               .vectors = &mpki_cpu_vectors,
                               .blocks = &mpki_cpu_blocks};
    const mpk_job job = {
        .struct_size = sizeof job, .generate = "nlpkkt 3", .goal = MPK_GOAL_ANALYSE};
    mpk_options options;
    mpk_options_init(&options);
    options.device = MPK_ON_CUDA;
    mpki_engine_use(ctx, &there);
    told = MPK_OK;
    for (int k = 0; k < 3; k++) {
        mpk_report *report = NULL;
        if (k) direct.estimate = estimate;
        options.device_memory_limit = k == 2 ? 10 : 0;
        assert_int_equal(mpk_job_run(ctx, &job, &options, &report), MPK_OK);
        const char *text = mpk_report_text(report), *json = mpk_report_json(report);
        assert_non_null(strstr(json, "\"backend\": \"a device\""));
        assert_non_null(strstr(json, "\"device_free_bytes\": "));
        assert_true(!strstr(json, "\"device_bytes\": ") == (k == 0));
        assert_true(!strstr(json, "\"device_time_s\": 0.25") == (k == 0));
        assert_non_null(strstr(text, "Place         a device, "));
        assert_true(!strstr(text, "is known when it is made") == (k != 0));
        assert_true(!strstr(text, "too much") == (k != 2));
        assert_true(!strstr(text, "500 B of it kept for columns that are delayed") == (k == 0));
        mpk_report_destroy(&report);
    }
    mpki_engine_use(ctx, NULL);
}

/* Method auto runs there from end to end: its ladder, and the direct solver where that is allowed.
 * The report names the place. */
static void test_auto(void **state) {
    mpk_context *ctx = *state;
    mpk_job job = {.struct_size = sizeof job, .goal = MPK_GOAL_SOLVE, .generate = "nlpkkt 3"};
    for (int direct = 0; direct < 2; direct++) {
        mpk_options options;
        mpk_report *report = NULL;
        mpk_options_init(&options);
        options.device = MPK_ON_CUDA;
        options.tolerance = 1e-10;
        options.direct = direct ? MPK_ON : MPK_OFF;
        assert_int_equal(mpk_job_run(ctx, &job, &options, &report), MPK_OK);
        const char *text = mpk_report_text(report), *json = mpk_report_json(report);
        assert_non_null(strstr(json, "\"backend\": \"cuda: "));
        assert_non_null(strstr(json, direct ? "\"method\": \"ldlt\"" : "\"method\": \"ildlt\""));
        assert_non_null(strstr(text, direct ? "LDL^T, cuda: " : "incomplete, cuda: "));
        assert_true(!strstr(text, "Not direct") == (direct != 0));
        mpk_report_destroy(&report);
    }
}

/* device = auto: an ordering for where the factorization will be. A chain of 1500 fronts is for the
 * processor alone; nested dissection makes it a tree. */
static void test_ordered_for(void **state) {
    (void)state;
    const char *module = getenv("METAPACK_CUDA_MODULE");
    char *named = module ? strdup(module) : NULL;
    static const struct {
        const char *spec;
        bool there;
        mpk_device ordered_for;
    } cases[] = {{"optimal-control 1500", true, MPK_ON_CUDA},
                 {"optimal-control 1500", false, MPK_ON_CPU},
                 {"optimal-control 40", true, MPK_ON_CPU}};
    int32_t height[3];
    for (int k = 0; k < 3; k++) {
        mpk_context *ctx = NULL;
        mpk_problem *problem = NULL;
        mpk_analysis *an = NULL;
        mpk_analysis_info info;
        mpk_options o;
        mpk_options_init(&o);
        o.method = MPK_METHOD_LDLT, o.device = MPK_ON_AUTO;
        if (!cases[k].there) setenv("METAPACK_CUDA_MODULE", "/nowhere/module.so", 1);
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        assert_int_equal(mpk_problem_generate(ctx, cases[k].spec, 1, &problem), MPK_OK);
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        mpk_analysis_info_get(an, &info);
        assert_int_equal(info.ordered_for, cases[k].ordered_for);
        height[k] = info.tree_height;
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
        mpk_context_destroy(&ctx);
        if (named)
            setenv("METAPACK_CUDA_MODULE", named, 1);
        else
            unsetenv("METAPACK_CUDA_MODULE");
    }
    free(named);
    assert_true(2 * height[0] < height[1]); /* the processor's path is cut, into fewer parts */
}

/* device = auto with methods on blocks: a chain of frames that all wait for one another is for the
 * processor, unless the method lets none of them wait. */
static void test_chain(void **state) {
    mpk_context *ctx = *state;
    static const struct {
        const char *spec;
        mpk_method method;
        mpk_schedule schedule;
        bool there;
    } cases[] = {{"optimal-control 1500", MPK_METHOD_ILDLT, MPK_SCHEDULE_PULL, false},
                 {"optimal-control 1500", MPK_METHOD_JACOBI, MPK_SCHEDULE_JACOBI, true},
                 {"optimal-control 1500", MPK_METHOD_BLOCK_JACOBI, MPK_SCHEDULE_PULL, true},
                 {"nlpkkt 10", MPK_METHOD_ILDLT, MPK_SCHEDULE_PULL, true}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        mpk_problem *problem = NULL;
        mpk_analysis *an = NULL;
        mpk_options o;
        mpk_options_init(&o);
        o.method = cases[k].method, o.schedule = cases[k].schedule;
        assert_int_equal(mpk_problem_generate(ctx, cases[k].spec, 1, &problem), MPK_OK);
        assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK);
        for (int device = MPK_ON_CPU; device <= MPK_ON_AUTO; device++) {
            o.device = (mpk_device)device;
            const mpki_engine *engine = mpki_engine_of(ctx, an, &o);
            assert_non_null(engine);
            assert_int_equal(engine->memory == MPK_DEVICE,
                             device == MPK_ON_CUDA || (device == MPK_ON_AUTO && cases[k].there));
        }
        mpk_analysis_destroy(&an);
        mpk_problem_destroy(&problem);
    }
}

/* GPUs for which the module was not built: the host module says 8.0. */
static void test_older_gpus(void **state) {
    (void)state;
    if (getenv("METAPACK_TEST_DEVICE")) skip();
    static const char *const capability[] = {"75", "80", "89", "90", "120"};
    for (int k = 0; k < 5; k++) {
        mpk_context *ctx = NULL;
        mpk_device_info info;
        mpk_batch batch;
        double a = 2;
        int32_t outcome = 7;
        const char *text = NULL;
        setenv("METAPACK_CUDA_HOST_CAPABILITY", capability[k], 1);
        assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
        const mpk_status status = mpk_device_info_get(ctx, 0, &info);
        assert_int_equal(status, k < 1 ? MPK_ERR_DEVICE : MPK_OK);
        mpk_last_error(ctx, NULL, NULL, &text);
        if (k == 0)
            assert_string_equal(text,
                                "CUDA device 0 has compute capability 7.5; this CUDA module was "
                                "built for 8.0 and later (METAPACK_CUDA_ARCHITECTURES)");
        mpk_batch_init(&batch);
        batch.count = batch.n = 1;
        const mpk_batch_array x = {MPK_BATCH_STRIDED, MPK_DEVICE, &a, 1, 1, 1};
        const mpk_batch_results results = {&outcome, NULL};
        /* from 8.0 on it gets so far as to see that the pointer is the host's */
        assert_int_equal(mpk_batch_ldlt(ctx, &batch, &x, NULL, &results),
                         k < 1 ? MPK_ERR_DEVICE : MPK_ERR_ARGUMENT);
        mpk_context_destroy(&ctx);
    }
    unsetenv("METAPACK_CUDA_HOST_CAPABILITY");
}

/* A GPU that another process has to itself: said, auto does without, and the same context takes it
 * when it is free. */
static void test_busy(void **state) {
    (void)state;
    if (getenv("METAPACK_TEST_DEVICE")) skip();
    mpk_context *ctx = NULL;
    mpk_problem *problem = NULL;
    mpk_analysis *an = NULL;
    mpk_factor *fac = NULL;
    mpk_options o;
    const char *text = NULL;
    mpk_options_init(&o);
    o.method = MPK_METHOD_LDLT, o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 8", 1, &problem), MPK_OK);
    setenv("METAPACK_CUDA_HOST_BUSY", "1", 1);
    assert_int_equal(mpk_analyse(ctx, problem, &o, &an), MPK_OK); /* which would do without */
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_ERR_DEVICE);
    mpk_last_error(ctx, NULL, NULL, &text);
    assert_non_null(strstr(text, "busy"));
    assert_null(fac);
    o.device = MPK_ON_AUTO;
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    assert_memory_equal(mpk_factor_engine(fac), "cpu-", 4);
    mpk_factor_destroy(&fac);
    unsetenv("METAPACK_CUDA_HOST_BUSY");
    assert_int_equal(mpk_factorize(ctx, an, NULL, &o, &fac), MPK_OK);
    assert_memory_equal(mpk_factor_engine(fac), "cuda", 4);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    mpk_problem_destroy(&problem);
    mpk_context_destroy(&ctx);
}

static int open_context(void **state) {
    return mpk_context_create(NULL, (mpk_context **)state) != MPK_OK;
}

static int close_context(void **state) {
    mpk_context_destroy((mpk_context **)state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_copies, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_arguments, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_memory, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_estimate, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_report, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_auto, open_context, close_context),
        cmocka_unit_test(test_ordered_for),
        cmocka_unit_test_setup_teardown(test_chain, open_context, close_context),
        cmocka_unit_test(test_older_gpus),
        cmocka_unit_test(test_busy)};
#ifdef METAPACK_CUDA_HOST
    if (!getenv("METAPACK_TEST_DEVICE")) setenv("METAPACK_CUDA_MODULE", METAPACK_CUDA_HOST, 1);
#else
    if (!getenv("METAPACK_TEST_DEVICE")) return 0; /* neither a GPU nor the module without one */
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
