/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_null_space(): a vector for each zero pivot, refined and measured; those of the caller; by
 * inverse iteration what no pivot shows; and whether that is all. */
#include "null_space.h"
#include "../core/floats.h"
#include "../core/sizes.h"
#include "../problem/certificate.h"
#include "../problem/columns.h"
#include "rank_kernel.h"

#include <string.h>

static const char STAGE[] = "null space";

enum {
    STEPS = 6,   /* of refinement, of one vector */
    INVERSE = 3, /* steps of inverse iteration for one of these */
    SPARE = 64   /* zero pivots that are looked at beyond the room that there is */
};
/* Given vectors, and what is mixed by making it orthogonal, have the rounding of others: the
 * bound, times this. */
static const double LOOSE = 100;

/* One search. Vectors are in the caller's basis; orthonormal ones of the same span, where that has
 * others, in `apart`. */
typedef struct search {
    const mpk_factor *fac;
    mpki_solve_work *work;
    mpk_scalar scalar;
    int32_t n, count, most;
    size_t size; /* of an entry */
    char *basis, *apart;
    int64_t ld, apart_ld;
    int32_t apart_count; /* of the vectors, those that are in `apart` */
    bool orthonormal;
    double *eta, bound;
    mpki_weak_pivot few[MPKI_WEAK_MOST]; /* pivots that may be rounding */
    int few_count;
    int32_t lost; /* vectors of the kernel of which too little is left beside the others */
    mpk_null_info info;
} search;

static char *column(const search *s, int32_t k) {
    return s->basis + (size_t)(k * s->ld) * s->size;
}

/* The eta of v, in all rows alike if that is within the bound, else as told in null_space.h.
 * work->r := -A v */
static double measured(mpki_solve_work *work, double bound, void *v) {
    const mpk_factor *fac = work->m.fac;
    const mpki_flatness f =
        MPKI_DISPATCH(fac->an->scalar, flatness)(fac->scale, INFINITY, MPKI_FLATNESS_MOST, work, v);
    return f.eta <= bound ? f.eta : f.rough;
}

static double flatness(search *s, double bound, void *v, double *rough) {
    const mpki_flatness f =
        MPKI_DISPATCH(s->scalar, flatness)(s->fac->scale, bound, MPKI_FLATNESS_MOST, s->work, v);
    if (rough) *rough = f.rough;
    return f.eta;
}

/* v := v 2^k, with a largest entry near 1. */
static void to_one(const search *s, void *v) {
    int exponent;
    frexp(MPKI_DISPATCH(s->scalar, column_largest)(s->n, v), &exponent);
    MPKI_DISPATCH(s->scalar, column_shift)(s->n, -exponent, v);
}

/* v := v - M^+ A v; work->r holds -A v. The first `few` weak pivots take no part. */
static mpk_status improve(search *s, int few, void *v) {
    mpki_application *m = &s->work->m;
    const int32_t n = s->n;
    void *r = s->work->r;
    mpk_status status;
    if (few == 0) {
        status = mpki_apply(m, MPK_PART_ALL, 1, r, n, r, n);
    } else {
        status = mpki_apply(m, MPK_PART_L, 1, r, n, r, n);
        MPKI_DISPATCH(s->scalar, null_project)(s->few, few, r);
        if (!mpk_failed(status)) status = mpki_apply(m, MPK_PART_D, 1, r, n, r, n);
        MPKI_DISPATCH(s->scalar, null_project)(s->few, few, r);
        if (!mpk_failed(status)) status = mpki_apply(m, MPK_PART_LT, 1, r, n, r, n);
    }
    if (!mpk_failed(status)) MPKI_DISPATCH(s->scalar, column_add)(n, 0, r, v);
    return status;
}

/* Refine v until it is flat in every row, or for as long as that helps; then rows that it hardly
 * touches, with nothing but noise, are measured against all of it. *eta [out] */
static mpk_status settle(search *s, int few, double bound, void *v, double *eta) {
    double rough;
    mpk_status status = MPK_OK;
    *eta = flatness(s, bound, v, &rough);
    for (int step = 0; step < STEPS && !(*eta <= bound) && isfinite(rough); step++) {
        const double before = rough;
        status = improve(s, few, v);
        if (mpk_failed(status)) return status;
        *eta = flatness(s, bound, v, &rough);
        if (!(rough <= before / 2) && (step > 0 || rough <= bound)) break;
    }
    if (!(*eta <= bound)) *eta = rough;
    return status;
}

