/* SPDX-License-Identifier: BSD-3-Clause */
/* LLT: A = L L^T (complex: L L^H, of Hermitian matrices) in place, lower triangle, left-looking.
 * Work-item i holds row i of L.
 * info: outcome, positive, negative, zero pivots of each matrix, as in mpk_batch.h. */
#include "left_looking.h"
#if defined(COMPLEX) && !defined(HERMITIAN)
#error the roots of a complex symmetric matrix have no order of size: -D HERMITIAN
#endif

__kernel void llt(__global T *a, int lda, long stride, __global int *info, R tol)
{
    long base = GROUP * stride;
    R check = 0; /* 0 as long as pivots are finite: NaN and Inf elsewhere come to a later pivot */
    bool broken = false;
    int zero = 0;
    T t[N]; /* all of A, where it is read at once */
    R small = small_of(diagonal_of(N, a, lda, base, t), tol);
#if BY_TILES
#pragma unroll
    for (int s = 0; s < N; s += TILE) {
        T z[TILE];
        fetch_columns(a, lda, base, s, z);
#pragma nounroll
        for (int k = 0; k < s; ++k) {
            T x = LANE >= s ? a[base + k * lda + LANE] : (T)0;
            for (int j = 0; j < TILE; ++j)
                if (s + j < N)
                    z[j] -= x * a[base + k * lda + s + j];
        }
#pragma unroll
        for (int j = 0; j < TILE && s + j < N; ++j) {
            T c = LANE >= s + j ? z[j] : (T)0;
            T d = shuffle(c, s + j);
            T r = rcp(sqrt(d));
            check += d * (T)0;
            if (!(d > small)) { /* a branch, so that nothing waits for it */
                T rest = work_group_reduce_max(fabs(c));
                broken = broken || rest > small;
                zero += 1;
                r = 0;
            }
            T l = c * r;
            for (int i = j + 1; i < TILE && s + i < N; ++i)
                z[i] -= l * shuffle(l, s + i);
            if (LANE >= s + j)
                a[base + (s + j) * lda + LANE] = l;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
#else
    T l[N];
    for (int s = 0; s < N; ++s) {
#if READ_AT_ONCE
        T c = t[s];
#else
        T c = LANE >= s ? a[base + s * lda + LANE] : (T)0;
#endif
        for (int k = 0; k < s; ++k)
            c -= l[k] * across(shuffle(l[k], s));
        R d = REAL_OF(shuffle(c, s));
        R r = rcp(sqrt(d));
        check += d * (R)0;
        if (!(d > small)) {
            R rest = work_group_reduce_max(LANE >= s ? SIZE_OF(c) : (R)0);
            broken = broken || rest > small;
            zero += 1;
            r = 0;
        }
        l[s] = times(entry_of(c, s), r);
        if (LANE >= s)
            a[base + s * lda + LANE] = l[s];
    }
#endif
    bool finite = check == (R)0;
    put_info(info, finite, broken, N - zero, 0, zero);
}
