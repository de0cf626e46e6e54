/* SPDX-License-Identifier: BSD-3-Clause */
/* Part of ldlt_halves.h: a step of those with SLOTS rows in a work-item, s; L: their columns, KEPT
 * of them, for each of these rows; PLACES: where the rows go. A column's entry, a row's diagonal
 * entry: from records where a work-item has two rows, else by exchange, which takes less. */
int r = (int)(best & (uint)LAST);
T v[SLOTS];
T more[SLOTS] = {0}; /* two sums: half the latency */
for (int e = 0; e < SLOTS; ++e)
#if SLOTS > 1
    v[e] = t[min(start_of(N, r) + ROW, start_of(N, min(ROW, N - 1)) + r)];
#else
    v[e] = t[NEXT * r + ROW];
#endif
for (int k = 0; k < s; ++k) {
    if (k == s - 1) barrier(CLK_LOCAL_MEM_FENCE); /* what the step before wrote */
    T y = rec[RECORD * r + 2 + k];
    for (int e = 0; e < SLOTS; ++e)
        if (s > 4 && k % 2 > 0)
            more[e] -= L[e * KEPT + k] * y;
        else
            v[e] -= L[e * KEPT + k] * y;
}
#if SLOTS > 1
if (s == 0) barrier(CLK_LOCAL_MEM_FENCE);
T x1 = rec[RECORD * r];
T d = rec[RECORD * r + 1];
T d1 = rec[RECORD * p + 1];
#else
T x1 = shuffle(c1[0], r);
T d = shuffle(dia[0], r);
T d1 = shuffle(dia[0], p);
#endif
T h = rcp(x1);
T e1 = d1 * h; /* scaled, lest the determinant overflow: d1 d / x1^2 - 1 */
T e2 = d * h;
T det = (T)1 - e1 * e2;
uint wide = 0;
for (int e = 0; e < SLOTS; ++e) {
    if (s > 4) v[e] += more[e];
    v[e] -= l2[e] * x1;
    wide = max(wide, PLACES[e] < 0 && ROW != r ? named_as(magnitude(v[e]), ROW) : 0u);
}
uint top = work_group_reduce_max(wide);
#include "ldlt_partial_choice.h"
wide = 0;
#if SLOTS > 1
barrier(CLK_LOCAL_MEM_FENCE);
#endif
for (int e = 0; e < SLOTS; ++e) {
    T c = swap ? v[e] : c1[e];
    T z = swap ? c1[e] : v[e];
    T x = l2[e] + g * c + w * z;
    l2[e] = y2 * z + w * c;
    c1[e] = z - x * x21;
    dia[e] -= x * c;
    L[e * KEPT + s] = ROW == q || ROW == beside ? c : x;
#if SLOTS > 1
    rec[RECORD * ROW] = c1[e];
    rec[RECORD * ROW + 1] = dia[e];
#endif
    rec[RECORD * ROW + 2 + s] = c;
    if (ROW == q) PLACES[e] = s + flags;
    wide = max(wide, PLACES[e] < 0 && ROW != p ? named_as(magnitude(c1[e]), ROW) : 0u);
}
best = work_group_reduce_max(wide);
second = two;
