/* SPDX-License-Identifier: BSD-3-Clause */
/* In which form blocks lie for triangular solves on the device: M in tiles, blocks in full, joined;
 * and their solves. */
#include "device_sweeps.h"

/* Packets whose flags have all of these (triangular/packet.cuh). */
enum { DENSE = 16, JOINED = 32 };
static int64_t packets_with(const run *r, const mpki_cuda_sweeps_numbers *told, int flags) {
    const mpki_device *d = r->store.d;
    const int64_t bytes[] = {told->tasks * (int64_t)sizeof(mpki_sweeps_task), told->packets};
    const void *const from[] = {told->ticket, told->packet};
    char *here[2];
    int64_t count = 0;
    for (int k = 0; k < 2; k++) {
        here[k] = malloc((size_t)bytes[k] + 1);
        assert_non_null(here[k]);
        assert_int_equal(
            d->table->copy(d->cuda, here[k], bytes[k], from[k], bytes[k], bytes[k], 1, 0, NULL),
            MPK_OK);
    }
    assert_int_equal(d->table->synchronize(d->cuda, NULL), MPK_OK);
    for (int64_t t = 0; t < told->tasks; t++) {
        const char *at = here[1] + (int64_t)((mpki_sweeps_task *)here[0])[t].at * 16;
        for (uint32_t next = 1; next;) {
            uint16_t size;
            memcpy(&next, at, 4), memcpy(&size, at + 26, 2);
            count += ((uint8_t)at[7] & flags) == flags;
            at += size * 16;
        }
    }
    free(here[0]), free(here[1]);
    return count;
}

/* The processor's results, and what they were made with. */
static mpki_cuda_sweeps_numbers numbers_of(mpk_context *ctx, const char *spec, mpk_scalar scalar,
                                           const mpk_options *o, int64_t *joined) {
    const int32_t nrhs[] = {1, 2, 8};
    int32_t takes;
    char what[60];
    snprintf(what, sizeof what, "pivoting %d, butterfly %d", o->pivoting, o->butterfly);
    run r = go(ctx, spec, scalar, o);
    assert_null(r.bf->border);
    mpki_block_solver *s = solver_of(&r, 1, &takes);
    const mpki_cuda_sweeps_numbers told = mpki_cuda_sweeps_summary(s);
    *joined = packets_with(&r, &told, JOINED);
    assert_int_equal(packets_with(&r, &told, DENSE) + *joined, told.full);
    mpki_cuda_sweeps_free(ctx, &s);
    compare(&r, what, nrhs, 3);
    end(&r);
    return told;
}

static int64_t tiles_of(mpk_context *ctx, const char *spec, mpk_scalar scalar,
                        const mpk_options *o) {
    int64_t joined;
    return numbers_of(ctx, spec, scalar, o, &joined).tiles;
}

/* M of a real factor lies in tiles, whatever the pivoting; after butterflies it is no triangle, and
 * of complex ones it never does. */
static void test_pivots(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    mpk_options o = options_of(1);
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    o.block = 20;
    for (int pivoting = MPK_PIVOTING_NONE; pivoting < MPK_PIVOTING_COUNT; pivoting++) {
        o.pivoting = (mpk_pivoting)pivoting;
        assert_true(tiles_of(ctx, "stokes mac 9", MPK_D, &o) > 0);
    }
    assert_int_equal(tiles_of(ctx, "stokes mac 9", MPK_Z, &o), 0);
    o = options_of(4);
    const int64_t without = tiles_of(ctx, "lp-kkt 40 70 3", MPK_D, &o);
    o.butterfly = MPK_ON;
    assert_in_range(tiles_of(ctx, "lp-kkt 40 70 3", MPK_D, &o), 1, without - 1);
    mpk_context_destroy(&ctx);
}

/* Real blocks that a unit waits for last are packets in full where they have entries enough, the
 * last of them joined with M; some units have two. */
static void test_full(void **unused) {
    (void)unused;
    mpk_context *ctx = NULL;
    int64_t joined;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    mpk_options o = options_of(6);
    o.block = 16;
    assert_true(numbers_of(ctx, "nlpkkt 5", MPK_D, &o, &joined).full > joined);
    assert_true(joined > 0);
    o = options_of(7);
    o.block = 16;
    assert_true(numbers_of(ctx, "quasi-definite 20", MPK_D, &o, &joined).full > joined);
    assert_true(joined > 0);
    assert_int_equal(numbers_of(ctx, "stokes mac 9", MPK_Z, &o, &joined).full, 0);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pivots),
        cmocka_unit_test(test_full),
    };
    if (device_lacks(DEVICE_ANY)) return 0;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
