/* SPDX-License-Identifier: BSD-3-Clause */
/* LDU with complete pivoting: P A Q = L D U in place, right-looking; the pivot is the largest entry
 * left. Work-item i holds row i of what is left; the pivot row goes through local memory, and the
 * largest entry of each row for the next step is found during this step's update. Nothing moves
 * until it is written. piv [out]: old rows, then old columns. */
#include "info.h"
#include "real.h"

__kernel void ldu_complete(__global T *a, int lda, long stride, __global int *piv,
                           __global int *info, R tol)
{
#ifdef COMPLEX
    __local volatile T pivot[N];
#else
    __local T pivot[N];
#endif
    long base = GROUP * stride;
    T t[N];
    T l[N];
    T u[N];
    R off = -1; /* largest |entry| of this row, in column at */
    int at = 0;
    T check = 0;
    for (int j = 0; j < N; ++j) {
        t[j] = a[base + j * lda + LANE];
        check += t[j] * (T)0;
        R size = max((R)0, SIZE_OF(t[j])); /* max: NaN must count as an entry that is left */
        if (size > off) {
            off = size;
            at = j;
        }
    }
    R most = work_group_reduce_max(off);
    R small = most > 0 ? tol * most : (R)0;
    ulong rest = ~(ulong)0; /* columns that are not finished */
    bool broken = false;
    bool left = true;
    int row = 0;
    int col = 0;
    int zero = 0;
    for (int s = 0; s < N; ++s) {
        R size = left ? max((R)0, off) : (R)-2; /* NaN: a row that is left, too */
        int p = work_group_reduce_max_index(size);
        R value = shuffle(size, p);
        int q = shuffle(at, p);
        bool good = value > small;
        if (LANE == p)
            for (int j = 0; j < N; ++j)
                pivot[j] = t[j];
        barrier(CLK_LOCAL_MEM_FENCE);
        T d = pivot[q];
        T r = good ? rcp(d) : (T)0;
        T c = 0;
        for (int j = 0; j < N; ++j)
            c = j == q ? t[j] : c;
        T x = left && LANE != p ? c * r : (T)0;
        check += x * (T)0;
        l[s] = LANE == p ? (good ? d : (T)0) : x;
        rest = rest & ~((ulong)1 << q);
        u[s] = ((rest >> LANE) & 1) != 0 ? pivot[LANE] * r : (T)0;
        check += u[s] * (T)0;
        zero += good ? 0 : 1;
        if (LANE == p) {
            left = false;
            row = s;
        }
        if (LANE == q)
            col = s;
        off = -1;
        at = q;
        for (int j = 0; j < N; ++j) {
            t[j] -= x * pivot[j];
            R y = ((rest >> j) & 1) != 0 ? max((R)0, SIZE_OF(t[j])) : (R)-1;
            if (y > off) {
                off = y;
                at = j;
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int s = 0; s < N; ++s) {
        if (row >= s)
            a[base + s * lda + row] = l[s];
        if (col > s)
            a[base + (long)col * lda + s] = u[s];
    }
    piv[GROUP * (2 * N) + row] = LANE;
    piv[GROUP * (2 * N) + N + col] = LANE;
    bool finite = all(check == (T)0);
    put_info(info, finite, broken, N - zero, 0, zero);
}
