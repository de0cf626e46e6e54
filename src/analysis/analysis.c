/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_analysis: match -> order -> symbolic, in that order, and the object that results. */
#include "../core/floats.h"
#include "../problem/perm.h"
#include "block/block.h"
#include "choose.h"
#include "general.h"
#include "symbolic/symbolic.h"
#include "../engines/interface/device.h"

#include <metapack/schur.h>

#include <math.h>
#include <string.h>

static const char STAGE[] = "analyse";

/* ---- the object ------------------------------------------------------------------------------ */

void mpk_analysis_destroy(mpk_analysis **handle) {
    if (!handle || !*handle) return;
    mpk_analysis *an = *handle;
    mpk_context *ctx = an->ctx;
    mpki_device_forget(ctx, an->perm);
    void *const parts[] = {an->scale,        an->perm,        an->iperm, an->sptr,
                           an->parent,       an->child_ptr,   an->child, an->rptr,
                           an->ridx,         an->rel,         an->flops, an->scatter_ptr,
                           an->scatter.wide, an->scatter.few, an->row_of};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) mpki_release(ctx, parts[k]);
    mpki_block_analysis_free(ctx, &an->block);
    mpki_core_free(ctx, &an->core);
    mpki_split_free(&an->own_split);
    mpki_layout_release(&an->layout);
    mpki_values_release(&an->values);
    mpki_release(ctx, an);
    *handle = NULL;
}

void mpk_analysis_info_get(const mpk_analysis *an, mpk_analysis_info *info) {
    if (info) *info = an ? an->info : (mpk_analysis_info){0};
}

void mpk_analysis_perm(const mpk_analysis *an, int32_t *perm) {
    if (!an || !perm) return;
    for (int32_t k = 0; k < an->n; k++)
        perm[k] = an->split ? an->split->interior[an->perm[k]] : an->perm[k];
    for (int32_t k = 0; an->split && k < an->split->outer; k++)
        perm[an->n + k] = an->split->variable[k];
}

void mpk_analysis_tree_get(const mpk_analysis *an, mpk_tree *tree) {
    if (!tree) return;
    *tree = (mpk_tree){0};
    if (!an || an->block || an->split) return;
    tree->n = an->n;
    tree->supernodes = an->nsuper;
    tree->perm = an->perm;
    tree->first = an->sptr;
    tree->parent = an->parent;
    tree->row_first = an->rptr;
    tree->row = an->ridx;
}

const int32_t *mpki_positions(const mpk_analysis *an) {
    return an->block ? an->block->blocking.iperm : an->iperm;
}

mpki_tree_view mpki_tree_view_of(const mpk_analysis *an) {
    const mpki_split *split = mpki_split_rows(an->split) ? an->split : NULL;
    return (mpki_tree_view){.n = an->n,
                            .nsuper = an->nsuper,
                            .nnz = an->nnz,
                            .scalar = an->scalar,
                            .symmetry = an->symmetry,
                            .ap = an->ap,
                            .ai = an->ai,
                            .perm = an->perm,
                            .sptr = an->sptr,
                            .parent = an->parent,
                            .child_ptr = an->child_ptr,
                            .child = an->child,
                            .rptr = an->rptr,
                            .ridx = an->ridx,
                            .rel = an->rel,
                            .flops = an->flops,
                            .scatter_ptr = an->scatter_ptr,
                            .scatter = an->scatter,
                            .factor_flops = an->info.factor_flops,
                            .factor_bytes = an->info.factor_bytes,
                            .max_front = an->info.max_front,
                            .failing = an->failing,
                            .outer = split ? split->outer : 0,
                            .outer_ap = split ? split->ap : NULL,
                            .outer_ai = split ? split->ai : NULL,
                            .row_of = an->row_of};
}

mpk_analysis *mpki_analysis_new(mpk_context *ctx, const mpk_problem *problem,
                                const mpk_options *options) {
    mpk_analysis *an = MPKI_ZNEW(ctx, STAGE, 1, mpk_analysis);
    if (!an) return NULL;
    an->ctx = ctx;
    an->options = *options;
    an->options.given_perm = an->options.given_blocks = an->options.given_pivots = NULL;
    an->n = problem->n;
    an->nnz = problem->nnz;
    an->scalar = problem->scalar;
    an->symmetry = problem->symmetry;
    an->info.n = an->n;
    an->info.nnz = an->nnz;
    an->info.structural_rank = -1;
    an->layout = mpki_layout_share(ctx, STAGE, problem->layout);
    if (problem->values)
        an->values = mpki_values_share(ctx, STAGE, problem->scalar, problem->values);
    an->split = problem->split;
    const int64_t positions = (int64_t)an->n + mpki_split_rows(an->split);
    an->perm = MPKI_NEW(ctx, STAGE, positions, int32_t);
    if (!an->layout || !an->perm || (problem->values && !an->values)) {
        mpk_analysis_destroy(&an);
        return NULL;
    }
    an->ap = an->layout->ap;
    an->ai = an->layout->ai;
    an->core = mpki_core_all(an->ap, an->ai);
    return an;
}

