/* SPDX-License-Identifier: BSD-3-Clause */
/* What is kept from one factorization to the next, and which fronts the next values touch. */
#include "kept.h"
#include "workers.h"

#include <string.h>

static const char STAGE[] = "factorize";

static int64_t values_of(const mpki_tree_view *tree) {
    return tree->nnz + (tree->outer ? tree->outer_ap[tree->n] : 0);
}

static bool is_outer(const mpki_tree_view *tree, int32_t s) {
    return tree->outer > 0 && s == tree->nsuper - 1;
}

/* The outer node's contribution is the Schur complement, which the factor has anyway; a small leaf has
 * its own in its numbers. */
static int64_t contribution_bytes(const mpki_tree_view *tree, int32_t s,
                                  int64_t (*contribution)(int64_t m)) {
    const int64_t m = tree->rptr[s + 1] - tree->rptr[s];
    if (m == 0 || is_outer(tree, s)) return 0;
    if (tree->symmetry != MPK_GENERAL && mpki_is_small_leaf(tree->sptr, tree->child_ptr, s))
        return 0;
    const int64_t bytes = (contribution(m) + 8) * (int64_t)mpk_scalar_size(tree->scalar);
    return (bytes + 63) & ~(int64_t)63;
}

mpk_status mpki_kept_make(mpk_context *ctx, const mpki_tree_view *tree,
                          int64_t (*contribution)(int64_t m), double limit, mpki_kept **out) {
    const int32_t ns = tree->nsuper;
    int64_t all = 0, before, after;
    *out = NULL;
    for (int32_t s = 0; s < ns; s++) all += contribution_bytes(tree, s, contribution);
    if (mpk_failed(mpki_memory_check(ctx, STAGE, "the factor, with what updates = on keeps",
                                     (double)tree->factor_bytes + (double)all, limit)))
        return mpki_failed(ctx);
    mpk_memory_usage(ctx, &before, NULL);
    mpki_kept *kept = MPKI_ZNEW(ctx, STAGE, 1, mpki_kept);
    if (!kept) return mpki_failed(ctx);
    kept->node_of = MPKI_NEW(ctx, STAGE, values_of(tree) + 1, int32_t);
    kept->at = MPKI_NEW(ctx, STAGE, ns + 1, int64_t);
    kept->contribution = MPKI_NEW(ctx, STAGE, all + 64, char);
    kept->tally = MPKI_ZNEW(ctx, STAGE, ns + 1, mpki_tally);
    kept->room = MPKI_ZNEW(ctx, STAGE, ns + 1, int64_t);
    kept->touched = MPKI_ZNEW(ctx, STAGE, ns + 1, char);
    if (mpk_failed(mpki_failed(ctx))) {
        mpki_kept_free(ctx, &kept);
        return mpki_failed(ctx);
    }
    for (int64_t k = 0; k < values_of(tree); k++) kept->node_of[k] = -1;
    for (int32_t s = 0; s < ns; s++)
        for (int64_t k = tree->scatter_ptr[s]; k < tree->scatter_ptr[s + 1]; k++)
            kept->node_of[mpki_scatter_at(&tree->scatter, k).src] = s;
    kept->at[0] = 0;
    for (int32_t s = 0; s < ns; s++)
        kept->at[s + 1] = kept->at[s] + contribution_bytes(tree, s, contribution);
    mpk_memory_usage(ctx, &after, NULL);
    kept->bytes = after - before + values_of(tree) * (int64_t)mpk_scalar_size(tree->scalar);
    *out = kept;
    return MPK_OK;
}

void mpki_kept_free(mpk_context *ctx, mpki_kept **handle) {
    mpki_kept *kept = *handle;
    *handle = NULL;
    if (!kept) return;
    mpki_release(ctx, kept->sax);
    mpki_release(ctx, kept->node_of);
    mpki_release(ctx, kept->at);
    mpki_release(ctx, kept->contribution);
    mpki_release(ctx, kept->tally);
    mpki_release(ctx, kept->room);
    mpki_release(ctx, kept->touched);
    mpki_release(ctx, kept);
}

