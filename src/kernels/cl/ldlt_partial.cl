/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT by Bunch & Kaufman (1977): P A P^T = L D L^T in place, lower triangle, left-looking: only the one or two
 * columns that a step looks at are formed. Work-item i holds row i of L and of M = L D; rows never move, `place` is
 * where row i goes when L is written. piv [out]: old index p at each place, ~p at both places of a 2x2 pivot. */
#define HAS_ORDER 32 8
#if (defined(ORDER) && WG_SIZE == 32) || (!defined(ORDER) && defined(BORG_SIMT))
#define HAS_ANY_ORDER
#endif
#include "ldlt_lanes.h"
#include "ldlt_rows.h"

#if defined(ORDER) && WG_SIZE < 32 /* two rows in a work-item */
#include "ldlt_halves.h"

__kernel void ldlt_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                  T tol)
{
    __local volatile T t[HALVES_TRIANGLE];
    __local volatile T rec[HALVES_RECORDS];
    __local volatile int name[HALVES_NAMES];
    ldlt_halves(t, rec, name, a, lda, stride, piv, info, tol);
}
#elif defined(ORDER) /* a warp's tiles */
#include "ldlt_tiles_partial.h"

__kernel void ldlt_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                  T tol ORDER_PARAMETER)
{
    __local volatile T c[PARTIAL_PLACES];
#if N > 16
    __local volatile int ranks[32];
    ldlt_tiles(ROWS, c, ranks, a, lda, stride, piv, info, tol);
#else
    ldlt_tiles(ROWS, c, a, lda, stride, piv, info, tol);
#endif
}
#elif (LANES && WG_PACK >= LANES && N <= 16) || defined(IN_LANES) /* small orders, a matrix in each lane */
__kernel void ldlt_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                  R tol)
{
    ldlt_lanes(PARTIAL, a, lda, stride, piv, info, tol);
}
#elif defined(COMPLEX)
__kernel void ldlt_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                  R tol)
{
    ldlt_rows(PARTIAL, a, lda, stride, piv, info, tol);
}
#elif defined(BORG_SIMT)
#include "ldlt_choice.h"

/* On a GPU a column always waits: it is that of row p, d1 its diagonal entry. Each step forms the column of row r, where
 * the waiting one is largest, eliminates one row, q, and the other column of the two, kept up to date, waits; after the
 * first row of a 2x2 pivot the second one's column waits and is eliminated by the next step, which then forms the column
 * of any row. N columns are formed in all. There is no branch, so that groups in one warp stay together.
 * Sizes are compared by `magnitude`, whose upper bits are a logarithm, linear between powers of two: products by sums,
 * ALPHA between 0.57 and 0.72, and the largest entry of a column by 32 bits, the last ones of which name its row (2^-14).
 * What rows that are finished hold is of no account, so L's column takes up D's entries there. NaN and Inf come to it.
 * place: where the row goes, and flags. ANY_ORDER: rows behind the last one are zero, and finished. */
