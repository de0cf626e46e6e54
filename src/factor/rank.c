/* SPDX-License-Identifier: BSD-3-Clause */
/* The rank of A, as far as a factorization and a few vectors show it. */
#include "rank.h"

#include "../problem/columns.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

enum {
    TRIAL_STEPS = 3,  /* of refinement */
    SETTLE_STEPS = 4, /* of a vector of the kernel */
    OTHER_TIMES = 50  /* times the predicted work: what another scaling may cost */
};

/* The vectors of one examination. */
typedef struct look {
    mpk_factor *fac;
    mpki_solve_work work;
    void *v;             /* n */
    void *u;             /* n for each of the pivots looked at, once share_make() has been called */
    const double *other; /* n: the scaling not in force, where two disagree */
    double bound;        /* what counts as zero: the bound of zero pivots */
} look;

static mpk_scalar scalar_of(const look *l) {
    return l->fac->an->scalar;
}

static void look_free(look *l) {
    mpk_context *ctx = l->fac->ctx;
    mpki_solve_work_free(ctx, &l->work);
    mpki_release(ctx, l->v);
    mpki_release(ctx, l->u);
}

/* How much of a vector A may leave, relatively, for the vector to count as one of A's kernel. */
static double confirmed(const mpk_factor *fac) {
    return fmax(mpki_default_zero_tolerance(fac->an->scalar), fac->options.zero_tolerance);
}

static mpk_status look_make(mpk_factor *fac, look *l) {
    mpk_context *ctx = fac->ctx;
    *l = (look){.fac = fac};
    l->bound = confirmed(fac);
    if (mpk_failed(mpki_solve_work_make(ctx, fac, fac->options.threads, 1, &l->work)))
        return mpki_failed(ctx);
    l->v = mpki_alloc(ctx, STAGE, fac->an->n, mpk_scalar_size(fac->an->scalar));
    if (!l->v) look_free(l);
    return mpki_failed(ctx);
}

static const mpki_direct_engine *engine_of(const look *l) {
    return l->fac->engine->direct;
}

/* v := the part of the factor applied to v */
static void apply(look *l, mpk_part part, void *v) {
    const int32_t n = l->fac->an->n;
    mpki_apply(&l->work.m, part, 1, v, n, v, n);
}

/* How nearly A takes v to zero; in both scalings where there are two. */
static double flatness(look *l) {
    return MPKI_DISPATCH(scalar_of(l), flatness)(l->fac->scale, l->other, &l->work, l->v);
}

/* v := v - M^+ A v, where M^+ solves with all pivots except the zero and the weak ones; work.r
 * holds -A v. */
static void refine_null(look *l, const mpki_weak_pivot *list, int count) {
    const mpk_scalar scalar = scalar_of(l);
    void *r = l->work.r;
    apply(l, MPK_PART_L, r);
    MPKI_DISPATCH(scalar, null_project)(list, count, r); /* before D^-1, which makes it all there */
    apply(l, MPK_PART_D, r);                             /* is, and after it, which made some of */
    MPKI_DISPATCH(scalar, null_project)(list, count, r); /* rounding */
    apply(l, MPK_PART_LT, r);
    MPKI_DISPATCH(scalar, column_add)(l->fac->an->n, 0, r, l->v);
}

/* Improve a vector that should be in A's kernel for as long as that helps: the factor may be much less accurate than A
 * (growth, columns delayed), and then one step does not do. Returns its flatness. */
static double settle(look *l, const mpki_weak_pivot *list, int count) {
    double least = flatness(l);
    for (int step = 0; step < SETTLE_STEPS && !(least <= l->bound) && isfinite(least); step++) {
        const double before = least;
        refine_null(l, list, count);
        least = fmin(before, flatness(l));
        if (!(least <= before / 4)) break;
    }
    return least;
}

/* v := a vector that the factor takes to this pivot alone. */
static void null_of_weak(look *l, const mpki_weak_pivot *pivot) {
    MPKI_DISPATCH(scalar_of(l), null_of_weak)(pivot, l->fac->an->n, l->v);
    apply(l, MPK_PART_LT, l->v);
}

