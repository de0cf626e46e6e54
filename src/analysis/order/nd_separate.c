/* SPDX-License-Identifier: BSD-3-Clause */
/* Vertex separators: grown on the coarsest graph, then refined on each finer one by the moves of
 * Fiduccia & Mattheyses 1982, made for vertex separators by Ashcraft & Liu 1997 and Hendrickson &
 * Rothberg 1998. A move takes a vertex v out of the separator into part `to`; its neighbours in the
 * other part come in. */
#include "nd.h"

#include <string.h>

static const char STAGE[] = "order";

enum {
    LARGE = 5000, /* graphs of more vertices are shrunk SHRINK-fold, and several runs are made from
                     there */
    SHRINK = 30,
    RUNS_LARGE = 5,
    RUNS_SMALL = 1, /* runs on smaller graphs */
    TRIES = 8,      /* starts on the coarsest graph */
    PASSES = 8,     /* most passes on a level */
    LEAST_RUN =
        25, /* moves without gain before a pass gives up: a 20th of the vertices, within these */
    MOST_RUN = 2000,
    BUCKETS = 1024
};
/* Heaviest part allowed, in shares of the graph without its separator. */
static const double LOPSIDED = 0.65;

/* Everything about one partition; the arrays have room for the finest level. */
typedef struct state {
    const mpki_nd_graph *g;
    int8_t *where;
    int64_t part[3];  /* weights of A, B, the separator */
    int32_t *outside; /* of a separator vertex: weight of its neighbours in the part it does not
                         move to */
    /* separator vertices by gain: lists for each of BUCKETS ranges, the latest comer first, so that
     * moves stay close together; no gain above that of the list `top` */
    int32_t *head, *next, *before, *list; /* BUCKETS, n, n, n: list[v] = its list, -1: in none */
    int32_t top, most, shift; /* gain g is in list (most - g) >> shift, or the last; most: weight of
                                 the heaviest vertex */
    /* what a pass did: vertex moved, and where its pulled neighbours end in the list */
    int32_t *moved, *pulled, *pulled_end;
    const mpki_nd_task *task;
    mpki_asking asking;
} state;

/* On failure parts are NULL. */
static state state_new(const mpki_nd_task *task, int32_t n) {
    state s = {.task = task, .asking = {task->ctx, "analyse", 0}};
    s.outside = MPKI_NEW(task->ctx, STAGE, 7 * (int64_t)n + BUCKETS, int32_t);
    if (!s.outside) return s;
    s.next = s.outside + n;
    s.before = s.outside + 2 * (int64_t)n;
    s.list = s.outside + 3 * (int64_t)n;
    s.moved = s.outside + 4 * (int64_t)n;
    s.pulled = s.outside + 5 * (int64_t)n;
    s.pulled_end = s.outside + 6 * (int64_t)n;
    s.head = s.outside + 7 * (int64_t)n;
    return s;
}

static void state_free(mpk_context *ctx, state *s) {
    mpki_release(ctx, s->outside);
}

/* Cancelled, or unwanted. */
static bool ended(const state *s) {
    return mpki_cancelled(s->asking.ctx) || mpki_nd_unwanted(s->task);
}

static void weigh(state *s) {
    s->part[0] = s->part[1] = s->part[2] = 0;
    for (int32_t v = 0; v < s->g->n; v++) s->part[s->where[v]] += s->g->weight[v];
}

/* ---- the queue ------------------------------------------------------------------------------- */

/* s works on g from now on. */
static void enter(state *s, const mpki_nd_graph *g) {
    int32_t heaviest = 1;
    for (int32_t v = 0; v < g->n; v++)
        if (g->weight[v] > heaviest) heaviest = g->weight[v];
    s->g = g;
    s->most = heaviest;
    for (s->shift = 0; (int64_t)heaviest * 16 >> s->shift >= BUCKETS; s->shift++) {}
}

static void queue_clear(state *s) {
    for (int32_t k = 0; k < BUCKETS; k++) s->head[k] = -1;
    s->top = BUCKETS;
}

static inline void enqueue(state *s, int32_t v) {
    int32_t k = (s->most - s->g->weight[v] + s->outside[v]) >> s->shift;
    if (k >= BUCKETS) k = BUCKETS - 1;
    s->list[v] = k;
    s->before[v] = -1;
    s->next[v] = s->head[k];
    if (s->head[k] >= 0) s->before[s->head[k]] = v;
    s->head[k] = v;
    if (k < s->top) s->top = k;
}

