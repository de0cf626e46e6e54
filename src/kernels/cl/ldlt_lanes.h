/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef LDLT_LANES_H
#define LDLT_LANES_H
#include "info.h"
#include "ldlt_pivots.h"

/* LDLT with pivoting for small orders, a matrix in each lane of a vector machine or, with IN_LANES,
 * in each thread of a GPU: P A P^T = L D L^T in place, lower triangle, right-looking. All values
 * are of a group, none of a work-item, but where rows are read and written; rows and columns change
 * places by selections, so that no step looks at what is finished. A step whose column was
 * eliminated with the one before does nothing. u: the lower triangle, row after row; c: a column of
 * what is left, from row k on, 0 on the diagonal. */

#ifdef BORG_SIMT /* Bunch-Kaufman: what some matrix of a warp nearly always does is done without a branch */
#define ALWAYS true
#else
#define ALWAYS false
#endif

/* c = column r > k; its diagonal entry. */
static T lanes_column(const T u[N * N], T c[N], int k, int r) {
    T d2 = u[(k + 1) * N + k + 1];
    for (int i = k; i < N; ++i)
        c[i] = i < k + 1 ? across(u[(k + 1) * N + i]) : i > k + 1 ? u[i * N + k + 1] : (T)0;
    for (int q = k + 2; q < N; ++q) {
        bool hit = r == q;
        for (int i = k; i < N; ++i)
            c[i] = hit ? i < q ? across(u[q * N + i]) : i > q ? u[i * N + q] : (T)0 : c[i];
        d2 = hit ? u[q * N + q] : d2;
    }
    return d2;
}

/* The searches. moves[0]: the row that comes to place k, moves[1]: for a 2x2 pivot the row that
 * comes to place k + 1, else -1; c, d2: what was looked at last. good: there is a pivot. second:
 * column k is finished. They return whether the pivot is a 2x2 one. */
static bool seek_complete(const T u[N * N], T c[N], int k, bool second, R small, int moves[2],
                          T d2[1], bool good[1]) {
    R mu0 = 0;
    R mu1 = SIZE_OF(u[k * N + k]);
    int r = k;
    for (int j = N - 1; j >= k; --j) {
        R most_of = 0;
        for (int i = j + 1; i < N; ++i) most_of = max(most_of, SIZE_OF(u[i * N + j]));
        r = most_of >= mu0 ? j : r;
        mu0 = max(mu0, most_of);
        moves[0] = SIZE_OF(u[j * N + j]) >= mu1 ? j : moves[0];
        mu1 = max(mu1, SIZE_OF(u[j * N + j]));
    }
    good[0] = mu1 > small || mu0 > small;
    bool two = !second && good[0] && mu1 < ALPHA * mu0;
    r = two ? r : moves[0];
    d2[0] = lanes_column(u, c, k, r);
    for (int i = k; i < N; ++i) c[i] = r > k ? c[i] : i > k ? u[i * N + k] : (T)0;
    for (int i = N - 1; i > k; --i) moves[1] = two && SIZE_OF(c[i]) == mu0 ? i : moves[1];
    moves[1] = two && r > k && SIZE_OF(c[k]) == mu0 ? r : moves[1]; /* row k is there then */
    moves[0] = second ? k : r;
    return two;
}

/* The largest entry of column k below the diagonal. */
static R below_pivot(const T u[N * N], int k) {
    R lambda = 0;
    for (int i = k + 1; i < N; ++i) lambda = max(lambda, SIZE_OF(u[i * N + k]));
    return lambda;
}
static int row_of_largest(const T u[N * N], int k, R lambda) {
    int r = k;
    for (int i = N - 1; i > k; --i) r = SIZE_OF(u[i * N + k]) == lambda ? i : r;
    return r;
}

