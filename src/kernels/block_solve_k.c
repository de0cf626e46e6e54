/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks below a pivot: C M^T D^-1, and D B^T for their downdates. */
#include "block_isa.h"
#include "block_row.h"
#include "block_stored.h"

/* row := row D^-1 (or row D) */
static void times_diagonal(int w, T *row, const T *e, int hermitian) {
    for (int k = 0; k < w; k++) {
        if (k + 1 < w && t_abs1(e[2 * k + 1]) > 0) {
            T x = row[k], y = row[k + 1], e21 = e[2 * k + 1];
            row[k] = t_mul(x, e[2 * k]) + t_mul(y, e21);
            row[k + 1] = t_mul(x, conj_if(hermitian, e21)) + t_mul(y, e[2 * k + 2]);
            k++;
        } else
            row[k] = t_mul(row[k], e[2 * k]);
    }
}

R ISA_FN(block_solve)(int rows, int w, T *c, int ld, const T *m, int ld_m, const T *dinv,
                      int hermitian, T *work, R *norm2) {
    R largest = 0;
    (void)work;
    for (int r = 0; r < rows; r++) {
        T y[MPKI_BLOCK_MAX], *row = c + r * ld;
        for (int k = 0; k < w; k++) {
            T sum = t_make(0, 0);
            for (int j = 0; j < w; j++) sum += t_mul(row[j], conj_if(hermitian, m[k * ld_m + j]));
            y[k] = sum;
        }
        times_diagonal(w, y, dinv, hermitian);
        for (int k = 0; k < w; k++) {
            R re = t_re(y[k]), im = t_im(y[k]), x = t_abs(y[k]);
            row[k] = y[k];
            norm2[k] += re * re + im * im;
            largest = x > largest || x != x ? x : largest;
        }
    }
    return largest;
}

void ISA_FN(block_right)(const mpki_block *b, const T *d, int hermitian, T *w, int ld) {
    int rows = b->rows, k = b->cols;
    memset(w, 0, (size_t)k * (size_t)ld * sizeof(T));
    if (b->format == MPKI_EMPTY) return;
    FN(stored) s = FN(stored_of)(b);
    for (int r = 0; r < rows; r++) {
        T y[MPKI_BLOCK_MAX] = {0};
        if (!FN(stored_row)(&s, r)) continue;
        if (!s.col_mask) {
            memcpy(y, s.value, (size_t)k * sizeof(T));
            s.value += k;
        } else
            for (int i = 0; i < s.col_words; i++)
                for (uint32_t bits = *s.col_mask++; bits; bits &= bits - 1)
                    y[32 * i + __builtin_ctz(bits)] = *s.value++;
        for (int j = 0; j < k; j++) y[j] = conj_if(hermitian, y[j]);
        /* column r of D B^H is D conj(row r); as a row: row D^T */
        for (int j = 0; d && j < k; j++) {
            if (j + 1 < k && t_abs1(d[2 * j + 1]) > 0) {
                T x = y[j], z = y[j + 1], d21 = d[2 * j + 1];
                y[j] = t_mul(d[2 * j], x) + t_mul(conj_if(hermitian, d21), z);
                y[j + 1] = t_mul(d21, x) + t_mul(d[2 * j + 2], z);
                j++;
            } else
                y[j] = t_mul(d[2 * j], y[j]);
        }
        for (int j = 0; j < k; j++) w[j * ld + r] = y[j];
    }
}
