/* SPDX-License-Identifier: BSD-3-Clause */
/* A stage on an accelerator: A's blocks go there, portions of the inspector become batches, frames
 * are judged by what the kernels report. As in Thuerck 2021, sec. 8.3: operations with a rejected
 * frame are listed and skipped, and later stages compute what earlier ones owe them. */
#include "core/trace.h"
#include "offload.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

/* ---- A, onto the accelerator ----------------------------------------------------------------- */

/* Staging memory of a column behind the `waiting` blocks that are to be sent: those that are due,
 * zero; slot: by frame their places. */
static mpk_status stage_column(mpki_blocks *f, int32_t frame, int64_t waiting, int32_t *slot,
                               int64_t *count) {
    struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    *count = 0;
    for (int64_t e = x->diagonal[frame]; e < x->ptr[frame + 1]; e++)
        if (s->want[x->entry[e].block]) slot[x->entry[e].other] = (int32_t)(waiting + (*count)++);
    const mpk_status status = mpki_offload_room(f, waiting + *count);
    if (!mpk_failed(status) && *count)
        memset(mpki_offload_staging(o, waiting), 0, (size_t)(*count * mpki_offload_bytes(o)));
    return status;
}

/* One half of the blocks of a column: listed to be uploaded where A has entries, their values moved
 * up in staging memory; else to be zeroed there. */
static mpk_status list_half(mpki_blocks *f, int32_t frame, mpki_half half, const int32_t *slot) {
    struct mpki_offload *o = f->offload;
    const mpki_ibcsr *x = &f->stages->index;
    mpki_batch_lists *sent = &o->batch; /* its pointers alone */
    mpk_status status = MPK_OK;
    for (int64_t e = x->diagonal[frame]; e < x->ptr[frame + 1] && !mpk_failed(status); e++) {
        const int32_t place = slot[x->entry[e].other];
        const int64_t block = x->entry[e].block;
        void **at = &(half == MPKI_HALF_UPPER ? o->upper : o->block)[block];
        if (place < 0) continue;
        if (!*at) status = mpki_offload_block(f, at);
        if (mpk_failed(status)) return status;
        if (half == MPKI_HALF_UPPER && block == mpki_offload_diagonal(x, frame))
            continue; /* factorize writes it */
        if (MPKI_DISPATCH(o->scalar, offload_is_zero)(f, place)) {
            status = mpki_offload_add(f, &o->other, block, frame, half);
            continue;
        }
        status = mpki_offload_add(f, sent, block, frame, half);
        if (mpk_failed(status) || sent->count - 1 == place) continue;
        memcpy(mpki_offload_staging(o, sent->count - 1), mpki_offload_staging(o, place),
               (size_t)mpki_offload_bytes(o));
    }
    return status;
}

static mpk_status list_column(mpki_blocks *f, int32_t frame, int32_t *slot) {
    struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    mpk_status status = MPK_OK;
    /* inner pivoting that knows of no rows takes the padding last */
    const double padding = o->perm && !o->tasks ? 2 * s->floor : 1;
    for (int half = 0; half <= o->ldu && !mpk_failed(status); half++) {
        int64_t count;
        status = stage_column(f, frame, o->batch.count, slot, &count);
        if (mpk_failed(status) || count == 0) break;
        MPKI_DISPATCH(o->scalar, offload_fill)(f, frame, (mpki_half)half, slot);
        if (slot[frame] >= 0) MPKI_DISPATCH(o->scalar, offload_pad)
        (f, slot[frame], mpki_frame_rows(s->blocking, frame), padding);
        status = list_half(f, frame, (mpki_half)half, slot);
    }
    for (int64_t e = x->diagonal[frame]; e < x->ptr[frame + 1]; e++) slot[x->entry[e].other] = -1;
    return status;
}

