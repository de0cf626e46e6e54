/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's engine for factors on blocks (engines/interface/engine.h): its table, a factor's
 * beginning and its end. */
#include "core/trace.h"
#include "state.h"
#include "engines/cuda/inverse/factor.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

/* ---- the object ------------------------------------------------------------------------------ */

static void plan_free(mpk_context *ctx, mpki_block_plan **plan) {
    if (*plan) mpki_blocks_release_plan(ctx, *plan);
    *plan = NULL;
}

static void end(mpk_context *ctx, mpki_blocks **handle) {
    mpki_blocks *f = *handle;
    if (!f) return;
    mpki_cuda_sweeps_drop(f->ctx, &f->solver);
    mpki_isai_factor_free(ctx, &f->isai);
    mpki_piece *const pieces[] = {&f->frames, &f->blocks, &f->words, &f->spare, &f->s, &f->border};
    for (int k = 0; k < MPKI_COUNT(pieces); k++) mpki_blocks_give(f, pieces[k]);
    if (f->owns_plan && f->plan) mpki_blocks_release_plan(ctx, f->plan);
    mpki_release(ctx, f->entries);
    mpki_release(ctx, f);
    *handle = NULL;
}

/* What a device does not do. */
static mpk_status refuse(const mpki_stages *s) {
    if (s->blocking->largest > MPKI_STORE_ROWS)
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, s->blocking->largest,
                          "frames of %d rows: a device takes at most %d (option block)",
                          s->blocking->largest, MPKI_STORE_ROWS);
    const mpk_schedule schedule = s->options->schedule;
    if (schedule == MPK_SCHEDULE_SUBSETS || schedule == MPK_SCHEDULE_ATOMIC)
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "schedule %s does not run on a device; pull and jacobi do",
                          schedule == MPK_SCHEDULE_SUBSETS ? "subsets" : "atomic");
    if (s->options->block_tolerance > 0)
        return mpki_error(s->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "block_tolerance does not run on a device; precision single does");
    return MPK_OK;
}

static mpk_status make(mpki_stages *s, mpki_blocks **out) {
    *out = NULL;
    mpk_status status = refuse(s);
    if (mpk_failed(status)) return status;
    const mpki_device *device = mpki_cuda_kept(s->ctx);
    if (!device->table->blocks)
        return mpki_error(s->ctx, MPK_ERR_DEVICE, STAGE, -1,
                          "the CUDA module has no factorization on blocks");
    mpki_blocks *f = *out = MPKI_ZNEW(s->ctx, STAGE, 1, mpki_blocks);
    if (!f) return mpki_failed(s->ctx);
    f->ctx = s->ctx;
    f->stages = s;
    f->device = device;
    f->module = device->table->blocks;
    f->norm1 = -1;
    const mpk_options *o = s->options;
    const int32_t largest = s->blocking->largest > 0 ? s->blocking->largest : 1;
    f->job = (mpki_cuda_stage){.scalar = s->stored,
                               .a_scalar = s->scalar,
                               .n = s->blocking->n,
                               .m = s->index.m,
                               .largest = largest,
                               .ldu = s->ldu,
                               .hermitian = s->hermitian,
                               .a_hermitian = s->symmetry == MPK_HERMITIAN,
                               .type = (int32_t)o->factor_type,
                               .complete = s->complete,
                               .relaxed = s->relaxed,
                               .lifted = s->lifted,
                               .butterfly = o->butterfly != MPK_ON ? 0
                                            : o->stages == 1       ? 2
                                                                   : 1,
                               .whole = o->drop_norm == MPK_DROP_NORM_WHOLE && !s->complete &&
                                        o->schedule != MPK_SCHEDULE_JACOBI,
                               .unlimited = !(o->fill_factor > 0) && !s->complete,
                               .first_come = o->deterministic == MPK_OFF,
                               .seed = (int64_t)o->seed,
                               .size = s->size,
                               .omega = s->omega,
                               .drop_tolerance = o->drop_tolerance,
                               .shift = o->shift,
                               .stream = f->module->stream(device->cuda)};
    f->job.pivot_stride = f->module->pivot_stride(&f->job);
    return MPK_OK;
}

/* A later stage allocates the memory of its blocks. */
static mpk_status grow(mpki_blocks *f) {
    (void)f;
    return MPK_OK;
}

