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
                        .ld = mpki_leading(node->nrows),
                        .a = node->a,
                        .ldu = mpki_leading(node->nrows - node->w),
                        .u = (T *)node->a + mpki_leading(node->nrows) * node->w,
                        .dinv = node->d,
                        .col = mpki_square_id(node, sizeof(T)),
                        .row = mpki_square_row(node, sizeof(T)),
                        .exchange = mpki_square_row(node, sizeof(T)) + node->w};
}

#endif
