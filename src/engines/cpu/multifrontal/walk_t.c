/* SPDX-License-Identifier: BSD-3-Clause */
/* The multifrontal walk over the tree. At each node: gather entries of A and the children's
 * contributions into a front, factor it, leave L where it is, pass the contribution to the parent.
 * Columns that a front rejects go to the parent too. The arithmetic of a node depends only on its
 * own data, and children are added in order: so the bits of the factor are the same for any number
 * of threads. */
#include "engines/cpu/front/low_rank.h"
#include "trapezoid_t.h"
#include "walk_t.h"

#include <string.h>

static void fail(walk *z, mpk_status status) {
    int ok = MPK_OK;
    atomic_compare_exchange_strong(&z->status, &ok, status);
}

/* ---- one node -------------------------------------------------------------------------------- */

static int64_t contribution_bytes(const walk *z, int32_t s) {
    int64_t m = z->tree->rptr[s + 1] - z->tree->rptr[s];
    return (z->kind->contribution(m) + 8) * (int64_t)sizeof(T);
}

static T *new_contribution(walk *z, int32_t s, mpki_pool *pool, int worker) {
    if (mpki_is_outer(z->tree, s)) return z->f->schur;
    if (z->kept) return (T *)(void *)(z->kept->contribution + z->kept->at[s]);
    const int64_t bytes = contribution_bytes(z, s);
    T *c = lent_get(z, worker, bytes);
    if (c && bytes > MPKI_SMALL) mpki_touch_shared(c, (size_t)bytes, pool, worker);
    return c;
}

static void release_contribution(walk *z, int worker, int32_t s) {
    if (!z->contribution[s] || z->kept) return;
    if (mpki_is_outer(z->tree, s)) { /* the factor's */
        z->contribution[s] = NULL;
        return;
    }
    lent_put(z, worker, z->contribution[s], contribution_bytes(z, s));
    z->contribution[s] = NULL;
}

static void release_children(walk *z, int worker, int32_t s) {
    for (int32_t k = z->tree->child_ptr[s]; k < z->tree->child_ptr[s + 1]; k++)
        release_contribution(z, worker, z->tree->child[k]);
}

/* The contributions that the front has taken whole, before its own comes. */
static void release_assembled(walk *z, int worker, int32_t s, int32_t own) {
    const mpki_tree_view *tree = z->tree;
    for (int32_t k = tree->child_ptr[s]; k < tree->child_ptr[s + 1]; k++) {
        const int32_t child = tree->child[k];
        const int64_t end = tree->rptr[child + 1];
        if (end > tree->rptr[child] && tree->rel[end - 1] < own)
            release_contribution(z, worker, child);
    }
}

/* Share of the work that is done, for progress; below 1, which is reported once, at the end. */
static double done_share(walk *z) {
    return fmin(atomic_load(&z->done_flops) / (z->tree->factor_flops + 1), 0.999);
}

static bool cancelled(void *self) {
    walk *z = self;
    return mpki_progress(z->f->ctx, "factorize", done_share(z));
}

/* Room for a node, and what comes into its fully summed part. */
static mpk_status gather_node(walk *z, int32_t s, mpki_pool *pool, int worker) {
    const mpki_tree_view *tree = z->tree;
    mpki_node *const nodes = z->f->node;
    const int32_t own = tree->sptr[s + 1] - tree->sptr[s];
    int32_t delayed = 0;
    /* most walks have none, and of thousands of leaves other workers have the nodes */
    const bool some = z->kept || atomic_load(&z->late) > 0;
    for (int32_t k = tree->child_ptr[s]; some && k < tree->child_ptr[s + 1]; k++) {
        const mpki_node *c = &nodes[tree->child[k]];
        delayed += c->w - c->nelim;
    }
    mpki_node *node = &nodes[s];
    int64_t none = 0, *room = z->kept ? &z->kept->room[s] : &none;
    *node = (mpki_node){.a = *room ? node->a : NULL,
                        .w = own + delayed,
                        .nrows = own + delayed + tree->rptr[s + 1] - tree->rptr[s]};
    if (z->kept) z->kept->tally[s] = (mpki_tally){.pivots.min_d = INFINITY};
    const mpk_status status = z->kind->storage(z, node, room, pool, worker);
    if (mpk_failed(status)) return status;
    z->kind->assemble(z, s, own, delayed, pool, worker);
    release_assembled(z, worker, s, own);
    return MPK_OK;
}

