/* SPDX-License-Identifier: BSD-3-Clause */
/* One stage of the meta-algorithm (Thuerck 2021, algorithm 12) on the processor: level sets, in
 * each of them chunks of frames whose blocks are computed in batches. */
#include "core/trace.h"
#include "meta.h"
#include "tuning.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

void mpki_workers_free(mpki_meta *meta) {
    for (int t = 0; meta->worker && t < meta->threads; t++) {
        mpki_release(meta->ctx, meta->worker[t].w);
        mpki_release(meta->ctx, meta->worker[t].work);
        mpki_release(meta->ctx, meta->worker[t].slot);
    }
    mpki_release(meta->ctx, meta->worker);
}

mpk_status mpki_workers_make(mpki_meta *meta) {
    const size_t size = mpk_scalar_size(meta->bf->scalar);
    const int64_t block = (int64_t)meta->widest * meta->widest;
    const int32_t m = meta->stages->index.m;
    meta->worker = MPKI_ZNEW(meta->ctx, STAGE, meta->threads, mpki_meta_worker);
    for (int t = 0; meta->worker && t < meta->threads; t++) {
        mpki_meta_worker *me = &meta->worker[t];
        me->w = mpki_calloc(meta->ctx, STAGE, 2 * block, size);
        me->work = mpki_calloc(meta->ctx, STAGE, 6 * block, size);
        me->slot = MPKI_NEW(meta->ctx, STAGE, m, int32_t);
        if (!me->w || !me->work || !me->slot) return mpki_failed(meta->ctx);
        me->wu = (char *)me->w + (size_t)block * size;
        me->block = (char *)me->work + 4 * (size_t)block * size;
        for (int32_t f = 0; f < m; f++) me->slot[f] = -1;
        me->smallest = INFINITY;
        me->broken_frame = INT32_MAX;
    }
    return meta->worker ? MPK_OK : mpki_failed(meta->ctx);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

void mpki_chunk_free(mpki_meta *meta) {
    mpki_chunk_work *c = &meta->chunk;
    void *const parts[] = {c->pivot,    c->pivot_memory, c->first,       c->at,
                           c->group,    c->group_end,    c->group_frame, c->flight,
                           c->flight_u, c->norm2,        c->largest,     c->need};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) mpki_release(meta->ctx, parts[k]);
}

/* Make *array hold at least count elements; the content is lost. */
static bool reserve(mpki_meta *meta, void *array, int64_t count, size_t size) {
    void **at = array;
    mpki_release(meta->ctx, *at);
    *at = mpki_alloc(meta->ctx, STAGE, count, size);
    return *at != NULL;
}

/* Addresses of the dense pivots of the chunk's frames. */
static bool pivots_lay_out(mpki_meta *meta) {
    mpki_chunk_work *c = &meta->chunk;
    const size_t size = mpk_scalar_size(meta->bf->scalar);
    const int line = (int)(64 / size);
    const bool whole = mpki_drops_by_whole(meta->stages);
    int64_t total = 0;
    for (int pass = 0; pass < 2; pass++) {
        char *at = c->pivot_memory;
        for (int32_t f = 0; f < c->count; f++) {
            const int w = mpki_frame_rows(meta->stages->blocking, c->frame[f]);
            const int64_t square = (int64_t)w * mpki_block_ld(w, size);
            const int64_t diagonal = (2 * w + line - 1) / line * line;
            const int64_t own = (2 * mpki_block_ld(w, size) + line - 1) / line * line;
            if (pass == 0) {
                total += square * (1 + meta->stages->ldu) + 2 * diagonal + whole * own;
                continue;
            }
            mpki_work_pivot *p = &c->pivot[f];
            p->m = at;
            p->n = meta->stages->ldu ? at + square * (int64_t)size : at;
            p->d = at += square * (1 + meta->stages->ldu) * (int64_t)size;
            p->dinv = at += diagonal * (int64_t)size;
            at += diagonal * (int64_t)size;
            p->own = whole ? at : NULL;
            at += whole * own * (int64_t)size;
        }
        if (pass == 0 && (total > c->pivot_capacity || !c->pivot_memory)) {
            c->pivot_capacity = total + total / 2;
            if (!reserve(meta, &c->pivot_memory, c->pivot_capacity, size)) return false;
        }
    }
    return true;
}

