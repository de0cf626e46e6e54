/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stage of a factor on blocks is made from: sent to the device, in portions that it computes
 * at once. */
#include "core/trace.h"
#include "state.h"

#include <string.h>

static const char STAGE[] = "factorize";

/* ---- what is sent ---------------------------------------------------------------------------- */

/* The pattern of A, and memory for its values. */
static mpk_status send_pattern(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_blocking *b = s->blocking;
    mpki_cuda_stage *j = &f->job;
    const int64_t n = b->n, i4 = 4, i8 = 8, size = (int64_t)mpk_scalar_size(s->scalar);
    const mpki_full *a = s->a, *at = s->at ? s->at : s->a;
    const int64_t nnz = a->ptr[n], turned = s->at ? at->ptr[n] : 0, general = s->at ? n : 0;
    const int64_t own = !s->matrix; /* else A is there */
    const mpki_array arrays[] = {
        {&j->a.ptr, own ? a->ptr : NULL, own * (n + 1) * i8},
        {&j->a.col, NULL, own * nnz * i4},
        {&j->a.val, NULL, own * nnz * size},
        {&j->a.slot, NULL, nnz * i4},
        {&j->at.ptr, s->at ? at->ptr : NULL, s->at ? (n + 1) * i8 : 0},
        {&j->at.col, NULL, turned * i4},
        {&j->at.val, NULL, turned * size},
        {&j->at.slot, NULL, turned * i4},
        {&j->scale, NULL, n * i8},
        {&j->row_scale, NULL, general * i8},
        {&j->row_of, s->row_of, s->row_of ? n * i4 : 0},
        {&j->perm, b->perm, n * i4},
        {&j->iperm, b->iperm, n * i4},
        {&j->of, b->of, n * i4},
        {&j->pair, s->pair, s->pair ? n * i4 : 0},
    };
    mpk_status status = mpki_blocks_lay_out(f, &f->plan->matrix, arrays, MPKI_COUNT(arrays));
    if (!mpk_failed(status) && own) status = mpki_blocks_send(f, j->a.col, a->col, nnz * i4);
    if (!mpk_failed(status) && s->at) status = mpki_blocks_send(f, j->at.col, at->col, turned * i4);
    if (!s->at) j->at = (mpki_cuda_rows){0};
    if (!s->row_of) j->row_of = NULL;
    if (!s->pair) j->pair = NULL;
    return status;
}

/* A of the engine of vectors, which has its values too. */
static void borrow_matrix(mpki_blocks *f) {
    if (!f->stages->matrix) return;
    const mpki_cuda_arrays a = mpki_cuda_matrix_arrays(f->stages->matrix);
    f->job.a.ptr = a.ptr, f->job.a.col = a.col, f->job.a.val = a.val;
}

/* Its values, and their scales. */
static mpk_status send_values(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_cuda_stage *j = &f->job;
    const int64_t n = j->n, size = (int64_t)mpk_scalar_size(s->scalar);
    mpk_status status =
        s->matrix ? MPK_OK : mpki_blocks_send(f, j->a.val, s->a->val, s->a->ptr[n] * size);
    if (!mpk_failed(status)) status = mpki_blocks_send(f, j->scale, s->scale, n * 8);
    if (!s->at || mpk_failed(status)) return status;
    status = mpki_blocks_send(f, j->at.val, s->at->val, s->at->ptr[n] * size);
    return mpk_failed(status) ? status : mpki_blocks_send(f, j->row_scale, s->row_scale, n * 8);
}

