/* SPDX-License-Identifier: BSD-3-Clause */
/* Phase III of the meta-algorithm on a chunk of frames (Thuerck 2021, fig. 8.1): accept or reject
 * frames, drop entries, move the blocks into the factor's memory. */
#include "engines/cpu/isa/cpu.h"
#include "kernels/alpha.h"
#include "border.h"

#include <string.h>

#define LD(cols) mpki_block_ld(cols, sizeof(T))

static const FN(block_kernels) * kernels(const mpki_meta *meta) {
    return meta->kernels;
}

/* ---- thresholds ------------------------------------------------------------------------------ */

/* Reject the frames whose columns grow beyond 1/u. NaN in the last stage is a failure. */
static void judge(mpki_meta *meta) {
    mpki_chunk_work *c = &meta->chunk;
    for (int64_t g = 0; g < c->groups; g++) {
        const int32_t frame = c->frame[c->group_frame[g]];
        const bool finite = isfinite(c->largest[g]);
        if (meta->stages->reject[frame] ||
            (finite && (meta->stages->last || c->largest[g] <= meta->stages->bound)))
            continue;
        if (meta->stages->final[frame] && finite) continue; /* accepted in an earlier stage */
        if (meta->stages->last || meta->stages->final[frame]) {
            if (!mpk_failed(meta->worker[0].status))
                meta->worker[0].status = MPK_ERR_NUMERIC, meta->worker[0].failed_frame = frame;
        }
        meta->stages->reject[frame] = 1;
    }
}

/* Sum the norms of a frame's groups in its first group, and turn them into thresholds. */
static void thresholds(mpki_meta *meta) {
    mpki_chunk_work *c = &meta->chunk;
    const R tau = (R)meta->stages->options->drop_tolerance;
    for (int64_t g = 0; g < c->groups;) {
        int64_t end = g + 1;
        R *sum = (R *)c->norm2 + g * 2 * meta->widest;
        while (end < c->groups && c->group_frame[end] == c->group_frame[g]) end++;
        for (int64_t h = g + 1; h < end; h++)
            for (int k = 0; k < 2 * meta->widest; k++)
                sum[k] += ((R *)c->norm2 + h * 2 * meta->widest)[k];
        /* the unit diagonal of L belongs to the column too, or all of its diagonal block */
        const mpki_work_pivot *pivot = &c->pivot[c->group_frame[g]];
        const int w = mpki_frame_rows(meta->stages->blocking, c->frame[c->group_frame[g]]);
        for (int half = 0; half < 2; half++)
            for (int k = 0; k < meta->widest; k++) {
                const R own = pivot->own && k < w ? ((const R *)pivot->own)[half * LD(w) + k] : 1;
                R *norm2 = &sum[half * meta->widest + k];
                *norm2 = tau * r_sqrt(own + *norm2);
            }
        for (int64_t h = g + 1; h < end; h++)
            memcpy((R *)c->norm2 + h * 2 * meta->widest, sum, 2 * (size_t)meta->widest * sizeof(R));
        g = end;
    }
}

/* ---- dropping, storing ----------------------------------------------------------------------- */

static void count_item(mpki_pool *pool, int worker, void *arg, int64_t g) {
    (void)pool;
    mpki_meta *meta = arg;
    mpki_chunk_work *c = &meta->chunk;
    mpki_meta_worker *me = &meta->worker[worker];
    const int32_t frame = c->frame[c->group_frame[g]];
    const int w = mpki_frame_rows(meta->stages->blocking, frame);
    const R *drop = (R *)c->norm2 + g * 2 * meta->widest;
    R nothing[2][MPKI_BLOCK_MAX]; /* of what is not above it nobody counts how much there was */
    for (int half = 0; half <= meta->stages->ldu; half++)
        for (int k = 0; k < w; k++)
            nothing[half][k] = (R)MPKI_NOTHING(sizeof(R)) * drop[half * meta->widest + k];
    for (int64_t t = c->group[g]; t < c->group_end[g]; t++) {
        const int64_t b = c->batch->target[t];
        c->need[t] = 0;
        if (meta->stages->reject[frame] || mpki_in_border(meta->bf, frame)) continue;
        const int rows =
            mpki_frame_rows(meta->stages->blocking, mpki_row_frame(&meta->stages->index, b));
        for (int half = 0; half <= meta->stages->ldu; half++) {
            T *block = (T *)(half ? c->flight_u : c->flight) + c->at[t];
            const int64_t had = kernels(meta)->drop(rows, w, block, LD(w), nothing[half], -1, 1);
            if (meta->stages->capacity[b] < 0) continue; /* it keeps everything else */
            me->dropped += had;
            const int64_t need =
                kernels(meta)->drop(rows, w, block, LD(w), drop + half * meta->widest, -1, 1);
            if (need > c->need[t]) c->need[t] = need;
        }
    }
}

/* Write a work block into the factor's memory, in its smallest format; or dense wherever that is
 * not much larger, since it is the fastest. False: there is no memory. */
static bool write_block(mpki_meta *meta, int rows, int cols, const T *c, mpki_block *to) {
    enum { DENSE_SHARE = 85 }; /* percent of a dense block's bytes */
    size_t bytes, dense = (size_t)rows * (size_t)cols * sizeof(T);
    int format = kernels(meta)->smallest(rows, cols, c, LD(cols), &bytes);
    *to = (mpki_block){.rows = (uint8_t)rows,
                       .cols = (uint8_t)cols,
                       .format = MPKI_EMPTY,
                       .scalar = (uint8_t)MPKI_PRECISION};
    if (format == MPKI_EMPTY) return true;
    if (bytes * 100 > dense * DENSE_SHARE) format = MPKI_DENSE, bytes = dense;
    void *data = mpki_arena_alloc(&meta->bf->arena, (int64_t)bytes);
    if (!data) return false;
    to->data = data;
    to->format = (uint8_t)format;
    kernels(meta)->pack(rows, cols, c, LD(cols), to);
    return true;
}

