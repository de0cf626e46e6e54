/* SPDX-License-Identifier: BSD-3-Clause */
#include "choose.h"

#include "order/order.h"

#include <string.h>

static const char STAGE[] = "analyse";

/* ---- the rules' constants: docs/analysis.md -----------------------------------------------------
 */

/* A diagonal entry is strong if it is at least this share of its row's largest after scaling. */
static const double STRONG = 0.1;
/* More weak columns without any strong neighbour than this share: compress without asking what it
 * costs; delayed pivots would cascade. */
static const double HOPELESS = 0.5;
/* Fewer failing pivots in the trial elimination than this share: no compression. */
static const double HARMLESS = 0.01;
/* In between: the uncompressed order is taken if its time, raised by RAISE for each share of
 * failing pivots, is below CHEAPER of the compressed one's. */
static const double RAISE = 2, CHEAPER = 0.6;
/* Sweeps of equilibration before the diagonal is judged. */
enum { SWEEPS = 3 };

void mpki_choice_free(mpk_context *ctx, mpki_choice *choice) {
    mpki_release(ctx, choice->mate);
    mpki_release(ctx, choice->scale);
    *choice = (mpki_choice){.rank = -1};
}

/* Everything the steps below share. */
typedef struct chooser {
    mpk_context *ctx;
    const mpk_problem *problem;
    const mpk_options *options;
    const mpki_graph *graph; /* uncompressed */
    mpki_moduli moduli;
    char *weak;
    mpki_choice *choice;
} chooser;

/* An order of columns and what it costs. */
typedef struct trial {
    mpki_graph graph;     /* compressed; n = 0 for the uncompressed graph */
    int32_t *vertex_perm; /* order of the graph's vertices */
    mpki_cost cost;
    int32_t *map; /* column -> vertex; NULL: the same */
} trial;

static void trial_free(mpk_context *ctx, trial *t) {
    mpki_graph_free(ctx, &t->graph);
    mpki_release(ctx, t->vertex_perm);
    mpki_release(ctx, t->map);
    *t = (trial){0};
}

/* ---- matching -----------------------------------------------------------------------------------
 */

/* Is every diagonal entry strong after equilibration? Then 1x1 pivots will do. */
static mpk_status diagonal_is_strong(chooser *c, bool *strong) {
    const mpk_problem *p = c->problem;
    double *scale = MPKI_NEW(c->ctx, STAGE, p->n, double);
    if (!scale) return mpki_failed(c->ctx);
    for (int32_t i = 0; i < p->n; i++) scale[i] = 1;
    mpk_status status =
        mpki_equilibrate(c->ctx, p->n, p->ap, p->ai, c->moduli.entry, SWEEPS, scale);
    *strong = !status && !mpki_weak_columns(p->n, c->moduli.diagonal, scale, STRONG, c->weak);
    mpki_release(c->ctx, scale);
    return status;
}

/* Fill choice->mate, scale and rank if a matching is wanted. Pairs of which one column is strong by
 * itself are only kept when the user insists: an order that takes the strong one first needs no 2x2
 * pivot. */
static mpk_status match(chooser *c) {
    const mpk_problem *p = c->problem;
    mpki_choice *choice = c->choice;
    mpk_switch matching = c->options->matching;
    bool strong = false;
    if (matching == MPK_OFF) return MPK_OK;
    mpk_status status = mpki_moduli_build(c->ctx, p, &c->moduli);
    c->weak = MPKI_NEW(c->ctx, STAGE, p->n, char);
    if (!status && !c->weak) status = mpki_failed(c->ctx);
    if (!status && matching == MPK_AUTO) status = diagonal_is_strong(c, &strong);
    if (status || strong) return status;
    choice->mate = MPKI_NEW(c->ctx, STAGE, p->n, int32_t);
    choice->scale = MPKI_NEW(c->ctx, STAGE, p->n, double);
    if (!choice->mate || !choice->scale) return mpki_failed(c->ctx);
    status = mpki_match(c->ctx, p->n, p->ap, p->ai, c->moduli.entry, choice->mate, choice->scale,
                        &choice->rank);
    if (status) return status;
    mpki_weak_columns(p->n, c->moduli.diagonal, choice->scale, STRONG, c->weak);
    bool pairs = false;
    for (int32_t i = 0; i < p->n; i++) {
        int32_t j = choice->mate[i];
        if (matching == MPK_AUTO && j > i && !(c->weak[i] && c->weak[j])) {
            choice->mate[i] = i;
            choice->mate[j] = j;
        }
        pairs |= choice->mate[i] != i;
    }
    if (!pairs) {
        mpki_release(c->ctx, choice->mate);
        choice->mate = NULL;
    }
    return MPK_OK;
}

/* ---- order --------------------------------------------------------------------------------------
 */

static const mpki_graph *trial_graph(const chooser *c, const trial *t) {
    return t->map ? &t->graph : c->graph;
}

/* The graph with or without pairs, not yet ordered. */
static mpk_status trial_build(chooser *c, const int32_t *mate, trial *t) {
    const mpk_problem *p = c->problem;
    *t = (trial){0};
    if (mate) {
        t->map = MPKI_NEW(c->ctx, STAGE, p->n, int32_t);
        if (!t->map) return mpki_failed(c->ctx);
        mpk_status status = mpki_graph_build(c->ctx, p->n, p->ap, p->ai, mate, t->map, &t->graph);
        if (status) return status;
    }
    t->vertex_perm = MPKI_NEW(c->ctx, STAGE, trial_graph(c, t)->n, int32_t);
    return t->vertex_perm ? MPK_OK : mpki_failed(c->ctx);
}

