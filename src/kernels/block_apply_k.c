/* SPDX-License-Identifier: BSD-3-Clause */
/* Stored blocks times vectors: the body of the triangular solves. */
#include "block_isa.h"
#include "block_stored.h"

/* y (nrhs) -= a x (nrhs) */
INLINE void minus(int nrhs, T *y, T a, const T *x) {
    for (int r = 0; r < nrhs; r++) y[r] -= t_mul(a, x[r]);
}

void ISA_FN(block_apply)(const mpki_block *a, const T *x, int nrhs, T *y) {
    if (a->format == MPKI_EMPTY) return;
    FN(stored) s = FN(stored_of)(a);
    for (int r = 0; r < a->rows; r++) {
        if (!FN(stored_row)(&s, r)) continue;
        T *to = y + r * nrhs;
        if (!s.col_mask) {
            for (int k = 0; k < a->cols; k++) minus(nrhs, to, *s.value++, x + k * nrhs);
            continue;
        }
        for (int i = 0; i < s.col_words; i++)
            for (uint32_t bits = *s.col_mask++; bits; bits &= bits - 1)
                minus(nrhs, to, *s.value++, x + (32 * i + __builtin_ctz(bits)) * nrhs);
    }
}

void ISA_FN(block_apply_t)(const mpki_block *a, const T *x, int nrhs, int conjugate, T *y) {
    if (a->format == MPKI_EMPTY) return;
    FN(stored) s = FN(stored_of)(a);
    for (int r = 0; r < a->rows; r++) {
        if (!FN(stored_row)(&s, r)) continue;
        const T *from = x + r * nrhs;
        if (!s.col_mask) {
            for (int k = 0; k < a->cols; k++)
                minus(nrhs, y + k * nrhs, conj_if(conjugate, *s.value++), from);
            continue;
        }
        for (int i = 0; i < s.col_words; i++)
            for (uint32_t bits = *s.col_mask++; bits; bits &= bits - 1)
                minus(nrhs, y + (32 * i + __builtin_ctz(bits)) * nrhs,
                      conj_if(conjugate, *s.value++), from);
    }
}
