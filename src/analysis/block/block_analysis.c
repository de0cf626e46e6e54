/* SPDX-License-Identifier: BSD-3-Clause */
/* match -> block -> blocks of A: the analysis of the methods on blocks. */
#include "../../core/trace.h"
#include "../../problem/columns.h"
#include "../general.h"
#include "../weakness.h"
#include "block.h"

#include <string.h>

static const char STAGE[] = "analyse";

void mpki_block_analysis_free(mpk_context *ctx, mpki_block_analysis **handle) {
    if (!*handle) return;
    mpki_blocking_free(ctx, &(*handle)->blocking);
    mpki_pattern_free(ctx, &(*handle)->a);
    mpki_release(ctx, (*handle)->pair);
    mpki_release(ctx, *handle);
    *handle = NULL;
}

/* Scaling and pairs from a maximum-product matching, unless options.matching is off. */
static mpk_status match(mpk_context *ctx, const mpk_problem *p, const mpk_options *options,
                        mpk_analysis *an, int32_t **mate) {
    mpki_moduli moduli = {0};
    if (options->given_pivots || options->matching != MPK_OFF) {
        if (p->symmetry == MPK_GENERAL) return mpki_general_match(ctx, p, true, an);
        *mate = MPKI_NEW(ctx, STAGE, p->n, int32_t);
        if (!*mate) return mpki_failed(ctx);
    }
    if (options->matching == MPK_OFF || p->n == 0) return MPK_OK;
    mpk_status status = mpki_moduli_build(ctx, NULL, p, &moduli);
    an->scale = MPKI_NEW(ctx, STAGE, p->n, double);
    if (!mpk_failed(status) && !an->scale) status = mpki_failed(ctx);
    if (!mpk_failed(status))
        status = mpki_match(ctx, p->n, p->ap, p->ai, moduli.entry, *mate, an->scale,
                            &an->info.structural_rank, NULL);
    mpki_moduli_free(ctx, &moduli);
    an->info.matching = 1;
    return status;
}

/* Partners by position; rows without one are their own. */
static mpk_status place_pairs(mpk_context *ctx, const mpki_blocking *b, const int32_t *mate,
                              int32_t **pair) {
    *pair = MPKI_NEW(ctx, STAGE, b->n, int32_t);
    if (!*pair) return mpki_failed(ctx);
    for (int32_t p = 0; p < b->n; p++) {
        int32_t q = b->iperm[mate[b->perm[p]]];
        (*pair)[p] = b->of[q] == b->of[p] ? q : p;
    }
    return MPK_OK;
}

/* diagonal, block_jacobi, ssor: parts of A, one stage, nothing updated or dropped. */
static void imply_parts(mpk_options *o) {
    o->schedule = MPK_SCHEDULE_PULL;
    o->factor_type = MPK_TYPE_LDLT;
    o->butterfly = MPK_OFF;
    o->level = 0;
    o->stages = 1;
    o->fill_factor = o->drop_tolerance = 0;
    if (o->method == MPK_METHOD_BLOCK_JACOBI) return;
    o->block = 1;
    o->matching = MPK_OFF; /* neither depends on a scaling, and there are no pairs */
    o->pivoting = MPK_PIVOTING_NONE;
    o->strategy = MPK_STRATEGY_RB;
    if (o->method == MPK_METHOD_DIAGONAL || o->ordering == MPK_ORDERING_AUTO)
        o->ordering = MPK_ORDERING_NATURAL;
}

void mpki_imply_options(mpk_options *o) {
    if (o->method == MPK_METHOD_JACOBI) o->schedule = MPK_SCHEDULE_JACOBI;
    if (mpki_is_part(o->method)) imply_parts(o);
    if (o->method != MPK_METHOD_ILU0) return;
    o->block = 1;
    o->level = 0;
    o->stages = 1;
    o->fill_factor = o->drop_tolerance = 0;
    o->pivoting = MPK_PIVOTING_NONE;
}

/* Forget the blocks off the diagonal. */
static void keep_diagonal(mpki_pattern *pattern) {
    for (int32_t k = 0; k < pattern->m; k++) pattern->ptr[k] = pattern->row[k] = k;
    if (pattern->ptr) pattern->ptr[pattern->m] = pattern->m;
}

