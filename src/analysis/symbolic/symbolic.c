/* SPDX-License-Identifier: BSD-3-Clause */
/* From a permutation to supernodes, structures and predictions. */
#include "structure.h"
#include "symbolic.h"

#include <math.h>

static const char STAGE[] = "symbolic";

/* join[k] = 1 where the columns at k and at its parent are mates. */
static char *find_pairs(mpk_context *ctx, const mpk_analysis *an, const int32_t *parent,
                        const int32_t *mate) {
    char *join = MPKI_ZNEW(ctx, STAGE, an->n, char);
    for (int32_t k = 0; join && k < an->n; k++)
        join[k] = parent[k] >= 0 && mate[an->perm[k]] == an->perm[parent[k]];
    return join;
}

mpk_status mpki_graph_below(mpk_context *ctx, const mpki_graph *graph, const mpki_split *split,
                            mpki_graph *whole) {
    const int32_t n = graph->n, outer = split->outer;
    const int64_t vertices = (int64_t)n + outer, entries = split->ap[n];
    if (vertices > INT32_MAX)
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, -1, "more than 2^31 - 1 rows");
    *whole = (mpki_graph){
        .n = (int32_t)vertices,
        .xadj = MPKI_ZNEW(ctx, STAGE, vertices + 1, int64_t),
        .adj = MPKI_NEW(ctx, STAGE, graph->xadj[n] + 2 * entries + 2 * (int64_t)outer, int32_t)};
    if (!whole->xadj || !whole->adj) return mpki_failed(ctx);
    int64_t *at = whole->xadj, next = 0; /* at[n + r + 1]: entries of row r, then where they go */
    int32_t *adj = whole->adj;
    for (int64_t k = 0; k < entries; k++) at[n + split->ai[k] + 1]++;
    for (int32_t v = 0; v < n; v++) {
        at[v] = next;
        for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++) adj[next++] = graph->adj[k];
        for (int64_t k = split->ap[v]; k < split->ap[v + 1]; k++) adj[next++] = n + split->ai[k];
    }
    at[n] = next;
    for (int32_t r = 0; r < outer; r++) { /* after the entries: neighbours in the chain */
        const int64_t count = at[n + r + 1];
        at[n + r + 1] = next;
        next += count;
        if (r > 0) adj[next++] = n + r - 1;
        if (r + 1 < outer) adj[next++] = n + r + 1;
    }
    for (int32_t v = 0; v < n; v++)
        for (int64_t k = split->ap[v]; k < split->ap[v + 1]; k++)
            adj[at[n + split->ai[k] + 1]++] = v;
    for (int32_t r = 1; r <= outer; r++) /* past the neighbours, to the end of the row */
        at[n + r] += (r > 1) + (r < outer);
    return MPK_OK;
}

static mpk_status tree_height(mpk_context *ctx, mpk_analysis *an) {
    int32_t *depth = MPKI_NEW(ctx, STAGE, an->nsuper, int32_t);
    if (!depth) return mpki_failed(ctx);
    an->info.tree_height = 0;
    for (int32_t s = an->nsuper - 1; s >= 0; s--) {
        depth[s] = an->parent[s] < 0 ? 1 : depth[an->parent[s]] + 1;
        if (depth[s] > an->info.tree_height) an->info.tree_height = depth[s];
    }
    mpki_release(ctx, depth);
    return MPK_OK;
}

mpk_status mpki_symbolic_predict(mpk_context *ctx, mpk_analysis *an) {
    mpk_analysis_info *info = &an->info;
    double nnz = 0;
    info->supernodes = an->nsuper;
    info->max_front = 0;
    info->factor_flops = 0;
    for (int32_t s = 0; s < an->nsuper; s++) {
        int64_t w = an->sptr[s + 1] - an->sptr[s], m = an->rptr[s + 1] - an->rptr[s];
        nnz += (double)mpki_front_nnz(w, m);
        info->factor_flops += an->flops[s];
        if (w + m > info->max_front) info->max_front = (int32_t)(w + m);
    }
    if (an->symmetry == MPK_GENERAL) { /* U beside L, the diagonal once */
        nnz = 2 * nnz - an->n;
        info->factor_flops = 0;
        for (int32_t s = 0; s < an->nsuper; s++)
            info->factor_flops += mpki_square_flops(an->sptr[s + 1] - an->sptr[s],
                                                    (double)(an->rptr[s + 1] - an->rptr[s]));
    }
    info->factor_nnz = nnz < 9e18 ? (int64_t)nnz : INT64_MAX;
    const mpk_status status = tree_height(ctx, an);
    return mpk_failed(status) ? status : mpki_predict_memory(ctx, an);
}

