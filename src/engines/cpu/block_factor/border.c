/* SPDX-License-Identifier: BSD-3-Clause */
/* The dense pivot that ends the stages: its memory and its factorization. */
#include "core/trace.h"
#include "border.h"

#include <math.h>

static const char STAGE[] = "factorize";

void mpki_border_free(mpk_context *ctx, mpki_border **handle) {
    mpki_border *b = *handle;
    if (!b) return;
    mpki_release(ctx, b->start);
    mpki_release(ctx, b->position);
    mpki_release(ctx, b->s);
    mpki_release(ctx, b->dinv);
    mpki_release(ctx, b->pivots);
    mpki_release(ctx, b);
    *handle = NULL;
}

int64_t mpki_border_bytes(const mpki_border *b, mpk_scalar scalar) {
    const int64_t size = (int64_t)mpk_scalar_size(scalar);
    return b ? ((int64_t)b->rows + 2) * b->rows * size + (int64_t)sizeof *b : 0;
}

mpk_status mpki_border_make(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    const size_t size = mpk_scalar_size(f->scalar);
    mpki_border *b = f->border = MPKI_ZNEW(s->ctx, STAGE, 1, mpki_border);
    if (!b) return mpki_failed(s->ctx);
    for (int32_t p = s->border; p < x->m; p++) b->rows += mpki_frame_rows(s->blocking, x->frame[p]);
    const int64_t rows = b->rows;
    b->start = MPKI_NEW(s->ctx, STAGE, x->m, int32_t);
    b->position = MPKI_NEW(s->ctx, STAGE, rows, int32_t);
    b->pivots = MPKI_NEW(s->ctx, STAGE, rows, int32_t);
    b->dinv = mpki_alloc(s->ctx, STAGE, 2 * rows, size);
    if (b->start && b->position && b->pivots && b->dinv)
        b->s = mpki_calloc(s->ctx, STAGE, rows * rows, size);
    if (!b->s) return mpki_failed(s->ctx);
    for (int32_t k = 0; k < x->m; k++) b->start[k] = -1;
    int32_t row = 0;
    for (int32_t p = s->border; p < x->m; p++) {
        const int32_t frame = x->frame[p];
        b->start[frame] = row;
        for (int32_t at = s->blocking->bptr[frame]; at < s->blocking->bptr[frame + 1]; at++)
            b->position[row++] = at;
    }
    return MPK_OK;
}

static mpk_dense dense_of(const mpki_stages *s, int32_t rows) {
    mpk_dense d;
    mpk_dense_init(&d);
    d.scalar = s->stored;
    d.symmetry = s->hermitian ? MPK_HERMITIAN : MPK_SYMMETRIC;
    d.uplo = MPK_LOWER;
    d.n = rows;
    d.method = MPK_DENSE_TILE;
    d.threads = s->options->threads;
    d.pivot_threshold = s->options->pivot_threshold > 0 ? s->options->pivot_threshold : 0.01;
    return d;
}

mpk_status mpki_border_dense_pivot(const mpki_stages *s, mpki_dense_pivot *p) {
    mpk_dense_info info = {0};
    const mpk_dense d = dense_of(s, p->rows);
    mpk_dense_factor factor = {
        .struct_size = sizeof factor, .f = p->s, .ldf = p->rows, .pivots = p->pivots};
    const double began = mpki_trace_begin(s->ctx);
    const mpk_status status =
        mpk_dense_factorize(s->ctx, &d, p->s, p->rows, &factor, NULL, 0, &info);
    mpki_trace_end(s->ctx, MPKI_LANE_CALLER, "dense pivot", -1, began);
    if (status == MPK_ERR_MEMORY || status == MPK_ERR_INTERNAL) return status;
    if (mpk_failed(status))
        return mpki_error(s->ctx, MPK_ERR_NUMERIC, STAGE, -1,
                          "the last %d rows, which no stage accepted, overflow", p->rows);
    mpki_clear_error(s->ctx); /* zero pivots are replaced, as in any last stage */
    p->positive = p->negative = p->zero = p->perturbed = 0;
    p->smallest = INFINITY, p->largest = 0;
    p->two_by_two = info.two_by_two;
    MPKI_DISPATCH(s->stored, border_pivots)(s, p);
    return MPK_OK;
}

mpk_status mpki_border_factor(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    mpki_border *b = f->border;
    mpki_meta_worker *me = &f->meta->worker[0];
    mpki_dense_pivot p = {.rows = b->rows, .s = b->s, .dinv = b->dinv, .pivots = b->pivots};
    const mpk_status status = mpki_border_dense_pivot(s, &p);
    if (mpk_failed(status)) return status;
    b->factor = (mpk_dense_factor){
        .struct_size = sizeof b->factor, .f = b->s, .ldf = b->rows, .pivots = b->pivots};
    b->call = (mpki_dense_call){.ctx = s->ctx,
                                .dense = dense_of(s, b->rows),
                                .factor_scalar = f->scalar,
                                .scale = 1,
                                .f = &b->factor,
                                .threads = 1};
    b->call.dense.zero_tolerance = 0;
    me->positive += p.positive, me->negative += p.negative, me->zero += p.zero;
    me->perturbed += p.perturbed, me->two_by_two += p.two_by_two;
    if (p.smallest < me->smallest) me->smallest = p.smallest;
    if (p.largest > me->largest) me->largest = p.largest;
    me->flops += (double)b->rows * b->rows * b->rows / 3;
    return MPK_OK;
}

int64_t mpki_border_work(const mpki_border *b, mpk_scalar scalar, int threads, int nrhs) {
    if (!b) return 0;
    mpki_dense_call call = b->call;
    call.threads = threads;
    return MPKI_DISPATCH(scalar, border_bytes)(&call, nrhs);
}
