/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT by complete pivoting (Bunch & Parlett 1971): P A P^T = L D L^T in place, lower triangle, right-looking.
 * Work-item i holds row i of what is left, all of it: a column is a row, the pivot row goes through local memory,
 * and the largest entry of the next step is found while this one updates. Rows never move, `place` is where row i
 * goes when L is written. piv [out]: as in ldlt_partial. */
/* -D WG_SIZE=n: the order; -D SINGLE: float instead of double. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif
#define N WG_SIZE
#define LANE ((int)get_local_id(0))
#define GROUP ((long)get_group_id(0))

#define ALPHA ((T)0.6403882032022076) /* (1 + sqrt(17)) / 8 */

__kernel void ldlt_complete(__global T *a, int lda, long stride, __global int *piv,
                            __global int *info, T tol)
{
    __local T row1[N];
    __local T row2[N];
    long base = GROUP * stride;
    T t[N];
    T l[N + 1];
    T off = -1; /* largest |entry| of this row off the diagonal, in column at */
    int at = 0;
    T check = 0;
    T diagonal = a[base + LANE * (lda + 1)];
    T entry = 0; /* D(k,k) for the row at place k */
    T beside = 0; /* D(k,k-1) for the second row of a 2x2 pivot */
    for (int j = 0; j < N; ++j) {
        t[j] = a[base + (long)min(LANE, j) * lda + max(LANE, j)];
        check += t[j] * (T)0;
        T x = LANE == j ? (T)-1 : fabs(t[j]);
        if (x > off) {
            off = x;
            at = j;
        }
    }
    T most = work_group_reduce_max(max(off, fabs(diagonal)));
    T small = most > 0 ? tol * most : (T)0;
    ulong rest = ~(ulong)0; /* columns that are not finished */
    bool broken = false;
    bool left = true;
    bool second = false;
    int place = 0;
    int mark = 0;
    int zero = 0;
    int positive = 0;
    for (int s = 0; s < N; ++s) {
        bool act = !second;
        T size = left ? fabs(diagonal) : (T)-2;
        int p = work_group_reduce_max_index(size);
        T mu1 = shuffle(size, p);
        T width = left ? off : (T)-2;
        int r = work_group_reduce_max_index(width);
        T mu0 = shuffle(width, r);
        int q = shuffle(at, r);
        bool good = mu1 > small || mu0 > small;
        bool two = act && good && mu1 < ALPHA * mu0;
        int low = min(r, q); /* the triangles differ by rounding: the same pair from either */
        q = two ? max(r, q) : p;
        p = two ? low : p;
        if (act) {
            if (LANE == p)
                for (int j = 0; j < N; ++j)
                    row1[j] = t[j];
            if (two && LANE == q)
                for (int j = 0; j < N; ++j)
                    row2[j] = t[j];
            barrier(CLK_LOCAL_MEM_FENCE);
            T c1 = left && good ? row1[LANE] : (T)0;
            T c2 = left && two ? row2[LANE] : (T)0;
            T d1 = shuffle(diagonal, p);
            T d2 = shuffle(diagonal, q);
            T d21 = two ? row1[q] : (T)0;
            T l1 = 0;
            T l2 = 0;
            if (two) {
                T scale = max(fabs(d21), max(fabs(d1), fabs(d2)));
                T f = rcp(scale);
                T e1 = d1 * f;
                T e21 = d21 * f;
                T e2 = d2 * f;
                T det = e1 * e2 - e21 * e21;
                f = f * rcp(det);
                positive += det < 0 ? 1 : d1 + d2 > 0 ? 2 : 0;
                l1 = f * (e2 * c1 - e21 * c2);
                l2 = f * (e1 * c2 - e21 * c1);
                l[s + 1] = l2;
                rest = rest & ~((ulong)1 << q);
            } else {
                zero += good ? 0 : 1;
                positive += good && d1 > 0 ? 1 : 0;
                l1 = good ? c1 * rcp(d1) : (T)0;
            }
            l[s] = l1;
            check += l1 * (T)0 + l2 * (T)0;
            rest = rest & ~((ulong)1 << p);
            if (LANE == p || (two && LANE == q)) {
                left = false;
                place = LANE == p ? s : s + 1;
                mark = !two ? 0 : LANE == p ? 1 : 2;
                entry = !good ? (T)0 : LANE == p ? d1 : d2;
                beside = LANE == p ? (T)0 : d21;
            }
            off = -1;
            at = 0;
            diagonal -= l1 * c1 + l2 * c2;
            for (int j = 0; j < N; ++j) {
                T x = t[j] - l1 * row1[j];
                if (two)
                    x -= l2 * row2[j];
                t[j] = x;
                T y = LANE != j && ((rest >> j) & 1) != 0 ? fabs(x) : (T)-1;
                if (y > off) {
                    off = y;
                    at = j;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        second = two;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int s = 0; s < N; ++s)
        if (place >= s)
            a[base + s * lda + place] = place == s                     ? entry
                                        : mark == 2 && place == s + 1 ? beside
                                                                      : l[s];
    piv[GROUP * N + place] = mark > 0 ? ~LANE : LANE;
    bool finite = all(check == (T)0);
    if (LANE == 0) {
        bool bad = !finite || broken;
        info[4 * GROUP] = !finite ? 3 : broken ? 2 : zero > 0 ? 1 : 0;
        info[4 * GROUP + 1] = bad ? 0 : positive;
        info[4 * GROUP + 2] = bad ? 0 : N - positive - zero;
        info[4 * GROUP + 3] = bad ? 0 : zero;
    }
}
