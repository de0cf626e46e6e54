/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_STAGES_H
#define MPKI_STAGES_H
/** A factor on blocks above its engine: order, pattern, stages. */
#include "../analysis/schedule/schedule.h"
#include "factor.h"

typedef struct mpki_block_body {
    mpki_stages stages; /* what the engine reads: index, levels, rules */
    const mpki_block_engine *engine;
    mpki_blocks *numbers; /* the engine's */
    unsigned char *of_a;  /* by block: it is a block of A */
    int64_t room;         /* blocks that the arrays by block have room for */
} mpki_block_body;

/** The numeric phase of methods ildlt, jacobi and ilu0: makes fac->blocks and fac->info anew from
 * fac->ax. Errors as mpk_factorize. */
mpk_status mpki_block_factorize(mpk_factor *fac);
void mpki_block_body_free(mpk_factor *fac);

/** The transpose of Q A by rows, for a general matrix: its columns are at hand, so that only the
 *  indices of rows are new.
 *  at   [out] ptr and val are borrowed from the analysis and ax; the caller releases at->col alone
 *  view [out] Q A, by columns: rows are not sorted
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_general_transposed(mpk_context *ctx, const mpk_analysis *an, const void *ax,
                                   mpki_full *at, mpk_problem_view *view);

/** Sets s->capacity for the blocks that are wanted: fill_factor times the entries of A in the
 *  block; for blocks of fill, the mean over the blocks of A in the same column. Unbounded where a
 *  dense block is not much larger, on the diagonal, and in the last hundredth of the frames.
 *  Thuerck et al. 2018, sec. IV.A.
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_capacities(mpki_stages *s);

#endif
