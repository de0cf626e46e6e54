/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_BATCH_H
#define METAPACK_BATCH_H
/** Many small dense matrices at once: factorizations, solves and products of order up to
 *  MPK_BATCH_MAX_N. Each matrix has an outcome of its own; one that is singular or has a NaN does
 *  not affect its neighbours. How to lay out the data and what each method does:
 *  docs/guide/batch.md. Examples: examples/batch.c, examples/batch_device.c.
 *
 *  Arrays lie in the caller's memory, all of a call on the host or all on one device; structs lie
 *  on the host. On the host a call works with batch->threads threads of the context and gives the
 *  same bits for any number of them; on a device it works in the caller's stream. Memory in which
 *  host and device exchange data stays with the context from call to call. */
#include <metapack/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Largest order of a matrix, and largest m, n, k of a product. */
#define MPK_BATCH_MAX_N 64

/** Where entry (i, j) of matrix b lies; offsets in entries, each matrix column-major. */
typedef enum mpk_batch_layout {
    MPK_BATCH_STRIDED = 0,    /**< data + b stride + i + j ld */
    MPK_BATCH_POINTERS = 1,   /**< ((void *const *)data)[b] + i + j ld */
    MPK_BATCH_INTERLEAVED = 2 /**< data + (b / width) stride + (i + j ld) width + b % width */
} mpk_batch_layout;

/** Outcome of one matrix. */
typedef enum mpk_batch_outcome {
    MPK_BATCH_OK = 0,
    MPK_BATCH_SINGULAR = 1,  /**< zero pivots in zero columns: the factors multiply to the matrix
                                  and solve consistent systems */
    MPK_BATCH_BREAKDOWN = 2, /**< a pivot that the method cannot pass (LLT: not positive; without
                                  pivoting: zero in a column that is not): no factors */
    MPK_BATCH_NOT_FINITE = 3 /**< NaN or Inf, in the matrix or by overflow: no factors */
} mpk_batch_outcome;

/** Kernels of a device, which differ in speed alone, and in pivots where several will do.
 *  Which there are for a method, a pivoting and an order: docs/design/cuda-dense.md. */
typedef enum mpk_batch_kernels {
    MPK_BATCH_KERNELS_AUTO = 0,      /**< those that were quicker when they were measured */
    MPK_BATCH_KERNELS_MADE = 1,      /**< made by borgc for the order: registers */
    MPK_BATCH_KERNELS_REGISTERS = 2, /**< a row in the registers of each thread; orders to 32 */
    MPK_BATCH_KERNELS_PANEL = 3,     /**< by panels, in shared memory; real LDLT above order 16 */
    MPK_BATCH_KERNELS_SHARED = 4     /**< the matrix in shared memory; all of them */
} mpk_batch_kernels;

/** One operand of all matrices. */
typedef struct mpk_batch_array {
    mpk_batch_layout layout;
    mpk_memory memory; /**< of data and, for pointers, of what they point to; one for all arrays of
                            a call */
    void *data;     /**< see the layout. Matrices are aligned to the entry's real type, on a device
                         complex ones to two of it; else MPK_ERR_ARGUMENT. What pointers in device
                         memory point to is not looked at: a kernel fails there */
    int64_t stride; /**< entries from matrix to matrix, interleaved: from group to group; at least
                         ld times the columns (times the width). Not used for pointers */
    int32_t ld;     /**< leading dimension, at least the rows (and at least 1) */
    int32_t width;  /**< interleaved: matrices in a group, at least 1; the memory of the last group
                         must be complete, what is beyond count is not written */
} mpk_batch_array;

