/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_TASKS_H
#define MPKI_CPU_MULTIFRONTAL_TASKS_H
/** Which nodes of the tree form a task: at the leaves whole subtrees (a range of nodes, in
 * postorder), above them single nodes. */
#include "engines/interface/engine.h"

typedef struct mpki_task {
    int32_t first, last; /* nodes first .. last, in this order */
    int32_t parent;      /* task that waits for this one; -1: none */
    int32_t waits;       /* tasks that this one waits for */
    bool top;            /* a single node, whose front all workers may share */
    int32_t heavy;       /* of those that this one waits for, the one with most below it; -1 */
    double priority;     /* cost from here to the root */
} mpki_task;

typedef struct mpki_tasks {
    int32_t count;
    mpki_task *task;
} mpki_tasks;

/** What node s costs. */
typedef double mpki_cost_of(const mpki_tree_view *tree, int32_t s);

/** For so many workers, about `each` tasks or more for each of them. */
mpk_status mpki_tasks_build(mpk_context *ctx, const mpki_tree_view *tree, mpki_cost_of *cost_of,
                            int workers, int each, mpki_tasks *tasks);
/** Who waits for whom from the roots down: the tasks child[ptr[k]] .. child[ptr[k+1]-1] wait for
 *  task k. Both arrays are the caller's to release, also after a failure. MPK_OK |
 *  MPK_ERR_MEMORY. */
mpk_status mpki_tasks_children(mpk_context *ctx, const char *stage, const mpki_tasks *tasks,
                               int32_t **ptr, int32_t **child);
void mpki_tasks_free(mpk_context *ctx, mpki_tasks *tasks);

#endif
