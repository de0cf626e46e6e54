/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BATCH_EMITTED_H
#define MPKI_CPU_BATCH_EMITTED_H
/** The kernels that borgc made at build time from src/kernels/cl, each for one order and one
 * instruction set (cmake/borg-kernels.cmake); products for real entries only. MPKI_BORG_avx512 is
 * defined where there are any for AVX-512, MPKI_BORG_avx2 likewise. */
#include "engines/cpu/isa/level.h"
#include "kernels.h"

/** C -= A B for square matrices first .. last-1 of the order that it was made for. */
typedef void (*FN(batch_product_fn))(int64_t first, int64_t last, T *c, int32_t ldc,
                                     int64_t stride_c, const T *a, int32_t lda, int64_t stride_a,
                                     const T *b, int32_t ldb, int64_t stride_b);

/** The largest leading dimension: the kernels index with 32 bits. */
enum { FN(batch_emitted_ld) = 1 << 24 };

#ifdef MPKI_BORG_avx512
#if !MPKI_COMPLEX
extern const FN(batch_product_fn) FN(borg_avx512_product)[MPK_BATCH_MAX_N + 1];
#endif
extern const FN(batch_factor_fn) /* [1]: Hermitian */
    FN(borg_avx512)[1 + MPKI_COMPLEX][MPKI_BATCH_METHODS][MPK_PIVOTING_COUNT][MPK_BATCH_MAX_N + 1];
#endif
#ifdef MPKI_BORG_avx2
#if !MPKI_COMPLEX
extern const FN(batch_product_fn) FN(borg_avx2_product)[MPK_BATCH_MAX_N + 1];
#endif
extern const FN(batch_factor_fn)
    FN(borg_avx2)[1 + MPKI_COMPLEX][MPKI_BATCH_METHODS][MPK_PIVOTING_COUNT][MPK_BATCH_MAX_N + 1];
#endif

/** The factorization for this order and this processor, or NULL. */
static inline FN(batch_factor_fn)
    FN(batch_emitted_factor)(mpk_batch_method method, mpk_pivoting pivoting, int n,
                             bool hermitian) {
    FN(batch_factor_fn) found = NULL;
    const int which = MPKI_COMPLEX && hermitian;
    (void)method, (void)pivoting, (void)n, (void)which;
#ifdef MPKI_BORG_avx512
    if (mpki_cpu_level() >= 2) found = FN(borg_avx512)[which][method][pivoting][n];
#endif
#ifdef MPKI_BORG_avx2
    if (!found && mpki_cpu_level() >= 1) found = FN(borg_avx2)[which][method][pivoting][n];
#endif
    return found;
}

/** The product for this order and this processor, or NULL. */
static inline FN(batch_product_fn) FN(batch_emitted_product)(int n) {
    FN(batch_product_fn) found = NULL;
    (void)n;
#if !MPKI_COMPLEX
#ifdef MPKI_BORG_avx512
    if (mpki_cpu_level() >= 2) found = FN(borg_avx512_product)[n];
#endif
#ifdef MPKI_BORG_avx2
    if (!found && mpki_cpu_level() >= 1) found = FN(borg_avx2_product)[n];
#endif
#endif
    return found;
}

#endif
