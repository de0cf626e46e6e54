/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_TESTS_DEVICE_PLACES_H
#define MPKI_TESTS_DEVICE_PLACES_H
/** May contributions of a plan lie where they do? A contribution is in use from when its front
 *  begins to write it until the front that takes it, its parent, is done. What is certain of times,
 *  however thread blocks take tasks: fronts of one task are done one after the other; a front
 *  begins to write when all below it, with all parts of their contributions, are done; large fronts
 *  of a step are assembled round by round, before its tasks; and a step begins when the one before
 *  is over. */
#include "engines/cuda/multifrontal/plan/plan.h"

#include <stdlib.h>

typedef struct places {
    const mpki_cuda_plan *plan;
    int32_t *parent, *task, *step, *round; /* by front; parent: -1; round: -1 of no large front */
} places;

/** Is front `front`, and with it what it takes, done before front `writer` begins to write? */
static inline bool is_over(const places *z, int32_t front, int32_t writer) {
    int32_t up = front;
    if (front < 0 || front == writer) return false;
    if (z->step[front] != z->step[writer]) return z->step[front] < z->step[writer];
    if (z->round[front] >= 0) /* it has taken all when it is assembled */
        return z->round[writer] < 0 || z->round[front] < z->round[writer];
    if (z->task[front] == z->task[writer]) return front < writer;
    while (up >= 0 && up < writer) up = z->parent[up]; /* parents have larger numbers */
    return up == writer;
}

/** Pairs of contributions, panels and work space of a step's large fronts that may be in use at the same time,
 *  and lie on each other or beyond the end. A panel is in use from its step on.
 *  shared [out] pairs of contributions that lie on each other; in_panels [out] pairs with a panel.
 *  -1: no memory */
static inline int64_t places_in_conflict(const mpki_cuda_plan *plan, mpk_scalar scalar,
                                         int64_t *shared, int64_t *in_panels) {
    const int64_t size = (int64_t)mpk_scalar_size(scalar);
    const size_t fronts = (size_t)plan->fronts + 1;
    int32_t *by_front = calloc(4 * fronts, sizeof *by_front);
    const places z = {plan, by_front, by_front + fronts, by_front + 2 * fronts,
                      by_front + 3 * fronts};
    int64_t bad = 0;
    *shared = *in_panels = 0;
    if (!by_front) return -1;
    for (int32_t f = 0; f < plan->fronts; f++) z.parent[f] = z.round[f] = -1, z.task[f] = -1 - f;
    for (int32_t k = 0; k < plan->larges; k++) z.round[plan->large[k]] = plan->round[k];
    for (int32_t f = 0; f < plan->fronts; f++)
        for (int32_t k = 0; k < plan->node[f].children; k++)
            z.parent[plan->child[plan->node[f].child + k]] = f;
    for (int32_t t = 0; t < plan->tasks; t++)
        for (int32_t f = plan->task[t].first; plan->task[t].part < 0 && f <= plan->task[t].last;
             f++)
            z.task[f] = t;
    for (int32_t l = 0; l < plan->steps; l++)
        for (int32_t f = plan->step[l].first; f < plan->step[l].last; f++) z.step[f] = l;
    for (int32_t l = 0; l < plan->steps; l++) {
        const int64_t at = plan->step[l].work / size;
        const int64_t end = at + (plan->step[l].work_bytes + size - 1) / size;
        bad += at < 0 || end > plan->panel_bytes / size + plan->contribution_entries;
        for (int32_t f = 0; at < end && f < plan->fronts; f++) {
            const mpki_cuda_node *node = &plan->node[f];
            const int64_t bytes = mpki_cuda_panel_bytes(scalar, node->own + node->rows, node->own);
            const int64_t other = node->contribution, panel = node->panel / size;
            const int64_t entries = mpki_cuda_contribution_entries(node->rows);
            bad += z.step[f] <= l && panel < end && panel + bytes / size > at;
            bad += other < end && other + entries > at && entries > 0 &&
                   (z.parent[f] < 0 || z.step[z.parent[f]] >= l) &&
                   (z.step[f] < l || (z.step[f] == l && z.round[f] >= 0));
        }
    }
    for (int32_t f = 0; f < plan->fronts; f++) {
        const int64_t at = plan->node[f].contribution;
        const int64_t end = at + mpki_cuda_contribution_entries(plan->node[f].rows);
        if (end == at) continue;
        bad += at < 0 || end > plan->panel_bytes / size + plan->contribution_entries;
        for (int32_t g = 0; g < plan->fronts; g++) {
            const mpki_cuda_node *node = &plan->node[g];
            const int64_t begin = node->panel / size;
            const int64_t bytes = mpki_cuda_panel_bytes(scalar, node->own + node->rows, node->own);
            if (bytes == 0 || end <= begin || begin + bytes / size <= at) continue;
            ++*in_panels;
            bad += z.parent[f] >= 0 && z.step[z.parent[f]] >= z.step[g];
        }
        for (int32_t g = 0; g < f; g++) {
            const int64_t other = plan->node[g].contribution;
            const int64_t entries = mpki_cuda_contribution_entries(plan->node[g].rows);
            if (entries == 0 || end <= other || other + entries <= at) continue;
            ++*shared;
            bad += !is_over(&z, z.parent[g], f) && !is_over(&z, z.parent[f], g);
        }
    }
    free(by_front);
    return bad;
}

#endif