static mpk_status do_node(walk *z, int32_t s, mpki_pool *pool, int worker) {
    const mpki_tree_view *tree = z->tree;
    mpki_node *const nodes = z->f->node;
    mpki_tally *tally = z->kept ? &z->kept->tally[s] : &z->state[worker].tally;
    const int32_t own = tree->sptr[s + 1] - tree->sptr[s];
    const int64_t m = tree->rptr[s + 1] - tree->rptr[s];
    mpki_node *node = &nodes[s];
    bool assembled = false;
    mpk_status status = MPK_OK;
    if (own == 1 && tree->child_ptr[s] == tree->child_ptr[s + 1] && z->kind->leaf && !z->kept &&
        z->kind->leaf(z, s, worker, &assembled))
        return MPK_OK;
    if (!assembled) status = gather_node(z, s, pool, worker);
    if (mpk_failed(status)) return status;

    T *c = NULL;
    if (m > 0 && !FN(is_small_leaf)(z, s)) {
        c = z->contribution[s] = new_contribution(z, s, pool, worker);
        if (!c) return MPK_ERR_MEMORY;
    }
    const int64_t rejected_before = tally->pivots.rejected;
    status = z->kind->eliminate(z, s, c, pool, worker, &tally->pivots);
    tally->delayed += node->w - node->nelim;
    if (node->w > node->nelim) atomic_fetch_add(&z->late, node->w - node->nelim);
    const int64_t rejected = tally->pivots.rejected - rejected_before;
    if (rejected && atomic_fetch_add(&z->rejected, rejected) + rejected > z->stop_rejected)
        atomic_store(&z->runaway, true);
    if (mpk_failed(status)) return status;
    double flops = z->kind->flops(node->nelim, (double)(node->nrows - node->nelim));
    tally->flops += flops;
    const int64_t entries = z->kind->entries(node->nelim, node->nrows);
    tally->nnz += entries;
    if (!node->low) tally->low_nnz += entries, tally->low_flops += flops;
    if (node->nrows > tally->max_front) tally->max_front = (int32_t)node->nrows;

    if (c) z->kind->gather(z, s, own, node->w - own, c, m, pool, worker);
    if (node->low)
        status = FN(low_leave)(z, node, tally, pool, worker);
    else if (z->kind->leave && !z->kept)
        status = z->kind->leave(z, s, worker);
    if (mpk_failed(status)) return status;
    release_children(z, worker, s);
    if (flops > MPKI_FLOPS_COUNTED) {
        double done = atomic_load(&z->done_flops);
        while (!atomic_compare_exchange_weak(&z->done_flops, &done, done + flops)) {}
        if (done + flops > z->stop_flops) atomic_store(&z->runaway, true);
        if (cancelled(z)) return MPK_ERR_CANCELLED;
    }
    return MPK_OK;
}

static void run_task(mpki_pool *pool, int worker, void *arg, int64_t item);

/* Tasks that waited for this one's memory. */
static void give_ticket(walk *z, mpki_pool *pool, int32_t task) {
    enum { TOGETHER = 16 };
    int32_t ready[TOGETHER];
    const int32_t count = mpki_tickets_end(&z->tickets, task, TOGETHER, ready);
    for (int32_t k = 0; k < count; k++)
        mpki_pool_push(pool, z->f->memory.tasks.task[ready[k]].priority, run_task, z, ready[k]);
}

/* A task, and those above it that wait for it alone: a chain needs no other worker. */
static void run_task(mpki_pool *pool, int worker, void *arg, int64_t item) {
    walk *z = arg;
    const mpki_walk_memory *memory = &z->f->memory;
    for (const mpki_task *all = memory->tasks.task, *t = &all[item];; t = &all[t->parent]) {
        if (z->tickets.ctx && !mpki_tickets_begin(&z->tickets, (int32_t)(t - all))) return;
        for (int32_t s = t->first; s <= t->last; s++) {
            if (atomic_load(&z->status) != MPK_OK || atomic_load(&z->runaway)) return;
            if (!z->whole && !z->kept->touched[s]) continue;
            mpk_status status = do_node(z, s, t->top ? pool : NULL, worker);
            if (mpk_failed(status)) {
                fail(z, status);
                return;
            }
        }
        if (z->tickets.ctx) give_ticket(z, pool, (int32_t)(t - all));
        if (t->parent < 0 || atomic_fetch_sub(&memory->waits[t->parent], 1) != 1) return;
    }
}

/* ---- the walk -------------------------------------------------------------------------------- */

int64_t FN(walk_space)(int64_t n) {
    return FN(front_work_size)(n);
}

