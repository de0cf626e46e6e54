/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef QUADRATIC_THREE_H
#define QUADRATIC_THREE_H
/** The three systems of a step on a linear program, minimise c^T x subject to A x = b, x >= 0, with
 *  s the multipliers of x >= 0, X and S the diagonals of x and s, D = X^-1 S:
 *
 *      K_U = [0 A^T I; A 0 0; S 0 X]   of order 2n + m, not symmetric
 *      K_0 = [D A^T; A 0]              of order n + m, indefinite
 *      K_+ = A D^-1 A^T                of order m, positive definite */
#include "system.h"

/** Solve the program by minimise(), and print a line for each step: entries and condition of the
 *  three, and the backward error of a solution with each, or why there is none.
 *  right [out] it ended as it shall
 *  Returns the status of the method, or the first failure with one of the three. */
mpk_status three_systems(mpk_context *ctx, const program *p, const mpk_options *options,
                         bool *right);

#endif
