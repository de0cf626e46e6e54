/* SPDX-License-Identifier: BSD-3-Clause */
/* Merges twins: vertices with the same neighbours that are joined to each other, such as the
 * unknowns of one grid point. They stay together in any good order, and one vertex for all of them
 * makes the graph several times smaller. */
#include "../../core/random.h"
#include "order.h"

#include <string.h>

static const char STAGE[] = "order";

/* Are the neighbours of u and v, with themselves, the same set? Rows are sorted. */
static bool twins(const mpki_graph *g, int32_t u, int32_t v) {
    int64_t a = g->xadj[u], b = g->xadj[v], a_end = g->xadj[u + 1], b_end = g->xadj[v + 1];
    bool joined = false;
    if (a_end - a != b_end - b) return false;
    while (a < a_end || b < b_end) {
        if (a < a_end && g->adj[a] == v) {
            joined = true;
            a++;
        } else if (b < b_end && g->adj[b] == u) {
            b++;
        } else if (a < a_end && b < b_end && g->adj[a] == g->adj[b]) {
            a++;
            b++;
        } else {
            return false;
        }
    }
    return joined;
}

/* leader[v] = least vertex that v is a twin of; returns how many leaders there are. table, link:
 * hash chains of leaders. */
static int32_t find_leaders(mpk_context *ctx, const mpki_graph *g, const uint64_t *key,
                            int32_t slots, int32_t *table, int32_t *link, int32_t *leader) {
    int32_t leaders = 0;
    mpki_asking asking = {ctx, "analyse", 0};
    memset(table, -1, (size_t)slots * sizeof *table);
    for (int32_t v = 0; v < g->n; v++) {
        int32_t slot = (int32_t)(key[v] % (uint64_t)slots), u = table[slot];
        while (u >= 0 && (key[u] != key[v] || !twins(g, u, v))) u = link[u];
        if (mpki_asks(&asking, 8 + g->xadj[v + 1] - g->xadj[v])) break;
        leader[v] = u >= 0 ? u : v;
        if (u >= 0) continue;
        link[v] = table[slot];
        table[slot] = v;
        leaders++;
    }
    return leaders;
}

/* The graph of leaders; map [out]: vertex of each vertex in it. Rows stay sorted. */
static mpk_status contract(mpk_context *ctx, const mpki_graph *g, const int32_t *leader,
                           int32_t leaders, int32_t *map, mpki_graph *small) {
    *small = (mpki_graph){.n = leaders};
    small->xadj = MPKI_NEW(ctx, STAGE, (int64_t)leaders + 1, int64_t);
    small->adj = MPKI_NEW(ctx, STAGE, g->xadj[g->n], int32_t);
    small->weight = MPKI_ZNEW(ctx, STAGE, leaders, int32_t);
    if (!small->xadj || !small->adj || !small->weight) {
        mpki_graph_free(ctx, small);
        return mpki_failed(ctx);
    }
    int32_t next = 0;
    for (int32_t v = 0; v < g->n; v++) {
        map[v] = leader[v] == v ? next++ : map[leader[v]];
        small->weight[map[v]] += g->weight ? g->weight[v] : 1;
    }
    int64_t fill = 0;
    for (int32_t v = 0; v < g->n; v++) {
        if (leader[v] != v) continue;
        small->xadj[map[v]] = fill;
        for (int64_t k = g->xadj[v]; k < g->xadj[v + 1]; k++) {
            int32_t u = g->adj[k];
            if (leader[u] == u) small->adj[fill++] = map[u];
        }
    }
    small->xadj[leaders] = fill;
    return MPK_OK;
}

mpk_status mpki_twins_merge(mpk_context *ctx, const mpki_graph *graph, double most, int32_t *map,
                            mpki_graph *small) {
    int32_t n = graph->n;
    mpk_status status = MPK_OK;
    uint64_t *key = MPKI_NEW(ctx, STAGE, n, uint64_t);
    int32_t *work = MPKI_NEW(ctx, STAGE, 3 * (int64_t)n + 1, int32_t);
    *small = (mpki_graph){0};
    if (!key || !work) {
        status = mpki_failed(ctx);
        goto done;
    }
    mpki_asking asking = {ctx, "analyse", 0};
    for (int32_t v = 0; v < n; v++) {
        if (mpki_asks(&asking, graph->xadj[v + 1] - graph->xadj[v])) break;
        key[v] = mpki_random_at((uint64_t)v);
        for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++)
            key[v] += mpki_random_at((uint64_t)graph->adj[k]);
    }
    int32_t *leader = work, *link = work + n, *table = work + 2 * (int64_t)n;
    if (mpki_cancelled(ctx)) {
        status = mpki_stopped(ctx, STAGE);
        goto done;
    }
    int32_t leaders = find_leaders(ctx, graph, key, n + 1, table, link, leader);
    if (mpki_cancelled(ctx))
        status = mpki_stopped(ctx, STAGE);
    else if (leaders <= most * n)
        status = contract(ctx, graph, leader, leaders, map, small);
done:
    mpki_release(ctx, key);
    mpki_release(ctx, work);
    return status;
}

mpk_status mpki_twins_expand(mpk_context *ctx, int32_t n, const int32_t *map, int32_t small_n,
                             const int32_t *small_perm, int32_t *perm) {
    int32_t *start = MPKI_ZNEW(ctx, STAGE, (int64_t)small_n + 1, int32_t);
    int32_t *size = MPKI_ZNEW(ctx, STAGE, small_n, int32_t);
    mpk_status status = start && size ? MPK_OK : mpki_failed(ctx);
    for (int32_t v = 0; !mpk_failed(status) && v < n; v++) size[map[v]]++;
    for (int32_t k = 0, at = 0; !mpk_failed(status) && k < small_n; k++) {
        start[small_perm[k]] = at;
        at += size[small_perm[k]];
    }
    for (int32_t v = 0; !mpk_failed(status) && v < n; v++) perm[start[map[v]]++] = v;
    mpki_release(ctx, start);
    mpki_release(ctx, size);
    return status;
}
