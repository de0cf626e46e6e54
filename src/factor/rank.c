/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank of A, as far as a factorization and a few vectors show it. */
#include "measured.h"
#include "rank_kernel.h"
#include "tuning.h"
#include "../core/random.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

enum {
    TRIAL_STEPS = 3,   /* of refinement */
    OTHER_TIMES = 4,   /* times the predicted work: what a second factorization may cost */
    RESCUE_TIMES = 25, /* where solves with the first one are not accurate, once */
    REQUEST_TIMES = 50 /* where the rank was asked for */
};

/* Second factorizations that were tried: by the other scaling, a lower bound of zero pivots, the
 * k-th of BOUNDS. */
enum { TRIED_SCALING = 1, TRIED_LOWERED = 2, TRIED_BOUND = 4 };

/* A verdict at work. */
typedef struct verdict {
    mpk_factor *fac;
    double bound;    /* how flat a vector of the kernel is */
    double eta;      /* the least one found */
    bool asked;      /* for the rank itself: nothing is left out that might show it */
    bool by_default; /* zero pivots are by our bound */
    bool first;      /* these are the first numbers by this analysis */
    bool used;       /* the second factorization of this call */
    bool rescue;     /* solves are not accurate: it is for more than the verdict */
    bool stale;      /* matched on other values, which may be why pivots are zero */
    bool more;       /* more zero pivots were looked for */
    int alike;       /* pivots at the level of rounding that were tried with the zero ones */
} verdict;

/* Pivots at the level of rounding, and none that is zero. */
static bool weak(const mpk_factor *fac) {
    return fac->info.inertia.zero == 0 && mpki_pivots_doubtful(fac);
}

static void conclude(verdict *v) {
    v->fac->known.undecided = !(v->eta <= v->bound);
    mpki_rank_conclude(v->fac, v->eta, v->bound);
}

/* ---- what rests ------------------------------------------------------------------------------ */

/* Is this to be looked at with these values? */
static bool due(const verdict *v, const mpki_rest *rest) {
    return v->asked || v->first || rest->left == 0;
}

/* A second factorization was made. */
static void rest_second(mpki_rank_memory *known) {
    enum { FIRST = 7 };
    if (known->second.left > 0) return;
    if (known->second.span < FIRST / 2) known->second.span = FIRST / 2;
    mpki_rest_of(&known->second, false, MPKI_REST_LONG);
}

/* Other values have come. */
static void pass_by(mpki_rank_memory *known) {
    mpki_rest *rests[] = {&known->second, &known->moved, &known->apart, &known->sound,
                          &known->firm};
    for (size_t k = 0; k < sizeof rests / sizeof *rests; k++)
        if (rests[k]->left > 0) rests[k]->left--;
}

/* ---- a second factorization ------------------------------------------------------------------ */

/* What was found about a factor: the backward error of a solve with a known solution, and how
 * nearly A takes to zero what the factor does. */
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
        /* a core that lacks rows may fit 1 and -1 by chance */
        MPKI_DISPATCH(scalar, trial)(&work, missed != NULL, known, work.b);
        memcpy(x, work.b, (size_t)n * mpk_scalar_size(scalar));
        mpki_apply_inverse(&work, x);
        MPKI_DISPATCH(scalar, refine)(&work, TRIAL_STEPS, accuracy, x, &info);
        *omega = info.componentwise;
        fac->effort -=
            (1 + info.iterations) * (mpki_effort_of_solve(fac) + mpki_effort_of_product(fac));
        if (missed) MPKI_DISPATCH(scalar, missed)(&work, x, accuracy, missed);
    }
    mpki_release(ctx, x);
    mpki_release(ctx, known);
    mpki_solve_work_free(ctx, &work);
    return mpki_failed(ctx);
}

/* Solves are not accurate: they may be with pivots that A itself tells. omega [inout] of a solve with a
 * known solution */
static mpk_status try_measured(mpk_factor *fac, double *omega) {
    const double accuracy = mpki_accuracy(&fac->options, fac->an->scalar);
    double with = INFINITY;
    bool made;
    mpk_status status = mpki_measured_make(fac, &made);
    if (made && !mpk_failed(status)) status = try_solve(fac, &with, NULL);
    fac->known.measures = with <= accuracy;
    if (fac->known.measures)
        *omega = with;
    else
        mpki_measured_drop(fac);
    return status;
}

