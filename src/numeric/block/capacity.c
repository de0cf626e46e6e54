/* SPDX-License-Identifier: BSD-3-Clause */
/* How many entries a block may keep: Thuerck et al. 2018, sec. IV.A and algorithm 2. */
#include "meta.h"

#include <math.h>

/* Sparse storage must save at least this share of a dense block to be worth its indirection. */
static const double COMPENSATION = 0.5;
/* The last frames, this share of them, are kept dense: most updates end there. */
static const double DENSE_TAIL = 0.01;

/* Entries of A in each of its blocks, by block of the index. */
static mpk_status count_entries(mpki_meta *meta, int32_t *count) {
    const mpki_ibcsr *x = &meta->bf->index;
    const mpki_blocking *b = meta->bf->blocking;
    const mpki_full *a = meta->full;
    int64_t *block = MPKI_NEW(meta->ctx, "factorize", x->m, int64_t);
    if (!block) return mpki_failed(meta->ctx);
    for (int32_t f = 0; f < x->m; f++) block[f] = -1;
    for (int32_t f = 0; f < x->m; f++) { /* column f: entries at and after its place */
        for (int64_t e = x->diagonal[f]; e < x->ptr[f + 1]; e++)
            block[x->entry[e].other] = x->entry[e].block;
        for (int32_t p = b->bptr[f]; p < b->bptr[f + 1]; p++)
            for (int64_t e = a->ptr[b->perm[p]]; e < a->ptr[b->perm[p] + 1]; e++) {
                const int64_t to = block[b->of[b->iperm[a->col[e]]]];
                if (to >= 0) count[to]++;
            }
        for (int64_t e = x->diagonal[f]; e < x->ptr[f + 1]; e++) block[x->entry[e].other] = -1;
    }
    mpki_release(meta->ctx, block);
    return MPK_OK;
}

mpk_status mpki_capacities(mpki_meta *meta) {
    const mpki_ibcsr *x = &meta->bf->index;
    const mpki_blocking *b = meta->bf->blocking;
    const double fill = meta->o->fill_factor;
    const size_t size = mpk_scalar_size(meta->bf->scalar);
    for (int64_t k = 0; k < x->nblocks; k++) meta->capacity[k] = fill > 0 ? 0 : INT64_MAX;
    for (int64_t k = 0; meta->complete && k < x->nblocks; k++) meta->capacity[k] = -1;
    int32_t *count = MPKI_ZNEW(meta->ctx, "factorize", x->nblocks, int32_t);
    if (!count) return mpki_failed(meta->ctx);
    mpk_status status = count_entries(meta, count);
    double in = 0;
    int64_t occupied = 0;
    for (int32_t f = 0; !status && f < x->m; f++) {
        double sum = 0, blocks = 0;
        for (int64_t e = x->diagonal[f] + 1; e < x->ptr[f + 1]; e++) {
            sum += count[x->entry[e].block];
            blocks += count[x->entry[e].block] > 0;
        }
        const double mean = blocks > 0 ? sum / blocks : 1;
        for (int64_t e = x->diagonal[f]; e < x->ptr[f + 1]; e++) {
            const int64_t k = x->entry[e].block;
            const double entries =
                (double)mpki_frame_rows(b, f) * mpki_frame_rows(b, x->entry[e].other);
            const double room = ceil(fill * (count[k] > 0 ? count[k] : mean));
            const double bytes = room * (double)size + entries / 8;
            const bool tail = x->place[f] >= x->m - (int32_t)ceil(DENSE_TAIL * x->m);
            const bool dense = bytes > (1 - COMPENSATION) * entries * (double)size;
            if (count[k] > 0) in += count[k] / entries, occupied++;
            if (fill > 0 && !meta->complete)
                meta->capacity[k] = x->entry[e].other == f || tail || dense ? -1 : (int64_t)room;
        }
    }
    meta->bf->info.mean_fill_in = occupied ? in / (double)occupied : 0;
    mpki_release(meta->ctx, count);
    return status;
}

void mpki_grant(mpki_meta *meta) {
    mpki_chunk_work *c = &meta->chunk;
    if (meta->o->deterministic == MPK_OFF) return;
    int64_t left = atomic_load(&meta->leftover);
    for (int64_t t = 0; t < c->first[c->count]; t++) {
        const int64_t room = meta->capacity[c->batch->target[t]];
        if (room < 0 || room == INT64_MAX) continue;
        const int64_t more = c->need[t] - room;
        const int64_t granted = more <= 0 ? 0 : more < left ? more : left;
        left -= more <= 0 ? more : granted;
        if (more > 0) c->need[t] = room + granted;
    }
    atomic_store(&meta->leftover, left);
}

int64_t mpki_grant_atomically(mpki_meta *meta, int64_t item) {
    const mpki_chunk_work *c = &meta->chunk;
    const int64_t room = meta->capacity[c->batch->target[item]], need = c->need[item];
    if (room < 0 || room == INT64_MAX) return need;
    const int64_t required = need - room;
    const int64_t free = atomic_fetch_sub(&meta->leftover, required); /* may be a gift, too */
    if (required <= 0) return need;
    int64_t granted = required < free ? required : free;
    if (granted < 0) granted = 0;
    atomic_fetch_add(&meta->leftover, required - granted);
    return room + granted;
}