/* By frame: what the factor keeps, and what stages write. */
static mpk_status make_frames(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    mpki_cuda_stage *j = &f->job;
    const int64_t m = j->m, n = j->n, size = (int64_t)mpk_scalar_size(j->scalar);
    const mpki_array arrays[] = {
        {&j->bptr, s->blocking->bptr, (m + 1) * 4},
        {&j->to.pivot, NULL, m * 8},
        {&j->to.pivot_n, NULL, s->ldu ? m * 8 : 0},
        {&j->to.d, NULL, 2 * n * size},
        {&j->to.dinv, NULL, 2 * n * size},
        {&j->pivots, NULL, m * (int64_t)sizeof *j->pivots},
        {&j->frame_norm, NULL, m * 8},
        {&j->final, NULL, m},
        {&j->reject, NULL, m},
        {&j->notes, NULL, (int64_t)sizeof *j->notes},
    };
    if (f->frames.at) return MPK_OK;
    mpk_status status = mpki_blocks_lay_out(f, &f->frames, arrays, MPKI_COUNT(arrays));
    if (!mpk_failed(status))
        status = mpki_blocks_status(
            f, f->module->set(f->device->cuda, j->pivots, 0, m * (int64_t)sizeof *j->pivots));
    if (!mpk_failed(status))
        status = mpki_blocks_status(f, f->module->set(f->device->cuda, j->to.pivot, 0xff, m * 8));
    if (!mpk_failed(status) && s->ldu)
        status = mpki_blocks_status(f, f->module->set(f->device->cuda, j->to.pivot_n, 0xff, m * 8));
    if (!s->ldu) j->to.pivot_n = j->to.pivot;
    return status;
}

/* By block, for as many as the index has now; those that were there stay as they are. */
static mpk_status make_blocks(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    mpki_cuda_stage *j = &f->job;
    const int64_t n = s->index.nblocks, had = f->capacity, two = s->ldu;
    if (f->blocks.at && n <= had) return MPK_OK;
    int64_t *lower = NULL, *upper = NULL;
    uint32_t *held = NULL, *held_u = NULL;
    const mpki_array arrays[] = {
        {&lower, NULL, n * 8},        {&upper, NULL, two * n * 8}, {&held, NULL, n * 4},
        {&held_u, NULL, two * n * 4}, {&j->capacity, NULL, n * 8}, {&j->want, NULL, n},
        {&j->stored, NULL, n},
    };
    const mpki_cuda_blocks_table *m = f->module;
    mpki_cuda *cuda = f->device->cuda;
    mpki_piece old = f->blocks;
    f->blocks = (mpki_piece){0};
    mpk_status status = mpki_blocks_lay_out(f, &f->blocks, arrays, MPKI_COUNT(arrays));
    if (!mpk_failed(status)) status = mpki_blocks_status(f, m->set(cuda, lower, 0xff, n * 8));
    if (!mpk_failed(status)) status = mpki_blocks_status(f, m->set(cuda, upper, 0xff, two * n * 8));
    if (!mpk_failed(status)) status = mpki_blocks_status(f, m->set(cuda, held, 0, n * 4));
    if (!mpk_failed(status)) status = mpki_blocks_status(f, m->set(cuda, held_u, 0, two * n * 4));
    if (old.at && !mpk_failed(status)) {
        status = mpki_blocks_status(f, m->move(cuda, lower, j->to.lower, had * 8));
        if (!mpk_failed(status))
            status = mpki_blocks_status(f, m->move(cuda, held, j->held, had * 4));
        if (two && !mpk_failed(status))
            status = mpki_blocks_status(f, m->move(cuda, upper, j->to.upper, had * 8));
        if (two && !mpk_failed(status))
            status = mpki_blocks_status(f, m->move(cuda, held_u, j->held_u, had * 4));
        if (!mpk_failed(status)) status = mpki_blocks_wait(f);
    }
    mpki_blocks_give(f, &old);
    if (mpk_failed(status)) return status;
    j->to.lower = lower, j->to.upper = two ? upper : lower;
    j->held = held, j->held_u = two ? held_u : held;
    j->nblocks = n;
    f->capacity = n;
    return MPK_OK;
}

/* The lists of the index, with the places of the frames across. */
static mpk_status send_lists(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    mpki_cuda_stage *j = &f->job;
    const int64_t entries = x->ptr[x->m], m = x->m;
    int64_t *block = MPKI_NEW(f->ctx, STAGE, entries, int64_t);
    int32_t *other = MPKI_NEW(f->ctx, STAGE, entries, int32_t);
    int32_t *there = MPKI_NEW(f->ctx, STAGE, entries, int32_t);
    mpk_status status = block && other && there ? MPK_OK : mpki_failed(f->ctx);
    if (!mpk_failed(status)) {
        for (int64_t e = 0; e < entries; e++) {
            other[e] = x->entry[e].other;
            block[e] = x->entry[e].block;
            there[e] = x->place[other[e]];
        }
        const mpki_array arrays[] = {
            {&j->ptr, x->ptr, (m + 1) * 8},  {&j->diagonal, x->diagonal, m * 8},
            {&j->block, block, entries * 8}, {&j->other, other, entries * 4},
            {&j->there, there, entries * 4}, {&j->place, x->place, m * 4},
            {&j->pushed, x->stage, m * 4},   {&f->plan->frame_order, NULL, m * 4},
        };
        status = mpki_blocks_lay_out(f, &f->plan->lists, arrays, MPKI_COUNT(arrays));
        if (!mpk_failed(status)) status = mpki_blocks_wait(f);
    }
    mpki_release(f->ctx, block);
    mpki_release(f->ctx, other);
    mpki_release(f->ctx, there);
    return status;
}