/* The same for a verdict, which believes for a while that it comes back once it did. measures [in] by
 * pivots that are measured where it does not */
static mpk_status try_known(verdict *v, bool measures, double *omega) {
    mpk_factor *fac = v->fac;
    *omega = 0;
    if (!due(v, &fac->known.sound)) return MPK_OK;
    mpk_status status = try_solve(fac, omega, NULL);
    if (!mpk_failed(status) && measures && !mpki_measured(fac) &&
        !(*omega <= mpki_accuracy(&fac->options, fac->an->scalar)))
        status = try_measured(fac, omega);
    mpki_rest_of(&fac->known.sound, !(*omega <= mpki_accuracy(&fac->options, fac->an->scalar)),
                 MPKI_REST_SHORT);
    return status;
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
    if (a->info.inertia.zero == 0 && eb->eta <= bound) return false; /* A has a kernel */
    if (good_a != good_b) return good_a;
    if (good_a && !decided(b, eb, bound)) return clear(a, ea, bound);
    return ea->omega < eb->omega;
}

/* May this second factorization be made now? One a call, and what was no better rests. */
static bool may_try(const verdict *v, unsigned what) {
    const mpki_rank_memory *known = &v->fac->known;
    return v->asked || (!v->used && known->second.left == 0 && !(known->tried & what));
}

/* Are both scalings so far apart that they may disagree about a pivot? */
static mpk_status scalings_differ(const verdict *v, bool *far) {
    mpki_rank_memory *known = &v->fac->known;
    *far = known->far;
    if (!due(v, &known->apart)) return MPK_OK;
    mpk_status status = mpki_scalings_differ(v->fac, far);
    if (*far != known->far) known->apart = (mpki_rest){0};
    known->far = *far;
    mpki_rest_of(&known->apart, false, MPKI_REST_LONG);
    return status;
}

/* Factorize a twin of fac. *there [out] false: it overflows or costs too much, and the first one
 *                                       stands. */
static mpk_status factorize_twin(verdict *v, mpk_factor *other, unsigned what, bool *there) {
    mpk_factor *fac = v->fac;
    mpk_context *ctx = fac->ctx;
    const int times = v->asked ? REQUEST_TIMES : v->rescue && v->first ? RESCUE_TIMES : OTHER_TIMES;
    const double predicted = fmax(fac->an->info.factor_flops, fac->info.flops / 2);
    const int64_t rejected = fac->an->n + MPKI_STOP_LEAST_REJECTED + 2 * fac->info.rejected;
    const mpki_stop stop = {times * predicted + MPKI_STOP_LEAST_FLOPS,
                            v->asked ? INT64_MAX : rejected};
    mpki_numeric_result result;
    v->used = true;
    fac->known.tried |= what;
    if (what) rest_second(&fac->known);
    other->effort = fmax(fac->effort, 0.5 * mpki_effort_of_factor(fac));
    *there = false;
    mpk_status status = mpki_factorize_once(other, &stop, &result);
    if (status == MPK_ERR_NUMERIC) {
        mpki_clear_error(ctx);
        return MPK_OK;
    }
    if (mpk_failed(status) || result.runaway) return status;
    *there = true;
    mpki_factor_describe(other, &result);
    other->row_norm = fac->row_norm; /* it belongs to the values, so it serves both */
    return MPK_OK;
}

static void drop_twin(mpk_factor **other) {
    if (*other) (*other)->row_norm = NULL;
    mpk_factor_destroy(other);
}

/* The twin's numbers become fac's, and what fac has seen fail stays so. */
static void take_twin(mpk_factor *fac, mpk_factor *other) {
    const mpki_rank_memory before = fac->known;
    mpki_exchange_numbers(fac, other);
    fac->known.tried = before.tried;
    fac->known.second = before.second;
    fac->info.again = 1;
}

