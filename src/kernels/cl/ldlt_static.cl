/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT with pivots given: P A P^T = L D L^T in place, lower triangle, left-looking. piv [in]: old index p at each
 * place, ~p (negative) at both places of a 2x2 pivot. Work-item i holds row i of L and of M = L D in the order of
 * the factors. */
#include "info.h"
#include "real.h"

__kernel void ldlt_static(__global T *a, int lda, long stride, __global const int *piv,
                          __global int *info, T tol)
{
    long base = GROUP * stride;
    T l[N + 1];
    T m[N + 1];
    T check = 0;
    bool broken = false;
    int zero = 0;
    int positive = 0;
    int own = piv[GROUP * N + LANE];
    int row = own < 0 ? ~own : own;
    int pairs = 0;       /* 2x2 marks before this place */
    bool second = false; /* this position was eliminated together with the one before */
    T most = work_group_reduce_max(fabs(a[base + LANE * (lda + 1)]));
    for (int s = 0; s + 1 < N; ++s) {
        int mark = piv[GROUP * N + s];
        int next = piv[GROUP * N + s + 1];
        bool first = mark < 0 && next < 0 && pairs % 2 == 0;
        pairs += mark < 0 ? 1 : 0;
        int p = ~mark;
        int q = ~next;
        if (first)
            most = max(most, fabs(a[base + (long)min(p, q) * lda + max(p, q)]));
    }
    T small = most > 0 ? tol * most : (T)0;
    pairs = 0;
    for (int s = 0; s < N; ++s) {
        int old = shuffle(row, s);
        bool marked = shuffle(own, s) < 0;
        bool two = marked && pairs % 2 == 0;
        pairs += marked ? 1 : 0;
        T c1 = LANE >= s ? a[base + (long)min(row, old) * lda + max(row, old)] : (T)0;
        for (int k = 0; k < s; ++k)
            c1 -= l[k] * shuffle(m[k], s);
        check += LANE >= s ? c1 * (T)0 : (T)0;
        T d1 = shuffle(c1, s);
        if (!second && !two) {
            bool good = fabs(d1) > small;
            if (!good) {
                T rest = work_group_reduce_max(LANE >= s ? fabs(c1) : (T)0);
                broken = broken || rest > small;
                zero += 1;
            }
            l[s] = good ? c1 * rcp(d1) : (T)0;
            m[s] = good ? c1 : (T)0;
            positive += good && d1 > 0 ? 1 : 0;
        }
        bool pair = two && !second;
        if (pair) {
            int t = min(s + 1, N - 1);
            int old2 = shuffle(row, t);
            T c2 = LANE > s ? a[base + (long)min(row, old2) * lda + max(row, old2)] : (T)0;
            T d21 = shuffle(c1, t);
            for (int k = 0; k < s; ++k)
                c2 -= l[k] * shuffle(m[k], t);
            c2 = LANE > s ? c2 : LANE == s ? d21 : (T)0;
            check += c2 * (T)0;
            T d2 = shuffle(c2, t);
            T scale = max(fabs(d21), max(fabs(d1), fabs(d2)));
            T r = scale > small ? rcp(scale) : (T)0;
            T e1 = d1 * r;
            T e21 = d21 * r;
            T e2 = d2 * r;
            T x = e1 * e2;
            T y = e21 * e21;
            T det = x - y;
            bool good = fabs(det) > 4 * EPS * (fabs(x) + y);
            if (!(scale > small)) {
                T rest = work_group_reduce_max(LANE >= s ? max(fabs(c1), fabs(c2)) : (T)0);
                broken = broken || rest > small;
                zero += 2;
            } else {
                broken = broken || !good;
                positive += det < 0 ? 1 : d1 + d2 > 0 ? 2 : 0;
            }
            T f = good && scale > small ? r * rcp(det) : (T)0;
            l[s] = f * (e2 * c1 - e21 * c2);
            l[s + 1] = f * (e1 * c2 - e21 * c1);
            m[s] = scale > small ? c1 : (T)0;
            m[s + 1] = scale > small ? c2 : (T)0;
        }
        second = pair;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    int before = 0; /* a mark is the second of its pair if an odd number of marks precedes it */
    for (int s = 0; s < N; ++s) {
        int other = shuffle(own, s);
        before += other < 0 && s < LANE ? 1 : 0;
    }
    bool tail = own < 0 && before % 2 == 1;
    for (int s = 0; s < N; ++s)
        if (LANE >= s)
            a[base + s * lda + LANE] = LANE == s || (tail && LANE == s + 1) ? m[s] : l[s];
    bool finite = all(check == (T)0);
    put_info(info, finite, broken, positive, N - positive - zero, zero);
}
