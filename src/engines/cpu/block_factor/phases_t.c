/* SPDX-License-Identifier: BSD-3-Clause */
/* The three phases of the meta-algorithm on a chunk of frames (Thuerck 2021, fig. 8.1), each a
 * batch of operations on blocks that do not depend on each other: I, load and factor the pivots;
 * II, gather updates of the blocks below them and solve; III, drop and store (store_t.c). */
#include "engines/cpu/isa/cpu.h"
#include "core/random.h"
#include "core/trace.h"
#include "border.h"
#include "entry.h"

#include <string.h>

#define LD(cols) mpki_block_ld(cols, sizeof(T))

static const FN(block_kernels) * kernels(const mpki_meta *meta) {
    return meta->kernels;
}

void FN(meta_begin)(mpki_meta *meta) {
    meta->kernels = FN(cpu_block_kernels)();
}

/* ---- A --------------------------------------------------------------------------------------- */

/* Entry e of row g of a general matrix, scaled: of Q A, or A(col[e], g) of its transpose. */
static T general_entry(const mpki_meta *meta, const mpki_full *from, int32_t g, int64_t e) {
    const mpki_stages *stages = meta->stages;
    const int32_t row = from == stages->at ? from->col[e] : g;
    const int32_t col = from == stages->at ? g : from->col[e];
    const double s = stages->row_scale[MPKI_ROW(stages, row)], t = stages->scale[col];
    double re, im;
    t_parts(from->scalar, from->val, e, &re, &im);
    return t_make((R)mpki_scaled(re, s, t), (R)mpki_scaled(im, s, t));
}

/* slot[frame] := the item of that frame's block in the column of f; or clear these. */
static void set_slots(const mpki_meta *meta, int32_t f, int32_t *slot, bool clear) {
    const mpki_chunk_work *c = &meta->chunk;
    for (int64_t t = c->first[f]; t < c->first[f + 1]; t++)
        slot[mpki_row_frame(&meta->stages->index, c->batch->target[t])] =
            clear ? -1 : (int32_t)(t - c->first[f]);
}

/* Half of the work blocks of a frame's column += entries of a general matrix: the lower one from
 * the columns of Q A (from: at), the upper one, which is held transposed, from its rows. */
static void load_general(const mpki_meta *meta, int32_t f, const mpki_full *from,
                         const int32_t *slot, T *half) {
    const mpki_chunk_work *c = &meta->chunk;
    const mpki_blocking *b = meta->stages->blocking;
    const int32_t frame = c->frame[f], p0 = b->bptr[frame];
    const int ld = LD(mpki_frame_rows(b, frame));
    for (int32_t p = p0; p < b->bptr[frame + 1]; p++) {
        const int32_t g = b->perm[p];
        for (int64_t e = from->ptr[g]; e < from->ptr[g + 1]; e++) {
            const int32_t q = b->iperm[from->col[e]], across = b->of[q];
            if (slot[across] < 0) continue;
            T v = general_entry(meta, from, g, e);
            if (p == q) v = FN(entry_shifted)(meta, v);
            half[c->at[c->first[f] + slot[across]] + (int64_t)(q - b->bptr[across]) * ld +
                 (p - p0)] += v;
        }
    }
}