/* The vectors of all these pivots, for share(). */
static mpk_status share_make(look *l, const mpki_weak_pivot *list, int count) {
    const int64_t n = l->fac->an->n, size = (int64_t)mpk_scalar_size(scalar_of(l));
    l->u = mpki_alloc(l->fac->ctx, STAGE, count * n, (size_t)size);
    for (int w = 0; l->u && w < count; w++) {
        null_of_weak(l, &list[w]);
        (void)settle(l, list, count);
        memcpy((char *)l->u + w * n * size, l->v, (size_t)(n * size));
    }
    return mpki_failed(l->fac->ctx);
}

/* refine_null() leaves in the rows of these pivots what rounding, of A's own entries to begin with, has left in all rows of A:
 * up to n times as much. Here all rows keep their share. Returns v's flatness. */
static double share(look *l, const mpki_weak_pivot *list, int count) {
    if (!isfinite(flatness(l)) ||
        !MPKI_DISPATCH(scalar_of(l), null_share)(l->fac->an->n, count, l->u, l->work.w, l->work.r))
        return INFINITY;
    refine_null(l, list, count);
    return flatness(l);
}

/* Is l->v, settled, so far from A's kernel that no share() brings it there? What A leaves of it in the direction of itself
 * stays, in whichever rows (rank.h, null_least). */
static bool out_of_reach(look *l) {
    static const double CLEAR = 1.5; /* a change of v changes the weights, a little */
    return MPKI_DISPATCH(scalar_of(l), null_least)(l->fac->scale, &l->work, l->v) >
           CLEAR * l->bound;
}

/* A vector for all zero pivots together: how nearly A takes it to zero. */
static double kernel_of_all(look *l) {
    engine_of(l)->at_zeros(l->fac->direct, l->v);
    apply(l, MPK_PART_LT, l->v);
    return settle(l, NULL, 0);
}

/* May a pivot that is not zero be rounding? The eigenvalue of a complex symmetric block shows nothing, so for
 * these matrices only zero pivots count. */
static bool doubtful(const mpk_factor *fac) {
    const bool counted = fac->an->scalar <= MPK_D || fac->an->symmetry == MPK_HERMITIAN;
    return counted && !(fac->info.min_pivot > mpki_pivot_noise(fac));
}

static bool weak(const mpk_factor *fac) {
    return fac->info.inertia.zero == 0 && doubtful(fac);
}

/* The same for zero pivots first .. count - 1 of a list one by one; those before them take no part. eta: what was found before. */
static double kernel_of_each(look *l, const mpki_weak_pivot *list, int first, int count,
                             double eta) {
    for (int w = first; w < count && !(eta <= l->bound); w++) {
        null_of_weak(l, &list[w]);
        eta = fmin(eta, settle(l, list, first));
        if (!(eta <= l->bound) && l->u) eta = fmin(eta, share(l, list, count));
    }
    return eta;
}

/* Is there a vector in A's kernel? First one for all zero pivots together; if some of them are more
 * than rounding, which spoils that vector, then for some of them one by one. A few weak pivots beside them may be of the
 * same kernel: solves with these undo what refinement gains, so at last they take no part. */
static double kernel_of_zeros(look *l) {
    mpki_weak_pivot list[2 * MPKI_WEAK_MOST];
    mpk_factor *fac = l->fac;
    const mpki_direct_engine *e = engine_of(l);
    const int64_t zeros = fac->info.inertia.zero;
    double eta = kernel_of_all(l);
    if (eta <= l->bound) return eta;
    if (zeros > 1)
        eta = kernel_of_each(l, list, 0, e->zeros(fac->direct, zeros, MPKI_WEAK_MOST, list), eta);
    if (eta <= l->bound || !doubtful(fac)) return eta;
    const int few = e->weak(fac->direct, mpki_pivot_noise(fac), MPKI_WEAK_MOST, list);
    if (few == 0 || zeros > MPKI_WEAK_MOST - few) return eta;
    const int all = few + e->zeros(fac->direct, zeros, MPKI_WEAK_MOST - few, list + few);
    return mpk_failed(share_make(l, list, all)) ? eta : kernel_of_each(l, list, few, all, eta);
}

static void conclude(mpk_factor *fac, double eta, double bound) {
    fac->info.rank = eta <= bound ? MPK_RANK_NUMERICAL : MPK_RANK_UNDECIDED;
    fac->info.rank_bound = isfinite(eta) ? eta : 0;
}

