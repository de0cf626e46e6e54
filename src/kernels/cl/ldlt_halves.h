/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LDLT_HALVES_H
#define LDLT_HALVES_H
#include "info.h"
#include "ldlt_choice.h"

/* LDLT by Bunch & Kaufman (1977) of orders above WG_SIZE, two rows in a work-item: P A P^T = L D
 * L^T in place, lower triangle, as ldlt_partial.cl does it for GPUs: a column always waits, no
 * branches, a row finished in each step. Rows never move until but WG_SIZE of them are left, after
 * LEFT left-looking steps; then what is left is formed and becomes a matrix of its own, with a row
 * in each work-item. All reach a row by its record in memory near to the work-items: its entry of
 * the column that waits, its diagonal entry, its row of M = L D. */
#define W WG_SIZE
#if N <= W || N > 2 * W || N > 16
#error two rows in a work-item take orders above WG_SIZE, up to twice that and up to 16
#endif
#define LEFT (N - W)
#define RECORD ((2 + W + 1) / 4 * 4 + 2) /* odd numbers of twos: records in different banks */
#define HANDED (((LEFT + 3 > W ? LEFT + 3 : W) + 1) / 4 * 4 + 2)
#define TRIANGLE (N * (N + 1) / 2)
#define HALVES_TRIANGLE (TRIANGLE > HANDED * W ? TRIANGLE : HANDED * W)
#define HALVES_RECORDS (2 * W * RECORD)
#define HALVES_NAMES (4 * W)
#define ROW row_of(e)
#define BLOCK W        /* entries of the matrix that is left that a work-item forms */
#define NEXT (W + 2)   /* from one of its columns to the next */
#define LEFTS (2 * W)  /* in `name`: rows that are left, */
#define STARTS (3 * W) /* where their columns start in t */

static int row_of(int e) {
    return LANE + e * W;
}
/* Where row 0 of column j of a triangle of order n would be, stored column after column. */
static int start_of(int n, int j) {
    return (j * (2 * n - 1 - j)) >> 1;
}
/* Entry k of those that a work-item forms: half of the rows, two after two, of two columns. */
static int row_in(int k) {
    return LANE % 2 * 2 + k % 2 + k % (W / 2) / 2 * 4;
}
static int column_in(int k) {
    return LANE / 2 * 2 + k / (W / 2);
}

/* Step s of the matrices with `slots` rows in a work-item; l: their columns, `kept` of them, for
 * each of these rows; place: where the rows go. A column's entry, a row's diagonal entry: from
 * records where a work-item has two rows, else by exchange, which takes less. p: the row whose
 * column c1 waits, best: the largest size in it, second: it is the second of a 2x2 pivot, l2 then
 * its column of L; dia: diagonal entries. */
