/* SPDX-License-Identifier: BSD-3-Clause */
/* A general matrix: its rows are matched with its columns, and the pattern on which it is ordered
 * is that of Q A + (Q A)^T. */
#include "../problem/columns.h"
#include "block/block.h"
#include "general.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "analyse";

/* Sweeps of equilibration before the diagonal is judged, and what is strong then, as choose.c has
 * them for a symmetric matrix. */
enum { SWEEPS = 4 };
static const double STRONG = 0.1;
/* With a larger share of weak ones rows are matched. */
static const double FEW = 0.1;

/* Are diagonal entries strong, all but a few, once rows and columns are equilibrated? Those are delayed:
 * rows that are permuted for them make the pattern less symmetric, and cost more. */
static mpk_status strong_diagonal(mpk_context *ctx, const mpk_problem *p, const double *absval,
                                  bool *strong) {
    const int32_t n = p->n;
    double *scale = MPKI_NEW(ctx, STAGE, 2 * (int64_t)n, double);
    *strong = false;
    if (!scale) return mpki_failed(ctx);
    for (int64_t i = 0; i < 2 * (int64_t)n; i++) scale[i] = 1;
    mpk_status status = mpki_equilibrate_rows(ctx, n, p->ap, p->ai, absval, SWEEPS, 1, scale);
    int64_t weak = 0;
    for (int32_t j = 0; !mpk_failed(status) && j < n; j++) {
        double d = 0;
        for (int64_t k = p->ap[j]; k < p->ap[j + 1]; k++)
            if (p->ai[k] == j) d = scale[j] * absval[k] * scale[n + j];
        weak += !(d >= STRONG);
    }
    *strong = !mpk_failed(status) && (double)weak <= FEW * n;
    mpki_release(ctx, scale);
    return status;
}

mpk_status mpki_general_match(mpk_context *ctx, const mpk_problem *p, bool always,
                              mpk_analysis *an) {
    double *absval = MPKI_NEW(ctx, STAGE, p->nnz, double);
    bool strong = false;
    if (!absval) return mpki_failed(ctx);
    MPKI_DISPATCH(p->scalar, column_moduli)(p->nnz, p->ax, absval);
    mpk_status status = always ? MPK_OK : strong_diagonal(ctx, p, absval, &strong);
    if (!mpk_failed(status) && !strong) {
        an->row_of = MPKI_NEW(ctx, STAGE, p->n, int32_t);
        an->scale = MPKI_NEW(ctx, STAGE, 2 * (int64_t)p->n, double);
        status = an->row_of && an->scale ? MPK_OK : mpki_failed(ctx);
        if (!mpk_failed(status))
            status = mpki_match_rows(ctx, p->n, p->ap, p->ai, absval, an->row_of, an->scale,
                                     &an->info.structural_rank);
        an->info.matching = 1;
    }
    mpki_release(ctx, absval);
    return status;
}

mpk_status mpki_choose_general(mpk_context *ctx, const mpk_problem *p, const mpk_options *o,
                               mpki_graph *graph, mpk_analysis *an) {
    mpki_union both = {0};
    const double start = mpki_now_s();
    mpk_status status = MPK_OK;
    if (o->matching != MPK_OFF) status = mpki_general_match(ctx, p, o->matching == MPK_ON, an);
    an->info.time_match_s = mpki_now_s() - start;
    if (!mpk_failed(status) && mpki_progress(ctx, STAGE, 0.1))
        status = mpki_error(ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    if (!mpk_failed(status)) status = mpki_union_make(ctx, p->n, p->ap, p->ai, an->row_of, &both);
    if (!mpk_failed(status))
        status = mpki_graph_build(ctx, p->n, both.ap, both.ai, NULL, NULL, graph);
    mpki_union_free(ctx, &both);
    if (mpk_failed(status)) return status;
    an->info.ordering = o->ordering;
    an->info.ordered_for = MPK_ON_CPU;
    an->info.scaling = o->scaling == MPK_OFF ? 0 : an->scale ? 2 : 1;
    if (o->ordering != MPK_ORDERING_GIVEN && o->ordering != MPK_ORDERING_NATURAL)
        return p->n ? mpki_order(ctx, graph, o->ordering, o->seed, o->threads, an->perm,
                                 &an->info.ordering)
                    : MPK_OK;
    for (int32_t k = 0; k < p->n; k++)
        an->perm[k] = o->ordering == MPK_ORDERING_GIVEN ? o->given_perm[k] : k;
    return MPK_OK;
}
