/* SPDX-License-Identifier: BSD-3-Clause */
/* Solves with a changed matrix through the factors of A and of S, refined against what it is; and the
 * certificate of both factors together. */
#include "bordered.h"
#include "../core/floats.h"
#include "../core/sizes.h"
#include "../problem/certificate.h"
#include "../problem/columns.h"
#include "../solve/judge.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const char STAGE[] = "bordered";

/* ---- S --------------------------------------------------------------------------------------- */

/* What is rounding in the scaled S of order k, as a share of its largest entry: S's entries are
 * sums of terms of size 1 or less. */
static double rounding(mpk_scalar scalar, int32_t k, double most) {
    const bool single = scalar == MPK_S || scalar == MPK_C;
    const double eps = single ? FLT_EPSILON : DBL_EPSILON;
    return most > 0 ? fmin(1, fmax(k, 16) * eps / most) : 1;
}

mpk_status mpki_bordered_factorize(mpk_bordered *w) {
    mpk_context *ctx = w->ctx;
    const int32_t k = mpki_changes(w);
    if (w->factored) return MPK_OK;
    mpk_dense_sizes sizes;
    w->dense.n = k;
    mpk_status status = mpk_dense_query(ctx, &w->dense, 1, &sizes);
    if (mpk_failed(status)) return status;
    mpk_dense_factor *f = &w->factor;
    f->f = mpki_alloc(ctx, STAGE, sizes.factor_bytes + 64, 1);
    f->pivots = MPKI_NEW(ctx, STAGE, sizes.pivots + 1, int32_t);
    f->extra = mpki_alloc(ctx, STAGE, sizes.extra_bytes + 64, 1);
    f->ldf = k > 1 ? k : 1;
    w->matrix = mpki_alloc(ctx, STAGE, (int64_t)k * k + 1, w->size);
    status = mpki_failed(ctx);
    if (!mpk_failed(status)) {
        const double most = MPKI_DISPATCH(w->scalar, bordered_gather)(w, w->matrix, w->scale);
        w->dense.zero_tolerance = rounding(w->scalar, k, most);
        status = mpk_dense_factorize(ctx, &w->dense, w->matrix, f->ldf, f, NULL, 0, NULL);
    }
    if (mpk_failed(status)) {
        mpki_bordered_stale(w);
        return status;
    }
    mpki_clear_error(ctx); /* zero pivots are told with the solves */
    w->factored = true;
    return MPK_OK;
}

/* ---- one solve ------------------------------------------------------------------------------- */

/* What the right-hand sides of a call share. */
typedef struct bench {
    mpk_bordered *w;
    mpki_application m;
    bool whole; /* with borders for removed rows */
    mpki_system system;
    double *scale, *moduli, *sums;  /* of all rows; work */
    void *b, *r, *x, *best, *y, *t; /* all rows; y: n; t: of S */
} bench;

static void bench_free(bench *z) {
    mpk_context *ctx = z->w->ctx;
    mpki_apply_free(&z->m);
    mpki_release(ctx, z->scale);
    mpki_release(ctx, z->moduli);
    mpki_release(ctx, z->sums);
    mpki_release(ctx, z->b);
    mpki_release(ctx, z->r);
    mpki_release(ctx, z->x);
    mpki_release(ctx, z->best);
    mpki_release(ctx, z->y);
    mpki_release(ctx, z->t);
}

