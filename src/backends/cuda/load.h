/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_LOAD_H
#define MPKI_CUDA_LOAD_H
/** The CUDA module found, loaded and opened, once for each context. */
#include "../../core/core.h"
#include "api.h"

typedef struct mpki_device {
    const mpki_cuda_table *table;
    mpki_cuda *cuda;
    int device;
} mpki_device;

/** The device `device` of this context, opened on the first call; NULL with MPK_ERR_DEVICE and the
 *  reason recorded: no module, no driver, no such device. The module is libmetapack_cuda.so beside
 *  the library, or on the loader's path, or what METAPACK_CUDA_MODULE in the environment names. */
const mpki_device *mpki_cuda_open(mpk_context *ctx, int device);

#endif
