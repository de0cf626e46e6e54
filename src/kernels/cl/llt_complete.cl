/* SPDX-License-Identifier: BSD-3-Clause */
/* LLT (complex: of Hermitian matrices, L L^H) with the largest of the remaining diagonal as pivot: P A P^T = L L^T in place, lower triangle,
 * left-looking. Work-item i holds row i of L and keeps its diagonal entry up to date; rows never move, `place`
 * is where row i goes when L is written. piv: n old indices. */
#include "info.h"
#include "real.h"
#if defined(COMPLEX) && !defined(HERMITIAN)
#error the roots of a complex symmetric matrix have no order of size: -D HERMITIAN
#endif

__kernel void llt_complete(__global T *a, int lda, long stride, __global int *piv,
                           __global int *info, R tol)
{
    long base = GROUP * stride;
    T l[N];
    T check = 0;
    R diagonal = REAL_OF(a[base + LANE * (lda + 1)]);
    R most = work_group_reduce_max(fabs(diagonal));
    R small = most > 0 ? tol * most : (R)0;
    for (int j = 0; j < N; ++j)
        check += LANE >= j ? entry_of(a[base + j * lda + LANE], j) * (T)0 : (T)0;
    bool broken = false;
    bool left = true;
    int place = 0;
    int zero = 0;
    for (int s = 0; s < N; ++s) {
        /* a row that is left goes before all finished ones, with a NaN on the diagonal, too: else a
         * finished one is chosen again, and two rows have one place */
        int p = work_group_reduce_max_index(left ? max((R)-1e37, diagonal) : (R)-1e38);
        int high = max(LANE, p);
        int low = min(LANE, p);
        /* what is finished stays as it is; otherwise it could become NaN, without harm to the
         * others */
        bool mine = left;
        T c = mine ? a[base + (long)low * lda + high] : (T)0;
#ifdef COMPLEX
        c = LANE < p ? across(c) : c;
#endif
        for (int k = 0; k < s; ++k)
            c -= l[k] * across(shuffle(l[k], p));
        c = mine ? c : (T)0;
        R d = shuffle(diagonal, p);
        check += c * (T)0;
        bool good = d > small;
        if (!good) {
            R rest = work_group_reduce_max(mine ? max(SIZE_OF(c), fabs(diagonal)) : (R)0);
            broken = broken || rest > small;
            zero += 1;
        }
        l[s] = good ? times(c, rcp(sqrt(d))) : (T)0;
        if (LANE == p) {
            left = false;
            place = s;
            l[s] = good ? (T)sqrt(d) : (T)0;
        } else {
            diagonal -= square(l[s]);
        }
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    for (int s = 0; s < N; ++s)
        if (place >= s)
            a[base + s * lda + place] = l[s];
    piv[GROUP * N + place] = LANE;
    int positive = N - zero;
    bool finite = all(check == (T)0);
    put_info(info, finite, broken, positive, N - positive - zero, zero);
}