/* Frames that are final, blocks that are wanted and stored: at first none, all and none. */
static mpk_status send_flags(mpki_blocks *f, bool first) {
    const mpki_stages *s = f->stages;
    const mpki_cuda_stage *j = &f->job;
    const struct {
        unsigned char *to, *from;
        int64_t count;
        int at_first;
    } flags[] = {{j->want, s->want, s->index.nblocks, 1},
                 {j->stored, s->stored_blocks, s->index.nblocks, 0},
                 {j->final, s->final, j->m, 0}};
    mpk_status status = MPK_OK;
    for (int k = 0; k < MPKI_COUNT(flags) && !mpk_failed(status); k++)
        status = first ? mpki_blocks_status(f, f->module->set(f->device->cuda, flags[k].to,
                                                              flags[k].at_first, flags[k].count))
                       : mpki_blocks_copy(f, flags[k].to, flags[k].from, flags[k].count, true);
    return status;
}

/* The lists, and what factor/stages.c says of frames and blocks. */
static mpk_status send_stage(mpki_blocks *f, bool ready, bool first) {
    const mpki_stages *s = f->stages;
    mpki_cuda_stage *j = &f->job;
    const int64_t m = j->m;
    mpk_status status = make_blocks(f);
    const int64_t n = s->index.nblocks;
    if (!mpk_failed(status) && !ready) status = send_lists(f);
    if (!mpk_failed(status))
        status = mpki_blocks_copy(f, (void *)(uintptr_t)j->capacity, s->capacity, n * 8, true);
    if (!mpk_failed(status)) status = send_flags(f, first);
    if (!mpk_failed(status))
        status = mpki_blocks_status(f, f->module->set(f->device->cuda, j->reject, 0, m));
    if (!mpk_failed(status) && !ready)
        status = mpki_blocks_status(f, f->module->place(f->device->cuda, j));
    return status;
}

/* What is due in a stage, on the host. */
typedef struct due {
    int32_t *who, *item_who, whos;
    int64_t *first, *entry, *slot, items;
    int64_t work, most_items;  /* of a portion: entries, items */
    int32_t most_whos, leader; /* leader: the portion that loads the last one's blocks */
} due;

static void due_free(const mpki_blocks *f, due *d) {
    mpki_release(f->ctx, d->who);
    mpki_release(f->ctx, d->item_who);
    mpki_release(f->ctx, d->first);
    mpki_release(f->ctx, d->entry);
    mpki_release(f->ctx, d->slot);
}

static int64_t words_of(int64_t rows, int64_t entries, int64_t size) {
    return (MPKI_STORE_HEAD(rows) + entries * size / 4 + 3) / 4 * 4;
}

/* Words that a block takes at most: all of it, or (but for what it gets from others, which may have
 * to be rounded up) its capacity. */
static int64_t words_of_block(const mpki_stages *s, int64_t block, int64_t rows, int64_t cols,
                              bool whole) {
    const int64_t size = (int64_t)mpk_scalar_size(s->stored), capacity = s->capacity[block];
    const int64_t all = words_of(rows, rows * cols, size);
    if (whole || capacity < 0 || capacity > rows * cols) return (1 + s->ldu) * all;
    const int64_t some = words_of(rows, capacity, size) + 4;
    return (1 + s->ldu) * (some < all ? some : all);
}

