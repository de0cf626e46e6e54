/* SPDX-License-Identifier: BSD-3-Clause */
/* The choices before the elimination tree of the direct solver: matching, scaling, ordering. */
#include "../backends/cuda/load.h"
#include "choose.h"
#include "config.h"

#include "order/order.h"

#include <string.h>

static const char STAGE[] = "analyse";

/* ---- the rules' constants: docs/analysis.md -----------------------------------------------------
 */

/* A diagonal entry is strong if it is at least this share of its row's largest after scaling. */
static const double STRONG = 0.1;
/* With a larger share of weak columns without any strong neighbour, an order without pairs is not
 * tried: delayed pivots would cascade. */
static const double HOPELESS = 0.5;
/* With a smaller share of columns in weak pairs, no order without pairs can be much cheaper. */
static const double FEW = 0.02;
/* An order without pairs is trusted if the trial elimination expects no more failing pivots than
 * this. */
static const double HARMLESS = 0.05;
/* If more than MANY pivots fail although weak columns are paired, pairs of a weak and a strong
 * column are tried, too, and taken if the cost grows at most by the factor DEARER. */
static const double MANY = 0.1, DEARER = 1.05;
/* Sweeps of equilibration before the diagonal is judged. */
enum { SWEEPS = 4 };
/* A matching's scaling is far from equilibration if it differs from it by more than this factor
 * somewhere. */
static const double FAR = 1e3;

void mpki_choice_free(mpk_context *ctx, mpki_choice *choice) {
    mpki_release(ctx, choice->mate);
    mpki_release(ctx, choice->scale);
    mpki_core_free(ctx, &choice->core);
    *choice = (mpki_choice){.rank = -1};
}

/* Everything the steps below share. */
typedef struct chooser {
    mpk_context *ctx;
    const mpk_problem *problem;
    const mpk_options *options;
    mpki_graph *graph; /* of the core, uncompressed */
    mpki_moduli moduli;
    char *weak;
    mpki_choice *choice;
} chooser;

/* An order of columns and what it costs. */
typedef struct trial {
    mpki_graph graph;     /* compressed; n = 0 for the uncompressed graph */
    int32_t *vertex_perm; /* order of the graph's vertices */
    mpki_cost cost;
    int32_t *map;    /* column -> vertex; NULL: the same */
    int32_t *mate;   /* n: the pairs; NULL: none */
    int32_t failing; /* pivots that the trial elimination gives up */
} trial;

static void trial_free(mpk_context *ctx, trial *t) {
    mpki_graph_free(ctx, &t->graph);
    mpki_release(ctx, t->vertex_perm);
    mpki_release(ctx, t->map);
    mpki_release(ctx, t->mate);
    *t = (trial){0};
}

/* ---- matching -----------------------------------------------------------------------------------
 */

/* Does the matching's scaling move some column far away from where equilibration puts it? */
static bool scaled_far(int32_t n, const double *matched, const double *equilibrated) {
    double most = 1;
    for (int32_t i = 0; i < n; i++) {
        double ratio = matched[i] / equilibrated[i];
        if (ratio > most) most = ratio;
        if (1 / ratio > most) most = 1 / ratio;
    }
    return !(most <= FAR);
}

/* Columns that the matching does not cover are left out of all that follows, except those in
 * `keep`. Not if there are explicit zeros: values that replace them later may cover these columns.
 */
static mpk_status leave_out(chooser *c, const char *keep, char *bare) {
    const mpk_problem *p = c->problem;
    int32_t left = 0;
    mpki_core *core = &c->choice->core;
    for (int64_t k = 0; k < p->nnz; k++)
        if (c->moduli.entry[k] == 0) return MPK_OK;
    for (int32_t i = 0; i < p->n; i++) {
        bare[i] = bare[i] && !(keep && keep[i]);
        left += bare[i];
    }
    if (left == 0) return MPK_OK;
    mpk_status status = mpki_core_build(c->ctx, p, bare, core);
    if (mpk_failed(status)) return status;
    for (int64_t k = 0; k < core->ap[p->n]; k++) c->moduli.entry[k] = c->moduli.entry[core->src[k]];
    for (int32_t i = 0; i < p->n; i++) {
        if (!bare[i]) continue;
        c->weak[i] = 0;
        c->moduli.diagonal[i] = 1; /* it gets no pivot, so it is not weak */
    }
    mpki_graph_free(c->ctx, c->graph);
    return mpki_graph_build(c->ctx, p->n, core->ap, core->ai, NULL, NULL, c->graph);
}

