/* SPDX-License-Identifier: BSD-3-Clause */
/* Over the tree, up or down, task by task (visit.h). */
#include "visit.h"

typedef struct way {
    mpki_direct_solver *z;
    mpki_visit *visit;
    void *v;
} way;

/* The worker that ends the last child does the parent, too: a chain is one worker's, who need not
 * call another. */
static void up(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const way *w = arg;
    const mpki_node *node = w->z->f->node;
    mpki_asking asking = {w->z->ctx, "solve", 0};
    for (const mpki_task *all = w->z->f->memory.sweeps.task, *t = &all[item];;
         t = &all[t->parent]) {
        for (int32_t s = t->first; s <= t->last && !mpki_asks(&asking, mpki_node_entries(&node[s]));
             s++)
            w->visit(w->z, t->top ? pool : NULL, worker, s, w->v);
        if (t->parent < 0 || atomic_fetch_sub(&w->z->waits[t->parent], 1) != 1) return;
    }
}

/* The way back: of the children the worker goes on with the heaviest. */
static void down(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const way *w = arg;
    const mpki_node *node = w->z->f->node;
    const mpki_task *all = w->z->f->memory.sweeps.task;
    mpki_asking asking = {w->z->ctx, "solve", 0};
    for (; item >= 0; item = all[item].heavy) {
        const mpki_task *t = &all[item];
        for (int32_t s = t->last; s >= t->first && !mpki_asks(&asking, mpki_node_entries(&node[s]));
             s--)
            w->visit(w->z, t->top ? pool : NULL, worker, s, w->v);
        for (int32_t k = w->z->child_ptr[item]; k < w->z->child_ptr[item + 1]; k++) {
            const int32_t child = w->z->child[k];
            if (child != t->heavy) mpki_pool_push(pool, all[child].priority, down, arg, child);
        }
    }
}

void mpki_visit_up(mpki_direct_solver *z, int worker, mpki_visit *visit, void *v) {
    const mpki_tasks *tasks = &z->f->memory.sweeps;
    const bool alone = z->alone || !z->pool;
    mpki_asking asking = {z->ctx, "solve", 0};
    for (int32_t s = 0; alone && s < z->f->tree.nsuper; s++) {
        if (mpki_asks(&asking, mpki_node_entries(&z->f->node[s]))) return;
        visit(z, NULL, worker, s, v);
    }
    if (alone) return;
    way w = {z, visit, v};
    for (int32_t k = 0; k < tasks->count; k++) atomic_init(&z->waits[k], tasks->task[k].waits);
    for (int32_t k = 0; k < tasks->count; k++)
        if (tasks->task[k].waits == 0) mpki_pool_push(z->pool, tasks->task[k].priority, up, &w, k);
    mpki_pool_run(z->pool);
}

void mpki_visit_down(mpki_direct_solver *z, int worker, mpki_visit *visit, void *v) {
    const mpki_tasks *tasks = &z->f->memory.sweeps;
    const bool alone = z->alone || !z->pool;
    mpki_asking asking = {z->ctx, "solve", 0};
    for (int32_t s = z->f->tree.nsuper - 1; alone && s >= 0; s--) {
        if (mpki_asks(&asking, mpki_node_entries(&z->f->node[s]))) return;
        visit(z, NULL, worker, s, v);
    }
    if (alone) return;
    way w = {z, visit, v};
    for (int32_t k = 0; k < tasks->count; k++)
        if (tasks->task[k].parent < 0)
            mpki_pool_push(z->pool, tasks->task[k].priority, down, &w, k);
    mpki_pool_run(z->pool);
}