/* ---- the parts in their order ---------------------------------------------------------------- */

/* Scaling, matching and order into *an; the graph of A stays for the symbolic phase. */
static mpk_status choose(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                         const char *keep, const mpk_analysis *older, mpk_analysis *an,
                         mpki_graph *graph, mpki_choice *choice) {
    mpk_status status = MPK_OK;
    if (options->ordering == MPK_ORDERING_GIVEN)
        status = mpki_perm_check(ctx, STAGE, an->n, options->given_perm);
    if (!mpk_failed(status) && an->symmetry == MPK_GENERAL)
        return mpki_choose_general(ctx, problem, options, graph, an);
    if (!mpk_failed(status))
        status = mpki_choose(ctx, problem, options, keep, older, graph, an->perm, choice,
                             &an->info.time_match_s);
    if (mpk_failed(status)) return status;
    an->info.ordering = choice->ordering;
    if (an->split) mpki_etree_free(ctx, &choice->tree); /* of the interior without what is below */
    if (an->split && options->ordering == MPK_ORDERING_AUTO)
        status = mpki_split_order(ctx, options, graph, choice->mate, an);
    if (mpk_failed(status)) return status;
    an->info.ordered_for = choice->for_device ? MPK_ON_CUDA : MPK_ON_CPU;
    an->info.matching = choice->mate != NULL;
    an->failing = choice->failing;
    an->info.structural_rank = choice->rank;
    if (mpki_core_is_part(&choice->core)) an->core = choice->core;
    choice->core = (mpki_core){0};
    an->info.scaling = options->scaling == MPK_OFF ? 0 : choice->scale ? 2 : 1;
    if (an->info.scaling == 2) {
        an->scale = choice->scale;
        an->scale_far = choice->scale_far;
        choice->scale = NULL;
    }
    return MPK_OK;
}

/* Bytes that the rows of A, and matching, or graph and ordering after it, take beside A, at the least:
 * the rows of e / 2 entries below the diagonal 4 e + 8 n (lower.h), of a graph with e directions of
 * edges 4 e + 8 n; the moduli of a matching 4 e, its own graph 12 e and 40 n; AMD (Amestoy, Davis &
 * Duff 2004, section 3) a copy of the graph and 1.2 e + 8 n indices; METIS and SCOTCH copies with
 * weights, coarser ones after them. */
static double analysis_bytes(const mpk_analysis *an) {
    const double n = an->n, e = 2 * ((double)an->nnz - n), index = sizeof(int32_t);
    const double graph = index * e + 8 * n, rows = an->symmetry == MPK_GENERAL ? 0 : graph;
    const mpk_ordering by = an->options.ordering;
    double order = 0, match = 0;
    if (by == MPK_ORDERING_AUTO || by == MPK_ORDERING_AMD) order = index * (2.2 * e + 9 * n);
    if (by == MPK_ORDERING_METIS || by == MPK_ORDERING_SCOTCH) order = index * (3 * e + 9 * n);
    if (by == MPK_ORDERING_ND) order = index * (2 * e + 9 * n);
    if (an->options.matching == MPK_ON) match = (4 + 12) * e + 40 * n;
    return rows + fmax(graph + order, match);
}

/* Will a device factorize, as far as the analysis knows? */
static bool goes_there(const mpk_analysis *an) {
    const mpk_options *o = &an->options;
    if (an->symmetry == MPK_GENERAL || an->split || mpki_on_blocks(o->method) ||
        o->method == MPK_METHOD_NONE || mpki_context_engine(an->ctx))
        return false;
    return o->device == MPK_ON_CUDA ||
           (o->device == MPK_ON_AUTO && an->info.ordered_for == MPK_ON_CUDA);
}

/* What a build is told beside the problem. */
typedef struct wishes {
    const char *keep; /* as for mpki_analyse */
    const mpk_analysis *older;
    const mpk_tree *tree; /* the caller's; NULL: one is made for the order */
    bool ahead;           /* a factorization follows: where a device will do it, it prepares that */
} wishes;