/* The same, ordered by AMD, with its cost. */
static mpk_status try_amd(chooser *c, const int32_t *mate, trial *t) {
    mpk_status status = trial_build(c, mate, t);
    if (status) return status;
    const mpki_graph *graph = trial_graph(c, t);
    status = mpki_order(c->ctx, graph, MPK_ORDERING_AMD, 0, 1, t->vertex_perm, NULL);
    if (status) return status;
    return mpki_order_time(c->ctx, graph, t->vertex_perm, c->options->threads, &t->cost);
}

/* Without a choice of graphs, AMD is asked only if its order is wanted. */
static mpk_status settled(chooser *c, trial *chosen) {
    mpk_ordering method = c->options->ordering;
    bool amd = method == MPK_ORDERING_AUTO || method == MPK_ORDERING_AMD;
    return amd ? try_amd(c, c->choice->mate, chosen) : trial_build(c, c->choice->mate, chosen);
}

/* Forget the pairs or not. *chosen [out]: the trial of the graph that is to be ordered. */
static mpk_status weigh_compression(chooser *c, trial *chosen) {
    const mpk_problem *p = c->problem;
    trial plain = {0};
    int32_t failed = 0;
    if (!c->choice->mate || c->options->matching == MPK_ON) return settled(c, chosen);
    char *covered = MPKI_NEW(c->ctx, STAGE, p->n, char);
    if (!covered) return mpki_failed(c->ctx);
    int32_t alone = mpki_weak_alone(p->n, p->ap, p->ai, c->weak, covered);
    mpki_release(c->ctx, covered);
    if (alone > HOPELESS * p->n) return settled(c, chosen);

    mpk_status status = try_amd(c, NULL, &plain);
    if (!status)
        status = mpki_weak_pivots(c->ctx, c->graph, p->ap, p->ai, &c->moduli, c->choice->scale,
                                  plain.vertex_perm, c->options->pivot_threshold, &failed);
    bool take_plain = failed <= HARMLESS * p->n;
    if (!status && !take_plain) status = try_amd(c, c->choice->mate, chosen);
    if (!status && !take_plain) {
        double raised = plain.cost.time_s * (1 + RAISE * failed / p->n);
        take_plain = raised < CHEAPER * chosen->cost.time_s;
    }
    if (!status && take_plain) {
        trial_free(c->ctx, chosen);
        *chosen = plain;
        mpki_release(c->ctx, c->choice->mate);
        c->choice->mate = NULL;
    } else {
        trial_free(c->ctx, &plain);
    }
    return status;
}

/* From the order of vertices to that of columns. */
static mpk_status expand(chooser *c, const trial *t, int32_t *perm) {
    int32_t n = c->problem->n, vertices = t->graph.n, next = 0;
    if (!t->map) {
        memcpy(perm, t->vertex_perm, (size_t)n * sizeof *perm);
        return MPK_OK;
    }
    int32_t *first = MPKI_NEW(c->ctx, STAGE, vertices, int32_t);
    if (!first) return mpki_failed(c->ctx);
    for (int32_t i = n - 1; i >= 0; i--) first[t->map[i]] = i;
    for (int32_t k = 0; k < vertices; k++) {
        int32_t i = first[t->vertex_perm[k]], j = c->choice->mate[i];
        perm[next++] = i;
        if (j != i) perm[next++] = j;
    }
    mpki_release(c->ctx, first);
    return MPK_OK;
}

static mpk_status order(chooser *c, int32_t *perm) {
    mpk_ordering method = c->options->ordering;
    trial t = {0};
    mpk_status status = weigh_compression(c, &t);
    const mpki_graph *graph = trial_graph(c, &t);
    c->choice->ordering = method;
    if (!status && method == MPK_ORDERING_AUTO)
        status = mpki_order_improve(c->ctx, graph, c->options->seed, c->options->threads,
                                    t.vertex_perm, &t.cost, &c->choice->ordering);
    else if (!status && method != MPK_ORDERING_AMD)
        status = mpki_order(c->ctx, graph, method, c->options->seed, c->options->threads,
                            t.vertex_perm, NULL);
    if (!status) status = expand(c, &t, perm);
    trial_free(c->ctx, &t);
    return status;
}

mpk_status mpki_choose(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                       const mpki_graph *graph, int32_t *perm, mpki_choice *choice,
                       double *time_match_s) {
    *choice = (mpki_choice){.rank = -1};
    chooser c = {ctx, problem, options, graph, {0}, NULL, choice};
    double start = mpki_now_s();
    mpk_status status = match(&c);
    *time_match_s = mpki_now_s() - start;
    if (!status && mpki_progress(ctx, STAGE, 0.1))
        status = mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    bool keeps_order =
        options->ordering == MPK_ORDERING_GIVEN || options->ordering == MPK_ORDERING_NATURAL;
    choice->ordering = options->ordering;
    if (!status && keeps_order) {
        mpki_release(ctx, choice->mate); /* that order knows nothing of pairs */
        choice->mate = NULL;
        for (int32_t k = 0; k < problem->n; k++)
            perm[k] = options->ordering == MPK_ORDERING_GIVEN ? options->given_perm[k] : k;
    } else if (!status) {
        status = order(&c, perm);
    }
    mpki_moduli_free(ctx, &c.moduli);
    mpki_release(ctx, c.weak);
    if (status) mpki_choice_free(ctx, choice);
    return status;
}
