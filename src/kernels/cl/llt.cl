/* SPDX-License-Identifier: BSD-3-Clause */
/* LLT: A = L L^T in place, lower triangle, left-looking. Work-item i holds row i of L.
 * info: outcome, positive, negative, zero pivots of each matrix, as in mpk_batch.h. */
/* -D WG_SIZE=n: the order; -D SINGLE: float instead of double. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif
#define N WG_SIZE
#define LANE ((int)get_local_id(0))
#define GROUP ((long)get_group_id(0))

__kernel void llt(__global T *a, int lda, long stride, __global int *info, T tol)
{
    long base = GROUP * stride;
    T l[N];
    T check = 0;
    bool broken = false;
    int zero = 0;
    T most = work_group_reduce_max(fabs(a[base + LANE * (lda + 1)]));
    T small = most > 0 ? tol * most : (T)0;
    for (int s = 0; s < N; ++s) {
        T c = LANE >= s ? a[base + s * lda + LANE] : (T)0;
        for (int k = 0; k < s; ++k)
            c -= l[k] * shuffle(l[k], s);
        T d = shuffle(c, s);
        check += LANE >= s ? c * (T)0 : (T)0;
        bool good = d > small;
        if (!good) {
            T rest = work_group_reduce_max(LANE >= s ? fabs(c) : (T)0);
            broken = broken || rest > small;
            zero += 1;
        }
        l[s] = good ? c * rcp(sqrt(d)) : (T)0;
        if (LANE >= s)
            a[base + s * lda + LANE] = l[s];
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
