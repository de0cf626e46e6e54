/* SPDX-License-Identifier: BSD-3-Clause */
/* LDU with partial pivoting: P A = L D U in place, the largest entry of each column; column and row of each step by
 * dot products (Crout). Work-item i holds row i of L and column i of D U; rows never move, `row` is where row i goes
 * when L is written. piv [out]: old rows, then the columns, which stay. */
#include "real.h"

__kernel void ldu_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                     T tol)
{
    long base = GROUP * stride;
    T l[N];
    T u[N];
    T check = 0;
    T most = 0;
    for (int j = 0; j < N; ++j) {
        T x = a[base + j * lda + LANE];
        check += x * (T)0;
        most = max(most, fabs(x));
    }
    most = work_group_reduce_max(most);
    T small = most > 0 ? tol * most : (T)0;
    bool broken = false;
    bool left = true; /* this row is not finished */
    int row = 0;      /* where this row goes */
    int zero = 0;
    for (int s = 0; s < N; ++s) {
        T c = left ? a[base + s * lda + LANE] : (T)0;
        for (int k = 0; k < s; ++k)
            c -= l[k] * shuffle(u[k], s);
        c = left ? c : (T)0;
        int p = work_group_reduce_max_index(left ? max((T)0, fabs(c)) : (T)-1); /* NaN: a row that is left, too */
        T r = LANE > s ? a[base + LANE * lda + p] : (T)0;
        for (int k = 0; k < s; ++k)
            r -= shuffle(l[k], p) * u[k];
        r = LANE > s ? r : (T)0;
        T d = shuffle(c, p);
        check += c * (T)0 + r * (T)0;
        bool good = fabs(d) > small;
        if (!good) {
            T rest = work_group_reduce_max(fabs(r));
            broken = broken || rest > small;
            zero += 1;
        }
        l[s] = good ? c * rcp(d) : (T)0;
        u[s] = good ? r : (T)0;
        if (LANE == p) {
            left = false;
            row = s;
            l[s] = good ? d : (T)0;
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int s = 0; s < N; ++s) {
        T d = work_group_reduce_sum(row == s ? l[s] : (T)0);
        if (row >= s)
            a[base + s * lda + row] = l[s];
        if (LANE > s)
            a[base + LANE * lda + s] = fabs(d) > 0 ? u[s] * rcp(d) : (T)0;
    }
    piv[GROUP * (2 * N) + row] = LANE;
    piv[GROUP * (2 * N) + N + LANE] = LANE;
    bool finite = all(check == (T)0);
    if (LANE == 0) {
        bool bad = !finite || broken;
        info[4 * GROUP] = !finite ? 3 : broken ? 2 : zero > 0 ? 1 : 0;
        info[4 * GROUP + 1] = bad ? 0 : N - zero;
        info[4 * GROUP + 2] = 0;
        info[4 * GROUP + 3] = bad ? 0 : zero;
    }
}
