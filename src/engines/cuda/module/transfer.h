/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MODULE_TRANSFER_H
#define MPKI_CUDA_MODULE_TRANSFER_H
/** Much at once from ordinary memory to a device. */
#include "core/pool.h"
#include "load.h"

/** Queue a copy in the stream of the engines for sparse matrices: by all threads into page-locked
 *  memory, from which it goes at full speed. The host's memory may be used again at once.
 *  stage [in] for errors
 *  pool  [in] may be NULL
 *  Returns MPK_OK | MPK_ERR_DEVICE, _MEMORY. */
mpk_status mpki_cuda_send(mpk_context *ctx, const char *stage, mpki_pool *pool, void *to,
                          const void *from, int64_t bytes);

#endif
