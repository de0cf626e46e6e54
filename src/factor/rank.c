/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank of A, as far as a factorization and a few vectors show it. */
#include "rank_kernel.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

enum {
    TRIAL_STEPS = 3, /* of refinement */
    OTHER_TIMES = 50 /* times the predicted work: what another scaling may cost */
};

/* Pivots at the level of rounding, and none that is zero. */
static bool weak(const mpk_factor *fac) {
    return fac->info.inertia.zero == 0 && mpki_pivots_doubtful(fac);
}

/* ---- where two scalings disagree ---------------------------------------------------------------
 */

/* What was found about a factor: the backward error of a solve with a known solution, and how
 * nearly A takes to zero, in both scalings, what the factor takes there. */
typedef struct evidence {
    double omega, eta;
} evidence;

/* missed [out] n, or NULL: 1 for the rows that the solution does not satisfy */
static mpk_status try_solve(mpk_factor *fac, double *omega, char *missed) {
    mpk_context *ctx = fac->ctx;
    const mpk_scalar scalar = fac->an->scalar;
    const int32_t n = fac->an->n;
    const double accuracy = mpki_accuracy(&fac->options, scalar);
    mpk_solve_info info = {0};
    mpki_solve_work work;
    mpk_status status = mpki_solve_work_make(ctx, fac, fac->options.threads, 1, &work);
    if (mpk_failed(status)) return status;
    void *known = mpki_alloc(ctx, STAGE, n, mpk_scalar_size(scalar));
    void *x = mpki_alloc(ctx, STAGE, n, mpk_scalar_size(scalar));
    if (known && x) {
        MPKI_DISPATCH(scalar, trial)(&work, known, work.b);
        memcpy(x, work.b, (size_t)n * mpk_scalar_size(scalar));
        mpki_apply_inverse(&work, x);
        MPKI_DISPATCH(scalar, refine)(&work, TRIAL_STEPS, accuracy, x, &info);
        *omega = info.componentwise;
        if (missed) MPKI_DISPATCH(scalar, missed)(&work, x, accuracy, missed);
    }
    mpki_release(ctx, x);
    mpki_release(ctx, known);
    mpki_solve_work_free(ctx, &work);
    return mpki_failed(ctx);
}

static bool decided(const mpk_factor *fac, const evidence *e, double bound) {
    return fac->info.inertia.zero == 0 || e->eta <= bound;
}

/* Does a second factor settle what the first could not? Pivots that are not zero settle it only if
 * they are well above rounding: an exactly singular matrix has weak pivots in most scalings. */
static bool clear(const mpk_factor *fac, const evidence *e, double bound) {
    return fac->info.inertia.zero == 0 ? fac->info.min_pivot > mpki_pivot_noise(fac)
                                       : e->eta <= bound;
}

/* Is the second factor, a, better than the first, b? */
static bool better(const mpk_factor *a, const evidence *ea, const mpk_factor *b, const evidence *eb,
                   double bound) {
    const double accuracy = mpki_accuracy(&a->options, a->an->scalar);
    const bool good_a = ea->omega <= accuracy, good_b = eb->omega <= accuracy;
    if (good_a != good_b) return good_a;
    if (good_a && !decided(b, eb, bound)) return clear(a, ea, bound);
    return ea->omega < eb->omega;
}

/* Factorize in another way, by the other scaling or with a lower bound of zero pivots, and keep the
 * better factor. */
static mpk_status try_other(mpk_factor *fac, bool rescale, evidence *e, double bound) {
    mpk_context *ctx = fac->ctx;
    const mpki_stop stop = {OTHER_TIMES * fac->an->info.factor_flops + 2e9, INT64_MAX};
    mpki_numeric_result result;
    evidence its;
    mpk_factor *other = mpki_twin(fac);
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status)) {
        if (rescale)
            other->rescaled = !fac->rescaled;
        else
            other->lowered = true;
        status = mpki_factorize_once(other, &stop, &result);
    }
    if (status == MPK_ERR_NUMERIC) { /* overflow: keep the first */
        mpki_clear_error(ctx);
        status = MPK_OK;
    } else if (!mpk_failed(status) && !result.runaway) {
        double *row_norm = fac->row_norm; /* it belongs to the values, so it serves both */
        mpki_factor_describe(other, &result);
        other->row_norm = row_norm;
        status = try_solve(other, &its.omega, NULL);
        if (!mpk_failed(status))
            status = mpki_kernel_of_zeros(other, rescale ? fac->scale : NULL, &its.eta);
        other->row_norm = NULL;
        if (!mpk_failed(status) && better(other, &its, fac, e, bound)) {
            mpki_exchange_numbers(fac, other);
            fac->info.again = 1;
            *e = its;
        }
    }
    mpk_factor_destroy(&other);
    return status;
}