static mpk_status bench_make(mpk_bordered *w, bool whole, bench *z) {
    mpk_context *ctx = w->ctx;
    const int64_t all = mpki_all_rows(w);
    *z = (bench){.w = w, .whole = whole};
    if (mpk_failed(mpki_bordered_factorize(w))) return mpki_failed(ctx);
    if (mpk_failed(mpki_changed_make(w, whole))) return mpki_failed(ctx);
    const int threads = mpki_context_threads(ctx, w->options.threads);
    if (mpk_failed(mpki_apply_make(ctx, w->fac, threads, 1, &z->m))) return mpki_failed(ctx);
    z->scale = MPKI_NEW(ctx, STAGE, all, double);
    z->moduli = MPKI_NEW(ctx, STAGE, all, double);
    z->sums = MPKI_NEW(ctx, STAGE, MPKI_RESIDUAL_WORK(w->scalar) * all, double);
    z->b = mpki_alloc(ctx, STAGE, all, w->size);
    z->r = mpki_alloc(ctx, STAGE, all, w->size);
    z->x = mpki_alloc(ctx, STAGE, all, w->size);
    z->best = mpki_alloc(ctx, STAGE, all, w->size);
    z->y = mpki_alloc(ctx, STAGE, w->n, w->size);
    z->t = mpki_alloc(ctx, STAGE, w->capacity, w->size);
    if (mpk_failed(mpki_failed(ctx))) {
        bench_free(z);
        return mpki_failed(ctx);
    }
    memcpy(z->scale, w->fac->scale, (size_t)w->n * sizeof *z->scale);
    for (int32_t p = 0; p < w->capacity; p++) z->scale[w->n + p] = 1;
    for (int32_t k = 0; k < mpki_changes(w); k++) z->scale[w->n + w->order[k]] = w->scale[k];
    const mpki_changed_matrix *m = whole ? &w->whole : &w->changed;
    z->system =
        (mpki_system){.ctx = ctx, .a = m->a, .row_norm = m->row_norm, .norm_inf = m->norm_inf};
    return MPK_OK;
}

/* v := the inverse of what both factors make, times v. */
static mpk_status apply(bench *z, void *v) {
    mpk_bordered *w = z->w;
    const int32_t k = mpki_changes(w);
    MPKI_DISPATCH(w->scalar, bordered_keep)(w, v, z->y);
    mpk_status status = mpki_apply(&z->m, MPK_PART_ALL, 1, z->y, w->n, z->y, w->n);
    if (mpk_failed(status)) return status;
    MPKI_DISPATCH(w->scalar, bordered_condense)(w, v, z->y, z->t);
    MPKI_DISPATCH(w->scalar, bordered_scale)(k, w->scale, z->t);
    if (k > 0 && mpki_first_nonfinite(w->scalar, k, z->t) < 0) {
        status = mpk_dense_solve(w->ctx, &w->dense, w->matrix, w->factor.ldf, &w->factor, 1, z->t,
                                 k, z->t, k, NULL, 0, NULL);
        if (mpk_failed(status)) return status;
        mpki_clear_error(w->ctx); /* how good it is shows in the whole */
    }
    MPKI_DISPATCH(w->scalar, bordered_scale)(k, w->scale, z->t);
    MPKI_DISPATCH(w->scalar, bordered_expand)(w, z->whole, z->t, z->y, v);
    return MPK_OK;
}

static mpki_quality measure(bench *z) {
    return MPKI_DISPATCH(z->w->scalar, measure)(&z->system, z->x, z->b, z->r, z->moduli, z->sums);
}

/* z->x := a solution for z->b, refined as factor/refine_t.c does. correction [out] the first step
 * beside x */
static mpk_status refine(bench *z, double accuracy, mpk_solve_info *info, mpki_quality *reached,
                         double *correction) {
    mpk_bordered *w = z->w;
    const int32_t all = (int32_t)mpki_all_rows(w);
    const size_t bytes = (size_t)all * w->size;
    int steps = 0;
    memcpy(z->x, z->b, bytes);
    mpk_status status = apply(z, z->x);
    if (mpk_failed(status)) return status;
    mpki_quality q = measure(z);
    const double unrefined = q.componentwise;
    *correction = 0;
    while (steps < w->options.refine && !(q.componentwise <= accuracy) &&
           isfinite(q.componentwise)) {
        const mpki_quality before = q;
        memcpy(z->best, z->x, bytes);
        status = apply(z, z->r);
        if (mpk_failed(status)) return status;
        if (steps++ == 0)
            *correction = ldexp(MPKI_DISPATCH(w->scalar, bordered_step)(all, z->scale, z->r, z->x),
                                -q.exponent);
        MPKI_DISPATCH(w->scalar, column_add)(all, -q.exponent, z->r, z->x);
        q = measure(z);
        if (!(q.componentwise < before.componentwise)) {
            memcpy(z->x, z->best, bytes);
            q = before;
        }
        if (!(q.componentwise <= 0.5 * before.componentwise)) break;
    }
    info->unrefined = fmax(info->unrefined, unrefined);
    info->componentwise = fmax(info->componentwise, q.componentwise);
    info->normwise = fmax(info->normwise, q.normwise);
    info->relative_residual = fmax(info->relative_residual, q.relative);
    info->correction = fmax(info->correction, *correction);
    if (steps > info->iterations) info->iterations = steps;
    *reached = q;
    return MPK_OK;
}

