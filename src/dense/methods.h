/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_METHODS_H
#define MPKI_METHODS_H
/** The places where one dense matrix can be factored, each a table of methods. The type of the
 *  table is backends/dense.h, where a backend can see it. */
#include "../backends/dense.h"

/** Methods of the host: dense/whole/. */
extern const mpki_dense_methods mpki_dense_host;

/** The table for dense->memory. MPK_DEVICE: that of the device backend, which is asked for it by
 *  mpki_cuda_dense(ctx, device) where the build has one; NULL with MPK_ERR_DEVICE and the reason
 *  recorded where it is absent. */
const mpki_dense_methods *mpki_dense_place(mpk_context *ctx, const mpk_dense *dense);

#endif
