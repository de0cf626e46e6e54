/* SPDX-License-Identifier: BSD-3-Clause */
/* A problem as a holder of its shared parts. */
#include "problem.h"

void mpki_problem_look(mpk_problem *problem) {
    problem->n = problem->layout->n;
    problem->nnz = problem->layout->nnz;
    problem->ap = problem->layout->ap;
    problem->ai = problem->layout->ai;
    problem->ax = problem->values->ax;
}

void mpk_problem_destroy(mpk_problem **problem) {
    if (!problem || !*problem) return;
    mpki_layout_release(&(*problem)->layout);
    mpki_values_release(&(*problem)->values);
    mpki_release((*problem)->ctx, *problem);
    *problem = NULL;
}
