/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_FRONT_LOW_RANK_H
#define MPKI_CPU_FRONT_LOW_RANK_H
/** Blocks of L in low rank (block low rank: Amestoy, Ashcraft, Boiteau, Buttari, L'Excellent &
 *  Weisbecker 2015, SIAM J. Sci. Comput. 37(3)): a panel is updated, factored with the pivots that
 *  a front without them would take, solved, and then its blocks of 128 rows are compressed (their
 *  order "UFSC", left-looking). Updates by finished panels are products of thin blocks, which are
 *  gathered until they are worth a product with the block that is updated (their "LUA"). The front
 *  keeps its whole L until it is left, so rows may still change places: where two of different
 *  blocks do, these blocks count as whole again. */
#include "rank.h"

typedef struct FN(low_rank) {
    mpki_low_block *block; /* rows i of panel k: [k * count + i], below the diagonal */
    int64_t count;         /* blocks of rows */
    int64_t done;          /* panels that are compressed */
    /* What a block of L |D|^1/2 may lose, in the Frobenius norm: an error of L D L^T that no small
     * or large pivot blows up. */
    R tolerance;
    void *(*room)(void *self, int64_t bytes); /* for blocks, aligned to 64; NULL: there is none */
    void *self;
    _Atomic bool failed;   /* there was no room */
    _Atomic int64_t flops; /* multiplications and additions of updates and of compression */
} FN(low_rank);

/** Entries of a worker's space for all this. */
int64_t FN(low_space)(void);

/** FN(rank_rows) for a front with compressed blocks, of those that begin in rows r0 .. r1-1. */
void FN(low_rows)(const FN(rank) * u, const FN(front_work) * work, int64_t r0, int64_t r1);
/** Compress the blocks of the panels that end at pivot p at the latest.
 *  works [in] one for each worker of the pool; without one, that of this worker */
void FN(low_panels)(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * works, int64_t p,
                    mpki_pool *pool, int worker);
/** At the end of a front: all the others, and those that became whole again. */
void FN(low_finish)(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * works,
                    mpki_pool *pool, int worker);
/** Rows p .. p+b-1 changed places, in one block; rows i and j did. */
void FN(low_permute)(FN(front) * f, int64_t p, int32_t b, const int32_t *perm);
void FN(low_swap)(FN(front) * f, int64_t i, int64_t j);

#endif