mpk_status mpki_symbolic_fits(mpk_context *ctx, const mpk_analysis *an) {
    const double limit = an->options.memory_limit;
    const double maps = 2 * sizeof(int32_t) * (double)an->rptr[an->nsuper] +
                        (double)an->nnz * (double)sizeof(mpki_short_scatter);
    /* what low rank leaves of large fronts is not known; where one worker has room, one does it */
    const double least = mpki_low_bytes(an) + mpki_more_workers_bytes(ctx, an);
    return mpki_memory_check(ctx, STAGE, "the factorization",
                             (double)an->info.peak_bytes - least + (limit > 0 ? 0 : maps), limit);
}

/* Its tree has hardly a path that is longer than the others. */
static bool dissected(mpk_ordering ordering) {
    return ordering == MPK_ORDERING_ND || ordering == MPK_ORDERING_METIS ||
           ordering == MPK_ORDERING_SCOTCH;
}

/* Mergers of a column take as long as a loop over so many entries. */
enum { ENTRIES = 32 };

/* Amalgamation for a device of a tree whose fronts all fit into a block. A front of a warp costs next to
 * nothing beside its columns, which follow each other where children are merged: paths alone decide, or
 * paths after the mergers that cost least, whichever takes less time. */
typedef struct merging {
    mpk_context *ctx;
    int32_t n;
    const int32_t *parent;
    int32_t *count;
    const char *join;
    mpki_nodes nodes[2]; /* by paths alone; after mergers */
    double longest[2];
    mpk_status status[2];
} merging;

static void merge_item(mpki_pool *pool, int worker, void *arg, int64_t way) {
    merging *m = arg;
    mpki_nodes *nodes = &m->nodes[way];
    mpk_status status = MPK_OK;
    if (way == 1) status = mpki_nodes_build(m->ctx, m->n, m->parent, m->count, m->join, nodes);
    if (way == 1 && !mpk_failed(status)) status = mpki_nodes_merge(m->ctx, &mpki_relax_few, nodes);
    if (!mpk_failed(status))
        status = mpki_nodes_shorten(m->ctx, pool, worker, nodes, &m->longest[way]);
    m->status[way] = status;
}

/* nodes [inout] as mpki_nodes_build() made them of the other arguments */
static mpk_status merge_by_paths(mpk_context *ctx, mpki_pool *pool, int32_t n,
                                 const int32_t *parent, int32_t *count, const char *join,
                                 mpki_nodes *nodes) {
    merging m = {ctx, n, parent, count, join, {*nodes}, {INFINITY, INFINITY}, {MPK_OK, MPK_OK}};
    mpki_pool_for(pool, 0, 2, merge_item, &m);
    const int wins = m.longest[1] < m.longest[0];
    *nodes = m.nodes[wins];
    mpki_nodes_free(ctx, &m.nodes[1 - wins]);
    return mpk_failed(m.status[0]) ? m.status[0] : m.status[1];
}

/* perm and iperm by the tree of an order: one that was found before, or *made. *used [out] which. */
static mpk_status find_tree(mpk_context *ctx, mpk_analysis *an, const mpki_graph *graph,
                            const mpki_etree *known, mpki_etree *made, const mpki_etree **used) {
    const int32_t positions = graph->n;
    mpk_status status = MPK_OK;
    *used = known && known->n == positions ? known : made;
    if (*used == made) {
        mpki_pool *pool =
            mpki_loops_pool(ctx, an->options.threads, graph->xadj[positions], &status);
        if (!mpk_failed(status)) status = mpki_etree_make(ctx, pool, 0, graph, an->perm, made);
    }
    for (int32_t k = 0; !mpk_failed(status) && k < positions; k++) {
        an->perm[k] = (*used)->perm[k];
        an->iperm[an->perm[k]] = k;
    }
    return status;
}

