/* SPDX-License-Identifier: BSD-3-Clause */
/* Butterflies on an accelerator, by products of its own. */
#include "core/random.h"
#include "offload.h"

mpk_status mpki_offload_turn(mpki_blocks *f, mpki_batch_lists *list) {
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
        void **half = list->half[k] == MPKI_HALF_UPPER ? o->upper : o->block;
        if (good) half[list->id[k]] = list->block[0][k];
        o->on->table->release(o->on->table->self, leaves);
    }
    return status;
}

mpk_status mpki_offload_renew(mpki_blocks *f, const mpki_batch_lists *pivots) {
    struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    mpk_status status = MPK_OK;
    const bool all = s->options->butterfly == MPK_ON && s->options->stages == 1; /* static */
    if (!f->offload->on->blocks.renews && s->options->butterfly != MPK_ON) return MPK_OK;
    o->other.count = 0;
    for (int64_t k = 0; k < pivots->count && !mpk_failed(status); k++) {
        const int32_t frame = mpki_col_frame(&s->index, pivots->id[k]);
        const int32_t w = mpki_frame_rows(s->blocking, frame);
        if ((s->index.stage[frame] == 0 && !all) || w < 2) continue;
        MPKI_DISPATCH(o->scalar, offload_butterfly)
        (f,
         (uint64_t)s->options->seed + (uint64_t)frame * MPKI_GOLDEN +
             mpki_random_mix((uint64_t)s->index.stage[frame] - 1),
         w);
        if (!o->turn[frame]) status = mpki_offload_block(f, &o->turn[frame]);
        if (!mpk_failed(status)) status = mpki_offload_put(f, o->turn[frame], o->staging);
        if (!mpk_failed(status))
            status = mpki_offload_add(f, &o->other, pivots->id[k], frame, MPKI_HALF_LOWER);
        if (!mpk_failed(status)) o->other.block[2][o->other.count - 1] = o->turn[frame];
    }
    o->on->report.butterflies += o->other.count;
    /* C B, and then (C B)^T B: the transpose of B^T C B, which is the same but for LDU */
    if (!mpk_failed(status)) status = mpki_offload_turn(f, &o->other);
    if (!mpk_failed(status)) status = mpki_offload_run(f, MPKI_KERNEL_T, &o->other);
    if (!mpk_failed(status)) status = mpki_offload_turn(f, &o->other);
    if (!mpk_failed(status) && o->ldu) status = mpki_offload_run(f, MPKI_KERNEL_T, &o->other);
    return status;
}
