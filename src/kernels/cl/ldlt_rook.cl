/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT by bounded Bunch-Kaufman pivoting, "rook" (Ashcraft, Grimes & Lewis 1998). piv [out]: as in ldlt_partial. */
#include "real.h"
#include "ldlt_pivots.h"
#define KERNEL ldlt_rook
#define SEARCH ROOK

#if (LANES && WG_PACK >= LANES && N <= 16) || defined(IN_LANES) /* small orders, a matrix in each lane */
#include "ldlt_lanes.h"
#else
__kernel void ldlt_rook(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                        T tol)
{
#include "ldlt_rows.h"
}
#endif
