/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CERTIFICATE_H
#define MPKI_CERTIFICATE_H
/** Is the inertia of M = L D L^T that of A? For sparse and dense factors and batches alike.
 *
 *  A = M + E and M have the same inertia unless A - t E, 0 <= t <= 1, is singular for some t, that
 *  is unless B = M^-1 E = M^-1 A - I has a real eigenvalue <= -1; and then ||B||_2 >= 1. For z
 *  Gaussian and c = sqrt(n) ||B z|| / ||z||, ||B|| >= 1 implies P(c <= t) <= 0.8 t (Dixon 1983,
 *  SIAM J. Numer. Anal. 20), and k independent z are all that small with at most (0.8 t)^k. Signs
 *  alone or unit vectors for z will not do: for these the solve repeats the roundings of the
 *  factorization, and c comes out as 0 however wrong M is. docs/design/verdicts.md has the
 *  experiment. */
#include "problem.h"

enum { MPKI_CERTIFICATE_MOST = 16 /* vectors */ };

/** Where a certificate's vectors begin: a hash of n, `seed` and the bits of A's values, so that
 *  they are the same for any number of threads, and not known before A is. */
uint64_t mpki_certificate_seed(int64_t n, int64_t seed);
/** Mix `bytes` of A's values in. */
uint64_t mpki_certificate_hash(uint64_t state, const void *values, int64_t bytes);

/** Take the c of one more vector. Returns true while the verdict is open: at first, with *t all
 *  0. */
bool mpki_certificate_next(mpk_certificate *t, double c);

/** The probability, at most, that a wrong inertia comes as far. */
double mpki_certificate_miss(const mpk_certificate *t);

/* clang-format off */
#define MPKI_CERTIFICATE(p)                                                                        \
    /** z := S times the next n Gaussian numbers of a stream, real and imaginary parts each        \
     *  scale [in] n powers of two; NULL: S = I */                                                 \
    void mpki_##p##_gaussian(int64_t n, const double *scale, uint64_t *state, void *z);            \
    /** S for a dense matrix: powers of two by which no row's largest entry is far from 1.         \
     *  a     [in]  the lower triangle, or the upper one, by columns; lda 0: the lower, packed     \
     *  scale [out] n; work [out] n */                                                             \
    void mpki_##p##_certificate_scale(int64_t n, const void *a, int64_t lda, bool upper,           \
                                      double *scale, double *work);                                \
    /** sqrt(n) ||S^-1 (z + y)||_2 / ||S^-1 z||_2, for y = M^-1 (-A z) */                          \
    double mpki_##p##_contraction(int64_t n, const double *scale, const void *z, const void *y);
/* clang-format on */
MPKI_CERTIFICATE(s)
MPKI_CERTIFICATE(d)
MPKI_CERTIFICATE(c)
MPKI_CERTIFICATE(z)
#undef MPKI_CERTIFICATE

#endif
