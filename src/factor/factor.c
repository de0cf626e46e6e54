/* SPDX-License-Identifier: BSD-3-Clause */
/* What a factor holds, whatever its form: values that may be away, and its end. */
#include "factor.h"
#include "measured.h"
#include "given.h"

static const char STAGE[] = "factorize";

void mpki_factor_norms(mpk_factor *fac, int threads) {
    const mpk_analysis *base = fac->base;
    const mpk_problem_view a = {base->n,  base->nnz, base->scalar, base->symmetry,
                                base->ap, base->ai,  fac->ax};
    fac->norm_inf = mpki_row_sums_by(fac->ctx, threads, &a, fac->row_norm);
    if (mpki_skew_of(fac)) fac->norm_inf = mpki_skew_row_sums(mpki_skew_of(fac), &a, fac->row_norm);
}

static mpk_status bring(mpk_context *ctx, mpk_factor *fac) {
    mpki_values *values = mpki_values_new(fac->ctx, STAGE, fac->base->values->bytes);
    if (!values)
        return mpki_error(ctx, MPK_ERR_MEMORY, STAGE, fac->base->values->bytes,
                          "out of host memory");
    mpk_status status = fac->form->give(fac, values->ax, fac->scale);
    if (mpk_failed(status)) {
        mpki_values_release(&values);
        return mpki_error(ctx, status, STAGE, -1, "values did not come back from the device");
    }
    mpki_values_release(&fac->values);
    fac->values = values;
    fac->ax = values->ax;
    mpki_factor_norms(fac, 1);
    return MPK_OK;
}

mpk_status mpki_factor_bring(mpk_context *ctx, const mpk_factor *fac) {
    mpk_factor *own = (mpk_factor *)(uintptr_t)fac; /* what is brought is no other than before */
    mpk_status status = MPK_OK;
    if (!atomic_load_explicit(&own->away, memory_order_acquire)) return MPK_OK;
    mpki_lock_take(&own->bringing);
    if (atomic_load_explicit(&own->away, memory_order_relaxed)) {
        status = bring(ctx, own);
        if (!mpk_failed(status)) atomic_store_explicit(&own->away, false, memory_order_release);
    }
    mpki_lock_give(&own->bringing);
    return status;
}

mpk_status mpki_factor_whole(mpk_context *ctx, const char *stage, const mpk_factor *fac) {
    if (!fac->an->split) return MPK_OK;
    return mpki_error(ctx, MPK_ERR_UNSUPPORTED, stage, -1,
                      "the factor is that of an interior: mpk_schur_condense, the solution with S "
                      "and mpk_schur_expand lead to that of A");
}

mpk_status mpki_factor_symmetric(mpk_context *ctx, const char *stage, const mpk_factor *fac,
                                 const char *what) {
    if (fac->an->symmetry != MPK_GENERAL) return MPK_OK;
    return mpki_error(ctx, MPK_ERR_UNSUPPORTED, stage, -1,
                      "the matrix is not symmetric, and %s are of matrices that are", what);
}

mpk_status mpki_factor_wide(mpk_context *ctx, const char *stage, const mpk_factor *fac) {
    if (!mpki_lossy(fac)) return MPK_OK;
    if (!fac->narrow)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, stage, -1,
                          "the factor is in low rank, and only refined solves make up for that: "
                          "factorize with low_rank_tolerance = 0");
    return mpki_error(ctx, MPK_ERR_UNSUPPORTED, stage, -1,
                      "the factor is in single precision, and only refined solves make up for "
                      "that: factorize with precision = double");
}

mpk_status mpki_factor_usable(mpk_context *ctx, const char *stage, const mpk_factor *fac) {
    const bool mine = fac->forks == mpki_forks();
    if (mine && (!ctx || ctx == fac->ctx || !fac->engine->join)) return MPK_OK;
    if (mine) return fac->engine->join(ctx, fac->ctx);
    if (fac->engine && fac->engine->is_here)
        return mpki_error(ctx, MPK_ERR_DEVICE, stage, -1,
                          "the factor is on a device of the process that this one was forked from, "
                          "and no device follows a fork: factorize here, or fork before");
    if (fac->at_work)
        return mpki_error(
            ctx, MPK_ERR_ARGUMENT, stage, -1,
            "another thread was changing the factor when the process forked: it holds "
            "no factorization here");
    return MPK_OK;
}

void mpk_factor_destroy(mpk_factor **out) {
    if (!out || !*out) return;
    mpk_factor *fac = *out;
    *out = NULL;
    if (mpk_failed(mpki_factor_usable(NULL, STAGE, fac))) return;
    if (fac->engine) fac->form->free(fac);
    mpk_analysis_destroy(&fac->own);
    mpki_release(fac->ctx, fac->scale);
    mpki_release(fac->ctx, fac->row_norm);
    mpki_release(fac->ctx, fac->ones);
    mpki_release(fac->ctx, fac->known.vector);
    mpki_release(fac->ctx, fac->known.sum);
    mpki_release(fac->ctx, fac->known.like);
    mpki_measured_drop(fac);
    mpki_kept_basis_drop(fac);
    mpki_given_drop(fac);
    mpki_values_release(&fac->values);
    mpki_lock_end(&fac->bringing);
    mpki_release(fac->ctx, fac);
}
