/* SPDX-License-Identifier: BSD-3-Clause */
/* A x = b by way of a Schur complement: S is factored as a dense matrix, and what comes of it is
 * refined with the whole A. */
#include "../core/floats.h"
#include "../core/sizes.h"
#include "../factor/factor.h"
#include "../factor/schur.h"
#include "../problem/columns.h"

#include <metapack/dense.h>
#include <metapack/schur.h>
#include <string.h>

static const char STAGE[] = "schur";

/* A solve at work, one right-hand side at a time but for the first, unrefined solutions. */
typedef struct work {
    mpk_context *ctx;
    const mpk_factor *fac;
    mpk_dense dense;
    mpk_dense_factor f; /* of S, in place */
    void *s, *c;        /* D S D; nrhs right-hand sides of it */
    double *scale;      /* D */
    mpki_system whole;  /* A: */
    void *ax;
    double *row_norm;
    void *r, *best; /* n, of the refinement */
    double *w, *sums;
    bool singular; /* S is */
} work;

static void work_free(work *z) {
    void *const all[] = {z->s, z->c,    z->f.pivots, z->f.extra, z->ax,   z->row_norm,
                         z->r, z->best, z->w,        z->sums,    z->scale};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) mpki_release(z->ctx, all[k]);
}

static mpk_status factor_s(work *z, int threads) {
    const mpk_analysis *an = z->fac->an;
    const int32_t m = an->split->outer;
    mpk_dense_sizes sizes;
    mpk_dense_init(&z->dense);
    z->dense.scalar = an->scalar;
    z->dense.symmetry = an->symmetry;
    z->dense.n = m;
    z->dense.method = MPK_DENSE_TILE;
    z->dense.threads = threads;
    if (m == 0) return MPK_OK;
    mpk_status status = mpk_dense_query(z->ctx, &z->dense, 1, &sizes);
    if (mpk_failed(status)) return status;
    z->s = mpki_alloc(z->ctx, STAGE, (int64_t)m * m, mpk_scalar_size(an->scalar));
    z->f = (mpk_dense_factor){.struct_size = sizeof z->f, .f = z->s, .ldf = m};
    z->scale = MPKI_NEW(z->ctx, STAGE, 2 * (int64_t)m, double);
    z->f.pivots = MPKI_NEW(z->ctx, STAGE, sizes.pivots, int32_t);
    z->f.extra = mpki_alloc(z->ctx, STAGE, sizes.extra_bytes + 64, 1);
    if (mpk_failed(mpki_failed(z->ctx))) return mpki_failed(z->ctx);
    status = mpk_schur_get(z->ctx, z->fac, z->s, m);
    if (mpk_failed(status)) return status;
    MPKI_DISPATCH(an->scalar, schur_scale)(m, z->s, z->scale, z->scale + m);
    status = mpk_dense_factorize(z->ctx, &z->dense, z->s, m, &z->f, NULL, 0, NULL);
    z->singular = status == MPK_SINGULAR;
    return status;
}

/* A's lower triangle as it was before it was split. */
static mpk_status bring_whole(work *z) {
    const mpk_analysis *an = z->fac->an;
    const mpki_layout *layout = an->split->layout;
    const int64_t n = layout->n, sums = MPKI_RESIDUAL_WORK(an->scalar) * n;
    const size_t size = mpk_scalar_size(an->scalar);
    z->ax = mpki_alloc(z->ctx, STAGE, layout->nnz, size);
    z->row_norm = MPKI_NEW(z->ctx, STAGE, n, double);
    z->r = mpki_alloc(z->ctx, STAGE, n, size);
    z->best = mpki_alloc(z->ctx, STAGE, n, size);
    z->w = MPKI_NEW(z->ctx, STAGE, n, double);
    z->sums = MPKI_NEW(z->ctx, STAGE, sums, double);
    if (mpk_failed(mpki_failed(z->ctx))) return mpki_failed(z->ctx);
    mpki_split_whole(an->split, an->scalar, z->fac->ax, z->ax);
    z->whole = (mpki_system){
        .ctx = z->ctx,
        .a = {layout->n, layout->nnz, an->scalar, an->symmetry, layout->ap, layout->ai, z->ax},
        .row_norm = z->row_norm};
    z->whole.norm_inf = mpki_row_sums(&z->whole.a, z->row_norm);
    return MPK_OK;
}

/* x := A^-1 b by the parts, unrefined; x may be b. */
static mpk_status by_parts(work *z, int32_t nrhs, const void *b, int64_t ldb, void *x,
                           int64_t ldx) {
    const int32_t m = z->fac->an->split->outer;
    const mpk_scalar scalar = z->fac->an->scalar;
    mpk_status status = mpk_schur_condense(z->ctx, z->fac, nrhs, b, ldb, z->c, m);
    if (mpk_failed(status)) return status;
    if (m > 0) MPKI_DISPATCH(scalar, schur_rows_scale)(m, z->scale, nrhs, z->c, m);
    if (m > 0)
        status = mpk_dense_solve(z->ctx, &z->dense, NULL, 0, &z->f, nrhs, z->c, m, z->c, m, NULL, 0,
                                 NULL);
    if (m > 0) MPKI_DISPATCH(scalar, schur_rows_scale)(m, z->scale, nrhs, z->c, m);
    if (!mpk_failed(status))
        status = mpk_schur_expand(z->ctx, z->fac, nrhs, b, ldb, z->c, m, x, ldx);
    return status;
}

