/* SPDX-License-Identifier: BSD-3-Clause */
/* Splits level sets into conflict-free subsets. */
#include "schedule.h"

#include <string.h>

static const char STAGE[] = "level subsets";

/* Successors of a frame: int32 numbers at a stride, in the lists of an index or in the columns of a
 * pattern. */
typedef struct successors {
    const mpki_ibcsr *index;
    const mpki_pattern *pattern;
} successors;

typedef struct range {
    const char *at;
    int64_t count;
    size_t stride;
} range;

static inline range after(const successors *s, int32_t f) {
    if (s->index) {
        int64_t e = s->index->diagonal[f] + 1;
        return (range){(const char *)&s->index->entry[e].other, s->index->ptr[f + 1] - e,
                       sizeof(mpki_entry)};
    }
    int64_t k = s->pattern->ptr[f] + 1;
    return (range){(const char *)(s->pattern->row + k), s->pattern->ptr[f + 1] - k,
                   sizeof(int32_t)};
}

static inline int32_t nth(range r, int64_t k) {
    return *(const int32_t *)(const void *)(r.at + (size_t)k * r.stride);
}

/* Greedy colouring of one level, first fit in the order given: two frames with a common successor
 * get different colours. A successor keeps the colours of a window of 64 that its frames have as
 * the bits of a word, so a frame reads one word for each successor, and the graph of conflicts is
 * never made. Frames that find the window full wait for the next one. After WINDOWS of them the
 * frames left take the colour above all of their successors' instead, which one pass does. */
enum { WINDOWS = 64 };

typedef struct colouring {
    successors s;
    uint64_t *word; /* m: by successor; zero between levels */
    int32_t *wait;  /* by place in the level: frames without a colour */
    int32_t *full;  /* likewise: the successor whose window was full */
} colouring;

static void clear_words(const colouring *c, const int32_t *frame, int32_t count) {
    for (int32_t k = 0; k < count; k++) {
        range r = after(&c->s, frame[k]);
        for (int64_t e = 0; e < r.count; e++) c->word[nth(r, e)] = 0;
    }
}

/* The lowest colour of the window that is free for f; or -1, and the successor that has none left.
 */
static int first_free(const colouring *c, range r, int32_t *full) {
    uint64_t used = 0;
    for (int64_t e = 0; e < r.count; e++) {
        used |= c->word[nth(r, e)];
        if (used == UINT64_MAX) {
            *full = nth(r, e);
            return -1;
        }
    }
    return __builtin_ctzll(~used);
}

/* One window over the waiting frames; returns how many wait on. */
static int32_t colour_window(colouring *c, const int32_t *frame, int32_t waiting, int32_t base,
                             int32_t *colour, int32_t *colours) {
    int32_t left = 0;
    for (int32_t w = 0; w < waiting; w++) {
        int32_t k = c->wait[w], full = c->full[w];
        range r = after(&c->s, frame[k]);
        int bit = -1;
        if (full < 0 || c->word[full] != UINT64_MAX) bit = first_free(c, r, &full);
        if (bit < 0) {
            c->wait[left] = k;
            c->full[left++] = full;
            continue;
        }
        for (int64_t e = 0; e < r.count; e++) c->word[nth(r, e)] |= (uint64_t)1 << bit;
        colour[k] = base + bit;
        if (base + bit >= *colours) *colours = base + bit + 1;
    }
    return left;
}

/* word: the first colour above those of a successor's frames, less base. */
static void colour_rest(colouring *c, const int32_t *frame, int32_t waiting, int32_t base,
                        int32_t *colour, int32_t *colours) {
    for (int32_t w = 0; w < waiting; w++) {
        int32_t k = c->wait[w];
        range r = after(&c->s, frame[k]);
        uint64_t next = 0;
        for (int64_t e = 0; e < r.count; e++)
            if (c->word[nth(r, e)] > next) next = c->word[nth(r, e)];
        for (int64_t e = 0; e < r.count; e++) c->word[nth(r, e)] = next + 1;
        colour[k] = base + (int32_t)next;
        if (colour[k] >= *colours) *colours = colour[k] + 1;
    }
}

/* colour [out] count; returns their number. */
static int32_t colour_level(colouring *c, const int32_t *frame, int32_t count, int32_t *colour) {
    int32_t waiting = count, base = 0, colours = 0;
    for (int32_t k = 0; k < count; k++) {
        c->wait[k] = k;
        c->full[k] = -1;
    }
    for (int window = 0; waiting > 0 && window < WINDOWS; window++, base += 64) {
        waiting = colour_window(c, frame, waiting, base, colour, &colours);
        clear_words(c, frame, count);
    }
    if (waiting > 0) {
        colour_rest(c, frame, waiting, base, colour, &colours);
        clear_words(c, frame, count);
    }
    return colours;
}

static mpk_status colouring_new(mpk_context *ctx, int32_t m, successors s, colouring *c) {
    *c = (colouring){s, MPKI_ZNEW(ctx, STAGE, m, uint64_t), MPKI_NEW(ctx, STAGE, m, int32_t),
                     MPKI_NEW(ctx, STAGE, m, int32_t)};
    return c->word && c->wait && c->full ? MPK_OK : mpki_failed(ctx);
}

