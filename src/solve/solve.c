/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_solve: the first solution, refinement, the verdict; and applying parts of a factor. */
#include "../core/floats.h"
#include "iterate.h"
#include "judge.h"
#include "../core/sizes.h"
#include "../factor/lend.h"
#include "../problem/columns.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "solve";

static mpk_status check(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                        int64_t ldb, const void *x, int64_t ldx) {
    if (!fac) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor is NULL");
    if (mpk_failed(mpki_factor_usable(ctx, STAGE, fac))) return mpki_failed(ctx);
    if (!fac->valid)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor holds no factorization");
    const mpki_sides sides = {.n = fac->an->n,
                              .nrhs = nrhs,
                              .size = mpk_scalar_size(fac->an->scalar),
                              .b = b,
                              .ldb = ldb,
                              .x = x,
                              .ldx = ldx,
                              .may_be_same = true};
    return mpki_check_sides(ctx, STAGE, &sides);
}

/* ---- with refinement ------------------------------------------------------------------------- */

/* A caller's columns and what is to be done with them. */
typedef struct columns {
    mpk_context *ctx;
    const mpk_factor *fac;
    const mpk_options *options;
    int32_t nrhs;
    const char *b;
    char *x;
    int64_t ldb, ldx;
} columns;

static mpk_status check_finite(const columns *c) {
    const mpk_analysis *an = c->fac->an;
    const size_t size = mpk_scalar_size(an->scalar);
    for (int32_t r = 0; an->n > 0 && r < c->nrhs; r++) {
        const int64_t bad =
            mpki_first_nonfinite(an->scalar, an->n, c->b + (size_t)(r * c->ldb) * size);
        if (bad >= 0)
            return mpki_error(c->ctx, MPK_ERR_INPUT, STAGE, bad,
                              "right-hand side %d is not finite in row %lld", r + 1,
                              (long long)bad + 1);
    }
    return MPK_OK;
}

