/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CHOOSE_H
#define MPKI_CHOOSE_H
/** The choices of mpk_analyse: whether to match, which graph, which ordering. The rules and the
 *  measurements behind them are in docs/design/analysis.md, the constants at the top of
 *  choose.c. */
#include "weakness.h"

/** What was chosen. */
typedef struct mpki_choice {
    int32_t *mate;   /**< n: pairs to keep together; NULL: none */
    double *scale;   /**< n: scaling from the matching; NULL: no matching was computed */
    bool scale_far;  /**< it differs from equilibration by more than 1000 somewhere */
    int32_t rank;    /**< structural rank; -1: not computed */
    int32_t failing; /**< pivots that the trial elimination of the order gave up; 0: no trial */
    mpki_lower rows; /**< of the core */
    mpki_core core;  /**< what is to be factorized: all of A unless rank < n */
    mpki_etree tree; /**< of the order, of columns; empty: not known */
    mpk_ordering ordering;
    bool for_device; /**< the ordering was chosen for one */
} mpki_choice;

/** Match as options.matching says, then order.
 *  keep, older [in] as for mpki_analyse
 *  graph [out] of choice->core, uncompressed; to be freed after a failure, too
 *  perm  [out] n: columns in order, pairs adjacent
 *  time_match_s [out] seconds of the matching
 *  options.given_perm must have been checked; GIVEN and NATURAL take only the scaling from a
 *  matching. */
mpk_status mpki_choose(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                       const char *keep, const mpk_analysis *older, mpki_graph *graph,
                       int32_t *perm, mpki_choice *choice, double *time_match_s);
void mpki_choice_free(mpk_context *ctx, mpki_choice *choice);

#endif