/** What all matrices of a call share. mpk_batch_init() first; later versions extend it. */
typedef struct mpk_batch {
    size_t struct_size;
    mpk_scalar scalar;
    mpk_symmetry symmetry; /**< of complex matrices in LLT and LDLT: LL^H, LDL^H, or LDL^T */
    int64_t count;         /**< matrices */
    int32_t n;             /**< order of each, or the largest where sizes is given */
    const int32_t *sizes;  /**< NULL, or count orders between 0 and n */
    mpk_pivoting pivoting; /**< default none */
    double zero_tolerance; /**< a pivot not above this times the largest |entry| (without pivoting
                                and static: the largest diagonal |entry|) counts as zero; < 0
                                (default): 4 n eps */
    int threads;           /**< 0 (default): OMP_NUM_THREADS, else all cores of the process */
    int device;            /**< number of the device, for MPK_DEVICE */
    void *stream;          /**< MPK_DEVICE: the caller's stream (a cudaStream_t), NULL: the default.
                                A call returns when its results are complete, unless: */
    int asynchronous;      /**< MPK_DEVICE: 1: return MPK_OK when all is queued in the stream; only
                                the results then say what became of each matrix. Pivots and results
                                must lie in device memory (or be NULL). Default 0 */
    mpk_memory pivots_memory;  /**< where pivots lie; on the host if the arrays do. Default host.
                                    Pivots given in device memory are checked there: a matrix whose
                                    pivots are not valid has the outcome MPK_BATCH_BREAKDOWN */
    mpk_memory results_memory; /**< where the results lie; likewise. Default host */
    int reserved;              /**< 0: padding in older programs */
    mpk_batch_kernels kernels; /**< MPK_DEVICE, factorizations: the kind of kernels; where there is
                                    none of it for an order that occurs, MPK_ERR_UNSUPPORTED, and
                                    nothing was written. Default auto, which all else needs */
} mpk_batch;

/** What became of each matrix, in batch->results_memory; each pointer may be NULL. */
typedef struct mpk_batch_results {
    int32_t *outcome; /**< [out] count: mpk_batch_outcome */
    int32_t *inertia; /**< [out] 3 count: positive, negative, zero pivots of LLT and LDLT, sum n;
                           complex symmetric: 0, 0, zero; LDU: nonzero, 0, zero; all 0 where there
                           are no factors */
} mpk_batch_results;

/** Fill with defaults: double, symmetric, count 0, no pivoting, host. */
MPK_API void mpk_batch_init(mpk_batch *batch);

/** Factorizations in place.
 *  a       [inout] n x n each. LLT, LDLT: only the lower triangle is read and written
 *  pivots  [inout] batch->n for each matrix, for LDU 2 batch->n: rows, then columns; read by static
 *                  pivoting, else written; NULL for no pivoting. pivots[k] = p, the old index of
 *                  the row now at k, or ~p (negative) for both rows of a 2x2 pivot
 *  results [out]   may be NULL
 *  Returns MPK_OK
 *          | MPK_SINGULAR: some matrices are singular, all have factors
 *          | MPK_PARTIAL: some have no factors and are left undefined, see results->outcome
 *          | MPK_ERR_ARGUMENT, _MEMORY: nothing was written
 *          | MPK_ERR_UNSUPPORTED: n above MPK_BATCH_MAX_N, or a pivoting that the method does not
 *            have, or no kernels of the kind that batch->kernels names; nothing was written
 *          | MPK_ERR_CANCELLED: what was to be written is undefined
 *          | MPK_ERR_DEVICE: no such device, and nothing was written; or a kernel failed, and
 *            anything may have been written
 *
 *  LLT:  P A P^T = L L^T (L L^H); L in the lower triangle.        Pivoting: none, complete.
 *  LDLT: P A P^T = L D L^T (L D L^H): L unit lower, D diagonal with 1x1 and 2x2 blocks; D(k,k) on
 *        the diagonal, D(k+1,k) of a 2x2 block below it, where L has a zero. Pivoting: all.
 *  LDU:  P A Q = L D U: L unit lower, D diagonal, U unit upper, all in place. Pivoting: all; static
 *        and partial keep 1x1 pivots, partial keeps the columns in place. */
MPK_API mpk_status mpk_batch_llt(mpk_context *ctx, const mpk_batch *batch, const mpk_batch_array *a,
                                 int32_t *pivots, const mpk_batch_results *results);
