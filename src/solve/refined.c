/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_solve by a first solution and refinement: on the host, and by the engine. */
#include "iterate.h"
#include "../factor/turned.h"
#include "../problem/columns.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

/* ---- on the host ----------------------------------------------------------------------------- */

/* The first solve overflowed on its way: solve once more with b scaled near 1. */
static void solve_shifted(const mpki_columns *c, mpki_solve_work *work, void *x) {
    const mpk_analysis *an = c->fac->an;
    const double most = MPKI_DISPATCH(an->scalar, column_largest)(an->n, work->b);
    int exponent;
    if (!(most > 0)) return;
    frexp(most, &exponent);
    memcpy(x, work->b, (size_t)an->n * mpk_scalar_size(an->scalar));
    MPKI_DISPATCH(an->scalar, column_shift)(an->n, -exponent, x);
    mpki_apply_inverse(work, x);
    MPKI_DISPATCH(an->scalar, column_shift)(an->n, exponent, x);
}

/* Is b in A's range, by the vectors of the kernel that there are? -1: one is against it; 1: all of
 * the kernel, or a sum of it, is not; 0: not known. work->w is of the last x. */
static int in_range(const mpki_solve_work *work) {
    const mpk_problem_view *a = &work->system.a;
    const mpk_factor *fac = work->m.fac;
    const bool symmetric = a->scalar >= MPK_C && a->symmetry == MPK_SYMMETRIC;
    const bool is = MPKI_DISPATCH(a->scalar, consistent)(a->n, fac->scale, symmetric, work->kernel,
                                                         work->b, work->w);
    return !is ? -1 : work->kernel->whole || work->kernel->probed;
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
    return c->fac->narrow && c->options->refine < LEAST ? LEAST : c->options->refine;
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

static mpk_status refine_columns(const mpki_columns *c, mpki_solve_work *work, double accuracy,
                                 mpki_found *found) {
    mpk_solve_info *info = &found->info;
    mpki_verdict *verdict = &found->verdict;
    const mpk_analysis *an = c->fac->an;
    const size_t size = mpk_scalar_size(an->scalar);
    for (int32_t r = 0; an->n > 0 && r < c->nrhs; r++) {
        memcpy(work->b, c->b + (size_t)(r * c->ldb) * size, (size_t)an->n * size);
        void *x = c->x + (size_t)(r * c->ldx) * size;
        const mpk_solve_info before = *info;
        if (!MPKI_DISPATCH(an->scalar, column_finite)(an->n, x)) solve_shifted(c, work, x);
        if (!MPKI_DISPATCH(an->scalar, refine)(work, steps_of(c), accuracy, x, info))
            return mpki_error(c->ctx, MPK_ERR_NUMERIC, STAGE, c->first + r, "solution %d overflows",
                              c->first + r + 1);
        if (mpk_failed(mpki_failed(c->ctx))) return mpki_failed(c->ctx);
        if (c->fac->narrow && !(work->last.componentwise <= accuracy) &&
            mpk_failed(iterate_column(c, r, work, accuracy, x, &before, info)))
            return mpki_failed(c->ctx);
        const int said = work->kernel ? in_range(work) : 0;
        const bool others = verdict->solved;
        verdict->solved = true;
        const mpk_status status = mpki_judge(c->ctx, c->fac, work, accuracy, x, verdict);
        if (mpk_failed(status)) return status;
        if (work->kernel) tell_consistent(said, verdict->solved, r == 0, info);
        verdict->solved &= others;
        if (mpki_progress(c->ctx, STAGE, (double)(c->first + r + 1) / c->all))
            return mpki_error(c->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    return MPK_OK;
}

mpk_status mpki_refine_on_host(const mpki_columns *c, mpki_found *found) {
    const mpk_analysis *an = c->fac->an;
    const double accuracy = mpki_accuracy(c->options, an->scalar);
    mpki_solve_work work;
    if (mpk_failed(mpki_solve_work_make(c->ctx, c->fac, c->options->threads, c->nrhs, &work)))
        return mpki_failed(c->ctx);
    mpki_basis basis = {0};
    mpki_turned turned = {0};
    mpk_status status = c->transposed ? mpki_solve_work_turn(c->ctx, &work, &turned) : MPK_OK;
    const mpk_rank rank = c->fac->info.rank;
    const bool bases = c->fac->direct && an->symmetry != MPK_GENERAL;
    if (!mpk_failed(status) && bases &&
        (rank == MPK_RANK_NUMERICAL || rank == MPK_RANK_STRUCTURAL)) {
        work.kernel = &basis;
        status = mpki_basis_make(&work, false, &basis);
    }
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
    if (told->iterations > info->iterations) info->iterations = told->iterations;
}

mpk_status mpki_refine_on_engine(const mpki_columns *c, mpki_found *found, int32_t *done) {
    const mpk_factor *fac = c->fac;
    const mpki_direct_engine *direct = fac->engine->direct;
    const mpk_scalar scalar = fac->an->scalar;
    const mpki_refine_wish wish = {
        .steps = c->options->refine,
        .accuracy = mpki_accuracy(c->options, scalar),
        .doubt = mpki_regular(fac) ? INFINITY : mpki_large_growth(scalar), /* as judge.c */
        .flat = INFINITY};                                                 /* then the host looks */
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
        *done += told.done;
        if (mpki_progress(c->ctx, STAGE, (double)*done / c->all))
            status = mpki_error(c->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    if (solver) direct->solver_free(&solver);
    found->verdict.solved &=
        mpki_solves(scalar, found->info.componentwise, found->info.relative_residual);
    return status;
}
