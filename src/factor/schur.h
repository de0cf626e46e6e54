/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_SCHUR_H
#define MPKI_SCHUR_H
/** What of a Schur complement depends on the scalar. */
#include "../analysis/split.h"

/* clang-format off */
#define MPKI_SCHUR(p)                                                                              \
    /** s (m x m) := both triangles of s + A_22, of which s has the lower one; of a Hermitian      \
     *  matrix the diagonal becomes real. False: some entry is not finite */                       \
    bool mpki_##p##_schur_finish(const mpki_split *split, bool hermitian, const void *corner,      \
                                 void *s, int64_t lds);                                            \
    /** y := rows list[0..m-1] of x, nrhs columns; and back */                                     \
    void mpki_##p##_rows_in(int32_t m, const int32_t *list, int32_t nrhs, const void *x,           \
                            int64_t ldx, void *y, int64_t ldy);                                    \
    void mpki_##p##_rows_out(int32_t m, const int32_t *list, int32_t nrhs, const void *y,          \
                             int64_t ldy, void *x, int64_t ldx);                                   \
    /** y += rows of x */                                                                          \
    void mpki_##p##_rows_add(int32_t m, const int32_t *list, int32_t nrhs, const void *x,          \
                             int64_t ldx, void *y, int64_t ldy);                                   \
    /** s (m x m, both triangles) := D s D with rows near 1; scale [out] m: D, powers of two;      \
     *  most [work] m */                                                                           \
    void mpki_##p##_schur_scale(int32_t m, void *s, double *scale, double *most);                  \
    /** x := D x */                                                                                \
    void mpki_##p##_schur_rows_scale(int32_t m, const double *scale, int32_t nrhs, void *x,        \
                                     int64_t ldx);
/* clang-format on */
MPKI_SCHUR(s)
MPKI_SCHUR(d)
MPKI_SCHUR(c)
MPKI_SCHUR(z)
#undef MPKI_SCHUR

#endif
