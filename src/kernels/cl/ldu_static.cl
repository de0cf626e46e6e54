/* SPDX-License-Identifier: BSD-3-Clause */
/* LDU with pivots given: P A Q = L D U in place, column and row of each step by dot products. piv [in]: old rows,
 * then old columns. Work-item i holds row i of L and column i of D U in the order of the factors. */
#include "info.h"
#include "real.h"

__kernel void ldu_static(__global T *a, int lda, long stride, __global const int *piv,
                         __global int *info, R tol)
{
    long base = GROUP * stride;
    T l[N];
    T u[N];
    T check = 0;
    bool broken = false;
    int zero = 0;
    int row = piv[GROUP * (2 * N) + LANE];
    int col = piv[GROUP * (2 * N) + N + LANE];
    R most = work_group_reduce_max(SIZE_OF(a[base + (long)col * lda + row]));
    R small = most > 0 ? tol * most : (R)0;
    for (int s = 0; s < N; ++s) {
        int p = shuffle(row, s);
        int q = shuffle(col, s);
        T c = LANE >= s ? a[base + (long)q * lda + row] : (T)0;
        T r = LANE > s ? a[base + (long)col * lda + p] : (T)0;
        for (int k = 0; k < s; ++k) {
            c -= l[k] * shuffle(u[k], s);
            r -= shuffle(l[k], s) * u[k];
        }
        T d = shuffle(c, s);
        check += LANE >= s ? c * (T)0 : (T)0;
        check += LANE > s ? r * (T)0 : (T)0;
        bool good = SIZE_OF(d) > small;
        if (!good) {
            R rest = work_group_reduce_max(LANE > s    ? max(SIZE_OF(c), SIZE_OF(r))
                                           : LANE == s ? SIZE_OF(c)
                                                       : (R)0);
            broken = broken || rest > small;
            zero += 1;
        }
        l[s] = good ? (LANE == s ? d : c * rcp(d)) : (T)0;
        u[s] = good ? r : (T)0;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int s = 0; s < N; ++s) {
        T d = shuffle(l[s], s);
        if (LANE >= s)
            a[base + s * lda + LANE] = l[s];
        if (LANE > s)
            a[base + LANE * lda + s] = SIZE_OF(d) > 0 ? u[s] * rcp(d) : (R)0;
    }
    bool finite = all(check == (T)0);
    put_info(info, finite, broken, N - zero, 0, zero);
}
