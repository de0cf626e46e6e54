/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_MATCH_HEAP_H
#define MPKI_MATCH_HEAP_H
/** Inner vertices to be, smallest key first. The keys lie in the heap itself: those of the nodes
 *  change when a waiting vertex is reached as a partner and stays behind as a stale entry. */
#include "match.h"

static inline void mpki_match_put(mpki_matching *m, int32_t at, mpki_match_entry entry) {
    m->heap[at] = entry;
    m->node[entry.vertex].heap = at;
}

/** Insert, or lower the key of one that is in. */
static inline void mpki_match_push(mpki_matching *m, int32_t z, double key) {
    int32_t at = m->node[z].heap;
    if (at < 0) at = m->heap_size++;
    m->node[z].key = key;
    while (at > 0) {
        int32_t up = (at - 1) / 2;
        if (m->heap[up].key <= key) break;
        mpki_match_put(m, at, m->heap[up]);
        at = up;
    }
    mpki_match_put(m, at, (mpki_match_entry){key, z});
}

/** Take the smallest out. */
static inline int32_t mpki_match_pop(mpki_matching *m) {
    int32_t top = m->heap[0].vertex, size = --m->heap_size, at = 0;
    mpki_match_entry last = m->heap[size];
    m->node[top].heap = -1;
    if (size == 0) return top;
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= size) break;
        if (child + 1 < size && m->heap[child + 1].key < m->heap[child].key) child++;
        if (m->heap[child].key >= last.key) break;
        mpki_match_put(m, at, m->heap[child]);
        at = child;
    }
    mpki_match_put(m, at, last);
    return top;
}

#endif
