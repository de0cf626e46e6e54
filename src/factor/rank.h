/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_RANK_H
#define MPKI_RANK_H
/** What zero pivots, and pivots at the level of rounding, say about the rank of A: nothing, unless
 *  a vector confirms it (docs/numerics.md, "Rank"). */
#include "direct_form.h"
#include "refine.h"

/** Sets fac->info.rank and rank_bound for a factorization just made and described. If the scaling
 *  is far from another one, and a trial solve is not accurate or no vector confirms the zero
 *  pivots, then A is factorized again with that other scaling, and the better factor is kept
 *  (info.again, fac->rescaled). Pivots at the level of rounding become zero pivots where a vector
 *  shows that they are.
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_find_rank(mpk_factor *fac);

/** Solves A x = b for a known x with the factor of a core. If x comes back to options.accuracy, the
 *  core has the rank of A, and the other columns depend on it by moderate numbers.
 *  missed [out] n: 1 for the rows of A that the solution does not satisfy so well, else 0
 *  error [out] its componentwise backward error
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_try_core(mpk_factor *fac, char *missed, double *error);

/** Another factor of the same values and analysis, without numbers; NULL: no memory. row_norm is not its own. */
mpk_factor *mpki_twin(const mpk_factor *fac);
/** Exchange the results of two numeric phases. */
void mpki_exchange_numbers(mpk_factor *a, mpk_factor *b);

/** Pivots that are examined one by one. */
enum { MPKI_WEAK_MOST = 8 };

#define MPKI_RANK(p)                                                                                             \
    /** y := a vector, in positions, that D takes to this pivot alone */                                         \
    void mpki_##p##_null_of_weak(const mpki_weak_pivot *pivot, int32_t n, void *y);                              \
    /** y without its part along the eigenvectors of the pivots */                                               \
    void mpki_##p##_null_project(const mpki_weak_pivot *list, int count, void *y);                               \
    /** A = A^H takes the `count` vectors u (n each) nearly to zero, so u^H r is the same part of r = -A v for \
     * every v near them: no change of v removes it, and a solve without their pivots leaves it in those        \
     * pivots' rows alone. r := r - g with u^H (r - g) = 0 for all u, g = W sum of alpha_j u_j / |u_j|, W =     \
     * diag(w): of one vector the g with the least max |g_i| / w_i. Returns false where r is not finite */ \
    bool mpki_##p##_null_share(int32_t n, int count, const void *u, const double *w, void *r);                   \
    /** |v^H r| / sum of |v_i| W_i, r = work->r = -A v as flatness() left it, W_i what its rows are    \
     * measured against: the least flatness of vectors with this v^H r, since that is at most the      \
     * largest |r_i| / W_i times the sum. 0 where it cannot be said */         \
    double mpki_##p##_null_least(const double *scale, const mpki_solve_work *work, const void *v);               \
    /** The least eta with |A v| <= eta |A| |v| in A scaled by `scale`, and by `other` where that  \
     * is not NULL; rows that v hardly touches measured against all of it; infinite where it       \
     * cannot be said. work->r := -A v */             \
    double mpki_##p##_flatness(const double *scale, const double *other, mpki_solve_work *work,                  \
                               const void *v);                                                                   \
    /** x := +-1 in a fixed disorder, b := A x */                                                                \
    void mpki_##p##_trial(mpki_solve_work *work, void *x, void *b);                                              \
    /** missed [out] n: 1 where |work->b - A x| > accuracy (|A| |x| + |b|), else 0 */                            \
    void mpki_##p##_missed(mpki_solve_work *work, const void *x, double accuracy, char *missed);
MPKI_RANK(s)
MPKI_RANK(d)
MPKI_RANK(c)
MPKI_RANK(z)
#undef MPKI_RANK

#endif
