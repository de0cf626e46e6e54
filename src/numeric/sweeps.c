/* SPDX-License-Identifier: BSD-3-Clause */
#include "triangular.h"

#include <string.h>

enum {
    WORTH_A_THREAD = 1000000
}; /* entries of L below which starting threads costs more than it saves */

static mpk_status task_children(mpk_context *ctx, const mpki_tree *tree, mpki_sweeps *sweeps) {
    const int32_t count = tree->count;
    sweeps->child_ptr = MPKI_ZNEW(ctx, "solve", count + 2, int32_t);
    sweeps->child = MPKI_NEW(ctx, "solve", count + 1, int32_t);
    sweeps->waits = mpki_alloc(ctx, "solve", count + 1, sizeof *sweeps->waits);
    if (mpki_failed(ctx) < 0) return mpki_failed(ctx);
    for (int32_t k = 0; k < count; k++)
        if (tree->task[k].parent >= 0) sweeps->child_ptr[tree->task[k].parent + 2]++;
    for (int32_t k = 2; k <= count; k++) sweeps->child_ptr[k] += sweeps->child_ptr[k - 1];
    for (int32_t k = 0; k < count; k++)
        if (tree->task[k].parent >= 0)
            sweeps->child[sweeps->child_ptr[tree->task[k].parent + 1]++] = k;
    return MPK_OK;
}

mpk_status mpki_sweeps_make(mpk_context *ctx, const mpk_factor *fac, int threads, int block,
                            mpki_sweeps *sweeps) {
    const mpk_analysis *an = fac->an;
    const int64_t size = (int64_t)mpk_scalar_size(an->scalar);
    const mpki_tree *tree = &fac->memory.tree;
    if (fac->info.nnz * block < WORTH_A_THREAD || (block == 1 && tree->count < 2)) threads = 1;
    *sweeps = (mpki_sweeps){.fac = fac, .threads = threads};
    sweeps->at = MPKI_NEW(ctx, "solve", (int64_t)an->nsuper + 1, int64_t);
    sweeps->v = MPKI_ZNEW(ctx, "solve", threads, void *);
    if (!sweeps->at || !sweeps->v) goto done;
    sweeps->at[0] = 0;
    for (int32_t s = 0; s < an->nsuper; s++)
        sweeps->at[s + 1] = sweeps->at[s] + fac->node[s].nrows - fac->node[s].nelim;
    sweeps->u = mpki_alloc(ctx, "solve", sweeps->at[an->nsuper], (size_t)size);
    for (int t = 0; t < threads; t++) {
        int64_t rows = (int64_t)fac->info.max_front + 8;
        sweeps->v[t] = mpki_alloc(ctx, "solve", rows * block + MPKI_PANEL * (int64_t)(block + 16),
                                  (size_t)size);
    }
    if (threads > 1 && mpki_failed(ctx) >= 0) {
        task_children(ctx, tree, sweeps);
        sweeps->pool = mpki_context_pool(ctx, threads, tree->count + 1);
    }
done:
    if (mpki_failed(ctx) < 0) mpki_sweeps_free(ctx, sweeps);
    return mpki_failed(ctx);
}

void mpki_sweeps_free(mpk_context *ctx, mpki_sweeps *sweeps) {
    for (int t = 0; sweeps->v && t < sweeps->threads; t++) mpki_release(ctx, sweeps->v[t]);
    mpki_release(ctx, sweeps->v);
    mpki_release(ctx, sweeps->at);
    mpki_release(ctx, sweeps->u);
    mpki_release(ctx, sweeps->child_ptr);
    mpki_release(ctx, sweeps->child);
    mpki_release(ctx, (void *)sweeps->waits);
    *sweeps = (mpki_sweeps){0};
}
