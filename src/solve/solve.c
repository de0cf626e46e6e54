/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_solve: the plan, who carries it out, the verdict; and applying parts of a factor. */
#include "iterate.h"
#include "../core/floats.h"
#include "../core/sizes.h"
#include "../factor/lend.h"

#include <string.h>

static const char STAGE[] = "solve";

static mpk_status check(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                        int64_t ldb, const void *x, int64_t ldx) {
    if (!fac) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor is NULL");
    if (mpk_failed(mpki_factor_usable(ctx, STAGE, fac))) return mpki_failed(ctx);
    if (!fac->valid)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor holds no factorization");
    if (mpk_failed(mpki_factor_whole(ctx, STAGE, fac))) return mpki_failed(ctx);
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

/* ---- the guard ------------------------------------------------------------------------------- */

static int64_t bytes_of(const mpki_columns *c) { /* of one */
    return c->fac->an->n * (int64_t)mpk_scalar_size(c->fac->an->scalar);
}

static int64_t step_of(const mpki_columns *c, int64_t ld) {
    return ld * (int64_t)mpk_scalar_size(c->fac->an->scalar);
}

static void copy_columns(const mpki_columns *c, const char *from, int64_t from_step, char *to,
                         int64_t to_step) {
    const size_t bytes = (size_t)bytes_of(c);
    for (int32_t r = 0; bytes > 0 && r < c->nrhs; r++)
        memcpy(to + r * to_step, from + r * from_step, bytes);
}

/* A copy of b where x is written over it: solves read it, and a call that fails puts it back. */
typedef struct guard {
    mpki_columns of; /* the caller's */
    bool there;      /* in the device's memory */
    char *b;         /* the copy, in host memory; NULL: none was needed */
} guard;

/* c->b := a copy of itself */
static mpk_status keep_b(mpki_columns *c, bool there, guard *g) {
    const mpk_analysis *an = c->fac->an;
    const int64_t bytes = bytes_of(c), step = step_of(c, c->ldb);
    *g = (guard){.of = *c, .there = there};
    if (there)
        g->b = mpki_fetch(c->ctx, c->fac->engine, STAGE, c->b, bytes, step, c->nrhs);
    else
        g->b = mpki_alloc(c->ctx, STAGE, (int64_t)an->n * c->nrhs, mpk_scalar_size(an->scalar));
    if (!g->b) return mpki_failed(c->ctx);
    if (!there) copy_columns(c, c->b, step, g->b, bytes);
    c->b = g->b, c->ldb = an->n;
    return MPK_OK;
}

static void put_back(const guard *g) {
    const mpki_columns *c = &g->of;
    const int64_t bytes = bytes_of(c), step = step_of(c, c->ldb);
    if (g->there)
        (void)c->fac->engine->copy(c->ctx, c->x, step, g->b, bytes, bytes, c->nrhs, true);
    else
        copy_columns(c, g->b, bytes, c->x, step);
}

/* ---- who carries a plan out ------------------------------------------------------------------ */

/* done [out] how many columns, the first ones; c->b may become a copy of itself */
static mpk_status run_on_engine(mpki_columns *c, const mpki_plan *p, guard *g, mpki_found *found,
                                int32_t *done) {
    mpk_status status = MPK_OK;
    if (p->blocks && !p->b_there) status = mpki_check_finite(c);
    if (!mpk_failed(status) && p->keeps_b) status = keep_b(c, p->b_there, g);
    if (!mpk_failed(status)) status = mpki_refine_on_engine(c, found, done);
    if (!mpk_failed(status)) mpki_clear_error(c->ctx); /* no room for more of them there */
    return status;
}

/* Wherever they lie: through copies where that is the device's memory, which verdict and refinement
 * need anyway. */
static mpk_status run_on_host(mpki_columns c, const mpki_plan *p, guard *g, mpki_found *found,
                              mpki_record *record, const mpki_refiner *refiner) {
    mpk_context *ctx = c.ctx;
    const mpki_engine *engine = c.fac->engine;
    const int64_t n = c.fac->an->n, bytes = bytes_of(&c), x_step = step_of(&c, c.ldx);
    const bool b_there = p->b_there && !g->b;
    char *const x = c.x;
    void *fetched = NULL, *solution = NULL;
    mpk_status status = MPK_OK;
    if (b_there) {
        fetched = mpki_fetch(ctx, engine, STAGE, c.b, bytes, step_of(&c, c.ldb), c.nrhs);
        c.b = fetched, c.ldb = n;
    }
    if (p->x_there) {
        solution = mpki_alloc(ctx, STAGE, n * c.nrhs, mpk_scalar_size(c.fac->an->scalar));
        c.x = solution, c.ldx = n;
    }
    if ((b_there && !fetched) || (p->x_there && !solution)) status = mpki_failed(ctx);
    if (!mpk_failed(status)) status = mpki_check_finite(&c);
    if (!mpk_failed(status)) status = mpki_factor_bring(ctx, c.fac);
    if (!mpk_failed(status) && c.b == c.x && c.nrhs > 0) status = keep_b(&c, false, g);
    if (!mpk_failed(status))
        status =
            p->iterates ? mpki_iterate(&c, found, record, refiner) : mpki_refine_on_host(&c, found);
    if (!mpk_failed(status) && solution)
        status = engine->copy(ctx, x, x_step, solution, bytes, bytes, c.nrhs, true);
    mpki_release(ctx, fetched);
    mpki_release(ctx, solution);
    return status;
}

/* What a solve does beside its columns. */
typedef struct manner {
    mpki_record *record;
    const mpki_refiner *refiner;
    bool transposed; /* of a general matrix */
} manner;

static mpk_status solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                        int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                        mpk_solve_info *out, const manner *how) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    const double start_s = mpki_now_s();
    mpki_clear_error(ctx);
    mpk_options full;
    mpk_status status = check(ctx, fac, nrhs, b, ldb, x, ldx);
    if (!mpk_failed(status)) status = mpki_options_resolve(ctx, options, &full);
    if (mpk_failed(status)) return status;
    mpki_columns c = {ctx, fac, &full, 0, nrhs, nrhs, b, x, ldb, ldx, how->transposed};
    if (how->transposed && mpki_wants_krylov(fac, &full))
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "a transpose of a matrix that is not symmetric is solved with by method "
                          "ldlt and refinement, not by a Krylov method");
    const mpki_plan plan = mpki_plan_of(&c);
    mpki_found found = {.verdict = MPKI_VERDICT};
    guard kept = {.b = NULL};
    int32_t done = 0;
    if (plan.by_engine > 0) status = run_on_engine(&c, &plan, &kept, &found, &done);
    if (!mpk_failed(status) && (done < nrhs || plan.by_engine == 0))
        status = run_on_host(mpki_columns_from(&c, done), &plan, &kept, &found, how->record,
                             how->refiner);
    if (kept.b && mpk_failed(status)) put_back(&kept); /* a call that fails changes nothing */
    mpki_release(ctx, kept.b);
    if (mpk_failed(status)) return status;
    found.info.time_s = mpki_now_s() - start_s;
    found.info.solved = found.verdict.solved;
    if (out) *out = found.info;
    return mpki_tell_verdict(ctx, fac, &found.info, mpki_accuracy(&full, fac->an->scalar),
                             &found.verdict);
}