static void colouring_free(mpk_context *ctx, colouring *c) {
    mpki_release(ctx, c->word);
    mpki_release(ctx, c->wait);
    mpki_release(ctx, c->full);
}

mpk_status mpki_subsets_make(mpk_context *ctx, const mpki_ibcsr *index, const mpki_levels *levels,
                             mpki_levels *subsets, int32_t **of) {
    int32_t frames = levels->count ? levels->ptr[levels->count] : 0, most = 0, count = 0;
    colouring c = {0};
    mpk_status status = colouring_new(ctx, index->m, (successors){index, NULL}, &c);
    int32_t *colour = MPKI_NEW(ctx, STAGE, frames, int32_t);
    int32_t *total = MPKI_NEW(ctx, STAGE, levels->count, int32_t); /* colours of each level */
    int32_t *from = NULL;
    *subsets = (mpki_levels){0};
    if (of) *of = NULL;
    if (mpk_failed(status) || !colour || !total) goto failed;
    for (int32_t s = 0; s < levels->count; s++) {
        int32_t first = levels->ptr[s];
        total[s] =
            colour_level(&c, levels->frame + first, levels->ptr[s + 1] - first, colour + first);
        if (total[s] > most) most = total[s];
        count += total[s];
    }
    *subsets = (mpki_levels){.count = count,
                             .ptr = MPKI_ZNEW(ctx, STAGE, (int64_t)count + 1, int32_t),
                             .frame = MPKI_NEW(ctx, STAGE, frames, int32_t)};
    if (!subsets->ptr || !subsets->frame) goto failed;
    if (of && !(from = MPKI_NEW(ctx, STAGE, count, int32_t))) goto failed;
    int32_t set = 0;
    for (int32_t s = 0; s < levels->count; s++) { /* bucket each level by its colours */
        int32_t *ptr = subsets->ptr + set, first = levels->ptr[s], last = levels->ptr[s + 1];
        ptr[0] = first;
        for (int32_t k = first; k < last; k++) ptr[colour[k] + 1]++;
        for (int32_t k = 0; k < total[s]; k++) {
            ptr[k + 1] += ptr[k];
            if (from) from[set + k] = s;
        }
        for (int32_t k = first; k < last; k++) subsets->frame[ptr[colour[k]]++] = levels->frame[k];
        for (int32_t k = total[s]; k > 0; k--) ptr[k] = ptr[k - 1];
        ptr[0] = first;
        set += total[s];
    }
    if (of) *of = from;
    goto done;
failed:
    status = mpki_failed(ctx);
    mpki_levels_free(ctx, subsets);
done:
    colouring_free(ctx, &c);
    mpki_release(ctx, colour);
    mpki_release(ctx, total);
    return status;
}

/* Columns of the pattern by level: ptr [out] count + 1, frame [out] m. */
static void level_sets(const mpki_pattern *pattern, int32_t *level, int32_t count, int32_t *ptr,
                       int32_t *frame) {
    memset(ptr, 0, ((size_t)count + 1) * sizeof *ptr);
    for (int32_t k = 0; k < pattern->m; k++) ptr[level[k] + 1]++;
    for (int32_t k = 0; k < count; k++) ptr[k + 1] += ptr[k];
    for (int32_t k = 0; k < pattern->m; k++) frame[ptr[level[k]]++] = k;
    for (int32_t k = count; k > 0; k--) ptr[k] = ptr[k - 1];
    ptr[0] = 0;
}

mpk_status mpki_count_levels(mpk_context *ctx, const mpki_pattern *pattern, int32_t *levels,
                             int32_t *sublevels) {
    int32_t m = pattern->m, count = 0, subsets = 0;
    int32_t *level = MPKI_ZNEW(ctx, STAGE, m, int32_t);
    int32_t *frame = MPKI_NEW(ctx, STAGE, m, int32_t);
    int32_t *ptr = MPKI_NEW(ctx, STAGE, (int64_t)m + 1, int32_t);
    colouring c = {0};
    mpk_status status = MPK_OK;
    if (!level || !frame || !ptr) {
        status = mpki_failed(ctx);
        goto done;
    }
    for (int32_t k = 0; k < m; k++) {
        for (int64_t e = pattern->ptr[k] + 1; e < pattern->ptr[k + 1]; e++) {
            int32_t *below = &level[pattern->row[e]];
            if (*below <= level[k]) *below = level[k] + 1;
        }
        if (level[k] >= count) count = level[k] + 1;
    }
    if (sublevels) {
        if (mpk_failed(status = colouring_new(ctx, m, (successors){NULL, pattern}, &c))) goto done;
        level_sets(pattern, level, count, ptr, frame);
        int32_t *colour = level; /* no longer wanted */
        for (int32_t s = 0; s < count; s++)
            subsets += colour_level(&c, frame + ptr[s], ptr[s + 1] - ptr[s], colour + ptr[s]);
        *sublevels = subsets;
    }
    if (levels) *levels = count;
done:
    colouring_free(ctx, &c);
    mpki_release(ctx, level);
    mpki_release(ctx, frame);
    mpki_release(ctx, ptr);
    return status;
}
