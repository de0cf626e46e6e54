/* SPDX-License-Identifier: BSD-3-Clause */
/* A stage on an accelerator: A's blocks go there, portions of the inspector become batches, frames
 * are judged by what the kernels report. As in Thuerck 2021, sec. 8.3: operations with a rejected
 * frame are listed and skipped, and later stages compute what earlier ones owe them. */
#include "engines/cpu/block_factor/entry.h"
#include "core/random.h"
#include "core/trace.h"
#include "offload.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

static int64_t diagonal_of(const mpki_ibcsr *x, int32_t frame) {
    return x->entry[x->diagonal[frame]].block;
}

/* ---- A, onto the accelerator ----------------------------------------------------------------- */

/* Memory for the blocks of a column that are due; they are zero, the diagonal padded. */
static mpk_status stage_column(mpki_blocks *f, int32_t frame, int32_t *slot, int64_t *count) {
    struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    const int64_t each = (int64_t)o->n * o->n;
    *count = 0;
    for (int64_t e = x->diagonal[frame]; e < x->ptr[frame + 1]; e++)
        if (s->want[x->entry[e].block]) slot[x->entry[e].other] = (int32_t)(*count)++;
    if (*count > o->staging_capacity) {
        double *more = mpki_resize(s->ctx, STAGE, o->staging, *count * each, sizeof *more);
        if (!more) return mpki_failed(s->ctx);
        o->staging = more;
        o->staging_capacity = *count;
    }
    if (*count) memset(o->staging, 0, (size_t)(*count * each) * sizeof(double));
    /* inner pivoting takes the padding last */
    const double padding = o->perm ? 2 * s->floor : 1;
    for (int32_t i = mpki_frame_rows(s->blocking, frame); slot[frame] >= 0 && i < o->n; i++)
        o->staging[slot[frame] * each + i * (o->n + 1)] = padding;
    return MPK_OK;
}

/* Entries of A into the staging memory of a frame's column. */
static void fill_column(const mpki_blocks *f, int32_t frame, const int32_t *slot) {
    const struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    const mpki_blocking *b = s->blocking;
    const int64_t each = (int64_t)o->n * o->n;
    for (int32_t p = b->bptr[frame]; p < b->bptr[frame + 1]; p++) {
        const int32_t g = b->perm[p];
        for (int64_t e = s->a->ptr[g]; e < s->a->ptr[g + 1]; e++) {
            const int32_t q = b->iperm[s->a->col[e]], across = b->of[q];
            if (slot[across] < 0) continue;
            double v = mpki_d_entry_scaled(f->meta, g, e);
            if (p == q) v = mpki_d_entry_shifted(f->meta, v);
            o->staging[slot[across] * each + (int64_t)(q - b->bptr[across]) * o->n + p -
                       b->bptr[frame]] += v;
        }
    }
}

/* The blocks of a column: uploaded where A has entries, else zeroed there. */
static mpk_status send_column(mpki_blocks *f, int32_t frame, int32_t *slot) {
    struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    const int64_t each = (int64_t)o->n * o->n;
    mpk_status status = MPK_OK;
    for (int64_t e = x->diagonal[frame]; e < x->ptr[frame + 1]; e++) {
        const int32_t other = x->entry[e].other;
        const int64_t block = x->entry[e].block;
        if (slot[other] < 0) continue;
        const double *values = o->staging + slot[other] * each;
        int64_t k = 0;
        slot[other] = -1;
        if (mpk_failed(status)) continue; /* slots are cleared all the same */
        if (!o->block[block]) status = mpki_offload_block(f, &o->block[block]);
        while (k < each && values[k] == 0) k++;
        if (mpk_failed(status)) continue;
        status = k < each ? mpki_offload_put(f, o->block[block], values)
                          : mpki_offload_add(f, &o->other, block, frame);
    }
    return status;
}

/* All blocks that are due := A. */
static mpk_status send_matrix(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    int32_t *slot = f->meta->worker[0].slot; /* -1 each, before and after */
    mpk_status status = MPK_OK;
    const double began = mpki_trace_begin(s->ctx);
    f->offload->other.count = 0;
    for (int32_t place = 0; place < s->index.m && !mpk_failed(status); place++) {
        const int32_t frame = s->index.frame[place];
        int64_t count;
        status = stage_column(f, frame, slot, &count);
        if (!mpk_failed(status)) fill_column(f, frame, slot);
        const mpk_status sent = send_column(f, frame, slot);
        if (!mpk_failed(status)) status = sent;
    }
    mpki_trace_end(s->ctx, MPKI_LANE_CALLER, "upload", -1, began);
    return mpk_failed(status) ? status : mpki_offload_run(f, MPKI_KERNEL_Z, &f->offload->other);
}

/* ---- butterflies ----------------------------------------------------------------------------- */

/* B^T for w of n rows, the rest is I. B = [R0 R1; R0 -R1] / sqrt(2), random diagonals as Baboulin
 * et al. choose them; the last row of an odd w stands alone. The processor's kernels have the
 * same. */
