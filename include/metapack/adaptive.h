/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_ADAPTIVE_H
#define METAPACK_ADAPTIVE_H
/** Method auto: the direct solver where it fits in memory, else incomplete factorizations of rising
 *  strength until the iterative method reaches its tolerance with one of them. The ladder, and the
 *  measurements behind it: docs/design/adaptive.md. */
#include <metapack/solve.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MPK_ATTEMPTS = 12 }; /**< most attempts that are reported */

/** One factorization that was tried, and what came of it. */
typedef struct mpk_attempt {
    mpk_method method; /**< ldlt or ildlt; the next five are for ildlt */
    int level, stages;
    double fill_factor, drop_tolerance;
    mpk_precision precision;
    mpk_status status; /**< of the attempt; MPK_OK ended the search */
    int32_t iterations;
    /** Relative residual reached: the true one, or the method's where krylov is fgmres and the next
     *  attempt went on from there; infinity: no solution. */
    double residual;
    int64_t bytes; /**< of its factor */
    double time_s; /**< factorization and solve */
} mpk_attempt;

/** What an adaptive solve leaves to the caller. */
typedef struct mpk_adaptive {
    mpk_analysis *analysis; /**< of the last attempt; NULL: none */
    mpk_factor *factor;     /**< likewise */
    mpk_options options;    /**< of the attempt that gave x: with them, the same without a search */
    int32_t attempts;       /**< entries of attempt */
    mpk_attempt attempt[MPK_ATTEMPTS];
    mpk_solve_info solve; /**< of the attempt that gave x */
    char no_direct[256];  /**< why the direct solver was not taken; empty: it was */
} mpk_adaptive;

/** Analyse, factorize and solve A X = B, again with a stronger method until the solution is good.
 *  options [in]  direct = off: never the direct solver. tolerance and accuracy hold for each
 *                attempt; so does max_iterations, but all attempts except the last stop after 100
 *                (complete fill) or 400 of them. krylov = fgmres: one solve on the host climbs as
 *                it iterates, and each solve begins with the best x (docs/guide/adaptive.md)
 *                memory_limit holds for each. level, fill_factor, drop_tolerance and stages are
 *                chosen; everything else is kept
 *  b       [in]  n x nrhs, finite
 *  x       [out] n x nrhs: the best solution found; may be b; as it was after a failure
 *  history [out] history_size entries, or NULL: relative residual after each iteration of the last
 *                attempt; history_count [out] how many, or NULL
 *  result  [out] what it held is overwritten, not freed; after bad arguments all of it is 0. To be
 *                freed with mpk_adaptive_clear(), also after a failure
 *  Returns MPK_OK: as accurate as was asked for, by default as rounding allows
 *          | MPK_SINGULAR
 *          | MPK_INACCURATE: converged, but not to that accuracy
 *          | MPK_NOT_CONVERGED: no attempt was good enough; the text has what the best one reached
 *          | MPK_ERR_...: as mpk_analyse(), mpk_factorize() and mpk_solve()
 *  Threads: options.threads. */
MPK_API mpk_status mpk_solve_adaptive(mpk_context *ctx, const mpk_problem *problem,
                                      const mpk_options *options, int32_t nrhs, const void *b,
                                      int64_t ldb, void *x, int64_t ldx, double *history,
                                      int32_t history_size, int32_t *history_count,
                                      mpk_adaptive *result);
/** Destroy analysis and factor, and set all to 0. */
MPK_API void mpk_adaptive_clear(mpk_adaptive *result);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API mpk_status mpk_solve_adaptive_sized(size_t size, mpk_context *ctx,
                                            const mpk_problem *problem, const mpk_options *options,
                                            int32_t nrhs, const void *b, int64_t ldb, void *x,
                                            int64_t ldx, double *history, int32_t history_size,
                                            int32_t *history_count, mpk_adaptive *result);
MPK_API void mpk_adaptive_clear_sized(size_t size, mpk_adaptive *result);
#ifndef MPKI_LIBRARY
#define mpk_solve_adaptive(...) mpk_solve_adaptive_sized(sizeof(mpk_adaptive), __VA_ARGS__)
#define mpk_adaptive_clear(...) mpk_adaptive_clear_sized(sizeof(mpk_adaptive), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
