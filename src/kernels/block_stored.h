/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_STORED_H
#define MPKI_BLOCK_STORED_H
/** Where the parts of a stored block lie, and the walk over its rows. */
#include "blocks.h"
#include "vector.h"

typedef struct FN(stored) {
    const uint32_t *row_mask; /* row_words; NULL: dense, every row is held */
    const uint32_t *col_mask; /* col_words for each row held; NULL: rows are whole */
    const T *value;
    int row_words, col_words;
} FN(stored);

INLINE FN(stored) FN(stored_of)(const mpki_block *b) {
    FN(stored) s = {NULL, NULL, (const T *)b->data, (b->rows + 31) / 32, (b->cols + 31) / 32};
    if (b->format == MPKI_DENSE) return s;
    int held = 0;
    s.row_mask = (const uint32_t *)b->data;
    for (int i = 0; i < s.row_words; i++) held += __builtin_popcount(s.row_mask[i]);
    if (b->format == MPKI_BITMAP) s.col_mask = s.row_mask + s.row_words;
    s.value = (const T *)((const char *)b->data +
                          mpki_block_mask_bytes(b->format, b->rows, b->cols, held));
    return s;
}

/** The rows held, in order; returns how many. row: 256. */
INLINE int FN(stored_rows)(const FN(stored) * s, int rows, uint8_t *row) {
    int held = 0;
    if (!s->row_mask) {
        for (; held < rows; held++) row[held] = (uint8_t)held;
        return held;
    }
    for (int i = 0; i < s->row_words; i++)
        for (uint32_t bits = s->row_mask[i]; bits; bits &= bits - 1)
            row[held++] = (uint8_t)(32 * i + __builtin_ctz(bits));
    return held;
}

/** Is row r held? */
INLINE int FN(stored_row)(const FN(stored) * s, int r) {
    return !s->row_mask || (s->row_mask[r >> 5] >> (r & 31) & 1);
}

#endif
