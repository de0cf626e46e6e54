/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_BLOCK_FACTOR_SWEEPS_H
#define MPKI_CPU_BLOCK_FACTOR_SWEEPS_H
/** Applying a factor on blocks: (𝓛 𝓓 𝓛^T)^-1 x, exactly or by Jacobi sweeps. */
#include "core/pool.h"
#include "block_factor.h"

/** Columns that one application takes at most. */
enum { MPKI_SWEEP_RHS = 8 };

/** Work space that the applications of one solve share. Vectors are by position, nrhs numbers for
 * each row. Exact solves go over the frames in the order of the level sets: workers claim frames in
 * that order and wait for those that they depend on, which were claimed before, so no barrier is
 * needed between levels. Each frame is written by one worker, so the bits do not depend on
 * threads. */
struct mpki_block_solver {
    mpk_context *ctx; /* the solver's own: bf, which is only read, may be of another one */
    const mpki_blocks *bf;
    const struct mpki_rows *rows; /* bf->rows, or its own */
    struct mpki_rows *own;
    int wholes; /* applications of the whole factor; below 0: its blocks stay blocks */
    int threads, nrhs, jacobi; /* jacobi: sweeps for each triangular solve; 0: exact */
    mpki_pool *pool;           /* NULL: the caller alone */
    mpk_scalar scalar;      /* of vectors and sums: the stored one, or, with `single`, its double */
    bool single;            /* numbers of the factor are in single precision, vectors in double */
    const void *kernels;    /* mpki_<p>_block_kernels of `scalar` */
    void *y, *z, *other;    /* n x nrhs of `scalar` */
    void *border;           /* work space of the dense pivot, if there is one */
    _Atomic uint32_t *done; /* by frame: generation of the sweep that finished it */
    uint32_t generation;
    /* exact solves run shared or alone, whichever was faster lately: where other processes run too,
     * one worker that the system suspends keeps all others waiting */
    double time_s[2]; /* alone, shared */
    int64_t runs;
    double bytes; /* of the blocks that one triangular sweep reads */
};

/** The functions behind these slots of mpki_block_engine. */
mpk_status mpki_block_solver_make(mpk_context *ctx, const mpki_blocks *f, int threads,
                                  int32_t columns, mpki_block_solver **s, int32_t *takes);
void mpki_block_solver_free(mpk_context *ctx, mpki_block_solver **s);
mpk_status mpki_block_apply(mpki_block_solver *s, mpk_part part, int32_t nrhs, const void *b,
                            int64_t ldb, void *x, int64_t ldx);

/* ---- share.c --------------------------------------------------------------------------------- */

/** Shall the next sweep be shared by all threads? The first ones try both ways; later the slower
 *  way is tried again from time to time. And what it took. */
bool mpki_sweep_share(const mpki_block_solver *s);
void mpki_sweep_note(mpki_block_solver *s, bool shared, double time_s);

/** In a loop that waits for another thread: at first without leaving the processor, for the wait
 *  takes microseconds, and a thread that yields too soon may be away for milliseconds. */
void mpki_sweep_wait(int *spins);

#define MPKI_BLOCK_SOLVE(p)                                                                          \
    void mpki_##p##_block_begin(mpki_block_solver *s);                                               \
    void mpki_##p##_block_solve(mpki_block_solver *s, mpk_part part, int nrhs, void *x,              \
                                int64_t ldx);                                                        \
    /** With bf->isai: z := the triangular solve of y; x := D^-1 x of a factor of scalars. */        \
    void mpki_##p##_isai_triangle(mpki_block_solver *s, int nrhs, bool backward);                    \
    void mpki_##p##_isai_diagonal(const mpki_block_solver *s, int nrhs, bool absolute, void *x);     \
    /** On bf->rows: y := the triangular solve of y by one half; y by the slots of it. */            \
    void mpki_##p##_rows_triangle(mpki_block_solver *s, int half, int nrhs);                         \
    /** y by the slots of half 0 := D^-1 y by those of half 1. part: it is all that is wanted. */    \
    void mpki_##p##_rows_diagonal(mpki_block_solver *s, int nrhs, bool absolute, bool part);         \
    /** y by the slots of a half := rows->root y, where there are roots. */                          \
    void mpki_##p##_rows_root(mpki_block_solver *s, int half, int nrhs);                             \
    /** All of it on one vector of the caller's, in one pass over it each way. False: nothing was  \
     *  done, this factor needs the steps above. */ \
    bool mpki_##p##_rows_through(mpki_block_solver *s, bool absolute, void *x);
MPKI_BLOCK_SOLVE(s)
MPKI_BLOCK_SOLVE(d)
MPKI_BLOCK_SOLVE(c)
MPKI_BLOCK_SOLVE(z)
#undef MPKI_BLOCK_SOLVE

#endif