/* A matching for the problem: mate, scale, rank and core. equilibrated [in] n: for comparison. */
static mpk_status use_matching(chooser *c, const double *equilibrated, const char *keep) {
    const mpk_problem *p = c->problem;
    mpki_choice *choice = c->choice;
    choice->mate = MPKI_NEW(c->ctx, STAGE, p->n, int32_t);
    choice->scale = MPKI_NEW(c->ctx, STAGE, p->n, double);
    char *bare = MPKI_NEW(c->ctx, STAGE, p->n, char);
    mpk_status status = mpki_failed(c->ctx);
    if (!mpk_failed(status))
        status = mpki_match(c->ctx, p->n, p->ap, p->ai, c->moduli.entry, choice->mate,
                            choice->scale, &choice->rank, bare);
    if (!mpk_failed(status)) {
        choice->scale_far = scaled_far(p->n, choice->scale, equilibrated);
        mpki_weak_columns(p->n, c->moduli.diagonal, choice->scale, STRONG, c->weak);
        if (choice->rank < p->n) status = leave_out(c, keep, bare);
    }
    mpki_release(c->ctx, bare);
    return status;
}

/* Match if that is wanted: always, never, or where the equilibrated diagonal is not strong
 * throughout. */
static mpk_status match(chooser *c, const char *keep) {
    const mpk_problem *p = c->problem;
    if (c->options->matching == MPK_OFF) return MPK_OK;
    mpk_status status = mpki_moduli_build(c->ctx, p, &c->moduli);
    double *scale = MPKI_NEW(c->ctx, STAGE, p->n, double);
    c->weak = MPKI_NEW(c->ctx, STAGE, p->n, char);
    if (!mpk_failed(status) && (!scale || !c->weak)) status = mpki_failed(c->ctx);
    for (int32_t i = 0; !mpk_failed(status) && i < p->n; i++) scale[i] = 1;
    if (!mpk_failed(status))
        status = mpki_equilibrate(c->ctx, p->n, p->ap, p->ai, c->moduli.entry, SWEEPS, 1, scale);
    bool wanted = c->options->matching == MPK_ON ||
                  (!mpk_failed(status) &&
                   mpki_weak_columns(p->n, c->moduli.diagonal, scale, STRONG, c->weak));
    if (!mpk_failed(status) && wanted) status = use_matching(c, scale, keep);
    mpki_release(c->ctx, scale);
    return status;
}

/* ---- order --------------------------------------------------------------------------------------
 */

static const mpki_graph *trial_graph(const chooser *c, const trial *t) {
    return t->map ? &t->graph : c->graph;
}

enum pairs { NO_PAIRS, WEAK_PAIRS, ALL_PAIRS };

/* The pairs to keep: all, or those of which neither column is strong by itself (an order that takes
 * a strong one first needs no 2x2 pivot). Returns how many columns are in pairs. */
static int32_t select_pairs(int32_t n, const int32_t *mate, const char *weak, enum pairs pairs,
                            int32_t *kept) {
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t j = mate[i];
        kept[i] = pairs == ALL_PAIRS || (weak[i] && weak[j]) ? j : i;
        count += kept[i] != i;
    }
    return count;
}

/* The graph with the pairs asked for, not yet ordered. */
static mpk_status trial_build(chooser *c, enum pairs pairs, trial *t) {
    const mpk_problem *p = c->problem;
    const mpki_core *core = &c->choice->core;
    *t = (trial){0};
    if (pairs != NO_PAIRS && c->choice->mate) {
        t->mate = MPKI_NEW(c->ctx, STAGE, p->n, int32_t);
        t->map = MPKI_NEW(c->ctx, STAGE, p->n, int32_t);
        if (!t->mate || !t->map) return mpki_failed(c->ctx);
        if (select_pairs(p->n, c->choice->mate, c->weak, pairs, t->mate)) {
            mpk_status status =
                mpki_graph_build(c->ctx, p->n, core->ap, core->ai, t->mate, t->map, &t->graph);
            if (mpk_failed(status)) return status;
        } else { /* nothing to compress */
            mpki_release(c->ctx, t->mate);
            mpki_release(c->ctx, t->map);
            t->mate = t->map = NULL;
        }
    }
    t->vertex_perm = MPKI_NEW(c->ctx, STAGE, trial_graph(c, t)->n, int32_t);
    return t->vertex_perm ? MPK_OK : mpki_failed(c->ctx);
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
        int32_t i = first[t->vertex_perm[k]], j = t->mate[i];
        perm[next++] = i;
        if (j != i) perm[next++] = j;
    }
    mpki_release(c->ctx, first);
    return MPK_OK;
}

