/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BATCH_CERTIFY_H
#define MPKI_BATCH_CERTIFY_H
/** ax [out] n (n + 1) / 2: the lower triangle of matrix b of x, in host memory, by columns. */
#include <metapack/batch.h>

void mpki_s_batch_pack(const mpk_batch_array *x, int64_t b, int32_t n, void *ax);
void mpki_d_batch_pack(const mpk_batch_array *x, int64_t b, int32_t n, void *ax);
void mpki_c_batch_pack(const mpk_batch_array *x, int64_t b, int32_t n, void *ax);
void mpki_z_batch_pack(const mpk_batch_array *x, int64_t b, int32_t n, void *ax);

#endif
