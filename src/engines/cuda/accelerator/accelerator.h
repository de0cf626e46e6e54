/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_ACCELERATOR_H
#define MPKI_CUDA_ACCELERATOR_H
#include "engines/cuda/module/load.h"
#include <metapack/accelerator.h>

/** mpk_accelerator_cuda(); arguments have been checked. */
mpk_status mpki_cuda_accelerator(mpk_context *ctx, int number, const mpk_accelerator **table);

#endif
