/* SPDX-License-Identifier: BSD-3-Clause */
/* The tree of an order that eliminates from one end, as minimum degree does with bands and with the steps
 * of a time: rooted in the middle of its longest path it has the same fill, and two paths of half the
 * length (Jess & Kees 1982, IEEE Trans. Comput. C-31; Liu 1989, ACM TOMS 15; Lewis, Peyton & Pothen 1989,
 * SIAM J. Sci. Stat. Comput. 10). For many cores it is cut into parts, at some fill. */
#include "symbolic.h"

#include <math.h>

static const char STAGE[] = "order";

/* It is done where the longest path takes more than this share of the work of all vertices, and less than
 * that share of its time afterwards; and only if no front on it is so large that
 * workers share it: for them a path is not longer than others. */
static const double LONG = 0.25, SHORTER = 0.75;
enum { SHARED_ROWS = 256 };

/* A path with this share of all work is cut into parts: as many as there are cores, of so many seconds at
 * least. Where all takes CUT_S, into PARTS, however few cores it is for, as long as work grows by no more than
 * this factor: in parts pivots are taken in the direction that they have, so that fewer come late than where
 * half of the path turns, and one core takes as long; and whoever brings more cores has work for them. */
static const double ALONE = 0.7, PART_S = 50e-6, CUT_S = 4e-3, DEARER = 1.3;
enum { PARTS = 16 };

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

