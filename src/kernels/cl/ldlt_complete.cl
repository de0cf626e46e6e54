/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT by complete pivoting (Bunch & Parlett 1971): P A P^T = L D L^T in place, lower triangle, right-looking.
 * Work-item i holds row i of what is left, all of it: a column is a row, the pivot row is shuffled to all,
 * and the largest entry of the next step is found while this one updates. Rows never move, `place` is where row i
 * goes when L is written. piv [out]: as in ldlt_partial. */
#define HAS_ORDER 32
#ifdef ORDER
#define HAS_STORED
#endif
#if defined(ORDER) || defined(BORG_SIMT)
#define HAS_ANY_ORDER
#endif
#include "ldlt_lanes.h"

#ifdef ORDER /* a warp's tiles */
#include "ldlt_tiles_complete.h"

__kernel void ldlt_complete(__global S *a, int lda, long stride, __global int *piv, __global int *info,
                  T tol ORDER_PARAMETER)
{
    __local volatile T l[COMPLETE_COLUMNS];
    __local volatile T c[COMPLETE_PLACES];
    ldlt_tiles(ROWS, l, c, a, lda, stride, piv, info, tol);
}
#elif (LANES && WG_PACK >= LANES && N <= 16) || defined(IN_LANES) /* small orders, a matrix in each lane */
__kernel void ldlt_complete(__global T *a, int lda, long stride, __global int *piv,
                            __global int *info, R tol)
{
    ldlt_lanes(COMPLETE, a, lda, stride, piv, info, tol);
}
#else
#if WG_SIZE <= 32
#define BITS uint
#else
#define BITS ulong
#endif

#if defined(BORG_SIMT) && !defined(COMPLEX)
/* On a GPU: each step eliminates one row, p; the second row of a 2x2 pivot, q, stays as it is in the first one's step and is
 * eliminated by the next. Sizes are compared by `magnitude`, see ldlt_partial.cl; the largest entry of a row is sought in all
 * columns, the diagonal too (where that is the largest, it is the pivot), finished ones as well, which hold what rounding left
 * there: where a row has nothing above that (`noise`) they become zero. L's columns take up D. Beyond small orders the loop
 * stays rolled (its code must fit the instruction cache) and L goes to A's place, a column's entries side by side in the order
 * of their rows, which is changed when all is done. */
/* One matrix in each warp: a jump finds an element, and both rows of a 2x2 pivot are eliminated in
 * one turn. */
#define WARP (N > 16 && N <= 32)

