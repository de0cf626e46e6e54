/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of similar patterns into groups: the cosine of two rows of zeros and ones is the number of
 * columns they share over the geometric mean of their lengths (Saad 2003, section 3.2). The shared
 * columns of a seed with all others are counted over its neighbours' neighbours. */
#include "grouping.h"

#include "../../core/pool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "blocking";

typedef struct candidate {
    double cosine2; /* squared */
    int32_t vertex;
} candidate;

static int by_cosine(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    if (x->cosine2 != y->cosine2) return x->cosine2 > y->cosine2 ? -1 : 1;
    return x->vertex < y->vertex ? -1 : 1;
}

/* A column of d entries costs d^2 counts, and says little when d is large. Longer columns are left
 * out, beyond the length up to which all together cost this many counts for each edge. */
enum { COUNTS_PER_EDGE = 100, LENGTHS = 4096 };

int64_t mpki_cosine_limit(const mpki_graph *graph) {
    int32_t n = graph->n;
    double mean = n ? (double)graph->xadj[n] / n : 0, counts = 0;
    double most = COUNTS_PER_EDGE * (double)graph->xadj[n];
    int64_t least = 16 + (int64_t)(2 * mean), columns[LENGTHS] = {0};
    for (int32_t v = 0; v < n; v++) {
        int64_t degree = graph->xadj[v + 1] - graph->xadj[v];
        if (degree < LENGTHS) columns[degree]++;
    }
    for (int64_t d = 0; d < LENGTHS; d++) {
        counts += (double)columns[d] * (double)d * (double)d;
        if (counts > most && d > least) return d - 1;
    }
    return least > LENGTHS ? least : LENGTHS;
}

/* Groups are formed within parts of this many vertices, so that they are the same for any number of
 * threads. Coarser graphs soon have one part. */
enum { PART = 1 << 16 };

typedef struct search {
    mpk_context *ctx;
    const mpki_graph *graph;
    int64_t limit;
    double tau2;
    int32_t most;
    const int32_t *length; /* of the patterns */
    int32_t *of;           /* out: group within the part */
    int32_t *count;        /* by part: groups */
    double *below2;        /* by part */
    struct desk *desk;     /* by worker */
} search;

/* Work space of one worker. Vertices count from the first of the part. */
typedef struct desk {
    int32_t from, to;
    int32_t *common;  /* columns shared with the seed; -1: taken */
    int32_t *touched; /* vertices with common > 0 */
    candidate *list;
    double below2;
    int64_t seen; /* entries looked at */
} desk;

static bool counted(const search *s, int32_t v) {
    return s->graph->xadj[v + 1] - s->graph->xadj[v] <= s->limit;
}

static inline int32_t count_one(desk *d, int32_t v, int32_t touched) {
    if (v < d->from || v >= d->to) return touched;
    int32_t *common = &d->common[v - d->from];
    if (*common >= 0 && (*common)++ == 0) d->touched[touched++] = v;
    return touched;
}

/* Vertices v for which column k is in the pattern of v, k itself included. */
static int32_t count_column(const search *s, desk *d, int32_t k, int32_t touched) {
    const mpki_graph *g = s->graph;
    touched = count_one(d, k, touched);
    d->seen += g->xadj[k + 1] - g->xadj[k];
    for (int64_t e = g->xadj[k]; e < g->xadj[k + 1]; e++)
        touched = count_one(d, g->adj[e], touched);
    return touched;
}

/* Those similar enough to the seed, the most similar first. */
static int32_t candidates(const search *s, desk *d, int32_t seed, int32_t room) {
    const mpki_graph *g = s->graph;
    int32_t touched = 0, found = 0;
    if (counted(s, seed)) touched = count_column(s, d, seed, touched);
    for (int64_t e = g->xadj[seed]; e < g->xadj[seed + 1]; e++)
        if (counted(s, g->adj[e])) touched = count_column(s, d, g->adj[e], touched);
    for (int32_t k = 0; k < touched; k++) {
        int32_t v = d->touched[k], c = d->common[v - d->from];
        d->common[v - d->from] = 0;
        if (mpki_graph_weight(g, v) > room) continue;
        double cosine2 = (double)c * c / ((double)s->length[seed] * s->length[v]);
        if (cosine2 >= s->tau2)
            d->list[found++] = (candidate){cosine2, v};
        else if (cosine2 > d->below2)
            d->below2 = cosine2;
    }
    if (found > 1) qsort(d->list, (size_t)found, sizeof *d->list, by_cosine);
    return found;
}

