/* SPDX-License-Identifier: BSD-3-Clause */
/** What surrounds the methods: operators, judgement by the true residual, restarts. */
#include "../../core/floats.h"
#include "vectors.h"

#include <float.h>
#include <stdio.h>

enum {
    FRUITLESS_MOST = 4, /* restarts in a row that did not halve the best residual, at most */
    IDLE_LEAST = 32     /* checks without progress that count as stagnation, at least */
};
static const double DRIFT = 10;     /* true over recurred residual: beyond it they have parted */
static const double DIVERGED = 1e8; /* residual over the best one: above this it diverges */
static const double PROGRESS = 0.99;
static const double BETTER = 0.999; /* of the best residual: what is less is a new best one */

/* ---- operators ------------------------------------------------------------------------------- */

static const char A_NAME[] = "the product with A", M_NAME[] = "the preconditioner";

/* Is x so small that a sound operator cannot overflow on it? One whose entries are near the end of
 * the range can on any vector; that ||A|| is not much more than what is known of it is taken for
 * granted. */
static bool moderate(mpki_krylov *k, const char *name, const T *x) {
    const bool single = sizeof(R) == sizeof(float);
    const double end = single ? FLT_MAX : DBL_MAX;
    enum { UNKNOWN = 16 };
    if (!(k->ops->largest(k->space, x) < (single ? 0x1p64 : 0x1p512))) return false;
    return name != A_NAME || k->a_norm * vec_norm(k, x) < end / UNKNOWN;
}

/* What an operator made of x is y: not finite, but who is to blame? */
static void blame(mpki_krylov *k, const char *name, const T *x, const T *y) {
    if (k->extra.residual) /* by a factor, whose numbers are far apart: nobody is to blame */
        k->reason = "overflow in the preconditioner";
    else if (moderate(k, name, x))
        k->status =
            mpki_error(k->ctx, MPK_ERR_NUMERIC, "solve", k->ops->first_nonfinite(k->space, y),
                       "%s gave NaN or Inf for a finite vector", name);
    else
        k->reason = "overflow";
}

static void operator_failed(mpki_krylov *k, const char *name, mpk_status status) {
    k->status =
        mpki_error(k->ctx, status, "solve", -1, "%s failed: %s", name, mpk_status_text(status));
}

static bool apply(mpki_krylov *k, const mpk_operator *op, const char *name, const T *x, T *y) {
    if (!op->apply) {
        vec_copy(k, x, y);
        return true;
    }
    mpki_floats *theirs = k->extra.theirs; /* in which a caller's operator computes */
    if (theirs) mpki_floats_restore(theirs);
    const mpk_status status = op->apply(op->self, x, y);
    if (theirs) *theirs = mpki_floats_calm();
    if (mpk_failed(status)) {
        operator_failed(k, name, status);
        return false;
    }
    if (vec_finite(k, y)) return true;
    if (!mpki_krylov_lost(k)) blame(k, name, x, y);
    return false;
}

/* A lower bound of ||A||, from the first and some later vectors that products are formed with. */
static void look_at_norm(mpki_krylov *k, const T *x, const T *y) {
    enum { FIRST = 16 };
    if (k->extra.residual || (k->info.products > FIRST && k->info.products % 4 != 0)) return;
    const double size = vec_norm(k, x), image = vec_norm(k, y);
    if (size > 0 && image / size > k->a_norm && isfinite(image / size)) k->a_norm = image / size;
}

bool FN(krylov_product)(mpki_krylov *k, const T *x, T *y) {
    const double start_s = mpki_now_s();
    const bool good = apply(k, &k->task.a, A_NAME, x, y);
    if (good) look_at_norm(k, x, y);
    k->info.products++;
    k->info.time_product_s += mpki_now_s() - start_s;
    return good;
}

bool FN(krylov_precondition)(mpki_krylov *k, const T *x, T *y) {
    const double start_s = mpki_now_s();
    const bool good = apply(k, &k->task.m, M_NAME, x, y);
    if (k->task.m.apply) k->info.applications++;
    k->info.time_precondition_s += mpki_now_s() - start_s;
    return good;
}

mpki_event FN(krylov_break)(mpki_krylov *k, const char *reason) {
    if (mpki_krylov_lost(k)) return MPKI_FAILURE;
    k->reason = reason;
    return MPKI_BREAKDOWN;
}

/* ---- judgement ------------------------------------------------------------------------------- */

/* r := b - A x for the iterate, and a bound of its error; false: an operator failed. Unless the
 * caller gave a better way the bound is of the kind eps ||A|| ||x||, which no residual in one
 * precision can go below. */
