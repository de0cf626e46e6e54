/* SPDX-License-Identifier: BSD-3-Clause */
/* Feasible duals near the optimum, and a matching of tight entries, before any search. */
#include "match.h"

static bool left_out(const mpki_matching *m, int32_t i) {
    return m->side && m->side[i] > 0;
}

/* p_i = half the smallest cost of its row: feasible, since then p_i + p_j <= w_ij / 2 + w_ij / 2 */
static void half_minima(mpki_matching *m) {
    const mpki_match_graph *g = &m->graph;
    for (int32_t i = 0; i < g->n; i++) {
        double least = mpki_match_loop(g, i);
        for (const mpki_match_edge *e = mpki_match_first(g, i); e < mpki_match_last(g, i); e++)
            if (e->w < least) least = e->w;
        double p = least < MPKI_MATCH_NONE ? least / 2 : 0;
        m->node[i] = (mpki_match_node){
            .p = left_out(m, i) ? -MPKI_MATCH_NONE : p, .mate = MPKI_EXPOSED, .heap = -1};
    }
}

/* match exposed i with j: itself, an exposed vertex, or a member of an odd cycle */
static void cover(mpki_matching *m, int32_t i, int32_t j) {
    mpki_match_node *node = m->node;
    if (i == j) {
        node[i].mate = mpki_cycle_code(i);
        return;
    }
    if (mpki_in_cycle(node[j].mate)) mpki_match_break_cycle(m, j);
    node[i].mate = j;
    node[j].mate = i;
}

/* Raise each dual as far as its row allows and match along what has become tight. A matched vertex
 * has a tight entry already and is left alone. */
static void ascend(mpki_matching *m) {
    const mpki_match_graph *g = &m->graph;
    mpki_match_node *node = m->node;
    for (int32_t i = 0; i < g->n; i++) {
        if (node[i].mate != MPKI_EXPOSED || left_out(m, i)) continue;
        double least = mpki_match_loop(g, i) / 2;
        int32_t best = i;
        for (const mpki_match_edge *e = mpki_match_first(g, i); e < mpki_match_last(g, i); e++) {
            const mpki_match_node *y = &node[e->to];
            double p = e->w - y->p;
            if (p < least || (p == least && best != i && y->mate < 0)) {
                least = p;
                best = e->to;
            }
        }
        if (least > MPKI_MATCH_NONE / 4) continue; /* no entries */
        node[i].p = least;
        if (best == i || node[best].mate < 0) cover(m, i, best);
    }
}

/* The two entries of row i that bound its dual first: p_i <= first at vertex a, <= second at b. */
typedef struct bounds {
    double first, second;
    int32_t a, b;
} bounds;

static bounds tightest(const mpki_matching *m, int32_t i) {
    const mpki_match_graph *g = &m->graph;
    bounds t = {mpki_match_loop(g, i) / 2, MPKI_MATCH_NONE, i, i};
    for (const mpki_match_edge *e = mpki_match_first(g, i); e < mpki_match_last(g, i); e++) {
        double p = e->w - m->node[e->to].p;
        if (p >= t.second) continue;
        if (p < t.first) {
            t = (bounds){p, t.first, e->to, t.a};
        } else {
            t.second = p;
            t.b = e->to;
        }
    }
    return t;
}

/* Row reduction with augmentation (Jonker & Volgenant 1987), on one set of duals. Exposed vertex i
 * raises its dual to the second bound, its best neighbour j gives way, and i takes j; a partner
 * that j had is exposed instead and goes on. Ends at a vertex without partner, at a tie, or after
 * `budget` entries. */
static void bid(mpki_matching *m, int32_t i, int64_t budget) {
    mpki_match_node *node = m->node;
    while (budget > 0) {
        int64_t degree = m->graph.ptr[i + 1] - m->graph.ptr[i];
        bounds t = tightest(m, i);
        m->scanned += degree;
        budget -= degree + 1;
        if (t.first > MPKI_MATCH_NONE / 4) return; /* no entries */
        if (t.first == t.second && t.a != i && node[t.a].mate >= 0) t.a = t.b;
        node[i].p = t.first;
        if (t.a == i || node[t.a].mate < 0) {
            cover(m, i, t.a);
            return;
        }
        if (t.first == t.second || t.second > MPKI_MATCH_NONE / 4) return;
        int32_t loser = node[t.a].mate;
        node[i].p = t.second;
        node[t.a].p -= t.second - t.first;
        node[i].mate = t.a;
        node[t.a].mate = i;
        node[loser].mate = MPKI_EXPOSED;
        i = loser;
    }
}

void mpki_match_start(mpki_matching *m) {
    enum { CHAIN = 1000, PASSES = 4 }; /* entries for one chain, and for all as a multiple of nnz */
    half_minima(m);
    ascend(m);
    int64_t end = m->scanned + PASSES * m->graph.ptr[m->graph.n];
    for (int32_t i = 0; i < m->graph.n && m->scanned < end; i++) {
        const int64_t before = m->scanned;
        if (m->node[i].mate == MPKI_EXPOSED && !left_out(m, i)) bid(m, i, CHAIN);
        if (mpki_asks(&m->asking, 4 * (m->scanned - before))) break;
    }
}
