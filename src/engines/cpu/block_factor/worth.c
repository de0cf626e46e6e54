/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether scalar rows pay: what a block costs, as it is and as rows. */
#include "rows.h"

enum { FREE_ASKED = 1 << 26 }; /* bytes: from here on the system is asked what is free */

/* Time of a block with one vector, in units of an entry of a row (0.6 to 0.8 ns): CALL for finding
 * it, and what its format costs for each entry; rather less than bench/sweeps.py finds. */

static const double CALL = 40, DENSE_ENTRY = 0.7, BITMAP_ENTRY = 2.5;
/* The part of the blocks' time that rows must save. */
static const double WORTH = 0.8;
/* With frames of several rows a row of all entries takes one loop where a mixed frame takes two and
 * its blocks: so much more time of entries does it save. */
static const double PURE = 1.4;

static double block_time(const mpki_block *b) {
    return CALL + b->nnz * (b->format == MPKI_BITMAP ? BITMAP_ENTRY : DENSE_ENTRY);
}

bool mpki_as_rows(const mpki_block *b) {
    return b->format != MPKI_EMPTY && b->nnz <= block_time(b);
}

int64_t mpki_stored_bytes(const mpki_block *b, size_t size) {
    int held = 0;
    if (b->format == MPKI_EMPTY) return 0;
    for (int k = 0; b->format != MPKI_DENSE && k < (b->rows + 31) / 32; k++)
        held += __builtin_popcount(((const uint32_t *)b->data)[k]);
    return ((int64_t)mpki_block_mask_bytes(b->format, b->rows, b->cols, held) +
            b->nnz * (int64_t)size + 63) /
           64 * 64;
}

typedef struct estimate {
    double before, after; /* time */
    double all;           /* of all entries by rows */
    int64_t rows, kept;   /* bytes: of the entries of one half by rows; of the blocks that stay */
} estimate;

static void add(estimate *sum, const mpki_block *b, size_t size) {
    if (b->format == MPKI_EMPTY) return;
    const double time = block_time(b);
    const bool rows = mpki_as_rows(b);
    sum->before += time;
    sum->all += b->nnz;
    sum->after += rows ? b->nnz : time;
    if (rows)
        sum->rows += b->nnz * (int64_t)(size + sizeof(int32_t));
    else
        sum->kept += mpki_stored_bytes(b, size);
}

static estimate estimate_all(const mpki_blocks *bf) {
    const mpki_ibcsr *x = &bf->stages->index;
    const size_t size = mpk_scalar_size(bf->scalar);
    estimate sum = {0};
    for (int64_t b = 0; b < x->nblocks; b++) {
        if (x->rows[b] == x->cols[b]) continue;
        add(&sum, &bf->lower[b], size);
        if (bf->upper != bf->lower) add(&sum, &bf->upper[b], size);
    }
    for (int32_t f = 0; f < x->m; f++) {
        add(&sum, &bf->frame[f].m, size);
        if (bf->upper != bf->lower) add(&sum, &bf->frame[f].n, size);
    }
    return sum;
}

bool mpki_rows_pay(const mpk_context *ctx, const mpki_blocks *bf, int64_t *kept_bytes, bool *pure) {
    const estimate sum = estimate_all(bf);
    *pure = sum.all <= PURE * sum.after && mpki_jacobi_sweeps(bf->stages->options) == 0 &&
            bf->stages->blocking->largest > 1;
    const double left = (double)mpki_memory_left(ctx);
    const int64_t halves = bf->upper != bf->lower ? 1 : 2, n = bf->stages->blocking->n;
    const double entry = (double)mpk_scalar_size(bf->scalar) + sizeof(int32_t);
    const double rows = *pure ? sum.all * entry : (double)sum.rows;
    const double bytes = 1.1 * (rows * (double)halves + (double)(*pure ? 0 : sum.kept)) +
                         16.0 * (double)bf->stages->index.nblocks + 120.0 * (double)n + 1e5;
    *kept_bytes = sum.kept;
    if (!(sum.after <= WORTH * sum.before) || bytes > left) return false;
    return bytes < FREE_ASKED || bytes < (double)mpki_memory_available();
}
