/* SPDX-License-Identifier: BSD-3-Clause */
/* Subtrees and chains that warps, and blocks, do side by side, and where contributions lie then. */
#include "parts.h"

#include <stdlib.h>

static const char STAGE[] = "systems";

/* A block's part takes at most this share of all work, a warp's one of these, so that there are
 * enough: the smaller, the fewer systems there are, which have more warps each then. */
enum { BLOCK_SHARE = 12, WARP_SHARE_LEAST = 32, WARP_SHARE_MOST = 128, WARP_SHARES = 4096 };

static int32_t columns_of(const mpki_tree_view *t, int32_t s) {
    return t->sptr[s + 1] - t->sptr[s];
}
static int64_t below(const mpki_tree_view *t, int32_t s) {
    return t->rptr[s + 1] - t->rptr[s];
}
static bool is_small(const mpki_tree_view *t, int32_t s) {
    return columns_of(t, s) + below(t, s) <= MPKI_SYSTEMS_ALONE_ROWS;
}

/* Work of a front, in about 100 cycles: what it waits for, and its products. */
static double cost_of(const mpki_tree_view *t, int32_t s) {
    const double w = columns_of(t, s), r = w + (double)below(t, s);
    return 10 + 3 * w + w * r * r / 256;
}

/* ---- where contributions lie ----------------------------------------------------------------- */

/* What a front leaves for its parent: a triangle of a matrix, or a vector. */
static int64_t left_of(const mpki_tree_view *t, int32_t s, bool vector) {
    const int64_t m = below(t, s);
    return vector ? m : m * (m + 1) / 2;
}

typedef struct piece {
    int64_t at, size;
    int32_t front; /* whose it is; -1: a part's at work */
} piece;

/* Room for what fronts leave, from when they are done until their parent is: each in the first gap
 * between those that are held. */
typedef struct room {
    const mpki_tree_view *t;
    bool vector;
    piece *held; /* by their places */
    int32_t many;
    int64_t *at; /* nsuper */
    int64_t end;
} room;

/* The first gap of that size is held. Returns where it is. */
static int64_t hold(room *y, int64_t size, int32_t front) {
    int64_t at = 0;
    int32_t k = 0;
    if (size == 0) return 0;
    for (; k < y->many && y->held[k].at - at < size; k++) {
        const int64_t next = y->held[k].at + y->held[k].size;
        at = next > at ? next : at;
    }
    for (int32_t q = y->many++; q > k; q--) y->held[q] = y->held[q - 1];
    y->held[k] = (piece){at, size, front};
    if (at + size > y->end) y->end = at + size;
    return at;
}

/* Those that front s took are held no longer. */
static void release(room *y, int32_t s) {
    int32_t left = 0;
    for (int32_t k = 0; k < y->many; k++)
        if (y->held[k].front < 0 || y->t->parent[y->held[k].front] != s)
            y->held[left++] = y->held[k];
    y->many = left;
}

/* Fronts list[0 .. count-1], children before parents, one after another. */
static void place(room *y, const int32_t *list, int32_t count) {
    for (int32_t q = 0; q < count; q++) {
        y->at[list[q]] = hold(y, left_of(y->t, list[q], y->vector), list[q]);
        release(y, list[q]);
    }
}

/* Parts begin .. end-1, which are done at the same time: each has a piece for its own fronts until
 * all are done. own [scratch] */
static void place_beside(room *y, const mpki_cuda_parts *parts, int32_t begin, int32_t end,
                         piece *own) {
    for (int32_t k = begin; k < end; k++) {
        const mpki_cuda_systems_part *part = &parts->list[k];
        const int32_t *list = parts->order + part->begin, count = part->end - part->begin;
        room alone = {y->t, y->vector, own, 0, y->at, 0};
        place(&alone, list, count);
        const int64_t at = hold(y, alone.end, -1);
        for (int32_t q = 0; q < count; q++) y->at[list[q]] += at;
    }
    int32_t left = 0;
    for (int32_t k = 0; k < y->many; k++)
        if (y->held[k].front >= 0) y->held[left++] = y->held[k];
    y->many = left;
    for (int32_t k = begin; k < end; k++)
        for (int32_t q = parts->list[k].begin; q < parts->list[k].end; q++)
            release(y, parts->order[q]);
    for (int32_t k = begin; k < end; k++) { /* what their roots leave stays where it is */
        const int32_t root = parts->order[parts->list[k].end - 1];
        const piece x = {y->at[root], left_of(y->t, root, y->vector), root};
        int32_t q = x.size > 0 ? y->many++ : 0;
        for (; q > 0 && y->held[q - 1].at > x.at; q--) y->held[q] = y->held[q - 1];
        if (x.size > 0) y->held[q] = x;
    }
}

