/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_DENSE_SESSION_H
#define MPKI_DENSE_SESSION_H
/** What the verbs of metapack/dense.h share: checks of their arguments (check.c), a call from its
 *  beginning to its end (dense.c), the ladder of methods (ladder.c). */
#include "refine.h"

/** What every verb begins with. */
typedef struct mpki_dense_session {
    const mpki_dense_engine *engine;
    mpki_dense_call call;
    mpk_dense_info info;
    mpk_dense_sizes sizes;
    void *taken;
    bool begun;
    bool by_default; /* zero_tolerance was not given */
} mpki_dense_session;

/* ---- check.c: MPK_ERR_ARGUMENT or _SIZE with the reason recorded ----------------------------- */

#define MPKI_REFUSE(...) return mpki_error(ctx, MPK_ERR_ARGUMENT, "dense", __VA_ARGS__)

/** The caller's struct, checked, with defaults that depend only on n filled in.
 *  d [out] */
/** What the caller has of mpk_dense, the rest as mpk_dense_init() fills it; false: it was not
 *  filled. And: has f all that this version reads and writes? */
bool mpki_dense_read(const mpk_dense *given, mpk_dense *d);
bool mpki_dense_factor_filled(const mpk_dense_factor *f);

mpk_status mpki_dense_resolve(mpk_context *ctx, const mpk_dense *given, mpk_dense *d);
/** The scalar type of the factor's entries. */
/** Is there a machine for matrices of this order and so many right-hand sides? MPK_OK |
 *  MPK_ERR_SIZE, _ARGUMENT. */
mpk_status mpki_dense_check_size(mpk_context *ctx, const mpk_dense *d, int32_t nrhs);
mpk_scalar mpki_dense_factor_scalar(const mpk_dense *d);
double mpki_dense_eps(mpk_scalar scalar);
mpk_status mpki_dense_check_matrix(mpk_context *ctx, const mpk_dense *d, const char *name,
                                   const void *a, int64_t lda, size_t size);
mpk_status mpki_dense_check_factor(mpk_context *ctx, const mpk_dense *d, const mpk_dense_factor *f,
                                   int64_t extra);
mpk_status mpki_dense_check_work(mpk_context *ctx, const void *work, int64_t bytes, int64_t wanted);
/** a, f and work as the caller gave them must not overlap, except that a == f->f is allowed where
 *  the verb writes f. */
mpk_status mpki_dense_check_overlap(mpk_context *ctx, const mpk_dense *d, const void *a,
                                    int64_t lda, const mpk_dense_factor *f,
                                    const mpk_dense_sizes *sizes, const void *work,
                                    int64_t work_bytes, bool writes);
/** Likewise b and x, with all of these. */
mpk_status mpki_dense_check_sides(mpki_dense_session *s, const void *a, int64_t lda, int32_t nrhs,
                                  const void *b, int64_t ldb, const void *x, int64_t ldx,
                                  const void *work, int64_t work_bytes);

/* ---- dense.c: arguments checked, engine begun, work given ------------------------------------ */

/** Factorize by call->dense.method; call->most must be known. */
mpk_status mpki_dense_run_factorize(const mpki_dense_engine *engine, mpki_dense_call *call);
/** Solve and measure; the factor is there, call->work holds the slot's work, then that of
 *  refinement. */
mpk_status mpki_dense_run_solve(mpki_dense_session *s, mpki_dense_call *call, double norm_inf,
                                int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx);
/** Is a rung meant for this order and scalar? */
bool mpki_dense_rung_applies(const mpki_dense_rung *rung, const mpk_dense *d);

/* ---- ladder.c -------------------------------------------------------------------------------- */

/** Try methods of growing strength, each up to a solution, until one is accurate; info says which
 *  were tried. */
mpk_status mpki_dense_ladder(mpki_dense_session *s, double norm, int32_t nrhs, const void *b,
                             int64_t ldb, void *x, int64_t ldx);

#endif