MPK_API mpk_status mpk_batch_ldlt(mpk_context *ctx, const mpk_batch *batch,
                                  const mpk_batch_array *a, int32_t *pivots,
                                  const mpk_batch_results *results);
MPK_API mpk_status mpk_batch_ldu(mpk_context *ctx, const mpk_batch *batch, const mpk_batch_array *a,
                                 int32_t *pivots, const mpk_batch_results *results);

/** Which of the three made the factors. */
typedef enum mpk_batch_method {
    MPK_BATCH_LLT = 0,
    MPK_BATCH_LDLT = 1,
    MPK_BATCH_LDU = 2
} mpk_batch_method;

/** Solve A X = B with the factors that `method` left; batch as it was there.
 *  a, pivots [in]    factors (pivots NULL: no pivoting)
 *  nrhs      [in]    columns of B, 0 .. MPK_BATCH_MAX_N
 *  b         [inout] n x nrhs each: B, then X. A zero pivot gives 0 in X
 *  results   [out]   outcome: _OK, _SINGULAR (a zero pivot) or _NOT_FINITE (X is not); inertia is
 *                    not written
 *  Returns as above. */
MPK_API mpk_status mpk_batch_solve(mpk_context *ctx, const mpk_batch *batch,
                                   mpk_batch_method method, const mpk_batch_array *a,
                                   const int32_t *pivots, int32_t nrhs, const mpk_batch_array *b,
                                   const mpk_batch_results *results);

/** Are the inertias that LLT or LDLT counted those of the matrices? A factorization does not know;
 *  as mpk_certify() of a sparse factor, for each matrix, by at most 16 products with it and as many
 *  solves.
 *  a         [in]  the matrices that were factored, which are needed once more: lower triangles, in
 *                  any layout and memory
 *  f, pivots [in]  their factors, as mpk_batch_solve() takes them; what lies on a device is copied,
 *                  and examined on the host
 *  found     [out] count, in host memory; certified 0, with vectors 0, where a pivot is zero, for
 *                  complex symmetric matrices, and where there are no factors
 *  Returns MPK_OK, certified or not | MPK_ERR_ARGUMENT, _MEMORY, _DEVICE | MPK_ERR_UNSUPPORTED:
 *    LDU */
MPK_API mpk_status mpk_batch_certify(mpk_context *ctx, const mpk_batch *batch,
                                     mpk_batch_method method, const mpk_batch_array *a,
                                     const mpk_batch_array *f, const int32_t *pivots,
                                     mpk_certificate *found);

/** Shape of C := beta C + alpha A D op(B). */
typedef struct mpk_batch_product {
    int32_t m, n, k;      /**< C m x n, A m x k, op(B) k x n; the largest where sizes is given */
    const int32_t *sizes; /**< NULL, or 3 count: m, n, k of each */
    int transpose_b;      /**< 0: B is k x n; 1: op(B) = B^T, B n x k; 2: op(B) = B^H */
    double alpha, beta;   /**< beta = 0: C is not read */
} mpk_batch_product;

/** C := beta C + alpha A D op(B) of batch->count matrices; batch->n, sizes, pivoting are ignored.
 *  d [in]    NULL: D = I; else 2 x k each: D(j,j), then D(j+1,j), which is 0 where j is not the
 *            first of a 2x2 block; Hermitian if the batch is
 *  c [inout] must not overlap the others
 *  Returns MPK_OK, or an error as above. */
MPK_API mpk_status mpk_batch_gemm(mpk_context *ctx, const mpk_batch *batch,
                                  const mpk_batch_product *product, const mpk_batch_array *a,
                                  const mpk_batch_array *d, const mpk_batch_array *b,
                                  const mpk_batch_array *c);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API void mpk_batch_init_sized(size_t size, mpk_batch *batch);
#ifndef MPKI_LIBRARY
#define mpk_batch_init(...) mpk_batch_init_sized(sizeof(mpk_batch), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
