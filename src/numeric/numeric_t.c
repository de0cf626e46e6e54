/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal walk over the tree: gather A's entries and the children's contributions into a
 * front, factor it, leave L in place, hand the contribution to the parent. Columns that a front
 * rejects travel to the parent with it. A node's arithmetic depends only on its own data, and
 * children are added in order: so the factor has the same bits for any number of threads. */
#include "../backends/cpu/cpu.h"
#include "factor.h"
#include "recycle.h"

#include <float.h>
#include <string.h>

/* in what tree->cost counts: below it a second worker comes too late */
#define WORTH_THREADS 2e7

typedef struct run { /* consecutive rows of a child that stay consecutive in the parent */
    int32_t from, count, to;
} run;

typedef struct worker_state {
    mpki_pivots pivots;
    int64_t delayed;
    double flops;
    int64_t nnz;
    int32_t max_front;
    run *runs;
    mpki_small_blocks small;
} worker_state;

typedef struct walk {
    mpk_factor *fac;
    const mpk_analysis *an;
    const T *sax;
    FN(front_rules) rules;
    FN(front_work) * works;
    worker_state *state;
    mpki_recycler recycler;
    T **contribution; /* nsuper; of each node, NULL: none yet or none any more */
    _Atomic int status;
    _Atomic double done_flops;
    double stop_flops;
    _Atomic bool runaway;
    _Atomic int64_t rejected; /* by blocks, the same column as often as it was tried */
    int64_t stop_rejected;
} walk;

static void fail(walk *z, mpk_status status) {
    int ok = MPK_OK;
    atomic_compare_exchange_strong(&z->status, &ok, status);
}

static FN(front) front_of(const mpki_node *node) {
    return (FN(front)){node->nrows, node->w, node->nelim, node->ld0, node->a,
                       node->id,    node->d, node->dinv,  0,         NULL};
}

/* ---- assembly -----------------------------------------------------------------------------------
 */

/* Local rows of a child's contribution in its parent's front, as runs. */
static int32_t make_runs(const mpk_analysis *an, int32_t child, int32_t own, int32_t delayed,
                         run *runs) {
    const int32_t *rel = an->rel + an->rptr[child];
    int32_t m = (int32_t)(an->rptr[child + 1] - an->rptr[child]), count = 0;
    for (int32_t r = 0; r < m; r++) {
        int32_t to = rel[r] < own ? rel[r] : rel[r] + delayed;
        if (count && runs[count - 1].to + runs[count - 1].count == to)
            runs[count - 1].count++;
        else
            runs[count++] = (run){r, 1, to};
    }
    return count;
}

/* A child's contribution on its way into the parent: columns c0 .. c1-1 go to the parent's front
 * (f) or to the parent's own contribution (c). */
typedef struct gather {
    const T *from; /* the child's trapezoid */
    int64_t ldm;
    const run *runs;
    int32_t run_count, c0, c1, step;
    const int32_t *rel;
    int32_t own, delayed;
    const FN(front) * f; /* NULL: into c, */
    T *c;                /* the contribution of a parent with w fully summed columns */
    int64_t w, ldc;
} gather;

static T *column_of(T *trapezoid, int64_t ld0,
                    int64_t j) { /* address of (0, j), which may not exist */
    int64_t k = j / MPKI_PANEL, first = k * MPKI_PANEL;
    return trapezoid + mpki_panel_offset(ld0, k) + (j - first) * (ld0 - first) - first;
}

static void gather_columns(const gather *g, int32_t c0, int32_t c1) {
    int32_t first = 0;
    for (int32_t j = c0; j < c1; j++) {
        while (g->runs[first].from + g->runs[first].count <= j) first++;
        int64_t at = g->rel[j] < g->own ? g->rel[j] : g->rel[j] + g->delayed;
        T *to = g->f ? FN(front_at)(g->f, at, at) - at : column_of(g->c, g->ldc, at - g->w) - g->w;
        const T *from = column_of((T *)g->from, g->ldm, j);
        for (int32_t r = first; r < g->run_count; r++) {
            const run *u = &g->runs[r];
            T *restrict y = to + u->to;
            const T *restrict x = from + u->from;
            for (int32_t i = u->from < j ? j - u->from : 0; i < u->count; i++) y[i] += x[i];
        }
    }
}

static void gather_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    (void)worker;
    const gather *g = arg;
    int32_t c0 = g->c0 + (int32_t)item * g->step, c1 = c0 + g->step;
    gather_columns(g, c0, c1 < g->c1 ? c1 : g->c1);
}

