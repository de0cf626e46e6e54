/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that a multifrontal factorization will hold at most, from its tree: the walk of direct/ by
 * one worker, with sizes in place of numbers. Measured beside predicted:
 * bench/results/memory.md. */
#include "symbolic.h"
#include "../../core/pool.h"

#include "../../engines/cpu/front/storage.h"

#include <math.h>

static const char STAGE[] = "symbolic";

static double rows_below(const mpk_analysis *an, int32_t s) {
    return (double)(an->rptr[s + 1] - an->rptr[s]);
}

/* Of the factor: a node's panels, D and its inverse, names of its columns, to the next 64 bytes. */
int64_t mpki_factor_bytes(const mpk_analysis *an, double entry) {
    double bytes = 0;
    for (int32_t s = 0; s < an->nsuper; s++) {
        const int64_t w = an->sptr[s + 1] - an->sptr[s], m = an->rptr[s + 1] - an->rptr[s];
        const double node =
            an->symmetry == MPK_GENERAL
                ? (double)(mpki_square_size(w + m, w) + w) * entry + 12.0 * (double)w
                : (double)(mpki_trapezoid(w + m, w) + 4 * w) * entry + 4.0 * (double)w;
        bytes += 64 * ceil(node / 64);
    }
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

/* Bytes of a front in low rank while it is at work; 0: it is not. */
static double low_front(const mpk_analysis *an, int32_t s) {
    const int64_t w = an->sptr[s + 1] - an->sptr[s], m = an->rptr[s + 1] - an->rptr[s];
    const bool low = an->options.low_rank_tolerance > 0 && an->symmetry != MPK_GENERAL;
    return low && mpki_low_pays(w + m, w)
               ? (double)(mpki_trapezoid(w + m, w) + 8) * (double)mpk_scalar_size(an->scalar)
               : 0;
}

double mpki_low_bytes(const mpk_analysis *an) {
    double bytes = 0;
    for (int32_t s = 0; s < an->nsuper; s++) bytes += low_front(an, s);
    return bytes;
}

/* Of a contribution: whole, or its part of a slab of small ones. */
static double contribution_bytes(const mpk_analysis *an, int32_t s, double entry) {
    const int64_t m = an->rptr[s + 1] - an->rptr[s];
    const int64_t entries =
        an->symmetry == MPK_GENERAL ? mpki_square_contribution(m) : mpki_trapezoid(m, m);
    return m ? ((double)entries + 8) * entry : 0;
}

/* The most that contributions take at once: that of a node is made before those of its children are
 * released. At least one slab, if there are any. */
static double stack_bytes(mpk_context *ctx, const mpk_analysis *an, double entry) {
    double held = 0, most = 0;
    double *of_children = MPKI_ZNEW(ctx, STAGE, an->nsuper, double);
    if (!of_children) return 0;
    for (int32_t s = 0; s < an->nsuper; s++) {
        const double own = contribution_bytes(an, s, entry);
        held += own;
        most = fmax(most, held);
        held -= of_children[s];
        if (an->parent[s] >= 0) of_children[an->parent[s]] += own;
    }
    mpki_release(ctx, of_children);
    return most > 0 ? most + MPKI_SLAB : 0;
}

/* Workers that the walk will have. */
static int workers(mpk_context *ctx, const mpk_analysis *an) {
    double cost = 0;
    for (int32_t s = 0; s < an->nsuper; s++)
        cost += mpki_node_cost(an->sptr[s + 1] - an->sptr[s], rows_below(an, s), an->flops[s]);
    return cost < MPKI_WORTH_THREADS ? 1 : mpki_context_threads(ctx, an->options.threads);
}

/* What delayed columns are expected to add to the factor. How many there will be is guessed by a
 * trial elimination; as many columns more, of the mean length, is what the 132 matrices of
 * bench/results/memory.md say in the median. */
static double delayed_bytes(const mpk_analysis *an, double factor) {
    return an->n ? factor * fmin((double)an->failing / an->n, 1) : 0;
}

mpk_status mpki_predict_memory(mpk_context *ctx, mpk_analysis *an) {
    mpk_analysis_info *info = &an->info;
    const double entry = (double)mpk_scalar_size(an->scalar), nodes = an->nsuper + 1;
    const double factor = (double)mpki_factor_bytes(an, entry), stack = stack_bytes(ctx, an, entry);
    const int64_t below = mpki_split_rows(an->split) ? mpki_split_entries(an->split) : 0;
    const double values = (double)(an->nnz + below) * entry; /* scaled */
    const double worker = (double)mpki_front_work(an->n) * entry + 12.0 * info->max_front;
    /* each node's description, pointer to its contribution, share of a task */
    const double delayed = delayed_bytes(an, factor);
    double lent = 0; /* the largest front in low rank, beside the factor, for each worker */
    for (int32_t s = 0; s < an->nsuper; s++) lent = fmax(lent, low_front(an, s));
    const double peak = workers(ctx, an) * mpki_alloc_bytes(lent) + mpki_alloc_bytes(factor) +
                        delayed + stack + mpki_alloc_bytes(values) +
                        workers(ctx, an) * mpki_alloc_bytes(worker) + nodes * MPKI_NODE_BYTES;
    info->factor_bytes = mpki_factor_bytes(an, entry);
    info->peak_bytes = peak < 9e18 ? (int64_t)peak : INT64_MAX;
    return mpki_failed(ctx);
}
