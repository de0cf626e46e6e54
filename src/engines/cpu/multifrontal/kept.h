/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_KEPT_H
#define MPKI_CPU_MULTIFRONTAL_KEPT_H
/** What a factor keeps so that the next values are factorized only in the fronts that they touch: the
 *  values of the last numbers, each node's contribution, and what each node added to the totals. A
 *  node depends on its own entries and on its children alone. So a node whose entries have the same
 *  bits, and all below it, has the numbers that a whole factorization would give it. */
#include "engines/cpu/front/front.h"
#include "engines/interface/engine.h"

/** Of a node, or of all nodes that a worker did. */
typedef struct mpki_tally {
    mpki_pivots pivots;
    int64_t delayed, nnz;
    double flops;
    int32_t max_front;
} mpki_tally;

/** Add one to the totals, in which mpki_numeric_result's min_d begins as infinity. */
void mpki_tally_add(mpki_numeric_result *result, const mpki_tally *tally);

typedef struct mpki_kept {
    bool valid; /* the rest is of the numbers that the factor has */
    void *sax;  /* values */
    mpki_pivot_rules rules;
    int32_t *node_of; /* values: into whose front each goes */
    int64_t *at;      /* nsuper + 1: where contributions begin */
    char *contribution;
    mpki_tally *tally; /* nsuper */
    int64_t *room;     /* nsuper: bytes of each node's storage */
    char *touched;     /* nsuper: to be done anew */
    int64_t bytes;     /* of all this */
    int64_t arena;     /* bytes of the factor's arena after a whole factorization */
    bool whole;        /* all nodes are touched */
    double cost;       /* of the touched nodes, mpki_node_cost() */
} mpki_kept;

/** Room for what trees of this kind keep, without numbers yet.
 *  contribution [in] entries of a contribution of m rows; limit [in] memory_limit
 *  Returns MPK_OK | MPK_ERR_MEMORY: *kept is NULL */
mpk_status mpki_kept_make(mpk_context *ctx, const mpki_tree_view *tree,
                          int64_t (*contribution)(int64_t m), double limit, mpki_kept **kept);
void mpki_kept_free(mpk_context *ctx, mpki_kept **kept);

/** Everything is to be done anew. */
void mpki_kept_touch_all(mpki_kept *kept, const mpki_tree_view *tree);
/** All nodes that values other than sax's touch, and those above them. Nodes that were changed after
 *  they were done are marked already. arena [in] bytes of it now.
 *  Returns false where that is all: the numbers are of other rules, or have left gaps in the arena. */
bool mpki_kept_touch(mpki_kept *kept, const mpki_tree_view *tree, const void *sax,
                     const mpki_pivot_rules *rules, int64_t arena);
/** The numbers are there, of these values, which become the kept ones: *sax is NULL afterwards. */
void mpki_kept_settle(mpki_kept *kept, mpk_context *ctx, const mpki_tree_view *tree, void **sax,
                      const mpki_pivot_rules *rules, int64_t arena, mpki_numeric_result *result);

#endif
