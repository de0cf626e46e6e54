/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_DENSE_REFINE_H
#define MPKI_DENSE_REFINE_H
/** From a factorization to a solution and its errors, by the slots of any engine. */
#include "../engines/interface/dense.h"
#include <complex.h>

enum { MPKI_DENSE_TOGETHER = 256 }; /* right-hand sides solved and refined at once, at most */

/** How many of nrhs right-hand sides are. */
static inline int32_t mpki_dense_together(int32_t nrhs) {
    return nrhs < MPKI_DENSE_TOGETHER ? nrhs : MPKI_DENSE_TOGETHER;
}

/** A solve on its way: the engine, the call (dense and f settled), and where the work lies. */
typedef struct mpki_dense_solve {
    const mpki_dense_engine *engine;
    mpki_dense_call call; /* call.work: that of the method's solve slot */
    char *work;           /* mpki_dense_solve_bytes(), in the engine's memory */
    double norm_inf;      /* ||A||_inf; needed where a is given */
} mpki_dense_solve;

/** Bytes of work that a solve needs besides that of the method's slot. */
int64_t mpki_dense_solve_bytes(const mpki_dense_engine *engine, const mpki_dense_call *call,
                               int32_t nrhs);

/** X := A^-1 B, refined where call.a is given; fills the errors in call.info.
 *  b [in]  n x nrhs, leading dimension ldb, in the engine's memory
 *  x [out] likewise, ldx; x == b with ldx == ldb is allowed
 *  Returns MPK_OK | MPK_INACCURATE | a failure of the engine. */
mpk_status mpki_dense_refined(mpki_dense_solve *s, int32_t nrhs, const void *b, int64_t ldb,
                              void *x, int64_t ldx);

/** Entry i of a vector in host memory, as a double complex. */
double complex mpki_dense_entry(mpk_scalar scalar, const void *x, int64_t i);

/** What a solution is worth. */
typedef struct mpki_dense_worth {
    double omega, normwise; /* backward errors */
    /* they may be trusted. False: they are small only because x is so large that b hardly counts
     * beside A x: mpki_dense_examine() is asked then */
    bool sound;
    bool flat;   /* then: A takes the large entries of x to nearly nothing */
    bool kernel; /* then: A takes the large entries of x to nothing, up to rounding */
    bool solved; /* it solves its system (mpki_solves) */
} mpki_dense_worth;

/** Judge a solution.
 *  b, x  [in]  n entries each, in the engine's memory
 *  now   [in]  what the engine measured of them */
mpki_dense_worth mpki_dense_settle(const mpki_dense_solve *s, const void *b, const void *x,
                                   const mpki_dense_error *now);

/** y := M^-1 (-A z), or -A z alone; both n entries in host memory. Overwrites what refinement
 *  keeps. */
mpk_status mpki_dense_backward(mpki_dense_solve *s, const void *z, void *y, bool product_alone);

/** Draw vectors until it is settled whether ||I - M^-1 A|| < 1, so that A is regular and has the
 *  inertia of the factors. s->call.a is given. Returns MPK_OK | MPK_ERR_MEMORY, _DEVICE. */
mpk_status mpki_dense_examine(mpki_dense_solve *s, mpk_certificate *found);
/** Likewise, told in s->call.info->inertia, too. found [out] not certified where the call fails */
mpk_status mpki_dense_examine_counts(mpki_dense_solve *s, mpk_certificate *found);
/** May the signs of the factors be A's inertia? Not of complex symmetric ones; nor of Aasen's,
 *  whose T is eliminated in another way for its signs than for solves. */
bool mpki_dense_counts(const mpk_dense *d);

/** An estimate of ||A||_1 ||A^-1||_1 by Hager's method (Hager 1984, Higham 1988). */
mpk_status mpki_dense_condition(mpki_dense_solve *s, double *condition);

#endif
