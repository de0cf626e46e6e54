/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_REFINE_H
#define MPKI_REFINE_H
/** Refinement of one right-hand side (Skeel 1980), with the backward error that it reaches. */
#include "apply.h"
#include "deflate.h"
#include "../core/pool.h"
#include <metapack/solve.h>

/** Work space of a solve, shared by all its right-hand sides. */
typedef struct mpki_solve_work {
    mpki_application m;
    void *r, *b,
        *x; /* n each: residual, copy of b, best x so far; r and b may be NULL, see below */
    const void *given; /* b where it is; NULL: the copy */
    double *w;         /* n: |A| |x| + |b| */
    double *sums;      /* of the residual: MPKI_RESIDUAL_WORK(scalar) * n */
    mpki_system system;
    const double *scale; /* of its columns, and of the rows of a general matrix after them */
    mpki_quality last;   /* of the solution refined last */
    double correction;   /* of that solution: as in mpk_solve_info */
    /* of a singular A: the kernel, made when it is needed; else NULL */
    mpki_basis *kernel;
    /* who judge several solutions, each with so many sums of his own; threads < 2: this one, with
     * those above */
    int threads;
    double *each;
} mpki_solve_work;

/** Right-hand sides that are refined together, at most. */
enum { MPKI_REFINED_TOGETHER = 16 };

/** One of them. */
typedef struct mpki_refine_column {
    const void *b;                /* n */
    void *x, *best;               /* n each: the solution, and room for one */
    double *w;                    /* n [out]: |A| |x| + |b| of the last x */
    mpki_quality q;               /* [out] of x */
    double unrefined, correction; /* [out] as in mpk_solve_info */
    int step, most;               /* steps taken, and that may be */
} mpki_refine_column;

/** fn(worker, item) for each of `count` solutions, by all of work->threads. */
void mpki_refine_each(mpki_solve_work *work, int32_t count, mpki_task_fn fn, void *arg);
/** Work space for that many, if it pays for the system's size. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_refine_share(mpk_context *ctx, mpki_solve_work *work, int threads, int32_t count);
/** The sums of a worker. */
static inline double *mpki_refine_sums(const mpki_solve_work *work, int worker) {
    return work->threads < 2 ? work->sums
                             : work->each + (int64_t)worker * work->system.a.n *
                                                MPKI_RESIDUAL_WORK(work->system.a.scalar);
}

/** How a refinement with a factor in single precision went: its steps x := x + d by ||S^-1 d|| over
 *  ||S^-1 x||, which no scaling of A's rows hides. */
typedef struct mpki_contraction {
    int steps;
    double first, next; /* of the first step taken; of one more, as the last ones go */
    bool held;          /* each left at most `rate` of the one before, the first of x */
} mpki_contraction;

/** threads >= 1; columns: most right-hand sides solved at once. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_solve_work_make(mpk_context *ctx, const mpk_factor *fac, int threads,
                                int32_t columns, mpki_solve_work *work);
/** The same without r (in double precision) and b, for who refines one right-hand side that is given; and these,
 *  if they are not there, for who asks more. Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_solve_work_lean(mpk_context *ctx, const mpk_factor *fac, int threads,
                                int32_t columns, mpki_solve_work *work);
mpk_status mpki_solve_work_complete(mpk_context *ctx, mpki_solve_work *work);
/** The same for products with A alone: work->m is empty. */
mpk_status mpki_product_work_make(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *work);
void mpki_solve_work_free(mpk_context *ctx, mpki_solve_work *work);

/** mpki_certify() in the work space of a solve with fac, whose r, b, x, w and sums are overwritten;
 *  lent NULL: in its own. */
mpk_status mpki_certify_within(mpk_context *ctx, const mpk_factor *fac, mpki_solve_work *lent,
                               mpk_certificate *out);

/** x := A^-1 x through the factor, one right-hand side, no refinement */
void mpki_apply_inverse(mpki_solve_work *work, void *x);

/* clang-format off */
#define MPKI_REFINE(p)                                                                             \
    /** x (n) holds a first solution of A x = work->b; refine it, and tell. Where that             \
     *  does not reach the accuracy, and there is work->kernel, then without the part of           \
     *  residuals that A's range has not. The best x seen is left. False: it is not                \
     *  finite. */                                                                                 \
    bool mpki_##p##_refine(mpki_solve_work *work, int steps, double accuracy, void *x,             \
                           mpk_solve_info *info);                                                  \
    /** The same of `count` right-hand sides at once, of a factor in A's precision; work->b, last    \
     *  and correction are not used. several: there are others besides; then what each of them       \
     *  becomes does not depend on which others. r [work] n x count, and one more where several */   \
    void mpki_##p##_refine_together(mpki_solve_work *work, int steps, double accuracy,             \
                                    int32_t count, bool several, mpki_refine_column *column,        \
                                    void *r, mpk_solve_info *info);                                         \
    /** The same with a factor in single precision: an answer is not refined while its next step   \
     *  would change x by more than rounding, whatever its backward error; rows that are resolved  \
     *  are left out, so that what is left has the range of single precision. *q [inout] as        \
     *  measured. */                                                                               \
    mpki_contraction mpki_##p##_refine_narrow(mpki_solve_work *work, int steps, double accuracy,   \
                                              double rate, void *x, mpki_quality *q);              \
    /** Estimate of ||A^-1||_1 (Hager 1984, Higham 1988). */                                       \
    double mpki_##p##_inverse_norm1(mpki_solve_work *work);
/* clang-format on */
MPKI_REFINE(s)
MPKI_REFINE(d)
MPKI_REFINE(c)
MPKI_REFINE(z)
#undef MPKI_REFINE

#endif
