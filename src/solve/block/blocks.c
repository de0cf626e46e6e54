/* SPDX-License-Identifier: BSD-3-Clause */
#include "blocks.h"

/* Fewer bytes of blocks than this are not worth waking anybody. */
static const double SHARE_BYTES = 1 << 18;
/* Level sets narrower than this on average leave nothing to share. */
enum { SHARE_WIDTH = 3 };

void mpki_block_sweeps_free(mpk_context *ctx, mpki_block_sweeps *s) {
    mpki_release(ctx, s->y);
    mpki_release(ctx, s->z);
    mpki_release(ctx, s->other);
    mpki_release(ctx, (void *)s->done);
    *s = (mpki_block_sweeps){0};
}

mpk_status mpki_block_sweeps_make(mpk_context *ctx, const mpk_factor *fac, int threads, int nrhs,
                                  mpki_block_sweeps *s) {
    const mpki_block_factor *bf = fac->block;
    const int64_t n = fac->an->n;
    const size_t size = mpk_scalar_size(bf->scalar);
    if (nrhs > MPKI_SWEEP_RHS) nrhs = MPKI_SWEEP_RHS;
    *s = (mpki_block_sweeps){.fac = fac,
                             .bf = bf,
                             .threads = threads,
                             .nrhs = nrhs,
                             .jacobi = fac->options.solve_sweeps,
                             .bytes = (double)mpki_arena_bytes(&bf->arena)};
    MPKI_DISPATCH(bf->scalar, block_begin)(s);
    s->y = mpki_alloc(ctx, "solve", n * nrhs, size);
    s->z = mpki_alloc(ctx, "solve", n * nrhs, size);
    if (s->jacobi) s->other = mpki_alloc(ctx, "solve", n * nrhs, size);
    s->done = mpki_calloc(ctx, "solve", bf->index.m, sizeof *s->done);
    if (!s->y || !s->z || (s->jacobi && !s->other) || !s->done) {
        mpki_block_sweeps_free(ctx, s);
        return mpki_failed(ctx);
    }
    const bool wide = s->jacobi || bf->index.m >= SHARE_WIDTH * bf->levels.count;
    if (threads > 1 && wide && s->bytes > SHARE_BYTES) {
        s->pool = mpki_context_pool(ctx, threads, 16);
        if (!s->pool) {
            mpki_block_sweeps_free(ctx, s);
            return mpki_failed(ctx);
        }
    }
    return MPK_OK;
}

void mpki_block_apply(mpki_block_sweeps *s, mpk_part part, int nrhs, void *x, int64_t ldx) {
    MPKI_DISPATCH(s->bf->scalar, block_apply)(s, part, nrhs, x, ldx);
}