/* The matching moved columns far from where equilibration puts them: a zero pivot with one scaling
 * need not be one with the other. Both are tried before a verdict. */
static mpk_status look_at_both(mpk_factor *fac) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    const double bound = mpki_default_zero_tolerance(an->scalar);
    double *other = MPKI_NEW(ctx, STAGE, an->n, double);
    double size;
    evidence e = {INFINITY, INFINITY};
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status))
        status = mpki_find_scaling(ctx, an, &fac->options, fac->ax, !fac->rescaled, other, &size);
    if (!mpk_failed(status)) status = mpki_kernel_of_zeros(fac, other, &e.eta);
    mpki_release(ctx, other);
    if (!mpk_failed(status)) status = try_solve(fac, &e.omega, NULL);
    if (!mpk_failed(status) &&
        (!(e.omega <= mpki_accuracy(&fac->options, an->scalar)) || !decided(fac, &e, bound)))
        status = try_other(fac, true, &e, bound);
    if (mpk_failed(status)) return status;
    if (fac->info.inertia.zero > 0)
        mpki_rank_conclude(fac, e.eta, bound);
    else if (weak(fac))
        status = mpki_weak_to_zero(fac);
    return status;
}

/* Zero pivots in a matrix that is well scaled: if no vector confirms them they may be small
 * pivots. */
static mpk_status look_at_zeros(mpk_factor *fac) {
    const double bound = mpki_kernel_bound(fac);
    evidence e = {INFINITY, INFINITY};
    mpk_status status = mpki_kernel_of_zeros(fac, NULL, &e.eta);
    if (mpk_failed(status)) return status;
    mpki_rank_conclude(fac, e.eta, bound);
    if (fac->options.zero_tolerance >= 0) return MPK_OK;
    if (e.eta <= bound) return mpki_pivots_doubtful(fac) ? mpki_weak_to_zero(fac) : MPK_OK;
    if (fac->lowered) return MPK_OK;
    status = try_solve(fac, &e.omega, NULL);
    if (!mpk_failed(status)) status = try_other(fac, false, &e, bound);
    if (mpk_failed(status)) return status;
    if (fac->info.inertia.zero > 0)
        mpki_rank_conclude(fac, e.eta, bound);
    else if (weak(fac))
        status = mpki_weak_to_zero(fac);
    return status;
}

/* ---- more of the kernel -------------------------------------------------------------------------
 */

/* Bounds of zero pivots for what the usual one leaves of noise. The first that proves more zeros is taken. */
static const double BOUNDS[] = {1e-10, 1e-12}, BOUNDS_SINGLE[] = {1e-3};

/* Are there more zero pivots than fac has, all of them of A's kernel? Then other's numbers become fac's. */
static mpk_status take_more(mpk_factor *fac, mpk_factor *other, bool *taken) {
    double omega = INFINITY, eta = INFINITY;
    *taken = false;
    if (other->info.inertia.zero <= fac->info.inertia.zero) return MPK_OK;
    mpk_status status = mpki_kernel_of_all(other, &eta);
    if (mpk_failed(status) || !(eta <= mpki_kernel_bound(other))) return status;
    status = try_solve(other, &omega, NULL);
    *taken = omega <= mpki_accuracy(&fac->options, fac->an->scalar);
    if (mpk_failed(status) || !*taken) return status;
    mpki_exchange_numbers(fac, other);
    fac->info.again = 1;
    mpki_rank_conclude(fac, eta, mpki_kernel_bound(fac));
    return MPK_OK;
}

