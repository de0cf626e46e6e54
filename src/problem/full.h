/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_FULL_H
#define MPKI_PROBLEM_FULL_H
/** A in both triangles, by rows: what iterative methods multiply with and what a numeric phase
 *  reads row by row. It needs about twice the memory of the lower triangle, and gives products
 *  whose rows do not depend on each other, so that all threads share them. Of a general matrix, all
 *  of whose entries are stored by columns, it is the transpose of that. */
#include "../engines/interface/engine.h"
#include "../core/pool.h"
#include "problem.h"

/** Make it from the stored columns, on the context's pool when threads > 1 and the matrix is worth
 *  it. pool [out] the pool that products shall run on, NULL where they are too small to share; it
 *  is the context's, so it lives until someone asks for another number of threads: ask for it after
 *  everything else that wants threads, and with the same number. May be NULL when not wanted.
 *  Returns MPK_OK | MPK_ERR_MEMORY; *full is then empty. Time and memory: O(n threads + nnz). */
mpk_status mpki_full_make(mpk_context *ctx, const mpk_problem_view *a, int threads, mpki_full *full,
                          mpki_pool **pool);
/** The same without values: full->val is NULL. */
mpk_status mpki_full_pattern(mpk_context *ctx, const mpk_problem_view *a, int threads,
                             mpki_full *full, mpki_pool **pool);
/** Most entries of a row. */
int32_t mpki_full_longest(const mpki_full *full);
void mpki_full_free(mpk_context *ctx, mpki_full *full);

/** y := A x; x and y n entries, not overlapping. pool NULL: serially. The same bits for any number
 *  of threads. By worker 0 of the pool outside of a run, or serially from anywhere. */
void mpki_full_multiply(const mpki_full *full, mpki_pool *pool, const void *x, void *y);
/** r := b - A x as by mpki_residual; r may be b, not x. w [out] n: |A| |x| + |b|. */
void mpki_full_residual(const mpki_full *full, mpki_pool *pool, const void *x, const void *b,
                        void *r, double *w);

/* ---- one table for each scalar (full_t.c) ---------------------------------------------------- */

/** Rows of the lower triangle's columns c0 .. c1-1, scattered: entry (i, j), i > j, of column j
 *  goes to slot ptr[i] + next[i]++ of row i; column j itself, with its diagonal, ends row j. Of a
 *  general matrix every entry of column j goes to such a slot. */
typedef struct mpki_full_table {
    /* full->val NULL: columns alone */
    void (*scatter)(const mpk_problem_view *a, int32_t c0, int32_t c1, int32_t *next,
                    mpki_full *full);
    void (*multiply)(const mpki_full *full, int32_t r0, int32_t r1, const void *x, void *y);
    void (*residual)(const mpki_full *full, int32_t r0, int32_t r1, const void *x, const void *b,
                     void *r, double *w);
} mpki_full_table;

extern const mpki_full_table mpki_s_full, mpki_d_full, mpki_c_full, mpki_z_full;

#endif
