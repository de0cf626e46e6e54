/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_LOW_NODE_H
#define MPKI_CPU_MULTIFRONTAL_LOW_NODE_H
/** Solves with a node whose L is in low rank (node->low), whose vectors lie as in node_t.h and
 *  triangular_t.c. Included by files that are compiled once for each scalar type. */
#include "engines/cpu/isa/cpu.h"
#include "multifrontal.h"

/** v (nrows) := L^-1 of the node's columns applied to v. pool NULL: by this worker alone */
void FN(low_forward)(const FN(kernels) * k, const mpki_node *node, mpki_pool *pool, int worker,
                     T *v);
/** v := L^-T (L^-H) of the node's columns applied to v */
void FN(low_backward)(const FN(kernels) * k, const mpki_node *node, int hermitian, T *v);
/** The same for rows of nr <= MPKI_SIDES vectors. */
void FN(low_forward_sides)(const FN(kernels) * k, const mpki_node *node, int nr, T *v);
void FN(low_backward_sides)(const FN(kernels) * k, const mpki_node *node, int hermitian, int nr,
                            T *v);

#endif
