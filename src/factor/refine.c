/* SPDX-License-Identifier: BSD-3-Clause */
/* The work space of solves that are refined. */
#include "refine.h"

static const char STAGE[] = "solve";

void mpki_solve_work_free(mpk_context *ctx, mpki_solve_work *work) {
    mpki_apply_free(&work->m);
    mpki_release(ctx, work->r);
    mpki_release(ctx, work->b);
    mpki_release(ctx, work->x);
    mpki_release(ctx, work->w);
    mpki_release(ctx, work->sums);
    mpki_release(ctx, work->each);
    *work = (mpki_solve_work){0};
}

mpk_status mpki_solve_work_complete(mpk_context *ctx, mpki_solve_work *work) {
    const mpk_problem_view *a = &work->system.a;
    if (!work->r) work->r = mpki_alloc(ctx, STAGE, a->n, mpk_scalar_size(a->scalar));
    if (!work->b) work->b = mpki_alloc(ctx, STAGE, a->n, mpk_scalar_size(a->scalar));
    return work->r && work->b ? MPK_OK : mpki_failed(ctx);
}

static mpk_status make_lean(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *work) {
    const mpk_analysis *an = fac->an;
    const int32_t n = an->n;
    *work = (mpki_solve_work){0};
    work->x = mpki_alloc(ctx, STAGE, n, mpk_scalar_size(an->scalar));
    work->w = MPKI_NEW(ctx, STAGE, n, double);
    work->sums = MPKI_NEW(ctx, STAGE, MPKI_RESIDUAL_WORK(an->scalar) * (int64_t)n, double);
    if (an->scalar == MPK_S || an->scalar == MPK_C) /* sums are in double: no room for floats */
        work->r = mpki_alloc(ctx, STAGE, n, mpk_scalar_size(an->scalar));
    work->system = mpki_system_of(ctx, fac);
    work->scale = fac->scale;
    if (mpk_failed(mpki_failed(ctx))) mpki_solve_work_free(ctx, work);
    return mpki_failed(ctx);
}

mpk_status mpki_product_work_make(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *work) {
    mpk_status status = make_lean(ctx, fac, work);
    if (!mpk_failed(status)) status = mpki_solve_work_complete(ctx, work);
    if (mpk_failed(status)) mpki_solve_work_free(ctx, work);
    return status;
}

mpk_status mpki_solve_work_lean(mpk_context *ctx, const mpk_factor *fac, int threads,
                                int32_t columns, mpki_solve_work *work) {
    mpki_application m;
    mpk_status status = mpki_apply_make(ctx, fac, threads, columns, &m);
    if (mpk_failed(status)) return status;
    status = make_lean(ctx, fac, work);
    if (mpk_failed(status))
        mpki_apply_free(&m);
    else
        work->m = m;
    return status;
}

mpk_status mpki_solve_work_make(mpk_context *ctx, const mpk_factor *fac, int threads,
                                int32_t columns, mpki_solve_work *work) {
    mpk_status status = mpki_solve_work_lean(ctx, fac, threads, columns, work);
    if (mpk_failed(status)) return status;
    status = mpki_solve_work_complete(ctx, work);
    if (mpk_failed(status)) mpki_solve_work_free(ctx, work);
    return status;
}

void mpki_apply_inverse(mpki_solve_work *work, void *x) {
    const int32_t n = work->system.a.n;
    mpki_apply(&work->m, MPK_PART_ALL, 1, x, n, x, n);
}

mpk_status mpki_refine_share(mpk_context *ctx, mpki_solve_work *work, int threads, int32_t count) {
    enum { WORTH = 1 << 14 }; /* entries and rows: a tenth of a millisecond for each solution */
    const mpk_problem_view *a = &work->system.a;
    threads = mpki_context_threads(ctx, threads);
    if (threads > count) threads = count;
    if (threads < 2 || a->nnz + a->n < WORTH) return MPK_OK;
    work->each =
        MPKI_NEW(ctx, STAGE, threads * MPKI_RESIDUAL_WORK(a->scalar) * (int64_t)a->n, double);
    if (work->each) work->threads = threads;
    return mpki_failed(ctx);
}

void mpki_refine_each(mpki_solve_work *work, int32_t count, mpki_task_fn fn, void *arg) {
    mpki_pool *pool =
        work->threads > 1 && count > 1 ? mpki_context_pool(work->m.ctx, work->threads, 1) : NULL;
    const int team = mpki_pool_set_team(pool, work->threads);
    mpki_pool_for(pool, 0, count, fn, arg);
    mpki_pool_set_team(pool, team);
}
