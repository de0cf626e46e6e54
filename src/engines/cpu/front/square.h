/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_FRONT_SQUARE_H
#define MPKI_CPU_FRONT_SQUARE_H
/** The front of a general matrix: w fully summed rows and columns of nrows, factored as P A = L U by
 *  threshold partial pivoting (Duff & Reid 1983, Algorithm 3 of the same frontal family; Amestoy,
 *  Duff, L'Excellent & Koster 2001): rows are exchanged inside the fully summed block alone, and
 *  columns without a pivot there come last. It works with the kernels and the work space of the
 *  symmetric front. */
#include "front.h"

typedef struct FN(square) {
    int64_t nrows;
    int32_t w;     /* fully summed rows and columns */
    int32_t nelim; /* [out] pivots; they come first after the permutations */
    int64_t ld;    /* mpki_leading(nrows) */
    T *a;          /* ld x w: the columns; L below its unit diagonal, U on and above it */
    int64_t ldu;   /* mpki_leading(nrows - w) */
    T *u;          /* ldu x w: the other entries of the rows, transposed; column k is row k of U */
    T *dinv;       /* w: reciprocals of the pivots; 0: a zero pivot */
    int32_t *col, *row; /* w: names of columns and rows, permuted with them */
    int32_t *exchange;  /* w: the row that came to each pivot's place, one after the other */
} FN(square);

/** Eliminate what has a pivot. With nrows == w (a root) all columns are: those of which nothing
 *  above rules->small is left get zero pivots. rules->shift > 0: everywhere, and pivots below it are
 *  replaced.
 *  works  [in] one for each worker of the pool, which may be NULL
 *  pivots [inout] statistics are added; of `positive`: pivots that are not zero
 *  Returns MPK_OK | MPK_ERR_NUMERIC: a NaN or Inf was met | MPK_ERR_CANCELLED */
mpk_status FN(square_factor)(FN(square) * f, const FN(front_rules) * rules, FN(front_work) * works,
                             mpki_pool *pool, int worker, mpki_pivots *pivots);

/** c := -L21 U12 for the rows and columns after w. */
void FN(square_update)(const FN(square) * f, const FN(front_rules) * rules, FN(front_work) * works,
                       T *c, mpki_pool *pool, int worker);

#endif
