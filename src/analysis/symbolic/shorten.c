/* SPDX-License-Identifier: BSD-3-Clause */
/* Amalgamation for a device, by paths: its fronts go side by side, so that a factorization takes as
 * long as the longest path from a leaf to the root, on which each front costs something and each
 * column, too. A child that is the last one to be done goes into its parent where that shortens the
 * way; another one only as far as the parent's way has time to spare. */
#include "../../core/heap.h"
#include "../../core/pool.h"
#include "symbolic.h"

#include <math.h>
#include <stdlib.h>

static const char STAGE[] = "symbolic";

/* Seconds, measured on an H100 (bench/journal/2026-11-26-gpu-direct.md, "A front of a chain"): of a
 * front that one block has in shared memory as a whole, and of one that is cut into pieces of
 * columns whose contributions others make. */
static const double FRONT_S = 16e-6, COLUMN_S = 0.8e-6, ENTRY_S = 1e-10, FLOP_S = 1e-11;
static const double PIECE_S = 40e-6, PIECE_COLUMN_S = 0.5e-6, PIECE_ROW_S = 2e-8;
static const double CHILD_S = 0.4e-6;
static const double WHOLE_ROWS = 225, PIECE_COLUMNS = 32;

/* Explicit zeros and columns that a merger may make: on paths that count, and elsewhere. Those
 * count that take more than a share of the longest one's time: of trees without and with fronts
 * that are cut. */
static const double MOST_ZEROS = 2000, MOST_COLUMNS = 128, FEW_ZEROS = 200, FEW_COLUMNS = 64;
static const double COUNTS = 0.5, COUNTS_CUT = 0.9;

typedef struct shortening {
    mpki_nodes *nodes;
    double *path;  /* by node: seconds until it is done */
    double *below; /* by node: until its children are */
    double *above; /* by node: from there to its root's end, before anything is merged */
    int32_t *kids; /* by node */
    /* children of one node in runs, each by falling path; what: is it the last of its run? */
    mpki_heap_entry *child;
    int32_t children;
    mpki_heap runs; /* the first of each that is left; what: where it is */
    double counts;  /* from here on a path counts */
} shortening;

static double front_s(double w, double m, double kids) {
    const double n = w + m;
    if (n <= MPKI_DEVICE_WARP_ROWS)
        return MPKI_DEVICE_WARP_S + MPKI_DEVICE_WARP_COLUMN_S * w + CHILD_S * kids;
    if (n <= WHOLE_ROWS)
        return FRONT_S + COLUMN_S * w + n * n * (FLOP_S * w + ENTRY_S) + CHILD_S * kids;
    return ceil(w / PIECE_COLUMNS) * (PIECE_S + PIECE_ROW_S * n) + PIECE_COLUMN_S * w +
           CHILD_S * kids;
}

static double node_s(const shortening *z, int32_t s) {
    return front_s(z->nodes->width[s], z->nodes->rows[s], z->kids[s]);
}

/* Its children are known. */
static void find_path(shortening *z, int32_t s) {
    const mpki_nodes *nodes = z->nodes;
    z->below[s] = z->kids[s] = 0;
    for (int32_t c = nodes->child[s]; c >= 0; c = nodes->sibling[c]) {
        z->below[s] = fmax(z->below[s], z->path[c]);
        z->kids[s]++;
    }
    z->path[s] = z->below[s] + node_s(z, s);
}

static mpki_heap_entry entry_of(const shortening *z, int32_t c) {
    return (mpki_heap_entry){.key = -z->path[c], .at = c};
}

static int compare(const void *a, const void *b) {
    return mpki_heap_before(a, b) ? -1 : mpki_heap_before(b, a);
}

/* Of a star's thousands most are in order. */
static void sort(mpki_heap_entry *list, int32_t count) {
    enum { FEW = 16 };
    int32_t sorted = count > 0;
    while (sorted < count && mpki_heap_before(&list[sorted - 1], &list[sorted])) sorted++;
    if (count - sorted > FEW) {
        qsort(list, (size_t)count, sizeof *list, compare);
        return;
    }
    for (; sorted < count; sorted++) {
        const mpki_heap_entry x = list[sorted];
        int32_t at = sorted;
        for (; at > 0 && mpki_heap_before(&x, &list[at - 1]); at--) list[at] = list[at - 1];
        list[at] = x;
    }
}

