/* SPDX-License-Identifier: BSD-3-Clause */
/* C -= A W with a stored A: what a pair of blocks contributes to the Schur complement. Whole rows
 * of A go through register tiles; for a row with a bitmap its row of C stays in registers. */
#include "block_bits.h"
#include "block_isa.h"
#include "block_tile.h"

/* ---- whole rows ---- */

/* rows row[0 .. mr-1] of C, nv vectors */
INLINE void minus_tile(const int mr, const int nv, int depth, const T *a, const T *w, int ld_w,
                       T *c, int ld_c, const uint8_t *row) {
    tile t;
    tile_sum(mr, nv, depth, a, depth, w, ld_w, &t);
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++) {
        R *to = (R *)(c + row[i] * ld_c);
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++)
            v_store(to + j * LANES, v_load(to + j * LANES) - tile_at(&t, i, j));
    }
}

static void whole_rows(int held, const uint8_t *row, int depth, const T *a, const T *w, int ld_w,
                       int vectors, T *c, int ld_c) {
    for (int nv; vectors > 0; vectors -= nv, w += nv * ENTRIES, c += nv * ENTRIES) {
        nv = tile_strip(vectors);
        int mr = tile_rows(nv);
        for (int r = 0; r < held; r += mr) {
            while (mr > held - r) mr /= 2;
#define MINUS(mr, nv) minus_tile(mr, nv, depth, a + r * depth, w, ld_w, c, ld_c, row + r)
            TILE_SHAPES(mr, nv, MINUS)
#undef MINUS
        }
    }
}

/* ---- rows with bitmaps ---- */

/* row of C (nv vectors) -= its entries of A times rows of W; returns where the values end */
INLINE const T *minus_bits(const int nv, const uint32_t *mask, int words, const T *value,
                           const T *w, int ld_w, T *c) {
    row_sum sum;
    value = bits_sum(nv, mask, words, value, w, ld_w, &sum);
#pragma GCC unroll 8
    for (int j = 0; j < nv; j++)
        v_store((R *)c + j * LANES, v_load((R *)c + j * LANES) - bits_at(&sum, j));
    return value;
}

INLINE void minus_bitmap(const int nv, int held, const uint8_t *row, const FN(stored) * s,
                         const T *w, int ld_w, T *c, int ld_c) {
    const T *value = s->value;
    for (int r = 0; r < held; r++)
        value = minus_bits(nv, s->col_mask + r * s->col_words, s->col_words, value, w, ld_w,
                           c + row[r] * ld_c);
}

static void bitmap_rows(int held, const uint8_t *row, const FN(stored) * s, const T *w, int ld_w,
                        int vectors, T *c, int ld_c) {
    for (int nv; vectors > 0; vectors -= nv, w += nv * ENTRIES, c += nv * ENTRIES) {
        nv = vectors < BITS_NV ? vectors : BITS_NV;
        switch (nv) {
        case 1:
            minus_bitmap(1, held, row, s, w, ld_w, c, ld_c);
            break;
        case 2:
            minus_bitmap(2, held, row, s, w, ld_w, c, ld_c);
            break;
        case 3:
            minus_bitmap(3, held, row, s, w, ld_w, c, ld_c);
            break;
        case 4:
        default:
            if (nv == 4 || BITS_NV == 4) {
                nv = 4;
                minus_bitmap(4, held, row, s, w, ld_w, c, ld_c);
            } else if (nv < 8) {
                nv = 4; /* 5 to 7: 4 now, the others next */
                minus_bitmap(4, held, row, s, w, ld_w, c, ld_c);
            } else
                minus_bitmap(BITS_NV, held, row, s, w, ld_w, c, ld_c);
            break;
        }
    }
}

void ISA_FN(block_downdate)(const mpki_block *a, const T *w, int ld_w, int cols, T *c, int ld_c) {
    if (a->format == MPKI_EMPTY) return;
    FN(stored) s = FN(stored_of)(a);
    uint8_t row[256]; /* 256: what a uint8_t can count, so that the compiler sees no overflow */
    int held = FN(stored_rows)(&s, a->rows, row), vectors = (cols + ENTRIES - 1) / ENTRIES;
    if (s.col_mask)
        bitmap_rows(held, row, &s, w, ld_w, vectors, c, ld_c);
    else
        whole_rows(held, row, a->cols, s.value, w, ld_w, vectors, c, ld_c);
}
