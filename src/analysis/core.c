/* SPDX-License-Identifier: BSD-3-Clause */
/* What is factorized of a structurally singular matrix. */
#include "choose.h"

#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "analyse";

void mpki_core_free(mpk_context *ctx, mpki_core *core) {
    mpki_release(ctx, core->ap);
    mpki_release(ctx, core->ai);
    mpki_release(ctx, core->src);
    mpki_release(ctx, core->bare);
    *core = (mpki_core){0};
}

mpk_status mpki_core_build(mpk_context *ctx, const mpk_problem *problem, const char *bare,
                           mpki_core *core) {
    const int64_t *ap = problem->ap;
    const int32_t *ai = problem->ai;
    const int32_t n = problem->n;
    int64_t count = 0;
    *core = (mpki_core){0};
    for (int32_t j = 0; j < n; j++) {
        core->left_out += bare[j] != 0;
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) count += !bare[j] && !bare[ai[k]];
    }
    core->ap = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int64_t);
    core->ai = MPKI_NEW(ctx, STAGE, count, int32_t);
    core->src = MPKI_NEW(ctx, STAGE, count, int64_t);
    core->bare = MPKI_NEW(ctx, STAGE, n, char);
    if (mpki_failed(ctx)) {
        mpki_core_free(ctx, core);
        return mpki_failed(ctx);
    }
    memcpy(core->bare, bare, (size_t)n);
    count = 0;
    for (int32_t j = 0; j < n; j++) {
        core->ap[j] = count;
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            if (bare[j] || bare[ai[k]]) continue;
            core->ai[count] = ai[k];
            core->src[count++] = k;
        }
    }
    core->ap[n] = count;
    return MPK_OK;
}

/* ---- more of A ----------------------------------------------------------------------------------
 */

/* A number for each column, no two alike, in a fixed disorder. */
static uint64_t lot(int32_t i) {
    const uint64_t x = ((uint64_t)i + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return (x ^ (x >> 29)) * UINT64_C(0xBF58476D1CE4E5B9);
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

mpk_status mpki_core_extend(mpk_context *ctx, const mpk_analysis *an, const char *missed,
                            int32_t most, char *keep, int32_t *added) {
    const int32_t n = an->n;
    int32_t count = 0;
    uint64_t *lots = MPKI_NEW(ctx, STAGE, n, uint64_t);
    *added = 0;
    if (!lots) return mpki_failed(ctx);
    for (int32_t i = 0; i < n; i++)
        if (missed[i] && an->core.bare[i]) lots[count++] = lot(i);
    qsort(lots, (size_t)count, sizeof *lots, compare);
    for (int32_t i = 0; i < n; i++) {
        if (!missed[i] || !an->core.bare[i] || (count > most && lot(i) >= lots[most])) continue;
        keep[i] = 1;
        ++*added;
    }
    mpki_release(ctx, lots);
    return MPK_OK;
}
