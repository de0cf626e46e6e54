/* SPDX-License-Identifier: BSD-3-Clause */
/* A solver of A x = b for sparse symmetric A: XX_DESCRIPTION_XX.
 * Made by `metapack synthesize`; it needs nothing but a C library. Meta-algorithm 12 of Thuerck
 * 2021 for one choice of its parameters. */
#ifndef SOLVER_H
#define SOLVER_H
#include <stdint.h>

#define BLOCK XX_BLOCK_XX   /* rows of a block */
#define LEVEL XX_LEVEL_XX   /* of fill; -1: complete */
#define STAGES XX_STAGES_XX /* of outer pivoting; 1: none */

/* Text of the kernels' target: c, hls or cuda. */
#define TARGET "XX_TARGET_XX"

typedef struct solver solver;

typedef struct solver_info {
    int stages, rejected;       /* frames pushed back, over all stages */
    int64_t blocks, replaced;   /* blocks of L; pivots that were replaced in the last stage */
    int64_t positive, negative; /* pivots by sign: about the inertia */
} solver_info;

/* Factorize A (n x n, its lower triangle by columns, 0-based, duplicates added up). 0, or -1: no
 * memory, or values that are not finite. */
int solver_make(int n, const int64_t *ap, const int32_t *ai, const double *ax, solver **s);
void solver_free(solver **s);
/* x := M^-1 b with the factor, no refinement. x and b may be the same. */
void solver_apply(const solver *s, const double *b, double *x);
/* A x = b with iterative refinement. Returns the componentwise backward error reached. */
double solver_solve(const solver *s, const double *b, double *x);
const solver_info *solver_tell(const solver *s);

/* kernels: items first .. last-1 of a batch of BLOCK x BLOCK blocks by rows; see
 * kernels.XX_SUFFIX_XX */
void run_factorize(int64_t count, double **block, double small, int32_t *trouble, double *largest);
void run_solve(int64_t count, double **block, const double **pivot, double *largest);
void run_downdate(int64_t count, double **block, const double **a, const double **b,
                  const double **pivot);
void *kernel_memory(size_t bytes); /* zeroed memory that the kernels can use; NULL: there is none */
void kernel_release(void *p);
#endif