/* The groups of one part. */
static void group_part(mpki_pool *pool, int worker, void *arg, int64_t part) {
    const search *s = arg;
    const mpki_graph *g = s->graph;
    desk *d = &s->desk[worker];
    int32_t count = 0;
    mpki_asking asking = {s->ctx, "analyse", 0};
    (void)pool;
    d->from = (int32_t)(part * PART);
    d->to = g->n - d->from < PART ? g->n : d->from + PART;
    d->below2 = 0;
    memset(d->common, 0, (size_t)(d->to - d->from) * sizeof *d->common);
    for (int32_t seed = d->from; seed < d->to; seed++) {
        if (d->common[seed - d->from] < 0) continue;
        if (mpki_asks(&asking, d->seen)) break;
        d->seen = 0;
        int32_t room = s->most - mpki_graph_weight(g, seed);
        s->of[seed] = count;
        d->common[seed - d->from] = -1;
        int32_t found = room > 0 ? candidates(s, d, seed, room) : 0;
        for (int32_t k = 0; k < found && room > 0; k++) {
            int32_t v = d->list[k].vertex;
            if (mpki_graph_weight(g, v) > room) continue;
            s->of[v] = count;
            d->common[v - d->from] = -1;
            room -= mpki_graph_weight(g, v);
        }
        count++;
    }
    s->count[part] = count;
    s->below2[part] = d->below2;
}

/* All parts; then groups are numbered through all of them. */
static int32_t group_all(search *s, mpki_pool *pool, int32_t parts) {
    int32_t sum = 0;
    mpki_pool_for(pool, 0, parts, group_part, s);
    for (int32_t part = 0; part < parts; part++) {
        int64_t to = (int64_t)(part + 1) * PART;
        if (to > s->graph->n) to = s->graph->n;
        for (int64_t v = (int64_t)part * PART; v < to; v++) s->of[v] += sum;
        sum += s->count[part];
    }
    return sum;
}

static mpk_status desks_make(mpk_context *ctx, int threads, int32_t size, desk *desks) {
    for (int t = 0; t < threads; t++) {
        desks[t] = (desk){.common = MPKI_NEW(ctx, STAGE, size, int32_t),
                          .touched = MPKI_NEW(ctx, STAGE, size, int32_t),
                          .list = MPKI_NEW(ctx, STAGE, size, candidate)};
        if (!desks[t].common || !desks[t].touched || !desks[t].list) return mpki_failed(ctx);
    }
    return MPK_OK;
}

static void desks_free(mpk_context *ctx, int threads, desk *desks) {
    for (int t = 0; desks && t < threads; t++) {
        mpki_release(ctx, desks[t].common);
        mpki_release(ctx, desks[t].touched);
        mpki_release(ctx, desks[t].list);
    }
    mpki_release(ctx, desks);
}

static void measure(const search *s, int32_t *length) {
    const mpki_graph *g = s->graph;
    for (int32_t v = 0; v < g->n; v++) {
        length[v] = counted(s, v);
        for (int64_t e = g->xadj[v]; e < g->xadj[v + 1]; e++) length[v] += counted(s, g->adj[e]);
    }
}

mpk_status mpki_group_similar(mpk_context *ctx, const mpki_graph *graph, double tau, int32_t most,
                              int threads, int32_t *of, int32_t *count, double *below) {
    int32_t n = graph->n, parts = (int32_t)(((int64_t)n + PART - 1) / PART);
    if (threads > parts) threads = parts;
    if (threads < 1) threads = 1;
    mpki_pool *pool = threads > 1 ? mpki_context_pool(ctx, threads, 1) : NULL;
    int32_t *length = MPKI_NEW(ctx, STAGE, n, int32_t);
    search s = {.ctx = ctx,
                .graph = graph,
                .limit = mpki_cosine_limit(graph),
                .tau2 = tau * tau,
                .most = most,
                .length = length,
                .of = of,
                .count = MPKI_NEW(ctx, STAGE, parts, int32_t),
                .below2 = MPKI_NEW(ctx, STAGE, parts, double),
                .desk = MPKI_ZNEW(ctx, STAGE, threads, desk)};
    bool ready = (pool || threads == 1) && length && s.count && s.below2 && s.desk;
    mpk_status status = ready ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status)) status = desks_make(ctx, threads, n < PART ? n : PART, s.desk);
    if (!mpk_failed(status)) {
        double below2 = 0;
        measure(&s, length);
        *count = group_all(&s, pool, parts);
        for (int32_t part = 0; part < parts; part++)
            if (s.below2[part] > below2) below2 = s.below2[part];
        *below = sqrt(below2);
        if (mpki_cancelled(ctx)) status = mpki_stopped(ctx, STAGE);
    }
    desks_free(ctx, threads, s.desk);
    mpki_release(ctx, length);
    mpki_release(ctx, s.count);
    mpki_release(ctx, s.below2);
    return status;
}
