/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_FACTOR_H
#define MPKI_BLOCK_FACTOR_H
/** A factor on blocks, as numeric/block makes it and solve/ reads it: Meta-algorithm 12 of Thuerck
 *  2021 for one assignment of its parameters. */
#include "../../analysis/schedule/schedule.h"
#include "../../kernels/blocks.h"
#include <metapack/factor.h>

/** What method ildlt & co. keep in an mpk_analysis. */
typedef struct mpki_block_analysis {
    mpki_blocking blocking;
    mpki_pattern a; /* blocks of A, places = frames */
    int32_t *pair;  /* n or NULL, by position: partner of a 2x2 pivot of the matching, itself */
} mpki_block_analysis;

/** A frame after its factorization. Entries of the stored precision. */
typedef struct mpki_frame {
    void *m, *n;    /* w x w, ld = mpki_block_ld(w): M and, for LDU, N; kernels/blocks.h */
    void *d, *dinv; /* 2 w */
    int32_t w;
} mpki_frame;

/** The blocks of L (and U^T) in a triangular solve's order. */
typedef struct mpki_block_factor {
    mpk_scalar scalar; /* of the stored factor */
    mpki_ibcsr index;
    mpki_levels levels; /* all stages, one after the other */
    mpki_frame *frame;  /* by frame */
    mpki_block *lower;  /* by block; EMPTY: no entries */
    mpki_block *upper;  /* LDU: U^T, as lower; else == lower */
    mpk_block_info info;
} mpki_block_factor;

#endif
