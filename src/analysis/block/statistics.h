/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_STATISTICS_H
#define MPKI_STATISTICS_H
#include "block.h"

/** Entries that the block of two frames has room for: of the lower triangle, on the diagonal. */
static inline double mpki_block_room(const mpki_blocking *b, int32_t f, int32_t g) {
    double rows = b->bptr[f + 1] - b->bptr[f], columns = b->bptr[g + 1] - b->bptr[g];
    return f == g ? rows * (rows + 1) / 2 : rows * columns;
}

/** A scalar factor under the order of a blocking. */
typedef struct mpki_scalar_fill {
    int64_t nnz;   /* lower triangle with diagonal */
    int32_t depth; /* level sets */
    double shares; /* sum over its entries of 1 / room of their block */
} mpki_scalar_fill;

/** The complete factor, entry by entry but without storing it: row i of L is the subtree of the
 *  elimination tree between A's neighbours of i and i (Liu 1986). Rows in parallel; deterministic.
 */
mpk_status mpki_scalar_complete(mpk_context *ctx, const mpki_graph *graph, const mpki_blocking *b,
                                int threads, mpki_scalar_fill *fill);

#endif
