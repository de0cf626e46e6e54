/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT by Bunch & Kaufman (1977) of orders above WG_SIZE, two rows in a work-item: P A P^T = L D
 * L^T in place, lower triangle, as ldlt_partial.cl does it for GPUs: a column always waits, no
 * branches, a row finished in each step. Rows never move until but WG_SIZE of them are left, after
 * LEFT left-looking steps; then what is left is formed and becomes a matrix of its own, with a row
 * in each work-item. All reach a row by its record in memory near to the work-items: its entry of
 * the column that waits, its diagonal entry, its row of M = L D. t: the lower triangle, column
 * after column. KERNEL: its name. Behind ldlt_pivots.h. */
#define W WG_SIZE
#if N <= W || N > 2 * W || N > 16
#error two rows in a work-item take orders above WG_SIZE, up to twice that and up to 16
#endif
#define LEFT (N - W)
#define RECORD ((2 + W + 1) / 4 * 4 + 2) /* odd numbers of twos: records in different banks */
#define HANDED (((LEFT + 3 > W ? LEFT + 3 : W) + 1) / 4 * 4 + 2)
#define TRIANGLE (N * (N + 1) / 2)
#define ROW row_of(e)
#define BLOCK W        /* entries of the matrix that is left that a work-item forms */
#define NEXT (W + 2)   /* from one of its columns to the next */
#define LEFTS (2 * W)  /* in `name`: rows that are left, */
#define STARTS (3 * W) /* where their columns start in t */

static int row_of(int e) {
    return LANE + e * W;
}
/* Where row 0 of column j of a triangle of order n were, when it lies column after column. */
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

__kernel void KERNEL(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                     T tol) {
    long base = GROUP * stride;
    __local volatile T t[TRIANGLE > HANDED * W ? TRIANGLE : HANDED * W];
    __local volatile T rec[2 * W * RECORD];
    __local volatile int
        name[4 * W]; /* new names of all rows, their places in the end; and above */
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
    uint worst = work_group_reduce_max(size);
    uint least = threshold(worst, tol);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int e = 0; e < 2; ++e) {
        dia[e] = t[start_of(N, min(ROW, N - 1)) + min(ROW, N - 1)];
        place[e] = ROW < N ? -1 : 0;
        rec[RECORD * ROW] = c1[e];
        rec[RECORD * ROW + 1] = dia[e];
    }
    bool second = false;
    int p = 0;
    uint best =
        work_group_reduce_max(max(LANE > 0 ? named_as(magnitude(c1[0]), LANE) : 0u,
                                  row_of(1) < N ? named_as(magnitude(c1[1]), row_of(1)) : 0u));
#define SLOTS 2
#define L l
#define KEPT LEFT
#define PLACES place
    for (int s = 0; s < LEFT; ++s) {
#include "ldlt_halves_step.h"
    }
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
        p = name[p];
        best = (best & ~(uint)LAST) | (uint)name[best & (uint)LAST];
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
        /* not its lower triangle alone: after half of a 2x2 pivot it is not symmetric */
        for (int k = 0; k < BLOCK; ++k) t[NEXT * column_in(k) + row_in(k)] = sum[k];
        here[0] = -1;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#undef SLOTS
#undef L
#undef KEPT
#undef PLACES
#define SLOTS 1
#define L b
#define KEPT W
#define PLACES here
    for (int s = 0; s < W - 1; ++s) {
#include "ldlt_halves_step.h"
    }
    b[W - 1] = c1[0];
    if (LANE == p)
        here[0] = W - 1 +
                  (second                      ? SECOND
                   : magnitude(dia[0]) > least ? dia[0] > 0 ? POSITIVE : 0
                                               : ZERO);
    here[0] += LEFT;
    int now = here[0] & PLACE;
    uint last = LANE == p ? magnitude(c1[0]) : 0u; /* sizes that were not looked at yet */
    if (now >= N - 2) last = max(last, magnitude(b[W - 2]));
    bool finite = all(max(worst, last) < ENDLESS);
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
#include "ldlt_info.h"
}