/* used_up: `given`, if it is not wanted afterwards; NULL: it is */
static mpk_status relaxed(mpk_context *ctx, mpk_analysis *an, const mpki_graph *given,
                          mpki_graph *used_up, const int32_t *mate, const mpki_relax *relax,
                          const mpki_etree *tree, const mpki_lower *rows) {
    const int32_t n = an->n, outer = mpki_split_rows(an->split);
    const int64_t positions = (int64_t)n + outer;
    mpki_graph built = {0}, below = {0};
    mpki_nodes nodes = {0};
    mpki_etree made = {0};
    char *join = NULL;
    mpk_status status = MPK_OK;
    if (!an->iperm) an->iperm = MPKI_NEW(ctx, STAGE, positions, int32_t);
    if (!an->iperm) {
        status = mpki_failed(ctx);
        goto done;
    }
    if (!given && mpk_failed(status = mpki_graph_build(ctx, n, an->ap, an->ai, NULL, NULL, &built)))
        goto done;
    const mpki_graph *graph = given ? given : &built;
    if (outer && mpk_failed(status = mpki_graph_below(ctx, graph, an->split, &below))) goto done;
    const mpki_graph *whole = outer ? &below : graph;
    for (int32_t k = n; k < positions; k++) an->perm[k] = k;
    if (mpk_failed(status = find_tree(ctx, an, whole, tree, &made, &tree))) goto done;
    int32_t *parent = tree->parent, *count = tree->count;
    for (int32_t k = 0; outer && k < n; k++)
        if (parent[k] >= n) parent[k] = -1; /* it stands below a root of the interior */
    if (mate && !(join = find_pairs(ctx, an, parent, mate))) {
        status = mpki_failed(ctx);
        goto done;
    }
    if (mpk_failed(status = mpki_nodes_build(ctx, n, parent, count, join, &nodes))) goto done;
    mpki_pool *mergers = mpki_loops_pool(ctx, an->options.threads, ENTRIES * (int64_t)n, &status);
    if (mpk_failed(status)) goto done;
    if (relax->children > 0 && mpki_nodes_uncut(&nodes)) {
        status = merge_by_paths(ctx, mergers, n, parent, count, join, &nodes);
    } else {
        double longest;
        status = mpki_nodes_merge(ctx, relax, &nodes);
        if (!mpk_failed(status) && relax->children > 0 && !dissected(an->info.ordering))
            status = mpki_nodes_shorten(ctx, mergers, 0, &nodes, &longest);
    }
    if (mpk_failed(status)) goto done;
    if (mpk_failed(status = mpki_nodes_sort(ctx, &nodes))) goto done;
    if (mpk_failed(status = mpki_structure_number(ctx, &nodes, an))) goto done;
    mpki_nodes_free(ctx, &nodes);
    mpki_etree_free(ctx, &made);
    if (an->options.low_rank_tolerance > 0 && !outer &&
        mpk_failed(status = mpki_cluster(ctx, whole, an)))
        goto done;
    if (mpk_failed(status = mpki_symbolic_predict(ctx, an))) goto done;
    if (mpk_failed(status = mpki_symbolic_fits(ctx, an))) goto done;
    mpki_pool *pool = mpki_loops_pool(ctx, an->options.threads, an->rptr[an->nsuper], &status);
    if (mpk_failed(status)) goto done;
    if (mpk_failed(status = mpki_structure_rows(ctx, pool, whole, an))) goto done;
    mpki_graph_free(ctx, &built);
    mpki_graph_free(ctx, &below);
    if (used_up) mpki_graph_free(ctx, used_up);
    status = mpki_structure_maps(ctx, rows, an);
done:
    mpki_nodes_free(ctx, &nodes);
    mpki_graph_free(ctx, &built);
    mpki_graph_free(ctx, &below);
    mpki_etree_free(ctx, &made);
    mpki_release(ctx, join);
    return status;
}

mpk_status mpki_symbolic_relaxed(mpk_context *ctx, mpk_analysis *an, const mpki_graph *graph,
                                 const int32_t *mate, const mpki_relax *relax) {
    return relaxed(ctx, an, graph, NULL, mate, relax, NULL, NULL);
}

static const mpki_relax *relax_for(const mpk_analysis *an) {
    return an->info.ordered_for == MPK_ON_CUDA ? &mpki_relax_device : &mpki_relax_default;
}

mpk_status mpki_symbolic_of(mpk_context *ctx, mpk_analysis *an, mpki_graph *graph,
                            const int32_t *mate, const mpki_etree *tree, const mpki_lower *rows) {
    return relaxed(ctx, an, graph, graph, mate, relax_for(an), tree, rows);
}

mpk_status mpki_symbolic(mpk_context *ctx, mpk_analysis *an, const mpki_graph *graph,
                         const int32_t *mate) {
    return relaxed(ctx, an, graph, NULL, mate, relax_for(an), NULL, NULL);
}
