/* SPDX-License-Identifier: BSD-3-Clause */
/* Shuffles by a distance, up, down and across, under conditions that work-items decide, in loops that they leave one by
 * one, and past the ends of the group. */
__kernel void partners(__global double *a, int lda, long stride, __global int *piv) {
    const int i = get_local_id(), g = get_group_id() * WG_SIZE + i;
    double x = a[get_group_id() * stride + i], y = x;
    for (int s = 1; s < ntids; s *= 2)
        if (tid + s < ntids) x += shuffle_down(x, s);
    if (tid > 1) {
        if (piv[g] % 2) y = shuffle_up(y, 2) - x;
        else y += shuffle_xor(y, 1) * shuffle(x, piv[g]);
    }
    int k = i;
    while (k < 9) {
        y = y * 0.5 + shuffle_down(x, (uint)k);
        if (shuffle_xor(k, 3) == 5) break;
        k += 1 + shuffle_up(i, 1) % 2;
    }
    piv[g] = y > 1 || shuffle_down(y < 0, 1) ? k : shuffle_xor(piv[g], 7) + shuffle_down(lda, 2);
    a[get_group_id() * stride + i] = y + (i % 3 ? shuffle_down(x, 100) : shuffle_up(y, -1));
}
