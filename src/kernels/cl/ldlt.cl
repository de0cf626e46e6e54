/* SPDX-License-Identifier: BSD-3-Clause */
/* LDLT without pivoting: A = L D L^T (Hermitian: L D L^H) in place, lower triangle, left-looking. Work-item i holds row
 * i of L; D is the same for all. A NaN or Inf anywhere reaches a later pivot. GPUs, where every
 * thread would form the same D L^T and latency counts, keep L D, read all of A first and sum in
 * four parts. */
#ifdef BORG_SIMT
#define HAS_ANY_ORDER
#endif
#include "left_looking.h"

#ifdef ANY_ORDER /* behind its rows and columns those of the identity */
#define IS_COLUMN (s < n)
#define IDENTITY ((T)(LANE == j))
#else
#define IS_COLUMN true
#define IDENTITY ((T)0)
#endif

__kernel void ldlt(__global T *a, int lda, long stride, __global int *info, R tol ORDER_PARAMETER)
{
    long base = GROUP * stride;
    P check = 0; /* 0 as long as pivots are finite */
    bool broken = false;
    int zero = 0;
    int positive = 0;
    T t[N]; /* all of A, if it is read at once */
    R small = small_of(diagonal_of(ROWS, a, lda, base, t), tol);
#if BY_TILES
#pragma unroll
    for (int s = 0; s < N; s += TILE) {
        T z[TILE];
        fetch_columns(a, lda, base, s, z);
#pragma nounroll
        for (int k = 0; k < s; ++k) {
            T x = LANE >= s ? a[base + k * lda + LANE] : (T)0;
            x *= a[base + k * (lda + 1)];
            for (int j = 0; j < TILE; ++j)
                if (s + j < N)
                    z[j] -= x * a[base + k * lda + s + j];
        }
        T next = shuffle(z[0], s); /* separately: the next pivot waits for no broadcast */
#pragma unroll
        for (int j = 0; j < TILE && s + j < N; ++j) {
            T c = LANE >= s + j ? z[j] : (T)0;
            T pivot = next;
            T r = rcp(pivot);
            check += pivot * (T)0;
            positive += pivot > small ? 1 : 0;
            if (!(fabs(pivot) > small)) { /* a branch, so that nothing waits for it */
                T rest = work_group_reduce_max(LANE > s + j ? fabs(c) : (T)0);
                broken = broken || rest > small;
                zero += 1;
                pivot = 0;
                r = 0;
            }
            if (j + 1 < TILE && s + j + 1 < N) {
                T below = shuffle(c, s + j + 1);
                next = shuffle(z[j + 1], s + j + 1) - below * r * below;
            }
            T l = c * r;
            for (int i = j + 1; i < TILE && s + i < N; ++i)
                z[i] -= l * shuffle(c, s + i);
            if (LANE >= s + j)
                a[base + (s + j) * lda + LANE] = LANE == s + j ? pivot : l;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
#else
    T l[N];
    P d[N];
#ifdef BORG_SIMT
    T m[N];
    for (int j = 0; j < N; ++j)
        t[j] = LANE >= j && IS_ROW ? a[base + j * lda + LANE] : IDENTITY;
#endif
    for (int s = 0; s < N; ++s) {
#ifdef BORG_SIMT
        T c = t[s];
        T part[4] = {0};
        for (int k = 0; k < s; ++k)
            if (s >= 8 && k % 4 > 0)
                part[k % 4] -= l[k] * across(shuffle(m[k], s));
            else
                c -= l[k] * across(shuffle(m[k], s));
        if (s >= 8)
            c = (c + part[1]) + (part[2] + part[3]);
#else
#if READ_AT_ONCE
        T c = t[s];
#else
        T c = LANE >= s ? a[base + s * lda + LANE] : (T)0;
#endif
        for (int k = 0; k < s; ++k)
            c -= l[k] * scaled(across(shuffle(l[k], s)), d[k]);
#endif
        P pivot = pivot_of(shuffle(c, s));
        P r = rcp(pivot);
        check += pivot * (P)0;
        positive += IS_COLUMN && REAL_OF(pivot) > small ? 1 : 0;
        if (!(SIZE_OF(pivot) > small)) {
            T x = LANE >= s ? c : (T)0;
            R rest = work_group_reduce_max(SIZE_OF(x));
            broken = broken || rest > small;
            zero += IS_COLUMN ? 1 : 0;
            pivot = 0;
            r = 0;
        }
        d[s] = pivot;
        l[s] = scaled(c, r);
#ifdef BORG_SIMT
        m[s] = c;
#endif
        if (LANE >= s && IS_ROW)
            a[base + s * lda + LANE] = LANE == s ? (T)d[s] : l[s];
    }
#endif
    bool finite = check == (P)0;
    put_signs(info, finite, broken, ROWS, positive, zero);
}
