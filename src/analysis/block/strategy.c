/* SPDX-License-Identifier: BSD-3-Clause */
/* strategy = auto: block the matrix, or patches of a large one, by BR and by RBR, and take the one
 * whose pattern with fill has room for fewer entries. */
#include "../../core/ascending.h"
#include "../../core/pool.h"
#include "grouping.h"

#include <stdlib.h>

static const char STAGE[] = "blocking";

/* The cost of a block is its entries plus this many for finding it. */
static const double BLOCK_OVERHEAD = 64;
/* Up to WHOLE rows the whole matrix is tried; of a larger one WHOLE rows, in this many patches. */
enum { WHOLE = 50000, PATCHES = 16 };
static const double SAMPLE = 0.02;

/* The lower triangle of a graph as a pattern, vertex = place. */
static mpk_status graph_pattern(mpk_context *ctx, const mpki_graph *g, mpki_pattern *pattern) {
    *pattern = (mpki_pattern){.m = g->n};
    pattern->ptr = MPKI_NEW(ctx, STAGE, (int64_t)g->n + 1, int64_t);
    pattern->row = MPKI_NEW(ctx, STAGE, g->xadj[g->n] / 2 + g->n, int32_t);
    if (!pattern->ptr || !pattern->row) {
        mpki_pattern_free(ctx, pattern);
        return mpki_failed(ctx);
    }
    int64_t next = 0;
    for (int32_t v = 0; v < g->n; v++) {
        pattern->ptr[v] = next;
        pattern->row[next++] = v;
        for (int64_t e = g->xadj[v]; e < g->xadj[v + 1]; e++)
            if (g->adj[e] > v) pattern->row[next++] = g->adj[e];
    }
    pattern->ptr[g->n] = next;
    return MPK_OK;
}

mpk_status mpki_blocking_cost(mpk_context *ctx, const mpki_graph *graph, const mpki_blocking *b,
                              int level, int threads, double *cost) {
    mpki_graph blocks = {0};
    mpki_pattern a = {0}, filled = {0};
    int32_t *of = MPKI_NEW(ctx, STAGE, b->n, int32_t);
    mpk_status status = of ? MPK_OK : mpki_failed(ctx);
    for (int32_t k = 0; !mpk_failed(status) && k < b->n; k++) of[b->perm[k]] = b->of[k];
    if (!mpk_failed(status)) status = mpki_quotient(ctx, graph, of, b->nframes, &blocks);
    if (!mpk_failed(status)) status = graph_pattern(ctx, &blocks, &a);
    if (!mpk_failed(status)) status = mpki_pattern_fill(ctx, &a, level, threads, 0, &filled);
    *cost = 0;
    for (int32_t c = 0; !mpk_failed(status) && c < b->nframes; c++) {
        double width = blocks.weight[c];
        for (int64_t k = filled.ptr[c]; k < filled.ptr[c + 1]; k++)
            *cost += width * blocks.weight[filled.row[k]] + BLOCK_OVERHEAD;
    }
    mpki_release(ctx, of);
    mpki_graph_free(ctx, &blocks);
    mpki_pattern_free(ctx, &a);
    mpki_pattern_free(ctx, &filled);
    return status;
}

/* Breadth-first patches around vertices at equal distances in the numbering: number[v] = vertex in
 * the sample or -1, list = its inverse. Returns their vertices. */
static int32_t grow_patches(const mpki_graph *g, int32_t wanted, int32_t *number, int32_t *list) {
    int32_t taken = 0, each = wanted / PATCHES;
    for (int32_t v = 0; v < g->n; v++) number[v] = -1;
    for (int32_t p = 0; p < PATCHES; p++) {
        int32_t seed = (int32_t)((2 * p + 1) * (int64_t)g->n / (2 * PATCHES));
        int32_t read = taken, end = taken + each;
        if (number[seed] >= 0) continue;
        number[seed] = taken;
        list[taken++] = seed;
        for (; read < taken && taken < end; read++) {
            int32_t v = list[read];
            for (int64_t e = g->xadj[v]; e < g->xadj[v + 1] && taken < end; e++) {
                int32_t u = g->adj[e];
                if (number[u] >= 0) continue;
                number[u] = taken;
                list[taken++] = u;
            }
        }
    }
    return taken;
}

