/* SPDX-License-Identifier: BSD-3-Clause */
/* A tree for a device after a factorization has shown which fronts delay columns: those go into their
 * parents where that shortens the longest path. A front that delays columns is tried more than once,
 * and its parent, with columns that come late, is no front of a warp any more; in one front with
 * the parent's columns they find their pivots. */
#include "symbolic.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "symbolic";

/* Seconds of a front in which columns fail or come late, beside a front whose columns all pass:
 * each is searched, column by column at last (H200, bench/cuda/stamps.h: fronts of 16 to 32 columns
 * 28 to 66 us). */
static const double TROUBLE_S = 10e-6, TROUBLE_COLUMN_S = 1e-6;
/* Columns of a merged front, at most, and rows: it is to stay in one block's shared memory. */
static const double MOST_COLUMNS = 128, MOST_ROWS = 200;
/* The longest path gets shorter by so much, or the tree stays as it is. */
static const double PAYS = 0.97;

/* A tree at work; by supernode of the analysis. */
typedef struct gathering {
    const mpk_analysis *an;
    const int32_t *late; /* columns that it left to its parent */
    int32_t *into;       /* the supernode that it went into, or itself */
    int32_t *width, *came, *kids;
    double *path; /* seconds until it is done */
    int32_t merged;
} gathering;

static double node_s(int32_t width, int32_t rows, int32_t came, int32_t kids, int32_t leave) {
    const double trouble =
        came > 0 || leave > 0 ? TROUBLE_S + TROUBLE_COLUMN_S * (width + came) : 0;
    return trouble + mpki_device_front_s(width + came, rows, kids, trouble == 0);
}

static int32_t rows_of(const gathering *g, int32_t s) {
    return (int32_t)(g->an->rptr[s + 1] - g->an->rptr[s]);
}

/* Is child c to go into its parent, with all others that delay columns; or, `alone`, the latest of
 * them? */
static bool goes(const gathering *g, int32_t c, int32_t latest, bool alone) {
    return alone ? c == latest : g->late[c] > 0;
}

/* The path of s if some of its children go into it; INFINITY: they do not fit. */
static double merged_path(const gathering *g, int32_t s, int32_t latest, bool alone) {
    const mpk_analysis *an = g->an;
    double begin = 0;
    int32_t width = g->width[s], came = g->came[s], kids = g->kids[s];
    for (int32_t k = an->child_ptr[s]; k < an->child_ptr[s + 1]; k++) {
        const int32_t c = an->child[k];
        if (!goes(g, c, latest, alone)) {
            begin = fmax(begin, g->path[c]);
            continue;
        }
        width += g->width[c], came += g->came[c] - g->late[c], kids += g->kids[c] - 1;
        begin = fmax(begin, g->path[c] - node_s(g->width[c], rows_of(g, c), g->came[c], g->kids[c],
                                                g->late[c]));
    }
    if (width > MOST_COLUMNS || width + came + rows_of(g, s) > MOST_ROWS) return INFINITY;
    return begin + node_s(width, rows_of(g, s), came, kids, g->late[s]);
}

static void merge(gathering *g, int32_t s, int32_t latest, bool alone) {
    const mpk_analysis *an = g->an;
    for (int32_t k = an->child_ptr[s]; k < an->child_ptr[s + 1]; k++) {
        const int32_t c = an->child[k];
        if (!goes(g, c, latest, alone)) continue;
        g->into[c] = s, g->merged++;
        g->width[s] += g->width[c];
        g->came[s] += g->came[c] - g->late[c];
        g->kids[s] += g->kids[c] - 1;
    }
}

/* Paths of all; with merge_them: after mergers. Returns the longest one. */
static double find_paths(gathering *g, bool merge_them) {
    const mpk_analysis *an = g->an;
    double longest = 0;
    for (int32_t s = 0; s < an->nsuper; s++) {
        double begin = 0;
        int32_t latest = -1;
        g->into[s] = s, g->came[s] = 0;
        g->width[s] = an->sptr[s + 1] - an->sptr[s];
        g->kids[s] = an->child_ptr[s + 1] - an->child_ptr[s];
        for (int32_t k = an->child_ptr[s]; k < an->child_ptr[s + 1]; k++) {
            const int32_t c = an->child[k];
            g->came[s] += g->late[c];
            begin = fmax(begin, g->path[c]);
            if (g->late[c] > 0 && (latest < 0 || g->path[c] > g->path[latest])) latest = c;
        }
        g->path[s] = begin + node_s(g->width[s], rows_of(g, s), g->came[s], g->kids[s], g->late[s]);
        for (int alone = 0; merge_them && latest >= 0 && alone < 2; alone++) {
            const double then = merged_path(g, s, latest, alone);
            if (!(then <= g->path[s])) continue;
            merge(g, s, latest, alone);
            g->path[s] = then;
            break;
        }
        longest = fmax(longest, g->path[s]);
    }
    return longest;
}

