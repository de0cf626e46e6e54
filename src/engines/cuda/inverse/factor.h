/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_FACTOR_H
#define MPKI_CUDA_INVERSE_FACTOR_H
/** A finished factor on blocks of a device whose triangular solves are products with incomplete
 *  sparse approximate inverses: what engines/cpu/block_factor/inverse.h has for the processor, in
 *  the same form. */
#include "engines/interface/engine.h"
#include "engines/cuda/block_factor/kernels/store.h"

typedef struct mpki_isai_factor mpki_isai_factor;

/** Approximate inverses of the store's triangles.
 *  stages [in] whose factor it is; must outlive *f, as must the store unless *f suffices
 *  info  [out]
 *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE, _CANCELLED | MPK_ERR_ARGUMENT: a column is over
 *  options.isai_limit | MPK_ERR_NUMERIC: a column overflows. *f is NULL after a failure */
mpk_status mpki_isai_factor_make(mpk_context *ctx, const mpki_stages *stages,
                                 const mpki_cuda_store *store, mpki_isai_factor **f,
                                 mpk_isai_info *info);
void mpki_isai_factor_free(mpk_context *ctx, mpki_isai_factor **f);
/** Does it read nothing of the store? All pivot blocks are identities then, as where frames have
 *  one row. */
bool mpki_isai_factor_suffices(const mpki_isai_factor *f);
/** As mpki_block_engine.apply, a vector at a time. With both in device memory nothing waits for the
 *  device, nothing is allocated, and the call can be captured into a graph. */
mpk_status mpki_isai_factor_apply(mpki_isai_factor *f, mpk_part part, const void *b, void *x);

#endif
