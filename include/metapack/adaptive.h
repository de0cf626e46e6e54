/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_ADAPTIVE_H
#define METAPACK_ADAPTIVE_H
/** Method auto: the direct solver where it fits, else incomplete factorizations of growing strength
 *  until one of them carries the iterative method to its tolerance. docs/adaptive.md */
#include <metapack/solve.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MPK_ATTEMPTS = 12 };

/** One factorization that was tried, and what came of it. */
typedef struct mpk_attempt {
    mpk_method method; /**< ldlt or ildlt; the next five are for ildlt */
    int level, stages;
    double fill_factor, drop_tolerance;
    mpk_precision precision;
    mpk_status status; /**< of the attempt; MPK_OK ended the search */
    int32_t iterations;
    double residual; /**< true relative residual it reached; infinity: it gave none */
    int64_t bytes;   /**< of its factor */
    double time_s;   /**< factorization and solve */
} mpk_attempt;

/** What an adaptive solve leaves behind. analysis and factor are those of the last attempt. */
typedef struct mpk_adaptive {
    mpk_analysis *analysis;
    mpk_factor *factor;
    mpk_options options; /**< all choices of the attempt whose solution x is: give them by hand */
    int32_t attempts;
    mpk_attempt attempt[MPK_ATTEMPTS];
    mpk_solve_info solve; /**< of the attempt whose solution x is */
    char no_direct[256];  /**< why the direct solver was not taken; empty: it was */
} mpk_adaptive;

/** Solve A X = B by whatever it takes.
 *  problem [in]   borrowed during the call
 *  b       [in]   n x nrhs, ldb >= n, host
 *  x       [out]  n x nrhs, ldx >= n, host: the best solution found
 *  options [in]   NULL: the defaults. direct off: never the direct solver; tolerance and
 *                 max_iterations are those of each attempt; memory_limit holds for all. level,
 *                 fill_factor, drop_tolerance, stages are chosen; everything else is kept.
 *  history [out]  history_size entries or NULL: residuals of the last attempt's iterations;
 *                 history_count [out] how many
 *  result [out]   freed with mpk_adaptive_clear, also after a failure
 *  Returns MPK_OK: as accurate as was asked for, by default as rounding allows
 *          | MPK_INACCURATE: converged, but not to that (without a tolerance)
 *          | MPK_SINGULAR | MPK_NOT_CONVERGED: no attempt was good enough
 *          | MPK_ERR_... The text says what the best attempt reached. */
MPK_API mpk_status mpk_solve_adaptive(mpk_context *ctx, const mpk_problem *problem,
                                      const mpk_options *options, int32_t nrhs, const void *b,
                                      int64_t ldb, void *x, int64_t ldx, double *history,
                                      int32_t history_size, int32_t *history_count,
                                      mpk_adaptive *result);
MPK_API void mpk_adaptive_clear(mpk_adaptive *result);

#ifdef __cplusplus
}
#endif
#endif
