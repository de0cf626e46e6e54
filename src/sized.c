/* SPDX-License-Identifier: BSD-3-Clause */
/* The functions of the interface that are told how large the caller's struct is (metapack.h,
 * Structs): each calls the one of its name, on a struct of the size that this library knows. */
#include <metapack/metapack.h>

#include <string.h>

/* What the caller's struct holds, as far as both know it; the rest is 0. */
static void take(void *full, size_t known, const void *given, size_t size) {
    memset(full, 0, known);
    if (given) memcpy(full, given, size < known ? size : known);
}

/* And back: what the library does not know of the caller's struct is 0. */
static void give(void *given, size_t size, const void *full, size_t known) {
    if (!given) return;
    memcpy(given, full, size < known ? size : known);
    if (size > known) memset((char *)given + known, 0, size - known);
}

#define TAKE(given) take(&full, sizeof full, given, size)
#define GIVE(given) give(given, size, &full, sizeof full)
/* A struct of the caller's that no call has written yet, or NULL where none is wanted. */
#define OUT(given) ((given) ? &full : NULL)

/* ---- structs that begin with their size, filled with defaults -------------------------------- */

/* What *_init() wrote to `full`, whose first field is its size, cut to what the caller has. */
static void begin(void *given, size_t size, void *full, size_t known) {
    if (!given || size < sizeof size) return;
    const size_t both = size < known ? size : known;
    memcpy(full, &both, sizeof both);
    give(given, size, full, known);
}

void mpk_options_init_sized(size_t size, mpk_options *options) {
    mpk_options full;
    mpk_options_init(&full);
    begin(options, size, &full, sizeof full);
}

void mpk_isai_options_init_sized(size_t size, mpk_isai_options *options) {
    mpk_isai_options full;
    mpk_isai_options_init(&full);
    begin(options, size, &full, sizeof full);
}

void mpk_krylov_task_init_sized(size_t size, mpk_krylov_task *task) {
    mpk_krylov_task full;
    mpk_krylov_task_init(&full);
    begin(task, size, &full, sizeof full);
}

void mpk_dense_init_sized(size_t size, mpk_dense *dense) {
    mpk_dense full;
    mpk_dense_init(&full);
    begin(dense, size, &full, sizeof full);
}

void mpk_batch_init_sized(size_t size, mpk_batch *batch) {
    mpk_batch full;
    mpk_batch_init(&full);
    begin(batch, size, &full, sizeof full);
}

void mpk_systems_options_init_sized(size_t size, mpk_systems_options *options) {
    mpk_systems_options full;
    mpk_systems_options_init(&full);
    begin(options, size, &full, sizeof full);
}

/* ---- what objects tell of themselves --------------------------------------------------------- */

void mpk_analysis_info_get_sized(size_t size, const mpk_analysis *an, mpk_analysis_info *info) {
    mpk_analysis_info full;
    mpk_analysis_info_get(an, &full);
    GIVE(info);
}

void mpk_analysis_tree_get_sized(size_t size, const mpk_analysis *an, mpk_tree *tree) {
    mpk_tree full;
    mpk_analysis_tree_get(an, &full);
    GIVE(tree);
}

void mpk_factor_info_get_sized(size_t size, const mpk_factor *fac, mpk_factor_info *info) {
    mpk_factor_info full;
    mpk_factor_info_get(fac, &full);
    GIVE(info);
}

void mpk_factor_block_info_get_sized(size_t size, const mpk_factor *fac, mpk_block_info *info) {
    mpk_block_info full;
    mpk_factor_block_info_get(fac, &full);
    GIVE(info);
}

void mpk_bordered_info_get_sized(size_t size, const mpk_bordered *bordered,
                                 mpk_bordered_info *info) {
    mpk_bordered_info full;
    mpk_bordered_info_get(bordered, &full);
    GIVE(info);
}

void mpk_systems_info_get_sized(size_t size, const mpk_systems *systems, mpk_systems_info *info) {
    mpk_systems_info full;
    mpk_systems_info_get(systems, &full);
    GIVE(info);
}

void mpk_isai_info_get_sized(size_t size, const mpk_isai *isai, mpk_isai_info *info) {
    mpk_isai_info full;
    mpk_isai_info_get(isai, &full);
    GIVE(info);
}

/* ---- what calls leave: after a failure as it was --------------------------------------------- */

mpk_status mpk_device_info_get_sized(size_t size, mpk_context *ctx, int number,
                                     mpk_device_info *info) {
    mpk_device_info full;
    TAKE(info);
    const mpk_status status = mpk_device_info_get(ctx, number, OUT(info));
    if (!mpk_failed(status)) GIVE(info);
    return status;
}

