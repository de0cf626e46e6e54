/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_SYSTEMS_TABLE_CUH
#define MPKI_CUDA_SYSTEMS_TABLE_CUH
/** What there is for each kind of entries. */
#include "engines/cuda/module/launch.cuh"
#include "engines/cuda/systems/tuning.h"
#include "systems.h"

typedef struct mpki_cuda_systems_kind {
    int (*shape)(mpki_cuda *cuda, const mpki_cuda_systems_plan *plan, int64_t count, int32_t nrhs,
                 mpki_cuda_systems_shape *shape);
    int (*run)(mpki_cuda *cuda, const mpki_cuda_systems_job *job);
} mpki_cuda_systems_kind;
extern const mpki_cuda_systems_kind mpki_s_cuda_systems, mpki_d_cuda_systems, mpki_c_cuda_systems,
    mpki_z_cuda_systems;

#endif
