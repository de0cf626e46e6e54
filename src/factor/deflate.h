/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_DEFLATE_H
#define MPKI_DEFLATE_H
/** A's kernel beside the solves of a singular system: which right-hand sides have a solution, and
 *  refinement that leaves out of the residual what no change of x removes. */
#include "../core/core.h"
#include <metapack/factor.h>

/** An orthonormal basis of the kernel of S A S. */
typedef struct mpki_basis {
    bool made;
    bool whole;  /* of as many vectors as there are zero pivots */
    bool probed; /* or at least a sum of all, with coefficients that b does not know */
    int count;
    void *v;        /* count x n */
    uint64_t stamp; /* of v as it is kept (mpki_kept_basis); 0: it is not */
} mpki_basis;

/** Kernels of more dimensions are not looked for. */
enum { MPKI_BASIS_MOST = 64 };

/** What solves with a factor have found of such a basis, for later ones. */
typedef struct mpki_kept_basis {
    bool made, probed, all; /* all: of each zero pivot */
    int first, count;       /* vectors without those of each zero pivot, and with them */
    void *v;                /* count x n */
    uint64_t stamp;         /* of no other vectors in this process; never 0 where made */
} mpki_kept_basis;
int64_t mpki_kept_basis_bytes(const mpk_factor *fac);
void mpki_kept_basis_drop(mpk_factor *fac);

struct mpki_solve_work;
/** Vectors that the factorization has found, at no cost; where these are not all, a sum over all
 *  zero pivots, for two solves; with `all`, the other zero pivots' too, two solves each.
 *  work's r, w, x and sums are used. Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_basis_make(struct mpki_solve_work *work, bool all, mpki_basis *basis);
void mpki_basis_free(mpk_context *ctx, mpki_basis *basis);
/** What an earlier solve has kept of it, but v, which is NULL; work is not needed. False: that is
 *  not all that is asked for, and nothing is told. */
bool mpki_basis_kept(const mpk_factor *fac, bool all, mpki_basis *basis);

/** Refinement without what is not in A's range: steps at most, until the error is at most this of
 *  the accuracy asked for. */
enum { MPKI_DEFLATED_STEPS = 4 };
static const double MPKI_DEFLATED_ENOUGH = 0.1;
/** b is in A's range where its part along v is no more than this of |v|^T (|A| |x| + |b|). */
static inline double mpki_range_bound(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C ? 0x1p29 * 1e-12 : 1e-12;
}
/** Does b have a solution, as far as these vectors tell, of which one is against it or none? -1: no;
 *  1: all of the kernel, or a sum of it, says so; 0: not known. */
static inline int mpki_basis_says(const mpki_basis *basis, bool against) {
    return against ? -1 : basis->whole || basis->probed;
}

#define MPKI_DEFLATE(p)                                                                            \
    /** y_i := y_i times a number between 1 and 2 */                                               \
    void mpki_##p##_basis_mix(int32_t n, void *y);                                                 \
    /** v := S^-1 v without its part along the `count` vectors before it, of length 1.           \
     *  False: nothing is left */ \
    bool mpki_##p##_basis_join(int32_t n, const double *scale, int count, const void *basis,       \
                               void *v);                                                           \
    /** r := r without what is not in A's range. symmetric: A = A^T, complex */                    \
    void mpki_##p##_deflate(int32_t n, const double *scale, bool symmetric,                        \
                            const mpki_basis *basis, void *r);                                     \
    /** Has A x = b a solution, as far as these vectors tell? w = |A| |x| + |b| */                 \
    bool mpki_##p##_consistent(int32_t n, const double *scale, bool symmetric,                     \
                               const mpki_basis *basis, const void *b, const double *w);
MPKI_DEFLATE(s)
MPKI_DEFLATE(d)
MPKI_DEFLATE(c)
MPKI_DEFLATE(z)
#undef MPKI_DEFLATE

#endif
