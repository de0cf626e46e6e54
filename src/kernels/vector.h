/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_VECTOR_H
#define MPKI_VECTOR_H
/** Vectors of the real type R, as wide as the target has them: what all kernels are written in. A
 * row of complex entries is a row of twice as many reals. */
#include "../core/precision.h"
#include <string.h>
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(MPKI_NEON)
#include <arm_neon.h>
#elif defined(MPKI_SVE)
#include <arm_sve.h>
#endif

#if defined(__AVX512F__) || defined(MPKI_SVE) || defined(MPKI_NEON)
#define REGISTERS 32
#else
#define REGISTERS 16
#endif
#if defined(__AVX512F__)
#define VBYTES 64
#define MV 3 /* vectors down a register tile */
#define NR 8 /* reals across a packed sliver */
#elif defined(__AVX2__)
#define VBYTES 32
#define MV 3
#define NR 4
#elif defined(MPKI_SVE) /* registers of 256 bits, as the compiler was told */
#define VBYTES 32
#define MV 3
#define NR 8
#elif defined(MPKI_NEON)
#define VBYTES 16
#define MV 3
#define NR 8
#else
#define VBYTES 16
#define MV 2
#define NR 4
#endif

#define LANES ((int)(VBYTES / sizeof(R)))
#define PARTS ((int)(sizeof(T) / sizeof(R))) /* reals in an entry: 1, or 2 for complex */
#define NC (NR / PARTS)                      /* entries across a packed sliver */
#define MR (MV * LANES / PARTS)              /* entries down a register tile */
#define INLINE static inline __attribute__((always_inline))
/* Of a function whose many copies, each with checks, take a sanitizer's compiler half a minute: it
 * is called there. */
#ifdef MPKI_SANITIZED
#define INLINE_FAST static inline
#else
#define INLINE_FAST INLINE
#endif

/* Before a loop of at most n turns, a number that is known once all is inlined: without it what it
 * holds would not be in registers. clang takes a count that is not the loop's for another wish. */
#if defined(__clang__)
#define UNROLL_TO(n) _Pragma("clang loop unroll(full)")
#else
#define UNROLL_TO(n) UNROLL_AS(GCC unroll n)
#define UNROLL_AS(text) _Pragma(#text)
#endif

typedef R vec __attribute__((vector_size(VBYTES)));
typedef R vec_u __attribute__((vector_size(VBYTES), aligned(sizeof(R)), may_alias));

INLINE vec v_load(const R *p) {
    return *(const vec_u *)p;
}
INLINE void v_store(R *p, vec x) {
    *(vec_u *)p = x;
}
INLINE vec v_all(R x) {
    return x - (vec){0};
}

/* The first `count` lanes; the other lanes are zero after a load, and untouched in memory by a
 * store. */
#if defined(__AVX512F__) && (MPKI_PRECISION == 1 || MPKI_PRECISION == 3)
INLINE vec v_load_n(const R *p, int count) {
    return (vec)_mm512_maskz_loadu_pd((__mmask8)((1u << count) - 1), p);
}
INLINE void v_store_n(R *p, vec x, int count) {
    _mm512_mask_storeu_pd(p, (__mmask8)((1u << count) - 1), (__m512d)x);
}
#elif defined(__AVX512F__)
INLINE vec v_load_n(const R *p, int count) {
    return (vec)_mm512_maskz_loadu_ps((__mmask16)((1u << count) - 1), p);
}
INLINE void v_store_n(R *p, vec x, int count) {
    _mm512_mask_storeu_ps(p, (__mmask16)((1u << count) - 1), (__m512)x);
}
#elif defined(MPKI_SVE)
#if MPKI_PRECISION == 1 || MPKI_PRECISION == 3
typedef svfloat64_t v_sve __attribute__((arm_sve_vector_bits(256)));
#define V_FIRST(count) svwhilelt_b64(0, count)
#else
typedef svfloat32_t v_sve __attribute__((arm_sve_vector_bits(256)));
#define V_FIRST(count) svwhilelt_b32(0, count)
#endif
INLINE vec v_load_n(const R *p, int count) {
    v_sve x = svld1(V_FIRST(count), p);
    return (vec)x;
}
INLINE void v_store_n(R *p, vec x, int count) {
    svst1(V_FIRST(count), p, (v_sve)x);
}
#else
#if defined(__AVX2__) && (MPKI_PRECISION == 1 || MPKI_PRECISION == 3)
INLINE vec v_load_n(const R *p, int count) {
    static const int64_t mask[8] = {-1, -1, -1, -1, 0, 0, 0, 0};
    return (vec)_mm256_maskload_pd(p, _mm256_loadu_si256((const __m256i *)(mask + 4 - count)));
}
#elif defined(__AVX2__)
INLINE vec v_load_n(const R *p, int count) {
    static const int32_t mask[16] = {-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0};
    return (vec)_mm256_maskload_ps(p, _mm256_loadu_si256((const __m256i *)(mask + 8 - count)));
}
#else
INLINE vec v_load_n(const R *p, int count) {
    vec x = {0};
    for (int k = 0; k < LANES; k++)
        if (k < count) x[k] = p[k];
    return x;
}
#endif
/* not AVX2's masked store, which is slower on some processors */
INLINE void v_store_n(R *p, vec x, int count) {
    for (int k = 0; k < LANES; k++)
        if (k < count) p[k] = x[k];
}
#endif

/* The larger, lane by lane; y where they do not compare (NaN). */
#if defined(__AVX512F__) && (MPKI_PRECISION == 1 || MPKI_PRECISION == 3)
INLINE vec v_max(vec x, vec y) {
    return (vec)_mm512_max_pd((__m512d)x, (__m512d)y);
}
#elif defined(__AVX512F__)
INLINE vec v_max(vec x, vec y) {
    return (vec)_mm512_max_ps((__m512)x, (__m512)y);
}
#elif defined(MPKI_SVE)
INLINE vec v_max(vec x, vec y) {
    v_sve z = svsel(svcmpgt(svptrue_b8(), (v_sve)x, (v_sve)y), (v_sve)x, (v_sve)y);
    return (vec)z;
}
#elif defined(MPKI_NEON)
INLINE vec v_max(vec x, vec y) {
    const __typeof__(x > y) more = x > y;
    return (vec)(((__typeof__(more))x & more) | ((__typeof__(more))y & ~more));
}
#else
INLINE vec v_max(vec x, vec y) {
    vec z;
    for (int k = 0; k < LANES; k++) z[k] = x[k] > y[k] ? x[k] : y[k];
    return z;
}
#endif
INLINE vec v_abs(vec x) {
    return v_max(x, -x);
}

#if MPKI_COMPLEX
/* (re, im) -> (-im, re) in every entry: multiplication by i */
INLINE vec v_times_i(vec x) {
#if VBYTES == 16 && MPKI_PRECISION == 3
    vec y = __builtin_shufflevector(x, x, 1, 0);
#elif VBYTES == 16 || (VBYTES == 32 && MPKI_PRECISION == 3)
    vec y = __builtin_shufflevector(x, x, 1, 0, 3, 2);
#elif VBYTES == 32 || (VBYTES == 64 && MPKI_PRECISION == 3)
    vec y = __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6);
#else
    vec y = __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14);
#endif
    vec sign;
    for (int k = 0; k < LANES; k++) sign[k] = k % 2 ? (R)1 : (R)-1;
    return y * sign;
}
#endif

#endif
