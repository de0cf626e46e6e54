/* SPDX-License-Identifier: BSD-3-Clause */
/* The meta-algorithm (Thuerck 2021, algorithm 12): stages, in each of them level sets, in each of
 * these chunks of frames whose blocks are computed in batches. */
#include "meta.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

/* Bytes of a step of the arena where huge pages fit. */
enum { HUGE_STEP = 8 << 20 };
/* Entries of the work blocks of one chunk: they should stay in the second-level cache, and be
 * little beside the matrix. */
enum { CHUNK_LEAST = 1 << 13, CHUNK_MOST = 1 << 17 };

/* ---- the object ---------------------------------------------------------------------------------
 */

void mpki_block_factor_free(mpk_context *ctx, mpki_block_factor **handle) {
    mpki_block_factor *bf = *handle;
    if (!bf) return;
    mpki_ibcsr_free(ctx, &bf->index);
    mpki_levels_free(ctx, &bf->levels);
    mpki_release(ctx, bf->frame);
    if (bf->upper != bf->lower) mpki_release(ctx, bf->upper);
    mpki_release(ctx, bf->lower);
    if (bf->have_arena) mpki_arena_free(&bf->arena);
    mpki_release(ctx, bf);
    *handle = NULL;
}

static void workers_free(mpki_meta *meta) {
    for (int t = 0; meta->worker && t < meta->threads; t++) {
        mpki_release(meta->ctx, meta->worker[t].w);
        mpki_release(meta->ctx, meta->worker[t].work);
        mpki_release(meta->ctx, meta->worker[t].slot);
    }
    mpki_release(meta->ctx, meta->worker);
}

static mpk_status workers_make(mpki_meta *meta) {
    const size_t size = mpk_scalar_size(meta->bf->scalar);
    const int64_t block = (int64_t)meta->widest * meta->widest;
    const int32_t m = meta->bf->index.m;
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

/* Room for what is kept by block; new ones are zero. */
static mpk_status grow(mpki_meta *meta) {
    mpki_block_factor *bf = meta->bf;
    const int64_t n = bf->index.nblocks, had = bf->room;
    if (n <= had && bf->lower)
        return MPK_OK; /* without any block the arrays are there, and empty */
    struct {
        void **at;
        size_t size;
    } parts[] = {
        {(void **)&bf->lower, sizeof *bf->lower},
        {(void **)&meta->want, 1},
        {(void **)&meta->of_a, 1},
        {(void **)&meta->capacity, sizeof *meta->capacity},
        {(void **)&bf->upper, sizeof *bf->upper},
    };
    for (int k = 0; k < 4 + meta->ldu; k++) {
        void *more = mpki_resize(meta->ctx, STAGE, *parts[k].at, n, parts[k].size);
        if (!more) return mpki_failed(meta->ctx);
        memset((char *)more + (size_t)had * parts[k].size, 0, (size_t)(n - had) * parts[k].size);
        *parts[k].at = more;
        if (!meta->ldu) bf->upper = bf->lower; /* at once: a failure frees both */
    }
    bf->room = n;
    return MPK_OK;
}

/* ---- chunks -------------------------------------------------------------------------------------
 */

static void chunk_free(mpki_meta *meta) {
    mpki_chunk_work *c = &meta->chunk;
    void *const parts[] = {c->pivot,    c->pivot_memory, c->first,       c->at,
                           c->group,    c->group_end,    c->group_frame, c->flight,
                           c->flight_u, c->norm2,        c->largest,     c->need};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) mpki_release(meta->ctx, parts[k]);
}

/* Make *array hold at least count elements; the content is lost. */
static bool room_for(mpki_meta *meta, void *array, int64_t count, size_t size) {
    void **at = array;
    mpki_release(meta->ctx, *at);
    *at = mpki_alloc(meta->ctx, STAGE, count, size);
    return *at != NULL;
}

