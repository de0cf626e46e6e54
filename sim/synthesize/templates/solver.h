/* SPDX-License-Identifier: BSD-3-Clause */
/* A solver of A x = b for sparse A: XX_DESCRIPTION_XX.
 * Made by `metapack synthesize`; it needs nothing but a C library. Meta-algorithm 12 of Thuerck
 * 2021 for one choice of its parameters. */
#ifndef SOLVER_H
#define SOLVER_H
#include <stdint.h>

enum { LDLT, LLT, LDU };        /* L D L^T, L L^T, L D U, for any square A */
#define TYPE XX_TYPE_XX         /* the number of one of these */
#define BLOCK XX_BLOCK_XX       /* rows of a block */
#define LEVEL XX_LEVEL_XX       /* of fill; -1: complete */
#define STAGES XX_STAGES_XX     /* of outer pivoting; 1: none */
#define PIVOTING XX_PIVOTING_XX /* inside blocks: complete, with 2x2 pivots in L D L^T */
#define ORDERING XX_ORDERING_XX /* 0: reverse Cuthill-McKee, 1: AMD, 2: nested dissection */
#define MATCHING XX_MATCHING_XX /* scaling by a maximum-product matching, 2x2 pivots of its pairs */
#define BUTTERFLY XX_BUTTERFLY_XX /* a rejected block is transformed before the next stage */
#define KRYLOV XX_KRYLOV_XX       /* 0: refinement alone, 1: SQMR, 2: GMRES */

/* Text of the kernels' target: c, hls or cuda. */
#define TARGET "XX_TARGET_XX"

typedef struct solver solver;

typedef struct solver_info {
    int stages, rejected; /* frames pushed back, over all stages */
    int dense;            /* rows of the dense pivot at the end, of frames that no stage accepted */
    int64_t blocks;       /* of L */
    int64_t replaced;     /* pivots that were too small, and replaced */
    double growth;        /* the largest entry of D (of L L^T: pivot) by that of A, both scaled */
    int64_t positive, negative; /* pivots by sign */
    int64_t zero;               /* those that were replaced have none */
    int certain;                /* is this the inertia of A? */
    const char *why_not;        /* NULL where it is certain */
    double contraction; /* the largest sqrt(n) |z - M^-1 A z| / |z| over random z that were tried */
    int steps;          /* of the last solve: applications of the factor */
    double error;       /* of the last solve: componentwise backward error */
} solver_info;

/* Factorize A (n x n by columns, 0-based, duplicates added up; of a symmetric one the lower
 * triangle alone). 0; -1: no memory; -2: values that are not finite, or overflow on the way; -3:
 * not positive definite (L L^T without dropping). */
int solver_make(int n, const int64_t *ap, const int32_t *ai, const double *ax, solver **s);
void solver_free(solver **s);
/* x := M^-1 b with the factor, no refinement. x and b may be the same. */
void solver_apply(const solver *s, const double *b, double *x);
/* A x = b with iterative refinement, and KRYLOV where that is not enough. Returns the componentwise
 * backward error reached; where it is large the inertia is not certain, either. */
double solver_solve(solver *s, const double *b, double *x);
const solver_info *solver_tell(const solver *s);

/* kernels: a batch of BLOCK x BLOCK blocks by rows; see kernels.XX_SUFFIX_XX */
void run_factorize(int64_t count, double **block, double **other, double **diag, double small,
                   int32_t *trouble, double *largest);
void run_solve(int64_t count, double **block, const double **tri, const double **diag,
               const double **order, double *largest);
/* block[e] -= a[e] D b[e]^T: for each of `count` blocks its items first[k] .. first[k+1] - 1 one after
 * the other; the lists are read when it returns. */
void run_downdate(int64_t count, const int64_t *first, double **block, const double **a,
                  const double **b, const double **diag);
/* zeroed memory of the host for values, which kernels have where they run; NULL: there is none */
void *kernel_memory(size_t bytes);
void kernel_release(void *p);
/* a part of it, to where kernels run, or back */
void kernel_send(void *values, size_t bytes);
void kernel_fetch(void *values, size_t bytes);
#endif
