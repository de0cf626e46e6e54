/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_H
#define BENCH_H
/** One solver under the benchmark's driver (driver.c). Each solver is its own program, so that no
 * two OpenMP runtimes or BLAS libraries meet; all read the same file and are judged by the same
 * code. */
#include <stdbool.h>
#include <stdint.h>

/** A symmetric matrix: lower triangle by columns, 0-based, rows increasing, as convert.c writes it.
 */
typedef struct bench_matrix {
    int32_t n;
    int64_t nnz;
    bool complex_values; /**< ax holds pairs */
    bool hermitian;
    int64_t *ap; /**< n + 1 */
    int32_t *ai; /**< nnz */
    double *ax;  /**< nnz, or 2 nnz */
} bench_matrix;

/** What a solver tells of itself; -1 where it does not know. */
typedef struct bench_facts {
    int64_t positive, negative, zero;
    int64_t factor_nnz, delayed, perturbed;
    double flops;
    double told_kb;   /**< the most memory that it says to have held */
    double unrefined; /**< backward error before refinement, of a solver that refines by itself */
    int64_t steps;
    char version[64];
} bench_facts;

/* Each solver defines these. They return NULL, or why it did not work. */
extern const char *const bench_name;
/** setting [in] "default", or one that the solver's file lists. Called once, before all else. */
const char *bench_start(int threads, const char *setting);
/** Bring the matrix into the solver's own input format; not timed. It may be kept until the next
 * call. */
const char *bench_prepare(const bench_matrix *a);
/** A second call replaces the first one's result; factorizations after it are with it. */
const char *bench_analyse(const bench_matrix *a);
const char *bench_factorize(const bench_matrix *a);
/** n values each (pairs where complex).
 *  x [out] the solution
 *  b [in]  the right-hand side */
const char *bench_solve(const bench_matrix *a, const double *b, double *x);
/** The same for so many right-hand sides together, n apart; NULL: the solver's file has no such call. */
const char *bench_solve_sides(const bench_matrix *a, int sides, const double *b, double *x)
    __attribute__((weak));
/** True: bench_solve() refines and checks by itself, and the driver does not refine after it. */
extern bool bench_refines;
void bench_tell(bench_facts *facts);
void bench_finish(void);

#endif