/* The arena as small as what is in it. */
static mpk_status shrink(mpki_blocks *f) {
    const int64_t bytes = 4 * f->notes.used + 256;
    if (bytes + bytes / 8 >= f->words.bytes || bytes > mpki_blocks_left(f)) return MPK_OK;
    mpki_piece small = {0};
    mpk_status status = mpki_blocks_take(f, &small, bytes);
    if (status == MPK_ERR_MEMORY) { /* then it stays as it is */
        mpki_clear_error(f->ctx);
        return MPK_OK;
    }
    if (!mpk_failed(status))
        status = mpki_blocks_status(
            f, f->module->move(f->device->cuda, small.at, f->words.at, 4 * f->notes.used));
    if (!mpk_failed(status)) status = mpki_blocks_wait(f);
    if (mpk_failed(status)) {
        mpki_blocks_give(f, &small);
        return status;
    }
    mpki_blocks_give(f, &f->words);
    f->words = small;
    f->job.to.words = (uint32_t *)(void *)small.at;
    return MPK_OK;
}

static void fill_store(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_cuda_stage *j = &f->job;
    f->store = (mpki_cuda_store){.scalar = j->scalar,
                                 .n = j->n,
                                 .m = j->m,
                                 .ldu = s->ldu,
                                 .hermitian = s->hermitian,
                                 .bptr = j->bptr,
                                 .levels = s->levels.count,
                                 .level = s->levels.ptr,
                                 .frame = f->plan->frame_order,
                                 .ptr = j->ptr,
                                 .diagonal = j->diagonal,
                                 .other = j->other,
                                 .block = j->block,
                                 .nblocks = j->nblocks,
                                 .words = j->to.words,
                                 .lower = j->to.lower,
                                 .upper = j->to.upper,
                                 .pivot = j->to.pivot,
                                 .pivot_n = j->to.pivot_n,
                                 .d = j->to.d,
                                 .dinv = j->to.dinv,
                                 .border = f->store.border,
                                 .border_l = f->store.border_l,
                                 .border_row = f->store.border_row,
                                 .border_dinv = f->store.border_dinv};
}

/* f->entries := how many each block has, on the host. */
static mpk_status fetch_entries(mpki_blocks *f) {
    const int64_t n = f->job.nblocks;
    if (f->entries) return MPK_OK;
    f->entries = MPKI_NEW(f->ctx, STAGE, n, uint32_t);
    if (!f->entries) return mpki_failed(f->ctx);
    mpk_status status = mpki_blocks_copy(f, f->entries, f->job.held, n * 4, false);
    if (!mpk_failed(status)) status = mpki_blocks_wait(f);
    if (mpk_failed(status)) {
        mpki_release(f->ctx, f->entries);
        f->entries = NULL;
    }
    return status;
}

/* The approximate inverses have all that is applied: the factor itself is released, but for the
 * counts of its blocks and what is kept for other values. */
static mpk_status release_blocks(mpki_blocks *f) {
    const mpk_status status = fetch_entries(f);
    if (mpk_failed(status)) return status;
    mpki_blocks_give(f, &f->words);
    mpki_blocks_give(f, &f->blocks);
    mpki_blocks_give(f, &f->frames);
    if (f->owns_plan) mpki_blocks_give(f, &f->plan->lists);
    f->store = (mpki_cuda_store){0};
    return MPK_OK;
}

static int64_t bytes_of(const mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    return f->held - (f->plan->ready ? f->plan->matrix.bytes + f->plan->work.bytes : 0) -
           s->index.ptr[s->index.m] * (int64_t)sizeof *s->index.entry;
}

static mpk_status invert(mpki_blocks *f, mpki_block_counts *c) {
    return mpki_isai_factor_make(f->ctx, f->stages, &f->store, &f->isai, &c->isai);
}

static mpk_status settle(mpki_blocks *f, bool inverses, mpki_block_counts *c) {
    mpk_status status = MPK_OK;
    if (!inverses) mpki_isai_factor_free(f->ctx, &f->isai);
    if (f->isai) mpki_cuda_sweeps_drop(f->ctx, &f->solver);
    if (!f->isai)
        c->isai = (mpk_isai_info){0};
    else if (mpki_isai_factor_suffices(f->isai))
        status = release_blocks(f);
    c->bytes = bytes_of(f) + c->isai.bytes;
    return status;
}

