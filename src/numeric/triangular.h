/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_TRIANGULAR_H
#define MPKI_TRIANGULAR_H
/** The sweeps over the factor's nodes. Vectors here are in positions of the analysis, entries of
 * the factor's scalar type, nrhs of them row by row: entry (position, r) at [position * nrhs + r].
 */
#include "../core/pool.h"
#include "factor.h"

/** What the sweeps of one solve share. One right-hand side goes over the tree in parallel: what a
 * node subtracts from its ancestors travels from child to parent (u), so nobody writes where
 * another does and the order of every sum is fixed. Several are cut into blocks, each swept by one
 * worker. */
typedef struct mpki_sweeps {
    const mpk_factor *fac;
    const void *kernels; /* of the factor's precision */
    int threads;
    mpki_pool *pool; /* NULL: the caller alone */
    int64_t *at;     /* nsuper + 1: where a node's part of u begins */
    void *u;
    void **v;                   /* threads: a node's rows */
    int32_t *child_ptr, *child; /* of the tree's tasks: who waits for whom on the way back */
    _Atomic int32_t *waits;
} mpki_sweeps;

/** threads >= 1; block: most right-hand sides swept together. */
mpk_status mpki_sweeps_make(mpk_context *ctx, const mpk_factor *fac, int threads, int block,
                            mpki_sweeps *sweeps);
void mpki_sweeps_free(mpk_context *ctx, mpki_sweeps *sweeps);

#define MPKI_TRIANGULAR(p)                                                                         \
    /** y := L^-1 y, one right-hand side, all workers */                                           \
    void mpki_##p##_forward(mpki_sweeps *sweeps, void *y);                                         \
    /** y := L^-T y (L^-H when Hermitian), one right-hand side, all workers */                     \
    void mpki_##p##_backward(mpki_sweeps *sweeps, void *y);                                        \
    /** y := (L D L^T)^-1 y for nrhs right-hand sides, by this worker alone */                     \
    void mpki_##p##_sweep_block(const mpki_sweeps *sweeps, int worker, int nrhs, void *y);         \
    /** y := D^-1 y, zero pivots give 0 */                                                         \
    void mpki_##p##_diagonal(const mpk_factor *fac, int nrhs, void *y);                            \
    /** y := |D|^-1 y for one right-hand side, 2x2 blocks by their eigenvalues (real, Hermitian)   \
     */                                                                                            \
    void mpki_##p##_diagonal_abs(const mpk_factor *fac, void *y);                                  \
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
