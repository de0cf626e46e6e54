/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_VISIT_H
#define MPKI_CPU_MULTIFRONTAL_VISIT_H
/** The way of right-hand sides over the tree, by all workers of a solver, or by this one alone:
 *  children before their parent, or the other way round. */
#include "multifrontal.h"

/** What is done at a node. pool NULL: by this worker alone; v: the caller's */
typedef void mpki_visit(const mpki_direct_solver *z, mpki_pool *pool, int worker, int32_t node,
                        void *v);

void mpki_visit_up(mpki_direct_solver *z, int worker, mpki_visit *visit, void *v);
void mpki_visit_down(mpki_direct_solver *z, int worker, mpki_visit *visit, void *v);

/** Entries of L that a visit to a node reads, about. */
static inline int64_t mpki_node_entries(const mpki_node *node) {
    return node->nelim * node->nrows;
}

#endif
