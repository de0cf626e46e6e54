/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_STRUCTURE_H
#define MPKI_STRUCTURE_H
/** From amalgamated nodes to the arrays of struct mpk_analysis. Each allocates what it fills; on
 * failure the owner of `an` frees it. Returns MPK_OK | MPK_ERR_MEMORY, _INTERNAL. */
#include "symbolic.h"

/** nsuper, sptr, parent, children, rptr, flops; perm and iperm in final order. */
mpk_status mpki_structure_number(mpk_context *ctx, mpki_nodes *nodes, mpk_analysis *an);
/** ridx, sorted. graph: of A, uncompressed. By all threads of the pool, of which there may be none:
 *  subtrees side by side, then what is above them. */
mpk_status mpki_structure_rows(mpk_context *ctx, mpki_pool *pool, const mpki_graph *graph,
                               mpk_analysis *an);
/** Lists of children from the parents, each of which has a larger number. */
void mpki_structure_children(mpk_analysis *an);
/** rel, scatter_ptr, scatter. rows: of an->core; NULL: made here. */
mpk_status mpki_structure_maps(mpk_context *ctx, const mpki_lower *rows, mpk_analysis *an);

#endif