/* Dense pivots of the chunk's frames. */
static bool pivots_lay_out(mpki_meta *meta) {
    mpki_chunk_work *c = &meta->chunk;
    const size_t size = mpk_scalar_size(meta->bf->scalar);
    const int line = (int)(64 / size);
    int64_t total = 0;
    for (int pass = 0; pass < 2; pass++) {
        char *at = c->pivot_memory;
        for (int32_t f = 0; f < c->count; f++) {
            const int w = mpki_frame_rows(meta->bf->blocking, c->frame[f]);
            const int64_t square = (int64_t)w * mpki_block_ld(w, size);
            const int64_t diagonal = (2 * w + line - 1) / line * line;
            if (pass == 0) {
                total += square * (1 + meta->ldu) + 2 * diagonal;
                continue;
            }
            mpki_work_pivot *p = &c->pivot[f];
            p->m = at;
            p->n = meta->ldu ? at + square * (int64_t)size : at;
            p->d = at += square * (1 + meta->ldu) * (int64_t)size;
            p->dinv = at += diagonal * (int64_t)size;
            at += diagonal * (int64_t)size;
        }
        if (pass == 0 && (total > c->pivot_room || !c->pivot_memory)) {
            c->pivot_room = total + total / 2;
            if (!room_for(meta, &c->pivot_memory, c->pivot_room, size)) return false;
        }
    }
    return true;
}

