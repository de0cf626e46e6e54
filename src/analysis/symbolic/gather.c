/* SPDX-License-Identifier: BSD-3-Clause */
/* A tree for a device after a factorization has shown where columns find their pivots: those that came
 * late are columns of the front that took them. A front that delays columns is tried more than once,
 * and its parent, with columns that come late, is no front of a warp any more; as columns of the
 * parent, which they fill no more than they did, they are eliminated with all others. */
#include "symbolic.h"

#include <string.h>

static const char STAGE[] = "symbolic";

/* The nodes that are left, with their columns, as a tree. perm, first, parent [out] room for n, one
 * more than there are nodes, and these */
static mpk_status tree_of(mpk_context *ctx, const mpk_analysis *an, const mpki_nodes *nodes,
                          int32_t *perm, int32_t *first, int32_t *parent, int32_t *count) {
    int32_t *number = MPKI_NEW(ctx, STAGE, nodes->count, int32_t), at = 0;
    if (!number) return mpki_failed(ctx);
    *count = first[0] = 0;
    for (int32_t s = 0; s < nodes->count; s++) {
        if (!nodes->alive[s]) continue;
        number[s] = (*count)++;
        for (int32_t k = nodes->head[s]; k >= 0; k = nodes->next[k]) perm[at++] = an->perm[k];
        first[*count] = at;
    }
    for (int32_t s = 0; s < nodes->count; s++)
        if (nodes->alive[s])
            parent[number[s]] = nodes->parent[s] < 0 ? -1 : number[nodes->parent[s]];
    mpki_release(ctx, number);
    return MPK_OK;
}

/* All of an but its tree. */
static mpk_analysis *without_tree(mpk_context *ctx, const mpk_analysis *an) {
    mpk_problem problem = {.ctx = ctx,
                           .scalar = an->scalar,
                           .symmetry = an->symmetry,
                           .layout = an->layout,
                           .n = an->n,
                           .nnz = an->nnz,
                           .ap = an->ap,
                           .ai = an->ai};
    mpk_analysis *made = mpki_analysis_new(ctx, &problem, &an->options);
    if (!made) return NULL;
    made->info = an->info;
    made->scale_far = an->scale_far;
    made->failing = an->failing;
    if (an->scale) made->scale = MPKI_NEW(ctx, STAGE, an->n, double);
    if (made->scale) memcpy(made->scale, an->scale, (size_t)an->n * sizeof *an->scale);
    if ((!an->scale || made->scale) && !mpk_failed(mpki_core_copy(ctx, an, &made->core)))
        return made;
    mpk_analysis_destroy(&made);
    return NULL;
}

mpk_status mpki_gather_late(mpk_context *ctx, const mpk_analysis *an, const int32_t *where,
                            mpk_analysis **out) {
    const int32_t n = an->n, ns = an->nsuper;
    double longest;
    int32_t *perm = MPKI_NEW(ctx, STAGE, n, int32_t);
    int32_t *first = MPKI_NEW(ctx, STAGE, (int64_t)ns + 1, int32_t);
    int32_t *parent = MPKI_NEW(ctx, STAGE, ns, int32_t);
    mpki_graph graph = {0};
    mpki_nodes nodes = {0};
    mpk_tree tree = {.n = n, .perm = perm, .first = first, .parent = parent};
    *out = NULL;
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status)) status = mpki_nodes_moved(ctx, an, where, &nodes);
    if (!mpk_failed(status) && mpki_nodes_uncut(&nodes))
        status = mpki_nodes_shorten(ctx, NULL, 0, &nodes, &longest);
    if (!mpk_failed(status))
        status = tree_of(ctx, an, &nodes, perm, first, parent, &tree.supernodes);
    if (!mpk_failed(status) && !(*out = without_tree(ctx, an))) status = mpki_failed(ctx);
    if (!mpk_failed(status))
        status = mpki_graph_build(ctx, n, an->core.ap, an->core.ai, NULL, NULL, &graph);
    if (!mpk_failed(status)) status = mpki_tree_given(ctx, &tree, &graph, *out);
    if (mpk_failed(status)) mpk_analysis_destroy(out);
    mpki_release(ctx, perm);
    mpki_release(ctx, first);
    mpki_release(ctx, parent);
    mpki_graph_free(ctx, &graph);
    mpki_nodes_free(ctx, &nodes);
    return status;
}
