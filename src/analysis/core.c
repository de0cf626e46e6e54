/* SPDX-License-Identifier: BSD-3-Clause */
/* The core: the part of a structurally singular matrix that is factorized. */
#include "choose.h"
#include "../core/random.h"

#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "analyse";

mpki_core mpki_core_all(const int64_t *ap, const int32_t *ai) {
    return (mpki_core){.ap = ap, .ai = ai};
}

mpk_status mpki_core_copy(mpk_context *ctx, const mpk_analysis *an, mpki_core *core) {
    const mpki_core *from = &an->core;
    if (!mpki_core_is_part(from)) return MPK_OK;
    const int64_t n = an->n, count = from->ap[n];
    int64_t *ap = MPKI_NEW(ctx, STAGE, n + 1, int64_t);
    int32_t *ai = MPKI_NEW(ctx, STAGE, count, int32_t);
    *core = (mpki_core){.ap = ap,
                        .ai = ai,
                        .src = MPKI_NEW(ctx, STAGE, count + 1, int64_t),
                        .bare = MPKI_NEW(ctx, STAGE, n, char),
                        .mate = from->mate ? MPKI_NEW(ctx, STAGE, n, int32_t) : NULL,
                        .pairs = from->pairs};
    if (mpk_failed(mpki_failed(ctx))) {
        void *const parts[] = {ap, ai, core->src, core->bare, core->mate};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) mpki_release(ctx, parts[k]);
        *core = mpki_core_all(an->ap, an->ai);
        return mpki_failed(ctx);
    }
    memcpy(ap, from->ap, ((size_t)n + 1) * sizeof *ap);
    if (count > 0) memcpy(ai, from->ai, (size_t)count * sizeof *ai);
    if (count > 0) memcpy(core->src, from->src, (size_t)count * sizeof *core->src);
    memcpy(core->bare, from->bare, (size_t)n);
    if (from->mate) memcpy(core->mate, from->mate, (size_t)n * sizeof *core->mate);
    return MPK_OK;
}

void mpki_core_free(mpk_context *ctx, mpki_core *core) {
    if (mpki_core_is_part(core)) {
        mpki_release(ctx, (void *)core->ap);
        mpki_release(ctx, (void *)core->ai);
        mpki_release(ctx, core->src);
        mpki_release(ctx, core->bare);
        mpki_release(ctx, core->mate);
    }
    *core = (mpki_core){0};
}

mpk_status mpki_core_build(mpk_context *ctx, const mpk_problem *problem, const char *bare,
                           const int32_t *mate, mpki_core *core) {
    const int64_t *ap = problem->ap;
    const int32_t *ai = problem->ai;
    const int32_t n = problem->n;
    int64_t count = 0;
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) count += !bare[j] && !bare[ai[k]];
    int64_t *part_ap = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int64_t);
    int32_t *part_ai = MPKI_NEW(ctx, STAGE, count, int32_t);
    *core = (mpki_core){.ap = part_ap,
                        .ai = part_ai,
                        .src = MPKI_NEW(ctx, STAGE, count, int64_t),
                        .bare = MPKI_NEW(ctx, STAGE, n, char),
                        .mate = mate ? MPKI_NEW(ctx, STAGE, n, int32_t) : NULL};
    if (!part_ap || !part_ai || !core->src || !core->bare || (mate && !core->mate)) {
        mpki_release(ctx, part_ap);
        mpki_release(ctx, part_ai);
        mpki_release(ctx, core->src);
        mpki_release(ctx, core->bare);
        mpki_release(ctx, core->mate);
        *core = (mpki_core){0};
        return mpki_failed(ctx);
    }
    memcpy(core->bare, bare, (size_t)n);
    if (mate) memcpy(core->mate, mate, (size_t)n * sizeof *mate);
    count = 0;
    for (int32_t j = 0; j < n; j++) {
        part_ap[j] = count;
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            if (bare[j] || bare[ai[k]]) continue;
            part_ai[count] = ai[k];
            core->src[count++] = k;
        }
    }
    part_ap[n] = count;
    return MPK_OK;
}

/* ---- more of A ------------------------------------------------------------------------------- */

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
        if (missed[i] && an->core.bare[i]) lots[count++] = mpki_random_lot((uint64_t)i);
    qsort(lots, (size_t)count, sizeof *lots, compare);
    for (int32_t i = 0; i < n; i++) {
        if (!missed[i] || !an->core.bare[i] ||
            (count > most && mpki_random_lot((uint64_t)i) >= lots[most]))
            continue;
        keep[i] = 1;
        ++*added;
    }
    mpki_release(ctx, lots);
    return MPK_OK;
}
