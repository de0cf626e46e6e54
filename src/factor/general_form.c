/* SPDX-License-Identifier: BSD-3-Clause */
/* The direct factor of a general matrix, L U by the multifrontal engine: factorizes, gives the
 * verdict on the rank, and solves with A and its transpose. */
#include "../problem/columns.h"
#include "direct_numbers.h"
#include "rank.h"

#include <math.h>

static const char STAGE[] = "factorize";

/* ---- the rank -------------------------------------------------------------------------------- */

/* What is left of A v after scaling, roughly and in each row, for the vector that the zero pivots
 * show; once more with less of what A leaves of it, where that is much. */
static mpk_status flat(mpk_factor *fac, mpki_solve_work *work, void *v, double *eta) {
    const mpk_scalar scalar = fac->an->scalar;
    const int32_t n = fac->an->n;
    const double bound = mpki_default_zero_tolerance(scalar);
    mpk_status status = fac->engine->direct->null_vector(work->m.work, false, v);
    if (mpk_failed(status)) return status;
    *eta = MPKI_DISPATCH(scalar, flatness)(fac->scale, bound, MPKI_FLATNESS_MOST, work, v).eta;
    if (*eta <= bound) return MPK_OK;
    MPKI_DISPATCH(scalar, flatness)
    (fac->scale, INFINITY, MPKI_FLATNESS_MOST, work, v); /* work->r := -A v */
    status = mpki_apply(&work->m, MPK_PART_ALL, 1, work->r, n, work->r, n);
    if (mpk_failed(status)) return status;
    MPKI_DISPATCH(scalar, column_add)(n, 0, work->r, v);
    *eta = MPKI_DISPATCH(scalar, flatness)(fac->scale, bound, MPKI_FLATNESS_MOST, work, v).eta;
    return MPK_OK;
}

static mpk_status find_rank(mpk_factor *fac) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    mpk_factor_info *info = &fac->info;
    const int32_t lacking = an->info.structural_rank < 0 ? 0 : an->n - an->info.structural_rank;
    info->rank = MPK_RANK_FULL;
    if (info->inertia.zero == 0) return MPK_OK;
    mpki_solve_work work;
    double eta = INFINITY;
    mpk_status status = mpki_solve_work_make(ctx, fac, fac->options.threads, 1, &work);
    if (mpk_failed(status)) return status;
    status = flat(fac, &work, work.b, &eta);
    mpki_solve_work_free(ctx, &work);
    if (mpk_failed(status)) return status;
    if (lacking > 0 && info->inertia.zero >= lacking)
        info->rank = MPK_RANK_STRUCTURAL;
    else if (eta <= mpki_default_zero_tolerance(an->scalar))
        info->rank = MPK_RANK_NUMERICAL, info->rank_bound = eta;
    else
        info->rank = MPK_RANK_UNDECIDED;
    return MPK_OK;
}

/* ---- the verbs ------------------------------------------------------------------------------- */

static mpk_status outcome(const mpk_factor *fac) {
    const mpk_factor_info *info = &fac->info;
    if (info->rank == MPK_RANK_STRUCTURAL)
        return mpki_error(fac->ctx, MPK_SINGULAR, STAGE, info->inertia.zero,
                          "structurally singular: at most %d of %d rows are independent",
                          fac->an->info.structural_rank, fac->an->n);
    if (info->rank == MPK_RANK_NUMERICAL)
        return mpki_error(fac->ctx, MPK_SINGULAR, STAGE, info->inertia.zero,
                          "singular: %lld zero pivots of %d, and (A + E) v = 0 for a vector v with "
                          "|E| <= %.1e |A| after scaling",
                          (long long)info->inertia.zero, fac->an->n, info->rank_bound);
    if (info->perturbed > 0)
        return mpki_error(fac->ctx, MPK_PERTURBED, STAGE, info->perturbed,
                          "%lld pivots of %d were replaced by static_shift = %.3g, relative to the "
                          "largest entry after scaling",
                          (long long)info->perturbed, fac->an->n, fac->options.static_shift);
    return MPK_OK;
}

static mpk_status factorize(mpk_factor *fac, bool is_new) {
    const mpk_analysis *an = fac->an;
    mpki_numeric_result result;
    mpk_status status = MPK_OK;
    (void)is_new;
    if (fac->options.precision == MPK_PRECISION_SINGLE &&
        mpki_factor_scalar(true, an) != an->scalar)
        return mpki_error(fac->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "the direct factor of a matrix that is not symmetric has no precision = "
                          "single: take double");
    if (fac->options.low_rank_tolerance > 0)
        return mpki_error(fac->ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "the direct factor of a matrix that is not symmetric is not kept in low "
                          "rank: low_rank_tolerance = 0");
    if (!fac->direct) {
        const mpki_tree_view tree = mpki_tree_view_of(an);
        status = fac->engine->direct->make(fac->ctx, &tree, &fac->direct);
    }
    if (!mpk_failed(status)) status = mpki_factorize_once(fac, NULL, &result);
    if (mpk_failed(status)) return status;
    mpki_factor_describe(fac, &result);
    fac->info.inertia.positive = 0; /* it has none: zero pivots are counted alone */
    fac->info.stages = 1;
    status = find_rank(fac);
    return mpk_failed(status) ? status : outcome(fac);
}

static int64_t bytes(const mpk_factor *fac) {
    return fac->direct ? fac->engine->direct->bytes(fac->direct) : 0;
}

static void end(mpk_factor *fac) {
    fac->engine->direct->free(&fac->direct);
}

static mpk_status get(const mpk_factor *fac, mpk_quantity what, void *out) {
    return fac->engine->direct->get(fac->direct, what, out);
}

static bool symmetric(const mpk_factor *fac) {
    (void)fac;
    return false;
}

static mpk_status apply_make(mpk_context *ctx, const mpk_factor *fac, int threads, int32_t columns,
                             void **work) {
    mpki_direct_solver *solver = NULL;
    const mpk_status status =
        fac->engine->direct->solver_make(ctx, fac->direct, threads, columns, &solver);
    *work = solver;
    return status;
}

static void apply_free(mpk_context *ctx, const mpk_factor *fac, void **work) {
    mpki_direct_solver *solver = *work;
    (void)ctx;
    fac->engine->direct->solver_free(&solver);
    *work = NULL;
}

static mpk_status apply(mpk_context *ctx, const mpk_factor *fac, void *work, mpk_part part,
                        int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx) {
    if (part != MPK_PART_ALL)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, "solve", part,
                          "the direct factor of a matrix that is not symmetric, L U, is applied as "
                          "a whole: MPK_PART_ALL");
    return fac->engine->direct->apply(work, part, nrhs, b, ldb, x, ldx);
}

static mpk_status transposed(const mpk_factor *fac, void *work, int32_t nrhs, const void *b,
                             int64_t ldb, void *x, int64_t ldx) {
    return fac->engine->direct->transposed(work, nrhs, b, ldb, x, ldx);
}

const mpki_form mpki_general_form = {.exact = true,
                                     .factorize = factorize,
                                     .bytes = bytes,
                                     .free = end,
                                     .get = get,
                                     .symmetric = symmetric,
                                     .apply_make = apply_make,
                                     .apply_free = apply_free,
                                     .apply = apply,
                                     .transposed = transposed};
