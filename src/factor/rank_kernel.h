/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_RANK_KERNEL_H
#define MPKI_RANK_KERNEL_H
/** Vectors of A's kernel, as far as a factorization shows them: for the verdict in rank.c. Each
 *  returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED. */
#include "rank.h"

#include <math.h>

/** How much of a vector A may leave, relatively, for the vector to count as one of A's kernel. */
double mpki_kernel_bound(const mpk_factor *fac);
/** May a pivot that is not zero be rounding? The eigenvalue of a complex symmetric block shows
 *  nothing, so for these matrices only zero pivots count. */
bool mpki_pivots_doubtful(const mpk_factor *fac);
/** May A have a kernel, though no pivot is zero? clear [in] what the factor's own rounding may blur
 *  a vector of it by, times the bound */
mpk_status mpki_kernel_possible(mpk_factor *fac, double clear, bool *may);
/** How nearly A takes to zero what the factor does: a vector for all zero pivots together. */
mpk_status mpki_kernel_of_all(mpk_factor *fac, double *eta);
/** The same, and for some of them one by one where that is more than rounding; infinite without
 *  zero pivots. */
mpk_status mpki_kernel_of_zeros(mpk_factor *fac, double *eta);
/** Are there as many pivots that may be rounding alone as are looked at one by one, or more? */
bool mpki_weak_are_many(const mpk_factor *fac);
/** Pivots that may be rounding alone: each becomes zero if a vector shows that it is. */
mpk_status mpki_weak_to_zero(mpk_factor *fac);

/** What a verdict costs is estimated, not measured, so that it is the same in every run: in
 *  nanoseconds, about. fac->effort is what it may still cost. */
static inline double mpki_effort_of_solve(const mpk_factor *fac) {
    return 0.9 * (double)fac->info.nnz + 20.0 * fac->an->n;
}
static inline double mpki_effort_of_product(const mpk_factor *fac) {
    return 5.0 * (double)fac->an->nnz + 5.0 * fac->an->n;
}
static inline double mpki_effort_of_factor(const mpk_factor *fac) {
    return 0.1 * fac->info.flops + 4.0 * (double)fac->info.nnz + 20.0 * (double)fac->an->nnz +
           50.0 * fac->an->n;
}

/** Values that come before something is looked at again, at most; and before something without which
 *  a verdict may be another. */
enum { MPKI_REST_LONG = 63, MPKI_REST_SHORT = 7 };
/** What was looked at rests, each time about twice as long; once it is other than expected it is
 *  looked at with each of the next values. */
static inline void mpki_rest_of(mpki_rest *rest, bool other, int most) {
    const int longer = 2 * rest->span + 1;
    rest->left = rest->span = other ? 0 : longer < most ? longer : most;
}

/** So many of the weakest pivots become zero, in the order of their sizes, up to the first of order
 *  2: which of its eigenvalues are rounding is not known. */
mpk_status mpki_weakest_to_zero(mpk_factor *fac, int64_t count);

/** Vectors that were found to be of A's kernel, for the next values: fac->known. */
mpk_status mpki_kernel_remember(mpk_factor *fac, const void *v);
/** How nearly A takes all of them to zero now: one product. */
mpk_status mpki_kernel_again(mpk_factor *fac, double *eta);
/** One vector for all zero pivots and the `weak` weakest others, by coefficients that no relation
 *  between them is likely to have: eta within the bound, and these are zero pivots, too. */
mpk_status mpki_kernel_alike(mpk_factor *fac, int weak, double *eta);
/** The same for all pivots that may be rounding, some hundreds at most: eta within the bound, and they
 *  are zero pivots; where they are many, those of later values are so by a larger bound.
 *  tried [in] so many of them were tried already */
mpk_status mpki_kernel_at_once(mpk_factor *fac, int tried, double *eta);
/** Is one vector for all zero pivots of the kernel, but for what the factor's own rounding may have
 *  blurred it by, `clear` times the bound? It is remembered where it is within the bound. */
mpk_status mpki_kernel_beside(mpk_factor *fac, double clear, bool *shown);
/** The weak pivots that became zero then do so again; where some of them are not weak, or elsewhere: the
 *  weakest ones, if there is a kernel for all (shown), else none, and false is returned. */
bool mpki_weak_again(mpk_factor *fac, bool shown);

/** The verdict on zero pivots. */
static inline void mpki_rank_conclude(mpk_factor *fac, double eta, double bound) {
    fac->info.rank = eta <= bound ? MPK_RANK_NUMERICAL : MPK_RANK_UNDECIDED;
    fac->info.rank_bound = isfinite(eta) ? eta : 0;
}

#endif