void mpki_imply_general(mpk_options *o, bool direct) {
    if (o->factor_type == MPK_TYPE_LLT) return; /* which was asked for, and cannot be */
    if (o->method == MPK_METHOD_AUTO && !direct) {
        o->method = MPK_METHOD_ILDLT;
        o->factor_type = MPK_TYPE_LDU;
        o->level = -1;
        o->fill_factor = o->drop_tolerance = 0;
    }
    if (o->method == MPK_METHOD_ILU0) o->factor_type = MPK_TYPE_LDU;
    /* an order against fill makes an incomplete factor of such a matrix far worse than one along it
     * (Benzi, Szyld & van Duin 1999; docs/design/meta-algorithm.md) */
    const bool incomplete = o->method == MPK_METHOD_ILU0 || o->level >= 0;
    if (o->ordering == MPK_ORDERING_AUTO && incomplete && mpki_on_blocks(o->method) &&
        o->method != MPK_METHOD_NONE)
        o->ordering = MPK_ORDERING_RCM;
}

bool mpki_general_direct(const mpk_context *ctx, const mpk_options *o) {
    return o->device != MPK_ON_CUDA && !mpki_context_engine(ctx);
}

mpk_status mpki_fit_options(mpk_context *ctx, mpk_symmetry symmetry, mpk_options *o) {
    static const char stage[] = "options";
    const char *why = NULL;
    if (symmetry == MPK_GENERAL) mpki_imply_general(o, mpki_general_direct(ctx, o));
    mpki_imply_options(o);
    if (symmetry != MPK_GENERAL) return MPK_OK;
    if (o->krylov >= MPK_KRYLOV_SQMR && o->krylov <= MPK_KRYLOV_CG)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, -1,
                          "the matrix is not symmetric, and krylov %s is for matrices that are: "
                          "take gmres, fgmres, bicgstab or idr",
                          mpk_option_word("krylov", (int)o->krylov));
    const bool auto_direct = o->method == MPK_METHOD_AUTO && o->factor_type != MPK_TYPE_LLT;
    if (auto_direct || o->method == MPK_METHOD_LDLT) return MPK_OK;
    if (o->method >= MPK_METHOD_DIAGONAL)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, stage, -1,
                          "the matrix is not symmetric, and method %s is for matrices that are: "
                          "take method auto, ldlt, ilu0 or none",
                          mpk_option_word("method", (int)o->method));
    else if (o->method != MPK_METHOD_NONE && o->factor_type != MPK_TYPE_LDU)
        why =
            "the matrix is not symmetric, and factor_type ldlt and llt are for matrices that are: "
            "take factor_type ldu, or method auto, ldlt or ilu0, which need none";
    else if (o->method != MPK_METHOD_NONE && o->pivoting == MPK_PIVOTING_STATIC)
        why = "the matrix is not symmetric, and pivoting static takes the pairs of a symmetric "
              "matching: take none, partial, rook or complete";
    return why ? mpki_error(ctx, MPK_ERR_ARGUMENT, stage, -1, "%s", why) : MPK_OK;
}

mpk_status mpki_check_options(mpk_context *ctx, const mpk_options *o) {
    const bool ldu = o->factor_type == MPK_TYPE_LDU;
    const bool symmetric = o->krylov >= MPK_KRYLOV_SQMR && o->krylov <= MPK_KRYLOV_CG;
    const char *why = NULL;
    if (ldu && symmetric)
        why = "factor_type ldu is not symmetric, and krylov sqmr, minres, symmlq and cg need a "
              "symmetric preconditioner: take gmres, fgmres, bicgstab or idr";
    else if (o->krylov == MPK_KRYLOV_NONE)
        why =
            "krylov none needs the direct factor: what a method on blocks leaves of the residual, "
            "only an iterative method removes";
    else if (o->pivoting == MPK_PIVOTING_STATIC && o->matching == MPK_OFF && !o->given_pivots)
        why = "pivoting static takes its pairs from the matching, and matching is off";
    else if (o->factor_type == MPK_TYPE_LLT && o->pivoting == MPK_PIVOTING_STATIC)
        why = "factor_type llt has no 2x2 pivots, and pivoting static asks for them";
    else if (o->isai_frames == MPK_ON && o->isai_pattern == MPK_ISAI_OF_BLOCKS &&
             (o->triangular == MPK_TRIANGULAR_ISAI || o->triangular == MPK_TRIANGULAR_AUTO))
        why =
            "isai_frames on has patterns of the factor's blocks, and isai_pattern blocks has rows "
            "of its own: take isai_pattern factor or matrix";
    return why ? mpki_error(ctx, MPK_ERR_ARGUMENT, "options", -1, "%s", why) : MPK_OK;
}