static mpk_status build(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                        const wishes *w, mpk_analysis *an) {
    mpki_graph graph = {0};
    mpki_choice choice = {.rank = -1};
    double start = mpki_now_s();
    mpk_status status = mpki_memory_check(ctx, STAGE, "the analysis", fmax(analysis_bytes(an), 0),
                                          options->memory_limit);
    if (!mpk_failed(status))
        status = choose(ctx, problem, options, w->keep, w->older, an, &graph, &choice);
    double ordered = mpki_now_s();
    if (!mpk_failed(status) && mpki_progress(ctx, STAGE, 0.7))
        status = mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    if (!mpk_failed(status))
        status = w->tree ? mpki_tree_given(ctx, w->tree, &graph, an)
                         : mpki_symbolic_of(ctx, an, &graph, choice.mate, &choice.tree,
                                            choice.rows.ptr ? &choice.rows : NULL);
    if (!mpk_failed(status) && w->ahead && goes_there(an)) {
        const mpki_tree_view tree = mpki_tree_view_of(an);
        mpki_device_prepare(ctx, options->device_number, &tree, options->device_memory_limit);
    }
    an->info.time_order_s = ordered - start - an->info.time_match_s;
    an->info.time_symbolic_s = mpki_now_s() - ordered;
#ifndef NDEBUG
    if (!mpk_failed(status)) status = mpki_analysis_check(ctx, an);
#endif
    const int32_t rank = an->info.structural_rank;
    if (!mpk_failed(status) && rank >= 0 && rank < an->n)
        status =
            mpki_error(ctx, MPK_SINGULAR, STAGE, rank,
                       "structurally singular: at most %d of %d rows are independent", rank, an->n);
    mpki_graph_free(ctx, &graph);
    mpki_choice_free(ctx, &choice);
    return status;
}

/* Of an interior nothing is left out: the rows below have entries in its dependent columns, too. */
static mpk_status build_whole(mpk_context *ctx, const mpk_problem *problem,
                              const mpk_options *options, mpk_analysis *an) {
    char *keep = MPKI_NEW(ctx, STAGE, problem->n, char);
    if (!keep) return mpki_failed(ctx);
    if (problem->n) memset(keep, 1, (size_t)problem->n);
    const mpk_status status = build(ctx, problem, options, &(wishes){.keep = keep}, an);
    mpki_release(ctx, keep);
    return status;
}

static mpk_status analyse(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                          const wishes *w, mpk_analysis **an) {
    mpk_options full;
    double start = mpki_now_s();
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!problem || !an || *an)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          !problem ? "the problem is NULL" : "*an must be NULL before mpk_analyse");
    mpk_status status = mpki_options_resolve(ctx, options, &full);
    if (mpk_failed(status)) return status;
    status = mpki_fit_options(ctx, problem->symmetry, &full);
    if (!mpk_failed(status) && mpki_on_blocks(full.method)) status = mpki_check_options(ctx, &full);
    if (!mpk_failed(status))
        status = mpki_given_check(ctx, problem->n, problem->symmetry == MPK_GENERAL, &full);
    if (mpk_failed(status)) return status;
    if (mpki_progress(ctx, STAGE, 0))
        return mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    mpk_analysis *made = mpki_analysis_new(ctx, problem, &full);
    if (!made) return mpki_failed(ctx);
    if (w->ahead && full.device == MPK_ON_CUDA && goes_there(made))
        mpki_device_begin(ctx, full.device_number, made->scalar);
    if (problem->split)
        status = build_whole(ctx, problem, &full, made);
    else
        status = mpki_on_blocks(full.method) ? mpki_block_analyse(ctx, problem, &full, made)
                                             : build(ctx, problem, &full, w, made);
    if (mpk_failed(status)) {
        mpk_analysis_destroy(&made);
        return status;
    }
    made->info.time_s = mpki_now_s() - start;
    mpki_progress(ctx, STAGE, 1);
    *an = made;
    return status;
}

mpk_status mpki_analyse(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                        const char *keep, const mpk_analysis *older, mpk_analysis **an) {
    return analyse(ctx, problem, options, &(wishes){.keep = keep, .older = older}, an);
}

mpk_status mpk_analyse(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                       mpk_analysis **an) {
    MPKI_CALM;
    return analyse(ctx, problem, options, &(wishes){.ahead = true}, an);
}

