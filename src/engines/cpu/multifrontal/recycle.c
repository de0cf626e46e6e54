/* SPDX-License-Identifier: BSD-3-Clause */
/* Contribution blocks that are used again instead of being returned to the system. */
#include "recycle.h"

#include "engines/cpu/front/storage.h"

#include <string.h>

enum { SMALL = 1 << 17, MOST = sizeof((mpki_recycler *)0)->spare / sizeof(struct mpki_spare) };

mpk_status mpki_recycler_init(mpk_context *ctx, const char *stage, mpki_recycler *r) {
    r->ctx = ctx;
    r->stage = stage;
    r->count = 0;
    r->tight = mpki_memory_left(ctx) < INT64_MAX;
    if (!mpki_lock_init(&r->lock)) return mpki_error(ctx, MPK_ERR_MEMORY, stage, -1, "no mutex");
    return MPK_OK;
}

/* All that the context takes for so many bytes, whose sizes are an eighth apart: a block fits again, and
 * takes what is predicted. */
static int64_t rounded(int64_t bytes) {
    enum { HEADER = 64 };
    return (int64_t)mpki_alloc_bytes((double)bytes) - HEADER;
}

static void drop(mpki_recycler *r, int k) {
    mpki_release(r->ctx, r->spare[k].ptr);
    r->spare[k] = r->spare[--r->count];
}

/* Where memory is bound spare blocks may be what there is no room beside. */
static void *fresh(mpki_recycler *r, int64_t bytes) {
    mpki_lock_take(&r->lock);
    const bool spare = r->tight && r->count > 0;
    mpki_lock_give(&r->lock);
    void *ptr = mpki_alloc(r->ctx, spare ? NULL : r->stage, bytes, 1);
    if (ptr || !spare) return ptr;
    mpki_lock_take(&r->lock);
    while (r->count > 0) drop(r, r->count - 1);
    mpki_lock_give(&r->lock);
    return mpki_alloc(r->ctx, r->stage, bytes, 1);
}

void *mpki_recycler_get(mpki_recycler *r, int64_t bytes) {
    if (bytes < SMALL) return fresh(r, bytes);
    bytes = rounded(bytes);
    mpki_lock_take(&r->lock);
    int best = -1;
    for (int k = 0; k < r->count; k++)
        if (r->spare[k].bytes >= bytes && r->spare[k].bytes <= bytes + bytes / (r->tight ? 8 : 2) &&
            (best < 0 || r->spare[k].bytes < r->spare[best].bytes))
            best = k;
    void *ptr = NULL;
    if (best >= 0) {
        ptr = r->spare[best].ptr;
        r->spare[best] = r->spare[--r->count];
    } else { /* spare blocks are freed for a new one, so that the peak is that of the blocks in
                use */
        for (int64_t freed = 0; freed < bytes && r->count > 0;) {
            int largest = 0;
            for (int k = 1; k < r->count; k++)
                if (r->spare[k].bytes > r->spare[largest].bytes) largest = k;
            freed += r->spare[largest].bytes;
            drop(r, largest);
        }
    }
    mpki_lock_give(&r->lock);
    return ptr ? ptr : fresh(r, bytes);
}

void mpki_recycler_put(mpki_recycler *r, void *ptr, int64_t bytes) {
    if (!ptr) return;
    if (bytes < SMALL) {
        mpki_release(r->ctx, ptr);
        return;
    }
    /* a spare block may be larger than was asked for; it counts as asked, and can only be used for
     * less */
    mpki_lock_take(&r->lock);
    if (r->count == MOST) {
        int least = 0;
        for (int k = 1; k < r->count; k++)
            if (r->spare[k].bytes < r->spare[least].bytes) least = k;
        drop(r, least);
    }
    r->spare[r->count++] = (struct mpki_spare){ptr, rounded(bytes)};
    mpki_lock_give(&r->lock);
}

void mpki_recycler_free(mpki_recycler *r) {
    while (r->count > 0) drop(r, r->count - 1);
    mpki_lock_end(&r->lock);
}

void *mpki_small_get(mpki_small_blocks *s, int64_t bytes) {
    int64_t size;
    const int list = mpki_small_list(bytes, &size);
    void *block = s->free[list];
    if (block) {
        s->free[list] = *(void **)block;
        return block;
    }
    if (s->end - s->next < size) {
        char *slab = MPKI_NEW(s->ctx, s->stage, MPKI_SLAB, char);
        if (!slab) return NULL;
        *(char **)slab = s->slab;
        s->slab = slab;
        s->next = slab + MPKI_SMALL_STEP;
        s->end = slab + MPKI_SLAB;
    }
    block = s->next;
    s->next += size;
    return block;
}

void mpki_small_put(mpki_small_blocks *s, void *ptr, int64_t bytes) {
    int64_t size;
    void **list = &s->free[mpki_small_list(bytes, &size)];
    *(void **)ptr = *list;
    *list = ptr;
}

void mpki_small_free(mpki_small_blocks *s) {
    while (s->slab) {
        char *older = *(char **)s->slab;
        mpki_release(s->ctx, s->slab);
        s->slab = older;
    }
    memset(s->free, 0, sizeof s->free);
    s->next = s->end = NULL;
}