mpk_status mpki_offload_send(mpki_blocks *f) {
    struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    int32_t *slot = f->meta->worker[0].slot; /* -1 each, before and after */
    mpk_status status = MPK_OK;
    const double began = mpki_trace_begin(s->ctx);
    const int64_t most = mpki_offload_some(o);
    o->other.count = o->batch.count = 0;
    for (int32_t place = 0; place < s->index.m && !mpk_failed(status); place++) {
        status = list_column(f, s->index.frame[place], slot);
        if (mpk_failed(status) || (o->batch.count < most && place < s->index.m - 1)) continue;
        status = mpki_offload_put_all(f, o->batch.count, o->batch.block[0], o->staging);
        o->batch.count = 0;
    }
    mpki_trace_end(s->ctx, MPKI_LANE_CALLER, "upload", -1, began);
    return mpk_failed(status) ? status : mpki_offload_run(f, MPKI_KERNEL_Z, &o->other);
}

/* ---- phase I --------------------------------------------------------------------------------- */

/* A permutation that changes nothing. */
static mpk_status put_own(mpki_blocks *f, void *perm) {
    const mpk_accelerator *a = f->offload->on->table;
    int32_t own[MPKI_BLOCK_MAX];
    for (int k = 0; k < f->offload->n; k++) own[k] = k;
    return mpki_offload_status(f,
                               a->upload(a->self, perm, own, f->offload->n * (int64_t)sizeof *own),
                               "upload of a permutation");
}

/* In the last stage small pivots are replaced; that is for the host. */
static mpk_status factor_here(mpki_blocks *f, int32_t frame) {
    struct mpki_offload *o = f->offload;
    const int64_t diagonal = mpki_offload_diagonal(&f->stages->index, frame);
    mpk_status status = mpki_offload_take(f, o->staging, o->block[diagonal]);
    if (mpk_failed(status)) return status;
    if (!MPKI_DISPATCH(o->scalar, offload_factor)(f))
        return mpki_error(f->stages->ctx, MPK_ERR_NUMERIC, STAGE, frame,
                          "block %d: its pivots overflow", frame);
    o->on->report.host_pivots++;
    if (o->perm) status = put_own(f, o->perm[frame]); /* the order of the rows is their own */
    if (o->columns && !mpk_failed(status)) status = put_own(f, o->columns[frame]);
    if (!mpk_failed(status)) status = mpki_offload_put(f, o->block[diagonal], o->staging);
    if (!mpk_failed(status) && o->ldu)
        status = mpki_offload_put(f, o->upper[diagonal], mpki_offload_staging(o, 1));
    return status;
}

/* Inner pivoting that took a row of the padding before one of the frame: its pivot is hardly above
 * the floor, and counts as too small. */
static mpk_status find_padding(mpki_blocks *f, const mpki_batch_lists *list) {
    const struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    int32_t perm[MPKI_BLOCK_MAX];
    mpk_status status = MPK_OK;
    for (int64_t k = 0; k < list->count && !mpk_failed(status); k++) {
        const int32_t frame = mpki_col_frame(&f->stages->index, list->id[k]);
        const int w = mpki_frame_rows(f->stages->blocking, frame);
        if (list->trouble[k] || w == o->n) continue;
        status = mpki_offload_status(
            f, a->download(a->self, perm, list->perm[k], o->n * (int64_t)sizeof *perm),
            "download of a permutation");
        for (int r = 0; r < w && !mpk_failed(status); r++)
            if (perm[r] >= w) list->trouble[k] = r + 1, f->stages->reject[frame] = 1;
    }
    return status;
}

/* A pivot of LLT that is not positive: a shift may repair it. */
static mpk_status break_off(mpki_blocks *f, int32_t frame) {
    f->stages->broken_frame = frame;
    return MPK_ERR_NUMERIC;
}

