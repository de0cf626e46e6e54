/* SPDX-License-Identifier: BSD-3-Clause */
/* The processor's engine for factors on blocks: its table of slots; a factor is made, computed and
 * freed here. */
#include "core/trace.h"
#include "border.h"
#include "inverse.h"
#include "rows.h"
#include "tuning.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

static void work_free(mpki_blocks *f) {
    if (!f->meta) return;
    mpki_chunk_free(f->meta);
    mpki_workers_free(f->meta);
    mpki_release(f->stages->ctx, f->meta);
    f->meta = NULL;
}

static void end(mpk_context *ctx, mpki_blocks **handle) {
    mpki_blocks *f = *handle;
    if (!f) return;
    work_free(f);
    mpki_border_free(ctx, &f->border);
    mpki_blocks_drop(f);
    mpki_rows_free(ctx, &f->rows);
    mpki_block_isai_free(ctx, &f->isai);
    mpki_release(ctx, f);
    *handle = NULL;
}

/* Allocate memory for all blocks of the index; new ones are zero. */
static mpk_status grow(mpki_blocks *f) {
    mpk_context *ctx = f->stages->ctx;
    const int64_t n = f->stages->index.nblocks, had = f->capacity;
    if (n <= had && f->lower) return MPK_OK; /* an index without blocks has empty arrays */
    for (int half = 0; half <= f->stages->ldu; half++) {
        mpki_block **at = half ? &f->upper : &f->lower;
        mpki_block *more = mpki_resize(ctx, STAGE, *at, n, sizeof **at);
        if (!more) return mpki_failed(ctx);
        memset(more + had, 0, (size_t)(n - had) * sizeof *more);
        *at = more;
        if (!f->stages->ldu) f->upper = f->lower; /* now, for after a failure both are freed */
    }
    f->capacity = n;
    return MPK_OK;
}

static mpk_status fill(mpki_blocks *f) {
    mpki_stages *s = f->stages;
    mpk_context *ctx = s->ctx;
    mpk_status status = grow(f);
    f->frame = MPKI_ZNEW(ctx, STAGE, s->blocking->nframes, mpki_frame);
    if (!mpk_failed(status) && !f->frame) status = mpki_failed(ctx);
    if (!mpk_failed(status)) status = mpki_arena_init(ctx, 1 << 14, 0, &f->arena);
    if (mpk_failed(status)) return status;
    f->have_arena = true;
    f->arena.step = s->nnz * (int64_t)mpk_scalar_size(f->scalar) / 8 + (1 << 16);
    if (f->arena.step > HUGE_STEP / 8) /* large enough for huge pages */
        f->arena.step = (f->arena.step + HUGE_STEP - 1) / HUGE_STEP * HUGE_STEP;
    mpki_meta *meta = f->meta = MPKI_ZNEW(ctx, STAGE, 1, mpki_meta);
    if (!meta) return mpki_failed(ctx);
    meta->ctx = ctx;
    meta->stages = s;
    meta->bf = f;
    meta->norm1 = -1;
    meta->threads = s->options->threads;
    meta->widest = mpki_block_ld(s->blocking->largest, mpk_scalar_size(f->scalar));
    MPKI_DISPATCH(f->scalar, meta_begin)(meta);
    return mpki_workers_make(meta);
}

static void plan_free(mpk_context *ctx, mpki_block_plan **plan) {
    if (*plan) mpki_portions_free(ctx, &(*plan)->portions);
    mpki_release(ctx, *plan);
    *plan = NULL;
}

static mpk_status make(mpki_stages *s, mpki_blocks **out) {
    mpki_blocks *f = MPKI_ZNEW(s->ctx, STAGE, 1, mpki_blocks);
    *out = f;
    if (!f) return mpki_failed(s->ctx);
    f->scalar = s->stored;
    f->stages = s;
    mpk_status status = fill(f);
    if (mpk_failed(status)) end(s->ctx, out);
    return status;
}