/* ---- the certificate ------------------------------------------------------------------------- */

/* One vector: c, as mpk_certify() has it, of the matrix with borders. */
static mpk_status contraction(bench *z, uint64_t *state, double *c) {
    const mpk_bordered *w = z->w;
    const int64_t all = mpki_all_rows(w);
    MPKI_DISPATCH(w->scalar, gaussian)(all, z->scale, state, z->x);
    MPKI_DISPATCH(w->scalar, bordered_clean)(w, true, z->x);
    mpki_residual(&z->system.a, z->x, z->b, z->r, z->moduli, z->sums);
    if (mpki_first_nonfinite(w->scalar, all, z->r) >= 0) return MPK_OK; /* c says so */
    const mpk_status status = apply(z, z->r);
    if (!mpk_failed(status)) *c = MPKI_DISPATCH(w->scalar, contraction)(all, z->scale, z->x, z->r);
    return status;
}

static bool has_inertia(const mpk_bordered *w) {
    return w->scalar <= MPK_D || w->hermitian;
}

/* In w->certificate, of a regular matrix also where it has no inertia. */
static mpk_status examine(mpk_bordered *w) {
    if (w->examined) return MPK_OK;
    bench z;
    mpk_status status = bench_make(w, true, &z);
    if (mpk_failed(status)) return status;
    mpk_certificate found = {0};
    const int64_t all = mpki_all_rows(w);
    bool open = w->factor.inertia.zero == 0 && w->fac->info.perturbed == 0;
    if (!open) found.miss_bound = 1;
    uint64_t state = mpki_certificate_seed(all, w->options.seed);
    state = mpki_certificate_hash(state, w->whole.ax, w->whole.a.nnz * (int64_t)w->size);
    memset(z.b, 0, (size_t)all * w->size);
    while (open && !mpk_failed(status)) {
        double c = INFINITY;
        status = contraction(&z, &state, &c);
        if (!mpk_failed(status)) open = mpki_certificate_next(&found, c);
    }
    bench_free(&z);
    if (mpk_failed(status)) return status;
    w->certificate = found;
    w->examined = true;
    return MPK_OK;
}

mpk_status mpk_bordered_certify(mpk_context *ctx, mpk_bordered *w, mpk_certificate *out) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (mpk_failed(mpki_bordered_check(ctx, w))) return mpki_failed(ctx);
    const mpk_status status = examine(w);
    if (mpk_failed(status) || !out) return status;
    *out = w->certificate;
    if (!has_inertia(w)) out->certified = 0, out->miss_bound = 1;
    return MPK_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* The columns lie in memory, and what is read of b is finite. */
static mpk_status check_sides(mpk_bordered *w, int32_t nrhs, const void *b, int64_t ldb,
                              const void *x, int64_t ldx) {
    const mpki_sides sides = {.n = mpki_all_rows(w),
                              .nrhs = nrhs,
                              .size = w->size,
                              .b = b,
                              .ldb = ldb,
                              .x = x,
                              .ldx = ldx,
                              .may_be_same = true,
                              .equal_steps = true};
    return mpki_check_sides(w->ctx, STAGE, &sides);
}

/* What a call has found so far. */
typedef struct outcome {
    bool unsure; /* a matrix that is nearly singular would look like that */
    bool solved;
} outcome;

