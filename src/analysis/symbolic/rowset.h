/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_ROWSET_H
#define MPKI_ROWSET_H
/** A set of row numbers that is read out sorted: bits, with one bit above for every 64 of them that
 * has any set, and so on up. An insertion mostly touches one word; reading out costs the words that
 * are not 0, and empties the set. So a union of row lists needs no sort. */
#include "../../core/core.h"

enum { MPKI_ROWSET_LEVELS = 6 }; /* 64^6 > 2^31 */

typedef struct mpki_rowset {
    uint64_t *word[MPKI_ROWSET_LEVELS];
    int top;     /* the level of one word */
    void *block; /* all words */
} mpki_rowset;

/** An empty set of numbers below n. Returns false when memory fails. */
static inline bool mpki_rowset_create(mpk_context *ctx, const char *stage, int64_t n,
                                      mpki_rowset *set) {
    int64_t size[MPKI_ROWSET_LEVELS], total = 0;
    set->top = -1;
    do {
        n = (n + 63) / 64 + (n == 0);
        size[++set->top] = n;
        total += n;
    } while (n > 1);
    set->block = mpki_calloc(ctx, stage, total, sizeof(uint64_t));
    if (!set->block) return false;
    uint64_t *at = set->block;
    for (int k = 0; k <= set->top; k++) {
        set->word[k] = at;
        at += size[k];
    }
    return true;
}

static inline void mpki_rowset_add(mpki_rowset *set, int32_t i) {
    for (int k = 0; k <= set->top; k++) {
        uint64_t *word = &set->word[k][i >> 6], old = *word;
        *word = old | (uint64_t)1 << (i & 63);
        if (old) return;
        i >>= 6;
    }
}

/** Move the set's numbers, increasing, to out; returns its end. */
static inline int32_t *mpki_rowset_take(mpki_rowset *set, int level, int32_t index, int32_t *out) {
    uint64_t bits = set->word[level][index];
    set->word[level][index] = 0;
    for (; bits; bits &= bits - 1) {
        int32_t i = (int32_t)((uint32_t)index << 6 | (uint32_t)__builtin_ctzll(bits));
        if (level == 0)
            *out++ = i;
        else
            out = mpki_rowset_take(set, level - 1, i, out);
    }
    return out;
}

#endif