static void add_up(const walk *z, int threads, mpki_numeric_result *result) {
    *result = (mpki_numeric_result){.min_d = INFINITY,
                                    .threads = threads,
                                    .rejected = atomic_load(&z->rejected),
                                    .runaway = atomic_load(&z->runaway)};
    for (int t = 0; !z->kept && t < threads; t++) mpki_tally_add(result, &z->state[t].tally);
    for (int32_t s = 0; z->kept && s < z->tree->nsuper; s++)
        mpki_tally_add(result, &z->kept->tally[s]);
}

/* What untouched nodes count towards `stop`, as if they were done first; and all contributions. */
static void take_kept(walk *z) {
    const mpki_kept *kept = z->kept;
    double flops = 0;
    int64_t rejected = 0;
    for (int32_t s = 0; s < z->tree->nsuper; s++) {
        if (kept->at[s + 1] > kept->at[s]) z->contribution[s] = new_contribution(z, s, NULL, 0);
        if (z->whole || kept->touched[s]) continue;
        if (kept->tally[s].flops > MPKI_FLOPS_COUNTED) flops += kept->tally[s].flops;
        rejected += kept->tally[s].pivots.rejected;
    }
    atomic_store(&z->done_flops, flops);
    atomic_store(&z->rejected, rejected);
    atomic_store(&z->runaway, flops > z->stop_flops || rejected > z->stop_rejected);
}

/* Where memory is bound: what of it is there for contributions decides on what is begun. */
static mpk_status make_tickets(walk *z) {
    mpk_context *ctx = z->f->ctx;
    const int64_t left = mpki_memory_left(ctx);
    if (left == INT64_MAX || z->kept) return MPK_OK;
    int64_t *bytes = MPKI_ZNEW(ctx, "factorize", z->tree->nsuper, int64_t);
    if (!bytes) return mpki_failed(ctx);
    for (int32_t s = 0; s < z->tree->nsuper; s++)
        if (z->tree->rptr[s + 1] > z->tree->rptr[s] && !FN(is_small_leaf)(z, s) &&
            !mpki_is_outer(z->tree, s))
            bytes[s] = (int64_t)mpki_alloc_bytes((double)contribution_bytes(z, s));
    const int64_t slabs = 2 * (int64_t)z->f->memory.workers * MPKI_SLAB;
    const mpk_status status =
        mpki_tickets_make(ctx, z->tree, &z->f->memory.tasks, bytes, left - slabs, &z->tickets);
    mpki_release(ctx, bytes);
    return status;
}

/* By all workers of the plan; false on MPK_ERR_MEMORY. The factor learns whether they pay. */
static bool in_parallel(walk *z) {
    mpki_direct *f = z->f;
    const mpki_walk_memory *memory = &f->memory;
    const mpki_tasks *tasks = &memory->tasks;
    mpki_pool *pool = mpki_context_pool(f->ctx, memory->threads, tasks->count + 1);
    if (!pool || mpk_failed(make_tickets(z))) return false;
    const int before = mpki_pool_set_team(pool, memory->workers);
    const double busy_s = mpki_pool_count(pool).busy_s, begin_s = mpki_now_s();
    for (int32_t k = 0; k < tasks->count; k++) atomic_init(&memory->waits[k], tasks->task[k].waits);
    for (int32_t k = 0; k < tasks->count; k++)
        if (tasks->task[k].waits == 0)
            mpki_pool_push(pool, tasks->task[k].priority, run_task, z, k);
    mpki_pool_run(pool);
    const double wall_s = mpki_now_s() - begin_s;
    if (z->whole && atomic_load(&z->status) == MPK_OK && !atomic_load(&z->runaway))
        mpki_pace_learn(&f->pace, memory->workers, wall_s,
                        mpki_pool_count(pool).busy_s - busy_s + wall_s);
    mpki_pool_set_team(pool, before);
    return true;
}

/* What fronts in low rank need beside the others. MPK_OK | MPK_ERR_MEMORY */
static mpk_status make_low(walk *z, const mpki_pivot_rules *rules) {
    const int workers = z->f->memory.workers;
    const int64_t space = FN(low_space)();
    if (!mpki_direct_low(z->tree)) return MPK_OK;
    z->low_tolerance = (R)(rules->low_rank * sqrt(rules->size));
    z->low_space = MPKI_ZNEW(z->f->ctx, "factorize", workers, T *);
    for (int t = 0; z->low_space && t < workers; t++)
        z->works[t].low = z->low_space[t] = MPKI_NEW(z->f->ctx, "factorize", space, T);
    return mpki_failed(z->f->ctx);
}

