/* SPDX-License-Identifier: BSD-3-Clause */
/* One sweep of the Jacobi schedule: every block is computed from the values of the sweep before
 * (Thuerck 2019, algorithm 2). Rows of blocks stay in the order of the matrix (kernels/blocks.h),
 * so the permutations p' of that algorithm are not needed. */
#include "core/precision.h"
#include "kernels/blocks.h"
#include "meta.h"

#define LD(cols) mpki_block_ld(cols, sizeof(T))

typedef struct sweep {
    mpki_meta *meta;
    mpki_block *lower, *upper;
    bool looks; /* at pivots alone: operations do not count */
} sweep;

static void pivot_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const sweep *s = arg;
    mpki_meta *meta = s->meta;
    mpki_chunk_work *c = &meta->chunk;
    mpki_meta_worker *me = &meta->worker[worker];
    const int32_t f = (int32_t)item;
    const double flops = me->flops;
    FN(meta_load_column)(meta, f, false, me->slot);
    FN(meta_pull)(meta, me, c->frame[f], c->first[f], c->first[f] + 1);
    FN(meta_factor)(meta, me, c->frame[f], &c->pivot[f], (T *)c->flight + c->at[c->first[f]]);
    if (s->looks) me->flops = flops;
}

/* Write a group's work blocks into dense stored ones. */
static void pack_group(mpki_meta *meta, int64_t g, mpki_block *lower, mpki_block *upper) {
    const mpki_chunk_work *c = &meta->chunk;
    const FN(block_kernels) *kernels = meta->kernels;
    const int w = mpki_frame_rows(meta->stages->blocking, c->frame[c->group_frame[g]]);
    for (int64_t t = c->group[g]; t < c->group_end[g]; t++) {
        const int64_t b = c->batch->target[t];
        const int rows =
            mpki_frame_rows(meta->stages->blocking, mpki_row_frame(&meta->stages->index, b));
        kernels->pack(rows, w, (T *)c->flight + c->at[t], LD(w), &lower[b]);
        if (meta->stages->ldu)
            kernels->pack(rows, w, (T *)c->flight_u + c->at[t], LD(w), &upper[b]);
    }
}

static void solve_item(mpki_pool *pool, int worker, void *arg, int64_t g) {
    (void)pool;
    sweep *s = arg;
    FN(meta_solve)(s->meta, &s->meta->worker[worker], g, false);
    pack_group(s->meta, g, s->lower, s->upper);
}

void FN(meta_judge)(mpki_meta *meta) {
    sweep s = {.meta = meta, .looks = true};
    mpki_pool_for(meta->pool, 0, meta->chunk.count, pivot_item, &s);
}

void FN(meta_sweep)(mpki_meta *meta, mpki_block *new_lower, mpki_block *new_upper) {
    sweep s = {.meta = meta, .lower = new_lower, .upper = new_upper};
    mpki_pool_for(meta->pool, 0, meta->chunk.count, pivot_item, &s);
    mpki_pool_for(meta->pool, 0, meta->chunk.groups, solve_item, &s);
}

void FN(meta_start)(mpki_meta *meta) {
    mpki_blocks *bf = meta->bf;
    for (int32_t f = 0; f < meta->chunk.count; f++)
        FN(meta_load_column)(meta, f, false, meta->worker[0].slot);
    T *const parts[] = {meta->chunk.flight, meta->stages->ldu ? meta->chunk.flight_u : NULL};
    for (int half = 0; half <= meta->stages->ldu;
         half++) /* L starts as A, relative to the largest entry of A */
        for (int64_t k = 0; k < meta->chunk.at[meta->chunk.first[meta->chunk.count]]; k++)
            parts[half][k] *= (R)(1 / meta->stages->size);
    for (int64_t g = 0; g < meta->chunk.groups; g++) pack_group(meta, g, bf->lower, bf->upper);
    for (int32_t f = 0; f < meta->chunk.count; f++) {
        T *d = bf->frame[meta->chunk.frame[f]].d;
        for (int k = 0; k < mpki_frame_rows(meta->stages->blocking, meta->chunk.frame[f]); k++)
            d[2 * k] = (R)meta->stages->size, d[2 * k + 1] = 0;
    }
}
