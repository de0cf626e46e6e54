/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_KRYLOV_H
#define METAPACK_KRYLOV_H
/** Iterative solution of A x = b with any operator and any preconditioner. */
#include <metapack/options.h>

#ifdef __cplusplus
extern "C" {
#endif

/** y := Op(x) for one vector of n entries of the solver's scalar type, host memory; x and y do not
 *  overlap. self is the caller's. Returns MPK_OK, or a failure, which ends the solve with it. */
typedef mpk_status (*mpk_apply_fn)(void *self, const void *x, void *y);

/** A linear operator: a matrix-free A, or a preconditioner M^-1. apply NULL: the identity. */
typedef struct mpk_operator {
    mpk_apply_fn apply;
    void *self;
} mpk_operator;

/** Called after each iteration: iteration counts from 1, residual is the method's own relative
 *  residual (recurred). A nonzero return stops the solve (MPK_ERR_CANCELLED). */
typedef int (*mpk_monitor_fn)(void *user, int32_t iteration, double residual);

/** What is asked of an iterative solve; set up by mpk_krylov_task_init. */
typedef struct mpk_krylov_task {
    size_t struct_size;
    mpk_krylov method; /**< not auto, not none */
    mpk_scalar scalar;
    mpk_symmetry symmetry; /**< of A and M: bilinear (symmetric) or sesquilinear products */
    int32_t n;
    mpk_operator a;
    mpk_operator m;   /**< M^-1; for minres, symmlq and cg it must be definite */
    double tolerance; /**< of the true relative residual ||b - A x||_2 / ||b||_2 */
    int max_iterations, restart, shadow;
    int check;    /**< the true residual is computed every `check` iterations, at each restart
                       and when the recurrence says "converged". Default 8 */
    int64_t seed; /**< of idr's shadow space */
    mpk_monitor_fn monitor;
    void *user;
    double *history; /**< [out] history_size entries or NULL: relative residual after each
                          iteration, as the method recurs it */
    int32_t history_size;
} mpk_krylov_task;

/** How it went. */
typedef struct mpk_krylov_info {
    mpk_krylov method;
    int32_t iterations;   /**< steps; products counts what they cost */
    int64_t products;     /**< with A */
    int64_t applications; /**< of M^-1 */
    int32_t restarts; /**< after a breakdown or a drift of the recurrence, not those of gmres(m) */
    int32_t breakdowns;
    double tolerance; /**< that was asked for */
    double residual;  /**< true relative residual at the end; of mpk_krylov_solve() with a bound of
                           what rounding may hide in it, which only operators know better */
    double recurred;  /**< what the method believed then */
    double gap;       /**< largest true / recurred seen at a check */
    double quasi_gap; /**< sqmr: largest true residual / quasi-residual seen at a check; else 0 */
    int32_t history_count;
    double time_s, time_product_s, time_precondition_s;
} mpk_krylov_info;

MPK_API void mpk_krylov_task_init(mpk_krylov_task *task);

/** Solve A x = b.
 *  b [in]    n entries, finite, host
 *  x [inout] n entries, host: the first guess, then the solution
 *  Returns MPK_OK (the true residual is at most the tolerance) | MPK_NOT_CONVERGED (x is the best
 *  iterate seen; the message says whether iterations ran out, it stagnated, broke down or diverged)
 *  | MPK_ERR_ARGUMENT, _INPUT, _MEMORY, _NUMERIC (an operator gave NaN or Inf), _CANCELLED, or what
 *  an operator returned. Memory: the method's vectors. One thread; operators may use more.
 *  An operator is called once more, with a vector of signs, when a solution is judged: what that
 *  gives bounds its norm from below. Sources for each method: docs/krylov.md.
 *  Example: examples/matrix_free.c */
MPK_API mpk_status mpk_krylov_solve(mpk_context *ctx, const mpk_krylov_task *task, const void *b,
                                    void *x, mpk_krylov_info *info);

#ifdef __cplusplus
}
#endif
#endif