mpk_status mpki_check_type(mpk_context *ctx, const mpk_options *o, mpk_scalar scalar,
                           mpk_symmetry symmetry) {
    const bool complex = scalar == MPK_C || scalar == MPK_Z;
    if (o->factor_type != MPK_TYPE_LLT || !complex || symmetry == MPK_HERMITIAN) return MPK_OK;
    return mpki_error(ctx, MPK_ERR_ARGUMENT, "options", -1,
                      "factor_type llt is for definite matrices, and a complex symmetric one is "
                      "none: take ldlt or ldu");
}

/* Refuse what cannot fit. How much will be dropped is not known yet, but the factorization holds
 * both triangles of A by rows; a general A by rows, and other row indices of its columns. */
static mpk_status check_memory(mpk_context *ctx, const mpk_problem *p, const mpk_options *options) {
    const bool general = p->symmetry == MPK_GENERAL;
    const double entries = general ? (double)p->nnz : 2 * (double)p->nnz - p->n;
    const double indices = (general ? 2 : 1) * sizeof(int32_t);
    const double least =
        entries * ((double)mpk_scalar_size(p->scalar) + indices) + (double)p->n * sizeof(int64_t);
    return mpki_memory_check(ctx, STAGE, "the factorization, at the least,", least,
                             options->memory_limit);
}

/* A's blocks, in the pattern ap, ai, by the blocking that is there. */
static mpk_status find_blocks(mpk_context *ctx, const int64_t *ap, const int32_t *ai,
                              mpk_analysis *an) {
    mpki_block_analysis *b = an->block;
    mpk_status status = mpki_pattern_of_matrix(ctx, an->n, ap, ai, &b->blocking, &b->a);
    if (!mpk_failed(status)) status = mpki_pattern_chain(ctx, &b->a, &b->chain);
    const mpk_method method = an->options.method;
    if (!mpk_failed(status) && (method == MPK_METHOD_DIAGONAL || method == MPK_METHOD_BLOCK_JACOBI))
        keep_diagonal(&b->a);
    an->info.supernodes = b->blocking.nframes;
    return status;
}

/* Blocks of the pattern ap, ai, the lower triangle of a symmetric one; into an->block. */
static mpk_status make_blocks(mpk_context *ctx, const mpk_options *options, const int64_t *ap,
                              const int32_t *ai, const int32_t *mate, double start,
                              mpk_analysis *an) {
    mpki_graph graph = {0};
    mpki_block_analysis *b = an->block;
    mpk_status status = mpki_graph_build(ctx, an->n, ap, ai, NULL, NULL, &graph);
    if (!mpk_failed(status)) status = mpki_blocking_make(ctx, &graph, mate, options, &b->blocking);
    mpki_graph_free(ctx, &graph);
    if (!mpk_failed(status) && mate) status = place_pairs(ctx, &b->blocking, mate, &b->pair);
    an->info.time_order_s = b->time_block_s = mpki_now_s() - start - b->time_match_s;
    return mpk_failed(status) ? status : find_blocks(ctx, ap, ai, an);
}

mpk_status mpki_block_analyse(mpk_context *ctx, const mpk_problem *problem,
                              const mpk_options *options, mpk_analysis *an) {
    mpki_union both = {0};
    const bool general = problem->symmetry == MPK_GENERAL;
    int32_t *mate = NULL;
    double start = mpki_now_s();
    mpk_status status = options->method == MPK_METHOD_NONE
                            ? MPK_OK
                            : mpki_check_type(ctx, options, problem->scalar, problem->symmetry);
    if (!mpk_failed(status)) status = check_memory(ctx, problem, options);
    if (mpk_failed(status)) return status;
    an->block = MPKI_ZNEW(ctx, STAGE, 1, mpki_block_analysis);
    if (!an->block) return mpki_failed(ctx);
    mpki_block_analysis *b = an->block;
    status = match(ctx, problem, options, an, &mate);
    if (!mpk_failed(status) && options->given_pivots) mpki_given_mates(an->n, options, mate);
    an->info.time_match_s = b->time_match_s = mpki_now_s() - start;
    mpki_trace_end(ctx, MPKI_LANE_CALLER, "match", -1, start);
    const double blocking = mpki_trace_begin(ctx);
    if (!mpk_failed(status) && mpki_progress(ctx, STAGE, 0.2))
        status = mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    if (options->method == MPK_METHOD_NONE) { /* nothing but the scaling is needed */
        for (int32_t i = 0; i < an->n; i++) an->perm[i] = i;
        mpki_release(ctx, mate);
        an->info.scaling = options->scaling == MPK_OFF ? 0 : an->scale ? 2 : 1;
        return status;
    }
    if (!mpk_failed(status) && general)
        status = mpki_union_make(ctx, an->n, an->ap, an->ai, an->row_of, &both);
    if (!mpk_failed(status))
        status = make_blocks(ctx, options, general ? both.ap : an->ap, general ? both.ai : an->ai,
                             mate, start, an);
    mpki_trace_end(ctx, MPKI_LANE_CALLER, "block", -1, blocking);
    mpki_release(ctx, mate);
    mpki_union_free(ctx, &both);
    if (mpk_failed(status)) return status;
    if (an->n) memcpy(an->perm, b->blocking.perm, (size_t)an->n * sizeof *an->perm);
    an->info.ordering = b->blocking.ordering;
    an->info.scaling = options->scaling == MPK_OFF ? 0 : an->scale ? 2 : 1;
    an->info.time_symbolic_s = mpki_now_s() - start - an->info.time_match_s - an->info.time_order_s;
    if (an->info.structural_rank >= 0 && an->info.structural_rank < an->n)
        return mpki_error(ctx, MPK_SINGULAR, STAGE, an->info.structural_rank,
                          "structurally singular: at most %d of %d rows are independent",
                          an->info.structural_rank, an->n);
    return MPK_OK;
}