/* What the twin shows to be of A's kernel, but not its numbers. */
static void take_vectors(mpk_factor *fac, mpk_factor *other) {
    mpki_kernel_forget(fac);
    fac->known.vector = other->known.vector;
    fac->known.count = other->known.count;
    other->known.vector = NULL;
    other->known.count = 0;
}

/* In another way: by the other scaling or with a lower bound of zero pivots; the better factor is
 * kept. */
static mpk_status try_other(verdict *v, unsigned what, evidence *e) {
    mpk_factor *fac = v->fac;
    evidence its = {INFINITY, INFINITY};
    bool there = false;
    if (!may_try(v, what)) return MPK_OK;
    mpk_factor *other = mpki_twin(fac);
    mpk_status status = mpki_failed(fac->ctx);
    if (!mpk_failed(status)) {
        if (what == TRIED_SCALING)
            other->rescaled = !fac->rescaled;
        else
            other->lowered = true;
        status = factorize_twin(v, other, what, &there);
    }
    if (there) status = try_solve(other, &its.omega, NULL);
    if (there && !mpk_failed(status)) status = mpki_kernel_of_zeros(other, &its.eta);
    if (there && !mpk_failed(status) && v->by_default && weak(other)) {
        status = mpki_weak_to_zero(other);
        if (other->info.inertia.zero > 0) its.eta = other->info.rank_bound;
    }
    if (there && !mpk_failed(status) && better(other, &its, fac, e, v->bound)) {
        if (mpki_measured(fac)) /* as accurate, for less */
            take_vectors(fac, other);
        else
            take_twin(fac, other);
        *e = its;
    }
    drop_twin(&other);
    return status;
}

/* Bounds of zero pivots for what the usual one leaves of noise. The first that proves more zeros is
 * taken, and the next one tried with later values. */
static const double BOUNDS[] = {1e-10, 1e-12}, BOUNDS_SINGLE[] = {1e-3};

/* Of a kernel of many dimensions some zero pivots come out as rounding, which then passes for
 * pivots. With a larger bound these are zero, too; and where it is too large, the vector of all
 * zero pivots tells. */
static mpk_status try_bound(verdict *v, int k, double bound) {
    mpk_factor *fac = v->fac;
    double omega = INFINITY, eta = INFINITY;
    bool there = false;
    if (mpk_failed(mpki_factor_bring(fac->ctx, fac))) return mpki_failed(fac->ctx);
    mpk_factor *other = mpki_twin(fac);
    mpk_status status = mpki_failed(fac->ctx);
    if (!mpk_failed(status)) {
        other->raised = bound;
        status = factorize_twin(v, other, TRIED_BOUND << k, &there);
    }
    if (there && other->info.inertia.zero > fac->info.inertia.zero) {
        status = mpki_kernel_of_all(other, &eta);
        if (!mpk_failed(status) && eta <= v->bound) status = try_solve(other, &omega, NULL);
        if (!mpk_failed(status) && omega <= mpki_accuracy(&fac->options, fac->an->scalar)) {
            take_twin(fac, other);
            fac->known.raised = bound;
            v->eta = eta;
            conclude(v);
        }
    }
    drop_twin(&other);
    if (status == MPK_ERR_MEMORY) { /* the first one stands */
        mpki_clear_error(fac->ctx);
        status = MPK_OK;
    }
    return status;
}

static mpk_status look_for_more(verdict *v) {
    mpk_factor *fac = v->fac;
    const bool single = fac->an->scalar == MPK_S || fac->an->scalar == MPK_C;
    const double *bound = single ? BOUNDS_SINGLE : BOUNDS;
    const int count = single ? 1 : 2;
    mpk_status status = MPK_OK;
    if (v->more || !v->by_default || fac->info.rank != MPK_RANK_NUMERICAL ||
        !mpki_pivots_doubtful(fac))
        return MPK_OK;
    v->more = true;
    if (fac->raised != fac->known.raised) return MPK_OK; /* for want of any other numbers */
    for (int k = 0; k < count && !mpk_failed(status); k++) {
        if (fac->info.min_pivot > bound[k] || fac->raised >= bound[k]) continue; /* no change */
        if (may_try(v, (unsigned)TRIED_BOUND << k)) status = try_bound(v, k, bound[k]);
    }
    return status;
}

