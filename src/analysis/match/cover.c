/* SPDX-License-Identifier: BSD-3-Clause */
/* Elementary changes of the half-integral matching: pairs, odd cycles, exposed vertices. */
#include "match.h"

static void pair(mpki_matching *m, int32_t x, int32_t y) {
    m->node[x].mate = y;
    m->node[y].mate = x;
}

void mpki_match_break_cycle(mpki_matching *m, int32_t y) {
    int32_t c = mpki_cycle_next(m->node[y].mate);
    while (c != y) { /* an even number of them is left */
        int32_t d = mpki_cycle_next(m->node[c].mate);
        int32_t after = mpki_cycle_next(m->node[d].mate);
        pair(m, c, d);
        c = after;
    }
    m->node[y].mate = MPKI_EXPOSED;
}

void mpki_match_flip(mpki_matching *m, int32_t x, int32_t z, int32_t root) {
    while (x != root) {
        int32_t e = m->node[z].parent;
        int32_t former = m->node[e].mate;
        pair(m, e, z);
        x = e;
        z = former;
    }
}

void mpki_match_reach(mpki_matching *m, int32_t x, int32_t y, int32_t root) {
    if (mpki_in_cycle(m->node[y].mate)) mpki_match_break_cycle(m, y);
    int32_t former = m->node[x].mate;
    pair(m, x, y);
    mpki_match_flip(m, x, former, root);
}

/* the outer vertex above outer x != root */
static int32_t above(const mpki_matching *m, int32_t x) {
    return m->node[m->node[x].mate].parent;
}

/* Nearest common outer ancestor. The search is over, so the heap fields can serve as marks. */
static int32_t common_ancestor(mpki_matching *m, int32_t x, int32_t y, int32_t root) {
    enum { MARK = -2 };
    int32_t v, top;
    for (v = x; v != root; v = above(m, v)) m->node[v].heap = MARK;
    m->node[root].heap = MARK;
    for (top = y; m->node[top].heap != MARK;) top = above(m, top);
    for (v = x; v != root; v = above(m, v)) m->node[v].heap = -1;
    m->node[root].heap = -1;
    return top;
}

void mpki_match_close(mpki_matching *m, int32_t x, int32_t y, int32_t root) {
    int32_t top = common_ancestor(m, x, y, root);
    int32_t former = m->node[top].mate;
    /* x -> ... -> top up one side, top -> ... -> y down the other, y -> x */
    for (int32_t v = x; v != top;) {
        int32_t z = m->node[v].mate, e = m->node[z].parent;
        m->node[v].mate = mpki_cycle_code(z);
        m->node[z].mate = mpki_cycle_code(e);
        v = e;
    }
    int32_t next = x;
    for (int32_t v = y; v != top;) {
        int32_t z = m->node[v].mate, e = m->node[z].parent;
        m->node[v].mate = mpki_cycle_code(next);
        m->node[z].mate = mpki_cycle_code(v);
        next = z;
        v = e;
    }
    m->node[top].mate = mpki_cycle_code(next);
    mpki_match_flip(m, top, former, root);
}
