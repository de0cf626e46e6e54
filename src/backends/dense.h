/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BACKEND_DENSE_H
#define MPKI_BACKEND_DENSE_H
/** What a place - the processor, a device - offers for one dense matrix: a table with a slot for
 *  each method and verb, and a few operations on vectors. dense/dense.c checks all arguments, finds
 *  the memory and calls; dense/refine.c and dense/ladder.c build refinement, GMRES, the condition
 *  estimate and the ladder from these slots, the same for every place.
 *
 *  A slot gets its arguments checked: sizes, leading dimensions, alignment, overlap, n >= 1. It
 *  allocates nothing; work is as large as the slot asked for in `sizes`. It records an error with
 *  mpki_error() and returns it; kernels that fail are MPK_ERR_DEVICE. */
#include "../core/core.h"
#include "../core/pool.h"
#include <metapack/dense.h>

/** A call on its way. Pointers lie in the place's memory but for dense, info and inertia. */
typedef struct mpki_dense_call {
    mpk_context *ctx;
    mpk_dense dense; /* resolved: method, precision and zero_tolerance (a factor of max |A|,
                        >= 0) are settled; zero_tolerance, threshold, tile as documented */
    mpk_scalar factor_scalar; /* S or C where dense.precision is less than working; else scalar */
    const void *a;            /* the matrix, or NULL in a solve without refinement */
    int64_t lda;
    double scale; /* f becomes the factors of scale a: a power of two; see mpk_dense_factor */
    double most;  /* max |a| of the triangle, before scaling; 0 in solves */
    mpk_dense_factor *f; /* in solves only read */
    char *work;          /* work_bytes, 64-byte aligned: this slot's alone */
    int64_t work_bytes;
    mpki_pool *pool; /* host: the threads, or NULL */
    int threads;     /* host: workers of the pool, >= 1 */
    void *state;     /* the place's own, from its `begin` (handles of a device) */
    /** The processor's table, for what a device leaves to it. */
    const struct mpki_dense_methods *host;
    mpk_dense_info *info; /* never NULL: a factorization adds inertia, two_by_two, delayed,
                             zero_pivots, growth, max_l */
} mpki_dense_call;

/** Bytes of work of each slot, of the factor's `extra`, and int32 pivots. */
typedef struct mpki_dense_need {
    int64_t pivots, extra_bytes, factorize_bytes, solve_bytes, inertia_bytes;
} mpki_dense_need;

/** One method at one place. factorize NULL: not there. */
typedef struct mpki_dense_method {
    /** MPK_OK, or MPK_ERR_UNSUPPORTED: not for this scalar, symmetry, precision or size. */
    mpk_status (*need)(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need);
    /** call->a to call->f (the same pointer: in place). MPK_OK, MPK_SINGULAR, MPK_ERR_NUMERIC,
     *  MPK_ERR_DEVICE. NaN and Inf in a have been ruled out by `largest`. */
    mpk_status (*factorize)(mpki_dense_call *call);
    /** X := (L D L^T)^-1 X, entries of factor_scalar. Zero pivots give zeros. */
    mpk_status (*solve)(mpki_dense_call *call, int32_t nrhs, void *x, int64_t ldx);
    /** From the factors. NULL: what the factorization put into info->inertia is right. */
    mpk_status (*inertia)(mpki_dense_call *call, mpk_inertia *inertia);
} mpki_dense_method;

/** Errors of one right-hand side, host memory. */
typedef struct mpki_dense_error {
    double omega; /* max_i |r|_i / (|A| |x| + |b|)_i; 0/0 = 0, NaN and x/0 = infinity */
    double r_inf, x_inf, b_inf; /* largest moduli */
    bool far; /* numbers are too near to the ends of the range for this to be true */
} mpki_dense_error;

/** A rung of the ladder of mpk_dense_sysv(). */
typedef struct mpki_dense_rung {
    mpk_dense_method method;
    mpk_dense_precision precision;
    int64_t from_n; /* not for smaller matrices */
} mpki_dense_rung;

typedef struct mpki_dense_methods {
    /** "cpu-avx512", "cuda": for reports. */
    const char *(*name)(void);
    mpki_dense_method method[MPK_DENSE_COUNT];  /* by mpk_dense_method; auto is empty */
    mpki_dense_rung ladder[MPK_DENSE_ATTEMPTS]; /* cheapest first, ends at method auto */

    /** Handles for the calls that follow: fills state; host: the pool. end frees them. */
    mpk_status (*begin)(mpki_dense_call *call);
    void (*end)(mpki_dense_call *call);
    /** Memory of the place, where the caller gave none: MPK_ERR_MEMORY tells the sizes. */
    void *(*alloc)(mpki_dense_call *call, int64_t bytes);
    void (*release)(mpki_dense_call *call, void *ptr);

    /** Largest modulus of the triangle of call->a; infinity or NaN where there is one in it. And
     *  ||A||_inf. Either pointer may be NULL. */
    mpk_status (*largest)(mpki_dense_call *call, double *max, double *norm_inf);
    /** dst (scalar `to`) := src (scalar `from`), rows x cols; real with real, complex with complex;
     *  src NULL: zeros. */
    mpk_status (*copy)(mpki_dense_call *call, int64_t rows, int64_t cols, mpk_scalar from,
                       const void *src, int64_t lds, mpk_scalar to, void *dst, int64_t ldd);
    /** y += alpha x for n x cols of dense.scalar; alpha is real and imaginary part. */
    mpk_status (*axpy)(mpki_dense_call *call, int64_t cols, const double alpha[2], const void *x,
                       int64_t ldx, void *y, int64_t ldy);
    /** result = x^H y, real and imaginary part; n entries of dense.scalar. Host result. */
    mpk_status (*dot)(mpki_dense_call *call, const void *x, const void *y, double result[2]);
    /** R := B - A X from the triangle of call->a, dense.scalar, nrhs columns; error (host, nrhs)
     *  from it, may be NULL. work: residual_bytes(). R must not overlap; it may be B where error is
     *  NULL. B NULL: zeros, R := -A X. */
    mpk_status (*residual)(mpki_dense_call *call, int32_t nrhs, const void *x, int64_t ldx,
                           const void *b, int64_t ldb, void *r, int64_t ldr,
                           mpki_dense_error *error, char *work);
    int64_t (*residual_bytes)(const mpki_dense_call *call, int32_t nrhs);
    /** n entries of dense.scalar between the place (y) and host memory. */
    mpk_status (*put)(mpki_dense_call *call, const void *host, void *y);
    mpk_status (*get)(mpki_dense_call *call, const void *y, void *host);
} mpki_dense_methods;

/** Of backends/cuda, where it is built (MPKI_HAVE_CUDA): its table, or NULL and MPK_ERR_DEVICE
 *  recorded: no driver, no such device, ... */
const mpki_dense_methods *mpki_cuda_dense(mpk_context *ctx, int device);

#endif
