/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_SIGNS_H
#define ORACLE_SIGNS_H
/** Inertia without rounding, of real and Hermitian matrices of any condition. */
#include "equations.h"

/** The characteristic polynomial has real roots only, so that Descartes' rule of signs counts the
 *  positive ones exactly. Its coefficients are found modulo as many primes as its size needs, and
 *  their signs by mixed radix (Garner 1959).
 *  work  of at most that many multiplications, else *out is unchanged and 0 is returned */
int signs_of(const equations *eq, double work, known_inertia *out);

#endif