static bool seek_rook(const T u[N * N], T c[N], int k, bool second, R small, int moves[2], T d2[1],
                      bool good[1]) {
    R d = SIZE_OF(u[k * N + k]);
    R lambda = below_pivot(u, k);
    int r = row_of_largest(u, k, lambda);
    good[0] = d > small || lambda > small;
    T c1[N]; /* column moves[0], 0 on the diagonal; d1: its diagonal entry */
    T d1 = u[k * N + k];
    for (int i = k; i < N; ++i) c1[i] = i > k ? u[i * N + k] : (T)0;
    int steps = 0;
    bool two = false;
    bool search = !second && lambda > small && d < ALPHA * lambda;
    while (search) {
        d2[0] = lanes_column(u, c, k, r);
        for (int i = k; i < N; ++i) c[i] = r > k ? c[i] : i > k ? u[i * N + k] : (T)0;
        d2[0] = r > k ? d2[0] : u[k * N + k];
        R sigma = 0;
        for (int i = k; i < N; ++i) sigma = max(sigma, SIZE_OF(c[i]));
        int next = k;
        for (int i = N - 1; i > k; --i) next = SIZE_OF(c[i]) == sigma ? i : next;
        next = SIZE_OF(c[k]) == sigma && r > k ? k : next;
        bool one = SIZE_OF(d2[0]) >= ALPHA * sigma;
        steps += 1;
        two = !one && (next == moves[0] || !(sigma > lambda) || steps >= N);
        search = !one && !two;
        moves[1] = two ? r : -1;
        moves[0] = two ? moves[0] : r;
        for (int i = k; i < N; ++i) c1[i] = two ? c1[i] : c[i];
        d1 = two ? d1 : d2[0];
        r = search ? next : r;
        lambda = sigma;
    }
    moves[1] = moves[1] == k ? moves[0] : moves[1]; /* row k is there then */
    d2[0] = d1;
    for (int i = k; i < N; ++i) c[i] = c1[i];
    return two;
}

/* The row of the largest entry in column k below the diagonal, value[0]. On a GPU a comparison of
 * doubles is waited for several times as long as one of integers: sizes whose first 20 bits are
 * equal count as equal there, and the lowest row wins. (Complete pivoting, which looks at more
 * entries, was slower so.) */
static int largest_below(const T u[N * N], int k, R value[1]) {
#if defined(BORG_SIMT) && !defined(COMPLEX)
    uint even = magnitude(u[(k + 1) * N + k]);
    uint odd = magnitude(u[min(k + 2, N - 1) * N + k]);
    for (int i = k + 3; i < N; ++i) {
        if ((i - k) % 2 == 0) {
            odd = max(odd, magnitude(u[i * N + k]));
        } else {
            even = max(even, magnitude(u[i * N + k]));
        }
    }
    uint top = max(even, odd);
    int r = k;
    for (int i = N - 1; i > k; --i) {
        bool hit = magnitude(u[i * N + k]) == top;
        r = hit ? i : r;
        value[0] = hit ? SIZE_OF(u[i * N + k]) : value[0];
    }
    return r;
#else
    value[0] = below_pivot(u, k);
    return row_of_largest(u, k, value[0]);
#endif
}
/* The largest size in c, from row k on; of two, the second one is the diagonal's 0. */
static R largest_of(const T c[N], int k) {
    R sigma = 0;
#if defined(BORG_SIMT) && !defined(COMPLEX)
    if (k == N - 2) {
        sigma = SIZE_OF(c[k]);
    } else {
        uint even = magnitude(c[k]);
        uint odd = magnitude(c[k + 1]);
        for (int i = k + 2; i < N; ++i) {
            if ((i - k) % 2 == 0) {
                even = max(even, magnitude(c[i]));
            } else {
                odd = max(odd, magnitude(c[i]));
            }
        }
        uint top = max(even, odd);
        for (int i = N - 1; i >= k; --i) sigma = magnitude(c[i]) == top ? SIZE_OF(c[i]) : sigma;
    }
#else
    for (int i = k; i < N; ++i) sigma = max(sigma, SIZE_OF(c[i]));
#endif
    return sigma;
}

/* scale: 1 / the largest entry of all, lest squares overflow or vanish. */
static bool seek_partial(const T u[N * N], T c[N], int k, bool second, R small, R scale,
                         int moves[2], T d2[1], bool good[1]) {
    R d = SIZE_OF(u[k * N + k]);
    R lambda[1] = {0};
    int r = largest_below(u, k, lambda);
    bool two = false;
    good[0] = d > small || lambda[0] > small;
    bool search = !second && lambda[0] > small && d < ALPHA * lambda[0];
    if (ALWAYS || search) {
        d2[0] = lanes_column(u, c, k, r);
        R sigma = largest_of(c, k);
        R size = lambda[0] * scale;
        bool stay = d > 0 && d * scale * (sigma * scale) >= ALPHA * size * size;
        if (ALWAYS) stay = stay || !search;
        two = !stay && SIZE_OF(d2[0]) < ALPHA * sigma;
        moves[0] = !stay && !two ? r : k;
        moves[1] = two ? r : -1;
    }
    return two;
}

