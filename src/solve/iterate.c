/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_solve by a Krylov method: in cycles, each on what is left of b, with errors measured after
 * each. */
#include "iterate.h"
#include "judge.h"
#include "krylov/krylov.h"
#include "../core/trace.h"
#include "../factor/apply.h"
#include "../problem/columns.h"
#include "../problem/full.h"
#include "../problem/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char STAGE[] = "solve";

/* Where the user gave no tolerance the answer is to be accurate to rounding. A cycle is then asked
 * for about half the digits, and its residual is the right-hand side of the next. ENOUGH is the
 * residual commonly asked of iterative methods: if not even that is reached, the method has not
 * converged. */
static const double CYCLE = 1e-8, CYCLE_SINGLE = 1e-4, ENOUGH = 1e-6, ENOUGH_SINGLE = 1e-4;

/* Everything that lives during one solve. */
typedef struct iteration {
    mpk_context *ctx;
    const mpk_factor *fac;
    const mpk_options *options;
    mpki_system system;
    const mpki_vector_engine *engine;
    mpki_matrix *matrix;
    bool lent;       /* it is the factor's */
    int32_t longest; /* entries of a row */
    int exponent;    /* the copy holds 2^-exponent A: not 0 where products would leave the range */
    mpki_application m;
    mpk_part part;       /* of the factor that preconditions: all of it, or with |D| */
    void *b, *x, *r, *d; /* n each: right-hand side, solution, residual, correction */
    /* between two cycles, while the method has no vectors of its own: n, the solution before, and
     * the work space of a residual */
    void *kept;
    double *w, *sums;
    void *all; /* with several right-hand sides: solutions that wait until the last one is done */
    double accuracy;
    mpki_record *record;
    double *history; /* of the right-hand side at work, when it is recorded or looked at */
    int32_t history_size;
    const mpki_refiner *refiner;
    /* of the cycle at work, for the refiner: applications in it, those before the factor at hand */
    int32_t applied, renewed, looked; /* residuals that there is room for */
    mpki_fgmres_cycle cycle;
    int32_t cycles;
    char message[MPKI_KRYLOV_MESSAGE]; /* of the last cycle, then of the right-hand side */
} iteration;

bool mpki_wants_krylov(const mpk_factor *fac, const mpk_options *options) {
    if (!fac->form->exact) return true;
    return options->krylov != MPK_KRYLOV_AUTO && options->krylov != MPK_KRYLOV_NONE;
}

static mpk_scalar scalar_of(const iteration *it) {
    return it->system.a.scalar;
}

static bool single(const iteration *it) {
    return scalar_of(it) == MPK_S || scalar_of(it) == MPK_C;
}

/* ||A||_inf of what the copy holds; where A's own overflows, from its largest entry */
static double norm_inf(const iteration *it) {
    const double norm = ldexp(it->system.norm_inf, -it->exponent);
    return isfinite(norm) ? norm : (double)it->longest;
}

static mpk_status multiply(void *self, const void *x, void *y) {
    iteration *it = self;
    return it->engine->multiply(it->matrix, x, y);
}

static mpk_status residual(void *self, const void *x, const void *b, double wanted, void *r,
                           double *error) {
    iteration *it = self;
    return it->engine->residual(it->matrix, norm_inf(it), x, b, wanted, r, error);
}

/* The factor made anew, where the iterations so far ask for it. */
static mpk_status renew(iteration *it) {
    const mpki_refiner *r = it->refiner;
    mpki_fgmres_cycle p = it->cycle;
    const int32_t done = it->applied++;
    if (done > it->looked) return MPK_OK;
    p.steps = done - it->renewed;
    p.iterations += done;
    p.residual += it->renewed;
    if (p.steps == 0 || !r->wants(r->self, &p)) return MPK_OK;
    mpki_apply_free(&it->m);
    mpki_memory_bound(it->ctx, 0, 0);
    mpk_status status = r->refactor(r->self);
    if (mpk_failed(status)) return status;
    mpki_memory_bound(it->ctx, it->fac->info.bytes, it->options->memory_limit);
    it->system = mpki_system_of(it->ctx, it->fac); /* its norms may lie elsewhere */
    it->renewed = it->applied - 1;
    return mpki_apply_make(it->ctx, it->fac, it->options->threads, 1, &it->m);
}

