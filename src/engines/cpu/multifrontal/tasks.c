/* SPDX-License-Identifier: BSD-3-Clause */
/* Cuts the tree of supernodes into tasks. */
#include "tasks.h"

#include <string.h>

mpk_status mpki_tasks_build(mpk_context *ctx, const mpki_tree_view *tree, mpki_cost_of *cost_of,
                            int workers, int each, mpki_tasks *tasks) {
    const int32_t ns = tree->nsuper;
    double all = 0;
    *tasks = (mpki_tasks){0};
    double *cost = MPKI_NEW(ctx, "factorize", ns + 1, double); /* of the subtree */
    double *path = MPKI_NEW(ctx, "factorize", ns + 1, double); /* from a node to its root */
    int32_t *of = MPKI_NEW(ctx, "factorize", ns + 1, int32_t); /* task of a node */
    int32_t *first = MPKI_NEW(ctx, "factorize", ns + 1, int32_t);
    tasks->task = MPKI_NEW(ctx, "factorize", ns + 1, mpki_task);
    if (!cost || !path || !of || !first || !tasks->task) goto done;

    for (int32_t s = 0; s < ns; s++) cost[s] = 0, first[s] = s;
    for (int32_t s = 0; s < ns; s++) {
        int32_t p = tree->parent[s];
        cost[s] += cost_of(tree, s);
        if (p >= 0) {
            cost[p] += cost[s];
            if (first[s] < first[p]) first[p] = first[s];
        } else {
            all += cost[s];
        }
    }
    for (int32_t s = ns - 1; s >= 0; s--)
        path[s] = cost_of(tree, s) + (tree->parent[s] >= 0 ? path[tree->parent[s]] : 0);

    const double limit = workers > 1 ? all / ((double)each * workers) : all;
    for (int32_t s = 0; s < ns;) {
        mpki_task t = {.first = s, .last = s, .parent = -1, .heavy = -1, .priority = path[s]};
        int32_t p = tree->parent[s];
        if (cost[s] > limit && workers > 1) { /* a node of the top */
            t.top = true;
            of[s] = tasks->count;
            tasks->task[tasks->count++] = t;
            s++;
            continue;
        }
        /* climb to the largest subtree that begins here and is small enough; then add small
         * siblings */
        int32_t root = s;
        double sum = 0;
        while (tree->parent[root] >= 0 && first[tree->parent[root]] == s &&
               cost[tree->parent[root]] <= limit)
            root = tree->parent[root];
        p = tree->parent[root];
        sum = cost[root];
        int32_t next = root + 1;
        while (next < ns) {
            int32_t brother = next;
            while (tree->parent[brother] >= 0 && tree->parent[brother] != p &&
                   first[tree->parent[brother]] == next && cost[tree->parent[brother]] <= limit)
                brother = tree->parent[brother];
            if (tree->parent[brother] != p || sum + cost[brother] > limit / 2) break;
            sum += cost[brother];
            next = brother + 1;
        }
        t.last = next - 1;
        t.priority = path[root];
        for (int32_t k = s; k < next; k++) of[k] = tasks->count;
        tasks->task[tasks->count++] = t;
        s = next;
    }
    for (int32_t k = 0; k < tasks->count; k++) {
        const int32_t p = tree->parent[tasks->task[k].last];
        if (p < 0) continue;
        mpki_task *above = &tasks->task[of[p]];
        tasks->task[k].parent = of[p];
        above->waits++;
        if (above->heavy < 0 || cost[tasks->task[k].last] > cost[tasks->task[above->heavy].last])
            above->heavy = k;
    }
done:
    mpki_release(ctx, cost);
    mpki_release(ctx, path);
    mpki_release(ctx, of);
    mpki_release(ctx, first);
    if (!mpk_failed(mpki_failed(ctx))) { /* most trees have far fewer tasks than nodes */
        mpki_task *all = tasks->task;
        tasks->task = MPKI_NEW(ctx, "factorize", tasks->count + 1, mpki_task);
        if (tasks->task) memcpy(tasks->task, all, (size_t)tasks->count * sizeof *all);
        mpki_release(ctx, all);
    }
    if (mpk_failed(mpki_failed(ctx))) mpki_tasks_free(ctx, tasks);
    return mpki_failed(ctx);
}

mpk_status mpki_tasks_children(mpk_context *ctx, const char *stage, const mpki_tasks *tasks,
                               int32_t **ptr, int32_t **child) {
    const int32_t count = tasks->count;
    int32_t *p = *ptr = MPKI_ZNEW(ctx, stage, count + 2, int32_t);
    int32_t *c = *child = MPKI_NEW(ctx, stage, count + 1, int32_t);
    if (!p || !c) return mpki_failed(ctx);
    for (int32_t k = 0; k < count; k++)
        if (tasks->task[k].parent >= 0) p[tasks->task[k].parent + 2]++;
    for (int32_t k = 2; k <= count; k++) p[k] += p[k - 1];
    for (int32_t k = 0; k < count; k++)
        if (tasks->task[k].parent >= 0) c[p[tasks->task[k].parent + 1]++] = k;
    return MPK_OK;
}

void mpki_tasks_free(mpk_context *ctx, mpki_tasks *tasks) {
    mpki_release(ctx, tasks->task);
    *tasks = (mpki_tasks){0};
}
