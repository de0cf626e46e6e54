/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_FRONT_OF_T_H
#define MPKI_CPU_MULTIFRONTAL_FRONT_OF_T_H
/** A node's storage as a front. Included by files that are compiled once for each scalar type. */
#include "engines/cpu/isa/cpu.h"
#include "multifrontal.h"

static inline FN(front) front_of(const mpki_node *node) {
    return (FN(front)){.nrows = node->nrows,
                       .w = node->w,
                       .nelim = node->nelim,
                       .ld0 = node->ld0,
                       .a = node->a,
                       .id = node->id,
                       .d = node->d,
                       .dinv = node->dinv,
                       .low = node->at_work};
}

#endif
