/* SPDX-License-Identifier: BSD-3-Clause */
/* The indexed block CSR: lists of blocks by frame; a permutation moves indices, not blocks. */
#include "block.h"

#include <string.h>

static const char STAGE[] = "block index";

void mpki_ibcsr_free(mpk_context *ctx, mpki_ibcsr *index) {
    mpki_release(ctx, index->frame);
    mpki_release(ctx, index->place);
    mpki_release(ctx, index->stage);
    mpki_release(ctx, index->ptr);
    mpki_release(ctx, index->entry);
    mpki_release(ctx, index->diagonal);
    mpki_release(ctx, index->rows);
    mpki_release(ctx, index->cols);
    *index = (mpki_ibcsr){0};
}

/* ---- lists from columns ---------------------------------------------------------------------- */

/* Lower triangle by columns, in places; number NULL: blocks are numbered as they stand. */
typedef struct columns {
    int64_t *ptr; /* m + 1 */
    int32_t *row;
    int64_t *number;
} columns;

typedef struct lists {
    int64_t *ptr, *diagonal;
    mpki_entry *entry;
} lists;

static void lists_free(mpk_context *ctx, lists *l) {
    mpki_release(ctx, l->ptr);
    mpki_release(ctx, l->diagonal);
    mpki_release(ctx, l->entry);
    *l = (lists){0};
}

/* Columns are hung in by place, so the row part of each list comes out sorted, and is complete when
 * the frame's own column is due. */
static mpk_status lists_make(mpk_context *ctx, int32_t m, const int32_t *frame, const columns *c,
                             lists *l) {
    *l = (lists){.ptr = MPKI_ZNEW(ctx, STAGE, (int64_t)m + 1, int64_t),
                 .diagonal = MPKI_NEW(ctx, STAGE, m, int64_t),
                 .entry = MPKI_NEW(ctx, STAGE, 2 * c->ptr[m] - m, mpki_entry)};
    if (!l->ptr || !l->diagonal || !l->entry) {
        lists_free(ctx, l);
        return mpki_failed(ctx);
    }
    for (int32_t p = 0; p < m; p++) {
        l->ptr[frame[p] + 1] += c->ptr[p + 1] - c->ptr[p];
        for (int64_t k = c->ptr[p] + 1; k < c->ptr[p + 1]; k++) l->ptr[frame[c->row[k]] + 1]++;
    }
    for (int32_t f = 0; f < m; f++) l->ptr[f + 1] += l->ptr[f];
    int64_t *end = l->diagonal; /* of each list as far as it is filled */
    memcpy(end, l->ptr, (size_t)m * sizeof *end);
    for (int32_t p = 0; p < m; p++) {
        int32_t f = frame[p];
        mpki_entry *own = l->entry + end[f];
        for (int64_t k = c->ptr[p]; k < c->ptr[p + 1]; k++) {
            int32_t g = frame[c->row[k]];
            int64_t b = c->number ? c->number[k] : k;
            *own++ = (mpki_entry){g, b};
            if (g != f) l->entry[end[g]++] = (mpki_entry){f, b};
        }
    }
    return MPK_OK;
}

mpk_status mpki_ibcsr_make(mpk_context *ctx, const mpki_pattern *pattern, mpki_ibcsr *index) {
    int32_t m = pattern->m;
    int64_t blocks = pattern->ptr[m];
    const columns c = {pattern->ptr, pattern->row, NULL};
    lists l = {0};
    mpk_status status;
    *index = (mpki_ibcsr){.m = m, .nblocks = blocks};
    index->frame = MPKI_NEW(ctx, STAGE, m, int32_t);
    index->place = MPKI_NEW(ctx, STAGE, m, int32_t);
    index->stage = MPKI_ZNEW(ctx, STAGE, m, int32_t);
    index->rows = MPKI_NEW(ctx, STAGE, blocks, int32_t);
    index->cols = MPKI_NEW(ctx, STAGE, blocks, int32_t);
    if (!index->frame || !index->place || !index->stage || !index->rows || !index->cols) {
        status = mpki_failed(ctx);
        goto failed;
    }
    for (int32_t f = 0; f < m; f++) {
        index->frame[f] = index->place[f] = f;
        for (int64_t k = pattern->ptr[f]; k < pattern->ptr[f + 1]; k++) {
            index->rows[k] = pattern->row[k];
            index->cols[k] = f;
        }
    }
    if (mpk_failed(status = lists_make(ctx, m, index->frame, &c, &l))) goto failed;
    index->ptr = l.ptr;
    index->diagonal = l.diagonal;
    index->entry = l.entry;
    return MPK_OK;
failed:
    mpki_ibcsr_free(ctx, index);
    return status;
}