static void halves_step(int slots, int s, int kept, __local volatile T t[HALVES_TRIANGLE],
                        __local volatile T rec[HALVES_RECORDS], T l[], int place[], T c1[2],
                        T dia[2], T l2[2], int p[1], uint best[1], bool second[1], uint worst[1],
                        uint least) {
    int r = (int)(best[0] & (uint)LAST);
    T v[2];
    T more[2] = {0}; /* two sums: half the latency */
    for (int e = 0; e < slots; ++e)
        v[e] = slots > 1 ? t[min(start_of(N, r) + ROW, start_of(N, min(ROW, N - 1)) + r)]
                         : t[NEXT * r + ROW];
    for (int k = 0; k < s; ++k) {
        if (k == s - 1) barrier(CLK_LOCAL_MEM_FENCE); /* what the step before has written */
        T y = rec[RECORD * r + 2 + k];
        for (int e = 0; e < slots; ++e)
            if (s > 4 && k % 2 > 0)
                more[e] -= l[e * kept + k] * y;
            else
                v[e] -= l[e * kept + k] * y;
    }
    if (slots > 1 && s == 0) barrier(CLK_LOCAL_MEM_FENCE);
    T x1 = slots > 1 ? rec[RECORD * r] : shuffle(c1[0], r);
    T d = slots > 1 ? rec[RECORD * r + 1] : shuffle(dia[0], r);
    T d1 = slots > 1 ? rec[RECORD * p[0] + 1] : shuffle(dia[0], p[0]);
    T pair[4];
    pair_of(x1, d1, d, pair);
    uint wide = 0;
    for (int e = 0; e < slots; ++e) {
        if (s > 4) v[e] += more[e];
        v[e] -= l2[e] * x1;
        wide = max(wide, place[e] < 0 && ROW != r ? named_as(magnitude(v[e]), ROW) : 0u);
    }
    uint top = work_group_reduce_max(wide);
    bool how[2];
    T f[4];
    int rows[2];
    int flags =
        choose(second[0], best[0], top, least, x1, d1, d, pair, p[0], r, worst, how, f, rows);
    int q = rows[0];
    p[0] = rows[1];
    int beside = how[0] ? rows[1] : q;
    wide = 0;
    if (slots > 1) barrier(CLK_LOCAL_MEM_FENCE);
    for (int e = 0; e < slots; ++e) {
        T c = how[1] ? v[e] : c1[e];
        T z = how[1] ? c1[e] : v[e];
        T x = l2[e] + f[0] * c + f[1] * z;
        l2[e] = f[2] * z + f[1] * c;
        c1[e] = z - x * f[3];
        /* D has what was the pivot: that of its column is rounded otherwise */
        l[e * kept + s] = ROW == q ? dia[e] : ROW == beside ? c : x;
        dia[e] -= ROW == beside ? (T)0 : x * c;
        if (slots > 1) {
            rec[RECORD * ROW] = c1[e];
            rec[RECORD * ROW + 1] = dia[e];
        }
        rec[RECORD * ROW + 2 + s] = c;
        if (ROW == q) place[e] = s + flags;
        wide = max(wide, place[e] < 0 && ROW != p[0] ? named_as(magnitude(c1[e]), ROW) : 0u);
    }
    best[0] = work_group_reduce_max(wide);
    second[0] = how[0];
}

/* t: the lower triangle, column after column; name: new names of all rows, their places in the end;
 * and above. */
