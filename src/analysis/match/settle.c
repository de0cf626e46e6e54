/* SPDX-License-Identifier: BSD-3-Clause */
/* After a matching that is not perfect: the vertices that it covers by themselves. */
#include "match.h"

#include <math.h>

/* The tight entries of a frozen tree can drive its duals apart exponentially in its depth, though
 * the vertices that are covered have a far better scaling. So the exposed ones are taken out, and
 * the others, which have a perfect matching, are matched again from a fresh start. */
mpk_status mpki_match_settle(mpki_matching *m) {
    const mpki_match_graph *g = &m->graph;
    mpki_match_node *node = m->node;
    if (m->exposed == 0) return MPK_OK;
    for (int32_t i = 0; i < g->n; i++) m->side[i] = node[i].mate == MPKI_EXPOSED ? 1 : 0;
    mpki_match_start(m);
    mpk_status status = mpki_match_augment(m, 0.05);
    if (mpk_failed(status)) return status;
    for (int32_t i = 0; i < g->n; i++) { /* no entry joins two exposed vertices */
        if (!m->side[i]) continue;
        double least = MPKI_MATCH_NONE;
        for (const mpki_match_edge *e = mpki_match_first(g, i); e < mpki_match_last(g, i); e++)
            least = fmin(least, e->w - node[e->to].p);
        m->frozen[i] = least < MPKI_MATCH_NONE / 4 ? least : 0;
    }
    for (int32_t i = 0; i < g->n; i++)
        if (m->side[i]) node[i].p = m->frozen[i];
    return MPK_OK;
}
