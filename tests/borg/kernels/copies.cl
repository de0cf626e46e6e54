/* SPDX-License-Identifier: BSD-3-Clause */
/* Elements of arrays in memory that come straight from global memory, and what must wait for them: reads by their own
 * work-item and by others, other writes of the same element, writes to where they come from, branches and loops around. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif
#define N WG_SIZE

static int triangle(int i) { return i * (i + 1) / 2; }

__kernel void copies(__global T *a, __global int *piv, __global T *b, int n)
{
    __local volatile T u[N * (N + 1) / 2];
    __local volatile T x[4 * N];
    __local volatile int row[2 * N];
    int w = get_local_id();
    long from = get_group_id() * (N * N), at = get_group_id() * N + w;
    for (int j = 0; j < N; ++j)
        if (w >= j) u[triangle(w) + j] = a[from + j * N + w];
    x[w] = b[at];
    x[w + N] = b[at];
    x[w + N] = a[from + w];
    x[w + 2 * N] = a[from + w];
    x[w + 2 * N] = 7;
    row[w] = piv[at];
    row[w + N] = piv[at];
    piv[at] = 5;
    T sum = x[w] + 2 * x[w + N] + x[w + 2 * N];
    if (n > 1) x[w + 3 * N] = b[at];
    T last = x[w + 3 * N - (n > 1 ? 0 : N)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < N; ++j)
        sum += u[triangle(max(w, j)) + min(w, j)] * (j + 1);
    sum += x[(w + 1) % N] + row[(w + 1) % N] + row[w + N];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma nounroll
    for (int j = 0; j < n; ++j) {
        if (w >= j) u[triangle(w) + j] = a[from + j * N + w];
        x[w] = a[from + j * N + w];
        x[w + (j & 1) * N] = b[at];
    }
    sum += x[w];
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma nounroll
    for (int j = 0; j < n; ++j) {
        sum = sum * 0.5 + u[triangle(max(w, j)) + min(w, j)] + x[j + N];
        barrier(CLK_LOCAL_MEM_FENCE);
        x[w + N] = a[from + j * N + w];
        x[w] = b[at];
        barrier(CLK_LOCAL_MEM_FENCE);
        if (work_group_reduce_max(x[w]) > 0.5) {
            x[w + 2 * N] = a[from + j * N + w];
            sum += work_group_reduce_max(x[w + 2 * N]);
            x[w + 2 * N] = b[at];
            sum *= 2;
            sum += work_group_reduce_max(sum) + work_group_reduce_sum(sum);
            sum *= 0.125;
        } else {
            x[w + 2 * N] = b[at];
        }
        sum += x[w + 2 * N];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    b[at] = sum + last + x[N - 1 - w];
}
