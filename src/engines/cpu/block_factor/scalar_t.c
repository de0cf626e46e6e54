/* SPDX-License-Identifier: BSD-3-Clause */
/* The only stage of a factorization whose blocks are all 1 x 1, column by column, left-looking: the
 * rules are those of phases_t.c and store_t.c, without a batch for each number. Where nothing is
 * updated the factor is that of SSOR. */
#include "kernels/alpha.h"
#include "kernels/block_pivot.h"
#include "entry.h"

#include <string.h>

static const char STAGE[] = "factorize";

/* Each value lies where a stored block's may. */
enum { STRIDE = 16 / sizeof(T), PROGRESS = 1 << 14, LINE = 64 / sizeof(T) };

typedef struct column {
    mpki_meta *meta;
    const mpki_ibcsr *x;
    T *value;      /* by block, STRIDE apart */
    T *pivots;     /* by frame: D, 0, D^-1, 0; then -M STRIDE apart */
    int64_t *next; /* by frame: the entry of its list that the next column to be updated has */
    T *acc;        /* of the column at work, by its list from the diagonal on */
    int32_t *slot; /* by frame: where it is in acc, or -1 */
} column;

/* acc := the column of A. */
static void load(const column *c, int32_t f) {
    const mpki_meta *meta = c->meta;
    const mpki_stages *s = meta->stages;
    const mpki_full *a = s->a;
    const int64_t first = c->x->diagonal[f], end = c->x->ptr[f + 1];
    for (int64_t e = first; e < end; e++) {
        c->slot[c->x->entry[e].other] = (int32_t)(e - first);
        c->acc[e - first] = t_make(0, 0);
    }
    const int32_t g = s->blocking->perm[f];
    for (int64_t e = a->ptr[g]; e < a->ptr[g + 1]; e++) {
        const int32_t at = c->slot[s->blocking->iperm[a->col[e]]];
        if (at < 0) continue;
        const T v = FN(entry_scaled)(meta, g, e); /* A(g, h); the column has A(h, g) */
        if (at == 0)
            c->acc[0] += FN(entry_shifted)(meta, v);
        else
            c->acc[at] += conj_if(s->symmetry == MPK_HERMITIAN, v);
    }
}

/* acc -= what earlier columns owe it. */
static void update(const column *c, int32_t f, mpki_meta_worker *me) {
    const mpki_ibcsr *x = c->x;
    const int hermitian = c->meta->stages->hermitian;
    for (int64_t e = x->ptr[f]; e < x->diagonal[f]; e++) {
        const int32_t k = x->entry[e].other;
        const int64_t begin = c->next[k]++, end = x->ptr[k + 1];
        const T l = c->value[x->entry[begin].block * STRIDE];
        if (t_re(l) == 0 && t_im(l) == 0) continue;
        const T w = t_mul(c->pivots[4 * (int64_t)k], conj_if(hermitian, l));
        for (int64_t i = begin; i < end; i++) {
            const int32_t at = c->slot[x->entry[i].other];
            if (at >= 0) c->acc[at] -= t_mul(c->value[x->entry[i].block * STRIDE], w);
        }
        me->flops += 2.0 * (double)(end - begin);
    }
}

/* Store an entry of L; 0: it is not kept. */
static void keep(const column *c, int64_t b, T l, mpki_meta_worker *me) {
    mpki_stages *s = c->meta->stages;
    const bool kept = !(t_re(l) == 0 && t_im(l) == 0);
    c->value[b * STRIDE] = l;
    c->meta->bf->lower[b] = (mpki_block){.data = &c->value[b * STRIDE],
                                         .nnz = kept,
                                         .rows = 1,
                                         .cols = 1,
                                         .format = kept ? MPKI_DENSE : MPKI_EMPTY,
                                         .scalar = MPKI_PRECISION};
    s->want[b] = 0;
    s->stored_blocks[b] = kept;
    me->kept += kept, me->dense += kept, me->fill_out += kept;
}