static void free_low(walk *z) {
    mpki_direct *f = z->f;
    for (int t = 0; z->low_space && t < f->memory.workers; t++)
        mpki_release(f->ctx, z->low_space[t]);
    for (int32_t s = 0; z->low_space && s < z->tree->nsuper; s++) FN(low_release)(z, &f->node[s]);
    mpki_release(f->ctx, z->low_space);
}

/* The exponents of the scaling, two bytes each, in the order in which the walk asks for them. */
static mpk_status make_exponents(walk *z) {
    const mpki_tree_view *tree = z->tree;
    const int32_t all = tree->n + tree->outer;
    const double *scale = z->f->scale;
    z->exponent = MPKI_NEW(z->f->ctx, "factorize", all, int16_t);
    if (!z->exponent) return mpki_failed(z->f->ctx);
    bool near = true;
    for (int32_t k = 0; k < all; k++) {
        const double s = scale[tree->perm[k]];
        uint64_t bits;
        memcpy(&bits, &s, sizeof bits);
        near &= mpki_scale_near(s) & (bits << 12 == 0);
        z->exponent[k] = (int16_t)((int)(bits >> 52) - 1023);
    }
    if (near) return MPK_OK;
    mpki_release(z->f->ctx, z->exponent);
    z->exponent = NULL;
    return MPK_OK;
}

mpk_status FN(walk)(mpki_direct *f, const void *ax, const void *sax, const mpki_pivot_rules *rules,
                    const mpki_stop *stop, mpki_numeric_result *result) {
    mpk_context *ctx = f->ctx;
    const mpki_tree_view *tree = &f->tree;
    const bool general = tree->symmetry == MPK_GENERAL;
    walk z = {.f = f,
              .tree = tree,
              .kind = general ? &FN(general_node) : &FN(symmetric_node),
              .sax = sax,
              .ax = ax,
              .stop_flops = INFINITY,
              .stop_rejected = INT64_MAX};
    z.rules = (FN(front_rules)){.k = FN(cpu_kernels)(),
                                .hermitian = tree->symmetry == MPK_HERMITIAN,
                                .u = (R)rules->threshold,
                                .small = (R)rules->small,
                                .shift = (R)rules->shift,
                                .noise = (R)((double)R_EPS * rules->size),
                                .cancelled = cancelled,
                                .self = &z};
    if (z.rules.u < R_EPS) z.rules.u = R_EPS;
    if (stop) {
        z.stop_flops = stop->flops;
        z.stop_rejected = stop->rejected;
    }
    if (mpk_failed(mpki_recycler_init(ctx, "factorize", &z.recycler))) return mpki_failed(ctx);
    const mpki_walk_memory *memory = &f->memory;
    z.contribution = (T **)memory->contribution;
    z.kept = rules->keep ? f->kept : NULL;
    z.whole = !z.kept || z.kept->whole;
    const bool alone = !z.whole && z.kept->cost < MPKI_WORTH_THREADS;
    const int threads = alone ? 1 : memory->workers;
    z.state = MPKI_ZNEW(ctx, "factorize", threads, worker_state);
    z.works = MPKI_ZNEW(ctx, "factorize", threads, FN(front_work));
    if (!z.state || !z.works) goto done;
    for (int t = 0; t < threads; t++) {
        z.state[t].tally.pivots.min_d = INFINITY;
        z.state[t].runs = memory->runs[t];
        z.state[t].small = &memory->small[t];
        FN(front_work_set)(&z.works[t], (int64_t)tree->n + tree->outer, memory->space[t]);
    }
    if (!sax && mpk_failed(make_exponents(&z))) goto done;
    if (rules->low_rank > 0 && !general && mpk_failed(make_low(&z, rules))) goto done;
    if (z.kept) take_kept(&z);
    if (threads == 1) {
        for (int32_t s = 0; s < tree->nsuper && !atomic_load(&z.runaway); s++) {
            if (!z.whole && !z.kept->touched[s]) continue;
            mpk_status status = do_node(&z, s, NULL, 0);
            if (mpk_failed(status)) fail(&z, status);
            if (atomic_load(&z.status) != MPK_OK) break;
        }
    } else if (!in_parallel(&z)) {
        goto done;
    }
    add_up(&z, threads, result);
    if (atomic_load(&z.status) == MPK_ERR_NUMERIC)
        mpki_error(ctx, MPK_ERR_NUMERIC, "factorize", -1,
                   "a pivot column holds NaN or Inf: overflow");
    else if (atomic_load(&z.status) == MPK_ERR_CANCELLED)
        mpki_error(ctx, MPK_ERR_CANCELLED, "factorize", -1, "stopped on request");
done:
    mpki_release(ctx, z.exponent);
    free_low(&z);
    mpki_tickets_free(&z.tickets);
    for (int32_t s = 0; z.state && z.works && s < tree->nsuper; s++) {
        release_contribution(&z, 0, s);
        release_lent(&z, 0, s);
    }
    mpki_release(ctx, (void *)atomic_load(&z.lent));
    for (int32_t s = 0; z.kept && s < tree->nsuper; s++) z.contribution[s] = NULL;
    for (int t = 0; t < threads; t++) mpki_small_free(&memory->small[t]);
    mpki_recycler_free(&z.recycler);
    mpki_release(ctx, z.works);
    mpki_release(ctx, z.state);
    return mpki_failed(ctx);
}