static void gather_child(const walk *z, int32_t child, int32_t own, int32_t delayed,
                         const FN(front) * f, T *c, int64_t m, mpki_pool *pool, int worker) {
    const mpk_analysis *an = z->an;
    const int32_t *rel = an->rel + an->rptr[child];
    int32_t mc = (int32_t)(an->rptr[child + 1] - an->rptr[child]), split = 0;
    while (split < mc && rel[split] < own) split++;
    run *runs = z->state[worker].runs;
    gather g = {.from = z->contribution[child],
                .ldm = mpki_leading(mc),
                .runs = runs,
                .step = 64,
                .rel = rel,
                .own = own,
                .delayed = delayed,
                .f = f,
                .c = c,
                .w = own + delayed,
                .ldc = mpki_leading(m)};
    g.c0 = f ? 0 : split;
    g.c1 = f ? split : mc;
    if (g.c0 == g.c1) return;
    g.run_count = make_runs(an, child, own, delayed, runs);
    int64_t cols = g.c1 - g.c0;
    if (!pool || cols * mc < 200000)
        gather_columns(&g, g.c0, g.c1);
    else
        mpki_pool_for(pool, worker, (cols + g.step - 1) / g.step, gather_item, &g);
}

/* Columns that a child delayed: they become columns own + offset .. of the parent. */
static void gather_delayed(const walk *z, int32_t child, const FN(front) * f, int32_t own,
                           int32_t delayed, int32_t offset) {
    const mpk_analysis *an = z->an;
    const mpki_node *node = &z->fac->node[child];
    FN(front) g = front_of(node);
    const int32_t *rel = an->rel + an->rptr[child];
    int32_t m = (int32_t)(node->nrows - node->w);
    for (int32_t t = node->nelim; t < node->w; t++) {
        int32_t at = own + offset + t - node->nelim;
        f->id[at] = node->id[t];
        for (int32_t i = t; i < node->w; i++)
            *FN(front_at)(f, own + offset + i - node->nelim, at) += *FN(front_at)(&g, i, t);
        for (int32_t r = 0; r < m; r++) {
            T x = *FN(front_at)(&g, node->w + r, t);
            if (rel[r] < own)
                *FN(front_at)(f, at, rel[r]) += conj_if(z->rules.hermitian, x);
            else
                *FN(front_at)(f, rel[r] + delayed, at) += x;
        }
    }
}

static void scatter_entries(const walk *z, int32_t s, const FN(front) * f, int32_t own,
                            int32_t delayed) {
    const mpk_analysis *an = z->an;
    for (int64_t k = an->scatter_ptr[s]; k < an->scatter_ptr[s + 1]; k++) {
        mpki_scatter e = an->scatter[k];
        T x = z->sax[e.src];
        int32_t row = e.row;
        if (row < 0) row = ~row, x = t_conj(x);
        *FN(front_at)(f, row < own ? row : row + delayed, e.col) += x;
    }
}

/* ---- one node -----------------------------------------------------------------------------------
 */

static bool node_storage(walk *z, mpki_node *node) {
    const int64_t w = node->w, size = sizeof(T);
    const int64_t panel = mpki_trapezoid(node->nrows, w) * size;
    char *at =
        mpki_arena_alloc(&z->fac->arena, panel + 4 * w * size + w * (int64_t)sizeof(int32_t));
    if (!at) return false;
    node->a = at;
    node->d = at + panel;
    node->dinv = at + panel + 2 * w * size;
    node->id = (int32_t *)(at + panel + 4 * w * size);
    memset(node->a, 0, (size_t)panel);
    return true;
}

static int64_t contribution_bytes(const mpk_analysis *an, int32_t s) {
    int64_t m = an->rptr[s + 1] - an->rptr[s];
    return (mpki_trapezoid(m, m) + 8) * (int64_t)sizeof(T);
}

static T *new_contribution(walk *z, int worker, int32_t s) {
    const int64_t bytes = contribution_bytes(z->an, s);
    return bytes <= MPKI_SMALL ? mpki_small_get(&z->state[worker].small, bytes)
                               : mpki_recycler_get(&z->recycler, bytes);
}

static void release_contribution(walk *z, int worker, int32_t s) {
    if (!z->contribution[s]) return;
    const int64_t bytes = contribution_bytes(z->an, s);
    if (bytes <= MPKI_SMALL)
        mpki_small_put(&z->state[worker].small, z->contribution[s], bytes);
    else
        mpki_recycler_put(&z->recycler, z->contribution[s], bytes);
    z->contribution[s] = NULL;
}

static void release_children(walk *z, int worker, int32_t s) {
    for (int32_t k = z->an->child_ptr[s]; k < z->an->child_ptr[s + 1]; k++)
        release_contribution(z, worker, z->an->child[k]);
}

