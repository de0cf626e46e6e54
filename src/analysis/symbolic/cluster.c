/* SPDX-License-Identifier: BSD-3-Clause */
/* The columns of large supernodes in an order by which blocks of L have low rank: each block of 128
 * is a compact piece of the graph. By halves: those that a search by breadth from one end of a piece
 * reaches first, down to pieces of a block (Amestoy et al. 2015 cut separators likewise, by METIS,
 * with neighbours that are not in the separator as well). Order within a supernode is free. */
#include "symbolic.h"
#include "../../engines/cpu/front/storage.h"

#include <string.h>

static const char STAGE[] = "symbolic";

typedef struct cluster {
    const mpki_graph *graph;
    int64_t *of;   /* n: piece that a vertex was last put into; negative: reached, too */
    int64_t *seen; /* n: piece that last looked through a vertex beside it */
    int32_t *queue;
    int64_t pieces;
} cluster;

static void reach(cluster *c, int64_t piece, int32_t v, int32_t *end) {
    if (c->of[v] != piece) return;
    c->of[v] = -piece;
    c->queue[(*end)++] = v;
}

/* c->queue := the vertices in the order of a search from `start`; where it ends before all are
 * reached it goes on from the next one of the list. Neighbours of neighbours count. */
static void search(cluster *c, const int32_t *vertex, int32_t count, int32_t start) {
    enum { BESIDE = 64 /* neighbours of a vertex between two of the piece, at most */ };
    const mpki_graph *g = c->graph;
    const int64_t piece = ++c->pieces;
    int32_t end = 0, next = 0;
    for (int32_t k = 0; k < count; k++) c->of[vertex[k]] = piece;
    reach(c, piece, start, &end);
    for (int32_t at = 0; at < count; at++) {
        while (at == end) reach(c, piece, vertex[next++], &end);
        const int32_t v = c->queue[at];
        for (int64_t k = g->xadj[v]; k < g->xadj[v + 1]; k++) reach(c, piece, g->adj[k], &end);
        for (int64_t k = g->xadj[v]; k < g->xadj[v + 1]; k++) {
            const int32_t u = g->adj[k];
            if (c->of[u] == piece || c->of[u] == -piece || c->seen[u] == piece) continue;
            c->seen[u] = piece;
            if (g->xadj[u + 1] - g->xadj[u] > BESIDE) continue;
            for (int64_t l = g->xadj[u]; l < g->xadj[u + 1]; l++) reach(c, piece, g->adj[l], &end);
        }
    }
}

static void halve(cluster *c, int32_t *vertex, int32_t count) {
    const int32_t blocks = (count + MPKI_PANEL - 1) / MPKI_PANEL, half = blocks / 2 * MPKI_PANEL;
    if (blocks < 2) return;
    search(c, vertex, count, vertex[0]);
    search(c, vertex, count, c->queue[count - 1]); /* the far end */
    memcpy(vertex, c->queue, (size_t)count * sizeof *vertex);
    halve(c, vertex, half);
    halve(c, vertex + half, count - half);
}

mpk_status mpki_cluster(mpk_context *ctx, const mpki_graph *graph, mpk_analysis *an) {
    cluster c = {.graph = graph,
                 .of = MPKI_ZNEW(ctx, STAGE, graph->n, int64_t),
                 .seen = MPKI_ZNEW(ctx, STAGE, graph->n, int64_t),
                 .queue = MPKI_NEW(ctx, STAGE, graph->n, int32_t)};
    for (int32_t s = 0; c.of && c.seen && c.queue && s < an->nsuper; s++) {
        const int32_t first = an->sptr[s], w = an->sptr[s + 1] - first;
        if (mpki_low_pays(w + an->rptr[s + 1] - an->rptr[s], w)) halve(&c, an->perm + first, w);
    }
    for (int32_t k = 0; k < an->n; k++) an->iperm[an->perm[k]] = k;
    mpki_release(ctx, c.of);
    mpki_release(ctx, c.seen);
    mpki_release(ctx, c.queue);
    return mpki_failed(ctx);
}
