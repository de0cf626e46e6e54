/* SPDX-License-Identifier: BSD-3-Clause */
/* short beside double, work-items that have nothing to do with each other: flat. */
__kernel void shorts(__global double *d, __global short *s, __global const half *h) {
    long i = get_group_id() * WG_SIZE + get_local_id();
    short x = s[i];
    x += 3;
    s[i] = x * 5;
    d[i] = d[i] * x + h[i];
}
