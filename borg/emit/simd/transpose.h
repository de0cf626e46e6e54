/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BORG_EMIT_SIMD_TRANSPOSE_H
#define BORG_EMIT_SIMD_TRANSPOSE_H
/** transpose.c: transposes between work-items side by side in memory and groups in registers. */
#include "borg/emit/simd/core.h"

/** Lane g of x[w] is work-item w at address at[g] (text), g and w below `lanes`. bits: the
 * work-items that exist (stores: at each address); for others x may be anything, and memory is not
 * touched. */
void simd_load_transposed(simd *e, borg_type type, const char *const *at, uint64_t bits,
                          const char **x);
void simd_store_transposed(simd *e, borg_type type, const char *const *at, const uint64_t *bits,
                           const char *const *x);
/** Can the target do that with these bits? */
bool simd_transposes(const simd *e, borg_type type, uint64_t bits);

#endif
