/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_TRUTH_H
#define ORACLE_TRUTH_H
/** The truth about a system, computed when it is first asked for. */
#include "exact.h"
#include "signs.h"
#include "spectrum.h"

typedef struct truth {
    const equations *eq; /* borrowed */
    quad_entry *whole;   /* both triangles */
    int64_t count;
    int have_rank, have_spectrum, have_inverse, have_inertia;
    exact_rank rank;
    spectrum spectrum;
    quad_inverse inverse;
    known_inertia inertia;
} truth;

truth truth_make(const equations *eq);
void truth_free(truth *t);

const exact_rank *truth_rank(truth *t);
const spectrum *truth_spectrum(truth *t); /* real and Hermitian matrices */
const quad_inverse *truth_inverse(truth *t);
/** By construction, in quadruple precision, or by signs; there = 0: it could not be found. */
const known_inertia *truth_inertia(truth *t);

/** Is A exactly singular? By its spectrum, where that decides; or by its rank alone, which costs
 *  less. */
int truth_singular(truth *t);
int truth_below_n(truth *t);
/** Has some right-hand side no solution? */
int truth_inconsistent(truth *t);
/** x [in] of right-hand side r, pairs: does b contradict A by more than rounding? By a vector y
 *  with y^T A = 0, scaled, and y^T b above 1e-8 (single: 1e-4) of what y touches of b: so large
 *  entries elsewhere hide nothing. Only if no solution exists. */
int truth_contradicts(truth *t, int32_t r, const double *x);
/** Condition number ||A|| ||A^-1|| in the infinity norm, after scaling or as A stands; infinity for
 *  singular matrices and beyond 1e24. */
double truth_condition(truth *t, int scaled);

#endif