static mpk_status solve_column(bench *z, const char *b, char *x, double accuracy, int32_t number,
                               mpk_solve_info *info, outcome *so_far) {
    mpk_bordered *w = z->w;
    const int64_t all = mpki_all_rows(w);
    const size_t bytes = (size_t)all * w->size;
    mpki_quality q;
    double correction;
    memcpy(z->b, b, bytes);
    MPKI_DISPATCH(w->scalar, bordered_clean)(w, false, z->b);
    const int64_t bad = mpki_first_nonfinite(w->scalar, all, z->b);
    if (bad >= 0)
        return mpki_error(w->ctx, MPK_ERR_INPUT, STAGE, bad,
                          "right-hand side %d: entry %lld is NaN or infinite", number,
                          (long long)bad);
    mpk_status status = refine(z, accuracy, info, &q, &correction);
    if (mpk_failed(status)) return status;
    if (!isfinite(q.componentwise))
        return mpki_error(w->ctx, MPK_ERR_NUMERIC, STAGE, number,
                          "the solution of right-hand side %d overflows", number);
    so_far->unsure |= correction > 0.1 || q.growth >= mpki_large_growth(w->scalar);
    so_far->solved &= mpki_solves(w->scalar, q.componentwise, q.rows);
    memcpy(x, z->x, bytes);
    return MPK_OK;
}

/* The status of a solve whose numbers are there. */
static mpk_status verdict(mpk_bordered *w, const mpk_solve_info *info, double accuracy,
                          bool unsure) {
    mpk_context *ctx = w->ctx;
    const int64_t zero = w->factor.inertia.zero;
    if (zero > 0)
        return mpki_error(ctx, MPK_SINGULAR, STAGE, zero,
                          "the changed matrix is singular to working accuracy: %lld zero pivots of "
                          "the Schur complement's %d",
                          (long long)zero, mpki_changes(w));
    if (info->componentwise > accuracy) {
        w->inaccurate = true;
        return mpki_error(ctx, MPK_INACCURATE, STAGE, -1,
                          "the componentwise backward error is %.1e after %d steps of refinement: "
                          "factorize the changed matrix",
                          info->componentwise, info->iterations);
    }
    if (!unsure) return MPK_OK;
    const mpk_status status = examine(w);
    if (mpk_failed(status) || w->certificate.certified) return status;
    w->inaccurate = true;
    return mpki_error(ctx, MPK_INACCURATE, STAGE, -1,
                      "the backward error is %.1e, but the changed matrix may be singular: no "
                      "certificate shows that it is not. Factorize it",
                      info->componentwise);
}

mpk_status mpk_bordered_solve(mpk_context *ctx, mpk_bordered *w, int32_t nrhs, const void *b,
                              int64_t ldb, void *x, int64_t ldx, mpk_solve_info *out) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    const double start_s = mpki_now_s();
    mpki_clear_error(ctx);
    if (mpk_failed(mpki_bordered_check(ctx, w))) return mpki_failed(ctx);
    if (mpk_failed(check_sides(w, nrhs, b, ldb, x, ldx))) return mpki_failed(ctx);
    bench z;
    mpk_status status = bench_make(w, false, &z);
    if (mpk_failed(status)) return status;
    const double accuracy = mpki_accuracy(&w->options, w->scalar);
    mpk_solve_info info = {0};
    outcome so_far = {.solved = true};
    for (int32_t r = 0; r < nrhs && !mpk_failed(status); r++)
        status = solve_column(&z, (const char *)b + r * ldb * (int64_t)w->size,
                              (char *)x + r * ldx * (int64_t)w->size, accuracy, r, &info, &so_far);
    bench_free(&z);
    if (mpk_failed(status)) return status;
    info.solved = so_far.solved;
    info.time_s = mpki_now_s() - start_s;
    status = verdict(w, &info, accuracy, so_far.unsure);
    if (!mpk_failed(status) && out) *out = info;
    return status;
}
