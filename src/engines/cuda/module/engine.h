/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MODULE_ENGINE_H
#define MPKI_CUDA_MODULE_ENGINE_H
/** The tables of engines/interface/engine.h that a CUDA device fills; engine.c gathers them. */
#include "engines/interface/engine.h"

extern const mpki_block_engine mpki_cuda_blocks; /* blocks.c */
/** A finished factor of it, as it lies on the device. */
const struct mpki_cuda_store *mpki_cuda_blocks_store(const mpki_blocks *f);
extern const mpki_vector_engine mpki_cuda_vectors; /* vectors.c */
/** A of that engine, as it lies on the device. */
typedef struct mpki_cuda_arrays {
    const int64_t *ptr;
    const int32_t *col;
    const void *val;
} mpki_cuda_arrays;
mpki_cuda_arrays mpki_cuda_matrix_arrays(const mpki_matrix *m);
int64_t mpki_cuda_matrix_bytes(const mpki_matrix *m);
/** Words of packed blocks in it. */
int64_t mpki_cuda_blocks_words(const mpki_blocks *f);
extern const mpki_direct_engine mpki_cuda_direct; /* direct.c */
/** What mpki_device_prepare() makes, on the device that ctx has open. A failure is recorded, and then there is
 *  nothing. */
void mpki_cuda_direct_prepare(mpk_context *ctx, const mpki_tree_view *tree, double limit);

#endif