/* S A S by ranges of columns. */
typedef struct scaling {
    const mpki_tree_view *tree;
    const T *x;
    T *y;
    const double *scale, *rows;
    bool near;
} scaling;

enum { SCALED_COLUMNS = 4096 };

static void scale_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const scaling *s = arg;
    const mpki_tree_view *tree = s->tree;
    const int64_t j0 = item * SCALED_COLUMNS, j1 = j0 + SCALED_COLUMNS;
    (void)pool, (void)worker;
    for (int64_t j = j0; j < j1 && j < tree->n; j++)
        for (int64_t k = tree->ap[j]; k < tree->ap[j + 1]; k++)
            s->y[k] = scaled(s->x[k], s->scale[j], s->rows[tree->ai[k]], s->near);
}

void FN(scale_values)(const mpki_tree_view *tree, const void *ax, const double *scale, void *sax,
                      mpki_pool *pool) {
    const T *x = ax;
    T *y = sax;
    const bool general = tree->symmetry == MPK_GENERAL;
    const double *rows = general ? scale + tree->n : scale;
    scaling s = {tree, x, y, scale, rows, mpki_scales_near(general ? 2 * tree->n : tree->n, scale)};
    mpki_pool_for(pool, 0, ((int64_t)tree->n + SCALED_COLUMNS - 1) / SCALED_COLUMNS, scale_item,
                  &s);
    for (int32_t j = 0; tree->outer && j < tree->n; j++)
        for (int64_t k = tree->outer_ap[j]; k < tree->outer_ap[j + 1]; k++)
            y[tree->nnz + k] =
                scaled(x[tree->nnz + k], scale[j], scale[tree->n + tree->outer_ai[k]], false);
}

void FN(get_schur)(const mpki_direct *f, void *out, int64_t ldc) {
    enum { ROWS = 256 };
    const double *scale = f->scale + f->tree.n;
    const int32_t m = f->tree.outer;
    const bool near = mpki_scales_near(m, scale);
    T *c = out;
    for (int32_t i0 = 0; i0 < m; i0 += ROWS) {
        const int32_t i1 = m - i0 < ROWS ? m : i0 + ROWS;
        double inverse[ROWS];
        for (int32_t i = i0; i < i1; i++) inverse[i - i0] = 1 / scale[i];
        for (int32_t j = 0; j < i1; j++) {
            const T *from = column_of(f->schur, mpki_leading(m), j);
            const double s = 1 / scale[j];
            for (int32_t i = i0 < j ? j : i0; i < i1; i++)
                c[i + j * ldc] = scaled(from[i], inverse[i - i0], s, near);
        }
    }
}

/* ---- what a caller may ask of D -------------------------------------------------------------- */

void FN(get_d)(const mpki_direct *f, void *out) {
    T *d = out;
    for (int32_t s = 0; s < f->tree.nsuper; s++) {
        const mpki_node *node = &f->node[s];
        memcpy(d, node->d, 2 * (size_t)node->nelim * sizeof(T));
        d += 2 * node->nelim;
    }
}

void FN(get_logdet)(const mpki_direct *f, double *out) {
    double log_abs = 0, re = 1, im = 0;
    const int hermitian = f->tree.symmetry == MPK_HERMITIAN;
    for (int32_t s = 0; s < f->tree.nsuper; s++) {
        const mpki_node *node = &f->node[s];
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
    for (int32_t j = 0; j < f->tree.n; j++) log_abs -= 2 * log(f->scale[j]);
    out[0] = log_abs, out[1] = re, out[2] = im;
}
