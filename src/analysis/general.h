/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ANALYSIS_GENERAL_H
#define MPKI_ANALYSIS_GENERAL_H
/** What precedes the tree, or the blocks, of a general matrix. */
#include "analysis.h"

/** The rows for its diagonal and a scaling of rows and columns, by a maximum-product matching:
 *  an->row_of, scale, info.structural_rank.
 *  always [in] false: not where nearly all diagonal entries are strong; these are NULL then
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED, _SIZE */
mpk_status mpki_general_match(mpk_context *ctx, const mpk_problem *problem, bool always,
                              mpk_analysis *an);

/** For the direct solver: the matching as options.matching says, the graph of Q A + (Q A)^T and its
 *  order, an->perm. options.given_perm must have been checked.
 *  graph [out] zeros come in
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED, _SIZE, _UNSUPPORTED, _INTERNAL */
mpk_status mpki_choose_general(mpk_context *ctx, const mpk_problem *problem,
                               const mpk_options *options, mpki_graph *graph, mpk_analysis *an);

#endif
