/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_LAUNCH_CUH
#define MPKI_CUDA_BLOCK_FACTOR_LAUNCH_CUH
/** The parts of the table that depend on the kind of entries; see blocks.h. */
#include "engines/cuda/module/runtime.cuh"
#include "block_factor.h"

#define MPKI_CUDA_BLOCKS_OF(p)                                                                     \
    int64_t mpki_##p##_cuda_blocks_stride(const mpki_cuda_stage *b);                               \
    int64_t mpki_##p##_cuda_blocks_sum_bytes(void);                                                \
    mpk_status mpki_##p##_cuda_blocks_place(mpki_cuda *cuda, const mpki_cuda_stage *b);            \
    mpk_status mpki_##p##_cuda_blocks_run(mpki_cuda *cuda, const mpki_cuda_stage *b,               \
                                          int32_t begin, int32_t end);                             \
    mpk_status mpki_##p##_cuda_blocks_start(mpki_cuda *cuda, const mpki_cuda_stage *b);            \
    mpk_status mpki_##p##_cuda_blocks_norm(mpki_cuda *cuda, const mpki_cuda_stage *b,              \
                                           double *norm);                                          \
    mpk_status mpki_##p##_cuda_blocks_sum(mpki_cuda *cuda, const mpki_cuda_stage *b,               \
                                          mpki_cuda_held *held, mpki_cuda_pivots_of *pivots);      \
    mpk_status mpki_##p##_cuda_blocks_invert(mpki_cuda *cuda, int32_t n, const void *l, void *v);
MPKI_CUDA_BLOCKS_OF(s)
MPKI_CUDA_BLOCKS_OF(d)
MPKI_CUDA_BLOCKS_OF(c)
MPKI_CUDA_BLOCKS_OF(z)

#endif
