/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups rows with the same pattern by hash values (Saad 2003, section 3.1): the first level of a
 * blocking costs one pass over the edges instead of a search. */
#include "../../core/random.h"
#include "grouping.h"

#include <stdlib.h>

static const char STAGE[] = "blocking";

typedef struct row {
    uint64_t key;
    int32_t vertex;
} row;

static int by_key(const void *a, const void *b) {
    const row *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->vertex < y->vertex ? -1 : 1;
}

/* Same neighbours, themselves left aside: with `closed` the two must be joined, without they are
 * not. Rows are sorted. */
static bool same_rows(const mpki_graph *g, int32_t u, int32_t v, bool closed) {
    int64_t a = g->xadj[u], b = g->xadj[v], a_end = g->xadj[u + 1], b_end = g->xadj[v + 1];
    if (a_end - a != b_end - b) return false;
    bool joined = false;
    for (;;) {
        if (closed && a < a_end && g->adj[a] == v) {
            joined = true;
            a++;
        }
        if (closed && b < b_end && g->adj[b] == u) b++;
        if (a == a_end || b == b_end) break;
        if (g->adj[a] != g->adj[b]) return false;
        a++;
        b++;
    }
    return a == a_end && b == b_end && joined == closed;
}

/* Most rows of such a degree in a group of rows that are not joined: with few entries they would
 * leave most of the dense diagonal block empty. */
static int32_t most_apart(int64_t degree, int32_t most) {
    int64_t limit = 2 * (degree + 1);
    if (limit < 4) limit = 4;
    return limit < most ? (int32_t)limit : most;
}

/* Rows list[0 .. length-1] have one key: group them. leader[v] = first vertex of the group. */
static void group_run(const mpki_graph *g, const row *list, int64_t length, bool closed,
                      int32_t most, int32_t *leader) {
    int32_t first = list[0].vertex, size = mpki_graph_weight(g, first);
    int64_t degree = g->xadj[first + 1] - g->xadj[first];
    int32_t room = closed ? most : most_apart(degree, most);
    for (int64_t k = 1; k < length; k++) {
        int32_t v = list[k].vertex, weight = mpki_graph_weight(g, v);
        if (degree == 0 && !closed) return;
        if (!same_rows(g, first, v, closed)) continue;
        if (size + weight > room) {
            first = v;
            size = 0;
        }
        leader[v] = first;
        size += weight;
    }
}

/* leader[v] = v: not in a group so far. */
static void group_pass(const mpki_graph *g, bool closed, int32_t most, const char *taken, row *rows,
                       int32_t *leader) {
    int64_t length = 0;
    for (int32_t v = 0; v < g->n; v++) {
        if (taken[v]) continue;
        uint64_t key = closed ? mpki_random_at((uint64_t)v) : 0;
        for (int64_t e = g->xadj[v]; e < g->xadj[v + 1]; e++)
            key += mpki_random_at((uint64_t)g->adj[e]);
        rows[length++] = (row){key, v};
    }
    qsort(rows, (size_t)length, sizeof *rows, by_key);
    for (int64_t a = 0, b; a < length; a = b) {
        for (b = a + 1; b < length && rows[b].key == rows[a].key;) b++;
        if (b > a + 1) group_run(g, rows + a, b - a, closed, most, leader);
    }
}

mpk_status mpki_group_identical(mpk_context *ctx, const mpki_graph *graph, int32_t most,
                                int32_t *of, int32_t *count) {
    int32_t n = graph->n, next = 0;
    row *rows = MPKI_NEW(ctx, STAGE, n, row);
    int32_t *leader = MPKI_NEW(ctx, STAGE, n, int32_t);
    char *taken = MPKI_ZNEW(ctx, STAGE, n, char);
    mpk_status status = rows && leader && taken ? MPK_OK : mpki_failed(ctx);
    if (mpk_failed(status)) goto done;
    for (int32_t v = 0; v < n; v++) leader[v] = v;
    group_pass(graph, true, most, taken, rows, leader);
    for (int32_t v = 0; v < n; v++)
        if (leader[v] != v) taken[v] = taken[leader[v]] = 1;
    group_pass(graph, false, most, taken, rows, leader);
    for (int32_t v = 0; v < n; v++) of[v] = leader[v] == v ? next++ : of[leader[v]];
    *count = next;
done:
    mpki_release(ctx, rows);
    mpki_release(ctx, leader);
    mpki_release(ctx, taken);
    return status;
}
