/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_ACCELERATOR_ACCELERATOR_H
#define MPKI_CUDA_ACCELERATOR_ACCELERATOR_H
/** A GPU behind the accelerator interface: what libmetapack asks of its CUDA module. Plain C. The
 *  functions are those of mpk_accelerator (metapack/accelerator.h), with self the machine. */
#include "engines/cuda/module/api.h"
#include <metapack/accelerator.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Memory, lists and clocks of one runtime. */
typedef struct mpki_cuda_machine mpki_cuda_machine;

typedef struct mpki_cuda_accelerator_table {
    /** take, give [in]: the module's, for its memory. sizes [out] blocks that there are kernels
     *  for, ascending, 0 at the end; precisions [out] bits of mpk_scalar.
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE */
    int (*make)(mpki_cuda *cuda, int (*take)(mpki_cuda *, int64_t, void **),
                void (*give)(mpki_cuda *, void *), mpki_cuda_machine **machine,
                const int32_t **sizes, unsigned *precisions);
    void (*free)(mpki_cuda_machine *machine);
    mpk_status (*allocate)(void *self, int64_t bytes, void **p);
    void (*release)(void *self, void *p);
    mpk_status (*upload)(void *self, void *to, const void *from, int64_t bytes);
    mpk_status (*download)(void *self, void *to, const void *from, int64_t bytes);
    mpk_status (*scatter)(void *self, int64_t count, void *const *to, const void *from,
                          int64_t bytes);
    mpk_status (*gather)(void *self, int64_t count, void *to, void *const *from, int64_t bytes);
    mpk_status (*run)(void *self, const mpk_accelerator_task *task);
    mpk_status (*wait)(void *self);
    int64_t (*spans)(void *self, int64_t most, mpk_accelerator_span *spans);
    const char *(*last_error)(void *self);
    const mpk_accelerator_form *forms; /**< of blocks of doubles at rest */
} mpki_cuda_accelerator_table;

#ifdef __cplusplus
}
#endif
#endif
