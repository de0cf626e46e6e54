/* SPDX-License-Identifier: BSD-3-Clause */
/* Stored blocks: their sizes, and conversion between them and work blocks (Thuerck et al. 2018,
 * sec. IV.A: dense or sparse, whichever is smaller). Differences from the paper: a bitmap in place
 * of the indices, and a third form for blocks whose rows are whole or empty. */
#include "block_isa.h"
#include "block_mask.h"
#include "block_stored.h"

typedef struct counts {
    int rows, nonzeros;
} counts;

static counts count(int rows, int cols, const T *c, int ld) {
    counts all = {0, 0};
    for (int r = 0; r < rows; r++) {
        uint32_t mask[4] = {0};
        all.rows += row_bits(cols, c + r * ld, mask);
        for (int i = 0; i < (cols + 31) / 32; i++) all.nonzeros += __builtin_popcount(mask[i]);
    }
    return all;
}

static size_t bytes_of(counts n, int rows, int cols, int format) {
    int64_t values = format == MPKI_DENSE  ? (int64_t)rows * cols
                     : format == MPKI_ROWS ? (int64_t)n.rows * cols
                                           : n.nonzeros;
    if (format == MPKI_EMPTY) return 0;
    return mpki_block_mask_bytes(format, rows, cols, n.rows) + (size_t)values * sizeof(T);
}

size_t ISA_FN(block_bytes)(int rows, int cols, const T *c, int ld, int format) {
    return bytes_of(count(rows, cols, c, ld), rows, cols, format);
}

int ISA_FN(block_smallest)(int rows, int cols, const T *c, int ld, size_t *bytes) {
    static const int formats[] = {MPKI_DENSE, MPKI_ROWS, MPKI_BITMAP};
    counts n = count(rows, cols, c, ld);
    int best = MPKI_EMPTY;
    size_t least = 0;
    for (int f = 0; f < 3 && n.nonzeros > 0; f++) {
        size_t b = bytes_of(n, rows, cols, formats[f]);
        if (best == MPKI_EMPTY || b < least) best = formats[f], least = b;
    }
    if (bytes) *bytes = least;
    return best;
}

/* masks of the rows and of the columns in each row held; returns the rows held */
static int write_masks(int rows, int cols, const T *c, int ld, uint32_t *row_mask,
                       uint32_t *col_mask) {
    int words = (cols + 31) / 32, held = 0;
    memset(row_mask, 0, (size_t)((rows + 31) / 32) * 4);
    for (int r = 0; r < rows; r++) {
        uint32_t mask[4];
        if (!row_bits(cols, c + r * ld, mask)) continue;
        row_mask[r >> 5] |= (uint32_t)1 << (r & 31);
        if (col_mask) memcpy(col_mask + held * words, mask, (size_t)words * 4);
        held++;
    }
    return held;
}

void ISA_FN(block_pack)(int rows, int cols, const T *c, int ld, mpki_block *block) {
    block->rows = (uint8_t)rows, block->cols = (uint8_t)cols, block->scalar = MPKI_PRECISION;
    block->nnz = 0;
    if (block->format == MPKI_EMPTY) return;
    uint32_t *row_mask = (uint32_t *)block->data, *col_mask = NULL;
    T *value = (T *)block->data;
    if (block->format != MPKI_DENSE) {
        if (block->format == MPKI_BITMAP) col_mask = row_mask + (rows + 31) / 32;
        int held = write_masks(rows, cols, c, ld, row_mask, col_mask);
        value = (T *)((char *)block->data + mpki_block_mask_bytes(block->format, rows, cols, held));
    }
    const T *first = value;
    for (int r = 0; r < rows; r++) {
        const T *row = c + r * ld;
        if (block->format != MPKI_DENSE && !(row_mask[r >> 5] >> (r & 31) & 1)) continue;
        if (!col_mask) {
            memcpy(value, row, (size_t)cols * sizeof(T));
            value += cols;
            continue;
        }
        for (int i = 0; i < (cols + 31) / 32; i++)
            for (uint32_t bits = *col_mask++; bits; bits &= bits - 1)
                *value++ = row[32 * i + __builtin_ctz(bits)];
    }
    block->nnz = (int32_t)(value - first);
}

void ISA_FN(block_unpack)(const mpki_block *block, T *c, int ld) {
    int rows = block->rows, cols = block->cols;
    memset(c, 0, (size_t)rows * (size_t)ld * sizeof(T));
    if (block->format == MPKI_EMPTY) return;
    FN(stored) s = FN(stored_of)(block);
    for (int r = 0; r < rows; r++) {
        if (!FN(stored_row)(&s, r)) continue;
        T *to = c + r * ld;
        if (!s.col_mask) {
            memcpy(to, s.value, (size_t)cols * sizeof(T));
            s.value += cols;
            continue;
        }
        for (int i = 0; i < s.col_words; i++)
            for (uint32_t bits = *s.col_mask++; bits; bits &= bits - 1)
                to[32 * i + __builtin_ctz(bits)] = *s.value++;
    }
}
