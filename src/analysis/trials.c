/* SPDX-License-Identifier: BSD-3-Clause */
/* Which pairs of the matching the graph keeps together: tried with AMD, one after the other or side
 * by side. */
#include "trials.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "analyse";

/* ---- the rules' constants: docs/design/analysis.md ------------------------------------------- */

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
/* An order without pairs, by our own minimum degree, is taken if by the guess it takes at most this share of
 * what the one with pairs does, or that share of a dissection, whose tree more cores share better. Late columns
 * are counted so often: they are more than the guess has, and the share of columns that fail counts, too. */
static const double BARE = 0.85, BARE_ND = 0.6, LATE = 3, RISK = 1.5;
/* Vertices wait for pivots only if without it more columns than these fail. */
static const double BARE_FEW = 0.01;
/* It is looked for where what it may save in so many factorizations is as long as it takes, VERTEX and EDGE
 * seconds each; where AMD was not asked for such an order it is hoped to take so much of the other's time. */
static const double PAYS = 20, VERTEX = 0.5e-6, EDGE = 0.2e-6, HOPE = 0.7;
enum {
    WIDE = 4, /* with so many threads trials are made side by side */
    /* columns up to which each graph is dissected beside AMD, of larger ones the first alone */
    SMALL = 65536,
    /* columns from which a graph is dissected beside AMD for the processor, too: what smaller ones wait for
     * AMD is little, and most of them do not want a dissection */
    LARGE = 50000,
    WORTH = 2000, /* columns from which threads are asked at all */
    /* entries beside the diagonal in a column, up to which AMD of all pairs is begun with the others: it takes
     * about as long as they do (case10000, 16 threads: an analysis took 70 ms without that, 40 by an older tree
     * that always began it; not measured since) */
    THIN = 6
};

/* ---- a trial --------------------------------------------------------------------------------- */

mpk_status mpki_chooser_graph(const mpki_chooser *c) {
    const mpki_core *core = &c->choice->core;
    if (c->graph->xadj) return MPK_OK;
    return mpki_graph_of_rows(c->ctx, c->loops, c->problem->n, core->ap, core->ai, &c->choice->rows,
                              c->graph);
}

void mpki_trial_free(mpk_context *ctx, mpki_trial *t) {
    (void)mpki_dissection_end(ctx, &t->begun, NULL, NULL);
    mpki_graph_free(ctx, &t->graph);
    mpki_release(ctx, t->vertex_perm);
    mpki_etree_free(ctx, &t->tree);
    mpki_release(ctx, t->late);
    mpki_release(ctx, t->map);
    mpki_release(ctx, t->mate);
    *t = (mpki_trial){0};
}

const mpki_graph *mpki_trial_graph(const mpki_chooser *c, const mpki_trial *t) {
    return t->map ? &t->graph : c->graph;
}

/* The pairs to keep: all, or those of which neither column is strong by itself (an order that takes
 * a strong one first needs no 2x2 pivot). Returns how many columns are in pairs. */
static int32_t select_pairs(int32_t n, const int32_t *mate, const char *weak, mpki_pairs pairs,
                            int32_t *kept) {
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t j = mate[i];
        kept[i] = pairs == MPKI_ALL_PAIRS || (weak[i] && weak[j]) ? j : i;
        count += kept[i] != i;
    }
    return count;
}

