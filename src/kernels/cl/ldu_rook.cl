/* SPDX-License-Identifier: BSD-3-Clause */
/* LDU with rook pivoting (Neal & Poole 1992): P A Q = L D U in place; from the first column left
 * that is not zero, down the column and along the row in turn, until an entry is the largest of
 * both. Only the columns and rows that the search meets are formed. Work-item i holds row i of L
 * and column i of D U; nothing moves until it is written. piv [out]: old rows, then old columns. */
#include "ldu_rows.h"

__kernel void ldu_rook(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                       R tol)
{
    long base = GROUP * stride;
    T l[N];
    T u[N];
    T check[1] = {0};
    R most = largest_of(a, lda, base, check);
    R small = most > 0 ? tol * most : (R)0;
    bool broken = false;
    bool left = true; /* this row is not finished */
    int row = 0;      /* where this row goes */
    int zero = 0;
    bool open = true; /* this column is not finished */
    int col = 0;      /* where this column goes */
    for (int s = 0; s < N; ++s) {
        T c = 0;
        T r = 0;
        R size = -1;
        R value = -1; /* largest |entry| of the column at hand */
        bool fresh = open; /* columns not yet tried in the search for one that is not zero */
        int q = 0;
        int p = 0;
        bool search = true;
        while (search) {
            q = work_group_reduce_max_index(fresh ? N - LANE : 0);
            c = column_of(left ? a[base + (long)q * lda + LANE] : (T)0, l, u, s, q, left);
            check[0] += c * (T)0;
            size = left ? max((R)0, SIZE_OF(c)) : (R)-1; /* NaN: a row that is left, too */
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
            r = row_of(open ? a[base + (long)LANE * lda + p] : (T)0, l, u, s, p, open);
            check[0] += r * (T)0;
            size = open ? max((R)0, SIZE_OF(r)) : (R)-1;
            int across = work_group_reduce_max_index(size);
            R next = shuffle(size, across);
            search = next > value && steps < N;
            if (search) {
                q = across;
                value = next;
                c = column_of(left ? a[base + (long)q * lda + LANE] : (T)0, l, u, s, q, left);
                check[0] += c * (T)0;
                size = left ? max((R)0, SIZE_OF(c)) : (R)-1;
                int down = work_group_reduce_max_index(size);
                R most2 = shuffle(size, down);
                search = most2 > value;
                p = search ? down : p;
                value = search ? most2 : value;
                steps += 1;
            }
        }
        T d = shuffle(c, p);
        bool good = SIZE_OF(d) > small;
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
    put_ldu(a, lda, base, piv, l, u, row, col);
    bool finite = all(check[0] == (T)0);
    put_info(info, finite, broken, N - zero, 0, zero);
}
