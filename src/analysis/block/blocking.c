/* SPDX-License-Identifier: BSD-3-Clause */
/* Gathers rows of A into blocks: BR groups similar rows and orders the groups; RB orders the rows
 * and cuts the order into blocks; RBR then orders these blocks again. */
#include "block.h"
#include "grouping.h"

#include "../symbolic/symbolic.h"

#include <string.h>

static const char STAGE[] = "blocking";

void mpki_blocking_free(mpk_context *ctx, mpki_blocking *blocking) {
    mpki_release(ctx, blocking->perm);
    mpki_release(ctx, blocking->iperm);
    mpki_release(ctx, blocking->bptr);
    mpki_release(ctx, blocking->of);
    *blocking = (mpki_blocking){0};
}

/* What a blocking is made from. Vertices are columns of A, or matched pairs of them. */
typedef struct draft {
    const mpki_graph *graph; /* of columns */
    const mpki_graph *rows;  /* of vertices: the same, or `pairs` */
    mpki_graph pairs;
    const int32_t *mate; /* NULL: no pairs */
    const mpk_options *options;
    mpk_ordering ordering; /* the method, then the one it came to */
    int32_t most;          /* columns of a block */
    bool grid;
    int32_t *vertex;   /* n: vertex of each column */
    int32_t *order;    /* vertices: vertex at each place */
    int32_t *group;    /* vertices: block of each, if not on a grid */
    int32_t *sequence; /* n: column at each position */
    int32_t *frame;    /* n: block of each column, numbered along the sequence */
    int32_t *place;    /* blocks: block at each place */
    int32_t blocks;
} draft;

static void draft_free(mpk_context *ctx, draft *d) {
    mpki_graph_free(ctx, &d->pairs);
    mpki_release(ctx, d->vertex);
    mpki_release(ctx, d->order);
    mpki_release(ctx, d->group);
    mpki_release(ctx, d->sequence);
    mpki_release(ctx, d->frame);
    mpki_release(ctx, d->place);
}

/* Pairs become vertices of weight 2 (where a block has room for them). */
static mpk_status take_pairs(mpk_context *ctx, draft *d) {
    const mpki_graph *g = d->graph;
    int32_t n = g->n, vertices = 0;
    d->rows = g;
    for (int32_t i = 0; i < n; i++)
        d->vertex[i] = d->mate && d->mate[i] < i ? d->vertex[d->mate[i]] : vertices++;
    if (vertices == n) return MPK_OK;
    d->rows = &d->pairs;
    return mpki_quotient(ctx, g, d->vertex, vertices, &d->pairs);
}

/* Vertices in the order given, sorted stably by group. ptr [work] vertices + 1 */
static void sort_by_group(int32_t n, const int32_t *given, const int32_t *group, int32_t count,
                          int32_t *ptr, int32_t *order) {
    memset(ptr, 0, ((size_t)count + 1) * sizeof *ptr);
    for (int32_t v = 0; v < n; v++) ptr[group[v] + 1]++;
    for (int32_t g = 0; g < count; g++) ptr[g + 1] += ptr[g];
    for (int32_t k = 0; k < n; k++) {
        int32_t v = given ? given[k] : k;
        order[ptr[group[v]]++] = v;
    }
}

static mpki_grouping similar(const draft *d) {
    return d->options->joining == MPK_OFF ? MPKI_GROUP_COSINE : MPKI_GROUP_TWINS;
}

/* With option grid, similar groups are also put next to each other, so that a regular cut through
 * them joins similar rows. ptr, first [work] vertices + 1, vertices */
static mpk_status gather_groups(mpk_context *ctx, draft *d, int32_t groups, int32_t *ptr,
                                int32_t *first) {
    enum { WIDER = 16 };
    int32_t n = d->rows->n;
    mpk_status status =
        mpki_group_levels(ctx, d->rows, d->options, WIDER * d->most, similar(d), d->group, &groups);
    if (mpk_failed(status)) return status;
    memcpy(first, d->order, (size_t)n * sizeof *first);
    sort_by_group(n, first, d->group, groups, ptr, d->order);
    return MPK_OK;
}

/* BR: similar rows together. */
static mpk_status group_rows(mpk_context *ctx, draft *d) {
    int32_t n = d->rows->n, groups = 0;
    int32_t *ptr = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int32_t);
    int32_t *first = MPKI_NEW(ctx, STAGE, n, int32_t);
    mpk_status status = ptr && first ? MPK_OK : mpki_failed(ctx);
    if (!mpk_failed(status))
        status =
            mpki_group_levels(ctx, d->rows, d->options, d->most, similar(d), d->group, &groups);
    if (!mpk_failed(status)) sort_by_group(n, NULL, d->group, groups, ptr, d->order);
    if (!mpk_failed(status) && d->grid) status = gather_groups(ctx, d, groups, ptr, first);
    mpki_release(ctx, ptr);
    mpki_release(ctx, first);
    return status;
}

