/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's factorization on blocks once more: the same bits in every run, with and without what
 * was kept; with little memory, and where allocations fail. Without a GPU its kernels run on the
 * host. */
#include "device_blocks.h"

/* All bits of a factor of the device, summed up. */
static uint64_t bits_of(mpk_context *ctx, const mpk_factor *fac) {
    const mpki_cuda_store *g = mpki_cuda_blocks_store(fac->blocks->numbers);
    const int64_t bytes = 4 * mpki_cuda_blocks_words(fac->blocks->numbers);
    const int64_t pivots = 2 * g->n * (int64_t)mpk_scalar_size(g->scalar);
    unsigned char *words = device_fetch(ctx, g->words, bytes);
    unsigned char *d = device_fetch(ctx, g->d, pivots);
    uint64_t hash = 1;
    for (int64_t k = 0; k < pivots; k++) hash = (hash ^ d[k]) * UINT64_C(0x100000001b3);
    int64_t *lower = device_fetch(ctx, g->lower, 8 * g->nblocks);
    for (int64_t b = 0; b < g->nblocks; b++) { /* in the order of numbers: padding is anything */
        if (lower[b] < 0) continue;
        const uint32_t *w = (const uint32_t *)(const void *)(words + 4 * lower[b]);
        const int held = __builtin_popcount(w[0]);
        int64_t count = 0;
        for (int k = 0; k < held; k++) count += __builtin_popcount(w[1 + k]);
        const unsigned char *v = (const unsigned char *)(w + MPKI_STORE_HEAD(held));
        for (int64_t k = 0; k < count * (int64_t)mpk_scalar_size(g->scalar); k++)
            hash = (hash ^ v[k]) * UINT64_C(0x100000001b3);
    }
    free(words), free(d), free(lower);
    return hash;
}

typedef struct one {
    mpk_problem *problem;
    mpk_problem_view a;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options o;
} one;

static one one_begin(mpk_context *ctx) {
    one r = {.problem = generated(ctx, "nlpkkt 4")};
    r.o = complete();
    r.o.block = 64, r.o.grid = MPK_ON; /* wide ones are cut */
    r.o.level = 1;
    r.o.drop_tolerance = 1e-3;
    r.o.fill_factor = 3;
    mpk_problem_view_get(r.problem, &r.a);
    assert_true(mpk_analyse(ctx, r.problem, &r.o, &r.an) >= 0);
    mpki_engine_use(ctx, device_engine_of(ctx));
    return r;
}
static void one_end(mpk_context *ctx, one *r) {
    mpk_factor_destroy(&r->fac);
    mpk_analysis_destroy(&r->an);
    mpk_problem_destroy(&r->problem);
    mpki_engine_use(ctx, NULL);
}

/* The same bits in every run, with and without what was kept; other values in between; other
 * options that make it useless. */
static void test_again(void **state) {
    (void)state;
    mpk_context *ctx = context();
    one r = one_begin(ctx);
    double *twice = malloc((size_t)r.a.nnz * sizeof *twice);
    for (int64_t k = 0; k < r.a.nnz; k++)
        twice[k] = ((const double *)r.a.ax)[k] * (1 + 1e-3 * (k % 7));
    assert_true(!mpk_failed(mpk_factorize(ctx, r.an, r.a.ax, &r.o, &r.fac)));
    const uint64_t bits = bits_of(ctx, r.fac);
    const int64_t bytes = r.fac->info.bytes;
    uint64_t others = 0;
    for (int k = 0; k < 4; k++) {
        assert_true(!mpk_failed(mpk_refactorize(ctx, twice, &r.o, r.fac)));
        const uint64_t here = bits_of(ctx, r.fac);
        assert_true(here != bits && (k == 0 || here == others));
        others = here;
        assert_true(!mpk_failed(mpk_refactorize(ctx, r.a.ax, &r.o, r.fac)));
        assert_true(bits_of(ctx, r.fac) == bits);
        assert_int_equal(bytes, r.fac->info.bytes);
    }
    r.o.factor_type = MPK_TYPE_LDU;
    assert_true(!mpk_failed(mpk_refactorize(ctx, r.a.ax, &r.o, r.fac)));
    r.o.factor_type = MPK_TYPE_LDLT;
    assert_true(!mpk_failed(mpk_refactorize(ctx, r.a.ax, &r.o, r.fac)));
    assert_true(bits_of(ctx, r.fac) == bits);
    /* capacities that are kept are those of the same fill_factor */
    const double fill[] = {1.2, 0, 3};
    for (int k = 0; k < 3; k++)
        for (int again = 0; again < 3; again++) {
            mpk_factor *fresh = NULL;
            r.o.fill_factor = fill[k];
            assert_true(!mpk_failed(mpk_refactorize(ctx, r.a.ax, &r.o, r.fac)));
            assert_true(!mpk_failed(mpk_factorize(ctx, r.an, r.a.ax, &r.o, &fresh)));
            assert_true(bits_of(ctx, r.fac) == bits_of(ctx, fresh));
            assert_true((bits_of(ctx, fresh) == bits) == (k == 2));
            assert_true(fresh->blocks->stages.info.mean_fill_in ==
                        r.fac->blocks->stages.info.mean_fill_in);
            mpk_factor_destroy(&fresh);
        }
    free(twice);
    one_end(ctx, &r);
    mpk_context_destroy(&ctx);
}