/* May A have a kernel? Then whatever a solve starts from, its result lies near the kernel, since
 * the factor takes noise for a pivot; a second solve removes what the first left. */
static mpk_status may_have_kernel(mpk_factor *fac, bool *may) {
    static const double CLEAR = 1e5; /* the factor's own rounding blurs what it finds */
    look l;
    mpk_status status = look_make(fac, &l);
    if (mpk_failed(status)) return status;
    const mpk_scalar scalar = scalar_of(&l);
    *may = false;
    MPKI_DISPATCH(scalar, column_signs)(fac->an->n, l.v);
    for (int step = 0; step < 2 && !*may; step++) {
        int exponent;
        mpki_apply_inverse(&l.work, l.v);
        frexp(MPKI_DISPATCH(scalar, column_largest)(fac->an->n, l.v), &exponent);
        MPKI_DISPATCH(scalar, column_shift)(fac->an->n, -exponent, l.v);
        const double eta = flatness(&l);
        *may = eta <= CLEAR * l.bound || !isfinite(eta);
    }
    look_free(&l);
    return mpki_failed(fac->ctx);
}

static void make_zero(mpk_factor *fac, const mpki_weak_pivot *list, int count) {
    fac->engine->direct->to_zero(fac->direct, list, count);
    for (int w = 0; w < count; w++) {
        if (list[w].sign > 0)
            fac->info.inertia.positive--;
        else
            fac->info.inertia.negative--;
        fac->info.inertia.zero++;
    }
    fac->info.inertia.certified = 0;
}

/* Pivots that may be rounding alone: each becomes zero if a vector shows that it is. Zero pivots, where they are few,
 * are beside them in what is shared. */
static mpk_status look_at_weak(mpk_factor *fac) {
    mpki_weak_pivot list[MPKI_WEAK_MOST], zero[MPKI_WEAK_MOST];
    const int64_t zeros_before = fac->info.inertia.zero;
    look l;
    mpk_status status = look_make(fac, &l);
    if (mpk_failed(status)) return status;
    const int count = engine_of(&l)->weak(fac->direct, mpki_pivot_noise(fac), MPKI_WEAK_MOST, list);
    int zeros = 0, all = count;
    double worst = fac->info.rank_bound;
    if (zeros_before <= MPKI_WEAK_MOST - count)
        all +=
            engine_of(&l)->zeros(fac->direct, zeros_before, MPKI_WEAK_MOST - count, list + count);
    for (int w = 0; w < count && !mpk_failed(status); w++) {
        null_of_weak(&l, &list[w]);
        double eta = settle(&l, list, count);
        if (!(eta <= l.bound) && out_of_reach(&l)) continue;
        if (!(eta <= l.bound) && !l.u) {
            status = share_make(&l, list, all);
            null_of_weak(&l, &list[w]);
            (void)settle(&l, list, count);
        }
        if (!(eta <= l.bound) && l.u) eta = fmin(eta, share(&l, list, all));
        if (!(eta <= l.bound)) continue;
        worst = fmax(worst, eta);
        zero[zeros++] = list[w];
    }
    if (zeros > 0 && !mpk_failed(status)) {
        make_zero(fac, zero, zeros);
        conclude(fac, worst, l.bound);
    }
    look_free(&l);
    return mpki_failed(fac->ctx);
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
    look l;
    mpk_status status = look_make(fac, &l);
    if (mpk_failed(status)) return status;
    void *x = mpki_alloc(ctx, STAGE, n, mpk_scalar_size(scalar));
    if (x) {
        MPKI_DISPATCH(scalar, trial)(&l.work, l.v, l.work.b);
        memcpy(x, l.work.b, (size_t)n * mpk_scalar_size(scalar));
        mpki_apply_inverse(&l.work, x);
        MPKI_DISPATCH(scalar, refine)(&l.work, TRIAL_STEPS, accuracy, x, &info);
        *omega = info.componentwise;
        if (missed) MPKI_DISPATCH(scalar, missed)(&l.work, x, accuracy, missed);
    }
    mpki_release(ctx, x);
    look_free(&l);
    return mpki_failed(ctx);
}

