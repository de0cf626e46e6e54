/* SPDX-License-Identifier: BSD-3-Clause */
/* Adds fill to a pattern of blocks: up to a level, or complete. */
#include "block.h"
#include "../symbolic/rowset.h"
#include "../../core/pool.h"

#include <string.h>

static const char STAGE[] = "block fill";

static mpk_status too_many(mpk_context *ctx, int64_t blocks, int64_t max_blocks) {
    return mpki_error(ctx, MPK_ERR_MEMORY, STAGE, blocks,
                      "the fill has over %lld blocks, more than were allowed",
                      (long long)max_blocks);
}

/* ---- level of fill --------------------------------------------------------------------------- */

/* Hysom & Pothen 2002: block (i, j) has the level of fill l exactly if the shortest path from i to
 * j in the graph of A with all inner vertices below both has l + 1 edges. (That is the same as the
 * usual sum rule, lev(i, j) = min over k of lev(i, k) + lev(k, j) + 1.) So a column i of L is a
 * search from i, breadth first, over vertices below i, to a depth of level + 1 edges, and each
 * column is found on its own. Their algorithm goes row by row over U; a column of L is that row. */

enum { CHUNK = 128 }; /* columns of one work item */

typedef struct level_fill {
    mpk_context *ctx;
    const mpki_pattern *a;
    const int64_t *xptr; /* m + 1 */
    const int32_t *xrow; /* for each vertex the neighbours before it, increasing */
    int level;
    int64_t max_blocks;
    int64_t *count;       /* m: blocks of each column */
    int32_t **part;       /* of each work item, its columns one after the other */
    struct searcher *own; /* by worker */
    _Atomic int64_t blocks;
    _Atomic bool failed;
} level_fill;

typedef struct searcher {
    int32_t *mark;    /* m: the last search that met a vertex */
    int32_t *queue;   /* m */
    mpki_rowset rows; /* of the present column */
    int64_t found;    /* its size */
    mpki_asking asking;
    bool ready;
} searcher;

static bool searcher_ready(level_fill *f, searcher *s) {
    int32_t m = f->a->m;
    if (s->ready) return true;
    if (!s->mark) s->mark = MPKI_NEW(f->ctx, STAGE, m, int32_t);
    if (!s->queue) s->queue = MPKI_NEW(f->ctx, STAGE, m, int32_t);
    if (!s->mark || !s->queue || !mpki_rowset_create(f->ctx, STAGE, m, &s->rows)) return false;
    for (int32_t v = 0; v < m; v++) s->mark[v] = -1;
    s->asking = (mpki_asking){f->ctx, "analyse", 0};
    return s->ready = true;
}

static inline void meet(searcher *s, int32_t i, int32_t row) {
    if (s->mark[row] == i) return;
    s->mark[row] = i;
    mpki_rowset_add(&s->rows, row);
    s->found++;
}

/* From vertex h into column i: neighbours after i are rows of it; with `deeper`, those before i are
 * queued. False: it was stopped. */
static bool expand(const level_fill *f, searcher *s, int32_t i, int32_t h, bool deeper,
                   int32_t *tail) {
    const mpki_pattern *a = f->a;
    const int32_t *row = a->row;
    int64_t k = a->ptr[h + 1] - 1;
    for (; k > a->ptr[h] && row[k] > i; k--) meet(s, i, row[k]);
    if (mpki_asks(&s->asking, a->ptr[h + 1] - a->ptr[h] + f->xptr[h + 1] - f->xptr[h]))
        return false;
    if (!deeper) return true;
    for (; k > a->ptr[h]; k--)
        if (s->mark[row[k]] != i) {
            s->mark[row[k]] = i;
            s->queue[(*tail)++] = row[k];
        }
    for (k = f->xptr[h]; k < f->xptr[h + 1]; k++) {
        int32_t v = f->xrow[k];
        if (s->mark[v] == i) continue;
        s->mark[v] = i;
        s->queue[(*tail)++] = v;
    }
    return true;
}