__kernel void ldlt_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                      T tol ORDER_PARAMETER)
{
    long base = GROUP * stride;
    T l[N];
    T m[N];
    __local T t[FOLDS * N]; /* column j in row j, from LANE = j on, and before it column N - j */
    T most = 0;
    for (int j = 0; j < FOLDS; ++j)
        t[j * N + LANE] = folded(ROWS, a, lda, base, j);
    for (int j = 0; j < FOLDS; ++j)
        most = max(most, fabs(t[j * N + LANE]));
    T small = tol * work_group_reduce_max(most);
    uint least = max(magnitude(small), LOG) | (uint)LAST;
    bool second = false; /* of a 2x2 pivot is what this step eliminates */
    T l2 = 0;            /* its column of L */
    T c1 = t[LANE] + (T)0; /* + 0: conditions take no value from shared memory */
    T dia = t[(LANE <= N / 2 ? LANE : N - LANE) * N + (LANE <= N / 2 ? LANE : 0)];
    int place = IS_ROW ? -1 : PLACE;
    int p = 0;
    uint worst[1] = {0}; /* of all sizes that were looked at */
    uint best = work_group_reduce_max(LANE > 0 && place < 0 ? key(c1) : 0u);
    for (int s = LEAST_ROWS - 1; s < N - 1; ++s)
        l[s] = 0;
    for (int s = 0; s < N - 1; ++s) if (s + 1 < LEAST_ROWS || s + 1 < ROWS) {
        int r = (int)(best & (uint)LAST);
        T x1 = shuffle(c1, r);
        T d = shuffle(dia, r);
        T d1 = shuffle(dia, p);
        T e[4];
        pair_of(x1, d1, d, e);
        uint row = min(min((uint)r, (uint)(N - r)), (uint)(N / 2)); /* of t, where column r is, from item LANE - shift on */
        int shift = r > N / 2 ? r : 0;
        uint item = (uint)(LANE >= r ? LANE - shift : r - (LANE > N / 2 ? LANE : 0));
        T v = t[(LANE >= r ? row : (uint)min(LANE, N - LANE)) * (uint)N + min(item, (uint)(N - 1))];
        T part[4] = {0};
        for (int k = 0; k < s; ++k)
            if (s >= 16 && k % 4 > 0)
                part[k % 4] -= l[k] * shuffle(m[k], r);
            else if (s >= 5 && s < 16 && k % 2 > 0)
                part[1] -= l[k] * shuffle(m[k], r);
            else
                v -= l[k] * shuffle(m[k], r);
        if (s >= 16)
            v = (v + part[1]) + (part[2] + part[3]);
        else if (s >= 5)
            v += part[1];
        v -= l2 * x1;
        uint top = work_group_reduce_max(place < 0 && LANE != r ? key(v) : 0u);
        bool how[2];
        T f[4];
        int rows[2];
        int flags = choose(second, best, top, least, x1, d1, d, e, p, r, worst, how, f, rows);
        bool two = how[0];
        T c = how[1] ? v : c1;
        T z = how[1] ? c1 : v;
        T x = l2 + f[0] * c + f[1] * z;
        l2 = f[2] * z + f[1] * c;
        c1 = z - x * f[3];
        int q = rows[0];
        p = rows[1];
        int beside = two ? p : q;
        l[s] = LANE == q ? dia : LANE == beside ? c : x; /* D has what was the pivot: that of its column is rounded otherwise */
        dia -= LANE == beside ? (T)0 : x * c;
        m[s] = c;
        place = LANE == q ? s + flags : place;
        best = work_group_reduce_max(place < 0 && LANE != p ? key(c1) : 0u);
        second = two;
    }
    T d1 = shuffle(dia, p);
    bool good = magnitude(d1) > least;
    l[N - 1] = dia;
    for (int s = LEAST_ROWS - 1; s < N - 1; ++s)
        l[s] = s == ROWS - 1 ? dia : l[s];
    place = LANE == p ? ROWS - 1 + (second ? SECOND : good ? d1 > 0 ? POSITIVE : 0 : ZERO) : place;
    int to = place & PLACE;
    barrier(CLK_GLOBAL_MEM_FENCE);
    T check = small * (T)0 + (to == ROWS - 1 ? c1 * (T)0 + dia * (T)0 : (T)0); /* what no size has told of yet */
    for (int s = max(LEAST_ROWS - 2, 0); s < N - 1; ++s)
        check += (s == ROWS - 2 && to >= s ? l[s] : (T)0) * (T)0;
    for (int s = 0; s < N; ++s)
        if (to >= s && IS_ROW)
            a[base + s * lda + to] = l[s];
    if ((place & ZERO) != 0)
        a[base + to * (lda + 1)] = 0;
    if (IS_ROW)
        piv[GROUP * ROWS + to] = (place & (FIRST | SECOND)) != 0 ? ~LANE : LANE;
    bool finite = all(check == (T)0) && worst[0] < ENDLESS;
    int counts = work_group_reduce_sum(place & (POSITIVE | ZERO));
    int zero = counts >> 16;
    int positive = (counts & (ZERO - 1)) >> 8;
    put_info(info, finite, false, positive, ROWS - positive - zero, zero);
}