/* What factorize found, where the host judges. */
static mpk_status judge_pivots(mpki_blocks *f, const mpki_batch_lists *list) {
    const struct mpki_offload *o = f->offload;
    mpki_stages *s = f->stages;
    const double most = mpki_offload_most_inside(o);
    mpk_status status = o->perm && !o->tasks ? find_padding(f, list) : MPK_OK;
    for (int64_t k = 0; k < list->count && !mpk_failed(status); k++) {
        const int32_t frame = list->frame[k];
        if (o->type == MPK_TYPE_LLT && (list->trouble[k] || !isfinite(list->largest[k]))) {
            return break_off(f, frame);
        } else if (s->last && s->reject[frame]) {
            return mpki_error(s->ctx, MPK_ERR_NUMERIC, STAGE, frame,
                              "block %d: a pivot is hardly above the floor", frame);
        } else if (s->last && list->trouble[k]) {
            status = factor_here(f, frame);
        } else if (!s->last && (list->trouble[k] || !(list->largest[k] <= most))) {
            s->reject[frame] = 1;
        }
    }
    return status;
}

/* Factorize the pivots of a portion that are due; reject those that fail. */
static mpk_status pivots(mpki_blocks *f, const mpki_updates *batch) {
    struct mpki_offload *o = f->offload;
    mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    mpki_batch_lists *list = &o->batch;
    mpk_status status = MPK_OK;
    list->count = 0;
    for (int64_t t = 0; t < batch->count && !mpk_failed(status); t++) {
        const int64_t b = batch->target[t];
        const int32_t frame = mpki_col_frame(x, b);
        if (x->rows[b] == x->cols[b] && !s->final[frame] && !mpki_in_border(f, frame))
            status = mpki_offload_add(f, list, b, frame, MPKI_HALF_LOWER);
    }
    if (!mpk_failed(status)) status = mpki_offload_renew(f, list);
    for (int64_t k = 0; k < list->count && !mpk_failed(status); k++) {
        list->block[0][k] = o->block[list->id[k]];
        list->block[1][k] = o->ldu ? o->upper[list->id[k]] : NULL;
    }
    if (!mpk_failed(status)) status = mpki_offload_run(f, MPKI_KERNEL_F, list);
    const double n = o->n;
    f->meta->worker[0].flops += n * n * n / 3 * (1 + o->ldu) * (double)list->count;
    if (mpk_failed(status) || o->defers) return status;
    return judge_pivots(f, list);
}

/* ---- phase II -------------------------------------------------------------------------------- */

/* Judge the columns of a portion by the largest entries of L. */
static mpk_status judge(mpki_blocks *f, const mpki_batch_lists *list) {
    mpki_stages *s = f->stages;
    for (int64_t k = 0; k < list->count; k++) {
        const int32_t frame = mpki_col_frame(&s->index, list->id[k]);
        if (isfinite(list->largest[k]) &&
            (s->last || s->final[frame] || list->largest[k] <= s->bound))
            continue;
        if (s->last || s->final[frame])
            return mpki_error(s->ctx, MPK_ERR_NUMERIC, STAGE, frame,
                              "block %d: its pivots overflow", frame);
        s->reject[frame] = 1;
    }
    return MPK_OK;
}

/* Columns of a list, turned and permuted as their pivots were, and solved with these. */
static mpk_status solve(mpki_blocks *f, mpki_batch_lists *list) {
    struct mpki_offload *o = f->offload;
    mpki_batch_lists *turned = &o->other;
    mpk_status status = MPK_OK;
    turned->count = 0;
    for (int64_t k = 0; k < list->count && !mpk_failed(status); k++) {
        void *turn = o->turn[list->frame[k]];
        if (!turn) continue;
        status = mpki_offload_add(f, turned, list->id[k], list->frame[k], (mpki_half)list->half[k]);
        if (!mpk_failed(status)) turned->block[2][turned->count - 1] = turn;
    }
    if (!mpk_failed(status)) status = mpki_offload_turn(f, turned);
    for (int64_t k = 0; k < list->count; k++)
        list->block[0][k] = (list->half[k] == MPKI_HALF_UPPER ? o->upper : o->block)[list->id[k]];
    if (!mpk_failed(status) && o->perm) status = mpki_offload_run(f, MPKI_KERNEL_P, list);
    if (!mpk_failed(status)) status = mpki_offload_run(f, MPKI_KERNEL_S, list);
    const double n = o->n;
    f->meta->worker[0].flops += 2 * n * n * n * (double)list->count;
    return mpk_failed(status) || o->defers ? status : judge(f, list);
}

