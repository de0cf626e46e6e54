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
    MPK_GENERAL = 2    /**< A need not be symmetric: all entries are stored. For L U by
                            method ldlt, factors on blocks of type LDU (options.factor_type), and
                            the Krylov methods that need no symmetry */
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

/** Numbers of positive, negative and zero eigenvalues, as the signs of D have them; they sum to n.
 *  A factorization does not know whether rounding changed one: `certified` is 0 until a certificate
 *  (mpk_certify, mpk_dense_certify) examined them. For a complex symmetric matrix and for a general
 *  one inertia has no meaning: the counts are 0, 0, zero pivots, and certified stays 0. */
typedef struct mpk_inertia {
    int64_t positive, negative, zero;
    int certified; /**< 1: examined, and found to be A's */
    int examined;  /**< 1: a certificate was asked for; without it certified 0 says nothing */
} mpk_inertia;

/** What an examination of an inertia found: docs/guide/numerics.md, "Certified inertia". With
 *  random Gaussian vectors z, A z in twice the precision and solves with the factors M = L D L^T it
 *  measures how far M^-1 A is from I. If A is singular or its inertia is not D's, then
 *  ||I - M^-1 A|| >= 1 after scaling, and a measure this small comes by chance alone. */
typedef struct mpk_certificate {
    int certified;      /**< 1: the counts are those of A, but for miss_bound */
    int vectors;        /**< products and solves that it took, 0 .. 16; 0: nothing to examine */
    double contraction; /**< largest c = sqrt(n) ||z - M^-1 A z|| / ||z|| seen, scaled; infinite:
                             not finite */
    double miss_bound;  /**< certified: a wrong inertia passes with at most this probability, over
                             the choice of z, where rounding of the solves does not hide it; else 1 */
} mpk_certificate;

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