/* One column, whose unrefined solution is there. */
static mpk_status refine(work *z, int steps, double accuracy, const void *b, void *x,
                         mpk_solve_info *info) {
    const int32_t n = z->whole.a.n;
    const mpk_scalar scalar = z->whole.a.scalar;
    const size_t bytes = (size_t)n * mpk_scalar_size(scalar);
    mpki_quality q = MPKI_DISPATCH(scalar, measure)(&z->whole, x, b, z->r, z->w, z->sums);
    info->unrefined = fmax(info->unrefined, q.componentwise);
    int step = 0;
    while (!(q.componentwise <= accuracy) && isfinite(q.componentwise) && step < steps) {
        const mpki_quality kept = q;
        memcpy(z->best, x, bytes);
        const mpk_status status = by_parts(z, 1, z->r, n, z->r, n);
        if (mpk_failed(status)) return status;
        MPKI_DISPATCH(scalar, column_add)(n, -q.exponent, z->r, x);
        q = MPKI_DISPATCH(scalar, measure)(&z->whole, x, b, z->r, z->w, z->sums);
        step++;
        if (!(q.componentwise < kept.componentwise)) { /* no better: keep the one before */
            memcpy(x, z->best, bytes);
            q = kept;
            break;
        }
        if (!(q.componentwise <= 0.5 * kept.componentwise)) break;
    }
    if (step > info->iterations) info->iterations = step;
    info->componentwise = fmax(info->componentwise, q.componentwise);
    info->normwise = fmax(info->normwise, q.normwise);
    info->relative_residual = fmax(info->relative_residual, q.relative);
    info->solved = info->solved && mpki_solves(scalar, q.componentwise, q.rows);
    return mpki_failed(z->ctx);
}

static mpk_status outcome(const work *z, double accuracy, const mpk_solve_info *info) {
    if (z->singular)
        return mpki_error(z->ctx, MPK_SINGULAR, STAGE, z->f.inertia.zero,
                          "the Schur complement is singular: %lld zero pivots of %d",
                          (long long)z->f.inertia.zero, z->fac->an->split->outer);
    if (z->fac->info.inertia.zero > 0)
        return mpki_error(z->ctx, MPK_SINGULAR, STAGE, z->fac->info.inertia.zero,
                          "the interior is singular: %lld zero pivots of %d",
                          (long long)z->fac->info.inertia.zero, z->fac->an->n);
    if (info->componentwise <= accuracy) return MPK_OK;
    return mpki_error(z->ctx, MPK_INACCURATE, STAGE, -1,
                      "componentwise backward error %.2g, above accuracy = %.2g",
                      info->componentwise, accuracy);
}

mpk_status mpk_schur_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                           int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                           mpk_solve_info *out) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    const double start_s = mpki_now_s();
    if (mpk_schur_order(fac) < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          fac ? "the factor has no Schur complement" : "the factor is NULL");
    if (mpk_failed(mpki_factor_usable(ctx, STAGE, fac))) return mpki_failed(ctx);
    const mpk_analysis *an = fac->an;
    const int32_t n = an->split->n, m = an->split->outer;
    const size_t size = mpk_scalar_size(an->scalar);
    const mpki_sides sides = {n, nrhs, size, b, ldb, x, ldx, true, true};
    mpk_options full;
    mpk_status status = mpki_check_sides(ctx, STAGE, &sides);
    if (!mpk_failed(status)) status = mpki_options_resolve(ctx, options, &full);
    if (mpk_failed(status)) return status;
    const double accuracy = mpki_accuracy(&full, an->scalar);
    mpk_solve_info info = {.solved = 1};
    work z = {.ctx = ctx, .fac = fac};
    const int64_t copied = b == x ? nrhs : 0;
    char *copy = mpki_alloc(ctx, STAGE, n * copied, size); /* residuals read b */
    z.c = mpki_alloc(ctx, STAGE, (int64_t)m * nrhs, size);
    status = mpki_failed(ctx);
    if (!mpk_failed(status)) status = factor_s(&z, full.threads);
    if (!mpk_failed(status)) status = bring_whole(&z);
    for (int32_t r = 0; !mpk_failed(status) && r < copied; r++)
        memcpy(copy + (size_t)r * (size_t)n * size, (const char *)b + (size_t)(r * ldb) * size,
               (size_t)n * size);
    const bool written = !mpk_failed(status);
    if (written) status = by_parts(&z, nrhs, b, ldb, x, ldx);
    for (int32_t r = 0; !mpk_failed(status) && n > 0 && r < nrhs; r++)
        status = refine(&z, full.refine, accuracy,
                        copied ? copy + (size_t)r * (size_t)n * size
                               : (const char *)b + (size_t)(r * ldb) * size,
                        (char *)x + (size_t)(r * ldx) * size, &info);
    if (mpk_failed(status) && written) /* a call that fails changes nothing */
        for (int32_t r = 0; r < copied; r++)
            memcpy((char *)x + (size_t)(r * ldx) * size, copy + (size_t)r * (size_t)n * size,
                   (size_t)n * size);
    if (!mpk_failed(status)) {
        info.time_s = mpki_now_s() - start_s;
        if (out) *out = info;
        status = outcome(&z, accuracy, &info);
    }
    work_free(&z);
    mpki_release(ctx, copy);
    return status;
}
