/* SPDX-License-Identifier: BSD-3-Clause */
/* What an analysis with device = cuda makes ahead of the first factorization: it is taken, with the bits of
 * one that makes all by itself; it goes where nobody takes it; and where it cannot be made nobody is told
 * but the factorization that needs it. */
#include "device_multifrontal.h"
#include "support.h"

#include <metapack/metapack.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct run {
    mpk_context *ctx;
    mpk_problem *problem;
    mpk_options o;
} run;

static void begin(run *r, const char *what) {
    *r = (run){0};
    mpk_options_init(&r->o);
    r->o.method = MPK_METHOD_LDLT, r->o.device = MPK_ON_CUDA;
    assert_int_equal(mpk_context_create(NULL, &r->ctx), MPK_OK);
    assert_int_equal(mpk_problem_generate(r->ctx, what, 1, &r->problem), MPK_OK);
}

static void end(run *r) {
    mpk_problem_destroy(&r->problem);
    mpk_context_destroy(&r->ctx);
}

static mpk_analysis *analyse(run *r) {
    mpk_analysis *an = NULL;
    assert_int_equal(mpk_analyse(r->ctx, r->problem, &r->o, &an), MPK_OK);
    return an;
}

/* What is there ahead; the device is open. */
static const mpki_direct *ahead(const run *r) {
    return mpki_cuda_kept(r->ctx)->ahead;
}

static void fails(run *r, const mpk_analysis *an, mpk_status status, const char *word) {
    mpk_factor *fac = NULL;
    const char *text = NULL;
    assert_int_equal(mpk_factorize(r->ctx, an, NULL, &r->o, &fac), status);
    mpk_last_error(r->ctx, NULL, NULL, &text);
    if (!strstr(text, word)) fail_msg("%s is not in: %s", word, text);
    assert_null(fac);
}

/* Order, D, growth. */
static void read_factor(run *r, mpk_factor *fac, int32_t n, double *d, int32_t *perm) {
    assert_int_equal(mpk_get(r->ctx, fac, MPK_GET_D, d, 2 * (size_t)n * sizeof *d), MPK_OK);
    assert_int_equal(mpk_get(r->ctx, fac, MPK_GET_PERM, perm, (size_t)n * sizeof *perm), MPK_OK);
}

static void test_taken(void **state) {
    static const char *const what[] = {"nlpkkt 4", "optimal-control 20", "helmholtz 2d 12 0.3"};
    (void)state;
    for (int k = 0; k < 3; k++) {
        run r;
        mpk_problem_view a;
        mpk_factor *fac = NULL, *other = NULL, *alone = NULL;
        mpk_factor_info info, plain;
        begin(&r, what[k]);
        mpk_problem_view_get(r.problem, &a);
        mpk_analysis *an = analyse(&r);
        const mpki_direct *made = ahead(&r);
        assert_non_null(made);
        assert_true(made->planned && mpki_cuda_direct_held(made) > 0 && !made->valid);
        const char *memory = made->memory;
        assert_true(mpk_factorize(r.ctx, an, NULL, &r.o, &fac) >= 0);
        assert_ptr_equal(fac->direct, made);
        assert_ptr_equal(fac->direct->memory, memory);
        assert_null(ahead(&r)); /* the next factor makes its own */
        assert_true(mpk_factorize(r.ctx, an, NULL, &r.o, &other) >= 0);
        assert_ptr_not_equal(other->direct, made);
        mpki_cuda_drop_ahead(r.ctx, NULL);
        double *d = calloc(6 * (size_t)a.n, sizeof *d);
        int32_t *perm = calloc(3 * (size_t)a.n, sizeof *perm);
        mpk_analysis *once_more = analyse(&r);
        mpki_cuda_drop_ahead(r.ctx, NULL);
        assert_true(mpk_factorize(r.ctx, once_more, NULL, &r.o, &alone) >= 0);
        mpk_factor *const all[] = {fac, other, alone};
        for (int f = 0; f < 3; f++) read_factor(&r, all[f], a.n, d + 2 * f * a.n, perm + f * a.n);
        for (int f = 1; f < 3; f++) {
            assert_memory_equal(d, d + 2 * f * a.n, 2 * (size_t)a.n * sizeof *d);
            assert_memory_equal(perm, perm + f * a.n, (size_t)a.n * sizeof *perm);
        }
        mpk_factor_info_get(fac, &info), mpk_factor_info_get(alone, &plain);
        assert_true(info.bytes == plain.bytes && info.nnz == plain.nnz &&
                    info.flops == plain.flops);
        free(d), free(perm);
        mpk_factor_destroy(&fac), mpk_factor_destroy(&other), mpk_factor_destroy(&alone);
        mpk_analysis_destroy(&an), mpk_analysis_destroy(&once_more);
        end(&r);
    }
}

