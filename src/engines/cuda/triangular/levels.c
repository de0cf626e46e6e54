/* SPDX-License-Identifier: BSD-3-Clause */
/* The level sets of a backward sweep. */
#include "solve.h"

#include <string.h>

static const char STAGE[] = "solve";

/* latest: of each frame the last level that those which need it allow. */
static void find(const mpki_stages *stages, int32_t *latest) {
    const mpki_levels *v = &stages->levels;
    const mpki_ibcsr *x = &stages->index;
    for (int32_t j = x->m - 1; j >= 0; j--) {
        const int32_t f = v->frame[j];
        int32_t least = v->count;
        for (int64_t e = x->diagonal[f] + 1; e < x->ptr[f + 1]; e++) {
            const int32_t level = latest[x->entry[e].other];
            if (level < least) least = level;
        }
        latest[f] = least - 1;
    }
}

mpk_status mpki_cuda_sweeps_latest_levels(mpk_context *ctx, const mpki_stages *stages,
                                          mpki_levels *levels) {
    const mpki_levels *v = &stages->levels;
    const int32_t m = stages->index.m;
    *levels = (mpki_levels){.count = v->count,
                            .ptr = MPKI_ZNEW(ctx, STAGE, (int64_t)v->count + 1, int32_t),
                            .frame = MPKI_NEW(ctx, STAGE, m, int32_t)};
    int32_t *latest = MPKI_NEW(ctx, STAGE, m, int32_t), *ptr = levels->ptr;
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status) && stages->border < m) {
        memcpy(ptr, v->ptr, ((size_t)v->count + 1) * sizeof *ptr);
        memcpy(levels->frame, v->frame, (size_t)m * sizeof *levels->frame);
    } else if (!mpk_failed(status)) {
        find(stages, latest);
        for (int32_t f = 0; f < m; f++) ptr[latest[f] + 1]++;
        for (int32_t l = 0; l < v->count; l++) ptr[l + 1] += ptr[l];
        for (int32_t j = m - 1; j >= 0; j--)
            levels->frame[ptr[latest[v->frame[j]]]++] = v->frame[j];
        for (int32_t l = v->count; l > 0; l--) ptr[l] = ptr[l - 1];
        ptr[0] = 0;
    }
    mpki_release(ctx, latest);
    return status;
}
