/* SPDX-License-Identifier: BSD-3-Clause */
/* The schedule without dependencies on an accelerator (Thuerck 2019, algorithm 2): each sweep
 * computes all blocks from those of the sweep before, by the kernels of a stage. */
#include "offload.h"

#include <math.h>
#include <string.h>

static const char STAGE[] = "factorize";

/* Blocks there, both halves. */
typedef struct generation {
    void **block, **upper;
} generation;

typedef struct sweeper {
    generation given, fresh; /* A; what is being made. The values of the sweep before are o's own */
    void *unit, *start;      /* I; the D of the first sweep, whose L is A */
    mpki_updates batch;      /* all blocks and all updates of them */
} sweeper;

static void let_go(mpki_blocks *f, generation *g) {
    for (int half = 0; half <= f->offload->ldu; half++) {
        void **list = half ? g->upper : g->block;
        mpki_offload_let_go(f->offload->on->table, list, f->stages->index.nblocks);
        mpki_release(f->stages->ctx, list);
    }
}

static mpk_status make_generation(mpki_blocks *f, generation *g, bool memory) {
    const int64_t count = f->stages->index.nblocks;
    mpk_status status = MPK_OK;
    for (int half = 0; half <= f->offload->ldu; half++) {
        void ***list = half ? &g->upper : &g->block;
        *list = MPKI_ZNEW(f->stages->ctx, STAGE, count, void *);
        if (!*list) return mpki_failed(f->stages->ctx);
        for (int64_t k = 0; memory && k < count && !mpk_failed(status); k++)
            status = mpki_offload_block(f, &(*list)[k]);
    }
    if (!f->offload->ldu) g->upper = g->block;
    return status;
}

/* The engine's own generation and this one change places. */
static void exchange(struct mpki_offload *o, generation *g) {
    const generation own = {o->block, o->upper};
    o->block = g->block, o->upper = g->upper;
    *g = own;
}

static void free_sweeper(mpki_blocks *f, sweeper *w) {
    const mpk_accelerator *a = f->offload->on->table;
    let_go(f, &w->given);
    let_go(f, &w->fresh);
    mpki_offload_let_go(a, &w->unit, 1);
    mpki_offload_let_go(a, &w->start, 1);
    mpki_updates_free(f->stages->ctx, &w->batch);
}

/* All blocks are due, and A's are sent; memory for two generations. */
static mpk_status make_sweeper(mpki_blocks *f, sweeper *w) {
    mpki_stages *s = f->stages;
    const mpki_ibcsr *x = &s->index;
    memset(s->final, 1, (size_t)x->m);
    memset(s->want, 1, (size_t)x->nblocks);
    mpk_status status = mpki_updates_pull(s->ctx, x, s->final, s->want, x->m, x->frame, &w->batch);
    if (!mpk_failed(status)) status = mpki_offload_send(f);
    if (!mpk_failed(status)) status = make_generation(f, &w->given, true);
    if (!mpk_failed(status)) exchange(f->offload, &w->given); /* A is what was sent */
    if (!mpk_failed(status)) status = make_generation(f, &w->fresh, true);
    if (!mpk_failed(status)) status = mpki_offload_multiple(f, 1, &w->unit);
    if (!mpk_failed(status)) status = mpki_offload_multiple(f, 1 / s->size, &w->start);
    return status;
}

/* fresh := A, by products with I. */
static mpk_status copy_matrix(mpki_blocks *f, const sweeper *w) {
    struct mpki_offload *o = f->offload;
    const mpki_ibcsr *x = &f->stages->index;
    mpki_batch_lists *list = &o->batch;
    mpk_status status = MPK_OK;
    list->count = 0;
    for (int64_t b = 0; b < x->nblocks; b++) {
        const int halves = 1 + (o->ldu && x->rows[b] != x->cols[b]);
        for (int half = 0; half < halves && !mpk_failed(status); half++) {
            status = mpki_offload_add(f, list, b, mpki_col_frame(x, b), (mpki_half)half);
            if (mpk_failed(status)) return status;
            const int64_t k = list->count - 1;
            list->block[0][k] = (half ? w->fresh.upper : w->fresh.block)[b];
            list->block[1][k] = (half ? w->given.upper : w->given.block)[b];
            list->block[2][k] = w->unit;
            list->pivot[k] = o->minus;
        }
    }
    status = mpki_offload_run(f, MPKI_KERNEL_Z, list);
    return mpk_failed(status) ? status : mpki_offload_run(f, MPKI_KERNEL_D, list);
}

