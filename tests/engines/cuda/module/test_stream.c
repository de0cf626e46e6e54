/* SPDX-License-Identifier: BSD-3-Clause */
/* A caller's stream, which calls are ordered in, and a caller's pool of device memory. On a GPU, or on
 * the module that has none. */
#include "support.h"

#include "engines/cuda/module/load.h"
#include <dlfcn.h>
#include <metapack/metapack.h>

static void refused(mpk_context *ctx, mpk_status status, const char *word) {
    const char *text = NULL;
    assert_int_equal(status, MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_last_error(ctx, NULL, NULL, &text), status);
    if (!strstr(text, word)) fail_msg("%s: %s", word, text);
}

/* A factor on the device. */
typedef struct queued {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options options;
} queued;

static mpk_status start(queued *q, mpk_context *ctx) {
    *q = (queued){.ctx = ctx};
    mpk_options_init(&q->options);
    q->options.method = MPK_METHOD_LDLT;
    q->options.device = MPK_ON_CUDA;
    assert_int_equal(mpk_problem_generate(ctx, "nlpkkt 2", 1, &q->problem), MPK_OK);
    assert_int_equal(mpk_analyse(ctx, q->problem, &q->options, &q->an), MPK_OK);
    return mpk_factorize(ctx, q->an, NULL, &q->options, &q->fac);
}

static void stop(queued *q) {
    mpk_factor_destroy(&q->fac);
    mpk_analysis_destroy(&q->an);
    mpk_problem_destroy(&q->problem);
}

/* Counts what it gives, and gives no more than `left` blocks. */
typedef struct pool {
    mpk_context *ctx;
    const mpki_device *d;
    int64_t blocks, bytes, given, left;
} pool;

static void *pool_alloc(void *user, size_t size, int number, void *stream) {
    pool *p = user;
    (void)stream;
    assert_true(number == 0 && size > 0);
    if (p->left == 0) return NULL;
    p->left--;
    /* of another context's module, which has CUDA's memory */
    void *ptr = NULL;
    if (mpk_failed(p->d->table->alloc(p->d->cuda, (int64_t)size, &ptr))) return NULL;
    p->blocks++, p->bytes += (int64_t)size, p->given++;
    return ptr;
}

static void pool_release(void *user, void *ptr, size_t size, int number, void *stream) {
    pool *p = user;
    (void)stream;
    assert_int_equal(number, 0);
    p->blocks--, p->bytes -= (int64_t)size;
    p->d->table->release(p->d->cuda, ptr);
}

static void test_allocator(void **state) {
    mpk_context *ctx = NULL;
    pool p = {.ctx = *state, .d = mpki_cuda_open(*state, 0), .left = -1};
    mpk_device_allocator given = {pool_alloc, NULL, &p};
    queued q;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    refused(ctx, mpk_device_set_allocator(ctx, 0, &given), "lacks");
    given.release = pool_release;
    refused(ctx, mpk_device_set_allocator(ctx, -1, &given), "0");
    assert_int_equal(mpk_device_set_allocator(NULL, 0, &given), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_device_set_allocator(ctx, 0, &given), MPK_OK);
    void *there = NULL; /* memory for the caller comes from there, too */
    assert_int_equal(mpk_device_alloc(ctx, 0, 1000, &there), MPK_OK);
    assert_true(p.blocks == 1 && p.bytes >= 1000);
    refused(ctx, mpk_device_set_allocator(ctx, 0, NULL), "held");
    assert_int_equal(mpk_device_free(ctx, 0, &there), MPK_OK);
    assert_int_equal(p.blocks, 0);
    if (p.d->table->direct) {
        assert_int_equal(start(&q, ctx), MPK_OK);
        assert_true(p.blocks > 0);
        stop(&q);
        const int64_t all = p.given;
        for (int64_t k = 0; k < all; k += 1 + all / 8) { /* none is left at some place */
            p.left = k;
            const mpk_status status = start(&q, ctx);
            assert_true(status == MPK_OK || status == MPK_ERR_MEMORY);
            stop(&q);
        }
        p.left = -1;
    }
    assert_int_equal(mpk_device_set_allocator(ctx, 0, NULL), MPK_OK);
    mpk_context_destroy(&ctx);
    assert_true(p.blocks == 0 && p.bytes == 0);
}

