/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_EXPAND_H
#define MPKI_BLOCK_EXPAND_H
/** Entries of a row with a bitmap into a vector, with zeros where bits are not set; by a
 * permutation from a table. The instructions made for this take 8 cycles on some processors, the
 * permutation about 2. */
#include "block_turn.h"

#if defined(__AVX2__)
#define EXPANDS 1

/* index of entry k of 8 among those whose bits are set */
#define PLACE(b, k) (uint8_t) __builtin_popcount((unsigned)(b) & ((1u << (k)) - 1))
#define PLACES(b)                                                                                  \
    {                                                                                              \
        PLACE(b, 0), PLACE(b, 1), PLACE(b, 2), PLACE(b, 3), PLACE(b, 4), PLACE(b, 5), PLACE(b, 6), \
            PLACE(b, 7)                                                                            \
    }
#define PLACES4(b) PLACES(b), PLACES((b) + 1), PLACES((b) + 2), PLACES((b) + 3)
#define PLACES16(b) PLACES4(b), PLACES4((b) + 4), PLACES4((b) + 8), PLACES4((b) + 12)
#define PLACES64(b) PLACES16(b), PLACES16((b) + 16), PLACES16((b) + 32), PLACES16((b) + 48)
/* the same of 4 entries of two words each, and of 2 entries of four */
#define PAIR(b, k) (uint8_t)(2 * PLACE(b, k)), (uint8_t)(2 * PLACE(b, k) + 1)
#define PAIRS(b)                                                                                   \
    { PAIR(b, 0), PAIR(b, 1), PAIR(b, 2), PAIR(b, 3) }
#define PAIRS4(b) PAIRS(b), PAIRS((b) + 1), PAIRS((b) + 2), PAIRS((b) + 3)
#define FOUR(b, k)                                                                                 \
    (uint8_t)(4 * PLACE(b, k)), (uint8_t)(4 * PLACE(b, k) + 1), (uint8_t)(4 * PLACE(b, k) + 2),    \
        (uint8_t)(4 * PLACE(b, k) + 3)
#define FOURS(b)                                                                                   \
    { FOUR(b, 0), FOUR(b, 1) }

#if MPKI_PRECISION == 0 || (VBYTES == 64 && MPKI_PRECISION != 3)
static const uint8_t expand_place[256][8] = {PLACES64(0), PLACES64(64), PLACES64(128),
                                             PLACES64(192)};
#elif VBYTES == 64 || MPKI_PRECISION != 3
static const uint8_t expand_place[16][8] = {PAIRS4(0), PAIRS4(4), PAIRS4(8), PAIRS4(12)};
#else
static const uint8_t expand_place[4][8] = {FOURS(0), FOURS(1), FOURS(2), FOURS(3)};
#endif

INLINE __m128i expand_bytes(uint32_t bits) {
    return _mm_loadl_epi64((const __m128i *)(const void *)expand_place[bits]);
}

/** TURN entries with `bits`; values end at `end`. */
INLINE vec expand(uint32_t bits, const T *value, const T *end) {
    int left = (int)(end - value);
    const R *from = (const R *)value;
    vec x = left >= TURN ? v_load(from) : v_load_n(from, left * PARTS);
#if VBYTES == 64 && MPKI_PRECISION == 0
    __m128i low = expand_bytes(bits & 255), high = expand_bytes(bits >> 8);
    high = _mm_add_epi8(high, _mm_set1_epi8((char)__builtin_popcount(bits & 255)));
    __m512i place = _mm512_cvtepu8_epi32(_mm_unpacklo_epi64(low, high));
    return (vec)_mm512_maskz_permutexvar_ps((__mmask16)bits, place, (__m512)x);
#elif VBYTES == 64
    __m512i place = _mm512_cvtepu8_epi64(expand_bytes(bits));
#if MPKI_PRECISION == 3
    bits = ((bits & 1) | (bits & 2) << 1 | (bits & 4) << 2 | (bits & 8) << 3) * 3;
#endif
    return (vec)_mm512_maskz_permutexvar_pd((__mmask8)bits, place, (__m512d)x);
#else
    const int words = (int)(sizeof(T) / 4); /* of 32 bits in an entry */
    __m256i place = _mm256_cvtepu8_epi32(expand_bytes(bits));
    __m256i bit = _mm256_setr_epi32(1, 1 << 1 / words, 1 << 2 / words, 1 << 3 / words,
                                    1 << 4 / words, 1 << 5 / words, 1 << 6 / words, 1 << 7 / words);
    __m256i set = _mm256_and_si256(_mm256_set1_epi32((int)bits), bit);
    __m256i y = _mm256_permutevar8x32_epi32((__m256i)x, place);
    return (vec)_mm256_and_si256(y, _mm256_cmpeq_epi32(set, bit));
#endif
}

#else
#define EXPANDS 0
#endif
#endif