static mpk_status finish(mpki_blocks *f, mpki_block_counts *c) {
    const mpki_stages *s = f->stages;
    mpki_cuda_held held;
    mpki_cuda_pivots_of p;
    const double began = mpki_trace_begin(f->ctx);
    *c = (mpki_block_counts){.smallest = INFINITY};
    mpk_status status = mpki_blocks_status(f, f->module->sum(f->device->cuda, &f->job, &held, &p));
    if (!mpk_failed(status) && s->levels.count > 0)
        status = mpki_blocks_copy(f, f->plan->frame_order, s->levels.frame,
                                  (int64_t)s->levels.ptr[s->levels.count] * 4, true);
    if (!mpk_failed(status)) status = mpki_blocks_wait(f);
    if (!f->plan->ready) { /* else it is for other values */
        mpki_blocks_give(f, &f->plan->matrix);
        mpki_blocks_give(f, &f->plan->work);
    }
    if (!mpk_failed(status)) status = shrink(f);
    mpki_blocks_spent(f, "finish", began);
    if (mpk_failed(status)) return status;
    fill_store(f);
    c->flops = (double)f->notes.flops;
    c->dropped = (int64_t)f->notes.dropped;
    c->kept = held.kept, c->dense = held.dense, c->bitmap = held.bitmap, c->rows = held.rows;
    c->fill_out = held.fill_out;
    c->positive = p.positive, c->negative = p.negative, c->zero = p.zero;
    c->two_by_two = p.two_by_two, c->perturbed = p.perturbed;
    c->smallest = p.smallest, c->largest = p.largest;
    if (f->store.border) {
        const mpki_dense_pivot *d = &f->dense;
        c->positive += d->positive, c->negative += d->negative, c->zero += d->zero;
        c->two_by_two += d->two_by_two, c->perturbed += d->perturbed;
        if (d->smallest < c->smallest) c->smallest = d->smallest;
        if (d->largest > c->largest) c->largest = d->largest;
        c->flops += (double)d->rows * d->rows * d->rows / 3;
    }
    c->bytes = bytes_of(f);
    if (s->options->triangular != MPK_TRIANGULAR_ISAI) return MPK_OK;
    status = invert(f, c);
    return mpk_failed(status) ? status : settle(f, true, c);
}

static int64_t entries(const mpki_blocks *factor, int64_t block) {
    mpki_blocks *f = (mpki_blocks *)(uintptr_t)factor; /* it keeps the notes */
    return mpk_failed(fetch_entries(f)) ? 0 : f->entries[block] & 0xffff;
}

const mpki_cuda_store *mpki_cuda_blocks_store(const mpki_blocks *f) {
    return &f->store;
}

int64_t mpki_cuda_blocks_words(const mpki_blocks *f) {
    return f->notes.used;
}

static mpk_status solver_make(mpk_context *ctx, const mpki_blocks *f, int threads, int32_t columns,
                              mpki_block_solver **s, int32_t *takes) {
    (void)threads;
    if (f->isai) return mpki_cuda_sweeps_of_products(ctx, f->isai, s, takes);
    /* what a factor keeps for its next solve is no part of it */
    mpki_kept_solver *const kept = &((mpki_blocks *)(uintptr_t)f)->solver;
    const bool own = ctx == f->ctx;
    *s = own ? mpki_cuda_sweeps_kept(kept, columns, takes) : NULL;
    if (*s) return MPK_OK;
    const mpk_status status = mpki_cuda_sweeps_make(ctx, f->stages, &f->store, columns, s, takes);
    if (own && !mpk_failed(status)) mpki_cuda_sweeps_keep(*s, kept);
    return status;
}

static int64_t beside(const mpki_blocks *f) {
    int32_t takes;
    mpki_block_solver *s = mpki_cuda_sweeps_kept(&((mpki_blocks *)(uintptr_t)f)->solver, 1, &takes);
    const int64_t bytes = s ? mpki_cuda_sweeps_summary(s).bytes : 0;
    if (s) mpki_cuda_sweeps_free(f->ctx, &s);
    return bytes;
}

const mpki_block_engine mpki_cuda_blocks = {
    .widest = MPKI_STORE_ROWS,
    .plan_free = plan_free,
    .make = make,
    .free = end,
    .grow = grow,
    .stage = mpki_cuda_blocks_stage,
    .sweeps = mpki_cuda_blocks_sweeps,
    .finish = finish,
    .invert = invert,
    .settle = settle,
    .entries = entries,
    .beside = beside,
    .solver_make = solver_make,
    .solver_free = mpki_cuda_sweeps_free,
    .apply = mpki_cuda_sweeps_apply,
};