mpk_status mpki_try_core(mpk_factor *fac, char *missed, double *error) {
    if (mpk_failed(mpki_factor_bring(fac->ctx, fac))) return mpki_failed(fac->ctx);
    return try_solve(fac, error, missed);
}

/* ---- the verdict ----------------------------------------------------------------------------- */

/* The matching saw older values: what was a zero then need not be zero now. */
bool mpki_analysed_these(const mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    if (fac->own) return fac->own_of == mpki_values_hash(an, fac->ax);
    if (an->loaded) return an->hash == mpki_values_hash(an, fac->ax);
    return fac->ax == an->values->ax || !memcmp(fac->ax, an->values->ax, (size_t)an->values->bytes);
}

/* Are the values zero where those that were matched are? Their structural rank is the same then. */
static bool same_nonzeros(const mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    if (fac->own)
        return fac->own_nonzeros != 0 && fac->own_nonzeros == mpki_nonzeros_hash(an, fac->ax);
    return !an->loaded && mpki_nonzeros_hash(an, fac->ax) == mpki_nonzeros_hash(an, an->values->ax);
}

static bool structurally_singular(const mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    if (an->info.structural_rank < 0 || an->info.structural_rank >= an->n) return false;
    if (mpki_core_is_part(&an->core)) return true;                  /* the pattern alone shows it */
    if (mpk_failed(mpki_factor_bring(fac->ctx, fac))) return false; /* recorded */
    return mpki_analysed_these(fac) || same_nonzeros(fac);
}

/* More pivots than the structure of these values allows A to have independent rows: some are
 * rounding, the weakest ones most likely. Not where eigenvalues of pivots say nothing, nor for an
 * interior, whose zero pivots have a meaning of their own. */
static mpk_status beyond_structure(mpk_factor *fac) {
    const mpk_analysis *an = fac->an;
    const bool counted = an->scalar <= MPK_D || an->symmetry == MPK_HERMITIAN;
    const int64_t more = an->n - an->info.structural_rank - fac->info.inertia.zero;
    return counted && !an->split && more > 0 ? mpki_weakest_to_zero(fac, more) : MPK_OK;
}

/* Zero pivots that no vector explains may come of a matching of other values. */
static bool wants_matching(const verdict *v) {
    const mpk_factor *fac = v->fac;
    const bool free_to = fac->options.matching != MPK_OFF && fac->an->options.matching != MPK_OFF &&
                         fac->options.static_shift == 0;
    return v->by_default && free_to && fac->matched == 0 && !mpki_analysed_these(fac);
}

/* No pivot is zero, but the smallest may be rounding. far [in] the matching moved columns far from
 *                                                              where equilibration puts
 * them, so that a pivot may be small in one scaling alone; both are tried where a known solution
 * does not come back. */
static mpk_status look_at_weak(verdict *v, bool far) {
    mpk_factor *fac = v->fac;
    evidence e = {INFINITY, INFINITY};
    mpk_status status = MPK_OK;
    if (far && may_try(v, TRIED_SCALING)) status = try_known(v, true, &e.omega);
    v->rescue = far && !(e.omega <= mpki_accuracy(&fac->options, fac->an->scalar));
    if (v->rescue && !mpk_failed(status)) status = try_other(v, TRIED_SCALING, &e);
    if (mpk_failed(status)) return status;
    if (fac->info.inertia.zero > 0) {
        v->eta = e.eta;
        conclude(v);
        return MPK_OK;
    }
    return weak(fac) && !fac->info.again ? mpki_weak_to_zero(fac) : MPK_OK;
}

