/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames that no stage accepts, joined with those that they are coupled to most strongly: inside
 * the larger frame pivots are found that cross the old blocks. */
#include "stages.h"

#include <math.h>

static const char STAGE[] = "factorize";

typedef struct join {
    const mpki_full *a;
    const double *scale;
    const mpki_blocking *old;
    int32_t widest;
    int32_t *partner; /* by frame; -1: none */
    double *weight;   /* by frame, of its entries with the one at work; zero between */
    int32_t *met;     /* those whose weight is not zero */
} join;

/* The larger part of entry e in modulus. */
static double entry_size(const mpki_full *a, int64_t e) {
    const float *f = a->val;
    const double *d = a->val;
    switch (a->scalar) {
    case MPK_S:
        return fabs((double)f[e]);
    case MPK_C:
        return fmax(fabs((double)f[2 * e]), fabs((double)f[2 * e + 1]));
    case MPK_Z:
        return fmax(fabs(d[2 * e]), fabs(d[2 * e + 1]));
    default:
        return fabs(d[e]);
    }
}

static int32_t width(const mpki_blocking *b, int32_t f) {
    return b->bptr[f + 1] - b->bptr[f];
}

/* The frame that f shares the largest sum of squares with, of those not joined yet and narrow
 * enough; -1: there is none. */
static int32_t strongest(join *j, int32_t f) {
    const mpki_blocking *b = j->old;
    const mpki_full *a = j->a;
    int32_t count = 0, best = -1;
    for (int32_t p = b->bptr[f]; p < b->bptr[f + 1]; p++) {
        const int32_t g = b->perm[p];
        for (int64_t e = a->ptr[g]; e < a->ptr[g + 1]; e++) {
            const int32_t other = b->of[b->iperm[a->col[e]]];
            const double v = entry_size(a, e) * j->scale[g] * j->scale[a->col[e]];
            if (other == f || j->partner[other] >= 0 || !(v > 0)) continue;
            if (width(b, f) + width(b, other) > j->widest) continue;
            if (j->weight[other] == 0) j->met[count++] = other;
            j->weight[other] += v * v;
        }
    }
    for (int32_t k = 0; k < count; k++) {
        const int32_t other = j->met[k];
        if (best < 0 || j->weight[other] > j->weight[best] ||
            (j->weight[other] == j->weight[best] && other < best))
            best = other;
    }
    for (int32_t k = 0; k < count; k++) j->weight[j->met[k]] = 0;
    return best;
}

/* Rows in the order of frames, those of two that are joined where the later one stood. */
static void lay_out(const join *j, mpki_blocking *b) {
    const mpki_blocking *old = j->old;
    int32_t frames = 0, at = 0;
    b->largest = 0;
    for (int32_t f = 0; f < old->nframes; f++) {
        if (j->partner[f] > f) continue;
        const int32_t begin = at, two[] = {j->partner[f], f};
        for (int k = two[0] < 0; k < 2; k++)
            for (int32_t p = old->bptr[two[k]]; p < old->bptr[two[k] + 1]; p++) {
                b->perm[at] = old->perm[p];
                b->iperm[old->perm[p]] = at;
                b->of[at++] = frames;
            }
        b->bptr[frames++] = begin;
        if (at - begin > b->largest) b->largest = at - begin;
    }
    b->bptr[frames] = at;
    b->nframes = frames;
}

mpk_status mpki_join_frames(mpk_context *ctx, const mpk_analysis *an, const mpki_stages *s,
                            int32_t widest, mpki_block_analysis **out) {
    const mpki_blocking *old = s->blocking;
    const int32_t n = old->n, m = old->nframes;
    join j = {.a = s->a, .scale = s->scale, .old = old, .widest = widest};
    int32_t joined = 0;
    mpk_status status = MPK_OK;
    mpki_block_analysis *b = *out = MPKI_ZNEW(ctx, STAGE, 1, mpki_block_analysis);
    j.partner = MPKI_NEW(ctx, STAGE, m, int32_t);
    j.met = MPKI_NEW(ctx, STAGE, m, int32_t);
    j.weight = MPKI_ZNEW(ctx, STAGE, m, double);
    if (b) {
        b->joined = true;
        b->blocking = *old;
        b->blocking.perm = MPKI_NEW(ctx, STAGE, n, int32_t);
        b->blocking.iperm = MPKI_NEW(ctx, STAGE, n, int32_t);
        b->blocking.of = MPKI_NEW(ctx, STAGE, n, int32_t);
        b->blocking.bptr = MPKI_NEW(ctx, STAGE, (int64_t)m + 1, int32_t);
        b->pair = s->pair ? MPKI_NEW(ctx, STAGE, n, int32_t) : NULL;
    }
    if (mpk_failed(status = mpki_failed(ctx))) goto done;
    for (int32_t f = 0; f < m; f++) j.partner[f] = -1;
    for (int32_t p = 0; p < m; p++) {
        const int32_t f = s->index.frame[p];
        if (s->final[f] || j.partner[f] >= 0) continue;
        const int32_t other = strongest(&j, f);
        if (other < 0) continue;
        j.partner[f] = other, j.partner[other] = f;
        joined++;
    }
    if (joined == 0) goto done;
    lay_out(&j, &b->blocking);
    for (int32_t p = 0; b->pair && p < n; p++) /* p: old position */
        b->pair[b->blocking.iperm[old->perm[p]]] = b->blocking.iperm[old->perm[s->pair[p]]];
    status = mpki_pattern_of_matrix(ctx, n, an->ap, an->ai, &b->blocking, &b->a);
done:
    mpki_release(ctx, j.partner);
    mpki_release(ctx, j.met);
    mpki_release(ctx, j.weight);
    if (mpk_failed(status) || joined == 0) mpki_block_analysis_free(ctx, out);
    return status;
}
