/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_ENGINE_H
#define MPKI_CUDA_ENGINE_H
/** The tables of backends/sparse.h that a CUDA device fills; engine.c gathers them. */
#include "../sparse.h"

extern const mpki_direct_engine mpki_cuda_direct; /* direct.c */

#endif