mpk_status mpk_analyse_tree(mpk_context *ctx, const mpk_problem *problem,
                            const mpk_options *options, int32_t supernodes, const int32_t *perm,
                            const int32_t *first, const int32_t *parent, mpk_analysis **an) {
    MPKI_CALM;
    mpk_options full;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    mpk_status status = mpki_options_resolve(ctx, options, &full);
    if (mpk_failed(status)) return status;
    const bool general = problem && problem->symmetry == MPK_GENERAL;
    if (general || (full.method != MPK_METHOD_AUTO && full.method != MPK_METHOD_LDLT))
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, STAGE, -1,
                          general ? "the matrix is not symmetric, and trees are given for "
                                    "matrices that are"
                                  : "a tree is for the direct method: method ldlt");
    const mpk_tree tree = {.n = problem ? problem->n : 0,
                           .supernodes = supernodes,
                           .perm = perm,
                           .first = first,
                           .parent = parent};
    full.ordering = MPK_ORDERING_GIVEN;
    full.given_perm = perm;
    full.given_blocks = full.given_pivots = NULL;
    return analyse(ctx, problem, &full, &(wishes){.tree = &tree, .ahead = true}, an);
}

/* ---- of an interior -------------------------------------------------------------------------- */

static const char SCHUR[] = "schur";

/* The options for an interior: the direct solver on the processor. *order [out] given_perm of the
 * interior, where the caller gave one of A */
static mpk_status fit_interior(mpk_context *ctx, const mpk_problem *problem, int32_t count,
                               const int32_t *variables, mpk_options *o, int32_t **order) {
    const int32_t n = problem->n;
    if (problem->symmetry == MPK_GENERAL)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, SCHUR, -1,
                          "the matrix is not symmetric, and Schur complements are of matrices that "
                          "are");
    if (o->method != MPK_METHOD_AUTO && o->method != MPK_METHOD_LDLT)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, SCHUR, -1,
                          "method %s has no Schur complement; ldlt has",
                          mpk_method_name(o->method));
    if (o->device == MPK_ON_CUDA)
        return mpki_error(ctx, MPK_ERR_UNSUPPORTED, SCHUR, -1,
                          "Schur complements are not computed on a device; device = auto or cpu "
                          "takes the processor");
    if (count < 0 || count > n || (count > 0 && !variables))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, SCHUR, count,
                          "%d variables: 0 to %d, the order of A, can be given", count, n);
    o->method = MPK_METHOD_LDLT;
    o->device = MPK_ON_CPU;
    if (o->ordering != MPK_ORDERING_GIVEN) return MPK_OK;
    mpk_status status = mpki_perm_check(ctx, SCHUR, n, o->given_perm);
    int32_t *index = MPKI_ZNEW(ctx, SCHUR, n, int32_t), next = 0;
    *order = MPKI_NEW(ctx, SCHUR, n, int32_t);
    if (!mpk_failed(status) && (!index || !*order)) status = mpki_failed(ctx);
    for (int32_t k = 0; !mpk_failed(status) && k < count; k++)
        if (variables[k] >= 0 && variables[k] < n) index[variables[k]] = -1; /* checked later */
    for (int32_t i = 0, inner = 0; !mpk_failed(status) && i < n; i++)
        if (index[i] == 0) index[i] = inner++;
    for (int32_t k = 0; !mpk_failed(status) && k < n; k++)
        if (index[o->given_perm[k]] >= 0) (*order)[next++] = index[o->given_perm[k]];
    mpki_release(ctx, index);
    o->given_perm = *order;
    return status;
}

mpk_status mpk_analyse_schur(mpk_context *ctx, const mpk_problem *problem,
                             const mpk_options *options, int32_t count, const int32_t *variables,
                             mpk_analysis **an) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!problem || !an || *an)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, SCHUR, -1,
                          !problem ? "the problem is NULL"
                                   : "*an must be NULL before mpk_analyse_schur");
    mpk_options full;
    mpk_problem inner = {0};
    mpki_split *split = NULL;
    int32_t *order = NULL;
    const double start = mpki_now_s();
    mpk_status status = mpki_options_resolve(ctx, options, &full);
    if (!mpk_failed(status)) status = fit_interior(ctx, problem, count, variables, &full, &order);
    if (!mpk_failed(status))
        status = mpki_split_make(ctx, problem, count, variables, &split, &inner);
    if (!mpk_failed(status)) status = mpki_analyse(ctx, &inner, &full, NULL, NULL, an);
    mpki_split_inner_free(&inner);
    mpki_release(ctx, order);
    if (mpk_failed(status)) {
        mpki_split_free(&split);
        return status;
    }
    (*an)->own_split = split;
    (*an)->info.time_s = mpki_now_s() - start;
    return status;
}
