/* SPDX-License-Identifier: BSD-3-Clause */
/* Structurally singular matrices: which rows stay exposed, and what becomes of them.
 *
 * Think of a diagonal entry of cost H, larger than any sum of costs, added to each row: an exposed
 * vertex is one that uses it. Then the optimum has as few exposed vertices as can be and, among
 * these matchings, the largest product. A search that finds no end among the real entries ends at
 * the artificial entry of some outer vertex x, at distance H/2 + (key - p) of x, and its dual
 * update leaves p = +H/2 + q on outer and -H/2 + q on inner vertices. H stays a symbol: `side`
 * holds its sign, `frozen` holds q. All neighbours of frozen outer vertices are frozen inner ones,
 * and frozen inner vertices are further than any end among the real entries from everything else;
 * so a frozen tree takes part in nothing but later failed searches, where distances H/2 + ...
 * compare by their finite parts. */
#include "heap.h"
#include <math.h>

static mpk_status first_failure(mpki_matching *m) {
    if (m->side) return MPK_OK;
    m->frozen = MPKI_NEW(m->ctx, "match", m->graph.n, double);
    m->side = MPKI_ZNEW(m->ctx, "match", m->graph.n, int8_t);
    return m->frozen && m->side ? MPK_OK : mpki_failed(m->ctx);
}

/* outer x at `key` offers its neighbours in frozen trees; q: finite part of its dual */
static void offer(mpki_matching *m, int32_t x, double key, double q, double limit) {
    const mpki_match_graph *g = &m->graph;
    const mpki_match_edge *e = mpki_match_first(g, x), *last = mpki_match_last(g, x);
    m->scanned += last - e;
    for (; e < last; e++) {
        int32_t z = e->to;
        if (m->side[z] >= 0) continue;
        mpki_match_node *y = &m->node[z];
        double t = key + e->w - q - m->frozen[z];
        bool waiting = y->stamp == m->stamp;
        if (t >= limit || (waiting && t >= y->key)) continue;
        if (!waiting) y->heap = -1;
        y->stamp = m->stamp;
        y->parent = x;
        mpki_match_push(m, z, t);
    }
}

/* freeze or move x and its partner so that they agree with a search that ended at `distance` */
static void update(mpki_matching *m, int32_t x, double distance) {
    mpki_match_node *node = m->node;
    double step = distance - node[x].key;
    int32_t z = node[x].mate;
    bool fresh = m->side[x] == 0;
    m->frozen[x] = (fresh ? node[x].p : m->frozen[x]) + step;
    m->side[x] = 1;
    if (z < 0) return;
    m->frozen[z] = (fresh ? node[z].p : m->frozen[z]) - step;
    m->side[z] = -1;
    node[z].p = -MPKI_MATCH_NONE; /* out of reach for ordinary searches */
}

mpk_status mpki_match_freeze(mpki_matching *m, int32_t root) {
    mpki_match_node *node = m->node;
    mpk_status status = first_failure(m);
    if (mpk_failed(status)) return status;
    int32_t tree = m->queue_size, exposed = root;
    double distance = node[root].key - node[root].p;
    for (int32_t k = 1; k < tree; k++) {
        int32_t x = m->queue[k];
        if (node[x].key - node[x].p < distance) {
            distance = node[x].key - node[x].p;
            exposed = x;
        }
    }
    /* the heap is empty; frozen vertices were not seen, so that their stamps are old */
    for (int32_t k = 0; k < tree; k++) {
        int32_t x = m->queue[k];
        offer(m, x, node[x].key, node[x].p, distance);
    }
    while (m->heap_size > 0) {
        int32_t z = mpki_match_pop(m), x = node[z].mate;
        double key = node[z].key;
        if (key >= distance) break;
        node[z].key = -MPKI_MATCH_NONE; /* done: no offer is lower */
        node[x].key = key;
        m->queue[m->queue_size++] = x;
        if (key - m->frozen[x] < distance) {
            distance = key - m->frozen[x];
            exposed = x;
        }
        offer(m, x, key, m->frozen[x], distance);
    }
    for (int32_t k = 0; k < m->queue_size; k++) update(m, m->queue[k], distance);
    if (exposed != root) {
        int32_t former = node[exposed].mate;
        node[exposed].mate = MPKI_EXPOSED;
        mpki_match_flip(m, exposed, former, root);
    }
    m->exposed++;
    return MPK_OK;
}
