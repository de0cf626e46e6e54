/* SPDX-License-Identifier: BSD-3-Clause */
/* Large memory is cleared, or touched for the first time, by all workers. */
#include "core.h"
#include "pool.h"

#include <stdatomic.h>
#include <string.h>

typedef struct clearing {
    mpk_context *ctx;
    const char *stage;
    char *ptr;
    size_t bytes;
    _Atomic bool stopped;
} clearing;

enum { CLEARED = 1 << 21 }; /* bytes of an item: a huge page */

static void clear_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    clearing *c = arg;
    const size_t begin = (size_t)item * CLEARED;
    mpki_asking asking = {c->ctx, c->stage, 0};
    (void)pool, (void)worker;
    memset(c->ptr + begin, 0, c->bytes - begin < CLEARED ? c->bytes - begin : CLEARED);
    if (mpki_asks(&asking, MPKI_ASK)) atomic_store(&c->stopped, true);
}

bool mpki_clear_shared(mpk_context *ctx, const char *stage, void *ptr, size_t bytes,
                       mpki_pool *pool, int worker) {
    clearing c = {.ctx = ctx, .stage = stage, .ptr = ptr, .bytes = bytes};
    mpki_asking asking = {ctx, stage, 0};
    if (!pool || bytes < 2 * CLEARED) return mpki_clear_slowly(&asking, ptr, bytes);
    mpki_pool_for(pool, worker, (int64_t)((bytes + CLEARED - 1) / CLEARED), clear_item, &c);
    return atomic_load(&c.stopped);
}

/* ---- touched only ------------------------------------------------------------------------------ */

enum { PAGE = 4096 };

typedef struct touching {
    char *first, *end; /* of an item that begins with a huge page */
    char *ptr;
} touching;

static void touch_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const touching *t = arg;
    char *from = t->first + item * CLEARED, *to = from + CLEARED;
    (void)pool, (void)worker;
    if (from < t->ptr) from = t->ptr;
    if (to > t->end) to = t->end;
    for (; from < to; from += PAGE) *(volatile char *)from = 0;
}

void mpki_touch_shared(void *ptr, size_t bytes, mpki_pool *pool, int worker) {
    if (!pool || bytes < 2 * CLEARED) return;
    char *at = ptr;
    touching t = {at - (uintptr_t)at % CLEARED, at + bytes, at};
    mpki_pool_for(pool, worker, (t.end - t.first + CLEARED - 1) / CLEARED, touch_item, &t);
}
