/* SPDX-License-Identifier: BSD-3-Clause */
/* A GPU behind the accelerator interface: its answers and factors beside those of the processor's
 * table, by precision, type and schedule. Without a GPU its kernels run on the host. */
#include "engines/cuda/device_there.h"
#include "factor/runs.h"

static mpk_accelerator table; /* what a test changes of the device's */

static mpk_context *with_device(void) {
    const mpk_accelerator *device = NULL;
    mpk_context *ctx = context();
    const mpk_status status = mpk_accelerator_cuda(ctx, 0, &device);
    const char *text = "";
    mpk_last_error(ctx, NULL, NULL, &text);
    if (status != MPK_OK) fail_msg("%s", text);
    table = *device;
    return ctx;
}

/* The processor's table with what the device can do. */
static mpk_accelerator like_it(void) {
    mpk_accelerator cpu = *mpk_accelerator_cpu();
    cpu.pairs = table.pairs, cpu.judges = table.judges;
    cpu.pivoting = table.pivoting, cpu.atomics = table.atomics;
    return cpu;
}

/* All types, both precisions, both schedules, with inner pivoting and without. */
static void test_answers(void **unused) {
    (void)unused;
    int64_t pairs = 0, rejected = 0;
    for (int k = 0; k < FAMILIES - 2; k++)
        for (int what = 0; what < 4; what++)
            for (int single = 0; single < 2; single++)
                for (int type = 0; type < 3; type++) {
                    mpk_options o = complete();
                    o.stages = 0;
                    o.block = 8;
                    o.precision = single ? MPK_PRECISION_SINGLE : MPK_PRECISION_DOUBLE;
                    o.factor_type = (mpk_factor_type)type;
                    if (type == MPK_TYPE_LLT && k != 2) continue;  /* the others are indefinite */
                    if (what && (k + single + type) % 3) continue; /* some of each */
                    const char *spec = type == MPK_TYPE_LLT ? "helmholtz 2d 18 0" : families[k];
                    mpk_context *ctx = with_device();
                    table.atomics = what & 1;
                    if (what & 2) table.pivoting = table.pairs = 0;
                    o.pivoting = table.pivoting ? MPK_PIVOTING_COMPLETE : MPK_PIVOTING_NONE;
                    o.schedule = table.atomics ? MPK_SCHEDULE_ATOMIC : MPK_SCHEDULE_SUBSETS;
                    assert_int_equal(mpk_context_use_accelerator(ctx, &table), MPK_OK);
                    run r = go(ctx, spec, &o);
                    const char *text = "";
                    mpk_last_error(ctx, NULL, NULL, &text);
                    if (mpk_failed(r.status))
                        fail_msg("%s, table %d, single %d, type %d: %s", spec, what, single, type,
                                 text);
                    const double res = residual(ctx, &r);
                    mpk_context *own = context();
                    const mpk_accelerator cpu = like_it();
                    assert_int_equal(mpk_context_use_accelerator(own, &cpu), MPK_OK);
                    run want = go(own, spec, &o);
                    assert_false(mpk_failed(want.status));
                    const double its = residual(own, &want);
                    if (!(res <= 100 * its + (single ? 1e-5 : 1e-13)))
                        fail_msg(
                            "%s, table %d, single %d, type %d: residual %g, the processor's %g",
                            spec, what, single, type, res, its);
                    mpk_factor_info a, b;
                    mpk_factor_info_get(r.fac, &a);
                    mpk_factor_info_get(want.fac, &b);
                    assert_int_equal(a.inertia.positive, b.inertia.positive);
                    assert_int_equal(a.inertia.negative, b.inertia.negative);
                    assert_int_equal(a.rejected, b.rejected);
                    pairs += a.two_by_two, rejected += a.rejected;
                    end(&r);
                    end(&want);
                    mpk_context_destroy(&ctx);
                    mpk_context_destroy(&own);
                }
    assert_true(pairs > 0 && rejected > 0);
}

int main(void) {
    if (device_lacks(DEVICE_ANY)) return 0;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_answers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
