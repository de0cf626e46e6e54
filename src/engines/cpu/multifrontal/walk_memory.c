/* SPDX-License-Identifier: BSD-3-Clause */
/* What the walk over a tree works in, for a factorization, and for solves with one from a file. */
#include "multifrontal.h"

static const char STAGE[] = "factorize";

void mpki_walk_memory_free(mpk_context *ctx, mpki_walk_memory *m) {
    for (int t = 0; t < m->workers; t++) {
        if (m->space) mpki_release(ctx, m->space[t]);
        if (m->runs) mpki_release(ctx, m->runs[t]);
    }
    mpki_release(ctx, m->space);
    mpki_release(ctx, m->runs);
    mpki_release(ctx, m->contribution);
    mpki_release(ctx, (void *)m->waits);
    mpki_tasks_free(ctx, &m->tasks);
    *m = (mpki_walk_memory){0};
}

mpk_status mpki_walk_memory_make(mpki_direct *f, int threads) {
    mpk_context *ctx = f->ctx;
    const mpki_tree_view *tree = &f->tree;
    mpki_walk_memory *m = &f->memory;
    if (m->threads == threads) return MPK_OK;
    mpki_walk_memory_free(ctx, m);
    if (mpk_failed(mpki_tasks_build(ctx, tree, threads, &m->tasks))) return mpki_failed(ctx);
    m->threads = threads;
    m->workers = m->tasks.cost < MPKI_WORTH_THREADS ? 1 : threads;
    m->waits = mpki_alloc(ctx, STAGE, m->tasks.count + 1, sizeof *m->waits);
    m->contribution = MPKI_ZNEW(ctx, STAGE, tree->nsuper + 1, void *);
    m->space = MPKI_ZNEW(ctx, STAGE, m->workers, void *);
    m->runs = MPKI_ZNEW(ctx, STAGE, m->workers, void *);
    for (int t = 0; m->space && m->runs && t < m->workers; t++) {
        m->space[t] = mpki_alloc(
            ctx, STAGE, MPKI_DISPATCH(tree->scalar, walk_space)((int64_t)tree->n + tree->outer),
            mpk_scalar_size(tree->scalar));
        m->runs[t] = MPKI_NEW(ctx, STAGE, tree->max_front + 1, mpki_run);
    }
    if (mpk_failed(mpki_failed(ctx))) mpki_walk_memory_free(ctx, m);
    return mpki_failed(ctx);
}
