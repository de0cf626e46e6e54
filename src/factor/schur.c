/* SPDX-License-Identifier: BSD-3-Clause */
/* The Schur complement of a factor of an interior: read out, and the way of right-hand sides and
 * solutions over it. */
#include "schur.h"
#include "../core/floats.h"
#include "../core/sizes.h"
#include "../problem/columns.h"
#include "../problem/problem.h"
#include "factor.h"

#include <metapack/schur.h>
#include <string.h>

static const char STAGE[] = "schur";

int32_t mpk_schur_order(const mpk_factor *fac) {
    return fac && fac->an->split ? fac->an->split->outer : -1;
}

/* Has fac a Schur complement? */
static mpk_status check_factor(mpk_context *ctx, const mpk_factor *fac) {
    if (!fac) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor is NULL");
    if (mpk_failed(mpki_factor_usable(ctx, STAGE, fac))) return mpki_failed(ctx);
    if (!fac->an->split)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the factor has no Schur complement: its analysis is not one of "
                          "mpk_analyse_schur()");
    if (!fac->valid)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "the factor holds no factorization");
    if (fac->broken > 0)
        return mpki_error(ctx, MPK_ERR_NUMERIC, STAGE, fac->info.inertia.zero,
                          "the interior is singular, and the matrix is not zero beside its kernel: "
                          "there is no Schur complement");
    return MPK_OK;
}

mpk_status mpk_schur_get(mpk_context *ctx, const mpk_factor *fac, void *s, int64_t lds) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = check_factor(ctx, fac);
    if (mpk_failed(status)) return status;
    const mpk_analysis *an = fac->an;
    const mpki_split *split = an->split;
    const size_t size = mpk_scalar_size(an->scalar);
    if (split->outer == 0) return MPK_OK;
    if (!s || lds < split->outer)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, lds,
                          s ? "lds = %lld, the leading dimension of S, is smaller than %d"
                            : "S is NULL, its leading dimension %lld; it has %d rows",
                          (long long)lds, split->outer);
    if (!mpki_fits(split->outer, lds, size))
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, lds, "S does not fit any memory");
    if (mpki_split_rows(split) > 0)
        fac->engine->direct->schur(fac->direct, s, lds);
    else
        for (int32_t j = 0; j < split->outer; j++)
            memset((char *)s + (size_t)(j * lds) * size, 0, (size_t)split->outer * size);
    const bool finite = MPKI_DISPATCH(an->scalar, schur_finish)(
        split, an->symmetry == MPK_HERMITIAN, mpki_outer_values(fac, true), s, lds);
    return finite ? MPK_OK
                  : mpki_error(ctx, MPK_ERR_NUMERIC, STAGE, -1, "the Schur complement overflows");
}

/* ---- right-hand sides ------------------------------------------------------------------------ */

enum { TOGETHER = 64 /* right-hand sides that have room at once */ };

/* One of the caller's arrays. */
typedef struct array {
    const char *name;
    const void *at;
    int64_t rows, ld;
} array;

static mpk_status check_array(mpk_context *ctx, const array *a, int32_t nrhs, size_t size) {
    if (nrhs == 0 || a->rows == 0) return MPK_OK;
    if (!a->at) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s is NULL", a->name);
    if (a->ld < a->rows)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, a->ld,
                          "ld%s = %lld, the leading dimension of %s, is smaller than %lld", a->name,
                          (long long)a->ld, a->name, (long long)a->rows);
    return mpki_fits(nrhs, a->ld, size)
               ? MPK_OK
               : mpki_error(ctx, MPK_ERR_SIZE, STAGE, a->ld, "%s does not fit any memory", a->name);
}

/* Are these rows of it finite? list NULL: all, from the first on. */
static mpk_status check_finite(mpk_context *ctx, mpk_scalar scalar, const array *a, int32_t nrhs,
                               int32_t rows, const int32_t *list) {
    const size_t size = mpk_scalar_size(scalar);
    for (int32_t r = 0; r < nrhs; r++)
        for (int32_t k = 0; k < rows; k++) {
            const int64_t i = list ? list[k] : k;
            if (mpki_first_nonfinite(scalar, list ? 1 : rows,
                                     (const char *)a->at + (size_t)(i + r * a->ld) * size) >= 0)
                return mpki_error(ctx, MPK_ERR_INPUT, STAGE, i, "column %d of %s is not finite",
                                  r + 1, a->name);
            if (!list) break;
        }
    return MPK_OK;
}

/* A call at work: room for TOGETHER columns. */
typedef struct way {
    const mpk_factor *fac;
    mpki_direct_solver *solver;
    void *inner; /* rows of the interior */
} way;

static void way_free(mpk_context *ctx, way *w) {
    if (w->solver) w->fac->engine->direct->solver_free(&w->solver);
    mpki_release(ctx, w->inner);
    *w = (way){0};
}

