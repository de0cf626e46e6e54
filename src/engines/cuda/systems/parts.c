/* SPDX-License-Identifier: BSD-3-Clause */
/* Subtrees that warps, and blocks, do side by side, and where contributions lie then. */
#include "parts.h"

static const char STAGE[] = "systems";

/* A warp's part takes at most this share of all work, a block's that one, so that there are enough. */
enum { WARP_SHARE = 32, BLOCK_SHARE = 12 };

static int32_t columns_of(const mpki_tree_view *t, int32_t s) {
    return t->sptr[s + 1] - t->sptr[s];
}
static int64_t below(const mpki_tree_view *t, int32_t s) {
    return t->rptr[s + 1] - t->rptr[s];
}

/* Work of a front, in about 100 cycles: what it waits for, and its products. */
static double cost_of(const mpki_tree_view *t, int32_t s) {
    const double w = columns_of(t, s), r = w + (double)below(t, s);
    return 10 + 3 * w + w * r * r / 256;
}

/* What a front leaves for its parent: a triangle of a matrix, or a vector. */
static int64_t left_of(const mpki_tree_view *t, int32_t s, bool vector) {
    const int64_t m = below(t, s);
    return vector ? m : m * (m + 1) / 2;
}

/* Room for what fronts leave, from when they are done until their parent is: each in the first gap
 * between those that are held. */
typedef struct room {
    const mpki_tree_view *t;
    bool vector;
    int32_t *held, many; /* by their places */
    int64_t *at;         /* nsuper */
    int64_t base, end;   /* nothing is placed before base; where all ends */
} room;

static void hold(room *y, int32_t s) {
    const int64_t size = left_of(y->t, s, y->vector);
    int64_t end = y->base;
    int32_t k = 0;
    y->at[s] = y->base;
    if (size == 0) return;
    for (; k < y->many; k++) {
        if (y->at[y->held[k]] - end >= size) break;
        const int64_t next = y->at[y->held[k]] + left_of(y->t, y->held[k], y->vector);
        end = next > end ? next : end;
    }
    for (int32_t q = y->many++; q > k; q--) y->held[q] = y->held[q - 1];
    y->held[k] = s, y->at[s] = end;
    if (end + size > y->end) y->end = end + size;
}

/* Those that front s took are held no longer. */
static void release(room *y, int32_t s) {
    int32_t left = 0;
    for (int32_t k = 0; k < y->many; k++)
        if (y->t->parent[y->held[k]] != s) y->held[left++] = y->held[k];
    y->many = left;
}

/* Fronts list[0 .. count-1], children before parents. */
static void place(room *y, const int32_t *list, int32_t count) {
    for (int32_t q = 0; q < count; q++) {
        hold(y, list[q]);
        release(y, list[q]);
    }
}

/* All fronts: each part by itself, for others are at work at the same time; those above the parts
 * in what these have done with. Returns how many entries there are. */
static int64_t place_all(const mpki_tree_view *t, const mpki_cuda_parts *parts, bool vector,
                         int32_t *held, int64_t *at) {
    room y = {t, vector, held, 0, at, 0, 0};
    for (int32_t k = 0; k < parts->parts; k++) {
        const mpki_cuda_systems_part *own = &parts->list[k];
        y.base = y.end, y.many = 0;
        place(&y, parts->order + own->begin, own->end - own->begin);
    }
    y.base = 0, y.many = 0;
    for (int32_t k = 0; k < parts->parts; k++) { /* by their places, which follow the parts */
        const int32_t root = parts->order[parts->list[k].end - 1], above = t->parent[root];
        if (above >= 0 && parts->part[above] < 0 && left_of(t, root, vector) > 0)
            held[y.many++] = root;
    }
    const mpki_cuda_systems_part *top = &parts->list[parts->parts];
    place(&y, parts->order + top->begin, top->end - top->begin);
    return y.end;
}

/* y->part of each front: the root of its part, -1: none; y->alone: is that a warp's? */
static void choose(const mpki_tree_view *t, mpki_cuda_parts *y, double *cost, bool *small) {
    double all = 0;
    for (int32_t s = 0; s < t->nsuper; s++) {
        small[s] = columns_of(t, s) + below(t, s) <= MPKI_SYSTEMS_ALONE_ROWS;
        cost[s] = cost_of(t, s);
        all += cost[s];
        for (int32_t k = t->child_ptr[s]; k < t->child_ptr[s + 1]; k++) {
            small[s] &= small[t->child[k]];
            cost[s] += cost[t->child[k]];
        }
    }
    for (int32_t s = t->nsuper - 1; s >= 0; s--) { /* parents come first */
        const int32_t p = t->parent[s], above = p >= 0 ? y->part[p] : -1;
        const bool alone = small[s] && cost[s] <= all / WARP_SHARE;
        y->part[s] = above, y->alone[s] = above >= 0 && y->alone[p];
        if (y->alone[s]) continue;
        if (alone)
            y->part[s] = s, y->alone[s] = true;
        else if (above < 0 && cost[s] <= all / BLOCK_SHARE)
            y->part[s] = s;
    }
}