/* The graph of the patches' vertices, in the numbering of the whole. */
static mpk_status take_sample(mpk_context *ctx, const mpki_graph *g, mpki_graph *sample) {
    int32_t n = g->n, wanted = (int32_t)(SAMPLE * n), kept = 0;
    if (wanted < WHOLE / 2) wanted = WHOLE / 2;
    int32_t *number = MPKI_NEW(ctx, STAGE, n, int32_t);
    int32_t *list = MPKI_NEW(ctx, STAGE, n, int32_t);
    mpk_status status = number && list ? MPK_OK : mpki_failed(ctx);
    *sample = (mpki_graph){0};
    if (mpk_failed(status)) goto done;
    kept = grow_patches(g, wanted, number, list);
    qsort(list, (size_t)kept, sizeof *list, mpki_ascending);
    for (int32_t k = 0; k < kept; k++) number[list[k]] = k;
    int64_t edges = 0;
    for (int32_t k = 0; k < kept; k++)
        for (int64_t e = g->xadj[list[k]]; e < g->xadj[list[k] + 1]; e++)
            edges += number[g->adj[e]] >= 0;
    sample->n = kept;
    sample->xadj = MPKI_NEW(ctx, STAGE, (int64_t)kept + 1, int64_t);
    sample->adj = MPKI_NEW(ctx, STAGE, edges, int32_t);
    if (!sample->xadj || !sample->adj) {
        status = mpki_failed(ctx);
        goto done;
    }
    edges = 0;
    for (int32_t k = 0; k < kept; k++) {
        sample->xadj[k] = edges;
        for (int64_t e = g->xadj[list[k]]; e < g->xadj[list[k] + 1]; e++)
            if (number[g->adj[e]] >= 0) sample->adj[edges++] = number[g->adj[e]];
    }
    sample->xadj[kept] = edges;
done:
    mpki_release(ctx, number);
    mpki_release(ctx, list);
    if (mpk_failed(status)) mpki_graph_free(ctx, sample);
    return status;
}

/* Level of fill that is tried: one level says enough, and complete fill would need the whole
 * matrix. */
static int trial_level(const mpk_options *options, bool whole) {
    if (options->level < 0) return whole ? -1 : 1;
    return options->level > 1 ? 1 : options->level;
}

/* One of the strategies, tried. */
typedef struct trial {
    mpk_context *ctx;
    const mpki_graph *graph;
    const int32_t *mate;
    mpk_options options;
    mpki_blocking blocking;
    double cost;
    mpk_status status;
} trial;

static void try_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    trial *t = (trial *)arg + item;
    t->status =
        mpki_blocking_by(t->ctx, t->graph, t->mate, &t->options, t->options.strategy, &t->blocking);
    if (!mpk_failed(t->status))
        t->status = mpki_blocking_cost(t->ctx, t->graph, &t->blocking, t->options.level,
                                       t->options.threads, &t->cost);
}

/* Both at the same time, but not by libraries that are not for several threads. */
static mpk_status try_all(mpk_context *ctx, const mpk_options *options, trial *t) {
    const bool alone = options->threads == 1 || options->ordering == MPK_ORDERING_METIS ||
                       options->ordering == MPK_ORDERING_SCOTCH;
    mpki_pool *pool = alone ? NULL : mpki_context_pool(ctx, options->threads, 1);
    if (!alone && !pool) return mpki_failed(ctx);
    for (int k = 0; k < 2 && !alone; k++) t[k].options.threads = 1;
    mpki_pool_for(pool, 0, 2, try_item, t);
    return mpk_failed(t[0].status) ? t[0].status : t[1].status;
}

/* BR or RBR, whichever costs less with the fill asked for, one level at most (or complete). Both
 * are tried at once where options.threads > 1. Graphs of more than 50 000 vertices are judged by 16
 * patches, 2 % of the vertices but at least 25 000.
 * blocking [out] its strategy; of a smaller graph all of it */
static mpk_status choose(mpk_context *ctx, const mpki_graph *graph, const int32_t *mate,
                         const mpk_options *options, mpki_blocking *blocking) {
    static const mpk_strategy choice[] = {MPK_STRATEGY_BR, MPK_STRATEGY_RBR};
    const bool whole = graph->n <= WHOLE;
    mpki_graph sample = {0};
    trial t[2];
    mpk_status status = whole ? MPK_OK : take_sample(ctx, graph, &sample);
    for (int k = 0; k < 2; k++) {
        t[k] = (trial){.ctx = ctx,
                       .graph = whole ? graph : &sample,
                       .mate = whole ? mate : NULL,
                       .options = *options};
        t[k].options.level = trial_level(options, whole);
        t[k].options.strategy = choice[k];
    }
    if (!mpk_failed(status)) status = try_all(ctx, options, t);
    if (!mpk_failed(status)) {
        const int better = t[1].cost < t[0].cost;
        blocking->strategy = choice[better];
        if (whole) {
            *blocking = t[better].blocking;
            t[better].blocking = (mpki_blocking){0};
        }
    }
    for (int k = 0; k < 2; k++) mpki_blocking_free(ctx, &t[k].blocking);
    mpki_graph_free(ctx, &sample);
    return status;
}

mpk_status mpki_blocking_make(mpk_context *ctx, const mpki_graph *graph, const int32_t *mate,
                              const mpk_options *options, mpki_blocking *blocking) {
    const bool given = options->ordering == MPK_ORDERING_GIVEN || options->given_blocks;
    mpk_status status = MPK_OK;
    *blocking = (mpki_blocking){.strategy = given ? MPK_STRATEGY_RB : options->strategy};
    if (blocking->strategy == MPK_STRATEGY_AUTO)
        status = choose(ctx, graph, mate, options, blocking);
    if (mpk_failed(status))
        mpki_blocking_free(ctx, blocking);
    else if (!blocking->perm)
        status = mpki_blocking_by(ctx, graph, mate, options, blocking->strategy, blocking);
    return status;
}