static bool search_column(const level_fill *f, searcher *s, int32_t i) {
    int32_t head = 0, tail = 0;
    s->found = 0;
    s->mark[i] = i;
    if (!expand(f, s, i, i, true, &tail)) return false;
    for (int depth = 1; depth <= f->level && head < tail; depth++)
        for (int32_t end = tail; head < end; head++)
            if (!expand(f, s, i, s->queue[head], depth < f->level, &tail)) return false;
    return true;
}

static void fill_chunk(mpki_pool *pool, int worker, void *arg, int64_t item) {
    level_fill *f = arg;
    searcher *s = &f->own[worker];
    int32_t first = (int32_t)(item * CHUNK),
            last = f->a->m - first < CHUNK ? f->a->m : first + CHUNK;
    int64_t used = 0, room = 0;
    (void)pool;
    if (f->failed) return;
    if (!searcher_ready(f, s)) goto failed;
    for (int32_t i = first; i < last; i++) {
        if (!search_column(f, s, i)) {
            mpki_stopped(f->ctx, STAGE);
            goto failed;
        }
        f->count[i] = s->found + 1;
        if (used + f->count[i] > room) {
            room = 2 * (used + f->count[i]) + CHUNK;
            int32_t *larger = mpki_resize(f->ctx, STAGE, f->part[item], room, sizeof(int32_t));
            if (!larger) goto failed;
            f->part[item] = larger;
        }
        f->part[item][used] = i;
        mpki_rowset_take(&s->rows, s->rows.top, 0, f->part[item] + used + 1);
        used += f->count[i];
    }
    int64_t all = atomic_fetch_add(&f->blocks, used) + used;
    if (f->max_blocks == 0 || all <= f->max_blocks) return;
    too_many(f->ctx, all, f->max_blocks);
failed:
    f->failed = true;
}

/* The strict upper triangle of a by columns, which is the lower one by rows. */
static mpk_status transpose(mpk_context *ctx, const mpki_pattern *a, int64_t **xptr,
                            int32_t **xrow) {
    int32_t m = a->m;
    int64_t *ptr = *xptr = MPKI_ZNEW(ctx, STAGE, (int64_t)m + 2, int64_t);
    *xrow = MPKI_NEW(ctx, STAGE, a->ptr[m] - m, int32_t);
    if (!*xptr || !*xrow) return mpki_failed(ctx);
    ptr += 2; /* ptr[r] is where row r ends before, and row r + 1 begins after */
    for (int32_t c = 0; c < m; c++)
        for (int64_t k = a->ptr[c] + 1; k < a->ptr[c + 1]; k++) ptr[a->row[k]]++;
    for (int32_t r = 1; r < m; r++) ptr[r] += ptr[r - 1];
    ptr--;
    for (int32_t c = 0; c < m; c++)
        for (int64_t k = a->ptr[c] + 1; k < a->ptr[c + 1]; k++) (*xrow)[ptr[a->row[k]]++] = c;
    return MPK_OK;
}