mpk_status mpki_solve_refining(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                               int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                               mpk_solve_info *out, mpki_record *record,
                               const mpki_refiner *refiner) {
    const manner how = {record, refiner, false};
    return solve(ctx, fac, nrhs, b, ldb, x, ldx, options, out, &how);
}

mpk_status mpki_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                      int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                      mpk_solve_info *out, mpki_record *record) {
    return mpki_solve_refining(ctx, fac, nrhs, b, ldb, x, ldx, options, out, record, NULL);
}

mpk_status mpk_solve(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                     int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                     mpk_solve_info *info) {
    MPKI_CALM;
    return mpki_solve(ctx, fac, nrhs, b, ldb, x, ldx, options, info, NULL);
}

/* Conjugates of all entries, from one place to another or in place. */
static void conjugate(mpk_scalar scalar, int32_t n, int32_t nrhs, const char *from, int64_t from_ld,
                      char *to, int64_t to_ld) {
    const size_t size = mpk_scalar_size(scalar);
    for (int32_t r = 0; n > 0 && r < nrhs; r++) {
        char *y = to + (size_t)(r * to_ld) * size;
        if (to != from) memcpy(y, from + (size_t)(r * from_ld) * size, (size_t)n * size);
        for (int64_t i = 1; i < 2 * (int64_t)n; i += 2) {
            if (scalar == MPK_C)
                ((float *)y)[i] = -((float *)y)[i];
            else
                ((double *)y)[i] = -((double *)y)[i];
        }
    }
}

/* op(A) X = B by conj(op(A)) conj(X) = conj(B). */
static mpk_status solve_conjugated(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs,
                                   const void *b, int64_t ldb, void *x, int64_t ldx,
                                   const mpk_options *options, mpk_solve_info *info,
                                   const manner *how) {
    const int32_t n = fac->an->n;
    const mpk_scalar scalar = fac->an->scalar;
    if (mpki_is_there(ctx, fac->engine, b) || mpki_is_there(ctx, fac->engine, x))
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          "right-hand sides in a device's memory are not conjugated there");
    char *copy = mpki_alloc(ctx, STAGE, (int64_t)n * nrhs, mpk_scalar_size(scalar));
    if (!copy) return mpki_failed(ctx);
    conjugate(scalar, n, nrhs, b, ldb, copy, n);
    const mpk_status status = solve(ctx, fac, nrhs, copy, n, copy, n, options, info, how);
    if (!mpk_failed(status)) conjugate(scalar, n, nrhs, copy, n, x, ldx);
    mpki_release(ctx, copy);
    return status;
}

mpk_status mpk_solve_transposed(mpk_context *ctx, const mpk_factor *fac, mpk_transpose transpose,
                                int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx,
                                const mpk_options *options, mpk_solve_info *info) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (transpose != MPK_TRANSPOSE && transpose != MPK_CONJUGATE_TRANSPOSE)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, (int64_t)transpose,
                          "there is no transpose %d", (int)transpose);
    const mpk_status status = check(ctx, fac, nrhs, b, ldb, x, ldx);
    if (mpk_failed(status)) return status;
    const mpk_analysis *an = fac->an;
    const manner how = {.transposed = an->symmetry == MPK_GENERAL};
    const bool same = transpose == MPK_CONJUGATE_TRANSPOSE ? an->symmetry == MPK_HERMITIAN
                                                           : an->symmetry != MPK_HERMITIAN;
    return an->scalar >= MPK_C && !same
               ? solve_conjugated(ctx, fac, nrhs, b, ldb, x, ldx, options, info, &how)
               : solve(ctx, fac, nrhs, b, ldb, x, ldx, options, info, &how);
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