/* The graph with the pairs asked for, not yet ordered. */
static mpk_status build(const mpki_chooser *c, mpki_pairs pairs, mpki_trial *t) {
    const mpk_problem *p = c->problem;
    const mpki_core *core = &c->choice->core;
    *t = (mpki_trial){0};
    if (pairs != MPKI_NO_PAIRS && c->choice->mate) {
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
    if (!t->map && mpk_failed(mpki_chooser_graph(c))) return mpki_failed(c->ctx);
    const int32_t vertices = mpki_trial_graph(c, t)->n;
    t->vertex_perm = MPKI_NEW(c->ctx, STAGE, vertices, int32_t);
    if (c->device && c->choice->scale) t->late = MPKI_NEW(c->ctx, STAGE, vertices, int32_t);
    return t->vertex_perm && (t->late || !c->device || !c->choice->scale) ? MPK_OK
                                                                          : mpki_failed(c->ctx);
}

mpk_status mpki_trial_expand(const mpki_chooser *c, const mpki_trial *t, const int32_t *vertex_perm,
                             int32_t *perm) {
    int32_t n = c->problem->n, vertices = t->graph.n, next = 0;
    if (!t->map) {
        memcpy(perm, vertex_perm, (size_t)n * sizeof *perm);
        return MPK_OK;
    }
    int32_t *first = MPKI_NEW(c->ctx, STAGE, vertices, int32_t);
    if (!first) return mpki_failed(c->ctx);
    for (int32_t i = n - 1; i >= 0; i--) first[t->map[i]] = i;
    for (int32_t k = 0; k < vertices; k++) {
        int32_t i = first[vertex_perm[k]], j = t->mate[i];
        perm[next++] = i;
        if (j != i) perm[next++] = j;
    }
    mpki_release(c->ctx, first);
    return MPK_OK;
}

/* Which pivots fail in an order of the vertices. late: columns of each vertex, NULL: not wanted */
static mpk_status find_failing(const mpki_chooser *c, const mpki_trial *t,
                               const int32_t *vertex_perm, int32_t *late, int32_t *failing) {
    const int32_t n = c->problem->n;
    int32_t *perm = MPKI_NEW(c->ctx, STAGE, n, int32_t);
    char *fails = MPKI_NEW(c->ctx, STAGE, n, char);
    mpk_status status = perm && fails ? MPK_OK : mpki_failed(c->ctx);
    if (!mpk_failed(status)) status = mpki_trial_expand(c, t, vertex_perm, perm);
    if (!mpk_failed(status))
        status = mpki_weak_pivots(c->ctx, n, &c->choice->core, &c->choice->rows, &c->moduli,
                                  c->choice->scale, perm, t->mate, c->options->pivot_threshold,
                                  failing, fails, NULL);
    if (!mpk_failed(status) && late) {
        memset(late, 0, (size_t)mpki_trial_graph(c, t)->n * sizeof *late);
        for (int32_t i = 0; i < n; i++) late[t->map ? t->map[i] : i] += fails[i];
    }
    mpki_release(c->ctx, perm);
    mpki_release(c->ctx, fails);
    return status;
}

mpk_status mpki_trial_failing(const mpki_chooser *c, mpki_trial *t) {
    return c->choice->scale ? find_failing(c, t, t->tree.perm, NULL, &t->failing) : MPK_OK;
}

mpki_pool *mpki_trials_pool(const mpki_chooser *c, mpk_status *status) {
    const mpk_options *o = c->options;
    const int threads = mpki_context_threads(c->ctx, o->threads);
    if (threads < WIDE || o->memory_limit > 0 || c->problem->n < WORTH) return NULL;
    mpki_pool *pool =
        mpki_context_pool(c->ctx, threads, MPKI_PAIRS * (mpki_nd_tasks(c->problem->n) + 2));
    if (!pool) *status = mpki_failed(c->ctx);
    return pool;
}

/* The tree of an order, and its failing pivots: neither needs the other. */
typedef struct device_guess {
    const mpki_chooser *c;
    const mpki_trial *t;
    const int32_t *vertex_perm;
    int32_t *late;
    mpki_etree *tree;
    mpki_makespan m;
    double time_s;
    mpk_status status[2];
} device_guess;

static void guess_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    device_guess *g = arg;
    int32_t failing;
    if (item == 1) {
        g->status[1] = find_failing(g->c, g->t, g->vertex_perm, g->late, &failing);
        return;
    }
    const mpki_graph *graph = mpki_trial_graph(g->c, g->t);
    mpk_status status = mpki_etree_make(g->c->ctx, pool, worker, graph, g->vertex_perm, g->tree);
    if (!mpk_failed(status))
        status = mpki_makespan_make(g->c->ctx, pool, worker, graph, g->tree, &g->m, &g->time_s);
    g->status[0] = status;
}