static void make_butterfly(uint64_t state, int w, int n, double *bt) {
    const int half = w / 2;
    memset(bt, 0, (size_t)n * (size_t)n * sizeof *bt);
    for (int k = w; k < n; k++) bt[k * (n + 1)] = 1;
    for (int k = 0; k < w; k++) {
        const double own = exp((mpki_random_unit(mpki_random_lcg(&state)) - 0.5) / 10);
        const double r = 0.70710678118654752440 * own;
        if (k == 2 * half) {
            bt[k * (n + 1)] = own;
            break;
        }
        const int c = k % half; /* column k of B has rows c and c + half */
        bt[k * n + c] = r;
        bt[k * n + c + half] = k < half ? r : -r;
    }
}

/* Each listed block C := C B, B that of its frame: a product into zeroed memory, which then takes
 * its place. */
static mpk_status turn(mpki_blocks *f, mpki_batch_lists *list) {
    struct mpki_offload *o = f->offload;
    mpk_status status = MPK_OK;
    if (list->count == 0) return MPK_OK;
    for (int64_t k = 0; k < list->count && !mpk_failed(status); k++) {
        list->block[1][k] = list->block[0][k];
        list->pivot[k] = o->minus;
        status = mpki_offload_block(f, &list->block[0][k]);
        if (mpk_failed(status)) list->count = k; /* those before it are released below */
    }
    if (!mpk_failed(status)) status = mpki_offload_run(f, MPKI_KERNEL_Z, list);
    if (!mpk_failed(status)) status = mpki_offload_run(f, MPKI_KERNEL_D, list);
    for (int64_t k = 0; k < list->count; k++) {
        const bool good = !mpk_failed(status);
        void *leaves = list->block[good ? 1 : 0][k];
        if (good) o->block[list->id[k]] = list->block[0][k];
        o->on->table->release(o->on->table->self, leaves);
    }
    return status;
}

/* Pivot blocks that were rejected before get a new butterfly, C := B^T C B. */
static mpk_status renew(mpki_blocks *f, const mpki_batch_lists *pivots) {
    struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    mpk_status status = MPK_OK;
    if (!f->offload->on->blocks.renews && s->options->butterfly != MPK_ON) return MPK_OK;
    o->other.count = 0;
    for (int64_t k = 0; k < pivots->count && !mpk_failed(status); k++) {
        const int32_t frame = mpki_col_frame(&s->index, pivots->id[k]);
        const int32_t w = mpki_frame_rows(s->blocking, frame);
        if (s->index.stage[frame] == 0 || w < 2) continue;
        make_butterfly((uint64_t)s->options->seed + (uint64_t)frame * MPKI_GOLDEN +
                           mpki_random_mix((uint64_t)s->index.stage[frame] - 1),
                       w, o->n, o->staging);
        if (!o->turn[frame]) status = mpki_offload_block(f, &o->turn[frame]);
        if (!mpk_failed(status)) status = mpki_offload_put(f, o->turn[frame], o->staging);
        if (!mpk_failed(status)) status = mpki_offload_add(f, &o->other, pivots->id[k], frame);
        if (!mpk_failed(status)) o->other.block[2][o->other.count - 1] = o->turn[frame];
    }
    o->on->report.butterflies += o->other.count;
    if (!mpk_failed(status)) status = turn(f, &o->other); /* C B, and then (C B)^T B */
    if (!mpk_failed(status)) status = mpki_offload_run(f, MPKI_KERNEL_T, &o->other);
    if (!mpk_failed(status)) status = turn(f, &o->other);
    return status;
}

/* ---- phase I --------------------------------------------------------------------------------- */

