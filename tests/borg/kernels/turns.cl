/* SPDX-License-Identifier: BSD-3-Clause */
/* What a work-item does to arrays in memory it does in turn, without barriers: to elements of its own and to ones that all
 * work-items write alike. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif
#define N WG_SIZE

__kernel void turns(__global T *a, __global int *piv, int n)
{
    __local volatile T x[N + 3];
    __local volatile int count[2];
    int w = get_local_id(), steps = 0;
    long at = get_group_id() * N + w;
    T sum = 0;
    x[w + 3] = 1;
    barrier(CLK_LOCAL_MEM_FENCE);
    x[w] = a[at];
    x[w] = x[w] * 0.5;
    count[1] = 3;
    count[0] = count[1] + 2;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma nounroll
    for (int k = 0; k < n; ++k) {
        T y = x[w];
        x[w] = y * 2 + 1;
        T z = x[w];
        T most = work_group_reduce_max(z - y) - work_group_reduce_max(y - z);
        int old = count[0];
        count[0] = old + 1;
        count[0] = count[0] * 3;
        if (most > 1.5) {
            int before = count[1];
            count[1] = before + old % 100;
            x[w] = z - 1;
            z = x[w] * work_group_reduce_max(z);
            x[w] = x[w] - 0.25;
            count[0] += count[1] - 7;
            z += work_group_reduce_max(x[w]);
        }
        sum += z + most;
        steps += count[1] - count[0] % 17;
        T all = x[w];
        barrier(CLK_LOCAL_MEM_FENCE);
        T first = x[0];
        all += x[(w + 1) % N];
        barrier(CLK_LOCAL_MEM_FENCE);
        x[0] = first * 0.5 + k;
        sum += x[0] + all;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#pragma nounroll
    for (int k = 0; k < n; ++k) {
        sum += work_group_reduce_max(x[w]) * 2 + work_group_reduce_max(-x[w]) + count[1];
        count[1] = k;
        count[1] = count[1] + 2;
        x[w] = 1 + k - x[w] * 0.25;
    }
    a[at] = sum + work_group_reduce_max(x[w]);
    piv[at] = steps + count[0] + count[1];
}
