/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_MULTIFRONTAL_RECYCLE_H
#define MPKI_CPU_MULTIFRONTAL_RECYCLE_H
/** Memory of contributions that is used again: clearing a large block fresh from the system takes
 * as long as filling it. Blocks that are too small to matter come straight from the context. */
#include "core/core.h"
#include "core/lock.h"
#include "engines/cpu/front/storage.h"

typedef struct mpki_recycler {
    mpk_context *ctx;
    const char *stage; /* that errors name */
    mpki_lock lock;
    struct mpki_spare {
        void *ptr;
        int64_t bytes;
    } spare[64];
    int count;
    bool
        tight; /* memory is bound: a block is no more than an eighth larger than what was asked for */
} mpki_recycler;

mpk_status mpki_recycler_init(mpk_context *ctx, const char *stage, mpki_recycler *r);
/** `bytes` bytes aligned to 64, not zeroed; NULL on MPK_ERR_MEMORY. Thread-safe. */
void *mpki_recycler_get(mpki_recycler *r, int64_t bytes);
/** Give back what get() gave for this many bytes; NULL is fine. Thread-safe. */
void mpki_recycler_put(mpki_recycler *r, void *ptr, int64_t bytes);
/** Free all spare blocks. */
void mpki_recycler_free(mpki_recycler *r);

/** Memory that is used again of at most MPKI_SMALL bytes a block (engines/cpu/front/storage.h), one
 * object for each worker and no lock: lists by size, cut from slabs. A block may be given back to
 * another worker's object than it came from; the slabs live until all objects are freed. */
typedef struct mpki_small_blocks {
    mpk_context *ctx;
    const char *stage;            /* that errors name */
    void *free[MPKI_SMALL_SIZES]; /* by size; a free block begins with the link to the next */
    char *slab, *next, *end;      /* a slab begins with the link to the one before */
} mpki_small_blocks;

/** NULL on MPK_ERR_MEMORY. */
void *mpki_small_get(mpki_small_blocks *s, int64_t bytes);
void mpki_small_put(mpki_small_blocks *s, void *ptr, int64_t bytes);
/** Release the slabs, all blocks of all objects with them; then begin anew. The context keeps what it
 *  is given back for the next walk (core/memory.c), which so cuts its blocks one after the other: who
 *  fills them in order also reads them in order. */
void mpki_small_free(mpki_small_blocks *s);

#endif
