/* SPDX-License-Identifier: BSD-3-Clause */
/* Complex values: arrays of them, products and quotients, under a mask, in a loop that work-items of different groups leave at
 * different times, exchanged, summed and compared; in an array in memory. */
#define N WG_SIZE
#ifdef SINGLE
#define R float
#else
#define R double
#endif
#define T R complex
static T dot(const T x[N], const T y[N]) { T s = 0; for (int k = 0; k < N; ++k) s += conj(x[k]) * y[k]; return s; }
__kernel void mix(__global T *a, __global const T *b, __global R *r, R alpha, int m) {
    long at = get_group_id() * N * N + get_local_id();
    T x[N], y[N] = {0}, z;
    const T f = CMPLX(alpha, -1.5);
    for (int k = 0; k < N; ++k) { x[k] = a[at + k * N]; y[k] = b[at + k * N]; }
    z = dot(x, y) * f;
    for (int k = 0; k < N; ++k) {
        if (get_local_id() > k) x[k] /= y[k];
        x[k] -= shuffle(y[k], k) * x[k] + 2;
    }
    int turns = 0;
    while (turns < m && cabs1(z) > 1) { z = z / CMPLX(2, 1); ++turns; }
    T s = work_group_reduce_sum(z);
    x[0] = get_local_id() == 1 ? s : -x[0];
    bool same = x[0] == s;
    __local volatile T near[N];
    near[get_local_id()] = x[N - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    s += near[(get_local_id() + turns) % N];
    r[get_group_id() * N + get_local_id()] = cabs(x[N - 1]) + creal(s) * cimag(z) + turns + (same ? 1 : 0) + (z ? 2 : 0);
    for (int k = 0; k < N; ++k) a[at + k * N] = x[k];
}