/* y := (2^-exponent A)^-1 x, nearly: half of the power of two is applied before the factor, half
 * after. */
static mpk_status precondition(void *self, const void *x, void *y) {
    iteration *it = self;
    const int32_t n = it->system.a.n;
    const int before = it->exponent / 2, after = it->exponent - before;
    mpk_status status = it->refiner && it->refiner->wants ? renew(it) : MPK_OK;
    if (mpk_failed(status)) return status;
    if (!it->exponent) return mpki_apply(&it->m, it->part, 1, x, n, y, n);
    status = it->engine->shift(it->matrix, before, x, y);
    if (!mpk_failed(status)) status = mpki_apply(&it->m, it->part, 1, y, n, y, n);
    return mpk_failed(status) ? status : it->engine->shift(it->matrix, after, y, y);
}

static void measuring_free(iteration *it) {
    mpki_release(it->ctx, it->kept);
    mpki_release(it->ctx, it->w);
    mpki_release(it->ctx, it->sums);
    it->kept = NULL;
    it->w = it->sums = NULL;
}

static mpk_status measuring_make(iteration *it) {
    const mpk_analysis *an = it->fac->an;
    measuring_free(it); /* those of the column before */
    it->kept = mpki_alloc(it->ctx, STAGE, an->n, mpk_scalar_size(an->scalar));
    it->w = MPKI_NEW(it->ctx, STAGE, an->n, double);
    it->sums = MPKI_NEW(it->ctx, STAGE, MPKI_RESIDUAL_WORK(an->scalar) * (int64_t)an->n, double);
    return mpki_failed(it->ctx);
}

/* The errors of it->x, with the residual from where the matrix is. A failure is recorded. */
static mpki_quality measured(iteration *it) {
    const mpk_scalar scalar = scalar_of(it);
    mpki_quality q = MPKI_UNMEASURED;
    if (it->engine->measure && it->exponent == 0 && scalar < MPK_C && !it->system.skew) {
        mpki_judged judged;
        if (mpk_failed(it->engine->measure(it->matrix, it->x, it->b, it->r, NULL,
                                           it->system.row_norm, &judged)))
            return q;
        if (MPKI_DISPATCH(scalar, quality_of)(&it->system, &judged, &q)) return q;
    }
    return MPKI_DISPATCH(scalar, measure)(&it->system, it->x, it->b, it->r, it->w, it->sums);
}

static void free_all(iteration *it) {
    if (it->engine && !it->lent) it->engine->matrix_free(it->ctx, &it->matrix);
    mpki_apply_free(&it->m);
    mpki_release(it->ctx, it->b);
    mpki_release(it->ctx, it->x);
    mpki_release(it->ctx, it->r);
    mpki_release(it->ctx, it->d);
    measuring_free(it);
    mpki_release(it->ctx, it->all);
    mpki_release(it->ctx, it->history);
}

/* Bytes of device memory that the limit leaves beside the factor and A; 0: there is no limit. */
static double left(const iteration *it) {
    const double limit = it->options->device_memory_limit;
    if (!(limit > 0)) return 0;
    const int64_t a = it->matrix ? it->engine->matrix_bytes(it->matrix) : 0;
    return fmax(1, limit - (double)it->fac->info.bytes - (double)a);
}

/* Are products with the factor's own copy of A as good as with one made for the solve? Not where
 * its entries are so far from 1 that they would be shifted (mpki_krylov_matrix); the norm bounds
 * them. */
static bool takes_factors_matrix(const iteration *it) {
    const double range = single(it) ? 0x1p28 : 0x1p248, norm = it->fac->norm_inf;
    const mpk_factor *fac = it->fac;
    return fac->matrix && fac->ctx == it->ctx && norm < range &&
           norm > mpki_full_longest(&fac->pattern) / range;
}