/* ---- which nodes ----------------------------------------------------------------------------- */

void mpki_kept_touch_all(mpki_kept *kept, const mpki_tree_view *tree) {
    kept->valid = false;
    kept->whole = true;
    kept->cost = 0;
    for (int32_t s = 0; s < tree->nsuper; s++) {
        kept->touched[s] = 1;
        kept->room[s] = 0;
        kept->cost += mpki_walk_cost(tree, s);
    }
}

static bool same_rules(const mpki_pivot_rules *a, const mpki_pivot_rules *b) {
    return a->threshold == b->threshold && a->small == b->small && a->shift == b->shift &&
           a->size == b->size;
}

/* Marks what has other bits, so that 0 and -0 are told apart, too. */
static void touch_values(mpki_kept *kept, const mpki_tree_view *tree, const char *sax) {
    enum { BLOCK = 512 };
    const int64_t size = (int64_t)mpk_scalar_size(tree->scalar), all = values_of(tree);
    const char *old = kept->sax;
    for (int64_t k0 = 0; k0 < all; k0 += BLOCK) {
        const int64_t k1 = k0 + BLOCK < all ? k0 + BLOCK : all;
        if (!memcmp(old + k0 * size, sax + k0 * size, (size_t)((k1 - k0) * size))) continue;
        for (int64_t k = k0; k < k1; k++)
            if (memcmp(old + k * size, sax + k * size, (size_t)size) && kept->node_of[k] >= 0)
                kept->touched[kept->node_of[k]] = 1;
    }
}

bool mpki_kept_touch(mpki_kept *kept, const mpki_tree_view *tree, const void *sax,
                     const mpki_pivot_rules *rules, int64_t arena) {
    if (!kept->valid || !same_rules(&kept->rules, rules) || arena > 2 * kept->arena) {
        mpki_kept_touch_all(kept, tree);
        return false;
    }
    touch_values(kept, tree, sax);
    kept->whole = false;
    kept->cost = 0;
    for (int32_t s = 0; s < tree->nsuper; s++) {
        if (!kept->touched[s]) continue;
        kept->cost += mpki_walk_cost(tree, s);
        if (tree->parent[s] >= 0) kept->touched[tree->parent[s]] = 1;
    }
    kept->valid = false; /* until the walk has succeeded */
    return true;
}

void mpki_kept_settle(mpki_kept *kept, mpk_context *ctx, const mpki_tree_view *tree, void **sax,
                      const mpki_pivot_rules *rules, int64_t arena, mpki_numeric_result *result) {
    mpki_release(ctx, kept->sax);
    kept->sax = *sax;
    *sax = NULL;
    kept->rules = *rules;
    kept->valid = true;
    int32_t done = 0;
    double flops = 0;
    for (int32_t s = 0; s < tree->nsuper; s++) {
        if (!kept->touched[s]) continue;
        done++;
        flops += kept->tally[s].flops;
        kept->touched[s] = 0;
    }
    if (done == tree->nsuper) kept->arena = arena;
    result->kept_bytes = kept->bytes;
    result->untouched = tree->nsuper - done;
    result->untouched_flops = result->flops - flops;
}

/* ---- sums ------------------------------------------------------------------------------------ */

void mpki_tally_add(mpki_numeric_result *result, const mpki_tally *tally) {
    const mpki_pivots *p = &tally->pivots;
    result->positive += p->positive;
    result->negative += p->negative;
    result->zero += p->zero;
    result->two_by_two += p->two_by_two;
    result->perturbed += p->perturbed;
    result->broken += p->broken;
    result->delayed += tally->delayed;
    if (p->max_d > result->max_d) result->max_d = p->max_d;
    if (p->min_d < result->min_d) result->min_d = p->min_d;
    if (tally->max_front > result->max_front) result->max_front = tally->max_front;
    result->flops += tally->flops;
    result->nnz += tally->nnz;
    result->low_nnz += tally->low_nnz;
    result->low_flops += tally->low_flops;
}