static void end_portion(mpki_blocks *f, due *d, int64_t entries, int64_t words) {
    mpki_cuda_portion *p = &f->plan->portion[f->job.portions++];
    if (p->work == 0) d->leader = f->job.portions - 1;
    f->plan->portion[d->leader].loads++;
    p->end = d->whos, p->end_item = d->items, p->entries = entries, p->words = words;
    if (p->work + entries > d->work) d->work = p->work + entries;
    if (p->end - p->first > d->most_whos) d->most_whos = p->end - p->first;
    if (d->items - p->first_item > d->most_items) d->most_items = d->items - p->first_item;
}

/* Where the work blocks of the next portion begin: after those of the last one, as long as they are
 * few. */
static int64_t next_work(const mpki_blocks *f, const due *d) {
    const int64_t size = (int64_t)mpk_scalar_size(f->stages->stored);
    const mpki_cuda_portion *all = f->plan->portion, *last = &all[f->job.portions - 1];
    if (f->job.portions == 0) return 0;
    const int64_t end = last->work + last->entries;
    return (end - all[d->leader].work) * size < LOAD_BYTES ? end : 0;
}

/* Frames with their items in portions: `levels` sets, in each of them the frames order[ptr[l]] ..
 * Sweeps: one set. */
static mpk_status list_due(mpki_blocks *f, int32_t levels, const int32_t *ptr, const int32_t *order,
                           due *d) {
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    const int64_t size = (int64_t)mpk_scalar_size(s->stored), all = levels ? ptr[levels] : 0;
    const int64_t most = PORTION_BYTES / size / (1 + s->ldu);
    const int64_t most_whos = PORTION_BYTES / size / f->job.pivot_stride + 1;
    mpki_release(f->ctx, f->plan->portion);
    f->job.portions = 0;
    d->who = MPKI_NEW(f->ctx, STAGE, all, int32_t);
    d->first = MPKI_NEW(f->ctx, STAGE, all + 1, int64_t);
    d->entry = MPKI_NEW(f->ctx, STAGE, x->nblocks, int64_t);
    d->item_who = MPKI_NEW(f->ctx, STAGE, x->nblocks, int32_t);
    d->slot = MPKI_NEW(f->ctx, STAGE, x->ptr[x->m], int64_t);
    /* at most one portion a level more than the bounds make, and never more than frames */
    f->plan->portion = MPKI_NEW(f->ctx, STAGE, all + 1, mpki_cuda_portion);
    if (!d->who || !d->first || !d->entry || !d->item_who || !d->slot || !f->plan->portion)
        return mpki_failed(f->ctx);
    memset(d->slot, 0xff, (size_t)x->ptr[x->m] * sizeof *d->slot);
    for (int32_t l = 0; l < levels; l++) {
        int64_t entries = 0, words = 0;
        mpki_cuda_portion *p = NULL;
        for (int32_t k = ptr[l]; k < ptr[l + 1]; k++) {
            const int32_t frame = order[k];
            const int64_t w = mpki_frame_rows(s->blocking, frame), begin = d->items;
            if (p && (entries >= most || d->whos - p->first >= most_whos)) {
                end_portion(f, d, entries, words);
                p = NULL;
            }
            if (!p) {
                p = &f->plan->portion[f->job.portions];
                *p = (mpki_cuda_portion){
                    .level = l, .first = d->whos, .first_item = d->items, .work = next_work(f, d)};
                p->border = l == levels - 1 && s->border < x->m;
                entries = words = 0;
            }
            for (int64_t e = x->diagonal[frame]; e < x->ptr[frame + 1]; e++) {
                const int64_t block = x->entry[e].block;
                const int32_t row = x->entry[e].other;
                if (!s->want[block]) continue;
                const int64_t rows = mpki_frame_rows(s->blocking, row);
                d->entry[d->items] = e;
                d->item_who[d->items++] = d->whos;
                d->slot[e] = p->work + entries;
                entries += rows * w;
                if (row == frame) continue;
                words += words_of_block(s, block, rows, w, true);
            }
            if (d->items == begin) continue;
            d->who[d->whos] = frame;
            d->first[d->whos++] = begin;
            if (s->final[frame]) continue;
            words += (1 + s->ldu) * words_of(w, w * w, size);
        }
        if (p && d->whos > p->first) end_portion(f, d, entries, words);
    }
    d->first[d->whos] = d->items;
    f->job.portion = f->plan->portion;
    return MPK_OK;
}