mpk_status mpki_chunk_lay_out(mpki_meta *meta, bool flight) {
    mpki_chunk_work *c = &meta->chunk;
    const mpki_ibcsr *x = &meta->stages->index;
    const mpki_blocking *b = meta->stages->blocking;
    const size_t size = mpk_scalar_size(meta->bf->scalar);
    const int64_t items = c->batch->count;
    if (c->count > c->frames_capacity ||
        !c->first) { /* an empty matrix needs some memory as well */
        c->frames_capacity = 2 * (int64_t)c->count;
        if (!reserve(meta, &c->first, c->frames_capacity + 1, sizeof *c->first))
            return mpki_failed(meta->ctx);
        if (!reserve(meta, &c->pivot, c->frames_capacity, sizeof *c->pivot))
            return mpki_failed(meta->ctx);
    }
    if (items > c->items_capacity || !c->at) {
        c->items_capacity = 2 * items + 1;
        if (!reserve(meta, &c->at, c->items_capacity + 1, sizeof *c->at) ||
            !reserve(meta, &c->need, c->items_capacity, sizeof *c->need))
            return mpki_failed(meta->ctx);
    }
    int64_t t = 0, at = 0, groups = 0;
    for (int32_t f = 0; f < c->count; f++) {
        const int ld = mpki_block_ld(mpki_frame_rows(b, c->frame[f]), size);
        int64_t below = 0;
        c->first[f] = t;
        for (; t < items && mpki_col_frame(x, c->batch->target[t]) == c->frame[f]; t++) {
            const int32_t row = mpki_row_frame(x, c->batch->target[t]);
            c->at[t] = at;
            at += (int64_t)mpki_frame_rows(b, row) * ld;
            below += row != c->frame[f];
        }
        groups += (below + GROUP - 1) / GROUP;
    }
    c->first[c->count] = t;
    c->at[items] = at;
    c->groups = groups;
    if (groups > c->groups_capacity || !c->group) {
        const size_t real = meta->bf->scalar == MPK_S || meta->bf->scalar == MPK_C ? 4 : 8;
        c->groups_capacity = 2 * groups + 1;
        if (!reserve(meta, &c->group, c->groups_capacity, sizeof *c->group) ||
            !reserve(meta, &c->group_end, c->groups_capacity, sizeof *c->group_end) ||
            !reserve(meta, &c->group_frame, c->groups_capacity, sizeof *c->group_frame) ||
            !reserve(meta, &c->largest, c->groups_capacity, sizeof *c->largest) ||
            !reserve(meta, &c->norm2, c->groups_capacity * 2 * meta->widest, real))
            return mpki_failed(meta->ctx);
    }
    if (meta->stages->options->schedule != MPK_SCHEDULE_JACOBI && !pivots_lay_out(meta))
        return mpki_failed(meta->ctx);
    int64_t g = 0;
    for (int32_t f = 0; f < c->count; f++) {
        t = c->first[f];
        if (t < c->first[f + 1] && mpki_row_frame(x, c->batch->target[t]) == c->frame[f]) t++;
        for (; t < c->first[f + 1]; t += GROUP, g++) {
            c->group[g] = t;
            c->group_end[g] = t + GROUP < c->first[f + 1] ? t + GROUP : c->first[f + 1];
            c->group_frame[g] = f;
        }
    }
    if (!flight || at <= c->flight_capacity) return MPK_OK;
    c->flight_capacity = at;
    if (!reserve(meta, &c->flight, at, size) ||
        (meta->stages->ldu && !reserve(meta, &c->flight_u, at, size)))
        return mpki_failed(meta->ctx);
    return MPK_OK;
}

