/* SPDX-License-Identifier: BSD-3-Clause */
/* Buckets of sizes, first fit. */
#include "sim/vector/pack.h"
#include <stdlib.h>
#include <string.h>

static int by_count(const void *x, const void *y) {
    int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* bucket[size] of the sizes that one kernel is for, from `first` on; how many there are with it. */
static int32_t buckets_of(const vs_counts *c, int32_t entry, int64_t threshold, int32_t first,
                          int32_t *bucket, int64_t *list) {
    int32_t n = 0, last = first - 1;
    int64_t *least = list + c->most + 1;
    for (int32_t s = 0; s <= c->most; ++s)
        if (c->of[s] && (!c->entry || c->entry[s] == entry)) list[n++] = c->of[s];
    if (n) qsort(list, (size_t)n, sizeof *list, by_count);
    for (int32_t i = 0; i < n; ++i)
        if (last < first || list[i] - least[last - first] > threshold)
            least[++last - first] = list[i];
    for (int32_t s = 0; s <= c->most; ++s) {
        if (!c->of[s] || (c->entry && c->entry[s] != entry)) continue;
        bucket[s] = first;
        while (bucket[s] < last && least[bucket[s] + 1 - first] <= c->of[s]) ++bucket[s];
    }
    return last + 1;
}

/* bucket[size]; how many there are. */
static int32_t find_buckets(const vs_counts *c, int64_t threshold, int32_t *bucket,
                            borg_arena *arena) {
    int64_t *list = BORG_NEW(arena, 2 * (c->most + 2), int64_t);
    int32_t nbuckets = 0, entries = 0;
    for (int32_t s = 0; c->entry && s <= c->most; ++s)
        if (c->entry[s] > entries) entries = c->entry[s];
    for (int32_t e = 0; e <= entries; ++e)
        nbuckets = buckets_of(c, e, threshold, nbuckets, bucket, list);
    return nbuckets;
}

/* By size, of equal ones in the order given: a counting sort. */
static void sort_warps(const vs_warp *warps, int32_t count, int32_t most, vs_sort sort,
                       int32_t *order, borg_arena *arena) {
    int32_t *start = BORG_NEW(arena, most + 2, int32_t);
    for (int32_t i = 0; i < count; ++i) order[i] = i;
    if (sort == VS_AS_GIVEN) return;
    for (int32_t i = 0; i < count; ++i) {
        int32_t key = sort == VS_RISING ? warps[i].ntids : most - warps[i].ntids;
        ++start[key + 1];
    }
    for (int32_t k = 0; k <= most; ++k) start[k + 1] += start[k];
    for (int32_t i = 0; i < count; ++i) {
        int32_t key = sort == VS_RISING ? warps[i].ntids : most - warps[i].ntids;
        order[start[key]++] = i;
    }
}

/* Partitions with room, by bucket, in the order in which they were opened. */
typedef struct open_list {
    int32_t *part;
    int32_t count;
    size_t room;
} open_list;

static int32_t first_fit(vs_packing *k, open_list *o, int32_t threads, int32_t lanes,
                         borg_arena *arena) {
    for (int32_t i = 0; i < o->count; ++i) {
        vs_partition *p = &k->parts[o->part[i]];
        if (p->threads + threads > lanes) continue;
        p->threads += threads;
        int32_t at = o->part[i];
        if (p->threads == lanes) /* full: the others move up */
            memmove(&o->part[i], &o->part[i + 1], (size_t)(--o->count - i) * sizeof *o->part);
        return at;
    }
    k->parts[k->nparts] = (vs_partition){.threads = threads};
    if (threads < lanes) {
        o->part = borg_grow(arena, o->part, (size_t)o->count + 1, &o->room, sizeof *o->part);
        o->part[o->count++] = k->nparts;
    }
    return k->nparts++;
}

vs_packing *vs_pack(const vs_warp *warps, int32_t count, const vs_counts *counts, int32_t lanes,
                    int64_t threshold, vs_sort sort, borg_arena *arena) {
    vs_packing *k = BORG_NEW(arena, 1, vs_packing);
    int32_t *bucket = BORG_NEW(arena, counts->most + 1, int32_t);
    int32_t *order = BORG_NEW(arena, count + 1, int32_t),
            *part = BORG_NEW(arena, count + 1, int32_t);
    k->nbuckets = find_buckets(counts, threshold < 0 ? 0 : threshold, bucket, arena);
    k->parts = BORG_NEW(arena, count + 1, vs_partition);
    k->warps = BORG_NEW(arena, count + 1, vs_warp);
    open_list *open = BORG_NEW(arena, k->nbuckets + 1, open_list);
    sort_warps(warps, count, counts->most, sort, order, arena);
    for (int32_t i = 0; i < count; ++i) {
        const vs_warp *w = &warps[order[i]];
        bool alone = threshold < 0 || w->ntids >= lanes;
        if (alone) k->parts[k->nparts] = (vs_partition){.threads = w->ntids};
        part[i] =
            alone ? k->nparts++ : first_fit(k, &open[bucket[w->ntids]], w->ntids, lanes, arena);
        ++k->parts[part[i]].count;
    }
    for (int32_t p = 0; p < k->nparts; ++p) {
        k->parts[p].first = p ? k->parts[p - 1].first + k->parts[p - 1].count : 0;
        if (k->parts[p].threads > k->widest) k->widest = k->parts[p].threads;
    }
    for (int32_t p = 0; p < k->nparts; ++p) k->parts[p].count = 0;
    for (int32_t i = 0; i < count; ++i) {
        vs_partition *p = &k->parts[part[i]];
        k->warps[p->first + p->count++] = warps[order[i]];
    }
    return k;
}

uint64_t vs_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void vs_shuffle(int32_t *order, int32_t count, uint64_t seed) {
    uint64_t state = seed;
    for (int32_t i = 0; i < count; ++i) order[i] = i;
    for (int32_t i = count - 1; i > 0; --i) {
        int32_t j = (int32_t)(vs_random(&state) % ((uint64_t)i + 1)), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}