__kernel void ldlt_complete(__global T *a, int lda, long stride, __global int *piv,
                            __global int *info, T tol ORDER_PARAMETER)
{
    long base = GROUP * stride;
    T t[N];
    __local T b[FOLDS * N]; /* column j in row j, from LANE = j on, and before it column N - j */
    for (int j = 0; j < FOLDS; ++j)
        b[j * N + LANE] = folded(ROWS, a, lda, base, j);
    for (int j = 0; j < N; ++j) {
        int c = min(LANE, j);
        int i = max(LANE, j);
        t[j] = b[c <= N / 2 ? c * N + i : (N - c) * N + i - c];
    }
    T dia = b[(LANE <= N / 2 ? LANE : N - LANE) * N + (LANE <= N / 2 ? LANE : 0)] + (T)0;
    T most = 0;
    for (int j = 0; j < FOLDS; ++j)
        most = max(most, fabs(b[j * N + LANE]));
    uint wide = 0;
    for (int j = 0; j < N; ++j)
        wide = max(wide, magnitude(t[j]));
    most = work_group_reduce_max(most);
    T small = tol * most;
    uint least = max(magnitude(small), LOG) | (uint)LAST;
    uint noise = magnitude(most * (EPS * (T)(8 * N)));
    uint worst = wide;
    BITS rest = ~(BITS)0;
#ifdef ANY_ORDER /* rows behind the last one are zero, and finished */
    rest = rest >> (32 - n);
#endif
    int place = IS_ROW ? -1 : PLACE;
    int at = LANE; /* of this row's entry of L: its number among those that are left */
    int order = 0; /* the row that was eliminated in step LANE */
    bool second = false; /* this step eliminates the second row, `next`, of a 2x2 pivot */
    int next = 0;
    T l2 = 0;
#if N > 8
#pragma nounroll
#else
    T l[N];
#endif
    for (int s = 0; s < ROWS;) {
        uint key1 = work_group_reduce_max(place < 0 ? key(dia) : 0u);
        uint key0 = work_group_reduce_max(place < 0 ? named(wide) : 0u);
        bool good = key0 > least;
        bool two = good && !second && s < ROWS - 1 && key1 + LOG < key0;
        int p = second ? next : (int)((two ? key0 : key1) & (uint)LAST);
#if WARP
        T c = t[p];
        T d1 = shuffle(c, p);
        if (two) {
            uint beyond = work_group_reduce_max(place < 0 && LANE != p ? key(c) : 0u);
            int q = (int)(beyond & (uint)LAST);
            T z = t[q];
            T d2 = shuffle(z, q);
            T h = rcp(shuffle(c, q));
            T e1 = d1 * h; /* scaled, lest the determinant overflow: d1 d2 / x1^2 - 1 */
            T e2 = d2 * h;
            T w = h * rcp((T)1 - e1 * e2);
            T x = w * z - e2 * w * c;
            T y = w * c - e1 * w * z;
            if (place < 0)
                a[base + at] = LANE == p || LANE == q ? c : x;
            at += LANE > p ? lda : lda + 1;
            if (place < 0 && LANE != p)
                a[base + at] = LANE == q ? z : y;
            at += LANE > q ? lda : lda + 1;
            order = LANE == s ? p : LANE == s + 1 ? q : order;
            place = LANE == p ? s + (FIRST + POSITIVE) : LANE == q ? s + 1 + SECOND : place;
            rest = rest & ~((BITS)1 << p) & ~((BITS)1 << q);
            dia -= x * c + y * z;
            for (int j = 0; j < N; ++j)
                t[j] = t[j] - x * shuffle(c, j) - y * shuffle(z, j);
            s += 2;
        } else {
            T x = (good ? rcp(d1) : (T)0) * c;
            if (place < 0)
                a[base + at] = LANE == p ? c : x;
            at += LANE > p ? lda : lda + 1;
            order = LANE == s ? p : order;
            place = LANE == p ? s + (!good ? ZERO : d1 > 0 ? POSITIVE : 0) : place;
            rest = rest & ~((BITS)1 << p);
            dia -= x * c;
            for (int j = 0; j < N; ++j)
                t[j] -= x * shuffle(c, j);
            s += 1;
        }
#else
        T row[N];
        for (int j = 0; j < N; ++j)
            row[j] = shuffle(t[j], p);
        T c = row[LANE];
        T d1 = shuffle(dia, p);
        T v = l2 + (good && !second ? rcp(d1) : (T)0) * c;
        T x = LANE == p ? c : v;
        int flags = second ? SECOND : two ? FIRST + POSITIVE : !good ? ZERO : d1 > 0 ? POSITIVE : 0;
        l2 = 0;
        if (two) {
            uint beyond = work_group_reduce_max(place < 0 && LANE != p ? key(c) : 0u);
            int q = (int)(beyond & (uint)LAST);
            T row2[N];
            for (int j = 0; j < N; ++j)
                row2[j] = shuffle(t[j], q);
            T z = row2[LANE];
            T d2 = shuffle(dia, q);
            T h = rcp(shuffle(c, q));
            T e1 = d1 * h; /* scaled, lest the determinant overflow: d1 d2 / x1^2 - 1 */
            T e2 = d2 * h;
            T f = rcp((T)1 - e1 * e2);
            T w = h * f;
            v = w * z - e2 * w * c;
            l2 = w * c - e1 * w * z;
            x = LANE == p || LANE == q ? c : v;
            v = LANE == q ? (T)0 : v;
            next = q;
        }
#if N > 8
        if (place < 0)
            a[base + at] = x;
        at += LANE > p ? lda : lda + 1;
        order = LANE == s ? p : order;
#else
        l[s] = x;
#endif
        place = LANE == p ? s + flags : place;
        rest = rest & ~((BITS)1 << p);
        dia -= v * c;
        for (int j = 0; j < N; ++j)
            t[j] -= v * row[j];
        second = two;
        s += 1;
#endif
        wide = 0;
        for (int j = 0; j < N; ++j)
            wide = max(wide, magnitude(t[j]));
        worst = place < 0 ? max(worst, wide) : worst;
        if (any(place < 0 && wide <= noise)) { /* rare */
            for (int j = 0; j < N; ++j)
                t[j] = (rest & ((BITS)1 << j)) != 0 ? t[j] : (T)0;
            wide = 0;
            for (int j = 0; j < N; ++j)
                wide = max(wide, magnitude(t[j]));
        }
    }
    int to = place & PLACE;
    T check = small * (T)0;
    barrier(CLK_GLOBAL_MEM_FENCE);
#if N > 8
    T l[N];
    at = LANE;
    for (int s = 0; s < N; ++s) {
        if (to >= s && IS_ROW)
            l[s] = a[base + at];
        at += LANE > shuffle(order, s) ? lda : lda + 1;
    }
#endif
    if ((place & ZERO) != 0)
        for (int s = 0; s < N; ++s)
            if (to == s)
                l[s] = 0;
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int s = 0; s < N; ++s)
        if (to >= s && IS_ROW)
            a[base + s * lda + to] = l[s];
    if (IS_ROW)
        piv[GROUP * ROWS + to] = (place & (FIRST | SECOND)) != 0 ? ~LANE : LANE;
    bool finite = all(check == (T)0 && worst < ENDLESS);
    int counts = work_group_reduce_sum(place & (POSITIVE | ZERO));
    int zero = counts >> 16;
    int positive = (counts & (ZERO - 1)) >> 8;
    put_info(info, finite, false, positive, ROWS - positive - zero, zero);
}

