/* SPDX-License-Identifier: BSD-3-Clause */
/* Supernodes from column counts: fundamental ones, amalgamation, the order of children. Row
 * structures are not needed: a child's rows are among its parent's columns and rows, so merging the
 * two leaves the parent's rows as they are. */
#include "symbolic.h"

#include <stdlib.h>

static const char STAGE[] = "symbolic";

/* Chosen among 25 such sets by the factorization times of 20 matrices; docs/design/analysis.md. */
const mpki_relax mpki_relax_default = {.equal = true,
                                       .few = 30,
                                       .few_width = 32,
                                       .width = {16, 64, INT32_MAX},
                                       .share = {0.50, 0.25, 0.06}};
const mpki_relax mpki_relax_device = {.equal = true,
                                      .few = 30,
                                      .few_width = 32,
                                      .children = 8,
                                      .some = 200,
                                      .some_width = 64,
                                      .width = {16, 64, INT32_MAX},
                                      .share = {0.50, 0.25, 0.06}};
const mpki_relax mpki_relax_few = {.equal = true, .few = 30, .few_width = 32};
const mpki_relax mpki_relax_none = {0};

void mpki_nodes_free(mpk_context *ctx, mpki_nodes *nodes) {
    mpki_release(ctx, nodes->next);
    mpki_release(ctx, nodes->head);
    mpki_release(ctx, nodes->tail);
    mpki_release(ctx, nodes->width);
    mpki_release(ctx, nodes->rows);
    mpki_release(ctx, nodes->parent);
    mpki_release(ctx, nodes->child);
    mpki_release(ctx, nodes->sibling);
    mpki_release(ctx, nodes->alive);
    mpki_release(ctx, nodes->zeros);
    *nodes = (mpki_nodes){0};
}

static bool nodes_alloc(mpk_context *ctx, int32_t n, int32_t count, mpki_nodes *nodes) {
    nodes->count = count;
    nodes->next = MPKI_NEW(ctx, STAGE, n, int32_t);
    nodes->head = MPKI_NEW(ctx, STAGE, count, int32_t);
    nodes->tail = MPKI_NEW(ctx, STAGE, count, int32_t);
    nodes->width = MPKI_ZNEW(ctx, STAGE, count, int32_t);
    nodes->rows = MPKI_NEW(ctx, STAGE, count, int32_t);
    nodes->parent = MPKI_NEW(ctx, STAGE, count, int32_t);
    nodes->child = MPKI_NEW(ctx, STAGE, count, int32_t);
    nodes->sibling = MPKI_NEW(ctx, STAGE, count, int32_t);
    nodes->alive = MPKI_NEW(ctx, STAGE, count, char);
    nodes->zeros = MPKI_ZNEW(ctx, STAGE, count, double);
    return nodes->next && nodes->head && nodes->tail && nodes->width && nodes->rows &&
           nodes->parent && nodes->child && nodes->sibling && nodes->alive && nodes->zeros;
}

/* start[k] = first column of the fundamental supernode of column k; returns how many there are.
 * partner: the joined child of each column, or -1. */
static int32_t assign_columns(int32_t n, const int32_t *parent, const int32_t *count,
                              const char *join, int32_t *children, int32_t *partner,
                              int32_t *start) {
    int32_t nodes = 0;
    for (int32_t j = 0; j < n; j++) {
        children[j] = 0;
        partner[j] = -1;
    }
    for (int32_t j = 0; j < n; j++) {
        if (parent[j] < 0) continue;
        children[parent[j]]++;
        if (join && join[j]) partner[parent[j]] = j;
    }
    for (int32_t j = 0; j < n; j++) {
        bool chained =
            j > 0 && parent[j - 1] == j && children[j] == 1 && count[j - 1] == count[j] + 1;
        if (partner[j] >= 0)
            start[j] = start[partner[j]];
        else if (chained)
            start[j] = start[j - 1];
        else {
            start[j] = j;
            nodes++;
        }
    }
    return nodes;
}