/* v := the vector that the factor takes to this pivot alone, refined. */
static mpk_status of_pivot(search *s, const mpki_weak_pivot *pivot, void *v, double *eta) {
    mpk_status status = MPK_OK;
    *eta = INFINITY;
    for (int few = 0; !(*eta <= s->bound); few = s->few_count) {
        MPKI_DISPATCH(s->scalar, null_of_weak)(pivot, s->n, v);
        status = mpki_apply(&s->work->m, MPK_PART_LT, 1, v, s->n, v, s->n);
        if (mpk_failed(status)) return status;
        to_one(s, v);
        status = settle(s, few, s->bound, v, eta);
        if (mpk_failed(status) || few == s->few_count) return status;
    }
    return status;
}

/* Column k takes no part: those behind it move up. */
static void drop(search *s, int32_t k) {
    const size_t bytes = (size_t)s->n * s->size;
    for (int32_t j = k + 1; j < s->count; j++) {
        memcpy(column(s, j - 1), column(s, j), bytes);
        if (s->eta) s->eta[j - 1] = s->eta[j];
    }
    s->count--;
}

/* Vectors to which others have to be orthogonal: the basis, or what stands for it. Of the caller's
 * each has to be one of its own; of those that were found what depends on others goes. */
static mpk_status bring_apart(search *s) {
    if (s->orthonormal) return MPK_OK;
    if (!s->apart) {
        s->apart = mpki_alloc(s->work->m.ctx, STAGE, (int64_t)s->n * s->most, s->size);
        if (!s->apart) return mpki_failed(s->work->m.ctx);
        s->apart_ld = s->n;
    }
    while (s->apart_count < s->count) {
        const int32_t k = s->apart_count;
        char *v = s->apart + (size_t)(k * s->apart_ld) * s->size;
        memcpy(v, column(s, k), (size_t)s->n * s->size);
        if (MPKI_DISPATCH(s->scalar, null_join)(s->n, k, s->apart, s->apart_ld, false, v))
            s->apart_count++;
        else if (k >= s->info.given)
            drop(s, k);
        else
            return mpki_error(s->work->m.ctx, MPK_ERR_INPUT, STAGE, k,
                              "vector %d depends on those before it", k + 1);
    }
    return MPK_OK;
}

/* deep: v is known to be independent of the others, whatever is left of it */
static bool join(const search *s, bool deep, void *v) {
    const char *to = s->orthonormal ? s->basis : s->apart;
    return MPKI_DISPATCH(s->scalar, null_join)(s->n, s->count, to,
                                               s->orthonormal ? s->ld : s->apart_ld, deep, v);
}

/* Keep the vector in column s->count, of this eta, if it stands the check as it will be
 * returned. deep: as in join() */
static mpk_status keep(search *s, double eta, bool deep, bool *kept) {
    char *v = column(s, s->count);
    mpk_status status = MPK_OK;
    *kept = eta <= s->bound;
    if (*kept && s->orthonormal) {
        *kept = join(s, deep, v);
        eta = measured(s->work, s->bound, v);
        if (*kept && !(eta <= s->bound)) {
            status = improve(s, 0, v);
            *kept = join(s, deep, v);
            eta = measured(s->work, s->bound, v);
        }
        *kept &= eta <= LOOSE * s->bound;
        s->lost += deep && !*kept;
    }
    if (!*kept) return status;
    if (s->eta) s->eta[s->count] = eta;
    s->info.eta = fmax(s->info.eta, eta);
    s->count++;
    return status;
}

/* Is anything left of v beside the vectors that there are? Asked where these are not of zero
 * pivots alone, so that v may be one of them. v stays. */
static mpk_status is_new(search *s, const void *v, bool *is) {
    *is = true;
    mpk_status status = bring_apart(s);
    if (mpk_failed(status)) return status;
    void *copy = s->work->b;
    memcpy(copy, v, (size_t)s->n * s->size);
    *is = join(s, false, copy);
    return MPK_OK;
}

/* ---- the caller's ---------------------------------------------------------------------------- */

