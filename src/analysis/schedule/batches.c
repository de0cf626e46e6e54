/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes update lists: pull and push. */
#include "schedule.h"

static const char STAGE[] = "batches";

void mpki_updates_free(mpk_context *ctx, mpki_updates *batch) {
    mpki_release(ctx, batch->target);
    mpki_release(ctx, batch->ptr);
    mpki_release(ctx, batch->update);
    mpki_release(ctx, batch->mark);
    *batch = (mpki_updates){0};
}

/* ---- memory that stays from call to call ----------------------------------------------------- */

mpk_status mpki_updates_begin(mpk_context *ctx, int32_t m, mpki_updates *batch) {
    batch->count = 0;
    if (batch->marks < m) {
        int32_t *mark = MPKI_NEW(ctx, STAGE, m, int32_t);
        if (!mark) return mpki_failed(ctx);
        for (int32_t f = 0; f < m; f++) mark[f] = -1;
        mpki_release(ctx, batch->mark);
        batch->mark = mark;
        batch->marks = m;
    }
    if (!batch->ptr) {
        int64_t *ptr = MPKI_NEW(ctx, STAGE, 1, int64_t);
        if (!ptr) return mpki_failed(ctx);
        batch->ptr = ptr;
    }
    batch->ptr[0] = 0;
    return MPK_OK;
}

/* Room for `count` items. The items so far stay. */
static mpk_status reserve_items(mpk_context *ctx, mpki_updates *batch, int64_t count) {
    if (count <= batch->capacity) return MPK_OK;
    int64_t room = count + count / 2 + 64;
    int64_t *target = mpki_resize(ctx, STAGE, batch->target, room, sizeof *target);
    if (!target) return mpki_failed(ctx);
    batch->target = target;
    int64_t *ptr = mpki_resize(ctx, STAGE, batch->ptr, room + 1, sizeof *ptr);
    if (!ptr) return mpki_failed(ctx);
    batch->ptr = ptr;
    batch->capacity = room;
    return MPK_OK;
}

static mpk_status reserve_updates(mpk_context *ctx, mpki_updates *batch, int64_t count) {
    if (count <= batch->update_capacity) return MPK_OK;
    int64_t room = count + count / 2 + 64;
    mpki_update *update = mpki_resize(ctx, STAGE, batch->update, room, sizeof *update);
    if (!update) return mpki_failed(ctx);
    batch->update = update;
    batch->update_capacity = room;
    return MPK_OK;
}

/* Lists are far apart in memory and the parts read are short, so the next but one is prefetched.
 * end: one past the last entry that will be read. */
static inline void fetch(const mpki_entry *end) {
    for (int line = 1; line <= 6; line++) __builtin_prefetch((const char *)end - 64 * line);
}

/* ---- pull --------------------------------------------------------------------------------------
 * The updates of column c come from the frames k of C->(c); each gives one to every block of the
 * column whose row is in k's list behind c, or is c. That tail of k's list is walked from its end,
 * so that c need not be searched for. mark[row] is the item of the row's block, -1: not a target.
 * Once to count, once to write. */

typedef struct pull {
    const mpki_ibcsr *x;
    const unsigned char *final;
    int32_t c, top; /* the column, and the place of its first target */
    bool whole;     /* the diagonal is a target: the tail ends at c itself */
} pull;

/* For each update of column c by frame k, link being c's entry for it: slot[mark[row]] counts it,
 * or is where it is written. A third of the rows have no target, which branch predictors cannot
 * learn; so these write to slot[-1], which is never read. */
static inline void pull_from(const pull *u, int64_t link, const int32_t *mark, int64_t *slot,
                             mpki_update *update) {
    const mpki_entry *entry = u->x->entry, *e;
    int32_t k = entry[link].other, c = u->c, row;
    int64_t b = entry[link].block;
    for (e = entry + u->x->ptr[k + 1] - 1;; e--) {
        row = e->other;
        if (!u->whole && u->x->place[row] < u->top) break;
        if (mark[row] >= 0) {
            int64_t *at = &slot[mark[row]];
            if (update) update[*at] = (mpki_update){e->block, b};
            ++*at;
        }
        if (row == c) break;
    }
}

static void pull_all(const pull *u, const int32_t *mark, int64_t *slot, mpki_update *update) {
    const mpki_ibcsr *x = u->x;
    const int64_t end = x->diagonal[u->c];
    for (int64_t e = x->ptr[u->c]; e < end; e++) {
        if (!update && e + 2 < end) fetch(x->entry + x->ptr[x->entry[e + 2].other + 1]);
        if (u->final[x->entry[e].other]) pull_from(u, e, mark, slot, update);
    }
}

/* Append the items of column c. */
static mpk_status pull_column(mpk_context *ctx, pull *u, const unsigned char *want,
                              mpki_updates *batch) {
    const mpki_ibcsr *x = u->x;
    int64_t first = batch->count, items = 0, begin_e = x->diagonal[u->c], end_e = x->ptr[u->c + 1];
    mpk_status status = reserve_items(ctx, batch, first + end_e - begin_e);
    if (mpk_failed(status)) return status;
    int32_t *mark = batch->mark;
    for (int64_t e = begin_e; e < end_e; e++) {
        int32_t row = x->entry[e].other;
        if (want && !want[x->entry[e].block]) continue;
        if (items == 0) {
            u->top = x->place[row];
            u->whole = row == u->c;
        }
        batch->target[first + items] = x->entry[e].block;
        mark[row] = (int32_t)items++;
    }
    if (items == 0) return MPK_OK;
    /* ptr[first + 1 + t]: first the number of updates of item t, then where its next one goes. The
     * items' sums are shifted by one, so that in the end ptr[first + 1 + t] is where t ends. */
    int64_t *slot = batch->ptr + first + 1, base = batch->ptr[first];
    for (int64_t t = 0; t < items; t++) slot[t] = 0;
    pull_all(u, mark, slot, NULL);
    int64_t end = base;
    for (int64_t t = 0; t < items; t++) {
        int64_t updates = slot[t];
        slot[t] = end;
        end += updates;
    }
    status = reserve_updates(ctx, batch, end);
    if (!mpk_failed(status)) {
        pull_all(u, mark, slot, batch->update);
        batch->count = first + items;
    }
    for (int64_t e = begin_e; e < end_e; e++) mark[x->entry[e].other] = -1;
    return status;
}

