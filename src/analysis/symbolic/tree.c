/* SPDX-License-Identifier: BSD-3-Clause */
/* Elimination tree, postorder and column counts; of large graphs subtrees side by side, and then what
 * is above them. */
#include "symbolic.h"

#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "symbolic";

/* Positions begin .. end that no earlier ones are joined to: in a postorder, a subtree. */
typedef struct part {
    int32_t begin, end;
    int32_t *met, count; /* rows below it that its columns meet, each with the last of these */
} part;

typedef struct eliminating {
    mpk_context *ctx;
    mpki_pool *pool; /* NULL: there are no parts */
    int worker;
    const mpki_graph *graph;
    int32_t *perm, *iperm, *parent;
    int32_t *a, *b, *c; /* work, n each */
    uint32_t *count;
    /* with a pool: */
    part *part; /* by position, apart from each other */
    int32_t parts, most;
    int64_t *sum;   /* n + 1: edges of the positions before each */
    int32_t *low;   /* n: lowest position that each reaches back to */
    int32_t **last; /* of each worker: n, all -1, then room for n more; NULL until it has a part */
    _Atomic int failed;
} eliminating;

enum {
    SHARED = 100000, /* edges from which there are parts */
    EACH = 3,        /* parts for a thread, about: what is above more of them is one thread's */
    SMALL = 32       /* with less than this part of its share one is not worth a task */
};

/* ---- parts ----------------------------------------------------------------------------------- */

static int by_position(const void *a, const void *b) {
    const part *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static void emit(eliminating *e, int32_t begin, int32_t end, int64_t share) {
    const int64_t edges = e->sum[end + 1] - e->sum[begin];
    if (edges * SMALL >= share && e->parts < e->most)
        e->part[e->parts++] = (part){.begin = begin, .end = end};
}

/* Each position joins the intervals that it reaches back to, low[]; the largest ones with no more
 * than a share of all edges are parts. begin, end, fits: a stack of intervals, in a, b, c. */
static void cut(eliminating *e, const int32_t *low) {
    const int32_t n = e->graph->n;
    int32_t *begin = e->a, *end = e->b, *fits = e->c, depth = 0;
    e->sum[0] = 0;
    for (int32_t k = 0; k < n; k++) {
        const int32_t v = e->perm[k];
        e->sum[k + 1] = e->sum[k] + 1 + e->graph->xadj[v + 1] - e->graph->xadj[v];
    }
    const int64_t share = e->sum[n] / (EACH * (int64_t)mpki_pool_threads(e->pool));
    e->parts = 0;
    for (int32_t k = 0; k < n; k++) {
        int32_t from = depth;
        while (from > 0 && end[from - 1] >= low[k]) from--;
        const int32_t first = from < depth ? begin[from] : k;
        const bool small = e->sum[k + 1] - e->sum[first] <= share;
        for (int32_t q = from; !small && q < depth; q++)
            if (fits[q]) emit(e, begin[q], end[q], share);
        begin[from] = first, end[from] = k, fits[from] = small;
        depth = from + 1;
    }
    for (int32_t q = 0; q < depth; q++)
        if (fits[q]) emit(e, begin[q], end[q], share);
    qsort(e->part, (size_t)e->parts, sizeof *e->part, by_position);
}

static void low_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const eliminating *e = arg;
    const mpki_graph *g = e->graph;
    const int64_t shares = mpki_shares(e->pool);
    const int32_t end = (int32_t)(g->n * (item + 1) / shares);
    (void)pool, (void)worker;
    for (int32_t k = (int32_t)(g->n * item / shares); k < end; k++) {
        const int32_t v = e->perm[k];
        int32_t low = k;
        for (int64_t q = g->xadj[v]; q < g->xadj[v + 1]; q++)
            if (e->iperm[g->adj[q]] < low) low = e->iperm[g->adj[q]];
        e->low[k] = low;
    }
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Liu 1986: add the rows one by one; from each neighbour below climb to the root of its tree, on
 * paths that are compressed as they are walked, and hang that root under the new row. */
static void add_rows(const eliminating *e, mpki_asking *asking, int32_t begin, int32_t end) {
    const mpki_graph *graph = e->graph;
    int32_t *ancestor = e->a, *parent = e->parent;
    for (int32_t row = begin; row < end; row++) {
        int32_t v = e->perm[row];
        if (mpki_asks(asking, 2 * (graph->xadj[v + 1] - graph->xadj[v]))) return;
        parent[row] = ancestor[row] = -1;
        for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++) {
            int32_t c = e->iperm[graph->adj[k]];
            while (c < row && c >= 0) {
                int32_t up = ancestor[c];
                ancestor[c] = row;
                if (up < 0) parent[c] = row;
                c = up;
            }
        }
    }
}

