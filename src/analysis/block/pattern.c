/* SPDX-License-Identifier: BSD-3-Clause */
/* The nonzero blocks of a matrix. */
#include "block.h"

static const char STAGE[] = "block pattern";

void mpki_pattern_free(mpk_context *ctx, mpki_pattern *pattern) {
    mpki_release(ctx, pattern->ptr);
    mpki_release(ctx, pattern->row);
    *pattern = (mpki_pattern){0};
}

/* State of the search. A frame sees the frames of the rows in its stored columns, before or after
 * it; the block of two frames may be seen from one of them or from both. */
typedef struct gather {
    int32_t m;
    const mpki_blocking *blocking;
    const int64_t *ap;
    const int32_t *ai;
    int32_t *frame; /* n: frame of each index of the problem */
    int32_t *mark;  /* m */
    int64_t *ptr;   /* m + 1 */
    int32_t *seen;  /* ptr[m] */
} gather;

/* The distinct frames that frame f sees, itself excluded; seen NULL: their number alone. */
static int64_t look(const gather *g, int32_t f, int32_t *mark, int32_t *seen) {
    const mpki_blocking *b = g->blocking;
    int64_t count = 0;
    mark[f] = f;
    for (int32_t p = b->bptr[f]; p < b->bptr[f + 1]; p++) {
        int32_t j = b->perm[p];
        for (int64_t k = g->ap[j]; k < g->ap[j + 1]; k++) {
            int32_t other = g->frame[g->ai[k]];
            if (mark[other] == f) continue;
            mark[other] = f;
            if (seen) seen[count] = other;
            count++;
        }
    }
    return count;
}

static mpk_status look_all(mpk_context *ctx, gather *g) {
    mpki_asking asking = {ctx, "analyse", 0};
    for (int32_t f = 0; f < g->m; f++) g->mark[f] = -1;
    g->ptr[0] = 0;
    for (int32_t f = 0; f < g->m; f++) {
        g->ptr[f + 1] = g->ptr[f] + look(g, f, g->mark, NULL);
        if (mpki_asks(&asking, 8 * (g->ptr[f + 1] - g->ptr[f]))) return mpki_stopped(ctx, STAGE);
    }
    if (!(g->seen = MPKI_NEW(ctx, STAGE, g->ptr[g->m], int32_t))) return mpki_failed(ctx);
    for (int32_t f = 0; f < g->m; f++) g->mark[f] = -1;
    for (int32_t f = 0; f < g->m; f++) {
        look(g, f, g->mark, g->seen + g->ptr[f]);
        if (mpki_asks(&asking, 8 * (g->ptr[f + 1] - g->ptr[f]))) return mpki_stopped(ctx, STAGE);
    }
    return MPK_OK;
}

/* Bucket what was seen by the later frame of each pair: rptr, earlier[]. */
static mpk_status by_row(mpk_context *ctx, const gather *g, int64_t *rptr, int32_t **earlier) {
    int32_t m = g->m;
    for (int32_t f = 0; f <= m; f++) rptr[f] = 0;
    for (int32_t f = 0; f < m; f++)
        for (int64_t k = g->ptr[f]; k < g->ptr[f + 1]; k++)
            rptr[1 + (f > g->seen[k] ? f : g->seen[k])]++;
    for (int32_t f = 0; f < m; f++) rptr[f + 1] += rptr[f];
    if (!(*earlier = MPKI_NEW(ctx, STAGE, g->ptr[m], int32_t))) return mpki_failed(ctx);
    for (int32_t f = 0; f < m; f++)
        for (int64_t k = g->ptr[f]; k < g->ptr[f + 1]; k++) {
            int32_t other = g->seen[k], late = f > other ? f : other;
            (*earlier)[rptr[late]++] = f > other ? other : f;
        }
    for (int32_t f = m; f > 0; f--) rptr[f] = rptr[f - 1];
    rptr[0] = 0;
    return MPK_OK;
}

/* Walk the rows in order and append each to its columns: rows are then increasing, and pairs seen
 * from both sides are stored once. */
