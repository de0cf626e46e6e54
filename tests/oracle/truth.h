/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_TRUTH_H
#define ORACLE_TRUTH_H
/** The truth about a system, computed when it is first asked for. */
#include "exact.h"
#include "spectrum.h"

typedef struct truth {
    const equations *eq; /* borrowed */
    quad_entry *whole;   /* both triangles */
    int64_t count;
    int have_rank, have_spectrum, have_inverse;
    exact_rank rank;
    spectrum spectrum;
    quad_inverse inverse;
} truth;

truth truth_make(const equations *eq);
void truth_free(truth *t);

const exact_rank *truth_rank(truth *t);
const spectrum *truth_spectrum(truth *t); /* real and Hermitian matrices */
const quad_inverse *truth_inverse(truth *t);

/** Is A exactly singular? */
int truth_singular(truth *t);
/** Has some right-hand side no solution? */
int truth_inconsistent(truth *t);
/** Condition number ||A|| ||A^-1|| in the infinity norm, after scaling or as A stands; infinity for
 *  singular matrices and beyond 1e24. */
double truth_condition(truth *t, int scaled);

#endif
