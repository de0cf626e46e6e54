/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef METAPACK_KRYLOV_H
#define METAPACK_KRYLOV_H
/** Iterative solution of A x = b with any operator and any preconditioner, both given as functions.
 *  Methods and sources: docs/guide/krylov.md. */
#include <metapack/options.h>

#ifdef __cplusplus
extern "C" {
#endif

/** y := Op(x) for one vector of n entries of the task's scalar type, in the task's memory; x and y
 *  do not overlap. Called in the thread of mpk_krylov_solve(). In device memory: x is made in the
 *  task's stream, and y has to be; the operator need not wait for either.
 *  self is the caller's
 *  Returns MPK_OK, or a failure, which ends the solve and is returned from it. */
typedef mpk_status (*mpk_apply_fn)(void *self, const void *x, void *y);

/** A linear operator: a matrix-free A, or a preconditioner M^-1. apply NULL: the identity. */
typedef struct mpk_operator {
    mpk_apply_fn apply;
    void *self;
} mpk_operator;

/** Called after each iteration, which counts from 1; residual is the relative residual that the
 *  method's recurrence gives. A return other than 0 ends the solve with MPK_ERR_CANCELLED. */
typedef int (*mpk_monitor_fn)(void *user, int32_t iteration, double residual);

/** What is asked of an iterative solve. mpk_krylov_task_init() first. */
typedef struct mpk_krylov_task {
    size_t struct_size;
    mpk_krylov method;     /**< not auto, not none. Default sqmr */
    mpk_scalar scalar;     /**< of b, x and the operators. Default double */
    mpk_symmetry symmetry; /**< of A and M: bilinear (symmetric) or sesquilinear products;
                                general: for methods that need no symmetry */
    int32_t n;
    mpk_operator a;     /**< A; must be given */
    mpk_operator m;     /**< M^-1; for minres, symmlq and cg it must be definite */
    double tolerance;   /**< of the true relative residual ||b - A x||_2 / ||b||_2, 0 .. 1.
                             Default 1e-6 */
    int max_iterations; /**< default 1000 */
    int restart;        /**< of gmres and fgmres, in steps. Default 50 */
    int shadow;         /**< vectors in idr's shadow space, 1 .. 64. Default 4 */
    int check;          /**< the true residual is computed every `check` iterations, at each restart
                             and when the recurrence says "converged". Default 8 */
    int64_t seed;       /**< of idr's shadow space. Default 1 */
    mpk_monitor_fn monitor; /**< or NULL */
    void *user;             /**< for monitor */
    double *history;        /**< [out] history_size entries or NULL: relative residual after each
                                 iteration, as the recurrence gives it */
    int32_t history_size;
    mpk_memory memory; /**< where the operators' vectors lie. MPK_DEVICE: all vectors of the method
                            lie on the device; b and x may lie there or in host memory.
                            Default MPK_HOST */
    int device;        /**< with MPK_DEVICE: which GPU, from 0. Default 0 */
    void *stream;      /**< with MPK_DEVICE: the cudaStream_t in which the operators and the method
                            work. Default NULL: the device's default stream */
} mpk_krylov_task;

/** How it went. */
typedef struct mpk_krylov_info {
    mpk_krylov method;
    int32_t iterations;   /**< steps; products counts what they cost */
    int64_t products;     /**< with A */
    int64_t applications; /**< of M^-1 */
    int32_t restarts;     /**< after a breakdown or a drift of the recurrence; not those of gmres */
    int32_t breakdowns;
    double tolerance; /**< that was asked for */
    double residual;  /**< true relative residual at the end; mpk_krylov_solve() adds a bound for
                           the rounding errors in it */
    double recurred;  /**< what the recurrence gave then */
    double gap;       /**< largest true / recurred seen at a check */
    double quasi_gap; /**< sqmr: largest true residual / quasi-residual seen at a check; else 0 */
    int32_t history_count; /**< entries written to task.history */
    /** Of all; of the products with A; of the applications of M^-1. */
    double time_s, time_product_s, time_precondition_s;
    int64_t reserved[8]; /**< 0: for numbers to come; metapack.h, Structs */
} mpk_krylov_info;

/** Fill with the defaults above; n = 0, no operators. */
MPK_API void mpk_krylov_task_init(mpk_krylov_task *task);

/** Solve A x = b.
 *  b [in]    n entries, finite
 *  x [inout] n entries, finite: the first guess, then the solution
 *  Returns MPK_OK: the true residual is at most the tolerance
 *          | MPK_NOT_CONVERGED: x is the best iterate seen; the text says whether iterations ran
 *            out, or the method stagnated, broke down or diverged
 *          | MPK_ERR_ARGUMENT, _INPUT (NaN or Inf in b or x), _MEMORY, _CANCELLED, _NUMERIC (an
 *            operator gave NaN or Inf), _UNSUPPORTED (minres, symmlq, cg of a complex symmetric
 *            matrix), _DEVICE (there is no such device, or it failed), or what an operator returned
 *  To judge a solution, A is also applied to a vector of +1 and -1, whose image bounds ||A|| from
 *  below. Threads: the caller's; operators may use more. Example: examples/matrix_free.c */
MPK_API mpk_status mpk_krylov_solve(mpk_context *ctx, const mpk_krylov_task *task, const void *b,
                                    void *x, mpk_krylov_info *info);

/** The functions of these names, told how large the caller's struct is: metapack.h, Structs. */
MPK_API void mpk_krylov_task_init_sized(size_t size, mpk_krylov_task *task);
MPK_API mpk_status mpk_krylov_solve_sized(size_t size, mpk_context *ctx,
                                          const mpk_krylov_task *task, const void *b, void *x,
                                          mpk_krylov_info *info);
#ifndef MPKI_LIBRARY
#define mpk_krylov_task_init(...) mpk_krylov_task_init_sized(sizeof(mpk_krylov_task), __VA_ARGS__)
#define mpk_krylov_solve(...) mpk_krylov_solve_sized(sizeof(mpk_krylov_info), __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif
#endif
