/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_VERDICT_H
#define MPKI_VERDICT_H
/** What zero pivots, and pivots at the level of rounding, say of the rank of A: nothing, unless a
 *  vector shows it. docs/numerics.md, "Rank". */
#include "refine.h"

/** fac->info.rank and rank_bound, for a factorization just made and described. Where the scaling is
 *  far from another one, and a trial solve is not accurate or no vector confirms the zero pivots, A
 *  is factorized again with that other one, and the better factor stays (info.again,
 *  fac->rescaled). Pivots at the level of rounding of which a vector shows that they are zero
 * become zero pivots. Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_find_rank(mpk_factor *fac);

/** Of a factor of a core: a known x of A x = b. If it comes back to options.accuracy, the core has
 * the rank of A, and what was left out depends on it by moderate numbers. missed [out] n: 1 for the
 * rows of A that the solution does not satisfy so well, else 0 error  [out] its componentwise
 * backward error Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_try_core(mpk_factor *fac, char *missed, double *error);

/** A pivot whose smaller eigenvalue is in doubt: column k of a node, or the pair k and k + 1. */
typedef struct mpki_weak_pivot {
    int32_t node, k;
    bool pair;
    int sign;         /* +1 or -1, as it was counted */
    double size;      /* |eigenvalue|, relative to the largest entry */
    double other;     /* of a pair: the larger eigenvalue */
    double vector[4]; /* the eigenvector: two complex numbers */
} mpki_weak_pivot;

#define MPKI_VERDICT(p)                                                                            \
    /** v := a vector that the factor takes to zero: the sum, with signs, over its zero pivots */  \
    void mpki_##p##_null_of_zeros(const mpk_factor *fac, mpki_solve_work *work, void *v);          \
    /** v := a vector that the factor takes to pivot `which` of the list alone */                  \
    void mpki_##p##_null_of_weak(const mpk_factor *fac, const mpki_weak_pivot *list, int which,    \
                                 mpki_solve_work *work, void *v);                                  \
    /** v := v - M^+ A v, where M^+ solves with all pivots but the zero and the weak ones; work->r \
     *  holds -A v */                                                                              \
    void mpki_##p##_null_refine(const mpk_factor *fac, const mpki_weak_pivot *list, int count,     \
                                mpki_solve_work *work, void *v);                                   \
    /** The least eta with |A v| <= eta |A| |v| in A scaled by `scale`, and by `other` where that  \
     * is not NULL; rows that v hardly touches measured against all of it; infinite where it       \
     * cannot be said. work->r := -A v */                                                          \
    double mpki_##p##_flatness(const double *scale, const double *other, mpki_solve_work *work,    \
                               const void *v);                                                     \
    /** x := +-1 in a fixed disorder */                                                            \
    void mpki_##p##_signs(int32_t n, void *x);                                                     \
    /** The `most` weakest pivots, smallest first, that are not zero and at most `bound`; returns  \
     *  how many. Not for complex symmetric matrices, whose blocks have no eigenvalues to speak    \
     * of. */                                                                                      \
    int mpki_##p##_weak_pivots(const mpk_factor *fac, double bound, int most,                      \
                               mpki_weak_pivot *list);                                             \
    /** `most` of the zero pivots, from all over D; returns how many. */                           \
    int mpki_##p##_zero_pivots(const mpk_factor *fac, int most, mpki_weak_pivot *list);            \
    /** Make them zero pivots. */                                                                  \
    void mpki_##p##_weak_to_zero(mpk_factor *fac, const mpki_weak_pivot *list, int count);         \
    /** x := the same, b := A x */                                                                 \
    void mpki_##p##_trial(mpki_solve_work *work, void *x, void *b);                                \
    /** missed [out] n: 1 where |work->b - A x| > accuracy (|A| |x| + |b|), else 0 */              \
    void mpki_##p##_missed(mpki_solve_work *work, const void *x, double accuracy, char *missed);
MPKI_VERDICT(s)
MPKI_VERDICT(d)
MPKI_VERDICT(c)
MPKI_VERDICT(z)
#undef MPKI_VERDICT

#endif
