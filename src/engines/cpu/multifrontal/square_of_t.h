/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_SQUARE_OF_T_H
#define MPKI_CPU_MULTIFRONTAL_SQUARE_OF_T_H
/** A node's storage as a square front. Included by files that are compiled once for each scalar
 *  type. */
#include "engines/cpu/front/square.h"
#include "multifrontal.h"

static inline FN(square) square_of(const mpki_node *node) {
    return (FN(square)){.nrows = node->nrows,
                        .w = node->w,
                        .nelim = node->nelim,
                        .ld = node->ld0,
                        .a = node->a,
                        .ldu = mpki_leading(node->nrows - node->w),
                        .u = node->u,
                        .dinv = node->dinv,
                        .col = node->id,
                        .row = mpki_node_row(node),
                        .exchange = mpki_node_exchange(node)};
}

#endif
