/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_MICRO_H
#define MPKI_MICRO_H
/** The register tile under `multiply` and `apply`: up to MV vectors of rows by NR packed reals. */
#include "vector.h"

/** acc[i][j] = sum_k a(row vector i, k) b(k, j), k = 0 .. depth-1. a: reals, leading dimension lda
 * reals; b: slivers of NR reals. `masked`: only the first `last` lanes of the last of the mv
 * vectors are read. */
INLINE void micro(const int mv, const int nr, const int masked, int depth, const R *a, int64_t lda,
                  const R *b, int last, vec acc[MV][NR]) {
#pragma GCC unroll 3
    for (int i = 0; i < mv; i++)
#pragma GCC unroll 8
        for (int j = 0; j < nr; j++) acc[i][j] = (vec){0};
    for (int k = 0; k < depth; k++, a += lda, b += NR) {
        vec x[MV];
#pragma GCC unroll 3
        for (int i = 0; i < mv; i++)
            x[i] = masked && i == mv - 1 ? v_load_n(a + i * LANES, last) : v_load(a + i * LANES);
#pragma GCC unroll 8
        for (int j = 0; j < nr; j++) {
            vec y = v_all(b[j]);
#pragma GCC unroll 3
            for (int i = 0; i < mv; i++) acc[i][j] += x[i] * y;
        }
    }
}

/** Column j of the product, in entries; complex: (A Re b) + i (A Im b). */
INLINE vec micro_column(vec acc[MV][NR], int i, int j) {
#if MPKI_COMPLEX
    return acc[i][2 * j] + v_times_i(acc[i][2 * j + 1]);
#else
    return acc[i][j];
#endif
}

#endif