static void tree_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const eliminating *e = arg;
    mpki_asking asking = {e->ctx, "analyse", 0};
    (void)pool, (void)worker;
    add_rows(e, &asking, e->part[item].begin, e->part[item].end + 1);
}

static void elimination_tree(eliminating *e) {
    mpki_asking asking = {e->ctx, "analyse", 0};
    int32_t next = 0;
    if (e->pool) {
        mpki_pool_for(e->pool, e->worker, mpki_shares(e->pool), low_item, e);
        cut(e, e->low);
        mpki_pool_for(e->pool, e->worker, e->parts, tree_item, e);
    }
    for (int32_t p = 0; p < e->parts && !mpki_cancelled(e->ctx); p++) {
        add_rows(e, &asking, next, e->part[p].begin);
        next = e->part[p].end + 1;
    }
    if (!mpki_cancelled(e->ctx)) add_rows(e, &asking, next, e->graph->n);
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

/* Renumber everything by the postorder. where, old [work] n. */
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

/* ---- counts ---------------------------------------------------------------------------------- */

/* Gilbert, Ng & Peyton 1994, figure 3. Row i of L is a subtree with root i; column counts are sums
 * over those subtrees: +1 at each leaf, -1 where two leaves' paths meet, -1 above the root, then
 * summed up the tree. j is a leaf of row i if no earlier neighbour of i lies under j. In a
 * postorder the last earlier neighbour tells, and the least common ancestor of it and j is that of
 * the leaf before j and j. Sums wrap around 2^32 in between; the counts themselves fit.
 * In a part, rows below it have a `last` of the worker's own: that a path from outside meets one from
 * the part above it, whatever the column, is told afterwards. */
static void begin_counts(const eliminating *e) {
    const int32_t n = e->graph->n;
    int32_t *first = e->a, *last = e->b, *set = e->c;
    for (int32_t j = 0; j < n; j++) {
        first[j] = set[j] = j;
        last[j] = -1;
        e->count[j] = 0;
    }
    for (int32_t j = 0; j < n; j++) {
        const int32_t p = e->parent[j];
        const uint32_t own = e->graph->weight ? (uint32_t)e->graph->weight[e->perm[j]] : 1;
        if (first[j] == j) e->count[j] += own;
        if (p < 0) continue;
        if (first[j] < first[p]) first[p] = first[j];
        e->count[p] -= own;
    }
}

/* Column j has an entry in the row, whose last one was in column `before`; -1: in none. */
static inline void meet(const eliminating *e, int32_t row, int32_t j, int32_t before) {
    if (before >= e->a[j]) return;
    const uint32_t weight = e->graph->weight ? (uint32_t)e->graph->weight[e->perm[row]] : 1;
    e->count[j] += weight;
    if (before >= 0) e->count[find(e->c, before)] -= weight;
}

static void count_columns(const eliminating *e, mpki_asking *asking, int32_t begin, int32_t end) {
    const mpki_graph *graph = e->graph;
    int32_t *last = e->b;
    for (int32_t j = begin; j < end; j++) {
        const int32_t v = e->perm[j];
        if (mpki_asks(asking, 2 * (graph->xadj[v + 1] - graph->xadj[v]))) return;
        for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++) {
            const int32_t i = e->iperm[graph->adj[k]];
            if (i < j) continue;
            const int32_t before = last[i];
            last[i] = j;
            meet(e, i, j, before);
        }
        if (e->parent[j] >= 0) e->c[j] = e->parent[j];
    }
}

static int32_t *own_last(eliminating *e, int worker) {
    const int32_t n = e->graph->n;
    if (!e->last[worker]) {
        e->last[worker] = MPKI_NEW(e->ctx, STAGE, 2 * (int64_t)n, int32_t);
        if (e->last[worker]) memset(e->last[worker], -1, (size_t)n * sizeof *e->last[worker]);
    }
    return e->last[worker];
}

