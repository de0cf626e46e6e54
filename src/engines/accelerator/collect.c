/* SPDX-License-Identifier: BSD-3-Clause */
/* From an accelerator into the processor's factor: blocks of L, pivots, the border. */
#include "engines/cpu/isa/cpu.h"
#include "offload.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

/* rows x cols values with this distance between rows, into the factor's memory in their smallest
 * format. */
static mpk_status keep(mpki_blocks *f, int rows, int cols, const double *c, int ld,
                       mpki_block *to) {
    const mpki_d_block_kernels *kernels = f->meta->kernels;
    mpki_meta_worker *me = &f->meta->worker[0];
    const int own = mpki_block_ld(cols, sizeof *c);
    double *block = me->w; /* padded with zeros, as the kernels want it */
    size_t bytes;
    memset(block, 0, (size_t)rows * (size_t)own * sizeof *block);
    for (int r = 0; r < rows; r++)
        memcpy(block + r * own, c + r * ld, (size_t)cols * sizeof *block);
    *to = (mpki_block){.rows = (uint8_t)rows,
                       .cols = (uint8_t)cols,
                       .format = MPKI_EMPTY,
                       .scalar = (uint8_t)MPK_D};
    const int format = kernels->smallest(rows, cols, block, own, &bytes);
    if (format == MPKI_EMPTY) return MPK_OK;
    void *data = mpki_arena_alloc(&f->arena, (int64_t)bytes);
    if (!data) return mpki_failed(f->stages->ctx);
    to->data = data;
    to->format = (uint8_t)format;
    kernels->pack(rows, cols, block, own, to);
    return MPK_OK;
}

/* -M := -L^-1 P B^T from the factors of a pivot block; dense, w x w, ld n. */
static void invert(int w, int n, const double *l, const int32_t *perm, const double *bt,
                   double *m) {
    for (int r = 0; r < w; r++) /* P B^T, negated */
        for (int c = 0; c < w; c++) {
            const int from = perm ? perm[r] : r;
            m[r * n + c] = bt ? -bt[from * n + c] : -(double)(from == c);
        }
    for (int r = 0; r < w; r++)
        for (int k = 0; k < r; k++)
            for (int c = 0; c < w; c++) m[r * n + c] -= l[r * n + k] * m[k * n + c];
}

/* Pivots of a frame: D, its inverse, M. */
static mpk_status keep_pivot(mpki_blocks *f, int32_t frame) {
    struct mpki_offload *o = f->offload;
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    const mpk_accelerator *a = o->on->table;
    mpki_meta_worker *me = &f->meta->worker[0];
    const int w = mpki_frame_rows(s->blocking, frame), n = o->n;
    double *l = o->staging, *bt = l + n * n, *m = bt + n * n;
    int32_t perm[MPKI_BLOCK_MAX];
    mpki_frame *to = &f->frame[frame];
    mpki_pivot_counts counts = {.smallest = INFINITY};
    mpk_status status = mpki_offload_take(f, l, o->block[x->entry[x->diagonal[frame]].block]);
    if (!mpk_failed(status) && o->perm)
        status = mpki_offload_status(
            f, a->download(a->self, perm, o->perm[frame], n * (int64_t)sizeof *perm),
            "download of a permutation");
    if (!mpk_failed(status) && o->turn[frame]) status = mpki_offload_take(f, bt, o->turn[frame]);
    double *d = mpki_arena_alloc(&f->arena, 4 * (int64_t)w * (int64_t)sizeof *d);
    if (!mpk_failed(status) && !d) status = mpki_failed(s->ctx);
    if (mpk_failed(status)) return status;
    for (int k = 0; k < w; k++) {
        const double pivot = l[k * n + k], size = fabs(pivot);
        d[2 * k] = pivot;
        d[2 * w + 2 * k] = pivot == 0 ? 0 : 1 / pivot;
        d[2 * k + 1] = d[2 * w + 2 * k + 1] = 0;
        counts.positive += pivot > 0;
        counts.negative += pivot < 0;
        counts.zero += pivot == 0;
        if (size < counts.smallest) counts.smallest = size;
        if (size > counts.largest) counts.largest = size;
    }
    mpki_count_pivots(me, &counts);
    to->d = d;
    to->dinv = d + 2 * w;
    invert(w, n, l, o->perm ? perm : NULL, o->turn[frame] ? bt : NULL, m);
    status = keep(f, w, w, m, n, &to->m);
    to->n = to->m;
    return status;
}