mpk_status mpki_null_check(mpki_solve_work *work, int32_t count, const void *basis, int64_t ld,
                           double *eta) {
    const mpk_factor *fac = work->m.fac;
    const mpk_scalar scalar = fac->an->scalar;
    const size_t size = mpk_scalar_size(scalar), bytes = (size_t)fac->an->n * size;
    const double bound = LOOSE * mpki_kernel_bound(fac);
    for (int32_t k = 0; k < count; k++) {
        memcpy(work->b, (const char *)basis + (size_t)(k * ld) * size, bytes);
        const bool some = MPKI_DISPATCH(scalar, column_largest)(fac->an->n, work->b) > 0;
        const double e = some ? measured(work, bound, work->b) : INFINITY;
        if (!(e <= bound))
            return mpki_error(
                work->m.ctx, MPK_ERR_INPUT, STAGE, k,
                "vector %d is none of the kernel: (A + E) v = 0 takes |E| = %.1e |A|, "
                "and %.1e is allowed",
                k + 1, e, bound);
        if (eta) eta[k] = e;
    }
    return MPK_OK;
}

static mpk_status take_given(search *s, int32_t given) {
    mpk_context *ctx = s->work->m.ctx;
    double *eta = given > 0 ? MPKI_NEW(ctx, STAGE, given, double) : NULL;
    if (given == 0) return MPK_OK;
    if (!eta) return mpki_failed(ctx);
    mpk_status status = mpki_null_check(s->work, given, s->basis, s->ld, eta);
    /* whether they depend on each other is asked of copies, as a call that refuses changes none */
    const bool orthonormal = s->orthonormal;
    s->orthonormal = false;
    s->count = s->info.given = given;
    if (!mpk_failed(status)) status = bring_apart(s);
    s->orthonormal = orthonormal;
    for (int32_t k = 0; k < given && !mpk_failed(status); k++) {
        const double bound = LOOSE * s->bound;
        char *const from = s->apart + (size_t)(k * s->apart_ld) * s->size;
        double e = measured(s->work, bound, from);
        if (!(e <= bound)) { /* of a vector near those before it the rounding, or more than that */
            status = improve(s, 0, from);
            if (MPKI_DISPATCH(s->scalar, null_join)(s->n, k, s->apart, s->apart_ld, false, from))
                e = measured(s->work, bound, from);
        }
        if (!mpk_failed(status) && !(e <= bound))
            status = mpki_error(ctx, MPK_ERR_INPUT, STAGE, k,
                                "vector %d depends on those before it: what is left of it beside "
                                "them is none of the kernel, |E| = %.1e |A|, and %.1e is allowed",
                                k + 1, e, bound);
        if (orthonormal) eta[k] = e;
        if (s->eta) s->eta[k] = eta[k];
        s->info.eta = fmax(s->info.eta, eta[k]);
    }
    for (int32_t k = 0; k < given && orthonormal && !mpk_failed(status); k++)
        memcpy(column(s, k), s->apart + (size_t)(k * s->apart_ld) * s->size,
               (size_t)s->n * s->size);
    mpki_release(ctx, eta);
    return status;
}

/* ---- the search ------------------------------------------------------------------------------ */

static mpk_status from_pivots(search *s) {
    mpk_context *ctx = s->work->m.ctx;
    const mpki_direct_engine *e = s->fac->engine->direct;
    const int64_t zeros = s->info.zero_pivots, looked = (int64_t)s->most + SPARE;
    const int asked = (int)(zeros < looked ? zeros : looked);
    mpki_weak_pivot *list = MPKI_NEW(ctx, STAGE, asked + 1, mpki_weak_pivot);
    if (!list) return mpki_failed(ctx);
    const int there = e->zeros(s->fac->direct, zeros, asked, list);
    if (mpki_pivots_doubtful(s->fac))
        s->few_count = e->weak(s->fac->direct, mpki_pivot_noise(s->fac), MPKI_WEAK_MOST, s->few);
    mpk_status status = MPK_OK;
    for (int k = 0; k < there && s->count < s->most && s->count < zeros; k++) {
        double eta;
        bool kept = true;
        if (mpki_progress(ctx, STAGE, (double)k / there)) {
            status = mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
            break;
        }
        status = of_pivot(s, &list[k], column(s, s->count), &eta);
        if (!mpk_failed(status) && eta <= s->bound && s->info.given > 0) {
            status = is_new(s, column(s, s->count), &kept);
            if (!kept) continue;
        }
        /* with ones in rows of their own they are independent */
        if (!mpk_failed(status)) status = keep(s, eta, s->info.given == 0, &kept);
        if (mpk_failed(status)) break;
    }
    mpki_release(ctx, list);
    return status;
}