/* ---- push-back ---------------------------------------------------------------------------------
 * Thuerck 2021, sec. 6.4.2: increment X, sort stably by X, invert P, sort the lists by P^-1, look
 * up the diagonals. Neither the pushed frames nor the others change their order among themselves;
 * so each sort is a merge of two sequences that are sorted already, and only lists with a pushed
 * frame in them are touched. */

enum { PUSHED = 1, SORTED = 2 };

/* The new P: two sequences of non-decreasing X, the pushed ones first where X is the same. (They
 * came from before.) */
static void merge_places(const mpki_ibcsr *x, const unsigned char *flag, int32_t *pushed,
                         int32_t *rest) {
    int32_t np = 0, nr = 0, i = 0, j = 0;
    for (int32_t p = 0; p < x->m; p++) {
        int32_t f = x->frame[p];
        if (flag[f] & PUSHED)
            pushed[np++] = f;
        else
            rest[nr++] = f;
    }
    for (int32_t p = 0; p < x->m; p++) {
        bool take = j == nr || (i < np && x->stage[pushed[i]] <= x->stage[rest[j]]);
        x->frame[p] = take ? pushed[i++] : rest[j++];
        x->place[x->frame[p]] = p;
    }
}

/* Frame f's list by the new places. pushed [work]: as many entries as the list has pushed frames.
 */
static void merge_list(mpki_ibcsr *x, int32_t f, const unsigned char *flag, mpki_entry *pushed) {
    const int32_t *place = x->place;
    mpki_entry *begin = x->entry + x->ptr[f];
    int64_t size = x->ptr[f + 1] - x->ptr[f], rest = 0, np = 0;
    for (int64_t k = 0; k < size; k++) {
        if (flag[begin[k].other] & PUSHED)
            pushed[np++] = begin[k];
        else
            begin[rest++] = begin[k];
    }
    for (int64_t k = size - 1; np > 0; k--) { /* from the back: the rest is moved at most once */
        bool take = rest == 0 || place[pushed[np - 1].other] > place[begin[rest - 1].other];
        begin[k] = take ? pushed[--np] : begin[--rest];
    }
    for (int64_t k = x->diagonal[f] = x->ptr[f];; k++)
        if (x->entry[k].other == f) {
            x->diagonal[f] = k;
            break;
        }
}

mpk_status mpki_ibcsr_push_back(mpk_context *ctx, mpki_ibcsr *index, int32_t count,
                                const int32_t *frames) {
    int32_t m = index->m;
    int64_t longest = 0;
    for (int32_t f = 0; f < m; f++) {
        int64_t size = index->ptr[f + 1] - index->ptr[f];
        if (size > longest) longest = size;
    }
    if (longest > count) longest = count;
    mpk_status status = MPK_OK;
    unsigned char *flag = MPKI_ZNEW(ctx, STAGE, m, unsigned char);
    int32_t *order = MPKI_NEW(ctx, STAGE, m, int32_t);
    mpki_entry *pushed = MPKI_NEW(ctx, STAGE, longest, mpki_entry);
    if (!flag || !order || !pushed) {
        status = mpki_failed(ctx);
        goto done;
    }
    for (int32_t k = 0; k < count; k++) {
        if (frames[k] < 0 || frames[k] >= m || (flag[frames[k]] & PUSHED)) {
            status = mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, frames[k],
                                "frame %d is no frame, or is pushed back twice", (int)frames[k]);
            goto done;
        }
        flag[frames[k]] = PUSHED;
    }
    for (int32_t k = 0; k < count; k++) index->stage[frames[k]]++;
    merge_places(index, flag, order, order + count);
    for (int32_t k = 0; k < count; k++)
        for (int64_t e = index->ptr[frames[k]]; e < index->ptr[frames[k] + 1]; e++) {
            int32_t f = index->entry[e].other; /* this list itself must not move meanwhile */
            if (flag[f] & (PUSHED | SORTED)) continue;
            flag[f] |= SORTED;
            merge_list(index, f, flag, pushed);
        }
    for (int32_t k = 0; k < count; k++) merge_list(index, frames[k], flag, pushed);
