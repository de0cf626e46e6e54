/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that a multifrontal factorization will hold at most, from its tree: the walk of direct/ by
 * one worker, with sizes in place of numbers. Measured beside predicted:
 * bench/results/memory.md. */
#include "symbolic.h"
#include "../../core/arena.h"
#include "../../core/pool.h"

#include "../../engines/cpu/front/storage.h"

#include <math.h>

static double rows_below(const mpk_analysis *an, int32_t s) {
    return (double)(an->rptr[s + 1] - an->rptr[s]);
}

/* Of the factor: a node's panels, D and its inverse, names of its columns, one after the other. */
int64_t mpki_factor_bytes(const mpk_analysis *an, double entry) {
    int64_t bytes = 0;
    for (int32_t s = 0; s < an->nsuper; s++) {
        const int64_t w = an->sptr[s + 1] - an->sptr[s], m = an->rptr[s + 1] - an->rptr[s];
        const double node =
            an->symmetry == MPK_GENERAL
                ? (double)(mpki_square_size(w + m, w) + w) * entry + 12.0 * (double)w
                : (double)(mpki_trapezoid(w + m, w) + 4 * w) * entry + 4.0 * (double)w;
        if (node + (double)bytes > 9e18) return INT64_MAX;
        bytes = mpki_arena_next(bytes, (int64_t)node);
    }
    return bytes;
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

/* Of a contribution. */
static double contribution_bytes(const mpk_analysis *an, int32_t s, double entry) {
    const int64_t m = an->rptr[s + 1] - an->rptr[s];
    if (an->symmetry != MPK_GENERAL && mpki_is_small_leaf(an->sptr, an->child_ptr, s)) return 0;
    const int64_t entries =
        an->symmetry == MPK_GENERAL ? mpki_square_contribution(m) : mpki_trapezoid(m, m);
    return m ? ((double)entries + 8) * entry : 0;
}

/* What contributions take: the large ones each its own memory; small ones are cut from slabs, which
 * stay, and serve again for those of their size alone (engines/cpu/multifrontal/recycle.h). */
typedef struct held {
    int32_t spare[MPKI_SMALL_SIZES]; /* small ones that were given back */
    int64_t slabs, left;             /* bytes left in the last of them */
    double large, most;              /* bytes of large ones, and the most that they were */
} held;

static void take(held *h, double bytes) {
    int64_t size;
    if (bytes > MPKI_SMALL) {
        h->large += mpki_alloc_bytes(bytes);
        h->most = fmax(h->most, h->large);
    } else if (bytes > 0) {
        int32_t *spare = &h->spare[mpki_small_list((int64_t)bytes, &size)];
        if (*spare > 0) {
            --*spare;
            return;
        }
        if (h->left < size) h->slabs++, h->left = MPKI_SLAB - MPKI_SMALL_STEP;
        h->left -= size;
    }
}

static void give(held *h, double bytes) {
    int64_t size;
    if (bytes > MPKI_SMALL)
        h->large -= mpki_alloc_bytes(bytes);
    else if (bytes > 0)
        h->spare[mpki_small_list((int64_t)bytes, &size)]++;
}

/* The most that contributions take at once: that of a node is made before those of its children are
 * released. At least one slab, if there are any. */
static double stack_bytes(const mpk_analysis *an, double entry) {
    held h = {.slabs = 0};
    for (int32_t s = 0; s < an->nsuper; s++) {
        take(&h, contribution_bytes(an, s, entry));
        for (int32_t k = an->child_ptr[s]; k < an->child_ptr[s + 1]; k++)
            give(&h, contribution_bytes(an, an->child[k], entry));
    }
    const double slab = mpki_alloc_bytes(MPKI_SLAB);
    return h.most > 0 || h.slabs > 0 ? h.most + slab * (double)(h.slabs > 0 ? h.slabs : 1) : 0;
}

/* Workers that the walk will have, at most. */
static int workers(mpk_context *ctx, const mpk_analysis *an) {
    double cost = 0;
    for (int32_t s = 0; s < an->nsuper; s++)
        cost += mpki_node_cost(an->sptr[s + 1] - an->sptr[s], rows_below(an, s), an->flops[s],
                               an->child_ptr[s] == an->child_ptr[s + 1]);
    return cost < MPKI_WORTH_THREADS ? 1 : mpki_context_threads(ctx, an->options.threads);
}

/* What delayed columns are expected to add to the factor. How many there will be is guessed by a
 * trial elimination; as many columns more, of the mean length, is what the 132 matrices of
 * bench/results/memory.md say in the median. */
static double delayed_bytes(const mpk_analysis *an, double factor) {
    return an->n ? factor * fmin((double)an->failing / an->n, 1) : 0;
}

/* What each worker has of its own; the largest front in low rank is beside the factor. */
static double worker_bytes(const mpk_analysis *an) {
    const double entry = (double)mpk_scalar_size(an->scalar);
    double lent = 0;
    for (int32_t s = 0; s < an->nsuper; s++) lent = fmax(lent, low_front(an, s));
    return mpki_alloc_bytes(lent) +
           mpki_alloc_bytes((double)mpki_front_work(an->n) * entry + 12.0 * an->info.max_front);
}

double mpki_more_workers_bytes(mpk_context *ctx, const mpk_analysis *an) {
    return (workers(ctx, an) - 1) * worker_bytes(an);
}

mpk_status mpki_predict_memory(mpk_context *ctx, mpk_analysis *an) {
    mpk_analysis_info *info = &an->info;
    const double entry = (double)mpk_scalar_size(an->scalar), nodes = an->nsuper + 1;
    const double factor = (double)mpki_factor_bytes(an, entry), stack = stack_bytes(an, entry);
    const int64_t below = mpki_split_rows(an->split) ? mpki_split_entries(an->split) : 0;
    const bool copied = an->symmetry == MPK_GENERAL || an->options.updates == MPK_ON;
    const double values = copied ? (double)(an->nnz + below) * entry /* scaled */
                                 : (double)an->n * sizeof(int16_t);  /* exponents of the scaling */
    /* and each node's description, pointer to its contribution, share of a task */
    const double peak = mpki_alloc_bytes(factor) + delayed_bytes(an, factor) + stack +
                        mpki_alloc_bytes(values) + workers(ctx, an) * worker_bytes(an) +
                        nodes * MPKI_NODE_BYTES;
    info->factor_bytes = mpki_factor_bytes(an, entry);
    info->peak_bytes = peak < 9e18 ? (int64_t)peak : INT64_MAX;
    return mpki_failed(ctx);
}
