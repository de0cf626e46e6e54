/* SPDX-License-Identifier: BSD-3-Clause */
/* A node of a symmetric matrix whose L is kept in low rank: its front is lent for as long as it is
 * at work, what stays of it is blocks (engines/cpu/front/low_rank.h). */
#include "engines/cpu/front/low_rank.h"
#include "front_of_t.h"
#include "walk_t.h"

#include <string.h>

static int64_t front_bytes(const mpki_node *node) {
    return (mpki_trapezoid(node->nrows, node->w) + 8) * (int64_t)sizeof(T);
}

static void *room(void *self, int64_t bytes) {
    walk *z = self;
    return mpki_arena_alloc(&z->f->arena, bytes);
}

mpk_status FN(low_storage)(walk *z, mpki_node *node, mpki_pool *pool, int worker) {
    const int64_t w = node->w, count = mpki_low_blocks(node->nrows, w);
    const int64_t blocks = (w + MPKI_PANEL - 1) / MPKI_PANEL * count;
    const int64_t numbers = 4 * w * (int64_t)sizeof(T), names = (w + 1) / 2 * 8;
    const int64_t table = blocks * (int64_t)sizeof(mpki_low_block);
    char *at = mpki_arena_alloc(&z->f->arena, numbers + names + table + (int64_t)sizeof *node->low);
    FN(low_rank) *low = MPKI_ZNEW(z->f->ctx, "factorize", 1, FN(low_rank));
    T *a = at && low ? mpki_recycler_get(&z->recycler, front_bytes(node)) : NULL;
    if (!a) {
        mpki_release(z->f->ctx, low);
        return MPK_ERR_MEMORY;
    }
    node->a = a;
    node->d = at;
    node->low = (mpki_low_node *)(void *)(at + numbers + names);
    *node->low =
        (mpki_low_node){.block = (mpki_low_block *)(void *)(node->low + 1), .at_work = low};
    memset(node->low->block, 0, (size_t)table);
    low->block = node->low->block;
    low->count = count;
    low->tolerance = z->low_tolerance;
    low->room = room;
    low->self = z;
    return clear_node(z, a, (size_t)front_bytes(node), pool, worker);
}

/* Copy rows r0 .. r1-1 of columns c0 .. c1-1, below the diagonal, to where they stay. */
static T *keep(walk *z, const FN(front) * f, int64_t r0, int64_t r1, int64_t c0, int64_t c1,
               int64_t *entries) {
    const int64_t rows = r1 - r0;
    T *to = mpki_arena_alloc(&z->f->arena, rows * (c1 - c0) * (int64_t)sizeof(T));
    for (int64_t j = c0; to && j < c1; j++) {
        const int64_t first = r0 < j ? j : r0;
        memcpy(to + (j - c0) * rows + (first - r0), FN(front_at)(f, first, j),
               (size_t)(r1 - first) * sizeof(T));
        *entries += r1 - first;
    }
    return to;
}

void FN(low_release)(walk *z, mpki_node *node) {
    FN(low_rank) *low = node->low ? node->low->at_work : NULL;
    if (!low) return;
    mpki_recycler_put(&z->recycler, node->a, front_bytes(node));
    mpki_release(z->f->ctx, low);
    node->low->at_work = node->a = NULL;
}

mpk_status FN(low_leave)(walk *z, mpki_node *node, mpki_tally *tally, mpki_pool *pool, int worker) {
    FN(front) f = front_of(node);
    FN(low_rank) *low = f.low;
    const int64_t e = node->nelim, panels = (e + MPKI_PANEL - 1) / MPKI_PANEL;
    int64_t entries = 0;
    double flops = 0;
    bool full = true;
    FN(low_finish)(&f, &z->rules, pool ? z->works : &z->works[worker], pool, worker);
    if (FN(front_stopped)(&z->rules, INFINITY)) return MPK_ERR_CANCELLED;
    for (int64_t k = 0; k < panels && full; k++) {
        const int64_t c0 = k * MPKI_PANEL, c1 = e < c0 + MPKI_PANEL ? e : c0 + MPKI_PANEL;
        flops += (double)(c1 - c0) * (double)(c1 - c0) * (double)(node->nrows - c0);
        low->block[k * low->count + k].rank = MPKI_LOW_FULL;
        for (int64_t i = k; i < low->count && full; i++) {
            mpki_low_block *b = &low->block[k * low->count + i];
            const int64_t r0 = mpki_low_first(node->w, i);
            const int64_t r1 = mpki_low_end(node->nrows, node->w, i);
            entries += b->rank < 0 ? 0 : b->rank * (r1 - r0 + c1 - c0);
            if (b->rank < 0) full = (b->u = keep(z, &f, r0, r1, c0, c1, &entries)) != NULL;
        }
    }
    int64_t ignored = 0;
    if (full && e < node->w)
        full = (node->low->rest = keep(z, &f, e, node->nrows, e, node->w, &ignored)) != NULL;
    if (!full || atomic_load(&low->failed)) return MPK_ERR_MEMORY;
    tally->low_nnz += entries;
    tally->low_flops += flops + (double)atomic_load(&low->flops);
    FN(low_release)(z, node);
    return MPK_OK;
}