mpk_status mpki_trial_device(const mpki_chooser *c, mpki_pool *pool, int worker,
                             const mpki_trial *t, const int32_t *vertex_perm, int32_t *late,
                             mpki_etree *tree, double time_s[2]) {
    device_guess g = {.c = c, .t = t, .vertex_perm = vertex_perm, .late = late, .tree = tree};
    *tree = (mpki_etree){0};
    const bool scaled = c->choice->scale != NULL;
    mpk_status status = MPK_OK;
    mpki_pool_for(pool, worker, scaled ? 2 : 1, guess_item, &g);
    for (int k = 0; k < 2 && !mpk_failed(status); k++) status = g.status[k];
    if (!mpk_failed(status)) {
        time_s[0] = g.time_s;
        time_s[1] =
            scaled ? mpki_makespan_late(&g.m, mpki_trial_graph(c, t), tree, late) : g.time_s;
    }
    if (!mpk_failed(g.status[0])) mpki_makespan_free(c->ctx, &g.m);
    return status;
}

/* The tree of AMD's order with its cost, and its failing pivots. */
typedef struct amd_guess {
    const mpki_chooser *c;
    mpki_trial *t;
    mpk_status status[2];
} amd_guess;

static void amd_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    amd_guess *g = arg;
    const mpki_chooser *c = g->c;
    mpki_trial *t = g->t;
    if (item == 1) {
        g->status[1] = find_failing(c, t, t->vertex_perm, t->late, &t->failing);
        return;
    }
    const mpki_graph *graph = mpki_trial_graph(c, t);
    g->status[0] = mpki_etree_make(c->ctx, pool, worker, graph, t->vertex_perm, &t->tree);
    if (!mpk_failed(g->status[0]))
        t->cost = mpki_etree_cost(graph, &t->tree, c->options->model_threads);
}

/* AMD's order of the graph that was built, with its cost, and failing pivots where there is a
 * matching to scale with. pool, worker: of the task that this is part of; NULL, 0: none */
static mpk_status by_amd(const mpki_chooser *c, mpki_pool *pool, int worker, mpki_trial *t) {
    const mpki_graph *graph = mpki_trial_graph(c, t);
    amd_guess g = {.c = c, .t = t};
    mpk_status status = mpki_order(c->ctx, graph, MPK_ORDERING_AMD, 0, 1, t->vertex_perm, NULL);
    if (mpk_failed(status)) return status;
    mpki_pool_for(pool, worker, c->choice->scale ? 2 : 1, amd_item, &g);
    return mpk_failed(g.status[0]) ? g.status[0] : g.status[1];
}

static mpk_status try_amd(const mpki_chooser *c, mpki_pairs pairs, mpki_trial *t) {
    mpk_status status = build(c, pairs, t);
    return mpk_failed(status) ? status : by_amd(c, c->loops, 0, t);
}

/* ---- which of them --------------------------------------------------------------------------- */

/* Columns in pairs of a trial. */
static int32_t paired(const mpki_chooser *c, const mpki_trial *t) {
    return c->problem->n - (t->map ? t->graph.n : c->problem->n);
}

/* What is to be tried beside weak pairs; MPKI_PAIRS: nothing. */
static mpki_pairs rival(const mpki_chooser *c, const mpki_trial *weak) {
    if (weak->failing > MANY * c->problem->n) return MPKI_ALL_PAIRS;
    return paired(c, weak) > FEW * c->problem->n ? MPKI_NO_PAIRS : MPKI_PAIRS;
}

/* What an order without pairs may take, in place of that with weak ones; bare: by AMD, where that is the
 * rival; 0: too many fail */
static double bare_time(mpki_pairs rival, const mpki_trial *weak, const mpki_trial *bare) {
    if (rival == MPKI_ALL_PAIRS) return 0;
    return rival == MPKI_NO_PAIRS ? bare->cost.time_s : HOPE * weak->cost.time_s;
}