static void work_done(void *self) {
    *(int *)self += 1;
}

/* Of the module without a GPU (tests/engines/cuda/host/module.cpp); else NULL. */
static void *host_symbol(const char *symbol) {
    const char *module = getenv("METAPACK_CUDA_MODULE");
    void *handle = module ? dlopen(module, RTLD_NOW | RTLD_NOLOAD) : NULL;
    return handle ? dlsym(handle, symbol) : NULL;
}

/* A call waits for the work of its stream, and not for another's; without one for all. */
static void test_stream(void **state) {
    mpk_context *ctx = *state;
    int done = 0, mine = 0, other = 0;
    double a[4] = {1, 2, 3, 4}, b[4] = {0};
    void *there = NULL;
    assert_int_equal(mpk_device_alloc(ctx, 0, sizeof a, &there), MPK_OK);
    refused(ctx, mpk_device_set_stream(ctx, -1, NULL), "0");
    refused(ctx, mpk_device_unset_stream(ctx, -1), "0");
    assert_int_equal(mpk_device_set_stream(NULL, 0, NULL), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_device_set_stream(ctx, 0, NULL), MPK_OK); /* the default stream */
    assert_int_equal(mpk_device_copy(ctx, 0, there, 0, a, 0, sizeof a, 1), MPK_OK);
    assert_int_equal(mpk_device_copy(ctx, 0, b, 0, there, 0, sizeof a, 1), MPK_OK);
    assert_memory_equal(a, b, sizeof a);
    void (*queue)(void *, void (*)(void *), void *) = NULL;
    void *symbol = host_symbol("host_device_queue_in"), *captured;
    memcpy(&queue, &symbol, sizeof queue);
    if (queue) {
        assert_int_equal(mpk_device_set_stream(ctx, 0, &mine), MPK_OK);
        queue(&other, work_done, &done);
        assert_int_equal(mpk_device_copy(ctx, 0, b, 0, there, 0, sizeof a, 1), MPK_OK);
        assert_int_equal(done, 0);
        queue(&mine, work_done, &done);
        assert_int_equal(mpk_device_copy(ctx, 0, b, 0, there, 0, sizeof a, 1), MPK_OK);
        assert_int_equal(done, 1);
        captured = host_symbol("host_device_captured");
        assert_int_equal(mpk_device_set_stream(ctx, 0, captured), MPK_OK);
        assert_int_equal(mpk_device_copy(ctx, 0, b, 0, there, 0, sizeof a, 1), MPK_ERR_UNSUPPORTED);
        queue(&other, work_done, &done);
        assert_int_equal(mpk_device_unset_stream(ctx, 0), MPK_OK);
        assert_int_equal(mpk_device_copy(ctx, 0, b, 0, there, 0, sizeof a, 1), MPK_OK);
        assert_int_equal(done, 2);
    }
    assert_int_equal(mpk_device_unset_stream(ctx, 0), MPK_OK);
    assert_int_equal(mpk_device_free(ctx, 0, &there), MPK_OK);
}

static int open_context(void **state) {
    return mpk_context_create(NULL, (mpk_context **)state);
}

static int close_context(void **state) {
    mpk_context_destroy((mpk_context **)state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_allocator, open_context, close_context),
        cmocka_unit_test_setup_teardown(test_stream, open_context, close_context)};
#ifdef METAPACK_CUDA_HOST
    if (!getenv("METAPACK_TEST_DEVICE")) setenv("METAPACK_CUDA_MODULE", METAPACK_CUDA_HOST, 1);
#else
    if (!getenv("METAPACK_TEST_DEVICE")) return 0; /* neither a GPU nor the module without one */
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
