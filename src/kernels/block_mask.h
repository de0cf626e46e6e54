/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_MASK_H
#define MPKI_BLOCK_MASK_H
/** Which entries of a vector are not zero, as bits. */
#include "block_row.h"

/** Bit k is set where entry k of x is not zero (NaN is not zero). */
INLINE uint32_t v_nonzero(vec x) {
#if VBYTES == 64 && (MPKI_PRECISION == 1 || MPKI_PRECISION == 3)
    uint32_t m = _mm512_cmp_pd_mask((__m512d)x, _mm512_setzero_pd(), _CMP_NEQ_UQ);
#elif VBYTES == 64
    uint32_t m = _mm512_cmp_ps_mask((__m512)x, _mm512_setzero_ps(), _CMP_NEQ_UQ);
#elif defined(__AVX2__) && (MPKI_PRECISION == 1 || MPKI_PRECISION == 3)
    uint32_t m =
        (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd((__m256d)x, _mm256_setzero_pd(), _CMP_NEQ_UQ));
#elif defined(__AVX2__)
    uint32_t m =
        (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps((__m256)x, _mm256_setzero_ps(), _CMP_NEQ_UQ));
#elif defined(MPKI_NEON) && (MPKI_PRECISION == 1 || MPKI_PRECISION == 3)
    uint32_t m = (uint32_t)vaddvq_u64((uint64x2_t)(x != 0) & (uint64x2_t){1, 2});
#elif defined(MPKI_NEON)
    uint32_t m = vaddvq_u32((uint32x4_t)(x != 0) & (uint32x4_t){1, 2, 4, 8});
#else
    uint32_t m = 0;
    for (int k = 0; k < LANES; k++) m |= (uint32_t)(x[k] != 0) << k;
#endif
#if MPKI_COMPLEX /* one bit of every two */
    m = (m | m >> 1) & 0x5555;
    m = (m | m >> 1) & 0x3333;
    m = (m | m >> 2) & 0x0f0f;
    m = (m | m >> 4) & 0x00ff;
#endif
    return m;
}

/** Masks of a row of `cols` entries of a work block, whose padding is zero. Returns whether any bit
 * is set. */
INLINE int row_bits(int cols, const T *row, uint32_t mask[4]) {
    uint32_t any = 0;
    for (int k = 0; k < cols; k += 32) {
        uint32_t bits = 0;
        for (int j = k; j < k + 32 && j < cols; j += ENTRIES)
            bits |= v_nonzero(v_load((const R *)(row + j))) << (j - k);
        mask[k / 32] = bits;
        any |= bits;
    }
    return any != 0;
}

#endif