static inline void dequeue(state *s, int32_t v) {
    if (s->before[v] >= 0)
        s->next[s->before[v]] = s->next[v];
    else
        s->head[s->list[v]] = s->next[v];
    if (s->next[v] >= 0) s->before[s->next[v]] = s->before[v];
    s->list[v] = -1;
}

/* The vertex of largest gain, taken out; -1: none. */
static inline int32_t queue_pop(state *s) {
    while (s->top < BUCKETS && s->head[s->top] < 0) s->top++;
    if (s->top == BUCKETS) return -1;
    int32_t v = s->head[s->top];
    dequeue(s, v);
    return v;
}

/* ---- one pass -------------------------------------------------------------------------------- */

/* The first vertex of the separator from v on; n: there is none. */
static int32_t next_in_separator(const state *s, int32_t v) {
    const size_t left = (size_t)(s->g->n - v);
    const int8_t *found = left ? memchr(s->where + v, MPKI_ND_SEP, left) : NULL;
    return found ? (int32_t)(found - s->where) : s->g->n;
}

static int32_t neighbours_in(const state *s, int32_t v, int8_t part) {
    int32_t sum = 0;
    for (int32_t e = s->g->xadj[v]; e < s->g->xadj[v + 1]; e++)
        if (s->where[s->g->adj[e]] == part) sum += s->g->weight[s->g->adj[e]];
    return sum;
}

/* u comes from the other part into the separator. */
static void pull(state *s, int32_t u, int8_t to) {
    const mpki_nd_graph *g = s->g;
    int8_t other = (int8_t)(1 - to);
    int32_t w = g->weight[u], sum = 0;
    s->where[u] = MPKI_ND_SEP;
    s->part[other] -= w;
    s->part[MPKI_ND_SEP] += w;
    for (int32_t e = g->xadj[u]; e < g->xadj[u + 1]; e++) {
        int32_t x = g->adj[e];
        if (s->where[x] == other) {
            sum += g->weight[x];
        } else if (s->where[x] == MPKI_ND_SEP && s->list[x] >= 0) {
            dequeue(s, x);
            s->outside[x] -= w; /* its gain grows */
            enqueue(s, x);
        }
    }
    s->outside[u] = sum;
    enqueue(s, u);
}

static void move(state *s, int32_t v, int8_t to, int32_t *pulls) {
    const mpki_nd_graph *g = s->g;
    s->where[v] = to;
    s->part[MPKI_ND_SEP] -= g->weight[v];
    s->part[to] += g->weight[v];
    for (int32_t e = g->xadj[v]; e < g->xadj[v + 1]; e++) {
        int32_t u = g->adj[e];
        if (s->where[u] != 1 - to) continue;
        s->pulled[(*pulls)++] = u;
        pull(s, u, to);
    }
}

/* A partition is better if its heavier part is less overweight, then if its separator is lighter,
 * then if its parts differ less. */
typedef struct quality {
    int64_t over, separator, difference;
} quality;

static quality judge(const state *s) {
    int64_t a = s->part[0], b = s->part[1], most = (int64_t)(LOPSIDED * (double)(a + b)) + 1;
    int64_t heavy = a > b ? a : b;
    return (quality){heavy > most ? heavy - most : 0, s->part[2], a > b ? a - b : b - a};
}

static bool better(quality x, quality y) {
    if (x.over != y.over) return x.over < y.over;
    if (x.separator != y.separator) return x.separator < y.separator;
    return x.difference < y.difference;
}

/* Move separator vertices into part `to` as long as it pays or may; go back to the best state met.
 * Returns whether that is better than the first. */
