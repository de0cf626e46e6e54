/* SPDX-License-Identifier: BSD-3-Clause */
/* Feasible duals near the optimum, and a matching of tight entries, before any search. */
#include "match.h"

/* p_i = half the smallest cost of its row: feasible, since then p_i + p_j <= w_ij / 2 + w_ij / 2 */
static void half_minima(mpki_matching *m) {
    const mpki_match_graph *g = &m->graph;
    for (int32_t i = 0; i < g->n; i++) {
        double least = g->loop[i];
        bool left_out = m->side && m->side[i] > 0;
        for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++)
            if (g->w[k] < least) least = g->w[k];
        double p = least < MPKI_MATCH_NONE ? least / 2 : 0;
        m->node[i] = (mpki_match_node){
            .p = left_out ? -MPKI_MATCH_NONE : p, .mate = MPKI_EXPOSED, .heap = -1};
    }
}

/* Raise each dual as far as its row allows and match along what has become tight. A matched vertex
 * has a tight entry already and is left alone. */
static void ascend(mpki_matching *m) {
    const mpki_match_graph *g = &m->graph;
    for (int32_t i = 0; i < g->n; i++) {
        mpki_match_node *node = m->node;
        if (node[i].mate != MPKI_EXPOSED) continue;
        if (m->side && m->side[i] > 0) continue;
        double least = MPKI_MATCH_NONE / 4;
        int32_t best = -1;
        for (int64_t k = g->ptr[i]; k < g->ptr[i + 1]; k++) {
            const mpki_match_node *y = &node[g->adj[k]];
            double p = g->w[k] - y->p;
            if (p < least || (p == least && y->mate == MPKI_EXPOSED)) {
                least = p;
                best = g->adj[k];
            }
        }
        if (g->loop[i] / 2 <= least) {
            node[i].p = g->loop[i] / 2;
            node[i].mate = mpki_cycle_code(i);
        } else if (best >= 0) {
            node[i].p = least;
            if (node[best].mate == MPKI_EXPOSED) {
                node[i].mate = best;
                node[best].mate = i;
            }
        }
    }
}

void mpki_match_start(mpki_matching *m) {
    half_minima(m);
    ascend(m);
}
