/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_REFINE_H
#define MPKI_REFINE_H
/** Refinement of one right-hand side. */
#include "triangular.h"
#include <metapack/solve.h>

/** Work space of a solve, shared by all its right-hand sides. */
typedef struct mpki_solve_work {
    mpki_sweeps sweeps;
    int block;       /* most right-hand sides swept together */
    void *y;         /* n * block * threads: positions */
    void *r, *b, *x; /* n each: residual, copy of b, best x so far */
    double *w;       /* n: |A| |x| + |b| */
    double *sums;    /* of the residual: MPKI_RESIDUAL_WORK(scalar) * n */
    mpki_system system;
    double growth; /* ||A|| ||x|| / ||b|| of the solution refined last */
} mpki_solve_work;

/** threads >= 1; block: most right-hand sides swept together. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_solve_work_make(mpk_context *ctx, const mpk_factor *fac, int threads, int block,
                                mpki_solve_work *work);
void mpki_solve_work_free(mpk_context *ctx, mpki_solve_work *work);

#define MPKI_REFINE(p)                                                                             \
    /** x := A^-1 x through the factor, one right-hand side, no refinement */                      \
    void mpki_##p##_apply_inverse(const mpk_factor *fac, mpki_solve_work *work, void *x);          \
    /** x (n) holds a first solution of A x = work->b; refine it, and tell. The best x seen is     \
     *  left. False: it is not finite. */                                                          \
    bool mpki_##p##_refine(const mpk_factor *fac, int steps, double accuracy,                      \
                           mpki_solve_work *work, void *x, mpk_solve_info *info);                  \
    /** Estimate of ||A^-1||_1 (Hager 1984, Higham 1988). */                                       \
    double mpki_##p##_inverse_norm1(const mpk_factor *fac, mpki_solve_work *work);
MPKI_REFINE(s)
MPKI_REFINE(d)
MPKI_REFINE(c)
MPKI_REFINE(z)
#undef MPKI_REFINE

#endif
