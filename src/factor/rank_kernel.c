/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors that a factorization and its solves show to be in A's kernel, or not to be. */
#include "rank_kernel.h"
#include "../problem/columns.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

enum { SETTLE_STEPS = 4 /* of a vector of the kernel */ };

/* The vectors of one examination. */
typedef struct look {
    mpk_factor *fac;
    mpki_solve_work work;
    void *v;       /* n */
    void *u;       /* n for each of the pivots looked at, once share_make() has been called */
    double bound;  /* what counts as zero: the bound of zero pivots */
    double enough; /* a vector that is roughly so flat need not be refined */
    double rough;  /* how flat the last one was */
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

double mpki_kernel_bound(const mpk_factor *fac) {
    return fmax(mpki_default_zero_tolerance(fac->an->scalar), fac->options.zero_tolerance);
}

static mpk_status look_make(mpk_factor *fac, look *l) {
    mpk_context *ctx = fac->ctx;
    *l = (look){.fac = fac};
    l->bound = mpki_kernel_bound(fac);
    if (mpk_failed(mpki_factor_bring(ctx, fac))) return mpki_failed(ctx);
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
    l->fac->effort -= mpki_effort_of_solve(l->fac) * (part == MPK_PART_D ? 0.1 : 0.5);
    mpki_apply(&l->work.m, part, 1, v, n, v, n);
}

/* May this verdict cost so many solves and products more? */
static bool affords(const look *l, double solves, double products) {
    return solves * mpki_effort_of_solve(l->fac) + products * mpki_effort_of_product(l->fac) <=
           l->fac->effort;
}

/* Is what it may cost spent? */
static bool spent(const look *l) {
    return !(l->fac->effort > 0);
}

/* How nearly A takes v to zero. */
static mpki_flatness flatness(look *l) {
    const double left = l->fac->effort / mpki_effort_of_product(l->fac);
    const int most = l->enough > 0 ? 1 : left < MPKI_FLATNESS_MOST ? (int)left : MPKI_FLATNESS_MOST;
    const mpki_flatness f =
        MPKI_DISPATCH(scalar_of(l), flatness)(l->fac->scale, l->bound, most, &l->work, l->v);
    l->fac->effort -= f.products * mpki_effort_of_product(l->fac);
    return f;
}

/* The same, by an engine if that pays and says all of it: work.w is not there then. */
static mpki_flatness flatness_alone(look *l) {
    static const double WORTH = 1e5; /* as fac->effort: what vectors take there and back */
    const mpki_direct_engine *e = l->fac->engine->direct;
    mpki_near_zero near = {0};
    bool told = false;
    if (!e->flatness || mpki_effort_of_product(l->fac) < WORTH) return flatness(l);
    if (mpk_failed(e->flatness(l->fac->direct, l->v, 0, l->work.r, &near, &told)) || !told ||
        !mpki_near_is_all(&near, l->fac, l->bound))
        return flatness(l);
    l->fac->effort -= mpki_effort_of_product(l->fac);
    return (mpki_flatness){isnan(near.eta) ? INFINITY : near.eta, near.rough, 1};
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

/* Improve a vector that should be in A's kernel for as long as that helps: the factor may be much
 * less accurate than A (growth, columns delayed), and then one step does not do. Returns its eta;
 * where that is within the bound it is v's. */
static double settle(look *l, const mpki_weak_pivot *list, int count) {
    mpki_flatness f = flatness_alone(l);
    double least = f.eta;
    l->rough = f.rough;
    for (int step = 0; step < SETTLE_STEPS && !(least <= l->bound) && isfinite(f.rough); step++) {
        const double before = f.rough;
        if (f.rough <= l->enough) break;
        if (!affords(l, 1, 1)) break;
        refine_null(l, list, count);
        f = flatness_alone(l);
        least = fmin(least, f.eta);
        l->rough = f.rough;
        if (!(f.rough <= before / 4)) break;
    }
    return least;
}

/* v := a vector that the factor takes to this pivot alone. */
static void null_of_weak(look *l, const mpki_weak_pivot *pivot) {
    MPKI_DISPATCH(scalar_of(l), null_of_weak)(pivot, l->fac->an->n, l->v);
    apply(l, MPK_PART_LT, l->v);
}

/* The vectors of all these pivots, for share(); none where they cost too much. */
static mpk_status share_make(look *l, const mpki_weak_pivot *list, int count) {
    const int64_t n = l->fac->an->n, size = (int64_t)mpk_scalar_size(scalar_of(l));
    if (!affords(l, 1.5 * count, 2 * count)) return MPK_OK;
    l->u = mpki_alloc(l->fac->ctx, STAGE, count * n, (size_t)size);
    for (int w = 0; l->u && w < count && !mpk_failed(mpki_failed(l->fac->ctx)); w++) {
        null_of_weak(l, &list[w]);
        (void)settle(l, list, count);
        memcpy((char *)l->u + w * n * size, l->v, (size_t)(n * size));
    }
    return mpki_failed(l->fac->ctx);
}

/* refine_null() leaves in the rows of these pivots what rounding, of A's own entries to begin with,
 * has left in all rows of A: up to n times as much. Here all rows keep their share. v := the
 * settled vector of pivot `which`, shared. Returns its eta. */
static double share(look *l, const mpki_weak_pivot *list, int count, int which) {
    const size_t bytes = (size_t)l->fac->an->n * mpk_scalar_size(scalar_of(l));
    memcpy(l->v, (const char *)l->u + (size_t)which * bytes, bytes);
    const mpki_flatness before = flatness(l);
    if (before.eta <= l->bound) return before.eta;
    if (!isfinite(before.rough) ||
        !MPKI_DISPATCH(scalar_of(l), null_share)(l->fac->an->n, count, l->u, l->work.w, l->work.r))
        return INFINITY;
    refine_null(l, list, count);
    return flatness(l).eta;
}

/* Is l->v, settled, so far from A's kernel that no share() brings it there? What A leaves of it in
 * the direction of itself stays, in whichever rows (rank.h, null_least). */
static bool out_of_reach(look *l) {
    static const double CLEAR = 1.5;               /* a change of v changes the weights, a little */
    if (engine_of(l)->flatness) (void)flatness(l); /* for work.w */
    return MPKI_DISPATCH(scalar_of(l), null_least)(l->fac->scale, &l->work, l->v) >
           CLEAR * l->bound;
}

/* A vector for all zero pivots together: how nearly A takes it to zero. */
static double kernel_of_all(look *l) {
    engine_of(l)->at_zeros(l->fac->direct, l->v);
    apply(l, MPK_PART_LT, l->v);
    return settle(l, NULL, 0);
}

bool mpki_pivots_doubtful(const mpk_factor *fac) {
    const bool counted = fac->an->scalar <= MPK_D || fac->an->symmetry == MPK_HERMITIAN;
    return counted && !(fac->info.min_pivot > mpki_pivot_noise(fac));
}

/* The same for zero pivots first .. count - 1 of a list one by one; those before them take no part.
 * eta: what was found before. */
static double kernel_of_each(look *l, const mpki_weak_pivot *list, int first, int count,
                             double eta) {
    for (int w = first; w < count && !(eta <= l->bound) && affords(l, 1, 2); w++) {
        if (l->u) {
            eta = fmin(eta, share(l, list, count, w));
            continue;
        }
        null_of_weak(l, &list[w]);
        eta = fmin(eta, settle(l, list, first));
    }
    return eta;
}

/* Is there a vector in A's kernel? First one for all zero pivots together; if some of them are more
 * than rounding, which spoils that vector, then for some of them one by one. A few weak pivots
 * beside them may be of the same kernel: solves with these undo what refinement gains, so at last
 * they take no part. */
static double kernel_of_zeros(look *l) {
    mpki_weak_pivot list[MPKI_WEAK_MOST];
    mpk_factor *fac = l->fac;
    const mpki_direct_engine *e = engine_of(l);
    const int64_t zeros = fac->info.inertia.zero;
    double eta = kernel_of_all(l);
    if (eta <= l->bound || spent(l)) return eta;
    if (zeros > 1)
        eta = kernel_of_each(l, list, 0, e->zeros(fac->direct, zeros, MPKI_WEAK_MOST, list), eta);
    if (eta <= l->bound || !mpki_pivots_doubtful(fac) || spent(l)) return eta;
    const int few = e->weak(fac->direct, mpki_pivot_noise(fac), MPKI_WEAK_MOST, list);
    if (few == 0 || zeros > MPKI_WEAK_MOST - few) return eta;
    const int all = few + e->zeros(fac->direct, zeros, MPKI_WEAK_MOST - few, list + few);
    if (mpk_failed(share_make(l, list, all)) || !l->u) return eta;
    return kernel_of_each(l, list, few, all, eta);
}

/* Whatever a solve starts from, its result lies near the kernel, since the factor takes noise for a
 * pivot; a second solve removes what the first left. */
mpk_status mpki_kernel_possible(mpk_factor *fac, double clear, bool *may) {
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
        const double rough = flatness_alone(&l).rough;
        *may = rough <= clear * l.bound || !isfinite(rough);
    }
    look_free(&l);
    return mpki_failed(fac->ctx);
}

/* The smallest pivot that is not zero, relative to the largest entry; 0: there is none. */
static double least_pivot(const mpk_factor *fac) {
    mpki_weak_pivot weakest;
    const int there = fac->engine->direct->weak(fac->direct, INFINITY, 1, &weakest);
    return there > 0 ? weakest.size : 0;
}

static void make_zero(mpk_factor *fac, const mpki_weak_pivot *list, int count) {
    fac->engine->direct->to_zero(fac->direct, list, count);
    if (fac->an->split) fac->broken += count; /* they have gone into the Schur complement */
    for (int w = 0; w < count; w++) {
        if (list[w].sign > 0)
            fac->info.inertia.positive--;
        else
            fac->info.inertia.negative--;
        fac->info.inertia.zero++;
    }
    fac->info.min_pivot = least_pivot(fac);
}

/* These, which a vector has shown to be of the kernel, are known to later values. */
static void know_weak(mpk_factor *fac, const mpki_weak_pivot *list, int count) {
    mpki_rank_memory *known = &fac->known;
    for (int w = 0; w < count && known->weak < MPKI_KNOWN_MOST; w++)
        known->weak_at[known->weak++] = list[w].at[0];
}

mpk_status mpki_weakest_to_zero(mpk_factor *fac, int64_t count) {
    mpki_weak_pivot list[MPKI_WEAK_MOST];
    for (int single = 1; count > 0 && single > 0; count -= single) {
        const int most = count < MPKI_WEAK_MOST ? (int)count : MPKI_WEAK_MOST;
        const int there = fac->engine->direct->weak(fac->direct, INFINITY, most, list);
        for (single = 0; single < there && !list[single].pair;) single++;
        make_zero(fac, list, single);
        if (single < there) break;
    }
    return mpki_failed(fac->ctx);
}

bool mpki_weak_are_many(const mpk_factor *fac) {
    mpki_weak_pivot list[MPKI_WEAK_MOST];
    return fac->engine->direct->weak(fac->direct, mpki_pivot_noise(fac), MPKI_WEAK_MOST, list) ==
           MPKI_WEAK_MOST;
}

/* Zero pivots, where they are few, are beside the weak ones in what is shared. Those of the kernel
 * are the weakest, as a rule: once some are not, the others are left. */
mpk_status mpki_weak_to_zero(mpk_factor *fac) {
    enum { FAILURES = 2 };
    mpki_weak_pivot list[MPKI_WEAK_MOST], zero[MPKI_WEAK_MOST];
    const int64_t zeros_before = fac->info.inertia.zero;
    look l;
    mpk_status status = look_make(fac, &l);
    if (mpk_failed(status)) return status;
    const int count = engine_of(&l)->weak(fac->direct, mpki_pivot_noise(fac), MPKI_WEAK_MOST, list);
    int zeros = 0, all = count, failed = 0;
    double worst = fac->info.rank_bound;
    if (zeros_before <= MPKI_WEAK_MOST - count)
        all +=
            engine_of(&l)->zeros(fac->direct, zeros_before, MPKI_WEAK_MOST - count, list + count);
    for (int w = 0; w < count && failed < FAILURES && !mpk_failed(status); w++) {
        if (!affords(&l, 0.5, 1)) break;
        null_of_weak(&l, &list[w]);
        double eta = settle(&l, list, count);
        if (!(eta <= l.bound) && out_of_reach(&l)) {
            failed++;
            continue;
        }
        if (!(eta <= l.bound) && !l.u) {
            status = share_make(&l, list, all);
        }
        if (!(eta <= l.bound) && l.u) eta = fmin(eta, share(&l, list, all, w));
        failed += !(eta <= l.bound);
        if (!(eta <= l.bound) || mpk_failed(status)) continue;
        worst = fmax(worst, eta);
        zero[zeros++] = list[w];
        status = mpki_kernel_remember(fac, l.v);
    }
    if (zeros > 0 && !mpk_failed(status)) {
        make_zero(fac, zero, zeros);
        know_weak(fac, zero, zeros);
        mpki_rank_conclude(fac, worst, l.bound);
    }
    look_free(&l);
    return mpki_failed(fac->ctx);
}

/* What `find` finds, and v is kept if it is of the kernel. */
static mpk_status find_kernel(mpk_factor *fac, double (*find)(look *l), double *eta) {
    look l;
    mpk_status status = look_make(fac, &l);
    *eta = INFINITY;
    if (mpk_failed(status)) return status;
    if (fac->info.inertia.zero > 0) *eta = find(&l);
    if (*eta <= l.bound) status = mpki_kernel_remember(fac, l.v);
    look_free(&l);
    return mpk_failed(status) ? status : mpki_failed(fac->ctx);
}

mpk_status mpki_kernel_of_zeros(mpk_factor *fac, double *eta) {
    return find_kernel(fac, kernel_of_zeros, eta);
}

mpk_status mpki_kernel_of_all(mpk_factor *fac, double *eta) {
    return find_kernel(fac, kernel_of_all, eta);
}

/* ---- from one factorization to the next ------------------------------------------------------ */

static void forget_sum(mpk_factor *fac) {
    mpki_release(fac->ctx, fac->known.sum);
    fac->known.sum = NULL;
}

void mpki_kernel_forget(mpk_factor *fac) {
    mpki_rank_memory *known = &fac->known;
    forget_sum(fac);
    if (known->count > 0) {
        mpki_release(fac->ctx, known->like);
        known->like = known->vector;
    } else {
        mpki_release(fac->ctx, known->vector);
    }
    known->vector = NULL;
    known->count = known->weak = 0;
}

mpk_status mpki_kernel_remember(mpk_factor *fac, const void *v) {
    const int64_t n = fac->an->n, size = (int64_t)mpk_scalar_size(fac->an->scalar);
    mpki_rank_memory *known = &fac->known;
    if (known->count == MPKI_WEAK_MOST) return MPK_OK;
    void *grown = mpki_resize(fac->ctx, STAGE, known->vector, (known->count + 1) * n, (size_t)size);
    if (!grown) return mpki_failed(fac->ctx);
    forget_sum(fac);
    known->vector = grown;
    memcpy((char *)grown + known->count * n * size, v, (size_t)(n * size));
    known->count++;
    return MPK_OK;
}

static uint64_t next_stamp(void) {
    static _Atomic uint64_t stamps;
    return 1 + atomic_fetch_add(&stamps, 1);
}

/* All vectors at once: a sum with coefficients that no relation between them is likely to have. */
static mpk_status have_sum(mpk_factor *fac) {
    mpki_rank_memory *known = &fac->known;
    const mpk_scalar scalar = fac->an->scalar;
    if (known->sum) return MPK_OK;
    known->sum = mpki_alloc(fac->ctx, STAGE, fac->an->n, mpk_scalar_size(scalar));
    if (!known->sum) return mpki_failed(fac->ctx);
    MPKI_DISPATCH(scalar, null_sum)(fac->an->n, known->count, known->vector, known->sum);
    known->stamp = next_stamp();
    return MPK_OK;
}

/* By the host, which may take noise away from the sum. */
static mpk_status sum_here(mpk_factor *fac, double *eta) {
    mpki_rank_memory *known = &fac->known;
    const size_t bytes = (size_t)fac->an->n * mpk_scalar_size(fac->an->scalar);
    look l = {.fac = fac, .bound = mpki_kernel_bound(fac)};
    mpk_status status = mpki_factor_bring(fac->ctx, fac);
    if (!mpk_failed(status)) status = mpki_product_work_make(fac->ctx, fac, &l.work);
    if (mpk_failed(status)) return status;
    l.v = mpki_alloc(fac->ctx, STAGE, fac->an->n, mpk_scalar_size(fac->an->scalar));
    if (l.v) {
        memcpy(l.v, known->sum, bytes);
        *eta = flatness(&l).eta;
        if (*eta <= l.bound && memcmp(known->sum, l.v, bytes) != 0) {
            memcpy(known->sum, l.v, bytes);
            known->stamp = next_stamp();
        }
    }
    look_free(&l);
    return mpki_failed(fac->ctx);
}

/* Where an engine has the values, it says what it can of the sum without them here. */
mpk_status mpki_kernel_again(mpk_factor *fac, double *eta) {
    const mpki_direct_engine *engine = fac->engine->direct;
    const double bound = mpki_kernel_bound(fac);
    mpki_near_zero near = {0};
    bool told = false;
    mpk_status status = have_sum(fac);
    *eta = INFINITY;
    if (!mpk_failed(status) && engine->flatness)
        status =
            engine->flatness(fac->direct, fac->known.sum, fac->known.stamp, NULL, &near, &told);
    if (mpk_failed(status)) return status;
    if (told && mpki_near_is_all(&near, fac, bound)) {
        *eta = near.eta <= bound ? near.eta : INFINITY;
        return MPK_OK;
    }
    return sum_here(fac, eta);
}

/* v := a vector for all zero pivots and these, mixed; where `like` is zero, and it might be noise, it is
 * zero. Returns its eta. */
static double kernel_mixed(look *l, const mpki_weak_pivot *list, int count, const void *like) {
    const mpk_factor *fac = l->fac;
    const mpk_scalar scalar = scalar_of(l);
    const int32_t n = fac->an->n;
    engine_of(l)->at_zeros(fac->direct, l->v);
    for (int w = 0; w < count; w++) {
        MPKI_DISPATCH(scalar, null_of_weak)(&list[w], n, l->work.r);
        MPKI_DISPATCH(scalar, column_add)(n, 0, l->work.r, l->v);
    }
    MPKI_DISPATCH(scalar, basis_mix)(n, l->v);
    apply(l, MPK_PART_LT, l->v);
    if (like) MPKI_DISPATCH(scalar, null_alike)(fac->scale, n, like, l->v);
    return settle(l, list, count);
}

/* Both eigenvalues of a pair may be rounding: then the larger one is in doubt as well. list [inout] there
 * is room for twice as many. Returns how many there are then. */
static int whole_pairs(const mpk_factor *fac, mpki_weak_pivot *list, int count) {
    const double noise = mpki_pivot_noise(fac) * fac->size;
    int all = count;
    for (int w = 0; w < count; w++) {
        const mpki_weak_pivot *p = &list[w];
        if (!p->pair || !(fabs(p->other) <= noise)) continue;
        list[all++] =
            (mpki_weak_pivot){.at = {p->at[0], p->at[1]},
                              .handle = {p->handle[0], p->handle[1]},
                              .pair = true,
                              .sign = p->other > 0 ? 1 : -1,
                              .size = fabs(p->other) / fac->size,
                              .vector = {p->vector[2], -p->vector[3], -p->vector[0], p->vector[1]}};
    }
    return all;
}

/* What later values are to be factorized with, so that pivots up to `noise` are zero, and those from
 * `least` on are not; 0: nothing is clear of both. */
static double bound_between(const mpk_factor *fac, double noise, double least) {
    static const double BETWEEN[] = {1e-10, 1e-11, 1e-12};
    const double clear = 10;
    if (fac->an->scalar == MPK_S || fac->an->scalar == MPK_C) return 0;
    for (size_t k = 0; k < sizeof BETWEEN / sizeof *BETWEEN; k++)
        if (clear * noise <= BETWEEN[k] && clear * BETWEEN[k] <= least) return BETWEEN[k];
    return 0;
}

/* Where these and the zero pivots are few, but a vector for all of them is not flat for want of shares:
 * the vectors of each, refined once, shared among rows and refined. All of them are remembered where all
 * are of the kernel. eta [out] of the worst, else infinite */
static mpk_status kernel_shared(look *l, const mpki_weak_pivot *weak, int count, double *eta) {
    mpki_weak_pivot list[MPKI_WEAK_MOST];
    mpk_factor *fac = l->fac;
    const size_t bytes = (size_t)fac->an->n * mpk_scalar_size(scalar_of(l));
    const int64_t zeros = fac->info.inertia.zero;
    *eta = INFINITY;
    if (zeros > MPKI_WEAK_MOST - count) return MPK_OK;
    memcpy(list, weak, (size_t)count * sizeof *list);
    const int all =
        count + engine_of(l)->zeros(fac->direct, zeros, MPKI_WEAK_MOST - count, list + count);
    if (!affords(l, 2.5 * all, 3 * all)) return MPK_OK;
    l->u = mpki_alloc(fac->ctx, STAGE, all * (int64_t)fac->an->n, mpk_scalar_size(scalar_of(l)));
    if (!l->u) return mpki_failed(fac->ctx);
    for (int w = 0; w < all; w++) {
        null_of_weak(l, &list[w]);
        memset(l->work.r, 0, bytes);
        mpki_residual(&l->work.system.a, l->v, l->work.r, l->work.r, l->work.w, l->work.sums);
        fac->effort -= mpki_effort_of_product(fac);
        refine_null(l, list, all);
        memcpy((char *)l->u + (size_t)w * bytes, l->v, bytes);
    }
    double worst = 0;
    mpki_kernel_forget(fac);
    mpk_status status = mpki_failed(fac->ctx);
    for (int w = 0; w < all && worst <= l->bound && !mpk_failed(status); w++) {
        worst = fmax(worst, share(l, list, all, w));
        if (worst <= l->bound) status = mpki_kernel_remember(fac, l->v);
    }
    if (worst <= l->bound) *eta = worst;
    if (!(worst <= l->bound)) mpki_kernel_forget(fac);
    return status;
}

mpk_status mpki_kernel_at_once(mpk_factor *fac, int tried, double *eta) {
    enum { MOST = 512 };
    mpk_context *ctx = fac->ctx;
    mpki_rank_memory *known = &fac->known;
    double bound = 0;
    *eta = INFINITY;
    mpki_weak_pivot *list = MPKI_NEW(ctx, STAGE, 2 * MOST, mpki_weak_pivot);
    if (!list) return mpki_failed(ctx);
    const mpki_direct_engine *e = fac->engine->direct;
    const int some = e->weak(fac->direct, mpki_pivot_noise(fac), MOST, list);
    const bool same = some == tried; /* beside an older vector, which may be another one's */
    bool may = some > 0 && some < MOST && (!same || known->like);
    const bool more = may && e->weak(fac->direct, INFINITY, some + 1, list + some) > some;
    const double least = more ? list[2 * some].size : INFINITY;
    const int count = may ? whole_pairs(fac, list, some) : 0;
    if (may && count > MPKI_WEAK_MOST) {
        double most = list[some - 1].size;
        for (int w = some; w < count; w++) most = fmax(most, list[w].size);
        bound = bound_between(fac, most, least);
        may = bound > 0;
    }
    look l;
    mpk_status status = may ? look_make(fac, &l) : MPK_OK;
    if (may && !mpk_failed(status)) {
        *eta = kernel_mixed(&l, list, count, same ? NULL : known->like);
        if (*eta <= l.bound)
            status = mpki_kernel_remember(fac, l.v);
        else if (isfinite(l.rough) && !out_of_reach(&l))
            status = kernel_shared(&l, list, count, eta);
        if (*eta <= l.bound && !mpk_failed(status)) {
            make_zero(fac, list, count);
            known->weak = 0;
            if (bound > 0)
                known->raised = bound;
            else
                know_weak(fac, list, count);
        }
        look_free(&l);
    }
    mpki_release(ctx, list);
    return mpk_failed(status) ? status : mpki_failed(ctx);
}

mpk_status mpki_kernel_alike(mpk_factor *fac, int weak, double *eta) {
    mpki_weak_pivot list[MPKI_WEAK_MOST];
    look l;
    *eta = INFINITY;
    const int count = fac->engine->direct->weak(fac->direct, mpki_pivot_noise(fac), weak, list);
    if (count < weak) return MPK_OK;
    mpk_status status = look_make(fac, &l);
    if (mpk_failed(status)) return status;
    *eta = kernel_mixed(&l, list, count, fac->known.like);
    if (*eta <= l.bound) {
        status = mpki_kernel_remember(fac, l.v);
        if (count > 0) make_zero(fac, list, count);
        fac->known.weak = 0;
        know_weak(fac, list, count);
    }
    look_free(&l);
    return mpk_failed(status) ? status : mpki_failed(fac->ctx);
}

mpk_status mpki_kernel_beside(mpk_factor *fac, double clear, bool *shown) {
    look l;
    mpk_status status = look_make(fac, &l);
    *shown = false;
    if (mpk_failed(status)) return status;
    l.enough = clear * l.bound;
    const double eta = kernel_mixed(&l, NULL, 0, fac->known.like);
    *shown = eta <= l.bound || l.rough <= l.enough;
    if (eta <= l.bound) status = mpki_kernel_remember(fac, l.v);
    look_free(&l);
    return mpk_failed(status) ? status : mpki_failed(fac->ctx);
}

bool mpki_weak_again(mpk_factor *fac, bool shown) {
    mpki_rank_memory *known = &fac->known;
    mpki_weak_pivot list[2 * MPKI_WEAK_MOST], again[MPKI_WEAK_MOST];
    const int before = known->weak;
    int some = 0, kept = 0;
    if (before == 0) return true;
    if (mpki_pivots_doubtful(fac))
        some = fac->engine->direct->weak(fac->direct, mpki_pivot_noise(fac), MPKI_WEAK_MOST, list);
    const int count = whole_pairs(fac, list, some);
    for (int w = 0; w < count && kept < before; w++)
        for (int k = 0; k < before; k++) {
            if (known->weak_at[k] != list[w].at[0]) continue;
            again[kept++] = list[w];
            break;
        }
    const bool same = kept == before;
    if (!same && !shown) return false;
    if (!same) {
        kept = some < before ? some : before;
        memcpy(again, list, (size_t)kept * sizeof *again);
    }
    known->weak = 0;
    know_weak(fac, again, kept);
    if (kept > 0) make_zero(fac, again, kept);
    return true;
}
