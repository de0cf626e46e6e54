/* SPDX-License-Identifier: BSD-3-Clause */
/** What surrounds the methods: restarts, and what is said where none helps. */
#include "vectors.h"

#include <stdio.h>

enum { FRUITLESS_MOST = 4 }; /* restarts in a row that did not halve the best residual, at most */

/* ---- restarts -------------------------------------------------------------------------------- */

static bool back_to_best(mpki_krylov *k) {
    if (k->truth <= k->best_truth) return true;
    vec_copy(k, k->best, k->x);
    k->fresh = false;
    return FN(krylov_truth)(k);
}

/* A method that broke down would do so again from the same residual. A step of minimal residual, x
 * += omega M^-1 r, gives another residual that is no larger; where that changes nothing, a small
 * random step in the preconditioner's range is made. */
static bool move(mpki_krylov *k) {
    T *z = vec(k, 0), *t = vec(k, 1), *r = k->r, *x = k->x;
    for (int kick = k->attempt > 1; kick < 2; kick++) {
        if (kick) {
            vec_random(k, t);
            if (!FN(krylov_precondition)(k, t, z)) return !mpk_failed(k->status);
        } else if (!FN(krylov_precondition)(k, r, z)) {
            return !mpk_failed(k->status);
        }
        if (!FN(krylov_product)(k, z, t)) return !mpk_failed(k->status);
        const product p = vec_product(k, 1, t, r);
        if (!(p.norm_x > 0)) continue;
        W omega = kick ? w_make(0.1 * p.norm_y / p.norm_x, 0)
                       : w_div(p.dot, w_make(p.norm_x * p.norm_x, 0));
        /* |cos| of the angle between r and A M^-1 r says by how much the residual would fall */
        if (!w_finite(omega) || (!kick && !(w_abs(p.dot) > 0.05 * p.norm_x * p.norm_y))) continue;
        vec_axpy(k, omega, z, x);
        k->fresh = false;
        return FN(krylov_truth)(k);
    }
    return true;
}

/* What a failure says about A, if anything. An iterate whose product with A is of the size of
 * rounding shows that A is singular; so does a residual that A (equal to its transpose, or nearly)
 * takes to nothing, and that one shows also that b lies outside of A's range. */
static void diagnose(mpki_krylov *k, char *text, size_t size) {
    T *image = vec(k, 0);
    text[0] = '\0';
    vec_copy(k, k->best, k->x);
    k->iterate = k->x;
    k->fresh = false;
    if (!FN(krylov_truth)(k) || !(k->truth < INFINITY) || k->task.max_iterations == 0) return;
    const double r_norm = vec_norm(k, k->r);
    if (k->flattest <= 100 * (double)R_EPS) {
        snprintf(
            text, size,
            "; A is singular to working precision: ||A x|| = %.1e ||A|| ||x|| for an x that was "
            "met",
            k->flattest);
        return;
    }
    if (!(r_norm > 0) || !FN(krylov_product)(k, k->r, image)) return;
    const double flat = vec_norm(k, image) / (k->a_norm * r_norm);
    if (flat <= sqrt((double)R_EPS))
        snprintf(
            text, size,
            "; A is singular or nearly: ||A r|| = %.1e ||A|| ||r|| for this residual r, and then "
            "no x does better",
            flat);
}

/* "1.00e-08 was asked for" */
static const char *aim(const mpki_krylov *k, char out[64]) {
    if (k->extra.asked)
        snprintf(out, 64, "%.40s was asked for", k->extra.asked);
    else
        snprintf(out, 64, "%.2e was asked for", k->task.tolerance);
    return out;
}

