/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_solve by a first solution and refinement: on the host, and by the engine. */
#include "iterate.h"
#include "../factor/lend.h"
#include "../factor/turned.h"
#include "../problem/columns.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

/* ---- on the host ----------------------------------------------------------------------------- */

/* The first solve overflowed on its way: solve once more with b scaled near 1. */
static void solve_shifted(const mpki_columns *c, mpki_solve_work *work, const void *b, void *x) {
    const mpk_analysis *an = c->fac->an;
    const double most = MPKI_DISPATCH(an->scalar, column_largest)(an->n, b);
    int exponent;
    if (!(most > 0)) return;
    frexp(most, &exponent);
    memcpy(x, b, (size_t)an->n * mpk_scalar_size(an->scalar));
    MPKI_DISPATCH(an->scalar, column_shift)(an->n, -exponent, x);
    mpki_apply_inverse(work, x);
    MPKI_DISPATCH(an->scalar, column_shift)(an->n, exponent, x);
}

/* Does the factor say that A is singular, so that its zero pivots show a kernel? */
static bool has_kernel(const mpk_factor *fac) {
    const mpk_rank rank = fac->info.rank;
    return fac->direct && fac->an->symmetry != MPK_GENERAL &&
           (rank == MPK_RANK_NUMERICAL || rank == MPK_RANK_STRUCTURAL);
}

/* Is b in A's range? As mpki_basis_says(): what all of the kernel says where the rows of A x = b
 * leave it no choice (mpki_quality.within), else the vectors that are found. x: its solution, whose
 * errors are q; w [inout] n: |A| |x| + |b| */
static int in_range(mpki_solve_work *work, const void *x, const void *b, const mpki_quality *q,
                    double *w) {
    const mpk_problem_view *a = &work->system.a;
    const bool symmetric = a->scalar >= MPK_C && a->symmetry == MPK_SYMMETRIC;
    if (q->within && !work->system.skew) return 1;
    if (!work->kernel->made) { /* with what has w */
        if (mpk_failed(mpki_basis_make(work, false, work->kernel))) return 0;
        (void)MPKI_DISPATCH(a->scalar, measure)(&work->system, x, b, work->r, w, work->sums);
    }
    const bool is = MPKI_DISPATCH(a->scalar, consistent)(a->n, work->m.fac->scale, symmetric,
                                                         work->kernel, b, w);
    return mpki_basis_says(work->kernel, !is);
}

/* What is said of b: what the kernel's vectors and the rows of A x = b agree on. Vectors alone are
 * fooled by their own rounding, and where |A| |x| is much larger than b. */
static void tell_consistent(int said, bool solved, bool first, mpk_solve_info *info) {
    const int agreed = solved == (said > 0) ? said : 0;
    info->consistent = first || agreed < info->consistent ? agreed : info->consistent;
}

/* A factor in single precision is nothing without refinement. */
static int steps_of(const mpki_columns *c) {
    enum { LEAST = 10 };
    return mpki_lossy(c->fac) && c->options->refine < LEAST ? LEAST : c->options->refine;
}

/* Refinement with a factor in single precision has ended at x, column r, whose errors are too
 * large: FGMRES, which that factor preconditions, may do better. *info [inout] before [in] without
 * x */
static mpk_status iterate_column(const mpki_columns *c, int32_t r, mpki_solve_work *work,
                                 double accuracy, void *x, const mpk_solve_info *before,
                                 mpk_solve_info *info) {
    enum { ITERATIONS = 100 };
    const mpk_analysis *an = c->fac->an;
    const size_t bytes = (size_t)an->n * mpk_scalar_size(an->scalar);
    const mpki_quality reached = work->last;
    const mpk_solve_info refined = *info;
    mpk_options options = *c->options;
    options.krylov = MPK_KRYLOV_FGMRES;
    options.max_iterations = ITERATIONS;
    options.tolerance = -1;
    mpki_columns one = mpki_columns_from(c, r);
    one.nrhs = 1, one.x = x, one.options = &options;
    const mpki_refiner start = {.start = x};
    mpki_found found = {.verdict = MPKI_VERDICT};
    memcpy(work->x, x, bytes);
    const mpk_status status = mpki_iterate(&one, &found, NULL, &start);
    if (mpk_failed(status)) return status;
    mpki_clear_error(c->ctx); /* what it says of x is judged here */
    if (!(found.info.componentwise < reached.componentwise)) {
        memcpy(x, work->x, bytes);
        return MPK_OK;
    }
    const double correction = work->correction;
    *info = *before;
    (void)MPKI_DISPATCH(an->scalar, refine)(work, 0, accuracy, x, info);
    work->correction = correction;
    info->unrefined = refined.unrefined;
    info->correction = refined.correction;
    if (refined.iterations > info->iterations) info->iterations = refined.iterations;
    if (found.info.krylov.iterations > info->krylov.iterations) info->krylov = found.info.krylov;
    return MPK_OK;
}

