/* SPDX-License-Identifier: BSD-3-Clause */
/* LDUS: A = L D U in place, n x n column-major, 1x1 pivots in the order given (Thuerck 2021, chapter 7,
 * evaluation: the static-pivoting factorization). Work-item i holds row i; the Schur complement is updated in
 * the same pass that scales the pivot row. */
/* -D WG_SIZE=n: the order; -D SINGLE: float instead of double. */
#ifdef SINGLE
#define T float
#else
#define T double
#endif
#define N WG_SIZE
#define LANE ((int)get_local_id(0))
#define GROUP ((long)get_group_id(0))

__kernel void ldus(__global T *a)
{
    long base = GROUP * (N * N);
    T row[N];
    T pivot[N];
    for (int j = 0; j < N; ++j)
        row[j] = a[base + j * N + LANE];
    for (int s = 0; s < N; ++s) {
        for (int j = s; j < N; ++j)
            pivot[j] = shuffle(row[j], s);
        T r = rcp(pivot[s]);
        if (LANE > s)
            row[s] = row[s] * r;
        for (int j = s + 1; j < N; ++j)
            if (LANE >= s)
                row[j] = LANE == s ? row[j] * r : row[j] - row[s] * pivot[j];
    }
    for (int j = 0; j < N; ++j)
        a[base + j * N + LANE] = row[j];
}
