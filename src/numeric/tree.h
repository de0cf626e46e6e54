/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_TREE_H
#define MPKI_TREE_H
/** Which nodes of the tree form a task: whole subtrees at the leaves (a range of nodes,
 * postordered), single nodes above them. */
#include "../analysis/analysis.h"

typedef struct mpki_tree_task {
    int32_t first, last; /* nodes first .. last, in this order */
    int32_t parent;      /* task that waits for this one; -1: none */
    int32_t waits;       /* tasks that this one waits for */
    bool top;            /* a single node whose front all workers may share */
    double priority;     /* cost from here to the root */
} mpki_tree_task;

typedef struct mpki_tree {
    int32_t count;
    mpki_tree_task *task;
    double cost; /* of all */
} mpki_tree;

mpk_status mpki_tree_build(mpk_context *ctx, const mpk_analysis *an, int threads, mpki_tree *tree);
void mpki_tree_free(mpk_context *ctx, mpki_tree *tree);

#endif
