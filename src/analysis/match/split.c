/* SPDX-License-Identifier: BSD-3-Clause */
/* From pairs and odd cycles to 1x1 and 2x2 pivot candidates (Duff & Pralet 2005, section 3). */
#include "match.h"
#include <math.h>

/* log of the scaled diagonal entry's modulus: <= 0, hugely negative when the entry is zero */
static double scaled_diagonal(const mpki_matching *m, int32_t i) {
    return 2 * m->node[i].p - mpki_match_loop(&m->graph, i);
}

static void candidate(const mpki_matching *m, int32_t i, int32_t j, double safe, int32_t *mate) {
    bool both_safe = scaled_diagonal(m, i) >= safe && scaled_diagonal(m, j) >= safe;
    mate[i] = both_safe ? i : j;
    mate[j] = both_safe ? j : i;
}

/* All entries of an optimal cycle have modulus 1 after scaling, so every way to split it has the
 * same product: leave out the vertex whose diagonal makes the best 1x1 pivot. */
static void split_cycle(const mpki_matching *m, int32_t start, double safe, int32_t *mate) {
    int32_t single = start;
    for (int32_t v = mpki_cycle_next(m->node[start].mate); v != start;
         v = mpki_cycle_next(m->node[v].mate))
        if (scaled_diagonal(m, v) > scaled_diagonal(m, single)) single = v;
    mate[single] = single;
    for (int32_t v = mpki_cycle_next(m->node[single].mate); v != single;) {
        int32_t y = mpki_cycle_next(m->node[v].mate);
        candidate(m, v, y, safe, mate);
        v = mpki_cycle_next(m->node[y].mate);
    }
}

void mpki_match_split(const mpki_matching *m, double safe_diagonal, int32_t *mate) {
    int32_t n = m->graph.n;
    double safe = log(safe_diagonal);
    for (int32_t i = 0; i < n; i++) mate[i] = -1;
    for (int32_t i = 0; i < n; i++) {
        int32_t partner = m->node[i].mate;
        if (mate[i] >= 0) continue;
        if (partner >= 0)
            candidate(m, i, partner, safe, mate);
        else if (mpki_in_cycle(partner))
            split_cycle(m, i, safe, mate);
        else
            mate[i] = i;
    }
}