mpk_status mpki_nodes_build(mpk_context *ctx, int32_t n, const int32_t *parent, int32_t *count,
                            const char *join, mpki_nodes *nodes) {
    *nodes = (mpki_nodes){0};
    mpk_status status = MPK_OK;
    int32_t *work = MPKI_NEW(ctx, STAGE, 3 * (int64_t)n, int32_t);
    if (!work) return mpki_failed(ctx);
    int32_t *start = work, *last = work + n, *number = work + 2 * (int64_t)n;
    /* the first of a pair takes the structure of the second */
    for (int32_t j = 0; join && j < n; j++)
        if (join[j]) count[j] = count[parent[j]] + 1;
    int32_t total = assign_columns(n, parent, count, join, last, number, start);
    if (!nodes_alloc(ctx, n, total, nodes)) {
        status = mpki_failed(ctx);
        goto done;
    }
    /* number the nodes by their last columns: children before parents */
    for (int32_t j = 0; j < n; j++) last[start[j]] = j;
    int32_t d = 0;
    for (int32_t j = 0; j < n; j++)
        if (last[start[j]] == j) number[start[j]] = d++;
    for (int32_t j = 0; j < n; j++) {
        d = number[start[j]];
        nodes->next[j] = -1;
        if (nodes->width[d]++)
            nodes->next[nodes->tail[d]] = j;
        else
            nodes->head[d] = j;
        nodes->tail[d] = j;
    }
    for (d = 0; d < total; d++) {
        int32_t end = nodes->tail[d];
        nodes->rows[d] = count[end] - 1;
        nodes->parent[d] = parent[end] < 0 ? -1 : number[start[parent[end]]];
        nodes->child[d] = -1;
        nodes->alive[d] = 1;
    }
    for (d = total - 1; d >= 0; d--) {
        int32_t p = nodes->parent[d];
        nodes->sibling[d] = -1;
        if (p < 0) continue;
        nodes->sibling[d] = nodes->child[p];
        nodes->child[p] = d;
    }
done:
    mpki_release(ctx, work);
    if (mpk_failed(status)) mpki_nodes_free(ctx, nodes);
    return status;
}

mpk_status mpki_nodes_moved(mpk_context *ctx, const mpk_analysis *an, const int32_t *where,
                            mpki_nodes *nodes) {
    const int32_t count = an->nsuper;
    mpk_status status = MPK_OK;
    *nodes = (mpki_nodes){0};
    int32_t *came = MPKI_ZNEW(ctx, STAGE, (int64_t)count + 1, int32_t);
    if (!came || !nodes_alloc(ctx, an->n, count, nodes)) {
        status = mpki_failed(ctx);
        goto done;
    }
    for (int32_t k = 0; k < an->n; k++) {
        const int32_t s = where[k];
        nodes->next[k] = -1;
        if (nodes->width[s]++)
            nodes->next[nodes->tail[s]] = k;
        else
            nodes->head[s] = k;
        nodes->tail[s] = k;
    }
    for (int32_t s = 0; s < count; s++) { /* children first */
        const int32_t up = an->parent[s];
        const int32_t leave = an->sptr[s + 1] - an->sptr[s] + came[s] - nodes->width[s];
        nodes->rows[s] = (int32_t)(an->rptr[s + 1] - an->rptr[s]) + leave;
        if (up >= 0) came[up] += leave;
        nodes->alive[s] = nodes->width[s] > 0;
        nodes->child[s] = nodes->sibling[s] = -1;
    }
    for (int32_t s = count - 1; s >= 0; s--) { /* parents first */
        const int32_t up = an->parent[s];
        const int32_t p = up < 0 || nodes->alive[up] ? up : nodes->parent[up];
        nodes->parent[s] = p;
        if (p < 0 || !nodes->alive[s]) continue;
        nodes->sibling[s] = nodes->child[p];
        nodes->child[p] = s;
    }
done:
    mpki_release(ctx, came);
    if (mpk_failed(status)) mpki_nodes_free(ctx, nodes);
    return status;
}

/* ---- amalgamation ---------------------------------------------------------------------------- */

static double trapezoid(double w, double m) {
    return w * (w + 1) / 2 + w * m;
}

/* Would merging child c into s, which has so many, pay? *zeros = explicit zeros of the merged
 * front. */
