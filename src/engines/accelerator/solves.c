/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves on an accelerator, by products alone. A block has a right-hand side in each row: y^T (y^H
 * of Hermitian A) by frames. Forward
 *  Y_f := B_f M_f^*, all at once, and in the order of the level sets Y_f -= sum_k Y_k (M_f L_fk)^*,
 * then Z_f := Y_f D_f^-1, and backward
 *  X_f := Z_f M_f, all at once, and X_f -= sum_j X_j (L_jf M_f);
 * of LDU by N and U^T. It is what the processor's engine does (cpu/block_factor/sweeps_t.c) with
 * triangles whose blocks on the diagonal are I, so that a level set is one batch. */
#include "solves.h"

#include <string.h>

static const char STAGE[] = "solve";

/* ---- memory ---------------------------------------------------------------------------------- */

bool mpki_offload_solves_there(const mpki_blocks *f) {
    const mpk_accelerator *a = f->offload->on->table;
    return a->solves && !a->load;
}

/* What only sending takes. */
static void free_sent(mpk_context *ctx, struct mpki_offload_solves *s) {
    for (int k = 0; k < MPKI_SENT; k++) {
        mpki_release(ctx, s->sent[k]);
        s->sent[k] = NULL;
    }
    mpki_release(ctx, s->sent_to);
    s->sent_to = NULL;
}

void mpki_offload_solves_free(mpki_blocks *f) {
    struct mpki_offload *o = f->offload;
    struct mpki_offload_solves *s = o->solves;
    mpk_context *ctx = f->stages->ctx;
    const int32_t frames = f->stages->blocking->nframes;
    if (!s) return;
    for (int k = 0; k < MPKI_SENT; k++) {
        mpki_offload_let_go(o->on->table, s->pivot[k], frames);
        mpki_release(ctx, s->pivot[k]);
    }
    for (int k = 0; k < MPKI_VECTORS; k++) {
        mpki_offload_let_go(o->on->table, s->vector[k], frames);
        mpki_release(ctx, s->vector[k]);
    }
    for (int k = 0; k < 2; k++) {
        mpki_offload_let_go(o->on->table, s->below[k], f->stages->index.nblocks);
        mpki_release(ctx, s->below[k]);
    }
    mpki_offload_let_go(o->on->table, &s->unit, 1);
    free_sent(ctx, s);
    void *own[] = {s->to, s->a, s->b, s->units, s->first, s->step};
    for (size_t k = 0; k < sizeof own / sizeof *own; k++) mpki_release(ctx, own[k]);
    mpki_release(ctx, s);
    o->solves = NULL;
}

static mpk_status blocks_of_frames(mpki_blocks *f, void ***list) {
    const int32_t frames = f->stages->blocking->nframes;
    mpk_status status = MPK_OK;
    *list = MPKI_ZNEW(f->stages->ctx, STAGE, frames, void *);
    if (!*list) return mpki_failed(f->stages->ctx);
    for (int32_t k = 0; k < frames && !mpk_failed(status); k++)
        status = mpki_offload_block(f, &(*list)[k]);
    return status;
}

mpk_status mpki_offload_solves_make(mpki_blocks *f) {
    mpk_context *ctx = f->stages->ctx;
    struct mpki_offload_solves *s = MPKI_ZNEW(ctx, STAGE, 1, struct mpki_offload_solves);
    mpk_status status = s ? MPK_OK : mpki_failed(ctx);
    f->offload->solves = s;
    if (!s) return status;
    const int64_t some = mpki_offload_some(f->offload);
    for (int k = 0; k < MPKI_SENT; k++)
        s->sent[k] = mpki_alloc(ctx, STAGE, some, (size_t)mpki_offload_bytes(f->offload));
    s->sent_to = MPKI_NEW(ctx, STAGE, some, void *);
    status = mpki_failed(ctx);
    for (int k = 0; k < MPKI_SENT && !mpk_failed(status); k++)
        status = blocks_of_frames(f, &s->pivot[k]);
    for (int k = 0; k < MPKI_VECTORS && !mpk_failed(status); k++)
        status = blocks_of_frames(f, &s->vector[k]);
    return mpk_failed(status) ? status : mpki_offload_multiple(f, 1, &s->unit);
}

