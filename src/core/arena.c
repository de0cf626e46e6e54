/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a factor's numbers: chunks from which any thread cuts blocks without a lock. */
#include "arena.h"

#include "pages.h"

enum { ALIGN = 64 };

/* Small blocks lie closer together: there may be as many as columns, and what lies between those of map10
 * was a tenth of its L. */
static int64_t rounded(int64_t bytes, int64_t align) {
    return (bytes + align - 1) & ~(align - 1);
}

static int64_t align_of(int64_t bytes) {
    enum { FEW = 2048, CLOSE = 16 };
    return bytes < FEW ? CLOSE : ALIGN;
}

int64_t mpki_arena_next(int64_t used, int64_t bytes) {
    const int64_t align = align_of(bytes);
    return rounded(used, align) + rounded(bytes, align);
}

static mpki_chunk *chunk_new(mpk_context *ctx, int64_t bytes, mpki_chunk *link) {
    mpki_chunk *chunk = MPKI_ZNEW(ctx, "factorize", 1, mpki_chunk);
    char *base =
        MPKI_NEW(ctx, "factorize", bytes + ALIGN, char); /* may be read after the last block */
    if (!chunk || !base) {
        mpki_release(ctx, chunk);
        mpki_release(ctx, base);
        return NULL;
    }
    chunk->link = link;
    chunk->size = chunk->has = bytes;
    chunk->base = base;
    return chunk;
}

mpk_status mpki_arena_init(mpk_context *ctx, int64_t bytes, double limit, mpki_arena *arena) {
    *arena = (mpki_arena){.ctx = ctx, .step = bytes / 16 + (1 << 16), .limit = limit};
    if (!mpki_lock_init(&arena->lock))
        return mpki_error(ctx, MPK_ERR_MEMORY, "factorize", -1, "no mutex");
    mpk_memory_usage(ctx, &arena->before, NULL);
    mpki_chunk *chunk = chunk_new(ctx, bytes, NULL);
    if (!chunk) {
        mpki_lock_end(&arena->lock);
        return mpki_failed(ctx);
    }
    atomic_store(&arena->current, chunk);
    return MPK_OK;
}

/* Is there room for more than was predicted? The system is asked rarely, since that takes time. */
static bool room(mpki_arena *arena, int64_t bytes) {
    enum { ASK = 1 << 26, SPARE = 1 << 28 };
    int64_t held;
    double has = arena->limit;
    mpk_memory_usage(arena->ctx, &held, NULL);
    held -= arena->before;
    arena->unasked += bytes;
    if (!(has > 0)) {
        if (arena->unasked < ASK) return true;
        arena->unasked = 0;
        has = (double)mpki_memory_available() - SPARE + (double)held;
    }
    if ((double)held + (double)bytes <= has) return true;
    mpki_error(arena->ctx, MPK_ERR_MEMORY, "factorize", bytes,
               "with %.3g GB, the factor outgrows what %s", (double)held * 1e-9,
               arena->limit > 0 ? "memory_limit allows" : "this machine has free");
    return false;
}

/* Nothing more is taken from it, and pages after what was are given back. Others may still look whether there
 * is room, so its size stays. */
static void close_chunk(mpki_arena *arena, mpki_chunk *chunk) {
    enum { LITTLE = 1 << 20 }; /* of small factors it takes longer than it saves */
    const int64_t used = atomic_exchange(&chunk->used, chunk->size);
    if (chunk->has - used < LITTLE)
        return; /* or it was ended, and there was no room for another one */
    chunk->has = used;
    mpki_shrink(arena->ctx, chunk->base, used + ALIGN);
}

void *mpki_arena_alloc(mpki_arena *arena, int64_t bytes) {
    for (;;) {
        mpki_chunk *chunk = atomic_load(&arena->current);
        int64_t at = atomic_load(&chunk->used), next;
        /* taken only if it fits: to take first and to give back what does not would move the place
         * where another thread is at work */
        while ((next = mpki_arena_next(at, bytes)) <= chunk->size)
            if (atomic_compare_exchange_weak(&chunk->used, &at, next))
                return chunk->base + rounded(at, align_of(bytes));
        mpki_lock_take(&arena->lock);
        if (atomic_load(&arena->current) == chunk) {
            close_chunk(arena, chunk);
            const int64_t least = mpki_arena_next(0, bytes);
            int64_t size = least > arena->step ? least : arena->step;
            mpki_chunk *more = room(arena, size) ? chunk_new(arena->ctx, size, chunk) : NULL;
            if (!more) {
                mpki_lock_give(&arena->lock);
                return NULL;
            }
            atomic_store(&arena->current, more);
        }
        mpki_lock_give(&arena->lock);
    }
}

void mpki_arena_cut(mpki_arena *arena, void *block, int64_t had, int64_t has) {
    mpki_chunk *chunk = atomic_load(&arena->current);
    const uintptr_t base = (uintptr_t)chunk->base, at = (uintptr_t)block;
    if (at < base || at >= base + (uintptr_t)chunk->size) return;
    const int64_t first = (int64_t)(at - base);
    int64_t used = first + rounded(had, align_of(had));
    atomic_compare_exchange_strong(&chunk->used, &used, first + rounded(has, align_of(has)));
}

void mpki_arena_reset(mpki_arena *arena) {
    mpki_chunk *chunk = atomic_load(&arena->current);
    while (chunk->link) {
        mpki_chunk *older = chunk->link;
        mpki_release(arena->ctx, chunk->base);
        mpki_release(arena->ctx, chunk);
        chunk = older;
    }
    chunk->size = chunk->has;
    mpk_memory_usage(arena->ctx, &arena->before, NULL);
    arena->before -= chunk->size;
    arena->unasked = 0;
    atomic_store(&chunk->used, 0);
    atomic_store(&arena->current, chunk);
}

void mpki_arena_free(mpki_arena *arena) {
    mpki_arena_reset(arena);
    mpki_chunk *chunk = atomic_load(&arena->current);
    mpki_release(arena->ctx, chunk->base);
    mpki_release(arena->ctx, chunk);
    mpki_lock_end(&arena->lock);
}

int64_t mpki_arena_bytes(const mpki_arena *arena) {
    int64_t bytes = 0;
    for (mpki_chunk *chunk = atomic_load(&arena->current); chunk; chunk = chunk->link)
        bytes += chunk->has;
    return bytes;
}
