/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that take arrays of every kind, one of them by way of another: the columns of a matrix
 * orthogonal to the one before, by dot products that a function makes, with what it found passed on
 * in arrays of one element. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif
#define N WG_SIZE

/* Column j of the group's matrix: a work-item's entry. */
static T fetch(__global const T *a, int j)
{
    return a[get_group_id() * (N * N) + j * N + get_local_id()];
}

static void keep(__local volatile T t[2 * N], int at, T x)
{
    barrier(CLK_LOCAL_MEM_FENCE);
    t[at * N + get_local_id()] = x;
    barrier(CLK_LOCAL_MEM_FENCE);
}

static void turn(__local volatile T t[], T list[2], int first, int by)
{
    for (int e = 0; e < 2; ++e)
        list[e] = t[e * N + (get_local_id() + by) % N];
    if (first > 0) {
        T x = list[0];
        list[0] = list[1];
        list[1] = x;
    }
}

/* x without its part along y; found[0]: how much there was, found[1]: how often there was some. */
static T without(T x, T y, const T weight[], T found[2])
{
    T dot = work_group_reduce_sum(x * y * weight[0]);
    T size = work_group_reduce_sum(y * y * weight[0]);
    found[0] = size > 0 ? dot / size : (T)0;
    if (get_local_id() % 2 == 0)
        found[1] += 1;
    return x - found[0] * y;
}

static void each(T u[N], T found[], const T weight[1], __local T d[], int from)
{
    for (int j = from + 1; j < N; ++j) {
        u[j] = without(u[j], u[from], weight, found);
        d[j] = found[0] + d[from];
    }
}

__kernel void arrays(__global T *a, __global int *count, __global T *out, int n)
{
    __local volatile T t[2 * N];
    __local T d[N];
    T u[N];
    T found[3] = {0, 0, 7};
    T side[2];
    const T weight[1] = {1};
    for (int j = 0; j < N; ++j)
        u[j] = fetch(a, j);
    for (int j = 0; j < N - 1; ++j)
        each(u, found, weight, d, j);
    keep(t, 0, u[0]);
    keep(t, 1, found[1] + found[2]);
    T sum = 0;
#pragma nounroll
    for (int k = 0; k < n; ++k) {
        turn(t, side, n - k, k);
        turn(t, found, k, 1);
        sum += side[0] - side[1] * found[0];
        if (get_local_id() > k)
            turn(t, found, 0, k);
        side[1] = found[k % 2];
        keep(t, k % 2, sum);
    }
    for (int j = 0; j < N; ++j)
        a[get_group_id() * (N * N) + j * N + get_local_id()] = u[j];
    out[get_group_id() * N + get_local_id()] = sum + d[get_local_id()] + side[1];
    count[get_group_id() * N + get_local_id()] = (int)found[1];
}