/* Work blocks of a frame's column := the scaled entries of A, or += where add. */
void FN(meta_load_column)(const mpki_meta *meta, int32_t f, bool add, int32_t *slot) {
    const mpki_chunk_work *c = &meta->chunk;
    const mpki_blocking *b = meta->stages->blocking;
    const mpki_full *a = meta->stages->a;
    const int32_t frame = c->frame[f], p0 = b->bptr[frame];
    const int ld = LD(mpki_frame_rows(b, frame));
    T *lower = (T *)c->flight, *upper = (T *)c->flight_u;
    for (int64_t t = c->first[f]; t < c->first[f + 1] && !add; t++) {
        const int32_t row = mpki_row_frame(&meta->stages->index, c->batch->target[t]);
        const size_t bytes = (size_t)mpki_frame_rows(b, row) * (size_t)ld * sizeof(T);
        memset(lower + c->at[t], 0, bytes);
        if (meta->stages->ldu) memset(upper + c->at[t], 0, bytes);
    }
    set_slots(meta, f, slot, false);
    if (meta->stages->at) {
        load_general(meta, f, meta->stages->at, slot, lower);
        load_general(meta, f, meta->stages->a, slot, upper);
        set_slots(meta, f, slot, true);
        return;
    }
    for (int32_t p = p0; p < b->bptr[frame + 1]; p++) {
        const int32_t g = b->perm[p];
        for (int64_t e = a->ptr[g]; e < a->ptr[g + 1]; e++) {
            const int32_t h = a->col[e], q = b->iperm[h], across = b->of[q];
            if (slot[across] < 0) continue;
            T v = FN(entry_scaled)(meta, g, e); /* A(g, h) */
            if (p == q) v = FN(entry_shifted)(meta, v);
            const int64_t at =
                c->at[c->first[f] + slot[across]] + (int64_t)(q - b->bptr[across]) * ld + (p - p0);
            lower[at] += conj_if(meta->stages->symmetry == MPK_HERMITIAN, v); /* A(h, g) */
            if (meta->stages->ldu) upper[at] += v;
        }
    }
    set_slots(meta, f, slot, true);
}

double FN(meta_norms)(mpki_meta *meta) {
    const mpki_blocking *b = meta->stages->blocking;
    const mpki_full *at = meta->stages->at, *a = at ? at : meta->stages->a;
    double most = 0;
    for (int32_t g = 0; g < a->n; g++) {
        double sum = 0;
        for (int64_t e = a->ptr[g]; e < a->ptr[g + 1]; e++)
            sum += (double)t_abs(at ? general_entry(meta, at, g, e) : FN(entry_scaled)(meta, g, e));
        if (sum > most) most = sum;
        double *own = &meta->stages->frame_norm[b->of[b->iperm[g]]];
        if (sum > *own) *own = sum;
    }
    return most;
}

/* ---- updates --------------------------------------------------------------------------------- */

/* The frame whose column holds block b of frame f's row. */
static int32_t across(const mpki_ibcsr *x, int64_t b, int32_t f) {
    return x->rows[b] == f ? x->cols[b] : x->rows[b];
}

/* Right operands of updates through block b in the row of frame f: D L_fk^T and, for LDU, those of
 * the other half. Returns their depth; 0: the product is zero. */
static int right_operands(const mpki_meta *meta, mpki_meta_worker *me, int64_t b, int32_t f) {
    const mpki_blocks *bf = meta->bf;
    const int ld = LD(mpki_frame_rows(meta->stages->blocking, f));
    const int32_t k = across(&meta->stages->index, b, f);
    const T *d = bf->frame[k].d;
    if (bf->lower[b].format == MPKI_EMPTY && bf->upper[b].format == MPKI_EMPTY) return 0;
    const mpki_block *for_lower = &bf->upper[b]; /* U_kf = (U^T)_fk */
    if (for_lower->format != MPKI_EMPTY)
        kernels(meta)->right(for_lower, d, meta->stages->hermitian, me->w, ld);
    if (meta->stages->ldu && bf->lower[b].format != MPKI_EMPTY)
        kernels(meta)->right(&bf->lower[b], d, 0, me->wu, ld);
    return mpki_frame_rows(meta->stages->blocking, k);
}

static void downdate(const mpki_meta *meta, mpki_meta_worker *me, const mpki_update *u, int cols,
                     T *lower, T *upper) {
    const mpki_blocks *bf = meta->bf;
    const mpki_block *l = &bf->lower[u->a], *ut = &bf->upper[u->a];
    const int ld = LD(cols);
    if (l->format != MPKI_EMPTY && bf->upper[u->b].format != MPKI_EMPTY) {
        kernels(meta)->downdate(l, me->w, ld, cols, lower, ld);
        me->flops += 2.0 * l->rows * l->cols * cols;
    }
    if (meta->stages->ldu && ut->format != MPKI_EMPTY && bf->lower[u->b].format != MPKI_EMPTY) {
        kernels(meta)->downdate(ut, me->wu, ld, cols, upper, ld);
        me->flops += 2.0 * ut->rows * ut->cols * cols;
    }
}