static mpk_status keep_block(mpki_blocks *f, int64_t b) {
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    mpki_meta_worker *me = &f->meta->worker[0];
    const int rows = mpki_frame_rows(s->blocking, mpki_row_frame(x, b));
    const int cols = mpki_frame_rows(s->blocking, mpki_col_frame(x, b));
    mpki_block *to = &f->lower[b];
    mpk_status status = mpki_offload_take(f, f->offload->staging, f->offload->block[b]);
    if (!mpk_failed(status)) status = keep(f, rows, cols, f->offload->staging, f->offload->n, to);
    if (mpk_failed(status) || to->format == MPKI_EMPTY) return status;
    me->kept += to->nnz;
    me->dense += to->format == MPKI_DENSE;
    me->bitmap += to->format == MPKI_BITMAP;
    me->rows += to->format == MPKI_ROWS;
    me->fill_out += (double)to->nnz / ((double)rows * cols);
    return MPK_OK;
}

/* Frames of the border have M = D = I; border.c has their rows. */
static mpk_status keep_unit(mpki_blocks *f, int32_t frame) {
    const int w = mpki_frame_rows(f->stages->blocking, frame), n = f->offload->n;
    double *m = f->offload->staging;
    mpki_frame *to = &f->frame[frame];
    double *d = mpki_arena_alloc(&f->arena, 4 * (int64_t)w * (int64_t)sizeof *d);
    if (!d) return mpki_failed(f->stages->ctx);
    memset(m, 0, (size_t)n * (size_t)n * sizeof *m);
    for (int k = 0; k < w; k++) {
        m[k * (n + 1)] = -1;
        d[2 * k] = d[2 * w + 2 * k] = 1;
        d[2 * k + 1] = d[2 * w + 2 * k + 1] = 0;
    }
    to->d = d;
    to->dinv = d + 2 * w;
    const mpk_status status = keep(f, w, w, m, n, &to->m);
    to->n = to->m;
    return status;
}

mpk_status mpki_offload_border(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    const mpki_border *b = f->border;
    const int n = f->offload->n;
    const double *from = f->offload->staging;
    for (int32_t place = s->border; place < x->m; place++) {
        const int32_t col = x->frame[place];
        for (int64_t e = x->diagonal[col]; e < x->ptr[col + 1]; e++) {
            const int32_t row = x->entry[e].other;
            void *at = f->offload->block[x->entry[e].block];
            const mpk_status status = at ? mpki_offload_take(f, f->offload->staging, at) : MPK_OK;
            if (mpk_failed(status)) return status;
            if (!at) continue;
            double *to = (double *)b->s + b->start[row] + (int64_t)b->start[col] * b->rows;
            for (int k = 0; k < mpki_frame_rows(s->blocking, col); k++)
                for (int i = row == col ? k : 0; i < mpki_frame_rows(s->blocking, row); i++)
                    to[i + (int64_t)k * b->rows] = from[(int64_t)i * n + k];
        }
    }
    return mpki_border_factor(f);
}

mpk_status mpki_offload_finish(mpki_blocks *f, mpki_block_counts *counts) {
    const mpki_stages *s = f->stages;
    mpk_status status = MPK_OK;
    const int64_t each = (int64_t)f->offload->n * f->offload->n;
    if (f->offload->staging_capacity < 3) {
        double *more = mpki_resize(s->ctx, STAGE, f->offload->staging, 3 * each, sizeof *more);
        if (!more) return mpki_failed(s->ctx);
        f->offload->staging = more;
        f->offload->staging_capacity = 3;
    }
    for (int32_t place = 0; place < s->index.m && !mpk_failed(status); place++) {
        const int32_t frame = s->index.frame[place];
        status = mpki_in_border(f, frame) ? keep_unit(f, frame) : keep_pivot(f, frame);
    }
    for (int64_t b = 0; b < s->index.nblocks && !mpk_failed(status); b++)
        if (s->stored_blocks[b]) status = keep_block(f, b);
    return mpk_failed(status) ? status : mpki_cpu_blocks.finish(f, counts);
}
