/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_DIRECT_TABLE_CUH
#define MPKI_CUDA_DIRECT_TABLE_CUH
/** What direct.cu finds of each kind of entries (direct_t.cu). */
#include "../launch.cuh"
#include "direct.h"

struct mpki_cuda_direct_kind {
    int64_t (*task_bytes)(int32_t nrows, int32_t w, int32_t columns);
    mpk_status (*leaves)(mpki_cuda *, const mpki_cuda_tree *, int32_t, int32_t, int32_t, int64_t);
    mpk_status (*tasks)(mpki_cuda *, const mpki_cuda_tree *, const mpki_cuda_task *, int32_t,
                        int32_t, int64_t, int32_t, int32_t *);
    mpk_status (*assemble)(mpki_cuda *, const mpki_cuda_tree *, const mpki_cuda_large *, int32_t);
    mpk_status (*block)(mpki_cuda *, const mpki_cuda_tree *, const mpki_cuda_large *, int32_t);
    mpk_status (*columns)(mpki_cuda *, const mpki_cuda_tree *, const mpki_cuda_large *);
    mpk_status (*count)(mpki_cuda *, const mpki_cuda_tree *);
    mpk_status (*get)(mpki_cuda *, const mpki_cuda_tree *, const int32_t *, void *, void *,
                      int32_t *);
    mpk_status (*take)(mpki_cuda *, int32_t, int32_t, const int32_t *, const double *, const void *,
                       int64_t, void *);
    mpk_status (*give)(mpki_cuda *, int32_t, int32_t, const int32_t *, const double *, const void *,
                       void *, int64_t);
    mpk_status (*sweep)(mpki_cuda *, const mpki_cuda_tree *, const mpki_cuda_sweep *, bool);
    mpk_status (*diagonal)(mpki_cuda *, const mpki_cuda_tree *, const mpki_cuda_sweep *, int);
};

extern const mpki_cuda_direct_kind mpki_s_cuda_direct, mpki_d_cuda_direct, mpki_c_cuda_direct,
    mpki_z_cuda_direct;

#endif
