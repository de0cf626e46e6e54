/* SPDX-License-Identifier: BSD-3-Clause */
/* The schedule without dependencies: sweeps over all blocks at once, with two generations of
 * values. */
#include "meta.h"

#include <string.h>

static const char STAGE[] = "factorize";

/* A generation of values: dense blocks and pivots in one piece of memory. */
typedef struct generation {
    mpki_block *lower, *upper;
    mpki_work_pivot *pivot; /* by place; so are the items of the one chunk */
    mpki_frame *frame;      /* by frame: D, for readers of this generation */
    char *memory;
} generation;

static void generation_free(mpk_context *ctx, generation *g) {
    if (g->upper != g->lower) mpki_release(ctx, g->upper);
    mpki_release(ctx, g->lower);
    mpki_release(ctx, g->pivot);
    mpki_release(ctx, g->frame);
    mpki_release(ctx, g->memory);
    *g = (generation){0};
}

/* The address of the next `count` entries in a generation's memory; base NULL: only add up the
 * size. */
static void *take(char *base, int64_t *used, int64_t count, size_t size) {
    char *at = base ? base + *used : NULL;
    *used += (count * (int64_t)size + 63) / 64 * 64;
    return at;
}

static void lay_out(const mpki_meta *meta, generation *g, int64_t *used) {
    const mpki_ibcsr *x = &meta->stages->index;
    const mpki_blocking *b = meta->stages->blocking;
    const size_t size = mpk_scalar_size(meta->bf->scalar);
    for (int64_t k = 0; k < x->nblocks; k++) {
        const int rows = mpki_frame_rows(b, mpki_row_frame(x, k));
        const int cols = mpki_frame_rows(b, mpki_col_frame(x, k));
        const bool diagonal = x->rows[k] == x->cols[k];
        const mpki_block block = {.rows = (uint8_t)rows,
                                  .cols = (uint8_t)cols,
                                  .format = diagonal ? MPKI_EMPTY : MPKI_DENSE,
                                  .scalar = (uint8_t)meta->bf->scalar};
        g->lower[k] = g->upper[k] = block;
        if (diagonal) continue;
        g->lower[k].data = take(g->memory, used, (int64_t)rows * cols, size);
        g->upper[k].data = meta->stages->ldu ? take(g->memory, used, (int64_t)rows * cols, size)
                                             : g->lower[k].data;
    }
    for (int32_t k = 0; k < x->m; k++) {
        const int w = mpki_frame_rows(b, x->frame[k]), ld = mpki_block_ld(w, size);
        mpki_work_pivot *p = &g->pivot[k];
        p->m = take(g->memory, used, (int64_t)w * ld, size);
        p->n = meta->stages->ldu ? take(g->memory, used, (int64_t)w * ld, size) : p->m;
        p->d = take(g->memory, used, 2 * w, size);
        p->dinv = take(g->memory, used, 2 * w, size);
        p->own = NULL;
        g->frame[x->frame[k]].d = p->d;
    }
}

static mpk_status generation_make(mpki_meta *meta, generation *g) {
    const mpki_ibcsr *x = &meta->stages->index;
    int64_t bytes = 0;
    *g = (generation){0};
    g->lower = MPKI_ZNEW(meta->ctx, STAGE, x->nblocks, mpki_block);
    g->upper = meta->stages->ldu ? MPKI_ZNEW(meta->ctx, STAGE, x->nblocks, mpki_block) : g->lower;
    g->frame = MPKI_ZNEW(meta->ctx, STAGE, x->m, mpki_frame);
    g->pivot = MPKI_ZNEW(meta->ctx, STAGE, x->m, mpki_work_pivot);
    if (!g->lower || !g->upper || !g->frame || !g->pivot) return mpki_failed(meta->ctx);
    lay_out(meta, g, &bytes);
    g->memory = mpki_calloc(meta->ctx, STAGE, bytes, 1);
    if (!g->memory) return mpki_failed(meta->ctx);
    bytes = 0;
    lay_out(meta, g, &bytes);
    return MPK_OK;
}

