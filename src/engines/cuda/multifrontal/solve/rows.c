/* SPDX-License-Identifier: BSD-3-Clause */
/* A by rows on the device, for residuals and scaling: made when it is first needed, and kept; it
 * depends on the pattern alone. */
#include "../state.h"

#include <string.h>

static const char STAGE[] = "factorize";

struct mpki_cuda_row_lists {
    mpki_cuda_by_rows on; /* in device memory */
    void *memory;         /* all of it */
    int64_t bytes;
};

static void release(const mpki_direct *f, mpki_cuda_row_lists *z) {
    if (!z) return;
    if (z->memory) f->device->table->release(f->device->cuda, z->memory);
    mpki_release(f->ctx, z);
}

int64_t mpki_cuda_direct_rows_held(const mpki_direct *f) {
    const mpki_cuda_row_lists *z = atomic_load(&f->rows);
    return z ? z->bytes : 0;
}

int64_t mpki_cuda_direct_rows_bytes(const mpki_direct *f) {
    const mpki_tree_view *a = &f->tree;
    int64_t diagonal = 0;
    for (int32_t j = 0; j < a->n; j++) diagonal += a->ap[j] < a->ap[j + 1] && a->ai[a->ap[j]] == j;
    return (a->n + 1) * (int64_t)sizeof(int64_t) +
           (2 * a->nnz - diagonal) * 2 * (int64_t)sizeof(int32_t);
}

void mpki_cuda_direct_drop_rows(mpki_direct *f) {
    release(f, atomic_exchange(&f->rows, NULL));
}

/* Fills ptr (n + 1): where rows begin. Row i has column i's entries, and those of the other
 * triangle. */
static void count_rows(const mpki_tree_view *a, int64_t *ptr) {
    memset(ptr, 0, ((size_t)a->n + 1) * sizeof *ptr);
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            ptr[a->ai[k] + 1]++;
            if (a->ai[k] != j) ptr[j + 1]++;
        }
    for (int32_t i = 0; i < a->n; i++) ptr[i + 1] += ptr[i];
}

/* Columns and places of each entry; next: n, work space */
static void fill_rows(const mpki_tree_view *a, const int64_t *ptr, int64_t *next, int32_t *col,
                      int32_t *src) {
    memcpy(next, ptr, (size_t)a->n * sizeof *next);
    for (int32_t j = 0; j < a->n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++) {
            const int32_t i = a->ai[k];
            col[next[i]] = j, src[next[i]++] = (int32_t)k;
            if (i != j) col[next[j]] = i, src[next[j]++] = (int32_t)~k;
        }
}

static int32_t pieces_of(const int64_t *ptr, int32_t i) {
    return (int32_t)((ptr[i + 1] - ptr[i] + MPKI_CUDA_ROW_LONG - 1) / MPKI_CUDA_ROW_LONG);
}

/* The lists on the host. */
typedef struct lists {
    int64_t *ptr, *next;
    int32_t *col, *src, *long_row, *first, *piece_of;
    int32_t longs, pieces;
} lists;

static bool make_lists(const mpki_direct *f, lists *h) {
    mpk_context *ctx = f->ctx;
    const int64_t n = f->tree.n;
    h->ptr = mpki_alloc(ctx, STAGE, n + 1, sizeof *h->ptr);
    h->next = mpki_alloc(ctx, STAGE, n + 1, sizeof *h->next);
    if (!h->ptr || !h->next) return false;
    count_rows(&f->tree, h->ptr);
    for (int32_t i = 0; i < n; i++)
        if (pieces_of(h->ptr, i) > 1) h->longs++, h->pieces += pieces_of(h->ptr, i);
    h->col = mpki_alloc(ctx, STAGE, h->ptr[n] + 1, sizeof *h->col);
    h->src = mpki_alloc(ctx, STAGE, h->ptr[n] + 1, sizeof *h->src);
    h->long_row = mpki_alloc(ctx, STAGE, h->longs + 1, sizeof *h->long_row);
    h->first = mpki_alloc(ctx, STAGE, h->longs + 1, sizeof *h->first);
    h->piece_of = mpki_alloc(ctx, STAGE, h->pieces + 1, sizeof *h->piece_of);
    if (!h->col || !h->src || !h->long_row || !h->first || !h->piece_of) return false;
    fill_rows(&f->tree, h->ptr, h->next, h->col, h->src);
    int32_t piece = 0, k = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t pieces = pieces_of(h->ptr, i);
        if (pieces <= 1) continue;
        h->long_row[k] = i, h->first[k] = piece;
        for (int32_t p = 0; p < pieces; p++) h->piece_of[piece++] = k;
        k++;
    }
    h->first[k] = piece;
    return true;
}

