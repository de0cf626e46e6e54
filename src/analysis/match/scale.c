/* SPDX-License-Identifier: BSD-3-Clause */
/* From duals to a scaling that can be stored and multiplied safely. */
#include "match.h"
#include <math.h>

/* exp(P_MAX)^2 is finite, exp(P_MIN)^2 is not zero, and 2 P_MIN <= -log(DBL_MAX), so that p = P_MIN
 * everywhere satisfies every entry that a double can hold */
#define P_MAX 354.0
#define P_MIN (-355.0)

/* p_i + p_j <= w again after clipping: lower the larger, both to w/2 if that is not enough. No dual
 * rises and none falls below P_MIN, so that one pass is enough. */
static void repair(double *pi, double *pj, double w) {
    if (*pi + *pj <= w) return;
    double *small = *pi < *pj ? pi : pj, *large = *pi < *pj ? pj : pi;
    if (*small > w / 2) *small = w / 2;
    *large = w - *small;
}

static void clip(mpki_matching *m) {
    const mpki_match_graph *g = &m->graph;
    mpki_match_node *node = m->node;
    for (int32_t i = 0; i < g->n; i++) node[i].p = fmax(P_MIN, fmin(P_MAX, node[i].p));
    for (int32_t i = 0; i < g->n; i++) {
        node[i].p = fmin(node[i].p, mpki_match_loop(g, i) / 2);
        for (const mpki_match_edge *e = mpki_match_first(g, i); e < mpki_match_last(g, i); e++)
            repair(&node[i].p, &node[e->to].p, e->w);
    }
}

void mpki_match_scale(mpki_matching *m, double *scale) {
    bool in_range = true;
    for (int32_t i = 0; i < m->graph.n; i++)
        in_range &= m->node[i].p <= P_MAX && m->node[i].p >= P_MIN;
    if (!in_range) clip(m);
    for (int32_t i = 0; i < m->graph.n; i++) scale[i] = exp(m->node[i].p);
}
