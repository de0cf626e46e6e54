/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_solve_minimum_norm(): the part of b that A's range has not is left out, then the part of x
 * that is of the kernel. */
#include "plan.h"
#include "../core/floats.h"
#include "../core/sizes.h"
#include "../factor/null_space.h"
#include "../problem/columns.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

/* What one call works with. */
typedef struct shortest {
    mpki_columns c;
    mpki_solve_work work;
    mpk_scalar scalar;
    int32_t n, dimension;
    const void *basis;
    int64_t ld;
    bool conjugate; /* A = A^T, complex: its range is orthogonal to conj(V) */
    void *own;      /* the basis, where the caller gave none */
    void *b, *d;    /* n each: b', and a correction */
    double accuracy;
    bool unsolved;
    int32_t lost; /* vectors of the kernel that the basis has not */
    mpk_minimum_norm_info info;
} shortest;

static bool single(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C;
}

/* v := v without what is along the kernel, twice for rounding's sake. range: without what A's
 * range has not */
static void leave(const shortest *s, bool range, void *v) {
    for (int pass = 0; pass < 2; pass++) MPKI_DISPATCH(s->scalar, null_leave)
    (s->n, s->dimension, s->basis, s->ld, range && s->conjugate, v);
}

static mpki_quality measure(shortest *s, const void *x) {
    mpki_solve_work *w = &s->work;
    return MPKI_DISPATCH(s->scalar, measure)(&w->system, x, s->b, w->r, w->w, w->sums);
}

static double norm(const shortest *s, const void *v) {
    return MPKI_DISPATCH(s->scalar, column_norm)(s->n, v);
}

/* x := the shortest solution of A x = s->b, refined. *steps [out] */
static mpk_status refine(shortest *s, void *x, mpki_quality *q, int *steps) {
    const size_t bytes = (size_t)s->n * mpk_scalar_size(s->scalar);
    mpki_solve_work *w = &s->work;
    const int32_t n = s->n;
    mpk_status status = mpki_apply(&w->m, MPK_PART_ALL, 1, s->b, n, x, n);
    *steps = 0;
    if (mpk_failed(status)) return status;
    leave(s, false, x);
    *q = measure(s, x);
    while (!(q->componentwise <= s->accuracy) && isfinite(q->componentwise) &&
           *steps < s->c.options->refine) {
        const mpki_quality before = *q;
        memcpy(w->x, x, bytes);
        leave(s, true, w->r);
        status = mpki_apply(&w->m, MPK_PART_ALL, 1, w->r, n, s->d, n);
        if (mpk_failed(status)) return status;
        MPKI_DISPATCH(s->scalar, column_add)(n, -q->exponent, s->d, x);
        leave(s, false, x);
        *q = measure(s, x);
        ++*steps;
        if (!(q->componentwise < before.componentwise)) { /* no better: keep the one before */
            memcpy(x, w->x, bytes);
            *q = measure(s, x);
            break;
        }
        if (!(q->componentwise <= 0.5 * before.componentwise)) break;
    }
    return MPK_OK;
}

/* One right-hand side. */
static mpk_status solve_one(shortest *s, const void *b, void *x) {
    static const double RANGE = 1e-12; /* of |v|^T w, what v^H b may have */
    static const double NOTHING = 0.1; /* of b, what no x that solves anything leaves */
    const double range = single(s->scalar) ? 0x1p29 * RANGE : RANGE;
    const size_t bytes = (size_t)s->n * mpk_scalar_size(s->scalar);
    mpki_solve_work *w = &s->work;
    mpk_minimum_norm_info *info = &s->info;
    mpki_quality q = MPKI_UNMEASURED;
    int steps;
    memcpy(w->b, b, bytes);
    memcpy(s->b, b, bytes);
    leave(s, true, s->b);
    const double all = norm(s, w->b);
    memcpy(s->d, s->b, bytes);
    const double outside = MPKI_DISPATCH(s->scalar, column_subtract)(s->n, w->b, s->d);
    mpk_status status = refine(s, x, &q, &steps);
    if (mpk_failed(status)) return status;
    if (!MPKI_DISPATCH(s->scalar, column_finite)(s->n, x))
        return mpki_error(s->c.ctx, MPK_ERR_NUMERIC, STAGE, -1, "a solution overflows");
    mpki_residual(&w->system.a, x, w->b, w->r, w->w, w->sums); /* w->w: |A| |x| + |b| */
    if (!MPKI_DISPATCH(s->scalar, null_orthogonal_to)(s->n, s->dimension, s->basis, s->ld,
                                                      s->conjugate, range, w->b, w->w))
        info->consistent = -1;
    mpki_residual(&w->system.a, x, s->b, w->r, w->w, w->sums);
    const double length = norm(s, x);
    const double along =
        MPKI_DISPATCH(s->scalar, null_along)(s->n, s->dimension, s->basis, s->ld, false, x);
    const double residual = all > 0 ? norm(s, w->r) / all : 0;
    if (steps > info->iterations) info->iterations = steps;
    info->outside = fmax(info->outside, all > 0 ? outside / all : 0);
    info->along = fmax(info->along, length > 0 ? along / length : 0);
    info->componentwise = fmax(info->componentwise, q.componentwise);
    info->residual = fmax(info->residual, residual);
    /* where b' is rounding of b its rows say nothing: then b is the measure */
    s->unsolved |= !(q.componentwise <= s->accuracy) && !(residual <= s->accuracy);
    s->unsolved |= !(residual <= NOTHING); /* x so large that b' is lost in its rounding */
    return MPK_OK;
}

