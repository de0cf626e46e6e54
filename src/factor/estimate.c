/* SPDX-License-Identifier: BSD-3-Clause */
/* What a factorization will take, and where it will run. */
#include "../core/floats.h"
#include "direct_numbers.h"

#include <metapack/device.h>

mpk_status mpk_factor_estimate(mpk_context *ctx, const mpk_analysis *an, const mpk_options *options,
                               mpk_estimate *out) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!an || !out)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "estimate", -1,
                          "analysis and estimate must not be NULL");
    mpk_options full;
    mpk_status status = mpki_options_resolve(ctx, options, &full);
    if (mpk_failed(status)) return status;
    const mpki_engine *engine = mpki_engine_of(ctx, an, &full);
    if (!engine) return mpki_failed(ctx);
    mpk_estimate e = {.engine = engine->name(ctx),
                      .host_bytes = an->info.peak_bytes,
                      .flops = an->info.factor_flops};
    if (engine->memory == MPK_DEVICE) {
        mpk_device_info info = {0};
        e.device_bytes = -1;
        status = mpk_device_info_get(ctx, full.device_number, &info);
        e.device_free_bytes = info.free_bytes;
        if (full.device_memory_limit > 0 && full.device_memory_limit < (double)info.free_bytes)
            e.device_free_bytes = (int64_t)full.device_memory_limit;
        if (!mpk_failed(status) && an->info.factor_nnz > 0 && engine->direct &&
            engine->direct->estimate) {
            const mpki_tree_view tree = mpki_tree_view_of(an);
            status = engine->direct->estimate(ctx, &tree, full.fp64_emulation, &e.device_bytes,
                                              &e.device_delayed_bytes, &e.time_s);
        }
    }
    if (!mpk_failed(status)) *out = e;
    return status;
}
