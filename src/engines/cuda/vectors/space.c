/* SPDX-License-Identifier: BSD-3-Clause */
/* The vectors of a Krylov method in device memory, made and freed. */
#include "space.h"

static const char STAGE[] = "solve";

static const mpki_cuda_vectors_table *functions(const mpki_device *d) {
    return d->table->vectors;
}

mpk_status mpki_cuda_within(mpk_context *ctx, const char *what, int64_t bytes, double limit) {
    if (!(limit > 0) || (double)bytes <= limit) return MPK_OK;
    return mpki_error(ctx, MPK_ERR_MEMORY, STAGE, bytes,
                      "%s takes %.3f GiB of device memory; device_memory_limit leaves %.3f GiB",
                      what, (double)bytes * 0x1p-30, limit * 0x1p-30);
}

void mpki_cuda_space_free(mpk_context *ctx, mpki_space **handle) {
    mpki_space *s = *handle;
    if (!s) return;
    s->f->free(s->d->cuda, &s->at);
    mpki_release(ctx, s);
    *handle = NULL;
}

mpk_status mpki_cuda_space_make(mpk_context *ctx, mpk_scalar scalar, int32_t n, int64_t count,
                                void *stream, double limit, mpki_space **out, void **v) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    mpki_space *s = *out = MPKI_ZNEW(ctx, STAGE, 1, mpki_space);
    if (!s) return mpki_failed(ctx);
    *s = (mpki_space){.ctx = ctx,
                      .d = d,
                      .f = functions(d),
                      .k = functions(d)->kernels[scalar],
                      .limit = limit,
                      .bytes = functions(d)->bytes(scalar, n, count),
                      .at = {.scalar = scalar, .n = n}};
    mpk_status status = mpki_cuda_within(ctx, "the method", s->bytes, limit);
    if (!mpk_failed(status))
        status = mpki_cuda_status(ctx, STAGE, s->f->make(d->cuda, &s->at, count, stream, v));
    if (mpk_failed(status)) mpki_cuda_space_free(ctx, out);
    return status;
}