/* Of a kernel of many dimensions some zero pivots come out as rounding, which then passes for pivots. With a larger
 * bound these are zero, too; and where it is too large, the vector of all zero pivots tells. */
static mpk_status look_for_more(mpk_factor *fac) {
    const bool single = fac->an->scalar == MPK_S || fac->an->scalar == MPK_C;
    const double *bound = single ? BOUNDS_SINGLE : BOUNDS;
    const int count = single ? 1 : 2;
    const mpki_stop stop = {OTHER_TIMES * fac->an->info.factor_flops + 2e9, INT64_MAX};
    mpk_status status = MPK_OK;
    if (fac->info.rank != MPK_RANK_NUMERICAL || !mpki_pivots_doubtful(fac) || fac->raised > 0)
        return MPK_OK;
    bool taken = false;
    for (int k = 0; k < count && !taken && !mpk_failed(status); k++) {
        if (fac->info.min_pivot > bound[k]) break; /* nothing would change */
        mpki_numeric_result result;
        mpk_factor *other = mpki_twin(fac);
        status = mpki_failed(fac->ctx);
        if (!mpk_failed(status)) {
            other->raised = bound[k];
            status = mpki_factorize_once(other, &stop, &result);
        }
        if (!mpk_failed(status) && !result.runaway) {
            double *row_norm = fac->row_norm; /* as in try_other() */
            mpki_factor_describe(other, &result);
            other->row_norm = row_norm;
            status = take_more(fac, other, &taken);
            other->row_norm = NULL;
        }
        mpk_factor_destroy(&other);
    }
    if (status == MPK_ERR_NUMERIC || status == MPK_ERR_MEMORY) { /* the first one stands */
        mpki_clear_error(fac->ctx);
        status = MPK_OK;
    }
    return status;
}

mpk_status mpki_try_core(mpk_factor *fac, char *missed, double *error) {
    if (mpk_failed(mpki_factor_bring(fac->ctx, fac))) return mpki_failed(fac->ctx);
    return try_solve(fac, error, missed);
}

/* ---- the verdict -------------------------------------------------------------------------------
 */

/* The matching saw older values: what was a zero then need not be zero now. */
static bool structurally_singular(const mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    if (an->info.structural_rank < 0 || an->info.structural_rank >= an->n) return false;
    if (fac->own || mpki_core_is_part(&an->core))
        return true; /* analysed again on these values; or the pattern alone shows it */
    if (mpk_failed(mpki_factor_bring(fac->ctx, fac))) return false; /* recorded */
    return fac->ax == an->values->ax || !memcmp(fac->ax, an->values->ax, (size_t)an->values->bytes);
}

static mpk_status find_rank(mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    const mpk_options *o = &fac->options;
    mpk_factor_info *info = &fac->info;
    if (an->n == 0 || info->perturbed > 0) return MPK_OK;
    if (structurally_singular(fac)) {
        info->rank = MPK_RANK_STRUCTURAL;
        return MPK_OK;
    }
    if (mpk_failed(mpki_failed(fac->ctx))) return mpki_failed(fac->ctx);
    const bool by_default = o->zero_tolerance < 0;
    if (info->inertia.zero == 0 && !(weak(fac) && by_default)) return MPK_OK;
    if (mpk_failed(mpki_factor_bring(fac->ctx, fac))) return mpki_failed(fac->ctx);
    if (info->inertia.zero == 0 && !an->scale_far) {
        bool may = true;
        mpk_status status = mpki_kernel_possible(fac, &may);
        if (mpk_failed(status) || !may) return status;
    }
    if (o->zero_tolerance <= mpki_default_zero_tolerance(an->scalar)) {
        bool far = false;
        mpk_status status = mpki_scalings_differ(fac, &far);
        if (mpk_failed(status)) return status;
        if (far) return look_at_both(fac);
    }
    return info->inertia.zero == 0 ? mpki_weak_to_zero(fac) : look_at_zeros(fac);
}

mpk_status mpki_find_rank(mpk_factor *fac) {
    const mpk_status status = find_rank(fac);
    if (mpk_failed(status) || fac->options.zero_tolerance >= 0) return status;
    return look_for_more(fac);
}
