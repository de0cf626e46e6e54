/* SPDX-License-Identifier: BSD-3-Clause */
/* From a permutation to supernodes, structures and predictions. */
#include "structure.h"
#include "symbolic.h"

static const char STAGE[] = "symbolic";

/* join[k] = 1 where the columns at k and at its parent are mates. */
static char *find_pairs(mpk_context *ctx, const mpk_analysis *an, const int32_t *parent,
                        const int32_t *mate) {
    char *join = MPKI_ZNEW(ctx, STAGE, an->n, char);
    for (int32_t k = 0; join && k < an->n; k++)
        join[k] = parent[k] >= 0 && mate[an->perm[k]] == an->perm[parent[k]];
    return join;
}

/* What the supernodes will take and do. */
static mpk_status predict(mpk_context *ctx, mpk_analysis *an) {
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
    info->factor_nnz = nnz < 9e18 ? (int64_t)nnz : INT64_MAX;
    return mpki_predict_memory(ctx, an);
}

/* Refuse what does not fit: the factorization alone is held against a limit of the caller's; what
 * the machine has free must hold the maps too, which are made next. */
static mpk_status check_memory(mpk_context *ctx, const mpk_analysis *an) {
    const double limit = an->options.memory_limit;
    const double maps = 2 * sizeof(int32_t) * (double)an->rptr[an->nsuper] +
                        (double)an->nnz * (double)sizeof(mpki_scatter);
    return mpki_memory_check(ctx, STAGE, "the factorization",
                             (double)an->info.peak_bytes + (limit > 0 ? 0 : maps), limit);
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

/* Its tree has hardly a path that is longer than the others. */
static bool dissected(mpk_ordering ordering) {
    return ordering == MPK_ORDERING_ND || ordering == MPK_ORDERING_METIS ||
           ordering == MPK_ORDERING_SCOTCH;
}

mpk_status mpki_symbolic_relaxed(mpk_context *ctx, mpk_analysis *an, const mpki_graph *given,
                                 const int32_t *mate, const mpki_relax *relax) {
    int32_t n = an->n;
    mpki_graph built = {0};
    mpki_nodes nodes = {0};
    char *join = NULL;
    mpk_status status = MPK_OK;
    int32_t *parent = MPKI_NEW(ctx, STAGE, n, int32_t);
    int32_t *count = MPKI_NEW(ctx, STAGE, n, int32_t);
    if (!an->iperm) an->iperm = MPKI_NEW(ctx, STAGE, n, int32_t);
    if (!parent || !count || !an->iperm) {
        status = mpki_failed(ctx);
        goto done;
    }
    if (!given && mpk_failed(status = mpki_graph_build(ctx, n, an->ap, an->ai, NULL, NULL, &built)))
        goto done;
    const mpki_graph *graph = given ? given : &built;
    for (int32_t k = 0; k < n; k++) an->iperm[an->perm[k]] = k;
    if (mpk_failed(status = mpki_elimination(ctx, graph, an->perm, an->iperm, parent, count)))
        goto done;
    if (mate && !(join = find_pairs(ctx, an, parent, mate))) {
        status = mpki_failed(ctx);
        goto done;
    }
    if (mpk_failed(status = mpki_nodes_build(ctx, n, parent, count, join, &nodes))) goto done;
    /* small fronts cost little beside their columns, which follow each other where children are
     * merged */
    const bool by_paths = relax->children > 0 && !dissected(an->info.ordering);
    if (by_paths && mpki_nodes_uncut(&nodes)) relax = &mpki_relax_default;
    if (mpk_failed(status = mpki_nodes_merge(ctx, relax, &nodes))) goto done;
    if (by_paths && mpk_failed(status = mpki_nodes_shorten(ctx, &nodes))) goto done;
    if (mpk_failed(status = mpki_nodes_sort(ctx, &nodes))) goto done;
    if (mpk_failed(status = mpki_structure_number(ctx, &nodes, an))) goto done;
    if (mpk_failed(status = predict(ctx, an))) goto done;
    if (mpk_failed(status = tree_height(ctx, an))) goto done;
    if (mpk_failed(status = check_memory(ctx, an))) goto done;
    if (mpk_failed(status = mpki_structure_rows(ctx, graph, an))) goto done;
    status = mpki_structure_maps(ctx, graph, an);
done:
    mpki_nodes_free(ctx, &nodes);
    mpki_graph_free(ctx, &built);
    mpki_release(ctx, parent);
    mpki_release(ctx, count);
    mpki_release(ctx, join);
    return status;
}

mpk_status mpki_symbolic(mpk_context *ctx, mpk_analysis *an, const mpki_graph *graph,
                         const int32_t *mate) {
    const bool device = an->info.ordered_for == MPK_ON_CUDA;
    return mpki_symbolic_relaxed(ctx, an, graph, mate,
                                 device ? &mpki_relax_device : &mpki_relax_default);
}