/* The tree that is left: supernodes in their order, columns of what went into one before its own. */
static mpk_status tree_of(mpk_context *ctx, const gathering *g, int32_t *perm, int32_t *first,
                          int32_t *parent, int32_t *count) {
    const mpk_analysis *an = g->an;
    int32_t *number = MPKI_NEW(ctx, STAGE, an->nsuper, int32_t);
    int32_t *at = MPKI_ZNEW(ctx, STAGE, (int64_t)an->nsuper + 1, int32_t);
    const mpk_status status = mpki_failed(ctx);
    *count = 0;
    for (int32_t s = an->nsuper - 1; !mpk_failed(status) && s >= 0; s--) /* parents first */
        g->into[s] = g->into[s] == s ? s : g->into[g->into[s]];
    for (int32_t s = 0; !mpk_failed(status) && s < an->nsuper; s++) {
        if (g->into[s] != s) continue;
        number[s] = (*count)++;
        first[number[s] + 1] = g->width[s];
    }
    first[0] = 0;
    for (int32_t k = 0; k < *count; k++) at[k] = first[k], first[k + 1] += first[k];
    for (int32_t s = 0; !mpk_failed(status) && s < an->nsuper; s++) {
        const int32_t mine = number[g->into[s]], up = an->parent[s];
        for (int32_t k = an->sptr[s]; k < an->sptr[s + 1]; k++) perm[at[mine]++] = an->perm[k];
        if (g->into[s] == s) parent[mine] = up < 0 ? -1 : number[g->into[up]];
    }
    mpki_release(ctx, number);
    mpki_release(ctx, at);
    return status;
}

/* All of an but its tree. */
static mpk_analysis *without_tree(mpk_context *ctx, const mpk_analysis *an) {
    mpk_problem problem = {.ctx = ctx,
                           .scalar = an->scalar,
                           .symmetry = an->symmetry,
                           .layout = an->layout,
                           .n = an->n,
                           .nnz = an->nnz,
                           .ap = an->ap,
                           .ai = an->ai};
    mpk_analysis *made = mpki_analysis_new(ctx, &problem, &an->options);
    if (!made) return NULL;
    made->info = an->info;
    made->scale_far = an->scale_far;
    made->failing = an->failing;
    if (an->scale) made->scale = MPKI_NEW(ctx, STAGE, an->n, double);
    if (made->scale) memcpy(made->scale, an->scale, (size_t)an->n * sizeof *an->scale);
    if ((!an->scale || made->scale) && !mpk_failed(mpki_core_copy(ctx, an, &made->core)))
        return made;
    mpk_analysis_destroy(&made);
    return NULL;
}

mpk_status mpki_gather_late(mpk_context *ctx, const mpk_analysis *an, const int32_t *late,
                            mpk_analysis **out) {
    const int32_t n = an->n, ns = an->nsuper;
    int32_t *work = MPKI_NEW(ctx, STAGE, 4 * (int64_t)ns, int32_t);
    double *path = MPKI_NEW(ctx, STAGE, ns, double);
    int32_t *perm = MPKI_NEW(ctx, STAGE, n, int32_t);
    int32_t *first = MPKI_NEW(ctx, STAGE, (int64_t)ns + 1, int32_t);
    int32_t *parent = MPKI_NEW(ctx, STAGE, ns, int32_t);
    mpki_graph graph = {0};
    mpk_tree tree = {.n = n, .perm = perm, .first = first, .parent = parent};
    mpk_status status = mpki_failed(ctx);
    *out = NULL;
    if (mpk_failed(status)) goto done;
    gathering g = {.an = an,
                   .late = late,
                   .into = work,
                   .width = work + ns,
                   .came = work + 2 * (int64_t)ns,
                   .kids = work + 3 * (int64_t)ns,
                   .path = path};
    const double now = find_paths(&g, false);
    if (!(find_paths(&g, true) <= PAYS * now) || g.merged == 0) goto done;
    status = tree_of(ctx, &g, perm, first, parent, &tree.supernodes);
    if (mpk_failed(status)) goto done;
    *out = without_tree(ctx, an);
    if (!*out) status = mpki_failed(ctx);
    if (!mpk_failed(status))
        status = mpki_graph_build(ctx, n, an->core.ap, an->core.ai, NULL, NULL, &graph);
    if (!mpk_failed(status)) status = mpki_tree_given(ctx, &tree, &graph, *out);
    if (mpk_failed(status)) mpk_analysis_destroy(out);
done:
    mpki_release(ctx, work);
    mpki_release(ctx, path);
    mpki_release(ctx, perm);
    mpki_release(ctx, first);
    mpki_release(ctx, parent);
    mpki_graph_free(ctx, &graph);
    return status;
}
