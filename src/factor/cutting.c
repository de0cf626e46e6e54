/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that are wider than an engine takes, cut into pieces of nearly the same width: pivots are
 * then looked for in a piece, and the pieces' couplings are blocks as others are. */
#include "stages.h"

#include <string.h>

static const char STAGE[] = "factorize";

/* Where a piece that begins at p ends; two rows of a 2x2 pivot of the matching stay together. */
static int32_t piece_end(int32_t p, int32_t end, int32_t widest, const int32_t *pair) {
    const int32_t pieces = (end - p + widest - 1) / widest,
                  to = p + (end - p + pieces - 1) / pieces;
    return pair && to < end && to - p > 1 && pair[to - 1] == to ? to - 1 : to;
}

mpk_status mpki_cut_frames(mpk_context *ctx, const mpk_analysis *an, int32_t widest,
                           mpki_block_analysis **out, int32_t *cut) {
    const mpki_block_analysis *whole = an->block;
    const mpki_blocking *old = &whole->blocking;
    const int32_t n = old->n;
    mpki_block_analysis *b = *out = MPKI_ZNEW(ctx, STAGE, 1, mpki_block_analysis);
    mpki_union both = {0};
    *cut = 0;
    if (!b) return mpki_failed(ctx);
    b->blocking = *old;
    b->blocking.perm = MPKI_NEW(ctx, STAGE, n, int32_t);
    b->blocking.iperm = MPKI_NEW(ctx, STAGE, n, int32_t);
    b->blocking.of = MPKI_NEW(ctx, STAGE, n, int32_t);
    b->blocking.bptr = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int32_t);
    b->pair = whole->pair ? MPKI_NEW(ctx, STAGE, n, int32_t) : NULL;
    mpk_status status = mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    const size_t bytes = (size_t)n * sizeof(int32_t);
    memcpy(b->blocking.perm, old->perm, bytes);
    memcpy(b->blocking.iperm, old->iperm, bytes);
    if (b->pair) memcpy(b->pair, whole->pair, bytes);
    int32_t frames = 0;
    b->blocking.largest = 0;
    for (int32_t f = 0; f < old->nframes; f++) {
        *cut += old->bptr[f + 1] - old->bptr[f] > widest;
        for (int32_t p = old->bptr[f]; p < old->bptr[f + 1]; frames++) {
            const int32_t end = piece_end(p, old->bptr[f + 1], widest, whole->pair);
            if (end - p > b->blocking.largest) b->blocking.largest = end - p;
            b->blocking.bptr[frames] = p;
            for (; p < end; p++) b->blocking.of[p] = frames;
        }
    }
    b->blocking.bptr[frames] = n;
    b->blocking.nframes = frames;
    const bool general = an->symmetry == MPK_GENERAL;
    if (general) status = mpki_union_make(ctx, n, an->ap, an->ai, an->row_of, &both);
    if (!mpk_failed(status))
        status = mpki_pattern_of_matrix(ctx, n, general ? both.ap : an->ap,
                                        general ? both.ai : an->ai, &b->blocking, &b->a);
    mpki_union_free(ctx, &both);
done:
    if (mpk_failed(status)) mpki_block_analysis_free(ctx, out);
    return status;
}
