/* SPDX-License-Identifier: BSD-3-Clause */
/* Elimination tree, postorder and column counts. */
#include "symbolic.h"

static const char STAGE[] = "symbolic";

/* Liu 1986: add the rows one by one; from each neighbour below climb to the root of its tree, on
 * paths that are compressed as they are walked, and hang that root under the new row. */
static void elimination_tree(mpki_asking *asking, const mpki_graph *graph, const int32_t *perm,
                             const int32_t *iperm, int32_t *ancestor, int32_t *parent) {
    for (int32_t row = 0; row < graph->n; row++) {
        int32_t v = perm[row];
        if (mpki_asks(asking, 2 * (graph->xadj[v + 1] - graph->xadj[v]))) return;
        parent[row] = ancestor[row] = -1;
        for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++) {
            int32_t c = iperm[graph->adj[k]];
            while (c < row && c >= 0) {
                int32_t up = ancestor[c];
                ancestor[c] = row;
                if (up < 0) parent[c] = row;
                c = up;
            }
        }
    }
}

/* post[k] = the k-th node; children by increasing number. Without a stack, by parents and siblings.
 */
static void postorder(int32_t n, const int32_t *parent, int32_t *child, int32_t *sibling,
                      int32_t *post) {
    int32_t roots = -1, placed = 0;
    for (int32_t v = 0; v < n; v++) child[v] = -1;
    for (int32_t v = n - 1; v >= 0; v--) {
        int32_t *list = parent[v] < 0 ? &roots : &child[parent[v]];
        sibling[v] = *list;
        *list = v;
    }
    for (int32_t v = roots; v >= 0;) {
        while (child[v] >= 0) v = child[v];
        for (;;) {
            post[placed++] = v;
            if (sibling[v] >= 0) {
                v = sibling[v];
                break;
            }
            v = parent[v];
            if (v < 0) return;
        }
    }
}

/* Renumber everything by the postorder. where [work] n. */
static void renumber(int32_t n, const int32_t *post, int32_t *where, int32_t *old, int32_t *perm,
                     int32_t *iperm, int32_t *parent) {
    for (int32_t k = 0; k < n; k++) where[post[k]] = k;
    for (int32_t k = 0; k < n; k++) old[k] = parent[k];
    for (int32_t k = 0; k < n; k++) {
        int32_t p = old[post[k]];
        parent[k] = p < 0 ? -1 : where[p];
    }
    for (int32_t k = 0; k < n; k++) old[k] = perm[k];
    for (int32_t k = 0; k < n; k++) perm[k] = old[post[k]];
    for (int32_t k = 0; k < n; k++) iperm[perm[k]] = k;
}

/* Root of v's set, halving the path. */
static int32_t find(int32_t *set, int32_t v) {
    while (set[v] != v) {
        set[v] = set[set[v]];
        v = set[v];
    }
    return v;
}

/* Gilbert, Ng & Peyton 1994, figure 3. Row i of L is a subtree with root i; column counts are sums
 * over those subtrees: +1 at each leaf, -1 where two leaves' paths meet, -1 above the root, then
 * summed up the tree. j is a leaf of row i if no earlier neighbour of i lies under j. In a
 * postorder the last earlier neighbour tells, and the least common ancestor of it and j is that of
 * the leaf before j and j. Sums wrap around 2^32 in between; the counts themselves fit. */
static void column_counts(mpki_asking *asking, const mpki_graph *graph, const int32_t *perm,
                          const int32_t *iperm, const int32_t *parent, int32_t *first,
                          int32_t *last, int32_t *set, uint32_t *count) {
    int32_t n = graph->n;
    for (int32_t j = 0; j < n; j++) {
        first[j] = set[j] = j;
        last[j] = -1;
        count[j] = 0;
    }
    for (int32_t j = 0; j < n; j++) {
        int32_t p = parent[j];
        uint32_t own = graph->weight ? (uint32_t)graph->weight[perm[j]] : 1;
        if (first[j] == j) count[j] += own;
        if (p < 0) continue;
        if (first[j] < first[p]) first[p] = first[j];
        count[p] -= own;
    }
    for (int32_t j = 0; j < n; j++) {
        int32_t v = perm[j], low = first[j];
        if (mpki_asks(asking, 2 * (graph->xadj[v + 1] - graph->xadj[v]))) return;
        for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++) {
            int32_t w = graph->adj[k], i = iperm[w];
            if (i < j) continue;
            int32_t before = last[i];
            last[i] = j;
            if (before >= low) continue;
            uint32_t weight = graph->weight ? (uint32_t)graph->weight[w] : 1;
            count[j] += weight;
            if (before >= 0) count[find(set, before)] -= weight;
        }
        if (parent[j] >= 0) set[j] = parent[j];
    }
    for (int32_t j = 0; j < n; j++)
        if (parent[j] >= 0) count[parent[j]] += count[j];
}