static bool pass(state *s, int8_t to, int32_t run) {
    const mpki_nd_graph *g = s->g;
    int32_t n = g->n, moves = 0, pulls = 0, best_moves = 0;
    int64_t limit = (int64_t)(LOPSIDED * (double)(s->part[0] + s->part[1] + s->part[2])) + 1;
    quality best = judge(s);
    queue_clear(s);
    for (int32_t v = 0; (v = next_in_separator(s, v)) < n; v++) {
        s->outside[v] = neighbours_in(s, v, (int8_t)(1 - to));
        enqueue(s, v);
    }
    for (int32_t v; moves - best_moves < run && (v = queue_pop(s)) >= 0;) {
        if (s->part[to] + g->weight[v] > limit) continue;
        s->moved[moves] = v;
        move(s, v, to, &pulls);
        if (mpki_asks(&s->asking, 16 * (int64_t)(g->xadj[v + 1] - g->xadj[v]))) break;
        s->pulled_end[moves++] = pulls;
        if (mpki_nd_unwanted(s->task)) break;
        quality now = judge(s);
        if (better(now, best)) {
            best = now;
            best_moves = moves;
        }
    }
    while (moves > best_moves) { /* undo */
        int32_t v = s->moved[--moves], start = moves ? s->pulled_end[moves - 1] : 0;
        for (int32_t k = start; k < s->pulled_end[moves]; k++) {
            s->where[s->pulled[k]] = (int8_t)(1 - to);
            s->part[MPKI_ND_SEP] -= g->weight[s->pulled[k]];
            s->part[1 - to] += g->weight[s->pulled[k]];
        }
        s->where[v] = MPKI_ND_SEP;
        s->part[to] -= g->weight[v];
        s->part[MPKI_ND_SEP] += g->weight[v];
    }
    return best_moves > 0;
}

/* Passes in turn to the lighter part and to the other, until neither helps. */
static void refine(state *s) {
    int8_t to = s->part[0] <= s->part[1] ? MPKI_ND_A : MPKI_ND_B;
    int failures = 0;
    int32_t run = s->g->n / 20;
    run = run < LEAST_RUN ? LEAST_RUN : run > MOST_RUN ? MOST_RUN : run;
    for (int k = 0;
         k < PASSES && failures < 2 && !mpki_asks(&s->asking, 4 * (int64_t)s->g->n) && !ended(s);
         k++, to = (int8_t)(1 - to))
        failures = pass(s, to, run) ? 0 : failures + 1;
}

/* ---- the coarsest graph ---------------------------------------------------------------------- */

/* Everything in B but a random vertex in the separator: the pass that follows grows A around it,
 * always by the vertex that costs the separator least, and stops at the best of the balanced states
 * it comes through. Where a component is used up before half the weight is in A, another is begun.
 */
static void grow(state *s, uint64_t *random) {
    int32_t n = s->g->n;
    int32_t seed = (int32_t)(mpki_random_xorshift(random) % (uint32_t)n);
    memset(s->where, MPKI_ND_B, (size_t)n);
    weigh(s);
    while (!ended(s) && s->part[MPKI_ND_SEP] == 0 && s->part[MPKI_ND_A] < s->part[MPKI_ND_B]) {
        while (s->where[seed] != MPKI_ND_B) seed = seed + 1 < n ? seed + 1 : 0;
        s->where[seed] = MPKI_ND_SEP;
        s->part[MPKI_ND_B] -= s->g->weight[seed];
        s->part[MPKI_ND_SEP] += s->g->weight[seed];
        if (!pass(s, MPKI_ND_A, n)) break;
    }
}

/* The best of several starts, left in s->where. */
static void start(state *s, uint64_t *random, int8_t *keep) {
    quality best = {0};
    memset(keep, MPKI_ND_SEP, (size_t)s->g->n); /* where there is not even one */
    for (int k = 0; k < TRIES && !ended(s); k++) {
        grow(s, random);
        refine(s);
        quality now = judge(s);
        if (k > 0 && !better(now, best)) continue;
        best = now;
        memcpy(keep, s->where, (size_t)s->g->n);
    }
    memcpy(s->where, keep, (size_t)s->g->n);
    weigh(s);
}

/* From the coarsest level, whose partition is in s->where, to `finest`. spare: as long as s->where.
 */
static void uncoarsen(state *s, const mpki_nd_graph *finest, int8_t **spare) {
    while (s->g != finest) {
        const mpki_nd_graph *g = s->g->finer;
        int8_t *coarse = s->where;
        for (int32_t v = 0; v < g->n; v++) (*spare)[v] = coarse[g->map[v]];
        s->where = *spare;
        *spare = coarse;
        enter(s, g);
        refine(s);
    }
}

static const mpki_nd_graph *coarsest(const mpki_nd_graph *g) {
    while (g->coarser) g = g->coarser;
    return g;
}

/* One multilevel run on the middle graph, with levels below it and random numbers of its own. */
typedef struct attempt {
    mpki_nd_graph graph; /* the middle one, but for its map and the coarser ones */
    uint64_t random;
    int8_t *where;
    quality result;
    mpk_status status;
} attempt;

