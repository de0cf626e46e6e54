/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BATCH_CERTIFY_H
#define MPKI_BATCH_CERTIFY_H
/** What a certificate of a batch needs besides solves. */
#include "../core/core.h"
#include <metapack/batch.h>

/** ax [out] n (n + 1) / 2: the lower triangle of matrix b of x, in host memory, by columns. */
void mpki_s_batch_pack(const mpk_batch_array *x, int64_t b, int32_t n, void *ax);
void mpki_d_batch_pack(const mpk_batch_array *x, int64_t b, int32_t n, void *ax);
void mpki_c_batch_pack(const mpk_batch_array *x, int64_t b, int32_t n, void *ax);
void mpki_z_batch_pack(const mpk_batch_array *x, int64_t b, int32_t n, void *ax);

/** Copies in host memory of an array in the device's, batch->count > 0 and n > 0; to be released.
 *  NULL: MPK_ERR_MEMORY or _DEVICE is recorded.
 *  here [out] the same matrices in the copy */
void *mpki_batch_bring(mpk_context *ctx, const mpk_batch *batch, const mpk_batch_array *x,
                       mpk_batch_array *here);
/** Likewise n pivots for each matrix. */
int32_t *mpki_batch_bring_pivots(mpk_context *ctx, const mpk_batch *batch, const int32_t *pivots);

#endif
