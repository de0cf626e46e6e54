/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_DEVICE_STORE_H
#define TESTS_DEVICE_STORE_H
/** The processor's finished factor on blocks as it would lie on a device. For tests and benchmarks
 *  of what reads such a factor. */
#include "engines/cuda/block_factor/kernels/store.h"
#include "engines/cuda/module/load.h"
#include "engines/cpu/block_factor/block_factor.h"

#include <stdlib.h>
#include <string.h>

typedef struct device_store {
    const mpki_device *d;
    mpki_cuda_store store;
    uint32_t *words; /* host */
    int64_t used, room;
    void *buffer[16];
    int buffers;
    bool failed; /* no memory, of the host or the device */
} device_store;

/* ---- packing ---- */

static inline void device_store_room(device_store *s, int64_t more) {
    if (s->used + more <= s->room) return;
    s->room = 2 * s->room + more;
    uint32_t *words = realloc(s->words, (size_t)s->room * 4);
    if (words)
        s->words = words;
    else
        s->failed = true;
}

/* Where it is in the words, -1: nothing is held. */
static inline int64_t device_store_pack(device_store *s, const mpki_block *b) {
    const size_t size = mpk_scalar_size((mpk_scalar)b->scalar);
    uint32_t set = 0, mask[32] = {0};
    int held = 0;
    if (b->format == MPKI_EMPTY || s->failed) return -1;
    if (b->rows > 32 || b->cols > 32) abort();
    const uint32_t all = b->cols == 32 ? ~0u : (1u << b->cols) - 1;
    const uint32_t *word = b->data;
    set = b->format == MPKI_DENSE ? (b->rows == 32 ? ~0u : (1u << b->rows) - 1) : *word++;
    for (int r = 0; r < 32; r++)
        if (set >> r & 1) mask[held++] = b->format == MPKI_BITMAP ? *word++ : all;
    const char *value =
        (const char *)b->data + mpki_block_mask_bytes(b->format, b->rows, b->cols, held);
    int64_t count = 0;
    for (int h = 0; h < held; h++) count += __builtin_popcount(mask[h]);
    if (count == 0) return -1;
    device_store_room(s, MPKI_STORE_HEAD(held) + count * (int64_t)size / 4 + 8);
    if (s->failed) return -1;
    s->used = (s->used + 3) / 4 * 4;
    const int64_t at = s->used;
    s->words[at] = set;
    memcpy(s->words + at + 1, mask, (size_t)held * 4);
    if (MPKI_STORE_HEAD(held) > held + 1) s->words[at + held + 1] = 0;
    memcpy(s->words + at + MPKI_STORE_HEAD(held), value, (size_t)count * size);
    s->used = at + MPKI_STORE_HEAD(held) + count * (int64_t)size / 4;
    return at;
}

static inline const void *device_store_up(device_store *s, const void *from, int64_t bytes) {
    void *p = NULL;
    const mpki_cuda_table *table = s->d->table;
    if (s->failed || !from || mpk_failed(table->alloc(s->d->cuda, bytes + 16, &p))) {
        s->failed = true;
        return NULL;
    }
    s->buffer[s->buffers++] = p;
    if (mpk_failed(table->copy(s->d->cuda, p, bytes, from, bytes, bytes, 1, 1, NULL)) ||
        mpk_failed(table->synchronize(s->d->cuda, NULL)))
        s->failed = true;
    return p;
}

static inline void device_store_free(device_store *s) {
    for (int k = 0; k < s->buffers; k++) s->d->table->release(s->d->cuda, s->buffer[k]);
    free(s->words);
    *s = (device_store){0};
}

/** The store of bf, which must have been finished as blocks of at most 32 rows and have no dense
 *  pivot. s->failed: it could not be made. */
static inline void device_store_make(const mpki_device *d, const mpki_blocks *bf, device_store *s) {
    const mpki_stages *stages = bf->stages;
    const mpki_ibcsr *x = &stages->index;
    const int64_t m = x->m, blocks = x->nblocks, lists = x->ptr[m];
    const size_t size = mpk_scalar_size(bf->scalar), n = (size_t)stages->blocking->n;
    *s = (device_store){.d = d};
    int64_t *place = malloc(((size_t)(2 * blocks + 2 * m) + 1) * 8);
    int32_t *other = malloc((size_t)(lists + 1) * 4);
    int64_t *block = malloc((size_t)(lists + 1) * 8);
    char *pivots = calloc(n + 1, 4 * size);
    if (!place || !other || !block || !pivots) abort();
    device_store_room(s, 64);
    for (int64_t b = 0; b < blocks; b++) {
        const bool diagonal = x->rows[b] == x->cols[b];
        place[b] = diagonal ? -1 : device_store_pack(s, &bf->lower[b]);
        place[blocks + b] =
            diagonal || bf->upper == bf->lower ? place[b] : device_store_pack(s, &bf->upper[b]);
    }
    for (int64_t f = 0; f < m; f++) {
        const mpki_frame *frame = &bf->frame[f];
        const size_t at = (size_t)stages->blocking->bptr[f];
        const size_t w = (size_t)stages->blocking->bptr[f + 1] - at;
        place[2 * blocks + f] = device_store_pack(s, &frame->m);
        place[2 * blocks + m + f] =
            bf->upper == bf->lower ? place[2 * blocks + f] : device_store_pack(s, &frame->n);
        memcpy(pivots + 2 * at * size, frame->d, 2 * w * size);
        memcpy(pivots + 2 * (n + at) * size, frame->dinv, 2 * w * size);
    }
    for (int64_t e = 0; e < lists; e++) other[e] = x->entry[e].other, block[e] = x->entry[e].block;
    mpki_cuda_store *to = &s->store;
    to->scalar = bf->scalar;
    to->n = stages->blocking->n, to->m = x->m;
    to->ldu = stages->ldu, to->hermitian = stages->hermitian;
    to->levels = stages->levels.count, to->level = stages->levels.ptr;
    to->nblocks = blocks;
    to->bptr = device_store_up(s, stages->blocking->bptr, 4 * (m + 1));
    to->frame = device_store_up(s, stages->levels.frame, 4 * m);
    to->ptr = device_store_up(s, x->ptr, 8 * (m + 1));
    to->diagonal = device_store_up(s, x->diagonal, 8 * m);
    to->other = device_store_up(s, other, 4 * lists);
    to->block = device_store_up(s, block, 8 * lists);
    to->words = device_store_up(s, s->words, 4 * s->used);
    to->lower = device_store_up(s, place, 8 * blocks);
    to->upper = bf->upper == bf->lower ? to->lower : device_store_up(s, place + blocks, 8 * blocks);
    to->pivot = device_store_up(s, place + 2 * blocks, 8 * m);
    to->pivot_n =
        bf->upper == bf->lower ? to->pivot : device_store_up(s, place + 2 * blocks + m, 8 * m);
    to->d = device_store_up(s, pivots, (int64_t)(2 * n * size));
    to->dinv = device_store_up(s, pivots + 2 * n * size, (int64_t)(2 * n * size));
    free(place), free(other), free(block), free(pivots);
}

#endif