/* A basis of our own. */
static mpk_status search(shortest *s) {
    mpk_null_info found;
    const mpk_status status =
        mpki_null_all(s->c.ctx, s->c.fac, s->c.options->threads, &s->own, &found, &s->lost);
    if (mpk_failed(status)) return status;
    mpki_clear_error(s->c.ctx); /* fewer vectors: the errors of x tell whether they do */
    s->basis = s->own, s->ld = s->n, s->dimension = found.dimension;
    return MPK_OK;
}

/* The caller's basis, checked, or one of our own. */
static mpk_status bring_basis(shortest *s) {
    mpk_context *ctx = s->c.ctx;
    const mpk_factor *fac = s->c.fac;
    const double most = single(s->scalar) ? 1e-4 : 1e-8;
    if (s->basis) {
        mpk_status status = mpki_null_check(&s->work, s->dimension, s->basis, s->ld, NULL);
        if (mpk_failed(status)) return status;
        const double off =
            MPKI_DISPATCH(s->scalar, null_orthogonality)(s->n, s->dimension, s->basis, s->ld);
        if (off <= most) return MPK_OK;
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, -1,
                          "the basis of the kernel is not orthonormal: an entry of V^H V differs "
                          "from that of I by %.1e",
                          off);
    }
    s->dimension = 0;
    if (fac->info.inertia.zero == 0) { /* does no pivot show a kernel, or is there none? */
        const mpk_status status = mpki_certify(ctx, fac, NULL);
        if (mpk_failed(status) || mpki_regular(fac)) return status;
    }
    return search(s);
}

static mpk_status solve_all(shortest *s) {
    mpk_context *ctx = s->c.ctx;
    const size_t size = mpk_scalar_size(s->scalar);
    mpk_status status = mpki_factor_bring(ctx, s->c.fac);
    if (!mpk_failed(status)) status = mpki_check_finite(&s->c);
    if (!mpk_failed(status))
        status = mpki_solve_work_make(ctx, s->c.fac, s->c.options->threads, 1, &s->work);
    if (mpk_failed(status)) return status;
    s->b = mpki_alloc(ctx, STAGE, s->n, size);
    s->d = mpki_alloc(ctx, STAGE, s->n, size);
    status = mpki_failed(ctx);
    if (!mpk_failed(status)) status = bring_basis(s);
    for (int32_t r = 0; r < s->c.nrhs && !mpk_failed(status); r++) {
        status = solve_one(s, s->c.b + (size_t)(r * s->c.ldb) * size,
                           s->c.x + (size_t)(r * s->c.ldx) * size);
        if (!mpk_failed(status) && mpki_progress(ctx, STAGE, (double)(r + 1) / s->c.nrhs))
            status = mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    mpki_release(ctx, s->b);
    mpki_release(ctx, s->d);
    mpki_release(ctx, s->own);
    mpki_solve_work_free(ctx, &s->work);
    return mpk_failed(mpki_failed(ctx)) ? mpki_failed(ctx) : status;
}

mpk_status mpk_solve_minimum_norm(mpk_context *ctx, const mpk_factor *fac, int32_t dimension,
                                  const void *basis, int64_t ld, int32_t nrhs, const void *b,
                                  int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                                  mpk_minimum_norm_info *info) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    const double start_s = mpki_now_s();
    mpki_clear_error(ctx);
    mpk_options full;
    mpk_status status = mpki_null_usable(ctx, STAGE, fac);
    if (mpk_failed(status)) return status;
    mpki_sides sides = {.n = fac->an->n,
                        .nrhs = nrhs,
                        .size = mpk_scalar_size(fac->an->scalar),
                        .b = b,
                        .ldb = ldb,
                        .x = x,
                        .ldx = ldx,
                        .may_be_same = true};
    status = mpki_check_sides(ctx, STAGE, &sides);
    if (!mpk_failed(status) && (dimension < 0 || (basis && ld < fac->an->n)))
        status = mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, dimension,
                            "a basis of %d columns that lie %lld entries apart", dimension,
                            (long long)ld);
    if (!mpk_failed(status) && !mpki_fits(dimension, ld > 0 ? ld : 0, sides.size))
        status = mpki_error(ctx, MPK_ERR_SIZE, STAGE, ld, "the basis does not fit any memory");
    if (!mpk_failed(status)) status = mpki_options_resolve(ctx, options, &full);
    if (mpk_failed(status)) return status;
    shortest s = {.c = {ctx, fac, &full, 0, nrhs, nrhs, b, x, ldb, ldx, false},
                  .scalar = fac->an->scalar,
                  .n = fac->an->n,
                  .dimension = basis ? dimension : 0,
                  .basis = basis,
                  .ld = ld,
                  .conjugate = fac->an->scalar >= MPK_C && fac->an->symmetry == MPK_SYMMETRIC,
                  .accuracy = mpki_accuracy(&full, fac->an->scalar),
                  .info = {.consistent = 1}};
    if (nrhs > 0 && s.n > 0) status = solve_all(&s);
    if (mpk_failed(status)) return status;
    s.info.dimension = s.dimension;
    s.info.time_s = mpki_now_s() - start_s;
    if (info) *info = s.info;
    if (!s.unsolved && s.lost > 0)
        return mpki_error(ctx, MPK_INACCURATE, STAGE, -1,
                          "%d vectors of the kernel have too little beside the other %d for an "
                          "orthonormal basis: x is perhaps not the shortest solution",
                          s.lost, s.dimension);
    if (!s.unsolved) return MPK_OK;
    return mpki_error(
        ctx, MPK_INACCURATE, STAGE, -1,
        "with the kernel of dimension %d left out: componentwise backward error %.1e, "
        "%.1e was asked for; residual %.1e of b",
        s.dimension, s.info.componentwise, s.accuracy, s.info.residual);
}