static void count_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    eliminating *e = arg;
    const mpki_graph *graph = e->graph;
    part *p = &e->part[item];
    mpki_asking asking = {e->ctx, "analyse", 0};
    int32_t *last = own_last(e, worker), count = 0;
    (void)pool;
    if (!last) {
        e->failed = mpki_failed(e->ctx);
        return;
    }
    int32_t *met = last + graph->n;
    for (int32_t j = p->begin; j <= p->end; j++) {
        const int32_t v = e->perm[j];
        if (mpki_asks(&asking, 2 * (graph->xadj[v + 1] - graph->xadj[v]))) return;
        for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++) {
            const int32_t i = e->iperm[graph->adj[k]];
            if (i < j) continue;
            int32_t *at = i > p->end ? &last[i] : &e->b[i], before = *at;
            if (i > p->end && before < 0) met[count++] = i;
            *at = j;
            meet(e, i, j, before);
        }
        if (j < p->end) e->c[j] = e->parent[j];
    }
    p->met = MPKI_NEW(e->ctx, STAGE, 2 * (int64_t)count, int32_t);
    if (!p->met) e->failed = mpki_failed(e->ctx);
    for (int32_t k = 0; k < count; k++) {
        if (p->met) p->met[2 * k] = met[k], p->met[2 * k + 1] = last[met[k]];
        last[met[k]] = -1;
    }
    p->count = p->met ? count : 0;
}

/* What a part has left to tell: its paths meet those of earlier columns above it. */
static void join_part(const eliminating *e, const part *p) {
    int32_t *last = e->b;
    for (int32_t k = 0; k < p->count; k++) {
        const int32_t i = p->met[2 * k], before = last[i];
        last[i] = p->met[2 * k + 1];
        if (before < 0) continue;
        e->count[find(e->c, before)] -=
            e->graph->weight ? (uint32_t)e->graph->weight[e->perm[i]] : 1;
    }
    if (e->parent[p->end] >= 0) e->c[p->end] = e->parent[p->end];
}

