/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_problem: made from arrays, viewed, given new values, destroyed. */
#include "../core/floats.h"
#include "given.h"

#include <string.h>

static const char STAGE[] = "problem";

static mpk_status bad_argument(mpk_context *ctx, const char *what) {
    return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s", what);
}

/* The arguments that both constructors have. */
static mpk_status check_kind(mpk_context *ctx, int32_t n, mpk_scalar scalar, mpk_symmetry symmetry,
                             mpk_triangle triangle, mpk_problem **problem) {
    if (!problem || *problem) return bad_argument(ctx, "the place for the problem must hold NULL");
    if (n < 0) /* as an n of 2^31 or more arrives, too */
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, n,
                          "n = %d is negative: an order of 2147483648 or more does not fit the 32 "
                          "bits of n, and becomes negative, or another one",
                          n);
    if ((unsigned)scalar > MPK_Z) return bad_argument(ctx, "unknown scalar");
    if ((unsigned)triangle > MPK_EITHER) return bad_argument(ctx, "unknown triangle");
    if ((unsigned)symmetry > MPK_GENERAL) return bad_argument(ctx, "unknown symmetry");
    if (symmetry == MPK_GENERAL && triangle != MPK_FULL)
        return bad_argument(ctx, "a general matrix has no mirror images: give all of its entries, "
                                 "with triangle MPK_FULL");
    if (symmetry == MPK_HERMITIAN && scalar != MPK_C && scalar != MPK_Z)
        return bad_argument(ctx, "a Hermitian matrix has complex entries; a real one is symmetric");
    return MPK_OK;
}

static mpk_status check_pointers(mpk_context *ctx, int32_t n, const int64_t *ap) {
    if (ap[0] != 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, 0, "ap[0] is %lld, not 0",
                          (long long)ap[0]);
    for (int32_t j = 0; j < n; j++)
        if (ap[j + 1] < ap[j])
            return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, j,
                              "ap decreases after column %d: from ap[%d] = %lld to ap[%d] = %lld",
                              j, j, (long long)ap[j], j + 1, (long long)ap[j + 1]);
    return MPK_OK;
}

/* Does entry k lie in the triangle that is not looked at? */
static bool ignored(const mpki_entries *e, mpk_symmetry symmetry, mpk_triangle triangle,
                    int64_t k) {
    return symmetry != MPK_GENERAL && ((triangle == MPK_LOWER && e->row[k] < e->col[k]) ||
                                       (triangle == MPK_UPPER && e->row[k] > e->col[k]));
}

/* Are indices in range and values finite? Else an error that names the entry. */
static mpk_status check_entries(mpk_context *ctx, int32_t n, mpk_scalar scalar,
                                mpk_symmetry symmetry, mpk_triangle triangle,
                                const mpki_entries *e) {
    for (int64_t k = 0; k < e->count; k++)
        if (e->row[k] < 0 || e->row[k] >= n || e->col[k] < 0 || e->col[k] >= n)
            return mpki_error(ctx, MPK_ERR_INPUT, STAGE, k,
                              "entry %lld: row %d, column %d is outside the matrix of order %d",
                              (long long)k, e->row[k], e->col[k], n);
    int64_t k = mpki_next_nonfinite(scalar, 0, e->count, e->value);
    while (k >= 0 && ignored(e, symmetry, triangle, k))
        k = mpki_next_nonfinite(scalar, k + 1, e->count, e->value);
    if (k >= 0)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, k,
                          "entry %lld: row %d, column %d is NaN or infinite", (long long)k,
                          e->row[k], e->col[k]);
    return MPK_OK;
}

/* Assemble the problem, and the map for values that come later in the same order: that of `rows`
 * and of `ap` (compressed columns) or `cols`. */
static mpk_status finish(mpk_context *ctx, int32_t n, mpk_scalar scalar, mpk_symmetry symmetry,
                         mpk_triangle triangle, mpki_entries *e, const int32_t *rows,
                         const int64_t *ap, const int32_t *cols, mpk_problem **problem) {
    mpki_assembly how = {
        .stage = STAGE, .n = n, .scalar = scalar, .symmetry = symmetry, .triangle = triangle};
    const int64_t count = e->count;
    mpk_problem *made = NULL;
    mpk_status status = check_entries(ctx, n, scalar, symmetry, triangle, e);
    if (!mpk_failed(status)) status = mpki_assemble(ctx, &how, e, &made);
    mpki_entries_free(ctx, e);
    if (!mpk_failed(status))
        status =
            mpki_given_map(ctx, STAGE, symmetry, triangle, count, rows, ap, cols, made->layout);
    if (mpk_failed(status)) mpk_problem_destroy(&made);
    *problem = made;
    return status;
}

