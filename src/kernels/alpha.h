/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ALPHA_H
#define MPKI_ALPHA_H
/** Bunch & Kaufman's (1 + sqrt(17)) / 8 (1977), for C and CUDA: with this bound two 1x1 pivots let
 *  entries grow by no more than one 2x2 pivot. kernels/cl/ldlt_pivots.h repeats it, since those
 *  kernels are compiled with that folder alone; tests/kernels/test_alpha.c compares the two. */
#define MPKI_ALPHA 0.64038820320220756872767623199676

/** Partial, rook and complete pivoting, of rows and columns together or apart: entries that differ
 *  by less than this times the largest are equal to it, and the first of them counts. Mirror
 *  images, and the entries of a matching, which scaling makes 1, are equal but for rounding, which
 *  depends on the machine's order of sums: so that all machines choose the same pivot. size: of a
 *  real number. */
#define MPKI_TIE(size) ((size) == 4 ? 0x1p-14 : 0x1p-26)

/** What is not above this times the floor that pivots are raised to is rounding where exact
 *  arithmetic has 0, as in the zero block of a saddle point: a pivot as small gets the sign of 0,
 *  and nothing is searched for among entries as small, so that all machines replace the same pivots
 *  by the same ones. The same of a threshold below which entries are dropped: as small ones are not
 *  counted. size: of a real number. */
#define MPKI_NOTHING(size) ((size) == 4 ? 0x1p-10 : 0x1p-16)

/** Which entries of a block are the largest: moduli are rounded by so many of their last bits, for
 *  the same reason; of equal ones the first stay. size: of a real number. */
#define MPKI_RANK_BITS(size) ((size) == 4 ? 9 : 26)

#endif
