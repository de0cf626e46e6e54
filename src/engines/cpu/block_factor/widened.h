/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_WIDENED_H
#define MPKI_CPU_WIDENED_H
/** A factor in single precision that is applied to vectors in double: its numbers become double as
 *  they are read, so that an application is one linear operator, symmetric to rounding in double,
 *  where sums and results in single precision are rounded anew in each. For files on T. */
#include "engines/cpu/isa/single.h"
#include "kernels/blocks.h"

/** Entry k of an array of T, or of its single precision. */
static inline T widened_at(const bool single, const void *a, int64_t k) {
    return single ? (T)((const single_entry *)a)[k] : ((const T *)a)[k];
}

/** `count` entries. */
static inline void widen(int64_t count, const void *from, T *to) {
    const single_entry *const x = from;
    for (int64_t k = 0; k < count; k++) to[k] = (T)x[k];
}

/** Memory for a block in double. */
typedef struct widened_block {
    mpki_block block;
    _Alignas(64) char data[MPKI_BLOCK_MAX * MPKI_BLOCK_MAX * sizeof(T) +
                           (MPKI_BLOCK_MAX + 1) * MPKI_BLOCK_MAX / 8 + 64];
} widened_block;

/** The same from bfloat16, whose bits are the upper half of a float's. */
static inline void widen_bf16(int64_t count, const void *from, T *to) {
    const uint16_t *const x = from;
    R *const y = (R *)(void *)to;
    for (int64_t k = 0; k < count * (MPKI_COMPLEX ? 2 : 1); k++) y[k] = (R)mpki_bf16_to(x[k]);
}

/** The stored block b, or a copy of it in T where it is narrower. narrow: some are */
static inline const mpki_block *widened_block_of(bool narrow, const mpki_block *b,
                                                 widened_block *to) {
    const uint32_t *mask = b->data;
    int held = 0;
    if (!narrow || b->format == MPKI_EMPTY || b->scalar == MPKI_PRECISION) return b;
    for (int k = 0; b->format != MPKI_DENSE && k < (b->rows + 31) / 32; k++)
        held += __builtin_popcount(mask[k]);
    const size_t bytes = mpki_block_mask_bytes(b->format, b->rows, b->cols, held);
    to->block = *b;
    to->block.data = to->data;
    to->block.scalar = MPKI_PRECISION;
    for (size_t k = 0; k < bytes / 4; k++) ((uint32_t *)(void *)to->data)[k] = mask[k];
    const char *const values = (const char *)b->data + bytes;
    if (b->scalar >= MPKI_BF16)
        widen_bf16(b->nnz, values, (T *)(void *)(to->data + bytes));
    else
        widen(b->nnz, values, (T *)(void *)(to->data + bytes));
    return &to->block;
}

#endif