bool mpki_offload_solves_sent(const mpki_blocks *f, int64_t k, void *to[MPKI_SENT]) {
    const struct mpki_offload_solves *s = f->offload->solves;
    for (int what = 0; s && what < MPKI_SENT; what++)
        to[what] = (char *)s->sent[what] + k * mpki_offload_bytes(f->offload);
    return s != NULL;
}

mpk_status mpki_offload_solves_send(mpki_blocks *f, int64_t count, const int64_t *frame,
                                    int64_t first) {
    const struct mpki_offload_solves *s = f->offload->solves;
    void *from[MPKI_SENT];
    mpk_status status = MPK_OK;
    mpki_offload_solves_sent(f, first, from);
    for (int what = 0; what < MPKI_SENT && !mpk_failed(status); what++) {
        for (int64_t k = 0; k < count; k++) s->sent_to[k] = s->pivot[what][frame[k]];
        status = mpki_offload_put_all(f, count, s->sent_to, from[what]);
    }
    return status;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool room(mpk_context *ctx, int64_t count, int64_t *capacity, void **list, size_t size) {
    if (count < *capacity) return true;
    const int64_t more = *capacity ? 2 * *capacity : 64;
    void *p = mpki_resize(ctx, STAGE, *list, more, size);
    if (!p) return false;
    *list = p;
    *capacity = more;
    return true;
}

/* Lists of the same length grow together. */
static mpk_status add_item(mpki_blocks *f, void *a, void *b) {
    struct mpki_offload_solves *s = f->offload->solves;
    int64_t capacity = s->items_room;
    if (!room(f->stages->ctx, s->items, &s->items_room, (void **)&s->a, sizeof *s->a) ||
        !room(f->stages->ctx, s->items, &capacity, (void **)&s->b, sizeof *s->b) ||
        !room(f->stages->ctx, s->items, &s->units_room, (void **)&s->units, sizeof *s->units))
        return mpki_failed(f->stages->ctx);
    s->a[s->items] = a, s->b[s->items] = b, s->units[s->items++] = s->unit;
    return MPK_OK;
}

static mpk_status add_target(mpki_blocks *f, void *to) {
    struct mpki_offload_solves *s = f->offload->solves;
    if (!room(f->stages->ctx, s->tos, &s->tos_room, (void **)&s->to, sizeof *s->to))
        return mpki_failed(f->stages->ctx);
    s->to[s->tos++] = to;
    return MPK_OK;
}

static mpk_status add_first(mpki_blocks *f, int64_t at) {
    struct mpki_offload_solves *s = f->offload->solves;
    if (!room(f->stages->ctx, s->firsts, &s->firsts_room, (void **)&s->first, sizeof *s->first))
        return mpki_failed(f->stages->ctx);
    s->first[s->firsts++] = at;
    return MPK_OK;
}

static mpki_sweep_step begin_step(const mpki_blocks *f, int kernel, bool sums) {
    const struct mpki_offload_solves *s = f->offload->solves;
    return (mpki_sweep_step){kernel, s->tos, 0, s->items, sums ? s->firsts : -1};
}

/* A step of nothing is none. */
static mpk_status end_step(mpki_blocks *f, mpki_sweep_step now) {
    struct mpki_offload_solves *s = f->offload->solves;
    now.blocks = s->tos - now.to;
    if (now.blocks == 0) {
        if (now.first >= 0) s->firsts = now.first;
        return MPK_OK;
    }
    if (!room(f->stages->ctx, s->steps, &s->steps_room, (void **)&s->step, sizeof *s->step))
        return mpki_failed(f->stages->ctx);
    s->step[s->steps++] = now;
    return now.first >= 0 ? add_first(f, s->items - now.at) : MPK_OK;
}

/* Vectors of all frames := 0. */
static mpk_status list_zeros(mpki_blocks *f, int vector) {
    const struct mpki_offload_solves *s = f->offload->solves;
    const mpki_sweep_step now = begin_step(f, MPKI_KERNEL_Z, false);
    mpk_status status = MPK_OK;
    for (int32_t k = 0; k < f->stages->blocking->nframes && !mpk_failed(status); k++)
        status = add_target(f, s->vector[vector][k]);
    return mpk_failed(status) ? status : end_step(f, now);
}

/* For some frames: to := from times a block of their pivots. */
static mpk_status list_pivots(mpki_blocks *f, const int32_t *frame, int32_t count, int to, int from,
                              int what) {
    const struct mpki_offload_solves *s = f->offload->solves;
    const mpki_sweep_step now = begin_step(f, MPKI_KERNEL_D, false);
    mpk_status status = MPK_OK;
    for (int32_t k = 0; k < count && !mpk_failed(status); k++) {
        status = add_target(f, s->vector[to][frame[k]]);
        if (!mpk_failed(status))
            status = add_item(f, s->vector[from][frame[k]], s->pivot[what][frame[k]]);
    }
    return mpk_failed(status) ? status : end_step(f, now);
}

/* What frames of a level set take from those before them, or behind: in one batch of sums, or round
 * after round, one item for each. */
static mpk_status list_updates(mpki_blocks *f, const int32_t *frame, int32_t count, bool backward) {
    const struct mpki_offload *o = f->offload;
    const struct mpki_offload_solves *s = o->solves;
    const mpki_ibcsr *x = &f->stages->index;
    const bool sums = o->tasks && o->on->table->sums;
    const int vector = backward ? MPKI_VECTOR_GIVEN : MPKI_VECTOR_HALFWAY;
    mpk_status status = MPK_OK;
    bool more = true;
    for (int64_t round = 0; more && !mpk_failed(status); round++) {
        const mpki_sweep_step now = begin_step(f, MPKI_KERNEL_D, sums);
        more = false;
        for (int32_t k = 0; k < count && !mpk_failed(status); k++) {
            const int32_t g = frame[k];
            const int64_t begin = backward ? x->diagonal[g] + 1 : x->ptr[g];
            const int64_t end = backward ? x->ptr[g + 1] : x->diagonal[g];
            int64_t found = 0;
            for (int64_t e = begin; e < end && !mpk_failed(status); e++) {
                void *block = s->below[backward][x->entry[e].block];
                if (!block || found++ < (sums ? 0 : round)) continue;
                if (!sums && found > round + 1) {
                    more = true;
                    break;
                }
                if (!sums || found == 1) {
                    if (sums) status = add_first(f, s->items - now.at);
                    if (!mpk_failed(status)) status = add_target(f, s->vector[vector][g]);
                }
                if (!mpk_failed(status))
                    status = add_item(f, s->vector[vector][x->entry[e].other], block);
            }
        }
        if (!mpk_failed(status)) status = end_step(f, now);
    }
    return status;
}

static mpk_status list_steps(mpki_blocks *f) {
    struct mpki_offload_solves *s = f->offload->solves;
    const mpki_levels *v = &f->stages->levels;
    const int32_t all = v->ptr[v->count];
    mpk_status status = list_zeros(f, MPKI_VECTOR_HALFWAY);
    if (!mpk_failed(status))
        status = list_pivots(f, v->frame, all, MPKI_VECTOR_HALFWAY, MPKI_VECTOR_GIVEN, MPKI_SENT_M);
    for (int32_t l = 0; l < v->count && !mpk_failed(status); l++)
        status = list_updates(f, v->frame + v->ptr[l], v->ptr[l + 1] - v->ptr[l], false);
    s->halfway = s->steps;
    if (!mpk_failed(status)) status = list_zeros(f, MPKI_VECTOR_SCALED);
    if (!mpk_failed(status))
        status =
            list_pivots(f, v->frame, all, MPKI_VECTOR_SCALED, MPKI_VECTOR_HALFWAY, MPKI_SENT_D);
    if (!mpk_failed(status)) status = list_zeros(f, MPKI_VECTOR_GIVEN);
    if (!mpk_failed(status))
        status =
            list_pivots(f, v->frame, all, MPKI_VECTOR_GIVEN, MPKI_VECTOR_SCALED, MPKI_SENT_BACK);
    for (int32_t l = v->count - 1; l >= 0 && !mpk_failed(status); l--)
        status = list_updates(f, v->frame + v->ptr[l], v->ptr[l + 1] - v->ptr[l], true);
    return status;
}

mpk_status mpki_offload_sweep(const mpki_blocks *f, int kernel, int64_t count, void *const *to,
                              void *const *a, void *const *b, void *const *pivot,
                              const int64_t *first) {
    const struct mpki_offload *o = f->offload;
    const mpk_accelerator *table = o->on->table;
    const mpk_accelerator_batch batch = {
        .n = o->n, .count = count, .block = {to, a, b}, .pivot = pivot};
    const mpk_accelerator_task task = {.struct_size = sizeof task,
                                       .batch = &batch,
                                       .kernel = kernel,
                                       .scalar = o->scalar,
                                       .type = o->type,
                                       .hermitian = o->hermitian,
                                       .first = first};
    o->on->report.solve_calls++;
    return o->tasks                  ? table->run(table->self, &task)
           : kernel == MPKI_KERNEL_D ? table->downdate(table->self, &batch)
                                     : table->zero_out(table->self, &batch);
}

/* The lists of blocks with entries, without values: block numbers. */
static mpk_status list_below(mpki_blocks *f, mpki_batch_lists *list) {
    const struct mpki_offload *o = f->offload;
    const mpki_ibcsr *x = &f->stages->index;
    mpk_status status = MPK_OK;
    list->count = 0;
    for (int64_t b = 0; b < x->nblocks && !mpk_failed(status); b++)
        if (f->stages->stored_blocks[b] && o->block[b])
            status = mpki_offload_add(f, list, b, mpki_col_frame(x, b), MPKI_HALF_LOWER);
    return status;
}

/* to[b] := -a d b^* for all listed blocks, lists of a and b as they are set. */
static mpk_status multiply_below(mpki_blocks *f, mpki_batch_lists *list, void **to, void *d) {
    for (int64_t k = 0; k < list->count; k++) {
        list->block[0][k] = to[list->id[k]];
        list->pivot[k] = d;
    }
    mpk_status status =
        mpki_offload_sweep(f, MPKI_KERNEL_Z, list->count, list->block[0], NULL, NULL, NULL, NULL);
    if (!mpk_failed(status))
        status = mpki_offload_sweep(f, MPKI_KERNEL_D, list->count, list->block[0], list->block[1],
                                    list->block[2], list->pivot, NULL);
    return mpki_offload_status(f, status, "a product");
}

/* M_i L_ik and M_k^* L_ik^* of each block L_ik, of LDU N_k^* of the other half's. */
static mpk_status make_below(mpki_blocks *f) {
    struct mpki_offload *o = f->offload;
    struct mpki_offload_solves *s = o->solves;
    const mpki_ibcsr *x = &f->stages->index;
    mpki_batch_lists *list = &o->batch; /* its pointers alone */
    mpk_status status = list_below(f, list);
    for (int k = 0; k < 2 && !mpk_failed(status); k++) {
        s->below[k] = MPKI_ZNEW(f->stages->ctx, STAGE, x->nblocks, void *);
        if (!s->below[k]) return mpki_failed(f->stages->ctx);
        for (int64_t i = 0; i < list->count && !mpk_failed(status); i++)
            status = mpki_offload_block(f, &s->below[k][list->id[i]]);
    }
    if (mpk_failed(status) || list->count == 0) return status;
    for (int64_t k = 0; k < list->count; k++) /* L^*, where the others will be */
        list->block[1][k] = s->unit, list->block[2][k] = o->block[list->id[k]];
    status = multiply_below(f, list, s->below[1], o->minus);
    for (int64_t k = 0; k < list->count; k++) {
        list->block[1][k] = s->pivot[MPKI_SENT_M][mpki_row_frame(x, list->id[k])];
        list->block[2][k] = s->below[1][list->id[k]];
    }
    if (!mpk_failed(status)) status = multiply_below(f, list, s->below[0], s->unit);
    for (int64_t k = 0; k < list->count; k++) {
        list->block[1][k] = s->pivot[MPKI_SENT_BACK][mpki_col_frame(x, list->id[k])];
        list->block[2][k] = o->upper[list->id[k]];
    }
    return mpk_failed(status) ? status : multiply_below(f, list, s->below[1], s->unit);
}

mpk_status mpki_offload_solves_end(mpki_blocks *f) {
    free_sent(f->stages->ctx, f->offload->solves);
    const mpk_status status = make_below(f);
    return mpk_failed(status) ? status : list_steps(f);
}