mpk_status mpki_offload_columns(mpki_blocks *f, const mpki_portion *portion) {
    struct mpki_offload *o = f->offload;
    mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    const mpki_updates *batch = &portion->batch;
    mpk_status status = pivots(f, batch);
    o->batch.count = o->late.count = 0;
    for (int64_t t = 0; t < batch->count && !mpk_failed(status); t++) {
        const int64_t b = batch->target[t];
        const int32_t frame = mpki_col_frame(x, b);
        mpki_batch_lists *list = o->defers && s->final[frame] ? &o->late : &o->batch;
        if (x->rows[b] == x->cols[b] || s->reject[frame] || mpki_in_border(f, frame)) continue;
        for (int half = 0; half <= o->ldu && !mpk_failed(status); half++)
            status = mpki_offload_add(f, list, b, frame, (mpki_half)half);
    }
    if (!mpk_failed(status)) status = solve(f, &o->batch);
    if (!mpk_failed(status)) status = solve(f, &o->late);
    for (int64_t t = 0; t < batch->count && !mpk_failed(status); t++) {
        const int64_t b = batch->target[t];
        if (s->reject[mpki_col_frame(x, b)]) continue;
        s->want[b] = 0;
        s->stored_blocks[b] = x->rows[b] != x->cols[b] && !mpki_in_border(f, mpki_col_frame(x, b));
    }
    if (!s->complete && !mpk_failed(status)) status = mpki_offload_drop(f, batch, &o->batch);
    for (int32_t k = 0; k < portion->count && !mpk_failed(status); k++)
        if (!s->reject[portion->frame[k]]) s->final[portion->frame[k]] = 1;
    return status;
}

/* Several downdates of a block at once: where the machine can, unless subsets are asked for. */
bool mpki_offload_by_atomics(const mpki_blocks *f) {
    return f->offload->on->table->atomics && f->stages->options->schedule != MPK_SCHEDULE_SUBSETS;
}

bool mpki_offload_by_sums(const mpki_blocks *f) {
    const mpk_accelerator *a = f->offload->on->table;
    return f->offload->tasks && a->sums && !a->load && !mpki_offload_by_atomics(f);
}

/* ---- phase III ------------------------------------------------------------------------------- */

/* The items of a batch so that those of a block stand together, in the order that they had. */
static mpk_status order_by_target(mpki_blocks *f, const mpki_updates *batch, int64_t *order) {
    struct mpki_offload *o = f->offload;
    mpk_context *ctx = f->stages->ctx;
    int64_t *begin = MPKI_ZNEW(ctx, STAGE, batch->count + 1, int64_t), found = 0;
    if (!o->number) o->number = MPKI_ZNEW(ctx, STAGE, o->capacity, int32_t);
    if (!begin || !o->number) {
        mpki_release(ctx, begin);
        return mpki_failed(ctx);
    }
    for (int64_t t = 0; t < batch->count; t++) {
        int32_t *number = &o->number[batch->target[t]]; /* 0: none yet */
        if (!*number) *number = (int32_t)++found;
        begin[*number]++;
    }
    for (int64_t k = 0; k < found; k++) begin[k + 1] += begin[k];
    for (int64_t t = 0; t < batch->count; t++) order[begin[o->number[batch->target[t]] - 1]++] = t;
    for (int64_t t = 0; t < batch->count; t++) o->number[batch->target[t]] = 0;
    mpki_release(ctx, begin);
    return MPK_OK;
}