/* The same, ordered by AMD, with its cost, and failing pivots where there is a matching to scale
 * with. */
static mpk_status try_amd(chooser *c, enum pairs pairs, trial *t) {
    const mpk_problem *p = c->problem;
    mpk_status status = trial_build(c, pairs, t);
    if (mpk_failed(status)) return status;
    const mpki_graph *graph = trial_graph(c, t);
    status = mpki_order(c->ctx, graph, MPK_ORDERING_AMD, 0, 1, t->vertex_perm, NULL);
    if (!mpk_failed(status))
        status =
            mpki_order_time(c->ctx, graph, t->vertex_perm, c->options->model_threads, &t->cost);
    if (status || !c->choice->scale) return status;
    int32_t *perm = MPKI_NEW(c->ctx, STAGE, p->n, int32_t);
    if (!perm) return mpki_failed(c->ctx);
    status = expand(c, t, perm);
    if (!mpk_failed(status))
        status = mpki_weak_pivots(c->ctx, c->graph, c->choice->core.ap, c->choice->core.ai,
                                  &c->moduli, c->choice->scale, perm, t->mate,
                                  c->options->pivot_threshold, &t->failing, NULL);
    mpki_release(c->ctx, perm);
    return status;
}

/* There is one graph: AMD runs only if its order is wanted. */
static mpk_status settled(chooser *c, enum pairs pairs, trial *t) {
    mpk_ordering method = c->options->ordering;
    bool amd = method == MPK_ORDERING_AUTO || method == MPK_ORDERING_AMD;
    return amd ? try_amd(c, pairs, t) : trial_build(c, pairs, t);
}

/* Which pairs to compress. *best [out]: the trial of the graph that is to be ordered. */
static mpk_status choose_pairs(chooser *c, trial *best) {
    const mpk_problem *p = c->problem;
    trial other = {0};
    if (!c->choice->mate) return settled(c, NO_PAIRS, best);
    if (c->options->matching == MPK_ON) return settled(c, ALL_PAIRS, best);
    char *covered = MPKI_NEW(c->ctx, STAGE, p->n, char);
    if (!covered) return mpki_failed(c->ctx);
    int32_t alone = mpki_weak_alone(p->n, c->choice->core.ap, c->choice->core.ai, c->weak, covered);
    mpki_release(c->ctx, covered);
    if (alone > HOPELESS * p->n) return settled(c, WEAK_PAIRS, best);

    mpk_status status = try_amd(c, WEAK_PAIRS, best);
    if (mpk_failed(status)) return status;
    bool replace = false;
    int32_t paired = p->n - (best->map ? best->graph.n : p->n);
    if (best->failing > MANY * p->n) {
        status = try_amd(c, ALL_PAIRS, &other);
        replace = !mpk_failed(status) && other.cost.time_s <= DEARER * best->cost.time_s;
    } else if (paired > FEW * p->n) {
        status = try_amd(c, NO_PAIRS, &other);
        replace = !mpk_failed(status) && other.failing <= HARMLESS * p->n &&
                  other.cost.time_s <= best->cost.time_s;
    }
    if (replace) {
        trial swap = *best;
        *best = other;
        other = swap;
    }
    trial_free(c->ctx, &other);
    return status;
}

/* An order of a trial's vertices: which of their pivots fail. */
typedef struct ordered_trial {
    chooser *c;
    trial *t;
} ordered_trial;

