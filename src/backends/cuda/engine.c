/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine of a CUDA device for sparse matrices: what of backends/sparse.h there is. */
#include "engine.h"
#include "load.h"

static const char *name(const mpk_context *ctx) {
    return mpki_cuda_kept(ctx)->name;
}

static const mpki_engine cuda = {.name = name, .memory = MPK_DEVICE, .vectors = &mpki_cuda_vectors};

const mpki_engine *mpki_cuda_engine(mpk_context *ctx, int device) {
    return mpki_cuda_keep(ctx, device) ? &cuda : NULL;
}