mpk_status mpk_factor_estimate_sized(size_t size, mpk_context *ctx, const mpk_analysis *an,
                                     const mpk_options *options, mpk_estimate *out) {
    mpk_estimate full;
    TAKE(out);
    const mpk_status status = mpk_factor_estimate(ctx, an, options, OUT(out));
    if (!mpk_failed(status)) GIVE(out);
    return status;
}

mpk_status mpk_dense_query_sized(size_t size, mpk_context *ctx, const mpk_dense *dense,
                                 int32_t nrhs, mpk_dense_sizes *sizes) {
    mpk_dense_sizes full;
    TAKE(sizes);
    const mpk_status status = mpk_dense_query(ctx, dense, nrhs, OUT(sizes));
    if (!mpk_failed(status)) GIVE(sizes);
    return status;
}

/* ---- what calls leave, also where they fail: it was taken, and is as it was if it stays so --- */

mpk_status mpk_krylov_solve_sized(size_t size, mpk_context *ctx, const mpk_krylov_task *task,
                                  const void *b, void *x, mpk_krylov_info *info) {
    mpk_krylov_info full;
    TAKE(info);
    const mpk_status status = mpk_krylov_solve(ctx, task, b, x, OUT(info));
    GIVE(info);
    return status;
}

mpk_status mpk_solve_sized(size_t size, mpk_context *ctx, const mpk_factor *fac, int32_t nrhs,
                           const void *b, int64_t ldb, void *x, int64_t ldx,
                           const mpk_options *options, mpk_solve_info *info) {
    mpk_solve_info full;
    TAKE(info);
    const mpk_status status = mpk_solve(ctx, fac, nrhs, b, ldb, x, ldx, options, OUT(info));
    GIVE(info);
    return status;
}

mpk_status mpk_solve_transposed_sized(size_t size, mpk_context *ctx, const mpk_factor *fac,
                                      mpk_transpose transpose, int32_t nrhs, const void *b,
                                      int64_t ldb, void *x, int64_t ldx, const mpk_options *options,
                                      mpk_solve_info *info) {
    mpk_solve_info full;
    TAKE(info);
    const mpk_status status =
        mpk_solve_transposed(ctx, fac, transpose, nrhs, b, ldb, x, ldx, options, OUT(info));
    GIVE(info);
    return status;
}

mpk_status mpk_schur_solve_sized(size_t size, mpk_context *ctx, const mpk_factor *fac, int32_t nrhs,
                                 const void *b, int64_t ldb, void *x, int64_t ldx,
                                 const mpk_options *options, mpk_solve_info *info) {
    mpk_solve_info full;
    TAKE(info);
    const mpk_status status = mpk_schur_solve(ctx, fac, nrhs, b, ldb, x, ldx, options, OUT(info));
    GIVE(info);
    return status;
}

mpk_status mpk_null_space_sized(size_t size, mpk_context *ctx, const mpk_factor *fac, int32_t given,
                                int32_t most, int orthonormal, void *basis, int64_t ld, double *eta,
                                mpk_null_info *info) {
    mpk_null_info full;
    TAKE(info);
    const mpk_status status =
        mpk_null_space(ctx, fac, given, most, orthonormal, basis, ld, eta, OUT(info));
    GIVE(info);
    return status;
}

mpk_status mpk_solve_minimum_norm_sized(size_t size, mpk_context *ctx, const mpk_factor *fac,
                                        int32_t dimension, const void *basis, int64_t ld,
                                        int32_t nrhs, const void *b, int64_t ldb, void *x,
                                        int64_t ldx, const mpk_options *options,
                                        mpk_minimum_norm_info *info) {
    mpk_minimum_norm_info full;
    TAKE(info);
    const mpk_status status = mpk_solve_minimum_norm(ctx, fac, dimension, basis, ld, nrhs, b, ldb,
                                                     x, ldx, options, OUT(info));
    GIVE(info);
    return status;
}

mpk_status mpk_solve_sparse_sized(size_t size, mpk_context *ctx, const mpk_factor *fac,
                                  int32_t nrhs, const int64_t *bptr, const int32_t *brow,
                                  const void *bval, int32_t wanted, const int32_t *row,
                                  mpk_sparse_check check, void *x, int64_t ldx,
                                  mpk_sparse_info *info) {
    mpk_sparse_info full;
    TAKE(info);
    const mpk_status status =
        mpk_solve_sparse(ctx, fac, nrhs, bptr, brow, bval, wanted, row, check, x, ldx, OUT(info));
    GIVE(info);
    return status;
}