/* Zero pivots: if no vector confirms them, they may be small pivots. */
static mpk_status look_at_zeros(verdict *v, bool again) {
    mpk_factor *fac = v->fac;
    evidence e = {INFINITY, INFINITY};
    bool far = false;
    mpk_status status = MPK_OK;
    if (v->eta <= v->bound)
        e.eta = v->eta;
    else
        status = again ? mpki_kernel_of_all(fac, &e.eta) : mpki_kernel_of_zeros(fac, &e.eta);
    if (mpk_failed(status)) return status;
    v->eta = e.eta;
    conclude(v);
    v->stale = !(e.eta <= v->bound) && wants_matching(v);
    if (v->stale || (again && !(e.eta <= v->bound))) return MPK_OK;
    if (fac->options.zero_tolerance <= mpki_default_zero_tolerance(fac->an->scalar))
        status = scalings_differ(v, &far);
    const bool none = !(e.eta <= v->bound);
    const bool lower = v->by_default && !far && none && !fac->lowered;
    const unsigned what = far ? TRIED_SCALING : lower ? TRIED_LOWERED : 0;
    if (!mpk_failed(status) && what && may_try(v, what)) {
        const double accuracy = mpki_accuracy(&fac->options, fac->an->scalar);
        /* a lower bound takes as long, and may leave no zero pivot */
        status = try_known(v, what == TRIED_SCALING, &e.omega);
        v->rescue = far && !(e.omega <= accuracy);
        /* where pivots were measured, A has nothing of a kernel there */
        if (!mpk_failed(status) && (v->asked || !mpki_measured(fac)) && (none || v->rescue))
            status = try_other(v, what, &e);
        if (!mpk_failed(status) && what == TRIED_LOWERED && !(e.omega <= accuracy))
            status = try_measured(fac, &e.omega);
    }
    if (mpk_failed(status)) return status;
    if (fac->info.inertia.zero == 0) return MPK_OK;
    v->eta = e.eta;
    conclude(v);
    const bool shown = v->by_default && !far && fac->info.rank == MPK_RANK_NUMERICAL;
    if (!shown || !mpki_pivots_doubtful(fac)) return MPK_OK;
    if (mpki_weak_are_many(fac)) { /* then all at once, which leaves nothing to one by one */
        const int64_t zeros = fac->info.inertia.zero;
        status = look_for_more(v);
        if (mpk_failed(status) || fac->info.inertia.zero > zeros) return status;
    }
    return mpki_weak_to_zero(fac);
}

/* Factorized with a larger bound of zero pivots, as that was better for older values. *stands: it
 * still is. */
static mpk_status look_at_raised(verdict *v, bool *stands) {
    mpk_factor *fac = v->fac;
    fac->effort = fmax(fac->effort, 0.5 * mpki_effort_of_factor(fac)); /* or it costs another one */
    mpk_status status = mpki_kernel_alike(fac, 0, &v->eta);
    *stands = v->eta <= v->bound;
    if (*stands) conclude(v);
    if (mpk_failed(status) || *stands) return status;
    bool there = false;
    fac->known.second = (mpki_rest){MPKI_REST_LONG, MPKI_REST_LONG};
    mpk_factor *other = mpki_twin(fac);
    status = mpki_failed(fac->ctx);
    if (!mpk_failed(status)) {
        other->raised = 0;
        status = factorize_twin(v, other, 0, &there);
    }
    if (there) mpki_exchange_numbers(fac, other);
    fac->known.raised = 0;
    drop_twin(&other);
    return status;
}

/* What was learned from older values: *done, if nothing more is to be found out. */
static mpk_status look_again(verdict *v, bool *done) {
    mpk_factor *fac = v->fac;
    mpk_status status = mpki_kernel_again(fac, &v->eta);
    *done = false;
    if (mpk_failed(status)) return status;
    mpki_rank_memory *known = &fac->known;
    if (!(v->eta <= v->bound)) {
        mpki_kernel_forget(fac);
        mpki_rest_of(&known->moved, false, MPKI_REST_SHORT);
        return MPK_OK;
    }
    mpki_rest_of(&known->moved, true, MPKI_REST_SHORT);
    const int64_t zeros = fac->info.inertia.zero, all = known->zeros + known->weak;
    const bool whole = known->count >= all; /* a vector for each, or more, which depend on these */
    const bool same = zeros == known->zeros || (whole && zeros <= all);
    if (!same && zeros == 0) return MPK_OK;
    *done = true;
    conclude(v);
    if (same &&
        zeros != known->zeros) { /* A has a kernel of so many dimensions: the weakest are its */
        known->weak = (int)(all - zeros);
        mpki_weak_again(fac, true);
    } else if (!same || !mpki_weak_again(fac, whole)) {
        known->weak = 0; /* those at the level of rounding are others, too */
        if (mpki_pivots_doubtful(fac)) status = mpki_weak_to_zero(fac);
    }
    if (fac->info.inertia.zero == 0) { /* none of rounding any more: look anew */
        fac->info.rank = MPK_RANK_FULL;
        *done = false;
    }
    return status;
}

