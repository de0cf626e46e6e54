/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_HEAP_H
#define MPKI_HEAP_H
/** A binary heap (Williams 1964, Algorithm 232): things by a number, the least one first; of equal
 *  numbers the one with the least `at`. Its room is the caller's. */
#include <stdbool.h>
#include <stdint.h>

typedef struct mpki_heap_entry {
    double key;
    int32_t at, what;
} mpki_heap_entry;

typedef struct mpki_heap {
    mpki_heap_entry *entry;
    int32_t count;
} mpki_heap;

static inline bool mpki_heap_before(const mpki_heap_entry *a, const mpki_heap_entry *b) {
    return a->key < b->key || (a->key == b->key && a->at < b->at);
}

static inline void mpki_heap_push(mpki_heap *h, mpki_heap_entry x) {
    int32_t k = h->count++;
    for (int32_t up; k > 0 && mpki_heap_before(&x, &h->entry[up = (k - 1) / 2]); k = up)
        h->entry[k] = h->entry[up];
    h->entry[k] = x;
}

/** The first one, which is there no more. There is one. */
static inline mpki_heap_entry mpki_heap_pop(mpki_heap *h) {
    const mpki_heap_entry top = h->entry[0], last = h->entry[--h->count];
    int32_t k = 0;
    for (int32_t next; (next = 2 * k + 1) < h->count; k = next) {
        if (next + 1 < h->count && mpki_heap_before(&h->entry[next + 1], &h->entry[next])) next++;
        if (!mpki_heap_before(&h->entry[next], &last)) break;
        h->entry[k] = h->entry[next];
    }
    h->entry[k] = last;
    return top;
}

#endif