/* Threads are started only when there is work for them. */
static mpk_status threads(mpki_blocks *f) {
    mpki_meta *meta = f->meta;
    if (meta->threads > 1) meta->pool = mpki_context_pool(meta->ctx, meta->threads, 16);
    return mpki_failed(meta->ctx);
}

/* Batches are not worth it for blocks that are numbers. */
static bool is_scalar(const mpki_stages *s) {
    return s->blocking->largest == 1 && s->options->stages == 1 && !s->ldu &&
           s->options->schedule == MPK_SCHEDULE_PULL;
}

/* One stage without an inspector. */
static mpk_status scalar_stage(mpki_blocks *f) {
    mpki_stages *s = f->stages;
    mpki_levels all = {0};
    mpk_status status = MPK_OK;
    if (s->due < s->index.m) {
        status = mpki_levels_make(s->ctx, &s->index, s->due, &all);
        if (!mpk_failed(status)) status = mpki_levels_append(s->ctx, &s->levels, &all);
        if (!mpk_failed(status)) s->due = s->index.m;
        mpki_levels_free(s->ctx, &all);
    }
    const double began = mpki_trace_begin(f->meta->ctx);
    if (!mpk_failed(status)) status = MPKI_DISPATCH(f->scalar, scalar_stage)(f->meta);
    mpki_trace_end(f->meta->ctx, MPKI_LANE_CALLER, "scalar factor", -1, began);
    return status;
}

static mpk_status stage(mpki_blocks *f) {
    mpk_status status = threads(f);
    if (mpk_failed(status)) return status;
    if (is_scalar(f->stages)) return scalar_stage(f);
    const bool border = f->stages->border < f->stages->index.m;
    if (border) status = mpki_border_make(f);
    if (!mpk_failed(status)) status = mpki_run_levels(f->meta);
    return mpk_failed(status) || !border ? status : mpki_border_factor(f);
}

static mpk_status sweeps(mpki_blocks *f, double push, int32_t *fail) {
    mpk_status status = threads(f);
    return mpk_failed(status) ? status : mpki_run_sweeps(f->meta, push, fail);
}

mpk_status mpki_block_finish_as_blocks(mpki_blocks *f, mpki_block_counts *c) {
    const mpki_stages *s = f->stages;
    *c = (mpki_block_counts){.smallest = INFINITY};
    for (int t = 0; t < f->meta->threads; t++) {
        const mpki_meta_worker *me = &f->meta->worker[t];
        c->flops += me->flops;
        c->perturbed += me->perturbed;
        c->two_by_two += me->two_by_two;
        c->kept += me->kept;
        c->dropped += me->dropped;
        c->dense += me->dense;
        c->bitmap += me->bitmap;
        c->rows += me->rows;
        c->fill_out += me->fill_out;
        c->positive += me->positive;
        c->negative += me->negative;
        c->zero += me->zero;
        if (me->smallest < c->smallest) c->smallest = me->smallest;
        if (me->largest > c->largest) c->largest = me->largest;
    }
    f->in_blocks = true;
    c->bytes = mpki_arena_bytes(&f->arena) + mpki_border_bytes(f->border, f->scalar) +
               f->capacity * (int64_t)sizeof *f->lower * (s->ldu ? 2 : 1) +
               s->index.m * (int64_t)sizeof *f->frame;
    work_free(f);
    return MPK_OK;
}

mpk_status mpki_block_finish_as_rows(mpki_blocks *f, mpki_block_counts *c) {
    mpki_pool *pool = f->meta->pool;
    mpki_block_finish_as_blocks(f, c);
    f->in_blocks = false;
    mpk_status status = mpki_rows_make(f->stages->ctx, f, f, true, pool, &f->rows);
    if (mpk_failed(status) || !f->rows) return status;
    c->bytes = f->rows->bytes;
    c->by_rows = f->rows->held;
    return MPK_OK;
}

