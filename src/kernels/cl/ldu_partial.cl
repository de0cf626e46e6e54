/* SPDX-License-Identifier: BSD-3-Clause */
/* LDU with partial pivoting: P A = L D U in place, the largest entry of each column; column and row of each step by
 * dot products (Crout). Work-item i holds row i of L and column i of D U; rows never move, `row` is where row i goes
 * when L is written. piv [out]: old rows, then the columns, which stay. */
#include "ldu_rows.h"

#ifdef INTERLEAVED
/* A matrix in each lane, in memory: loops over rows, four steps alike; rows change places by selections. A step
 * looks at all rows that are left, and at whole ones: so lanes may have their pivots in different rows. */
__kernel void ldu_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                     T tol)
{
    long base = GROUP;
    T most = 0;
#pragma nounroll
    for (int j = 0; j < N; ++j) {
        for (int i = 0; i < N; ++i)
            most = max(most, fabs(a[base + (j * N + i) * WG_PACK]));
        if (LANE == 0) {
            piv[base + j * WG_PACK] = j;
            piv[base + (N + j) * WG_PACK] = j; /* columns stay */
        }
    }
    T small = most > 0 ? tol * most : (T)0;
    T check = most * (T)0;
    bool broken = false;
    int zero = 0;
#pragma unroll
    for (int b = 0; b < N; b += 4)
#pragma nounroll
    for (int k = b; k < b + 4; ++k) {
        T lambda = 0;
        int r = k;
#pragma nounroll
        for (int i = k; i < N; ++i) {
            T x = fabs(a[base + (k * N + i) * WG_PACK]);
            r = x > lambda ? i : r;
            lambda = max(lambda, x);
        }
        T first[N];
        T top[N];
        int old = piv[base + k * WG_PACK];
        int now = old;
        for (int j = 0; j < N; ++j) {
            first[j] = a[base + (j * N + k) * WG_PACK];
            top[j] = first[j];
        }
#pragma nounroll
        for (int q = k + 1; q < N; ++q) {
            bool hit = r == q;
            for (int j = 0; j < N; ++j) {
                T x = a[base + (j * N + q) * WG_PACK];
                if (LANE == 0) a[base + (j * N + q) * WG_PACK] = hit ? first[j] : x;
                top[j] = hit ? x : top[j];
            }
            int was = piv[base + q * WG_PACK];
            now = hit ? was : now;
            if (LANE == 0) piv[base + q * WG_PACK] = hit ? old : was;
        }
        if (LANE == 0) piv[base + k * WG_PACK] = now;
        for (int j = 0; j < N; ++j)
            if (LANE == 0) a[base + (j * N + k) * WG_PACK] = top[j];
        T d = a[base + (k * N + k) * WG_PACK];
        bool good = fabs(d) > small;
        T f = good ? rcp(d) : (T)0;
        check += d * (T)0;
        T rest = 0;
        for (int j = b; j < N; ++j) {
            first[j] = j > k ? top[j] : (T)0;
            rest = max(rest, fabs(first[j]));
        }
        broken = broken || (!good && rest > small);
        zero += good ? 0 : 1;
#pragma nounroll
        for (int i = k + 1; i < N; ++i) {
            T l = a[base + (k * N + i) * WG_PACK] * f;
            for (int j = b; j < N; ++j) {
                T x = a[base + (j * N + i) * WG_PACK] - l * first[j];
                if (LANE == 0) a[base + (j * N + i) * WG_PACK] = x;
            }
            if (LANE == 0) a[base + (k * N + i) * WG_PACK] = l;
        }
        for (int j = b; j < N; ++j) {
            T x = j > k ? top[j] * f : top[j];
            if (LANE == 0) a[base + (j * N + k) * WG_PACK] = x;
        }
        if (LANE == 0) a[base + (k * N + k) * WG_PACK] = good ? d : (T)0;
    }
    bool finite = check == (T)0;
    put_info(info, finite, broken, N - zero, 0, zero);
}

#elif (LANES && WG_PACK >= LANES && N <= 16) || defined(IN_LANES)
/* Small orders on a vector machine, a matrix in each lane: right-looking. All values belong to a
 * group, none to a work-item, except where rows are read and written; rows change places by
 * selections. */
