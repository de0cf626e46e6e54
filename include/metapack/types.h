/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_TYPES_H
#define METAPACK_TYPES_H
/** Basic types that all METAPACK headers share. No function here needs a context; all may be called
 *  from any thread. */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MPK_API __attribute__((visibility("default")))
#else
#define MPK_API
#endif

/** Kind of the matrix entries. Complex values are pairs (real, imaginary), as C99 and Fortran lay
 *  them out. The letters are LAPACK's. */
typedef enum mpk_scalar {
    MPK_S = 0, /**< float          */
    MPK_D = 1, /**< double         */
    MPK_C = 2, /**< float complex  */
    MPK_Z = 3  /**< double complex */
} mpk_scalar;

/** What the upper triangle is, given the stored lower one; or that both are stored. Real matrices
 *  are MPK_SYMMETRIC or MPK_GENERAL. */
typedef enum mpk_symmetry {
    MPK_SYMMETRIC = 0, /**< A = A^T, also for complex entries */
    MPK_HERMITIAN = 1, /**< A = A^H, complex entries only; the diagonal is real */
    MPK_GENERAL = 2    /**< A need not be symmetric: all entries are stored. For factors of type LDU
                            (options.factor_type) and the Krylov methods that need no symmetry */
} mpk_symmetry;

/** Which of the given entries count. */
typedef enum mpk_triangle {
    MPK_LOWER = 0, /**< those with row >= column; the others are ignored */
    MPK_UPPER = 1, /**< those with row <= column; the others are ignored */
    MPK_FULL = 2,  /**< both triangles are given and must agree (options.symmetry_tolerance); of an
                        MPK_GENERAL matrix: all entries are given */
    MPK_EITHER = 3 /**< each off-diagonal pair is given once, in either triangle */
} mpk_triangle;

/** Where an array lies. */
typedef enum mpk_memory {
    MPK_HOST = 0,  /**< memory of the processor */
    MPK_DEVICE = 1 /**< memory of the device that the call names */
} mpk_memory;

/** How pivots are chosen in a dense matrix or block. */
typedef enum mpk_pivoting {
    MPK_PIVOTING_NONE = 0,     /**< in the order given */
    MPK_PIVOTING_STATIC = 1,   /**< 1x1 and 2x2 as a matching or the caller paired them */
    MPK_PIVOTING_PARTIAL = 2,  /**< LDLT: Bunch & Kaufman 1977; LDU: largest of the column */
    MPK_PIVOTING_ROOK = 3,     /**< LDLT: Ashcraft, Grimes & Lewis 1998; LDU: Neal & Poole 1992 */
    MPK_PIVOTING_COMPLETE = 4, /**< LDLT: Bunch & Parlett 1971; LLT: largest of the diagonal; LDU:
                                    largest of all that is left */
    MPK_PIVOTING_COUNT = 5
} mpk_pivoting;

/** Bytes of one entry: 4, 8, 8, 16 for S, D, C, Z. */
static inline size_t mpk_scalar_size(mpk_scalar scalar) {
    return scalar == MPK_S ? 4 : scalar == MPK_Z ? 16 : 8;
}

/** Numbers of positive, negative and zero eigenvalues; they sum to n. `certified` is 1 only if no
 *  pivot was perturbed or taken as zero and each pivot lies clear of zero by more than the rounding
 *  errors of the factorization can account for (docs/numerics.md); for a complex symmetric matrix
 *  and for a general one inertia has no meaning: the counts are 0, 0, zero pivots, and certified is
 *  0. */
typedef struct mpk_inertia {
    int64_t positive, negative, zero;
    int certified;
} mpk_inertia;

/* Opaque handles. Each starts as NULL, is created by its verb and freed by *_destroy(&handle). */
typedef struct mpk_context mpk_context;
typedef struct mpk_problem mpk_problem;
typedef struct mpk_analysis mpk_analysis;
typedef struct mpk_factor mpk_factor;
typedef struct mpk_report mpk_report;

#ifdef __cplusplus
}
#endif
#endif