/* flops of eliminating e of w columns over nrows rows, as the analysis counts them */
static double front_flops(double nrows, double e) {
    /* sum over k < e of (r + r (r + 1)), r = nrows - 1 - k */
    double a = nrows - e, sum1 = (a + nrows - 1) * e / 2;
    double sum2 = (nrows - 1) * nrows * (2 * nrows - 1) / 6 - (a - 1) * a * (2 * a - 1) / 6;
    return sum2 + 2 * sum1;
}

static double done_share(walk *z) {
    return fmin(atomic_load(&z->done_flops) / (z->an->info.factor_flops + 1), 1);
}

static bool cancelled(void *self) {
    walk *z = self;
    return mpki_progress(z->fac->ctx, "factorize", done_share(z));
}

static mpk_status do_node(walk *z, int32_t s, mpki_pool *pool, int worker) {
    const mpk_analysis *an = z->an;
    mpk_factor *fac = z->fac;
    worker_state *state = &z->state[worker];
    const int32_t own = an->sptr[s + 1] - an->sptr[s];
    const int64_t m = an->rptr[s + 1] - an->rptr[s];
    int32_t delayed = 0;
    for (int32_t k = an->child_ptr[s]; k < an->child_ptr[s + 1]; k++) {
        const mpki_node *c = &fac->node[an->child[k]];
        delayed += c->w - c->nelim;
    }
    mpki_node *node = &fac->node[s];
    *node = (mpki_node){.w = own + delayed, .delayed = delayed, .nrows = own + delayed + m};
    node->ld0 = mpki_leading(node->nrows);
    if (!node_storage(z, node)) return MPK_ERR_MEMORY;
    FN(front) f = front_of(node);
    for (int32_t j = 0; j < own; j++) f.id[j] = an->sptr[s] + j;

    scatter_entries(z, s, &f, own, delayed);
    int32_t offset = 0;
    for (int32_t k = an->child_ptr[s]; k < an->child_ptr[s + 1]; k++) {
        int32_t c = an->child[k];
        int32_t late = fac->node[c].w - fac->node[c].nelim;
        if (late) gather_delayed(z, c, &f, own, delayed, offset);
        offset += late;
        if (z->contribution[c]) gather_child(z, c, own, delayed, &f, NULL, m, pool, worker);
    }

    const int64_t rejected_before = state->pivots.rejected;
    mpk_status status =
        FN(front_factor)(&f, &z->rules, &z->works[worker], pool, worker, &state->pivots);
    node->nelim = f.nelim;
    state->delayed += f.w - f.nelim;
    const int64_t rejected = state->pivots.rejected - rejected_before;
    if (rejected && atomic_fetch_add(&z->rejected, rejected) + rejected > z->stop_rejected)
        atomic_store(&z->runaway, true);
    if (status < 0) return status;
    double flops = front_flops((double)f.nrows, f.nelim);
    state->flops += flops;
    state->nnz += (int64_t)f.nelim * f.nrows - (int64_t)f.nelim * (f.nelim - 1) / 2;
    if (f.nrows > state->max_front) state->max_front = (int32_t)f.nrows;

    if (m > 0) {
        T *c = new_contribution(z, worker, s);
        if (!c) return MPK_ERR_MEMORY;
        z->contribution[s] = c;
        FN(front_update)(&f, &z->rules, z->works, c, pool, worker);
        for (int32_t k = an->child_ptr[s]; k < an->child_ptr[s + 1]; k++) {
            int32_t child = an->child[k];
            if (!z->contribution[child]) continue;
            gather_child(z, child, own, delayed, NULL, c, m, pool, worker);
            release_contribution(z, worker, child);
        }
    }
    release_children(z, worker, s);
    if (flops > 1e5) {
        double done = atomic_load(&z->done_flops);
        while (!atomic_compare_exchange_weak(&z->done_flops, &done, done + flops)) {}
        if (done + flops > z->stop_flops) atomic_store(&z->runaway, true);
        if (mpki_progress(fac->ctx, "factorize", (done + flops) / (an->info.factor_flops + 1)))
            return MPK_ERR_CANCELLED;
    }
    return MPK_OK;
}

static void run_task(mpki_pool *pool, int worker, void *arg, int64_t item) {
    walk *z = arg;
    const mpki_tree_task *t = &z->fac->memory.tree.task[item];
    for (int32_t s = t->first; s <= t->last; s++) {
        if (atomic_load(&z->status) != MPK_OK || atomic_load(&z->runaway)) return;
        mpk_status status = do_node(z, s, t->top ? pool : NULL, worker);
        if (status < 0) {
            fail(z, status);
            return;
        }
    }
    const mpki_walk_memory *memory = &z->fac->memory;
    if (t->parent >= 0 && atomic_fetch_sub(&memory->waits[t->parent], 1) == 1)
        mpki_pool_push(pool, memory->tree.task[t->parent].priority, run_task, z, t->parent);
}