#else
__kernel void ldlt_complete(__global T *a, int lda, long stride, __global int *piv,
                            __global int *info, R tol)
{
    T row1[N];
    T row2[N];
    long base = GROUP * stride;
    T t[N];
    T l[N + 1];
    R far[4] = {0}; /* largest entries of this row off the diagonal, columns 4i + k */
    R most_of[4];
    T check = 0;
    P diagonal = pivot_of(a[base + LANE * (lda + 1)]);
    T entry = 0; /* D(k,k) for the row at place k */
    T beside = 0; /* D(k,k-1) for the second row of a 2x2 pivot */
    for (int j = 0; j < N; ++j)
        t[j] = a[base + (long)min(LANE, j) * lda + max(LANE, j)];
#ifdef HERMITIAN
    for (int j = 0; j < N; ++j)
        t[j] = LANE < j ? across(t[j]) : entry_of(t[j], j);
#endif
    for (int j = 0; j < N; ++j) {
        check += t[j] * (T)0;
        if (LANE != j && SIZE_OF(t[j]) > far[j % 4])
            far[j % 4] = SIZE_OF(t[j]);
    }
    R widest = max(max(far[0], far[1]), max(far[2], far[3]));
    R off = widest;
    R most = work_group_reduce_max(max(widest, SIZE_OF(diagonal)));
    R small = most > 0 ? tol * most : (R)0;
    BITS rest = ~(BITS)0; /* columns that are not finished */
    bool left = true;
    bool second = false;
    int place = 0;
    int mark = 0;
    int zero = 0;
    int positive = 0;
    for (int s = 0; s < N; ++s) {
        bool act = !second;
        R size = left ? max((R)0, SIZE_OF(diagonal)) : (R)-2; /* NaN: a row that is left, too */
        int p = work_group_reduce_max_index(size);
        R mu1 = shuffle(size, p);
        R width = left ? max((R)0, off) : (R)-2;
        int r = work_group_reduce_max_index(width);
        R mu0 = shuffle(width, r);
        bool good = mu1 > small || mu0 > small;
        bool two = act && good && mu1 < ALPHA * mu0;
        int q = p;
        if (two) { /* its column: where row r, a column as well, is largest */
            for (int j = 0; j < N; ++j)
                row1[j] = shuffle(t[j], r);
            T beyond = row1[LANE];
            int other = work_group_reduce_max_index(left && LANE != r ? max((R)0, SIZE_OF(beyond)) : (R)-2);
            p = min(r, other);
            q = max(r, other);
        }
        if (act || N <= 16) { /* several in a warp: no branch */
            for (int j = 0; j < N; ++j)
                row1[j] = shuffle(t[j], p);
            T c1 = left && good && act ? across(row1[LANE]) : (T)0;
            P d1 = shuffle(diagonal, p);
            P d2 = 0;
            T d21 = 0;
            T l1 = 0;
            if (two) {
                for (int j = 0; j < N; ++j)
                    row2[j] = shuffle(t[j], q);
                T c2 = left ? across(row2[LANE]) : (T)0;
                d2 = shuffle(diagonal, q);
                d21 = shuffle(c1, q);
                R scale = max(SIZE_OF(d21), max(SIZE_OF(d1), SIZE_OF(d2)));
                R r = rcp(scale);
                P e1 = d1 * r;
                T e21 = times(d21, r);
                P e2 = d2 * r;
                P det = e1 * e2 - pivot_of(e21 * across(e21));
                P f = r * rcp(det);
                positive += REAL_OF(det) < 0 ? 1 : REAL_OF(d1 + d2) > 0 ? 2 : 0;
                l1 = scaled(scaled(c1, e2) - e21 * c2, f);
                T l2 = scaled(scaled(c2, e1) - across(e21) * c1, f);
                l[s + 1] = l2;
                check += l2 * (T)0;
                rest = rest & ~((BITS)1 << q);
                diagonal -= pivot_of(l2 * across(c2));
                for (int j = 0; j < N; ++j)
                    t[j] -= l2 * row2[j];
            } else {
                zero += act && !good ? 1 : 0;
                positive += act && good && REAL_OF(d1) > 0 ? 1 : 0;
                l1 = act && good ? scaled(c1, rcp(d1)) : (T)0;
            }
            l[s] = act ? l1 : l[s];
            check += l1 * (T)0;
            rest = rest & ~((BITS)(act ? 1 : 0) << p);
            if (act && (LANE == p || (two && LANE == q))) {
                left = false;
                place = LANE == p ? s : s + 1;
                mark = !two ? 0 : LANE == p ? 1 : 2;
                entry = !good ? (T)0 : LANE == p ? (T)d1 : (T)d2;
                beside = LANE == p ? (T)0 : d21;
            }
            diagonal -= pivot_of(l1 * across(c1));
            BITS others = rest & ~((BITS)1 << LANE);
            for (int k = 0; k < 4; ++k)
                most_of[k] = 0;
            for (int j = 0; j < N; ++j)
                t[j] -= l1 * row1[j];
            for (int j = 0; j < N; ++j)
                if ((others & ((BITS)1 << j)) != 0 && SIZE_OF(t[j]) > most_of[j % 4])
                    most_of[j % 4] = SIZE_OF(t[j]);
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
    put_signs(info, finite, false, N, positive, zero);
}
#endif
#endif
