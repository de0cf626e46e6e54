/* SPDX-License-Identifier: BSD-3-Clause */
/* The caller's own order, blocks and pivots: are they what they say, and do they go together? */
#include "../../problem/perm.h"
#include "block.h"

static const char STAGE[] = "analyse";

enum { MOST_ROWS = 128 }; /* of a block, as of option block */

/* Positions from 0 on, increasing by `most` at the most, to n. */
static mpk_status check_starts(mpk_context *ctx, const char *key, int32_t n, int32_t most,
                               const int32_t *start) {
    if (start[0] != 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, 0, "%s[0] = %d, but the first begins at 0",
                          key, start[0]);
    for (int32_t k = 0; start[k] < n; k++) {
        const int64_t rows = (int64_t)start[k + 1] - start[k];
        if (start[k + 1] > n)
            return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, k + 1,
                              "%s[%d] = %d, but after the last comes n = %d", key, k + 1,
                              start[k + 1], n);
        if (rows < 1 || rows > most)
            return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, k,
                              "%s[%d] = %d and then %d: %s has 1 to %d rows", key, k, start[k],
                              start[k + 1], most > 2 ? "a block" : "a pivot", most);
    }
    return MPK_OK;
}

/* No block begins inside a pivot. */
static mpk_status check_both(mpk_context *ctx, int32_t n, const int32_t *block,
                             const int32_t *pivot) {
    for (int32_t b = 0, p = 0; block[b] < n; b++) {
        while (pivot[p] < block[b]) p++;
        if (pivot[p] != block[b])
            return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, b,
                              "given_blocks[%d] = %d is inside a pivot of given_pivots", b,
                              block[b]);
    }
    return MPK_OK;
}

/* Why these options do not go together, or NULL. */
static const char *conflict(const mpk_options *o, bool general) {
    const bool ordered = o->ordering == MPK_ORDERING_GIVEN || o->ordering == MPK_ORDERING_NATURAL;
    const bool blocked = o->method == MPK_METHOD_ILDLT || o->method == MPK_METHOD_JACOBI ||
                         o->method == MPK_METHOD_BLOCK_JACOBI;
    if (!blocked) return "is for methods ildlt, jacobi and block_jacobi";
    if (!ordered) return "counts positions in an order: take ordering given or natural";
    if (o->given_blocks && o->grid == MPK_ON) return "and grid on both say where blocks begin";
    if (o->given_pivots && general) return "has pivots of a symmetric matrix, and this is none";
    return NULL;
}

mpk_status mpki_given_check(mpk_context *ctx, int32_t n, bool general, const mpk_options *o) {
    const int32_t *blocks = o->given_blocks, *pivots = o->given_pivots;
    mpk_status status = MPK_OK;
    if (mpki_on_blocks(o->method) && o->ordering == MPK_ORDERING_GIVEN)
        status = mpki_perm_check(ctx, STAGE, n, o->given_perm);
    if (mpk_failed(status) || (!blocks && !pivots)) return status;
    const char *why = conflict(o, general);
    if (why)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1, "%s %s",
                          blocks ? "given_blocks" : "given_pivots", why);
    if (blocks) status = check_starts(ctx, "given_blocks", n, MOST_ROWS, blocks);
    if (!mpk_failed(status) && pivots) status = check_starts(ctx, "given_pivots", n, 2, pivots);
    return !mpk_failed(status) && blocks && pivots ? check_both(ctx, n, blocks, pivots) : status;
}

void mpki_given_mates(int32_t n, const mpk_options *o, int32_t *mate) {
    const int32_t *start = o->given_pivots;
    const int32_t *perm = o->ordering == MPK_ORDERING_GIVEN ? o->given_perm : NULL;
    for (int32_t k = 0; start[k] < n; k++) {
        const int32_t p = start[k], q = start[k + 1] - 1;
        const int32_t i = perm ? perm[p] : p, j = perm ? perm[q] : q;
        mate[i] = j;
        mate[j] = i;
    }
}
