/* SPDX-License-Identifier: BSD-3-Clause */
#include "refine.h"

#include <string.h>

enum { BLOCK = 16 }; /* right-hand sides in a sweep */

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
    mpki_release(ctx, work->y);
    mpki_release(ctx, work->sweep);
    mpki_release(ctx, work->r);
    mpki_release(ctx, work->b);
    mpki_release(ctx, work->x);
    mpki_release(ctx, work->w);
    mpki_release(ctx, work->wide);
    mpki_release(ctx, work->row_norm);
}

static mpk_status work_make(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs,
                            mpki_solve_work *work) {
    const int32_t n = fac->an->n;
    const size_t size = mpk_scalar_size(fac->an->scalar);
    const int block = nrhs < BLOCK ? nrhs : BLOCK;
    *work = (mpki_solve_work){0};
    work->y = mpki_alloc(ctx, "solve", (int64_t)n * block, size);
    work->sweep =
        mpki_alloc(ctx, "solve", MPKI_DISPATCH(fac->an->scalar, sweep_work)(fac, block), size);
    work->r = mpki_alloc(ctx, "solve", n, size);
    work->b = mpki_alloc(ctx, "solve", n, size);
    work->x = mpki_alloc(ctx, "solve", n, size);
    work->w = MPKI_NEW(ctx, "solve", n, double);
    work->wide =
        MPKI_NEW(ctx, "solve",
                 fac->an->scalar == MPK_D || fac->an->scalar == MPK_Z ? 0 : 2 * (int64_t)n, double);
    work->row_norm = MPKI_NEW(ctx, "solve", n, double);
    if (mpki_failed(ctx) < 0) work_free(ctx, work);
    return mpki_failed(ctx);
}

mpk_status mpk_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                     int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                     mpk_solve_info *out) {
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
    mpki_solve_work work;
    if (work_make(ctx, fac, nrhs > 0 ? nrhs : 1, &work) < 0) return mpki_failed(ctx);
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
    for (int32_t r0 = 0; n > 0 && r0 < nrhs; r0 += BLOCK) {
        const int block = nrhs - r0 < BLOCK ? nrhs - r0 : BLOCK;
        const char *br = (const char *)b + (size_t)(r0 * ldb) * size;
        char *xr = (char *)x + (size_t)(r0 * ldx) * size;
        MPKI_DISPATCH(scalar, permute_in)(fac, block, br, ldb, work.y);
        MPKI_DISPATCH(scalar, forward)(fac, block, work.y, work.sweep);
        MPKI_DISPATCH(scalar, diagonal)(fac, block, work.y);
        MPKI_DISPATCH(scalar, backward)(fac, block, work.y, work.sweep);
        MPKI_DISPATCH(scalar, permute_out)(fac, block, work.y, xr, ldx);
        for (int k = 0; k < block; k++) {
            memcpy(work.b, br + (size_t)(k * ldb) * size, (size_t)n * size);
            MPKI_DISPATCH(scalar, refine)
            (fac, full.refine, accuracy, &work, xr + (size_t)(k * ldx) * size, &info);
        }
        if (mpki_progress(ctx, "solve", (double)(r0 + block) / nrhs)) {
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

mpk_status mpk_solve_part(mpk_context *ctx, const mpk_factor *fac, mpk_part part, int32_t nrhs,
                          void *x, int64_t ldx) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = check(ctx, fac, nrhs, x, ldx, x, ldx);
    if (status < 0) return status;
    if (part != MPK_PART_L && part != MPK_PART_D && part != MPK_PART_LT)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "solve", part, "there is no part %d", (int)part);
    const mpk_scalar scalar = fac->an->scalar;
    const size_t size = mpk_scalar_size(scalar);
    const int32_t n = fac->an->n;
    void *y = mpki_alloc(ctx, "solve", n, size), *sweep = NULL;
    if (y) sweep = mpki_alloc(ctx, "solve", MPKI_DISPATCH(scalar, sweep_work)(fac, 1), size);
    for (int32_t r = 0; y && sweep && n > 0 && r < nrhs; r++) {
        char *xr = (char *)x + (size_t)(r * ldx) * size;
        if (part == MPK_PART_L) { /* vectors between the parts are in the order of positions */
            MPKI_DISPATCH(scalar, permute_in)(fac, 1, xr, n, y);
            MPKI_DISPATCH(scalar, forward)(fac, 1, y, sweep);
            memcpy(xr, y, (size_t)n * size);
        } else if (part == MPK_PART_D) {
            MPKI_DISPATCH(scalar, diagonal)(fac, 1, xr);
        } else {
            memcpy(y, xr, (size_t)n * size);
            MPKI_DISPATCH(scalar, backward)(fac, 1, y, sweep);
            MPKI_DISPATCH(scalar, permute_out)(fac, 1, y, xr, n);
        }
    }
    mpki_release(ctx, y);
    mpki_release(ctx, sweep);
    return mpki_failed(ctx);
}
