/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LDLT_CHOICE_H
#define LDLT_CHOICE_H
#include "ldlt_pivots.h"

/* Bunch-Kaufman's decisions without branches (ldlt_partial.cl, ldlt_halves.h): what becomes of row
 * p, whose column c1 waits, and of row r, where c1 is largest. */

/* The 2x2 pivot of both rows, x1 being their common entry and d1, d their diagonal entries: e = {1
 * / x1, d1 / x1, d / x1, 1 - e1 e2}, scaled, since the determinant could overflow. */
static void pair_of(T x1, T d1, T d, T e[4]) {
    e[0] = rcp(x1);
    e[1] = d1 * e[0];
    e[2] = d * e[0];
    e[3] = (T)1 - e[1] * e[2];
}

/* best: the largest size in c1; top: in r's column v, beside d; second: p is the second row of a
 * 2x2 pivot. Row rows[0] is eliminated and rows[1] becomes p; with c the column of the one and z
 * the other's, L's column is l2 + f[0] c + f[1] z, what is left of it for a 2x2 pivot's second row
 * f[2] z
 * + f[1] c, and z - f[3] times that of L waits next. how: the pivot is a 2x2 one; r is eliminated.
 * Returns the flags of rows[0]'s place. */
static int choose(bool second, uint best, uint top, uint least, T x1, T d1, T d, const T e[4],
                  int p, int r, uint worst[1], bool how[2], T f[4], int rows[2]) {
    uint k1 = magnitude(d1);
    uint k2 = magnitude(d);
    bool stay =
        second || best <= least || (k1 > 0u && (k1 + LOG >= best || k1 + top + LOG >= 2u * best));
    bool two = !stay && k2 + LOG < top;
    bool swap = !stay && !two;
    how[0] = two;
    how[1] = swap;
    worst[0] = max(max(worst[0], best), max(k1, k2));
    T pivot = swap ? d : d1;
    bool good = two || best > least || (swap ? k2 : k1) > least;
    T inverse = rcp(two ? e[3] : pivot);
    T w = two ? e[0] * inverse : (T)0;
    T g = good && !second ? inverse : (T)0;
    f[0] = two ? -e[2] * w : g;
    f[1] = w;
    f[2] = two ? -e[1] * w : (T)0;
    f[3] = two || second ? (T)0 : x1;
    rows[0] = swap ? r : p;
    rows[1] = swap ? p : r;
    return second ? SECOND : two ? FIRST + POSITIVE : !good ? ZERO : pivot > 0 ? POSITIVE : 0;
}
#endif
