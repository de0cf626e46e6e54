/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_DENSE_CHECK_H
#define MPKI_DENSE_CHECK_H
/** Checks of what a caller of metapack/dense.h gave: MPK_OK, or MPK_ERR_ARGUMENT or _SIZE with the
 *  reason recorded. */
#include "../engines/interface/dense.h"

#define MPKI_REFUSE(...) return mpki_error(ctx, MPK_ERR_ARGUMENT, "dense", __VA_ARGS__)

/** Work as the caller gave it; memory NULL: none. */
typedef struct mpki_dense_work {
    void *memory;
    int64_t bytes;
} mpki_dense_work;

/** Right-hand sides and solutions, as the caller gave them. */
typedef struct mpki_dense_sides {
    int32_t nrhs;
    const void *b;
    int64_t ldb;
    void *x;
    int64_t ldx;
} mpki_dense_sides;

/** What the caller has of mpk_dense, the rest as mpk_dense_init() fills it; false: it was not
 *  filled. */
bool mpki_dense_read(const mpk_dense *given, mpk_dense *d);
/** Has f all that this version reads and writes? */
bool mpki_dense_factor_filled(const mpk_dense_factor *f);
/** The caller's struct, checked, with defaults that depend only on n filled in.
 *  d [out] */
mpk_status mpki_dense_resolve(mpk_context *ctx, const mpk_dense *given, mpk_dense *d);
/** Is there a machine for matrices of this order and so many right-hand sides? */
mpk_status mpki_dense_check_size(mpk_context *ctx, const mpk_dense *d, int32_t nrhs);
/** The scalar type of the factor's entries. */
mpk_scalar mpki_dense_factor_scalar(const mpk_dense *d);
double mpki_dense_eps(mpk_scalar scalar);
mpk_status mpki_dense_check_matrix(mpk_context *ctx, const mpk_dense *d, const char *name,
                                   const void *a, int64_t lda, size_t size);
mpk_status mpki_dense_check_factor(mpk_context *ctx, const mpk_dense *d, const mpk_dense_factor *f,
                                   int64_t extra);
mpk_status mpki_dense_check_work(mpk_context *ctx, const mpki_dense_work *work, int64_t wanted);
/** a, f and work as the caller gave them must not overlap, except that a == f->f is allowed where
 *  the verb writes f. */
mpk_status mpki_dense_check_overlap(mpk_context *ctx, const mpk_dense *d, const void *a,
                                    int64_t lda, const mpk_dense_factor *f,
                                    const mpk_dense_sizes *sizes, const mpki_dense_work *work,
                                    bool writes);
/** Likewise b and x, with all of these; call->a and call->f are there. */
mpk_status mpki_dense_check_sides(const mpki_dense_call *call, const mpk_dense_sizes *sizes,
                                  const mpki_dense_sides *sides, const mpki_dense_work *work);

#endif
