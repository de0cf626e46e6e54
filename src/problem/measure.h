/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_MEASURE_H
#define MPKI_MEASURE_H
/** How good is a solution? Backward errors from residuals in about twice the working precision,
 *  also for numbers near the ends of the range. */
#include "../engines/interface/engine.h"
#include "../engines/interface/rows.h"
#include <math.h>
#include "problem.h"
#include "skew.h"

/** A system whose solutions are measured. */
typedef struct mpki_system {
    mpk_context *ctx; /* for memory and errors */
    mpk_problem_view a;
    const double *row_norm; /* n: sums of moduli; infinite where they overflow */
    double norm_inf;        /* the largest of them */
    bool plain;             /* every row by its own denominator (dense matrices) */
    const mpki_skew *skew;  /* the matrix is a + this; NULL: it is a */
} mpki_system;

/** The componentwise backward error that options.accuracy asks for. */
static inline double mpki_accuracy(const mpk_options *options, mpk_scalar scalar) {
    if (options->accuracy >= 0) return options->accuracy;
    return scalar == MPK_S || scalar == MPK_C ? 0x1p29 * 1e-14 : 1e-14;
}

/** Backward errors and the relative residual of one solution (metapack/solve.h). Where x or b is
 * not finite all three are infinite; they are never NaN. */
typedef struct mpki_quality {
    double componentwise, normwise, relative;
    double growth; /* ||A||_inf ||x||_inf / ||b||_inf */
    int exponent;  /* r holds 2^exponent (b - A x): not 0 where that is too small or too large */
    /* By rows in units of their own, |r_i| / sum_j |a_ij|, so that no large row hides a small one:
     * the largest of r beside the largest of b; and of b in the rows that x does not resolve, where
     * |r_i| > |b_i| / 100, beside the largest of b. missed: there is such a row in which neither
     * r nor b is rounding beside (|A| |x| + |b|)_i */
    double rows, unresolved;
    bool missed;
    /* |r_i| <= mpki_within(scalar) (|A| |x| + |b|)_i in every row; false: not, or not known */
    bool within;
    /* 1 + MPKI_CUTS: how nearly A takes x to zero, and its large entries; NULL: no engine says so */
    const mpki_near_zero *near;
} mpki_quality;

/** Then v^T b = v^T r is no more than this of |v|^T (|A| |x| + |b|) for every v in A's kernel. */
static inline double mpki_within(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C ? 0x1p29 * 1e-13 : 1e-13;
}

/** Nothing is known. */
#define MPKI_UNMEASURED                                                                            \
    ((mpki_quality){.componentwise = INFINITY,                                                     \
                    .normwise = INFINITY,                                                          \
                    .relative = INFINITY,                                                          \
                    .growth = INFINITY})

/** What rows have said, as it is told. */
static inline void mpki_rows_told(const mpki_by_rows *rows, mpki_quality *q) {
    q->rows = rows->r > 0 ? rows->b > 0 ? rows->r / rows->b : INFINITY : 0;
    q->unresolved = rows->b > 0 ? rows->unresolved / rows->b : 0;
    q->missed = rows->missed;
}

/** Does x solve its system, in every row? That is asked where x is not accurate, or A singular, and
 *  what all verdicts go by. An error that is no rounding may be what b has outside of A's range,
 *  small beside a large x: then r must be small beside b, too. */
static inline bool mpki_solves(mpk_scalar scalar, double componentwise, double rows) {
    const bool single = scalar == MPK_S || scalar == MPK_C;
    const double most = single ? 1e-4 : 1e-8, rounding = single ? 1e-5 : 1e-12;
    if (!(componentwise <= most)) return false;
    return componentwise <= rounding || rows <= (single ? 1e-2 : 1e-6);
}

/* clang-format off */
#define MPKI_MEASURE(p)                                                                            \
    /** The errors of x.                                                                           \
     *  x, b [in]  n                                                                               \
     *  r    [out] n: see exponent; may be b, not x                                                \
     *  w    [out] n: |A| |x| + |b|                                                                \
     *  work [out] MPKI_RESIDUAL_WORK(scalar) * n doubles */                                       \
    mpki_quality mpki_##p##_measure(const mpki_system *s, const void *x, const void *b, void *r,   \
                                    double *w, double *work);                                      \
    /** the errors from r = b - A x and w = |A| |x| + |b|; false: they must be found in another    \
     * way, as some number is near the ends of what doubles hold */                                \
    bool mpki_##p##_quality(const mpki_system *s, const void *x, const void *b, const void *r,     \
                            const double *w, mpki_quality *quality);                               \
    /** the same from what was found by rows */                                                   \
    bool mpki_##p##_quality_of(const mpki_system *s, const mpki_judged *judged,                    \
                               mpki_quality *quality);                                             \
    /** measure() in extended range. Without memory for it (MPK_ERR_MEMORY) errors are infinite.   \
     */                                                                                            \
    mpki_quality mpki_##p##_measure_wide(const mpki_system *s, const void *x, const void *b,       \
                                         void *r);
/* clang-format on */
MPKI_MEASURE(s)
MPKI_MEASURE(d)
MPKI_MEASURE(c)
MPKI_MEASURE(z)
#undef MPKI_MEASURE

#endif