/* A list of children, and what the mergers of children bring. */
static void add_run(shortening *z, int32_t list) {
    mpki_heap_entry *run = z->child + z->children;
    int32_t count = 0;
    for (; list >= 0; list = z->nodes->sibling[list]) run[count++] = entry_of(z, list);
    if (count == 0) return;
    sort(run, count);
    run[count - 1].what = 1;
    mpki_heap_push(&z->runs, (mpki_heap_entry){run->key, run->at, z->children});
    z->children += count;
}

/* The child that is done last of those that are left; there is one. */
static int32_t pop_child(shortening *z) {
    const mpki_heap_entry top = z->runs.entry[0];
    if (z->child[top.what].what) {
        mpki_heap_pop(&z->runs);
        return top.at;
    }
    const mpki_heap_entry *next = &z->child[top.what + 1];
    const mpki_heap_entry left = {next->key, next->at, top.what + 1};
    if (z->runs.count == 1) {
        z->runs.entry[0] = left;
    } else {
        mpki_heap_pop(&z->runs);
        mpki_heap_push(&z->runs, left);
    }
    return top.at;
}

static double trapezoid(double w, double m) {
    return w * (w + 1) / 2 + w * m;
}

/* Is child c to go into s, whose other children are done after `others` seconds? near: s is on a
 * path that counts. */
static bool shortens(const shortening *z, int32_t c, int32_t s, double others, bool near,
                     double *zeros) {
    const mpki_nodes *nodes = z->nodes;
    const double w = nodes->width[c] + nodes->width[s], m = nodes->rows[s];
    const double extra = trapezoid(w, m) - trapezoid(nodes->width[c], nodes->rows[c]) -
                         trapezoid(nodes->width[s], m);
    const bool counts = near && z->path[c] > others;
    *zeros = nodes->zeros[c] + nodes->zeros[s] + extra;
    if (extra > (counts ? MOST_ZEROS : FEW_ZEROS) || w > (counts ? MOST_COLUMNS : FEW_COLUMNS))
        return false;
    const double merged = front_s(w, m, z->kids[s] - 1 + z->kids[c]);
    const double now = fmax(others, z->path[c]) + node_s(z, s);
    const double then = fmax(others, z->below[c]) + merged;
    if (counts) return then < now;
    return then <= fmax(now, z->counts - z->above[s]) && merged < node_s(z, s) + node_s(z, c);
}

static void shorten_node(shortening *z, int32_t s) {
    mpki_nodes *nodes = z->nodes;
    int32_t kept = -1;
    bool first = true; /* no child that is done as late as any has been kept */
    double latest = 0, zeros;
    z->children = z->runs.count = 0;
    add_run(z, nodes->child[s]);
    while (z->runs.count > 0) {
        const int32_t c = pop_child(z);
        const double others = !first ? latest : z->runs.count > 0 ? -z->runs.entry[0].key : 0;
        const bool near = fmax(others, z->path[c]) + node_s(z, s) + z->above[s] > z->counts;
        if (shortens(z, c, s, others, near, &zeros)) {
            int32_t grandchildren = -1;
            z->kids[s] += z->kids[c] - 1;
            mpki_nodes_absorb(nodes, c, s, zeros, first ? &grandchildren : &kept);
            add_run(z, grandchildren);
            continue;
        }
        if (first) latest = z->path[c];
        first = false;
        nodes->sibling[c] = kept, kept = c;
    }
    nodes->child[s] = kept;
    find_path(z, s);
}

bool mpki_nodes_uncut(const mpki_nodes *nodes) {
    for (int32_t s = 0; s < nodes->count; s++)
        if (nodes->alive[s] && nodes->width[s] + nodes->rows[s] > WHOLE_ROWS) return false;
    return true;
}

/* ---- subtrees side by side ------------------------------------------------------------------- */

/* A tree of so many nodes is worth threads; and bins for each of these. */
enum { MANY_NODES = 4096, BINS = 4 };

/* Whole subtrees in bins, the nodes of each in their order; those above them come last. */
typedef struct bins {
    const shortening *z;
    int32_t *of;    /* by node */
    int32_t *begin; /* bins + 2 */
    int32_t *node;
} bins;

/* Of the room for children each bin has its part, as large as itself. */
static void shorten_bin(mpki_pool *pool, int worker, void *arg, int64_t bin) {
    const bins *b = arg;
    shortening z = *b->z;
    (void)worker;
    if (pool)
        z.child += b->begin[bin], z.runs.entry += b->begin[bin]; /* else there are no others */
    for (int32_t k = b->begin[bin]; k < b->begin[bin + 1]; k++) shorten_node(&z, b->node[k]);
}

