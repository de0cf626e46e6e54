/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_ENGINE_H
#define MPKI_CUDA_ENGINE_H
/** The tables of backends/sparse.h that a CUDA device fills; engine.c gathers them. */
#include "../sparse.h"

extern const mpki_block_engine mpki_cuda_blocks; /* blocks.c */
/** A finished factor of it, as it lies on the device. */
const struct mpki_cuda_store *mpki_cuda_blocks_store(const mpki_blocks *f);
extern const mpki_vector_engine mpki_cuda_vectors; /* vectors.c */
/** Words of packed blocks in it. */
int64_t mpki_cuda_blocks_words(const mpki_blocks *f);
extern const mpki_direct_engine mpki_cuda_direct; /* direct.c */

#endif
