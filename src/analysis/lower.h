/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_LOWER_H
#define MPKI_LOWER_H
/** The lower triangle of A by rows, from the columns that it is given by. It is made once: the
 *  graphs, the moduli along them and the lists of the analysis are read off it row by row, which
 *  many threads can do. */
#include "../core/pool.h"

/** The entries of row v but for the diagonal are ptr[v] .. ptr[v + 1] - 1, by increasing column. */
typedef struct mpki_lower {
    int64_t *ptr; /**< n + 1 */
    /** ptr[n]: where each is in ai; one of the two, `wide` where A has too many entries */
    int32_t *place;
    int64_t *wide;
    int32_t *column; /**< ptr[n] */
} mpki_lower;

static inline int64_t mpki_lower_place(const mpki_lower *rows, int64_t k) {
    return rows->wide ? rows->wide[k] : rows->place[k];
}

/** rows [out] empty after a failure; to be freed. The same for any number of threads.
 *  Returns MPK_OK | MPK_ERR_MEMORY, _CANCELLED. */
mpk_status mpki_lower_make(mpk_context *ctx, mpki_pool *pool, int32_t n, const int64_t *ap,
                           const int32_t *ai, mpki_lower *rows);
void mpki_lower_free(mpk_context *ctx, mpki_lower *rows);

/** A pool of so many threads for loops over a matrix of so many entries; NULL: one thread, or too
 *  little to do. *status: MPK_ERR_MEMORY where there should be one. */
mpki_pool *mpki_loops_pool(mpk_context *ctx, int threads, int64_t entries, mpk_status *status);

/** Shares of about as many entries each: the first row of share k of `shares`; k = shares: n. */
int32_t mpki_share_begin(const int64_t *ptr, int32_t n, int64_t k, int64_t shares);
/** How many shares a loop has; 1 without a pool. */
int64_t mpki_shares(const mpki_pool *pool);

#endif
