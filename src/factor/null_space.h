/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_NULL_SPACE_H
#define MPKI_NULL_SPACE_H
/** Bases of A's kernel: what is done to single vectors of them. */
#include "refine.h"
#include <metapack/null_space.h>

/** mpk_null_space() for a call that has begun: errors are recorded, none is cleared. lost [out]
 *  zero pivots whose vectors are of the kernel, but have no orthonormal ones; may be NULL */
mpk_status mpki_null_space(mpk_context *ctx, const mpk_factor *fac, int threads, int32_t given,
                           int32_t most, bool orthonormal, void *basis, int64_t ld, double *eta,
                           mpk_null_info *info, int32_t *lost);
/** An orthonormal basis of all of the kernel that is found: with more room, while all of it is filled
 *  and some vectors are of pivots that are not zero. *basis [out] n x info->dimension, to be released
 *  also after a failure; NULL: no memory. Returns as mpki_null_space() */
mpk_status mpki_null_all(mpk_context *ctx, const mpk_factor *fac, int threads, void **basis,
                         mpk_null_info *info, int32_t *lost);
/** Is each of the `count` columns of basis a vector of the kernel? eta [out] count, may be NULL.
 *  Returns MPK_OK | MPK_ERR_INPUT: no, recorded with its number and its eta */
mpk_status mpki_null_check(mpki_solve_work *work, int32_t count, const void *basis, int64_t ld,
                           double *eta);
/** Can this factor be asked for a kernel? MPK_OK | MPK_ERR_ARGUMENT, _UNSUPPORTED, recorded */
mpk_status mpki_null_usable(mpk_context *ctx, const char *stage, const mpk_factor *fac);

/* clang-format off */
#define MPKI_NULL_SPACE(p)                                                                         \
    /** v := v / ||v||_2; returns the length, 0 where that is 0 or not finite */                   \
    double mpki_##p##_null_unit(int32_t n, void *v);                                               \
    /** v := v without its part along `count` orthonormal columns. conjugate: along their          \
     *  conjugates */                                                                              \
    void mpki_##p##_null_leave(int32_t n, int32_t count, const void *basis, int64_t ld,            \
                               bool conjugate, void *v);                                           \
    /** v := v without that part, of length 1. False: less than 1e-4 is left; deep: nothing */     \
    bool mpki_##p##_null_join(int32_t n, int32_t count, const void *basis, int64_t ld, bool deep,  \
                              void *v);                                                            \
    /** largest entry of |V^H V - I| */                                                            \
    double mpki_##p##_null_orthogonality(int32_t n, int32_t count, const void *basis, int64_t ld); \
    /** || V^H x ||_2; conjugate: || V^T x ||_2 */                                                 \
    double mpki_##p##_null_along(int32_t n, int32_t count, const void *basis, int64_t ld,          \
                                 bool conjugate, const void *x);                                   \
    /** |v^H b| <= bound |v|^T w for all columns? conjugate: v^T b */                              \
    bool mpki_##p##_null_orthogonal_to(int32_t n, int32_t count, const void *basis, int64_t ld,    \
                                       bool conjugate, double bound, const void *b,                \
                                       const double *w);                                           \
    /** y := 0 where mask is not */                                                                \
    void mpki_##p##_null_mask(int32_t n, const void *mask, void *y);
/* clang-format on */
MPKI_NULL_SPACE(s)
MPKI_NULL_SPACE(d)
MPKI_NULL_SPACE(c)
MPKI_NULL_SPACE(z)
#undef MPKI_NULL_SPACE

#endif