static mpk_status by_column(mpk_context *ctx, int32_t m, const int64_t *rptr, int32_t *earlier,
                            int32_t *mark, mpki_pattern *pattern) {
    int64_t *ptr = pattern->ptr;
    for (int32_t f = 0; f < m; f++) {
        mark[f] = -1;
        ptr[f + 1] = 1;
    }
    ptr[0] = 0;
    for (int32_t r = 0; r < m; r++)
        for (int64_t k = rptr[r]; k < rptr[r + 1]; k++) {
            int32_t c = earlier[k];
            if (mark[c] == r) {
                earlier[k] = -1;
                continue;
            }
            mark[c] = r;
            ptr[c + 1]++;
        }
    for (int32_t f = 0; f < m; f++) ptr[f + 1] += ptr[f];
    if (!(pattern->row = MPKI_NEW(ctx, STAGE, ptr[m], int32_t))) return mpki_failed(ctx);
    for (int32_t r = 0; r < m; r++) {
        for (int64_t k = rptr[r]; k < rptr[r + 1]; k++)
            if (earlier[k] >= 0) pattern->row[ptr[earlier[k]]++] = r;
        pattern->row[ptr[r]++] = r; /* the diagonal comes first: there is nothing above it */
    }
    for (int32_t f = m; f > 0; f--) ptr[f] = ptr[f - 1];
    ptr[0] = 0;
    return MPK_OK;
}

mpk_status mpki_pattern_of_matrix(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                                  const mpki_blocking *blocking, mpki_pattern *pattern) {
    int32_t m = blocking->nframes;
    gather g = {.m = m, .blocking = blocking, .ap = ap, .ai = ai};
    int32_t *earlier = NULL;
    int64_t *rptr = NULL;
    mpk_status status = MPK_OK;
    *pattern = (mpki_pattern){.m = m};
    g.frame = MPKI_NEW(ctx, STAGE, n, int32_t);
    g.mark = MPKI_NEW(ctx, STAGE, m, int32_t);
    g.ptr = MPKI_NEW(ctx, STAGE, (int64_t)m + 1, int64_t);
    rptr = MPKI_NEW(ctx, STAGE, (int64_t)m + 1, int64_t);
    pattern->ptr = MPKI_NEW(ctx, STAGE, (int64_t)m + 1, int64_t);
    if (!g.frame || !g.mark || !g.ptr || !rptr || !pattern->ptr) {
        status = mpki_failed(ctx);
        goto done;
    }
    for (int32_t f = 0; f < m; f++)
        for (int32_t p = blocking->bptr[f]; p < blocking->bptr[f + 1]; p++)
            g.frame[blocking->perm[p]] = f;
    if (mpk_failed(status = look_all(ctx, &g))) goto done;
    if (mpk_failed(status = by_row(ctx, &g, rptr, &earlier))) goto done;
    status = by_column(ctx, m, rptr, earlier, g.mark, pattern);
done:
    mpki_release(ctx, g.frame);
    mpki_release(ctx, g.mark);
    mpki_release(ctx, g.ptr);
    mpki_release(ctx, g.seen);
    mpki_release(ctx, rptr);
    mpki_release(ctx, earlier);
    if (mpk_failed(status)) mpki_pattern_free(ctx, pattern);
    return status;
}

mpk_status mpki_pattern_chain(mpk_context *ctx, const mpki_pattern *a, int32_t *chain) {
    int32_t *length = MPKI_ZNEW(ctx, STAGE, a->m, int32_t);
    if (!length) return mpki_failed(ctx);
    *chain = 0;
    for (int32_t c = 0; c < a->m; c++) { /* all that c waits for come before it */
        const int32_t mine = ++length[c];
        if (mine > *chain) *chain = mine;
        for (int64_t k = a->ptr[c] + 1; k < a->ptr[c + 1]; k++)
            if (length[a->row[k]] < mine) length[a->row[k]] = mine;
    }
    mpki_release(ctx, length);
    return MPK_OK;
}
