/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_SYSTEMS_FRONT_H
#define MPKI_CPU_SYSTEMS_FRONT_H
/** A front of all lanes at work, and what its pivots come to. */
#include "entry.h"

enum { PANEL = 32 }; /* pivots whose L D is kept until what is behind them is updated */

typedef struct front {
    int32_t w, r, first; /* columns, rows; position of the first one */
    R *l, *c;            /* its L; its contribution */
    R *panel;            /* L D (conjugated where Hermitian) of pivots p0 .. p1-1, rows from p0 */
    int32_t p0, p1;
    const char *pair; /* of its columns */
    R *d, *dinv;
    bool hermitian;
    int32_t *perm; /* own pivots: see mpki_lanes_pack; of its columns. NULL: the plan's */
    R *block;      /* own pivots: PANEL (PANEL + 1) entries of work space */
} front;

/* What is summed up over all fronts, by lane. */
typedef struct tally {
    vec positive, negative; /* counts */
    vec stress;             /* max |L|, and |L| |D| |L|^T times what a 2x2 pivot loses */
    vec most, least;        /* |entry| of D; |eigenvalue| of its blocks */
    vec small;
    vec pairs; /* own pivots: 2x2 ones */
    mask passed;
} tally;

/* Column k of L from its diagonal down, less k entries: row i is at i. */
INLINE R *column(const front *f, int64_t k) {
    return f->l + (k * (f->r - 1) - k * (k - 1) / 2) * EL;
}
/* Row i of the panel's first pivot; pivots are r - p0 entries apart. */
INLINE R *of_panel(const front *f, int64_t i) {
    return f->panel + (i - f->p0) * EL;
}

/* The panel's pivots, each lane by its own choice; L and L D of all rows (own_k.c). */
void ISA_FN(lanes_own_panel)(const front *f, tally *t);

#endif
