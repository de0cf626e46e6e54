/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_MATCH_H
#define MPKI_MATCH_H
/** Maximum-product matching of a symmetric matrix, found on its own graph.
 *
 *  With costs w_ij = -log|a_ij| the matching is a linear programme over the rows and columns of A.
 *  A and its transpose are the same matrix, so there is an optimal dual with u = v =: p, maximise
 *  sum p_i   subject to   p_i + p_j <= w_ij   (i = j: 2 p_i <= w_ii), and an optimal primal that
 *  consists of pairs {i,j} and of cycles of odd length (a diagonal entry is one of length 1): the
 *  half-integral matching of Balinski (1965). Everything here works on it: n vertices instead of n
 *  rows and n columns. docs/design/matching.md tells the whole method. */
#include "../analysis.h"

/** An entry of the graph; packed, for a search is bound by the memory that it touches. */
typedef struct __attribute__((packed)) mpki_match_edge {
    double w; /* -log|a|, rounded to MPKI_MATCH_GRID */
    int32_t to;
} mpki_match_edge;

/** The graph of the nonzero entries, both directions. Each row begins with the diagonal entry,
 * whose cost is MPKI_MATCH_NONE where a_ii is zero; its neighbours follow in increasing order. */
typedef struct mpki_match_graph {
    int32_t n;
    int64_t *ptr;          /* n + 1 */
    mpki_match_edge *edge; /* ptr[n] */
} mpki_match_graph;

static inline double mpki_match_loop(const mpki_match_graph *g, int32_t i) {
    return g->edge[g->ptr[i]].w;
}
/** Entries of row i without the diagonal: from first up to, not including, last. */
static inline const mpki_match_edge *mpki_match_first(const mpki_match_graph *g, int32_t i) {
    return &g->edge[g->ptr[i] + 1];
}
static inline const mpki_match_edge *mpki_match_last(const mpki_match_graph *g, int32_t i) {
    return &g->edge[g->ptr[i + 1]];
}

/** Costs are multiples of 2^-40, so that all sums of up to 2^12 in modulus are exact, duals do not
 * drift, and equal costs stay equal. A scaled entry is off by at most a factor of 1 + 5e-13 for it.
 */
#define MPKI_MATCH_GRID 0x1p-40
#define MPKI_MATCH_NONE 1e200 /* cost of an entry that is not there */

/** One vertex, half a cache line: all that a scan of a neighbour touches. */
typedef struct mpki_match_node {
    double p;       /* dual; -MPKI_MATCH_NONE: inner vertex of a frozen tree, see singular.c */
    double key;     /* distance from the root of this search */
    int32_t mate;   /* >= 0: partner; MPKI_EXPOSED; else ~1 - next vertex of its odd cycle */
    int32_t parent; /* outer vertex from which this (inner) one was reached */
    int32_t heap;   /* place in the heap */
    uint32_t stamp; /* state in this search, relative to mpki_matching.stamp */
} mpki_match_node;

enum { MPKI_EXPOSED = -1 };
/* members of an odd cycle keep the next one; a diagonal entry is a cycle of one */
static inline int32_t mpki_cycle_code(int32_t next) {
    return -2 - next;
}
static inline bool mpki_in_cycle(int32_t mate) {
    return mate <= -2;
}
static inline int32_t mpki_cycle_next(int32_t mate) {
    return -2 - mate;
}

/** An inner vertex to be, in the heap. */
typedef struct mpki_match_entry {
    double key;
    int32_t vertex;
} mpki_match_entry;

/** The matching as it grows. */
typedef struct mpki_matching {
    mpk_context *ctx;
    mpki_match_graph graph;
    mpki_match_node *node;  /* n */
    int32_t *queue;         /* n: outer vertices of the search in the order reached */
    mpki_match_entry *heap; /* n: smallest key first */
    int32_t *stack;         /* n: the same with key equal to the present distance */
    int32_t heap_size, stack_size, queue_size;
    uint32_t stamp;
    double *frozen;  /* n, allocated by the first failed search: finite part of p, see singular.c */
    int8_t *side;    /* n, likewise: +1 outer, -1 inner, 0 not frozen; nonzero: not a root */
    int32_t exposed; /* vertices that no matching covers */
    int64_t scanned; /* entries looked at: budgets, progress */
    mpki_asking asking;
} mpki_matching;

/* graph.c */
/** rows: of the lower triangle; NULL: made here. */
mpk_status mpki_match_graph_build(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ap,
                                  const int32_t *ai, const double *absval, const mpki_lower *rows,
                                  mpki_match_graph *graph);
void mpki_match_graph_free(mpk_context *ctx, mpki_match_graph *graph);

/* cover.c: changes of the matching */
/** Take y out of its odd cycle; the others become pairs. */
void mpki_match_break_cycle(mpki_matching *m, int32_t y);
/** Outer vertex x with former partner z got another partner or none: shift the pairs on the tree
 * path. */
void mpki_match_flip(mpki_matching *m, int32_t x, int32_t z, int32_t root);
/** Match outer x with y, which is exposed or in an odd cycle. */
void mpki_match_reach(mpki_matching *m, int32_t x, int32_t y, int32_t root);
/** Outer x and y (perhaps the same) are joined by a tight entry: make their odd cycle. */
void mpki_match_close(mpki_matching *m, int32_t x, int32_t y, int32_t root);

/* start.c */
/** Duals and a matching to start from, in O(nnz); vertices with side[i] > 0 are left out. */
void mpki_match_start(mpki_matching *m);

/* search.c */
/** Cover every vertex that can be: one shortest augmenting structure after the other.
 *  fraction [in] of the analysis that is done, for progress; grows by 0.04
 *  Returns MPK_OK | MPK_ERR_MEMORY (structurally singular only), _CANCELLED */
mpk_status mpki_match_augment(mpki_matching *m, double fraction);

/* singular.c: when no augmenting structure exists */
/** The search from root has failed, its tree is in queue and node[].key: leave the cheapest vertex
 *  exposed and freeze the tree. */
mpk_status mpki_match_freeze(mpki_matching *m, int32_t root);

/* settle.c */
/** With the exposed vertices known: match the others afresh, then scale the exposed ones to them,
 * so that the largest entry of such a row becomes 1, or by 1 if there is none (Duff & Pralet 2005,
 * section 4). */
mpk_status mpki_match_settle(mpki_matching *m);

/* scale.c */
/** scale[i] = exp(p_i), after p has been brought into the range where neither s_i nor s_i s_j over-
 * or underflows. */
void mpki_match_scale(mpki_matching *m, double *scale);

/* split.c */
/** 2x2 candidates: pairs and split cycles, fewer those whose scaled diagonal entries are both at
 * least safe_diagonal: either is then a good pivot by itself. mate [out] n, an involution. */
void mpki_match_split(const mpki_matching *m, double safe_diagonal, int32_t *mate);

/* match.c */
/** Everything but the split: an optimal matching and its duals. On failure *m is empty. */
mpk_status mpki_match_solve(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ap,
                            const int32_t *ai, const double *absval, const mpki_lower *rows,
                            mpki_matching *m);
void mpki_match_free(mpki_matching *m);

#endif
