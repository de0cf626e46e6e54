/* SPDX-License-Identifier: BSD-3-Clause */
/* Subtrees of small fronts, which warps do side by side, and where contributions lie then. */
#include "parts.h"

static const char STAGE[] = "systems";

/* A part takes at most this share of all work, so that there are enough of them. */
enum { SHARE = 16 };

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

/* Contributions of the fronts list[0 .. count-1], children before parents, from `base` on: each in
 * the first gap that holds it. Those of fronts that are in no list lie elsewhere. Returns the end. */
static int64_t place(const mpki_tree_view *t, const int32_t *list, int32_t count, int64_t base,
                     int32_t *held, int64_t *c) {
    int64_t most = base;
    int32_t many = 0;
    for (int32_t q = 0; q < count; q++) {
        const int32_t s = list[q];
        const int64_t m = below(t, s), size = m * (m + 1) / 2;
        int64_t end = base;
        int32_t at = 0, left = 0;
        c[s] = base;
        for (; size > 0 && at < many; at++) {
            const int64_t rows = below(t, held[at]);
            if (c[held[at]] - end >= size) break;
            end = c[held[at]] + rows * (rows + 1) / 2;
        }
        if (size > 0) {
            for (int32_t k = many++; k > at; k--) held[k] = held[k - 1];
            held[at] = s, c[s] = end;
            if (end + size > most) most = end + size;
        }
        for (int32_t k = 0; k < many; k++)
            if (t->parent[held[k]] != s) held[left++] = held[k];
        many = left;
    }
    return most;
}

/* y->part of each front; -1: none. */
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
        const int32_t p = t->parent[s];
        y->part[s] = p >= 0 ? y->part[p] : -1;
        if (y->part[s] < 0 && small[s] && cost[s] <= all / SHARE) y->part[s] = s; /* its root */
    }
}

mpk_status mpki_cuda_parts_make(mpk_context *ctx, const mpki_tree_view *t, mpki_cuda_parts *y) {
    const int32_t m = t->nsuper;
    int32_t *held = MPKI_NEW(ctx, STAGE, m, int32_t), count = 0;
    double *cost = MPKI_NEW(ctx, STAGE, m, double);
    bool *small = MPKI_NEW(ctx, STAGE, m, bool);
    *y = (mpki_cuda_parts){0};
    y->part = MPKI_NEW(ctx, STAGE, m, int32_t);
    y->order = MPKI_NEW(ctx, STAGE, m, int32_t);
    y->c = MPKI_NEW(ctx, STAGE, m, int64_t);
    y->list = MPKI_ZNEW(ctx, STAGE, (int64_t)m + 1, mpki_cuda_systems_part);
    const bool whole = held && cost && small && y->part && y->order && y->c && y->list;
    if (!whole) goto done;
    choose(t, y, cost, small);
    for (int32_t s = 0; s < m; s++) { /* a subtree is a range of the postorder that its root ends */
        if (y->part[s] < 0) continue;
        if (count == 0 || y->part[y->order[count - 1]] != y->part[s])
            y->list[y->parts++] = (mpki_cuda_systems_part){.begin = count};
        y->order[count++] = s;
        mpki_cuda_systems_part *own = &y->list[y->parts - 1];
        own->end = count;
        if (y->part[s] == s) own->rows = (int32_t)below(t, s);
    }
    for (int32_t k = 0; k < y->parts; k++) {
        mpki_cuda_systems_part *own = &y->list[k];
        own->sums = y->sums, y->sums += own->rows;
        y->contributions =
            place(t, y->order + own->begin, own->end - own->begin, y->contributions, held, y->c);
    }
    y->list[y->parts] = (mpki_cuda_systems_part){.begin = count, .end = m, .sums = y->sums};
    for (int32_t s = 0; s < m; s++)
        if (y->part[s] < 0) y->order[count++] = s;
    const int32_t first = y->list[y->parts].begin;
    y->contributions = place(t, y->order + first, m - first, y->contributions, held, y->c);
done:
    mpki_release(ctx, held);
    mpki_release(ctx, cost);
    mpki_release(ctx, small);
    if (!whole) mpki_cuda_parts_free(ctx, y);
    return whole ? MPK_OK : mpki_failed(ctx);
}

void mpki_cuda_parts_free(mpk_context *ctx, mpki_cuda_parts *y) {
    mpki_release(ctx, y->part);
    mpki_release(ctx, y->order);
    mpki_release(ctx, y->c);
    mpki_release(ctx, y->list);
    *y = (mpki_cuda_parts){0};
}
