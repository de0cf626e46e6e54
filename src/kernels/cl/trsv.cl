/* SPDX-License-Identifier: BSD-3-Clause */
/* TRSV: two triangular solves in a row, L y = b and U x = y, for the factors that ldus leaves (L unit
 * lower, U unit upper, D on the diagonal between them). Work-item i holds row i and entry i of b. */
#include "real.h"

__kernel void trsv(__global const T *a, __global T *b)
{
    long base = GROUP * (N * N);
    T row[N];
    T x = b[GROUP * N + LANE];
    T d = a[base + LANE * (N + 1)];
    for (int j = 0; j < N; ++j)
        row[j] = a[base + j * N + LANE];
    for (int k = 0; k < N - 1; ++k) {
        T y = shuffle(x, k);
        if (LANE > k)
            x -= row[k] * y;
    }
    x = x / d;
    for (int k = N - 1; k > 0; --k) {
        T y = shuffle(x, k);
        if (LANE < k)
            x -= row[k] * y;
    }
    b[GROUP * N + LANE] = x;
}