static mpk_status fill_level(mpk_context *ctx, const mpki_pattern *a, int level, int threads,
                             int64_t max_blocks, mpki_pattern *filled) {
    int32_t m = a->m;
    int64_t chunks = ((int64_t)m + CHUNK - 1) / CHUNK, *xptr = NULL;
    int32_t *xrow = NULL;
    level_fill f = {.ctx = ctx, .a = a, .level = level, .max_blocks = max_blocks};
    mpk_status status = MPK_OK;
    mpki_pool *pool = NULL;
    if (threads < 1 || chunks < 2) threads = 1;
    if (threads > 1) pool = mpki_context_pool(ctx, threads, 1);
    if (threads > 1 && !pool) return mpki_failed(ctx);
    f.count = MPKI_NEW(ctx, STAGE, m, int64_t);
    f.part = MPKI_ZNEW(ctx, STAGE, chunks, int32_t *);
    f.own = MPKI_ZNEW(ctx, STAGE, threads, searcher);
    if (!f.count || !f.part || !f.own) goto failed;
    if (mpk_failed(status = transpose(ctx, a, &xptr, &xrow))) goto done;
    f.xptr = xptr;
    f.xrow = xrow;
    mpki_pool_for(pool, 0, chunks, fill_chunk, &f);
    if (f.failed) goto failed;
    filled->ptr = MPKI_NEW(ctx, STAGE, (int64_t)m + 1, int64_t);
    filled->row = MPKI_NEW(ctx, STAGE, f.blocks, int32_t);
    if (!filled->ptr || !filled->row) goto failed;
    filled->ptr[0] = 0;
    for (int32_t i = 0; i < m; i++) filled->ptr[i + 1] = filled->ptr[i] + f.count[i];
    for (int64_t k = 0; k < chunks; k++) {
        int64_t from = filled->ptr[k * CHUNK];
        int64_t to = filled->ptr[m - k * CHUNK < CHUNK ? m : (k + 1) * CHUNK];
        memcpy(filled->row + from, f.part[k], (size_t)(to - from) * sizeof(int32_t));
        mpki_release(ctx, f.part[k]);
        f.part[k] = NULL;
    }
    goto done;
failed:
    status = mpki_failed(ctx);
done:
    for (int64_t k = 0; f.part && k < chunks; k++) mpki_release(ctx, f.part[k]);
    for (int k = 0; f.own && k < threads; k++) {
        mpki_release(ctx, f.own[k].mark);
        mpki_release(ctx, f.own[k].queue);
        mpki_release(ctx, f.own[k].rows.block);
    }
    mpki_release(ctx, f.count);
    mpki_release(ctx, f.part);
    mpki_release(ctx, f.own);
    mpki_release(ctx, xptr);
    mpki_release(ctx, xrow);
    return status;
}

/* ---- complete -------------------------------------------------------------------------------- */

/* Liu 1986: row i of L is the subtree of the elimination tree that the paths from the neighbours
 * before i up to i make. Rows in order put increasing rows into the columns: no sort, and each
 * block of L costs one step. */

/* parent of each vertex; ancestor [work] m. */
static void elimination_tree(int32_t m, const int64_t *xptr, const int32_t *xrow, int32_t *ancestor,
                             int32_t *parent) {
    for (int32_t i = 0; i < m; i++) {
        parent[i] = ancestor[i] = -1;
        for (int64_t k = xptr[i]; k < xptr[i + 1]; k++)
            for (int32_t c = xrow[k]; c >= 0 && c < i;) {
                int32_t up = ancestor[c];
                ancestor[c] = i;
                if (up < 0) parent[c] = i;
                c = up;
            }
    }
}

static mpk_status fill_complete(mpk_context *ctx, const mpki_pattern *a, int64_t max_blocks,
                                mpki_pattern *filled) {
    int32_t m = a->m;
    int64_t *xptr = NULL, *ptr = NULL, total = m;
    int32_t *xrow = NULL;
    int32_t *parent = MPKI_NEW(ctx, STAGE, m, int32_t), *mark = MPKI_NEW(ctx, STAGE, m, int32_t);
    mpk_status status = MPK_OK;
    mpki_asking asking = {ctx, "analyse", 0};
    ptr = filled->ptr = MPKI_NEW(ctx, STAGE, (int64_t)m + 1, int64_t);
    if (!parent || !mark || !ptr) goto failed;
    if (mpk_failed(status = transpose(ctx, a, &xptr, &xrow))) goto done;
    elimination_tree(m, xptr, xrow, mark, parent);
    ptr[0] = 0;
    for (int32_t i = 0; i < m; i++) {
        ptr[i + 1] = 1;
        mark[i] = -1;
    }
    for (int32_t i = 0; i < m; i++) {
        const int64_t before = total;
        mark[i] = i;
        for (int64_t k = xptr[i]; k < xptr[i + 1]; k++)
            for (int32_t c = xrow[k]; mark[c] != i; c = parent[c], total++) {
                mark[c] = i;
                ptr[c + 1]++;
            }
        if (mpki_asks(&asking, total - before)) goto stopped;
        if (max_blocks > 0 && total > max_blocks) {
            status = too_many(ctx, total, max_blocks);
            goto done;
        }
    }
    for (int32_t i = 0; i < m; i++) {
        ptr[i + 1] += ptr[i];
        mark[i] = -1;
    }
    if (!(filled->row = MPKI_NEW(ctx, STAGE, total, int32_t))) goto failed;
    for (int32_t i = 0; i < m; i++) {
        filled->row[ptr[i]++] = i;
        mark[i] = i;
        if (mpki_asks(&asking, total / m)) goto stopped;
        for (int64_t k = xptr[i]; k < xptr[i + 1]; k++)
            for (int32_t c = xrow[k]; mark[c] != i; c = parent[c]) {
                mark[c] = i;
                filled->row[ptr[c]++] = i;
            }
    }
    for (int32_t i = m; i > 0; i--) ptr[i] = ptr[i - 1];
    ptr[0] = 0;
    goto done;
stopped:
    mpki_stopped(ctx, STAGE);
failed:
    status = mpki_failed(ctx);
done:
    mpki_release(ctx, parent);
    mpki_release(ctx, mark);
    mpki_release(ctx, xptr);
    mpki_release(ctx, xrow);
    return status;
}

