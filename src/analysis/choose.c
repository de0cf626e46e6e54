/* SPDX-License-Identifier: BSD-3-Clause */
/* The choices before the elimination tree of the direct solver: matching, scaling, ordering. */
#include "../engines/interface/device.h"
#include "config.h"
#include "trials.h"

#include <string.h>

static const char STAGE[] = "analyse";

/* ---- the rules' constants: docs/design/analysis.md ------------------------------------------- */

/* A diagonal entry is strong if it is at least this share of its row's largest after scaling. */
static const double STRONG = 0.1;
/* Sweeps of equilibration before the diagonal is judged. */
enum { SWEEPS = 4 };
/* A matching's scaling is far from equilibration if it differs from it by more than this factor
 * somewhere. */
static const double FAR = 1e3;

void mpki_choice_free(mpk_context *ctx, mpki_choice *choice) {
    mpki_release(ctx, choice->mate);
    mpki_release(ctx, choice->scale);
    mpki_etree_free(ctx, &choice->tree);
    mpki_lower_free(ctx, &choice->rows);
    mpki_core_free(ctx, &choice->core);
    *choice = (mpki_choice){.rank = -1};
}

/* ---- matching -------------------------------------------------------------------------------- */

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

/* The rows of the core. */
static mpk_status make_rows(mpki_chooser *c) {
    const mpki_core *core = &c->choice->core;
    mpki_lower_free(c->ctx, &c->choice->rows);
    return mpki_lower_make(c->ctx, c->loops, c->problem->n, core->ap, core->ai, &c->choice->rows);
}

/* Columns that the matching does not cover are left out of all that follows, except those in
 * `keep`. Not if there are explicit zeros: values that replace them later may cover these columns.
 */
static mpk_status leave_out(mpki_chooser *c, const char *keep, char *bare) {
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
    mpk_status status = mpki_core_build(c->ctx, p, bare, c->choice->mate, core);
    if (mpk_failed(status)) return status;
    if (mpk_failed(mpki_moduli_of_core(c->ctx, core, p->n, &c->moduli))) return mpki_failed(c->ctx);
    for (int32_t i = 0; i < p->n; i++) {
        if (!bare[i]) continue;
        c->weak[i] = 0;
        c->moduli.diagonal[i] = 1; /* it gets no pivot, so it is not weak */
    }
    return make_rows(c);
}

/* A matching for the problem: mate, scale, rank and core. equilibrated [in] n: for comparison. */
static mpk_status use_matching(mpki_chooser *c, const double *equilibrated, const char *keep) {
    const mpk_problem *p = c->problem;
    mpki_choice *choice = c->choice;
    choice->mate = MPKI_NEW(c->ctx, STAGE, p->n, int32_t);
    choice->scale = MPKI_NEW(c->ctx, STAGE, p->n, double);
    char *bare = MPKI_NEW(c->ctx, STAGE, p->n, char);
    mpk_status status = mpki_failed(c->ctx);
    if (!mpk_failed(status))
        status =
            mpki_match_with_rows(c->ctx, c->loops, p->n, p->ap, p->ai, c->moduli.entry,
                                 &choice->rows, choice->mate, choice->scale, &choice->rank, bare);
    if (!mpk_failed(status)) {
        choice->scale_far = scaled_far(p->n, choice->scale, equilibrated);
        mpki_weak_columns(p->n, c->moduli.diagonal, choice->scale, STRONG, c->weak);
        if (choice->rank < p->n) status = leave_out(c, keep, bare);
    }
    mpki_release(c->ctx, bare);
    return status;
}