/* The parts of one kind, those with most work first. Returns how many fronts are in order then. */
static int32_t list_parts(const mpki_tree_view *t, mpki_cuda_parts *y, const double *cost,
                          bool alone, int32_t count) {
    const int32_t before = y->parts;
    for (int32_t s = 0; s < t->nsuper; s++) {
        if (y->part[s] != s || y->alone[s] != alone) continue;
        int32_t k = y->parts++;
        for (; k > before && cost[y->list[k - 1].begin] < cost[s]; k--) y->list[k] = y->list[k - 1];
        y->list[k].begin = s; /* its root, until the parts are laid out */
    }
    for (int32_t k = before; k < y->parts; k++) {
        const int32_t root = y->list[k].begin;
        y->list[k].begin = count;
        for (int32_t s = y->first[root]; s <= root; s++)
            if (y->part[s] == root) y->order[count++] = s;
        y->list[k].end = count;
    }
    return count;
}

/* Small fronts that follow each other in a part: a warp of the block does them. */
static void count_runs(const mpki_tree_view *t, mpki_cuda_parts *y) {
    for (int32_t k = 0; k <= y->parts; k++) {
        const mpki_cuda_systems_part *own = &y->list[k];
        for (int32_t q = own->begin, run = 0; q < own->end; q++) {
            const int32_t s = y->order[q];
            run = columns_of(t, s) + below(t, s) <= MPKI_SYSTEMS_ALONE_ROWS ? run + 1 : 0;
            y->behind[q] = run;
        }
        for (int32_t q = own->end - 1, run = 0; q >= own->begin; q--)
            y->ahead[q] = run = y->behind[q] > 0 ? run + 1 : 0;
    }
}

mpk_status mpki_cuda_parts_make(mpk_context *ctx, const mpki_tree_view *t, mpki_cuda_parts *y) {
    const int32_t m = t->nsuper;
    int32_t *held = MPKI_NEW(ctx, STAGE, m, int32_t);
    double *cost = MPKI_NEW(ctx, STAGE, m, double);
    bool *small = MPKI_NEW(ctx, STAGE, m, bool);
    *y = (mpki_cuda_parts){0};
    y->part = MPKI_NEW(ctx, STAGE, 5 * (int64_t)m, int32_t);
    y->alone = MPKI_NEW(ctx, STAGE, m, bool);
    y->c = MPKI_NEW(ctx, STAGE, 2 * (int64_t)m, int64_t);
    y->list = MPKI_ZNEW(ctx, STAGE, (int64_t)m + 1, mpki_cuda_systems_part);
    const bool whole = held && cost && small && y->part && y->alone && y->c && y->list;
    if (!whole) goto done;
    y->order = y->part + m, y->ahead = y->order + m, y->behind = y->ahead + m;
    y->first = y->behind + m, y->u = y->c + m;
    for (int32_t s = 0; s < m; s++) { /* a subtree is a range of the postorder that its root ends */
        y->first[s] = s;
        for (int32_t k = t->child_ptr[s]; k < t->child_ptr[s + 1]; k++)
            if (y->first[t->child[k]] < y->first[s]) y->first[s] = y->first[t->child[k]];
    }
    choose(t, y, cost, small);
    int32_t count = list_parts(t, y, cost, true, 0);
    y->warps = y->parts;
    count = list_parts(t, y, cost, false, count);
    y->list[y->parts] = (mpki_cuda_systems_part){count, m};
    for (int32_t s = 0; s < m; s++)
        if (y->part[s] < 0) y->order[count++] = s;
    count_runs(t, y);
    y->contributions = place_all(t, y, false, held, y->c);
    y->vectors = place_all(t, y, true, held, y->u);
done:
    mpki_release(ctx, held);
    mpki_release(ctx, cost);
    mpki_release(ctx, small);
    if (!whole) mpki_cuda_parts_free(ctx, y);
    return whole ? MPK_OK : mpki_failed(ctx);
}

void mpki_cuda_parts_free(mpk_context *ctx, mpki_cuda_parts *y) {
    mpki_release(ctx, y->part);
    mpki_release(ctx, y->alone);
    mpki_release(ctx, y->c);
    mpki_release(ctx, y->list);
    *y = (mpki_cuda_parts){0};
}
