/* SPDX-License-Identifier: BSD-3-Clause */
/* Shortest augmenting structures from one exposed vertex at a time (Dijkstra on reduced costs). */
#include "heap.h"

#include <math.h>

/* states, as node.stamp - m->stamp; anything else: not seen in this search */
enum { OUTER = 0, INNER = 1, WAITING = 2, STATES = 4 };

/* the best end of the search known so far */
typedef struct event {
    double distance;
    int32_t x, y;
    bool closes; /* both outer: an odd cycle; else y is exposed or in a cycle */
} event;

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* z, not yet in the tree, is reached from x at distance t */
static void wait(mpki_matching *m, int32_t z, int32_t x, double t, bool at_once) {
    mpki_match_node *y = &m->node[z];
    bool waiting = y->stamp == m->stamp + WAITING;
    y->stamp = m->stamp + WAITING;
    y->parent = x;
    if (!waiting) y->heap = -1;
    __builtin_prefetch(&m->node[y->mate], 1); /* comes next if z is reached */
    __builtin_prefetch(&m->graph.edge[m->graph.ptr[y->mate]]);
    if (at_once && !waiting) {
        y->key = t;
        m->stack[m->stack_size++] = z;
    } else {
        mpki_match_push(m, z, t);
    }
}

/* Look at the entries of outer vertex x; stops when no better end is possible. */
static void scan(mpki_matching *m, int32_t x, double distance, event *best) {
    const mpki_match_graph *g = &m->graph;
    mpki_match_node *node = m->node;
    const double base = distance - node[x].p;
    double t = base + mpki_match_loop(g, x) / 2;
    if (t < best->distance) *best = (event){larger(t, distance), x, x, true};
    const mpki_match_edge *e = mpki_match_first(g, x), *last = mpki_match_last(g, x);
    /* prefetch: the cache misses of a row overlap, which the branches below would prevent */
    for (const mpki_match_edge *ahead = e; ahead < last && ahead < e + 16; ahead++)
        __builtin_prefetch(&node[ahead->to], 1);
    for (; e < last && best->distance > distance; e++) {
        int32_t z = e->to;
        mpki_match_node *y = &node[z];
        uint32_t state = y->stamp - m->stamp;
        t = base + e->w - y->p;
        if (state == OUTER) {
            t = 0.5 * (t + y->key);
            if (t < best->distance) *best = (event){larger(t, distance), x, z, true};
            continue;
        }
        if (t >= best->distance || state == INNER) continue;
        t = larger(t, distance); /* sums beyond 2^12 are rounded */
        if (y->mate < 0)
            *best = (event){t, x, z, false};
        else if (state != WAITING || t < y->key)
            wait(m, z, x, t, t == distance);
    }
    m->scanned += e - mpki_match_first(g, x);
}

static void new_stamps(mpki_matching *m) {
    if (m->stamp > UINT32_MAX - 2 * STATES) { /* after 2^30 searches */
        for (int32_t i = 0; i < m->graph.n; i++) m->node[i].stamp = 0;
        m->stamp = 0;
    }
    m->stamp += STATES;
    m->heap_size = m->stack_size = m->queue_size = 0;
}

static event search(mpki_matching *m, int32_t root) {
    mpki_match_node *node = m->node;
    event best = {.distance = MPKI_MATCH_NONE / 4};
    double distance = 0;
    int32_t x = root;
    new_stamps(m);
    for (;;) {
        node[x].key = distance;
        node[x].stamp = m->stamp + OUTER;
        m->queue[m->queue_size++] = x;
        const int64_t before = m->scanned;
        scan(m, x, distance, &best);
        if (mpki_asks(&m->asking, 4 * (m->scanned - before))) break;
        if (best.distance <= distance) break;
        int32_t z;
        do {
            if (m->stack_size > 0)
                z = m->stack[--m->stack_size];
            else if (m->heap_size > 0)
                z = mpki_match_pop(m);
            else
                return best;
            if (node[z].stamp == m->stamp + OUTER) z = -1; /* reached as a partner meanwhile */
        } while (z < 0);
        distance = node[z].key;
        if (distance >= best.distance) break;
        node[z].stamp = m->stamp + INNER;
        x = node[z].mate;
    }
    return best;
}

/* all tree entries become tight, outer duals rise, inner ones fall */
static void update_duals(mpki_matching *m, double distance) {
    mpki_match_node *node = m->node;
    for (int32_t k = 0; k < m->queue_size; k++) {
        mpki_match_node *x = &node[m->queue[k]];
        double step = distance - x->key;
        x->p += step;
        if (x->mate >= 0) node[x->mate].p -= step;
    }
}

mpk_status mpki_match_augment(mpki_matching *m, double fraction) {
    int32_t n = m->graph.n;
    int64_t told = m->scanned;
    if (mpki_stop_wanted(m->ctx, "analyse")) return mpki_stopped(m->ctx, "match");
    for (int32_t root = 0; root < n; root++) {
        if (m->node[root].mate != MPKI_EXPOSED || (m->side && m->side[root])) continue;
        event best = search(m, root);
        if (mpki_cancelled(m->ctx)) return mpki_stopped(m->ctx, "match");
        if (best.distance < MPKI_MATCH_NONE / 4) {
            update_duals(m, best.distance);
            if (best.closes)
                mpki_match_close(m, best.x, best.y, root);
            else
                mpki_match_reach(m, best.x, best.y, root);
        } else {
            mpk_status status = mpki_match_freeze(m, root);
            if (mpk_failed(status)) return status;
        }
        if (m->scanned - told > 1 << 18) {
            told = m->scanned;
            if (mpki_progress(m->ctx, "analyse", fraction + 0.04 * root / n))
                return mpki_stopped(m->ctx, "match");
        }
    }
    return MPK_OK;
}
