/* SPDX-License-Identifier: BSD-3-Clause */
/* A tree that comes from outside: a caller's supernodes, or those of a file. */
#include "structure.h"

#include "rowset.h"

#include <string.h>

static const char STAGE[] = "symbolic";

/* ---- of a file ------------------------------------------------------------------------------- */

/* perm is a permutation, and iperm becomes its inverse. */
static bool invert(mpk_analysis *an) {
    for (int32_t i = 0; i < an->n; i++) an->iperm[i] = -1;
    for (int32_t k = 0; k < an->n; k++) {
        const int32_t i = an->perm[k];
        if (i < 0 || i >= an->n || an->iperm[i] >= 0) return false;
        an->iperm[i] = k;
    }
    return true;
}

/* May numbers be used as indices? What they mean is checked later. */
static const char *in_range(const mpk_analysis *an) {
    const int32_t ns = an->nsuper;
    if (ns < 0 || ns > an->n || an->sptr[0] != 0 || an->sptr[ns] != an->n || an->rptr[0] != 0)
        return "supernodes do not cover the columns";
    for (int32_t s = 0; s < ns; s++) {
        if (an->sptr[s + 1] <= an->sptr[s] || an->rptr[s + 1] < an->rptr[s])
            return "a supernode has no column, or less than no row";
        if (an->parent[s] != -1 && (an->parent[s] <= s || an->parent[s] >= ns))
            return "a parent does not come after its child";
        for (int64_t k = an->rptr[s]; k < an->rptr[s + 1]; k++)
            if (an->ridx[k] < an->sptr[s + 1] || an->ridx[k] >= an->n)
                return "a row is not below its supernode";
    }
    return NULL;
}

mpk_status mpki_tree_restore(mpk_context *ctx, mpk_analysis *an, const char **why) {
    const int32_t ns = an->nsuper;
    an->iperm = MPKI_NEW(ctx, STAGE, an->n, int32_t);
    an->child_ptr = MPKI_NEW(ctx, STAGE, (int64_t)ns + 1, int32_t);
    an->child = MPKI_NEW(ctx, STAGE, ns, int32_t);
    an->flops = MPKI_NEW(ctx, STAGE, ns, double);
    if (!an->iperm || !an->child_ptr || !an->child || !an->flops) return mpki_failed(ctx);
    *why = invert(an) ? in_range(an) : "the order is no permutation";
    if (*why) return MPK_OK;
    mpki_structure_children(an);
    for (int32_t s = 0; s < ns; s++)
        an->flops[s] = mpki_front_flops(an->sptr[s + 1] - an->sptr[s],
                                        (double)(an->rptr[s + 1] - an->rptr[s]));
    mpk_status status = mpki_symbolic_predict(ctx, an);
    if (!mpk_failed(status)) status = mpki_symbolic_fits(ctx, an);
    if (!mpk_failed(status)) status = mpki_structure_maps(ctx, NULL, an);
    if (!mpk_failed(status)) status = mpki_analysis_check(ctx, an);
    if (status != MPK_ERR_INTERNAL) return status;
    mpki_clear_error(ctx);
    *why = "the tree does not fit the pattern";
    return MPK_OK;
}

/* ---- of a caller ----------------------------------------------------------------------------- */

/* Work space for a caller's tree of ns supernodes. */
typedef struct given {
    const mpk_tree *tree;
    int32_t *of;           /* n: the supernode of each position */
    int32_t *pre, *size;   /* ns: number in a preorder of the caller's tree; supernodes below, and
                              itself */
    int32_t *parent;       /* ns: the next one above that it has rows of */
    int32_t *child, *next; /* ns: first child by these parents, and further ones; -1 ends */
    int64_t *rptr;         /* ns + 1 */
    int32_t *ridx;
    int64_t room;
} given;

static void given_free(mpk_context *ctx, given *g) {
    void *const parts[] = {g->of, g->pre, g->size, g->parent, g->child, g->next, g->rptr, g->ridx};
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) mpki_release(ctx, parts[k]);
}

static mpk_status wrong(mpk_context *ctx, int64_t at, const char *what) {
    return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, at, "tree: %s", what);
}

