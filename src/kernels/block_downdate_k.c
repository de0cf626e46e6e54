/* SPDX-License-Identifier: BSD-3-Clause */
/* C -= A W with a stored A: the Schur complement's share of a pair of blocks. Whole rows of A go
 * through register tiles; a row with a bitmap keeps its row of C in registers over its bits. */
#include "block_isa.h"
#include "block_stored.h"
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

#if MPKI_COMPLEX
enum { BITS_NV = 4 };
#else
enum { BITS_NV = 8 };
#endif

/* a row of C in registers */
typedef struct row_sum {
    vec re[BITS_NV];
#if MPKI_COMPLEX
    vec im[BITS_NV];
#endif
} row_sum;

INLINE void start(const int nv, row_sum *sum, const T *c) {
#pragma GCC unroll 8
    for (int j = 0; j < nv; j++) {
        sum->re[j] = c ? v_load((const R *)c + j * LANES) : (vec){0};
#if MPKI_COMPLEX
        sum->im[j] = (vec){0};
#endif
    }
}

/* sum -= value times a row of W */
INLINE void minus_entry(const int nv, row_sum *sum, const T *value, const T *w) {
    vec re = v_all(t_re(*value));
#if MPKI_COMPLEX
    vec im = v_all(t_im(*value));
#endif
#pragma GCC unroll 8
    for (int j = 0; j < nv; j++) {
        vec x = v_load((const R *)w + j * LANES);
        sum->re[j] -= x * re;
#if MPKI_COMPLEX
        sum->im[j] -= x * im;
#endif
    }
}

/* row of C (nv vectors) -= its entries of A times rows of W; returns where the values end. A
 * narrow row has two sums in turn, or it would wait for its multiply-adds. */
INLINE const T *minus_bits(const int nv, const uint32_t *mask, int words, const T *value,
                           const T *w, int ld_w, T *c) {
    const int twice = nv * PARTS <= 2;
    row_sum sum, other;
    start(nv, &sum, c);
    if (twice) start(nv, &other, NULL);
    for (int i = 0; i < words; i++, w += 32 * ld_w)
        for (uint32_t bits = mask[i]; bits; bits &= bits - 1) {
            minus_entry(nv, &sum, value++, w + __builtin_ctz(bits) * ld_w);
            if (!twice) continue;
            bits &= bits - 1;
            if (!bits) break;
            minus_entry(nv, &other, value++, w + __builtin_ctz(bits) * ld_w);
        }
#pragma GCC unroll 8
    for (int j = 0; j < nv; j++) {
        vec x = sum.re[j];
        if (twice) x += other.re[j];
#if MPKI_COMPLEX
        x += v_times_i(twice ? sum.im[j] + other.im[j] : sum.im[j]);
#endif
        v_store((R *)c + j * LANES, x);
    }
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
                nv = 4; /* 5 to 7: 4, and the rest of them next */
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
    uint8_t row[256]; /* what a uint8_t can count, for the compiler */
    int held = FN(stored_rows)(&s, a->rows, row), vectors = (cols + ENTRIES - 1) / ENTRIES;
    if (s.col_mask)
        bitmap_rows(held, row, &s, w, ld_w, vectors, c, ld_c);
    else
        whole_rows(held, row, a->cols, s.value, w, ld_w, vectors, c, ld_c);
}
