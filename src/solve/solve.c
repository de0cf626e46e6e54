/* SPDX-License-Identifier: BSD-3-Clause */
#include "iterate.h"
#include "precondition.h"
#include "refine.h"

#include <string.h>

enum { BLOCK = 8 }; /* right-hand sides in a sweep; fixed, so that bits do not depend on threads */

static mpk_status check(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                        int64_t ldb, const void *x, int64_t ldx) {
    if (!fac || !fac->valid)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "solve", -1, "the factor holds no factorization");
    if (nrhs < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "solve", nrhs, "nrhs = %d is negative", nrhs);
    if (nrhs > 0 && fac->an->n > 0 && (!b || !x))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "solve", -1,
                          "right-hand side and solution must not be NULL");
    if (ldb < fac->an->n || ldx < fac->an->n)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "solve", ldb < fac->an->n ? ldb : ldx,
                          "a leading dimension is smaller than n = %d", fac->an->n);
    return MPK_OK;
}

static void work_free(mpk_context *ctx, mpki_solve_work *work) {
    mpki_sweeps_free(ctx, &work->sweeps);
    mpki_release(ctx, work->y);
    mpki_release(ctx, work->r);
    mpki_release(ctx, work->b);
    mpki_release(ctx, work->x);
    mpki_release(ctx, work->w);
    mpki_release(ctx, work->wide);
    mpki_release(ctx, work->row_norm);
}

static mpk_status work_make(mpk_context *ctx, const mpk_factor *fac, int threads, int block,
                            mpki_solve_work *work) {
    const int32_t n = fac->an->n;
    const size_t size = mpk_scalar_size(fac->an->scalar);
    *work = (mpki_solve_work){0};
    if (mpki_sweeps_make(ctx, fac, threads, block, &work->sweeps) < 0) return mpki_failed(ctx);
    work->block = block;
    work->y = mpki_alloc(ctx, "solve", (int64_t)n * block * work->sweeps.threads, size);
    work->r = mpki_alloc(ctx, "solve", n, size);
    work->b = mpki_alloc(ctx, "solve", n, size);
    work->x = mpki_alloc(ctx, "solve", n, size);
    work->w = MPKI_NEW(ctx, "solve", n, double);
    work->wide = MPKI_NEW(ctx, "solve", 2 * (int64_t)n, double);
    work->row_norm = MPKI_NEW(ctx, "solve", n, double);
    if (mpki_failed(ctx) < 0) work_free(ctx, work);
    return mpki_failed(ctx);
}

/* X := A^-1 B through the factor, no refinement: blocks of right-hand sides, a worker for each. */
typedef struct first_solve {
    const mpk_factor *fac;
    mpki_solve_work *work;
    const char *b;
    char *x;
    int64_t ldb, ldx;
    int32_t nrhs;
} first_solve;

static void solve_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const first_solve *s = arg;
    const mpk_factor *fac = s->fac;
    const mpk_scalar scalar = fac->an->scalar;
    const size_t size = mpk_scalar_size(scalar);
    const int64_t r0 = item * BLOCK;
    const int block = s->nrhs - r0 < BLOCK ? (int)(s->nrhs - r0) : BLOCK;
    char *y =
        (char *)s->work->y + (size_t)worker * (size_t)fac->an->n * (size_t)s->work->block * size;
    MPKI_DISPATCH(scalar, permute_in)(fac, block, s->b + (size_t)(r0 * s->ldb) * size, s->ldb, y);
    MPKI_DISPATCH(scalar, sweep_block)(&s->work->sweeps, worker, block, y);
    MPKI_DISPATCH(scalar, permute_out)(fac, block, y, s->x + (size_t)(r0 * s->ldx) * size, s->ldx);
}

