/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ACCELERATOR_SOLVES_H
#define MPKI_ACCELERATOR_SOLVES_H
/** What a factor keeps on an accelerator for solves there: made by solves.c, used by apply.c. */
#include "offload.h"

/** Blocks of vectors: B, and later X; Y; Z. */
enum { MPKI_VECTOR_GIVEN, MPKI_VECTOR_HALFWAY, MPKI_VECTOR_SCALED, MPKI_VECTORS };

/** A batch of the sweeps; the lists of all lie one after the other. */
typedef struct mpki_sweep_step {
    int kernel;
    int64_t to, blocks; /* of block[0]: where they begin, how many */
    int64_t at;         /* of the other lists */
    int64_t first;      /* a place in `first`; -1: one item for each block */
} mpki_sweep_step;

struct mpki_offload_solves {
    void **pivot[MPKI_SENT]; /* by frame */
    void **below[2];         /* by block (i, k), for the two sweeps: M_i L_ik; M_k^* L_ik^*, of LDU
                        N_k^* U_ki. NULL: it has no entries */
    void **vector[MPKI_VECTORS]; /* by frame */
    void *unit;
    void *sent[MPKI_SENT], **sent_to; /* while pivots are sent: some of them, and where they go */
    void **to, **a, **b, **units;     /* lists of all steps */
    int64_t *first;
    mpki_sweep_step *step;
    int64_t tos, items, firsts, steps;
    int64_t halfway; /* steps that lead to Y */
    int64_t tos_room, items_room, units_room, firsts_room, steps_room;
};

/** A kernel on lists: to -= a pivot b^*, or to := 0; counted as one of a solve. Nothing is recorded
 *  of a failure. */
mpk_status mpki_offload_sweep(const mpki_blocks *f, int kernel, int64_t count, void *const *to,
                              void *const *a, void *const *b, void *const *pivot,
                              const int64_t *first);

#endif