/* Item t of a batch for a half of its target, unless it comes of a block that is not there. */
static mpk_status list_downdate(mpki_blocks *f, const mpki_updates *batch, int64_t t,
                                mpki_half half) {
    struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    mpki_batch_lists *list = &o->batch;
    mpk_status status = MPK_OK;
    for (int64_t e = batch->ptr[t]; e < batch->ptr[t + 1] && !mpk_failed(status); e++) {
        const mpki_update *u = &batch->update[e];
        if (!s->stored_blocks[u->a] || !s->stored_blocks[u->b]) continue;
        /* what came of a rejected column is no block of L */
        const int32_t k = mpki_col_frame(&s->index, u->a);
        if (!s->final[k] || s->reject[k]) continue;
        status = mpki_offload_add(f, list, batch->target[t], k, half);
        if (mpk_failed(status)) break;
        list->block[1][list->count - 1] = (half ? o->upper : o->block)[u->a];
        list->block[2][list->count - 1] = (half ? o->block : o->upper)[u->b];
    }
    return status;
}

/* All of a batch, those of one block one after the other and one item. */
static mpk_status list_sums(mpki_blocks *f, const mpki_updates *batch) {
    struct mpki_offload *o = f->offload;
    const mpki_ibcsr *x = &f->stages->index;
    mpki_batch_lists *list = &o->batch;
    int64_t *order = MPKI_NEW(f->stages->ctx, STAGE, batch->count, int64_t);
    mpk_status status = order ? order_by_target(f, batch, order) : mpki_failed(f->stages->ctx);
    for (int64_t from = 0, to; from < batch->count && !mpk_failed(status); from = to) {
        const int64_t target = batch->target[order[from]];
        for (to = from; to < batch->count && batch->target[order[to]] == target;) to++;
        for (int half = 0; half <= (o->ldu && x->rows[target] != x->cols[target]); half++) {
            const int64_t before = list->count;
            for (int64_t k = from; k < to && !mpk_failed(status); k++)
                status = list_downdate(f, batch, order[k], (mpki_half)half);
            if (list->count > before && !mpk_failed(status))
                status = mpki_offload_add_target(f, list, list->block[0][before], before);
        }
    }
    mpki_release(f->stages->ctx, order);
    return mpk_failed(status) ? status : mpki_offload_add_target(f, list, NULL, list->count);
}

static mpk_status downdates(mpki_blocks *f, const mpki_updates *batch) {
    struct mpki_offload *o = f->offload;
    const mpki_ibcsr *x = &f->stages->index;
    mpki_batch_lists *list = &o->batch;
    mpk_status status = MPK_OK;
    list->count = list->targets = 0;
    if (mpki_offload_by_sums(f)) {
        status = list_sums(f, batch);
        list->targets -= list->targets > 0; /* the last one is an end */
    } else {
        for (int64_t t = 0; t < batch->count; t++) {
            const int64_t target = batch->target[t];
            const bool both = o->ldu && x->rows[target] != x->cols[target];
            for (int half = 0; half <= both && !mpk_failed(status); half++)
                status = list_downdate(f, batch, t, (mpki_half)half);
        }
    }
    const double n = o->n;
    f->meta->worker[0].flops += 2 * n * n * n * (double)list->count;
    if (mpk_failed(status)) return status;
    list->shared = mpki_offload_by_atomics(f);
    status = mpki_offload_run(f, MPKI_KERNEL_D, list);
    list->shared = false;
    list->targets = 0;
    return status;
}

/* ---- verdicts of the accelerator ------------------------------------------------------------- */

mpk_status mpki_offload_forget_verdicts(mpki_blocks *f) {
    struct mpki_offload *o = f->offload;
    const mpk_accelerator *a = o->on->table;
    const int64_t bytes = f->stages->index.m * (int64_t)sizeof *o->words;
    if (!o->defers) return MPK_OK;
    memset(o->words, 0, (size_t)bytes);
    memcpy(o->was_final, f->stages->final, (size_t)f->stages->index.m);
    return mpki_offload_status(f, a->upload(a->self, o->state, o->words, bytes), "upload");
}

/* What was taken for accepted, and is not. */
static void take_back(mpki_blocks *f, int32_t frame) {
    mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    s->reject[frame] = 1;
    s->final[frame] = 0;
    for (int64_t e = x->diagonal[frame]; e < x->ptr[frame + 1]; e++) {
        s->stored_blocks[x->entry[e].block] = 0;
        s->want[x->entry[e].block] = 1;
    }
}