static void no_memory(mpki_meta_worker *me) {
    if (!mpk_failed(me->status)) me->status = MPK_ERR_MEMORY;
}

static void store(mpki_meta *meta, mpki_meta_worker *me, int rows, int w, const T *c,
                  mpki_block *to) {
    if (!write_block(meta, rows, w, c, to)) no_memory(me);
    if (to->format == MPKI_EMPTY) return;
    me->kept += to->nnz;
    me->dense += to->format == MPKI_DENSE;
    me->bitmap += to->format == MPKI_BITMAP;
    me->rows += to->format == MPKI_ROWS;
    me->fill_out += (double)to->nnz / ((double)rows * w);
}

/* Write -M and D of an accepted frame into the factor's memory. */
static void store_pivot(mpki_meta *meta, mpki_meta_worker *me, int32_t frame,
                        const mpki_work_pivot *from) {
    mpki_frame *to = &meta->bf->frame[frame];
    const int w = mpki_frame_rows(meta->stages->blocking, frame);
    T *d = mpki_arena_alloc(&meta->bf->arena, 4 * (int64_t)w * (int64_t)sizeof(T));
    if (!d) {
        no_memory(me);
        return;
    }
    memcpy(d, from->d, 2 * (size_t)w * sizeof(T));
    memcpy(d + 2 * w, from->dinv, 2 * (size_t)w * sizeof(T));
    to->d = d;
    to->dinv = d + 2 * w;
    for (int half = 0; half <= meta->stages->ldu; half++) {
        T *m = half ? from->n : from->m;
        for (int64_t k = 0; k < (int64_t)w * LD(w); k++) m[k] = -m[k];
        if (!write_block(meta, w, w, m, half ? &to->n : &to->m)) no_memory(me);
    }
    if (!meta->stages->ldu) to->n = to->m;
}

static void pivot_store_item(mpki_pool *pool, int worker, void *arg, int64_t f) {
    (void)pool;
    mpki_meta *meta = arg;
    mpki_chunk_work *c = &meta->chunk;
    const int32_t frame = c->frame[f];
    if (meta->stages->reject[frame] || meta->stages->final[frame] || c->first[f] == c->first[f + 1])
        return;
    mpki_count_pivots(&meta->worker[worker], &c->pivot[f].counts);
    store_pivot(meta, &meta->worker[worker], frame, &c->pivot[f]);
}

static void store_item(mpki_pool *pool, int worker, void *arg, int64_t g) {
    (void)pool;
    mpki_meta *meta = arg;
    mpki_chunk_work *c = &meta->chunk;
    mpki_meta_worker *me = &meta->worker[worker];
    const int32_t frame = c->frame[c->group_frame[g]];
    const int w = mpki_frame_rows(meta->stages->blocking, frame), ld = LD(w);
    const R *drop = (R *)c->norm2 + g * 2 * meta->widest;
    if (meta->stages->reject[frame]) return;
    for (int64_t t = c->group[g]; t < c->group_end[g]; t++) {
        const int64_t b = c->batch->target[t];
        const int rows =
            mpki_frame_rows(meta->stages->blocking, mpki_row_frame(&meta->stages->index, b));
        if (mpki_in_border(meta->bf, frame)) { /* its entries are in S */
            meta->stages->want[b] = 0;
            continue;
        }
        if (!meta->stages->complete && meta->stages->options->deterministic == MPK_OFF)
            c->need[t] = mpki_grant_atomically(meta, t);
        for (int half = 0; half <= meta->stages->ldu; half++) {
            T *block = (T *)(half ? c->flight_u : c->flight) + c->at[t];
            if (!meta->stages->complete && meta->stages->capacity[b] >= 0) {
                const R *limit = drop + half * meta->widest;
                me->dropped -= kernels(meta)->drop(rows, w, block, ld, limit, c->need[t], 0);
            }
            store(meta, me, rows, w, block, half ? &meta->bf->upper[b] : &meta->bf->lower[b]);
        }
        meta->stages->want[b] = 0;
        meta->stages->stored_blocks[b] =
            meta->bf->lower[b].format != MPKI_EMPTY || meta->bf->upper[b].format != MPKI_EMPTY;
    }
}

void FN(meta_store)(mpki_meta *meta) {
    mpki_chunk_work *c = &meta->chunk;
    judge(meta);
    if (!meta->stages->complete) {
        thresholds(meta);
        mpki_pool_for(meta->pool, 0, c->groups, count_item, meta);
        mpki_grant(meta);
    }
    mpki_pool_for(meta->pool, 0, c->groups, store_item, meta);
    mpki_pool_for(meta->pool, 0, c->count, pivot_store_item, meta);
    for (int32_t f = 0; f < c->count; f++) {
        const int32_t frame = c->frame[f];
        if (!meta->stages->reject[frame] && c->first[f] < c->first[f + 1]) {
            if (!meta->stages->final[frame]) meta->stages->want[c->batch->target[c->first[f]]] = 0;
            meta->stages->final[frame] = 1;
        }
    }
}
