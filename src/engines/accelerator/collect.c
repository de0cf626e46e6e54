/* SPDX-License-Identifier: BSD-3-Clause */
/* From an accelerator into the processor's factor: blocks of L, pivots, the border. */
#include "offload.h"

static const char STAGE[] = "factorize";

/* Room for so many blocks in staging memory. */
static mpk_status stage_room(mpki_blocks *f, int64_t blocks) {
    struct mpki_offload *o = f->offload;
    if (o->staging_capacity >= blocks) return MPK_OK;
    void *more =
        mpki_resize(f->stages->ctx, STAGE, o->staging, blocks, (size_t)mpki_offload_bytes(o));
    if (!more) return mpki_failed(f->stages->ctx);
    o->staging = more;
    o->staging_capacity = blocks;
    return MPK_OK;
}

static mpk_status take_permutation(mpki_blocks *f, void *from, int32_t *perm) {
    const mpk_accelerator *a = f->offload->on->table;
    return mpki_offload_status(
        f, a->download(a->self, perm, from, f->offload->n * (int64_t)sizeof *perm),
        "download of a permutation");
}

/* Pivots of a frame: D, its inverse, M. */
static mpk_status keep_pivot(mpki_blocks *f, int32_t frame) {
    struct mpki_offload *o = f->offload;
    const mpki_ibcsr *x = &f->stages->index;
    const int64_t diagonal = x->entry[x->diagonal[frame]].block;
    int32_t perm[MPKI_BLOCK_MAX], columns[MPKI_BLOCK_MAX];
    mpk_status status = mpki_offload_take(f, o->staging, o->block[diagonal]);
    if (!mpk_failed(status) && o->ldu)
        status = mpki_offload_take(f, mpki_offload_staging(o, 1), o->upper[diagonal]);
    if (!mpk_failed(status) && o->perm) status = take_permutation(f, o->perm[frame], perm);
    if (!mpk_failed(status) && o->columns) status = take_permutation(f, o->columns[frame], columns);
    if (!mpk_failed(status) && o->turn[frame])
        status = mpki_offload_take(f, mpki_offload_staging(o, 2), o->turn[frame]);
    if (mpk_failed(status)) return status;
    return MPKI_DISPATCH(o->scalar, offload_keep_pivot)(
        f, frame, o->perm ? perm : NULL, o->columns ? columns : NULL, o->turn[frame] != NULL);
}

static mpk_status keep_block(mpki_blocks *f, int64_t b, mpki_half half) {
    struct mpki_offload *o = f->offload;
    void *at = half == MPKI_HALF_UPPER ? o->upper[b] : o->block[b];
    const mpk_status status = mpki_offload_take(f, o->staging, at);
    if (mpk_failed(status)) return status;
    return MPKI_DISPATCH(o->scalar, offload_keep_block)(f, b, half);
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
    mpk_status status = stage_room(f, 4);
    for (int32_t place = 0; place < s->index.m && !mpk_failed(status); place++) {
        const int32_t frame = s->index.frame[place];
        status = mpki_in_border(f, frame) ? MPKI_DISPATCH(o->scalar, offload_keep_unit)(f, frame)
                                          : keep_pivot(f, frame);
    }
    for (int64_t b = 0; b < s->index.nblocks && !mpk_failed(status); b++) {
        if (!s->stored_blocks[b]) continue;
        status = keep_block(f, b, MPKI_HALF_LOWER);
        if (!mpk_failed(status) && o->ldu) status = keep_block(f, b, MPKI_HALF_UPPER);
    }
    for (int32_t k = 0; o->type == MPK_TYPE_LLT && !mpk_failed(status) && k < s->index.m; k++)
        MPKI_DISPATCH(o->scalar, offload_take_root)(f, k);
    return mpk_failed(status) ? status : mpki_cpu_blocks.finish(f, counts);
}