/* A for products. */
static mpk_status make_matrix(iteration *it) {
    if (takes_factors_matrix(it)) {
        it->matrix = it->fac->matrix;
        it->lent = true;
        it->longest = mpki_full_longest(&it->fac->pattern);
        return MPK_OK;
    }
    return mpki_krylov_matrix(it->ctx, it->engine, &it->system.a, it->options->threads, left(it),
                              &it->matrix, &it->exponent, &it->longest);
}

static mpk_status make(iteration *it) {
    const mpk_analysis *an = it->fac->an;
    const size_t size = mpk_scalar_size(an->scalar);
    const int threads = it->options->threads;
    it->system = mpki_system_of(it->ctx, it->fac);
    it->engine = it->fac->engine->vectors;
    double began = mpki_trace_begin(it->ctx);
    mpk_status status = mpki_apply_make(it->ctx, it->fac, threads, 1, &it->m);
    if (mpk_failed(status)) return status;
    mpki_trace_end(it->ctx, MPKI_LANE_CALLER, "sweeps made", -1, began);
    began = mpki_trace_begin(it->ctx);
    status = make_matrix(it);
    if (mpk_failed(status)) return status;
    mpki_trace_end(it->ctx, MPKI_LANE_CALLER, "matrix made", -1, began);
    it->b = mpki_alloc(it->ctx, STAGE, an->n, size);
    it->x = mpki_alloc(it->ctx, STAGE, an->n, size);
    it->r = mpki_alloc(it->ctx, STAGE, an->n, size);
    it->d = mpki_alloc(it->ctx, STAGE, an->n, size);
    if (it->history_size > 0) it->history = MPKI_ZNEW(it->ctx, STAGE, it->history_size, double);
    return mpki_failed(it->ctx);
}

/* What these options ask of this factor, or why they do not go together. */
static mpk_status task_of(iteration *it, const mpk_options *options, mpk_krylov_task *task) {
    const mpk_analysis *an = it->fac->an;
    const bool symmetric = it->fac->form->symmetric(it->fac);
    mpk_krylov_task_init(task);
    task->method = options->krylov;
    if (task->method == MPK_KRYLOV_AUTO)
        task->method = symmetric ? MPK_KRYLOV_SQMR : MPK_KRYLOV_GMRES;
    if (task->method == MPK_KRYLOV_NONE)
        return mpki_error(it->ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "krylov = none needs the direct factor: method %s leaves a residual that "
                          "only an iterative method removes",
                          mpk_method_name(it->fac->options.method));
    if (an->symmetry == MPK_GENERAL && task->method <= MPK_KRYLOV_CG)
        return mpki_error(it->ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the matrix is not symmetric, and krylov = %s is for matrices that are: "
                          "gmres, fgmres, bicgstab or idr",
                          mpki_krylov_name(task->method));
    if (!symmetric && task->method <= MPK_KRYLOV_CG)
        return mpki_error(it->ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "krylov = %s needs a symmetric preconditioner, and factor_type = ldu is "
                          "none: gmres, fgmres, bicgstab or idr",
                          mpki_krylov_name(task->method));
    task->scalar = an->scalar;
    task->symmetry = an->symmetry;
    task->n = an->n;
    task->a = (mpk_operator){multiply, it};
    task->m = (mpk_operator){precondition, it};
    task->restart = options->restart;
    task->shadow = options->shadow;
    task->seed = options->seed;
    it->part = task->method >= MPK_KRYLOV_MINRES && task->method <= MPK_KRYLOV_CG ? MPK_PART_ABS
                                                                                  : MPK_PART_ALL;
    return MPK_OK;
}

/* ---- one right-hand side --------------------------------------------------------------------- */

