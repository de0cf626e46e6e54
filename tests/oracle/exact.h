/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_EXACT_H
#define ORACLE_EXACT_H
/** Rank and consistency without rounding. A double is m 2^e, so a matrix of doubles has an image
 *  modulo any odd prime; the image of i is a square root of -1. */
#include "equations.h"

typedef struct exact_rank {
    int32_t rank;       /* of A */
    int32_t *augmented; /* nrhs: of A with that right-hand side; rank + 1: no solution exists */
} exact_rank;

/** The rank modulo a prime is at most the true one, and less only if the prime divides certain
 *  minors. The larger of the ranks for two primes is taken, so both would have to. A rank of n is
 *  certain. */
exact_rank exact_rank_of(const equations *eq);
void exact_rank_free(exact_rank *rank);

#endif
