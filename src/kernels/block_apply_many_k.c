/* SPDX-License-Identifier: BSD-3-Clause */
/* Stored blocks times several vectors, vectorised over the right-hand sides. */
#include "block_bits.h"
#include "block_isa.h"
#include "block_many.h"

static void bits_strip(int nv, int held, const uint8_t *row, const FN(stored) * s, const T *xs,
                       T *y, int nrhs, int wide) {
    const T *value = s->value;
    for (int h = 0; h < held; h++) {
        const uint32_t *mask = s->col_mask + h * s->col_words;
        row_sum sum;
#define SUM(n)                                                                                     \
    value = bits_sum(n, mask, s->col_words, value, xs, n * TURN, &sum);                            \
    for (int j = 0; j < n; j++) many_minus(y + row[h] * nrhs, j, wide, bits_at(&sum, j))
        switch (nv) {
        case 1:
            SUM(1);
            break;
        case 2:
            SUM(2);
            break;
        case 3:
            SUM(3);
            break;
        default:
            SUM(4);
            break;
        }
#undef SUM
    }
}

void ISA_FN(block_apply_many)(const mpki_block *a, const T *x, int nrhs, T *y) {
    FN(stored) s = FN(stored_of)(a);
    uint8_t row[256];
    int held = FN(stored_rows)(&s, a->rows, row), cols = a->cols;
    many_block xs;
    for (int r = 0, wide; r < nrhs; r += wide) {
        wide = nrhs - r < TILE_NV * TURN ? nrhs - r : TILE_NV * TURN;
        int nv = many_copy(cols, NULL, x + r, nrhs, wide, 0, &xs);
        if (s.col_mask)
            bits_strip(nv, held, row, &s, xs.x, y + r, nrhs, wide);
        else
            many_dots(nv, held, row, cols, s.value, cols, &xs, y + r, nrhs, wide, 0);
    }
}

void ISA_FN(block_apply_many_t)(const mpki_block *a, const T *x, int nrhs, int conjugate, T *y) {
    FN(stored) s = FN(stored_of)(a);
    uint8_t row[256];
    int held = FN(stored_rows)(&s, a->rows, row), cols = a->cols;
    many_block xs, ys;
    for (int r = 0, wide; r < nrhs; r += wide) {
        wide = nrhs - r < TILE_NV * TURN ? nrhs - r : TILE_NV * TURN;
        int nv = many_copy(held, row, x + r, nrhs, wide, conjugate, &xs);
        memset(ys.x, 0, (size_t)(cols * nv) * sizeof(vec));
        if (s.col_mask) {
            const T *value = s.value;
            const uint32_t *mask = s.col_mask;
            for (int h = 0; h < held; h++)
                for (int i = 0; i < s.col_words; i++)
                    for (uint32_t bits = *mask++; bits; bits &= bits - 1)
                        many_add(nv, value++, xs.x + h * nv * TURN,
                                 ys.x + (32 * i + __builtin_ctz(bits)) * nv * TURN);
        } else
            many_combine(nv, held, cols, s.value, cols, &xs, &ys);
        for (int k = 0; k < cols; k++)
            for (int j = 0; j < nv; j++)
                many_minus(y + k * nrhs + r, j, wide,
                           FN(v_conj_if)(conjugate, v_load((R *)(ys.x + (k * nv + j) * TURN))));
    }
}
