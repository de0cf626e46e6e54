/* SPDX-License-Identifier: BSD-3-Clause */
/* LDU with rook pivoting (Neal & Poole 1992): P A Q = L D U in place; from the first column left that is not zero, by
 * turns down the column and along the row, until an entry is the largest of both. Only the columns and rows that the
 * search meets are formed. Work-item i holds row i of L and column i of D U; nothing moves before it is written.
 * piv [out]: old rows, then old columns. */
#include "real.h"

__kernel void ldu_rook(__global T *a, int lda, long stride, __global int *piv, __global int *info,
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
    bool open = true; /* this column is not finished */
    int col = 0;      /* where this column goes */
    for (int s = 0; s < N; ++s) {
        T c = 0;
        T r = 0;
        T size = -1;
        T value = -1; /* largest |entry| of the column at hand */
        bool fresh = open; /* columns that were not looked at in search of one that is not zero */
        int q = 0;
        int p = 0;
        bool search = true;
        while (search) {
            q = work_group_reduce_max_index(fresh ? N - LANE : 0);
            c = left ? a[base + (long)q * lda + LANE] : (T)0;
            for (int k = 0; k < s; ++k)
                c -= l[k] * shuffle(u[k], q);
            c = left ? c : (T)0;
            check += c * (T)0;
            size = left ? max((T)0, fabs(c)) : (T)-1; /* NaN: a row that is left, too */
            p = work_group_reduce_max_index(size);
            value = shuffle(size, p);
            if (LANE == q)
                fresh = false;
            bool more = any(fresh);
            search = !(value > small) && more;
        }
        search = value > small;
        int steps = 0;
        while (search) {
            r = open ? a[base + (long)LANE * lda + p] : (T)0;
            for (int k = 0; k < s; ++k)
                r -= shuffle(l[k], p) * u[k];
            r = open ? r : (T)0;
            check += r * (T)0;
            size = open ? max((T)0, fabs(r)) : (T)-1;
            int across = work_group_reduce_max_index(size);
            T next = shuffle(size, across);
            search = next > value && steps < N;
            if (search) {
                q = across;
                value = next;
                c = left ? a[base + (long)q * lda + LANE] : (T)0;
                for (int k = 0; k < s; ++k)
                    c -= l[k] * shuffle(u[k], q);
                c = left ? c : (T)0;
                check += c * (T)0;
                size = left ? max((T)0, fabs(c)) : (T)-1;
                int down = work_group_reduce_max_index(size);
                T most2 = shuffle(size, down);
                search = most2 > value;
                p = search ? down : p;
                value = search ? most2 : value;
                steps += 1;
            }
        }
        T d = shuffle(c, p);
        bool good = fabs(d) > small;
        zero += good ? 0 : 1;
        l[s] = good ? c * rcp(d) : (T)0;
        u[s] = good && LANE != q ? r : (T)0;
        if (LANE == p) {
            left = false;
            row = s;
            l[s] = good ? d : (T)0;
        }
        if (LANE == q) {
            open = false;
            col = s;
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int s = 0; s < N; ++s) {
        T d = work_group_reduce_sum(row == s ? l[s] : (T)0);
        if (row >= s)
            a[base + s * lda + row] = l[s];
        if (col > s)
            a[base + (long)col * lda + s] = fabs(d) > 0 ? u[s] * rcp(d) : (T)0;
    }
    piv[GROUP * (2 * N) + row] = LANE;
    piv[GROUP * (2 * N) + N + col] = LANE;
    bool finite = all(check == (T)0);
    if (LANE == 0) {
        bool bad = !finite || broken;
        info[4 * GROUP] = !finite ? 3 : broken ? 2 : zero > 0 ? 1 : 0;
        info[4 * GROUP + 1] = bad ? 0 : N - zero;
        info[4 * GROUP + 2] = 0;
        info[4 * GROUP + 3] = bad ? 0 : zero;
    }
}
