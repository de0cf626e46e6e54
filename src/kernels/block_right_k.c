/* SPDX-License-Identifier: BSD-3-Clause */
/* D B^T (D B^H) of a stored block: the right factor of its downdates. */
#include "block_isa.h"
#include "block_row.h"
#include "block_stored.h"
#include "block_turn.h"

/* w := the transpose of whole rows; at[r]: row r of B, or NULL where it is empty */
static void turn_rows(int rows, int k, const T *const *at, int hermitian, T *w, int ld) {
    for (int r = 0; r < rows; r += TURN)
        for (int j = 0; j < k; j += TURN) {
            int left = k - j;
            vec v[LANES_MAX];
#pragma GCC unroll 16
            for (int i = 0; i < TURN; i++) {
                const R *from = r + i < rows && at[r + i] ? (const R *)(at[r + i] + j) : NULL;
                v[i] = !from          ? (vec){0}
                       : left >= TURN ? v_load(from)
                                      : v_load_n(from, left * PARTS);
                v[i] = FN(v_conj_if)(hermitian, v[i]);
            }
            turn(v);
#pragma GCC unroll 16
            for (int i = 0; i < TURN; i++)
                if (i < left) v_store((R *)(w + (j + i) * ld + r), v[i]);
        }
    int first = (rows + TURN - 1) / TURN * TURN; /* the rest of the padding */
    for (int j = 0; j < k && first < ld; j++)
        memset(w + j * ld + first, 0, (size_t)(ld - first) * sizeof(T));
}

static void turn_bits(const FN(stored) * s, int rows, int k, int hermitian, T *w, int ld) {
    const T *value = s->value;
    const uint32_t *mask = s->col_mask;
    memset(w, 0, (size_t)k * (size_t)ld * sizeof(T));
    for (int r = 0; r < rows; r++) {
        if (!FN(stored_row)(s, r)) continue;
        for (int i = 0; i < s->col_words; i++)
            for (uint32_t bits = *mask++; bits; bits &= bits - 1)
                w[(32 * i + __builtin_ctz(bits)) * ld + r] = conj_if(hermitian, *value++);
    }
}

/* w := D w */
static void scale(int k, const T *d, int hermitian, T *w, int ld) {
    for (int j = 0; j < k; j++) {
        T *x = w + j * ld, *y = x + ld, d11 = d[2 * j], d21 = d[2 * j + 1];
        if (j + 1 < k && t_abs1(d21) > 0) {
            T d12 = conj_if(hermitian, d21), d22 = d[2 * j + 2];
            for (int r = 0; r < ld; r += ENTRIES) {
                vec a = v_load((R *)(x + r)), b = v_load((R *)(y + r));
                v_store((R *)(x + r), FN(v_scaled)(a, d11) + FN(v_scaled)(b, d12));
                v_store((R *)(y + r), FN(v_scaled)(a, d21) + FN(v_scaled)(b, d22));
            }
            j++;
        } else
            for (int r = 0; r < ld; r += ENTRIES)
                v_store((R *)(x + r), FN(v_scaled)(v_load((R *)(x + r)), d11));
    }
}

void ISA_FN(block_right)(const mpki_block *b, const T *d, int hermitian, T *w, int ld) {
    int rows = b->rows, k = b->cols;
    if (b->format == MPKI_EMPTY) {
        memset(w, 0, (size_t)k * (size_t)ld * sizeof(T));
        return;
    }
    FN(stored) s = FN(stored_of)(b);
    if (s.col_mask)
        turn_bits(&s, rows, k, hermitian, w, ld);
    else {
        const T *at[256], *value = s.value; /* all that a uint8_t can count */
        for (int r = 0; r < rows; r++) {
            int held = FN(stored_row)(&s, r);
            at[r] = held ? value : NULL;
            value += held ? k : 0;
        }
        turn_rows(rows, k, at, hermitian, w, ld);
    }
    if (d) scale(k, d, hermitian, w, ld);
}
