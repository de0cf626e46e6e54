/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_SOLVE_SPARSE_H
#define MPKI_SOLVE_SPARSE_H
/** Entries of dense columns that are given by few rows, and of A's rows. */
#include "engines/interface/engine.h"

/** Some rows of A, with the columns as places in a list of rows of x. */
typedef struct mpki_few_rows {
    int32_t n;      /* of A */
    int32_t listed; /* rows of x */
    double norm;    /* ||A||_inf */
    int32_t count;
    int64_t *ptr; /* count + 1 */
    int32_t *at;
    void *value;
} mpki_few_rows;

/* clang-format off */
#define MPKI_SOLVE_SPARSE(p)                                                                       \
    /** b (n) += the entries of one side */                                                        \
    void mpki_##p##_sparse_scatter(const mpki_sparse_sides *sides, int64_t side, void *b);         \
    /** x (wanted) := rows of y (n) */                                                             \
    void mpki_##p##_sparse_gather(const mpki_sparse_sides *sides, const void *y, void *x);         \
    /** value [out] entry k of ax, as it stands in the triangle it is stored in, or in the other   \
     */                                                                                            \
    void mpki_##p##_sparse_entry(const void *ax, int64_t k, bool conjugate, void *value,           \
                                 int64_t at);                                                      \
    /** max |b - A x|_i / (|A| |x| + |b|)_i of these rows; 0/0 = 0; where that is negligible       \
     *  beside the largest x of the list, or the least that b allows, with the second              \
     *  denominator of Arioli, Demmel & Duff 1989 (metapack/solve.h).                              \
     *  x [in] of the list; index [in] n: place of a row among them, -1: none; b [out] count: work \
     */                                                                                            \
    double mpki_##p##_sparse_error(const mpki_few_rows *rows, const mpki_sparse_sides *sides,      \
                                   int64_t side, const int32_t *index, const void *x, void *b);
/* clang-format on */
MPKI_SOLVE_SPARSE(s)
MPKI_SOLVE_SPARSE(d)
MPKI_SOLVE_SPARSE(c)
MPKI_SOLVE_SPARSE(z)
#undef MPKI_SOLVE_SPARSE

#endif
