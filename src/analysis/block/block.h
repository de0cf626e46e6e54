/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_H
#define MPKI_BLOCK_H
/** Rows gathered into blocks, the pattern of nonzero blocks, and the index structure over it that
 *  outer pivoting permutes. Nothing here knows a value of the matrix.
 *
 *  Words. "Position": index after the permutation, perm[position] = index in the problem. "Frame":
 *  a block row and column by its number in the blocking (frame f owns positions bptr[f] ..
 *  bptr[f+1]-1); a frame keeps its number when pivoting moves it. "Place": where a frame stands in
 *  the order of elimination. */
#include "../analysis.h"
#include <metapack/block.h>

/* ---- blocking.c, strategy.c: Thuerck et al. 2018, sec. III.A; Thuerck 2021, sec. 8.5 -- */

/** Block the graph of A (uncompressed) by options strategy, ordering, block, grid, similarity,
 *  seed, threads. mate [in] n or NULL: pairs {i, mate[i]} get neighbouring positions in one frame
 *  (unless options.block is 1, or a regular grid cuts between them). With ordering = given the
 *  user's order is kept and cut.
 *  Returns MPK_OK | MPK_ERR_MEMORY, _UNSUPPORTED, _CANCELLED; *blocking is then empty. */
mpk_status mpki_blocking_make(mpk_context *ctx, const mpki_graph *graph, const int32_t *mate,
                              const mpk_options *options, mpki_blocking *blocking);
void mpki_blocking_free(mpk_context *ctx, mpki_blocking *blocking);

/* ---- pattern.c, fill.c ----------------------------------------------------------------------- */

/** Nonzero blocks of a lower triangle in the order of places (place = row and column index here),
 *  by columns: blocks ptr[k] .. ptr[k+1]-1 lie in column k, rows increasing, the diagonal one
 *  always there and first. */
typedef struct mpki_pattern {
    int32_t m;
    int64_t *ptr; /* m + 1 */
    int32_t *row; /* ptr[m] */
} mpki_pattern;

/** Blocks of A (lower triangle ap, ai in the problem's order); places are the frames in order. */
mpk_status mpki_pattern_of_matrix(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                                  const mpki_blocking *blocking, mpki_pattern *pattern);
/** The lower triangle of Q A + (Q A)^T, by columns, rows sorted: the pattern on which a general
 *  matrix is blocked, ordered and filled. Only entries that are stored are in it. */
typedef struct mpki_union {
    int64_t *ap; /* n + 1 */
    int32_t *ai; /* ap[n] */
} mpki_union;

/** ap, ai [in] all entries of A by columns; row_of [in] n: the row that Q brings to the diagonal of
 *  each column, NULL: Q = I. Returns MPK_OK | MPK_ERR_MEMORY; *u is then empty. O(n + nnz) */
mpk_status mpki_union_make(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                           const int32_t *row_of, mpki_union *u);
void mpki_union_free(mpk_context *ctx, mpki_union *u);

/** Frames of the longest chain in a pattern each of which waits for the one before.
 *  MPK_ERR_MEMORY */
mpk_status mpki_pattern_chain(mpk_context *ctx, const mpki_pattern *a, int32_t *chain);
/** Add fill: level >= 0 by Hysom & Pothen (2002), each row on its own and in parallel on `threads`;
 *  level < 0 complete, by the elimination tree (Liu 1986). Deterministic. MPK_ERR_MEMORY also when
 *  the result would exceed max_blocks (0: no bound). */
mpk_status mpki_pattern_fill(mpk_context *ctx, const mpki_pattern *a, int level, int threads,
                             int64_t max_blocks, mpki_pattern *filled);
/** The same by one of the two rules of levels. By the maximum a block gets the least level l such
 *  that it is one elimination away from blocks of levels below l. */
mpk_status mpki_pattern_fill_by(mpk_context *ctx, const mpki_pattern *a, int level,
                                mpk_level_rule rule, int threads, int64_t max_blocks,
                                mpki_pattern *filled);
void mpki_pattern_free(mpk_context *ctx, mpki_pattern *pattern);

/* ---- ibcsr.c: Thuerck 2019, sec. V; Thuerck 2021, sec. 6.4 and 8.3.1 ------------------------- */

/* mpki_ibcsr (engines/interface/engine.h): indexed block CSR of a symmetric pattern (an unsymmetric
 * one is held on the union of L and U^T; its two halves share the index, so there is one list where
 * the thesis has R and C). Each frame f lists every block of its row and of its column, itself
 * included, sorted by the place of the frame across; `diagonal[f]` is where it stands itself, so
 * that the entries before it are C-> (row f of L, left of the pivot) and those after it C-down
 * (column f of L, below it). A push-back permutes indices alone: a block whose two frames changed
 * sides is transposed by implication. */

/** From a pattern whose places are the frames in order; block k of the pattern is block k. */
mpk_status mpki_ibcsr_make(mpk_context *ctx, const mpki_pattern *pattern, mpki_ibcsr *index);
/** Push the given frames (count, any order) behind all others, keeping the order among them and
 *  among the rest: X incremented, stable sort by X, lists sorted by the new places. (Behind all
 *  others if they are of the last stage, as the rejected ones are. One of an earlier stage goes
 *  before those that have been pushed as often already.) MPK_ERR_INTERNAL: a number that is no
 *  frame, or one given twice; the index is as it was then. */