/* In the last stage small pivots are replaced; that is for the host. */
static mpk_status factor_here(mpki_blocks *f, int32_t frame) {
    struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    mpki_meta_worker *me = &f->meta->worker[0];
    const int n = o->n;
    double *a = o->staging;
    void *at = o->block[diagonal_of(&s->index, frame)];
    mpk_status status = mpki_offload_take(f, a, at);
    for (int k = 0; k < n && !mpk_failed(status); k++) {
        double d = a[k * n + k];
        if (!isfinite(d))
            return mpki_error(s->ctx, MPK_ERR_NUMERIC, STAGE, frame,
                              "block %d: its pivots overflow", frame);
        if (!(fabs(d) > s->floor)) {
            me->perturbed++;
            d = a[k * n + k] = d < 0 ? -s->floor : s->floor > 0 ? s->floor : 0;
        }
        for (int i = k + 1; i < n; i++) {
            const double l = d == 0 ? 0 : a[i * n + k] / d;
            for (int j = k + 1; j < n; j++) a[i * n + j] -= l * a[k * n + j];
            a[i * n + k] = l;
        }
    }
    o->on->report.host_pivots++;
    if (o->perm && !mpk_failed(status)) { /* the order of the rows is their own */
        int32_t own[MPKI_BLOCK_MAX];
        for (int k = 0; k < n; k++) own[k] = k;
        const mpk_accelerator *t = o->on->table;
        status = mpki_offload_status(
            f, t->upload(t->self, o->perm[frame], own, n * (int64_t)sizeof *own),
            "upload of a permutation");
    }
    return mpk_failed(status) ? status : mpki_offload_put(f, at, a);
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
            status = mpki_offload_add(f, list, b, frame);
    }
    if (!mpk_failed(status)) status = renew(f, list);
    for (int64_t k = 0; k < list->count; k++) list->block[0][k] = o->block[list->id[k]];
    if (!mpk_failed(status)) status = mpki_offload_run(f, MPKI_KERNEL_F, list);
    if (!mpk_failed(status) && o->perm) status = find_padding(f, list);
    const double most = 1 / sqrt(0x1p-52);
    for (int64_t k = 0; k < list->count && !mpk_failed(status); k++) {
        const int32_t frame = mpki_col_frame(x, list->id[k]);
        const double n = o->n;
        f->meta->worker[0].flops += n * n * n / 3;
        if (s->last && s->reject[frame]) {
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

static mpk_status columns(mpki_blocks *f, const mpki_portion *portion) {
    struct mpki_offload *o = f->offload;
    mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    const mpki_updates *batch = &portion->batch;
    mpki_batch_lists *list = &o->batch, *turned = &o->other;
    mpk_status status = pivots(f, batch);
    list->count = turned->count = 0;
    for (int64_t t = 0; t < batch->count && !mpk_failed(status); t++) {
        const int64_t b = batch->target[t];
        const int32_t frame = mpki_col_frame(x, b);
        if (x->rows[b] == x->cols[b] || s->reject[frame] || mpki_in_border(f, frame)) continue;
        status = mpki_offload_add(f, list, b, frame);
        if (mpk_failed(status) || !o->turn[frame]) continue;
        status = mpki_offload_add(f, turned, b, frame);
        if (!mpk_failed(status)) turned->block[2][turned->count - 1] = o->turn[frame];
    }
    if (!mpk_failed(status)) status = turn(f, turned);
    for (int64_t k = 0; k < list->count; k++) list->block[0][k] = o->block[list->id[k]];
    if (!mpk_failed(status) && o->perm) status = mpki_offload_run(f, MPKI_KERNEL_P, list);
    if (!mpk_failed(status)) status = mpki_offload_run(f, MPKI_KERNEL_S, list);
    if (!mpk_failed(status)) status = judge(f, list);
    const double n = o->n;
    f->meta->worker[0].flops += 2 * n * n * n * (double)list->count;
    for (int64_t t = 0; t < batch->count && !mpk_failed(status); t++) {
        const int64_t b = batch->target[t];
        if (s->reject[mpki_col_frame(x, b)]) continue;
        s->want[b] = 0;
        s->stored_blocks[b] = x->rows[b] != x->cols[b] && !mpki_in_border(f, mpki_col_frame(x, b));
    }
    for (int32_t k = 0; k < portion->count && !mpk_failed(status); k++)
        if (!s->reject[portion->frame[k]]) s->final[portion->frame[k]] = 1;
    return status;
}

/* ---- phase III ------------------------------------------------------------------------------- */

static mpk_status downdates(mpki_blocks *f, const mpki_updates *batch) {
    struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    mpki_batch_lists *list = &o->batch;
    mpk_status status = MPK_OK;
    list->count = 0;
    for (int64_t t = 0; t < batch->count; t++) {
        for (int64_t e = batch->ptr[t]; e < batch->ptr[t + 1] && !mpk_failed(status); e++) {
            const mpki_update *u = &batch->update[e];
            if (!s->stored_blocks[u->a] || !s->stored_blocks[u->b]) continue;
            /* what came of a rejected column is no block of L */
            const int32_t k = mpki_col_frame(x, u->a);
            if (!s->final[k] || s->reject[k]) continue;
            status = mpki_offload_add(f, list, batch->target[t], k);
            if (mpk_failed(status)) break;
            list->block[1][list->count - 1] = o->block[u->a];
            list->block[2][list->count - 1] = o->block[u->b];
        }
    }
    const double n = o->n;
    f->meta->worker[0].flops += 2 * n * n * n * (double)list->count;
    return mpk_failed(status) ? status : mpki_offload_run(f, MPKI_KERNEL_D, list);
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
        .schedule = s->options->schedule, /* one that the machine has */
        .budget = PORTION,
        .threads = meta->threads,
    };
    mpki_inspector *inspector = NULL;
    mpki_inspector_times times = {0};
    int32_t subsets = 0;
    const bool border = s->border < s->index.m;
    mpk_status status = border ? mpki_border_make(f) : MPK_OK;
    if (!mpk_failed(status)) status = send_matrix(f);
    if (!mpk_failed(status)) status = mpki_inspector_start(s->ctx, &what, &inspector);
    while (!mpk_failed(status)) {
        const mpki_portion *portion = NULL;
        status = mpki_inspector_next(inspector, &portion);
        if (mpk_failed(status) || !portion) break;
        meta->level = portion->level;
        if (portion->subset >= subsets) subsets = portion->subset + 1;
        status = portion->kind == MPKI_PORTION_COLUMNS ? columns(f, portion)
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
    if (!mpk_failed(status) && border) status = mpki_offload_border(f);
    f->offload->ended_s = mpki_now_s();
    return status;
}
