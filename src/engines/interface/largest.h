/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_LARGEST_H
#define MPKI_INTERFACE_LARGEST_H
/** Which blocks a column of frames keeps of an approximate inverse that is over its limit (option
 *  isai_over = largest): one rule for every engine. */
#include <stdint.h>
#include <stdlib.h>

/** A block of a column of frames. */
typedef struct mpki_ranked {
    double norm2;  /* the square of its Frobenius norm */
    int32_t frame; /* the place of its rows' frame; once in a column */
    int32_t rows;
} mpki_ranked;

static inline int mpki_ranked_by_norm(const void *a, const void *b) {
    const mpki_ranked *x = a, *y = b;
    if (x->norm2 != y->norm2) return x->norm2 > y->norm2 ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

static inline int mpki_ranked_by_frame(const void *a, const void *b) {
    const mpki_ranked *x = a, *y = b;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

/** frame[0 .. kept-1] := the largest blocks that fit into `room` rows, in increasing order; a block
 *  that does not fit gives way to smaller ones that do.
 *  rank [in,out] count blocks; overwritten
 *  frame [out] room for count
 *  Returns kept. */
static inline int64_t mpki_largest(int64_t count, mpki_ranked *rank, int64_t room, int32_t *frame) {
    int64_t kept = 0;
    qsort(rank, (size_t)count, sizeof *rank, mpki_ranked_by_norm);
    for (int64_t b = 0; b < count; b++) {
        if (rank[b].rows > room) continue;
        room -= rank[b].rows;
        rank[kept++] = rank[b];
    }
    qsort(rank, (size_t)kept, sizeof *rank, mpki_ranked_by_frame);
    for (int64_t b = 0; b < kept; b++) frame[b] = rank[b].frame;
    return kept;
}

#endif