typedef struct attempts {
    const mpki_nd_task *task;
    const mpki_nd_graph *middle;
    attempt *each;
} attempts;

static void attempt_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const attempts *all = arg;
    attempt *a = &all->each[item];
    mpk_context *ctx = all->task->ctx;
    const mpki_nd_task task = {ctx, NULL, 0, all->task->stop};
    mpki_nd_graph *g = &a->graph;
    const int32_t n = all->middle->n, target = n / 8 < 40 ? 40 : n / 8 > 100 ? 100 : n / 8;
    (void)pool, (void)worker;
    state s = state_new(&task, n);
    int32_t *map = MPKI_NEW(ctx, STAGE, n, int32_t);
    int8_t *two = MPKI_NEW(ctx, STAGE, 2 * (int64_t)n, int8_t), *spare = two + n;
    a->status = s.outside && map && two ? MPK_OK : mpki_failed(ctx);
    if (mpk_failed(a->status)) goto done;
    *g = *all->middle;
    g->map = map;
    a->status = mpki_nd_coarsen(&task, g, target, &a->random);
    if (mpk_failed(a->status)) goto done;
    s.where = two;
    enter(&s, coarsest(g));
    start(&s, &a->random, spare);
    uncoarsen(&s, g, &spare);
    a->result = judge(&s);
    memcpy(a->where, s.where, (size_t)n);
    if (mpki_cancelled(ctx)) a->status = mpki_stopped(ctx, STAGE);
done:
    if (g->coarser) mpki_nd_graph_free(ctx, &g->coarser);
    state_free(ctx, &s);
    mpki_release(ctx, map);
    mpki_release(ctx, two);
}

/* The best of several runs, the first one of equal ones. */
static mpk_status attempt_all(const mpki_nd_task *task, const mpki_nd_graph *middle, int runs,
                              uint64_t *random, int8_t *best) {
    attempt each[RUNS_LARGE] = {{.status = MPK_OK}};
    const int64_t n = middle->n;
    mpk_status status = MPK_OK;
    int wins = 0;
    int8_t *where = MPKI_NEW(task->ctx, STAGE, runs * n, int8_t);
    if (!where) return mpki_failed(task->ctx);
    for (int k = 0; k < runs; k++) {
        each[k].random = runs == 1 ? *random : mpki_random_next(random) | 1;
        each[k].where = where + k * n;
    }
    attempts all = {task, middle, each};
    mpki_pool_for(task->pool, task->worker, runs, attempt_item, &all);
    for (int k = 0; k < runs && !mpk_failed(status); k++) {
        status = each[k].status;
        if (k > 0 && better(each[k].result, each[wins].result)) wins = k;
    }
    if (!mpk_failed(status)) memcpy(best, each[wins].where, (size_t)n);
    mpki_release(task->ctx, where);
    return status;
}

mpk_status mpki_nd_separate(const mpki_nd_task *task, mpki_nd_graph *graph, uint64_t *random,
                            int8_t *where) {
    mpk_context *ctx = task->ctx;
    mpk_status status = MPK_OK;
    mpki_nd_graph *middle = graph;
    state s = state_new(task, graph->n);
    int8_t *two = MPKI_NEW(ctx, STAGE, 2 * (int64_t)graph->n, int8_t), *spare = two + graph->n;
    if (!s.outside || !two) {
        status = mpki_failed(ctx);
        goto done;
    }
    s.where = two;
    if (graph->n > LARGE) {
        status = mpki_nd_coarsen(task, graph, graph->n / SHRINK, random);
        while (middle->coarser) middle = middle->coarser;
    }
    if (!mpk_failed(status))
        status =
            attempt_all(task, middle, graph->n > LARGE ? RUNS_LARGE : RUNS_SMALL, random, s.where);
    if (mpk_failed(status)) goto done;
    enter(&s, middle);
    weigh(&s);
    uncoarsen(&s, graph, &spare);
    if (mpki_cancelled(ctx)) status = mpki_stopped(ctx, STAGE);
    memcpy(where, s.where, (size_t)graph->n);
    if (mpki_nd_unwanted(task)) memset(where, MPKI_ND_SEP, (size_t)graph->n);
done:
    state_free(ctx, &s);
    mpki_release(ctx, two);
    return status;
}
