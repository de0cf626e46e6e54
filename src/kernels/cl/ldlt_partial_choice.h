/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of Bunch-Kaufman's steps without branches (ldlt_partial.cl, ldlt_halves_step.h): what
 * becomes of row p, whose column c1 waits, and of row r, where c1 is largest, by size `best`. d1,
 * d: their diagonal entries; top: the largest size of r's column v beside d; h = 1 / x1, x1 of both
 * rows; e1 = d1 h, e2 = d h, det = 1 - e1 e2. Row q is eliminated, the other becomes p; with c the
 * column of q and z the other's, L's column is l2 + g c + w z, what is left of it for a 2x2 pivot's
 * second row y2 z + w c, and z - x21 times that of L waits next. */
uint k1 = magnitude(d1);
uint k2 = magnitude(d);
bool stay =
    second || best <= least || (k1 > 0u && (k1 + LOG >= best || k1 + top + LOG >= 2u * best));
bool two = !stay && k2 + LOG < top;
bool swap = !stay && !two;
worst = max(max(worst, best), max(k1, k2));
T pivot = swap ? d : d1;
bool good = two || best > least || (swap ? k2 : k1) > least;
T f = rcp(two ? det : pivot);
T w = two ? h * f : (T)0;
f = good && !second ? f : (T)0;
T g = two ? -e2 * w : f;
T y2 = two ? -e1 * w : (T)0;
T x21 = two || second ? (T)0 : x1;
int q = swap ? r : p;
p = swap ? p : r;
int beside = two ? p : q;
int flags = second ? SECOND : two ? FIRST + POSITIVE : !good ? ZERO : pivot > 0 ? POSITIVE : 0;