/* Does that one win? */
static bool rival_wins(const mpki_chooser *c, const mpki_trial *weak, mpki_pairs pairs,
                       const mpki_trial *other) {
    if (pairs == MPKI_ALL_PAIRS) return other->cost.time_s <= DEARER * weak->cost.time_s;
    return other->failing <= HARMLESS * c->problem->n && other->cost.time_s <= weak->cost.time_s;
}

static mpk_status one_by_one(mpki_chooser *c, mpki_trial *best) {
    mpki_trial other = {0};
    c->pairs = MPKI_WEAK_PAIRS;
    mpk_status status = try_amd(c, MPKI_WEAK_PAIRS, best);
    if (mpk_failed(status)) return status;
    const mpki_pairs pairs = rival(c, best);
    if (pairs != MPKI_PAIRS) status = try_amd(c, pairs, &other);
    best->bare_s = bare_time(pairs, best, &other);
    if (!mpk_failed(status) && pairs != MPKI_PAIRS && rival_wins(c, best, pairs, &other)) {
        mpki_trial swap = *best;
        *best = other;
        other = swap;
        c->pairs = pairs;
    }
    mpki_trial_free(c->ctx, &other);
    return status;
}

/* ---- side by side ---------------------------------------------------------------------------- */

typedef struct race {
    const mpki_chooser *c;
    mpki_trial trial[MPKI_PAIRS];
    bool runs[MPKI_PAIRS], dissects[MPKI_PAIRS];
    bool tries; /* all pairs, too, should it be of use after weak ones */
    mpk_status status[MPKI_PAIRS], nd_status[MPKI_PAIRS];
    _Atomic(mpki_dissection *) nd[MPKI_PAIRS]; /* trial[].begun, for the others to see */
    _Atomic bool out[MPKI_PAIRS];              /* nobody wants it any more */
    _Atomic unsigned done;                     /* bits: trials that have their costs */
} race;

static void give_up(race *r, mpki_pairs pairs) {
    r->out[pairs] = true;
    mpki_dissection_give_up(r->nd[pairs]);
}

/* Is nested dissection wanted after AMD? */
static bool worth_it(const mpki_chooser *c, const mpki_trial *t) {
    const mpki_graph *graph = mpki_trial_graph(c, t);
    const int cores = c->options->model_threads;
    return c->device ? mpki_worth_dissecting(graph, cores, t->device_s[0])
                     : mpki_worth_improving(graph, cores, &t->cost);
}

/* Which trial wins, as far as is known; MPKI_PAIRS: not yet. Gives up what cannot. */
static mpki_pairs settle(race *r) {
    const unsigned done = r->done;
    mpki_pairs wins = MPKI_PAIRS, other = MPKI_PAIRS;
    if (r->runs[MPKI_WEAK_PAIRS]) {
        if (!(done & 1u << MPKI_WEAK_PAIRS)) return MPKI_PAIRS;
        const mpki_trial *weak = &r->trial[MPKI_WEAK_PAIRS];
        other = rival(r->c, weak);
        if (other != MPKI_PAIRS && !r->runs[other]) other = MPKI_PAIRS;
        if (other == MPKI_PAIRS)
            wins = MPKI_WEAK_PAIRS;
        else if (done & 1u << other)
            wins = rival_wins(r->c, weak, other, &r->trial[other]) ? other : MPKI_WEAK_PAIRS;
    } else if (done) {
        wins = r->runs[MPKI_NO_PAIRS] ? MPKI_NO_PAIRS : MPKI_ALL_PAIRS;
    }
    for (mpki_pairs k = 0; k < MPKI_PAIRS; k++)
        if (k != wins && (wins != MPKI_PAIRS || (k != MPKI_WEAK_PAIRS && k != other)))
            give_up(r, k);
    if (wins != MPKI_PAIRS && !worth_it(r->c, &r->trial[wins]))
        mpki_dissection_give_up(r->nd[wins]);
    return wins;
}