/* An arena that grows gives the same factor; what is too much is refused, with both numbers. */
static void test_limits(void **state) {
    (void)state;
    mpk_context *ctx = context();
    one r = one_begin(ctx);
    assert_true(!mpk_failed(mpk_factorize(ctx, r.an, r.a.ax, &r.o, &r.fac)));
    const uint64_t bits = bits_of(ctx, r.fac);
    int refused = 0, done = 0;
    mpk_factor_destroy(&r.fac);
    for (double limit = 1 << 14; limit < 1 << 24; limit *= 1.13) {
        const char *text = "";
        r.o.device_memory_limit = limit;
        const mpk_status status = mpk_factorize(ctx, r.an, r.a.ax, &r.o, &r.fac);
        if (status == MPK_ERR_MEMORY) {
            mpk_last_error(ctx, NULL, NULL, &text);
            assert_non_null(strstr(text, "device_memory_limit"));
            refused++;
        } else {
            assert_true(!mpk_failed(status));
            assert_true(bits_of(ctx, r.fac) == bits);
            if (++done > 6) break;
        }
        mpk_factor_destroy(&r.fac);
    }
    assert_true(refused > 5 && done > 0);
    one_end(ctx, &r);
    mpk_context_destroy(&ctx);
}

/* Every allocation on the host fails once, then some on the device. */
static void test_failing(void **state) {
    (void)state;
    failing f = {.fail_at = -1};
    const mpk_allocator allocator = {
        .alloc = failing_alloc, .release = failing_release, .user = &f};
    int done = 0;
    for (int64_t fail_at = 1; !done; fail_at = fail_at * 21 / 20 + 1) {
        mpk_context *ctx = NULL;
        f = (failing){.fail_at = -1};
        assert_int_equal(mpk_context_create(&allocator, &ctx), MPK_OK);
        one r = one_begin(ctx);
        r.o.threads = 1;
        r.o.drop_tolerance = 0, r.o.fill_factor = 0;
        r.o.level = 0;
        f.calls = 0, f.fail_at = fail_at;
        mpk_status status = mpk_factorize(ctx, r.an, r.a.ax, &r.o, &r.fac);
        if (!mpk_failed(status)) status = mpk_refactorize(ctx, r.a.ax, &r.o, r.fac);
        if (!mpk_failed(status)) status = mpk_refactorize(ctx, r.a.ax, &r.o, r.fac);
        done = f.calls < fail_at;
        f.fail_at = -1;
        if (mpk_failed(status)) {
            assert_int_equal(status, MPK_ERR_MEMORY);
        } else {
            assert_true(done);
        }
        one_end(ctx, &r);
        mpk_context_destroy(&ctx);
        assert_int_equal(f.held, 0);
    }
#ifdef METAPACK_CUDA_HOST
    if (getenv("METAPACK_TEST_DEVICE")) return;
    mpk_context *ctx = context();
    one r = one_begin(ctx);
    int failed = 0;
    for (int64_t limit = 64; limit < 1 << 24; limit = limit * 5 / 4) {
        char text[32];
        snprintf(text, sizeof text, "%lld", (long long)limit);
        setenv("METAPACK_CUDA_HOST_LIMIT", text, 1);
        const mpk_status status = mpk_factorize(ctx, r.an, r.a.ax, &r.o, &r.fac);
        if (mpk_failed(status)) {
            assert_int_equal(status, MPK_ERR_MEMORY);
            failed++;
        } else if (limit > 1 << 21) {
            break;
        }
        mpk_factor_destroy(&r.fac);
    }
    unsetenv("METAPACK_CUDA_HOST_LIMIT");
    assert_true(failed > 3);
    one_end(ctx, &r);
    mpk_context_destroy(&ctx);
#endif
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_again),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_failing),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    if (device_lacks(DEVICE_BLOCKS)) return 0;
    return cmocka_run_group_tests_name("device: factorization on blocks, again and with failures",
                                       tests, device_setup, NULL);
}