static bool residual(mpki_krylov *k, double x_norm, double *error) {
    T *r = k->r;
    if (k->extra.residual) {
        const double start_s = mpki_now_s();
        const double wanted = k->task.tolerance * k->b_norm;
        mpk_status status = k->extra.residual(k->extra.self, k->iterate, k->b, wanted, r, error);
        k->info.products++;
        k->info.time_product_s += mpki_now_s() - start_s;
        if (mpk_failed(status)) k->status = status;
        return !mpk_failed(status);
    }
    if (!FN(krylov_product)(k, k->iterate, r) && mpk_failed(k->status)) return false;
    vec_axpby(k, w_make(1, 0), k->b, w_make(-1, 0), r);
    *error = 4 * (double)R_EPS * k->a_norm * x_norm;
    return true;
}

/* The true residual of the iterate, into k->r and k->truth; the best iterate is kept. False: an
 * operator failed. */
static bool truth(mpki_krylov *k) {
    if (k->fresh) return true;
    k->fresh = true;
    k->truth = INFINITY;
    if (!vec_finite(k, k->iterate)) return true;
    const double x_norm = vec_norm(k, k->iterate);
    double error = 0;
    if (!residual(k, x_norm, &error)) return false;
    const double seen = vec_norm(k, k->r) / k->b_norm;
    k->noise = error / k->b_norm;
    k->truth = seen + k->noise;
    if (!isfinite(k->truth)) {
        k->truth = INFINITY;
        return true;
    }
    k->hidden = seen <= k->task.tolerance && !(k->truth <= k->task.tolerance);
    const double image = k->a_norm * x_norm; /* 0 of a first guess of zeros */
    const double flat = image > 0 ? k->b_norm * (1 + k->truth) / image : INFINITY;
    if (flat < k->flattest) k->flattest = flat;
    /* a hair's breadth does not count: near a singular matrix the residual falls by rounding while
     * x grows */
    if (k->truth < BETTER * k->best_truth ||
        (k->truth <= k->task.tolerance && k->truth < k->best_truth)) {
        k->best_truth = k->truth;
        vec_copy(k, k->iterate, k->best);
    }
    return true;
}

/* ||A|| of a caller's operator is known from products alone, and the vectors of a method may all
 * avoid what is large in A. A product with a vector of random signs, which has no reason to,
 * helps. */
static bool probe_norm(mpki_krylov *k) {
    T *signs = k->best;
    if (k->extra.residual) return true;
    k->ops->signs(k->space, signs);
    const bool good = FN(krylov_product)(k, signs, k->r);
    vec_zero(k, signs);
    return good || !mpk_failed(k->status);
}

/* Progress from 1 down to the tolerance, by logarithms; or by iterations where that is further. */
static double fraction(mpki_krylov *k, double recurred) {
    const double steps = (double)k->info.iterations / ((double)k->task.max_iterations + 1);
    const double depth = recurred < 1 && recurred > 0 && k->task.tolerance > 0
                             ? log(recurred) / log(fmin(k->task.tolerance, 0.5))
                             : 0;
    k->told = fmax(k->told, fmin(0.999, fmax(steps, depth)));
    return k->extra.from + k->extra.share * k->told;
}

/* A check by the recurrence has asked for the truth; decide how to go on. */
static mpki_event judge(mpki_krylov *k) {
    const double before = k->truth, tolerance = k->task.tolerance;
    k->fresh = false;
    if (k->form && !k->form(k)) return FN(krylov_break)(k, k->reason ? k->reason : "overflow");
    if (!truth(k)) return MPKI_FAILURE;
    const double gap = k->truth / fmax(k->recurred, (double)R_EPS);
    const double quasi_gap = k->truth / fmax(k->quasi, (double)R_EPS);
    if (gap > k->info.gap && isfinite(gap)) k->info.gap = gap;
    if (k->quasi > 0 && quasi_gap > k->info.quasi_gap && isfinite(quasi_gap))
        k->info.quasi_gap = quasi_gap;
    if (k->truth <= tolerance) return MPKI_CONVERGED;
    if (!(k->truth <= DIVERGED * k->best_truth)) return MPKI_DIVERGENCE;
    if (k->truth <= PROGRESS * k->mark) {
        k->mark = k->truth;
        k->idle = 0;
    } else {
        k->idle++;
    }
    const bool strangers = !(k->truth <= DRIFT * k->recurred);
    if (k->recurred <= k->target) {
        if (strangers) return MPKI_DRIFT;
        k->target = 0.9 * tolerance * (k->recurred / k->truth); /* look again further on */
    } else if (strangers && k->truth > 0.9 * before) {
        return MPKI_DRIFT;
    }
    const int64_t patience = k->task.max_iterations / (3 * (int64_t)k->task.check);
    if (k->idle > (patience > IDLE_LEAST ? patience : IDLE_LEAST)) return MPKI_STAGNATION;
    return MPKI_GO;
}

