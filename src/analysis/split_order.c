/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of an interior, beside that of the whole matrix: outer variables that separate the rest
 * come late in a good order of all, and without them that order may be better than one that has not
 * seen them. */
#include "symbolic/symbolic.h"

#include <string.h>

static const char STAGE[] = "order";

/* All of A by columns, lower triangle: the interior, then the outer variables. */
typedef struct whole {
    int32_t n; /* of all */
    int64_t *ap;
    int32_t *ai, *mate, *map, *order;
    mpki_graph graph;
} whole;

static void whole_free(mpk_context *ctx, whole *a) {
    mpki_release(ctx, a->ap);
    mpki_release(ctx, a->ai);
    mpki_release(ctx, a->mate);
    mpki_release(ctx, a->map);
    mpki_release(ctx, a->order);
    mpki_graph_free(ctx, &a->graph);
}

/* The graph, with the interior's pairs compressed. */
static mpk_status whole_make(mpk_context *ctx, const mpk_analysis *an, const int32_t *mate,
                             whole *a) {
    const mpki_split *split = an->split;
    const int32_t n = an->n, outer = split->outer;
    const int64_t count = an->nnz + split->ap[n] + split->corner_ap[outer];
    int64_t next = 0;
    *a = (whole){.n = n + outer,
                 .ap = MPKI_NEW(ctx, STAGE, (int64_t)n + outer + 1, int64_t),
                 .ai = MPKI_NEW(ctx, STAGE, count, int32_t),
                 .mate = MPKI_NEW(ctx, STAGE, n + outer, int32_t),
                 .map = MPKI_NEW(ctx, STAGE, n + outer, int32_t),
                 .order = MPKI_NEW(ctx, STAGE, n + outer, int32_t)};
    if (!a->ap || !a->ai || !a->mate || !a->map || !a->order) return mpki_failed(ctx);
    for (int32_t j = 0; j < a->n; j++) {
        a->ap[j] = next;
        a->mate[j] = mate && j < n ? mate[j] : j;
        for (int64_t k = j < n ? an->ap[j] : 0; j < n && k < an->ap[j + 1]; k++)
            a->ai[next++] = an->ai[k];
        for (int64_t k = j < n ? split->ap[j] : 0; j < n && k < split->ap[j + 1]; k++)
            a->ai[next++] = n + split->ai[k];
        const int32_t c = j - n;
        for (int64_t k = c >= 0 ? split->corner_ap[c] : 0; c >= 0 && k < split->corner_ap[c + 1];
             k++)
            a->ai[next++] = n + split->corner_ai[k];
    }
    a->ap[a->n] = next;
    return mpki_graph_build(ctx, a->n, a->ap, a->ai, a->mate, a->map, &a->graph);
}

/* perm [out] n: the interior in the order of the vertices, pairs adjacent. first [work] n of all */
static void restrict_order(const whole *a, int32_t n, int32_t *first, int32_t *perm) {
    int32_t next = 0;
    for (int32_t i = a->n - 1; i >= 0; i--) first[a->map[i]] = i;
    for (int32_t k = 0; k < a->graph.n; k++) {
        const int32_t i = first[a->order[k]], j = a->mate[i];
        if (i >= n) continue;
        perm[next++] = i;
        if (j != i) perm[next++] = j;
    }
}

mpk_status mpki_split_order(mpk_context *ctx, const mpk_options *options, const mpki_graph *graph,
                            const int32_t *mate, mpk_analysis *an) {
    const int32_t n = an->n, outer = mpki_split_rows(an->split);
    whole a = {0};
    mpki_graph below = {0};
    mpki_cost alone, restricted;
    mpk_ordering used = MPK_ORDERING_AUTO;
    if (outer == 0) return MPK_OK;
    mpk_status status = mpki_graph_below(ctx, graph, an->split, &below);
    if (!mpk_failed(status)) status = whole_make(ctx, an, mate, &a);
    int32_t *perm = MPKI_NEW(ctx, STAGE, (int64_t)n + outer, int32_t);
    int32_t *first = MPKI_NEW(ctx, STAGE, (int64_t)n + outer, int32_t);
    if (!mpk_failed(status) && (!perm || !first)) status = mpki_failed(ctx);
    if (!mpk_failed(status))
        status = mpki_order(ctx, &a.graph, MPK_ORDERING_AUTO, options->seed, options->threads,
                            a.order, &used);
    if (!mpk_failed(status)) {
        restrict_order(&a, n, first, perm);
        for (int32_t k = n; k < n + outer; k++) an->perm[k] = perm[k] = k;
        status = mpki_order_time(ctx, &below, an->perm, options->model_threads, &alone);
    }
    if (!mpk_failed(status))
        status = mpki_order_time(ctx, &below, perm, options->model_threads, &restricted);
    if (!mpk_failed(status) && restricted.time_s < alone.time_s) {
        memcpy(an->perm, perm, (size_t)n * sizeof *perm);
        an->info.ordering = used;
    }
    mpki_release(ctx, perm);
    mpki_release(ctx, first);
    mpki_graph_free(ctx, &below);
    whole_free(ctx, &a);
    return status;
}