/* The first solve overflowed on its way: solve once more with b scaled near 1. */
static void solve_shifted(const columns *c, mpki_solve_work *work, void *x) {
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

static mpk_status refine_columns(const columns *c, mpki_solve_work *work, double accuracy,
                                 mpk_solve_info *info, mpki_verdict *verdict) {
    const mpk_analysis *an = c->fac->an;
    const size_t size = mpk_scalar_size(an->scalar);
    for (int32_t r = 0; an->n > 0 && r < c->nrhs; r++) {
        memcpy(work->b, c->b + (size_t)(r * c->ldb) * size, (size_t)an->n * size);
        void *x = c->x + (size_t)(r * c->ldx) * size;
        if (!MPKI_DISPATCH(an->scalar, column_finite)(an->n, x)) solve_shifted(c, work, x);
        if (!MPKI_DISPATCH(an->scalar, refine)(work, c->options->refine, accuracy, x, info))
            return mpki_error(c->ctx, MPK_ERR_NUMERIC, STAGE, r, "solution %d overflows", r + 1);
        if (mpk_failed(mpki_failed(c->ctx))) return mpki_failed(c->ctx);
        const int said = work->kernel ? in_range(work) : 0;
        const bool others = verdict->solved;
        verdict->solved = true;
        const mpk_status status = mpki_judge(c->ctx, c->fac, work, accuracy, x, verdict);
        if (mpk_failed(status)) return status;
        if (work->kernel) tell_consistent(said, verdict->solved, r == 0, info);
        verdict->solved &= others;
        if (mpki_progress(c->ctx, STAGE, (double)(r + 1) / c->nrhs))
            return mpki_error(c->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    return MPK_OK;
}

static mpk_status solve_directly(const columns *c, mpk_solve_info *out) {
    const double start_s = mpki_now_s();
    const mpk_analysis *an = c->fac->an;
    const double accuracy = mpki_accuracy(c->options, an->scalar);
    mpk_solve_info info = {0};
    mpki_solve_work work;
    mpki_verdict verdict = MPKI_VERDICT;
    if (mpk_failed(mpki_solve_work_make(c->ctx, c->fac, c->options->threads, c->nrhs, &work)))
        return mpki_failed(c->ctx);
    mpki_basis basis = {0};
    mpk_status status = MPK_OK;
    const mpk_rank rank = c->fac->info.rank;
    if (c->fac->direct && (rank == MPK_RANK_NUMERICAL || rank == MPK_RANK_STRUCTURAL)) {
        work.kernel = &basis;
        status = mpki_basis_make(&work, false, &basis);
    }
    if (!mpk_failed(status))
        status = mpki_apply(&work.m, MPK_PART_ALL, c->nrhs, c->b, c->ldb, c->x, c->ldx);
    if (!mpk_failed(status)) status = refine_columns(c, &work, accuracy, &info, &verdict);
    if (!mpk_failed(status) && c->options->condition == MPK_ON)
        info.condition = MPKI_DISPATCH(an->scalar, inverse_norm1)(&work) * c->fac->norm_inf;
    mpki_basis_free(c->ctx, &basis);
    mpki_solve_work_free(c->ctx, &work);
    if (mpk_failed(status)) return status;
    info.time_s = mpki_now_s() - start_s;
    info.solved = verdict.solved;
    if (out) *out = info;
    return mpki_tell_verdict(c->ctx, c->fac, &info, accuracy, &verdict);
}

static void copy_columns(size_t bytes, int32_t nrhs, const char *from, size_t from_step, char *to,
                         size_t to_step) {
    for (int32_t r = 0; bytes > 0 && r < nrhs; r++)
        memcpy(to + (size_t)r * to_step, from + (size_t)r * from_step, bytes);
}

/* The same where b or x lies in the memory of the factor's device: through copies on the host,
 * which verdict and refinement need anyway. */
static mpk_status solve_there(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                              int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                              mpk_solve_info *out, mpki_record *record) {
    const mpki_engine *engine = fac->engine;
    const int64_t n = fac->an->n, size = (int64_t)mpk_scalar_size(fac->an->scalar);
    const bool b_there = mpki_is_there(ctx, engine, b), x_there = mpki_is_there(ctx, engine, x);
    mpk_status status = MPK_OK;
    void *fetched = NULL, *found = NULL;
    if (b_there) fetched = mpki_fetch(ctx, engine, STAGE, b, n * size, ldb * size, nrhs);
    if (x_there) found = mpki_alloc(ctx, STAGE, n * nrhs, (size_t)size);
    if ((b_there && !fetched) || (x_there && !found)) status = mpki_failed(ctx);
    if (!mpk_failed(status))
        status = mpki_solve(ctx, fac, nrhs, fetched ? fetched : b, fetched ? n : ldb,
                            found ? found : x, found ? n : ldx, options, out, record);
    if (!mpk_failed(status) && found) {
        const mpk_status copied =
            engine->copy(ctx, x, ldx * size, found, n * size, n * size, nrhs, true);
        if (mpk_failed(copied)) status = copied;
    }
    mpki_release(ctx, fetched);
    mpki_release(ctx, found);
    return status;
}

static void worst_of(mpk_solve_info *info, const mpki_refined *told) {
    info->componentwise = fmax(info->componentwise, told->componentwise);
    info->normwise = fmax(info->normwise, told->normwise);
    info->relative_residual = fmax(info->relative_residual, told->relative_residual);
    info->unrefined = fmax(info->unrefined, told->unrefined);
    if (told->iterations > info->iterations) info->iterations = told->iterations;
}

/* Right-hand sides of a factor in which nothing is in doubt, refined by the engine in its memory,
 * some at a time. *done [out] how many, the first ones; the next ones have to go through the host,
 *                             and of these b is as it was. */
static mpk_status refine_there(const columns *c, mpk_solve_info *info, int32_t *done) {
    const double start_s = mpki_now_s();
    const mpk_factor *fac = c->fac;
    const mpki_direct_engine *direct = fac->engine->direct;
    const mpk_scalar scalar = fac->an->scalar;
    const int64_t size = (int64_t)mpk_scalar_size(scalar);
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
        mpki_refined told;
        status = direct->refine(c->ctx, fac->direct, solver, &wish, c->nrhs - *done,
                                c->b + *done * c->ldb * size, c->ldb, c->x + *done * c->ldx * size,
                                c->ldx, &told);
        if (mpk_failed(status) || told.done == 0) break;
        worst_of(info, &told);
        *done += told.done;
        if (mpki_progress(c->ctx, STAGE, (double)*done / c->nrhs))
            status = mpki_error(c->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    if (solver) direct->solver_free(&solver);
    info->time_s = mpki_now_s() - start_s;
    return status;
}

/* The same for all of them: what cannot be done there goes through the host. *out is set if nothing
 * fails. *done [out] false: none could. */
static mpk_status solve_by_engine(const columns *given, mpk_solve_info *out, mpki_record *record,
                                  bool *done) {
    mpk_context *ctx = given->ctx;
    const mpki_engine *engine = given->fac->engine;
    const int64_t n = given->fac->an->n, size = (int64_t)mpk_scalar_size(given->fac->an->scalar);
    const bool x_there = mpki_is_there(ctx, engine, given->x);
    mpk_solve_info info = {0}, rest = {0};
    columns c = *given;
    void *original = NULL;
    int32_t count = 0;
    if (c.b == c.x &&
        c.nrhs > MPKI_REFINE_TOGETHER) { /* what is solved is lost, should others fail */
        if (x_there)
            original = mpki_fetch(ctx, engine, STAGE, c.b, n * size, c.ldb * size, c.nrhs);
        else if ((original = mpki_alloc(ctx, STAGE, n * c.nrhs, (size_t)size)))
            copy_columns((size_t)(n * size), c.nrhs, c.b, (size_t)(c.ldb * size), original,
                         (size_t)(n * size));
        if (!original) return mpki_failed(ctx);
        c.b = original, c.ldb = n;
    }
    mpk_status status = refine_there(&c, &info, &count);
    *done = count > 0;
    if (!mpk_failed(status) && count > 0 && count < c.nrhs) {
        mpki_clear_error(ctx);
        status = mpki_solve(ctx, c.fac, c.nrhs - count, c.b + count * c.ldb * size, c.ldb,
                            c.x + count * c.ldx * size, c.ldx, c.options, &rest, record);
        const mpki_refined told = {.componentwise = rest.componentwise,
                                   .normwise = rest.normwise,
                                   .unrefined = rest.unrefined,
                                   .relative_residual = rest.relative_residual,
                                   .iterations = rest.iterations};
        info.correction = fmax(info.correction, rest.correction);
        worst_of(&info, &told);
        info.time_s += rest.time_s;
    }
    if (original && (mpk_failed(status) || !*done)) { /* a call that fails changes nothing */
        if (!x_there)
            copy_columns((size_t)(n * size), c.nrhs, original, (size_t)(n * size), c.x,
                         (size_t)(c.ldx * size));
        else
            (void)engine->copy(ctx, c.x, c.ldx * size, original, n * size, n * size, c.nrhs, true);
    }
    mpki_release(ctx, original);
    if (mpk_failed(status) || !*done) return status;
    const mpki_verdict verdict = MPKI_VERDICT;
    info.solved = mpki_solves(c.fac->an->scalar, info.componentwise, info.relative_residual) &&
                  (count == c.nrhs || rest.solved);
    if (out) *out = info;
    return status == MPK_OK
               ? mpki_tell_verdict(ctx, c.fac, &info, mpki_accuracy(c.options, c.fac->an->scalar),
                                   &verdict)
               : status;
}

/* Has refine_there() all that this solve asks for? */
static bool plain(const mpk_factor *fac, const mpk_options *options) {
    const mpk_factor_info *info = &fac->info;
    return fac->direct && fac->engine->direct->refine && !mpki_wants_krylov(fac, options) &&
           options->condition != MPK_ON && info->rank == MPK_RANK_FULL && info->inertia.zero == 0 &&
           info->perturbed == 0 && !mpki_skew_of(fac); /* the device has no other A than the mean */
}

mpk_status mpki_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                      int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                      mpk_solve_info *out, mpki_record *record) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_options full;
    mpk_status status = check(ctx, fac, nrhs, b, ldb, x, ldx);
    if (!mpk_failed(status)) status = mpki_options_resolve(ctx, options, &full);
    if (mpk_failed(status)) return status;
    const bool there = nrhs > 0 && fac->an->n > 0;
    const bool b_there = there && mpki_is_there(ctx, fac->engine, b);
    const bool x_there = there && mpki_is_there(ctx, fac->engine, x);
    columns c = {ctx, fac, &full, nrhs, b, x, ldb, ldx};
    if (there && plain(fac, &full)) {
        bool done = false;
        /* the first of several blocks is written before the last is read */
        if (!b_there && nrhs > MPKI_REFINE_TOGETHER && mpk_failed(check_finite(&c)))
            return mpki_failed(ctx);
        status = solve_by_engine(&c, out, record, &done);
        if (mpk_failed(status) || done) return status;
        mpki_clear_error(ctx); /* no room for it there */
    }
    if (b_there || x_there)
        return solve_there(ctx, fac, nrhs, b, ldb, x, ldx, options, out, record);
    status = check_finite(&c);
    if (!mpk_failed(status)) status = mpki_factor_bring(ctx, fac);
    if (mpk_failed(status)) return status;
    const size_t size = mpk_scalar_size(fac->an->scalar), bytes = (size_t)fac->an->n * size;
    char *original = NULL;
    if (b == x && nrhs > 0) { /* the solution overwrites b, and refinement still needs it */
        original = mpki_alloc(ctx, STAGE, (int64_t)fac->an->n * nrhs, size);
        if (!original) return mpki_failed(ctx);
        copy_columns(bytes, nrhs, b, (size_t)ldb * size, original, bytes);
        c.b = original;
        c.ldb = fac->an->n;
    }
    status = mpki_wants_krylov(fac, &full)
                 ? mpki_iterate(ctx, fac, &full, nrhs, c.b, c.ldb, x, ldx, out, record)
                 : solve_directly(&c, out);
    if (original && mpk_failed(status)) /* a call that fails changes nothing */
        copy_columns(bytes, nrhs, original, bytes, x, (size_t)ldb * size);
    mpki_release(ctx, original);
    return status;
}

mpk_status mpk_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                     int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                     mpk_solve_info *info) {
    MPKI_CALM;
    return mpki_solve(ctx, fac, nrhs, b, ldb, x, ldx, options, info, NULL);
}

int mpk_solves(mpk_scalar scalar, double componentwise, double rows) {
    return mpki_solves(scalar, componentwise, rows);
}

mpk_status mpk_solve_part(mpk_context *ctx, const mpk_factor *fac, mpk_part part, int32_t nrhs,
                          void *x, int64_t ldx) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = check(ctx, fac, nrhs, x, ldx, x, ldx);
    if (mpk_failed(status)) return status;
    if (part < MPK_PART_L || part > MPK_PART_ABS)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, part, "there is no part %d", (int)part);
    if (nrhs == 0 || fac->an->n == 0) return MPK_OK;
    /* as mpk_solve does before it refines, with the factorization's threads */
    const int threads = part == MPK_PART_ALL ? fac->options.threads : 1;
    const bool there = mpki_is_there(ctx, fac->engine, x);
    mpki_application m;
    status = there ? fac->engine->settle(ctx) : MPK_OK;
    if (!mpk_failed(status)) status = mpki_apply_make(ctx, fac, threads, nrhs, &m);
    if (mpk_failed(status)) return status;
    if (part <= MPK_PART_LT) status = mpki_apply_by_pivots(&m);
    if (!mpk_failed(status)) status = mpki_apply(&m, part, nrhs, x, ldx, x, ldx);
    mpki_apply_free(&m);
    if (there && !mpk_failed(status)) status = mpki_worse(status, fac->engine->settle(ctx));
    return status;
}
