/* SPDX-License-Identifier: BSD-3-Clause */
/* The two choices on which all else depends: the form of a factor, and the engine that computes
 * it. */
#include "../backends/cpu/level.h"
#include "../analysis/block/block.h"
#include "factor.h"

const mpki_form *mpki_form_of(const mpk_analysis *an) {
    const mpk_method method = an->options.method;
    if (method == MPK_METHOD_NONE) return &mpki_scaling_form;
    return mpki_on_blocks(method) ? &mpki_block_form : &mpki_direct_form;
}

static const mpki_engine cpu = {.name = mpki_cpu_name,
                                .memory = MPK_HOST,
                                .direct = &mpki_cpu_direct,
                                .blocks = &mpki_cpu_blocks,
                                .vectors = &mpki_cpu_vectors};

const mpki_engine *mpki_engine_of(const mpk_context *ctx, const mpk_options *options) {
    (void)options; /* so far they can name no engine but the processor's */
    const mpki_engine *told = mpki_context_engine(ctx);
    return told ? told : &cpu;
}

void mpki_engine_use(mpk_context *ctx, const mpki_engine *engine) {
    mpki_context_set_engine(ctx, engine);
}
