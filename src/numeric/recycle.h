/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_RECYCLE_H
#define MPKI_RECYCLE_H
/** Memory of contributions, used again: a large block fresh from the system costs as much to be
 * cleared as to be filled. Blocks that are too small to matter pass straight to the context. */
#include "../core/core.h"
#include <pthread.h>

typedef struct mpki_recycler {
    mpk_context *ctx;
    pthread_mutex_t mutex;
    struct mpki_spare {
        void *ptr;
        int64_t bytes;
    } spare[64];
    int count;
} mpki_recycler;

mpk_status mpki_recycler_init(mpk_context *ctx, mpki_recycler *r);
/** `bytes` bytes aligned to 64, NULL on MPK_ERR_MEMORY. Not zeroed. Thread-safe. */
void *mpki_recycler_get(mpki_recycler *r, int64_t bytes);
/** Give back what get() gave for so many bytes; NULL is fine. Thread-safe. */
void mpki_recycler_put(mpki_recycler *r, void *ptr, int64_t bytes);
/** Free everything that waits. */
void mpki_recycler_free(mpki_recycler *r);

#endif