/* Add one more cycle's account to those before it. */
static void add_account(mpk_krylov_info *sum, const mpk_krylov_info *cycle) {
    sum->method = cycle->method;
    sum->iterations += cycle->iterations;
    sum->products += cycle->products;
    sum->applications += cycle->applications;
    sum->restarts += cycle->restarts;
    sum->breakdowns += cycle->breakdowns;
    sum->recurred = cycle->recurred;
    sum->gap = fmax(sum->gap, cycle->gap);
    sum->quasi_gap = fmax(sum->quasi_gap, cycle->quasi_gap);
    sum->history_count += cycle->history_count;
    sum->time_s += cycle->time_s;
    sum->time_product_s += cycle->time_product_s;
    sum->time_precondition_s += cycle->time_precondition_s;
}

/* What is asked for without a tolerance. */
static const char ROUNDING[] = "an answer accurate to rounding";

static double enough(const iteration *it) {
    return single(it) ? ENOUGH_SINGLE : ENOUGH;
}

/* A small backward error alone says nothing where A is singular: every large vector that A takes to
 * nearly nothing has one. */
static bool good(const iteration *it, const mpki_quality *q) {
    return it->options->tolerance >= 0
               ? q->relative <= it->options->tolerance
               : q->componentwise <= it->accuracy && q->relative <= enough(it);
}

static bool better(const iteration *it, const mpki_quality *q, const mpki_quality *than,
                   double by) {
    return it->options->tolerance >= 0 ? q->relative < by * than->relative
                                       : q->componentwise < by * than->componentwise;
}

/* The tolerance of the next cycle, whose right-hand side is `relative` times as large as b. */
static double asked(const iteration *it, double relative) {
    const double cycle = single(it) ? CYCLE_SINGLE : CYCLE;
    if (it->options->tolerance < 0) return cycle;
    if (relative >= 1) return it->options->tolerance;
    return fmax(cycle, 0.5 * it->options->tolerance / relative);
}

/* x := start, r := b - A x, where that is less than b; else they stay. */
static mpk_status begin(iteration *it, const void *start, mpki_quality *q) {
    const size_t bytes = (size_t)it->system.a.n * mpk_scalar_size(scalar_of(it));
    const mpki_quality zero = *q;
    if (mpk_failed(measuring_make(it))) return mpki_failed(it->ctx);
    memcpy(it->x, start, bytes);
    *q = measured(it);
    if (mpk_failed(mpki_failed(it->ctx))) return mpki_failed(it->ctx);
    if (q->relative < 1) return MPK_OK;
    *q = zero;
    memset(it->x, 0, bytes);
    memcpy(it->r, it->b, bytes);
    return MPK_OK;
}

/* Cycles of the method, each on what is left of b, until x is good enough or a cycle helps no
 * more. */
