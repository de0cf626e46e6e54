/* SPDX-License-Identifier: BSD-3-Clause */
/** What the methods call: operators, the judgement of a step by the true residual, batches. */
#include "../../core/floats.h"
#include "vectors.h"

#include <float.h>

enum { IDLE_LEAST = 32 };           /* checks without progress that count as stagnation, at least */
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

bool FN(krylov_truth)(mpki_krylov *k) {
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

bool FN(krylov_probe_norm)(mpki_krylov *k) {
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
    if (!FN(krylov_truth)(k)) return MPKI_FAILURE;
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
