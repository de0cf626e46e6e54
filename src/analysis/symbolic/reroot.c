/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of an order that eliminates from one end, as minimum degree does with bands and with the steps
 * of a time: rooted in the middle of its longest path it has the same fill, and two paths of half the
 * length (Jess & Kees 1982, IEEE Trans. Comput. C-31; Liu 1989, ACM TOMS 15; Lewis, Peyton & Pothen 1989,
 * SIAM J. Sci. Stat. Comput. 10). */
#include "symbolic.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "order";

/* It is done where the longest path takes more than this share of the work of all vertices, and less than
 * that share of its time afterwards; and only if no front on it is so large that
 * workers share it: for them a path is not longer than others. */
static const double LONG = 0.25, SHORTER = 0.75;
enum { SHARED_ROWS = 256 };

/* By position: the time of a vertex, and until it is done at the soonest; the child that is done last,
 * -1: none, and when the others are. */
typedef struct paths {
    double *time, *done, *others;
    int32_t *last;
} paths;

static mpk_status paths_make(mpk_context *ctx, int32_t n, paths *p) {
    p->time = MPKI_ZNEW(ctx, STAGE, 3 * (int64_t)n + 1, double);
    p->last = MPKI_NEW(ctx, STAGE, n, int32_t);
    if (!p->time || !p->last) return mpki_failed(ctx);
    p->done = p->time + n, p->others = p->time + 2 * (int64_t)n;
    return MPK_OK;
}

/* Returns the end of the longest path, a root. sum [out] of all times */
static int32_t find_paths(const mpki_graph *graph, const mpki_etree *tree, paths *p, double *sum) {
    int32_t end = -1;
    for (int32_t k = 0; k < tree->n; k++) p->last[k] = -1;
    *sum = 0;
    for (int32_t k = 0; k < tree->n; k++) { /* done[k]: so far until its children are */
        const double w = graph->weight ? graph->weight[tree->perm[k]] : 1;
        const int32_t up = tree->parent[k];
        p->time[k] = mpki_column_time(w, tree->count[k] - w, 1);
        p->done[k] += p->time[k];
        *sum += p->time[k];
        if (up < 0) {
            if (end < 0 || p->done[k] > p->done[end]) end = k;
        } else if (p->last[up] < 0 || p->done[k] > p->done[up]) {
            p->others[up] = p->last[up] < 0 ? 0 : p->done[up];
            p->done[up] = p->done[k];
            p->last[up] = k;
        } else {
            p->others[up] = fmax(p->others[up], p->done[k]);
        }
    }
    return end;
}

/* Where on the longest path the root has to be: from there the way to the old root, whose direction turns,
 * takes as long as the way down. longest [out] of both; count [out] vertices from the old root to it */
static int32_t find_middle(const paths *p, int32_t root, double *longest, int32_t *count) {
    double above = 0;
    int32_t best = root, length = 0;
    *longest = INFINITY;
    for (int32_t k = root; k >= 0; k = p->last[k]) {
        const double all = fmax(above + p->time[k], p->done[k]);
        length++;
        if (all < *longest) *longest = all, best = k, *count = length;
        above = fmax(above, p->others[k]) + p->time[k];
        if (above > *longest) break;
    }
    return best;
}

/* The vertices from the old root to the new one by another order, after all others: a vertex comes with the
 * column next to the new root that it has an entry in. Of the filled graph, in which these columns'
 * vertices follow each other, this too is an order without fill. */
static mpk_status turn(mpk_context *ctx, const mpki_graph *graph, const mpki_etree *tree,
                       const paths *p, int32_t root, int32_t count, int32_t *perm) {
    const int32_t n = tree->n;
    int32_t *at =
        MPKI_NEW(ctx, STAGE, n, int32_t); /* by position: the lowest above it, from 1 on */
    int32_t *begin = MPKI_ZNEW(ctx, STAGE, count + 2, int32_t);
    int32_t *with = MPKI_NEW(ctx, STAGE, n, int32_t);
    const mpk_status status = at && begin && with ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status)) {
        int32_t next = 0;
        memset(at, 0, (size_t)n * sizeof *at);
        memset(with, 0, (size_t)n * sizeof *with);
        for (int32_t k = root, i = 1; i <= count; k = p->last[k]) at[k] = with[k] = i++;
        for (int32_t k = n - 1; k >= 0; k--)
            if (at[k] == 0 && tree->parent[k] >= 0) at[k] = at[tree->parent[k]];
        for (int32_t k = 0; k < n; k++) {
            const int32_t v = tree->perm[k];
            if (with[k] == 0) {
                perm[next++] = v;
                continue;
            }
            for (int64_t e = graph->xadj[v]; e < graph->xadj[v + 1]; e++) {
                const int32_t q = tree->iperm[graph->adj[e]];
                if (q < k && at[q] > with[k]) with[k] = at[q];
            }
            begin[with[k] + 1]++;
        }
        begin[1] = next;
        for (int32_t i = 1; i <= count; i++) begin[i + 1] += begin[i];
        for (int32_t k = 0; k < n; k++)
            if (with[k] > 0) perm[begin[with[k]]++] = tree->perm[k];
    }
    mpki_release(ctx, at);
    mpki_release(ctx, begin);
    mpki_release(ctx, with);
    return status;
}

mpk_status mpki_etree_reroot(mpk_context *ctx, mpki_pool *pool, const mpki_graph *graph,
                             double worth_s, mpki_etree *tree, bool *turned) {
    paths p = {0};
    mpki_etree other = {0};
    int32_t *perm = NULL, count = 0;
    *turned = false;
    mpk_status status = tree->n > 0 ? paths_make(ctx, tree->n, &p) : MPK_OK;
    if (mpk_failed(status) || tree->n == 0) goto done;
    double sum, longest;
    const int32_t root = find_paths(graph, tree, &p, &sum);
    (void)find_middle(&p, root, &longest, &count);
    if (sum < worth_s || p.done[root] < LONG * sum || longest > SHORTER * p.done[root]) goto done;
    for (int32_t k = root; k >= 0; k = p.last[k])
        if (tree->count[k] > SHARED_ROWS) goto done;
    perm = MPKI_NEW(ctx, STAGE, tree->n, int32_t);
    status = perm ? turn(ctx, graph, tree, &p, root, count, perm) : mpki_failed(ctx);
    if (!mpk_failed(status)) status = mpki_etree_make(ctx, pool, 0, graph, perm, &other);
    if (!mpk_failed(status)) {
        const mpki_etree swap = *tree;
        *tree = other;
        other = swap;
        *turned = true;
    }
done:
    mpki_etree_free(ctx, &other);
    mpki_release(ctx, perm);
    mpki_release(ctx, p.time);
    mpki_release(ctx, p.last);
    return status;
}
