/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ARENA_H
#define MPKI_ARENA_H
/** Memory of a factor's numbers: many blocks, freed together. */
#include "core.h"
#include "lock.h"

/** A first chunk of the predicted size, more only where that is not enough. */
typedef struct mpki_chunk {
    struct mpki_chunk *link;
    int64_t size;
    int64_t has; /* bytes, when it is no longer the current one: its end is given back */
    _Atomic int64_t used;
    char *base;
} mpki_chunk;

typedef struct mpki_arena {
    mpk_context *ctx;
    _Atomic(mpki_chunk *) current;
    mpki_lock lock;
    int64_t step;    /* size of a further chunk */
    double limit;    /* bytes that may be held beyond `before`; 0: what the machine has free */
    int64_t before;  /* held by the context without this arena's blocks and what came after them */
    int64_t unasked; /* bytes taken beyond the first chunk since the machine was asked */
} mpki_arena;

/** bytes [in] of the first chunk, which is taken at once; limit [in] as in options.memory_limit,
 *  for what comes after it */
mpk_status mpki_arena_init(mpk_context *ctx, int64_t bytes, double limit, mpki_arena *arena);
/** 64-byte aligned, of less than 2048 bytes 16-byte; NULL on MPK_ERR_MEMORY. Thread-safe. */
void *mpki_arena_alloc(mpki_arena *arena, int64_t bytes);
/** The block is the last one and keeps its first `has` bytes of `had`: the rest is free again. Not if others
 *  have been taken since. Thread-safe. */
void mpki_arena_cut(mpki_arena *arena, void *block, int64_t had, int64_t has);
/** Bytes that are taken with one more block: for who predicts how many those will be. */
int64_t mpki_arena_next(int64_t used, int64_t bytes);
/** Forget all blocks, keep the first chunk. */
void mpki_arena_reset(mpki_arena *arena);
void mpki_arena_free(mpki_arena *arena);
int64_t mpki_arena_bytes(const mpki_arena *arena);

#endif