/* The matching of an analysis of the same values, of which more belongs to the core now. */
static mpk_status take_matching(mpki_chooser *c, const mpk_analysis *older, const char *keep) {
    const size_t n = (size_t)c->problem->n;
    mpki_choice *choice = c->choice;
    choice->mate = MPKI_NEW(c->ctx, STAGE, c->problem->n, int32_t);
    choice->scale = MPKI_NEW(c->ctx, STAGE, c->problem->n, double);
    char *bare = MPKI_NEW(c->ctx, STAGE, c->problem->n, char);
    mpk_status status = mpki_failed(c->ctx);
    if (!mpk_failed(status)) {
        memcpy(choice->mate, older->core.mate, n * sizeof *choice->mate);
        memcpy(choice->scale, older->scale, n * sizeof *choice->scale);
        memcpy(bare, older->core.bare, n);
        choice->rank = older->info.structural_rank;
        choice->scale_far = older->scale_far;
        c->pairs = (mpki_pairs)older->core.pairs;
        mpki_weak_columns(c->problem->n, c->moduli.diagonal, choice->scale, STRONG, c->weak);
        status = leave_out(c, keep, bare);
    }
    mpki_release(c->ctx, bare);
    return status;
}

/* Match if that is wanted: always, never, or where the equilibrated diagonal is not strong
 * throughout. */
static mpk_status match(mpki_chooser *c, const char *keep, const mpk_analysis *older) {
    const mpk_problem *p = c->problem;
    if (c->options->matching == MPK_OFF) return MPK_OK;
    mpk_status status = mpki_moduli_build(c->ctx, c->loops, p, &c->moduli);
    double *scale = MPKI_NEW(c->ctx, STAGE, p->n, double);
    c->weak = MPKI_NEW(c->ctx, STAGE, p->n, char);
    if (!mpk_failed(status) && (!scale || !c->weak)) status = mpki_failed(c->ctx);
    if (!mpk_failed(status) && older && older->scale && older->core.mate) {
        mpki_release(c->ctx, scale);
        return take_matching(c, older, keep);
    }
    for (int32_t i = 0; !mpk_failed(status) && i < p->n; i++) scale[i] = 1;
    if (!mpk_failed(status))
        status = mpki_equilibrate(c->ctx, p->n, p->ap, p->ai, c->moduli.entry, SWEEPS,
                                  mpki_pool_threads(c->loops), scale);
    bool wanted = c->options->matching == MPK_ON ||
                  (!mpk_failed(status) &&
                   mpki_weak_columns(p->n, c->moduli.diagonal, scale, STRONG, c->weak));
    if (!mpk_failed(status) && wanted) status = use_matching(c, scale, keep);
    mpki_release(c->ctx, scale);
    return status;
}

/* ---- order ----------------------------------------------------------------------------------- */

/* Will a device factorize? With device = auto where the matrix is worth it and one is there. */
static bool for_device(const mpki_chooser *c) {
    const mpk_options *o = c->options;
    if (c->problem->split) return false;
    if (o->device != MPK_ON_AUTO) return o->device == MPK_ON_CUDA;
    if (!mpki_worth_a_device(c->problem->nnz) || mpki_context_engine(c->ctx)) return false;
    if (mpki_device_opens(c->ctx, o->device_number)) return true;
    mpki_clear_error(c->ctx);
    return false;
}

/* Orders of one dissection: down to the first size of leaves, and to the second. */
typedef struct dissected {
    const mpki_chooser *c;
    const mpki_trial *t;
    struct {
        int32_t *perm, *late;
        mpki_etree tree;
        double time_s[2];
        mpk_status status;
    } order[2];
} dissected;

static void weigh_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    dissected *d = arg;
    d->order[item].status =
        mpki_trial_device(d->c, pool, worker, d->t, d->order[item].perm, d->order[item].late,
                          &d->order[item].tree, d->order[item].time_s);
}

/* The first of them that a device is expected to factorize sooner than t's order, with and without the
 * columns that are expected to come late, becomes t's. */
