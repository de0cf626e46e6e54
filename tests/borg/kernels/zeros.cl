/* SPDX-License-Identifier: BSD-3-Clause */
/* Zeros of either sign and a NaN: of equal ones a maximum is the lowest work-item's. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif

__kernel void zeros(__global const T *a, __global T *b)
{
    int w = get_local_id();
    long at = get_group_id() * WG_SIZE + w;
    T x = a[at], zero = x > 0 ? (T)0.0 : (T)-0.0;
    T below = fabs(x) < (T)0.5 ? (T)-1 : zero, above = fabs(x) < (T)0.5 ? (T)1 : zero;
    long to = 8 * get_group_id() * WG_SIZE + w;
    b[to] = work_group_reduce_max(zero);
    b[to + WG_SIZE] = work_group_reduce_min(zero);
    b[to + 2 * WG_SIZE] = work_group_reduce_max(below);
    b[to + 3 * WG_SIZE] = work_group_reduce_min(above);
    b[to + 4 * WG_SIZE] = work_group_reduce_max(x != x ? x : below);
    b[to + 5 * WG_SIZE] = work_group_reduce_min(w % 3 == 1 ? x : above);
    b[to + 6 * WG_SIZE] = work_group_reduce_max(fabs(zero));
    b[to + 7 * WG_SIZE] = shuffle(below, work_group_reduce_max_index(below));
}
