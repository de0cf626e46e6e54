/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BATCH_PANEL_H
#define MPKI_CUDA_BATCH_PANEL_H
/** LDLT by panels, a warp for a matrix (panel.cuh): of real matrices, any pivoting but static. */
#include "launch.cuh"

#define MPKI_CUDA_PANEL(p)                                                                         \
    mpk_status mpki_##p##_cuda_panel(mpki_cuda *cuda, const mpki::part &job, void *stream);
MPKI_CUDA_PANEL(s)
MPKI_CUDA_PANEL(d)

#endif
