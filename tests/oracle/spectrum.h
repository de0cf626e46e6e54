/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ORACLE_SPECTRUM_H
#define ORACLE_SPECTRUM_H
/** Inertia and condition in quadruple precision, after a symmetric scaling by powers of two. */
#include "equations.h"

/** Each row's largest entry near 1, or first all entries near 1 in the mean: which of the two is
 *  better is not known in advance. */
enum scaling { BY_LARGEST, BY_ALL };

typedef struct spectrum {
    int32_t positive, negative, zero;
    double smallest; /* least modulus of an eigenvalue of D, scaled matrix; 0: singular or close */
    int sure;        /* the counts are certainly those of A */
} spectrum;

/** L D L^H by complete pivoting (Bunch & Parlett 1971); real and Hermitian matrices. Its error is
 *  about 1e-33; the counts are trusted where D stays above 1e-24. */
spectrum spectrum_of(const equations *eq, enum scaling scaling);

typedef struct quad_inverse {
    int found;      /* 0: a pivot was zero; nothing else is set */
    double scaled;  /* ||A||_inf ||A^-1||_inf, scaled; trusted up to 1e24 */
    double plain;   /* the same of A as it stands */
    double largest; /* entry of the solutions A^-1 B; infinity where a double cannot hold it */
} quad_inverse;

/** Of a matrix of that rank: n - rank vectors y with y^T S A S = 0 up to rounding, in quadruple
 *  precision, as pairs; one after the other. By complete pivoting. Freed by the caller.
 *  power [out] S is diagonal, of 2^power[i] */
quad *quad_left_kernel(const equations *eq, int32_t rank, int *power);
/** a 2^power, beyond the range of doubles as well. */
quad quad_scale(quad a, int power);

/** Gauss with partial pivoting on the scaled matrix; any symmetry. */
quad_inverse quad_inverse_of(const equations *eq, enum scaling scaling);

#endif