/* Row and column `to` (column c, with d2 on the diagonal) change places with k or, if
 * `second_place`, with k + 1; to = -1: none do. always: without a branch. */
static void exchange(T u[N * N], int row[N], T c[N], T d2, int k, int to, bool second_place,
                     bool always) {
    bool up = to > 0 && !second_place;
    bool down = to > 0 && second_place;
    if (always || to > 0) {
        T xr[N];
        T ct[N]; /* column t */
        T below = u[(k + 1) * N + k];
        ct[k] = down ? below : u[k * N + k];
        for (int i = k + 1; i < N; ++i) ct[i] = down ? u[i * N + k + 1] : u[i * N + k];
        T dt = down ? ct[k + 1] : ct[k];
        int old = down ? row[k + 1] : row[k];
        int now = old;
        for (int j = 0; j < k; ++j) xr[j] = down ? u[(k + 1) * N + j] : u[k * N + j];
        for (int q = k + 1; q < N; ++q) {
            bool hit = to == q;
            for (int j = 0; j < k; ++j) { /* of L */
                T x = u[q * N + j];
                T y = q > k + 1 && down ? u[(k + 1) * N + j] : u[k * N + j];
                u[q * N + j] = hit ? y : x;
                xr[j] = hit ? x : xr[j];
            }
            if (q > k + 1) u[q * N + k] = hit && down ? below : u[q * N + k];
            for (int j = k + 1; j < q; ++j) u[q * N + j] = hit ? across(ct[j]) : u[q * N + j];
            u[q * N + q] = hit ? dt : u[q * N + q];
            for (int i = q + 1; i < N; ++i) u[i * N + q] = hit ? ct[i] : u[i * N + q];
            c[q] = hit ? across(ct[q]) : c[q];
            now = hit ? row[q] : now;
            row[q] = hit ? old : row[q];
        }
        for (int j = 0; j < k; ++j) {
            u[k * N + j] = up ? xr[j] : u[k * N + j];
            u[(k + 1) * N + j] = down ? xr[j] : u[(k + 1) * N + j];
        }
        row[k] = up ? now : row[k];
        row[k + 1] = down ? now : row[k + 1];
        u[k * N + k] = up ? d2 : u[k * N + k];
        for (int i = k + 1; i < N; ++i) {
            u[i * N + k] = up ? c[i] : u[i * N + k];
            if (i > k + 1) u[i * N + k + 1] = down ? c[i] : u[i * N + k + 1];
        }
        u[(k + 1) * N + k] = down ? across(c[k]) : u[(k + 1) * N + k];
        u[(k + 1) * N + k + 1] = down ? d2 : u[(k + 1) * N + k + 1];
    }
}

/* Subtract a pivot of one or two columns from the columns after it. counts: positive, zero. */
static void eliminate(T u[N * N], T c[N], int k, bool two, bool second, bool good, T check[1],
                      int counts[2]) {
    P p1 = pivot_of(u[k * N + k]);
    T d21 = u[(k + 1) * N + k];
    P d2 = pivot_of(u[(k + 1) * N + k + 1]);
    T f = rcp(two ? d21 : good ? (T)p1 : (T)1);
    T e1 = two ? scaled(across(f), p1) : (T)0;
    T e2 = two ? scaled(f, d2) : (T)1;
    P det = two ? pivot_of(e1 * e2) - (P)1 : (P)1;
    P h = rcp(det);
    T g1 = second || !good ? (T)0 : scaled(across(f), h);
    T g2 = second || !good ? (T)0 : scaled(f, h);
    check[0] += p1 * (T)0 + (two ? d21 + d2 : (T)0) * (T)0;
    counts[0] += second || !good   ? 0
                 : two             ? REAL_OF(det) < 0       ? 1
                                     : REAL_OF(p1 + d2) > 0 ? 2
                                                            : 0
                 : REAL_OF(p1) > 0 ? 1
                                   : 0;
    counts[1] += second || good ? 0 : 1;
    T b[N]; /* the one or two columns: b, c */
    for (int i = k + 1; i < N; ++i) {
        b[i] = u[i * N + k];
        c[i] = i > k + 1 && two ? u[i * N + k + 1] : (T)0;
    }
    c[k + 1] = two ? (T)d2 : (T)0;
    for (int i = k + 1; i < N; ++i) {
        T l1 = (e2 * b[i] - c[i]) * g1;
        for (int j = k + 1; j <= i; ++j) u[i * N + j] -= l1 * across(b[j]);
        u[i * N + i] = (T)pivot_of(u[i * N + i]);
        u[i * N + k] = second || (i == k + 1 && two) ? u[i * N + k] : l1;
    }
    if (two) {
        for (int i = k + 2; i < N; ++i) {
            T l2 = (e1 * c[i] - b[i]) * g2;
            for (int j = k + 2; j <= i; ++j) u[i * N + j] -= l2 * across(c[j]);
            u[i * N + i] = (T)pivot_of(u[i * N + i]);
            u[i * N + k + 1] = l2;
        }
    }
    u[(k + 1) * N + k + 1] = two ? (T)d2 : u[(k + 1) * N + k + 1];
    u[k * N + k] = good ? (T)p1 : (T)0;
}