/* ---- the walk
 * ------------------------------------------------------------------------------------ */

/* Make what the walk works in, unless the last factorization left it. */
static mpk_status prepare(mpk_factor *fac, int threads) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    mpki_walk_memory *m = &fac->memory;
    if (m->threads == threads) return MPK_OK;
    mpki_walk_memory_free(ctx, m);
    if (mpki_tree_build(ctx, an, threads, &m->tree) < 0) return mpki_failed(ctx);
    m->threads = threads;
    m->workers = m->tree.cost < WORTH_THREADS ? 1 : threads;
    m->waits = mpki_alloc(ctx, "factorize", m->tree.count + 1, sizeof *m->waits);
    m->contribution = MPKI_ZNEW(ctx, "factorize", an->nsuper + 1, void *);
    m->bench = MPKI_ZNEW(ctx, "factorize", m->workers, void *);
    m->runs = MPKI_ZNEW(ctx, "factorize", m->workers, void *);
    for (int t = 0; m->bench && m->runs && t < m->workers; t++) {
        m->bench[t] = mpki_alloc(ctx, "factorize", FN(front_work_size)(an->n), sizeof(T));
        m->runs[t] = MPKI_NEW(ctx, "factorize", an->info.max_front + 1, run);
    }
    if (mpki_failed(ctx) < 0) mpki_walk_memory_free(ctx, m);
    return mpki_failed(ctx);
}

static void add_up(const walk *z, int threads, mpki_numeric_result *result) {
    *result = (mpki_numeric_result){.pivots.min_d = INFINITY, .runaway = atomic_load(&z->runaway)};
    for (int t = 0; t < threads; t++) {
        const worker_state *s = &z->state[t];
        result->pivots.positive += s->pivots.positive;
        result->pivots.negative += s->pivots.negative;
        result->pivots.zero += s->pivots.zero;
        result->pivots.two_by_two += s->pivots.two_by_two;
        result->pivots.rejected += s->delayed;
        result->pivots.perturbed += s->pivots.perturbed;
        if (s->pivots.max_d > result->pivots.max_d) result->pivots.max_d = s->pivots.max_d;
        if (s->pivots.min_d < result->pivots.min_d) result->pivots.min_d = s->pivots.min_d;
        if (s->max_front > result->max_front) result->max_front = s->max_front;
        result->flops += s->flops;
        result->nnz += s->nnz;
    }
}

mpk_status FN(numeric)(mpk_factor *fac, const void *sax, double small, double shift,
                       const mpki_stop *stop, mpki_numeric_result *result) {
    mpk_context *ctx = fac->ctx;
    const mpk_analysis *an = fac->an;
    int threads = fac->options.threads;
    mpki_pool *pool = NULL;
    walk z = {.fac = fac, .an = an, .sax = sax, .stop_flops = INFINITY, .stop_rejected = INT64_MAX};
    z.rules = (FN(front_rules)){.k = FN(cpu_kernels)(),
                                .hermitian = an->symmetry == MPK_HERMITIAN,
                                .u = (R)fac->options.pivot_threshold,
                                .small = (R)small,
                                .shift = (R)shift,
                                .noise = (R)((double)R_EPS * fac->size),
                                .cancelled = cancelled,
                                .self = &z};
    if (z.rules.u < R_EPS) z.rules.u = R_EPS;
    if (stop) {
        z.stop_flops = stop->flops;
        z.stop_rejected = stop->rejected;
    }
    if (prepare(fac, threads) < 0 || mpki_recycler_init(ctx, &z.recycler) < 0)
        return mpki_failed(ctx);
    const mpki_walk_memory *memory = &fac->memory;
    const mpki_tree *tree = &memory->tree;
    threads = memory->workers;
    z.contribution = (T **)memory->contribution;
    z.state = MPKI_ZNEW(ctx, "factorize", threads, worker_state);
    z.works = MPKI_ZNEW(ctx, "factorize", threads, FN(front_work));
    if (!z.state || !z.works) goto done;
    for (int t = 0; t < threads; t++) {
        z.state[t].pivots.min_d = INFINITY;
        z.state[t].runs = memory->runs[t];
        z.state[t].small.ctx = ctx;
        FN(front_work_set)(&z.works[t], an->n, memory->bench[t]);
    }
    if (threads == 1) {
        for (int32_t s = 0; s < an->nsuper; s++) {
            mpk_status status = do_node(&z, s, NULL, 0);
            if (status < 0) fail(&z, status);
            if (atomic_load(&z.status) != MPK_OK || atomic_load(&z.runaway)) break;
        }
    } else {
        pool = mpki_context_pool(ctx, threads, tree->count + 1);
        if (!pool) goto done;
        for (int32_t k = 0; k < tree->count; k++)
            atomic_init(&memory->waits[k], tree->task[k].waits);
        for (int32_t k = 0; k < tree->count; k++)
            if (tree->task[k].waits == 0)
                mpki_pool_push(pool, tree->task[k].priority, run_task, &z, k);
        mpki_pool_run(pool);
    }
    add_up(&z, threads, result);
    if (atomic_load(&z.status) == MPK_ERR_NUMERIC)
        mpki_error(ctx, MPK_ERR_NUMERIC, "factorize", -1,
                   "a pivot column holds NaN or Inf: overflow");
    else if (atomic_load(&z.status) == MPK_ERR_CANCELLED)
        mpki_error(ctx, MPK_ERR_CANCELLED, "factorize", -1, "stopped on request");
done:
    for (int32_t s = 0; z.state && z.works && s < an->nsuper; s++) release_contribution(&z, 0, s);
    for (int t = 0; z.state && t < threads; t++) mpki_small_free(&z.state[t].small);
    mpki_recycler_free(&z.recycler);
    mpki_release(ctx, z.works);
    mpki_release(ctx, z.state);
    return mpki_failed(ctx);
}

