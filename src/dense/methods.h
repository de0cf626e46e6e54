/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_METHODS_H
#define MPKI_METHODS_H
/** The engines for one dense matrix: the processor's, and the choice between it and a device's. The
 *  type of both is in backends/dense.h. */
#include "../backends/dense.h"

/** The processor's: dense/whole/. */
extern const mpki_dense_engine mpki_dense_host;

/** The engine for dense->memory: the processor's for MPK_HOST, else that of dense->device. NULL,
 *  with MPK_ERR_DEVICE and the reason recorded, where the build or the machine has no such
 *  device. */
const mpki_dense_engine *mpki_dense_engine_of(mpk_context *ctx, const mpk_dense *dense);

#endif
