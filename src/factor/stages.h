/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_STAGES_H
#define MPKI_STAGES_H
/** A factor on blocks above its engine: order, pattern, stages. */
#include "../analysis/block/block.h"
#include "../analysis/schedule/schedule.h"
#include "factor.h"

typedef struct mpki_block_body {
    mpki_stages stages; /* what the engine reads: index, levels, rules */
    const mpki_block_engine *engine;
    mpki_blocks *numbers; /* the engine's */
    mpki_block_analysis
        *own;   /* its frames, where some were joined or cut; NULL: those of the analysis */
    bool stuck; /* a stage accepted nothing, and its frames were too many for a border */
    unsigned char *of_a; /* by block: it is a block of A */
    int64_t room;        /* blocks that the arrays by block have room for */
    /* For other values: index, levels and of_a, as they were made for this level of fill, if
     * nothing was pushed back; and what the engine keeps. */
    bool intact;
    int level;
    mpk_level_rule rule;
    mpk_schedule schedule;
    mpk_options options; /* those that capacities were found with */
    mpki_block_plan *plan;
} mpki_block_body;

/** Make room for what is kept by block, in the index as it is now; new entries are zero.
 *  Returns MPK_OK | MPK_ERR_MEMORY, or what the engine says */
mpk_status mpki_block_grow(mpki_block_body *body);
/** Most rows of a frame that the engine takes. */
int32_t mpki_block_widest(const mpki_block_engine *engine);
/** All stages of one factorization, or its sweeps: pushes back what one rejects, and fills anew.
 *  an     [in]  for frames that are joined
 *  ax     [in]  values, as an has them
 *  joined [out] NULL, or other frames with which to begin anew: no stage accepted what is left
 *  Errors as mpk_factorize. */
mpk_status mpki_block_walk(mpki_block_body *body, const mpk_analysis *an, const void *ax,
                           mpki_block_analysis **joined);

/** The numeric phase of all methods but ldlt and none: makes fac->blocks and fac->info anew from
 * fac->ax. Errors as mpk_factorize. */
mpk_status mpki_block_factorize(mpk_factor *fac);
void mpki_block_body_free(mpk_factor *fac);

/** Join frames that no stage accepted, each with the one that it is coupled to most strongly, if
 *  they fit into one of at most `widest` rows: another blocking, with the blocks of A in it.
 *  out [out] NULL: none could be joined
 *  Returns MPK_OK | MPK_ERR_MEMORY. */
mpk_status mpki_join_frames(mpk_context *ctx, const mpk_analysis *an, const mpki_stages *s,
                            int32_t widest, mpki_block_analysis **out);

/** The analysis's frames with those of more than `widest` rows cut into pieces: another blocking of
 *  the same order, with the blocks of A in it.
 *  cut [out] how many were
 *  Returns MPK_OK | MPK_ERR_MEMORY; *out is then NULL. */
mpk_status mpki_cut_frames(mpk_context *ctx, const mpk_analysis *an, int32_t widest,
                           mpki_block_analysis **out, int32_t *cut);

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
 *  Entries are counted when s->counts is NULL, and stay there: they are the pattern's.
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_capacities(mpki_stages *s);
/** The index has changed: entries are counted anew. */
void mpki_capacities_forget(mpki_stages *s);

/** Of options.triangular auto: keep the finished factor, or approximate inverses in its place, by
 *  what one application of each takes and how far they are apart (triangles.c).
 *  fac->options.triangular says which it is then.
 *  counts [inout] isai, bytes
 *  Returns MPK_OK | MPK_ERR_DEVICE, _CANCELLED; what keeps approximate inverses from being made is
 *  no failure: then it stays as it is */
mpk_status mpki_choose_triangles(mpk_factor *fac, mpki_block_counts *counts);

#endif