__kernel void ldu_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                     R tol)
{
    long base = GROUP * stride;
    T u[N * N]; /* row after row */
    int row[N]; /* the old index of the row that is here */
    R most = 0;
    for (int j = 0; j < N; ++j) {
        T x = a[base + j * lda + LANE];
        most = max(most, SIZE_OF(x));
        for (int i = 0; i < N; ++i)
            u[i * N + j] = shuffle(x, i);
        row[j] = j;
    }
    most = work_group_reduce_max(most);
    R small = most > 0 ? tol * most : (R)0;
    T check = most * (T)0; /* 0 as long as pivots are finite: NaN and Inf elsewhere come to a later one */
    bool broken = false;
    int zero = 0;
    for (int k = 0; k < N; ++k) {
        R lambda = 0;
        int r = k;
        for (int i = k; i < N; ++i)
            lambda = max(lambda, SIZE_OF(u[i * N + k]));
        for (int i = N - 1; i >= k; --i)
            r = SIZE_OF(u[i * N + k]) == lambda ? i : r;
        if (r > k) { /* rows k and r change places */
            T first[N];
            int old = row[k];
            for (int j = 0; j < N; ++j)
                first[j] = u[k * N + j];
            for (int q = k + 1; q < N; ++q) {
                bool hit = r == q;
                for (int j = 0; j < N; ++j) {
                    T x = u[q * N + j];
                    u[q * N + j] = hit ? first[j] : x;
                    u[k * N + j] = hit ? x : u[k * N + j];
                }
                row[k] = hit ? row[q] : row[k];
                row[q] = hit ? old : row[q];
            }
        }
        T d = u[k * N + k];
        bool good = SIZE_OF(d) > small;
        T f = good ? rcp(d) : (T)0;
        check += d * (T)0;
        if (!good) {
            R rest = 0;
            for (int j = k + 1; j < N; ++j)
                rest = max(rest, SIZE_OF(u[k * N + j]));
            broken = broken || rest > small;
            zero += 1;
            u[k * N + k] = 0;
        }
        for (int i = k + 1; i < N; ++i) {
            T l = u[i * N + k] * f;
            u[i * N + k] = l;
            for (int j = k + 1; j < N; ++j)
                u[i * N + j] -= l * u[k * N + j];
        }
        for (int j = k + 1; j < N; ++j)
            u[k * N + j] *= f;
    }
    int place = 0;
    for (int j = 0; j < N; ++j) {
        T x = 0;
        for (int i = 0; i < N; ++i)
            x = LANE == i ? u[i * N + j] : x;
        place = LANE == j ? row[j] : place;
        a[base + j * lda + LANE] = x;
    }
    piv[GROUP * (2 * N) + LANE] = place;
    piv[GROUP * (2 * N) + N + LANE] = LANE;
    bool finite = check == (T)0;
    put_info(info, finite, broken, N - zero, 0, zero);
}

#else
__kernel void ldu_partial(__global T *a, int lda, long stride, __global int *piv, __global int *info,
                     R tol)
{
    long base = GROUP * stride;
    T l[N];
    T u[N];
    T check[1] = {0};
    R most = largest_of(a, lda, base, check);
    R small = most > 0 ? tol * most : (R)0;
    bool broken = false;
    bool left = true; /* this row is not finished */
    int row = 0;      /* where this row goes */
    int zero = 0;
    for (int s = 0; s < N; ++s) {
        T c = column_of(left ? a[base + s * lda + LANE] : (T)0, l, u, s, s, left);
        int p = work_group_reduce_max_index(left ? max((R)0, SIZE_OF(c)) : (R)-1); /* NaN: a row that is left, too */
        T r = row_of(LANE > s ? a[base + LANE * lda + p] : (T)0, l, u, s, p, LANE > s);
        T d = shuffle(c, p);
        check[0] += c * (T)0 + r * (T)0;
        bool good = SIZE_OF(d) > small;
        if (!good) {
            R rest = work_group_reduce_max(SIZE_OF(r));
            broken = broken || rest > small;
            zero += 1;
        }
        l[s] = good ? c * rcp(d) : (T)0;
        u[s] = good ? r : (T)0;
        if (LANE == p) {
            left = false;
            row = s;
            l[s] = good ? d : (T)0;
        }
    }
    put_ldu(a, lda, base, piv, l, u, row, LANE);
    bool finite = all(check[0] == (T)0);
    put_info(info, finite, broken, N - zero, 0, zero);
}
#endif
