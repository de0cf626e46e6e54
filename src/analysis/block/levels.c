/* SPDX-License-Identifier: BSD-3-Clause */
/* The hierarchy of a blocking: groups of groups, with a falling threshold. */
#include "grouping.h"

#include <string.h>

static const char STAGE[] = "blocking";

static const double DECAY = 0.9; /* Thuerck et al. 2018, section III.A */

/* of = next o of: vertices of the original graph into the groups of the coarser level. */
static void compose(int32_t n, const int32_t *next, int32_t *of) {
    for (int32_t v = 0; v < n; v++) of[v] = next[of[v]];
}

/* Replace *current (the original graph is never freed) by its quotient. */
static mpk_status coarsen(mpk_context *ctx, const mpki_graph *original, const int32_t *of,
                          int32_t count, mpki_graph *current) {
    mpki_graph coarse;
    mpk_status status = mpki_quotient(ctx, current->xadj ? current : original, of, count, &coarse);
    if (mpk_failed(status)) return status;
    mpki_graph_free(ctx, current);
    *current = coarse;
    return MPK_OK;
}

mpk_status mpki_group_levels(mpk_context *ctx, const mpki_graph *graph, const mpk_options *options,
                             int32_t most, mpki_grouping how, int32_t *of, int32_t *count) {
    const int threads = options->threads;
    /* where rows have next to nothing in common; a threshold of 0 would never fall below 0 */
    const double end = options->similarity_end > 1e-3 ? options->similarity_end : 1e-3;
    double tau = options->similarity;
    int32_t n = graph->n, groups = 0;
    mpki_graph coarse = {0};
    int32_t *next = MPKI_NEW(ctx, STAGE, n, int32_t);
    mpk_status status = next ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status) && *count == 0) {
        for (int32_t v = 0; v < n; v++) of[v] = v;
        *count = n;
    } else if (!mpk_failed(status)) {
        status = coarsen(ctx, graph, of, *count, &coarse);
    }
    if (!mpk_failed(status) && how == MPKI_GROUP_TWINS && n > 0) {
        const mpki_graph *g = coarse.xadj ? &coarse : graph;
        status = mpki_group_identical(ctx, g, most, next, &groups);
        if (!mpk_failed(status) && groups < g->n) {
            compose(n, next, of);
            *count = groups;
            status = coarsen(ctx, graph, next, groups, &coarse);
        }
    }
    while (!mpk_failed(status) && tau >= end && *count > 1) {
        const mpki_graph *g = coarse.xadj ? &coarse : graph;
        double below;
        if (mpki_progress(ctx, "analyse", 0.1)) {
            status = mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
            break;
        }
        status = how == MPKI_GROUP_NEIGHBOURS
                     ? mpki_group_neighbours(ctx, g, tau, most, next, &groups, &below)
                     : mpki_group_similar(ctx, g, tau, most, threads, next, &groups, &below);
        if (mpk_failed(status)) break;
        tau *= DECAY;
        if (groups == *count) { /* nothing was joined: lower the threshold */
            while (tau > below && tau >= end) tau *= DECAY;
            continue;
        }
        compose(n, next, of);
        *count = groups;
        status = coarsen(ctx, graph, next, groups, &coarse);
    }
    mpki_graph_free(ctx, &coarse);
    mpki_release(ctx, next);
    return status;
}
