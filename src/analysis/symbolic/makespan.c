/* SPDX-License-Identifier: BSD-3-Clause */
/* What an ordering costs on a device: its tree goes over many multiprocessors, so that not the sum
 * of all fronts counts but the longest path of them, or the work that one multiprocessor gets. */
#include "symbolic.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "order";

/* Of the columns that a front gets late so many fail again there (maros_r7: two thirds to three
 * quarters), and one for which there is no room beside its own takes as long as so many of
 * these. */
static const double AGAIN = 0.7, OUTSIDE = 10;

/* Seconds of a front on the way from a leaf to the root: each front waits for its children and
 * hands on (constant), each column waits for its pivot, and rows of large ones are not free either.
 * Columns that come late take as long as its own as far as there is room for them beside these
 * (engines/cuda/multifrontal/plan/plan.c: with_late()); a front that outgrows that leaves shared
 * memory. Fitted to the tables of bench/journal/2026-11-26-gpu-direct.md. */
static double front_path_s(double w, double rows, double late) {
    if (w + late + rows <= MPKI_DEVICE_WARP_ROWS)
        return MPKI_DEVICE_WARP_S + MPKI_DEVICE_WARP_COLUMN_S * (w + late);
    const double outside = fmax(0, late - (2 + w / 8));
    return MPKI_DEVICE_FRONT_S + MPKI_DEVICE_COLUMN_S * (w + late + OUTSIDE * outside) +
           4e-9 * (w + rows);
}

/* Seconds that one multiprocessor is busy with it. */
static double front_work_s(double w, double rows) {
    const double n = w + rows;
    return 1e-6 + 5e-8 * w + 3e-11 * n * n + mpki_front_flops(w, rows) / 1e11;
}

/* The longest path of fronts, or all work over the multiprocessors, whichever is longer. Columns
 * that are late in column c's vertex: late[c]; NULL: none. path, came: work space, nodes.count
 * zeros each */
static double nodes_time(const mpki_nodes *nodes, const int32_t *late, double *path, double *came) {
    double sum = 0, longest = 0;
    for (int32_t d = 0; d < nodes->count; d++) { /* children first */
        const double w = nodes->width[d], rows = nodes->rows[d];
        double leave = AGAIN * came[d];
        if (!nodes->alive[d]) continue;
        for (int32_t c = nodes->child[d]; c >= 0; c = nodes->sibling[c])
            path[d] = fmax(path[d], path[c]);
        path[d] += front_path_s(w, rows, came[d]);
        sum += front_work_s(w + came[d], rows);
        longest = fmax(longest, path[d]);
        for (int32_t c = nodes->head[d]; late && c >= 0; c = nodes->next[c]) leave += late[c];
        if (nodes->parent[d] >= 0) came[nodes->parent[d]] += leave;
    }
    return fmax(longest, sum / MPKI_DEVICE_MULTIPROCESSORS);
}

void mpki_makespan_free(mpk_context *ctx, mpki_makespan *m) {
    mpki_nodes_free(ctx, &m->nodes);
    mpki_etree_free(ctx, &m->columns);
    mpki_release(ctx, m->path);
    *m = (mpki_makespan){0};
}

mpk_status mpki_makespan_make(mpk_context *ctx, mpki_pool *pool, int worker,
                              const mpki_graph *graph, const mpki_etree *tree, mpki_makespan *m,
                              double *time_s) {
    *m = (mpki_makespan){0};
    *time_s = 0;
    mpk_status status = mpki_etree_columns(ctx, graph, tree, &m->columns);
    if (!mpk_failed(status))
        status = mpki_nodes_build(ctx, m->columns.n, m->columns.parent, m->columns.count, NULL,
                                  &m->nodes);
    if (!mpk_failed(status))
        status = mpki_nodes_uncut(&m->nodes)
                     ? mpki_nodes_shorten(ctx, pool, worker, &m->nodes, time_s)
                     : mpki_nodes_merge(ctx, &mpki_relax_default, &m->nodes);
    if (mpk_failed(status)) goto done;
    m->path = MPKI_ZNEW(ctx, STAGE, 2 * ((int64_t)m->nodes.count + 1), double);
    if (m->path)
        *time_s = nodes_time(&m->nodes, NULL, m->path, m->path + m->nodes.count + 1);
    else
        status = mpki_failed(ctx);
done:
    if (mpk_failed(status)) mpki_makespan_free(ctx, m);
    return status;
}

double mpki_makespan_late(mpki_makespan *m, const mpki_graph *graph, const mpki_etree *tree,
                          const int32_t *late) {
    int32_t *column_late = m->columns.parent, c = 0; /* parents are not needed any more */
    memset(m->path, 0, 2 * ((size_t)m->nodes.count + 1) * sizeof *m->path);
    memset(column_late, 0, (size_t)m->columns.n * sizeof *column_late);
    for (int32_t k = 0; k < tree->n; k++) { /* at the first column of each vertex */
        column_late[c] = late[tree->perm[k]];
        c += graph->weight ? graph->weight[tree->perm[k]] : 1;
    }
    return nodes_time(&m->nodes, column_late, m->path, m->path + m->nodes.count + 1);
}

mpk_status mpki_etree_makespan(mpk_context *ctx, mpki_pool *pool, int worker,
                               const mpki_graph *graph, const mpki_etree *tree, const int32_t *late,
                               double time_s[2]) {
    mpki_makespan m;
    const mpk_status status = mpki_makespan_make(ctx, pool, worker, graph, tree, &m, &time_s[0]);
    time_s[1] = time_s[0];
    if (mpk_failed(status)) return status;
    if (late) time_s[1] = mpki_makespan_late(&m, graph, tree, late);
    mpki_makespan_free(ctx, &m);
    return MPK_OK;
}

mpk_status mpki_order_makespan(mpk_context *ctx, const mpki_graph *graph, const int32_t *perm,
                               const int32_t *late, double time_s[2]) {
    mpki_etree tree;
    mpk_status status = mpki_etree_make(ctx, NULL, 0, graph, perm, &tree);
    if (!mpk_failed(status)) status = mpki_etree_makespan(ctx, NULL, 0, graph, &tree, late, time_s);
    mpki_etree_free(ctx, &tree);
    return status;
}
