/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of the interface that take an order in 64 bits (metapack.h, Orders): each refuses
 * what 32 bits do not hold, and calls the one of its name. */
#include "core/core.h"
#include <metapack/metapack.h>

#include <inttypes.h>

/* Is n no order of 32 bits? Recorded. */
static bool too_large(mpk_context *ctx, const char *stage, int64_t n) {
    if (n >= 0 && n <= INT32_MAX) return false;
    mpki_clear_error(ctx);
    if (n < 0)
        mpki_error(ctx, MPK_ERR_ARGUMENT, stage, n, "n = %" PRId64 " is negative", n);
    else
        mpki_error(ctx, MPK_ERR_SIZE, stage, n,
                   "n = %" PRId64 " is above %d: orders and indices have 32 bits here", n,
                   INT32_MAX);
    return true;
}

mpk_status mpk_problem_from_csc_wide(mpk_context *ctx, int64_t n, mpk_scalar scalar,
                                     mpk_symmetry symmetry, mpk_triangle triangle,
                                     const int64_t *ap, const int32_t *ai, const void *ax,
                                     mpk_problem **problem) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    if (too_large(ctx, "problem", n)) return mpki_failed(ctx);
    return mpk_problem_from_csc(ctx, (int32_t)n, scalar, symmetry, triangle, ap, ai, ax, problem);
}

mpk_status mpk_problem_from_triplets_wide(mpk_context *ctx, int64_t n, mpk_scalar scalar,
                                          mpk_symmetry symmetry, mpk_triangle triangle, int64_t nnz,
                                          const int32_t *rows, const int32_t *cols,
                                          const void *values, mpk_problem **problem) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    if (too_large(ctx, "problem", n)) return mpki_failed(ctx);
    return mpk_problem_from_triplets(ctx, (int32_t)n, scalar, symmetry, triangle, nnz, rows, cols,
                                     values, problem);
}

mpk_status mpk_symmetrize_wide(mpk_context *ctx, int64_t n, mpk_scalar scalar,
                               mpk_symmetry symmetry, void *a, int64_t lda,
                               mpk_asymmetry *asymmetry) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    if (too_large(ctx, "problem", n)) return mpki_failed(ctx);
    return mpk_symmetrize(ctx, (int32_t)n, scalar, symmetry, a, lda, asymmetry);
}

mpk_status mpk_rhs_read_wide(mpk_context *ctx, const char *path, int64_t n, mpk_scalar scalar,
                             int32_t *nrhs, void **b) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    if (too_large(ctx, "read", n)) return mpki_failed(ctx);
    return mpk_rhs_read(ctx, path, (int32_t)n, scalar, nrhs, b);
}

mpk_status mpk_rhs_write_wide(mpk_context *ctx, const char *path, int64_t n, mpk_scalar scalar,
                              int32_t nrhs, const void *x, int64_t ldx) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    if (too_large(ctx, "write", n)) return mpki_failed(ctx);
    return mpk_rhs_write(ctx, path, (int32_t)n, scalar, nrhs, x, ldx);
}

mpk_status mpk_isai_create_wide(mpk_context *ctx, mpk_scalar scalar, int64_t n, const int64_t *ptr,
                                const int32_t *row, const void *val,
                                const mpk_isai_options *options, mpk_isai **isai) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    if (too_large(ctx, "isai", n)) return mpki_failed(ctx);
    return mpk_isai_create(ctx, scalar, (int32_t)n, ptr, row, val, options, isai);
}
