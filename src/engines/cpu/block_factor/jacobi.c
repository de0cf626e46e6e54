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
        if (meta->stages->final[mpki_col_frame(x, k)]) continue;
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
    for (int32_t k = 0; k < meta->chunk.count; k++) {
        const int w = mpki_frame_rows(b, meta->chunk.frame[k]), ld = mpki_block_ld(w, size);
        mpki_work_pivot *p = &g->pivot[k];
        p->m = take(g->memory, used, (int64_t)w * ld, size);
        p->n = meta->stages->ldu ? take(g->memory, used, (int64_t)w * ld, size) : p->m;
        p->d = take(g->memory, used, 2 * w, size);
        p->dinv = take(g->memory, used, 2 * w, size);
        p->own = NULL;
        g->frame[meta->chunk.frame[k]].d = p->d;
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

/* Blocks in columns of earlier stages stay as they are stored: readers find them in both
 * generations. */
static void show_kept(const mpki_meta *meta, const generation *g) {
    const mpki_blocks *bf = meta->bf;
    const mpki_stages *s = meta->stages;
    for (int64_t k = 0; k < s->index.nblocks; k++)
        if (s->final[mpki_col_frame(&s->index, k)])
            g->lower[k] = bf->lower[k], g->upper[k] = bf->upper[k];
    for (int32_t f = 0; f < s->index.m; f++)
        if (s->final[f]) g->frame[f] = bf->frame[f];
}

/* All frames that are due, and all blocks of their columns, as one chunk.
 * due [out] the frames, by place: to be released */
static mpk_status one_chunk(mpki_meta *meta, int32_t **due, mpki_updates *batch) {
    mpki_chunk_work *c = &meta->chunk;
    mpki_stages *s = meta->stages;
    unsigned char *all = MPKI_NEW(meta->ctx, STAGE, s->index.m, unsigned char);
    *due = MPKI_NEW(meta->ctx, STAGE, s->index.m, int32_t);
    if (!all || !*due) {
        mpki_release(meta->ctx, all);
        return mpki_failed(meta->ctx);
    }
    c->count = 0;
    for (int32_t place = 0; place < s->index.m; place++)
        if (!s->final[s->index.frame[place]]) (*due)[c->count++] = s->index.frame[place];
    c->frame = *due;
    c->batch = batch;
    memset(all, 1, (size_t)s->index.m); /* each updates those behind it */
    memset(s->want, 1, (size_t)s->index.nblocks);
    mpk_status status =
        mpki_updates_pull(meta->ctx, &s->index, all, s->want, c->count, c->frame, batch);
    mpki_release(meta->ctx, all);
    return mpk_failed(status) ? status : mpki_chunk_lay_out(meta, true);
}

/* Which frames have a pivot up to `push` times their norm, from the values of `old`: reject says
 * it. Pivots of `work` are lost.
 * fail [out] how many; 0 after a failure */
static mpk_status judge(mpki_meta *meta, const generation *old, const generation *work, double push,
                        int32_t *fail) {
    mpki_stages *s = meta->stages;
    *fail = 0;
    meta->bf->lower = old->lower, meta->bf->upper = old->upper, meta->bf->frame = old->frame;
    meta->chunk.pivot = work->pivot;
    s->by_frame = true;
    s->floor = push;
    s->last = false;
    MPKI_DISPATCH(meta->bf->scalar, meta_judge)(meta);
    const mpk_status status = mpki_meta_failure(meta);
    for (int32_t f = 0; f < s->index.m && !mpk_failed(status); f++) *fail += s->reject[f];
    return status;
}

static mpk_status sweep(mpki_meta *meta, const generation *old, const generation *new,
                        double epsilon, double share) {
    mpki_stages *s = meta->stages;
    meta->bf->lower = old->lower, meta->bf->upper = old->upper, meta->bf->frame = old->frame;
    meta->chunk.pivot = new->pivot;
    s->by_frame = s->options->jacobi_norm == MPK_JACOBI_NORM_FRAME;
    s->floor = s->by_frame ? epsilon : epsilon * meta->norm1;
    s->last = true;
    memset(s->reject, 0, (size_t)s->index.m);
    MPKI_DISPATCH(meta->bf->scalar, meta_sweep)(meta, new->lower, new->upper);
    const mpk_status status = mpki_meta_failure(meta);
    if (!mpk_failed(status) && mpki_progress(meta->ctx, STAGE, share))
        return mpki_error(meta->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    return status;
}

/* Store what the last sweep left. failed [in] by frame: rejected, some but not all of them; NULL:
 * none. */
static mpk_status store(mpki_meta *meta, const unsigned char *failed) {
    mpki_stages *s = meta->stages;
    if (failed) memcpy(s->reject, failed, (size_t)s->index.m);
    if (failed) mpki_reject_dependents(s);
    MPKI_DISPATCH(meta->bf->scalar, meta_store)(meta);
    if (failed) memcpy(s->reject, failed, (size_t)s->index.m);
    return mpki_meta_failure(meta);
}

static mpk_status sweeps(mpki_meta *meta, generation *g, double push, unsigned char *failed,
                         int32_t *fail) {
    mpki_blocks *bf = meta->bf;
    mpki_stages *s = meta->stages;
    const mpk_options *o = s->options;
    const int32_t due = meta->chunk.count;
    mpki_block *const lower = bf->lower, *const upper = bf->upper;
    mpki_frame *const frame = bf->frame;
    mpki_work_pivot *const own = meta->chunk.pivot;
    const int at = o->jacobi_judge == MPK_JACOBI_JUDGE_LAST ? o->sweeps : 1;
    mpk_status status = MPK_OK;
    double epsilon = o->jacobi_epsilon;
    bool some = false;
    show_kept(meta, &g[0]);
    show_kept(meta, &g[1]);
    bf->lower = g[0].lower, bf->upper = g[0].upper, bf->frame = g[0].frame;
    MPKI_DISPATCH(bf->scalar, meta_start)(meta);
    for (int i = 1; !mpk_failed(status) && i <= o->sweeps; i++, epsilon *= o->jacobi_decay) {
        const generation *old = &g[(i + 1) % 2], *new = &g[i % 2];
        if (push >= 0 && i == at) {
            status = judge(meta, old, new, push, fail);
            some = *fail > 0 && *fail < due;
            memcpy(failed, s->reject, (size_t)s->index.m);
            if (mpk_failed(status) || (some && at == 1)) break;
        }
        status = sweep(meta, old, new, epsilon, (double)i / o->sweeps);
    }
    bf->lower = lower, bf->upper = upper, bf->frame = frame;
    if (!mpk_failed(status) && !(some && at == 1)) status = store(meta, some ? failed : NULL);
    meta->chunk.pivot = own;
    return status;
}

mpk_status mpki_run_sweeps(mpki_meta *meta, double push, int32_t *fail) {
    mpk_context *ctx = meta->ctx;
    generation g[2] = {{0}, {0}};
    mpki_updates batch = {0};
    int32_t *due = NULL;
    unsigned char *failed = MPKI_NEW(ctx, STAGE, meta->stages->index.m, unsigned char);
    *fail = 0;
    if (!(meta->norm1 >= 0)) meta->norm1 = MPKI_DISPATCH(meta->bf->scalar, meta_norms)(meta);
    memset(meta->stages->reject, 0, (size_t)meta->stages->index.m);
    mpk_status status = failed ? one_chunk(meta, &due, &batch) : mpki_failed(ctx);
    if (!mpk_failed(status)) status = generation_make(meta, &g[0]);
    if (!mpk_failed(status)) status = generation_make(meta, &g[1]);
    if (!mpk_failed(status)) status = sweeps(meta, g, push, failed, fail);
    meta->chunk.count = 0;
    meta->chunk.frame = NULL;
    mpki_updates_free(ctx, &batch);
    mpki_release(ctx, due);
    mpki_release(ctx, failed);
    generation_free(ctx, &g[0]);
    generation_free(ctx, &g[1]);
    return status;
}