/* What several right-hand sides need of their own. */
typedef struct vectors {
    int32_t most; /* that are refined together */
    char *memory; /* most x n each: solutions, residuals with one more, */
    double *w;    /* |A| |x| + |b|; NULL: of one, with those of the work space */
} vectors;

static mpk_status make_vectors(const mpki_columns *c, vectors *v) {
    const int64_t n = c->fac->an->n;
    const size_t size = mpk_scalar_size(c->fac->an->scalar);
    *v = (vectors){.most = c->nrhs < MPKI_REFINED_TOGETHER ? c->nrhs : MPKI_REFINED_TOGETHER};
    if (mpki_lossy(c->fac) || c->nrhs == 1) v->most = 1;
    if (mpki_lossy(c->fac) || c->nrhs == 1) return MPK_OK;
    v->memory = mpki_alloc(c->ctx, STAGE, n * (2 * v->most + 1), size);
    v->w = MPKI_NEW(c->ctx, STAGE, n * v->most, double);
    return mpki_failed(c->ctx);
}

/* Refined and judged: `count` of them from column r on. */
static mpk_status refine_some(const mpki_columns *c, int32_t r, int32_t count, const vectors *v,
                              mpki_solve_work *work, double accuracy, mpki_found *found) {
    mpk_solve_info *info = &found->info;
    mpki_verdict *verdict = &found->verdict;
    const mpk_analysis *an = c->fac->an;
    const int64_t size = (int64_t)mpk_scalar_size(an->scalar), bytes = an->n * size;
    const mpk_solve_info before = *info;
    mpki_refine_column column[MPKI_REFINED_TOGETHER];
    const bool alone = !v->memory;
    for (int32_t k = 0; k < count; k++) {
        char *const x = c->x + (r + k) * c->ldx * size;
        const char *const b = c->b + (r + k) * c->ldb * size;
        column[k] = (mpki_refine_column){.b = b,
                                         .x = x,
                                         .best = alone ? work->x : v->memory + k * bytes,
                                         .w = alone ? work->w : v->w + k * (int64_t)an->n};
        if (mpki_lossy(c->fac)) memcpy(work->b, b, (size_t)bytes);
        if (!MPKI_DISPATCH(an->scalar, column_finite)(an->n, x)) solve_shifted(c, work, b, x);
    }
    bool finite = true;
    work->given = mpki_lossy(c->fac) ? NULL : column->b;
    if (alone)
        finite = MPKI_DISPATCH(an->scalar, refine)(work, steps_of(c), accuracy, column->x, info);
    else
        MPKI_DISPATCH(an->scalar, refine_together)
    (work, steps_of(c), accuracy, count, true, column, v->memory + v->most * bytes, info);
    if (mpk_failed(mpki_failed(c->ctx))) return mpki_failed(c->ctx);
    for (int32_t k = 0; k < count; k++) {
        const mpki_refine_column *y = &column[k];
        if (!alone) {
            work->last = y->q, work->correction = y->correction;
            finite = MPKI_DISPATCH(an->scalar, column_finite)(an->n, y->x);
        }
        if (!finite)
            return mpki_error(c->ctx, MPK_ERR_NUMERIC, STAGE, c->first + r + k,
                              "solution %d overflows", c->first + r + k + 1);
        if (mpki_lossy(c->fac) && !(work->last.componentwise <= accuracy) &&
            mpk_failed(iterate_column(c, r, work, accuracy, y->x, &before, info)))
            return mpki_failed(c->ctx);
        const int said = work->kernel ? in_range(work, y->x, y->b, &work->last, y->w) : 0;
        if (mpk_failed(mpki_failed(c->ctx))) return mpki_failed(c->ctx);
        const bool others = verdict->solved;
        verdict->solved = true;
        const mpk_status status = mpki_judge(c->ctx, c->fac, work, accuracy, y->x, verdict);
        if (mpk_failed(status)) return status;
        if (work->kernel) tell_consistent(said, verdict->solved, c->first + r + k == 0, info);
        verdict->solved &= others;
        if (mpki_progress(c->ctx, STAGE, (double)(c->first + r + k + 1) / c->all))
            return mpki_error(c->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    return MPK_OK;
}

static mpk_status refine_columns(const mpki_columns *c, mpki_solve_work *work, double accuracy,
                                 mpki_found *found) {
    vectors v;
    if (c->fac->an->n == 0 || c->nrhs == 0) return MPK_OK;
    mpk_status status = make_vectors(c, &v);
    if (!mpk_failed(status) && v.memory)
        status = mpki_refine_share(c->ctx, work, c->options->threads, v.most);
    for (int32_t r = 0; r < c->nrhs && !mpk_failed(status); r += v.most)
        status = refine_some(c, r, c->nrhs - r < v.most ? c->nrhs - r : v.most, &v, work, accuracy,
                             found);
    mpki_release(c->ctx, v.memory);
    mpki_release(c->ctx, v.w);
    return status;
}

mpk_status mpki_refine_on_host(const mpki_columns *c, mpki_found *found) {
    const mpk_analysis *an = c->fac->an;
    const double accuracy = mpki_accuracy(c->options, an->scalar);
    mpki_solve_work work;
    if (mpk_failed(mpki_solve_work_lean(c->ctx, c->fac, c->options->threads, c->nrhs, &work)))
        return mpki_failed(c->ctx);
    mpki_basis basis = {0};
    mpki_turned turned = {0};
    const bool more = has_kernel(c->fac) || mpki_lossy(c->fac) || c->options->condition == MPK_ON;
    mpk_status status = more ? mpki_solve_work_complete(c->ctx, &work) : MPK_OK;
    if (!mpk_failed(status) && c->transposed) status = mpki_solve_work_turn(c->ctx, &work, &turned);
    if (has_kernel(c->fac)) work.kernel = &basis;
    if (!mpk_failed(status))
        status = mpki_apply(&work.m, MPK_PART_ALL, c->nrhs, c->b, c->ldb, c->x, c->ldx);
    if (!mpk_failed(status)) status = refine_columns(c, &work, accuracy, found);
    if (!mpk_failed(status) && c->options->condition == MPK_ON)
        found->info.condition = MPKI_DISPATCH(an->scalar, inverse_norm1)(&work) * mpki_norm1(&work);
    mpki_turned_free(c->ctx, &turned);
    mpki_basis_free(c->ctx, &basis);
    mpki_solve_work_free(c->ctx, &work);
    return status;
}

/* ---- by the engine --------------------------------------------------------------------------- */

static void worst_of(mpk_solve_info *info, const mpki_refined *told) {
    info->componentwise = fmax(info->componentwise, told->componentwise);
    info->normwise = fmax(info->normwise, told->normwise);
    info->relative_residual = fmax(info->relative_residual, told->relative_residual);
    info->unrefined = fmax(info->unrefined, told->unrefined);
    info->correction = fmax(info->correction, told->correction);
    if (told->iterations > info->iterations) info->iterations = told->iterations;
}

/* What an engine's refinement with a singular A needs of the host, made when it is asked for. */
typedef struct helper {
    const mpki_columns *c;
    mpki_solve_work work;
    mpki_basis basis; /* with vectors */
    mpki_basis told;  /* what the engine was told of last */
    bool made, all;   /* work is; basis has those of each zero pivot */
} helper;

static mpk_status make_work(helper *h) {
    const mpki_columns *c = h->c;
    if (h->made) return MPK_OK;
    mpk_status status = mpki_factor_bring(c->ctx, c->fac);
    if (!mpk_failed(status))
        status = mpki_solve_work_make(c->ctx, c->fac, c->options->threads, 1, &h->work);
    h->made = !mpk_failed(status);
    return status;
}

/* mpki_kernel_source.give */
static mpk_status give_kernel(void *self, bool all, bool vectors, mpki_kernel_vectors *out) {
    helper *h = self;
    mpk_status status = MPK_OK;
    if (vectors || !mpki_basis_kept(h->c->fac, all, &h->told)) {
        status = make_work(h);
        if (!mpk_failed(status) && !(h->basis.made && (h->all || !all)))
            status = mpki_basis_make(&h->work, all, &h->basis);
        h->all |= all;
        h->told = h->basis;
    }
    *out = (mpki_kernel_vectors){h->told.stamp, h->told.count, vectors ? h->told.v : NULL};
    return status;
}

/* The verdict on columns 0 .. done - 1 of c, which the engine has refined. */
static mpk_status judge_there(const mpki_columns *c, helper *h, const mpki_reached *reached,
                              int32_t done, double accuracy, mpki_found *found) {
    const mpk_factor *fac = c->fac;
    mpki_verdict *verdict = &found->verdict;
    const int64_t size = (int64_t)mpk_scalar_size(fac->an->scalar), bytes = fac->an->n * size;
    mpk_status status = MPK_OK;
    for (int32_t r = 0; r < done && !mpk_failed(status); r++) {
        const mpki_reached *q = &reached[r];
        h->work.correction = q->correction;
        h->work.last = (mpki_quality){.componentwise = q->componentwise,
                                      .normwise = q->normwise,
                                      .relative = q->relative,
                                      .growth = q->growth,
                                      .rows = q->rows,
                                      .unresolved = q->unresolved,
                                      .missed = q->missed,
                                      .near = q->near};
        const mpki_solve_work numbers = h->work;
        const bool looks = mpki_judge_looks(fac, &numbers.last), others = verdict->solved;
        const char *const x = c->x + r * c->ldx * size;
        void *fetched = NULL;
        if (looks) status = make_work(h);
        h->work.last = numbers.last, h->work.correction = numbers.correction;
        if (looks && !mpk_failed(status) && mpki_is_there(c->ctx, fac->engine, x)) {
            fetched = mpki_fetch(c->ctx, fac->engine, STAGE, x, bytes, bytes, 1);
            if (!fetched) status = mpki_failed(c->ctx);
        }
        verdict->solved = true;
        if (!mpk_failed(status))
            status = mpki_judge(c->ctx, fac, &h->work, accuracy, fetched ? fetched : x, verdict);
        mpki_release(c->ctx, fetched);
        if (has_kernel(fac))
            tell_consistent(mpki_basis_says(&h->told, q->outside), verdict->solved,
                            c->first + r == 0, &found->info);
        verdict->solved &= others;
    }
    return status;
}

mpk_status mpki_refine_on_engine(const mpki_columns *c, mpki_found *found, int32_t *done) {
    const mpk_factor *fac = c->fac;
    const mpki_direct_engine *direct = fac->engine->direct;
    const mpk_scalar scalar = fac->an->scalar;
    const double accuracy = mpki_accuracy(c->options, scalar);
    const bool regular = fac->info.rank == MPK_RANK_FULL && fac->info.inertia.zero == 0;
    helper h = {.c = c};
    mpki_reached each[MPKI_REFINE_TOGETHER];
    const mpki_kernel_source kernel = {.self = &h,
                                       .give = give_kernel,
                                       .steps = MPKI_DEFLATED_STEPS,
                                       .accuracy = MPKI_DEFLATED_ENOUGH * accuracy,
                                       .within = mpki_range_bound(scalar)};
    const mpki_refine_wish wish = {
        .steps = c->options->refine,
        .accuracy = accuracy,
        .doubt = !regular || mpki_regular(fac) ? INFINITY : mpki_large_growth(scalar),
        .large = mpki_large_growth(scalar),
        .lost = mpki_lost_rows(scalar),
        .flat = mpki_default_zero_tolerance(scalar),
        .kernel = has_kernel(fac) ? &kernel : NULL,
        .each = regular ? NULL : each};
    const int32_t most = MPKI_REFINE_TOGETHER;
    mpki_direct_solver *solver = NULL;
    mpk_status status = fac->engine->settle ? fac->engine->settle(c->ctx) : MPK_OK;
    *done = 0;
    if (!mpk_failed(status))
        status =
            direct->solver_make(c->ctx, fac->direct, 1, c->nrhs < most ? c->nrhs : most, &solver);
    while (!mpk_failed(status) && *done < c->nrhs) {
        const mpki_columns rest = mpki_columns_from(c, *done);
        mpki_refined told;
        status = direct->refine(c->ctx, fac->direct, solver, &wish, rest.nrhs, rest.b, rest.ldb,
                                rest.x, rest.ldx, &told);
        if (mpk_failed(status) || told.done == 0) break;
        worst_of(&found->info, &told);
        status = regular ? mpki_judge_step(c->ctx, fac, told.correction, &found->verdict)
                         : judge_there(&rest, &h, each, told.done, accuracy, found);
        if (mpk_failed(status)) break;
        *done += told.done;
        if (mpki_progress(c->ctx, STAGE, (double)*done / c->all) && *done < c->nrhs)
            status = mpki_error(c->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    if (h.made) mpki_solve_work_free(c->ctx, &h.work); /* first, so that the wider solver is kept */
    if (solver) direct->solver_free(&solver);
    mpki_basis_free(c->ctx, &h.basis);
    if (regular)
        found->verdict.solved &=
            mpki_solves(scalar, found->info.componentwise, found->info.relative_residual);
    return status;
}
