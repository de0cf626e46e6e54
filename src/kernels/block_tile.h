/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_TILE_H
#define MPKI_BLOCK_TILE_H
/** The register tile for products of row-major blocks: mr rows of A, whose entries are broadcast,
 * times nv vectors of the rows of W. For complex entries, sums with the real and with the imaginary
 * parts of A are kept apart, so that nothing is shuffled inside the loop. */
#include "block_row.h"

enum { TILE_NV = 4, TILE_MR = 8 }; /* vectors across at most; rows at most */

/** Rows of a tile of nv vectors that the registers hold: powers of 2. */
INLINE int tile_rows(int nv) {
    int accumulators = (REGISTERS == 32 ? 24 : 12) / (PARTS * nv);
    return accumulators >= 8 ? 8 : accumulators >= 4 ? 4 : accumulators >= 2 ? 2 : 1;
}

typedef struct tile {
    vec re[TILE_MR][TILE_NV];
#if MPKI_COMPLEX
    vec im[TILE_MR][TILE_NV];
#endif
} tile;

/** t = A W. a: mr rows, lda; w: `depth` rows of nv vectors, ld_w. */
INLINE void tile_sum(const int mr, const int nv, int depth, const T *a, int64_t lda, const T *w,
                     int64_t ld_w, tile *t) {
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) {
            t->re[i][j] = (vec){0};
#if MPKI_COMPLEX
            t->im[i][j] = (vec){0};
#endif
        }
    for (int k = 0; k < depth; k++, w += ld_w) {
        vec x[TILE_NV];
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) x[j] = v_load((const R *)w + j * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < mr; i++) {
            const R *entry = (const R *)(a + i * lda + k);
            vec re = v_all(entry[0]);
#if MPKI_COMPLEX
            vec im = v_all(entry[1]);
#endif
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++) {
                t->re[i][j] += x[j] * re;
#if MPKI_COMPLEX
                t->im[i][j] += x[j] * im;
#endif
            }
        }
    }
}

/** Vector j of row i of the product. */
INLINE vec tile_at(const tile *t, int i, int j) {
#if MPKI_COMPLEX
    return t->re[i][j] + v_times_i(t->im[i][j]);
#else
    return t->re[i][j];
#endif
}

/** Vectors in the next strip when `left` are left; chosen so that no strip is much narrower than
 *  the others. */
INLINE int tile_strip(int left) {
    return left <= TILE_NV ? left : left < 2 * TILE_NV ? (left + 1) / 2 : TILE_NV;
}

/** `call(mr, nv)` with both arguments constant. */
#define TILE_ROWS_OF(nv, mr, call)                                                                 \
    if ((mr) == 8) {                                                                               \
        if (tile_rows(nv) >= 8) call(8, nv);                                                       \
    } else if ((mr) == 4) {                                                                        \
        if (tile_rows(nv) >= 4) call(4, nv);                                                       \
    } else if ((mr) == 2) {                                                                        \
        if (tile_rows(nv) >= 2) call(2, nv);                                                       \
    } else                                                                                         \
        call(1, nv);
#define TILE_SHAPES(mr, nv, call)                                                                  \
    switch (nv) {                                                                                  \
    case 1:                                                                                        \
        TILE_ROWS_OF(1, mr, call) break;                                                           \
    case 2:                                                                                        \
        TILE_ROWS_OF(2, mr, call) break;                                                           \
    case 3:                                                                                        \
        TILE_ROWS_OF(3, mr, call) break;                                                           \
    default:                                                                                       \
        TILE_ROWS_OF(4, mr, call) break;                                                           \
    }

#endif
