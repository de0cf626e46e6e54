/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PRECONDITION_H
#define MPKI_PRECONDITION_H
/** A factor of any kind as an operator: x := M^-1 x, or with |D| in the place of D. */
#include "block/blocks.h"
#include "../numeric/triangular.h"
#include <metapack/solve.h>

/** What the applications of one solve share; made once a solve. */
typedef struct mpki_preconditioner {
    const mpk_factor *fac;
    mpki_sweeps sweeps;       /* direct: the tree's */
    void *y;                  /* direct: n entries, positions */
    mpki_block_sweeps blocks; /* methods on blocks */
} mpki_preconditioner;

/** threads >= 1: what the applications may use, on the context's pool for that number; nrhs >= 1:
 *  columns that blocks are applied to at once.
 *  Returns MPK_OK | MPK_ERR_MEMORY; *p is then empty. */
mpk_status mpki_preconditioner_make(mpk_context *ctx, const mpk_factor *fac, int threads, int nrhs,
                                    mpki_preconditioner *p);
void mpki_preconditioner_free(mpk_context *ctx, mpki_preconditioner *p);

/** x := M^-1 x for nrhs columns in place, without refinement; `abs`: with |D|, whose 2x2 blocks are
 *  taken by their eigenvalues, so that M is positive semidefinite. Zero pivots give 0.
 *  x [inout] n x nrhs, ldx >= n, the factor's scalar type, problem order.
 *  Returns MPK_OK | MPK_ERR_UNSUPPORTED (abs of a complex symmetric factor). */
mpk_status mpki_precondition(mpk_context *ctx, mpki_preconditioner *p, bool abs, int32_t nrhs,
                             void *x, int64_t ldx);

/** The same for any part (MPK_PART_L, D, LT, ALL, ABS) of a factor on blocks or of method none. */
mpk_status mpki_precondition_part(mpk_context *ctx, mpki_preconditioner *p, mpk_part part,
                                  int32_t nrhs, void *x, int64_t ldx);

#endif