static void ldlt_halves(__local volatile T t[HALVES_TRIANGLE],
                        __local volatile T rec[HALVES_RECORDS],
                        __local volatile int name[HALVES_NAMES], __global T *a, int lda,
                        long stride, __global int *piv, __global int *info, T tol) {
    long base = GROUP * stride;
    T c1[2];
    T dia[2];
    T l2[2] = {0}; /* where the second row of a 2x2 pivot waits: its column of L */
    T l[2 * LEFT];
    int place[2];
    uint size = 0;
    for (int j = 0; j < N; ++j)
        for (int e = j / W; e < 2; ++e) {
            T x = 0;
            if (ROW >= j && ROW < N) {
                x = a[base + (long)j * lda + ROW];
                t[start_of(N, j) + ROW] = x;
            }
            size = max(size, magnitude(x));
            if (j == 0) c1[e] = x;
        }
    uint worst[1];
    worst[0] = work_group_reduce_max(size);
    uint least = threshold(worst[0], tol);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int e = 0; e < 2; ++e) {
        dia[e] = t[start_of(N, min(ROW, N - 1)) + min(ROW, N - 1)];
        place[e] = ROW < N ? -1 : 0;
        rec[RECORD * ROW] = c1[e];
        rec[RECORD * ROW + 1] = dia[e];
    }
    bool second[1] = {false};
    int p[1] = {0};
    uint best[1];
    best[0] =
        work_group_reduce_max(max(LANE > 0 ? named_as(magnitude(c1[0]), LANE) : 0u,
                                  row_of(1) < N ? named_as(magnitude(c1[1]), row_of(1)) : 0u));
    for (int s = 0; s < LEFT; ++s)
        halves_step(2, s, LEFT, t, rec, l, place, c1, dia, l2, p, best, second, worst, least);
    T b[W];
    T sum[BLOCK];
    int here[1];
    {
        uint bits = 0;
        for (int e = 0; e < 2; ++e) bits += place[e] < 0 ? 1u << ROW : 0u;
        bits = work_group_reduce_sum(bits);
        int rank[2]; /* how many rows below are left: the new name */
        for (int e = 0; e < 2; ++e) {
            rank[e] = ones(bits & ((1u << ROW) - 1u));
            if (place[e] < 0) name[LEFTS + rank[e]] = ROW;
            if (place[e] < 0) name[STARTS + rank[e]] = start_of(N, ROW);
            name[ROW] = rank[e];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < BLOCK; ++k)
            sum[k] = t[min(name[STARTS + row_in(k)] + name[LEFTS + column_in(k)],
                           name[STARTS + column_in(k)] + name[LEFTS + row_in(k)])];
        p[0] = name[p[0]];
        best[0] = (best[0] & ~(uint)LAST) | (uint)name[best[0] & (uint)LAST];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int e = 0; e < 2; ++e) {
            for (int k = 0; k < LEFT; ++k)
                if (place[e] < 0) t[HANDED * rank[e] + k] = l[e * LEFT + k];
            if (place[e] < 0) t[HANDED * rank[e] + LEFT] = c1[e];
            if (place[e] < 0) t[HANDED * rank[e] + LEFT + 1] = dia[e];
            if (place[e] < 0) t[HANDED * rank[e] + LEFT + 2] = l2[e];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        c1[0] = t[HANDED * LANE + LEFT];
        dia[0] = t[HANDED * LANE + LEFT + 1];
        l2[0] = t[HANDED * LANE + LEFT + 2];
        for (int k = 0; k < LEFT; ++k)
            for (int i = 0; i < BLOCK; ++i)
                sum[i] -=
                    t[HANDED * row_in(i) + k] * rec[RECORD * name[LEFTS + column_in(i)] + 2 + k];
        barrier(CLK_LOCAL_MEM_FENCE);
        /* not only its lower triangle: after half of a 2x2 pivot it is not symmetric */
        for (int k = 0; k < BLOCK; ++k) t[NEXT * column_in(k) + row_in(k)] = sum[k];
        here[0] = -1;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int s = 0; s < W - 1; ++s)
        halves_step(1, s, W, t, rec, b, here, c1, dia, l2, p, best, second, worst, least);
    b[W - 1] = dia[0];
    if (LANE == p[0])
        here[0] = W - 1 +
                  (second[0]                   ? SECOND
                   : magnitude(dia[0]) > least ? dia[0] > 0 ? POSITIVE : 0
                                               : ZERO);
    here[0] += LEFT;
    int now = here[0] & PLACE;
    uint last = LANE == p[0] ? max(magnitude(c1[0]), magnitude(dia[0]))
                             : 0u; /* sizes that were not compared yet */
    if (now >= N - 2) last = max(last, magnitude(b[W - 2]));
    bool finite = all(max(worst[0], last) < ENDLESS);
    for (int k = 0; k < W; ++k)
        if (k == 0 || now >= LEFT + k) a[base + (long)(LEFT + k) * lda + now] = b[k];
    name[name[LEFTS + LANE]] = here[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    int counts = 0;
    for (int e = 0; e < 2; ++e) {
        if (place[e] < 0) place[e] = name[ROW];
        int to = place[e] & PLACE;
        counts += ROW < N ? place[e] & (POSITIVE | ZERO) : 0;
        for (int k = 0; k < LEFT; ++k)
            if (ROW < N && to >= k) a[base + (long)k * lda + to] = l[e * LEFT + k];
        if (ROW < N && (place[e] & ZERO) != 0) a[base + to * (lda + 1)] = 0;
        if (ROW < N) piv[GROUP * N + to] = (place[e] & (FIRST | SECOND)) != 0 ? ~ROW : ROW;
    }
    counts = work_group_reduce_sum(counts);
    int zero = counts >> 16;
    int positive = (counts & (ZERO - 1)) >> 8;
    put_info(info, finite, false, positive, N - positive - zero, zero);
}
#endif