mpk_status mpk_solve_adaptive_sized(size_t size, mpk_context *ctx, const mpk_problem *problem,
                                    const mpk_options *options, int32_t nrhs, const void *b,
                                    int64_t ldb, void *x, int64_t ldx, double *history,
                                    int32_t history_size, int32_t *history_count,
                                    mpk_adaptive *result) {
    mpk_adaptive full;
    if (size == sizeof full) /* a report of progress may read what stands there */
        return mpk_solve_adaptive(ctx, problem, options, nrhs, b, ldb, x, ldx, history,
                                  history_size, history_count, result);
    TAKE(result);
    const mpk_status status = mpk_solve_adaptive(ctx, problem, options, nrhs, b, ldb, x, ldx,
                                                 history, history_size, history_count, OUT(result));
    GIVE(result);
    return status;
}

void mpk_adaptive_clear_sized(size_t size, mpk_adaptive *result) {
    mpk_adaptive full;
    TAKE(result);
    mpk_adaptive_clear(OUT(result));
    GIVE(result);
}

mpk_status mpk_block_statistics_sized(size_t size, mpk_context *ctx, const mpk_problem *problem,
                                      const mpk_options *options, const int32_t *levels,
                                      int32_t count, int scalar, mpk_block_stats *stats) {
    mpk_block_stats full;
    TAKE(stats);
    const mpk_status status =
        mpk_block_statistics(ctx, problem, options, levels, count, scalar, OUT(stats));
    GIVE(stats);
    return status;
}

void mpk_block_stats_clear_sized(size_t size, mpk_context *ctx, mpk_block_stats *stats) {
    mpk_block_stats full;
    TAKE(stats);
    mpk_block_stats_clear(ctx, OUT(stats));
    GIVE(stats);
}

mpk_status mpk_dense_factorize_sized(size_t size, mpk_context *ctx, const mpk_dense *dense,
                                     const void *a, int64_t lda, mpk_dense_factor *f, void *work,
                                     int64_t work_bytes, mpk_dense_info *info) {
    mpk_dense_info full;
    TAKE(info);
    const mpk_status status =
        mpk_dense_factorize(ctx, dense, a, lda, f, work, work_bytes, OUT(info));
    GIVE(info);
    return status;
}

mpk_status mpk_dense_solve_sized(size_t size, mpk_context *ctx, const mpk_dense *dense,
                                 const void *a, int64_t lda, const mpk_dense_factor *f,
                                 int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx,
                                 void *work, int64_t work_bytes, mpk_dense_info *info) {
    mpk_dense_info full;
    TAKE(info);
    const mpk_status status =
        mpk_dense_solve(ctx, dense, a, lda, f, nrhs, b, ldb, x, ldx, work, work_bytes, OUT(info));
    GIVE(info);
    return status;
}

mpk_status mpk_dense_sysv_sized(size_t size, mpk_context *ctx, const mpk_dense *dense,
                                const void *a, int64_t lda, mpk_dense_factor *f, int32_t nrhs,
                                const void *b, int64_t ldb, void *x, int64_t ldx, void *work,
                                int64_t work_bytes, mpk_dense_info *info) {
    mpk_dense_info full;
    TAKE(info);
    const mpk_status status =
        mpk_dense_sysv(ctx, dense, a, lda, f, nrhs, b, ldb, x, ldx, work, work_bytes, OUT(info));
    GIVE(info);
    return status;
}

mpk_status mpk_bordered_solve_sized(size_t size, mpk_context *ctx, mpk_bordered *bordered,
                                    int32_t nrhs, const void *b, int64_t ldb, void *x, int64_t ldx,
                                    mpk_solve_info *info) {
    mpk_solve_info full;
    TAKE(info);
    const mpk_status status = mpk_bordered_solve(ctx, bordered, nrhs, b, ldb, x, ldx, OUT(info));
    GIVE(info);
    return status;
}

mpk_status mpk_selected_inverse_sized(size_t size, mpk_context *ctx, const mpk_factor *fac,
                                      mpk_selection what, void *out, size_t bytes,
                                      const mpk_options *options, mpk_selected_info *info) {
    mpk_selected_info full;
    TAKE(info);
    const mpk_status status = mpk_selected_inverse(ctx, fac, what, out, bytes, options, OUT(info));
    GIVE(info);
    return status;
}

/* ---- what calls read ------------------------------------------------------------------------- */

mpk_status mpk_report_create_sized(size_t size, mpk_context *ctx, const mpk_run *run,
                                   mpk_report **report) {
    mpk_run full;
    TAKE(run);
    return mpk_report_create(ctx, run ? &full : NULL, report);
}
