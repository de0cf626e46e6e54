/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ALPHA_H
#define MPKI_ALPHA_H
/** Bunch & Kaufman's (1 + sqrt(17)) / 8 (1977), for C and CUDA: with this bound two 1x1 pivots let
 *  entries grow by no more than one 2x2 pivot. kernels/cl/ldlt_pivots.h repeats it, since those
 *  kernels are compiled with that folder alone; tests/kernels/test_alpha.c compares the two. */
#define MPKI_ALPHA 0.64038820320220756872767623199676

#endif