mpk_status mpki_offload_read_verdicts(mpki_blocks *f) {
    struct mpki_offload *o = f->offload;
    mpki_stages *s = f->stages;
    const mpk_accelerator *a = o->on->table;
    const int64_t bytes = s->index.m * (int64_t)sizeof *o->words;
    if (!o->defers) return MPK_OK;
    mpk_status status = mpki_offload_wait(f);
    mpki_offload_trace(f);
    if (!mpk_failed(status))
        status =
            mpki_offload_status(f, a->download(a->self, o->words, o->state, bytes), "download");
    for (int32_t place = 0; place < s->index.m && !mpk_failed(status); place++) {
        const int32_t frame = s->index.frame[place], word = o->words[frame];
        f->meta->worker[0].perturbed += word / MPK_ACCELERATOR_REPLACED;
        if (!(word & (MPK_ACCELERATOR_PIVOT_FAILS | MPK_ACCELERATOR_COLUMN_FAILS))) continue;
        if (o->type == MPK_TYPE_LLT && word & MPK_ACCELERATOR_PIVOT_FAILS)
            return break_off(f, frame);
        if (s->last || o->was_final[frame])
            status = mpki_error(s->ctx, MPK_ERR_NUMERIC, STAGE, frame,
                                "block %d: its pivots overflow", frame);
        else
            take_back(f, frame);
    }
    return status;
}

/* ---- a stage --------------------------------------------------------------------------------- */

mpk_status mpki_offload_stage(mpki_blocks *f) {
    enum { PORTION = 1 << 20 }; /* entries of blocks in a batch */
    mpki_stages *s = f->stages;
    mpki_meta *meta = f->meta;
    const mpki_inspection what = {
        .index = &s->index,
        .levels = &s->levels,
        .due = s->due,
        .bptr = s->blocking->bptr,
        .want = s->want,
        .schedule = mpki_offload_by_atomics(f) || mpki_offload_by_sums(f) ? MPK_SCHEDULE_ATOMIC
                                                                          : MPK_SCHEDULE_SUBSETS,
        .budget = PORTION,
        .threads = meta->threads,
    };
    mpki_inspector *inspector = NULL;
    mpki_inspector_times times = {0};
    int32_t subsets = 0;
    const bool border = s->border < s->index.m;
    mpk_status status = border ? mpki_border_make(f) : MPK_OK;
    mpki_offload_trace_begin(f);
    if (!mpk_failed(status)) status = mpki_offload_forget_verdicts(f);
    if (!mpk_failed(status)) status = mpki_offload_send(f);
    if (!mpk_failed(status)) status = mpki_inspector_start(s->ctx, &what, &inspector);
    while (!mpk_failed(status)) {
        const mpki_portion *portion = NULL;
        status = mpki_inspector_next(inspector, &portion);
        if (mpk_failed(status) || !portion) break;
        meta->level = portion->level;
        if (portion->subset >= subsets) subsets = portion->subset + 1;
        status = portion->kind == MPKI_PORTION_COLUMNS ? mpki_offload_columns(f, portion)
                                                       : downdates(f, &portion->batch);
        if (!mpk_failed(status) && mpki_progress(s->ctx, STAGE, portion->share))
            status = mpki_error(s->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    mpki_levels found = {0}; /* those of this stage, found under the delayed downdates */
    if (!mpk_failed(status)) mpki_inspector_take_levels(inspector, &found);
    if (!mpk_failed(status)) status = mpki_levels_append(s->ctx, &s->levels, &found);
    if (!mpk_failed(status)) s->due = s->index.m;
    mpki_levels_free(s->ctx, &found);
    mpki_inspector_stop(&inspector, &times);
    if (times.work_s > times.waited_s) s->info.time_inspector_s += times.work_s - times.waited_s;
    s->info.sublevels += subsets;
    if (!mpk_failed(status)) status = mpki_offload_read_verdicts(f);
    mpki_offload_trace_end(f);
    if (!mpk_failed(status) && border) status = mpki_offload_border(f);
    f->offload->ended_s = mpki_now_s();
    return status;
}
