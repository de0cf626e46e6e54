/* SPDX-License-Identifier: BSD-3-Clause */
#include "tree.h"

/* What a node costs in flops: its own, plus moving its entries and starting. */
static double node_cost(const mpk_analysis *an, int32_t s) {
    double w = an->sptr[s + 1] - an->sptr[s], m = (double)(an->rptr[s + 1] - an->rptr[s]);
    return an->flops[s] + 16 * (w * (w + m) + m * m / 2) + 4000;
}

mpk_status mpki_tree_build(mpk_context *ctx, const mpk_analysis *an, int threads, mpki_tree *tree) {
    const int32_t ns = an->nsuper;
    *tree = (mpki_tree){0};
    double *cost = MPKI_NEW(ctx, "factorize", ns + 1, double); /* of the subtree */
    double *path = MPKI_NEW(ctx, "factorize", ns + 1, double); /* from a node to its root */
    int32_t *of = MPKI_NEW(ctx, "factorize", ns + 1, int32_t); /* task of a node */
    int32_t *first = MPKI_NEW(ctx, "factorize", ns + 1, int32_t);
    tree->task = MPKI_NEW(ctx, "factorize", ns + 1, mpki_tree_task);
    if (!cost || !path || !of || !first || !tree->task) goto done;

    for (int32_t s = 0; s < ns; s++) cost[s] = 0, first[s] = s;
    for (int32_t s = 0; s < ns; s++) {
        int32_t p = an->parent[s];
        cost[s] += node_cost(an, s);
        if (p >= 0) {
            cost[p] += cost[s];
            if (first[s] < first[p]) first[p] = first[s];
        } else {
            tree->cost += cost[s];
        }
    }
    for (int32_t s = ns - 1; s >= 0; s--)
        path[s] = node_cost(an, s) + (an->parent[s] >= 0 ? path[an->parent[s]] : 0);

    const double limit = threads > 1 ? tree->cost / (12.0 * threads) : tree->cost;
    for (int32_t s = 0; s < ns;) {
        mpki_tree_task t = {.first = s, .last = s, .parent = -1, .priority = path[s]};
        int32_t p = an->parent[s];
        if (cost[s] > limit && threads > 1) { /* a node of the top */
            t.top = true;
            of[s] = tree->count;
            tree->task[tree->count++] = t;
            s++;
            continue;
        }
        /* climb to the largest subtree that begins here and is small enough; then take small
         * brothers along */
        int32_t root = s;
        double sum = 0;
        while (an->parent[root] >= 0 && first[an->parent[root]] == s &&
               cost[an->parent[root]] <= limit)
            root = an->parent[root];
        p = an->parent[root];
        sum = cost[root];
        int32_t next = root + 1;
        while (next < ns) {
            int32_t brother = next;
            while (an->parent[brother] >= 0 && an->parent[brother] != p &&
                   first[an->parent[brother]] == next && cost[an->parent[brother]] <= limit)
                brother = an->parent[brother];
            if (an->parent[brother] != p || sum + cost[brother] > limit / 2) break;
            sum += cost[brother];
            next = brother + 1;
        }
        t.last = next - 1;
        t.priority = path[root];
        for (int32_t k = s; k < next; k++) of[k] = tree->count;
        tree->task[tree->count++] = t;
        s = next;
    }
    for (int32_t k = 0; k < tree->count; k++) tree->task[k].waits = 0;
    for (int32_t k = 0; k < tree->count; k++) {
        int32_t p = an->parent[tree->task[k].last];
        tree->task[k].parent = p >= 0 ? of[p] : -1;
        if (p >= 0) tree->task[of[p]].waits++;
    }
done:
    mpki_release(ctx, cost);
    mpki_release(ctx, path);
    mpki_release(ctx, of);
    mpki_release(ctx, first);
    if (mpki_failed(ctx) < 0) mpki_tree_free(ctx, tree);
    return mpki_failed(ctx);
}

void mpki_tree_free(mpk_context *ctx, mpki_tree *tree) {
    mpki_release(ctx, tree->task);
    *tree = (mpki_tree){0};
}