/* All frames and all blocks as one chunk. */
static mpk_status one_chunk(mpki_meta *meta, mpki_updates *batch) {
    mpki_chunk_work *c = &meta->chunk;
    c->count = meta->stages->index.m;
    c->frame = meta->stages->index.frame;
    c->batch = batch;
    memset(meta->stages->final, 1, (size_t)meta->stages->index.m);
    memset(meta->stages->want, 1, (size_t)meta->stages->index.nblocks);
    mpk_status status = mpki_updates_pull(meta->ctx, &meta->stages->index, meta->stages->final,
                                          meta->stages->want, c->count, c->frame, batch);
    memset(meta->stages->final, 0, (size_t)meta->stages->index.m);
    return mpk_failed(status) ? status : mpki_chunk_lay_out(meta, true);
}

/* The sweeps of one stage. *reorder: the first sweep had to replace pivots of some frames, but not
 * of all, and these may be pushed back. */
static mpk_status sweeps(mpki_meta *meta, double norm1, bool may_reorder, bool *reorder) {
    mpki_blocks *bf = meta->bf;
    const mpk_options *o = meta->stages->options;
    generation g[2] = {{0}, {0}};
    mpki_updates batch = {0};
    mpki_block *const lower = bf->lower, *const upper = bf->upper;
    mpki_frame *const frame = bf->frame;
    *reorder = false;
    mpk_status status = one_chunk(meta, &batch);
    if (!mpk_failed(status)) status = generation_make(meta, &g[0]);
    if (!mpk_failed(status)) status = generation_make(meta, &g[1]);
    if (!mpk_failed(status)) {
        bf->lower = g[0].lower, bf->upper = g[0].upper, bf->frame = g[0].frame;
        MPKI_DISPATCH(bf->scalar, meta_start)(meta);
    }
    mpki_work_pivot *const own = meta->chunk.pivot;
    double epsilon = o->jacobi_epsilon;
    for (int s = 1; !mpk_failed(status) && s <= o->sweeps; s++, epsilon *= o->jacobi_decay) {
        const generation *old = &g[(s + 1) % 2], *new = &g[s % 2];
        bf->lower = old->lower, bf->upper = old->upper, bf->frame = old->frame;
        meta->chunk.pivot = new->pivot;
        meta->stages->floor = epsilon * norm1;
        meta->stages->last = !(may_reorder && s == 1);
        memset(meta->stages->reject, 0, (size_t)meta->stages->index.m);
        MPKI_DISPATCH(bf->scalar, meta_sweep)(meta, new->lower, new->upper);
        status = mpki_meta_failure(meta);
        if (!mpk_failed(status) && mpki_progress(meta->ctx, STAGE, (double)s / o->sweeps))
            status = mpki_error(meta->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
        int32_t rejected = 0;
        for (int32_t f = 0; !meta->stages->last && f < meta->stages->index.m; f++)
            rejected += meta->stages->reject[f];
        if (rejected && rejected < meta->stages->index.m) {
            for (int32_t f = 0; f < meta->stages->index.m; f++)
                meta->stages->final[f] = !meta->stages->reject[f];
            *reorder = true;
            break;
        }
        if (rejected && !mpk_failed(status)) { /* no order is better: sweep 1 again */
            may_reorder = false;
            epsilon /= o->jacobi_decay;
            s--;
        }
    }
    bf->lower = lower, bf->upper = upper, bf->frame = frame;
    if (!mpk_failed(status) && !*reorder) {
        meta->stages->last = true;
        MPKI_DISPATCH(bf->scalar, meta_store)(meta);
        status = mpki_meta_failure(meta);
    }
    meta->chunk.pivot = own;
    mpki_updates_free(meta->ctx, &batch);
    generation_free(meta->ctx, &g[0]);
    generation_free(meta->ctx, &g[1]);
    return status;
}

mpk_status mpki_run_sweeps(mpki_meta *meta, bool may_reorder, bool *reorder) {
    if (!(meta->norm1 >= 0)) meta->norm1 = MPKI_DISPATCH(meta->bf->scalar, meta_norm1)(meta);
    return sweeps(meta, meta->norm1, may_reorder, reorder);
}
