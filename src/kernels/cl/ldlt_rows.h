/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LDLT_ROWS_H
#define LDLT_ROWS_H
#include "info.h"
#include "ldlt_pivots.h"

/* LDLT with pivots searched for in columns, by Bunch & Kaufman or rook: P A P^T = L D L^T in place,
 * lower triangle, left-looking: only the columns that a step examines are formed. Work-item i holds
 * row i of L and of M = L D; rows never move, `place` is where row i goes when L is written. */

/* Column q of what is left after s steps; left: this row is not finished. */
static T rows_column(__global const T *a, long base, int lda, const T l[N + 1], const T m[N + 1],
                     int s, int q, bool left) {
    T c = left ? a[base + (long)min(LANE, q) * lda + max(LANE, q)] : (T)0;
#ifdef HERMITIAN
    c = LANE < q ? across(c) : entry_of(c, q);
#endif
    for (int k = 0; k < s; ++k) c -= l[k] * across(shuffle(m[k], q));
    return left ? c : (T)0;
}

/* Find a pivot: rows at[0] and, of a 2x2 pivot, at[1]; c: their columns; most: the largest entry
 * seen by the search. second: the next row is the second of a 2x2 pivot. Returns whether the pivot
 * is a 2x2 one. */
static bool rows_seek(int search, __global const T *a, long base, int lda, const T l[N + 1],
                      const T m[N + 1], int s, bool left, bool second, R small, int at[2], T c[2],
                      R most[1], T check[1]) {
    int p = work_group_reduce_max_index(left ? N - LANE : 0); /* the lowest row left */
    T c1 = rows_column(a, base, lda, l, m, s, p, left);
    T other = 0;
    check[0] += c1 * (T)0;
    R size = left && LANE != p ? SIZE_OF(c1) : (R)-1;
    int q = work_group_reduce_max_index(size);
    R lambda = max(shuffle(size, q), (R)0);
    bool two = false;
    R diagonal = SIZE_OF(pivot_of(shuffle(c1, p)));
    if (search == PARTIAL) {
        if (!second && lambda > small && diagonal < ALPHA * lambda) {
            other = rows_column(a, base, lda, l, m, s, q, left);
            check[0] += other * (T)0;
            R sigma = work_group_reduce_max(left && LANE != q ? SIZE_OF(other) : (R)0);
            bool stay =
                diagonal >= ALPHA * lambda * (lambda * rcp(sigma)); /* squares could vanish */
            R beyond = SIZE_OF(pivot_of(shuffle(other, q)));
            bool swap = !stay && beyond >= ALPHA * sigma;
            two = !stay && !swap;
            p = swap ? q : p;
            c1 = swap ? other : c1;
        }
    } else {
        bool looking = !second && lambda > small && diagonal < ALPHA * lambda;
        int steps = 0;
        while (looking) {
            other = rows_column(a, base, lda, l, m, s, q, left);
            check[0] += other * (T)0;
            size = left && LANE != q ? SIZE_OF(other) : (R)-1;
            int next = work_group_reduce_max_index(size);
            R sigma = max(shuffle(size, next), (R)0);
            bool one = SIZE_OF(pivot_of(shuffle(other, q))) >= ALPHA * sigma;
            steps += 1;
            two = !one && (next == p || !(sigma > lambda) || steps >= N);
            looking = !one && !two;
            if (one || looking) { /* q takes the place of p */
                p = q;
                c1 = other;
            }
            q = looking ? next : q;
            lambda = sigma;
        }
    }
    at[0] = p;
    at[1] = q;
    c[0] = c1;
    c[1] = other;
    most[0] = lambda;
    return two;
}

/* search: PARTIAL or ROOK. piv [out]: old index p at each place, ~p at both places of a 2x2 pivot.
 */
static void ldlt_rows(int search, __global T *a, int lda, long stride, __global int *piv,
                      __global int *info, R tol) {
    long base = GROUP * stride;
    T l[N + 1];
    T m[N + 1];
    T check[1] = {0};
    R most = 0;
    for (int j = 0; j < N; ++j) {
        T x = LANE >= j ? entry_of(a[base + j * lda + LANE], j) : (T)0;
        check[0] += x * (T)0;
        most = max(most, SIZE_OF(x));
    }
    most = work_group_reduce_max(most);
    R small = tol * max(most, (R)0);
    bool left = true;    /* this row is not finished */
    bool second = false; /* this step's row was eliminated together with the one before */
    int place = 0;
    int mark = 0; /* 1, 2: first and second row of a 2x2 pivot */
    int zero = 0;
    int positive = 0;
    for (int s = 0; s < N; ++s) {
        int at[2];
        T c[2];
        R lambda[1];
        bool two =
            rows_seek(search, a, base, lda, l, m, s, left, second, small, at, c, lambda, check);
        int p = at[0];
        int q = at[1];
        T c1 = c[0];
        T c2 = c[1];
        if (!second) {
            if (two) {
                P d1 = pivot_of(shuffle(c1, p));
                T d21 = shuffle(c1, q);
                P d2 = pivot_of(shuffle(c2, q));
                R scale = max(SIZE_OF(d21), max(SIZE_OF(d1), SIZE_OF(d2)));
                R r = rcp(scale);
                P e1 = d1 * r;
                T e21 = times(d21, r);
                P e2 = d2 * r;
                P det = e1 * e2 - pivot_of(e21 * across(e21));
                P f = r * rcp(det);
                positive += REAL_OF(det) < 0 ? 1 : REAL_OF(d1 + d2) > 0 ? 2 : 0;
                l[s] = scaled(scaled(c1, e2) - e21 * c2, f);
                l[s + 1] = scaled(scaled(c2, e1) - across(e21) * c1, f);
                m[s] = c1;
                m[s + 1] = c2;
                if (LANE == p || LANE == q) {
                    left = false;
                    mark = LANE == p ? 1 : 2;
                    place = LANE == p ? s : s + 1;
                }
            } else {
                P d = pivot_of(shuffle(c1, p));
                bool good = SIZE_OF(d) > small || lambda[0] > small;
                zero += good ? 0 : 1;
                positive += good && REAL_OF(d) > 0 ? 1 : 0;
                l[s] = good ? scaled(c1, rcp(d)) : (T)0;
                m[s] = good ? c1 : (T)0;
                if (LANE == p) {
                    left = false;
                    place = s;
                }
            }
        }
        second = two;
    }
    check[0] += most * (T)0;
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int s = 0; s < N; ++s)
        if (place >= s)
            a[base + s * lda + place] = place == s || (mark == 2 && place == s + 1) ? m[s] : l[s];
    piv[GROUP * N + place] = mark > 0 ? ~LANE : LANE;
    bool finite = all(check[0] == (T)0);
    put_signs(info, finite, false, N, positive, zero);
}
#endif
