/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_BITS_H
#define MPKI_BLOCK_BITS_H
/** A row with a bitmap times a block W of whole vectors; the sum stays in registers. */
#include "block_row.h"
#include "block_stored.h"

/** Vectors across at most. */
#if MPKI_COMPLEX
enum { BITS_NV = 4 };
#else
enum { BITS_NV = 8 };
#endif

typedef struct row_sum {
    vec re[BITS_NV];
#if MPKI_COMPLEX
    vec im[BITS_NV];
#endif
} row_sum;

INLINE void bits_zero(const int nv, row_sum *sum) {
#pragma GCC unroll 8
    for (int j = 0; j < nv; j++) {
        sum->re[j] = (vec){0};
#if MPKI_COMPLEX
        sum->im[j] = (vec){0};
#endif
    }
}

/* sum += value times a row of W */
INLINE void bits_entry(const int nv, row_sum *sum, const T *value, const T *w) {
    vec re = v_all(((const R *)value)[0]);
#if MPKI_COMPLEX
    vec im = v_all(((const R *)value)[1]);
#endif
#pragma GCC unroll 8
    for (int j = 0; j < nv; j++) {
        vec x = v_load((const R *)w + j * LANES);
        sum->re[j] += x * re;
#if MPKI_COMPLEX
        sum->im[j] += x * im;
#endif
    }
}

/** *sum = the row's entries times rows of W (nv vectors, ld_w). Returns where the values end. A
 * narrow row uses two sums in turn, so that it need not wait for each multiply-add. */
INLINE const T *bits_sum(const int nv, const uint32_t *mask, int words, const T *value, const T *w,
                         int64_t ld_w, row_sum *sum) {
    const int twice = nv * PARTS <= 2;
    row_sum other;
    bits_zero(nv, sum);
    if (twice) bits_zero(nv, &other);
    for (int i = 0; i < words; i++, w += 32 * ld_w)
        for (uint32_t bits = mask[i]; bits; bits &= bits - 1) {
            bits_entry(nv, sum, value++, w + __builtin_ctz(bits) * ld_w);
            if (!twice) continue;
            bits &= bits - 1;
            if (!bits) break;
            bits_entry(nv, &other, value++, w + __builtin_ctz(bits) * ld_w);
        }
#pragma GCC unroll 8
    for (int j = 0; j < nv && twice; j++) {
        sum->re[j] += other.re[j];
#if MPKI_COMPLEX
        sum->im[j] += other.im[j];
#endif
    }
    return value;
}

/** Vector j of the sum. */
INLINE vec bits_at(const row_sum *sum, int j) {
#if MPKI_COMPLEX
    return sum->re[j] + v_times_i(sum->im[j]);
#else
    return sum->re[j];
#endif
}

#endif
