/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays in memory: a symmetric matrix by its lower triangle, eliminated column by column; the
 * greatest entry's row and column come up each time, by indices that are known at run time only.
 * What one work-item writes another one reads behind a barrier. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif
#define N WG_SIZE

static int triangle(int i) { return i * (i + 1) / 2; }

__kernel void locals(__global T *a, __global int *piv, __global T *b, int n)
{
    __local volatile T u[N * (N + 1) / 2];
    __local volatile int row[N];
    __local volatile uint place[N + 1];
    __local volatile ulong many[2 * N];
    __local volatile long last[1];
    __local volatile float never[3];
    int w = get_local_id();
    long from = get_group_id() * (N * N);
    for (int j = 0; j < N; ++j)
        if (w >= j) u[triangle(w) + j] = a[from + j * N + w];
    row[w] = w;
    many[2 * w] = (ulong)w << 40;
    many[2 * w + 1] = 0;
    last[0] = -1;
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma nounroll
    for (int k = 0; k < n; ++k) {
        int r = work_group_reduce_max_index(w >= k ? fabs(u[triangle(w) + k]) : -1);
        if (r < k) r = k;
        int e = w < k ? triangle(k) + w : triangle(w) + k;
        int f = w < r ? triangle(r) + w : triangle(w) + r;
        bool moves = r != k && w != k && w != r;
        T x = 0, y = 0;
        if (moves) {
            x = u[e];
            y = u[f];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (moves) {
            u[e] = y;
            u[f] = x;
        }
        if (w == 0 && r != k) {
            T d = u[triangle(k) + k];
            u[triangle(k) + k] = u[triangle(r) + r];
            u[triangle(r) + r] = d;
            int o = row[k];
            row[k] = row[r];
            row[r] = o;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        T pivot = u[triangle(k) + k];
        if (pivot != 0 && pivot == pivot) {
            T l = w > k ? u[triangle(w) + k] / pivot : 0;
#pragma nounroll
            for (int j = k + 1; j < n; ++j) {
                T c = u[triangle(j) + k];
                if (w >= j) u[triangle(w) + j] -= l * c;
            }
            last[0] = k;
            many[(2 * r + w) % (2 * n)] += k + 1;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (w > k && pivot != 0 && pivot == pivot) u[triangle(w) + k] /= pivot;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    place[row[w]] = w;
    place[N] = 7;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int j = 0; j < N; ++j)
        if (w >= j) a[from + j * N + w] = u[triangle(w) + j];
    piv[get_group_id() * N + w] = row[place[w]] + (int)place[N] * (int)last[0];
    b[get_group_id() * N + w] = many[w] + (T)many[w + n];
    if (n < 0) {
        never[w % 3] = w;
        b[0] = never[n & 1];
    }
#if WG_VECTOR_BYTES
    /* more than goes on the stack */
    __local volatile double large[4096];
    large[4095 - 16 * w] = b[get_group_id() * N + w];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[get_group_id() * N + w] = large[4095 - 16 * (n - 1 - w)];
#endif
}