static mpk_status invert(mpki_blocks *f, mpki_block_counts *c) {
    mpk_context *ctx = f->stages->ctx;
    const int threads = f->stages->options->threads;
    const mpk_status status =
        mpki_block_isai_make(f, threads > 1 ? mpki_context_pool(ctx, threads, 16) : NULL);
    if (!mpk_failed(status)) c->isai = f->isai->info;
    return status;
}

static mpk_status settle(mpki_blocks *f, bool inverses, mpki_block_counts *c) {
    mpk_context *ctx = f->stages->ctx;
    if (!inverses) mpki_block_isai_free(ctx, &f->isai);
    if (f->isai) {
        mpki_rows_free(ctx, &f->rows);
        const mpk_status status = mpki_block_isai_settle(f);
        if (mpk_failed(status)) return status;
        c->isai = f->isai->info;
        c->bytes = c->isai.bytes + mpki_border_bytes(f->border, f->scalar);
        c->by_rows = 0;
        return MPK_OK;
    }
    c->isai = (mpk_isai_info){0};
    f->in_blocks = false;
    if (!f->rows) return MPK_OK;
    if (f->stages->blocking->largest == 1) { /* else a solver makes rows when it is worth it */
        mpki_blocks_drop(f);
        c->bytes = f->rows->bytes;
        c->by_rows = f->rows->held;
    } else {
        mpki_rows_free(ctx, &f->rows);
    }
    return MPK_OK;
}

/* Products with approximate inverses take the place of triangular solves. */
static mpk_status finish_as_inverses(mpki_blocks *f, mpki_block_counts *c) {
    mpki_block_finish_as_blocks(f, c);
    const mpk_status status = invert(f, c);
    return mpk_failed(status) ? status : settle(f, true, c);
}

/* As it is applied fastest, and as blocks, of which approximate inverses can be made yet. */
static mpk_status finish_as_both(mpki_blocks *f, mpki_block_counts *c) {
    mpki_pool *pool = f->meta->pool;
    mpki_block_finish_as_blocks(f, c);
    return mpki_rows_make(f->stages->ctx, f, NULL, f->stages->blocking->largest == 1, pool,
                          &f->rows);
}

/* Blocks in fewer bits: they stay blocks. */
static mpk_status narrow(mpki_blocks *f, mpki_block_counts *c) {
    const int64_t before = mpki_arena_bytes(&f->arena);
    const mpk_status status = MPKI_DISPATCH(f->scalar, blocks_narrow)(f);
    c->bytes += mpki_arena_bytes(&f->arena) - before;
    return status;
}

/* Numbers become rows at once; larger blocks once a solver has applied them often enough. */
static mpk_status finish(mpki_blocks *f, mpki_block_counts *c) {
    if (f->stages->options->triangular == MPK_TRIANGULAR_ISAI) return finish_as_inverses(f, c);
    if (f->stages->options->triangular == MPK_TRIANGULAR_AUTO) return finish_as_both(f, c);
    if (f->stages->blocking->largest == 1) return mpki_block_finish_as_rows(f, c);
    const mpk_status status = mpki_block_finish_as_blocks(f, c);
    if (!mpk_failed(status) && f->stages->options->block_tolerance > 0) return narrow(f, c);
    f->in_blocks = false;
    return status;
}

static int64_t entries(const mpki_blocks *f, int64_t block) {
    if (f->isai) return f->isai->entries[block];
    return f->rows ? f->rows->entries[block] : f->lower[block].nnz;
}

const mpki_block_engine mpki_cpu_blocks = {
    .plan_free = plan_free,
    .make = make,
    .free = end,
    .grow = grow,
    .stage = stage,
    .finds_levels = true,
    .sweeps = sweeps,
    .finish = finish,
    .invert = invert,
    .settle = settle,
    .entries = entries,
    .solver_make = mpki_block_solver_make,
    .solver_free = mpki_block_solver_free,
    .apply = mpki_block_apply,
};
