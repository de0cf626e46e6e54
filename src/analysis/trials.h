/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_TRIALS_H
#define MPKI_TRIALS_H
/** Orders that are tried for one matrix: which pairs of a matching its graph keeps together, AMD's
 *  order of that graph, and what it costs. With many threads all that may be wanted are made side
 *  by side, and nested dissection beside them; what is chosen does not depend on it. */
#include "choose.h"

#include "order/order.h"

/** Pairs that a graph keeps together; MPKI_PAIRS: not known. */
typedef enum mpki_pairs { MPKI_NO_PAIRS, MPKI_WEAK_PAIRS, MPKI_ALL_PAIRS, MPKI_PAIRS } mpki_pairs;

/** What all steps of mpki_choose() share. */
typedef struct mpki_chooser {
    mpk_context *ctx;
    const mpk_problem *problem;
    const mpk_options *options;
    mpki_graph *graph; /**< of the core, uncompressed; empty until it is wanted */
    mpki_moduli moduli;
    char *weak; /**< n: columns that have no good pivot on their diagonal */
    mpki_choice *choice;
    mpki_pairs pairs; /**< those of the order, once they are chosen */
    bool device;      /**< orders are weighed for one */
    mpki_pool *loops; /**< for loops over A; NULL: one thread */
} mpki_chooser;

/** An order of columns and what it costs. */
typedef struct mpki_trial {
    mpki_graph graph;     /**< compressed; n = 0 for the uncompressed graph */
    int32_t *vertex_perm; /**< order of the graph's vertices */
    mpki_etree tree;      /**< of that order, or empty */
    mpki_cost cost;
    double device_s[2]; /**< for a device: mpki_order_makespan(); 0: not asked yet */
    int32_t *late;      /**< for a device, vertices: columns of each that fail; NULL: no scaling */
    int32_t *map;       /**< column -> vertex; NULL: the same */
    int32_t *mate;      /**< n: the pairs; NULL: none */
    int32_t failing;    /**< pivots that the trial elimination gives up */
    double
        bare_s; /**< of weak pairs: seconds that an order without pairs may take; 0: too many fail */
    mpki_dissection *begun; /**< nested dissection of the graph; NULL: not begun */
} mpki_trial;

/** c->graph, if it is not there yet. Not by several threads at once. */
mpk_status mpki_chooser_graph(const mpki_chooser *c);

void mpki_trial_free(mpk_context *ctx, mpki_trial *t);
const mpki_graph *mpki_trial_graph(const mpki_chooser *c, const mpki_trial *t);
/** From an order of vertices, such as t->vertex_perm, to that of columns; perm [out] n. */
mpk_status mpki_trial_expand(const mpki_chooser *c, const mpki_trial *t, const int32_t *vertex_perm,
                             int32_t *perm);
/** t->failing of the order of t->tree, where there is a scaling to tell it by. MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_trial_failing(const mpki_chooser *c, mpki_trial *t);
/** A pool, where the options give threads enough for trials side by side. It may not be where memory
 *  is limited, since each trial has a graph of its own. *status [inout]: there should be one */
mpki_pool *mpki_trials_pool(const mpki_chooser *c, mpk_status *status);
/** What an order of its vertices costs on a device; late: vertices, room for columns that fail.
 *  pool, worker: of the task that this is part of; NULL, 0: none. tree [out] of that order; to be freed.
 *  Returns MPK_OK | MPK_ERR_MEMORY, _SIZE, _CANCELLED. */
mpk_status mpki_trial_device(const mpki_chooser *c, mpki_pool *pool, int worker,
                             const mpki_trial *t, const int32_t *vertex_perm, int32_t *late,
                             mpki_etree *tree, double time_s[2]);
/** The graph to order, with AMD's order of it unless options.ordering asks for another.
 *  *best [inout] zeros; free it with mpki_trial_free() whatever is returned.
 *  Returns MPK_OK | MPK_ERR_MEMORY, _SIZE, _CANCELLED, _INTERNAL. */
mpk_status mpki_choose_pairs(mpki_chooser *c, mpki_trial *best);
/** An order without pairs in place of best's, for the processor: by minimum degree, which waits for pivots
 *  that hold or does not, where best's takes longer by the guess, with columns that come late.
 *  best  [inout] by mpki_choose_pairs(), and with its cost, of a dissection perhaps
 *  taken [out]   it has another order now
 *  Returns MPK_OK | MPK_ERR_MEMORY, _SIZE, _CANCELLED. */
mpk_status mpki_choose_bare(const mpki_chooser *c, mpki_trial *best, bool *taken);

#endif