done:
    mpki_release(ctx, flag);
    mpki_release(ctx, order);
    mpki_release(ctx, pushed);
    return status;
}

/* ---- merge ----------------------------------------------------------------------------------- */

/* Column p of the union: the index's entries and the pattern's rows, both by place. out NULL: only
 * counted. fresh [inout]: the next number of a new block. */
static int64_t merge_column(const mpki_ibcsr *x, const mpki_pattern *pattern,
                            const unsigned char *keep, int32_t p, int64_t *fresh, columns *out) {
    int32_t f = x->frame[p];
    int64_t i = x->diagonal[f], j = pattern->ptr[p], count = 0;
    while (i < x->ptr[f + 1] || j < pattern->ptr[p + 1]) {
        int32_t old = i < x->ptr[f + 1] ? x->place[x->entry[i].other] : INT32_MAX;
        int32_t now = j < pattern->ptr[p + 1] ? pattern->row[j] : INT32_MAX;
        if (old < now && keep && !keep[x->entry[i].block]) {
            i++;
            continue;
        }
        int32_t row = old < now ? old : now;
        if (out) {
            out->row[out->ptr[p] + count] = row;
            out->number[out->ptr[p] + count] = old <= now ? x->entry[i].block : *fresh;
        }
        *fresh += now < old;
        i += old <= now;
        j += now <= old;
        count++;
    }
    return count;
}

mpk_status mpki_ibcsr_merge(mpk_context *ctx, mpki_ibcsr *index, const mpki_pattern *pattern,
                            const unsigned char *keep) {
    int32_t m = index->m, *rows = NULL, *cols = NULL;
    int64_t fresh = index->nblocks;
    columns c = {0};
    lists l = {0};
    mpk_status status = MPK_OK;
    if (pattern->m != m)
        return mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, pattern->m,
                          "a pattern of %d frames for an index of %d", (int)pattern->m, (int)m);
    c.ptr = MPKI_NEW(ctx, STAGE, (int64_t)m + 1, int64_t);
    if (!c.ptr) goto failed;
    c.ptr[0] = 0;
    for (int32_t p = 0; p < m; p++)
        c.ptr[p + 1] = c.ptr[p] + merge_column(index, pattern, keep, p, &fresh, NULL);
    c.row = MPKI_NEW(ctx, STAGE, c.ptr[m], int32_t);
    c.number = MPKI_NEW(ctx, STAGE, c.ptr[m], int64_t);
    rows = MPKI_NEW(ctx, STAGE, fresh, int32_t);
    cols = MPKI_NEW(ctx, STAGE, fresh, int32_t);
    if (!c.row || !c.number || !rows || !cols) goto failed;
    fresh = index->nblocks;
    for (int32_t p = 0; p < m; p++) merge_column(index, pattern, keep, p, &fresh, &c);
    if (mpk_failed(status = lists_make(ctx, m, index->frame, &c, &l))) goto done;

    memcpy(rows, index->rows, (size_t)index->nblocks * sizeof *rows);
    memcpy(cols, index->cols, (size_t)index->nblocks * sizeof *cols);
    for (int32_t p = 0; p < m; p++)
        for (int64_t k = c.ptr[p]; k < c.ptr[p + 1]; k++)
            if (c.number[k] >= index->nblocks) {
                rows[c.number[k]] = index->frame[c.row[k]];
                cols[c.number[k]] = index->frame[p];
            }
    mpki_release(ctx, index->ptr);
    mpki_release(ctx, index->entry);
    mpki_release(ctx, index->diagonal);
    mpki_release(ctx, index->rows);
    mpki_release(ctx, index->cols);
    index->ptr = l.ptr;
    index->entry = l.entry;
    index->diagonal = l.diagonal;
    index->rows = rows;
    index->cols = cols;
    index->nblocks = fresh;
    rows = cols = NULL;
    goto done;
failed:
    status = mpki_failed(ctx);
done:
    mpki_release(ctx, c.ptr);
    mpki_release(ctx, c.row);
    mpki_release(ctx, c.number);
    mpki_release(ctx, rows);
    mpki_release(ctx, cols);
    return status;
}

