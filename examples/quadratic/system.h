/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QUADRATIC_SYSTEM_H
#define QUADRATIC_SYSTEM_H
/** The linear systems of the method, by METAPACK: on a device where the options lead to one. */
#include "program.h"
#include <metapack/metapack.h>

enum { STAGES = 5 };
extern const char *const stage_name[STAGES];

typedef struct kkt {
    mpk_context *ctx;
    const program *p;
    bool whole, there; /* there: values and vectors lie in a device's memory */
    int32_t order;     /* n + m, or n */
    double delta, rho; /* -delta I in the corner, rho I on the diagonal */
    double *grow;      /* the diagonal, order */
    double *fixed;     /* what of it is constant, order */
    double *rhs;       /* order */
    void *device_values, *device_rhs;
    double *values;
    int64_t entries;
    mpk_problem *problem;
    mpk_analysis *an;
    mpk_factor *fac;
    mpk_options options;
    double time[STAGES], analysis;
    int factorizations, raised;
    /** Is told each iterate, before its step: x, and the multipliers of its lower bounds. NULL: no
     *  one is. */
    void (*seen)(struct kkt *k, int step, double mu, const double *x, const double *s);
} kkt;

double now(void);
/** Add the time since then to a stage; returns now(). */
double lap(kkt *k, int stage, double since);
/** From k->p, ctx, options, whole, delta; the rest zero. */
mpk_status kkt_make(kkt *k);
void kkt_free(kkt *k);
/** Factorize with theta on H's diagonal. */
mpk_status kkt_factorize(kkt *k, const double *theta);
/** [H + Theta, A^T; A, -delta I] (dx, -dy) = (f, g) */
mpk_status kkt_solve(kkt *k, const double *f, const double *g, double *dx, double *dy);

#endif
