/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of a batch that lie in device memory, copied to the host for a certificate. */
#include "../engines/interface/engine.h"
#include "certify.h"
#include "config.h"

static const char STAGE[] = "batch";

#if MPKI_HAVE_CUDA

/* A new copy of `bytes` bytes; NULL: the error is recorded. */
static void *fetch(mpk_context *ctx, const mpki_engine *engine, const void *from, int64_t bytes) {
    char *host = mpki_alloc(ctx, STAGE, bytes, 1);
    if (!host) return NULL;
    if (!mpk_failed(engine->copy(ctx, host, bytes, from, bytes, bytes, 1, false))) return host;
    mpki_release(ctx, host);
    return NULL;
}

/* Matrices that pointers lead to: strided ones here. */
static void *fetch_each(mpk_context *ctx, const mpki_engine *engine, const mpk_batch *batch,
                        const mpk_batch_array *x) {
    const int64_t size = (int64_t)mpk_scalar_size(batch->scalar), column = batch->n * size;
    void **list = fetch(ctx, engine, x->data, batch->count * (int64_t)sizeof *list);
    char *all = list ? mpki_alloc(ctx, STAGE, batch->count, (size_t)(column * batch->n)) : NULL;
    mpk_status status = all ? MPK_OK : mpki_failed(ctx);
    for (int64_t b = 0; b < batch->count && !mpk_failed(status); b++) {
        const int32_t n = batch->sizes ? batch->sizes[b] : batch->n;
        if (n == 0) continue;
        status = engine->copy(ctx, all + b * column * batch->n, column, list[b], x->ld * size,
                              n * size, n, false);
    }
    mpki_release(ctx, list);
    if (!mpk_failed(status)) return all;
    mpki_release(ctx, all);
    return NULL;
}

void *mpki_batch_bring(mpk_context *ctx, const mpk_batch *batch, const mpk_batch_array *x,
                       mpk_batch_array *here) {
    const int64_t size = (int64_t)mpk_scalar_size(batch->scalar), n = batch->n;
    const mpki_engine *engine = mpki_cuda_engine(ctx, batch->device);
    if (!engine) return NULL;
    *here = *x;
    here->memory = MPK_HOST;
    if (x->layout == MPK_BATCH_POINTERS) {
        here->layout = MPK_BATCH_STRIDED, here->ld = (int32_t)n, here->stride = n * n;
        return here->data = fetch_each(ctx, engine, batch, x);
    }
    const int64_t width = x->layout == MPK_BATCH_INTERLEAVED ? x->width : 1;
    const int64_t groups = (batch->count + width - 1) / width;
    const int64_t entries = (groups - 1) * x->stride + (x->ld * (n - 1) + n) * width;
    return here->data = fetch(ctx, engine, x->data, entries * size);
}

int32_t *mpki_batch_bring_pivots(mpk_context *ctx, const mpk_batch *batch, const int32_t *pivots) {
    const mpki_engine *engine = mpki_cuda_engine(ctx, batch->device);
    const int64_t bytes = batch->count * batch->n * (int64_t)sizeof *pivots;
    return engine ? fetch(ctx, engine, pivots, bytes) : NULL;
}

#else

static void *absent(mpk_context *ctx, const mpk_batch *batch) {
    mpki_error(ctx, MPK_ERR_DEVICE, STAGE, batch->device,
               "this build has no device backend (it was configured without CUDA)");
    return NULL;
}

void *mpki_batch_bring(mpk_context *ctx, const mpk_batch *batch, const mpk_batch_array *x,
                       mpk_batch_array *here) {
    (void)x, (void)here;
    return absent(ctx, batch);
}

int32_t *mpki_batch_bring_pivots(mpk_context *ctx, const mpk_batch *batch, const int32_t *pivots) {
    (void)pivots;
    return absent(ctx, batch);
}

#endif
