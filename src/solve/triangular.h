/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_TRIANGULAR_H
#define MPKI_TRIANGULAR_H
/** The sweeps over the factor's nodes. Vectors here are in positions of the analysis, entries of
 * the factor's scalar type, nrhs of them row by row: entry (position, r) at [position * nrhs + r].
 */
#include "../numeric/factor.h"

#define MPKI_TRIANGULAR(p)                                                                         \
    /** y := L^-1 y. work: mpki_p_sweep_work() entries */                                          \
    void mpki_##p##_forward(const mpk_factor *fac, int nrhs, void *y, void *work);                 \
    /** y := D^-1 y, zero pivots give 0 */                                                         \
    void mpki_##p##_diagonal(const mpk_factor *fac, int nrhs, void *y);                            \
    /** y := L^-T y (L^-H when Hermitian) */                                                       \
    void mpki_##p##_backward(const mpk_factor *fac, int nrhs, void *y, void *work);                \
    int64_t mpki_##p##_sweep_work(const mpk_factor *fac, int nrhs);                                \
    /** y := P S x and x := S P^T y, for columns x with leading dimension ldx */                   \
    void mpki_##p##_permute_in(const mpk_factor *fac, int nrhs, const void *x, int64_t ldx,        \
                               void *y);                                                           \
    void mpki_##p##_permute_out(const mpk_factor *fac, int nrhs, const void *y, void *x,           \
                                int64_t ldx);
MPKI_TRIANGULAR(s)
MPKI_TRIANGULAR(d)
MPKI_TRIANGULAR(c)
MPKI_TRIANGULAR(z)
#undef MPKI_TRIANGULAR

#endif
