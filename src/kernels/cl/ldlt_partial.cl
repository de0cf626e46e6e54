/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT by Bunch & Kaufman (1977): P A P^T = L D L^T in place, lower triangle, left-looking: only the one or two
 * columns that a step looks at are formed. Work-item i holds row i of L and of M = L D; rows never move, `place` is
 * where row i goes when L is written. piv [out]: old index p at each place, ~p at both places of a 2x2 pivot. */
#include "real.h"

#define ALPHA ((T)0.6403882032022076) /* (1 + sqrt(17)) / 8 */

#if !WG_VECTOR_BYTES || WG_PACK > 1 || N <= 8
__kernel void ldlt_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                      T tol)
{
    long base = GROUP * stride;
    T l[N + 1];
    T m[N + 1];
    T check = 0;
    T most = 0;
    for (int j = 0; j < N; ++j) {
        T x = LANE >= j ? a[base + j * lda + LANE] : (T)0;
        check += x * (T)0;
        most = max(most, fabs(x));
    }
    most = work_group_reduce_max(most);
    T small = most > 0 ? tol * most : (T)0;
    bool broken = false;
    bool left = true;    /* this row is not finished */
    bool second = false; /* this place was eliminated with the one before */
    int place = 0;
    int mark = 0; /* 1, 2: first and second row of a 2x2 pivot */
    int zero = 0;
    int positive = 0;
    for (int s = 0; s < N; ++s) {
        int p = work_group_reduce_max_index(left ? N - LANE : 0); /* the lowest row left */
        int q = p;
        T c1 = left ? a[base + (long)min(LANE, p) * lda + max(LANE, p)] : (T)0;
        T c2 = 0;
        for (int k = 0; k < s; ++k)
            c1 -= l[k] * shuffle(m[k], p);
        c1 = left ? c1 : (T)0;
        check += c1 * (T)0;
        T size = left && LANE != p ? fabs(c1) : (T)-1;
        int other = work_group_reduce_max_index(size);
        T lambda = max(shuffle(size, other), (T)0);
        T diagonal = fabs(shuffle(c1, p));
        bool two = false;
        bool look = !second && lambda > small && diagonal < ALPHA * lambda;
        if (look) {
            c2 = left ? a[base + (long)min(LANE, other) * lda + max(LANE, other)] : (T)0;
            for (int k = 0; k < s; ++k)
                c2 -= l[k] * shuffle(m[k], other);
            c2 = left ? c2 : (T)0;
            check += c2 * (T)0;
            T sigma = work_group_reduce_max(left && LANE != other ? fabs(c2) : (T)0);
            bool stay = diagonal * sigma >= ALPHA * lambda * lambda;
            T beyond = fabs(shuffle(c2, other));
            bool swap = !stay && beyond >= ALPHA * sigma;
            two = !stay && !swap;
            q = two ? other : q;
            p = swap ? other : p;
            c1 = swap ? c2 : c1;
        }
        if (!second) {
            if (two) {
                T d1 = shuffle(c1, p);
                T d21 = shuffle(c1, q);
                T d2 = shuffle(c2, q);
                T scale = max(fabs(d21), max(fabs(d1), fabs(d2)));
                T r = rcp(scale);
                T e1 = d1 * r;
                T e21 = d21 * r;
                T e2 = d2 * r;
                T det = e1 * e2 - e21 * e21;
                T f = r * rcp(det);
                positive += det < 0 ? 1 : d1 + d2 > 0 ? 2 : 0;
                l[s] = f * (e2 * c1 - e21 * c2);
                l[s + 1] = f * (e1 * c2 - e21 * c1);
                m[s] = c1;
                m[s + 1] = c2;
                if (LANE == p || LANE == q) {
                    left = false;
                    mark = LANE == p ? 1 : 2;
                    place = LANE == p ? s : s + 1;
                }
            } else {
                T d = shuffle(c1, p);
                bool good = fabs(d) > small;
                zero += good ? 0 : 1;
                positive += good && d > 0 ? 1 : 0;
                l[s] = good ? c1 * rcp(d) : (T)0;
                m[s] = good ? c1 : (T)0;
                if (LANE == p) {
                    left = false;
                    place = s;
                }
            }
        }
        second = two;
    }
    check += most * (T)0;
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int s = 0; s < N; ++s)
        if (place >= s)
            a[base + s * lda + place] = place == s || (mark == 2 && place == s + 1) ? m[s] : l[s];
    piv[GROUP * N + place] = mark > 0 ? ~LANE : LANE;
    bool finite = all(check == (T)0);
    if (LANE == 0) {
        bool bad = !finite || broken;
        info[4 * GROUP] = !finite ? 3 : broken ? 2 : zero > 0 ? 1 : 0;
        info[4 * GROUP + 1] = bad ? 0 : positive;
        info[4 * GROUP + 2] = bad ? 0 : N - positive - zero;
        info[4 * GROUP + 3] = bad ? 0 : zero;
    }
}

#else
/* A vector machine keeps A, L and M = L D in memory (work: 3 N N entries), both triangles of A, one row after the other
 * as work-items are; loops run at run time, steps of one or two columns. */