/* search: PARTIAL, ROOK or COMPLETE. piv [out]: old index at each place, ~index at both places of a
 * 2x2 pivot. */
static void ldlt_lanes(int search, __global T *a, int lda, long stride, __global int *piv,
                       __global int *info, R tol) {
    long base = GROUP * stride;
    T u[N * N];
    int row[N]; /* the old index of the row that is here; ~index in a 2x2 pivot */
    T c[N];
    R most = 0;
    for (int j = 0; j < N; ++j) {
        T x = LANE >= j ? entry_of(a[base + j * lda + LANE], j) : (T)0;
        most = max(most, SIZE_OF(x));
        for (int i = j; i < N; ++i) u[i * N + j] = shuffle(x, i);
        row[j] = j;
    }
    most = work_group_reduce_max(most);
    R small = most > 0 ? tol * most : (R)0;
    R scale = rcp(most > 0 ? most : (R)1);
    T check[1] = {most *
                  (T)0}; /* 0 as long as pivots are finite: NaN and Inf come to a later one */
    bool second = false; /* this column was eliminated together with the one before */
    int counts[2] = {0}; /* positive, zero */
    for (int k = 0; k < N - 1; ++k) {
        int moves[2] = {k, -1};
        T d2[1] = {0};
        bool good[1];
        bool two = false;
        if (search == COMPLETE) {
            two = seek_complete(u, c, k, second, small, moves, d2, good);
        } else if (search == ROOK) {
            two = seek_rook(u, c, k, second, small, moves, d2, good);
        } else {
            two = seek_partial(u, c, k, second, small, scale, moves, d2, good);
        }
        int first = moves[0] > k ? moves[0] : -1;
        int other = moves[1] > k + 1 ? moves[1] : -1;
        if (search == PARTIAL) {
            exchange(u, row, c, d2[0], k, two ? other : first, two, ALWAYS);
        } else {
            exchange(u, row, c, d2[0], k, first, false, false);
            T d3 = lanes_column(u, c, k, other);
            exchange(u, row, c, d3, k, other, true, false);
        }
        eliminate(u, c, k, two, second, good[0], check, counts);
        row[k] = two ? ~row[k] : row[k];
        row[k + 1] = two ? ~row[k + 1] : row[k + 1];
        second = two;
    }
    T last = u[N * N - 1];
    bool good = second || SIZE_OF(last) > small;
    check[0] += last * (T)0;
    int positive = counts[0] + (!second && good && REAL_OF(last) > 0 ? 1 : 0);
    int zero = counts[1] + (good ? 0 : 1);
    u[N * N - 1] = good ? last : (T)0;
    for (int j = 0; j < N; ++j) {
        T x = 0;
        int p = 0;
        for (int i = 0; i < N; ++i) {
            x = LANE == i && i >= j ? u[i * N + j] : x;
            p = LANE == i ? row[i] : p;
        }
        if (LANE >= j) a[base + j * lda + LANE] = x;
        if (j == 0) piv[GROUP * N + LANE] = p;
    }
    bool finite = check[0] == (T)0;
    put_signs(info, finite, false, N, positive, zero);
}
#endif
