/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BATCH_KERNELS_H
#define MPKI_CPU_BATCH_KERNELS_H
/** The table of batched kernels for one precision and one instruction set. A kernel works on
 * `count` matrices in host memory, `stride` entries apart, column-major with leading dimension ld,
 * by the calling thread, and allocates nothing. The portable kernels (symmetric_k.c, general_k.c,
 * solve_k.c) take every order up to MPK_BATCH_MAX_N; those that borgc makes from src/kernels/cl
 * take the one that they were made for, and are preferred (emitted.h). */
#include "core/precision.h"
#include <metapack/batch.h>
#include <stdbool.h>

enum {
    MPKI_BATCH_LD = 64,  /**< leading dimension of the kernels' own copy of a matrix */
    MPKI_BATCH_INFO = 4, /**< ints per matrix: outcome, positive, negative, zero */
    MPKI_BATCH_METHODS = 3
};

/** Factorize, as the verbs of metapack/batch.h.
 *  piv [inout] n ints for each matrix, 2 n for LDU; NULL without pivoting; [in] where it is static
 *  info [out] MPKI_BATCH_INFO ints for each matrix
 *  tol [in] zero tolerance, relative
 *  work [out] FN(batch_work_size) entries, 64-byte aligned */
typedef void (*FN(batch_factor_fn))(int64_t count, int n, T *a, int64_t ld, int64_t stride,
                                    int32_t *piv, int32_t *info, R tol, int hermitian, T *work);

/** X := A^-1 B by the factors. info [out] MPKI_BATCH_INFO ints for each matrix, of which only the
 *  outcome is written. */
typedef void (*FN(batch_solve_fn))(int64_t count, int n, int nrhs, const T *a, int64_t ld,
                                   int64_t stride, const int32_t *piv, T *b, int64_t ldb,
                                   int64_t stride_b, int32_t *info, int hermitian, T *work);

typedef struct FN(batch_kernels) {
    FN(batch_factor_fn) factor[MPKI_BATCH_METHODS][MPK_PIVOTING_COUNT];
    FN(batch_solve_fn) solve[MPKI_BATCH_METHODS];
} FN(batch_kernels);

/** Entries of work space, enough for every kernel. */
enum { FN(batch_work_size) = 16 * (MPKI_BATCH_LD + 2) * MPKI_BATCH_LD };

/** The portable kernels for this processor's instruction set. */
const FN(batch_kernels) * FN(batch_portable)(void);

/** The kernel for this order: borgc's if there is one, else the portable one. NULL: the method has
 * no such pivoting. */
FN(batch_factor_fn)
FN(batch_factor_kernel)(mpk_batch_method method, mpk_pivoting pivoting, int n, bool hermitian);

#endif