/* By the rule of the maximum a block of level l is one step from blocks of level l - 1: so l times
 * level 1. */
static mpk_status fill_by_steps(mpk_context *ctx, const mpki_pattern *a, int level, int threads,
                                int64_t max_blocks, mpki_pattern *filled) {
    mpk_status status = fill_level(ctx, a, 1, threads, max_blocks, filled);
    for (int l = 1; l < level && !mpk_failed(status); l++) {
        mpki_pattern next = {.m = a->m};
        status = fill_level(ctx, filled, 1, threads, max_blocks, &next);
        const bool more = !mpk_failed(status) && next.ptr[a->m] > filled->ptr[a->m];
        if (mpk_failed(status)) {
            mpki_pattern_free(ctx, &next);
            break;
        }
        mpki_pattern_free(ctx, filled);
        *filled = next;
        if (!more) break; /* complete */
    }
    return status;
}

/* Level 0. */
static mpk_status copy(mpk_context *ctx, const mpki_pattern *a, mpki_pattern *filled) {
    filled->ptr = MPKI_NEW(ctx, STAGE, (int64_t)a->m + 1, int64_t);
    filled->row = MPKI_NEW(ctx, STAGE, a->ptr[a->m], int32_t);
    if (!filled->ptr || !filled->row) return mpki_failed(ctx);
    memcpy(filled->ptr, a->ptr, ((size_t)a->m + 1) * sizeof *a->ptr);
    memcpy(filled->row, a->row, (size_t)a->ptr[a->m] * sizeof *a->row);
    return MPK_OK;
}

mpk_status mpki_pattern_fill_by(mpk_context *ctx, const mpki_pattern *a, int level,
                                mpk_level_rule rule, int threads, int64_t max_blocks,
                                mpki_pattern *filled) {
    mpk_status status;
    *filled = (mpki_pattern){.m = a->m};
    if (max_blocks > 0 && a->ptr[a->m] > max_blocks)
        status = too_many(ctx, a->ptr[a->m], max_blocks);
    else if (level == 0)
        status = copy(ctx, a, filled);
    else if (level < 0)
        status = fill_complete(ctx, a, max_blocks, filled);
    else if (rule == MPK_LEVEL_RULE_MAX)
        status = fill_by_steps(ctx, a, level, threads, max_blocks, filled);
    else
        status = fill_level(ctx, a, level, threads, max_blocks, filled);
    if (mpk_failed(status)) mpki_pattern_free(ctx, filled);
    return status;
}

mpk_status mpki_pattern_fill(mpk_context *ctx, const mpki_pattern *a, int level, int threads,
                             int64_t max_blocks, mpki_pattern *filled) {
    return mpki_pattern_fill_by(ctx, a, level, MPK_LEVEL_RULE_SUM, threads, max_blocks, filled);
}