mpk_status mpki_ibcsr_pattern(mpk_context *ctx, const mpki_ibcsr *index, mpki_pattern *pattern,
                              int64_t **number) {
    int32_t m = index->m;
    int64_t blocks = (index->ptr[m] + m) / 2, k = 0;
    *pattern = (mpki_pattern){.m = m,
                              .ptr = MPKI_NEW(ctx, STAGE, (int64_t)m + 1, int64_t),
                              .row = MPKI_NEW(ctx, STAGE, blocks, int32_t)};
    int64_t *numbers = number ? MPKI_NEW(ctx, STAGE, blocks, int64_t) : NULL;
    if (!pattern->ptr || !pattern->row || (number && !numbers)) {
        mpki_pattern_free(ctx, pattern);
        mpki_release(ctx, numbers);
        if (number) *number = NULL;
        return mpki_failed(ctx);
    }
    pattern->ptr[0] = 0;
    for (int32_t p = 0; p < m; p++) {
        int32_t f = index->frame[p];
        for (int64_t e = index->diagonal[f]; e < index->ptr[f + 1]; e++, k++) {
            pattern->row[k] = index->place[index->entry[e].other];
            if (numbers) numbers[k] = index->entry[e].block;
        }
        pattern->ptr[p + 1] = k;
    }
    if (number) *number = numbers;
    return MPK_OK;
}

/* ---- check ----------------------------------------------------------------------------------- */

static mpk_status broken(mpk_context *ctx, int64_t where, const char *what) {
    return mpki_error(ctx, MPK_ERR_INTERNAL, STAGE, where, "%s (%lld)", what, (long long)where);
}

static mpk_status check_places(mpk_context *ctx, const mpki_ibcsr *x) {
    for (int32_t p = 0; p < x->m; p++) {
        int32_t f = x->frame[p];
        if (f < 0 || f >= x->m || x->place[f] != p)
            return broken(ctx, p, "place is not the inverse of frame");
        if (x->stage[f] < 0 || (p > 0 && x->stage[f] < x->stage[x->frame[p - 1]]))
            return broken(ctx, f, "stages are not sorted by place");
    }
    return MPK_OK;
}

/* met [work]: by block, how often it was met: 2, or 1 on the diagonal. */
static mpk_status check_list(mpk_context *ctx, const mpki_ibcsr *x, int32_t f, unsigned char *met) {
    int64_t begin = x->ptr[f], end = x->ptr[f + 1], d = x->diagonal[f];
    if (d < begin || d >= end || x->entry[d].other != f)
        return broken(ctx, f, "the diagonal entry of a frame is not where it should be");
    for (int64_t e = begin; e < end; e++) {
        int32_t g = x->entry[e].other;
        int64_t b = x->entry[e].block;
        if (g < 0 || g >= x->m || b < 0 || b >= x->nblocks)
            return broken(ctx, f, "a list names a frame or a block that there is not");
        if (e > begin && x->place[x->entry[e - 1].other] >= x->place[g])
            return broken(ctx, f, "a list is not sorted by place");
        if (!(x->rows[b] == f && x->cols[b] == g) && !(x->rows[b] == g && x->cols[b] == f))
            return broken(ctx, b, "a block is listed for frames that are not its own");
        if (++met[b] > 2 || (g == f && met[b] != 1))
            return broken(ctx, b, "a block is listed more than twice");
    }
    return MPK_OK;
}

mpk_status mpki_ibcsr_check(mpk_context *ctx, const mpki_ibcsr *index) {
    mpk_status status = check_places(ctx, index);
    if (mpk_failed(status)) return status;
    if (index->ptr[0] != 0) return broken(ctx, 0, "the lists do not begin at 0");
    for (int32_t f = 0; f < index->m; f++)
        if (index->ptr[f + 1] <= index->ptr[f]) return broken(ctx, f, "a list is empty");
    unsigned char *met = MPKI_ZNEW(ctx, STAGE, index->nblocks, unsigned char);
    if (!met) return mpki_failed(ctx);
    for (int32_t f = 0; !mpk_failed(status) && f < index->m; f++)
        status = check_list(ctx, index, f, met);
    for (int64_t b = 0; !mpk_failed(status) && b < index->nblocks; b++)
        if (met[b] == 1 && index->rows[b] != index->cols[b])
            status = broken(ctx, b, "a block is in one list only");
    mpki_release(ctx, met);
    return status;
}
