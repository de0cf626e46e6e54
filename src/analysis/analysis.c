/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_analysis: match -> order -> symbolic, in that order, and the object that results. */
#include "../core/floats.h"
#include "../problem/perm.h"
#include "block/block.h"
#include "choose.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "analyse";

/* ---- the object ------------------------------------------------------------------------------ */

void mpk_analysis_destroy(mpk_analysis **handle) {
    if (!handle || !*handle) return;
    mpk_analysis *an = *handle;
    mpk_context *ctx = an->ctx;
    void *const parts[] = {an->scale,     an->perm,        an->iperm,   an->sptr,  an->parent,
                           an->child_ptr, an->child,       an->rptr,    an->ridx,  an->rel,
                           an->flops,     an->scatter_ptr, an->scatter, an->row_of};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) mpki_release(ctx, parts[k]);
    mpki_block_analysis_free(ctx, &an->block);
    mpki_core_free(ctx, &an->core);
    mpki_layout_release(&an->layout);
    mpki_values_release(&an->values);
    mpki_release(ctx, an);
    *handle = NULL;
}

void mpk_analysis_info_get(const mpk_analysis *an, mpk_analysis_info *info) {
    if (info) *info = an ? an->info : (mpk_analysis_info){0};
}

void mpk_analysis_perm(const mpk_analysis *an, int32_t *perm) {
    if (an && perm && an->n) memcpy(perm, an->perm, (size_t)an->n * sizeof *perm);
}

const int32_t *mpki_positions(const mpk_analysis *an) {
    return an->block ? an->block->blocking.iperm : an->iperm;
}

/* An analysis with the pattern and the values, and nothing else. */
static mpk_analysis *create(mpk_context *ctx, const mpk_problem *problem,
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
    an->perm = MPKI_NEW(ctx, STAGE, an->n, int32_t);
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
                         const char *keep, mpk_analysis *an, mpki_graph *graph,
                         mpki_choice *choice) {
    mpk_status status = MPK_OK;
    if (options->ordering == MPK_ORDERING_GIVEN)
        status = mpki_perm_check(ctx, STAGE, an->n, options->given_perm);
    if (!mpk_failed(status))
        status = mpki_graph_build(ctx, an->n, an->ap, an->ai, NULL, NULL, graph);
    if (!mpk_failed(status))
        status = mpki_choose(ctx, problem, options, keep, graph, an->perm, choice,
                             &an->info.time_match_s);
    if (mpk_failed(status)) return status;
    an->info.ordering = choice->ordering;
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

/* Bytes that graph, matching and ordering take beside A, at the least: of a graph with e directions
 * of edges 4 e + 8 n; AMD (Amestoy, Davis & Duff 2004, section 3) a copy of it and 1.2 e + 8 n
 * indices; METIS and SCOTCH copies with weights, coarser ones after them. */
static double analysis_bytes(const mpk_analysis *an) {
    const double n = an->n, e = 2 * ((double)an->nnz - n), index = sizeof(int32_t);
    const double graph = index * e + 8 * n;
    const mpk_ordering by = an->options.ordering;
    double order = 0, match = 0;
    if (by == MPK_ORDERING_AUTO || by == MPK_ORDERING_AMD) order = index * (2.2 * e + 9 * n);
    if (by == MPK_ORDERING_METIS || by == MPK_ORDERING_SCOTCH) order = index * (3 * e + 9 * n);
    if (by == MPK_ORDERING_ND) order = index * (2 * e + 9 * n);
    if (an->options.matching == MPK_ON) match = 12 * e + 40 * n;
    return graph + fmax(order, match);
}

static mpk_status build(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                        const char *keep, mpk_analysis *an) {
    mpki_graph graph = {0};
    mpki_choice choice = {.rank = -1};
    double start = mpki_now_s();
    mpk_status status = mpki_memory_check(ctx, STAGE, "the analysis", fmax(analysis_bytes(an), 0),
                                          options->memory_limit);
    if (!mpk_failed(status)) status = choose(ctx, problem, options, keep, an, &graph, &choice);
    double ordered = mpki_now_s();
    if (!mpk_failed(status) && mpki_progress(ctx, STAGE, 0.7))
        status = mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    if (!mpk_failed(status)) status = mpki_symbolic(ctx, an, &graph, choice.mate);
    an->info.time_order_s = ordered - start - an->info.time_match_s;
    an->info.time_symbolic_s = mpki_now_s() - ordered;
#ifndef NDEBUG
    if (!mpk_failed(status)) status = mpki_analysis_check(ctx, an);
#endif
    if (!mpk_failed(status) && choice.rank >= 0 && choice.rank < an->n)
        status = mpki_error(ctx, MPK_SINGULAR, STAGE, choice.rank,
                            "structurally singular: at most %d of %d rows are independent",
                            choice.rank, an->n);
    mpki_graph_free(ctx, &graph);
    mpki_choice_free(ctx, &choice);
    return status;
}

mpk_status mpki_analyse(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                        const char *keep, mpk_analysis **an) {
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
    mpk_analysis *made = create(ctx, problem, &full);
    if (!made) return mpki_failed(ctx);
    status = mpki_on_blocks(full.method) ? mpki_block_analyse(ctx, problem, &full, made)
                                         : build(ctx, problem, &full, keep, made);
    if (mpk_failed(status)) {
        mpk_analysis_destroy(&made);
        return status;
    }
    made->info.time_s = mpki_now_s() - start;
    mpki_progress(ctx, STAGE, 1);
    *an = made;
    return status;
}

mpk_status mpk_analyse(mpk_context *ctx, const mpk_problem *problem, const mpk_options *options,
                       mpk_analysis **an) {
    MPKI_CALM;
    return mpki_analyse(ctx, problem, options, NULL, an);
}