/* Keep v, a candidate that may depend on what there is. */
static mpk_status keep_new(search *s, const void *v) {
    double rough;
    bool kept = true;
    char *to = column(s, s->count);
    memcpy(to, v, (size_t)s->n * s->size);
    double eta = flatness(s, s->bound, to, &rough);
    if (!(eta <= s->bound)) eta = rough;
    if (!(eta <= s->bound)) return MPK_OK;
    mpk_status status = is_new(s, to, &kept);
    if (!mpk_failed(status) && kept) status = keep(s, eta, false, &kept);
    return status;
}

static bool lacks(const search *s) {
    return s->count < s->most && s->count < s->info.zero_pivots;
}

/* What the verdict on the rank has found. */
static mpk_status from_verdict(search *s) {
    const mpki_rank_memory *known = &s->fac->known;
    mpk_status status = MPK_OK;
    for (int k = 0; k < known->count && lacks(s) && !mpk_failed(status); k++)
        status = keep_new(s, (const char *)known->vector + (size_t)k * (size_t)s->n * s->size);
    return status;
}

/* Rounding of A's own entries keeps a vector from being flat where all of it ends in a few rows:
 * of few pivots it is spread over all (rank.h, null_share). */
static mpk_status from_shares(search *s) {
    mpk_context *ctx = s->work->m.ctx;
    const mpki_direct_engine *e = s->fac->engine->direct;
    const int64_t zeros = s->info.zero_pivots;
    const size_t bytes = (size_t)s->n * s->size;
    mpki_weak_pivot list[MPKI_WEAK_MOST];
    const int few = s->few_count;
    if (zeros + few > MPKI_WEAK_MOST) return MPK_OK;
    const int all = few + e->zeros(s->fac->direct, zeros, MPKI_WEAK_MOST - few, list);
    memcpy(list + all - few, s->few, (size_t)few * sizeof *list);
    memcpy(s->few, list, (size_t)all * sizeof *list); /* what takes no part in improve() */
    char *const u = mpki_alloc(ctx, STAGE, (int64_t)s->n * (all + 1), s->size);
    char *const v = u + (size_t)all * bytes;
    mpk_status status = mpki_failed(ctx);
    for (int k = 0; k < all && !mpk_failed(status); k++) {
        double eta;
        char *const to = u + (size_t)k * bytes;
        MPKI_DISPATCH(s->scalar, null_of_weak)(&list[k], s->n, to);
        status = mpki_apply(&s->work->m, MPK_PART_LT, 1, to, s->n, to, s->n);
        to_one(s, to);
        if (!mpk_failed(status)) status = settle(s, all, s->bound, to, &eta);
    }
    for (int k = 0; k < all - few && lacks(s) && !mpk_failed(status); k++) {
        double rough;
        memcpy(v, u + (size_t)k * bytes, bytes);
        (void)flatness(s, s->bound, v, &rough);
        if (isfinite(rough) &&
            MPKI_DISPATCH(s->scalar, null_share)(s->n, all, u, s->work->w, s->work->r))
            status = improve(s, all, v);
        if (!mpk_failed(status)) status = keep_new(s, v);
    }
    mpki_release(ctx, u);
    return status;
}

/* Has M, where its pivots are not zero, all of A's rank? A vector of the kernel that depends on
 * none with parts at zero pivots alone has an image under L^T that is 0 there; T = I - M^+ A, seen
 * from these images, leaves it as it is, so ||T|| >= 1, and a Gaussian vector shows that
 * (problem/certificate.h). */
