/* SPDX-License-Identifier: BSD-3-Clause */
/* A X = B with the factors and pivots of the ldlt kernels, in place, nrhs columns. Work-item i holds entry i of a
 * column in the order of the factors. A zero pivot gives zero in its place. info: outcome, as in mpk_batch.h. */
#include "real.h"

__kernel void ldlt_solve(__global const T *a, int lda, long stride_a, __global const int *piv,
                         __global T *b, int ldb, long stride_b, int nrhs, __global int *info)
{
    long base = GROUP * stride_a;
    int own = piv[GROUP * N + LANE];
    int row = own < 0 ? ~own : own;
    int marks = 0; /* 2x2 marks before this position */
    for (int k = 0; k < N; ++k) {
        int other = shuffle(own, k);
        marks += other < 0 && k < LANE ? 1 : 0;
    }
    bool first = own < 0 && marks % 2 == 0;
    bool tail = own < 0 && marks % 2 == 1;
    T here = a[base + LANE * (lda + 1)];
    T side = first && LANE + 1 < N ? a[base + LANE * (lda + 1) + 1] : (T)0;
    T up = shuffle(side, LANE > 0 ? LANE - 1 : 0);
    T next = shuffle(here, LANE + 1 < N ? LANE + 1 : N - 1);
    T last = shuffle(here, LANE > 0 ? LANE - 1 : 0);
    T d1 = first ? here : last;
    T d2 = first ? next : here;
    T off = first ? side : up;
    T scale = max(fabs(off), max(fabs(d1), fabs(d2)));
    T r = rcp(scale);
    T e = off * r;
    T x = d1 * r * (d2 * r);
    T det = x - e * e;
    bool regular = first || tail ? fabs(det) > 4 * EPS * (fabs(x) + e * e) : fabs(here) > 0;
    T f = regular ? r * rcp(det) : (T)0;
    T straight = !regular ? (T)0 : first ? d2 * r * f : tail ? d1 * r * f : rcp(here);
    T across = regular && (first || tail) ? -(e * f) : (T)0;
    int partner = first ? min(LANE + 1, N - 1) : max(LANE - 1, 0);
    T check = 0;
    for (int c = 0; c < nrhs; ++c) {
        T y = b[GROUP * stride_b + (long)c * ldb + row];
        for (int k = 0; k < N - 1; ++k) {
            T z = shuffle(y, k);
            int start = shuffle(first ? 1 : 0, k);
            bool pair = start != 0 && LANE == k + 1;
            if (LANE > k && !pair)
                y -= a[base + k * lda + LANE] * z;
        }
        T other = shuffle(y, partner);
        y = straight * y + across * other;
        for (int k = N - 1; k > 0; --k) {
            T z = shuffle(y, k);
            bool pair = first && LANE == k - 1;
            if (LANE < k && !pair)
                y -= a[base + LANE * lda + k] * z;
        }
        check += y * (T)0;
        b[GROUP * stride_b + (long)c * ldb + row] = y;
    }
    bool finite = all(check == (T)0);
    bool full = all(regular);
    if (LANE == 0)
        info[4 * GROUP] = !finite ? 3 : full ? 0 : 1;
}