/* Returns how many there are; the last one has what is above the others. size [work] zeros, by node */
static int32_t fill_bins(const mpki_nodes *nodes, int32_t most, int32_t *size, bins *b) {
    int32_t alive = 0, count = 0, load = 0;
    for (int32_t s = 0; s < nodes->count; s++) { /* children first */
        if (!nodes->alive[s]) continue;
        alive++, size[s]++;
        if (nodes->parent[s] >= 0) size[nodes->parent[s]] += size[s];
    }
    const int32_t each = alive / most + 1;
    for (int32_t s = nodes->count - 1; s >= 0; s--) {
        const int32_t up = nodes->parent[s];
        if (!nodes->alive[s]) continue;
        b->of[s] = up < 0 ? -1 : b->of[up];
        if (b->of[s] >= 0 || size[s] > each) continue;
        b->of[s] = count;
        load += size[s];
        if (load >= each && count + 1 < most) count++, load = 0;
    }
    count++;
    for (int32_t s = 0; s < nodes->count; s++) {
        if (!nodes->alive[s]) continue;
        if (b->of[s] < 0) b->of[s] = count;
        b->begin[b->of[s] + 1]++;
    }
    for (int32_t k = 0; k <= count; k++) b->begin[k + 1] += b->begin[k];
    for (int32_t s = nodes->count - 1; s >= 0; s--) /* from the ends of bins to their beginnings */
        if (nodes->alive[s]) b->node[--b->begin[b->of[s] + 1]] = s;
    for (int32_t k = 0; k <= count; k++) b->begin[k] = b->begin[k + 1];
    b->begin[count + 1] = alive;
    return count + 1;
}

static mpk_status shorten_all(mpk_context *ctx, mpki_pool *pool, int worker, const shortening *z) {
    const int32_t count = z->nodes->count, most = BINS * mpki_pool_threads(pool);
    bins b = {.z = z};
    int32_t *memory = MPKI_ZNEW(ctx, STAGE, 3 * (int64_t)count + most + 3, int32_t);
    if (!memory) return mpki_failed(ctx);
    b.of = memory, b.node = memory + count;
    b.begin = memory + 3 * (int64_t)count;
    const int32_t all = fill_bins(z->nodes, most, memory + 2 * (int64_t)count, &b);
    mpki_pool_for(pool, worker, all - 1, shorten_bin, &b);
    shorten_bin(NULL, 0, &b, all - 1);
    mpki_release(ctx, memory);
    return MPK_OK;
}

mpk_status mpki_nodes_shorten(mpk_context *ctx, mpki_pool *pool, int worker, mpki_nodes *nodes,
                              double *longest_s) {
    const int64_t count = nodes->count;
    double *times = MPKI_ZNEW(ctx, STAGE, 3 * count + 1, double);
    int32_t *kids = MPKI_ZNEW(ctx, STAGE, count + 1, int32_t);
    mpki_heap_entry *entry = MPKI_NEW(ctx, STAGE, 2 * (count + 1), mpki_heap_entry);
    const bool uncut = mpki_nodes_uncut(nodes);
    shortening z = {.nodes = nodes};
    const bool shared =
        mpki_pool_threads(pool) > 1 && (count >= MANY_NODES || mpki_context_takes_all(ctx));
    mpk_status status = times && kids && entry ? MPK_OK : mpki_failed(ctx);
    *longest_s = 0;
    if (!mpk_failed(status)) {
        z.path = times, z.below = times + count, z.above = times + 2 * count;
        z.kids = kids, z.child = entry, z.runs.entry = entry + count + 1;
        double longest = 0; /* path, before anything is merged */
        for (int32_t s = 0; s < count; s++) {
            if (!nodes->alive[s]) continue;
            find_path(&z, s);
            longest = fmax(longest, z.path[s]);
        }
        z.counts = longest * (uncut ? COUNTS : COUNTS_CUT);
        for (int32_t s = nodes->count - 1; s >= 0; s--) {
            const int32_t up = nodes->parent[s];
            if (nodes->alive[s] && up >= 0) z.above[s] = z.above[up] + node_s(&z, up);
        }
        if (shared) status = shorten_all(ctx, pool, worker, &z);
        for (int32_t s = 0; s < count && !shared; s++)
            if (nodes->alive[s]) shorten_node(&z, s);
        for (int32_t s = 0; s < count; s++)
            if (nodes->alive[s]) *longest_s = fmax(*longest_s, z.path[s]);
    }
    mpki_release(ctx, times);
    mpki_release(ctx, kids);
    mpki_release(ctx, entry);
    return status;
}