mpk_status mpki_meta_failure(mpki_meta *meta) {
    int32_t broken = INT32_MAX, failed = INT32_MAX;
    if (mpki_cancelled(meta->ctx))
        return mpki_stopped(meta->ctx, STAGE); /* numbers are unfinished */
    for (int t = 0; t < meta->threads; t++) {
        const mpki_meta_worker *me = &meta->worker[t];
        if (mpk_failed(me->status) && me->status != MPK_ERR_NUMERIC)
            return mpk_failed(mpki_failed(meta->ctx)) ? mpki_failed(meta->ctx) : me->status;
        if (me->broken_frame < broken) broken = me->broken_frame;
        if (mpk_failed(me->status) && me->failed_frame < failed) failed = me->failed_frame;
    }
    meta->stages->broken_frame = broken < INT32_MAX ? broken : -1;
    if (broken < INT32_MAX) return MPK_ERR_NUMERIC;
    if (failed == INT32_MAX) return MPK_OK;
    return mpki_error(meta->ctx, MPK_ERR_NUMERIC, STAGE, failed, "block %d: its pivots overflow",
                      failed);
}

/* ---- portions of work from the inspector ----------------------------------------------------- */

/* The push schedules keep a work block for every block that is due. */
typedef struct pusher {
    int64_t *at; /* by block: offset of its work block in `flight`; -1: none */
    void *flight, *flight_u;
} pusher;

static void pusher_free(mpki_meta *meta, pusher *p) {
    mpki_release(meta->ctx, p->at);
    mpki_release(meta->ctx, p->flight);
    mpki_release(meta->ctx, p->flight_u);
}

/* Work blocks, set to zero; A is added when their column's turn comes. */
static mpk_status pusher_make(mpki_meta *meta, pusher *p) {
    const mpki_ibcsr *x = &meta->stages->index;
    const size_t size = mpk_scalar_size(meta->bf->scalar);
    int64_t total = 0;
    p->at = MPKI_NEW(meta->ctx, STAGE, x->nblocks, int64_t);
    if (!p->at) return mpki_failed(meta->ctx);
    for (int64_t b = 0; b < x->nblocks; b++) {
        p->at[b] = -1;
        if (!meta->stages->want[b]) continue;
        p->at[b] = total;
        total += (int64_t)mpki_frame_rows(meta->stages->blocking, mpki_row_frame(x, b)) *
                 mpki_block_ld(mpki_frame_rows(meta->stages->blocking, mpki_col_frame(x, b)), size);
    }
    p->flight = mpki_calloc(meta->ctx, STAGE, total, size);
    if (meta->stages->ldu) p->flight_u = mpki_calloc(meta->ctx, STAGE, total, size);
    return p->flight && (p->flight_u || !meta->stages->ldu) ? MPK_OK : mpki_failed(meta->ctx);
}

/* Phases I to III on some columns of a level. */
static mpk_status run_columns(mpki_meta *meta, const mpki_portion *portion, pusher *p) {
    mpki_chunk_work *c = &meta->chunk;
    const bool push = p != NULL;
    c->count = portion->count;
    c->frame = portion->frame;
    c->batch = &portion->batch;
    mpk_status status = mpki_chunk_lay_out(meta, !push);
    if (mpk_failed(status)) return status;
    void *mine = c->flight, *mine_u = c->flight_u;
    if (push) {
        for (int64_t t = 0; t < c->batch->count; t++) c->at[t] = p->at[c->batch->target[t]];
        c->flight = p->flight, c->flight_u = p->flight_u;
    }
    MPKI_DISPATCH(meta->bf->scalar, meta_chunk)(meta, push);
    c->flight = mine, c->flight_u = mine_u;
    return mpki_meta_failure(meta);
}

