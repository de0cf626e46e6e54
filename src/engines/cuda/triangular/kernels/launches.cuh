/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_LAUNCHES_CUH
#define MPKI_CUDA_TRIANGULAR_LAUNCHES_CUH
/** What sweeps_t.cu has for each kind of entries, s d c z. */
#include "engines/cuda/module/launch.cuh"
#include "triangular.h"

struct mpki_sweeps_launches {
    mpk_status (*pack)(mpki_cuda *cuda, const mpki_cuda_packing *p, int pass);
    mpk_status (*pivots)(mpki_cuda *cuda, const mpki_cuda_packing *p);
    mpk_status (*warps)(mpki_cuda *cuda, int32_t nrhs, int32_t *warps);
    mpk_status (*run)(mpki_cuda *cuda, const mpki_sweeps_run *r);
    mpk_status (*in)(mpki_cuda *cuda, const mpki_sweeps_move *m);
    mpk_status (*out)(mpki_cuda *cuda, const mpki_sweeps_move *m);
    mpk_status (*scale)(mpki_cuda *cuda, const mpki_sweeps_move *m, const void *diagonal,
                        const int8_t *partner);
    mpk_status (*wait)(mpki_cuda *cuda, void *p, int64_t entries);
    mpk_status (*border)(mpki_cuda *cuda, const mpki_sweeps_border *b);
};
extern const mpki_sweeps_launches mpki_s_sweeps_launches, mpki_d_sweeps_launches,
    mpki_c_sweeps_launches, mpki_z_sweeps_launches;

#endif
