/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_SKEW_H
#define MPKI_PROBLEM_SKEW_H
/** A matrix given whole whose triangles differ: A = S + K. S, the mean of both, is what is stored
 *  and factorized; K is kept beside it, entry by entry, so that every error is measured in A. K is
 *  what rounding left, or empty: then there is none (NULL), and nothing is paid for it. */
#include "../core/core.h"
#include <metapack/problem.h>

typedef struct mpki_skew {
    int64_t count, capacity;
    int64_t rough;   /* pairs that differ by more than rounding leaves (law.h) */
    double apart;    /* of all pairs the largest difference, in terms of the larger of the two */
    int64_t *entry;  /* count: of S, that lies at (i, j), i >= j */
    int32_t *column; /* count: j */
    void *low,
        *high; /* count entries of the scalar: K at (i, j) and at (j, i); i == j: low alone */
} mpki_skew;

/** skew NULL: all 0 */
static inline mpk_asymmetry mpki_asymmetry_of(const mpki_skew *skew) {
    return skew ? (mpk_asymmetry){skew->count, skew->rough, skew->apart} : (mpk_asymmetry){0, 0, 0};
}

void mpki_skew_free(mpk_context *ctx, mpki_skew **skew);
/** A copy in memory of ctx. NULL: MPK_ERR_MEMORY. */
mpki_skew *mpki_skew_copy(mpk_context *ctx, const char *stage, mpk_scalar scalar,
                          const mpki_skew *from);
/** The largest of sums, and sums [inout] n: those of |S| become those of |A|. */
double mpki_skew_row_sums(const mpki_skew *skew, const mpk_problem_view *s, double *sums);
/** y += K x */
void mpki_skew_multiply(const mpki_skew *skew, const mpk_problem_view *s, const void *x, void *y);

#define MPKI_SKEW(p)                                                                               \
    /** One more entry; *skew is made with the first one. MPK_OK | MPK_ERR_MEMORY */               \
    mpk_status mpki_##p##_skew_push(mpk_context *ctx, const char *stage, int64_t entry,            \
                                    int32_t column, const void *low, const void *high,             \
                                    mpki_skew **skew);                                             \
    void mpki_##p##_skew_row_sums(const mpki_skew *skew, const mpk_problem_view *s, double *sums); \
    void mpki_##p##_skew_multiply(const mpki_skew *skew, const mpk_problem_view *s, const void *x, \
                                  void *y);                                                        \
    /** r [inout] b - S x becomes b - A x; w [inout] |S| |x| + |b| becomes |A| |x| + |b| */        \
    void mpki_##p##_skew_residual(const mpki_skew *skew, const mpk_problem_view *s, const void *x, \
                                  void *r, double *w);
MPKI_SKEW(s)
MPKI_SKEW(d)
MPKI_SKEW(c)
MPKI_SKEW(z)
#undef MPKI_SKEW

#endif
