/* SPDX-License-Identifier: BSD-3-Clause */
/* What the walk over a tree works in, for a factorization, and for solves with one from a file. */
#include "multifrontal.h"
#include "tuning.h"

static const char STAGE[] = "factorize";

void mpki_walk_memory_free(mpk_context *ctx, mpki_walk_memory *m) {
    for (int t = 0; t < m->workers; t++) {
        if (m->space) mpki_release(ctx, m->space[t]);
        if (m->runs) mpki_release(ctx, m->runs[t]);
        if (m->small) mpki_small_free(&m->small[t]);
    }
    mpki_release(ctx, m->small);
    mpki_release(ctx, m->space);
    mpki_release(ctx, m->runs);
    mpki_release(ctx, m->contribution);
    mpki_release(ctx, (void *)m->waits);
    mpki_tasks_free(ctx, &m->tasks);
    mpki_tasks_free(ctx, &m->sweeps);
    *m = (mpki_walk_memory){0};
}

static mpk_status make_tasks(mpk_context *ctx, const mpki_tree_view *tree, int workers,
                             const mpki_useful *useful, mpki_walk_memory *m) {
    const int solve = useful->solve > useful->sides ? useful->solve : useful->sides;
    mpk_status status =
        mpki_tasks_build(ctx, tree, mpki_walk_cost, workers, MPKI_TASKS_FACTOR, &m->tasks);
    if (!mpk_failed(status))
        status = mpki_tasks_build(ctx, tree, mpki_sweep_cost, solve, MPKI_TASKS_SOLVE, &m->sweeps);
    return status;
}

mpk_status mpki_walk_memory_make(mpki_direct *f, int threads) {
    mpk_context *ctx = f->ctx;
    const mpki_tree_view *tree = &f->tree;
    mpki_walk_memory *m = &f->memory;
    const bool known = m->threads == threads && m->workers > 0;
    mpki_useful useful = known ? m->useful : mpki_useful_workers(ctx, tree, threads);
    if (!known) f->pace = (mpki_pace){0};
    const int wanted = f->pace.workers ? f->pace.workers : useful.factor;
    const int workers = f->most > 0 && f->most < wanted ? f->most : wanted;
    if (known && m->workers == workers) return MPK_OK;
    mpki_walk_memory_free(ctx, m);
    int64_t before, after;
    mpk_memory_usage(ctx, &before, NULL);
    if (mpk_failed(make_tasks(ctx, tree, workers, &useful, m))) return mpki_failed(ctx);
    m->threads = threads;
    m->useful = useful;
    m->workers = workers;
    m->waits = mpki_alloc(ctx, STAGE, m->tasks.count + 1, sizeof *m->waits);
    m->contribution = MPKI_ZNEW(ctx, STAGE, tree->nsuper + 1, void *);
    m->space = MPKI_ZNEW(ctx, STAGE, m->workers, void *);
    m->runs = MPKI_ZNEW(ctx, STAGE, m->workers, void *);
    m->small = MPKI_ZNEW(ctx, STAGE, m->workers, mpki_small_blocks);
    for (int t = 0; m->space && m->runs && t < m->workers; t++) {
        m->space[t] = mpki_alloc(
            ctx, STAGE, MPKI_DISPATCH(tree->scalar, walk_space)((int64_t)tree->n + tree->outer),
            mpk_scalar_size(tree->scalar));
        m->runs[t] = MPKI_NEW(ctx, STAGE, tree->max_front + 1, mpki_run);
        if (m->small) m->small[t] = (mpki_small_blocks){.ctx = ctx, .stage = STAGE};
    }
    mpk_memory_usage(ctx, &after, NULL);
    m->bytes = after - before;
    if (mpk_failed(mpki_failed(ctx))) mpki_walk_memory_free(ctx, m);
    return mpki_failed(ctx);
}
