/* SPDX-License-Identifier: BSD-3-Clause */
/* From an accelerator into the processor's factor: blocks of L, pivots, the border. */
#include "core/trace.h"
#include "offload.h"

static const char STAGE[] = "factorize";

enum { EACH = 3 }; /* at most, of a pivot */

/* What comes back together. */
typedef struct harvest {
    void **from;    /* EACH some: pieces there */
    int32_t *perm;  /* 2 some n: permutations of rows, then of columns */
    int64_t *block; /* some: numbers of blocks, or frames */
    unsigned char *half;
    int64_t some, count;
} harvest;

static mpk_status harvest_make(mpki_blocks *f, harvest *h) {
    mpk_context *ctx = f->stages->ctx;
    h->some = mpki_offload_some(f->offload);
    h->from = MPKI_NEW(ctx, STAGE, EACH * h->some, void *);
    h->perm = MPKI_NEW(ctx, STAGE, 2 * h->some * f->offload->n, int32_t);
    h->block = MPKI_NEW(ctx, STAGE, h->some, int64_t);
    h->half = MPKI_NEW(ctx, STAGE, h->some, unsigned char);
    return mpki_failed(ctx);
}

static void harvest_free(mpk_context *ctx, harvest *h) {
    mpki_release(ctx, h->from);
    mpki_release(ctx, h->perm);
    mpki_release(ctx, h->block);
    mpki_release(ctx, h->half);
}

/* Where there is no memory for solves on the machine the processor has them. */
static mpk_status or_without(mpki_blocks *f, mpk_status status) {
    if (status != MPK_ERR_MEMORY) return status;
    mpki_offload_solves_free(f);
    mpki_clear_error(f->stages->ctx);
    return MPK_OK;
}

/* Permutations of the frames, one after the other. */
static mpk_status take_permutations(mpki_blocks *f, harvest *h, void *const *of, int32_t *to) {
    const mpk_accelerator *a = f->offload->on->table;
    const int64_t bytes = f->offload->n * (int64_t)sizeof *to;
    mpk_status status = MPK_OK;
    for (int64_t k = 0; k < h->count; k++) h->from[k] = of[h->block[k]];
    if (a->gather)
        status = a->gather(a->self, h->count, to, h->from, bytes);
    else
        for (int64_t k = 0; k < h->count && !mpk_failed(status); k++)
            status = a->download(a->self, to + k * f->offload->n, h->from[k], bytes);
    return mpki_offload_status(f, status, "download of a permutation");
}

/* Pivots of frames: D, its inverse, M. Of each comes back what it has: its block, the transpose,
 * its butterfly. */
static mpk_status keep_pivots(mpki_blocks *f, harvest *h) {
    struct mpki_offload *o = f->offload;
    const mpki_ibcsr *x = &f->stages->index;
    int32_t *columns = h->perm + h->some * o->n;
    mpk_status status = MPK_OK;
    if (h->count == 0) return MPK_OK;
    if (o->perm) status = take_permutations(f, h, o->perm, h->perm);
    if (o->columns && !mpk_failed(status)) status = take_permutations(f, h, o->columns, columns);
    int64_t pieces = 0;
    for (int64_t k = 0; k < h->count; k++) {
        const int32_t frame = (int32_t)h->block[k];
        const int64_t diagonal = mpki_offload_diagonal(x, frame);
        h->from[pieces++] = o->block[diagonal];
        if (o->ldu) h->from[pieces++] = o->upper[diagonal];
        if (o->turn[frame]) h->from[pieces++] = o->turn[frame];
    }
    if (!mpk_failed(status)) status = mpki_offload_take_all(f, pieces, 1, h->from);
    for (int64_t k = 0, at = 1; k < h->count && !mpk_failed(status); k++) {
        const int32_t frame = (int32_t)h->block[k];
        const bool turned = o->turn[frame] != NULL;
        void *sent[MPKI_SENT];
        const bool sends = mpki_offload_solves_sent(f, k, sent);
        status = MPKI_DISPATCH(o->scalar, offload_keep_pivot)(
            f, frame, at, o->perm ? &h->perm[k * o->n] : NULL,
            o->columns ? &columns[k * o->n] : NULL, turned, sends ? sent : NULL);
        at += 1 + o->ldu + turned;
    }
    if (o->solves && !mpk_failed(status))
        status = or_without(f, mpki_offload_solves_send(f, h->count, h->block, 0));
    h->count = 0;
    return status;
}