mpk_status mpki_chunk_lay_out(mpki_meta *meta, bool flight) {
    mpki_chunk_work *c = &meta->chunk;
    const mpki_ibcsr *x = &meta->bf->index;
    const mpki_blocking *b = meta->bf->blocking;
    const size_t size = mpk_scalar_size(meta->bf->scalar);
    const int64_t items = c->batch->count;
    if (c->count > c->frames_room || !c->first) { /* an empty matrix asks for no room, but some */
        c->frames_room = 2 * (int64_t)c->count;
        if (!room_for(meta, &c->first, c->frames_room + 1, sizeof *c->first))
            return mpki_failed(meta->ctx);
        if (!room_for(meta, &c->pivot, c->frames_room, sizeof *c->pivot))
            return mpki_failed(meta->ctx);
    }
    if (items > c->items_room || !c->at) {
        c->items_room = 2 * items + 1;
        if (!room_for(meta, &c->at, c->items_room + 1, sizeof *c->at) ||
            !room_for(meta, &c->need, c->items_room, sizeof *c->need))
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
    if (groups > c->groups_room || !c->group) {
        const size_t real = meta->bf->scalar == MPK_S || meta->bf->scalar == MPK_C ? 4 : 8;
        c->groups_room = 2 * groups + 1;
        if (!room_for(meta, &c->group, c->groups_room, sizeof *c->group) ||
            !room_for(meta, &c->group_end, c->groups_room, sizeof *c->group_end) ||
            !room_for(meta, &c->group_frame, c->groups_room, sizeof *c->group_frame) ||
            !room_for(meta, &c->largest, c->groups_room, sizeof *c->largest) ||
            !room_for(meta, &c->norm2, c->groups_room * 2 * meta->widest, real))
            return mpki_failed(meta->ctx);
    }
    if (meta->o->schedule != MPK_SCHEDULE_JACOBI && !pivots_lay_out(meta))
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
    if (!flight || at <= c->flight_room) return MPK_OK;
    c->flight_room = at;
    if (!room_for(meta, &c->flight, at, size) ||
        (meta->ldu && !room_for(meta, &c->flight_u, at, size)))
        return mpki_failed(meta->ctx);
    return MPK_OK;
}

mpk_status mpki_meta_failure(mpki_meta *meta) {
    int32_t broken = INT32_MAX, failed = INT32_MAX;
    for (int t = 0; t < meta->threads; t++) {
        const mpki_meta_worker *me = &meta->worker[t];
        if (me->status && me->status != MPK_ERR_NUMERIC)
            return mpki_failed(meta->ctx) < 0 ? mpki_failed(meta->ctx) : me->status;
        if (me->broken_frame < broken) broken = me->broken_frame;
        if (me->status && me->failed_frame < failed) failed = me->failed_frame;
    }
    meta->broken = broken < INT32_MAX;
    meta->broken_frame = broken;
    if (meta->broken) return MPK_ERR_NUMERIC;
    if (failed == INT32_MAX) return MPK_OK;
    return mpki_error(meta->ctx, MPK_ERR_NUMERIC, STAGE, failed, "block %d: its pivots overflow",
                      failed);
}

/* ---- portions of work from the inspector
 * ---------------------------------------------------------- */

/* The push schedules keep a work block for everything that is due. */
typedef struct pusher {
    int64_t *at; /* by block: its work block in flight; -1 */
    void *flight, *flight_u;
} pusher;

static void pusher_free(mpki_meta *meta, pusher *p) {
    mpki_release(meta->ctx, p->at);
    mpki_release(meta->ctx, p->flight);
    mpki_release(meta->ctx, p->flight_u);
}

/* Work blocks, zero; A is added when a column's turn comes. */
static mpk_status pusher_make(mpki_meta *meta, pusher *p) {
    const mpki_ibcsr *x = &meta->bf->index;
    const size_t size = mpk_scalar_size(meta->bf->scalar);
    int64_t total = 0;
    p->at = MPKI_NEW(meta->ctx, STAGE, x->nblocks, int64_t);
    if (!p->at) return mpki_failed(meta->ctx);
    for (int64_t b = 0; b < x->nblocks; b++) {
        p->at[b] = -1;
        if (!meta->want[b]) continue;
        p->at[b] = total;
        total += (int64_t)mpki_frame_rows(meta->bf->blocking, mpki_row_frame(x, b)) *
                 mpki_block_ld(mpki_frame_rows(meta->bf->blocking, mpki_col_frame(x, b)), size);
    }
    p->flight = mpki_calloc(meta->ctx, STAGE, total, size);
    if (meta->ldu) p->flight_u = mpki_calloc(meta->ctx, STAGE, total, size);
    return p->flight && (p->flight_u || !meta->ldu) ? MPK_OK : mpki_failed(meta->ctx);
}

/* Phases I to III on some columns of a level. */
static mpk_status run_columns(mpki_meta *meta, const mpki_portion *portion, pusher *p) {
    mpki_chunk_work *c = &meta->chunk;
    const bool push = p != NULL;
    c->count = portion->count;
    c->frame = portion->frame;
    c->batch = &portion->batch;
    mpk_status status = mpki_chunk_lay_out(meta, !push);
    if (status) return status;
    void *mine = c->flight, *mine_u = c->flight_u;
    if (push) {
        for (int64_t t = 0; t < c->batch->count; t++) c->at[t] = p->at[c->batch->target[t]];
        c->flight = p->flight, c->flight_u = p->flight_u;
    }
    MPKI_DISPATCH(meta->bf->scalar, meta_chunk)(meta, push);
    c->flight = mine, c->flight_u = mine_u;
    return mpki_meta_failure(meta);
}

/* What some frames of a level push. */
static mpk_status run_downdates(mpki_meta *meta, const mpki_portion *portion, pusher *p) {
    const bool atomic = meta->o->schedule == MPK_SCHEDULE_ATOMIC;
    MPKI_DISPATCH(meta->bf->scalar, meta_push)
    (meta, &portion->batch, p->at, p->flight, p->flight_u, atomic);
    return mpki_meta_failure(meta);
}

/* ---- stages -------------------------------------------------------------------------------------
 */

/* Level sets of the present stage, and before them those of the earlier ones: in a later stage the
 * rejected rows first gather what the accepted columns owe them (sec. 8.3.1: L21, then L32^T), and
 * only then become pivots. Operations with a rejected frame are listed and come to nothing. */
static mpk_status run_levels(mpki_meta *meta, const mpki_levels *levels) {
    const bool push = meta->o->schedule != MPK_SCHEDULE_PULL;
    const int64_t share = meta->an->nnz / 4;
    const mpki_inspection what = {
        .index = &meta->bf->index,
        .levels = levels,
        .bptr = meta->bf->blocking->bptr,
        .want = meta->want,
        .schedule = meta->o->schedule,
        .budget = share < CHUNK_LEAST  ? CHUNK_LEAST
                  : share > CHUNK_MOST ? CHUNK_MOST
                                       : share,
        .threads = meta->threads,
    };
    pusher p = {0};
    mpki_inspector *inspector = NULL;
    mpki_inspector_times times = {0};
    int32_t subsets = 0; /* numbered anew in each stage */
    mpk_status status = push ? pusher_make(meta, &p) : MPK_OK;
    if (!status) status = mpki_inspector_start(meta->ctx, &what, &inspector);
    while (!status) {
        const mpki_portion *portion = NULL;
        status = mpki_inspector_next(inspector, &portion);
        if (status || !portion) break;
        if (portion->subset >= subsets) subsets = portion->subset + 1;
        status = portion->kind == MPKI_PORTION_COLUMNS
                     ? run_columns(meta, portion, push ? &p : NULL)
                     : run_downdates(meta, portion, &p);
        if (!status && mpki_progress(meta->ctx, STAGE, (portion->level + 1.0) / levels->count))
            status = mpki_error(meta->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    mpki_inspector_stop(&inspector, &times);
    if (times.work_s > times.waited_s) /* the part that was hidden */
        meta->bf->info.time_inspector_s += times.work_s - times.waited_s;
    meta->bf->info.sublevels += subsets;
    meta->chunk.batch = NULL;
    pusher_free(meta, &p);
    return status;
}

/* a := a followed by b, whose frames are new. */
static mpk_status append_levels(mpk_context *ctx, mpki_levels *a, const mpki_levels *b) {
    const int32_t na = a->count ? a->ptr[a->count] : 0, nb = b->count ? b->ptr[b->count] : 0;
    int32_t *ptr = mpki_resize(ctx, STAGE, a->ptr, (int64_t)a->count + b->count + 1, sizeof *ptr);
    if (!ptr) return mpki_failed(ctx);
    a->ptr = ptr;
    int32_t *frame = mpki_resize(ctx, STAGE, a->frame, (int64_t)na + nb, sizeof *frame);
    if (!frame) return mpki_failed(ctx);
    a->frame = frame;
    for (int32_t l = 0; l <= b->count; l++) ptr[a->count + l] = na + (b->count ? b->ptr[l] : 0);
    if (nb) memcpy(frame + na, b->frame, (size_t)nb * sizeof *frame);
    a->count += b->count;
    return MPK_OK;
}

/* Take rejected frames out of the levels they failed in. */
static void drop_rejected(mpki_meta *meta) {
    mpki_levels *v = &meta->bf->levels;
    int32_t to = 0, begin = 0;
    for (int32_t l = 0; l < v->count; l++) {
        const int32_t end = v->ptr[l + 1];
        for (int32_t k = begin; k < end; k++)
            if (!meta->reject[v->frame[k]]) v->frame[to++] = v->frame[k];
        v->ptr[l + 1] = to;
        begin = end;
    }
}

/* Fill for the order as it stands: from A's blocks, never from earlier fill. */
static mpk_status refill(mpki_meta *meta) {
    mpki_ibcsr *x = &meta->bf->index;
    mpki_pattern now = {0}, filled = {0};
    int64_t *number = NULL, count = 0;
    mpk_status status = mpki_ibcsr_pattern(meta->ctx, x, &now, &number);
    for (int32_t k = 0; !status && k < now.m; k++) {
        const int64_t begin = k ? now.ptr[k] : 0, end = now.ptr[k + 1];
        int64_t e = begin;
        now.ptr[k] = count; /* entries move up in place; ptr[k] is read before it is written */
        for (; e < end; e++)
            if (meta->of_a[number[e]]) {
                now.row[count] = now.row[e];
                count++;
            }
        if (k == now.m - 1) now.ptr[now.m] = count;
    }
    if (!status) status = mpki_pattern_fill(meta->ctx, &now, meta->o->level, 1, 0, &filled);
    /* a block between two frames that were rejected, or one of them, may have become useless */
    unsigned char *keep = status ? NULL : MPKI_ZNEW(meta->ctx, STAGE, x->nblocks, unsigned char);
    if (!status && !keep) status = mpki_failed(meta->ctx);
    for (int64_t b = 0; !status && b < x->nblocks; b++)
        keep[b] = (meta->final[x->rows[b]] && meta->final[x->cols[b]]) || meta->of_a[b] ||
                  meta->bf->lower[b].format != MPKI_EMPTY ||
                  meta->bf->upper[b].format != MPKI_EMPTY;
    if (!status) status = mpki_ibcsr_merge(meta->ctx, x, &filled, keep);
    mpki_release(meta->ctx, keep);
    mpki_release(meta->ctx, number);
    mpki_pattern_free(meta->ctx, &now);
    mpki_pattern_free(meta->ctx, &filled);
    return status ? status : grow(meta);
}

mpk_status mpki_push_back_rejected(mpki_meta *meta, int32_t *first, int32_t *count) {
    const int32_t m = meta->bf->index.m;
    int32_t *rejected = MPKI_NEW(meta->ctx, STAGE, m, int32_t);
    if (!rejected) return mpki_failed(meta->ctx);
    *count = 0;
    for (int32_t f = 0; f < m; f++)
        if (!meta->final[f]) rejected[(*count)++] = f;
    *first = m - *count;
    meta->bf->info.rejected += *count;
    mpk_status status = MPK_OK;
    if (*count) status = mpki_ibcsr_push_back(meta->ctx, &meta->bf->index, *count, rejected);
    mpki_release(meta->ctx, rejected);
    if (!status && *count) status = refill(meta);
    return status;
}

/* Everything that touches a frame of this stage and has no value yet is due. */
void mpki_want_stage(mpki_meta *meta) {
    const mpki_ibcsr *x = &meta->bf->index;
    memset(meta->want, 0, (size_t)x->nblocks);
    for (int32_t f = 0; f < x->m; f++) {
        if (meta->final[f]) continue;
        for (int64_t e = x->ptr[f]; e < x->ptr[f + 1]; e++) {
            const int64_t b = x->entry[e].block;
            meta->want[b] =
                meta->bf->lower[b].format == MPKI_EMPTY && meta->bf->upper[b].format == MPKI_EMPTY;
        }
    }
}

static mpk_status run_stages(mpki_meta *meta) {
    mpk_context *ctx = meta->ctx;
    mpki_block_factor *bf = meta->bf;
    const int32_t m = bf->index.m;
    mpk_status status = MPK_OK;
    int32_t first = 0;
    for (int stage = 1; !status; stage++) {
        mpki_levels fresh = {0};
        mpki_want_stage(meta);
        memset(meta->reject, 0, (size_t)m);
        meta->last = stage >= meta->o->stages;
        status = mpki_capacities(meta);
        if (!status) status = mpki_levels_make(ctx, &bf->index, first, &fresh);
        if (!status) status = append_levels(ctx, &bf->levels, &fresh);
        mpki_levels_free(ctx, &fresh);
        if (!status) status = run_levels(meta, &bf->levels);
        if (status) break;
        int32_t count = 0;
        bf->info.stages = stage;
        drop_rejected(meta);
        status = mpki_push_back_rejected(meta, &first, &count);
        if (count == 0) break;
    }
    return status;
}

/* ---- the run ------------------------------------------------------------------------------------
 */

static void sum_up(mpki_meta *meta, mpk_factor *fac) {
    mpki_block_factor *bf = meta->bf;
    mpk_block_info *info = &bf->info;
    mpk_factor_info *out = &fac->info;
    double smallest = INFINITY, largest = 0, fill = 0;
    *out = (mpk_factor_info){.threads = meta->threads, .stages = info->stages};
    for (int t = 0; t < meta->threads; t++) {
        const mpki_meta_worker *me = &meta->worker[t];
        info->flops += me->flops;
        info->perturbed += me->perturbed;
        info->two_by_two += me->two_by_two;
        info->kept += me->kept;
        info->dropped += me->dropped;
        info->dense += me->dense;
        info->bitmap += me->bitmap;
        info->rows += me->rows;
        fill += me->fill_out;
        out->inertia.positive += me->positive;
        out->inertia.negative += me->negative;
        out->inertia.zero += me->zero;
        if (me->smallest < smallest) smallest = me->smallest;
        if (me->largest > largest) largest = me->largest;
    }
    const int64_t stored = info->dense + info->bitmap + info->rows;
    info->mean_fill_out = stored ? fill / (double)stored : 1;
    info->blocks = stored + bf->index.m;
    info->block_rows = bf->index.m;
    info->levels = bf->levels.count;
    info->strategy = bf->blocking->strategy;
    info->ordering = bf->blocking->ordering;
    info->schedule = meta->o->schedule;
    info->input_nnz = meta->an->nnz;
    info->bytes = mpki_arena_bytes(&bf->arena) +
                  bf->room * (int64_t)sizeof *bf->lower * (1 + meta->ldu) +
                  bf->index.ptr[bf->index.m] * (int64_t)sizeof *bf->index.entry +
                  bf->index.m * (int64_t)sizeof *bf->frame;
    out->nnz = info->kept;
    for (int32_t f = 0; f < bf->index.m; f++) {
        const int64_t w = mpki_frame_rows(bf->blocking, f);
        out->nnz += w * (w + 1) / 2;
    }
    out->flops = info->flops;
    out->bytes = info->bytes;
    out->rejected = info->rejected;
    out->two_by_two = info->two_by_two;
    out->perturbed = info->perturbed;
    out->growth = largest;
    out->min_pivot = isfinite(smallest) ? smallest : 0;
    out->max_front = bf->blocking->largest;
}

/* A complete factorization drops nothing and keeps every entry. */
static bool is_complete(const mpk_options *o) {
    return o->drop_tolerance == 0 && o->fill_factor == 0;
}

/* The smallest pivot that is let stand where nothing can be put off: relative to the largest entry
 * of the scaled matrix. An incomplete factor is better off with a firm floor; a complete one must
 * not be changed more than rounding changes it. */
static double pivot_floor(const mpki_meta *meta) {
    const bool single = meta->bf->scalar == MPK_S || meta->bf->scalar == MPK_C;
    if (meta->o->static_shift > 0) return meta->o->static_shift;
    if (meta->complete && meta->o->level < 0) return single ? 1e-6 : 1e-14;
    return single ? 1e-4 : 1e-8;
}

static mpk_status prepare(mpki_meta *meta) {
    mpk_context *ctx = meta->ctx;
    mpki_block_factor *bf = meta->bf;
    mpki_pattern filled = {0};
    double start = mpki_now_s();
    mpk_status status =
        mpki_pattern_fill(ctx, &meta->ba->a, meta->o->level, meta->threads, 0, &filled);
    if (!status) status = mpki_ibcsr_make(ctx, &filled, &bf->index);
    if (!status) status = grow(meta);
    for (int32_t k = 0; !status && k < filled.m; k++) { /* which blocks are A's: both are sorted */
        const mpki_pattern *a = &meta->ba->a;
        int64_t e = a->ptr[k];
        for (int64_t b = filled.ptr[k]; b < filled.ptr[k + 1] && e < a->ptr[k + 1]; b++)
            if (filled.row[b] == a->row[e]) meta->of_a[b] = 1, e++;
    }
    mpki_pattern_free(ctx, &filled);
    const int32_t m = bf->blocking->nframes;
    meta->final = MPKI_ZNEW(ctx, STAGE, m, unsigned char);
    meta->reject = MPKI_ZNEW(ctx, STAGE, m, unsigned char);
    bf->frame = MPKI_ZNEW(ctx, STAGE, m, mpki_frame);
    if (!status && (!meta->final || !meta->reject || !bf->frame)) status = mpki_failed(ctx);
    if (!status) status = mpki_arena_init(ctx, 1 << 14, 0, &bf->arena);
    if (!status) {
        bf->have_arena = true;
        bf->arena.step = meta->an->nnz * (int64_t)mpk_scalar_size(bf->scalar) / 8 + (1 << 16);
        if (bf->arena.step > HUGE_STEP / 8) /* large enough for huge pages */
            bf->arena.step = (bf->arena.step + HUGE_STEP - 1) / HUGE_STEP * HUGE_STEP;
        MPKI_DISPATCH(bf->scalar, meta_begin)(meta);
        status = workers_make(meta);
    }
    bf->info.time_fill_s = mpki_now_s() - start;
    return status;
}

/* One run; diagonal_shift, broken and broken_frame of *meta are the caller's. */
static mpk_status run(mpk_factor *fac, const mpki_full *full, mpki_meta *meta) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    const mpk_options *o = &fac->options;
    const bool single = o->precision == MPK_PRECISION_SINGLE;
    fac->block = MPKI_ZNEW(ctx, STAGE, 1, mpki_block_factor);
    if (!fac->block) return mpki_failed(ctx);
    mpki_block_factor *bf = meta->bf = fac->block;
    bf->blocking = &an->block->blocking;
    bf->scalar = !single               ? an->scalar
                 : an->scalar == MPK_D ? MPK_S
                 : an->scalar == MPK_Z ? MPK_C
                                       : an->scalar;
    meta->full = full;
    meta->widest = mpki_block_ld(bf->blocking->largest, mpk_scalar_size(bf->scalar));
    meta->complete = is_complete(o);
    meta->bound = o->pivot_threshold > 0 ? 1 / o->pivot_threshold : INFINITY;
    meta->floor = pivot_floor(meta) * fac->size;
    mpk_status status = prepare(meta);
    if (!status && meta->threads > 1) {
        meta->pool = mpki_context_pool(ctx, meta->threads, 16);
        if (!meta->pool) status = mpki_failed(ctx);
    }
    const double numeric = mpki_now_s();
    if (!status) status = o->schedule == MPK_SCHEDULE_JACOBI ? mpki_jacobi(meta) : run_stages(meta);
    if (!status) sum_up(meta, fac);
    bf->info.time_block_s = an->block->time_block_s;
    bf->info.time_numeric_s = mpki_now_s() - numeric;
    chunk_free(meta);
    workers_free(meta);
    mpki_release(ctx, meta->final);
    mpki_release(ctx, meta->want);
    mpki_release(ctx, meta->of_a);
    mpki_release(ctx, meta->capacity);
    mpki_release(ctx, meta->reject);
    return status;
}

/* ---- breakdowns of LLT --------------------------------------------------------------------------
 */

/* What is dropped can leave a definite matrix with a pivot <= 0. Manteuffel 1980 adds alpha diag(A)
 * until there is none; Lin & More 1999 begin at 1e-3 and double. Here alpha grows fourfold: a third
 * fewer restarts, and no more iterations (docs/meta-algorithm.md). */
enum { REPAIRS = 6 };
static const double FIRST_SHIFT = 1e-3, SHIFT_GROWTH = 4;

/* First row without a positive diagonal entry: no shift makes that definite; -1: there is none. */
static int32_t not_positive(const mpk_analysis *an, const void *ax) {
    const int64_t parts = an->scalar == MPK_C || an->scalar == MPK_Z ? 2 : 1;
    const bool single = an->scalar == MPK_S || an->scalar == MPK_C;
    for (int32_t j = 0; j < an->n; j++) {
        const int64_t k = an->ap[j];
        if (k == an->ap[j + 1] || an->ai[k] != j) return j;
        if (!((single ? ((const float *)ax)[parts * k] : ((const double *)ax)[parts * k]) > 0))
            return j;
    }
    return -1;
}

/* What a pivot <= 0 says: of the matrix only where nothing was dropped or rounded to less. */
static mpk_status tell_breakdown(const mpki_meta *meta, const void *ax, int tries) {
    const bool exact = meta->complete && meta->o->level < 0 &&
                       meta->o->schedule != MPK_SCHEDULE_JACOBI &&
                       meta->bf->scalar == meta->an->scalar;
    const int32_t row = not_positive(meta->an, ax);
    if (row >= 0)
        return mpki_error(meta->ctx, MPK_ERR_NUMERIC, STAGE, row,
                          "row %d: its diagonal entry is not positive, so the matrix is not "
                          "positive definite, as factor_type llt asks",
                          row + 1);
    if (exact)
        return mpki_error(meta->ctx, MPK_ERR_NUMERIC, STAGE, meta->broken_frame,
                          "block %d: a pivot of the complete factorization is not positive: to "
                          "working precision the matrix is not positive definite",
                          meta->broken_frame);
    if (tries < REPAIRS) return MPK_OK;
    return mpki_error(meta->ctx, MPK_ERR_NUMERIC, STAGE, meta->broken_frame,
                      "block %d: the incomplete factorization broke down at a pivot that is not "
                      "positive, at last with %.3g times its diagonal added to the matrix; whether "
                      "the matrix is definite this does not tell: a higher level, a smaller "
                      "drop_tolerance or factor_type ldlt may do",
                      meta->broken_frame, meta->diagonal_shift);
}

mpk_status mpki_block_factorize(mpk_factor *fac) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    const mpk_options *o = &fac->options;
    mpki_full full = {0};
    double shift = 0, time_fill_s = 0, time_numeric_s = 0;
    mpk_problem_view view = {an->n, an->nnz, an->scalar, an->symmetry, an->ap, an->ai, fac->ax};
    mpki_block_factor_free(ctx, &fac->block);
    mpk_status status = mpki_check_type(ctx, o, an->scalar, an->symmetry);
    if (!status) status = mpki_find_scaling(ctx, an, o, fac->ax, false, fac->scale, &fac->size);
    if (!status) status = mpki_full_make(ctx, &view, o->threads, &full, NULL);
    for (int tries = 0; !status; tries++) {
        mpki_meta meta = {.ctx = ctx,
                          .an = an,
                          .ba = an->block,
                          .o = o,
                          .scale = fac->scale,
                          .threads = o->threads,
                          .ldu = o->factor_type == MPK_TYPE_LDU,
                          .hermitian =
                              an->symmetry == MPK_HERMITIAN && o->factor_type != MPK_TYPE_LDU,
                          .random = (uint64_t)o->seed,
                          .diagonal_shift = shift};
        status = run(fac, &full, &meta);
        if (fac->block) {
            mpk_block_info *info = &fac->block->info;
            info->breakdowns = tries;
            info->diagonal_shift = shift;
            info->time_fill_s = time_fill_s += info->time_fill_s;
            info->time_numeric_s = time_numeric_s += info->time_numeric_s;
        }
        if (!meta.broken) break;
        status = tell_breakdown(&meta, fac->ax, tries);
        if (!status) mpki_block_factor_free(ctx, &fac->block);
        shift = shift > 0 ? SHIFT_GROWTH * shift : FIRST_SHIFT;
    }
    mpki_full_free(ctx, &full);
    if (status < 0) mpki_block_factor_free(ctx, &fac->block);
    return status;
}
