/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_REFINE_H
#define MPKI_REFINE_H
/** Refinement of one right-hand side, and vector operations of one precision. */
#include "triangular.h"
#include <metapack/solve.h>

/** Work space of a solve, shared by all its right-hand sides. */
typedef struct mpki_solve_work {
    mpki_sweeps sweeps;
    int block;        /* most right-hand sides swept together */
    void *y;          /* n * block * threads: positions */
    void *r, *b, *x;  /* n each: residual, copy of b, best x so far */
    double *w;        /* n: |A| |x| + |b| */
    double *wide;     /* 2 n: sums of the residual in double, or their low parts */
    double *row_norm; /* n: max_j |a_ij| ... filled when first needed */
    bool have_row_norm;
    double norm_inf; /* ||A||_inf */
} mpki_solve_work;

/** Backward errors and the relative residual of one solution (metapack/solve.h). */
typedef struct mpki_quality {
    double componentwise, normwise, relative;
} mpki_quality;

#define MPKI_REFINE(p)                                                                             \
    /** from r = b - A x, w = |A| |x| + |b|, the sums of moduli of A's rows and ||A||_inf */       \
    mpki_quality mpki_##p##_quality(int32_t n, const void *x, const void *b, const void *r,        \
                                    const double *w, const double *row_norm, double a_norm);       \
    /** x (n) holds a first solution of A x = work->b; refine it, and tell. */                     \
    void mpki_##p##_refine(const mpk_factor *fac, int steps, double accuracy,                      \
                           mpki_solve_work *work, void *x, mpk_solve_info *info);                  \
    /** Estimate of ||A^-1||_1 (Hager 1984, Higham 1988). */                                       \
    double mpki_##p##_inverse_norm1(const mpk_factor *fac, mpki_solve_work *work);
MPKI_REFINE(s)
MPKI_REFINE(d)
MPKI_REFINE(c)
MPKI_REFINE(z)
#undef MPKI_REFINE

#endif