static bool worth(const mpki_relax *relax, const mpki_nodes *nodes, int32_t c, int32_t s,
                  int32_t children, double *zeros) {
    double wc = nodes->width[c], ws = nodes->width[s], w = wc + ws, m = nodes->rows[s];
    double merged = trapezoid(w, m);
    double extra = merged - trapezoid(wc, nodes->rows[c]) - trapezoid(ws, m);
    *zeros = nodes->zeros[c] + nodes->zeros[s] + extra;
    if (relax->equal && extra == 0) return true;
    if (extra <= relax->few && w <= relax->few_width) return true;
    if (children <= relax->children && extra <= relax->some && w <= relax->some_width) return true;
    for (int k = 0; k < 3; k++)
        if (w <= relax->width[k] && *zeros < relax->share[k] * merged) return true;
    return false;
}

void mpki_nodes_absorb(mpki_nodes *nodes, int32_t c, int32_t s, double zeros, int32_t *kept) {
    nodes->next[nodes->tail[c]] = nodes->head[s];
    nodes->head[s] = nodes->head[c];
    nodes->width[s] += nodes->width[c];
    nodes->zeros[s] = zeros;
    nodes->alive[c] = 0;
    for (int32_t g = nodes->child[c]; g >= 0;) {
        int32_t after = nodes->sibling[g];
        nodes->parent[g] = s;
        nodes->sibling[g] = *kept;
        *kept = g;
        g = after;
    }
}

typedef struct keyed {
    double key;
    int32_t node;
} keyed;

/* By decreasing key, then by node, so that the result does not depend on the sort. */
static int compare(const void *a, const void *b) {
    const keyed *x = a, *y = b;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static void sort_keyed(keyed *list, int32_t count) {
    if (count > 24) {
        qsort(list, (size_t)count, sizeof *list, compare);
        return;
    }
    for (int32_t k = 1; k < count; k++) {
        keyed x = list[k];
        int32_t at = k;
        for (; at > 0 && compare(&x, &list[at - 1]) < 0; at--) list[at] = list[at - 1];
        list[at] = x;
    }
}

mpk_status mpki_nodes_merge(mpk_context *ctx, const mpki_relax *relax, mpki_nodes *nodes) {
    keyed *list = MPKI_NEW(ctx, STAGE, nodes->count, keyed);
    if (!list) return mpki_failed(ctx);
    for (int32_t s = 0; s < nodes->count; s++) {
        int32_t count = 0, kept = -1;
        for (int32_t c = nodes->child[s]; c >= 0; c = nodes->sibling[c])
            list[count++] = (keyed){nodes->rows[c], c};
        sort_keyed(list, count); /* the fullest children cost the fewest zeros */
        for (int32_t k = 0; k < count; k++) {
            double zeros;
            int32_t c = list[k].node;
            if (worth(relax, nodes, c, s, count, &zeros)) {
                mpki_nodes_absorb(nodes, c, s, zeros, &kept);
            } else {
                nodes->sibling[c] = kept;
                kept = c;
            }
        }
        nodes->child[s] = kept;
    }
    mpki_release(ctx, list);
    return MPK_OK;
}

/* ---- the order of children ------------------------------------------------------------------- */

mpk_status mpki_nodes_sort(mpk_context *ctx, mpki_nodes *nodes) {
    keyed *list = MPKI_NEW(ctx, STAGE, nodes->count, keyed);
    double *need = MPKI_NEW(ctx, STAGE, nodes->count, double); /* peak of the subtree */
    mpk_status status = list && need ? MPK_OK : mpki_failed(ctx);
    for (int32_t s = 0; !mpk_failed(status) && s < nodes->count; s++) {
        if (!nodes->alive[s]) continue;
        int32_t count = 0;
        for (int32_t c = nodes->child[s]; c >= 0; c = nodes->sibling[c]) {
            double m = nodes->rows[c];
            list[count++] = (keyed){need[c] - m * (m + 1) / 2, c};
        }
        sort_keyed(list, count);
        double stack = 0, top = 0, m = nodes->rows[s];
        for (int32_t k = 0; k < count; k++) {
            int32_t c = list[k].node;
            double rows = nodes->rows[c];
            if (stack + need[c] > top) top = stack + need[c];
            stack += rows * (rows + 1) / 2;
            nodes->sibling[c] = k + 1 < count ? list[k + 1].node : -1;
        }
        if (count) nodes->child[s] = list[0].node;
        stack += m * (m + 1) / 2;
        need[s] = stack > top ? stack : top;
    }
    mpki_release(ctx, list);
    mpki_release(ctx, need);
    return status;
}
