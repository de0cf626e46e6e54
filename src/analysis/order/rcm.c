/* SPDX-License-Identifier: BSD-3-Clause */
/* Reverse Cuthill-McKee (George & Liu 1981, section 4.3): breadth first from a pseudo-peripheral
 * vertex, the neighbours of each vertex by increasing degree, the whole reversed. */
#include "order.h"

#include <stdlib.h>

static const char STAGE[] = "order";

typedef struct search {
    const mpki_graph *graph;
    int32_t *mark;  /* stamp of the last search that met v */
    int32_t *queue; /* the vertices met, in order */
    int32_t stamp;
    mpki_asking asking;
} search;

static int64_t degree(const mpki_graph *graph, int32_t v) {
    return graph->xadj[v + 1] - graph->xadj[v];
}

/* Breadth first from root; returns the number of levels, *last = a vertex of least degree in the
 * last. */
static int32_t levels(search *s, int32_t root, int32_t *last) {
    int32_t head = 0, tail = 0, height = 0, level_start = 0;
    s->stamp++;
    s->queue[tail++] = root;
    s->mark[root] = s->stamp;
    while (head < tail && !mpki_cancelled(s->asking.ctx)) {
        level_start = head;
        height++;
        for (int32_t end = tail; head < end; head++) {
            int32_t v = s->queue[head];
            if (mpki_asks(&s->asking, 4 * degree(s->graph, v))) break;
            for (int64_t k = s->graph->xadj[v]; k < s->graph->xadj[v + 1]; k++) {
                int32_t w = s->graph->adj[k];
                if (s->mark[w] == s->stamp) continue;
                s->mark[w] = s->stamp;
                s->queue[tail++] = w;
            }
        }
    }
    *last = s->queue[level_start];
    for (int32_t k = level_start + 1; k < tail; k++)
        if (degree(s->graph, s->queue[k]) < degree(s->graph, *last)) *last = s->queue[k];
    return height;
}

/* George & Liu's: walk to the far end while the level structure grows deeper. */
static int32_t pseudo_peripheral(search *s, int32_t root) {
    int32_t far, next;
    int32_t height = levels(s, root, &far);
    for (;;) {
        int32_t higher = levels(s, far, &next);
        if (higher <= height) return root;
        root = far;
        far = next;
        height = higher;
    }
}

typedef struct keyed {
    int64_t key;
    int32_t vertex;
} keyed;

static int compare(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->vertex < y->vertex ? -1 : x->vertex > y->vertex;
}

mpk_status mpki_order_rcm(mpk_context *ctx, const mpki_graph *graph, int32_t *perm) {
    int32_t n = graph->n, placed = 0;
    mpk_status status = MPK_OK;
    search s = {.graph = graph, .asking = {ctx, "analyse", 0}};
    s.mark = MPKI_ZNEW(ctx, STAGE, n, int32_t);
    s.queue = MPKI_NEW(ctx, STAGE, n, int32_t);
    char *done_vertex = MPKI_ZNEW(ctx, STAGE, n, char);
    keyed *near = MPKI_NEW(ctx, STAGE, n, keyed);
    if (!s.mark || !s.queue || !done_vertex || !near) {
        status = mpki_failed(ctx);
        goto done;
    }
    for (int32_t seed = 0; seed < n; seed++) {
        if (done_vertex[seed]) continue;
        if (mpki_cancelled(ctx)) {
            status = mpki_stopped(ctx, STAGE);
            goto done;
        }
        int32_t root = pseudo_peripheral(&s, seed), head = placed;
        perm[placed++] = root;
        done_vertex[root] = 1;
        for (; head < placed; head++) {
            int32_t v = perm[head], count = 0;
            if (mpki_asks(&s.asking, 8 * degree(graph, v))) break;
            for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++) {
                int32_t w = graph->adj[k];
                if (done_vertex[w]) continue;
                done_vertex[w] = 1;
                near[count++] = (keyed){degree(graph, w), w};
            }
            qsort(near, (size_t)count, sizeof *near, compare);
            for (int32_t k = 0; k < count; k++) perm[placed++] = near[k].vertex;
        }
    }
    if (mpki_cancelled(ctx)) status = mpki_stopped(ctx, STAGE);
    for (int32_t a = 0, b = n - 1; a < b; a++, b--) {
        int32_t v = perm[a];
        perm[a] = perm[b];
        perm[b] = v;
    }
done:
    mpki_release(ctx, s.mark);
    mpki_release(ctx, s.queue);
    mpki_release(ctx, done_vertex);
    mpki_release(ctx, near);
    return status;
}