mpk_status mpk_problem_from_csc(mpk_context *ctx, int32_t n, mpk_scalar scalar,
                                mpk_symmetry symmetry, mpk_triangle triangle, const int64_t *ap,
                                const int32_t *ai, const void *ax, mpk_problem **problem) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = check_kind(ctx, n, scalar, symmetry, triangle, problem);
    if (mpk_failed(status)) return status;
    if (!ap) return bad_argument(ctx, "ap is NULL");
    status = check_pointers(ctx, n, ap);
    if (mpk_failed(status)) return status;
    int64_t nnz = ap[n];
    if (nnz > 0 && (!ai || !ax)) return bad_argument(ctx, "ai or ax is NULL");
    mpki_entries e = {0};
    status = mpki_entries_reserve(ctx, STAGE, scalar, &e, nnz);
    if (mpk_failed(status)) {
        mpki_entries_free(ctx, &e);
        return status;
    }
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) e.col[k] = j;
    if (nnz > 0) {
        memcpy(e.row, ai, (size_t)nnz * sizeof *ai);
        memcpy(e.value, ax, (size_t)nnz * mpk_scalar_size(scalar));
    }
    e.count = nnz;
    return finish(ctx, n, scalar, symmetry, triangle, &e, ai, ap, NULL, problem);
}

mpk_status mpk_problem_from_triplets(mpk_context *ctx, int32_t n, mpk_scalar scalar,
                                     mpk_symmetry symmetry, mpk_triangle triangle, int64_t nnz,
                                     const int32_t *rows, const int32_t *cols, const void *values,
                                     mpk_problem **problem) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = check_kind(ctx, n, scalar, symmetry, triangle, problem);
    if (mpk_failed(status)) return status;
    if (nnz < 0) return bad_argument(ctx, "nnz is negative");
    if (nnz > 0 && (!rows || !cols || !values))
        return bad_argument(ctx, "rows, cols or values is NULL");
    mpki_entries e = {0};
    status = mpki_entries_reserve(ctx, STAGE, scalar, &e, nnz);
    if (mpk_failed(status)) {
        mpki_entries_free(ctx, &e);
        return status;
    }
    if (nnz > 0) {
        memcpy(e.row, rows, (size_t)nnz * sizeof *rows);
        memcpy(e.col, cols, (size_t)nnz * sizeof *cols);
        memcpy(e.value, values, (size_t)nnz * mpk_scalar_size(scalar));
    }
    e.count = nnz;
    return finish(ctx, n, scalar, symmetry, triangle, &e, rows, NULL, cols, problem);
}

void mpk_problem_view_get(const mpk_problem *problem, mpk_problem_view *view) {
    if (!view) return;
    *view = (mpk_problem_view){0};
    if (!problem) return;
    *view = (mpk_problem_view){.n = problem->n,
                               .nnz = problem->nnz,
                               .scalar = problem->scalar,
                               .symmetry = problem->symmetry,
                               .ap = problem->ap,
                               .ai = problem->ai,
                               .ax = problem->ax};
}

void mpk_problem_asymmetry_get(const mpk_problem *problem, mpk_asymmetry *asymmetry) {
    const mpki_values *values = problem ? problem->values : NULL;
    if (asymmetry) *asymmetry = mpki_asymmetry_of(values ? values->skew : NULL);
}

/* New values, read by `take`; analyses that share the old ones keep them. */
static mpk_status set(mpk_context *ctx, mpk_problem *problem, const void *ax,
                      mpk_status (*take)(mpk_context *ctx, const char *stage,
                                         const mpki_layout *layout, mpk_scalar scalar,
                                         mpk_symmetry symmetry, const void *values, void *ax,
                                         mpki_skew **skew)) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!problem || (!ax && problem->nnz > 0))
        return bad_argument(ctx, "the problem or ax is NULL");
    /* into new memory: what fails halfway has changed nothing */
    mpki_values *made = mpki_values_new(problem->ctx, STAGE, problem->values->bytes);
    if (!made) return mpki_error(ctx, MPK_ERR_MEMORY, STAGE, -1, "no memory for new values");
    mpk_status status = take(ctx, STAGE, problem->layout, problem->scalar, problem->symmetry, ax,
                             made->ax, &made->skew);
    if (mpk_failed(status)) {
        mpki_values_release(&made);
        return status;
    }
    mpki_values_release(&problem->values);
    problem->values = made;
    mpki_problem_look(problem);
    return MPK_OK;
}

mpk_status mpk_problem_set_values(mpk_context *ctx, mpk_problem *problem, const void *ax) {
    MPKI_CALM;
    return set(ctx, problem, ax, mpki_given_gather);
}

mpk_status mpk_problem_set_lower(mpk_context *ctx, mpk_problem *problem, const void *ax) {
    MPKI_CALM;
    return set(ctx, problem, ax, mpki_given_copy);
}