#elif !WG_VECTOR_BYTES || WG_PACK > 1 || N <= 8
__kernel void ldlt_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                      T tol)
{
    ldlt_rows(PARTIAL, a, lda, stride, piv, info, tol);
}

#else
/* A vector machine keeps L, M = L D and A's upper triangle in memory (work: 3 N N entries), one column after the other
 * as work-items are rows; loops run at run time, steps of one or two columns. The lowest row left is the candidate of
 * each step, so rows are finished roughly in their order: once a block of them is, the rest of the kernel leaves its
 * registers out. Where another row is eliminated alone, the candidate's column waits and is kept up to date. */
#ifdef SINGLE
#define TINY ((T)1e-25)
#define HUGE ((T)1e25)
#else
#define TINY ((T)1e-200)
#define HUGE ((T)1e200)
#endif
#if (N + LANES - 1) / LANES <= 4
#define BLOCK LANES
#else
#define BLOCK ((N + 3) / 4)
#endif
__kernel void ldlt_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                      T tol, __global T *restrict work)
{
    long base = GROUP * stride;
    T check = 0; /* 0 as long as pivots are finite: NaN and Inf elsewhere come to a later pivot */
    T most = 0;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        T x = LANE >= j ? a[base + j * lda + LANE] : (T)0;
        most = max(most, fabs(x));
        if (LANE > j)
            work[LANE * N + j] = x;
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    most = work_group_reduce_max(most);
    T small = most > 0 ? tol * most : (T)0;
    bool left = true;   /* this row is not finished */
    bool waits = false; /* the lowest row's column is there: kept up to date */
    T kept = 0;
    int zero = 0;
    int positive = 0;
    int first = 0; /* rows before it are finished */
    int s = 0;
#pragma unroll
    for (int b = 0; b < N; b += BLOCK) /* rows below b are finished */
        while (s < N && first < b + BLOCK) {
            int p = first;
            T c1 = kept;
            if (!waits) {
                c1 = LANE >= b && left ? a[base + p * lda + LANE] : (T)0;
                T more1 = 0; /* two sums: half the latency */
#pragma nounroll
                for (int k = s & 1; k < s; k += 2) {
                    T x = LANE >= b ? work[N * N + k * N + LANE] : (T)0;
                    T y = LANE >= b ? work[N * N + (k + 1) * N + LANE] : (T)0;
                    c1 -= x * work[2 * N * N + k * N + p];
                    more1 -= y * work[2 * N * N + (k + 1) * N + p];
                }
                if (s & 1) {
                    T x = LANE >= b ? work[N * N + LANE] : (T)0;
                    c1 -= x * work[2 * N * N + p];
                }
                c1 += more1;
                c1 = LANE >= b && left ? c1 : (T)0;
            }
            waits = false;
            if (LANE >= b)
                work[2 * N * N + s * N + LANE] = c1;
            T size = LANE >= b && LANE != p ? fabs(c1) : (T)0;
            T lambda = work_group_reduce_max(size);
            T d1 = work[2 * N * N + s * N + p];
            T diagonal = fabs(d1);
            bool two = false;
            if (lambda > small && diagonal < ALPHA * lambda) {
                int other = work_group_reduce_max_index(size);
                T c2 = LANE >= b && LANE >= other ? a[base + other * lda + LANE] : (T)0;
                if (LANE >= b && LANE < other)
                    c2 = work[other * N + LANE];
                T more2 = 0; /* two sums: half the latency */
#pragma nounroll
                for (int k = s & 1; k < s; k += 2) {
                    T x = LANE >= b ? work[N * N + k * N + LANE] : (T)0;
                    T y = LANE >= b ? work[N * N + (k + 1) * N + LANE] : (T)0;
                    c2 -= x * work[2 * N * N + k * N + other];
                    more2 -= y * work[2 * N * N + (k + 1) * N + other];
                }
                if (s & 1) {
                    T x = LANE >= b ? work[N * N + LANE] : (T)0;
                    c2 -= x * work[2 * N * N + other];
                }
                c2 += more2;
                c2 = LANE >= b && left ? c2 : (T)0;
                int next = min(s + 1, N - 1);
                if (LANE >= b)
                    work[2 * N * N + next * N + LANE] = c2;
                T sigma = work_group_reduce_max(LANE >= b && LANE != other ? fabs(c2) : (T)0);
                T d21 = work[2 * N * N + s * N + other];
                T d2 = work[2 * N * N + next * N + other];
                bool stay = diagonal >= ALPHA * lambda * (lambda * rcp(sigma)); /* squares could vanish */
                two = !stay && fabs(d2) < ALPHA * sigma;
                if (two) {
                    T det = d1 * d2 - d21 * d21;
                    T f = rcp(det);
                    T e1 = f * d1;
                    T e21 = f * d21;
                    T e2 = f * d2;
                    if (!(fabs(det) > TINY && fabs(det) < HUGE)) { /* as it may overflow: scaled */
                        T r = rcp(max(fabs(d21), max(fabs(d1), fabs(d2))));
                        T g1 = d1 * r;
                        T g21 = d21 * r;
                        T g2 = d2 * r;
                        det = g1 * g2 - g21 * g21;
                        f = rcp(det);
                        e1 = g1 * f * r;
                        e21 = g21 * f * r;
                        e2 = g2 * f * r;
                    }
                    check += d1 * (T)0 + d21 * (T)0 + d2 * (T)0;
                    positive += det < 0 ? 1 : d1 + d2 > 0 ? 2 : 0;
                    T l1 = e2 * c1 - e21 * c2;
                    T l2 = e1 * c2 - e21 * c1;
                    /* finished rows are not asked for again: D is kept there */
                    if (LANE >= b) {
                        work[N * N + s * N + LANE] = LANE == p || LANE == other ? c1 : l1;
                        work[N * N + (s + 1) * N + LANE] = LANE == other ? c2 : l2;
                    }
                    if (LANE == 0) {
                        piv[GROUP * N + s] = ~p;
                        piv[GROUP * N + s + 1] = ~other;
                    }
                    left = left && LANE != p && LANE != other;
                    s += 2;
                } else if (!stay) {
                    waits = true;
                    kept = c1 - c2 * (d21 * rcp(d2));
                    kept = LANE != other ? kept : (T)0;
                    p = other;
                    c1 = c2;
                    if (LANE >= b)
                        work[2 * N * N + s * N + LANE] = c2;
                    d1 = d2;
                }
            }
            if (!two) {
                T r = rcp(d1);
                check += d1 * (T)0;
                bool good = fabs(d1) > small || lambda > small;
                positive += good && d1 > 0 ? 1 : 0;
                if (!good) { /* what is as small below is taken for zero, too */
                    zero += 1;
                    r = 0;
                    c1 = c1 * (T)0;
                    if (LANE >= b)
                        work[2 * N * N + s * N + LANE] = c1;
                }
                if (LANE >= b)
                    work[N * N + s * N + LANE] = LANE == p ? c1 : c1 * r;
                if (LANE == 0)
                    piv[GROUP * N + s] = p;
                left = left && LANE != p;
                s += 1;
            }
            first = work_group_reduce_max_index(left ? 1 : 0);
        }
    barrier(CLK_GLOBAL_MEM_FENCE);
    int row = piv[GROUP * N + LANE];
    row = row < 0 ? ~row : row;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        T x = shuffle(work[N * N + j * N + LANE], row);
        if (LANE >= j)
            a[base + j * lda + LANE] = x;
    }
    check += most * (T)0;
    bool finite = check == (T)0;
    put_info(info, finite, false, positive, N - positive - zero, zero);
}
#endif