static mpk_status keep_blocks(mpki_blocks *f, harvest *h) {
    struct mpki_offload *o = f->offload;
    mpk_status status = mpki_offload_take_all(f, h->count, 0, h->from);
    for (int64_t k = 0; k < h->count && !mpk_failed(status); k++)
        status =
            MPKI_DISPATCH(o->scalar, offload_keep_block)(f, h->block[k], (mpki_half)h->half[k], k);
    h->count = 0;
    return status;
}

static mpk_status all_pivots(mpki_blocks *f, harvest *h) {
    const mpki_ibcsr *x = &f->stages->index;
    mpk_status status = MPK_OK;
    for (int32_t place = 0; place < x->m && !mpk_failed(status); place++) {
        const int32_t frame = x->frame[place];
        if (mpki_in_border(f, frame)) {
            void *sent[MPKI_SENT];
            const int64_t one = frame;
            const int64_t free_yet = h->some - 1; /* the last place */
            const bool sends = mpki_offload_solves_sent(f, free_yet, sent);
            status =
                MPKI_DISPATCH(f->offload->scalar, offload_keep_unit)(f, frame, sends ? sent : NULL);
            if (sends && !mpk_failed(status))
                status = or_without(f, mpki_offload_solves_send(f, 1, &one, free_yet));
            continue;
        }
        h->block[h->count++] = frame;
        if (h->count == h->some) status = keep_pivots(f, h);
    }
    return mpk_failed(status) ? status : keep_pivots(f, h);
}

static mpk_status all_blocks(mpki_blocks *f, harvest *h) {
    const mpki_stages *s = f->stages;
    const struct mpki_offload *o = f->offload;
    mpk_status status = MPK_OK;
    for (int64_t b = 0; b < s->index.nblocks && !mpk_failed(status); b++)
        for (int half = 0; half <= o->ldu && s->stored_blocks[b] && !mpk_failed(status); half++) {
            h->from[h->count] = (half ? o->upper : o->block)[b];
            h->half[h->count] = (unsigned char)half;
            h->block[h->count++] = b;
            if (h->count == h->some) status = keep_blocks(f, h);
        }
    return mpk_failed(status) ? status : keep_blocks(f, h);
}

mpk_status mpki_offload_border(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    for (int32_t place = s->border; place < x->m; place++) {
        const int32_t col = x->frame[place];
        for (int64_t e = x->diagonal[col]; e < x->ptr[col + 1]; e++) {
            void *at = f->offload->block[x->entry[e].block];
            const mpk_status status = at ? mpki_offload_take(f, f->offload->staging, at) : MPK_OK;
            if (mpk_failed(status)) return status;
            if (at) MPKI_DISPATCH(f->offload->scalar, offload_to_border)(f, x->entry[e].other, col);
        }
    }
    return mpki_border_factor(f);
}

mpk_status mpki_offload_finish(mpki_blocks *f, mpki_block_counts *counts) {
    const mpki_stages *s = f->stages;
    const struct mpki_offload *o = f->offload;
    harvest h = {0};
    const double began = mpki_trace_begin(s->ctx);
    mpk_status status =
        mpki_offload_solves_there(f) ? or_without(f, mpki_offload_solves_make(f)) : MPK_OK;
    if (!mpk_failed(status)) status = harvest_make(f, &h);
    if (!mpk_failed(status)) status = mpki_offload_room(f, 1);
    if (!mpk_failed(status)) status = all_pivots(f, &h);
    if (!mpk_failed(status)) status = all_blocks(f, &h);
    harvest_free(s->ctx, &h);
    if (o->solves && !mpk_failed(status)) status = or_without(f, mpki_offload_solves_end(f));
    for (int32_t k = 0; o->type == MPK_TYPE_LLT && !mpk_failed(status) && k < s->index.m; k++)
        MPKI_DISPATCH(o->scalar, offload_take_root)(f, k);
    mpki_trace_end(s->ctx, MPKI_LANE_CALLER, "download", -1, began);
    return mpk_failed(status) ? status : mpki_cpu_blocks.finish(f, counts);
}
