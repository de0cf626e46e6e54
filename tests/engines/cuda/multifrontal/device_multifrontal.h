/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_DEVICE_DIRECT_H
#define TESTS_DEVICE_DIRECT_H
/** The multifrontal engine of a device in a context, the processor's other ones beside it. */
#include "engines/cuda/multifrontal/state.h"
#include "engines/cuda/module/engine.h"
#include "../device_there.h"
#include "factor/factor.h"

static inline const char *direct_engine_name(const mpk_context *ctx) {
    (void)ctx;
    return "the device's direct engine";
}
static const mpki_engine direct_engine = {.name = direct_engine_name,
                                          .memory = MPK_HOST,
                                          .direct = &mpki_cuda_direct,
                                          .blocks = &mpki_cpu_blocks,
                                          .vectors = &mpki_cpu_vectors};

/** device: with that engine; else the processor's. */
static inline mpk_context *new_context(bool device) {
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    if (device) {
        assert_non_null(mpki_cuda_keep(ctx, 0));
        mpki_engine_use(ctx, &direct_engine);
    }
    return ctx;
}

/** Of shared memory on the host: with little of it fronts are cut; with 60000 into columns of one
 *  block, and parts. */
static inline void small_blocks(const char *bytes) {
    if (!device_is_real()) setenv("METAPACK_CUDA_HOST_SHARED", bytes, 1);
}

#endif
