/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT by complete pivoting (Bunch & Parlett 1971): P A P^T = L D L^T in place, lower triangle, right-looking.
 * Work-item i holds row i of what is left, all of it: a column is a row, the pivot row is shuffled to all,
 * and the largest entry of the next step is found while this one updates. Rows never move, `place` is where row i
 * goes when L is written. piv [out]: as in ldlt_partial. */
#include "real.h"

/* small orders on a vector machine */
#if LANES && WG_PACK >= LANES && N <= 16
#define KERNEL ldlt_complete
#define SEARCH COMPLETE
#include "ldlt_lanes.h"
#else
#if WG_SIZE <= 32
#define BITS uint
#else
#define BITS ulong
#endif

#define ALPHA ((T)0.6403882032022076) /* (1 + sqrt(17)) / 8 */

/* Entries are compared, on a GPU by keys of 32 bits: integers are faster, and the row stands in the last six bits of
 * what is reduced, so that an entry chosen is the largest to 2^-14. */
#ifdef BORG_SIMT
#define SIZE uint
static uint size_of(T x) { return magnitude(x); }
static uint named(uint x) { return (x & ~63u) | (uint)(63 - LANE); }
#else
#define SIZE T
static T size_of(T x) { return fabs(x); }
#endif

__kernel void ldlt_complete(__global T *a, int lda, long stride, __global int *piv,
                            __global int *info, T tol)
{
    T row1[N];
    T row2[N];
    long base = GROUP * stride;
    T t[N];
    T l[N + 1];
    T far[4] = {0}; /* largest entries of this row off the diagonal, columns 4i + k */
    SIZE most_of[4];
    T check = 0;
    T diagonal = a[base + LANE * (lda + 1)];
    T entry = 0; /* D(k,k) for the row at place k */
    T beside = 0; /* D(k,k-1) for the second row of a 2x2 pivot */
    for (int j = 0; j < N; ++j)
        t[j] = a[base + (long)min(LANE, j) * lda + max(LANE, j)];
    for (int j = 0; j < N; ++j) {
        check += t[j] * (T)0;
        if (LANE != j && fabs(t[j]) > far[j % 4])
            far[j % 4] = fabs(t[j]);
    }
    T widest = max(max(far[0], far[1]), max(far[2], far[3]));
    SIZE off = size_of(widest);
    T most = work_group_reduce_max(max(widest, fabs(diagonal)));
    T small = most > 0 ? tol * most : (T)0;
    BITS rest = ~(BITS)0; /* columns that are not finished */
    bool broken = false;
    bool left = true;
    bool second = false;
    int place = 0;
    int mark = 0;
    int zero = 0;
    int positive = 0;
    for (int s = 0; s < N; ++s) {
        bool act = !second;
#ifdef BORG_SIMT
        uint key1 = work_group_reduce_max(left ? named(size_of(diagonal)) : 0u);
        uint key0 = work_group_reduce_max(left ? named(off) : 0u);
        int p = 63 - (int)(key1 & 63u);
        int r = 63 - (int)(key0 & 63u);
        T mu1 = fabs(shuffle(diagonal, p));
        bool good = mu1 > small || (key0 & ~63u) > size_of(small);
        bool two = act && good && size_of(mu1 * ((T)1 / ALPHA)) < (key0 & ~63u);
#else
        T size = left ? fabs(diagonal) : (T)-2;
        int p = work_group_reduce_max_index(size);
        T mu1 = shuffle(size, p);
        T width = left ? off : (T)-2;
        int r = work_group_reduce_max_index(width);
        T mu0 = shuffle(width, r);
        bool good = mu1 > small || mu0 > small;
        bool two = act && good && mu1 < ALPHA * mu0;
#endif
        int q = p;
        if (two) { /* its column: where row r, a column as well, is largest */
            for (int j = 0; j < N; ++j)
                row1[j] = shuffle(t[j], r);
            T beyond = row1[LANE];
#ifdef BORG_SIMT
            int other = 63 - (int)(work_group_reduce_max(left && LANE != r ? named(size_of(beyond)) : 0u) & 63u);
#else
            int other = work_group_reduce_max_index(left && LANE != r ? fabs(beyond) : (T)-2);
#endif
            p = min(r, other);
            q = max(r, other);
        }
        if (act || N <= 16) { /* several in a warp: nothing is done rather than nowhere gone */
            for (int j = 0; j < N; ++j)
                row1[j] = shuffle(t[j], p);
            T c1 = left && good && act ? row1[LANE] : (T)0;
            T d1 = shuffle(diagonal, p);
            T d2 = 0;
            T d21 = 0;
            T l1 = 0;
            if (two) {
                for (int j = 0; j < N; ++j)
                    row2[j] = shuffle(t[j], q);
                T c2 = left ? row2[LANE] : (T)0;
                d2 = shuffle(diagonal, q);
                d21 = shuffle(c1, q);
                T scale = max(fabs(d21), max(fabs(d1), fabs(d2)));
                T f = rcp(scale);
                T e1 = d1 * f;
                T e21 = d21 * f;
                T e2 = d2 * f;
                T det = e1 * e2 - e21 * e21;
                f = f * rcp(det);
                positive += det < 0 ? 1 : d1 + d2 > 0 ? 2 : 0;
                l1 = f * (e2 * c1 - e21 * c2);
                T l2 = f * (e1 * c2 - e21 * c1);
                l[s + 1] = l2;
                check += l2 * (T)0;
                rest = rest & ~((BITS)1 << q);
                diagonal -= l2 * c2;
                for (int j = 0; j < N; ++j)
                    t[j] -= l2 * row2[j];
            } else {
                zero += act && !good ? 1 : 0;
                positive += act && good && d1 > 0 ? 1 : 0;
                l1 = act && good ? c1 * rcp(d1) : (T)0;
            }
            l[s] = act ? l1 : l[s];
            check += l1 * (T)0;
            rest = rest & ~((BITS)(act ? 1 : 0) << p);
            if (act && (LANE == p || (two && LANE == q))) {
                left = false;
                place = LANE == p ? s : s + 1;
                mark = !two ? 0 : LANE == p ? 1 : 2;
                entry = !good ? (T)0 : LANE == p ? d1 : d2;
                beside = LANE == p ? (T)0 : d21;
            }
            diagonal -= l1 * c1;
            BITS others = rest & ~((BITS)1 << LANE);
            for (int k = 0; k < 4; ++k)
                most_of[k] = 0;
            for (int j = 0; j < N; ++j)
                t[j] -= l1 * row1[j];
            for (int j = 0; j < N; ++j)
                if ((others & ((BITS)1 << j)) != 0 && size_of(t[j]) > most_of[j % 4])
                    most_of[j % 4] = size_of(t[j]);
            off = max(max(most_of[0], most_of[1]), max(most_of[2], most_of[3]));
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
#endif