/* Of a second analysis, of one that ends, of one that the processor factorizes, and of a context that ends. */
static void test_not_taken(void **state) {
    (void)state;
    run r;
    mpk_factor *fac = NULL;
    begin(&r, "nlpkkt 3");
    mpk_analysis *one = analyse(&r), *two = analyse(&r);
    assert_ptr_equal(mpki_cuda_kept(r.ctx)->ahead_of, two->perm);
    mpk_analysis_destroy(&one);
    assert_non_null(ahead(&r));
    mpk_analysis_destroy(&two);
    assert_null(ahead(&r));
    one = analyse(&r), two = analyse(&r);
    assert_int_equal(mpk_factorize(r.ctx, one, NULL, &r.o, &fac), MPK_OK);
    assert_null(ahead(&r)); /* the room may be wanted for `one` */
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&one);
    one = analyse(&r);
    mpk_options host = r.o;
    host.device = MPK_ON_CPU;
    assert_int_equal(mpk_factorize(r.ctx, one, NULL, &host, &fac), MPK_OK);
    assert_memory_equal(mpk_factor_engine(fac), "cpu-", 4);
    assert_null(ahead(&r));
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&one);
    r.o.device = MPK_ON_CPU;
    one = analyse(&r);
    assert_null(ahead(&r)); /* nor is any made for the processor */
    mpk_analysis_destroy(&one);
    r.o.device = MPK_ON_CUDA;
    one = analyse(&r);
    assert_non_null(ahead(&r));
    assert_int_equal(mpk_device_set_allocator(r.ctx, 0, NULL), MPK_OK); /* nobody has it */
    assert_null(ahead(&r));
    mpk_analysis_destroy(&one);
    mpk_analysis_destroy(&two);
    end(&r);
}

/* A limit that it does not keep, and memory that there is not. */
static void test_memory(void **state) {
    (void)state;
    run r;
    begin(&r, "nlpkkt 4");
    mpk_analysis *an = analyse(&r);
    assert_non_null(ahead(&r));
    r.o.device_memory_limit = 1000;
    fails(&r, an, MPK_ERR_MEMORY, "device_memory_limit allows 1000");
    mpk_analysis_destroy(&an);
    an = analyse(&r); /* the same limit here: nothing is made, nothing said */
    assert_null(ahead(&r));
    assert_int_equal(mpk_last_error(r.ctx, NULL, NULL, NULL), MPK_OK);
    fails(&r, an, MPK_ERR_MEMORY, "device_memory_limit allows 1000");
    mpk_analysis_destroy(&an);
    r.o.device_memory_limit = 0;
    if (!device_is_real()) {
        setenv("METAPACK_CUDA_HOST_LIMIT", "1000", 1);
        an = analyse(&r);
        assert_null(ahead(&r));
        fails(&r, an, MPK_ERR_MEMORY, "1000 are free");
        unsetenv("METAPACK_CUDA_HOST_LIMIT");
        mpk_analysis_destroy(&an);
        for (int k = 1; k < 5; k++) { /* the device has room again when it is needed */
            char text[16];
            run fresh;
            mpk_factor *fac = NULL;
            begin(&fresh, "nlpkkt 3");
            snprintf(text, sizeof text, "%d", k);
            setenv("METAPACK_CUDA_HOST_FULL", text, 1);
            an = analyse(&fresh);
            unsetenv("METAPACK_CUDA_HOST_FULL");
            if (ahead(&fresh)) assert_true(ahead(&fresh)->planned); /* all of it, or nothing */
            assert_int_equal(mpk_factorize(fresh.ctx, an, NULL, &fresh.o, &fac), MPK_OK);
            mpk_factor_destroy(&fac);
            mpk_analysis_destroy(&an);
            end(&fresh);
        }
    }
    end(&r);
}

