/* SPDX-License-Identifier: BSD-3-Clause */
/* Is the inertia of D that of A? Asked of a factor that is there, once for its numbers. */
#include "../core/floats.h"
#include "../problem/certificate.h"
#include "../problem/columns.h"
#include "refine.h"

#include <string.h>

static const char STAGE[] = "certify";

/* May the signs of D be the inertia of A? */
static bool counts(const mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    return fac->info.perturbed == 0 && an->symmetry != MPK_GENERAL &&
           (an->scalar <= MPK_D || an->symmetry == MPK_HERMITIAN);
}

/* One vector: c. work->b holds zeros. */
static mpk_status measure(mpki_solve_work *work, const double *scale, uint64_t *state, double *c) {
    const mpk_problem_view *a = &work->system.a;
    MPKI_DISPATCH(a->scalar, gaussian)(a->n, scale, state, work->x);
    mpki_residual(a, work->x, work->b, work->r, work->w, work->sums);
    int exponent = 0;
    if (!MPKI_DISPATCH(a->scalar, column_finite)(a->n, work->r)) { /* near the end of the range */
        mpki_system mean = work->system;
        mean.skew = NULL;
        exponent =
            MPKI_DISPATCH(a->scalar, measure_wide)(&mean, work->x, work->b, work->r).exponent;
        if (mpk_failed(mpki_failed(mean.ctx))) return mpki_failed(mean.ctx);
    }
    mpk_status status = mpki_apply(&work->m, MPK_PART_ALL, 1, work->r, a->n, work->r, a->n);
    if (exponent) MPKI_DISPATCH(a->scalar, column_shift)(a->n, -exponent, work->r);
    *c = MPKI_DISPATCH(a->scalar, contraction)(a->n, scale, work->x, work->r);
    return status;
}

static mpk_status examine(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *lent,
                          mpk_certificate *found) {
    const mpk_analysis *an = fac->an;
    const size_t size = mpk_scalar_size(an->scalar);
    mpki_solve_work own, *work = lent ? lent : &own;
    mpk_status status =
        lent ? MPK_OK : mpki_solve_work_make(ctx, fac, fac->options.threads, 1, &own);
    if (mpk_failed(status)) return status;
    uint64_t state = mpki_certificate_seed(an->n, fac->options.seed);
    state = mpki_certificate_hash(state, fac->ax, an->nnz * (int64_t)size);
    memset(work->b, 0, (size_t)an->n * size);
    for (bool open = true; open && !mpk_failed(status);) {
        double c = INFINITY;
        status = measure(work, fac->scale, &state, &c);
        if (!mpk_failed(status)) open = mpki_certificate_next(found, c);
    }
    if (!lent) mpki_solve_work_free(ctx, &own);
    return status;
}

/* Numbers that nobody has examined yet. */
static mpk_status examine_first(mpk_context *ctx, mpk_factor *fac, mpki_solve_work *lent) {
    const bool open = mpki_examinable(fac);
    mpk_certificate found = {.certified = open, .miss_bound = !open};
    mpk_status status = MPK_OK;
    if (open && fac->an->n > 0) status = examine(ctx, fac, lent, &found);
    if (mpk_failed(status)) return status;
    fac->regular = found.certified;
    if (!counts(fac)) found.certified = 0, found.miss_bound = 1;
    fac->certificate = found;
    return MPK_OK;
}

mpk_status mpki_certify_within(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *lent,
                               mpk_certificate *out) {
    mpk_factor *own = (mpk_factor *)(uintptr_t)fac; /* what is found is no other for who asks */
    mpk_status status = mpki_examinable(fac) ? mpki_factor_bring(ctx, fac) : MPK_OK;
    if (mpk_failed(status)) return status;
    if (!atomic_load_explicit(&own->examined, memory_order_acquire)) {
        mpki_lock_take(&own->bringing);
        if (!atomic_load_explicit(&own->examined, memory_order_relaxed)) {
            status = examine_first(ctx, own, lent);
            if (!mpk_failed(status))
                atomic_store_explicit(&own->examined, true, memory_order_release);
        }
        mpki_lock_give(&own->bringing);
    }
    if (!mpk_failed(status) && out) *out = own->certificate;
    return status;
}

mpk_status mpki_certify(mpk_context *ctx, const mpk_factor *fac, mpk_certificate *out) {
    return mpki_certify_within(ctx, fac, NULL, out);
}

mpk_status mpk_certify(mpk_context *ctx, mpk_factor *fac, mpk_certificate *out) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!fac || !fac->valid)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor holds no factorization");
    const mpk_status status = mpki_factor_usable(ctx, STAGE, fac);
    return mpk_failed(status) ? status : mpki_certify(ctx, fac, out);
}