static mpk_status take_dissected(mpki_chooser *c, mpki_trial *t, int orders, dissected *d) {
    mpk_status status = MPK_OK;
    mpki_pool *pool = mpki_trials_pool(c, &status);
    if (mpk_failed(status)) return status;
    if (pool) mpki_pool_for(pool, 0, orders, weigh_item, d);
    for (int k = 0; k < orders; k++) {
        if (!pool) weigh_item(NULL, 0, d, k);
        if (mpk_failed(d->order[k].status)) return d->order[k].status;
        if (!mpki_dissection_wins(d->order[k].time_s, t->device_s)) continue;
        const mpki_etree swap = t->tree;
        t->tree = d->order[k].tree;
        d->order[k].tree = swap;
        c->choice->ordering = MPK_ORDERING_ND;
        break;
    }
    return MPK_OK;
}

/* t has AMD's order of its graph. Small leaves may make pivots fail that larger ones do not. */
static mpk_status order_for_device(mpki_chooser *c, mpki_trial *t) {
    const mpki_graph *graph = mpki_trial_graph(c, t);
    const mpki_nd_leaves leaves = mpki_nd_leaves_for(graph, true);
    const int orders = leaves.coarse > 0 ? 2 : 1;
    mpk_context *ctx = c->ctx;
    dissected d = {.c = c, .t = t};
    mpk_status status = MPK_OK;
    c->choice->ordering = MPK_ORDERING_AMD;
    if (!mpki_can_dissect(graph, true)) return MPK_OK;
    if (t->device_s[0] == 0) /* trials one after the other */
        status = mpki_etree_makespan(ctx, c->loops, 0, graph, &t->tree, t->late, t->device_s);
    if (mpk_failed(status) ||
        !mpki_worth_dissecting(graph, c->options->model_threads, t->device_s[0]))
        return status;
    if (mpki_progress(ctx, "analyse", 0.3))
        return mpki_error(ctx, MPK_ERR_CANCELLED, "order", -1, "stopped on request");
    for (int k = 0; k < orders; k++) {
        d.order[k].perm = MPKI_NEW(ctx, STAGE, graph->n, int32_t);
        d.order[k].late = MPKI_NEW(ctx, STAGE, graph->n, int32_t);
    }
    status = mpki_failed(ctx);
    if (!mpk_failed(status) && !t->begun)
        status = mpki_dissection_run(ctx, graph, c->options->seed, leaves, c->options->threads,
                                     &t->begun);
    if (!mpk_failed(status))
        status = mpki_dissection_end(ctx, &t->begun, d.order[0].perm, d.order[1].perm);
    if (!mpk_failed(status)) status = take_dissected(c, t, orders, &d);
    for (int k = 0; k < orders; k++) {
        mpki_etree_free(ctx, &d.order[k].tree);
        mpki_release(ctx, d.order[k].perm);
        mpki_release(ctx, d.order[k].late);
    }
    return status;
}

/* From vertices to columns: the order, and its tree where they are the same. A row that meets one
 * column of a pair has an entry for both in the tree of pairs, and not in that of columns. */
static mpk_status expand(mpki_chooser *c, mpki_trial *t, int32_t *perm) {
    const mpk_status status =
        mpki_trial_expand(c, t, t->tree.n ? t->tree.perm : t->vertex_perm, perm);
    if (mpk_failed(status) || t->map) return status;
    c->choice->tree = t->tree;
    t->tree = (mpki_etree){0};
    return status;
}

/* Smaller trees are one worker's; and where so large a share of columns more is expected to fail, they
 * would cost more than the shorter path saves. */
static const double REROOTED_S = 1e-3, REROOTED_FAILING = 0.1;

/* AMD's tree by another root, or cut, where that is a path. */
static mpk_status reroot(mpki_chooser *c, const mpki_graph *graph, mpki_trial *t) {
    const int32_t failing = t->failing;
    bool turned;
    mpk_status status = mpki_etree_reroot(c->ctx, c->loops, graph, c->options->model_threads,
                                          REROOTED_S, &t->tree, &turned);
    if (!mpk_failed(status) && turned) status = mpki_trial_failing(c, t);
    if (mpk_failed(status) || t->failing <= failing + REROOTED_FAILING * c->problem->n)
        return status;
    t->failing = failing;
    mpki_etree_free(c->ctx, &t->tree);
    return mpki_etree_make(c->ctx, c->loops, 0, graph, t->vertex_perm, &t->tree);
}