/* The user's order of columns as one of vertices: a pair stands where its first column did. */
static void take_given(draft *d) {
    int32_t n = d->graph->n, next = 0;
    for (int32_t v = 0; v < d->rows->n; v++) d->group[v] = 0;
    for (int32_t k = 0; k < n; k++) {
        int32_t v = d->vertex[d->options->given_perm[k]];
        if (!d->group[v]) d->order[next++] = v;
        d->group[v] = 1;
    }
}

/* Cut the order where neighbours differ in A, unless they are related in the elimination tree.
 * inverse [work] vertices */
static mpk_status cut(mpk_context *ctx, draft *d, const int32_t *parent, int32_t *inverse) {
    int32_t n = d->rows->n, groups = n;
    for (int32_t k = 0; k < n; k++) d->group[d->order[k]] = k;
    mpk_status status = mpki_group_levels(ctx, d->rows, d->options, d->most, MPKI_GROUP_NEIGHBOURS,
                                          d->group, &groups);
    if (mpk_failed(status)) return status;
    int32_t *by_place = inverse, *weight = NULL;
    if (d->rows->weight) {
        weight = MPKI_NEW(ctx, STAGE, n, int32_t);
        if (!weight) return mpki_failed(ctx);
        for (int32_t k = 0; k < n; k++) weight[k] = d->rows->weight[d->order[k]];
    }
    for (int32_t k = 0; k < n; k++) by_place[k] = d->group[d->order[k]];
    if (parent) status = mpki_group_subtrees(ctx, n, weight, parent, d->most, by_place, &groups);
    for (int32_t k = 0; k < n; k++) d->group[d->order[k]] = by_place[k];
    mpki_release(ctx, weight);
    return status;
}

/* RB and RBR: order the rows, unless joining is off by a postorder of the elimination tree (the
 * same factor), so that neighbours depend on each other; then cut. */
static mpk_status cut_order(mpk_context *ctx, draft *d) {
    int32_t n = d->rows->n;
    int32_t *inverse = MPKI_NEW(ctx, STAGE, n, int32_t);
    int32_t *parent = MPKI_NEW(ctx, STAGE, n, int32_t);
    int32_t *count = MPKI_NEW(ctx, STAGE, n, int32_t);
    mpk_status status = inverse && parent && count ? MPK_OK : mpki_failed(ctx);
    const bool keep = d->ordering == MPK_ORDERING_GIVEN || d->ordering == MPK_ORDERING_NATURAL ||
                      d->options->joining == MPK_OFF;
    if (!mpk_failed(status) && d->ordering == MPK_ORDERING_GIVEN)
        take_given(d);
    else if (!mpk_failed(status))
        status = mpki_order(ctx, d->rows, d->ordering, d->options->seed, d->options->threads,
                            d->order, &d->ordering);
    for (int32_t k = 0; !mpk_failed(status) && k < n; k++) inverse[d->order[k]] = k;
    if (!mpk_failed(status) && !keep)
        status = mpki_elimination(ctx, d->rows, d->order, inverse, parent, count);
    if (!mpk_failed(status) && !d->grid && !d->options->given_blocks)
        status = cut(ctx, d, keep ? NULL : parent, inverse);
    mpki_release(ctx, inverse);
    mpki_release(ctx, parent);
    mpki_release(ctx, count);
    return status;
}

/* Columns in the order of vertices, and the block of each. */
static void expand(draft *d) {
    int32_t n = d->graph->n, position = 0;
    int32_t *first = d->frame; /* by vertex, until the blocks are known: its first column */
    for (int32_t i = n; i-- > 0;) first[d->vertex[i]] = i;
    for (int32_t k = 0; k < d->rows->n; k++) {
        int32_t i = first[d->order[k]];
        d->sequence[position++] = i;
        if (d->mate && d->mate[i] != i) d->sequence[position++] = d->mate[i];
    }
    int32_t block = -1, last = -1, given = 0;
    const int32_t *begin = d->options->given_blocks;
    for (int32_t k = 0; k < n; k++) {
        if (begin && k == begin[given]) given++;
        int32_t now = begin ? given : d->grid ? k / d->most : d->group[d->vertex[d->sequence[k]]];
        block += now != last;
        last = now;
        d->frame[d->sequence[k]] = block;
    }
    d->blocks = block + 1;
}

