/* SPDX-License-Identifier: BSD-3-Clause */
/* Deals out the entries that blocks may keep: Thuerck et al. 2018, algorithm 2. */
#include "meta.h"

void mpki_grant_in_order(mpki_meta *meta, int64_t count, const int64_t *block, int64_t *need) {
    int64_t left = atomic_load(&meta->leftover);
    for (int64_t t = 0; t < count; t++) {
        const int64_t capacity = meta->stages->capacity[block[t]];
        if (capacity < 0 || capacity == INT64_MAX) continue;
        const int64_t more = need[t] - capacity;
        const int64_t granted = more <= 0 ? 0 : more < left ? more : left;
        left -= more <= 0 ? more : granted;
        if (more > 0) need[t] = capacity + granted;
    }
    atomic_store(&meta->leftover, left);
}

void mpki_grant(mpki_meta *meta) {
    mpki_chunk_work *c = &meta->chunk;
    if (meta->stages->options->deterministic == MPK_OFF) return;
    mpki_grant_in_order(meta, c->first[c->count], c->batch->target, c->need);
}

int64_t mpki_grant_atomically(mpki_meta *meta, int64_t item) {
    const mpki_chunk_work *c = &meta->chunk;
    const int64_t capacity = meta->stages->capacity[c->batch->target[item]], need = c->need[item];
    if (capacity < 0 || capacity == INT64_MAX) return need;
    const int64_t required = need - capacity;
    const int64_t free = atomic_fetch_sub(&meta->leftover, required); /* it may leave some, too */
    if (required <= 0) return need;
    int64_t granted = required < free ? required : free;
    if (granted < 0) granted = 0;
    atomic_fetch_add(&meta->leftover, required - granted);
    return capacity + granted;
}
