/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_INTERFACE_DENSE_H
#define MPKI_INTERFACE_DENSE_H
/** What an engine - the processor's, a device's - offers for one dense matrix: a table with a slot
 *  for each method and verb, and operations on vectors. dense/dense.c checks all arguments, finds
 *  the memory, chooses the engine by it (mpki_dense_engine_of) and calls; dense/refine.c and
 *  dense/ladder.c build refinement, GMRES, the condition estimate and the ladder from these slots,
 *  the same for every engine. What each method is, with its sources: docs/design/dense.md.
 *
 *  What holds for every slot, unless it says otherwise:
 *  Arguments  have been checked: sizes, leading dimensions, alignment, overlap, n >= 1. A device
 *             alone can tell whether a pointer is its own, and refuses it if not
 *             (MPK_ERR_ARGUMENT).
 *  Memory     Pointers of a call lie in the memory of the engine (dense.memory), but for `dense`,
 *             `info` and what is called host. Matrices are column-major; leading dimensions count
 *             entries. A slot allocates nothing: call->work has the bytes that `need` asked for
 *             (but Aasen's inertia on a device, which takes host memory from the context).
 *  Errors     A slot that fails records why with mpki_error() and returns that status; kernels that
 *             fail are MPK_ERR_DEVICE.
 *  Threads    A call is one thread's. The processor uses call->pool, and the bits do not depend on
 *             its size; a device works in dense.stream, and `end` waits for it. */
#include "core/core.h"
#include "core/pool.h"
#include <metapack/dense.h>

/** A call on its way, between `begin` and `end`. */
typedef struct mpki_dense_call {
    mpk_context *ctx;
    mpk_dense dense; /* as the caller gave it, but the method is not auto and zero_tolerance is
                        >= 0, relative to max |A| */
    mpk_scalar factor_scalar; /* S or C where dense.precision is less than working; else scalar */
    const void *a;            /* n x n of dense.scalar; NULL: a solve without refinement */
    int64_t lda;
    double scale;        /* a power of two: f holds the factors of scale a; see mpk_dense_factor */
    double most;         /* max |a| of the triangle, before scaling; 0 in solves */
    mpk_dense_factor *f; /* only read in solves */
    char *work;          /* work_bytes, 64-byte aligned, for this slot alone */
    int64_t work_bytes;
    mpki_pool *pool; /* host: the threads, or NULL */
    int threads;     /* host: workers of the pool, >= 1 */
    void *state;     /* the engine's own, from its `begin` (handles of a device) */
    /** The processor's engine, for what a device leaves to it. */
    const struct mpki_dense_engine *host;
    mpk_dense_info *info; /* never NULL: a factorization adds inertia, two_by_two, delayed,
                             zero_pivots, growth, max_l */
} mpki_dense_call;

/** What a method needs: int32 entries of f->pivots, bytes of f->extra, bytes of work of each slot.
 */
typedef struct mpki_dense_need {
    int64_t pivots, extra_bytes, factorize_bytes, solve_bytes, inertia_bytes;
} mpki_dense_need;

/** One method of one engine. need NULL: the engine has not got it. */
typedef struct mpki_dense_method {
    /** For nrhs right-hand sides at once. call->work may be NULL.
     *  Returns MPK_OK | MPK_ERR_UNSUPPORTED: not for this scalar, symmetry, precision or size. */
    mpk_status (*need)(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need);
    /** Factorize call->a into call->f (f->f == a: in place). NaN and Inf in a have been ruled out
     *  by `largest`. Returns MPK_OK | MPK_SINGULAR | MPK_ERR_NUMERIC, _DEVICE. */
    mpk_status (*factorize)(mpki_dense_call *call);
    /** X := (P^T L D L^T P)^-1 X by the factors alone: no scaling, no refinement. Zero pivots give
     *  0.
     *  x [inout] n x nrhs of factor_scalar. Returns MPK_OK | MPK_ERR_DEVICE. */
    mpk_status (*solve)(mpki_dense_call *call, int32_t nrhs, void *x, int64_t ldx);
    /** Inertia by the factors; inertia [out] host. NULL: what the factorization put into
     *  info->inertia is right. */
    mpk_status (*inertia)(mpki_dense_call *call, mpk_inertia *inertia);
} mpki_dense_method;

/** Errors of one solution, host memory. */
typedef struct mpki_dense_error {
    double omega; /* max_i |r|_i / (|A| |x| + |b|)_i; 0/0 = 0; nonzero/0 and NaN: infinity */
    double r_inf, x_inf, b_inf; /* largest moduli */
    bool far; /* numbers are so near the ends of the range that omega may be wrong */
} mpki_dense_error;