/* The updates that some frames of a level push. */
static mpk_status run_downdates(mpki_meta *meta, const mpki_portion *portion, pusher *p) {
    const bool atomic = meta->stages->options->schedule == MPK_SCHEDULE_ATOMIC;
    const double began = mpki_trace_begin(meta->ctx);
    MPKI_DISPATCH(meta->bf->scalar, meta_push)
    (meta, &portion->batch, p->at, p->flight, p->flight_u, atomic);
    mpki_trace_end(meta->ctx, MPKI_LANE_CALLER, "downdates", portion->level, began);
    return mpki_meta_failure(meta);
}

/* ---- a stage --------------------------------------------------------------------------------- */

/* The level sets of the present stage, and before them those of earlier stages: in a later stage
 * the rejected rows first gather the updates by accepted columns (sec. 8.3.1: L21, then L32^T), and
 * only then become pivots. Operations with a rejected frame are listed, but have no effect. */
mpk_status mpki_run_levels(mpki_meta *meta) {
    const bool push = meta->stages->options->schedule != MPK_SCHEDULE_PULL;
    const int64_t share = meta->stages->nnz / 4;
    mpki_block_plan **plan = meta->stages->plan;
    if (plan && !*plan) *plan = MPKI_ZNEW(meta->ctx, STAGE, 1, mpki_block_plan);
    if (plan && !*plan) return mpki_failed(meta->ctx);
    const mpki_inspection what = {
        .index = &meta->stages->index,
        .levels = &meta->stages->levels,
        .due = meta->stages->due,
        .bptr = meta->stages->blocking->bptr,
        .want = meta->stages->want,
        .schedule = meta->stages->options->schedule,
        /* frames of one dense pivot give each other no updates */
        .final = meta->bf->border ? meta->stages->final : NULL,
        .budget = share < CHUNK_LEAST  ? CHUNK_LEAST
                  : share > CHUNK_MOST ? CHUNK_MOST
                                       : share,
        .threads = meta->threads,
        .kept = plan ? &(*plan)->portions : NULL,
        .most_kept = KEPT_SHARE * meta->stages->nnz * (int64_t)sizeof(mpki_update),
    };
    pusher p = {0};
    mpki_inspector *inspector = NULL;
    mpki_inspector_times times = {0};
    int32_t subsets = 0; /* numbered from 0 in each stage */
    mpk_status status = push ? pusher_make(meta, &p) : MPK_OK;
    if (!mpk_failed(status)) status = mpki_inspector_start(meta->ctx, &what, &inspector);
    while (!mpk_failed(status)) {
        const mpki_portion *portion = NULL;
        status = mpki_inspector_next(inspector, &portion);
        if (mpk_failed(status) || !portion) break;
        meta->level = portion->level;
        if (portion->subset >= subsets) subsets = portion->subset + 1;
        status = portion->kind == MPKI_PORTION_COLUMNS
                     ? run_columns(meta, portion, push ? &p : NULL)
                     : run_downdates(meta, portion, &p);
        if (!mpk_failed(status) && mpki_progress(meta->ctx, STAGE, portion->share))
            status = mpki_error(meta->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    mpki_levels found = {0};
    if (!mpk_failed(status)) mpki_inspector_take_levels(inspector, &found);
    if (!mpk_failed(status)) status = mpki_levels_append(meta->ctx, &meta->stages->levels, &found);
    if (!mpk_failed(status)) meta->stages->due = meta->stages->index.m;
    mpki_levels_free(meta->ctx, &found);
    mpki_inspector_stop(&inspector, &times);
    if (times.work_s > times.waited_s) /* the part that was hidden behind other work */
        meta->stages->info.time_inspector_s += times.work_s - times.waited_s;
    meta->stages->info.sublevels += subsets;
    meta->chunk.batch = NULL;
    pusher_free(meta, &p);
    return status;
}
