/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_CUDA_UNPACK_H
#define BENCH_CUDA_UNPACK_H
/** Blocks of the processor's factors as dense ones. */
#include "engines/cpu/block_factor/block_factor.h"
#include <complex.h>

static inline double complex number(mpk_scalar scalar, const void *x, int64_t k) {
    return scalar == MPK_S   ? (double complex)((const float *)x)[k]
           : scalar == MPK_D ? (double complex)((const double *)x)[k]
           : scalar == MPK_C ? (double complex)((const float complex *)x)[k]
                             : ((const double complex *)x)[k];
}

/** By rows, rows x cols, at most 32 each. */
static inline void unpack_cpu(const mpki_block *b, int cols, int rows, double complex *c) {
    for (int k = 0; k < rows * cols; k++) c[k] = 0;
    if (b->format == MPKI_EMPTY) return;
    const uint32_t *mask = b->data, all = ~UINT32_C(0);
    const uint32_t held = b->format == MPKI_DENSE ? all : mask[0];
    const int count = __builtin_popcount(held & (rows < 32 ? (1u << rows) - 1 : all));
    const void *value = (const char *)b->data + mpki_block_mask_bytes(b->format, rows, cols, count);
    const uint32_t *bits = mask + 1;
    int64_t v = 0;
    for (int r = 0; r < rows; r++) {
        if (!(held >> r & 1)) continue;
        const uint32_t m = b->format == MPKI_BITMAP ? *bits++ : all;
        for (int j = 0; j < cols; j++)
            if (m >> j & 1) c[r * cols + j] = number((mpk_scalar)b->scalar, value, v++);
    }
}

#endif
