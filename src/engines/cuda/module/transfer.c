/* SPDX-License-Identifier: BSD-3-Clause */
/* Through page-locked memory, in pieces that all threads bring there. */
#include "transfer.h"
#include "engines/cuda/block_factor/kernels/block_factor.h"

#include <string.h>

/* A part of what is brought to page-locked memory. */
typedef struct piecewise {
    char *to;
    const char *from;
    int64_t bytes;
} piecewise;

enum { PIECE = 256 << 10 };

static void bring_piece(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const piecewise *p = arg;
    const int64_t begin = item * PIECE, left = p->bytes - begin;
    memcpy(p->to + begin, p->from + begin, (size_t)(left < PIECE ? left : PIECE));
}

mpk_status mpki_cuda_send(mpk_context *ctx, const char *stage, mpki_pool *pool, void *to,
                          const void *from, int64_t bytes) {
    const mpki_device *d = mpki_cuda_kept(ctx);
    const mpki_cuda_blocks_table *module = d->table->blocks;
    mpk_status status = MPK_OK;
    int64_t capacity = 0;
    for (int64_t k = 0, half = 0; k < bytes && !mpk_failed(status); k += capacity, half ^= 1) {
        void *memory = NULL;
        status = mpki_cuda_status(ctx, stage, module->half(d->cuda, (int)half, &memory, &capacity));
        if (mpk_failed(status)) break;
        piecewise p = {memory, (const char *)from + k, bytes - k < capacity ? bytes - k : capacity};
        mpki_pool_for(p.bytes > PIECE ? pool : NULL, 0, (p.bytes + PIECE - 1) / PIECE, bring_piece,
                      &p);
        status =
            mpki_cuda_status(ctx, stage, module->send(d->cuda, (int)half, (char *)to + k, p.bytes));
    }
    return status;
}
