/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_FRONT_OF_T_H
#define MPKI_CPU_MULTIFRONTAL_FRONT_OF_T_H
/** A node's storage as a front. Included by files that are compiled once for each scalar type. */
#include "engines/cpu/isa/cpu.h"
#include "multifrontal.h"

static inline T *dinv_of(const mpki_node *node) {
    return mpki_node_dinv(node, sizeof(T));
}
static inline int32_t *id_of(const mpki_node *node) {
    return mpki_node_id(node, sizeof(T));
}
static inline const int32_t *names_of(const mpki_tree_view *tree, const mpki_node *node) {
    return tree->symmetry == MPK_GENERAL ? mpki_square_id(node, sizeof(T)) : id_of(node);
}

static inline FN(front) front_of(const mpki_node *node) {
    return (FN(front)){.nrows = node->nrows,
                       .w = node->w,
                       .nelim = node->nelim,
                       .ld0 = mpki_leading(node->nrows),
                       .a = node->a,
                       .id = id_of(node),
                       .d = node->d,
                       .dinv = dinv_of(node),
                       .low = node->low ? node->low->at_work : NULL};
}

#endif