static void dissect_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    race *r = arg;
    mpki_trial *t = &r->trial[item];
    (void)worker;
    if (r->out[item]) return;
    if (!r->c->device &&
        !mpki_may_improve(r->c->ctx, mpki_trial_graph(r->c, t), r->c->options->model_threads))
        return;
    const mpki_graph *graph = mpki_trial_graph(r->c, t);
    r->nd_status[item] =
        mpki_dissection_begin(r->c->ctx, graph, r->c->options->seed,
                              mpki_nd_leaves_for(graph, r->c->device), pool, &t->begun);
    r->nd[item] = t->begun;
    if (r->out[item]) mpki_dissection_give_up(t->begun);
}

static void try_all(mpki_pool *pool, race *r);

static void trial_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    race *r = arg;
    const mpki_chooser *c = r->c;
    mpki_trial *t = &r->trial[item];
    if (r->out[item]) return;
    mpk_status status = t->vertex_perm ? MPK_OK : build(c, (mpki_pairs)item, t);
    const mpki_graph *graph = mpki_trial_graph(c, t);
    if (!mpk_failed(status) && r->dissects[item] && mpki_can_dissect(graph, r->c->device))
        mpki_pool_push(pool, (double)INT32_MAX + 1, dissect_item, r, item);
    if (!mpk_failed(status)) status = by_amd(c, pool, worker, t);
    if (!mpk_failed(status) && c->device && !r->out[item])
        status = mpki_etree_makespan(c->ctx, pool, worker, graph, &t->tree, t->late, t->device_s);
    r->status[item] = status;
    if (mpk_failed(status)) {
        for (mpki_pairs k = 0; k < MPKI_PAIRS; k++) give_up(r, k);
        return;
    }
    if (item == MPKI_WEAK_PAIRS) try_all(pool, r);
    r->done |= 1u << item;
    (void)settle(r);
}

/* All pairs, if they are to be tried now that the failing pivots of weak ones are known, and were not begun
 * with these: nobody can stop AMD, and who has begun it in vain waits for it (maros_r7_it03: 69 ms, where the
 * others take 50). */
static void try_all(mpki_pool *pool, race *r) {
    const mpki_trial *weak = &r->trial[MPKI_WEAK_PAIRS];
    if (!r->tries || r->runs[MPKI_ALL_PAIRS] || rival(r->c, weak) != MPKI_ALL_PAIRS) return;
    r->runs[MPKI_ALL_PAIRS] = true; /* before it is told that the weak ones are done */
    mpki_pool_push(pool, 2 * (double)INT32_MAX, trial_item, r, MPKI_ALL_PAIRS);
}

/* The trials that runs[] names; the first of them may have been built. The pool is there. */
static mpk_status run_race(race *r, mpki_pool *pool, mpki_trial *best, mpki_pairs *pairs) {
    const mpki_chooser *c = r->c;
    mpk_status status = MPK_OK;
    for (mpki_pairs k = 0; k < MPKI_PAIRS; k++)
        if (r->runs[k]) mpki_pool_push(pool, 2 * (double)INT32_MAX, trial_item, r, k);
    mpki_pool_run(pool);
    for (mpki_pairs k = 0; k < MPKI_PAIRS; k++) {
        if (!mpk_failed(status)) status = r->status[k];
        if (!mpk_failed(status)) status = r->nd_status[k];
    }
    if (!mpk_failed(status)) {
        const mpki_pairs wins = settle(r);
        *pairs = wins;
        mpki_trial *weak = &r->trial[MPKI_WEAK_PAIRS];
        if (wins == MPKI_WEAK_PAIRS && r->tries)
            weak->bare_s = bare_time(rival(c, weak), weak, &r->trial[MPKI_NO_PAIRS]);
        *best = r->trial[wins];
        r->trial[wins] = (mpki_trial){0};
    }
    for (mpki_pairs k = 0; k < MPKI_PAIRS; k++) {
        const mpk_status end = mpki_dissection_end(c->ctx, &r->trial[k].begun, NULL, NULL);
        if (!mpk_failed(status)) status = end;
        mpki_trial_free(c->ctx, &r->trial[k]);
    }
    return status;
}

