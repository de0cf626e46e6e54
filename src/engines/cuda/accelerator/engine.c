/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a GPU for the accelerator interface: what its module has, and what it can do. */
#include "accelerator.h"
#include "kernels/accelerator.h"

#include <metapack/options.h>
#include <stdio.h>

typedef struct held {
    mpk_accelerator table;
    const mpki_cuda_accelerator_table *functions;
    mpki_cuda_machine *machine;
    mpk_context *ctx;
    char name[96];
} held;

/* When the device of a context is closed. */
static void let_go(void *value) {
    held *h = value;
    h->functions->free(h->machine);
    mpki_release(h->ctx, h);
}

static void fill(held *h, const int32_t *sizes, unsigned precisions) {
    const mpki_cuda_accelerator_table *f = h->functions;
    int32_t most = 0;
    for (int k = 0; sizes[k]; k++) most = sizes[k];
    h->table = (mpk_accelerator){
        .struct_size = sizeof h->table,
        .name = h->name,
        .self = h->machine,
        .atomics = 1,
        .pivoting = 1,
        .precisions = precisions,
        .largest_block = most,
        .allocate = f->allocate,
        .release = f->release,
        .upload = f->upload,
        .download = f->download,
        .sizes = sizes,
        .types = 1u << MPK_TYPE_LDLT | 1u << MPK_TYPE_LLT | 1u << MPK_TYPE_LDU,
        .pairs = 1,
        .judges = 1,
        .run = f->run,
        .drops = 1,
        .wait = f->wait,
        .scatter = f->scatter,
        .gather = f->gather,
        .spans = f->spans,
        .forms = f->forms,
        .last_error = f->last_error,
        .sums = 1,
        .solves = 1,
    };
}

mpk_status mpki_cuda_accelerator(mpk_context *ctx, int number, const mpk_accelerator **table) {
    mpki_device *d = (mpki_device *)mpki_cuda_keep(ctx, number);
    const int32_t *sizes = NULL;
    unsigned precisions = 0;
    if (!d) return mpki_failed(ctx);
    if (d->accelerator) {
        *table = &((held *)d->accelerator)->table;
        return MPK_OK;
    }
    if (!d->table->accelerator)
        return mpki_error(ctx, MPK_ERR_DEVICE, "accelerator", number,
                          "the CUDA module was built without borgc's kernels for blocks "
                          "(METAPACK_CUDA_ROOMS: accelerator)");
    held *h = MPKI_ZNEW(ctx, "accelerator", 1, held);
    if (!h) return mpki_failed(ctx);
    h->ctx = ctx;
    h->functions = d->table->accelerator;
    const int status = h->functions->make(d->cuda, d->table->take, d->table->give, &h->machine,
                                          &sizes, &precisions);
    if (mpk_failed(status)) {
        mpki_release(ctx, h);
        return mpki_cuda_status(ctx, "accelerator", status);
    }
    if (!sizes[0]) {
        let_go(h);
        return mpki_error(ctx, MPK_ERR_DEVICE, "accelerator", number,
                          "the CUDA module was built without borgc's kernels for blocks "
                          "(METAPACK_CUDA_KERNELS)");
    }
    snprintf(h->name, sizeof h->name, "%s, by the accelerator interface", d->name);
    fill(h, sizes, precisions);
    d->accelerator = h;
    d->accelerator_free = let_go;
    *table = &h->table;
    return MPK_OK;
}