/* All updates of the items t0 .. t1-1 of one column. The updates of each item are sorted by the
 * place of their column k, so all items advance together and share the right operands. */
void FN(meta_pull)(const mpki_meta *meta, mpki_meta_worker *me, int32_t frame, int64_t t0,
                   int64_t t1) {
    const mpki_chunk_work *c = &meta->chunk;
    const mpki_ibcsr *x = &meta->stages->index;
    const int cols = mpki_frame_rows(meta->stages->blocking, frame);
    int64_t cursor[GROUP];
    for (int64_t t = t0; t < t1; t++) cursor[t - t0] = c->batch->ptr[t];
    for (;;) {
        int32_t place = INT32_MAX;
        int64_t b = -1;
        for (int64_t t = t0; t < t1; t++) {
            if (cursor[t - t0] == c->batch->ptr[t + 1]) continue;
            const int64_t candidate = c->batch->update[cursor[t - t0]].b;
            const int32_t at = x->place[across(x, candidate, frame)];
            if (at < place) place = at, b = candidate;
        }
        if (b < 0) return;
        const int depth = right_operands(meta, me, b, frame);
        for (int64_t t = t0; t < t1; t++) {
            if (cursor[t - t0] == c->batch->ptr[t + 1]) continue;
            const mpki_update *u = &c->batch->update[cursor[t - t0]];
            if (u->b != b) continue;
            cursor[t - t0]++;
            if (depth)
                downdate(meta, me, u, cols, (T *)c->flight + c->at[t],
                         meta->stages->ldu ? (T *)c->flight_u + c->at[t] : NULL);
        }
    }
}

/* ---- phase I --------------------------------------------------------------------------------- */

/* Pivots of an earlier stage, made dense again. */
static void recall(const mpki_meta *meta, int32_t frame, const mpki_work_pivot *to) {
    const mpki_frame *from = &meta->bf->frame[frame];
    const int w = mpki_frame_rows(meta->stages->blocking, frame);
    for (int half = 0; half <= meta->stages->ldu; half++) {
        T *m = half ? to->n : to->m;
        kernels(meta)->unpack(half ? &from->n : &from->m, m, LD(w));
        for (int64_t k = 0; k < (int64_t)w * LD(w); k++) m[k] = -m[k];
    }
    memcpy(to->d, from->d, 2 * (size_t)w * sizeof(T));
    memcpy(to->dinv, from->dinv, 2 * (size_t)w * sizeof(T));
    for (int k = 0; to->own && k < 2 * LD(w); k++) ((R *)to->own)[k] = 1; /* the unit diagonal */
}

/* Random diagonals of a butterfly: exp(r/10), r in [-1/2, 1/2], as Baboulin et al. choose them. */
static void random_butterfly(uint64_t state, int w, R *butterfly) {
    for (int k = 0; k < 2 * w; k++) {
        const double unit = mpki_random_unit(mpki_random_lcg(&state));
        butterfly[k] = (R)exp((unit - 0.5) / 10);
    }
}

/* Make pivots that were replaced by the floor as large as the matrix: nothing else is known of
 * their rows where nothing updates them. */
static void lift(const mpki_stages *s, int w, T *d, T *dinv) {
    const R floor = (R)s->floor * (1 + 8 * R_EPS), by = (R)(s->size / s->floor);
    for (int k = 0; k < w; k++) {
        if (t_abs1(d[2 * k + 1]) > 0) {
            k++;
        } else if (t_abs(d[2 * k]) <= floor) {
            d[2 * k] *= by;
            dinv[2 * k] *= 1 / by;
        }
    }
}

/* Factor the diagonal work block of a frame. A frame that may still be rejected is rejected where a
 * pivot had to be replaced or is zero, or where M grows beyond 1/sqrt(eps). */
