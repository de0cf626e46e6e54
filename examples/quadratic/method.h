/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QUADRATIC_METHOD_H
#define QUADRATIC_METHOD_H
/** The predictor-corrector method of Mehrotra (SIAM J. Optim. 2, 1992), with one length for all
 *  parts of a step and with certificates where there is no solution. */
#include "system.h"

/** What residuals and gap come below, relative to b, c and the objective. */
#define TOLERANCE 1e-8

/** How it ended: "solved", "infeasible" (a certificate of Farkas), "unbounded below" (a direction
 *  in which the objective falls for ever; whether any point satisfies the constraints is not
 *  asked), "overflow", "not solved" */
typedef struct outcome {
    const char *end;
    int steps;
    double primal, dual, gap, objective, error;
} outcome;

mpk_status minimise(kkt *k, outcome *out);

#endif
