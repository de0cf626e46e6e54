/* SPDX-License-Identifier: BSD-3-Clause */
/* LDU without pivoting: A = L D U in place. Column and row of each step by dot products (Crout).
 * Work-item i holds row i of L and column i of D U. */
#include "info.h"
#include "real.h"
#include "tile.h"

__kernel void ldu(__global T *a, int lda, long stride, __global int *info, R tol)
{
    long base = GROUP * stride;
    T check = 0;
    bool broken = false;
    int zero = 0;
    R most = work_group_reduce_max(SIZE_OF(a[base + LANE * (lda + 1)]));
    R small = most > 0 ? tol * most : (R)0;
#if WG_VECTOR_BYTES && WG_PACK < LANES
    /* columns of D U, then of L below the diagonal; U is scaled when a column is done */
    T inverse = 0; /* work-item k: of pivot k */
    bool bad = false;
#pragma unroll
    for (int s = 0; s < N; s += TILE) {
        T z[TILE];
        for (int j = 0; j < TILE; ++j)
            if (s + j < N)
                z[j] = a[base + (s + j) * lda + LANE];
#pragma unroll
        for (int k = 0; k < s; ++k) {
            T x = LANE > k ? a[base + k * lda + LANE] : (T)0;
            for (int j = 0; j < TILE && s + j < N; ++j) {
                T u = shuffle(z[j], k);
                if (LANE > k)
                    z[j] -= x * u;
            }
        }
#pragma unroll
        for (int j = 0; j < TILE && s + j < N; ++j) {
            T c = LANE >= s + j ? z[j] : (T)0;
            T d = shuffle(c, s + j);
            T r = rcp(d);
            check += d * (T)0;
            if (!(SIZE_OF(d) > small)) { /* a branch, so that nothing waits for it */
                R rest = work_group_reduce_max(SIZE_OF(c));
                broken = broken || rest > small;
                zero += 1;
                bad = LANE == s + j ? true : bad;
                r = 0;
            }
            if (zero > 0) { /* the rows of zero pivots must be zero as well */
                R row = work_group_reduce_max(LANE < s + j && bad ? SIZE_OF(z[j]) : (R)0);
                broken = broken || row > small;
            }
            T l = c * r;
            for (int i = j + 1; i < TILE && s + i < N; ++i) {
                T u = shuffle(z[i], s + j);
                if (LANE > s + j)
                    z[i] -= l * u;
            }
            T scaled = z[j] * inverse;
            a[base + (s + j) * lda + LANE] = LANE < s + j ? scaled : LANE > s + j ? l : r != 0 ? d : (T)0;
            inverse = LANE == s + j ? r : inverse;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
#else
    T l[N];
    T u[N];
    for (int s = 0; s < N; ++s) {
        T c = LANE >= s ? a[base + s * lda + LANE] : (T)0;
        T r = LANE > s ? a[base + LANE * lda + s] : (T)0;
        for (int k = 0; k < s; ++k) {
            c -= l[k] * shuffle(u[k], s);
            r -= shuffle(l[k], s) * u[k];
        }
        T d = shuffle(c, s);
        check += LANE >= s ? c * (T)0 : (T)0;
        check += LANE > s ? r * (T)0 : (T)0;
        bool good = SIZE_OF(d) > small;
        if (!good) {
            R rest = work_group_reduce_max(LANE > s ? max(SIZE_OF(c), SIZE_OF(r)) : LANE == s ? SIZE_OF(c) : (R)0);
            broken = broken || rest > small;
            zero += 1;
        }
        T inverse = good ? rcp(d) : (T)0;
        l[s] = c * inverse;
        u[s] = good ? r : (T)0;
        if (LANE >= s)
            a[base + s * lda + LANE] = LANE == s ? (good ? d : (T)0) : l[s];
        if (LANE > s)
            a[base + LANE * lda + s] = r * inverse;
    }
#endif
    bool finite = all(check == (T)0);
    put_info(info, finite, broken, N - zero, 0, zero);
}
