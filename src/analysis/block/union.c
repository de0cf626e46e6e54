/* SPDX-License-Identifier: BSD-3-Clause */
/* The pattern on which a general matrix is analysed: that of Q A + (Q A)^T, as Thuerck 2021, sec.
 * 8.3.3, takes the union of L, U and their transposes. */
#include "block.h"

static const char STAGE[] = "block pattern";

void mpki_union_free(mpk_context *ctx, mpki_union *u) {
    mpki_release(ctx, u->ap);
    mpki_release(ctx, u->ai);
    *u = (mpki_union){0};
}

/* Entries by the row that they have in the lower triangle, from whichever side they come: rptr
 * (n + 1, zero before), cols. place [in] n: where Q puts each row */
static void by_row(int32_t n, const int64_t *ap, const int32_t *ai, const int32_t *place,
                   int64_t *rptr, int32_t *cols) {
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            const int32_t i = place[ai[k]];
            rptr[1 + (i > j ? i : j)]++;
        }
    for (int32_t i = 0; i < n; i++) rptr[i + 1] += rptr[i];
    for (int32_t j = 0; j < n; j++)
        for (int64_t k = ap[j]; k < ap[j + 1]; k++) {
            const int32_t i = place[ai[k]];
            cols[rptr[i > j ? i : j]++] = i > j ? j : i;
        }
    for (int32_t i = n; i > 0; i--) rptr[i] = rptr[i - 1];
    rptr[0] = 0;
}

/* Columns by counting; a pair that was seen from both sides counts once, and is then -1. */
static void count(int32_t n, const int64_t *rptr, int32_t *cols, int32_t *mark, int64_t *ap) {
    for (int32_t j = 0; j < n; j++) mark[j] = -1;
    for (int32_t i = 0; i < n; i++)
        for (int64_t k = rptr[i]; k < rptr[i + 1]; k++) {
            const int32_t j = cols[k];
            if (mark[j] == i) {
                cols[k] = -1;
                continue;
            }
            mark[j] = i;
            ap[j + 1]++;
        }
    for (int32_t j = 0; j < n; j++) ap[j + 1] += ap[j];
}

mpk_status mpki_union_make(mpk_context *ctx, int32_t n, const int64_t *ap, const int32_t *ai,
                           const int32_t *row_of, mpki_union *u) {
    int32_t *place = MPKI_NEW(ctx, STAGE, n, int32_t), *mark = MPKI_NEW(ctx, STAGE, n, int32_t);
    int64_t *rptr = MPKI_ZNEW(ctx, STAGE, (int64_t)n + 1, int64_t);
    int32_t *cols = MPKI_NEW(ctx, STAGE, ap[n], int32_t);
    *u = (mpki_union){.ap = MPKI_ZNEW(ctx, STAGE, (int64_t)n + 1, int64_t)};
    if (!place || !mark || !rptr || !cols || !u->ap) goto done;
    for (int32_t j = 0; j < n; j++) place[row_of ? row_of[j] : j] = j;
    by_row(n, ap, ai, place, rptr, cols);
    count(n, rptr, cols, mark, u->ap);
    u->ai = MPKI_NEW(ctx, STAGE, u->ap[n], int32_t);
    if (!u->ai) goto done;
    for (int32_t i = 0; i < n; i++) /* rows in order, so that columns become sorted */
        for (int64_t k = rptr[i]; k < rptr[i + 1]; k++)
            if (cols[k] >= 0) u->ai[u->ap[cols[k]]++] = i;
    for (int32_t j = n; j > 0; j--) u->ap[j] = u->ap[j - 1];
    u->ap[0] = 0;
done:
    mpki_release(ctx, place);
    mpki_release(ctx, mark);
    mpki_release(ctx, rptr);
    mpki_release(ctx, cols);
    if (mpk_failed(mpki_failed(ctx))) mpki_union_free(ctx, u);
    return mpki_failed(ctx);
}