mpk_status mpki_updates_pull_frame(mpk_context *ctx, const mpki_ibcsr *index,
                                   const unsigned char *final, const unsigned char *want,
                                   int32_t frame, mpki_updates *batch) {
    pull u = {.x = index, .final = final, .c = frame};
    return pull_column(ctx, &u, want, batch);
}

mpk_status mpki_updates_pull(mpk_context *ctx, const mpki_ibcsr *index, const unsigned char *final,
                             const unsigned char *want, int32_t count, const int32_t *frames,
                             mpki_updates *batch) {
    mpk_status status = mpki_updates_begin(ctx, index->m, batch);
    for (int32_t k = 0; !mpk_failed(status) && k < count; k++)
        status = mpki_updates_pull_frame(ctx, index, final, want, frames[k], batch);
    return status;
}

/* ---- push --------------------------------------------------------------------------------------
 * Frame k updates the blocks (i, j), i and j in C-down(k). Those of row i stand in i's list between
 * k and the diagonal. mark[j] = place of j in C-down(k), -1 for others. */

/* Append what frame k does to row i; at most `most` targets. */
static mpk_status push_row(mpk_context *ctx, const mpki_ibcsr *x, const unsigned char *want,
                           int32_t k, int32_t i, int64_t most, mpki_updates *batch) {
    const mpki_entry *down = x->entry + x->diagonal[k]; /* C-down(k), one behind */
    const mpki_entry *diagonal = x->entry + x->diagonal[i], *e = diagonal;
    const int32_t *mark = batch->mark;
    mpk_status status = reserve_items(ctx, batch, batch->count + most + 1);
    if (!mpk_failed(status)) status = reserve_updates(ctx, batch, batch->count + most + 1);
    if (mpk_failed(status)) return status;
    while (e->other != k) e--;
    int64_t a = e->block, *target = batch->target + batch->count, n = 0;
    mpki_update *update = batch->update + batch->count;
    for (e++; e <= diagonal; e++) { /* no branch: hits and misses mix */
        int64_t j = mark[e->other];
        target[n] = e->block;
        update[n] = (mpki_update){a, down[j + 1].block};
        n += want ? (j >= 0) & (want[e->block] != 0) : j >= 0;
    }
    for (int64_t t = batch->count + 1; t <= batch->count + n; t++) batch->ptr[t] = t;
    batch->count += n;
    return MPK_OK;
}

mpk_status mpki_updates_push_frame(mpk_context *ctx, const mpki_ibcsr *index,
                                   const unsigned char *want, int32_t frame, mpki_updates *batch) {
    const mpki_ibcsr *x = index;
    const int64_t first = x->diagonal[frame] + 1, end = x->ptr[frame + 1];
    mpk_status status = MPK_OK;
    for (int64_t e = first; e < end; e++) batch->mark[x->entry[e].other] = (int32_t)(e - first);
    for (int64_t e = first; !mpk_failed(status) && e < end; e++) {
        if (e + 2 < end) fetch(x->entry + x->diagonal[x->entry[e + 2].other] + 1);
        status = push_row(ctx, x, want, frame, x->entry[e].other, e - first + 1, batch);
    }
    for (int64_t e = first; e < end; e++) batch->mark[x->entry[e].other] = -1;
    return status;
}

mpk_status mpki_updates_push(mpk_context *ctx, const mpki_ibcsr *index, const unsigned char *want,
                             int32_t count, const int32_t *frames, mpki_updates *batch) {
    mpk_status status = mpki_updates_begin(ctx, index->m, batch);
    for (int32_t k = 0; !mpk_failed(status) && k < count; k++)
        status = mpki_updates_push_frame(ctx, index, want, frames[k], batch);
    return status;
}

/* ---- check ----------------------------------------------------------------------------------- */

mpk_status mpki_updates_check(mpk_context *ctx, const mpki_updates *batch) {
    int64_t last = -1;
    for (int64_t t = 0; t < batch->count; t++) {
        if (batch->target[t] < 0 || batch->ptr[t + 1] < batch->ptr[t])
            return mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, t, "item %lld makes no sense",
                              (long long)t);
        if (batch->target[t] > last) last = batch->target[t];
    }
    unsigned char *met = MPKI_ZNEW(ctx, STAGE, last + 1, unsigned char);
    mpk_status status = MPK_OK;
    if (!met) return mpki_failed(ctx);
    for (int64_t t = 0; !mpk_failed(status) && t < batch->count; t++) {
        if (met[batch->target[t]])
            status =
                mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, batch->target[t],
                           "block %lld is the target of two items", (long long)batch->target[t]);
        met[batch->target[t]] = 1;
    }
    mpki_release(ctx, met);
    return status;
}