static void free_lists(const mpki_direct *f, const lists *h) {
    void *const all[] = {h->ptr, h->next, h->col, h->src, h->long_row, h->first, h->piece_of};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) mpki_release(f->ctx, all[k]);
}

static bool send(const mpki_direct *f, const lists *h, mpki_cuda_row_lists *z) {
    const mpki_device *d = f->device;
    const int64_t n = f->tree.n, word = sizeof(int32_t);
    const struct {
        const void *from;
        int64_t bytes;
    } part[] = {{h->ptr, (n + 1) * (int64_t)sizeof *h->ptr},
                {h->col, h->ptr[n] * word},
                {h->src, h->ptr[n] * word},
                {h->long_row, h->longs * word},
                {h->first, (h->longs + 1) * word},
                {h->piece_of, h->pieces * word}};
    enum { PARTS = sizeof part / sizeof *part };
    char *at[PARTS];
    int64_t bytes = 0;
    for (int k = 0; k < PARTS; k++) bytes += (part[k].bytes + 255) & ~(int64_t)255;
    if (f->limit > 0 && (double)bytes + (double)mpki_cuda_direct_held(f) > f->limit) return false;
    if (mpk_failed(d->table->alloc(d->cuda, bytes, &z->memory))) {
        z->memory = NULL;
        return false;
    }
    z->bytes = bytes;
    char *next = z->memory;
    for (int k = 0; k < PARTS; k++) {
        at[k] = next, next += (part[k].bytes + 255) & ~(int64_t)255;
        if (mpk_failed(d->table->direct->copy(d->cuda, at[k], part[k].from, part[k].bytes, 1)))
            return false;
    }
    z->on = (mpki_cuda_by_rows){.n = f->tree.n,
                                .hermitian = f->tree.symmetry == MPK_HERMITIAN,
                                .ptr = (const int64_t *)(void *)at[0],
                                .col = (const int32_t *)(void *)at[1],
                                .src = (const int32_t *)(void *)at[2],
                                .longs = h->longs,
                                .pieces = h->pieces,
                                .long_row = (const int32_t *)(void *)at[3],
                                .first = (const int32_t *)(void *)at[4],
                                .piece_of = (const int32_t *)(void *)at[5]};
    return !mpk_failed(d->table->direct->wait(d->cuda));
}

const mpki_cuda_by_rows *mpki_cuda_direct_rows(const mpki_direct *f) {
    /* what a factor keeps for the next one who asks is no part of it */
    _Atomic(mpki_cuda_row_lists *) *kept = &((mpki_direct *)(uintptr_t)f)->rows;
    mpki_cuda_row_lists *z = atomic_load(kept), *other = NULL;
    if (z) return &z->on;
    if (f->tree.nnz > INT32_MAX) return NULL;
    lists h = {0};
    z = mpki_calloc(f->ctx, STAGE, 1, sizeof *z);
    const bool there = z && make_lists(f, &h) && send(f, &h, z);
    free_lists(f, &h);
    if (!there || !atomic_compare_exchange_strong(kept, &other, z)) {
        release(f, z); /* or another thread was first */
        z = there ? other : NULL;
    }
    return z ? &z->on : NULL;
}
