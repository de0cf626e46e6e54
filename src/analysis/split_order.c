/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of an interior, beside two that have seen the outer variables. These separate the rest,
 * and come late in a good order of all: then it is good without them. Or they hang everywhere, and
 * minimum degree counts them while they wait for the end. */
#include "order/order.h"
#include "symbolic/symbolic.h"

#include <string.h>

static const char STAGE[] = "order";
/* An interior that costs so many times what all of A does is not ordered once more. */
static const double ENOUGH = 1.05;

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

/* perm [out] n: the first n variables in the order of the vertices, pairs adjacent. first [work] n
 * of all */
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

/* perm in place of an's order, whose cost is *best, where it costs less. */
static mpk_status take_better(mpk_context *ctx, const mpk_options *options, const mpki_graph *below,
                              const int32_t *perm, mpk_ordering used, mpki_cost *best,
                              mpk_analysis *an) {
    mpki_cost cost;
    const mpk_status status = mpki_order_time(ctx, below, perm, options->model_threads, &cost);
    if (mpk_failed(status) || !(cost.time_s < best->time_s)) return status;
    memcpy(an->perm, perm, (size_t)an->n * sizeof *perm);
    an->info.ordering = used;
    *best = cost;
    return status;
}

mpk_status mpki_split_order(mpk_context *ctx, const mpk_options *options, const mpki_graph *graph,
                            const int32_t *mate, mpk_analysis *an) {
    const int32_t n = an->n, outer = mpki_split_rows(an->split);
    whole a = {0};
    mpki_graph below = {0}, single = {0};
    mpki_cost best = {0}, all = {0};
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
        restrict_order(&a, a.n, first, perm);
        status = mpki_graph_build(ctx, a.n, a.ap, a.ai, NULL, NULL, &single);
    }
    if (!mpk_failed(status))
        status = mpki_order_time(ctx, &single, perm, options->model_threads, &all);
    if (!mpk_failed(status)) {
        for (int32_t k = n; k < n + outer; k++) an->perm[k] = perm[k] = k;
        status = mpki_order_time(ctx, &below, an->perm, options->model_threads, &best);
    }
    if (!mpk_failed(status)) {
        restrict_order(&a, n, first, perm);
        status = take_better(ctx, options, &below, perm, used, &best, an);
    }
    if (!mpk_failed(status) && best.time_s > ENOUGH * all.time_s && mpki_camd_takes(&a.graph)) {
        memset(first, 0, (size_t)a.graph.n * sizeof *first);
        for (int32_t i = n; i < a.n; i++) first[a.map[i]] = 1;
        status = mpki_order_camd(ctx, &a.graph, first, a.order);
        if (!mpk_failed(status)) {
            restrict_order(&a, n, first, perm);
            status = take_better(ctx, options, &below, perm, MPK_ORDERING_AMD, &best, an);
        }
    }
    mpki_release(ctx, perm);
    mpki_release(ctx, first);
    mpki_graph_free(ctx, &below);
    mpki_graph_free(ctx, &single);
    whole_free(ctx, &a);
    return status;
}