int64_t mpki_blocks_words_due(const mpki_stages *s, int64_t leftover) {
    const mpki_ibcsr *x = &s->index;
    const int64_t size = (int64_t)mpk_scalar_size(s->stored);
    int64_t words = 0, whole = 0; /* of blocks, by their capacities and as wholes */
    int64_t pivots = 0;
    for (int32_t f = 0; f < x->m; f++) {
        const int64_t w = mpki_frame_rows(s->blocking, f);
        if (!s->final[f]) pivots += (1 + s->ldu) * words_of(w, w * w, size);
        for (int64_t e = x->diagonal[f] + 1; e < x->ptr[f + 1]; e++)
            if (s->want[x->entry[e].block]) {
                const int64_t block = x->entry[e].block;
                const int64_t rows = mpki_frame_rows(s->blocking, x->entry[e].other);
                words += words_of_block(s, block, rows, w, false);
                whole += words_of_block(s, block, rows, w, true);
            }
    }
    if (!(leftover < whole)) return pivots + whole;
    words += (1 + s->ldu) * (leftover * size / 4 + 1);
    return pivots + (words < whole ? words : whole);
}

static mpki_array work_array(void *at, int64_t bytes) {
    return (mpki_array){at, NULL, bytes};
}

/* Bytes of a stage's work space, which is taken unless `only`. */
static mpk_status make_work(mpki_blocks *f, const due *d, bool only, int64_t *bytes) {
    const mpki_stages *s = f->stages;
    mpki_cuda_stage *j = &f->job;
    const int64_t size = (int64_t)mpk_scalar_size(s->stored), halves = 1 + s->ldu;
    const int64_t real = s->stored == MPK_S || s->stored == MPK_C ? 4 : 8;
    const int64_t where = halves * (d->most_items + d->most_whos) * 8;
    const mpki_array arrays[] = {
        {&j->who, d->who, d->whos * (int64_t)4},
        {&j->first, d->first, (d->whos + (int64_t)1) * 8},
        {&j->entry, d->entry, d->items * 8},
        {&j->item_who, d->item_who, d->items * 4},
        {&j->slot, d->slot, s->index.ptr[s->index.m] * 8},
        work_array(&j->work, d->work * size),
        work_array(&j->work_u, (halves - 1) * d->work * size),
        work_array(&j->pivot_work, d->most_whos * j->pivot_stride * size),
        work_array(&j->norm, d->most_items * halves * j->largest * real),
        work_array(&j->threshold, d->most_whos * halves * j->largest * real),
        work_array(&j->most, d->most_items * real),
        work_array(&j->need, d->most_items * 8),
        work_array(&j->where, where > f->module->sum_bytes() ? where : f->module->sum_bytes()),
    };
    *bytes = mpki_blocks_bytes_of(arrays, MPKI_COUNT(arrays));
    if (only) return MPK_OK;
    mpk_status status = mpki_blocks_lay_out(f, &f->plan->work, arrays, MPKI_COUNT(arrays));
    return mpk_failed(status) ? status : mpki_blocks_wait(f);
}

/* The least that a stage takes, beside what is held: refused at once where that is too much. */
static mpk_status predict(mpki_blocks *f, const due *d) {
    const mpki_stages *s = f->stages;
    const int64_t size = (int64_t)mpk_scalar_size(s->stored), n = s->blocking->n;
    const int64_t nnz = s->a->ptr[n], blocks = s->index.nblocks;
    const int64_t entry = (int64_t)mpk_scalar_size(s->scalar) + 8;
    int64_t bytes = 0;
    make_work(f, d, true, &bytes);
    bytes -= f->plan->work.bytes;
    if (!f->plan->matrix.at)
        bytes += nnz * (s->matrix ? 4 : entry) * (s->at ? 2 : 1) + 40 * n + 4 * n * size;
    if (blocks > f->capacity) bytes += (blocks - f->capacity) * (s->ldu ? 34 : 22);
    bytes += s->index.ptr[s->index.m] * 16 - f->plan->lists.bytes;
    return mpki_blocks_check(f, bytes > 0 ? bytes : 0);
}

