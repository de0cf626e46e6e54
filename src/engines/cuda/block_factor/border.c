/* SPDX-License-Identifier: BSD-3-Clause */
/* The dense pivot that ends the stages: its rows are gathered on the device and factored on the
 * host, as the processor's are (engines/cpu/block_factor/border.h); the device applies the inverse
 * of its L. */
#include "core/trace.h"
#include "state.h"

#include <string.h>

static const char STAGE[] = "factorize";

mpk_status mpki_blocks_border_begin(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    mpki_cuda_stage *j = &f->job;
    const int64_t size = (int64_t)mpk_scalar_size(s->stored), n = s->info.border_rows;
    void *l = NULL, *dinv = NULL;
    int32_t *row = NULL, at = 0, *start = MPKI_NEW(f->ctx, STAGE, x->m, int32_t);
    if (!start) return mpki_failed(f->ctx);
    for (int32_t k = 0; k < x->m; k++) start[k] = -1;
    for (int32_t p = s->border; p < x->m; p++) {
        start[x->frame[p]] = at;
        at += mpki_frame_rows(s->blocking, x->frame[p]);
    }
    const mpki_array of_s[] = {
        {&j->border_s, NULL, n * n * size},
        {&j->border_start, start, x->m * (int64_t)4},
    };
    const mpki_array stays[] = {
        {&l, NULL, n * n * size},
        {&dinv, NULL, 2 * n * size},
        {&row, NULL, n * 4},
    };
    mpk_status status = mpki_blocks_lay_out(f, &f->s, of_s, MPKI_COUNT(of_s));
    if (!mpk_failed(status)) status = mpki_blocks_lay_out(f, &f->border, stays, MPKI_COUNT(stays));
    if (!mpk_failed(status))
        status =
            mpki_blocks_status(f, f->module->set(f->device->cuda, j->border_s, 0, n * n * size));
    if (!mpk_failed(status)) status = mpki_blocks_wait(f);
    mpki_release(f->ctx, start);
    if (mpk_failed(status)) return status;
    j->border = (int32_t)n;
    f->store.border = (int32_t)n;
    f->store.border_l = l, f->store.border_row = row, f->store.border_dinv = dinv;
    return MPK_OK;
}

/* What stands below the diagonal in a 2x2 pivot is D's, not L's; rows as they were. */
static void separate(mpki_dense_pivot *p, int64_t size) {
    for (int64_t k = 0; k < p->rows; k++) {
        if (p->pivots[k] >= 0) continue;
        memset((char *)p->s + (k + 1 + k * p->rows) * size, 0, (size_t)size);
        p->pivots[k] = ~p->pivots[k], p->pivots[k + 1] = ~p->pivots[k + 1];
        k++;
    }
}

mpk_status mpki_blocks_border_end(mpki_blocks *f) {
    const mpki_stages *s = f->stages;
    const mpki_cuda_stage *j = &f->job;
    const int64_t size = (int64_t)mpk_scalar_size(s->stored), n = j->border;
    mpki_dense_pivot p = {.rows = j->border};
    p.s = mpki_alloc(f->ctx, STAGE, n * n, (size_t)size);
    p.dinv = mpki_alloc(f->ctx, STAGE, 2 * n, (size_t)size);
    p.pivots = MPKI_NEW(f->ctx, STAGE, n, int32_t);
    mpk_status status = p.s && p.dinv && p.pivots ? MPK_OK : mpki_failed(f->ctx);
    if (!mpk_failed(status)) status = mpki_blocks_copy(f, p.s, j->border_s, n * n * size, false);
    if (!mpk_failed(status)) status = mpki_blocks_wait(f);
    if (!mpk_failed(status)) status = s->dense_pivot(s, &p);
    double began = mpki_trace_begin(f->ctx);
    if (!mpk_failed(status)) {
        separate(&p, size);
        status = mpki_blocks_send(f, j->border_s, p.s, n * n * size);
    }
    if (!mpk_failed(status))
        status = mpki_blocks_send(f, f->store.border_dinv, p.dinv, 2 * n * size);
    if (!mpk_failed(status)) status = mpki_blocks_send(f, f->store.border_row, p.pivots, n * 4);
    if (!mpk_failed(status))
        status = mpki_blocks_status(f, f->module->invert(f->device->cuda, j->scalar, j->border,
                                                         j->border_s,
                                                         (void *)(uintptr_t)f->store.border_l));
    if (!mpk_failed(status)) status = mpki_blocks_wait(f);
    mpki_blocks_spent(f, "inverse of the dense pivot's L", began);
    mpki_blocks_give(f, &f->s);
    mpki_release(f->ctx, p.s);
    mpki_release(f->ctx, p.dinv);
    mpki_release(f->ctx, p.pivots);
    f->dense = p;
    f->dense.s = f->dense.dinv = NULL, f->dense.pivots = NULL;
    return status;
}
