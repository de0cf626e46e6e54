/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_RANK_H
#define MPKI_RANK_H
/** What zero pivots, and pivots at the level of rounding, say about the rank of A: nothing, unless
 *  a vector confirms it (docs/design/verdicts.md, "Rank"). */
#include "direct_numbers.h"
#include "refine.h"

#include <math.h>

/** Sets fac->info.rank and rank_bound for a factorization just made and described. Vectors that
 *  older values have shown are tried first. If the scaling is far from another one, and a trial
 *  solve is not accurate or no vector confirms the zero pivots, then A is factorized again with
 *  that other scaling, or else with other bounds of zero pivots, and the better factor is kept
 *  (info.again, fac->rescaled): once a call. Pivots at the level of rounding become zero pivots
 *  where a vector shows that they are.
 *  is_new [in]  they are the first numbers of this factor
 *  stale  [out] zero pivots, no vector, and the matching was of other values: match anew and
 *               factorize, before a verdict
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_find_rank(mpk_factor *fac, bool is_new, bool *stale);
/** Forget the vectors that verdicts on older values have found. */
void mpki_kernel_forget(mpk_factor *fac);

/** Solves A x = b for a known x with the factor of a core. If x comes back to options.accuracy, the
 *  core has the rank of A, and the other columns depend on it by moderate numbers.
 *  missed [out] n: 1 for the rows of A that the solution does not satisfy so well, else 0
 *  error [out] its componentwise backward error
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED */
mpk_status mpki_try_core(mpk_factor *fac, char *missed, double *error);

/** Was the analysis in force made of the values that fac has? */
bool mpki_analysed_these(const mpk_factor *fac);
/** Another factor of the same values and analysis, without numbers; NULL: no memory. row_norm is
 *  not its own. */
mpk_factor *mpki_twin(const mpk_factor *fac);
/** Exchange the results of two numeric phases. */
void mpki_exchange_numbers(mpk_factor *a, mpk_factor *b);

/** eta: the least one with |A v| <= eta |A| |v|, 0/0 = 0, so that some |E| <= eta |A| has (A + E) v
 *  = 0 (Oettli & Prager 1964); infinite where it cannot be said. rough: the same with rows that v
 *  hardly touches measured against all of it: shows how refinement gets on, proves nothing.
 *  products: with A, to find that out. */
typedef struct mpki_flatness {
    double eta, rough;
    int products;
} mpki_flatness;

/** Is what an engine says of a vector all that there is to say, though flatness() might take noise
 *  away from it? */
static inline bool mpki_near_is_all(const mpki_near_zero *near, const mpk_factor *fac,
                                    double bound) {
    const bool single = fac->an->scalar == MPK_S || fac->an->scalar == MPK_C;
    const double noise = fmax(bound, 1000.0 * fac->an->n * (single ? 0x1p-24 : 0x1p-53));
    return near->eta <= bound || near->rough > noise || near->least > bound;
}

/** Pivots that are examined one by one; products with A that may make one vector flat. */
enum { MPKI_WEAK_MOST = MPKI_KNOWN_MOST, MPKI_FLATNESS_MOST = 20 };

#define MPKI_RANK(p)                                                                                      \
    /** y := a vector, in positions, that D takes to this pivot alone */                                  \
    void mpki_##p##_null_of_weak(const mpki_weak_pivot *pivot, int32_t n, void *y);                       \
    /** y without its part along the eigenvectors of the pivots */                                        \
    void mpki_##p##_null_project(const mpki_weak_pivot *list, int count, void *y);                        \
    /** A = A^H takes the `count` vectors u (n each) nearly to zero, so u^H r is the same        \
     *  part of r = -A v for every v near them: no change of v removes it, and a solve           \
     *  without their pivots leaves it in those pivots' rows alone. r := r - g with u^H          \
     *  (r - g) = 0 for all u, g = W sum of alpha_j u_j / |u_j|, W = diag(w): of one             \
     *  vector the g with the least max |g_i| / w_i. Returns false where r is not finite */        \
    bool mpki_##p##_null_share(int32_t n, int count, const void *u, const double *w, void *r);            \
    /** c := B^-1 c of order k, rows of B being MPKI_WEAK_MOST long; 0 where B is singular to           \
     *  rounding. B is overwritten. Returns its rank */ \
    int mpki_##p##_null_solve(int k, void *b, void *c);                                                   \
    /** v := a sum of the `count` vectors u, with coefficients between 1 and 2 */                         \
    void mpki_##p##_null_sum(int32_t n, int count, const void *u, void *v);                               \
    /** |v^H r| / sum of |v_i| W_i, r = work->r = -A v as flatness() left it, W_i what           \
     *  its rows are measured against: the least flatness of vectors with this v^H r,            \
     *  since that is at most the largest |r_i| / W_i times the sum. 0 where it cannot be        \
     *  said */        \
    double mpki_##p##_null_least(const double *scale, const mpki_solve_work *work, const void *v);        \
    /** How nearly A takes v to zero. Entries of v that are noise after scaling, in rows         \
     *  over the bound, are set to zero where that brings eta to the bound, by about `most`      \
     *  products; v is then the vector that was measured, and has this eta in every scaling.     \
     *  work->r := -A v, work->w := |A| |v|; work->x is used */        \
    mpki_flatness mpki_##p##_flatness(const double *scale, double bound, int most,                        \
                                      mpki_solve_work *work, void *v);                                    \
    /** v := 0 where a vector of older values is, and v is so small that it may be noise */               \
    void mpki_##p##_null_alike(const double *scale, int32_t n, const void *like, void *v);                \
    /** x := +-1 in a fixed disorder, or sized: of modulus 1/2 to 3/2; b := A x */                        \
    void mpki_##p##_trial(mpki_solve_work *work, bool sized, void *x, void *b);                           \
    /** missed [out] n: 1 where |work->b - A x| > accuracy (|A| |x| + |b|), else 0 */                     \
    void mpki_##p##_missed(mpki_solve_work *work, const void *x, double accuracy, char *missed);
MPKI_RANK(s)
MPKI_RANK(d)
MPKI_RANK(c)
MPKI_RANK(z)
#undef MPKI_RANK

#endif