/* The end of a step in a trace, which waits for the device; and the beginning of the next. */
double mpki_blocks_spent(const mpki_blocks *f, const char *what, double began) {
    if (!mpki_trace_of(f->ctx)) return 0;
    mpki_blocks_wait(f);
    mpki_trace_end(f->ctx, MPKI_LANE_CALLER, what, -1, began);
    return mpki_trace_begin(f->ctx);
}

/* ---- what is kept for other values ----------------------------------------------------------- */

static int64_t plan_bytes(const mpki_block_plan *p) {
    return p->matrix.bytes + p->lists.bytes + p->work.bytes;
}

/* The plan of this stage: that of older values, which may be ready, or one of its own. */
static mpk_status find_plan(mpki_blocks *f) {
    mpki_block_plan **kept = f->stages->plan;
    if (f->plan) return MPK_OK;
    if (!kept || !*kept) f->plan = MPKI_ZNEW(f->ctx, STAGE, 1, mpki_block_plan);
    if (kept && !*kept) *kept = f->plan;
    if (kept) f->plan = *kept;
    f->owns_plan = !kept;
    if (!f->plan) return mpki_failed(f->ctx);
    f->held += plan_bytes(f->plan);
    return MPK_OK;
}

/* Take the addresses of a plan that is ready. False: it is not, or of another kind of factor. */
static bool take_plan(mpki_blocks *f) {
    mpki_cuda_stage *j = &f->job;
    const mpki_cuda_stage *p = &f->plan->job;
    if (!f->plan->ready || p->scalar != j->scalar || p->ldu != j->ldu || p->m != j->m ||
        p->nblocks != f->stages->index.nblocks)
        return false;
    j->a = p->a, j->at = p->at, j->scale = p->scale, j->row_scale = p->row_scale;
    j->row_of = p->row_of, j->perm = p->perm, j->iperm = p->iperm, j->of = p->of;
    j->pair = p->pair, j->place = p->place, j->pushed = p->pushed;
    j->ptr = p->ptr, j->diagonal = p->diagonal, j->block = p->block;
    j->other = p->other, j->there = p->there;
    j->who = p->who, j->first = p->first, j->entry = p->entry, j->item_who = p->item_who;
    j->slot = p->slot, j->portion = p->portion, j->portions = p->portions;
    j->work = p->work, j->work_u = p->work_u, j->pivot_work = p->pivot_work;
    j->norm = p->norm, j->threshold = p->threshold, j->most = p->most;
    j->need = p->need, j->where = p->where;
    return true;
}

/* All that a stage needs on the device, but the arena. */
mpk_status mpki_blocks_prepare(mpki_blocks *f, int32_t levels, const int32_t *ptr,
                               const int32_t *order) {
    mpki_stages *s = f->stages;
    due d = {0};
    int64_t bytes;
    mpk_status status = find_plan(f);
    if (mpk_failed(status)) return status;
    double began = mpki_trace_begin(f->ctx);
    const bool again = f->frames.at != NULL, ready = !again && take_plan(f);
    f->plan->ready = false;
    if (!ready) {
        status = list_due(f, levels, ptr, order, &d);
        began = mpki_blocks_spent(f, "items", began);
        if (!mpk_failed(status)) status = predict(f, &d);
        if (!mpk_failed(status) && !again) status = send_pattern(f);
    }
    borrow_matrix(f);
    if (!mpk_failed(status) && !again) status = make_frames(f);
    if (!mpk_failed(status) && !again) status = send_values(f);
    began = mpki_blocks_spent(f, "matrix", began);
    if (!mpk_failed(status)) status = send_stage(f, ready, !again);
    began = mpki_blocks_spent(f, "index", began);
    if (!mpk_failed(status) && !ready) status = make_work(f, &d, false, &bytes);
    mpki_blocks_spent(f, "memory", began);
    due_free(f, &d);
    if (mpk_failed(status)) return status;
    f->plan->job = f->job;
    f->plan->ready = s->plan && !again;
    return MPK_OK;
}

void mpki_blocks_release_plan(mpk_context *ctx, mpki_block_plan *p) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    d->table->give(d->cuda, p->matrix.at);
    d->table->give(d->cuda, p->lists.at);
    d->table->give(d->cuda, p->work.at);
    mpki_release(ctx, p->portion);
    mpki_release(ctx, p);
}
