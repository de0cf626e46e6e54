/* SPDX-License-Identifier: BSD-3-Clause */
/* From a permutation to supernodes, structures and predictions. */
#include "structure.h"
#include "symbolic.h"

#include "../../dense/storage.h"

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

/* Sizes and times that follow from the supernodes. Bytes: docs/analysis.md. */
static void predict(mpk_analysis *an, int64_t stack) {
    mpk_analysis_info *info = &an->info;
    double nnz = 0, factor = 0, entry = (double)mpk_scalar_size(an->scalar);
    info->n = an->n;
    info->nnz = an->nnz;
    info->supernodes = an->nsuper;
    info->max_front = 0;
    info->factor_flops = 0;
    for (int32_t s = 0; s < an->nsuper; s++) {
        int64_t w = an->sptr[s + 1] - an->sptr[s], m = an->rptr[s + 1] - an->rptr[s];
        nnz += (double)mpki_front_nnz(w, m);
        /* the panels, D and its inverse, names of the columns; to the next 64 bytes */
        factor +=
            64 * ceil(((double)(mpki_trapezoid(w + m, w) + 4 * w) * entry + 4.0 * (double)w) / 64);
        info->factor_flops += an->flops[s];
        if (w + m > info->max_front) info->max_front = (int32_t)(w + m);
    }
    double rows = (double)an->rptr[an->nsuper];
    double held = factor + (double)stack * entry + (double)an->nnz * entry;
    double maps = 2 * 4 * rows + (double)an->nnz * (double)sizeof(mpki_scatter);
    info->factor_nnz = nnz < 9e18 ? (int64_t)nnz : INT64_MAX;
    info->factor_bytes = factor < 9e18 ? (int64_t)factor : INT64_MAX;
    info->peak_bytes = held + maps < 9e18 ? (int64_t)(held + maps) : INT64_MAX;
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

mpk_status mpki_symbolic_relaxed(mpk_context *ctx, mpk_analysis *an, const mpki_graph *given,
                                 const int32_t *mate, const mpki_relax *relax) {
    int32_t n = an->n;
    int64_t stack = 0;
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
    if (mpk_failed(status = mpki_nodes_merge(ctx, relax, &nodes))) goto done;
    if (mpk_failed(status = mpki_nodes_sort(ctx, &nodes, &stack))) goto done;
    if (mpk_failed(status = mpki_structure_number(ctx, &nodes, an))) goto done;
    predict(an, stack);
    if (mpk_failed(status = tree_height(ctx, an))) goto done;
    status = mpki_memory_check(ctx, STAGE, "the factorization", (double)an->info.peak_bytes,
                               an->options.memory_limit);
    if (mpk_failed(status)) goto done;
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
    return mpki_symbolic_relaxed(ctx, an, graph, mate, &mpki_relax_default);
}
