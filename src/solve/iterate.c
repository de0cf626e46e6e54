/* SPDX-License-Identifier: BSD-3-Clause */
#include "iterate.h"
#include "../problem/full.h"
#include "krylov/krylov.h"
#include "precondition.h"
#include "refine.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

/* Everything that lives during one solve. */
typedef struct iteration {
    mpk_context *ctx;
    const mpk_factor *fac;
    mpki_full full;
    mpki_pool *pool;
    mpki_preconditioner m;
    bool abs;
    void *b, *x, *r; /* n each */
    void *all;       /* of several right-hand sides: solutions that wait for the last one */
    double *w, *row_norm;
    double a_norm;
    double *history; /* of the right-hand side at work, when recorded */
} iteration;

bool mpki_wants_krylov(const mpk_factor *fac, const mpk_options *options) {
    if (fac->an->block) return true;
    return options->krylov != MPK_KRYLOV_AUTO && options->krylov != MPK_KRYLOV_NONE;
}

static mpk_status multiply(void *self, const void *x, void *y) {
    iteration *it = self;
    mpki_full_multiply(&it->full, it->pool, x, y);
    return MPK_OK;
}

static mpk_status residual(void *self, const void *x, const void *b, void *r) {
    iteration *it = self;
    mpki_full_residual(&it->full, it->pool, x, b, r, NULL);
    return MPK_OK;
}

static mpk_status precondition(void *self, const void *x, void *y) {
    iteration *it = self;
    memcpy(y, x, (size_t)it->full.n * mpk_scalar_size(it->full.scalar));
    return mpki_precondition(it->ctx, &it->m, it->abs, 1, y, it->full.n);
}

static void free_all(iteration *it) {
    mpki_full_free(it->ctx, &it->full);
    mpki_preconditioner_free(it->ctx, &it->m);
    mpki_release(it->ctx, it->b);
    mpki_release(it->ctx, it->x);
    mpki_release(it->ctx, it->r);
    mpki_release(it->ctx, it->all);
    mpki_release(it->ctx, it->w);
    mpki_release(it->ctx, it->row_norm);
    mpki_release(it->ctx, it->history);
}

static mpk_status make(iteration *it, int threads) {
    const mpk_analysis *an = it->fac->an;
    const size_t size = mpk_scalar_size(an->scalar);
    const mpk_problem_view a = {an->n,  an->nnz, an->scalar, an->symmetry,
                                an->ap, an->ai,  it->fac->ax};
    if (mpki_preconditioner_make(it->ctx, it->fac, threads, 1, &it->m) < 0 ||
        mpki_full_make(it->ctx, &a, threads, &it->full, &it->pool) < 0)
        return mpki_failed(it->ctx);
    it->b = mpki_alloc(it->ctx, STAGE, an->n, size);
    it->x = mpki_alloc(it->ctx, STAGE, an->n, size);
    it->r = mpki_alloc(it->ctx, STAGE, an->n, size);
    it->w = MPKI_NEW(it->ctx, STAGE, an->n, double);
    it->row_norm = MPKI_NEW(it->ctx, STAGE, an->n, double);
    if (mpki_failed(it->ctx) < 0) return mpki_failed(it->ctx);
    mpki_full_row_sums(&it->full, it->pool, it->row_norm);
    for (int32_t i = 0; i < an->n; i++) it->a_norm = fmax(it->a_norm, it->row_norm[i]);
    return MPK_OK;
}

/* The worst over the right-hand sides; the method's account of the longest one. */
static void gather(iteration *it, const mpk_krylov_info *krylov, bool first, mpk_solve_info *info,
                   mpki_record *record) {
    mpki_full_residual(&it->full, it->pool, it->x, it->b, it->r, it->w);
    const mpki_quality q = MPKI_DISPATCH(it->full.scalar, quality)(it->full.n, it->x, it->b, it->r,
                                                                   it->w, it->row_norm, it->a_norm);
    if (!(q.componentwise <= info->componentwise)) info->componentwise = q.componentwise;
    if (!(q.normwise <= info->normwise)) info->normwise = q.normwise;
    if (!(q.relative <= info->relative_residual)) info->relative_residual = q.relative;
    if (first || krylov->iterations > info->krylov.iterations) {
        info->krylov = *krylov;
        if (record) {
            record->count = krylov->history_count;
            memcpy(record->residual, it->history, (size_t)record->count * sizeof(double));
        }
    }
    info->unrefined = info->componentwise;
}

