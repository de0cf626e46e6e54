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
    UNROLL_TO(3)
    for (int i = 0; i < mv; i++) {
        UNROLL_TO(8)
        for (int j = 0; j < nr; j++) acc[i][j] = (vec){0};
    }
    for (int k = 0; k < depth; k++, a += lda, b += NR) {
        vec x[MV];
        UNROLL_TO(3)
        for (int i = 0; i < mv; i++)
            x[i] = masked && i == mv - 1 ? v_load_n(a + i * LANES, last) : v_load(a + i * LANES);
#if defined(MPKI_NEON) /* products take a lane of a register as it is */
        vec y[NR / LANES];
        UNROLL_TO(4)
        for (int j = 0; j < nr / LANES; j++) y[j] = v_load(b + j * LANES);
        UNROLL_TO(8)
        for (int j = 0; j < nr; j++) {
            UNROLL_TO(3)
            for (int i = 0; i < mv; i++) acc[i][j] += x[i] * v_all(y[j / LANES][j % LANES]);
        }
#else
        UNROLL_TO(8)
        for (int j = 0; j < nr; j++) {
            vec y = v_all(b[j]);
            UNROLL_TO(3)
            for (int i = 0; i < mv; i++) acc[i][j] += x[i] * y;
        }
#endif
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