static mpk_status solve_column(iteration *it, mpk_krylov_task *task, const void *start, double from,
                               double share, mpki_quality *q, mpk_krylov_info *account) {
    const mpk_scalar scalar = scalar_of(it);
    const int32_t n = it->system.a.n;
    const size_t bytes = (size_t)n * mpk_scalar_size(scalar);
    mpk_status status = MPK_OK;
    *account = (mpk_krylov_info){.method = task->method, .tolerance = it->options->tolerance};
    memset(it->x, 0, bytes);
    memcpy(it->r, it->b, bytes);
    *q = (mpki_quality){.componentwise = 1, .normwise = 1, .relative = 1};
    it->cycles = 0;
    if (start && mpk_failed(begin(it, start, q))) return mpki_failed(it->ctx);
    account->residual = q->relative;
    if (q->relative < 1 && good(it, q)) return MPK_OK;
    for (bool first = !(q->relative < 1);; first = false) {
        mpk_krylov_info cycle;
        const mpki_quality before = *q;
        const mpki_krylov_extra extra = {.residual = residual,
                                         .self = it,
                                         .a_norm = norm_inf(it),
                                         .from = from,
                                         .share = share,
                                         .matrix = it->matrix,
                                         .queued = true,
                                         .limit = left(it),
                                         .asked = it->options->tolerance < 0 ? ROUNDING : NULL};
        const int32_t told = account->history_count;
        task->max_iterations = it->options->max_iterations - account->iterations;
        task->tolerance = asked(it, first ? 1 : q->relative);
        task->history = it->history ? it->history + told : NULL;
        task->history_size = it->history ? it->history_size - told : 0;
        it->applied = it->renewed = 0;
        it->looked = task->history_size;
        it->cycle = (mpki_fgmres_cycle){.iterations = account->iterations,
                                        .residual = task->history,
                                        .scale = first ? 1 : before.relative,
                                        .wanted = task->tolerance};
        memset(it->d, 0, bytes);
        it->cycles++;
        measuring_free(it);
        double began = mpki_trace_begin(it->ctx);
        status =
            mpki_krylov_run(it->ctx, it->engine, task, &extra, it->r, it->d, &cycle, it->message);
        mpki_trace_end(it->ctx, MPKI_LANE_CALLER, "iterations", -1, began);
        began = mpki_trace_begin(it->ctx);
        if (mpk_failed(status)) return status;
        for (int32_t h = 0; !first && h < cycle.history_count; h++)
            it->history[told + h] *= before.relative;
        add_account(account, &cycle);
        if (mpk_failed(measuring_make(it))) return mpki_failed(it->ctx);
        memcpy(it->kept, it->x, bytes);
        MPKI_DISPATCH(scalar, column_add)(n, -before.exponent - it->exponent, it->d, it->x);
        if (!MPKI_DISPATCH(scalar, column_finite)(n, it->x)) {
            memcpy(it->x, it->kept, bytes);
            snprintf(it->message, sizeof it->message,
                     "what %s makes of the solution overflows; relative residual %.2e",
                     mpki_krylov_name(task->method), q->relative);
            break;
        }
        *q = measured(it);
        mpki_trace_end(it->ctx, MPKI_LANE_CALLER, "measured", -1, began);
        if (mpk_failed(mpki_failed(it->ctx))) return mpki_failed(it->ctx);
        account->residual = q->relative;
        if (good(it, q)) return MPK_OK;
        if (!first && !better(it, q, &before, 1)) {
            memcpy(it->x, it->kept, bytes);
            *q = before;
            break;
        }
        if ((!first && !better(it, q, &before, 0.5)) ||
            account->iterations >= it->options->max_iterations || !isfinite(q->relative) ||
            (first && status > 0 && !(it->options->tolerance < 0 && q->relative <= enough(it))))
            break;
    }
    account->residual = q->relative;
    return MPK_NOT_CONVERGED;
}

