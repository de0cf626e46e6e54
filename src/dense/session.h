/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_DENSE_SESSION_H
#define MPKI_DENSE_SESSION_H
/** A call of metapack/dense.h from its beginning to its end. A verb begins, takes work, runs, and
 *  finishes whatever happened. */
#include "check.h"
#include "refine.h"

typedef struct mpki_dense_session {
    const mpki_dense_engine *engine;
    mpki_dense_call call;
    mpk_dense_info info;
    mpk_dense_sizes sizes;
    void *taken;
    bool begun;
    bool by_default; /* zero_tolerance was not given */
} mpki_dense_session;

static inline int64_t mpki_dense_round(int64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/** Check what `given` says, choose the engine, begin it, find the sizes; ladder: of all rungs.
 *  s [out] may be finished, whatever comes back */
mpk_status mpki_dense_begin(mpk_context *ctx, const mpk_dense *given, int32_t nrhs, bool ladder,
                            mpki_dense_session *s);
/** Likewise for a verb that writes f from a. */
mpk_status mpki_dense_begin_factor(mpk_context *ctx, const mpk_dense *given, const void *a,
                                   int64_t lda, mpk_dense_factor *f, int32_t nrhs, bool ladder,
                                   const mpki_dense_work *work, mpki_dense_session *s);
/** Likewise for a verb that reads f, and a where it is not NULL: method and precision are those of
 *  f. */
mpk_status mpki_dense_begin_solve(mpk_context *ctx, const mpk_dense *given, const void *a,
                                  int64_t lda, const mpk_dense_factor *f, int32_t nrhs,
                                  const mpki_dense_work *work, mpki_dense_session *s);
/** The caller's memory, or some for the length of the call. */
mpk_status mpki_dense_take_work(mpki_dense_session *s, const mpki_dense_work *work, int64_t wanted);
/** Give back what was taken; *info [out], or NULL, is written unless the call failed. Returns
 *  status. */
mpk_status mpki_dense_finish(mpki_dense_session *s, mpk_status status, mpk_dense_info *info);

/** Is a rung meant for this order, scalar and precision? */
bool mpki_dense_rung_applies(const mpki_dense_rung *rung, const mpk_dense *d);

#endif
