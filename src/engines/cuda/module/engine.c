/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine of a CUDA device for sparse matrices: what of engines/interface/engine.h there is. */
#include "engine.h"
#include "load.h"

static const char *name(const mpk_context *ctx) {
    return mpki_cuda_kept(ctx)->name;
}

static bool is_here(mpk_context *ctx, const void *p) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    return d->table->is_device(d->cuda, p);
}

static mpk_status copy(mpk_context *ctx, void *to, int64_t to_pitch, const void *from,
                       int64_t from_pitch, int64_t width, int64_t columns, bool to_device) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    return mpki_cuda_status(
        ctx, "device",
        mpki_cuda_copy(d, to, to_pitch, from, from_pitch, width, columns, to_device));
}

static mpk_status settle(mpk_context *ctx) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    int status = mpki_cuda_begin(d);
    /* what a call has queued is to be there, too, when it returns */
    if (!mpk_failed(status) && mpki_cuda_follows(d))
        status = d->table->synchronize(d->cuda, d->table->own_stream(d->cuda));
    return mpki_cuda_status(ctx, "device", status);
}

static mpk_status join(mpk_context *ctx, const mpk_context *of) {
    if (!mpki_cuda_keep(ctx, mpki_cuda_kept(of)->device)) return mpki_failed(ctx);
    mpki_cuda_waits_for_all(ctx); /* the other context's work is in a stream of its own */
    return MPK_OK;
}

static const mpki_engine cuda = {.name = name,
                                 .memory = MPK_DEVICE,
                                 .is_here = is_here,
                                 .copy = copy,
                                 .settle = settle,
                                 .join = join,
                                 .blocks = &mpki_cuda_blocks,
                                 .direct = &mpki_cuda_direct,
                                 .vectors = &mpki_cuda_vectors};

const mpki_engine *mpki_cuda_engine(mpk_context *ctx, int device) {
    return mpki_cuda_keep(ctx, device) ? &cuda : NULL;
}