/* Order the graph of blocks; on a grid the last block, which may be short, stays the last. */
static mpk_status order_blocks(mpk_context *ctx, draft *d) {
    mpki_graph blocks = {0};
    mpk_status status = mpki_quotient(ctx, d->graph, d->frame, d->blocks, &blocks);
    if (!mpk_failed(status))
        status = mpki_order(ctx, &blocks, d->ordering, d->options->seed, d->options->threads,
                            d->place, &d->ordering);
    mpki_graph_free(ctx, &blocks);
    if (mpk_failed(status) || !d->grid || d->graph->n % d->most == 0) return status;
    int32_t short_one = d->blocks - 1, at = 0;
    while (d->place[at] != short_one) at++;
    memmove(d->place + at, d->place + at + 1, (size_t)(short_one - at) * sizeof *d->place);
    d->place[short_one] = short_one;
    return MPK_OK;
}

/* The blocking from blocks in the order of their places. */
static mpk_status finish(mpk_context *ctx, const draft *d, mpki_blocking *b) {
    int32_t n = d->graph->n, m = d->blocks;
    int32_t *start = MPKI_ZNEW(ctx, STAGE, (int64_t)m + 1, int32_t);
    b->n = n;
    b->nframes = m;
    b->ordering = d->ordering;
    b->perm = MPKI_NEW(ctx, STAGE, n, int32_t);
    b->iperm = MPKI_NEW(ctx, STAGE, n, int32_t);
    b->of = MPKI_NEW(ctx, STAGE, n, int32_t);
    b->bptr = MPKI_NEW(ctx, STAGE, (int64_t)m + 1, int32_t);
    if (!start || !b->perm || !b->iperm || !b->of || !b->bptr) {
        mpki_release(ctx, start);
        return mpki_failed(ctx);
    }
    for (int32_t i = 0; i < n; i++) start[d->frame[i] + 1]++;
    for (int32_t f = 0; f < m; f++) start[f + 1] += start[f];
    b->bptr[0] = 0;
    for (int32_t f = 0, position = 0; f < m; f++) {
        int32_t from = d->place[f];
        for (int32_t k = start[from]; k < start[from + 1]; k++, position++) {
            b->perm[position] = d->sequence[k];
            b->iperm[d->sequence[k]] = position;
            b->of[position] = f;
        }
        b->bptr[f + 1] = position;
        if (position - b->bptr[f] > b->largest) b->largest = position - b->bptr[f];
    }
    mpki_release(ctx, start);
    return MPK_OK;
}

static mpk_status run(mpk_context *ctx, draft *d, mpki_blocking *b) {
    int32_t n = d->graph->n;
    bool br = b->strategy == MPK_STRATEGY_BR;
    d->vertex = MPKI_NEW(ctx, STAGE, n, int32_t);
    d->order = MPKI_NEW(ctx, STAGE, n, int32_t);
    d->group = MPKI_NEW(ctx, STAGE, n, int32_t);
    d->sequence = MPKI_NEW(ctx, STAGE, n, int32_t);
    d->frame = MPKI_NEW(ctx, STAGE, n, int32_t);
    if (!d->vertex || !d->order || !d->group || !d->sequence || !d->frame) return mpki_failed(ctx);
    mpk_status status = take_pairs(ctx, d);
    if (!mpk_failed(status)) status = br ? group_rows(ctx, d) : cut_order(ctx, d);
    if (mpk_failed(status)) return status;
    expand(d);
    d->place = MPKI_NEW(ctx, STAGE, d->blocks, int32_t);
    if (!d->place) return mpki_failed(ctx);
    if (b->strategy == MPK_STRATEGY_RB || d->ordering == MPK_ORDERING_GIVEN ||
        d->ordering == MPK_ORDERING_NATURAL)
        for (int32_t f = 0; f < d->blocks; f++) d->place[f] = f;
    else
        status = order_blocks(ctx, d);
    return mpk_failed(status) ? status : finish(ctx, d, b);
}

mpk_status mpki_blocking_by(mpk_context *ctx, const mpki_graph *graph, const int32_t *mate,
                            const mpk_options *options, mpk_strategy strategy,
                            mpki_blocking *blocking) {
    draft d = {.graph = graph,
               .mate = options->block > 1 ? mate : NULL,
               .options = options,
               .ordering = options->ordering,
               .most = options->block,
               .grid = options->grid == MPK_ON};
    if (options->given_blocks) d.mate = NULL; /* the order is the caller's, pairs and all */
    /* a complete factor may be worth a nested dissection, an incomplete one never is */
    if (d.ordering == MPK_ORDERING_AUTO && options->level >= 0) d.ordering = MPK_ORDERING_AMD;
    *blocking = (mpki_blocking){.strategy = strategy};
    const mpk_status status = run(ctx, &d, blocking);
    draft_free(ctx, &d);
    if (mpk_failed(status)) mpki_blocking_free(ctx, blocking);
    return status;
}
