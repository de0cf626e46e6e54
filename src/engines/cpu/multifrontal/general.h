/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_GENERAL_H
#define MPKI_CPU_MULTIFRONTAL_GENERAL_H
/** Solves with the factor of a general matrix. Vectors by position are columns here, n apart: y by
 *  equations, x by unknowns. */
#include "multifrontal.h"

/* clang-format off */
#define MPKI_GENERAL_SWEEPS(p)                                                                     \
    /** y := the right-hand sides in positions, scaled; x := solutions in the problem's order */   \
    void mpki_##p##_general_in(const mpki_direct *f, bool transposed, int nrhs, const void *b,     \
                               int64_t ldb, void *y);                                              \
    void mpki_##p##_general_out(const mpki_direct *f, bool transposed, int nrhs, const void *y,    \
                                void *x, int64_t ldx);                                             \
    /** x := (L U)^-1 y, or (L U)^-T y, one right-hand side, all workers; y is used up */          \
    void mpki_##p##_general_solve(mpki_direct_solver *s, bool transposed, void *y, void *x);       \
    /** The same of nrhs right-hand sides, by this worker alone */                                 \
    void mpki_##p##_general_block(const mpki_direct_solver *s, int worker, int nrhs,               \
                                  bool transposed, void *y, void *x);                              \
    /** x := a vector that L U, or its transpose, takes to zero, 1 or -1 at each zero pivot; y is  \
     *  used up */                                                                                 \
    void mpki_##p##_general_null(mpki_direct_solver *s, bool transposed, void *y, void *x);        \
    void mpki_##p##_general_get_d(const mpki_direct *f, void *d);                                  \
    /** work: n */                                                                                 \
    void mpki_##p##_general_get_logdet(const mpki_direct *f, int32_t *work, double *out);
/* clang-format on */
MPKI_GENERAL_SWEEPS(s)
MPKI_GENERAL_SWEEPS(d)
MPKI_GENERAL_SWEEPS(c)
MPKI_GENERAL_SWEEPS(z)
#undef MPKI_GENERAL_SWEEPS

#endif