static mpk_status way_make(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, way *w) {
    const size_t size = mpk_scalar_size(fac->an->scalar);
    const int64_t most = nrhs < TOGETHER ? nrhs : TOGETHER;
    *w = (way){.fac = fac};
    w->inner = mpki_alloc(ctx, STAGE, fac->an->n * most, size);
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status))
        status = fac->engine->direct->solver_make(ctx, fac->direct, fac->options.threads,
                                                  (int32_t)most, &w->solver);
    if (mpk_failed(status)) way_free(ctx, w);
    return status;
}

/* Columns r0 .. r0+nrhs-1 of an array. */
static void *columns_of(const array *a, mpk_scalar scalar, int32_t r0) {
    return (char *)(uintptr_t)a->at + (size_t)(r0 * a->ld) * mpk_scalar_size(scalar);
}

mpk_status mpk_schur_condense(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                              int64_t ldb, void *bs, int64_t ldbs) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = check_factor(ctx, fac);
    if (mpk_failed(status)) return status;
    const mpk_analysis *an = fac->an;
    const mpki_split *split = an->split;
    const mpk_scalar scalar = an->scalar;
    const array from = {"b", b, split->n, ldb}, to = {"bs", bs, split->outer, ldbs};
    if (nrhs < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, nrhs, "nrhs = %d is negative", nrhs);
    status = check_array(ctx, &from, nrhs, mpk_scalar_size(scalar));
    if (!mpk_failed(status)) status = check_array(ctx, &to, nrhs, mpk_scalar_size(scalar));
    if (mpk_failed(status) || nrhs == 0 || split->outer == 0) return status;
    status = check_finite(ctx, scalar, &from, nrhs, split->n, NULL);
    if (mpk_failed(status)) return status;
    if (an->n == 0) {
        MPKI_DISPATCH(scalar, rows_in)(split->outer, split->variable, nrhs, b, ldb, bs, ldbs);
        return MPK_OK;
    }
    way w;
    status = way_make(ctx, fac, nrhs, &w);
    for (int32_t r = 0; !mpk_failed(status) && r < nrhs; r += TOGETHER) {
        const int32_t some = nrhs - r < TOGETHER ? nrhs - r : TOGETHER;
        const void *part = columns_of(&from, scalar, r);
        void *out = columns_of(&to, scalar, r);
        MPKI_DISPATCH(scalar, rows_in)(an->n, split->interior, some, part, ldb, w.inner, an->n);
        status = fac->engine->direct->outer(w.solver, MPKI_CONDENSE, some, w.inner, an->n, out,
                                            ldbs, NULL, 0);
        if (mpk_failed(status)) break;
        MPKI_DISPATCH(scalar, rows_add)
        (split->outer, split->variable, some, part, ldb, out, ldbs);
    }
    way_free(ctx, &w);
    return status;
}

mpk_status mpk_schur_expand(mpk_context *ctx, const mpk_factor *fac, int32_t nrhs, const void *b,
                            int64_t ldb, const void *x2, int64_t ldx2, void *x, int64_t ldx) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = check_factor(ctx, fac);
    if (mpk_failed(status)) return status;
    const mpk_analysis *an = fac->an;
    const mpki_split *split = an->split;
    const mpk_scalar scalar = an->scalar;
    const size_t size = mpk_scalar_size(scalar);
    const array from = {"b", b, split->n, ldb}, to = {"x", x, split->n, ldx};
    const array given = {"x2", x2, split->outer, ldx2};
    const mpki_sides sides = {split->n, nrhs, size, b, ldb, x, ldx, true, true};
    status = mpki_check_sides(ctx, STAGE, &sides);
    if (!mpk_failed(status)) status = check_array(ctx, &given, nrhs, size);
    if (mpk_failed(status) || nrhs == 0 || split->n == 0) return status;
    status = check_finite(ctx, scalar, &from, nrhs, an->n, split->interior);
    if (!mpk_failed(status) && split->outer > 0)
        status = check_finite(ctx, scalar, &given, nrhs, split->outer, NULL);
    if (mpk_failed(status)) return status;
    way w = {0};
    if (an->n > 0) status = way_make(ctx, fac, nrhs, &w);
    for (int32_t r = 0; !mpk_failed(status) && r < nrhs; r += TOGETHER) {
        const int32_t some = nrhs - r < TOGETHER ? nrhs - r : TOGETHER;
        void *out = columns_of(&to, scalar, r);
        if (an->n > 0) {
            MPKI_DISPATCH(scalar, rows_in)
            (an->n, split->interior, some, columns_of(&from, scalar, r), ldb, w.inner, an->n);
            status =
                fac->engine->direct->outer(w.solver, MPKI_EXPAND, some, w.inner, an->n,
                                           columns_of(&given, scalar, r), ldx2, w.inner, an->n);
        }
        if (mpk_failed(status)) break;
        MPKI_DISPATCH(scalar, rows_out)(an->n, split->interior, some, w.inner, an->n, out, ldx);
        MPKI_DISPATCH(scalar, rows_out)
        (split->outer, split->variable, some, columns_of(&given, scalar, r), ldx2, out, ldx);
    }
    way_free(ctx, &w);
    return status;
}