/* By a power of two that a float may not hold, though the product does. near: see mpki_scale_near
 */
static inline T scaled(T x, double s, double t, bool near) {
    const double re = (double)t_re(x), im = (double)t_im(x);
    return near ? t_make((R)(re * (s * t)), (R)(im * (s * t)))
                : t_make((R)mpki_scaled(re, s, t), (R)mpki_scaled(im, s, t));
}

void FN(scale_values)(const mpk_analysis *an, const void *ax, const double *scale, void *sax) {
    const T *x = ax;
    T *y = sax;
    const bool near = mpki_scales_near(an->n, scale);
    for (int32_t j = 0; j < an->n; j++)
        for (int64_t k = an->ap[j]; k < an->ap[j + 1]; k++)
            y[k] = scaled(x[k], scale[j], scale[an->ai[k]], near);
}

void FN(moduli)(int64_t nnz, const void *ax, double *absval) {
    const T *x = ax;
    for (int64_t k = 0; k < nnz; k++) {
        absval[k] = (double)t_abs(x[k]);
        if (MPKI_COMPLEX && !isfinite(absval[k])) /* beyond the type, of parts that are not */
            absval[k] = fmin(hypot((double)t_re(x[k]), (double)t_im(x[k])), DBL_MAX);
    }
}

/* ---- what a caller may ask of D
 * ------------------------------------------------------------------ */

void FN(get_d)(const mpk_factor *fac, void *out) {
    T *d = out;
    for (int32_t s = 0; s < fac->an->nsuper; s++) {
        const mpki_node *node = &fac->node[s];
        memcpy(d, node->d, 2 * (size_t)node->nelim * sizeof(T));
        d += 2 * node->nelim;
    }
}

void FN(get_logdet)(const mpk_factor *fac, double *out) {
    double log_abs = 0, re = 1, im = 0;
    const int hermitian = fac->an->symmetry == MPK_HERMITIAN;
    for (int32_t s = 0; s < fac->an->nsuper; s++) {
        const mpki_node *node = &fac->node[s];
        const T *d = node->d;
        for (int32_t k = 0; k < node->nelim; k++) {
            double complex det = (double)t_re(d[2 * k]) + (double)t_im(d[2 * k]) * I;
            if (t_abs1(d[2 * k + 1]) > 0) {
                double complex off = (double)t_re(d[2 * k + 1]) + (double)t_im(d[2 * k + 1]) * I;
                double complex c = (double)t_re(d[2 * k + 2]) + (double)t_im(d[2 * k + 2]) * I;
                det = det * c - off * (hermitian ? conj(off) : off);
                k++;
            }
            double a = cabs(det);
            if (a == 0) continue;
            log_abs += log(a);
            double complex phase = (re + im * I) * (det / a);
            re = creal(phase), im = cimag(phase);
        }
    }
    for (int32_t j = 0; j < fac->an->n; j++) log_abs -= 2 * log(fac->scale[j]);
    out[0] = log_abs, out[1] = re, out[2] = im;
}