/* Host memory that fails at any call: of what is made ahead nobody is told. */
static void test_failing(void **state) {
    (void)state;
    bool done = false;
    for (int64_t k = 1; !done; k++) {
        failing f = {.fail_at = k};
        mpk_allocator allocator = {failing_alloc, failing_release, &f};
        mpk_analysis *an = NULL;
        mpk_factor *fac = NULL;
        run r = {0};
        mpk_options_init(&r.o);
        r.o.method = MPK_METHOD_LDLT, r.o.device = MPK_ON_CUDA;
        mpk_status status = mpk_context_create(&allocator, &r.ctx);
        if (!mpk_failed(status)) status = mpk_problem_generate(r.ctx, "nlpkkt 2", 1, &r.problem);
        if (!mpk_failed(status)) status = mpk_analyse(r.ctx, r.problem, &r.o, &an);
        if (!mpk_failed(status)) status = mpk_factorize(r.ctx, an, NULL, &r.o, &fac);
        done = f.calls < k;
        assert_true(status == MPK_OK || (!done && status == MPK_ERR_MEMORY));
        mpk_factor_destroy(&fac);
        mpk_analysis_destroy(&an);
        if (r.ctx) end(&r);
        assert_int_equal(f.held, 0);
        assert_true(k < 5000);
    }
}

/* No module; a device that is too old; both are the factorization's to tell. */
static void test_no_device(void **state) {
    (void)state;
    if (device_is_real()) skip();
    run r;
    char *kept = strdup(getenv("METAPACK_CUDA_MODULE"));
    begin(&r, "nlpkkt 3");
    setenv("METAPACK_CUDA_MODULE", "/nonexistent/module.so", 1);
    mpk_analysis *an = analyse(&r);
    assert_int_equal(mpk_last_error(r.ctx, NULL, NULL, NULL), MPK_OK);
    fails(&r, an, MPK_ERR_DEVICE, "/nonexistent/module.so");
    setenv("METAPACK_CUDA_MODULE", kept, 1);
    mpk_analysis_destroy(&an);
    setenv("METAPACK_CUDA_HOST_CAPABILITY", "75", 1);
    an = analyse(&r);
    fails(&r, an, MPK_ERR_DEVICE, "7.5");
    unsetenv("METAPACK_CUDA_HOST_CAPABILITY");
    mpk_factor *fac = NULL;
    assert_int_equal(mpk_factorize(r.ctx, an, NULL, &r.o, &fac), MPK_OK); /* it can be had now */
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    free(kept);
    end(&r);
}

/* A context that ends while a thread still opens its device; and a child of a process that has something
 * ahead, which gives it up. */
static void test_ends(void **state) {
    (void)state;
    mpk_context *ctx = NULL;
    run r;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpki_cuda_open_ahead(ctx, 0, MPK_D);
    mpk_context_destroy(&ctx);
    if (device_is_real()) return;
    begin(&r, "nlpkkt 3");
    mpk_analysis *an = analyse(&r);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(20); /* it is not to wait for what the parent has */
        mpk_factor *fac = NULL;
        const bool told = mpk_factorize(r.ctx, an, NULL, &r.o, &fac) == MPK_ERR_DEVICE && !fac;
        mpk_analysis_destroy(&an);
        end(&r);
        _exit(told ? 0 : 1);
    }
    int outcome = -1;
    assert_int_equal(waitpid(child, &outcome, 0), child);
    assert_int_equal(outcome, 0);
    mpk_factor *fac = NULL;
    assert_int_equal(mpk_factorize(r.ctx, an, NULL, &r.o, &fac), MPK_OK);
    mpk_factor_destroy(&fac);
    mpk_analysis_destroy(&an);
    end(&r);
}

int main(void) {
    if (device_lacks(DEVICE_DIRECT)) return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),     cmocka_unit_test(test_not_taken),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_failing),
        cmocka_unit_test(test_no_device), cmocka_unit_test(test_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
