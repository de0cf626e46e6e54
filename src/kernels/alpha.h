/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ALPHA_H
#define MPKI_ALPHA_H
/** Bunch & Kaufman's (1 + sqrt(17)) / 8 (1977): a 1x1 pivot must be so large a part of its column,
 *  that two of them grow no more than one 2x2. For C and CUDA. kernels/cl/ldlt_pivots.h has its
 *  own: whoever compiles those kernels has that folder alone; tests/kernels/test_alpha.c compares.
 */
#define MPKI_ALPHA 0.64038820320220756872767623199676

#endif