/* All fronts, level by level. Returns how many entries there are. */
static int64_t place_all(const mpki_tree_view *t, const mpki_cuda_parts *parts, bool vector,
                         piece *held, piece *own, int64_t *at) {
    room y = {t, vector, held, 0, at, 0};
    for (int32_t p = 0; p < parts->phases;) {
        const int32_t begin = parts->phase[p].begin;
        while (++p < parts->phases && !parts->phase[p].waits) {}
        const int32_t end = parts->phase[p - 1].end;
        const mpki_cuda_systems_part *first = &parts->list[begin];
        if (end == begin + 1)
            place(&y, parts->order + first->begin, first->end - first->begin);
        else
            place_beside(&y, parts, begin, end, own);
    }
    return y.end;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* A part on its way into the list. Levels: subtrees of warps, of blocks, then chains of fronts whose
 * other children are done, each above those that it waits for. */
typedef struct found {
    int32_t root, level, fronts;
    bool large; /* it has a front that is not small */
    double cost;
} found;

/* The order in which they are done; those with most work first. */
static int compare(const void *a, const void *b) {
    const found *x = a, *y = b;
    if (x->level != y->level) return x->level < y->level ? -1 : 1;
    if (x->large != y->large) return x->large ? 1 : -1;
    if (x->cost != y->cost) return x->cost > y->cost ? -1 : 1;
    return x->root < y->root ? -1 : x->root > y->root;
}

/* part[s] of each front: the root of its part; level[root]. work, small [scratch] 3 nsuper; nsuper */
static void choose(const mpki_tree_view *t, int64_t expected, int32_t *part, int32_t *level,
                   double *work, bool *small) {
    const int64_t wish = WARP_SHARES / expected;
    const double share = wish < WARP_SHARE_LEAST  ? WARP_SHARE_LEAST
                         : wish > WARP_SHARE_MOST ? WARP_SHARE_MOST
                                                  : (double)wish;
    double all = 0, *const cost = work, *const light = cost + t->nsuper,
           *const heavy = light + t->nsuper;
    for (int32_t s = 0; s < t->nsuper; s++) {
        small[s] = is_small(t, s);
        cost[s] = cost_of(t, s);
        all += cost[s];
        for (int32_t k = t->child_ptr[s]; k < t->child_ptr[s + 1]; k++) {
            small[s] &= small[t->child[k]];
            cost[s] += cost[t->child[k]];
        }
    }
    for (int32_t s = t->nsuper - 1; s >= 0; s--) { /* parents come first */
        const int32_t p = t->parent[s], above = p >= 0 ? part[p] : -1;
        part[s] = above;
        if (above < 0 && small[s] && cost[s] <= all / share) part[s] = s, level[s] = 0;
    }
    for (int32_t s = 0; s < t->nsuper; s++) { /* of what is above these: small fronts, and others */
        light[s] = part[s] < 0 && is_small(t, s) ? cost_of(t, s) : 0;
        heavy[s] = part[s] < 0 && !is_small(t, s) ? cost_of(t, s) : 0;
        for (int32_t k = t->child_ptr[s]; k < t->child_ptr[s + 1]; k++)
            light[s] += light[t->child[k]], heavy[s] += heavy[t->child[k]];
    }
    for (int32_t s = t->nsuper - 1; s >= 0; s--) {
        const int32_t p = t->parent[s], above = p >= 0 ? part[p] : -1;
        if (part[s] >= 0) continue;
        if (above >= 0 || (heavy[s] > light[s] && cost[s] <= all / BLOCK_SHARE))
            part[s] = above >= 0 ? above : s, level[part[s]] = 1;
    }
    for (int32_t s = 0; s < t->nsuper;
         s++) { /* the others in chains, first by their lowest front */
        int32_t chains = 0, from = s, high = 2;
        if (part[s] >= 0) continue;
        for (int32_t k = t->child_ptr[s]; k < t->child_ptr[s + 1]; k++) {
            const int32_t c = t->child[k];
            if (part[c] >= 0) continue;
            chains++, from = c;
            if (level[c] >= high) high = level[c] + 1;
        }
        level[s] = chains == 1 ? level[from] : high;
    }
    for (int32_t s = t->nsuper - 1; s >= 0; s--) {
        const int32_t p = t->parent[s];
        if (part[s] >= 0) continue;
        part[s] = p >= 0 && level[p] == level[s] ? part[p] : s;
    }
}

/* The parts, in the order in which they are done. Returns how many. number [out] by root */
static int32_t find_parts(const mpki_tree_view *t, const int32_t *part, const int32_t *level,
                          found *list, int32_t *number) {
    int32_t count = 0;
    for (int32_t s = 0; s < t->nsuper; s++)
        if (part[s] == s) number[s] = count, list[count++] = (found){s, level[s], 0, false, 0};
    for (int32_t s = 0; s < t->nsuper; s++) {
        found *own = &list[number[part[s]]];
        own->fronts++, own->large |= !is_small(t, s), own->cost += cost_of(t, s);
    }
    qsort(list, (size_t)count, sizeof *list, compare);
    for (int32_t k = 0; k < count; k++) number[list[k].root] = k;
    return count;
}

/* Who does those of one level that are large, or small: warps, blocks, or the gang one after the
 * other, where most of it is in one of them. */
static void add_phases(mpki_cuda_parts *y, const found *list, int32_t begin, int32_t end,
                       bool waits) {
    double all = 0;
    for (int32_t k = begin; k < end; k++) all += list[k].cost;
    const bool gang = list[begin].level > 1 && list[begin].large && list[begin].cost > 0.6 * all;
    const int32_t by = gang ? MPKI_BY_GANG : list[begin].large ? MPKI_BY_BLOCKS : MPKI_BY_WARPS;
    for (int32_t k = begin; k < end; k = y->phase[y->phases++].end) {
        y->phase[y->phases] = (mpki_cuda_systems_phase){k, gang ? k + 1 : end, by, waits};
        waits = false;
    }
}

static void list_parts(const mpki_tree_view *t, mpki_cuda_parts *y, const int32_t *part,
                       const found *list, int32_t *number) {
    int32_t count = 0;
    for (int32_t k = 0; k < y->parts; k++) {
        y->list[k] = (mpki_cuda_systems_part){count, count};
        count += list[k].fronts;
    }
    for (int32_t s = 0; s < t->nsuper; s++) y->order[y->list[number[part[s]]].end++] = s;
    for (int32_t k = 0; k < y->parts;) {
        const int32_t begin = k;
        while (++k < y->parts && list[k].level == list[begin].level &&
               list[k].large == list[begin].large) {}
        add_phases(y, list, begin, k, begin > 0 && list[begin - 1].level < list[begin].level);
    }
}

/* Small fronts that follow each other in a part: a warp of the block does them. */
static void count_runs(const mpki_tree_view *t, mpki_cuda_parts *y) {
    for (int32_t k = 0; k < y->parts; k++) {
        const mpki_cuda_systems_part *own = &y->list[k];
        for (int32_t q = own->begin, run = 0; q < own->end; q++)
            y->behind[q] = run = is_small(t, y->order[q]) ? run + 1 : 0;
        for (int32_t q = own->end - 1, run = 0; q >= own->begin; q--)
            y->ahead[q] = run = y->behind[q] > 0 ? run + 1 : 0;
    }
}

/* ---- what that takes ------------------------------------------------------------------------- */

/* Cycles of a front by so many warps. */
static double cycles_of(const mpki_tree_view *t, int32_t s, double warps) {
    const double w = columns_of(t, s), r = w + (double)below(t, s), entries = r * (r + 1) / 2;
    const double products = w * (r * r - r * w + w * w / 3) / 2;
    return 3000 + 800 * w + (10 * entries + 1.2 * products) / warps;
}

/* Cycles of the fronts of a part. */
static double cycles_of_part(const mpki_tree_view *t, const mpki_cuda_parts *parts, int32_t k,
                             double warps) {
    double sum = 0;
    for (int32_t q = parts->list[k].begin; q < parts->list[k].end; q++)
        sum += cycles_of(t, parts->order[q], is_small(t, parts->order[q]) ? 1 : warps);
    return sum;
}

/* Warps that a system keeps busy, about: all work over that of the longest way through the phases. */
static int32_t width_of(const mpki_tree_view *t, const mpki_cuda_parts *y) {
    double path = 0, all = 0;
    for (int32_t p = 0; p < y->phases; p++) {
        double most = 0;
        for (int32_t k = y->phase[p].begin; k < y->phase[p].end; k++) {
            const double own = cycles_of_part(t, y, k, 8);
            most = own > most ? own : most;
            all += cycles_of_part(t, y, k, 1);
        }
        path += most;
    }
    return (int32_t)(all / path) + 1;
}

mpki_expected mpki_cuda_parts_expect(const mpki_tree_view *t, const mpki_cuda_parts *parts,
                                     const mpki_cuda_systems_shape *shape, int64_t count) {
    const double hertz = 1.8e9, meeting = 1500;
    const double of_block = shape->threads / 32, blocks = shape->blocks, warps = of_block * blocks;
    double path = 0, busy = 0; /* cycles; and of warps that are busy in them */
    for (int32_t p = 0; p < parts->phases; p++) {
        const mpki_cuda_systems_phase *phase = &parts->phase[p];
        const bool alone = phase->by == MPKI_BY_WARPS, gang = phase->by == MPKI_BY_GANG;
        const double each = alone ? 1 : of_block, teams = alone ? warps : gang ? 1 : blocks;
        double sum = 0, most = 0;
        for (int32_t k = phase->begin; k < phase->end; k++) {
            const double own = cycles_of_part(t, parts, k, each);
            sum += own, most = own > most ? own : most;
            busy += alone ? own : cycles_of_part(t, parts, k, 1);
        }
        path += (sum / teams > most ? sum / teams : most) + (phase->waits ? meeting : 0);
    }
    /* as many warps as that keep a multiprocessor busy; more wait for each other */
    const double full = 9, rounds = (double)((count + shape->gangs - 1) / shape->gangs);
    const double at_work = (double)shape->gangs / shape->sms, crowded = busy * at_work / full;
    return (mpki_expected){rounds * (path > crowded ? path : crowded) / hertz,
                           rounds * (busy / warps > crowded ? busy / warps : crowded) / hertz};
}

/* ---- all of it ------------------------------------------------------------------------------ */

mpk_status mpki_cuda_parts_make(mpk_context *ctx, const mpki_tree_view *t, int64_t expected,
                                mpki_cuda_parts *y) {
    const int32_t m = t->nsuper;
    piece *held = MPKI_NEW(ctx, STAGE, 2 * ((int64_t)m + 1), piece);
    found *list = MPKI_NEW(ctx, STAGE, m, found);
    double *cost = MPKI_NEW(ctx, STAGE, 3 * (int64_t)m, double);
    bool *small = MPKI_NEW(ctx, STAGE, m, bool);
    int32_t *part = MPKI_ZNEW(ctx, STAGE, 3 * (int64_t)m, int32_t), *level = part + m,
            *number = level + m;
    *y = (mpki_cuda_parts){0};
    y->order = MPKI_NEW(ctx, STAGE, 3 * (int64_t)m, int32_t);
    y->c = MPKI_NEW(ctx, STAGE, 2 * (int64_t)m, int64_t);
    y->list = MPKI_ZNEW(ctx, STAGE, m, mpki_cuda_systems_part);
    y->phase = MPKI_ZNEW(ctx, STAGE, m, mpki_cuda_systems_phase);
    const bool whole =
        held && list && cost && small && part && y->order && y->c && y->list && y->phase;
    if (!whole) goto done;
    y->ahead = y->order + m, y->behind = y->ahead + m, y->u = y->c + m;
    choose(t, expected, part, level, cost, small);
    y->parts = find_parts(t, part, level, list, number);
    list_parts(t, y, part, list, number);
    count_runs(t, y);
    y->wide = width_of(t, y);
    y->contributions = place_all(t, y, false, held, held + m + 1, y->c);
    y->vectors = place_all(t, y, true, held, held + m + 1, y->u);
done:
    mpki_release(ctx, held);
    mpki_release(ctx, list);
    mpki_release(ctx, cost);
    mpki_release(ctx, small);
    mpki_release(ctx, part);
    if (!whole) mpki_cuda_parts_free(ctx, y);
    return whole ? MPK_OK : mpki_failed(ctx);
}

void mpki_cuda_parts_free(mpk_context *ctx, mpki_cuda_parts *y) {
    mpki_release(ctx, y->order);
    mpki_release(ctx, y->c);
    mpki_release(ctx, y->list);
    mpki_release(ctx, y->phase);
    *y = (mpki_cuda_parts){0};
}