mpk_status mpki_elimination(mpk_context *ctx, const mpki_graph *graph, int32_t *perm,
                            int32_t *iperm, int32_t *parent, int32_t *count) {
    int32_t n = graph->n;
    int32_t *work = MPKI_NEW(ctx, STAGE, 3 * (int64_t)n, int32_t);
    if (!work) return mpki_failed(ctx);
    int32_t *a = work, *b = work + n, *c = work + 2 * (int64_t)n;
    mpki_asking asking = {ctx, "analyse", 0};
    elimination_tree(&asking, graph, perm, iperm, a, parent);
    if (mpki_cancelled(ctx)) goto stopped;
    postorder(n, parent, a, b, c);
    renumber(n, c, a, b, perm, iperm, parent);
    column_counts(&asking, graph, perm, iperm, parent, a, b, c, (uint32_t *)count);
    if (mpki_cancelled(ctx)) goto stopped;
    mpki_release(ctx, work);
    return MPK_OK;
stopped:
    mpki_release(ctx, work);
    return mpki_stopped(ctx, STAGE);
}

/* ---- with the order -------------------------------------------------------------------------- */

void mpki_etree_free(mpk_context *ctx, mpki_etree *tree) {
    mpki_release(ctx, tree->perm);
    *tree = (mpki_etree){0};
}

static bool etree_alloc(mpk_context *ctx, int32_t n, mpki_etree *tree) {
    *tree = (mpki_etree){.n = n, .perm = MPKI_NEW(ctx, STAGE, 4 * (int64_t)n, int32_t)};
    if (!tree->perm) return false;
    tree->iperm = tree->perm + n;
    tree->parent = tree->iperm + n;
    tree->count = tree->parent + n;
    return true;
}

mpk_status mpki_etree_make(mpk_context *ctx, const mpki_graph *graph, const int32_t *perm,
                           mpki_etree *tree) {
    if (!etree_alloc(ctx, graph->n, tree)) return mpki_failed(ctx);
    for (int32_t k = 0; k < graph->n; k++) {
        tree->perm[k] = perm[k];
        tree->iperm[perm[k]] = k;
    }
    const mpk_status status =
        mpki_elimination(ctx, graph, tree->perm, tree->iperm, tree->parent, tree->count);
    if (mpk_failed(status)) mpki_etree_free(ctx, tree);
    return status;
}

mpk_status mpki_etree_columns(mpk_context *ctx, const mpki_graph *graph, const mpki_etree *tree,
                              mpki_etree *columns) {
    const int32_t n = graph->n;
    int64_t total = n;
    *columns = (mpki_etree){0};
    for (int32_t v = 0; graph->weight && v < n; v++) total += graph->weight[v] - 1;
    if (total > INT32_MAX) return mpki_error(ctx, MPK_ERR_SIZE, STAGE, total, "too many columns");
    int32_t *first = MPKI_NEW(ctx, STAGE, n, int32_t), next = 0;
    if (!first || !etree_alloc(ctx, (int32_t)total, columns)) {
        mpki_release(ctx, first);
        return mpki_failed(ctx);
    }
    for (int32_t k = 0; k < n; k++) {
        first[k] = next;
        next += graph->weight ? graph->weight[tree->perm[k]] : 1;
    }
    for (int32_t k = 0; k < n; k++) {
        const int32_t end = k + 1 < n ? first[k + 1] : next;
        for (int32_t c = first[k]; c < end; c++) {
            columns->count[c] = tree->count[k] - (c - first[k]);
            columns->parent[c] = c + 1 < end           ? c + 1
                                 : tree->parent[k] < 0 ? -1
                                                       : first[tree->parent[k]];
        }
    }
    mpki_release(ctx, first);
    return MPK_OK;
}

/* ---- what it costs --------------------------------------------------------------------------- */

/* Seconds of a factorization: fronts run at a rate that grows with their rows, from about 10
 * GFLOP/s to 40 a thread, and every entry of L is assembled and written. Measured on two cores of
 * Zen 4; only the ratio between orderings, and to the time of an ordering, is used. */
static double column_time(double w, double m, int threads) {
    double flops = mpki_front_flops(w, m);
    return flops * (1 + 150 / (w + m)) / (40e9 * threads) + 6e-9 * (w * m + w) + 1.5e-7;
}

mpki_cost mpki_etree_cost(const mpki_graph *graph, const mpki_etree *tree, int threads) {
    mpki_cost cost = {0};
    for (int32_t k = 0; k < tree->n; k++) {
        const double w = graph->weight ? graph->weight[tree->perm[k]] : 1, m = tree->count[k] - w;
        cost.nnz += w * (w + 1) / 2 + w * m;
        cost.flops += mpki_front_flops(w, m);
        cost.time_s += column_time(w, m, threads);
    }
    return cost;
}

mpk_status mpki_order_time(mpk_context *ctx, const mpki_graph *graph, const int32_t *perm,
                           int threads, mpki_cost *cost) {
    mpki_etree tree;
    const mpk_status status = mpki_etree_make(ctx, graph, perm, &tree);
    *cost = (mpki_cost){0};
    if (!mpk_failed(status)) *cost = mpki_etree_cost(graph, &tree, threads);
    mpki_etree_free(ctx, &tree);
    return status;
}

mpk_status mpki_order_cost(mpk_context *ctx, const mpki_graph *graph, const int32_t *perm,
                           double *factor_nnz, double *flops) {
    mpki_cost cost;
    mpk_status status = mpki_order_time(ctx, graph, perm, 1, &cost);
    *factor_nnz = cost.nnz;
    *flops = cost.flops;
    return status;
}