static mpk_status certify(search *s) {
    const mpk_factor *fac = s->fac;
    const mpk_analysis *an = fac->an;
    mpki_solve_work *w = s->work;
    mpki_application *m = &w->m;
    const int32_t n = s->n;
    mpk_certificate found = {.miss_bound = 1};
    mpk_status status = MPK_OK;
    uint64_t state = mpki_certificate_seed(n, fac->options.seed);
    state = mpki_certificate_hash(state, fac->ax, an->nnz * (int64_t)s->size);
    char *const images = mpki_alloc(m->ctx, STAGE, 2 * (int64_t)n, s->size);
    char *const mask = images + (size_t)n * s->size;
    if (!images) return mpki_failed(m->ctx);
    fac->engine->direct->at_zeros(fac->direct, mask);
    for (bool open = true; open && !mpk_failed(status);) {
        MPKI_DISPATCH(s->scalar, gaussian)(n, NULL, &state, images);
        MPKI_DISPATCH(s->scalar, null_mask)(n, mask, images);
        status = mpki_apply(m, MPK_PART_LT, 1, images, n, w->x, n);
        if (mpk_failed(status)) break;
        memset(w->b, 0, (size_t)n * s->size);
        mpki_residual(&w->system.a, w->x, w->b, w->r, w->w, w->sums);
        status = mpki_apply(m, MPK_PART_L, 1, w->r, n, w->r, n);
        if (!mpk_failed(status)) status = mpki_apply(m, MPK_PART_D, 1, w->r, n, w->r, n);
        const double c = MPKI_DISPATCH(s->scalar, contraction)(n, NULL, images, w->r);
        const bool nothing = s->info.zero_pivots == n; /* then there is no such vector */
        if (!mpk_failed(status)) open = mpki_certificate_next(&found, nothing ? 0 : c);
    }
    mpki_release(m->ctx, images);
    s->info.certified = found.certified && s->count == s->info.zero_pivots;
    s->info.miss_bound = s->info.certified ? found.miss_bound : 1;
    return status;
}

/* Inverse iteration from noise, away from what was found: vectors of which no pivot is zero. */
static mpk_status from_noise(search *s) {
    mpk_context *ctx = s->work->m.ctx;
    const int32_t n = s->n;
    uint64_t state = mpki_certificate_seed(n, 1);
    mpk_status status = MPK_OK;
    bool kept = true;
    while (kept && s->count < s->most) {
        char *v = column(s, s->count);
        double eta = INFINITY;
        kept = false;
        MPKI_DISPATCH(s->scalar, gaussian)(n, s->fac->scale, &state, v);
        status = bring_apart(s);
        for (int step = 0; step < INVERSE && !kept && !mpk_failed(status); step++) {
            status = mpki_apply(&s->work->m, MPK_PART_ALL, 1, v, n, v, n);
            if (mpk_failed(status)) break;
            to_one(s, v);
            if (!MPKI_DISPATCH(s->scalar, column_finite)(n, v)) break;
            if (s->count > 0 && !join(s, false, v)) break;
            to_one(s, v);
            status = settle(s, 0, s->bound, v, &eta);
            bool fresh = true; /* refined it may be one of the others again */
            if (!mpk_failed(status) && eta <= s->bound) status = is_new(s, v, &fresh);
            if (!mpk_failed(status) && fresh) status = keep(s, eta, false, &kept);
        }
        if (mpk_failed(status)) break;
        s->info.beyond += kept;
    }
    return mpk_failed(mpki_failed(ctx)) ? mpki_failed(ctx) : status;
}

mpk_status mpki_null_usable(mpk_context *ctx, const char *stage, const mpk_factor *fac) {
    if (!fac) return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, -1, "the factor is NULL");
    if (mpk_failed(mpki_factor_usable(ctx, stage, fac))) return mpki_failed(ctx);
    if (!fac->valid)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, -1, "the factor holds no factorization");
    if (mpk_failed(mpki_factor_whole(ctx, stage, fac))) return mpki_failed(ctx);
    if (mpk_failed(mpki_factor_wide(ctx, stage, fac))) return mpki_failed(ctx);
    if (!fac->direct && fac->an->n > 0)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, stage, -1,
                          "method %s has no pivots that could show a kernel: factorize with ldlt",
                          mpk_method_name(fac->options.method));
    if (mpk_failed(mpki_factor_symmetric(ctx, stage, fac, "bases of a kernel")))
        return mpki_failed(ctx);
    return MPK_OK;
}

static mpk_status look(search *s, int32_t given) {
    mpk_status status = take_given(s, given);
    if (!mpk_failed(status) && lacks(s)) status = from_pivots(s);
    if (!mpk_failed(status) && lacks(s)) status = from_verdict(s);
    if (!mpk_failed(status) && lacks(s)) status = from_shares(s);
    if (!mpk_failed(status)) status = certify(s);
    if (!mpk_failed(status) && !s->info.certified && s->count >= s->info.zero_pivots)
        status = from_noise(s);
    return status;
}

