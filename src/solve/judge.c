/* SPDX-License-Identifier: BSD-3-Clause */
/* The verdict on solutions. */
#include "judge.h"
#include "../factor/rank.h"
#include "../problem/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char STAGE[] = "solve";

/* ||A|| ||x|| / ||b|| from which on b hardly counts beside A x; what b must have in rows that x does
 * not resolve, for the same; and a relative residual that no solution has. */
static const double LARGE = 1e12, LARGE_SINGLE = 1e5, LOST = 1e-14, LOST_SINGLE = 1e-6,
                    RESIDUAL = 1e-6, RESIDUAL_SINGLE = 1e-2;

static bool single(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

double mpki_large_growth(mpk_scalar scalar) {
    return single(scalar) ? LARGE_SINGLE : LARGE;
}

static double least_lost(mpk_scalar scalar) {
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

/* Does A take v to nothing? *eta becomes finite if it does in each scaling that there is, *maybe true if
 * in some. other [inout] the other scaling, made when it is needed. */
static mpk_status look_at(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *work,
                          const void *v, double **other, double *eta, bool *maybe) {
    const mpk_analysis *an = fac->an;
    const double bound = mpki_default_zero_tolerance(an->scalar);
    double flat = MPKI_DISPATCH(an->scalar, flatness)(fac->scale, NULL, work, v), size;
    if (!(flat <= bound)) return MPK_OK;
    *maybe = true;
    if (fac->options.scaling != MPK_OFF) {
        if (!*other) {
            *other = MPKI_NEW(ctx, STAGE, an->n, double);
            if (!*other || mpk_failed(mpki_find_scaling(ctx, an, &fac->options, fac->ax,
                                                        !fac->rescaled, *other, &size)))
                return mpki_failed(ctx);
        }
        flat = MPKI_DISPATCH(an->scalar, flatness)(fac->scale, *other, work, v);
    }
    if (flat <= bound) *eta = fmin(*eta, flat);
    return MPK_OK;
}

/* Is x a vector of A's kernel, or are its large entries, beside a solution of other equations? Not
 * asked where b counts, nor where pivots well above rounding show that A has no such vector. */
static mpk_status kernel(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *work,
                         const void *x, double *eta, bool *maybe) {
    static const double cuts[] = {1e-6, 1e-4, 1e-2};
    const mpk_analysis *an = fac->an;
    /* a complete factor of full rank has been asked for a kernel, an incomplete one knows nothing of it */
    const mpk_factor_info *f = &fac->info;
    const bool full = fac->form->exact && f->rank == MPK_RANK_FULL && f->perturbed == 0;
    const bool lost =
        !full && work->last.unresolved > (fac->form->exact ? least_lost(an->scalar) : 0);
    double *other = NULL, *moduli = NULL;
    if (fac->info.inertia.certified || an->symmetry == MPK_GENERAL) return MPK_OK;
    if (!(work->last.growth >= mpki_large_growth(an->scalar)) && !lost) return MPK_OK;
    mpk_status status = look_at(ctx, fac, work, x, &other, eta, maybe);
    if (!mpk_failed(status) && !*maybe && lost) {
        moduli = MPKI_NEW(ctx, STAGE, an->n, double);
        status = mpki_failed(ctx);
        if (moduli) MPKI_DISPATCH(an->scalar, column_moduli)(an->n, x, moduli);
    }
    for (int k = 0; k < 3 && moduli && !mpk_failed(status) && !isfinite(*eta); k++)
        if (cut(an, x, moduli, cuts[k], work->b))
            status = look_at(ctx, fac, work, work->b, &other, eta, maybe);
    mpki_release(ctx, other);
    mpki_release(ctx, moduli);
    return status;
}

mpk_status mpki_judge(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *work,
                      double accuracy, const void *x, mpki_verdict *verdict) {
    const mpk_scalar scalar = fac->an->scalar;
    const mpki_quality q = work->last;
    const double residual = fmax(q.relative, q.rows);
    double eta = INFINITY;
    bool maybe = false;
    mpk_status status = kernel(ctx, fac, work, x, &eta, &maybe);
    if (mpk_failed(status)) return status;
    const bool lost =
        (isfinite(eta) && q.unresolved > 0) || (maybe && residual > no_solution(scalar));
    maybe |= fac->info.rank == MPK_RANK_UNDECIDED;
    maybe |= fac->info.perturbed > 0 && q.growth >= fmin(mpki_large_growth(scalar), 0.1 / accuracy);
    const bool doubtful = maybe && residual > no_solution(scalar);
    verdict->eta = fmin(verdict->eta, eta);
    verdict->doubtful |= doubtful;
    const double rows = q.missed ? INFINITY : q.rows;
    verdict->solved &= mpki_solves(scalar, q.componentwise, rows) && !lost && !doubtful;
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

mpk_status mpki_tell_verdict(mpk_context *ctx, const mpk_factor *fac, const mpk_solve_info *info,
                             double accuracy, const mpki_verdict *verdict) {
    const mpk_factor_info *f = &fac->info;
    /* where more of the rank was left out than A lacks, another x may */
    const bool whole = fac->form->exact && !(f->rank == MPK_RANK_STRUCTURAL && f->rank_bound > 0);
    const char *const b = verdict->solved ? ""
                          : whole         ? ", and the system is inconsistent"
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
                ? "; A is too ill-conditioned to tell whether it is singular"
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
    return MPK_OK;
}
