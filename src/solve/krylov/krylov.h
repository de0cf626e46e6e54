/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_KRYLOV_H
#define MPKI_KRYLOV_H
/** What the iterative methods share. A method (one in each file) runs a cycle: from an iterate with
 * its true residual until something happens. steps_t.c judges what happened by the true residual
 * and decides whether there is another cycle. Vectors have n entries of the task's scalar type, in
 * an engine's memory, which does all that is done to them (mpki_vector_ops). */
#include "../../engines/interface/engine.h"
#include "../../core/core.h"
#include "../../problem/problem.h"
#include <metapack/krylov.h>

/** How a cycle, or an iteration of it, ended. */
typedef enum mpki_event {
    MPKI_GO = 0,     /* it goes on */
    MPKI_CONVERGED,  /* the true residual is small enough */
    MPKI_CYCLE,      /* the method restarts by design: gmres(m) */
    MPKI_LIMIT,      /* iterations ran out */
    MPKI_BREAKDOWN,  /* a denominator vanished, or numbers overflowed */
    MPKI_DRIFT,      /* the recurred residual is far below the true one */
    MPKI_STAGNATION, /* no progress of the true residual over many checks */
    MPKI_DIVERGENCE, /* the residual is far above the best one seen */
    MPKI_UNFIT,      /* the method is not for this matrix or preconditioner */
    MPKI_FAILURE     /* k->status says why: an operator failed, or the caller stopped it */
} mpki_event;

typedef struct mpki_krylov mpki_krylov;

struct mpki_krylov {
    mpk_context *ctx;
    mpk_krylov_task task;
    mpki_krylov_extra extra;
    const mpki_vector_ops *ops;
    mpki_space *space;
    int32_t n;
    int hermitian; /* products conjugate the first factor (set for real entries too, where it makes
                      no difference) */
    /* the problem, scaled by a power of two so that ||b||_inf is about 1 */
    void *b, *x, *best;
    void *r;       /* the true residual of *iterate when `fresh` */
    void **v;      /* the method's own vectors */
    void **all;    /* these and the others */
    double *small; /* the method's own scalars */
    double scale;  /* b = scale * the caller's b, likewise x */
    double b_norm;
    bool (*form)(mpki_krylov *k); /* makes *iterate up to date; NULL: it always is */
    void *iterate;
    int32_t cycle_steps; /* gmres: columns done */
    /* judgement; residuals are relative to ||b|| */
    bool fresh;               /* r and truth belong to the iterate */
    double truth, best_truth; /* of the iterate, of the best one; what rounding may hide is added */
    double noise;             /* that added part of truth */
    double a_norm;            /* largest ||A v|| / ||v|| seen, or the caller's */
    double flattest;    /* least ||A x|| / (||A|| ||x||) seen: small where A is nearly singular */
    bool hidden;        /* a residual looked small enough, but only within rounding */
    double recurred;    /* residual as the method's recurrence has it */
    double quasi;       /* sqmr: its quasi-residual; 0: none */
    double target;      /* the true residual is computed when the recurred one is at most this */
    double mark;        /* true residual at the last progress */
    double told;        /* progress reported so far, 0 .. 1: it never falls */
    int64_t idle;       /* checks since the last progress */
    int attempt;        /* restarts so far: another shadow space, another start */
    uint64_t random;    /* state */
    const char *reason; /* of the last breakdown, in words; NULL: none */
    mpk_status status;
    mpk_krylov_info info;
    char message[MPKI_KRYLOV_MESSAGE];
};

/** mpk_krylov_solve, on the vectors of an engine, except that a positive status is not recorded in
 *  the context: message [out] (MPKI_KRYLOV_MESSAGE bytes) has its text. The operators get vectors
 *  in the engine's memory; b and x lie there or in host memory. extra may be NULL. */
mpk_status mpki_krylov_run(mpk_context *ctx, const mpki_vector_engine *engine,
                           const mpk_krylov_task *task, const mpki_krylov_extra *extra,
                           const void *b, void *x, mpk_krylov_info *info, char *message);

/** A copy of A in both triangles for an engine's products.
 *  exponent [out] the copy holds 2^-exponent A: 0, unless the largest entry is so far from 1 that
 *                 squares could leave the range
 *  longest  [out] most entries of a row
 *  limit, and what it returns: as engine->matrix_make has them */
mpk_status mpki_krylov_matrix(mpk_context *ctx, const mpki_vector_engine *engine,
                              const mpk_problem_view *a, int threads, double limit, mpki_matrix **m,
                              int *exponent, int32_t *longest);

/** Has an operation of the engine's failed? k->status tells why. */
bool mpki_krylov_lost(mpki_krylov *k);

/** Does the engine do the steps of gmres in batches? */
bool mpki_krylov_cycles(const mpki_krylov *k);

/** A name for a method, "sqmr". */
const char *mpki_krylov_name(mpk_krylov method);

#define MPKI_KRYLOV_TEMPLATES(p)                                                                   \
    mpki_event mpki_##p##_sqmr(mpki_krylov *k);                                                    \
    mpki_event mpki_##p##_minres(mpki_krylov *k);                                                  \
    mpki_event mpki_##p##_symmlq(mpki_krylov *k);                                                  \
    mpki_event mpki_##p##_cg(mpki_krylov *k);                                                      \
    mpki_event mpki_##p##_gmres(mpki_krylov *k); /* and fgmres */                                  \
    mpki_event mpki_##p##_bicgstab(mpki_krylov *k);                                                \
    mpki_event mpki_##p##_idr(mpki_krylov *k);                                                     \
    mpk_status mpki_##p##_krylov(mpki_krylov *k, const void *b, void *x);
MPKI_KRYLOV_TEMPLATES(s)
MPKI_KRYLOV_TEMPLATES(d)
MPKI_KRYLOV_TEMPLATES(c)
MPKI_KRYLOV_TEMPLATES(z)
#undef MPKI_KRYLOV_TEMPLATES

#endif