mpk_status mpki_null_space(mpk_context *ctx, const mpk_factor *fac, int threads, int32_t given,
                           int32_t most, bool orthonormal, void *basis, int64_t ld, double *eta,
                           mpk_null_info *info, int32_t *lost) {
    const mpk_analysis *an = fac->an;
    const double start_s = mpki_now_s();
    mpki_solve_work work = {0};
    search s = {.fac = fac,
                .work = &work,
                .scalar = an->scalar,
                .n = an->n,
                .most = most < an->n ? most : an->n,
                .size = mpk_scalar_size(an->scalar),
                .basis = basis,
                .ld = ld,
                .orthonormal = orthonormal,
                .eta = eta,
                .info = {.zero_pivots = fac->info.inertia.zero, .miss_bound = 1}};
    mpk_status status = mpki_factor_bring(ctx, fac);
    if (!mpk_failed(status) && an->n > 0 && most > 0) {
        s.bound = mpki_kernel_bound(fac);
        status = mpki_solve_work_make(ctx, fac, threads, 1, &work);
        if (mpk_failed(status)) return status;
        status = look(&s, given);
        if (!mpk_failed(status) && orthonormal)
            s.info.orthogonality =
                MPKI_DISPATCH(s.scalar, null_orthogonality)(s.n, s.count, basis, ld);
        mpki_release(ctx, s.apart);
        mpki_solve_work_free(ctx, &work);
    }
    if (mpk_failed(status)) return status;
    const int64_t zeros = s.info.zero_pivots, wanted = zeros < s.most ? zeros : s.most;
    s.info.dimension = s.count;
    if (s.count < wanted) s.info.refused = (int32_t)(wanted - s.count);
    s.info.time_s = mpki_now_s() - start_s;
    if (info) *info = s.info;
    if (lost) *lost = s.lost < s.info.refused ? s.lost : s.info.refused;
    if (most == 0 || s.info.refused == 0) return MPK_OK;
    if (s.lost > 0)
        return mpki_error(ctx, MPK_INACCURATE, STAGE, s.info.refused,
                          "%d vectors of the kernel, and %lld zero pivots: of others too little is "
                          "left once they are orthogonal to these; not orthonormal there are more",
                          s.count, (long long)zeros);
    return mpki_error(ctx, MPK_INACCURATE, STAGE, s.info.refused,
                      "%d vectors of the kernel, and %lld zero pivots: A does not take the vectors "
                      "of the others to zero",
                      s.count, (long long)zeros);
}

mpk_status mpki_null_all(mpk_context *ctx, const mpk_factor *fac, int threads, void **basis,
                         mpk_null_info *info, int32_t *lost) {
    enum { BEYOND = 8 /* vectors that no zero pivot shows, for which there is room at first */ };
    const int64_t n = fac->an->n, zeros = fac->info.inertia.zero;
    int64_t room = zeros + zeros / 16;
    *basis = NULL;
    *info = (mpk_null_info){0};
    for (;;) {
        room = room + BEYOND < n ? room + BEYOND : n;
        *basis = mpki_alloc(ctx, STAGE, n * room, mpk_scalar_size(fac->an->scalar));
        if (!*basis) return mpki_failed(ctx);
        const mpk_status status =
            mpki_null_space(ctx, fac, threads, 0, (int32_t)room, true, *basis, n, NULL, info, lost);
        if (mpk_failed(status) || info->beyond == 0 || info->dimension < room || room == n)
            return status;
        mpki_clear_error(ctx); /* what too little room had to say */
        mpki_release(ctx, *basis);
        *basis = NULL;
        room += BEYOND * (int64_t)(info->beyond - 1);
    }
}

mpk_status mpk_null_space(mpk_context *ctx, const mpk_factor *fac, int32_t given, int32_t most,
                          int orthonormal, void *basis, int64_t ld, double *eta,
                          mpk_null_info *info) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = mpki_null_usable(ctx, STAGE, fac);
    if (mpk_failed(status)) return status;
    if (given < 0 || most < given)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, given,
                          "given = %d vectors in %d columns: 0 <= given <= most is wanted", given,
                          most);
    if (given > fac->an->n)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, fac->an->n,
                          "vector %d depends on those before it", fac->an->n + 1);
    const mpki_sides sides = {.n = fac->an->n,
                              .nrhs = most,
                              .size = mpk_scalar_size(fac->an->scalar),
                              .b = basis,
                              .ldb = ld,
                              .x = basis,
                              .ldx = ld,
                              .may_be_same = true};
    if (most > 0) status = mpki_check_sides(ctx, STAGE, &sides);
    if (mpk_failed(status)) return status;
    return mpki_null_space(ctx, fac, fac->options.threads, given, most, orthonormal != 0, basis, ld,
                           eta, info, NULL);
}
