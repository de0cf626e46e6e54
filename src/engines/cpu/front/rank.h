/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CPU_FRONT_RANK_H
#define MPKI_CPU_FRONT_RANK_H
/** Updates of a front by its pivots: C(rows, cols) -= L(rows, k0..k1) D L(cols, k0..k1)^T; pulled
 *  into columns before they are tried, pushed to those that were rejected. Arrays of the processor;
 *  the bits do not depend on the threads. */
#include "front.h"

/* Rows of a parallel loop's item, multiples of every register tile: in flat fronts, and the least
 * elsewhere. */
enum { ROWS_PER_ITEM = 192, STRIP = 96 };

static inline T *at(const FN(front) * f, int64_t i, int64_t j) {
    return FN(front_at)(f, i, j);
}
static inline int64_t ld(const FN(front) * f, int64_t j) {
    return FN(front_ld)(f, j);
}
static inline int is_pair(const FN(front) * f, int64_t k) {
    return t_abs1(f->d[2 * k + 1]) > 0;
}

/** One update. */
typedef struct FN(rank) {
    const FN(front) * f;
    const FN(front_rules) * rules;
    FN(front_work) * works;
    int64_t row0, row1, col0, k0, k1; /* first and last row, first column, first and last pivot */
    int32_t cols;                     /* at most as many as a panel has */
    T *c;                             /* address of (row0, col0) */
    int64_t ldc;
    int overwrite;
    int64_t step; /* rows of an item */
} FN(rank);

/** Rows r0 .. r1-1 of an update, in steps of pivots.
 *  work [in] of one worker: the right operand of a step */
void FN(rank_rows)(const FN(rank) * u, const FN(front_work) * work, int64_t r0, int64_t r1);
/** The same by the pivots of one step, k0 .. k1-1, that end where step_end() says. */
void FN(rank_step)(const FN(rank) * u, T *packed, int64_t r0, int64_t r1, int64_t k0, int64_t k1,
                   int overwrite);
int64_t FN(rank_step_end)(const FN(front) * f, int64_t k0, int64_t k1);

/** Rows of an item: three items for each worker, unless that leaves too few rows to pack for. */
int64_t FN(rank_item_rows)(int64_t rows, mpki_pool *pool);

/** The update of a flat front, whose work space holds all of the right operand: that is packed
 *  once, by all threads, and the rows are cut into small items, the last ones smaller still, so
 *  that all threads end together. */
void FN(rank_pack)(const FN(rank) * u, mpki_pool *pool, int worker);
int64_t FN(rank_packed_items)(int64_t rows, mpki_pool *pool);
void FN(rank_packed_item)(mpki_pool *pool, int worker, void *rank, int64_t item);

/** Columns c0 .. c1-1, rows row0 (at least the column's own) .. row1-1. */
typedef struct mpki_rank_region {
    int64_t c0, c1, row0, row1;
} mpki_rank_region;
/** Update regions, which have nothing in common, by pivots k0 .. k1-1. */
void FN(rank_regions)(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                      mpki_pool *pool, int worker, const mpki_rank_region *region, int count,
                      int64_t k0, int64_t k1);
/** How columns ne .. np-1 of a block are taken back: the rows below and the diagonal block become
 * what they are when only the first ne columns have been eliminated. X = L21 D involved no division
 * by a small pivot, so this adds no error beyond that of the elimination itself. */
typedef struct FN(rank_back) {
    FN(front) * f;
    const FN(front_rules) * rules;
    FN(front_work) * works;
    int64_t p;
    int32_t b, ne, np;
} FN(rank_back);

/** work->backup holds the block as it was before, b x b with leading dimension b.
 *  perm [in] the order that the block chose */
void FN(rank_take_back)(const FN(rank_back) * s, FN(front_work) * work, const int32_t *perm,
                        mpki_pool *pool, int worker);

#endif
