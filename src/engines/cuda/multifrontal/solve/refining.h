/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MULTIFRONTAL_SOLVE_REFINING_H
#define MPKI_CUDA_MULTIFRONTAL_SOLVE_REFINING_H
/** Vectors of refinement on the device, which a factor keeps from one solve to the next. */
#include "null_vectors.h"

typedef struct mpki_cuda_refining {
    mpki_cuda_refine a;
    void *memory;    /* device: all */
    int64_t bytes;   /* of `memory` */
    int32_t columns; /* most right-hand sides */
    /* n x columns each: right-hand sides where the caller's cannot stay where they are, residuals,
     * best x so far, x where the caller's is on the host */
    char *b, *r, *x, *y;
    mpki_cuda_nulls nulls; /* of a singular A */
} mpki_cuda_refining;

/** Right-hand sides, of nrhs, whose vectors are worth their memory. */
int32_t mpki_cuda_refined_together(const mpki_direct *f, int32_t nrhs);
/** Those of an earlier solve, or new ones, for so many right-hand sides. NULL: there is no memory
 *  for them or for the rows, here or there, which is no error. */
mpki_cuda_refining *mpki_cuda_refining_take(const mpki_direct *f, int32_t columns);
/** For the next solve. */
void mpki_cuda_refining_keep(const mpki_direct *f, mpki_cuda_refining *z);

#endif
