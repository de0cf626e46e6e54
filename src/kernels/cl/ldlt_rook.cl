/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT by bounded Bunch-Kaufman pivoting, "rook" (Ashcraft, Grimes & Lewis 1998). piv [out]: as in ldlt_partial. */
#include "ldlt_lanes.h"
#include "ldlt_rows.h"

__kernel void ldlt_rook(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                        R tol)
{
#if (LANES && WG_PACK >= LANES && N <= 16) || defined(IN_LANES) /* small orders, a matrix in each lane */
    ldlt_lanes(ROOK, a, lda, stride, piv, info, tol);
#else
    ldlt_rows(ROOK, a, lda, stride, piv, info, tol);
#endif
}