void FN(meta_factor)(mpki_meta *meta, mpki_meta_worker *me, int32_t frame, mpki_work_pivot *to,
                     void *diagonal) {
    const mpki_blocking *b = meta->stages->blocking;
    const int w = mpki_frame_rows(b, frame), ld = LD(w);
    int32_t pair[MPKI_BLOCK_MAX];
    R butterfly[2 * MPKI_BLOCK_MAX];
    if (meta->stages->pair)
        for (int r = 0; r < w; r++)
            pair[r] = meta->stages->pair[b->bptr[frame] + r] - b->bptr[frame];
    /* one that was rejected, or all where none is */
    const bool randomise =
        meta->stages->options->butterfly == MPK_ON &&
        (meta->stages->index.stage[frame] > 0 || meta->stages->options->stages == 1);
    if (randomise)
        random_butterfly((uint64_t)meta->stages->options->seed + /* another one in each stage */
                             (uint64_t)frame * MPKI_GOLDEN +
                             mpki_random_mix((uint64_t)meta->stages->index.stage[frame] - 1),
                         w, butterfly);
    FN(pivot_report) report;
    kernels(meta)->factor(w, diagonal, ld, (int)meta->stages->options->factor_type,
                          (int)meta->stages->pivoting, meta->stages->pair ? pair : NULL,
                          (R)mpki_floor_of(meta->stages, frame), randomise ? butterfly : NULL,
                          meta->stages->hermitian, to->m, to->n, to->d, to->dinv, me->work,
                          &report);
    if (report.failed >= 0 &&
        (meta->stages->last || meta->stages->options->factor_type == MPK_TYPE_LLT)) {
        if (report.indefinite) {
            if (frame < me->broken_frame) me->broken_frame = frame;
        } else if (!mpk_failed(me->status) ||
                   (me->status == MPK_ERR_NUMERIC && frame < me->failed_frame)) {
            me->status = MPK_ERR_NUMERIC, me->failed_frame = frame;
        }
        meta->stages->reject[frame] = 1;
    } else if (!meta->stages->last && (report.failed >= 0 || report.perturbed || report.zero ||
                                       !(report.norm_m <= 1 / r_sqrt(R_EPS)))) {
        meta->stages->reject[frame] = 1;
    }
    if (meta->stages->lifted && report.perturbed) lift(meta->stages, w, to->d, to->dinv);
    to->counts = (mpki_pivot_counts){.perturbed = report.perturbed,
                                     .two_by_two = report.two_by_two,
                                     .positive = report.positive,
                                     .negative = report.negative,
                                     .zero = report.zero,
                                     .smallest = (double)report.smallest,
                                     .largest = (double)report.largest};
}

/* The squared norms of the columns of L_ii = C M^T D^-1, of an accepted pivot; kept: C, which is
 * overwritten. */
static void own_norms(const mpki_meta *meta, mpki_meta_worker *me, int w, const mpki_work_pivot *of,
                      T *kept, T *kept_u) {
    R *own = of->own;
    memset(own, 0, 2 * (size_t)LD(w) * sizeof(R));
    kernels(meta)->solve(w, w, kept, LD(w), of->n, LD(w), of->dinv, meta->stages->hermitian,
                         me->work, own);
    if (meta->stages->ldu)
        kernels(meta)->solve(w, w, kept_u, LD(w), of->m, LD(w), of->dinv, 0, me->work, own + LD(w));
}

/* Factor a frame's pivot, with the norms of its own columns where they are asked for. */
static void factor_with_norms(mpki_meta *meta, mpki_meta_worker *me, int32_t frame,
                              mpki_work_pivot *to, T *diagonal) {
    const int w = mpki_frame_rows(meta->stages->blocking, frame), ld = LD(w);
    T *kept = me->block, *kept_u = kept + (int64_t)meta->widest * meta->widest;
    if (to->own) memcpy(kept, diagonal, (size_t)w * (size_t)ld * sizeof(T));
    for (int r = 0; to->own && meta->stages->ldu && r < w; r++) /* U_ii^T is that of C^T */
        for (int c = 0; c < w; c++) kept_u[r * ld + c] = diagonal[c * ld + r];
    FN(meta_factor)(meta, me, frame, to, diagonal);
    if (to->own && !meta->stages->reject[frame]) own_norms(meta, me, w, to, kept, kept_u);
}