/** A rung of the ladder that mpk_dense_sysv() climbs with method auto. */
typedef struct mpki_dense_rung {
    mpk_dense_method method;
    mpk_dense_precision precision;
    int64_t from_n;         /* smaller matrices skip it; less than working precision: real ones */
    int64_t from_n_complex; /* likewise, complex ones of less than working precision; 0: never */
} mpki_dense_rung;

typedef struct mpki_dense_engine {
    /** "cpu-avx512", "cuda": for reports. Static. */
    const char *(*name)(void);
    mpki_dense_method method[MPK_DENSE_COUNT];  /* by mpk_dense_method; auto is empty */
    mpki_dense_rung ladder[MPK_DENSE_ATTEMPTS]; /* cheapest first; method auto ends it */

    /** Prepare the calls that follow: the processor sets threads and pool, a device state.
     *  Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE. `end` waits for what is queued. */
    mpk_status (*begin)(mpki_dense_call *call);
    void (*end)(mpki_dense_call *call);
    /** `bytes` in the engine's memory, where the caller gave no work; NULL with the error recorded
     *  (MPK_ERR_MEMORY, _DEVICE). `release` gives it back. */
    void *(*alloc)(mpki_dense_call *call, int64_t bytes);
    void (*release)(mpki_dense_call *call, void *ptr);

    /** Of the triangle of call->a: *max, the largest modulus, infinity or NaN where an entry is one
     *  of these; *norm_inf, ||A||_inf. Host; norm_inf may be NULL. */
    mpk_status (*largest)(mpki_dense_call *call, double *max, double *norm_inf);
    /** dst (scalar `to`) := src (scalar `from`), rows x cols; both real or both complex; src NULL:
     *  zeros. dst == src with ldd == lds is allowed.
     *  scale [in] host, a factor for each column, taken before `to` rounds; NULL: 1 */
    mpk_status (*copy)(mpki_dense_call *call, int64_t rows, int64_t cols, mpk_scalar from,
                       const void *src, int64_t lds, mpk_scalar to, void *dst, int64_t ldd,
                       const double *scale);
    /** Y += alpha X, n x cols of dense.scalar; alpha [in] host: real and imaginary part. */
    mpk_status (*axpy)(mpki_dense_call *call, int64_t cols, const double alpha[2], const void *x,
                       int64_t ldx, void *y, int64_t ldy);
    /** x^H y for each of at most 256 columns of X and Y, n entries of dense.scalar; result [out]
     *  host, 2 cols: real and imaginary parts. */
    mpk_status (*dot)(mpki_dense_call *call, int64_t cols, const void *x, int64_t ldx,
                      const void *y, int64_t ldy, double *result);
    /** R := B - A X from the triangle of call->a; n x nrhs of dense.scalar each. Few columns take
     *  one pass over A each; more take A X and |A| |X| as products of matrices.
     *  b     [in]  NULL: zeros
     *  r     [out] may be b where error is NULL, else overlaps nothing
     *  error [out] host, nrhs, or NULL
     *  work  [out] residual_bytes(call, nrhs) */
    mpk_status (*residual)(mpki_dense_call *call, int32_t nrhs, const void *x, int64_t ldx,
                           const void *b, int64_t ldb, void *r, int64_t ldr,
                           mpki_dense_error *error, char *work);
    int64_t (*residual_bytes)(const mpki_dense_call *call, int32_t nrhs);
    /** n entries of dense.scalar from host memory to the engine's (y), and back; done on return. */
    mpk_status (*put)(mpki_dense_call *call, const void *host, void *y);
    mpk_status (*get)(mpki_dense_call *call, const void *y, void *host);
} mpki_dense_engine;

/** The engine of a CUDA device, where the build has one (MPKI_HAVE_CUDA). NULL, with MPK_ERR_DEVICE
 *  and the reason recorded: no module, no driver, no such device. */
const mpki_dense_engine *mpki_cuda_dense_engine(mpk_context *ctx, int device);

/** The processor's: engines/cpu/dense/. */
extern const mpki_dense_engine mpki_dense_host;

/** The engine for dense->memory: the processor's for MPK_HOST, else that of dense->device. NULL,
 *  with MPK_ERR_DEVICE and the reason recorded, where the build or the machine has no such
 *  device. */
const mpki_dense_engine *mpki_dense_engine_of(mpk_context *ctx, const mpk_dense *dense);

#endif