/* Why it ended without success, as a text. */
static void explain(mpki_krylov *k, mpki_event event) {
    const char *name = mpki_krylov_name(k->task.method);
    char why[160], more[160], wanted[64];
    const bool hidden = k->hidden;
    diagnose(k, more, sizeof more);
    switch (event) {
    case MPKI_LIMIT:
        snprintf(k->message, sizeof k->message,
                 "%s: %d iterations were not enough; relative residual %.2e, %s%s", name,
                 k->info.iterations, k->best_truth, aim(k, wanted), more);
        return;
    case MPKI_BREAKDOWN:
        snprintf(why, sizeof why, "broke down %d times (%s)", k->info.breakdowns,
                 k->reason ? k->reason : "a denominator vanished");
        break;
    case MPKI_DRIFT:
        snprintf(why, sizeof why, "rounding keeps the residual from falling further, %d restarts",
                 k->info.restarts);
        break;
    case MPKI_DIVERGENCE:
        snprintf(why, sizeof why, "diverges");
        break;
    case MPKI_UNFIT:
        snprintf(why, sizeof why, "%s", k->reason);
        break;
    default:
        snprintf(why, sizeof why, "stagnates");
        break;
    }
    snprintf(k->message, sizeof k->message,
             "%s: %s; relative residual %.2e after %d iterations, %s%s%s", name, why, k->best_truth,
             k->info.iterations, aim(k, wanted),
             hidden && !more[0] ? ", and rounding hides smaller ones" : "", more);
}

static mpki_event (*const cycles[])(mpki_krylov *k) = {NULL,         NULL,   FN(sqmr),  FN(minres),
                                                       FN(symmlq),   FN(cg), FN(gmres), FN(gmres),
                                                       FN(bicgstab), FN(idr)};

/* Cycles until the true residual is small enough or nothing helps. Returns the last event. */
static mpki_event iterate(mpki_krylov *k) {
    int fruitless = 0, still = 0;
    double halved = k->truth;
    for (;;) {
        if (k->truth <= k->task.tolerance) return MPKI_CONVERGED;
        if (k->info.iterations >= k->task.max_iterations) return MPKI_LIMIT;
        const double begun = k->truth;
        k->iterate = k->x;
        k->form = NULL;
        k->quasi = 0;
        k->idle = 0;
        k->mark = k->truth;
        k->target = k->task.tolerance;
        mpki_event event = cycles[k->task.method](k);
        if (event == MPKI_FAILURE || mpki_krylov_lost(k)) return MPKI_FAILURE;
        if (k->iterate != k->x) vec_copy(k, k->iterate, k->x);
        k->iterate = k->x;
        k->form = NULL;
        if (!FN(krylov_truth)(k)) return MPKI_FAILURE;
        if (k->truth <= k->task.tolerance) return MPKI_CONVERGED;
        if (event == MPKI_LIMIT || event == MPKI_UNFIT) return event;
        if (event == MPKI_CYCLE) { /* one without progress would be followed by others like it */
            still = k->truth <= 0.9999 * begun ? 0 : still + 1;
            if (still == 2) return MPKI_STAGNATION;
            continue;
        }
        if (event == MPKI_BREAKDOWN) k->info.breakdowns++;
        fruitless = k->best_truth < 0.5 * halved ? 0 : fruitless + 1;
        if (fruitless == 0) halved = k->best_truth;
        if (fruitless > FRUITLESS_MOST || k->info.iterations >= k->task.max_iterations)
            return event;
        k->info.restarts++;
        k->attempt = fruitless;
        if (!back_to_best(k)) return MPKI_FAILURE;
        if ((event == MPKI_BREAKDOWN || event == MPKI_STAGNATION) && !move(k)) return MPKI_FAILURE;
    }
}

/* The power of two by which b and x are multiplied inside. */
static double power_of_two(mpki_krylov *k) {
    const double most = k->ops->largest(k->space, k->b);
    int exponent;
    if (!(most > 0)) return 1;
    frexp(most, &exponent);
    /* its inverse must be representable too */
    const int range = sizeof(R) == sizeof(float) ? 120 : 1000;
    exponent = exponent > range ? range : exponent < -range ? -range : exponent;
    return ldexp(1, -exponent);
}

/* Can the best iterate be handed back, in the caller's scale? If it underflows there it is
 * another vector, and is judged anew. *zero [out] a correction that is to be none. */