/* The status of a right-hand side whose solution did not become good. */
static mpk_status outcome(iteration *it, const mpki_quality *q, const mpk_krylov_info *account) {
    if (it->options->tolerance >= 0 || !(q->relative <= enough(it))) {
        char wanted[48];
        snprintf(wanted, sizeof wanted, "%s", ROUNDING);
        if (it->options->tolerance >= 0)
            snprintf(wanted, sizeof wanted, "%.2e", it->options->tolerance);
        if (it->cycles > 1 || !it->message[0])
            snprintf(it->message, sizeof it->message,
                     "relative residual %.2e after %d iterations; %s was asked for", q->relative,
                     account->iterations, wanted);
        return MPK_NOT_CONVERGED;
    }
    snprintf(
        it->message, sizeof it->message,
        "converged to a relative residual of %.1e in %d iterations, but not to the accuracy of "
        "rounding: componentwise backward error %.1e",
        q->relative, account->iterations, q->componentwise);
    return MPK_INACCURATE;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* What it->x is worth, whose errors these are; what measured them is there still. */
static mpk_status judge(iteration *it, const mpki_quality *q, mpki_verdict *verdict) {
    mpki_solve_work work = {.scale = it->fac->scale,
                            .r = it->r,
                            .x = it->kept,
                            .b = it->d,
                            .w = it->w,
                            .sums = it->sums,
                            .system = it->system,
                            .last = *q};
    return mpki_judge(it->ctx, it->fac, &work, it->accuracy, it->x, verdict);
}

/* The worst over the right-hand sides; the account of the method from the one that took longest. */
static void gather(iteration *it, const mpki_quality *q, const mpk_krylov_info *account, bool first,
                   mpk_solve_info *info) {
    info->componentwise = fmax(info->componentwise, q->componentwise);
    info->normwise = fmax(info->normwise, q->normwise);
    info->relative_residual = fmax(info->relative_residual, q->relative);
    info->unrefined = info->componentwise;
    if (!first && account->iterations <= info->krylov.iterations) return;
    info->krylov = *account;
    if (!it->record) return;
    it->record->count = account->history_count;
    if (it->record->count > it->record->size) it->record->count = it->record->size;
    if (it->record->count > 0) /* there may be no room for any */
        memcpy(it->record->residual, it->history, (size_t)it->record->count * sizeof(double));
}

mpk_status mpki_iterate(const mpki_columns *columns, mpki_found *found, mpki_record *record,
                        const mpki_refiner *refiner) {
    enum { LOOKED_AT = 100000 };
    mpk_context *ctx = columns->ctx;
    const mpk_factor *fac = columns->fac;
    const mpk_options *options = columns->options;
    const mpk_analysis *an = fac->an;
    const int32_t nrhs = columns->nrhs;
    const size_t size = mpk_scalar_size(an->scalar), bytes = (size_t)an->n * size;
    iteration it = {.ctx = ctx, .fac = fac, .options = options, .record = record};
    mpki_verdict *verdict = &found->verdict;
    mpk_krylov_task task;
    mpk_status status = task_of(&it, options, &task);
    if (!fac->form->exact) mpki_memory_bound(ctx, fac->info.bytes, options->memory_limit);
    it.accuracy = mpki_accuracy(options, an->scalar);
    it.refiner = refiner;
    if (record) it.history_size = record->size;
    if (refiner && refiner->wants) { /* what it looks at does not depend on what is recorded */
        const int32_t most =
            options->max_iterations < LOOKED_AT ? options->max_iterations : LOOKED_AT;
        if (it.history_size < most) it.history_size = most;
    }
    if (!mpk_failed(status)) status = make(&it);
    found->info.krylov.method = task.method;
    verdict->iterated = true;
    if (!mpk_failed(status) && nrhs > 1) { /* if a later one fails, x must be as it was */
        it.all = mpki_alloc(ctx, STAGE, (int64_t)an->n * nrhs, size);
        if (!it.all) status = mpki_failed(ctx);
    }
    for (int32_t c = 0; !mpk_failed(status) && an->n > 0 && c < nrhs; c++) {
        mpk_krylov_info account;
        mpki_quality q;
        const char *const start =
            refiner && refiner->start ? (const char *)refiner->start + (size_t)c * bytes : NULL;
        memcpy(it.b, columns->b + (size_t)(c * columns->ldb) * size, bytes);
        status = solve_column(&it, &task, start, (double)c / nrhs, 1.0 / nrhs, &q, &account);
        if (mpk_failed(status)) break;
        if (status > 0) status = outcome(&it, &q, &account);
        if (mpki_worse(verdict->outcome, status) != verdict->outcome) {
            verdict->outcome = status;
            memcpy(verdict->message, it.message, sizeof verdict->message);
        }
        gather(&it, &q, &account, c == 0, &found->info);
        status = judge(&it, &q, verdict);
        if (mpk_failed(status)) break;
        memcpy(nrhs > 1 ? (char *)it.all + (size_t)c * bytes : columns->x, it.x, bytes);
    }
    for (int32_t c = 0; !mpk_failed(status) && an->n > 0 && nrhs > 1 && c < nrhs; c++)
        memcpy(columns->x + (size_t)(c * columns->ldx) * size, (char *)it.all + (size_t)c * bytes,
               bytes);
    mpki_memory_bound(ctx, 0, 0);
    free_all(&it);
    return status;
}