static mpk_status check_tree(mpk_context *ctx, const mpk_tree *t, int32_t n) {
    const int32_t ns = t->supernodes;
    if (ns < 0 || ns > n || (n > 0 && ns == 0) || !t->first || (ns > 0 && !t->parent))
        return wrong(ctx, ns, "first or parent is NULL, or supernodes is not in 1 .. n");
    if (t->first[0] != 0 || t->first[ns] != n)
        return wrong(ctx, ns, "first does not lead from 0 to n");
    for (int32_t s = 0; s < ns; s++) {
        if (t->first[s + 1] <= t->first[s])
            return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, s,
                              "tree: first[%d] = %d and then %d: a supernode has columns", s,
                              t->first[s], t->first[s + 1]);
        if (t->parent[s] != -1 && (t->parent[s] <= s || t->parent[s] >= ns))
            return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, s,
                              "tree: parent[%d] = %d is neither -1 nor in %d .. %d", s,
                              t->parent[s], s + 1, ns - 1);
    }
    return MPK_OK;
}

static mpk_status given_make(mpk_context *ctx, const mpk_tree *t, given *g) {
    const int32_t ns = t->supernodes;
    *g = (given){.tree = t,
                 .of = MPKI_NEW(ctx, STAGE, t->n, int32_t),
                 .pre = MPKI_NEW(ctx, STAGE, ns, int32_t),
                 .size = MPKI_NEW(ctx, STAGE, ns, int32_t),
                 .parent = MPKI_NEW(ctx, STAGE, ns, int32_t),
                 .child = MPKI_NEW(ctx, STAGE, ns, int32_t),
                 .next = MPKI_NEW(ctx, STAGE, ns, int32_t),
                 .rptr = MPKI_NEW(ctx, STAGE, (int64_t)ns + 1, int64_t)};
    if (!g->of || !g->pre || !g->size || !g->parent || !g->child || !g->next || !g->rptr)
        return mpki_failed(ctx);
    for (int32_t s = 0; s < ns; s++) {
        g->size[s] = 1;
        g->child[s] = -1;
        for (int32_t k = t->first[s]; k < t->first[s + 1]; k++) g->of[k] = s;
    }
    for (int32_t s = 0; s < ns; s++)
        if (t->parent[s] >= 0) g->size[t->parent[s]] += g->size[s];
    int32_t *free_from = g->next, roots = 0; /* preorder numbers that are left below each */
    for (int32_t s = ns - 1; s >= 0; s--) {
        int32_t *from = t->parent[s] < 0 ? &roots : &free_from[t->parent[s]];
        g->pre[s] = *from;
        free_from[s] = *from + 1;
        *from += g->size[s];
    }
    return MPK_OK;
}

/* Is p above s in the caller's tree? */
static bool above(const given *g, int32_t p, int32_t s) {
    return g->pre[p] <= g->pre[s] && g->pre[s] < g->pre[p] + g->size[p];
}

static bool make_room(mpk_context *ctx, given *g, int64_t entries) {
    if (entries <= g->room) return true;
    const int64_t room = entries + entries / 2 + 1024;
    int32_t *more = mpki_resize(ctx, STAGE, g->ridx, room, sizeof *more);
    if (!more) return false;
    g->ridx = more;
    g->room = room;
    return true;
}

/* Add to the set the rows below s of its columns in A and of its children; returns how many there
 * are at most. */
static int64_t collect(const mpk_analysis *an, const mpki_graph *graph, const given *g, int32_t s,
                       mpki_rowset *set) {
    const int32_t end = g->tree->first[s + 1];
    int64_t most = 0;
    for (int32_t c = g->tree->first[s]; c < end; c++) {
        const int32_t v = an->perm[c];
        for (int64_t k = graph->xadj[v]; k < graph->xadj[v + 1]; k++) {
            const int32_t i = an->iperm[graph->adj[k]];
            if (i >= end) mpki_rowset_add(set, i), most++;
        }
    }
    for (int32_t c = g->child[s]; c >= 0; c = g->next[c])
        for (int64_t k = g->rptr[c]; k < g->rptr[c + 1]; k++)
            if (g->ridx[k] >= end) mpki_rowset_add(set, g->ridx[k]), most++;
    return most < an->n - end ? most : an->n - end;
}

/* Rows and parents. An entry of A between two supernodes of which neither is above the other shows
 * as a row of the first that belongs to no supernode above it. */
