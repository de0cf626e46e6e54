/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_SOLVE_BLOCKS_H
#define MPKI_SOLVE_BLOCKS_H
/** Applying a factor on blocks: (𝓛 𝓓 𝓛^T)^-1 x, exactly or by Jacobi sweeps (numeric/block). */
#include "../../core/pool.h"
#include "../../numeric/block/block_factor.h"
#include <metapack/solve.h>

/** Columns that one application takes at most. */
enum { MPKI_SWEEP_RHS = 8 };

/** What the applications of one solve share. Vectors lie in positions, nrhs numbers for each row.
 * Exact solves go over the frames in the order of the level sets: workers claim frames in that
 * order and wait for those they depend on, which somebody claimed before, so there is no barrier
 * between levels; each frame is written by one worker, so bits do not depend on threads. */
typedef struct mpki_block_sweeps {
    const mpk_factor *fac;
    const mpki_block_factor *bf;
    int threads, nrhs, jacobi; /* jacobi: sweeps for each triangular solve; 0: exact */
    mpki_pool *pool;           /* NULL: the caller alone */
    const void *kernels;       /* mpki_<p>_block_kernels of the stored precision */
    void *y, *z, *other;       /* n x nrhs of the stored precision */
    _Atomic uint32_t *done;    /* by frame: generation of the sweep that finished it */
    uint32_t generation;
    /* exact solves run shared or alone, whichever was faster lately: beside other processes a
     * worker that the system puts aside keeps the others waiting */
    double time_s[2]; /* alone, shared */
    int64_t runs;
    double bytes; /* of the blocks that one triangular sweep reads */
} mpki_block_sweeps;

/** Work space for applications to sweeps->nrhs columns at once: nrhs, or MPKI_SWEEP_RHS if that is
 * less. */
mpk_status mpki_block_sweeps_make(mpk_context *ctx, const mpk_factor *fac, int threads, int nrhs,
                                  mpki_block_sweeps *sweeps);
void mpki_block_sweeps_free(mpk_context *ctx, mpki_block_sweeps *sweeps);

/** x := the part of the factor applied to x (MPK_PART_L, _D, _LT, _ALL, _ABS), nrhs <= that of
 * _make columns of the problem's scalar type, in the order of the problem for ALL and ABS; between
 * the parts in the order of positions, as mpk_solve_part has it. */
void mpki_block_apply(mpki_block_sweeps *sweeps, mpk_part part, int nrhs, void *x, int64_t ldx);

#define MPKI_BLOCK_SOLVE(p)                                                                        \
    void mpki_##p##_block_begin(mpki_block_sweeps *sweeps);                                        \
    void mpki_##p##_block_apply(mpki_block_sweeps *sweeps, mpk_part part, int nrhs, void *x,       \
                                int64_t ldx);
MPKI_BLOCK_SOLVE(s)
MPKI_BLOCK_SOLVE(d)
MPKI_BLOCK_SOLVE(c)
MPKI_BLOCK_SOLVE(z)
#undef MPKI_BLOCK_SOLVE

#endif
