/* SPDX-License-Identifier: BSD-3-Clause */
/* mpki_match: matching, scaling and 2x2 candidates, step by step. */
#include "match.h"

/* A pair whose scaled diagonal entries both have this modulus or more is left as two 1x1
 * candidates: each is a pivot that bounds its column of L by the reciprocal, in whatever order the
 * two come; and a graph with fewer vertices glued together gives sparser factors.
 * docs/design/matching.md has the measurements. */
static const double SAFE_DIAGONAL = 0.1;

mpk_status mpki_match_solve(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ap,
                            const int32_t *ai, const double *absval, const mpki_lower *rows,
                            mpki_matching *m) {
    *m = (mpki_matching){.ctx = ctx, .asking = {ctx, "analyse", 0}};
    mpk_status status = mpki_match_graph_build(ctx, pool, n, ap, ai, absval, rows, &m->graph);
    if (mpk_failed(status)) return status;
    m->node = MPKI_NEW(ctx, "match", n, mpki_match_node);
    m->queue = MPKI_NEW(ctx, "match", n, int32_t);
    m->heap = MPKI_NEW(ctx, "match", n, mpki_match_entry);
    m->stack = MPKI_NEW(ctx, "match", n, int32_t);
    if (!m->node || !m->queue || !m->heap || !m->stack) {
        status = mpki_failed(ctx);
        goto done;
    }
    if (mpki_progress(ctx, "analyse", 0.01)) {
        status = mpki_stopped(ctx, "match");
        goto done;
    }
    mpki_match_start(m);
    status = mpki_match_augment(m, 0.01);
    if (mpk_failed(status)) goto done;
    status = mpki_match_settle(m);
    if (mpk_failed(status)) goto done;
    return MPK_OK;
done:
    mpki_match_free(m);
    return status;
}

void mpki_match_free(mpki_matching *m) {
    if (!m->ctx) return;
    mpki_match_graph_free(m->ctx, &m->graph);
    mpki_release(m->ctx, m->node);
    mpki_release(m->ctx, m->queue);
    mpki_release(m->ctx, m->heap);
    mpki_release(m->ctx, m->stack);
    mpki_release(m->ctx, m->frozen);
    mpki_release(m->ctx, m->side);
    *m = (mpki_matching){0};
}

mpk_status mpki_match(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                      const double *absval, int32_t *mate, double *scale, int32_t *rank,
                      char *bare) {
    return mpki_match_with_rows(ctx, NULL, n, ap, ai, absval, NULL, mate, scale, rank, bare);
}

mpk_status mpki_match_with_rows(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ap,
                                const int32_t *ai, const double *absval, const mpki_lower *rows,
                                int32_t *mate, double *scale, int32_t *rank, char *bare) {
    mpki_matching m;
    mpk_status status = mpki_match_solve(ctx, pool, n, ap, ai, absval, rows, &m);
    if (mpk_failed(status)) return status;
    mpki_match_scale(&m, scale);
    mpki_match_split(&m, SAFE_DIAGONAL, mate);
    *rank = n - m.exposed;
    for (int32_t i = 0; bare && i < n; i++) bare[i] = m.node[i].mate == MPKI_EXPOSED;
    mpki_match_free(&m);
    return MPK_OK;
}