mpki_event FN(krylov_step)(mpki_krylov *k, double recurred_norm) {
    mpk_krylov_info *info = &k->info;
    const double recurred = recurred_norm / k->b_norm;
    if (mpki_krylov_lost(k)) return MPKI_FAILURE;
    if (!isfinite(recurred)) return FN(krylov_break)(k, "overflow"); /* nobody is told of it */
    info->iterations++;
    k->recurred = info->recurred = recurred;
    k->fresh = false;
    if (info->iterations <= k->task.history_size) {
        if (k->task.history) k->task.history[info->iterations - 1] = recurred;
        info->history_count = info->iterations;
    }
    if ((k->task.monitor && k->task.monitor(k->task.user, info->iterations, recurred)) ||
        mpki_progress(k->ctx, "solve", fraction(k, recurred))) {
        k->status = mpki_error(k->ctx, MPK_ERR_CANCELLED, "solve", info->iterations,
                               "stopped on request after %d iterations", info->iterations);
        return MPKI_FAILURE;
    }
    const bool last = info->iterations >= k->task.max_iterations;
    if (recurred <= k->target || last || info->iterations % k->task.check == 0) {
        mpki_event event = judge(k);
        if (event != MPKI_GO && (!last || event == MPKI_CONVERGED || event == MPKI_FAILURE))
            return event;
    }
    return last ? MPKI_LIMIT : MPKI_GO;
}

/* ---- iterations in batches ------------------------------------------------------------------- */

/* How far the engine may go: to the next check, or the last iteration. What a batch does after it
 * has reached the target is for nothing, so the first ones are short: good preconditioners need few
 * iterations. */
static void plan_batch(mpki_krylov *k, mpki_batch *batch) {
    enum { MOST = 32, SHORT = 2 };
    const int check = k->task.check, done = k->info.iterations, gone = done % check;
    const int whole = check < MOST ? check : MOST;
    const int left = k->task.max_iterations - done;
    const int most = done > SHORT ? done : SHORT; /* no more than there were */
    batch->steps = check - gone < whole ? check - gone : whole;
    if (batch->steps > most && !batch->cycle) batch->steps = most;
    if (batch->steps > left) batch->steps = left;
    batch->repeats = batch->steps == whole;
    if (batch->cycle) { /* gmres: or to the end of the cycle */
        const int rest = batch->cycle - k->cycle_steps;
        if (batch->steps > rest) batch->steps = rest;
        batch->repeats = true;
    }
    batch->target = k->target;
}

/* What the batch did, as if its iterations had been done here. */
static mpki_event account(mpki_krylov *k, const mpki_batch *batch) {
    mpk_krylov_info *info = &k->info;
    if (batch->a_norm > k->a_norm && !k->extra.residual) k->a_norm = batch->a_norm;
    if (batch->cycle) k->cycle_steps += batch->steps;
    info->products += batch->called;
    info->time_product_s += batch->called * batch->product_s;
    if (batch->m->apply) {
        info->applications += batch->called;
        info->time_precondition_s += batch->called * batch->precondition_s;
    }
    for (int32_t i = 0; i < batch->steps; i++) {
        if (batch->method == MPK_KRYLOV_SQMR) k->quasi = batch->quasi[i] / k->b_norm;
        const mpki_event event = FN(krylov_step)(k, batch->recurred[i]);
        if (event != MPKI_GO) return event;
    }
    return MPKI_GO;
}

static mpki_event unfit(mpki_krylov *k, const char *reason) {
    k->reason = reason;
    return MPKI_UNFIT;
}

/* Of each method: what M^-1 is applied to and its result, likewise A. Where nothing preconditions,
 * bicgstab multiplies what M^-1 would be applied to. */
