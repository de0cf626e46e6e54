/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BATCH_KERNELS_H
#define MPKI_BATCH_KERNELS_H
/** The table of batched kernels for one precision and one instruction set. A kernel works on
 * `count` matrices that lie `stride` entries apart, column-major with leading dimension ld, and
 * allocates nothing. The portable kernels (symmetric_k.c, general_k.c, solve_k.c) take every order
 * up to MPK_BATCH_MAX_N; those that borgc makes from src/kernels/cl take the one they were made
 * for, and go before them (emitted.h). */
#include "../core/precision.h"
#include <metapack/batch.h>

enum {
    MPKI_BATCH_LD = 64,  /**< leading dimension of the kernels' own copy of a matrix */
    MPKI_BATCH_INFO = 4, /**< ints per matrix: outcome, positive, negative, zero */
    MPKI_BATCH_METHODS = 3
};

/** A factorization of mpk_batch.h. piv: n ints for each matrix, 2 n for LDU; NULL without pivoting.
 *  info [out] MPKI_BATCH_INFO ints for each. tol: the relative zero tolerance.
 *  work: FN(batch_work_size) entries, aligned to 64. */
typedef void (*FN(batch_factor_fn))(int64_t count, int n, T *a, int64_t ld, int64_t stride,
                                    int32_t *piv, int32_t *info, R tol, int hermitian, T *work);

/** X := A^-1 B from the factors; info[0] [out] outcome of each, the rest is not written. */
typedef void (*FN(batch_solve_fn))(int64_t count, int n, int nrhs, const T *a, int64_t ld,
                                   int64_t stride, const int32_t *piv, T *b, int64_t ldb,
                                   int64_t stride_b, int32_t *info, int hermitian, T *work);

typedef struct FN(batch_kernels) {
    FN(batch_factor_fn) factor[MPKI_BATCH_METHODS][MPK_PIVOTING_COUNT];
    FN(batch_solve_fn) solve[MPKI_BATCH_METHODS];
} FN(batch_kernels);

/** Entries of work space that any kernel wants. */
enum { FN(batch_work_size) = 16 * (MPKI_BATCH_LD + 2) * MPKI_BATCH_LD };

/** The portable kernels of this processor's instruction set. */
const FN(batch_kernels) * FN(batch_portable)(void);

/** The kernel for this order: borgc's where there is one, else the portable one; NULL: the method
 * has no such pivoting. */
FN(batch_factor_fn)
FN(batch_factor_kernel)(mpk_batch_method method, mpk_pivoting pivoting, int n);

#endif