mpk_status mpki_ibcsr_push_back(mpk_context *ctx, mpki_ibcsr *index, int32_t count,
                                const int32_t *frames);
/** Add the blocks that `pattern` (in places) has and the index lacks; numbers from nblocks on.
 * Blocks that the pattern lacks stay in the index only if keep[block] != 0 (keep NULL: all stay).
 * The numbers of dropped blocks are not used again. */
mpk_status mpki_ibcsr_merge(mpk_context *ctx, mpki_ibcsr *index, const mpki_pattern *pattern,
                            const unsigned char *keep);
/** The index as a pattern in places (to compute fill of a later stage on it); number[e] = block of
 *  pattern entry e when number != NULL, allocated here. */
mpk_status mpki_ibcsr_pattern(mpk_context *ctx, const mpki_ibcsr *index, mpki_pattern *pattern,
                              int64_t **number);
/** Check all invariants above; MPK_ERR_INTERNAL names one that is broken. */
mpk_status mpki_ibcsr_check(mpk_context *ctx, const mpki_ibcsr *index);
void mpki_ibcsr_free(mpk_context *ctx, mpki_ibcsr *index);

/* ---- block_analysis.c ------------------------------------------------------------------------ */

/** What the methods on blocks keep in an mpk_analysis. */
typedef struct mpki_block_analysis {
    mpki_blocking blocking;
    mpki_pattern a; /* blocks of A, places = frames */
    int32_t chain;  /* most frames each of which waits for the one before, by A's blocks alone: its
                       factor has at least so many level sets */
    int32_t *pair;  /* n or NULL, by position: partner of a 2x2 pivot of the matching, or itself */
    double time_match_s, time_block_s;
    bool joined; /* of frames that no stage accepted */
} mpki_block_analysis;

/** Match, block, and find A's blocks; fills an->block, an->perm, an->scale and the info. */
mpk_status mpki_block_analyse(mpk_context *ctx, const mpk_problem *problem,
                              const mpk_options *options, mpk_analysis *an);
/** From perm, row_of, the blocking's bptr and pair of anybody, whose lengths are right, to everything
 *  else that mpki_block_analyse() fills.
 *  *why [out] what in them cannot be; NULL: all is right
 *  Returns MPK_OK | MPK_ERR_MEMORY */
mpk_status mpki_block_restore(mpk_context *ctx, mpk_analysis *an, const char **why);
/** MPK_ERR_ARGUMENT for options that exclude each other in methods on blocks. */
mpk_status mpki_check_options(mpk_context *ctx, const mpk_options *options);
/** Are given_perm, given_blocks and given_pivots, as far as they are read, what they should be, and
 *  do they go together? Else MPK_ERR_ARGUMENT, with the first entry that is wrong. */
mpk_status mpki_given_check(mpk_context *ctx, int32_t n, bool general, const mpk_options *options);
/** The partner of each row by given_pivots, in the numbering of the matrix; itself without one. */
void mpki_given_mates(int32_t n, const mpk_options *options, int32_t *mate);
/** MPK_ERR_ARGUMENT for a factor_type that matrices of this kind cannot have. */
mpk_status mpki_check_type(mpk_context *ctx, const mpk_options *options, mpk_scalar scalar,
                           mpk_symmetry symmetry);
/** Set the options that a method implies: jacobi its schedule, ilu0 scalar blocks without fill or
 *  pivoting; diagonal, block_jacobi and ssor one stage without fill. */
void mpki_imply_options(mpk_options *options);
/** Is a general matrix factorized directly where method is auto? On the processor alone. */
bool mpki_general_direct(const mpk_context *ctx, const mpk_options *options);
/** What a general matrix implies, whose factors on blocks are of type LDU: ilu0 means that, auto
 *  the direct solver, or, direct being false, a complete one on blocks; ordering auto is rcm where fill is left out. */
void mpki_imply_general(mpk_options *options, bool direct);
/** Both, for a matrix of this symmetry. MPK_ERR_ARGUMENT for what a general one cannot have:
 *  the methods for symmetric ones, on blocks the factor types ldlt and llt, krylov sqmr, minres, symmlq and cg, pivoting static. */
mpk_status mpki_fit_options(mpk_context *ctx, mpk_symmetry symmetry, mpk_options *options);
void mpki_block_analysis_free(mpk_context *ctx, mpki_block_analysis **block);
/** Is the factor made of parts of A, without updates: diagonal, block_jacobi, ssor? */
static inline bool mpki_is_part(mpk_method method) {
    return method >= MPK_METHOD_DIAGONAL;
}
/** Does the method have a block analysis (all but ldlt; none, whose factor is its scaling)? */
static inline bool mpki_on_blocks(mpk_method method) {
    return method >= MPK_METHOD_ILDLT;
}
/** Scalar type in which a factor is stored: that of A, or single where precision asks for it. */
static inline mpk_scalar mpki_stored_scalar(mpk_scalar scalar, mpk_method method,
                                            const mpk_options *options) {
    const bool less = method != MPK_METHOD_NONE && options->precision == MPK_PRECISION_SINGLE;
    return !less ? scalar : scalar == MPK_D ? MPK_S : scalar == MPK_Z ? MPK_C : scalar;
}

#endif