/* ---- from a file ----------------------------------------------------------------------------- */

/* place (n) := the inverse of the permutation; false: it is none. */
static bool invert(int32_t n, const int32_t *perm, int32_t *place) {
    for (int32_t i = 0; i < n; i++) place[i] = -1;
    for (int32_t k = 0; k < n; k++) {
        if (perm[k] < 0 || perm[k] >= n || place[perm[k]] >= 0) return false;
        place[perm[k]] = k;
    }
    return true;
}

/* Frames of 1 to 128 rows that cover all, and pairs inside them. */
static const char *check_frames(mpki_blocking *b, const int32_t *pair) {
    enum { MOST_ROWS = 128 };
    if (b->bptr[0] != 0 || b->bptr[b->nframes] != b->n) return "blocks do not cover the rows";
    for (int32_t f = 0; f < b->nframes; f++) {
        const int64_t rows = (int64_t)b->bptr[f + 1] - b->bptr[f];
        if (rows < 1 || rows > MOST_ROWS) return "a block has too few or too many rows";
        if (rows > b->largest) b->largest = (int32_t)rows;
        if (b->bptr[f + 1] > b->n) return "blocks do not cover the rows";
        for (int32_t k = b->bptr[f]; k < b->bptr[f + 1]; k++) b->of[k] = f;
    }
    for (int32_t k = 0; pair && k < b->n; k++)
        if (pair[k] < 0 || pair[k] >= b->n || pair[pair[k]] != k || b->of[pair[k]] != b->of[k])
            return "a pair is none";
    return NULL;
}

mpk_status mpki_block_restore(mpk_context *ctx, mpk_analysis *an, const char **why) {
    const int32_t n = an->n;
    mpki_block_analysis *b = an->block;
    mpki_blocking *frames = &b->blocking;
    mpki_union both = {0};
    const bool none = an->options.method == MPK_METHOD_NONE;
    int32_t *place = MPKI_NEW(ctx, STAGE, n, int32_t);
    if (!place) return mpki_failed(ctx);
    *why = an->row_of && !invert(n, an->row_of, place) ? "the rows of the matching"
           : !invert(n, an->perm, place)               ? "the order is no permutation"
                                                       : NULL;
    if (*why || none) {
        mpki_release(ctx, place);
        return MPK_OK;
    }
    frames->iperm = place;
    frames->perm = MPKI_NEW(ctx, STAGE, n, int32_t);
    frames->of = MPKI_NEW(ctx, STAGE, n, int32_t);
    if (!frames->perm || !frames->of) return mpki_failed(ctx);
    if (n) memcpy(frames->perm, an->perm, (size_t)n * sizeof *frames->perm);
    *why = check_frames(frames, b->pair);
    if (*why) return MPK_OK;
    const bool general = an->symmetry == MPK_GENERAL;
    mpk_status status =
        general ? mpki_union_make(ctx, n, an->ap, an->ai, an->row_of, &both) : MPK_OK;
    if (!mpk_failed(status))
        status = find_blocks(ctx, general ? both.ap : an->ap, general ? both.ai : an->ai, an);
    mpki_union_free(ctx, &both);
    return status;
}