__kernel void ldlt_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                      T tol, __global T *work)
{
    long base = GROUP * stride;
    T check = 0; /* 0 as long as pivots are finite: NaN and Inf elsewhere come to a later pivot */
    T most = 0;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        T x = LANE >= j ? a[base + j * lda + LANE] : (T)0;
        most = max(most, fabs(x));
        if (LANE >= j)
            work[j * N + LANE] = x;
        if (LANE > j)
            work[LANE * N + j] = x;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    most = work_group_reduce_max(most);
    T small = most > 0 ? tol * most : (T)0;
    bool left = true; /* this row is not finished */
    int place = 0;
    bool pair = false;
    int zero = 0;
    int positive = 0;
    int first = 0; /* the lowest row left */
    long done = 0; /* bit i: row i is finished */
    int s = 0;
    while (s < N) {
        int p = first;
        int q = p;
        T c1 = work[p * N + LANE];
#pragma nounroll
        for (int k = 0; k < s; ++k)
            c1 -= work[N * N + k * N + LANE] * work[2 * N * N + k * N + p];
        c1 = left ? c1 : (T)0;
        T c2 = 0;
        work[2 * N * N + s * N + LANE] = c1;
        T size = left && LANE != p ? fabs(c1) : (T)-1;
        T lambda = max(work_group_reduce_max(size), (T)0);
        T diagonal = fabs(work[2 * N * N + s * N + p]);
        bool two = false;
        if (lambda > small && diagonal < ALPHA * lambda) {
            int other = work_group_reduce_max_index(size);
            c2 = work[other * N + LANE];
#pragma nounroll
            for (int k = 0; k < s; ++k)
                c2 -= work[N * N + k * N + LANE] * work[2 * N * N + k * N + other];
            c2 = left ? c2 : (T)0;
            int next = min(s + 1, N - 1);
            work[2 * N * N + next * N + LANE] = c2;
            T sigma = work_group_reduce_max(left && LANE != other ? fabs(c2) : (T)0);
            bool stay = diagonal * sigma >= ALPHA * lambda * lambda;
            T beyond = fabs(work[2 * N * N + next * N + other]);
            bool swap = !stay && beyond >= ALPHA * sigma;
            two = !stay && !swap;
            q = two ? other : q;
            p = swap ? other : p;
            c1 = swap ? c2 : c1;
            if (swap)
                work[2 * N * N + s * N + LANE] = c2;
        }
        if (two) {
            T d1 = work[2 * N * N + s * N + p];
            T d21 = work[2 * N * N + s * N + q];
            T d2 = work[2 * N * N + (s + 1) * N + q];
            T scale = max(fabs(d21), max(fabs(d1), fabs(d2)));
            T r = rcp(scale);
            T e1 = d1 * r;
            T e21 = d21 * r;
            T e2 = d2 * r;
            T det = e1 * e2 - e21 * e21;
            T f = r * rcp(det);
            check += d1 * (T)0 + d21 * (T)0 + d2 * (T)0;
            positive += det < 0 ? 1 : d1 + d2 > 0 ? 2 : 0;
            T l1 = f * (e2 * c1 - e21 * c2);
            T l2 = f * (e1 * c2 - e21 * c1);
            /* finished rows are not asked for again: D is kept there */
            work[N * N + s * N + LANE] = LANE == p || LANE == q ? c1 : l1;
            work[N * N + (s + 1) * N + LANE] = LANE == q ? c2 : l2;
            pair = LANE == p || LANE == q ? true : pair;
            place = LANE == p ? s : LANE == q ? s + 1 : place;
            left = left && LANE != p && LANE != q;
            done |= (long)1 << q;
            s += 2;
        } else {
            T d = work[2 * N * N + s * N + p];
            T r = rcp(d);
            check += d * (T)0;
            positive += d > small ? 1 : 0;
            if (!(fabs(d) > small)) { /* what is as small below is taken for zero, too */
                zero += 1;
                r = 0;
                work[2 * N * N + s * N + LANE] = c1 * (T)0;
            }
            T l = c1 * r;
            work[N * N + s * N + LANE] = LANE == p ? (r == 0 ? c1 * (T)0 : c1) : l;
            place = LANE == p ? s : place;
            left = left && LANE != p;
            s += 1;
        }
        done |= (long)1 << p;
        while (first < N - 1 && (done >> first & 1) != 0)
            first += 1;
    }
    piv[GROUP * N + place] = pair ? ~LANE : LANE;
    barrier(CLK_GLOBAL_MEM_FENCE);
    int row = piv[GROUP * N + LANE];
    row = row < 0 ? ~row : row;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        T x = shuffle(work[N * N + j * N + LANE], row);
        if (LANE >= j)
            a[base + j * lda + LANE] = x;
    }
    check += most * (T)0;
    bool finite = check == (T)0;
    if (LANE == 0) {
        info[4 * GROUP] = !finite ? 3 : zero > 0 ? 1 : 0;
        info[4 * GROUP + 1] = !finite ? 0 : positive;
        info[4 * GROUP + 2] = !finite ? 0 : N - positive - zero;
        info[4 * GROUP + 3] = !finite ? 0 : zero;
    }
}
#endif