static mpk_status find_failing(void *state, const int32_t *vertex_perm, int32_t *late) {
    const ordered_trial *o = state;
    chooser *c = o->c;
    const int32_t n = c->problem->n;
    trial t = *o->t; /* the same vertices in another order */
    int32_t *perm = MPKI_NEW(c->ctx, STAGE, n, int32_t), failing;
    char *fails = MPKI_NEW(c->ctx, STAGE, n, char);
    mpk_status status = perm && fails ? MPK_OK : mpki_failed(c->ctx);
    t.vertex_perm = (int32_t *)(uintptr_t)vertex_perm;
    if (!mpk_failed(status)) status = expand(c, &t, perm);
    if (!mpk_failed(status))
        status = mpki_weak_pivots(c->ctx, c->graph, c->choice->core.ap, c->choice->core.ai,
                                  &c->moduli, c->choice->scale, perm, t.mate,
                                  c->options->pivot_threshold, &failing, fails);
    if (!mpk_failed(status)) {
        memset(late, 0, (size_t)trial_graph(c, &t)->n * sizeof *late);
        for (int32_t i = 0; i < n; i++) late[t.map ? t.map[i] : i] += fails[i];
    }
    mpki_release(c->ctx, perm);
    mpki_release(c->ctx, fails);
    return status;
}

/* Will a device factorize? With device = auto where the matrix is worth it and one is there. */
static bool for_device(const chooser *c) {
    const mpk_options *o = c->options;
    if (o->device != MPK_ON_AUTO) return o->device == MPK_ON_CUDA;
#if MPKI_HAVE_CUDA
    if (!mpki_worth_a_device(c->problem->nnz) || mpki_context_engine(c->ctx)) return false;
    if (mpki_cuda_open(c->ctx, o->device_number)) return true;
    mpki_clear_error(c->ctx);
#endif
    return false;
}

static mpk_status order(chooser *c, int32_t *perm) {
    mpk_ordering method = c->options->ordering;
    trial t = {0};
    ordered_trial ordered = {c, &t};
    const mpki_failing failing = {find_failing, &ordered};
    mpk_status status = choose_pairs(c, &t);
    const mpki_graph *graph = trial_graph(c, &t);
    c->choice->ordering = method;
    c->choice->for_device = method == MPK_ORDERING_AUTO && for_device(c);
    if (!mpk_failed(status) && c->choice->for_device)
        status = mpki_order_for_device(
            c->ctx, graph, c->options->seed, c->options->threads, c->options->model_threads,
            c->choice->scale ? &failing : NULL, t.vertex_perm, &c->choice->ordering);
    else if (!mpk_failed(status) && method == MPK_ORDERING_AUTO)
        status = mpki_order_improve(c->ctx, graph, c->options->seed, c->options->threads,
                                    c->options->model_threads, t.vertex_perm, &t.cost,
                                    &c->choice->ordering);
    else if (!mpk_failed(status) && method != MPK_ORDERING_AMD)
        status = mpki_order(c->ctx, graph, method, c->options->seed, c->options->threads,
                            t.vertex_perm, NULL);
    if (!mpk_failed(status)) status = expand(c, &t, perm);
    mpki_release(c->ctx, c->choice->mate); /* from here on: the pairs that were compressed */
    c->choice->mate = t.mate;
    c->choice->failing = t.failing;
    t.mate = NULL;
    trial_free(c->ctx, &t);
    return status;
}

mpk_status mpki_choose(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                       const char *keep, mpki_graph *graph, int32_t *perm, mpki_choice *choice,
                       double *time_match_s) {
    *choice = (mpki_choice){.rank = -1, .core = mpki_core_all(problem->ap, problem->ai)};
    chooser c = {
        .ctx = ctx, .problem = problem, .options = options, .graph = graph, .choice = choice};
    double start = mpki_now_s();
    mpk_status status = match(&c, keep);
    *time_match_s = mpki_now_s() - start;
    if (!mpk_failed(status) && mpki_progress(ctx, STAGE, 0.1))
        status = mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    bool keeps_order =
        options->ordering == MPK_ORDERING_GIVEN || options->ordering == MPK_ORDERING_NATURAL;
    choice->ordering = options->ordering;
    if (!mpk_failed(status) && keeps_order) {
        mpki_release(ctx, choice->mate); /* that order does not keep pairs together */
        choice->mate = NULL;
        for (int32_t k = 0; k < problem->n; k++)
            perm[k] = options->ordering == MPK_ORDERING_GIVEN ? options->given_perm[k] : k;
    } else if (!mpk_failed(status)) {
        status = order(&c, perm);
    }
    mpki_moduli_free(ctx, &c.moduli);
    mpki_release(ctx, c.weak);
    if (mpk_failed(status)) mpki_choice_free(ctx, choice);
    return status;
}
