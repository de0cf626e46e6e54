/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_SOLVE_NULL_VECTORS_H
#define MPKI_CUDA_MULTIFRONTAL_SOLVE_NULL_VECTORS_H
/** A's kernel on the device, beside the refinement of singular systems: its vectors come from the
 *  host once for as long as they are the same. */
#include "../state.h"

typedef struct mpki_cuda_nulls {
    /* device: for so many right-hand sides, those in range or not */
    void *beside;
    int32_t columns;
    double *w; /* n for each: |A| |x| + |b| */
    /* device: room for so many vectors, and their sums with `columns` others */
    void *memory;
    int32_t room;
    uint64_t stamp;    /* of those that are there; 0: it says nothing */
    int32_t there;     /* so many are */
    mpki_cuda_null on; /* what kernels are given: those that were asked for last */
} mpki_cuda_nulls;

void mpki_cuda_nulls_free(const mpki_direct *f, mpki_cuda_nulls *z);
/** Device memory that is held. */
int64_t mpki_cuda_nulls_bytes(const mpki_direct *f, const mpki_cuda_nulls *z);

/** Room for what goes with so many right-hand sides. false: there is no memory, which is no error.
 */
bool mpki_cuda_nulls_make(const mpki_direct *f, int32_t columns, mpki_cuda_nulls *z);

/** Have the vectors there. all [in] as in mpki_kernel_source. *fits [out] false: there is no memory
 *  for them. Returns MPK_OK | MPK_ERR_DEVICE | a failure of source->give */
mpk_status mpki_cuda_nulls_bring(mpk_context *ctx, const mpki_direct *f,
                                 const mpki_kernel_source *source, bool all, mpki_cuda_nulls *z,
                                 bool *fits);

#endif