/* A frame of the dense pivot: what was gathered goes there, and M = D = I. */
static void give_to_border(mpki_meta *meta, int32_t f) {
    const mpki_chunk_work *c = &meta->chunk;
    const int w = mpki_frame_rows(meta->stages->blocking, c->frame[f]);
    mpki_work_pivot *to = &c->pivot[f];
    T *m = to->m, *d = to->d, *dinv = to->dinv;
    to->counts = (mpki_pivot_counts){.smallest = INFINITY}; /* border_t.c counts */
    FN(border_take)(meta, c->first[f], c->first[f] + 1);
    memset(m, 0, (size_t)w * (size_t)LD(w) * sizeof(T));
    for (int k = 0; k < w; k++) {
        m[k * LD(w) + k] = d[2 * k] = dinv[2 * k] = t_make(1, 0);
        d[2 * k + 1] = dinv[2 * k + 1] = t_make(0, 0);
    }
}

typedef struct phase {
    mpki_meta *meta;
    bool pushed; /* updates were pushed into the work blocks: nothing to pull */
} phase;

static void pivot_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const phase *ph = arg;
    mpki_meta *meta = ph->meta;
    mpki_chunk_work *c = &meta->chunk;
    mpki_meta_worker *me = &meta->worker[worker];
    const int32_t f = (int32_t)item, frame = c->frame[f];
    if (c->first[f] == c->first[f + 1] || mpki_stop_wanted(meta->ctx, "factorize")) return;
    FN(meta_load_column)(meta, f, ph->pushed, me->slot);
    if (meta->stages->final[frame]) { /* accepted in an earlier stage: only rows below are due */
        recall(meta, frame, &c->pivot[f]);
        return;
    }
    if (!ph->pushed) FN(meta_pull)(meta, me, frame, c->first[f], c->first[f] + 1);
    if (mpki_in_border(meta->bf, frame))
        give_to_border(meta, f);
    else
        factor_with_norms(meta, me, frame, &c->pivot[f], (T *)c->flight + c->at[c->first[f]]);
}

/* ---- phase II -------------------------------------------------------------------------------- */

/* The larger modulus; NaN stays. */
static R larger(R a, R b) {
    return a >= b || a != a ? a : b;
}

/* L_ji = C_ji M^T D^-1 (LDU: N in place of M), and U_ij^T = C_ij^T M^T D^-1. */
void FN(meta_solve)(mpki_meta *meta, mpki_meta_worker *me, int64_t g, bool pushed) {
    mpki_chunk_work *c = &meta->chunk;
    const int32_t frame = c->frame[c->group_frame[g]];
    R *norm2 = (R *)c->norm2 + g * 2 * meta->widest;
    memset(norm2, 0, 2 * (size_t)meta->widest * sizeof(R));
    c->largest[g] = 0;
    if (meta->stages->reject[frame]) return;
    const int w = mpki_frame_rows(meta->stages->blocking, frame), ld = LD(w);
    const mpki_work_pivot *pivot = &c->pivot[c->group_frame[g]];
    if (!pushed) FN(meta_pull)(meta, me, frame, c->group[g], c->group_end[g]);
    if (mpki_in_border(meta->bf, frame)) {
        FN(border_take)(meta, c->group[g], c->group_end[g]);
        return;
    }
    for (int64_t t = c->group[g]; t < c->group_end[g]; t++) {
        const int rows = mpki_frame_rows(meta->stages->blocking,
                                         mpki_row_frame(&meta->stages->index, c->batch->target[t]));
        R most = kernels(meta)->solve(rows, w, (T *)c->flight + c->at[t], ld, pivot->n, ld,
                                      pivot->dinv, meta->stages->hermitian, me->work, norm2);
        c->largest[g] = (double)larger((R)c->largest[g], most);
        me->flops += 2.0 * rows * w * w;
        if (!meta->stages->ldu) continue;
        most = kernels(meta)->solve(rows, w, (T *)c->flight_u + c->at[t], ld, pivot->m, ld,
                                    pivot->dinv, 0, me->work, norm2 + meta->widest);
        c->largest[g] = (double)larger((R)c->largest[g], most);
        me->flops += 2.0 * rows * w * w;
    }
}