/* As many zero and weak pivots together as older values had of the kernel: *done, if they are again.
 * all [in] those there were */
static mpk_status look_alike(verdict *v, int64_t all, bool *done) {
    mpk_factor *fac = v->fac;
    const int64_t zeros = fac->info.inertia.zero, weak = all - zeros;
    if (weak < 0 || weak > MPKI_WEAK_MOST || (weak > 0 && !mpki_pivots_doubtful(fac)))
        return MPK_OK;
    double eta = INFINITY;
    mpk_status status = MPK_OK;
    v->eta = INFINITY;
    v->alike = (int)weak;
    if (zeros > 0) status = mpki_kernel_alike(fac, 0, &v->eta); /* the verdict is on these */
    const bool more = weak > 0 && (zeros == 0 || v->eta <= v->bound);
    if (more && !mpk_failed(status)) status = mpki_kernel_alike(fac, (int)weak, &eta);
    if (more && zeros > 0 && !(eta <= v->bound) && !mpk_failed(status))
        status = mpki_kernel_at_once(fac, (int)weak, &eta); /* they may be fewer, and pairs */
    if (eta <= v->bound) v->eta = eta;
    *done = v->eta <= v->bound;
    if (*done) conclude(v);
    if (*done && more && !(eta <= v->bound) && !mpk_failed(status)) status = mpki_weak_to_zero(fac);
    return status;
}

/* Pivots that were measured with A made solves with older values accurate. *done: they are none of a
 * kernel, so that no vector is to be looked for. */
static mpk_status look_measured(verdict *v, bool *done) {
    mpk_factor *fac = v->fac;
    mpki_rank_memory *known = &fac->known;
    double omega;
    mpk_status status = mpki_measured_make(fac, &known->measures);
    if (known->measures && !mpk_failed(status)) status = try_known(v, true, &omega);
    if (mpk_failed(status) || !known->measures) return status;
    if (!(omega <= mpki_accuracy(&fac->options, fac->an->scalar))) {
        mpki_measured_drop(fac);
        known->measures = false;
    } else { /* but others may be of a kernel, as older values have shown */
        if (fac->info.inertia.zero > 0 && known->count > 0 && due(v, &known->moved)) {
            status = mpki_kernel_again(fac, &v->eta);
            mpki_rest_of(&known->moved, v->eta <= v->bound, MPKI_REST_SHORT);
        }
        if (!(v->eta <= v->bound)) mpki_kernel_forget(fac);
        if (fac->info.inertia.zero > 0) conclude(v);
        *done = true;
    }
    return status;
}

/* All that may be rounding beside the zero pivots, by one vector: most of the time these are a kernel's
 * and nothing else is so small. Where later values have zero pivots, what a verdict may cost is for these
 * first. */
static mpk_status look_at_once(verdict *v) {
    mpk_factor *fac = v->fac;
    v->eta = INFINITY;
    if (!v->by_default || !mpki_pivots_doubtful(fac) || !due(v, &fac->known.firm) ||
        (fac->info.inertia.zero > 0 && !v->first && !v->asked))
        return MPK_OK;
    mpk_status status = mpki_kernel_at_once(fac, v->alike, &v->eta);
    if (v->eta <= v->bound) conclude(v);
    return status;
}