static mpk_status find_rows(mpk_context *ctx, const mpk_analysis *an, const mpki_graph *graph,
                            given *g) {
    mpki_rowset set = {0};
    mpki_asking asking = {ctx, "analyse", 0};
    mpk_status status = MPK_OK;
    if (!mpki_rowset_create(ctx, STAGE, an->n, &set)) return mpki_failed(ctx);
    g->rptr[0] = 0;
    for (int32_t s = 0; s < g->tree->supernodes && !mpk_failed(status); s++) {
        const int64_t most = collect(an, graph, g, s, &set);
        if (mpki_asks(&asking, 8 * most)) status = mpki_stopped(ctx, STAGE);
        if (!mpk_failed(status) && !make_room(ctx, g, g->rptr[s] + most + 1))
            status = mpki_failed(ctx);
        if (mpk_failed(status)) break;
        const int32_t *end = mpki_rowset_take(&set, set.top, 0, g->ridx + g->rptr[s]);
        g->rptr[s + 1] = end - g->ridx;
        g->parent[s] = -1;
        if (g->rptr[s + 1] == g->rptr[s]) continue;
        const int32_t row = g->ridx[g->rptr[s]], p = g->of[row];
        if (!above(g, p, s)) {
            status = mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, s,
                                "tree: it does not fit the pattern: supernode %d has entries in "
                                "row %d, of supernode %d, which is not above it",
                                s, an->perm[row], p);
            break;
        }
        g->parent[s] = p;
        g->next[s] = g->child[p];
        g->child[p] = s;
    }
    mpki_release(ctx, set.block);
    return status;
}

/* The supernodes in postorder, children in the caller's order. g->child, next, size are used up.
 * order [out] ns */
static void postorder(const given *g, int32_t *order) {
    const int32_t ns = g->tree->supernodes;
    int32_t count = 0, roots = -1;
    for (int32_t s = 0; s < ns; s++) g->child[s] = -1;
    for (int32_t s = ns - 1; s >= 0; s--) { /* from the back: lists come out increasing */
        int32_t *list = g->parent[s] < 0 ? &roots : &g->child[g->parent[s]];
        g->next[s] = *list;
        *list = s;
    }
    for (int32_t s = roots; s >= 0;) {
        while (g->child[s] >= 0) s = g->child[s];
        for (;;) {
            order[count++] = s;
            if (g->next[s] >= 0) {
                s = g->next[s];
                break;
            }
            s = g->parent[s];
            if (s < 0) break;
        }
    }
}

/* Into the analysis, in postorder. Rows of a supernode lie on its way to the root, and stay
 * increasing. */
static mpk_status number(mpk_context *ctx, const given *g, mpk_analysis *an) {
    const mpk_tree *t = g->tree;
    const int32_t ns = t->supernodes;
    int32_t *order = g->pre, *place = g->size; /* which are not asked any more */
    an->nsuper = ns;
    an->sptr = MPKI_NEW(ctx, STAGE, (int64_t)ns + 1, int32_t);
    an->parent = MPKI_NEW(ctx, STAGE, ns, int32_t);
    an->rptr = MPKI_NEW(ctx, STAGE, (int64_t)ns + 1, int64_t);
    an->ridx = MPKI_NEW(ctx, STAGE, g->rptr[ns], int32_t);
    int32_t *position = g->of;
    if (!an->sptr || !an->parent || !an->rptr || !an->ridx) return mpki_failed(ctx);
    postorder(g, order);
    int32_t column = 0;
    for (int32_t k = 0; k < ns; k++) {
        const int32_t s = order[k];
        place[s] = k;
        an->sptr[k] = column;
        for (int32_t c = t->first[s]; c < t->first[s + 1]; c++) {
            position[c] = column;
            an->perm[column++] = t->perm[c];
        }
    }
    an->sptr[ns] = column;
    int64_t fill = 0;
    for (int32_t k = 0; k < ns; k++) {
        const int32_t s = order[k];
        an->parent[k] = g->parent[s] < 0 ? -1 : place[g->parent[s]];
        an->rptr[k] = fill;
        for (int64_t r = g->rptr[s]; r < g->rptr[s + 1]; r++)
            an->ridx[fill++] = position[g->ridx[r]];
    }
    an->rptr[ns] = fill;
    return MPK_OK;
}

mpk_status mpki_tree_given(mpk_context *ctx, const mpk_tree *tree, const mpki_graph *graph,
                           mpk_analysis *an) {
    given g = {0};
    const char *why = NULL;
    mpk_status status = check_tree(ctx, tree, an->n);
    if (mpk_failed(status)) return status;
    int32_t *iperm = an->iperm = MPKI_NEW(ctx, STAGE, an->n, int32_t);
    if (!iperm) return mpki_failed(ctx);
    for (int32_t k = 0; k < an->n; k++) iperm[an->perm[k] = tree->perm[k]] = k;
    status = given_make(ctx, tree, &g);
    if (!mpk_failed(status)) status = find_rows(ctx, an, graph, &g);
    if (!mpk_failed(status)) status = number(ctx, &g, an);
    an->iperm = NULL;
    mpki_release(ctx, iperm);
    given_free(ctx, &g);
    if (!mpk_failed(status)) status = mpki_tree_restore(ctx, an, &why);
    return why ? wrong(ctx, -1, why) : status;
}