/* other [in] n, or NULL: another scaling */
static mpk_status try_zeros(mpk_factor *fac, const double *other, double *eta) {
    look l;
    mpk_status status = look_make(fac, &l);
    *eta = INFINITY;
    if (mpk_failed(status)) return status;
    l.other = other;
    if (fac->info.inertia.zero > 0) *eta = kernel_of_zeros(&l);
    look_free(&l);
    return mpki_failed(fac->ctx);
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
        if (!mpk_failed(status)) status = try_zeros(other, rescale ? fac->scale : NULL, &its.eta);
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
    if (!mpk_failed(status)) status = try_zeros(fac, other, &e.eta);
    mpki_release(ctx, other);
    if (!mpk_failed(status)) status = try_solve(fac, &e.omega, NULL);
    if (!mpk_failed(status) &&
        (!(e.omega <= mpki_accuracy(&fac->options, an->scalar)) || !decided(fac, &e, bound)))
        status = try_other(fac, true, &e, bound);
    if (mpk_failed(status)) return status;
    if (fac->info.inertia.zero > 0)
        conclude(fac, e.eta, bound);
    else if (weak(fac))
        status = look_at_weak(fac);
    return status;
}

/* Zero pivots in a matrix that is well scaled: if no vector confirms them they may be small
 * pivots. */
static mpk_status look_at_zeros(mpk_factor *fac) {
    const double bound = confirmed(fac);
    evidence e = {INFINITY, INFINITY};
    mpk_status status = try_zeros(fac, NULL, &e.eta);
    if (mpk_failed(status)) return status;
    conclude(fac, e.eta, bound);
    if (fac->options.zero_tolerance >= 0) return MPK_OK;
    if (e.eta <= bound) return doubtful(fac) ? look_at_weak(fac) : MPK_OK;
    if (fac->lowered) return MPK_OK;
    status = try_solve(fac, &e.omega, NULL);
    if (!mpk_failed(status)) status = try_other(fac, false, &e, bound);
    if (mpk_failed(status)) return status;
    if (fac->info.inertia.zero > 0)
        conclude(fac, e.eta, bound);
    else if (weak(fac))
        status = look_at_weak(fac);
    return status;
}

/* ---- more of the kernel -------------------------------------------------------------------------
 */

/* Bounds of zero pivots for what the usual one leaves of noise. The first that proves more zeros is taken. */
static const double BOUNDS[] = {1e-10, 1e-12}, BOUNDS_SINGLE[] = {1e-3};

/* Are there more zero pivots than fac has, all of them of A's kernel? Then other's numbers become fac's. */
static mpk_status take_more(mpk_factor *fac, mpk_factor *other, bool *taken) {
    look l;
    double omega = INFINITY, eta = INFINITY;
    *taken = false;
    if (other->info.inertia.zero <= fac->info.inertia.zero) return MPK_OK;
    mpk_status status = look_make(other, &l);
    if (mpk_failed(status)) return status;
    eta = kernel_of_all(&l);
    look_free(&l);
    if (!(eta <= confirmed(other))) return mpki_failed(fac->ctx);
    status = try_solve(other, &omega, NULL);
    *taken = omega <= mpki_accuracy(&fac->options, fac->an->scalar);
    if (mpk_failed(status) || !*taken) return status;
    mpki_exchange_numbers(fac, other);
    fac->info.again = 1;
    conclude(fac, eta, confirmed(fac));
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
    if (fac->info.rank != MPK_RANK_NUMERICAL || !doubtful(fac) || fac->raised > 0) return MPK_OK;
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
        mpk_status status = may_have_kernel(fac, &may);
        if (mpk_failed(status) || !may) return status;
    }
    if (o->zero_tolerance <= mpki_default_zero_tolerance(an->scalar)) {
        bool far = false;
        mpk_status status = mpki_scalings_differ(fac, &far);
        if (mpk_failed(status)) return status;
        if (far) return look_at_both(fac);
    }
    return info->inertia.zero == 0 ? look_at_weak(fac) : look_at_zeros(fac);
}

mpk_status mpki_find_rank(mpk_factor *fac) {
    const mpk_status status = find_rank(fac);
    if (mpk_failed(status) || fac->options.zero_tolerance >= 0) return status;
    return look_for_more(fac);
}