typedef struct operands {
    int32_t m[2], a[2];
} operands;
static operands operands_of(const mpki_krylov *k, const mpki_batch *batch) {
    const bool flexible = batch->method == MPK_KRYLOV_FGMRES;
    const int32_t own = batch->cycle + 2 + (flexible ? batch->cycle : 1); /* gmres_t.c */
    const int32_t z = flexible ? own + 2 : own - 1;
    switch (batch->method) {
    case MPK_KRYLOV_SQMR:
        return (operands){{0, 3}, {1, 2}};
    case MPK_KRYLOV_MINRES:
        return (operands){{1, 2}, {3, 2}};
    case MPK_KRYLOV_BICGSTAB:
        return (operands){{2, 4}, {4, 3}};
    case MPK_KRYLOV_GMRES:
    case MPK_KRYLOV_FGMRES:
        return (operands){{own, z}, {k->task.m.apply ? z : own, own + 1}};
    default:
        return (operands){{0, 1}, {2, 3}};
    }
}

mpki_event FN(krylov_batches)(mpki_krylov *k, mpki_batch *batch, const batch_words *words) {
    const operands at = operands_of(k, batch);
    const T *r = vec(k, at.m[0]), *u = vec(k, at.m[1]), *q = vec(k, at.a[0]), *t = vec(k, at.a[1]);
    batch->a = &k->task.a;
    batch->m = &k->task.m;
    batch->matrix = k->extra.matrix;
    batch->queued = k->extra.queued;
    batch->b_norm = k->b_norm;
    for (batch->first = true;; batch->first = false) {
        plan_batch(k, batch);
        const mpk_status status = k->ops->batch(k->space, batch);
        if (mpk_failed(status)) {
            if (batch->end == MPKI_BATCH_A_FAILED)
                operator_failed(k, A_NAME, status);
            else if (batch->end == MPKI_BATCH_M_FAILED)
                operator_failed(k, M_NAME, status);
            else
                k->status = status;
            return MPKI_FAILURE;
        }
        const mpki_event event = account(k, batch);
        if (event != MPKI_GO) return event;
        switch (batch->end) {
        case MPKI_BATCH_GO:
        case MPKI_BATCH_REACHED:
            if (batch->cycle && k->cycle_steps == batch->cycle) return MPKI_CYCLE;
            break;
        case MPKI_BATCH_INVARIANT:
            return FN(krylov_break)(k, words->m_vanishes);
        case MPKI_BATCH_A_BAD:
            blame(k, A_NAME, batch->method == MPK_KRYLOV_BICGSTAB && !batch->m->apply ? r : q, t);
            return FN(krylov_break)(k, "overflow");
        case MPKI_BATCH_SECOND_A_BAD: /* of bicgstab: t = A zs */
            blame(k, A_NAME, vec(k, batch->m->apply ? 6 : 0), vec(k, 5));
            return FN(krylov_break)(k, "overflow");
        case MPKI_BATCH_SECOND_M_BAD: /* zs = M^-1 r */
            blame(k, M_NAME, vec(k, 0), vec(k, 6));
            return FN(krylov_break)(k, "overflow");
        case MPKI_BATCH_OMEGA:
            return FN(krylov_break)(k, "omega vanishes");
        case MPKI_BATCH_HALF: /* the half step was not enough after all */
            return MPKI_DRIFT;
        case MPKI_BATCH_M_BAD:
            blame(k, M_NAME, r, u);
            return FN(krylov_break)(k, "overflow");
        case MPKI_BATCH_A_VANISHES:
            return FN(krylov_break)(k, words->a_vanishes);
        case MPKI_BATCH_M_VANISHES:
            return FN(krylov_break)(k, words->m_vanishes);
        case MPKI_BATCH_A_UNFIT:
            return unfit(k, words->a_unfit);
        case MPKI_BATCH_M_UNFIT:
            return unfit(k, words->m_unfit);
        default:
            return FN(krylov_break)(k, "overflow");
        }
    }
}

/* ---- restarts -------------------------------------------------------------------------------- */

static bool back_to_best(mpki_krylov *k) {
    if (k->truth <= k->best_truth) return true;
    vec_copy(k, k->best, k->x);
    k->fresh = false;
    return truth(k);
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
        return truth(k);
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
    if (!truth(k) || !(k->truth < INFINITY) || k->task.max_iterations == 0) return;
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
        if (!truth(k)) return MPKI_FAILURE;
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
    if (!truth(k)) return MPKI_FAILURE;
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
    mpki_event event = probe_norm(k) && truth(k) ? MPKI_GO : MPKI_FAILURE;
    if (event == MPKI_GO && !(k->truth < INFINITY)) {
        vec_zero(k, k->x);
        k->fresh = false;
        if (!truth(k)) event = MPKI_FAILURE;
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