/* Is nested dissection begun before AMD has told whether it is wanted? */
static bool dissects_beside(const mpki_chooser *c) {
    const int32_t least = mpki_context_takes_all(c->ctx) ? WORTH : LARGE;
    return c->device || (c->options->ordering == MPK_ORDERING_AUTO && c->problem->n >= least);
}

/* There is one graph: AMD runs only if its order is wanted. */
static mpk_status settled(mpki_chooser *c, mpki_pairs pairs, mpki_trial *best) {
    const mpk_ordering method = c->options->ordering;
    c->pairs = pairs;
    mpk_status status = build(c, pairs, best);
    if (mpk_failed(status)) return status;
    if (method != MPK_ORDERING_AUTO && method != MPK_ORDERING_AMD) return MPK_OK;
    mpki_pool *pool = dissects_beside(c) ? mpki_trials_pool(c, &status) : NULL;
    if (mpk_failed(status)) return status;
    if (!pool) return by_amd(c, c->loops, 0, best);
    race r = {.c = c};
    r.runs[pairs] = r.dissects[pairs] = true;
    r.trial[pairs] = *best;
    *best = (mpki_trial){0};
    return run_race(&r, pool, best, &c->pairs);
}

static mpk_status side_by_side(mpki_chooser *c, mpki_pool *pool, mpki_trial *best) {
    race r = {.c = c};
    mpki_trial *weak = &r.trial[MPKI_WEAK_PAIRS];
    mpk_status status = mpki_chooser_graph(c); /* before several threads may want it */
    if (!mpk_failed(status)) status = build(c, MPKI_WEAK_PAIRS, weak);
    if (mpk_failed(status)) {
        mpki_trial_free(c->ctx, weak);
        return status;
    }
    r.runs[MPKI_WEAK_PAIRS] = r.tries = true;
    r.runs[MPKI_ALL_PAIRS] =
        c->device || c->choice->rows.ptr[c->problem->n] <= THIN * (int64_t)c->problem->n;
    r.runs[MPKI_NO_PAIRS] = paired(c, weak) > FEW * c->problem->n;
    for (mpki_pairs k = 0; k < MPKI_PAIRS; k++)
        r.dissects[k] =
            dissects_beside(c) && (k == MPKI_WEAK_PAIRS || (c->device && c->problem->n <= SMALL));
    return run_race(&r, pool, best, &c->pairs);
}

mpk_status mpki_choose_pairs(mpki_chooser *c, mpki_trial *best) {
    const mpk_problem *p = c->problem;
    if (!c->choice->mate) return settled(c, MPKI_NO_PAIRS, best);
    if (c->options->matching == MPK_ON) return settled(c, MPKI_ALL_PAIRS, best);
    if (c->pairs != MPKI_PAIRS) return settled(c, c->pairs, best);
    char *covered = MPKI_NEW(c->ctx, STAGE, p->n, char);
    if (!covered) return mpki_failed(c->ctx);
    int32_t alone = mpki_weak_alone(p->n, c->choice->core.ap, c->choice->core.ai, c->weak, covered);
    mpki_release(c->ctx, covered);
    if (alone > HOPELESS * p->n) return settled(c, MPKI_WEAK_PAIRS, best);
    mpk_status status = MPK_OK;
    mpki_pool *pool = mpki_trials_pool(c, &status);
    if (mpk_failed(status)) return status;
    return pool ? side_by_side(c, pool, best) : one_by_one(c, best);
}

/* ---- without pairs --------------------------------------------------------------------------- */

static double most_of(const mpki_chooser *c) {
    return c->choice->ordering == MPK_ORDERING_ND ? BARE_ND : BARE;
}

/* t->vertex_perm of the graph without pairs: its tree and what it costs, late columns included.
 * *fits [out]: less than `most` seconds before those */
