/* SPDX-License-Identifier: BSD-3-Clause */
/* LDU without pivoting: A = L D U in place, column and row of each step by dot products (Crout). Work-item i
 * holds row i of L and column i of D U. */
/* -D WG_SIZE=n: the order; -D SINGLE: float instead of double. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif
#define N WG_SIZE
#define LANE ((int)get_local_id(0))
#define GROUP ((long)get_group_id(0))

__kernel void ldu(__global T *a, int lda, long stride, __global int *info, T tol)
{
    long base = GROUP * stride;
    T l[N];
    T u[N];
    T check = 0;
    bool broken = false;
    int zero = 0;
    T most = work_group_reduce_max(fabs(a[base + LANE * (lda + 1)]));
    T small = most > 0 ? tol * most : (T)0;
    for (int s = 0; s < N; ++s) {
        T c = LANE >= s ? a[base + s * lda + LANE] : (T)0;
        T r = LANE > s ? a[base + LANE * lda + s] : (T)0;
        for (int k = 0; k < s; ++k) {
            c -= l[k] * shuffle(u[k], s);
            r -= shuffle(l[k], s) * u[k];
        }
        T d = shuffle(c, s);
        check += LANE >= s ? c * (T)0 : (T)0;
        check += LANE > s ? r * (T)0 : (T)0;
        bool good = fabs(d) > small;
        if (!good) {
            T rest = work_group_reduce_max(LANE > s ? max(fabs(c), fabs(r)) : LANE == s ? fabs(c) : (T)0);
            broken = broken || rest > small;
            zero += 1;
        }
        T inverse = good ? rcp(d) : (T)0;
        l[s] = c * inverse;
        u[s] = good ? r : (T)0;
        if (LANE >= s)
            a[base + s * lda + LANE] = LANE == s ? (good ? d : (T)0) : l[s];
        if (LANE > s)
            a[base + LANE * lda + s] = r * inverse;
    }
    bool finite = all(check == (T)0);
    if (LANE == 0) {
        bool bad = !finite || broken;
        info[4 * GROUP] = !finite ? 3 : broken ? 2 : zero > 0 ? 1 : 0;
        info[4 * GROUP + 1] = bad ? 0 : N - zero;
        info[4 * GROUP + 2] = 0;
        info[4 * GROUP + 3] = bad ? 0 : zero;
    }
}
