/* SPDX-License-Identifier: BSD-3-Clause */
/* Conditions of other work-items, named by a constant, by all alike and by each for itself; the first that holds one, the
 * greatest of integers of either kind, sums, choices that a group makes for itself. */
__kernel void votes(__global double *a, int lda, long stride, __global int *piv) {
    const int i = get_local_id(), g = get_group_id() * WG_SIZE + i;
    const double x = a[get_group_id() * stride + i];
    const bool p = x > 0.25;
    const int best = work_group_reduce_max_index(fabs(x));
    double y = 0;
    for (int k = 0; k < WG_SIZE; ++k)
        if (shuffle(p, (best + k) % WG_SIZE)) y += 1 << k;
    if (shuffle(p, (i * 3 + 1) % WG_SIZE)) y += 2;
    if (shuffle(p, WG_SIZE - 1)) y += 4;
    if (any(p && i > 0)) y += 8;
    if (all(p || i > 1)) y += shuffle(x, (i + 1) % WG_SIZE);
    const int first = work_group_reduce_max_index(p ? WG_SIZE - i : 0);
    const unsigned most = work_group_reduce_max((unsigned)piv[g]);
    const int least = work_group_reduce_min(piv[g]);
    y += first * 16 + work_group_reduce_sum(x) * work_group_reduce_max(x);
    while (any(y > 40)) {
        const double z = shuffle(x, first);
        y = y > 40 ? y * 0.75 - z : y;
    }
    if (work_group_reduce_sum(x) > 0.5) {
        y += shuffle(y, best) + work_group_reduce_min(y);
        y *= y; y += 1; y *= x; y -= 2; y *= y; y += x; y *= x; y -= x; y *= y; y += 3;
    }
    piv[g] = (int)(most >> 1) - least + first;
    a[get_group_id() * stride + i] = y;
}