static mpk_status price(const mpki_chooser *c, double most, mpki_trial *t, bool *fits) {
    const mpki_choice *choice = c->choice;
    const int32_t n = c->problem->n;
    const int cores = c->options->model_threads;
    double late_s = 0;
    mpk_status status = mpki_etree_make(c->ctx, c->loops, 0, c->graph, t->vertex_perm, &t->tree);
    if (mpk_failed(status)) return status;
    t->cost = mpki_etree_cost(c->graph, &t->tree, cores);
    *fits = t->cost.time_s <= most;
    if (!*fits) return MPK_OK;
    int32_t *until = MPKI_NEW(c->ctx, STAGE, n, int32_t);
    if (!until) return mpki_failed(c->ctx);
    status =
        mpki_weak_pivots(c->ctx, n, &choice->core, &choice->rows, &c->moduli, choice->scale,
                         t->tree.perm, NULL, c->options->pivot_threshold, &t->failing, NULL, until);
    if (!mpk_failed(status))
        status = mpki_etree_late(c->ctx, c->graph, &t->tree, until, cores, &late_s);
    t->cost.time_s += LATE * late_s;
    mpki_release(c->ctx, until);
    return status;
}

/* Ours of the graph without pairs, if it fits into a share of what best takes; waits: for pivots that hold. */
static mpk_status by_degree(const mpki_chooser *c, bool waits, const mpki_trial *best,
                            mpki_trial *t, bool *fits) {
    const mpki_choice *choice = c->choice;
    mpki_pivots pivots = {0};
    mpk_status status = build(c, MPKI_NO_PAIRS, t);
    *fits = false;
    if (!mpk_failed(status) && waits)
        status = mpki_pivots_begin(c->ctx, c->problem->n, &choice->core, &choice->rows, &c->moduli,
                                   choice->scale, c->options->pivot_threshold, &pivots);
    if (!mpk_failed(status))
        status = mpki_order_waiting(c->ctx, c->graph, waits ? &pivots : NULL, best->cost.flops,
                                    t->vertex_perm, fits);
    mpki_pivots_end(c->ctx, &pivots);
    if (!mpk_failed(status) && *fits) status = price(c, most_of(c) * best->cost.time_s, t, fits);
    return status;
}

/* Seconds by the guess, and what columns that fail may add, as a share of what best takes. */
static double share(const mpki_chooser *c, const mpki_trial *best, const mpki_trial *t) {
    return t->cost.time_s / best->cost.time_s + RISK * t->failing / c->problem->n;
}

/* Might there be a better one? Columns of a singular matrix that depend on others fail in any order, which no
 * guess tells. */
static bool may_pay(const mpki_chooser *c, const mpki_trial *best) {
    const int32_t n = c->problem->n;
    const double takes =
        VERTEX * n + EDGE * 2 * (double)c->choice->rows.ptr[n]; /* each edge has two ends */
    return c->choice->rank == n && best->map && best->bare_s > 0 &&
           best->bare_s <= most_of(c) * best->cost.time_s &&
           PAYS * (best->cost.time_s - best->bare_s) >= takes;
}

mpk_status mpki_choose_bare(const mpki_chooser *c, mpki_trial *best, bool *taken) {
    mpki_trial t[2] = {{.failing = 0}, {.failing = 0}};
    bool fits[2] = {false, false};
    *taken = false;
    if (!may_pay(c, best)) return MPK_OK;
    mpk_status status = by_degree(c, false, best, &t[0], &fits[0]);
    if (!mpk_failed(status) && fits[0] && t[0].failing > BARE_FEW * c->problem->n)
        status = by_degree(c, true, best, &t[1], &fits[1]);
    const int k = fits[1] && share(c, best, &t[1]) < share(c, best, &t[0]);
    if (!mpk_failed(status) && fits[k] && share(c, best, &t[k]) <= most_of(c)) {
        const mpki_trial swap = *best;
        *best = t[k];
        t[k] = swap;
        *taken = true;
    }
    mpki_trial_free(c->ctx, &t[0]);
    mpki_trial_free(c->ctx, &t[1]);
    return status;
}
