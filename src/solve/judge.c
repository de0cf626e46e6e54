/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict on solutions. */
#include "judge.h"
#include "../factor/rank.h"
#include "../problem/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char STAGE[] = "solve";

/* ||A|| ||x|| / ||b|| from which on b hardly counts beside A x; what b must have in rows that x
 * does not resolve, for the same; and a relative residual that no solution has. */
static const double LARGE = 1e12, LARGE_SINGLE = 1e5, LOST = 1e-14, LOST_SINGLE = 1e-6,
                    RESIDUAL = 1e-6, RESIDUAL_SINGLE = 1e-2;
/* A step of refinement, relative to the solution, from which on the factor is in doubt: of 44 570
 * crafted factors whose inertia was wrong all but one showed more. */
static const double CORRECTION = 0.1;

static bool single(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

double mpki_large_growth(mpk_scalar scalar) {
    return single(scalar) ? LARGE_SINGLE : LARGE;
}

bool mpki_large_step(double correction) {
    return correction > CORRECTION;
}

double mpki_lost_rows(mpk_scalar scalar) {
    return single(scalar) ? LOST_SINGLE : LOST;
}

static double no_solution(mpk_scalar scalar) {
    return single(scalar) ? RESIDUAL_SINGLE : RESIDUAL;
}

/* v := x without entries below `least` of its largest; false: that is x itself */
static bool cut(const mpk_analysis *an, const void *x, const double *moduli, double least,
                void *v) {
    const size_t size = mpk_scalar_size(an->scalar);
    double most = 0;
    bool less = false;
    for (int32_t i = 0; i < an->n; i++) most = fmax(most, moduli[i]);
    memcpy(v, x, (size_t)an->n * size);
    for (int32_t i = 0; i < an->n; i++) {
        if (moduli[i] >= least * most) continue;
        less |= moduli[i] > 0;
        memset((char *)v + (size_t)i * size, 0, size);
    }
    return less;
}

/* Does A take v to nothing? v may lose its noise. */
static double flat(const mpk_factor *fac, mpki_solve_work *work, void *v) {
    const double bound = mpki_default_zero_tolerance(fac->an->scalar);
    const double eta =
        MPKI_DISPATCH(fac->an->scalar, flatness)(work->scale, bound, MPKI_FLATNESS_MOST, work, v)
            .eta;
    return eta <= bound ? eta : INFINITY;
}

/* Ask for a certificate, in the work space of the solve where that is one with A's factor; without
 * memory for it what it would have settled stays in doubt, for x is there. */
static mpk_status ask(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *work) {
    const bool fits = work && work->m.ctx == ctx && work->m.fac == fac && work->sums &&
                      fac->an->symmetry != MPK_GENERAL;
    mpk_status status = fits ? mpki_solve_work_complete(ctx, work) : MPK_OK;
    if (!mpk_failed(status)) status = mpki_certify_within(ctx, fac, fits ? work : NULL, NULL);
    if (status != MPK_ERR_MEMORY) return status;
    mpki_clear_error(ctx);
    return MPK_OK;
}

/* Do these errors say that b hardly counts beside A x, or does not in rows that x does not resolve?
 * A complete factor of full rank has been asked for a kernel, an incomplete one knows nothing of
 * it. */
static bool is_large(const mpk_factor *fac, const mpki_quality *q) {
    return q->growth >= mpki_large_growth(fac->an->scalar);
}
static bool is_lost(const mpk_factor *fac, const mpki_quality *q) {
    const mpk_factor_info *f = &fac->info;
    const bool full = fac->form->exact && f->rank == MPK_RANK_FULL && f->perturbed == 0;
    return !full && q->unresolved > (fac->form->exact ? mpki_lost_rows(fac->an->scalar) : 0);
}

/* Does x solve its system, as far as its errors tell? */
static bool solves(const mpk_factor *fac, const mpki_quality *q) {
    return mpki_solves(fac->an->scalar, q->componentwise, q->rows) && !q->missed;
}

/* iterated: the outcome of a Krylov method is told unless x is found to be of A's kernel */
static bool looks(const mpk_factor *fac, const mpki_quality *q, bool iterated) {
    const mpk_rank rank = fac->info.rank;
    /* scales of general blocks differ */
    const bool asks = fac->an->symmetry != MPK_GENERAL || fac->direct;
    /* else where A is known to be singular it is told of x only whether it is a solution */
    const bool said = !iterated && (rank == MPK_RANK_NUMERICAL || rank == MPK_RANK_STRUCTURAL);
    return asks && (is_large(fac, q) || is_lost(fac, q)) && !(said && !solves(fac, q));
}

/* Does A take x to nothing, or its large entries where that is asked, as far as an engine has
 * measured it? *eta [inout]: infinite as long as it does not. False: x is wanted, whose noise may be
 * left out. */
static bool known(const mpk_factor *fac, const mpki_quality *q, double *eta) {
    const double bound = mpki_default_zero_tolerance(fac->an->scalar);
    const int all = is_lost(fac, q) ? 1 + MPKI_CUTS : 1;
    for (int k = 0; q->near && k < all && !isfinite(*eta); k++) {
        if (!mpki_near_is_all(&q->near[k], fac, bound)) return false;
        if (q->near[k].eta <= bound) *eta = q->near[k].eta;
    }
    return q->near != NULL;
}

bool mpki_judge_looks(const mpk_factor *fac, const mpki_quality *q) {
    double eta = INFINITY;
    return looks(fac, q, false) && !known(fac, q, &eta);
}

/* Is x a vector of A's kernel, or are its large entries, beside a solution of other equations? Not
 * asked where b counts, nor where a certificate shows that A has no such vector; where there is
 * none, a large x alone is enough for *large_x. */
static mpk_status kernel(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *work,
                         const void *x, bool iterated, double *eta, bool *large_x) {
    const mpk_analysis *an = fac->an;
    const bool lost = is_lost(fac, &work->last);
    double *moduli = NULL;
    if (!looks(fac, &work->last, iterated)) return MPK_OK;
    mpk_status status = ask(ctx, fac, work);
    if (mpk_failed(status) || mpki_regular(fac)) return status;
    *large_x = is_large(fac, &work->last);
    if (known(fac, &work->last, eta)) return MPK_OK;
    if (mpk_failed(mpki_solve_work_complete(ctx, work))) return mpki_failed(ctx);
    memcpy(work->b, x, (size_t)an->n * mpk_scalar_size(an->scalar));
    *eta = flat(fac, work, work->b);
    if (!lost || isfinite(*eta)) return MPK_OK;
    moduli = MPKI_NEW(ctx, STAGE, an->n, double);
    if (moduli) MPKI_DISPATCH(an->scalar, column_moduli)(an->n, x, moduli);
    for (int k = 0; k < MPKI_CUTS && moduli && !isfinite(*eta); k++)
        if (cut(an, x, moduli, MPKI_CUT[k], work->b)) *eta = flat(fac, work, work->b);
    mpki_release(ctx, moduli);
    return mpki_failed(ctx);
}

static mpk_status judge_step(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *work,
                             double correction, mpki_verdict *verdict) {
    if (!mpki_large_step(correction) || !mpki_examinable(fac) || fac->info.perturbed > 0)
        return MPK_OK;
    const mpk_status status = ask(ctx, fac, work);
    verdict->unsure |= !mpki_regular(fac);
    return status;
}

mpk_status mpki_judge_step(mpk_context *ctx, const mpk_factor *fac, double correction,
                           mpki_verdict *verdict) {
    return judge_step(ctx, fac, NULL, correction, verdict);
}

mpk_status mpki_judge(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *work,
                      double accuracy, const void *x, mpki_verdict *verdict) {
    const mpk_scalar scalar = fac->an->scalar;
    const mpki_quality q = work->last;
    const bool none = fmax(q.relative, q.rows) > no_solution(scalar);
    double eta = INFINITY;
    bool large_x = false;
    mpk_status status = judge_step(ctx, fac, work, work->correction, verdict);
    if (!mpk_failed(status)) status = kernel(ctx, fac, work, x, verdict->iterated, &eta, &large_x);
    if (mpk_failed(status)) return status;
    const bool flat_x = isfinite(eta), lost = flat_x && (none || q.unresolved > 0);
    bool maybe = flat_x || fac->info.rank == MPK_RANK_UNDECIDED;
    maybe |= fac->info.perturbed > 0 && q.growth >= fmin(mpki_large_growth(scalar), 0.1 / accuracy);
    verdict->eta = fmin(verdict->eta, eta);
    verdict->doubtful |= maybe && none;
    verdict->unsure |= large_x && mpki_examinable(fac) && fac->info.perturbed == 0;
    verdict->solved &= solves(fac, &q) && !lost && !(maybe && none);
    return MPK_OK;
}

/* What is added to a text where the factor is that of the mean of two triangles. */
static const char *mean_of(const mpk_factor *fac, char out[128]) {
    const mpki_skew *skew = mpki_skew_of(fac);
    out[0] = '\0';
    if (skew && skew->rough > 0)
        snprintf(out, 128,
                 "; the triangles of A differ in %lld places, by up to %.1e of the entries: it may "
                 "not be symmetric",
                 (long long)skew->rough, skew->apart);
    return out;
}

/* Does the outcome of a Krylov method say all that there is to say? What was found about A comes
 * first, unless the method has not converged and A is only suspected. */
static bool outcome_says_all(const mpk_factor *fac, const mpki_verdict *verdict) {
    const mpk_rank rank = fac->info.rank;
    if (isfinite(verdict->eta) && verdict->outcome != MPK_NOT_CONVERGED) return false;
    if (verdict->outcome > 0) return true;
    return rank != MPK_RANK_STRUCTURAL && rank != MPK_RANK_NUMERICAL && !verdict->doubtful;
}

mpk_status mpki_tell_verdict(mpk_context *ctx, const mpk_factor *fac, const mpk_solve_info *info,
                             double accuracy, const mpki_verdict *verdict) {
    const mpk_factor_info *f = &fac->info;
    if (verdict->iterated && outcome_says_all(fac, verdict))
        return verdict->outcome == MPK_OK
                   ? MPK_OK
                   : mpki_error(ctx, verdict->outcome, STAGE, -1, "%s", verdict->message);
    /* where more of the rank was left out than A lacks, another x may */
    const bool whole = fac->form->exact && !(f->rank == MPK_RANK_STRUCTURAL && f->rank_bound > 0);
    const bool inconsistent = info->consistent < 0 || (info->consistent == 0 && !verdict->solved);
    const char *const b = !inconsistent ? ""
                          : whole       ? ", and the system is inconsistent"
                                        : ", and x does not solve the system";
    char apart[128];
    if (f->rank == MPK_RANK_STRUCTURAL || f->rank == MPK_RANK_NUMERICAL)
        return mpki_error(ctx, MPK_SINGULAR, STAGE, f->inertia.zero,
                          "singular%s: %lld zero pivots of %d; componentwise backward error %.1e, "
                          "relative residual %.1e",
                          b, (long long)f->inertia.zero, fac->an->n, info->componentwise,
                          info->relative_residual);
    if (isfinite(verdict->eta))
        return mpki_error(
            ctx, MPK_SINGULAR, STAGE, -1,
            "singular%s: (A + E) x = 0 for the solution x, or its large entries, with "
            "|E| <= %.1e |A| after scaling; componentwise backward error %.1e, "
            "relative residual %.1e",
            b, verdict->eta, info->componentwise, info->relative_residual);
    if (!(info->componentwise <= accuracy))
        return mpki_error(
            ctx, MPK_INACCURATE, STAGE, -1,
            "componentwise backward error %.1e after %d steps of refinement, %.1e was "
            "asked for; normwise %.1e%s%s",
            info->componentwise, info->iterations, accuracy, info->normwise,
            f->rank == MPK_RANK_UNDECIDED
                ? "; whether A is singular was not decided within the work that this may cost"
                : "",
            mean_of(fac, apart));
    if (verdict->doubtful)
        return mpki_error(ctx, MPK_INACCURATE, STAGE, -1,
                          "componentwise backward error %.1e, but %sthe relative residual is %.1e: "
                          "b hardly counts beside A x, and A may be singular",
                          info->componentwise,
                          f->perturbed > 0                ? "pivots were replaced and "
                          : f->rank == MPK_RANK_UNDECIDED ? "pivots are zero and "
                                                          : "",
                          info->relative_residual);
    if (verdict->unsure && mpki_large_step(info->correction))
        return mpki_error(
            ctx, MPK_INACCURATE, STAGE, -1,
            "A is singular to working precision, or nearly so: componentwise backward "
            "error %.1e, but a step of refinement changes x by %.1g of its size, and no "
            "certificate says that A is regular",
            info->componentwise, info->correction);
    if (verdict->unsure)
        return mpki_error(
            ctx, MPK_INACCURATE, STAGE, -1,
            "A is singular to working precision, or nearly so: componentwise backward "
            "error %.1e, but x is so large that b hardly counts beside A x, and no "
            "certificate says that A is regular",
            info->componentwise);
    return MPK_OK;
}
