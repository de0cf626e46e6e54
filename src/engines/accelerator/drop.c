/* SPDX-License-Identifier: BSD-3-Clause */
/* Dropping on an accelerator: it measures and counts, the host deals out what blocks may keep, as
 * the processor's engine does (cpu/block_factor/store_t.c, grant.c). */
#include "kernels/alpha.h"
#include "offload.h"

#include <math.h>

static const char STAGE[] = "factorize";

/* Of the items of a list. */
typedef struct drops {
    double *norm2, *nothing; /* count x n: norms, later limits; what nobody counts */
    int64_t *block, *need;   /* by block, also of rejected frames: its number, what it asks for */
    int64_t blocks;          /* how many these are */
    int64_t *place;          /* by block of the list: its place among these */
    int64_t *keep, *kept;    /* count */
} drops;

static mpk_status drops_make(mpk_context *ctx, int64_t count, int64_t blocks, int n, drops *d) {
    d->norm2 = MPKI_NEW(ctx, STAGE, count * n, double);
    d->nothing = MPKI_NEW(ctx, STAGE, count * n, double);
    d->block = MPKI_NEW(ctx, STAGE, blocks, int64_t);
    d->need = MPKI_NEW(ctx, STAGE, blocks, int64_t);
    d->place = MPKI_NEW(ctx, STAGE, count, int64_t);
    d->keep = MPKI_NEW(ctx, STAGE, count, int64_t);
    d->kept = MPKI_NEW(ctx, STAGE, count, int64_t);
    return d->norm2 && d->nothing && d->block && d->need && d->place && d->keep && d->kept
               ? MPK_OK
               : mpki_failed(ctx);
}

static void drops_free(mpk_context *ctx, drops *d) {
    mpki_release(ctx, d->norm2);
    mpki_release(ctx, d->nothing);
    mpki_release(ctx, d->block);
    mpki_release(ctx, d->need);
    mpki_release(ctx, d->place);
    mpki_release(ctx, d->keep);
    mpki_release(ctx, d->kept);
}

/* Norms of the columns of L, over all items of a frame's half, become limits; the items of a frame
 * stand together. The unit diagonal of L belongs to its column. */
static void find_limits(const mpki_blocks *f, const mpki_batch_lists *list, drops *d) {
    const int n = f->offload->n;
    const double tau = f->stages->options->drop_tolerance;
    const bool single = f->offload->scalar == MPK_S || f->offload->scalar == MPK_C;
    for (int64_t first = 0, end; first < list->count; first = end) {
        for (end = first; end < list->count && list->frame[end] == list->frame[first];) end++;
        for (int half = 0; half < 2; half++) {
            double sum[MPKI_BLOCK_MAX] = {0};
            for (int64_t k = first; k < end; k++)
                for (int c = 0; list->half[k] == half && c < n; c++) sum[c] += d->norm2[k * n + c];
            for (int64_t k = first; k < end; k++)
                for (int c = 0; list->half[k] == half && c < n; c++) {
                    d->norm2[k * n + c] = tau * sqrt(1 + sum[c]);
                    d->nothing[k * n + c] = MPKI_NOTHING(single ? 4 : 8) * d->norm2[k * n + c];
                }
        }
    }
}

static mpk_status count_above(mpki_blocks *f, mpki_batch_lists *list, const double *limit,
                              const int64_t *keep, int64_t *kept) {
    struct mpki_offload *o = f->offload;
    o->limit = limit, o->keep = keep, o->kept = kept;
    return mpki_offload_run(f, MPK_ACCELERATOR_DROP, list);
}

/* The halves of a block stand side by side in the list, and share what it may keep. */
static mpk_status drop(mpki_blocks *f, mpki_batch_lists *list, drops *d) {
    mpki_stages *s = f->stages;
    mpki_meta_worker *me = &f->meta->worker[0];
    const int halves = 1 + f->offload->ldu;
    const int64_t blocks = list->count / halves;
    f->offload->norm2 = d->norm2;
    mpk_status status = mpki_offload_run(f, MPK_ACCELERATOR_MEASURE, list);
    if (mpk_failed(status)) return status;
    find_limits(f, list, d);
    status = count_above(f, list, d->nothing, NULL, d->kept);
    for (int64_t k = 0; k < list->count && !mpk_failed(status); k++)
        if (s->capacity[list->id[k]] >= 0) me->dropped += d->kept[k];
    if (!mpk_failed(status)) status = count_above(f, list, d->norm2, NULL, d->kept);
    if (mpk_failed(status)) return status;
    for (int64_t t = 0; t < blocks; t++) {
        const int64_t *kept = d->kept + t * halves;
        d->need[d->place[t]] = halves > 1 && kept[1] > kept[0] ? kept[1] : kept[0];
    }
    mpki_grant_in_order(f->meta, d->blocks, d->block, d->need);
    for (int64_t k = 0; k < list->count; k++) {
        const bool all = s->capacity[list->id[k]] < 0; /* no limit applies */
        d->keep[k] = all ? -1 : d->need[d->place[k / halves]];
        for (int c = 0; all && c < f->offload->n; c++) d->norm2[k * f->offload->n + c] = 0;
    }
    status = count_above(f, list, d->norm2, d->keep, d->kept);
    for (int64_t k = 0; k < list->count && !mpk_failed(status); k++) {
        if (s->capacity[list->id[k]] >= 0) me->dropped -= d->kept[k];
        s->stored_blocks[list->id[k]] =
            (k % halves && s->stored_blocks[list->id[k]]) || d->kept[k] > 0;
    }
    return status;
}

/* The blocks of a batch below the diagonal, which ask for nothing yet; and the list, of some of them
 * in the same order, without the items of rejected frames. */
static void leave_out(const mpki_blocks *f, const mpki_updates *batch, mpki_batch_lists *list,
                      drops *d) {
    const mpki_ibcsr *x = &f->stages->index;
    const int halves = 1 + f->offload->ldu;
    int64_t from = 0, to = 0;
    for (int64_t t = 0; t < batch->count; t++) {
        const int64_t b = batch->target[t];
        if (x->rows[b] == x->cols[b]) continue;
        d->block[d->blocks] = b;
        d->need[d->blocks++] = 0;
        for (; from < list->count && list->id[from] == b; from++) {
            if (f->stages->reject[list->frame[from]]) continue;
            d->place[to / halves] = d->blocks - 1;
            list->id[to] = b, list->block[0][to] = list->block[0][from];
            list->frame[to] = list->frame[from], list->half[to++] = list->half[from];
        }
    }
    list->count = to;
}

mpk_status mpki_offload_drop(mpki_blocks *f, const mpki_updates *batch, mpki_batch_lists *list) {
    mpk_context *ctx = f->stages->ctx;
    drops d = {0};
    mpk_status status = drops_make(ctx, list->count, batch->count, f->offload->n, &d);
    if (!mpk_failed(status)) {
        leave_out(f, batch, list, &d);
        status = drop(f, list, &d);
    }
    drops_free(ctx, &d);
    return status;
}
