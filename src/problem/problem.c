/* SPDX-License-Identifier: BSD-3-Clause */
/** The object: from arrays, view, new values, end. */
#include "assemble.h"

#include <string.h>

static const char STAGE[] = "problem";

static mpk_status bad_argument(mpk_context *ctx, const char *what) {
    return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s", what);
}

/* What both constructors ask of their common arguments. */
static mpk_status check_kind(mpk_context *ctx, int32_t n, mpk_scalar scalar, mpk_symmetry symmetry,
                             mpk_triangle triangle, mpk_problem **problem) {
    if (!problem || *problem) return bad_argument(ctx, "the place for the problem must hold NULL");
    if (n < 0) return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, n, "n = %d is negative", n);
    if ((unsigned)scalar > MPK_Z) return bad_argument(ctx, "unknown scalar");
    if ((unsigned)triangle > MPK_EITHER) return bad_argument(ctx, "unknown triangle");
    if ((unsigned)symmetry > MPK_HERMITIAN) return bad_argument(ctx, "unknown symmetry");
    if (symmetry == MPK_HERMITIAN && scalar != MPK_C && scalar != MPK_Z)
        return bad_argument(ctx, "a Hermitian matrix has complex entries; a real one is symmetric");
    return MPK_OK;
}

static mpk_status check_pointers(mpk_context *ctx, int32_t n, const int64_t *ap) {
    if (ap[0] != 0) return bad_argument(ctx, "ap[0] is not 0");
    for (int32_t j = 0; j < n; j++)
        if (ap[j + 1] < ap[j])
            return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, j, "ap decreases after column %d", j);
    return MPK_OK;
}

/* Indices in range and values finite, or which is not. */
static mpk_status check_entries(mpk_context *ctx, int32_t n, mpk_scalar scalar,
                                const mpki_entries *e) {
    for (int64_t k = 0; k < e->count; k++)
        if (e->row[k] < 0 || e->row[k] >= n || e->col[k] < 0 || e->col[k] >= n)
            return mpki_error(ctx, MPK_ERR_INPUT, STAGE, k,
                              "entry %lld: row %d, column %d is outside the matrix of order %d",
                              (long long)k, e->row[k], e->col[k], n);
    int64_t k = mpki_first_nonfinite(scalar, e->count, e->value);
    if (k >= 0)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, k,
                          "entry %lld: row %d, column %d is NaN or infinite", (long long)k,
                          e->row[k], e->col[k]);
    return MPK_OK;
}

static mpk_status finish(mpk_context *ctx, int32_t n, mpk_scalar scalar, mpk_symmetry symmetry,
                         mpk_triangle triangle, mpki_entries *e, mpk_problem **problem) {
    mpki_assembly how = {
        .stage = STAGE, .n = n, .scalar = scalar, .symmetry = symmetry, .triangle = triangle};
    mpk_status status = check_entries(ctx, n, scalar, e);
    if (!status) status = mpki_assemble(ctx, &how, e, problem);
    mpki_entries_free(ctx, e);
    return status;
}

mpk_status mpk_problem_from_csc(mpk_context *ctx, int32_t n, mpk_scalar scalar,
                                mpk_symmetry symmetry, mpk_triangle triangle, const int64_t *ap,
                                const int32_t *ai, const void *ax, mpk_problem **problem) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = check_kind(ctx, n, scalar, symmetry, triangle, problem);
    if (status) return status;
    if (!ap) return bad_argument(ctx, "ap is NULL");
    status = check_pointers(ctx, n, ap);
    if (status) return status;
    int64_t nnz = ap[n];
    if (nnz > 0 && (!ai || !ax)) return bad_argument(ctx, "ai or ax is NULL");
    mpki_entries e = {0};
    status = mpki_entries_reserve(ctx, STAGE, scalar, &e, nnz);
    if (status) {
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
    return finish(ctx, n, scalar, symmetry, triangle, &e, problem);
}

mpk_status mpk_problem_from_triplets(mpk_context *ctx, int32_t n, mpk_scalar scalar,
                                     mpk_symmetry symmetry, mpk_triangle triangle, int64_t nnz,
                                     const int32_t *rows, const int32_t *cols, const void *values,
                                     mpk_problem **problem) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = check_kind(ctx, n, scalar, symmetry, triangle, problem);
    if (status) return status;
    if (nnz < 0) return bad_argument(ctx, "nnz is negative");
    if (nnz > 0 && (!rows || !cols || !values))
        return bad_argument(ctx, "rows, cols or values is NULL");
    mpki_entries e = {0};
    status = mpki_entries_reserve(ctx, STAGE, scalar, &e, nnz);
    if (status) {
        mpki_entries_free(ctx, &e);
        return status;
    }
    if (nnz > 0) {
        memcpy(e.row, rows, (size_t)nnz * sizeof *rows);
        memcpy(e.col, cols, (size_t)nnz * sizeof *cols);
        memcpy(e.value, values, (size_t)nnz * mpk_scalar_size(scalar));
    }
    e.count = nnz;
    return finish(ctx, n, scalar, symmetry, triangle, &e, problem);
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

/* Column that holds entry k. */
static int32_t column_of(const mpk_problem *problem, int64_t k) {
    int32_t low = 0, high = problem->n - 1;
    while (low < high) {
        int32_t middle = low + (high - low + 1) / 2;
        if (problem->ap[middle] <= k)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* First column whose diagonal has an imaginary part, -1: none. */
static int32_t diagonal_not_real(const mpk_problem *problem, const void *ax) {
    for (int32_t j = 0; j < problem->n; j++) {
        int64_t k = problem->ap[j];
        if (k == problem->ap[j + 1] || problem->ai[k] != j) continue;
        double im = problem->scalar == MPK_C ? ((const float *)ax)[2 * k + 1]
                                             : ((const double *)ax)[2 * k + 1];
        if (im != 0) return j;
    }
    return -1;
}

mpk_status mpk_problem_set_values(mpk_context *ctx, mpk_problem *problem, const void *ax) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!problem || (!ax && problem->nnz > 0))
        return bad_argument(ctx, "the problem or ax is NULL");
    int64_t k = mpki_first_nonfinite(problem->scalar, problem->nnz, ax);
    if (k >= 0)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, k,
                          "entry %lld: row %d, column %d is NaN or infinite", (long long)k,
                          problem->ai[k], column_of(problem, k));
    int32_t j = problem->symmetry == MPK_HERMITIAN ? diagonal_not_real(problem, ax) : -1;
    if (j >= 0)
        return mpki_error(ctx, MPK_ERR_INPUT, STAGE, j,
                          "row %d, column %d: a Hermitian matrix has a real diagonal", j, j);
    if (problem->nnz > 0)
        memcpy(problem->ax, ax, (size_t)problem->nnz * mpk_scalar_size(problem->scalar));
    return MPK_OK;
}

void mpk_problem_destroy(mpk_problem **problem) {
    if (!problem || !*problem) return;
    mpk_problem *p = *problem;
    mpk_context *ctx = p->ctx;
    mpki_release(ctx, p->ap);
    mpki_release(ctx, p->ai);
    mpki_release(ctx, p->ax);
    mpki_release(ctx, p);
    *problem = NULL;
}