static void solve_first(first_solve *s) {
    const mpk_factor *fac = s->fac;
    const mpk_scalar scalar = fac->an->scalar;
    mpki_solve_work *work = s->work;
    if (s->nrhs == 1) {
        MPKI_DISPATCH(scalar, permute_in)(fac, 1, s->b, s->ldb, work->y);
        MPKI_DISPATCH(scalar, forward)(&work->sweeps, work->y);
        MPKI_DISPATCH(scalar, diagonal)(fac, 1, work->y);
        MPKI_DISPATCH(scalar, backward)(&work->sweeps, work->y);
        MPKI_DISPATCH(scalar, permute_out)(fac, 1, work->y, s->x, s->ldx);
        return;
    }
    int64_t count = (s->nrhs + BLOCK - 1) / BLOCK;
    mpki_pool_for(work->sweeps.pool, 0, count, solve_item, s);
}

mpk_status mpki_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                      int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                      mpk_solve_info *out, mpki_record *record) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    double start_s = mpki_now_s();
    mpk_options full;
    mpk_status status = check(ctx, fac, nrhs, b, ldb, x, ldx);
    if (status == MPK_OK) status = mpki_options_resolve(ctx, options, &full);
    if (status < 0) return status;
    const mpk_analysis *an = fac->an;
    const int32_t n = an->n;
    const mpk_scalar scalar = an->scalar;
    const size_t size = mpk_scalar_size(scalar);
    mpk_solve_info info = {0};
    for (int32_t r = 0; n > 0 && r < nrhs; r++) {
        int64_t bad = mpki_first_nonfinite(scalar, n, (const char *)b + (size_t)(r * ldb) * size);
        if (bad >= 0)
            return mpki_error(ctx, MPK_ERR_INPUT, "solve", bad,
                              "right-hand side %d is not finite in row %lld", r + 1,
                              (long long)bad + 1);
    }
    if (mpki_wants_krylov(fac, &full))
        return mpki_iterate(ctx, fac, &full, nrhs, b, ldb, x, ldx, out, record);
    mpki_solve_work work;
    if (work_make(ctx, fac, full.threads, nrhs < 2 ? 1 : nrhs < BLOCK ? nrhs : BLOCK, &work) < 0)
        return mpki_failed(ctx);
    mpk_problem_view a = {n, an->nnz, scalar, an->symmetry, an->ap, an->ai, fac->ax};
    work.norm_inf = mpki_norm_inf(&a, work.w);
    const bool single = scalar == MPK_S || scalar == MPK_C;
    const double accuracy = full.accuracy >= 0 ? full.accuracy : single ? 0x1p29 * 1e-14 : 1e-14;
    void *original = NULL;
    if (b == x && nrhs > 0) { /* the solution overwrites b, and refinement still needs it */
        original = mpki_alloc(ctx, "solve", (int64_t)n * nrhs, size);
        if (!original) goto done;
        for (int32_t r = 0; n > 0 && r < nrhs; r++)
            memcpy((char *)original + (size_t)r * n * size,
                   (const char *)b + (size_t)(r * ldb) * size, (size_t)n * size);
        b = original;
        ldb = n;
    }
    first_solve first = {fac, &work, b, x, ldb, ldx, nrhs};
    if (n > 0 && nrhs > 0) solve_first(&first);
    for (int32_t r = 0; n > 0 && r < nrhs; r++) {
        memcpy(work.b, (const char *)b + (size_t)(r * ldb) * size, (size_t)n * size);
        MPKI_DISPATCH(scalar, refine)
        (fac, full.refine, accuracy, &work, (char *)x + (size_t)(r * ldx) * size, &info);
        if (mpki_progress(ctx, "solve", (double)(r + 1) / nrhs)) {
            mpki_error(ctx, MPK_ERR_CANCELLED, "solve", -1, "stopped on request");
            goto done;
        }
    }
    if (full.condition == MPK_ON)
        info.condition = MPKI_DISPATCH(scalar, inverse_norm1)(fac, &work) * work.norm_inf;
    info.time_s = mpki_now_s() - start_s;
    if (out) *out = info;
    status = fac->info.inertia.zero > 0          ? MPK_SINGULAR
             : !(info.componentwise <= accuracy) ? MPK_INACCURATE
                                                 : MPK_OK;