static void paths_free(mpk_context *ctx, paths *p) {
    mpki_release(ctx, p->time);
    mpki_release(ctx, p->last);
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
static void find_middle(const paths *p, int32_t root, double *longest, int32_t *count) {
    double above = 0;
    int32_t length = 0;
    *longest = INFINITY;
    for (int32_t k = root; k >= 0; k = p->last[k]) {
        const double all = fmax(above + p->time[k], p->done[k]);
        length++;
        if (all < *longest) *longest = all, *count = length;
        above = fmax(above, p->others[k]) + p->time[k];
        if (above > *longest) break;
    }
}

/* Of the `count` vertices on the longest path from the root on, which are numbered from 1: own, by position,
 * 0: not one of them; and the lowest column of these that a vertex has an entry in, in L: with. */
typedef struct ranges {
    int32_t *own, *with;
} ranges;

static mpk_status find_ranges(mpk_context *ctx, const mpki_graph *graph, const mpki_etree *tree,
                              const paths *p, int32_t root, int32_t count, ranges *r) {
    const int32_t n = tree->n;
    int32_t *at = MPKI_ZNEW(ctx, STAGE, n, int32_t); /* by position: the lowest above it */
    r->own = MPKI_ZNEW(ctx, STAGE, 2 * (int64_t)n + 1, int32_t);
    if (!at || !r->own) {
        mpki_release(ctx, at);
        return mpki_failed(ctx);
    }
    r->with = r->own + n;
    for (int32_t k = root, i = 1; i <= count; k = p->last[k], i++) at[k] = r->own[k] = i;
    for (int32_t k = n - 1; k >= 0; k--)
        if (at[k] == 0 && tree->parent[k] >= 0) at[k] = at[tree->parent[k]];
    for (int32_t k = 0; k < n; k++) {
        const int32_t v = tree->perm[k];
        r->with[k] = r->own[k];
        for (int64_t e = graph->xadj[v]; r->own[k] > 0 && e < graph->xadj[v + 1]; e++) {
            const int32_t q = tree->iperm[graph->adj[e]];
            if (q < k && at[q] > r->with[k]) r->with[k] = at[q];
        }
    }
    mpki_release(ctx, at);
    return MPK_OK;
}

/* The order of vertices by a key: those of key 0 first, each as they were. */
static mpk_status order_by(mpk_context *ctx, const mpki_etree *tree, const int32_t *key,
                           int32_t most, int32_t *perm) {
    int32_t *begin = MPKI_ZNEW(ctx, STAGE, (int64_t)most + 2, int32_t);
    if (!begin) return mpki_failed(ctx);
    for (int32_t k = 0; k < tree->n; k++) begin[key[k] + 1]++;
    for (int32_t i = 0; i <= most; i++) begin[i + 1] += begin[i];
    for (int32_t k = 0; k < tree->n; k++) perm[begin[key[k]]++] = tree->perm[k];
    mpki_release(ctx, begin);
    return MPK_OK;
}

/* The vertices from the old root to the new one by another order, after all others: a vertex comes with the
 * column next to the new root that it has an entry in. Of the filled graph, in which these columns'
 * vertices follow each other, this too is an order without fill. */
static mpk_status turn(mpk_context *ctx, const mpki_graph *graph, const mpki_etree *tree,
                       const paths *p, int32_t root, int32_t count, int32_t *perm) {
    ranges r = {0};
    mpk_status status = find_ranges(ctx, graph, tree, p, root, count, &r);
    if (!mpk_failed(status)) status = order_by(ctx, tree, r.with, count, perm);
    mpki_release(ctx, r.own);
    return status;
}

/* How often a number of a cut is even: 1, 3, 5, .. come first, then 2, 6, .., and so on. */
static int32_t level_of(int32_t cut) {
    int32_t level = 0;
    while (cut % 2 == 0) cut /= 2, level++;
    return level;
}

/* Cuts the whole path, `count` vertices, into parts of about the same time: the vertices with entries on both
 * sides of a cut come last. What is left of the order stays as it was, so each part goes its old way and
 * takes the rows of the cut below along. */
static mpk_status cut(mpk_context *ctx, const mpki_graph *graph, const mpki_etree *tree,
                      const paths *p, int32_t root, int32_t count, int32_t parts, int32_t *perm) {
    enum { MOST = 64 };
    int32_t at[MOST + 1] = {0}, cuts = 0, i = 0;
    double done = 0, all = 0;
    ranges r = {0};
    mpk_status status = find_ranges(ctx, graph, tree, p, root, count, &r);
    if (mpk_failed(status)) return status;
    if (parts > MOST) parts = MOST;
    for (int32_t k = root; k >= 0; k = p->last[k]) all += p->time[k];
    for (int32_t k = root; k >= 0 && cuts + 1 < parts; k = p->last[k]) {
        i++;
        if (done >= all * (cuts + 1) / parts) at[++cuts] = i;
        done += p->time[k];
    }
    for (int32_t k = 0; k < tree->n; k++) {
        int32_t key = 0;
        for (int32_t c = 1; c <= cuts && key == 0 && r.own[k] > 0; c++)
            if (r.own[k] < at[c] && at[c] <= r.with[k]) key = 1 + level_of(c);
        r.with[k] = key;
    }
    status = order_by(ctx, tree, r.with, 8, perm);
    mpki_release(ctx, r.own);
    return status;
}

/* The time of a tree with so many cores, by the guess, and of all its vertices on one. */
typedef struct guess {
    double time_s, sum_s;
} guess;

static mpk_status guess_of(mpk_context *ctx, const mpki_graph *graph, const mpki_etree *tree,
                           int cores, guess *g) {
    paths p = {0};
    const mpk_status status = paths_make(ctx, tree->n, &p);
    if (!mpk_failed(status)) {
        const int32_t root = find_paths(graph, tree, &p, &g->sum_s);
        g->time_s = fmax(p.done[root], g->sum_s / cores);
    }
    paths_free(ctx, &p);
    return status;
}

/* Replaces *tree by that of perm, if neither this one's time on so many cores nor its work is above that. */
static mpk_status take_better(mpk_context *ctx, mpki_pool *pool, const mpki_graph *graph,
                              const int32_t *perm, int cores, guess most, mpki_etree *tree,
                              bool *taken) {
    mpki_etree other = {0};
    guess found = {INFINITY, INFINITY};
    mpk_status status = mpki_etree_make(ctx, pool, 0, graph, perm, &other);
    if (!mpk_failed(status)) status = guess_of(ctx, graph, &other, cores, &found);
    if (!mpk_failed(status) && found.time_s < most.time_s && found.sum_s <= most.sum_s) {
        const mpki_etree swap = *tree;
        *tree = other;
        other = swap;
        *taken = true;
    }
    mpki_etree_free(ctx, &other);
    return status;
}

/* Parts that the longest path is cut into; below 3: it is not. */
static int32_t parts_of(double path_s, double sum_s, int cores) {
    if (path_s < ALONE * sum_s) return 1;
    const int32_t most = (int32_t)fmin(1024, sum_s / PART_S);
    const int32_t parts = cores < PARTS && sum_s >= CUT_S ? PARTS : cores;
    return parts < most ? parts : most;
}

mpk_status mpki_etree_reroot(mpk_context *ctx, mpki_pool *pool, const mpki_graph *graph, int cores,
                             double worth_s, mpki_etree *tree, bool *turned) {
    paths p = {0};
    int32_t *turned_perm = NULL, *cut_perm = NULL, count = 0, all = 0;
    *turned = false;
    mpk_status status = tree->n > 0 && cores > 1 ? paths_make(ctx, tree->n, &p) : MPK_OK;
    if (mpk_failed(status) || tree->n == 0 || cores < 2) goto done;
    double sum, longest;
    const int32_t root = find_paths(graph, tree, &p, &sum);
    find_middle(&p, root, &longest, &count);
    if (sum < worth_s || p.done[root] < LONG * sum) goto done;
    for (int32_t k = root; k >= 0; k = p.last[k], all++)
        if (tree->count[k] > SHARED_ROWS) goto done;
    turned_perm = MPKI_NEW(ctx, STAGE, tree->n, int32_t);
    cut_perm = MPKI_NEW(ctx, STAGE, tree->n, int32_t);
    if (!turned_perm || !cut_perm) status = mpki_failed(ctx);
    const double time_s = fmax(p.done[root], sum / cores);
    const bool turns = longest < SHORTER * time_s;
    const int32_t parts = parts_of(p.done[root], sum, cores);
    if (!mpk_failed(status) && turns) status = turn(ctx, graph, tree, &p, root, count, turned_perm);
    if (!mpk_failed(status) && parts > 2)
        status = cut(ctx, graph, tree, &p, root, all, parts, cut_perm);
    if (!mpk_failed(status) && parts > 2) {
        const int many = parts > cores ? parts : cores;
        const double before_s = fmax(turns ? longest : p.done[root], sum / many);
        const guess most = {SHORTER * before_s, parts > cores ? DEARER * sum : INFINITY};
        status = take_better(ctx, pool, graph, cut_perm, many, most, tree, turned);
    }
    if (!mpk_failed(status) && turns && !*turned)
        status = take_better(ctx, pool, graph, turned_perm, cores,
                             (guess){SHORTER * time_s, INFINITY}, tree, turned);
done:
    mpki_release(ctx, turned_perm);
    mpki_release(ctx, cut_perm);
    paths_free(ctx, &p);
    return status;
}
