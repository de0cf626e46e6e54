/* SPDX-License-Identifier: BSD-3-Clause */
/* An arena from which many threads cut blocks at once, across the ends of its chunks: no two blocks
 * share a byte. */
#include "support.h"

#include "../sanitized.h"
#include "core/arena.h"

#include <pthread.h>

enum { THREADS = 16, BLOCKS = 4000, LARGEST = 1500, TURNS = 10 };

typedef struct cutter {
    mpki_arena *arena;
    pthread_barrier_t *start;
    uint32_t id;
    uint32_t *block[BLOCKS];
    int words[BLOCKS];
} cutter;

static void *cut(void *arg) {
    cutter *c = arg;
    uint32_t state = c->id * 2654435761u + 1;
    pthread_barrier_wait(c->start);
    for (int k = 0; k < BLOCKS; k++) {
        state = state * 1664525u + 1013904223u; /* small ones, and now and then a large one */
        c->words[k] = 1 + (int)(state >> 8) % ((state >> 28) == 0 ? LARGEST : 32);
        c->block[k] = mpki_arena_alloc(c->arena, 4 * (int64_t)c->words[k]);
    }
    pthread_barrier_wait(c->start);
    for (int k = 0; k < BLOCKS; k++)
        for (int w = 0; c->block[k] && w < c->words[k]; w++)
            c->block[k][w] = c->id * BLOCKS + (uint32_t)k;
    return NULL;
}

/* No block is marked as taken that does not fit: a mark that overshoots and comes back lets a third
 * thread cut from a wrong place. Watched while others cut. */
static _Atomic bool watching;
static _Atomic int64_t overshoots;

static void *watch(void *arg) {
    mpki_arena *arena = arg;
    while (atomic_load(&watching)) {
        mpki_chunk *chunk = atomic_load(&arena->current);
        if (atomic_load(&chunk->used) > chunk->size) atomic_fetch_add(&overshoots, 1);
    }
    return NULL;
}

static void test_blocks_are_apart(void **unused) {
    (void)unused;
    static cutter all[THREADS];
    mpk_context *ctx = NULL;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    for (int turn = 0; turn < TURNS; turn++) {
        mpki_arena arena;
        pthread_barrier_t start;
        pthread_t thread[THREADS], watcher;
        assert_int_equal(mpki_arena_init(ctx, 1 << 12, 0, &arena), MPK_OK);
        arena.step = 1 << 13; /* not much more than a large block: chunks end all the time */
        assert_int_equal(pthread_barrier_init(&start, NULL, THREADS), 0);
        atomic_store(&watching, true);
        assert_int_equal(pthread_create(&watcher, NULL, watch, &arena), 0);
        for (uint32_t t = 0; t < THREADS; t++) {
            all[t].arena = &arena, all[t].start = &start, all[t].id = t;
            assert_int_equal(pthread_create(&thread[t], NULL, cut, &all[t]), 0);
        }
        for (int t = 0; t < THREADS; t++) assert_int_equal(pthread_join(thread[t], NULL), 0);
        atomic_store(&watching, false);
        assert_int_equal(pthread_join(watcher, NULL), 0);
        assert_int_equal(atomic_load(&overshoots), 0);
        for (uint32_t t = 0; t < THREADS; t++)
            for (int k = 0; k < BLOCKS; k++) {
                assert_non_null(all[t].block[k]);
                assert_int_equal((uintptr_t)all[t].block[k] % (all[t].words[k] < 512 ? 16 : 64), 0);
                for (int w = 0; w < all[t].words[k]; w++)
                    assert_int_equal(all[t].block[k][w], t * BLOCKS + (uint32_t)k);
            }
        pthread_barrier_destroy(&start);
        mpki_arena_free(&arena);
    }
    mpk_context_destroy(&ctx);
}

/* The last block gives back its end, and the next one lies there; others keep what they have. */
static void test_cut(void **unused) {
    (void)unused;
    enum { BYTES = 10000, LEFT = 4096 };
    mpk_context *ctx = NULL;
    mpki_arena arena;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpki_arena_init(ctx, 3 * BYTES, 0, &arena), MPK_OK);
    char *first = mpki_arena_alloc(&arena, BYTES), *second = mpki_arena_alloc(&arena, BYTES);
    assert_non_null(first);
    assert_non_null(second);
    memset(second, 7, BYTES);
    mpki_arena_cut(&arena, first, BYTES, LEFT); /* not the last one */
    mpki_arena_cut(&arena, second, BYTES, LEFT);
    char *third = mpki_arena_alloc(&arena, BYTES);
    assert_ptr_equal(third, second + mpki_arena_next(0, LEFT));
    memset(third, 8, BYTES);
    for (int i = 0; i < LEFT; i++) assert_int_equal(second[i], 7);
    for (int turn = 0; turn < 100; turn++) { /* there is room as often as that is done */
        char *more = mpki_arena_alloc(&arena, BYTES / 2);
        assert_ptr_equal(more, third + mpki_arena_next(0, BYTES));
        mpki_arena_cut(&arena, more, BYTES / 2, 0);
    }
    assert_int_equal(mpki_arena_bytes(&arena), 3 * BYTES);
    mpki_arena_free(&arena);
    mpk_context_destroy(&ctx);
}

/* A block that does not fit ends its chunk, of which what is not used is given back: once, and that there is
 * no room for the block takes nothing from those that are there. */
static void test_ends(void **unused) {
    (void)unused;
    enum { CHUNK = 4 << 20, BYTES = 1 << 20 };
    mpk_context *ctx = NULL;
    mpki_arena arena;
    int64_t before, after;
    assert_int_equal(mpk_context_create(NULL, &ctx), MPK_OK);
    assert_int_equal(mpki_arena_init(ctx, CHUNK, CHUNK + BYTES, &arena), MPK_OK);
    char *first = mpki_arena_alloc(&arena, BYTES);
    assert_non_null(first);
    memset(first, 3, BYTES);
    mpk_memory_usage(ctx, &before, NULL);
    for (int turn = 0; turn < 2; turn++) assert_null(mpki_arena_alloc(&arena, 2 * CHUNK));
    mpki_clear_error(ctx);
    assert_int_equal(mpki_arena_bytes(&arena), BYTES);
    mpk_memory_usage(ctx, &after, NULL);
    if (!TEST_SANITIZED) assert_true(after < before - 2 * BYTES);
    for (int i = 0; i < BYTES; i++) assert_int_equal(first[i], 3);
    mpki_arena_reset(&arena); /* and it is as large as it is from then on */
    first = mpki_arena_alloc(&arena, BYTES);
    char *second = mpki_arena_alloc(&arena, BYTES);
    assert_true(first && second && (second < first || second >= first + BYTES));
    memset(first, 4, BYTES);
    memset(second, 5, BYTES);
    for (int i = 0; i < BYTES; i++) assert_int_equal(first[i], 4);
    mpki_arena_free(&arena);
    mpk_memory_usage(ctx, &after, NULL);
    assert_int_equal(after, 0);
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks_are_apart),
                                       cmocka_unit_test(test_cut), cmocka_unit_test(test_ends)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