/* t has AMD's order of its graph. */
static mpk_status order_for_processor(mpki_chooser *c, const mpki_graph *graph, mpki_trial *t) {
    const mpk_options *o = c->options;
    bool taken = false;
    mpk_status status = mpki_order_improve(c->ctx, graph, o->seed, o->threads, o->model_threads,
                                           &t->begun, &t->tree, &t->cost, &c->choice->ordering);
    if (!mpk_failed(status)) status = mpki_choose_bare(c, t, &taken);
    if (taken) c->choice->ordering = MPK_ORDERING_AMD;
    return status;
}

static mpk_status order(mpki_chooser *c, int32_t *perm) {
    mpk_ordering method = c->options->ordering;
    mpki_trial t = {0};
    c->device = method == MPK_ORDERING_AUTO && for_device(c);
    mpk_status status = mpki_choose_pairs(c, &t);
    const mpki_graph *graph = mpki_trial_graph(c, &t);
    c->choice->ordering = method;
    c->choice->for_device = c->device;
    if (!mpk_failed(status) && c->device)
        status = order_for_device(c, &t);
    else if (!mpk_failed(status) && method == MPK_ORDERING_AUTO)
        status = order_for_processor(c, graph, &t);
    else if (!mpk_failed(status) && method != MPK_ORDERING_AMD) {
        mpki_etree_free(c->ctx, &t.tree); /* AMD's, by which the pairs were chosen */
        status = method == MPK_ORDERING_ND
                     ? mpki_dissect(c->ctx, graph, c->options->seed, c->problem->leaf,
                                    c->options->threads, t.vertex_perm)
                     : mpki_order(c->ctx, graph, method, c->options->seed, c->options->threads,
                                  t.vertex_perm, NULL);
    }
    if (!mpk_failed(status) && method == MPK_ORDERING_AUTO && !c->device && !c->problem->split &&
        c->choice->ordering == MPK_ORDERING_AMD)
        status = reroot(c, mpki_trial_graph(c, &t), &t);
    if (!mpk_failed(status)) status = expand(c, &t, perm);
    mpki_release(c->ctx, c->choice->mate); /* from here on: the pairs that were compressed */
    c->choice->mate = t.mate;
    c->choice->failing = t.failing;
    t.mate = NULL;
    mpki_trial_free(c->ctx, &t);
    return status;
}

mpk_status mpki_choose(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                       const char *keep, const mpk_analysis *older, mpki_graph *graph,
                       int32_t *perm, mpki_choice *choice, double *time_match_s) {
    *choice = (mpki_choice){.rank = -1, .core = mpki_core_all(problem->ap, problem->ai)};
    mpki_chooser c = {.ctx = ctx,
                      .problem = problem,
                      .options = options,
                      .graph = graph,
                      .choice = choice,
                      .pairs = MPKI_PAIRS};
    double start = mpki_now_s();
    mpk_status status = MPK_OK;
    *graph = (mpki_graph){0};
    c.loops = mpki_loops_pool(ctx, options->threads, problem->nnz, &status);
    if (!mpk_failed(status)) status = make_rows(&c);
    if (!mpk_failed(status)) status = match(&c, keep, older);
    if (!choice->scale) mpki_moduli_free(ctx, &c.moduli); /* they were looked at for a matching */
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
    choice->core.pairs = c.pairs;
    mpki_moduli_free(ctx, &c.moduli);
    mpki_release(ctx, c.weak);
    if (!mpk_failed(status)) status = mpki_chooser_graph(&c);
    if (mpk_failed(status)) mpki_choice_free(ctx, choice);
    return status;
}