done:
    mpki_release(ctx, original);
    work_free(ctx, &work);
    return mpki_failed(ctx) < 0 ? mpki_failed(ctx) : status;
}

mpk_status mpk_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                     int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                     mpk_solve_info *info) {
    return mpki_solve(ctx, fac, nrhs, b, ldb, x, ldx, options, info, NULL);
}

/* X := A^-1 X by the direct factor: as mpk_solve does before it refines, with the factorization's
 * threads. */
static mpk_status solve_in_place(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, void *x,
                                 int64_t ldx) {
    const int block = nrhs < BLOCK ? nrhs : BLOCK;
    mpki_solve_work work = {.block = block};
    if (nrhs == 0 || fac->an->n == 0) return MPK_OK;
    if (mpki_sweeps_make(ctx, fac, fac->options.threads, block, &work.sweeps) < 0)
        return mpki_failed(ctx);
    work.y = mpki_alloc(ctx, "solve", (int64_t)fac->an->n * block * work.sweeps.threads,
                        mpk_scalar_size(fac->an->scalar));
    first_solve first = {fac, &work, x, x, ldx, ldx, nrhs};
    if (work.y) solve_first(&first);
    work_free(ctx, &work);
    return mpki_failed(ctx);
}

mpk_status mpk_solve_part(mpk_context *ctx, const mpk_factor *fac, mpk_part part, int32_t nrhs,
                          void *x, int64_t ldx) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = check(ctx, fac, nrhs, x, ldx, x, ldx);
    if (status < 0) return status;
    if (part < MPK_PART_L || part > MPK_PART_ABS)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "solve", part, "there is no part %d", (int)part);
    if (fac->an->block) {
        mpki_preconditioner p;
        status = mpki_preconditioner_make(ctx, fac, 1, nrhs > 1 ? nrhs : 1, &p);
        if (status == MPK_OK) status = mpki_precondition_part(ctx, &p, part, nrhs, x, ldx);
        mpki_preconditioner_free(ctx, &p);
        return status;
    }
    if (part == MPK_PART_ALL) return solve_in_place(ctx, fac, nrhs, x, ldx);
    if (part == MPK_PART_ABS) {
        mpki_preconditioner p;
        status = mpki_preconditioner_make(ctx, fac, 1, nrhs > 1 ? nrhs : 1, &p);
        if (status == MPK_OK) status = mpki_precondition(ctx, &p, true, nrhs, x, ldx);
        mpki_preconditioner_free(ctx, &p);
        return status;
    }
    const mpk_scalar scalar = fac->an->scalar;
    const size_t size = mpk_scalar_size(scalar);
    const int32_t n = fac->an->n;
    mpki_sweeps sweeps;
    void *y = mpki_alloc(ctx, "solve", n, size);
    if (!y) return mpki_failed(ctx);
    status = mpki_sweeps_make(ctx, fac, 1, 1, &sweeps);
    for (int32_t r = 0; status == MPK_OK && n > 0 && r < nrhs; r++) {
        char *xr = (char *)x + (size_t)(r * ldx) * size;
        if (part == MPK_PART_L) { /* vectors between the parts are in the order of positions */
            MPKI_DISPATCH(scalar, permute_in)(fac, 1, xr, n, y);
            MPKI_DISPATCH(scalar, forward)(&sweeps, y);
            memcpy(xr, y, (size_t)n * size);
        } else if (part == MPK_PART_D) {
            MPKI_DISPATCH(scalar, diagonal)(fac, 1, xr);
        } else {
            memcpy(y, xr, (size_t)n * size);
            MPKI_DISPATCH(scalar, backward)(&sweeps, y);
            MPKI_DISPATCH(scalar, permute_out)(fac, 1, y, xr, n);
        }
    }
    mpki_release(ctx, y);
    if (status == MPK_OK) mpki_sweeps_free(ctx, &sweeps);
    return status;
}