/* What these options ask of this factor, or what does not go together. */
static mpk_status task_of(iteration *it, const mpk_options *options, mpk_krylov_task *task) {
    const mpk_analysis *an = it->fac->an;
    const bool ldu = an->block && it->fac->options.factor_type == MPK_TYPE_LDU;
    mpk_krylov_task_init(task);
    task->method = options->krylov;
    if (task->method == MPK_KRYLOV_AUTO) task->method = ldu ? MPK_KRYLOV_GMRES : MPK_KRYLOV_SQMR;
    if (task->method == MPK_KRYLOV_NONE)
        return mpki_error(it->ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "krylov = none needs the direct factor: method %s leaves a residual that "
                          "only an iterative method removes",
                          mpk_method_name(it->fac->options.method));
    if (ldu && task->method <= MPK_KRYLOV_CG)
        return mpki_error(it->ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "krylov = %s needs a symmetric preconditioner, and factor_type = ldu is "
                          "none: gmres, fgmres, bicgstab or idr",
                          mpki_krylov_name(task->method));
    task->scalar = an->scalar;
    task->symmetry = an->symmetry;
    task->n = an->n;
    task->a = (mpk_operator){multiply, it};
    task->m = (mpk_operator){precondition, it};
    task->tolerance = options->tolerance;
    task->max_iterations = options->max_iterations;
    task->restart = options->restart;
    task->shadow = options->shadow;
    task->seed = options->seed;
    it->abs = task->method >= MPK_KRYLOV_MINRES && task->method <= MPK_KRYLOV_CG;
    return MPK_OK;
}

mpk_status mpki_iterate(mpk_context *ctx, const mpk_factor *fac, const mpk_options *options,
                        int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx,
                        mpk_solve_info *out, mpki_record *record) {
    const double start_s = mpki_now_s();
    const mpk_analysis *an = fac->an;
    const size_t size = mpk_scalar_size(an->scalar), bytes = (size_t)an->n * size;
    iteration it = {.ctx = ctx, .fac = fac};
    mpk_solve_info info = {0};
    char message[MPKI_KRYLOV_MESSAGE] = "", worst[MPKI_KRYLOV_MESSAGE] = "";
    mpk_krylov_task task;
    mpk_status status = task_of(&it, options, &task), worst_status = MPK_OK;
    if (status >= 0) status = make(&it, options->threads);
    info.krylov.method = task.method;
    if (status >= 0 && record) {
        it.history = MPKI_NEW(ctx, STAGE, record->size, double);
        if (!it.history) status = mpki_failed(ctx);
        task.history = it.history;
        task.history_size = record->size;
    }
    if (status >= 0 && nrhs > 1) { /* a failure with a later one must leave x as it was */
        it.all = mpki_alloc(ctx, STAGE, (int64_t)an->n * nrhs, size);
        if (!it.all) status = mpki_failed(ctx);
    }
    for (int32_t c = 0; status >= 0 && an->n > 0 && c < nrhs; c++) {
        mpk_krylov_info krylov;
        memcpy(it.b, (const char *)b + (size_t)(c * ldb) * size, bytes);
        memset(it.x, 0, bytes);
        const mpki_krylov_extra extra = {residual, &it, (double)c / nrhs, 1.0 / nrhs};
        status = mpki_krylov_run(ctx, &task, &extra, it.b, it.x, &krylov, message);
        if (status < 0) break;
        if (status > 0 && worst_status == MPK_OK) {
            worst_status = status;
            memcpy(worst, message, sizeof worst);
        }
        gather(&it, &krylov, c == 0, &info, record);
        memcpy(nrhs > 1 ? (char *)it.all + (size_t)c * bytes : (char *)x, it.x, bytes);
    }
    for (int32_t c = 0; status >= 0 && an->n > 0 && nrhs > 1 && c < nrhs; c++)
        memcpy((char *)x + (size_t)(c * ldx) * size, (char *)it.all + (size_t)c * bytes, bytes);
    free_all(&it);
    if (status < 0) return status;
    info.time_s = mpki_now_s() - start_s;
    if (out) *out = info;
    if (worst_status > 0) return mpki_error(ctx, worst_status, STAGE, -1, "%s", worst);
    /* a zero pivot of an incomplete factor says nothing of A */
    return !an->block && fac->info.inertia.zero > 0 ? MPK_SINGULAR : MPK_OK;
}