/* Some updates of half of a target, into fresh, from the values of the sweep before. */
static mpk_status add_updates(mpki_blocks *f, const sweeper *w, bool first, int64_t target,
                              mpki_half half, int64_t begin, int64_t end) {
    struct mpki_offload *o = f->offload;
    mpki_batch_lists *list = &o->batch;
    const generation own = {o->block, o->upper}, *from = first ? &w->given : &own;
    void *to = (half ? w->fresh.upper : w->fresh.block)[target];
    mpk_status status = MPK_OK;
    if (begin < end && mpki_offload_by_sums(f))
        status = mpki_offload_add_target(f, list, to, list->count);
    for (int64_t e = begin; e < end && !mpk_failed(status); e++) {
        const mpki_update *u = &w->batch.update[e];
        status = mpki_offload_add(f, list, target, mpki_col_frame(&f->stages->index, u->a), half);
        if (mpk_failed(status)) break;
        const int64_t at = list->count - 1;
        list->block[0][at] = to;
        list->block[1][at] = (half ? from->upper : from->block)[u->a];
        list->block[2][at] = (half ? from->block : from->upper)[u->b];
        if (first) list->pivot[at] = w->start;
    }
    return status;
}

/* What is listed is run. */
static mpk_status run_updates(mpki_blocks *f) {
    mpki_batch_lists *list = &f->offload->batch;
    mpk_status status = MPK_OK;
    if (list->targets) {
        status = mpki_offload_add_target(f, list, NULL, list->count);
        list->targets--;
    }
    if (!mpk_failed(status)) status = mpki_offload_run(f, MPKI_KERNEL_D, list);
    list->count = list->targets = 0;
    return status;
}

/* All updates: at once where the machine has atomics, or all of a target are one item, else a round
 * for each target's first one, for its second one, ... */
static mpk_status update(mpki_blocks *f, const sweeper *w, bool first) {
    enum { PORTION = 1 << 16 };
    struct mpki_offload *o = f->offload;
    const mpki_ibcsr *x = &f->stages->index;
    const mpki_updates *all = &w->batch;
    const bool at_once = mpki_offload_by_atomics(f) || mpki_offload_by_sums(f);
    mpk_status status = MPK_OK;
    bool more = true;
    o->batch.shared = mpki_offload_by_atomics(f);
    o->batch.count = o->batch.targets = 0;
    for (int64_t round = 0; more && !mpk_failed(status); round++) {
        more = false;
        for (int64_t t = 0; t < all->count && !mpk_failed(status); t++) {
            const int64_t target = all->target[t], begin = all->ptr[t] + round;
            const int64_t end = at_once ? all->ptr[t + 1] : begin + (begin < all->ptr[t + 1]);
            const bool both = o->ldu && x->rows[target] != x->cols[target];
            more |= !at_once && begin < all->ptr[t + 1];
            for (int half = 0; half <= both && !mpk_failed(status); half++)
                status = add_updates(f, w, first, target, (mpki_half)half, begin, end);
            if (!mpk_failed(status) && o->batch.count >= PORTION) status = run_updates(f);
        }
        if (!mpk_failed(status)) status = run_updates(f);
    }
    o->batch.shared = false;
    o->batch.count = o->batch.targets = 0;
    return status;
}

/* One sweep: new values, judged. */
static mpk_status sweep(mpki_blocks *f, sweeper *w, bool first) {
    mpki_stages *s = f->stages;
    const mpki_portion all = {
        .count = s->index.m, .frame = s->index.frame, .batch = w->batch, .level = -1};
    memset(s->reject, 0, (size_t)s->index.m);
    memset(s->final, 0, (size_t)s->index.m);
    mpk_status status = mpki_offload_forget_verdicts(f);
    if (!mpk_failed(status)) status = copy_matrix(f, w);
    if (!mpk_failed(status)) status = update(f, w, first);
    if (mpk_failed(status)) return status;
    exchange(f->offload, &w->fresh);
    status = mpki_offload_columns(f, &all);
    return mpk_failed(status) ? status : mpki_offload_read_verdicts(f);
}

static mpk_status sweeps(mpki_blocks *f, sweeper *w) {
    mpki_stages *s = f->stages;
    const mpk_options *o = s->options;
    double epsilon = o->jacobi_epsilon;
    mpk_status status = MPK_OK;
    s->last = true;
    for (int k = 1; !mpk_failed(status) && k <= o->sweeps; k++, epsilon *= o->jacobi_decay) {
        f->meta->level = k;
        f->meta->worker[0].perturbed = 0; /* of the last sweep */
        s->floor = epsilon * f->meta->norm1;
        status = sweep(f, w, k == 1);
        if (!mpk_failed(status) && mpki_progress(s->ctx, STAGE, (double)k / o->sweeps))
            status = mpki_error(s->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    return status;
}

mpk_status mpki_offload_sweeps(mpki_blocks *f, double push, int32_t *fail) {
    mpki_stages *s = f->stages;
    sweeper w = {0};
    const double bound = s->bound;
    (void)push; /* in the one stage that make() allows no frame is pushed back */
    *fail = 0;
    s->bound = INFINITY; /* a column is whatever its pivots make it */
    if (!(f->meta->norm1 >= 0)) f->meta->norm1 = MPKI_DISPATCH(f->scalar, meta_norms)(f->meta);
    mpki_offload_trace_begin(f);
    mpk_status status = make_sweeper(f, &w);
    if (!mpk_failed(status)) status = sweeps(f, &w);
    mpki_offload_trace_end(f);
    free_sweeper(f, &w);
    s->bound = bound;
    return status;
}
