/* SPDX-License-Identifier: BSD-3-Clause */
/* C -= A W with a stored A: the Schur complement's share of a pair of blocks. */
#include "block_isa.h"
#include "block_row.h"
#include "block_stored.h"

void ISA_FN(block_downdate)(const mpki_block *a, const T *w, int ld_w, int cols, T *c, int ld_c) {
    if (a->format == MPKI_EMPTY) return;
    FN(stored) s = FN(stored_of)(a);
    for (int r = 0; r < a->rows; r++) {
        if (!FN(stored_row)(&s, r)) continue;
        T *row = c + r * ld_c;
        if (!s.col_mask) {
            for (int k = 0; k < a->cols; k++) FN(row_minus)(0, cols, row, *s.value++, w + k * ld_w);
            continue;
        }
        for (int i = 0; i < s.col_words; i++)
            for (uint32_t bits = *s.col_mask++; bits; bits &= bits - 1)
                FN(row_minus)(0, cols, row, *s.value++, w + (32 * i + __builtin_ctz(bits)) * ld_w);
    }
}
