/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_COLUMNS_H
#define MPKI_COLUMNS_H
/** Operations of solves on single columns of n entries. */
#include "../core/core.h"

#define MPKI_COLUMNS(p)                                                                            \
    /** ||x||_2, at any distance from 1; infinite or NaN where an entry is */                      \
    double mpki_##p##_column_norm(int32_t n, const void *x);                                       \
    /** y := b - y; the norm of y */                                                               \
    double mpki_##p##_column_subtract(int32_t n, const void *b, void *y);                          \
    /** x += 2^exponent d */                                                                       \
    void mpki_##p##_column_add(int32_t n, int exponent, const void *d, void *x);                   \
    /** largest modulus of real and imaginary parts; NaN where one is */                           \
    double mpki_##p##_column_largest(int64_t n, const void *x);                                    \
    /** x := 2^exponent x */                                                                       \
    void mpki_##p##_column_shift(int64_t n, int exponent, void *x);                                \
    bool mpki_##p##_column_finite(int32_t n, const void *x);                                       \
    /** x_i := mpki_random_sign(i) */                                                              \
    void mpki_##p##_column_signs(int32_t n, void *x);                                              \
    /** absval_k := |x_k|, at most the greatest double where the parts of x_k are finite */        \
    void mpki_##p##_column_moduli(int64_t count, const void *x, double *absval);
MPKI_COLUMNS(s)
MPKI_COLUMNS(d)
MPKI_COLUMNS(c)
MPKI_COLUMNS(z)
#undef MPKI_COLUMNS

#endif
