/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BATCH_BATCH_H
#define MPKI_CPU_BATCH_BATCH_H
/** A call of metapack/batch.h on its way through the processor's threads: batch.c checks it and
 * cuts it into chunks, run_t.c hands each chunk to the kernels in the layout that they take. */
#include "core/core.h"
#include <metapack/batch.h>

enum {
    MPKI_BATCH_PACK = 16, /**< matrices that are copied side by side for one call of a kernel */
    MPKI_BATCH_RUN = 64   /**< matrices of one call of a kernel that works where they lie */
};

typedef struct mpki_batch_job mpki_batch_job;
/** Work on matrices first .. last-1 (numbers in job->order where there is one); work: the worker's
 *  own. */
typedef void (*mpki_batch_chunk_fn)(mpki_batch_job *job, int64_t first, int64_t last, void *work);

struct mpki_batch_job {
    mpk_context *ctx; /* set by the run */
    mpk_batch batch;
    mpk_batch_method method; /* of a factorization, or of the factors of a solve (b is given) */
    const mpk_batch_array *a, *b, *c, *d;
    const mpk_batch_product *product;
    int32_t *pivots;           /* only read in solves */
    int32_t nrhs;              /* of a solve */
    mpk_batch_results results; /* pointers may be NULL */
    const int64_t *order;      /* the matrices by size; NULL: as they come, all of order n */
    double flops;              /* of one matrix, about */
    int64_t chunk;             /* matrices of a task */
    mpki_batch_chunk_fn fn;
    char *work; /* work_bytes for each worker */
    int64_t work_bytes;
    _Atomic int singular, failed; /* did some matrix turn out singular, have some no result? */
};

/* Checks of arguments; each returns MPK_OK or records why not (check.c). */
mpk_status mpki_batch_check_shape(mpk_context *ctx, const mpk_batch *given, mpk_batch *full);
/** Do all arrays (NULL: none) lie in the memory of the first, and pivots and results where they
 * may? */
mpk_status mpki_batch_check_memory(mpk_context *ctx, const mpki_batch_job *job);
/** rows, cols: of the largest matrix. */
mpk_status mpki_batch_check_array(mpk_context *ctx, const mpk_batch *batch, const char *name,
                                  const mpk_batch_array *array, int64_t rows, int64_t cols);
/** Each matrix's pivots must be a permutation, with 2x2 marks in pairs. both: rows, then columns.
 *  */
mpk_status mpki_batch_check_pivots(mpk_context *ctx, const mpk_batch *batch, bool both, bool pairs,
                                   const int32_t *pivots);

/* One chunk of each verb, and the bytes of work it wants, for precisions s d c z. */
#define MPKI_BATCH_CHUNKS(p)                                                                       \
    void mpki_##p##_batch_factor_chunk(mpki_batch_job *, int64_t, int64_t, void *);                \
    void mpki_##p##_batch_solve_chunk(mpki_batch_job *, int64_t, int64_t, void *);                 \
    void mpki_##p##_batch_gemm_chunk(mpki_batch_job *, int64_t, int64_t, void *);                  \
    bool mpki_##p##_batch_has(mpk_batch_method, mpk_pivoting);                                     \
    int64_t mpki_##p##_batch_work_bytes(const mpki_batch_job *);                                   \
    int64_t mpki_##p##_batch_gemm_bytes(const mpki_batch_job *);
MPKI_BATCH_CHUNKS(s)
MPKI_BATCH_CHUNKS(d)
MPKI_BATCH_CHUNKS(c)
MPKI_BATCH_CHUNKS(z)

#endif