static mpk_status column_counts(eliminating *e) {
    mpki_asking asking = {e->ctx, "analyse", 0};
    int32_t next = 0;
    if (e->pool) { /* a position reaches back to its first descendant */
        for (int32_t j = 0; j < e->graph->n; j++) e->low[j] = j;
        for (int32_t j = 0; j < e->graph->n; j++) {
            const int32_t p = e->parent[j];
            if (p >= 0 && e->low[j] < e->low[p]) e->low[p] = e->low[j];
        }
        cut(e, e->low);
    }
    begin_counts(e);
    if (e->pool) mpki_pool_for(e->pool, e->worker, e->parts, count_item, e);
    if (mpk_failed((mpk_status)e->failed)) return (mpk_status)e->failed;
    for (int32_t p = 0; p < e->parts && !mpki_cancelled(e->ctx); p++) {
        count_columns(e, &asking, next, e->part[p].begin);
        join_part(e, &e->part[p]);
        next = e->part[p].end + 1;
    }
    if (!mpki_cancelled(e->ctx)) count_columns(e, &asking, next, e->graph->n);
    for (int32_t j = 0; j < e->graph->n; j++)
        if (e->parent[j] >= 0) e->count[e->parent[j]] += e->count[j];
    return MPK_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void parts_free(eliminating *e) {
    const int threads = mpki_pool_threads(e->pool);
    for (int32_t p = 0; e->part && p < e->parts; p++) mpki_release(e->ctx, e->part[p].met);
    for (int w = 0; e->last && w < threads; w++) mpki_release(e->ctx, e->last[w]);
    mpki_release(e->ctx, e->last);
    mpki_release(e->ctx, e->part);
    mpki_release(e->ctx, e->sum);
    mpki_release(e->ctx, e->low);
}

/* A pool is used where it pays. */
static bool parts_make(eliminating *e, mpki_pool *pool) {
    const int threads = mpki_pool_threads(pool);
    const bool pays = e->graph->xadj[e->graph->n] >= SHARED || mpki_context_takes_all(e->ctx);
    if (threads < 2 || !pays) return true;
    e->pool = pool;
    e->most = 4 * EACH * threads;
    e->part = MPKI_NEW(e->ctx, STAGE, e->most, part);
    e->sum = MPKI_NEW(e->ctx, STAGE, (int64_t)e->graph->n + 1, int64_t);
    e->low = MPKI_NEW(e->ctx, STAGE, e->graph->n, int32_t);
    e->last = MPKI_ZNEW(e->ctx, STAGE, threads, int32_t *);
    return e->part && e->sum && e->low && e->last;
}

static mpk_status eliminate(mpk_context *ctx, mpki_pool *pool, int worker, const mpki_graph *graph,
                            int32_t *perm, int32_t *iperm, int32_t *parent, int32_t *count) {
    const int32_t n = graph->n;
    eliminating e = {.ctx = ctx,
                     .worker = worker,
                     .graph = graph,
                     .perm = perm,
                     .iperm = iperm,
                     .parent = parent,
                     .count = (uint32_t *)count};
    mpk_status status = MPK_OK;
    e.a = MPKI_NEW(ctx, STAGE, 3 * (int64_t)n, int32_t);
    if (!e.a || !parts_make(&e, pool)) {
        status = mpki_failed(ctx);
        goto done;
    }
    e.b = e.a + n, e.c = e.a + 2 * (int64_t)n;
    elimination_tree(&e);
    if (mpki_cancelled(ctx)) goto done;
    postorder(n, parent, e.a, e.b, e.c);
    renumber(n, e.c, e.a, e.b, perm, iperm, parent);
    status = column_counts(&e);
done:
    if (!mpk_failed(status) && mpki_cancelled(ctx)) status = mpki_stopped(ctx, STAGE);
    parts_free(&e);
    mpki_release(ctx, e.a);
    return status;
}

mpk_status mpki_elimination(mpk_context *ctx, const mpki_graph *graph, int32_t *perm,
                            int32_t *iperm, int32_t *parent, int32_t *count) {
    return eliminate(ctx, NULL, 0, graph, perm, iperm, parent, count);
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

mpk_status mpki_etree_make(mpk_context *ctx, mpki_pool *pool, int worker, const mpki_graph *graph,
                           const int32_t *perm, mpki_etree *tree) {
    if (!etree_alloc(ctx, graph->n, tree)) return mpki_failed(ctx);
    for (int32_t k = 0; k < graph->n; k++) {
        tree->perm[k] = perm[k];
        tree->iperm[perm[k]] = k;
    }
    const mpk_status status =
        eliminate(ctx, pool, worker, graph, tree->perm, tree->iperm, tree->parent, tree->count);
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
double mpki_column_time(double w, double m, int threads) {
    double flops = mpki_front_flops(w, m);
    return flops * (1 + 150 / (w + m)) / (40e9 * threads) + 6e-9 * (w * m + w) + 1.5e-7;
}

mpki_cost mpki_etree_cost(const mpki_graph *graph, const mpki_etree *tree, int threads) {
    mpki_cost cost = {0};
    for (int32_t k = 0; k < tree->n; k++) {
        const double w = graph->weight ? graph->weight[tree->perm[k]] : 1, m = tree->count[k] - w;
        cost.nnz += w * (w + 1) / 2 + w * m;
        cost.flops += mpki_front_flops(w, m);
        cost.time_s += mpki_column_time(w, m, threads);
    }
    return cost;
}

mpk_status mpki_etree_late(mpk_context *ctx, const mpki_graph *graph, const mpki_etree *tree,
                           const int32_t *until, int threads, double *late_s) {
    double *came = MPKI_ZNEW(ctx, STAGE, tree->n, double);
    *late_s = 0;
    if (!came) return mpki_failed(ctx);
    for (int32_t v = 0; v < tree->n; v++) {
        if (until[v] < 0) continue;
        came[tree->iperm[v]]++;
        const int32_t above = until[v] < tree->n ? tree->parent[tree->iperm[until[v]]] : -1;
        if (above >= 0) came[above]--;
    }
    for (int32_t k = 0; k < tree->n; k++) {
        const double w = graph->weight ? graph->weight[tree->perm[k]] : 1, m = tree->count[k] - w;
        if (tree->parent[k] >= 0) came[tree->parent[k]] += came[k];
        if (came[k] > 0)
            *late_s += mpki_column_time(w, m + came[k], threads) - mpki_column_time(w, m, threads);
    }
    mpki_release(ctx, came);
    return MPK_OK;
}

mpk_status mpki_order_time(mpk_context *ctx, const mpki_graph *graph, const int32_t *perm,
                           int threads, mpki_cost *cost) {
    mpki_etree tree;
    const mpk_status status = mpki_etree_make(ctx, NULL, 0, graph, perm, &tree);
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