static void solve_item(mpki_pool *pool, int worker, void *arg, int64_t g) {
    (void)pool;
    const phase *ph = arg;
    if (mpki_stop_wanted(ph->meta->ctx, "factorize")) return;
    FN(meta_solve)(ph->meta, &ph->meta->worker[worker], g, ph->pushed);
}

void FN(meta_chunk)(mpki_meta *meta, bool pushed) {
    phase ph = {meta, pushed};
    const int32_t level = meta->level;
    double began = mpki_trace_begin(meta->ctx);
    mpki_pool_for(meta->pool, 0, meta->chunk.count, pivot_item, &ph);
    mpki_trace_end(meta->ctx, MPKI_LANE_CALLER, "I pivots", level, began);
    began = mpki_trace_begin(meta->ctx);
    mpki_pool_for(meta->pool, 0, meta->chunk.groups, solve_item, &ph);
    mpki_trace_end(meta->ctx, MPKI_LANE_CALLER, "II solve", level, began);
    if (mpki_cancelled(meta->ctx)) return; /* nothing there that can be stored */
    began = mpki_trace_begin(meta->ctx);
    FN(meta_store)(meta);
    mpki_trace_end(meta->ctx, MPKI_LANE_CALLER, "III store", level, began);
}

/* ---- push ------------------------------------------------------------------------------------ */

typedef struct push {
    mpki_meta *meta;
    const mpki_updates *batch;
    const int64_t *at;
    T *flight, *flight_u;
    bool atomic;
} push;

/* to += from, by atomic additions of reals. */
static void add_atomically(int64_t count, const T *from, T *to) {
    const R *x = (const R *)from;
    R *y = (R *)to;
    for (int64_t k = 0; k < count * (int64_t)(sizeof(T) / sizeof(R)); k++) {
        if (x[k] == 0) continue;
        R old, sum;
        __atomic_load(&y[k], &old, __ATOMIC_RELAXED);
        do {
            sum = old + x[k];
        } while (!__atomic_compare_exchange(&y[k], &old, &sum, true, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED));
    }
}

static void push_item(mpki_pool *pool, int worker, void *arg, int64_t t) {
    (void)pool;
    const push *p = arg;
    mpki_meta *meta = p->meta;
    mpki_meta_worker *me = &meta->worker[worker];
    if (mpki_stop_wanted(meta->ctx, "factorize")) return;
    const mpki_ibcsr *x = &meta->stages->index;
    const int64_t b = p->batch->target[t];
    const int32_t col = mpki_col_frame(x, b), row = mpki_row_frame(x, b);
    const int cols = mpki_frame_rows(meta->stages->blocking, col);
    const int64_t count = (int64_t)mpki_frame_rows(meta->stages->blocking, row) * LD(cols);
    T *lower = p->flight + p->at[b], *upper = meta->stages->ldu ? p->flight_u + p->at[b] : NULL;
    for (int64_t e = p->batch->ptr[t]; e < p->batch->ptr[t + 1]; e++) {
        const mpki_update *u = &p->batch->update[e];
        if (!right_operands(meta, me, u->b, col)) continue;
        if (!p->atomic) {
            downdate(meta, me, u, cols, lower, upper);
            continue;
        }
        T *mine = me->block, *mine_u = (T *)me->block + (int64_t)meta->widest * meta->widest;
        memset(mine, 0, (size_t)count * sizeof(T));
        if (upper) memset(mine_u, 0, (size_t)count * sizeof(T));
        downdate(meta, me, u, cols, mine, mine_u);
        add_atomically(count, mine, lower);
        if (upper) add_atomically(count, mine_u, upper);
    }
}

void FN(meta_push)(mpki_meta *meta, const mpki_updates *batch, const int64_t *at, void *flight,
                   void *flight_u, bool atomic) {
    push p = {meta, batch, at, flight, flight_u, atomic};
    mpki_pool_for(meta->pool, 0, batch->count, push_item, &p);
}