/* fac has zero pivots, or some that may be rounding. */
static mpk_status look(verdict *v) {
    static const double CLEAR = 1e5;
    mpk_factor *fac = v->fac;
    const mpk_analysis *an = fac->an;
    mpki_rank_memory *known = &fac->known;
    mpk_status status = MPK_OK;
    bool done = false;
    bool far = an->scale_far && fac->options.scaling == MPK_AUTO;
    const bool raised = fac->raised > 0 && fac->raised == known->raised;
    const int64_t all = known->undecided || !known->shown ? 0 : known->zeros + known->weak;
    pass_by(known);
    if (known->measures && !v->asked && !v->first) status = look_measured(v, &done);
    if (done || mpk_failed(status)) return status;
    if (known->count > 0 && !v->asked && due(v, &known->moved) &&
        (!raised || fac->info.inertia.zero == known->zeros))
        status = look_again(v, &done);
    if (raised && !done && !mpk_failed(status) && fac->info.inertia.zero > 0) {
        mpki_kernel_forget(fac);
        status = look_at_raised(v, &done);
    }
    if (!mpk_failed(status) && !done) status = mpki_factor_bring(fac->ctx, fac);
    if (mpk_failed(status)) return status;
    if (!done) mpki_kernel_forget(fac);
    if (!done && all > 0 && !v->asked && !v->first) status = look_alike(v, all, &done);
    if (!done && !mpk_failed(status)) status = look_at_once(v);
    if (mpk_failed(status)) return status;
    const bool changed = fac->info.inertia.zero != known->zeros + known->weak;
    const bool free_to = known->second.left == 0;
    if (changed) known->undecided = false;
    if (!done && fac->info.inertia.zero > 0) {
        status = look_at_zeros(v, known->undecided && !v->asked);
    } else if (!done && weak(fac) && v->by_default) {
        if (!due(v, &known->firm)) return MPK_OK;
        if (!an->scale_far) {
            bool may = true;
            status = mpki_kernel_possible(fac, CLEAR, &may);
            if (!may) mpki_rest_of(&known->firm, false, MPKI_REST_SHORT);
            if (mpk_failed(status) || !may) return status;
            if (fac->options.zero_tolerance <= mpki_default_zero_tolerance(an->scalar))
                status = scalings_differ(v, &far);
        }
        if (!mpk_failed(status)) status = look_at_weak(v, far);
        mpki_rest_of(&known->firm, fac->info.inertia.zero > 0, MPKI_REST_SHORT);
    }
    if (!mpk_failed(status) && !v->stale) status = look_for_more(v);
    if (changed && free_to && !v->used) known->tried = 0; /* no other way was left */
    return status;
}

/* What a verdict may cost: half of a factorization; of the first one, which has an analysis before
 * it, twice. Some vectors of a small matrix cost nothing that could be seen, of the smallest a call. */
static double allowed(const mpk_factor *fac, bool is_new) {
    const mpki_rank_memory *known = &fac->known;
    /* or a vector that there is would be missed; but more zero pivots are none of an older kernel's */
    const bool alike = known->shown && fac->info.inertia.zero <= known->zeros + known->weak;
    const double times = alike ? 1 : 0.5;
    return is_new ? fmax(2 * mpki_effort_of_factor(fac), 2e6)
                  : fmax(times * mpki_effort_of_factor(fac), 2e4);
}

mpk_status mpki_find_rank(mpk_factor *fac, bool is_new, bool *stale) {
    mpk_factor_info *info = &fac->info;
    verdict v = {.fac = fac,
                 .bound = mpki_kernel_bound(fac),
                 .eta = INFINITY,
                 .first = is_new,
                 .by_default = fac->options.zero_tolerance < 0};
    v.asked = !v.by_default || mpki_rank_is_asked(fac->ctx);
    *stale = false;
    if (fac->an->n == 0 || info->perturbed > 0) return MPK_OK;
    if (structurally_singular(fac)) {
        info->rank = MPK_RANK_STRUCTURAL;
        return beyond_structure(fac);
    }
    if (mpk_failed(mpki_failed(fac->ctx))) return mpki_failed(fac->ctx);
    if (info->inertia.zero == 0 && !(weak(fac) && v.by_default)) return MPK_OK;
    fac->effort = v.asked ? INFINITY : allowed(fac, is_new);
    const mpk_status status = look(&v);
    fac->known.shown = info->rank == MPK_RANK_NUMERICAL;
    fac->known.zeros = info->inertia.zero - fac->known.weak;
    *stale = v.stale;
    return status;
}