static mpki_event settle(mpki_krylov *k, mpki_event event, bool *zero) {
    vec_scale(k, w_make(1 / k->scale, 0), k->best, k->x);
    const bool finite = vec_finite(k, k->x);
    if (mpki_krylov_lost(k)) return MPKI_FAILURE;
    *zero = !finite && k->extra.residual != NULL; /* no correction: x stays as it is */
    if (*zero) {
        k->best_truth = 1;
        k->reason = "the solution overflows";
        return MPKI_UNFIT;
    }
    if (!finite) {
        k->status = mpki_error(k->ctx, MPK_ERR_NUMERIC, "solve", -1, "the solution overflows");
        return MPKI_FAILURE;
    }
    vec_scale(k, w_make(k->scale, 0), k->x, k->x);
    if (k->ops->equal(k->space, k->x, k->best)) return event;
    k->iterate = k->x;
    k->fresh = false;
    k->best_truth = INFINITY;
    if (!FN(krylov_truth)(k)) return MPKI_FAILURE;
    if (event != MPKI_CONVERGED || k->truth <= k->task.tolerance) return event;
    k->reason = "the solution underflows";
    return MPKI_UNFIT;
}

/* The caller's b and x into the space. */
static mpk_status take(mpki_krylov *k, const void *b, const void *x) {
    k->ops->take(k->space, b, k->b);
    int64_t i = k->ops->first_nonfinite(k->space, k->b);
    if (i >= 0)
        return mpki_error(k->ctx, MPK_ERR_INPUT, "solve", i, "b is not finite in row %lld",
                          (long long)i + 1);
    k->ops->take(k->space, x, k->x);
    i = k->ops->first_nonfinite(k->space, k->x);
    if (i >= 0)
        return mpki_error(k->ctx, MPK_ERR_INPUT, "solve", i,
                          "the first guess is not finite in row %lld", (long long)i + 1);
    return MPK_OK;
}

/* From vectors in the space; x [out] the caller's. */
static mpk_status solve(mpki_krylov *k, void *x) {
    k->scale = power_of_two(k);
    vec_scale(k, w_make(k->scale, 0), k->b, k->b);
    k->b_norm = vec_norm(k, k->b);
    k->best_truth = k->truth = k->flattest = INFINITY;
    k->a_norm = k->extra.a_norm;
    if (mpki_krylov_lost(k)) return k->status;
    if (!(k->b_norm > 0)) { /* b = 0 */
        vec_zero(k, k->x);
        k->ops->give(k->space, k->x, x);
        return MPK_OK;
    }
    vec_scale(k, w_make(k->scale, 0), k->x, k->x);
    if (!vec_finite(k, k->x)) vec_zero(k, k->x); /* a first guess that is of no use */
    k->iterate = k->x;
    mpki_event event = FN(krylov_probe_norm)(k) && FN(krylov_truth)(k) ? MPKI_GO : MPKI_FAILURE;
    if (event == MPKI_GO && !(k->truth < INFINITY)) {
        vec_zero(k, k->x);
        k->fresh = false;
        if (!FN(krylov_truth)(k)) event = MPKI_FAILURE;
    }
    k->info.recurred = k->truth;
    if (event == MPKI_GO) event = iterate(k);
    if (event == MPKI_FAILURE) return k->status;
    bool zero;
    event = settle(k, event, &zero);
    if (event == MPKI_FAILURE) return k->status;
    k->info.residual = k->best_truth;
    if (event != MPKI_CONVERGED) explain(k, event);
    if (mpki_krylov_lost(k)) return k->status;
    if (zero) /* x is written when nothing can fail any more */
        vec_zero(k, k->x);
    else
        vec_scale(k, w_make(1 / k->scale, 0), k->best, k->x);
    k->ops->give(k->space, k->x, x);
    return event == MPKI_CONVERGED ? MPK_OK : MPK_NOT_CONVERGED;
}

mpk_status FN(krylov)(mpki_krylov *k, const void *b, void *x) {
    mpk_status status = take(k, b, x);
    if (!mpk_failed(status)) status = solve(k, x);
    return mpki_krylov_lost(k) ? k->status : status;
}
