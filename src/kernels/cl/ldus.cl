/* SPDX-License-Identifier: BSD-3-Clause */
/* LDUS: A = L D U in place, n x n column-major, 1x1 pivots in the order given (Thuerck 2021, chapter 7,
 * evaluation: the static-pivoting factorization). Work-item i holds row i; the Schur complement is updated in
 * the same pass that scales the pivot row. */
#include "real.h"
#include "tile.h"

__kernel void ldus(__global T *a)
{
    long base = GROUP * (N * N);
#if WG_VECTOR_BYTES && WG_PACK < LANES
    /* left-looking: columns of D U, then of L below the diagonal; U is scaled when a column is
     * finished */
    T inverse = 0; /* work-item k: of pivot k */
#pragma unroll
    for (int s = 0; s < N; s += TILE) {
        T z[TILE];
        for (int j = 0; j < TILE; ++j)
            if (s + j < N)
                z[j] = a[base + (s + j) * N + LANE];
#pragma unroll
        for (int k = 0; k < s; ++k) {
            T x = LANE > k ? a[base + k * N + LANE] : (T)0;
            for (int j = 0; j < TILE && s + j < N; ++j) {
                T u = shuffle(z[j], k);
                if (LANE > k)
                    z[j] -= x * u;
            }
        }
#pragma unroll
        for (int j = 0; j < TILE && s + j < N; ++j) {
            T d = shuffle(z[j], s + j);
            T r = rcp(d);
            T l = z[j] * r;
            for (int i = j + 1; i < TILE && s + i < N; ++i) {
                T u = shuffle(z[i], s + j);
                if (LANE > s + j)
                    z[i] -= l * u;
            }
            T scaled = z[j] * inverse;
            a[base + (s + j) * N + LANE] = LANE < s + j ? scaled : LANE > s + j ? l : z[j];
            inverse = LANE == s + j ? r : inverse;
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
#else
    /* rows of U are scaled at the end; work-items that are done go along with a factor of zero */
    T row[N];
    T inverse = 0; /* work-item k: of pivot k */
    for (int j = 0; j < N; ++j)
        row[j] = a[base + j * N + LANE];
    for (int s = 0; s < N; ++s) {
        T r = rcp(shuffle(row[s], s));
        T l = LANE > s ? row[s] * r : (T)0;
        inverse = LANE == s ? r : inverse;
        for (int j = s + 1; j < N; ++j)
            row[j] -= l * shuffle(row[j], s);
        row[s] = LANE > s ? l : row[s];
    }
    for (int j = 0; j < N; ++j)
        a[base + j * N + LANE] = LANE < j ? row[j] * inverse : row[j];
#endif
}