/* Factor the pivot. False: the factorization fails, as the worker says. */
static bool pivot(const column *c, int32_t f, mpki_meta_worker *me, T *factor) {
    T m[LINE] = {0}, n[LINE], d[2], dinv[2], diagonal[LINE] __attribute__((aligned(64))) = {0};
    mpki_work_pivot to = {.m = m, .n = n, .d = d, .dinv = dinv};
    const mpki_stages *s = c->meta->stages;
    T *mine = &c->pivots[4 * (int64_t)f], *minus = c->pivots + 4 * (int64_t)c->x->m + f * STRIDE;
    diagonal[0] = c->acc[0];
    FN(meta_factor)(c->meta, me, f, &to, diagonal);
    if (!c->meta->stages->reject[f]) mpki_count_pivots(me, &to.counts);
    if (s->reject[f]) return false;
    const R more = (R)(s->omega * (2 - s->omega)); /* 1 unless relaxed */
    mine[0] = FN(pivot_over)(d[0], more), mine[2] = FN(pivot_times)(dinv[0], more);
    mine[1] = mine[3] = t_make(0, 0);
    *minus = -m[0];
    *factor = t_mul(FN(pivot_times)(dinv[0], (R)s->omega), conj_if(s->hermitian, m[0]));
    mpki_frame *frame = &c->meta->bf->frame[f];
    frame->d = mine, frame->dinv = mine + 2;
    frame->m = (mpki_block){.data = minus,
                            .nnz = 1,
                            .rows = 1,
                            .cols = 1,
                            .format = MPKI_DENSE,
                            .scalar = MPKI_PRECISION};
    frame->n = frame->m;
    return true;
}

/* Divide by the pivot, drop, store. */
static void finish(const column *c, int32_t f, T factor, mpki_meta_worker *me) {
    const mpki_stages *s = c->meta->stages;
    const int64_t first = c->x->diagonal[f], end = c->x->ptr[f + 1];
    R sum = 1, most = 0; /* of squares; the unit diagonal belongs to the column */
    for (int64_t e = first + 1; e < end; e++) {
        T *l = &c->acc[e - first];
        *l = t_mul(*l, factor);
        const R size = t_abs(*l);
        sum += size * size;
        if (!(size <= most)) most = size;
    }
    me->flops += 2.0 * (double)(end - first - 1);
    if (!isfinite(most) && !mpk_failed(me->status))
        me->status = MPK_ERR_NUMERIC, me->failed_frame = f;
    const R bound = (R)s->options->drop_tolerance * r_sqrt(sum);
    const R nothing = (R)MPKI_NOTHING(sizeof(R)) * bound; /* store_t.c has the same */
    for (int64_t e = first + 1; e < end; e++) {
        T l = c->acc[e - first];
        const int64_t b = c->x->entry[e].block;
        if (!s->complete && t_abs(l) <= (s->capacity[b] >= 0 ? bound : nothing)) {
            me->dropped += t_abs(l) > nothing;
            l = t_make(0, 0);
        }
        keep(c, b, l, me);
    }
    for (int64_t e = first; e < end; e++) c->slot[c->x->entry[e].other] = -1;
    s->want[c->x->entry[first].block] = 0;
    s->final[f] = 1;
}

static mpk_status make(column *c) {
    mpki_meta *meta = c->meta;
    const mpki_ibcsr *x = c->x;
    int64_t longest = 1;
    for (int32_t f = 0; f < x->m; f++)
        if (x->ptr[f + 1] - x->diagonal[f] > longest) longest = x->ptr[f + 1] - x->diagonal[f];
    c->slot = meta->worker[0].slot;
    c->acc = MPKI_NEW(meta->ctx, STAGE, longest, T);
    c->next = MPKI_NEW(meta->ctx, STAGE, x->m, int64_t);
    if (!c->acc || !c->next) return mpki_failed(meta->ctx);
    c->value = mpki_arena_alloc(&meta->bf->arena, 16 * x->nblocks + 64);
    c->pivots = mpki_arena_alloc(&meta->bf->arena, x->m * (4 * (int64_t)sizeof(T) + 16) + 64);
    return c->value && c->pivots ? MPK_OK : mpki_failed(meta->ctx);
}

mpk_status FN(scalar_stage)(mpki_meta *meta) {
    column c = {.meta = meta, .x = &meta->stages->index};
    mpki_meta_worker *me = &meta->worker[0];
    mpk_status status = make(&c);
    for (int32_t k = 0; k < c.x->m && !mpk_failed(status); k++) {
        const int32_t f = c.x->frame[k];
        T factor;
        load(&c, f);
        c.next[f] = c.x->diagonal[f] + 1;
        if (!meta->stages->relaxed) update(&c, f, me);
        if (!pivot(&c, f, me, &factor)) break;
        finish(&c, f, factor, me);
        if (mpk_failed(me->status)) break;
        if (k % PROGRESS == 0 && mpki_progress(meta->ctx, STAGE, (k + 1.0) / c.x->m))
            status = mpki_error(meta->ctx, MPK_ERR_CANCELLED, STAGE, -1, "stopped on request");
    }
    mpki_release(meta->ctx, c.acc);
    mpki_release(meta->ctx, c.next);
    return mpk_failed(status) ? status : mpki_meta_failure(meta);
}
