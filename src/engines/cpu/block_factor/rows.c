/* SPDX-License-Identifier: BSD-3-Clause */
/* A finished factor becomes scalar rows. */
#include "rows.h"

#include <string.h>

static const char STAGE[] = "factorize";

enum {
    PORTION = 256,     /* frames that one worker converts at a time */
    CHUNK_WORK = 4096, /* of a chunk: entries, and ROW_WORK for each row */
    WINDOW = 512,      /* frames sorted at a time */
    LENGTHS = 64       /* and by how many lengths */
};
enum { ROW_WORK = 4 };

void mpki_rows_free(mpk_context *ctx, mpki_rows **handle) {
    mpki_rows *rows = *handle;
    if (!rows) return;
    for (int half = 0; half < 2; half++) {
        mpki_triangle *t = &rows->half[half];
        void *const parts[] = {t->start, t->problem, t->position, t->scale, t->ptr,
                               t->col,   t->val,     t->kept_ptr, t->kept,  t->m_ptr,
                               t->m_col, t->m_val,   t->pivot,    t->chunk, t->need};
        for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) mpki_release(ctx, parts[k]);
    }
    mpki_release(ctx, rows->dinv);
    mpki_release(ctx, rows->turn);
    mpki_release(ctx, rows->root);
    mpki_release(ctx, rows->entries);
    mpki_release(ctx, rows->values);
    mpki_release(ctx, rows);
    *handle = NULL;
}

/* ---- making ---------------------------------------------------------------------------------- */

typedef struct making {
    mpk_context *ctx; /* of the call: a factor of another context may be turned */
    mpki_rows_making w;
    mpki_blocks *of; /* NULL, or as w.bf: to be dropped */
    mpki_pool *pool;
    int32_t *first, *order;
    _Atomic bool impure; /* some M cannot be inverted */
} making;

static void count_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const mpki_rows_making *w = arg;
    if (mpki_stop_wanted(w->bf->stages->ctx, "solve")) return;
    const int64_t end = (item + 1) * PORTION < w->rows->m ? (item + 1) * PORTION : w->rows->m;
    MPKI_DISPATCH(w->bf->scalar, rows_count)(w, (int32_t)(item * PORTION), (int32_t)end);
}

static void fill_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const mpki_rows_making *w = arg;
    if (mpki_stop_wanted(w->bf->stages->ctx, "solve")) return;
    const int64_t end = (item + 1) * PORTION < w->rows->m ? (item + 1) * PORTION : w->rows->m;
    MPKI_DISPATCH(w->bf->scalar, rows_fill)(w, (int32_t)(item * PORTION), (int32_t)end);
}

/* Blocks in the row of frame f. */
static int64_t length(const mpki_rows_making *w, int32_t f) {
    const mpki_ibcsr *x = &w->bf->stages->index;
    int64_t count = 0;
    const int64_t end = w->half ? x->ptr[f + 1] : x->diagonal[f];
    for (int64_t e = w->half ? x->diagonal[f] + 1 : x->ptr[f]; e < end; e++)
        count += w->bf->lower[x->entry[e].block].format != MPKI_EMPTY;
    return count;
}

/* Sort up to WINDOW frames by length, longest lengths alike. */
static void sort(const mpki_rows_making *w, int32_t count, int32_t *frame) {
    int32_t sorted[WINDOW], next[LENGTHS + 1] = {0};
    uint8_t key[WINDOW];
    for (int32_t k = 0; k < count; k++) {
        const int64_t all = length(w, frame[k]);
        key[k] = (uint8_t)(all < LENGTHS ? all : LENGTHS - 1);
        next[key[k] + 1]++;
    }
    for (int k = 0; k < LENGTHS; k++) next[k + 1] += next[k];
    for (int32_t k = 0; k < count; k++) sorted[next[key[k]]++] = frame[k];
    memcpy(frame, sorted, (size_t)count * sizeof *frame);
}

/* The order of the frames: by level sets, backward from the last one. */
static void arrange(making *m) {
    const mpki_levels *v = &m->w.bf->stages->levels;
    const int32_t frames = m->w.rows->m;
    for (int32_t j = 0; j < frames; j++) m->order[j] = v->frame[m->w.half ? frames - 1 - j : j];
    for (int32_t l = 0; l < v->count && frames == m->w.rows->n; l++) {
        const int32_t begin = m->w.half ? frames - v->ptr[l + 1] : v->ptr[l];
        const int32_t end = m->w.half ? frames - v->ptr[l] : v->ptr[l + 1];
        for (int32_t j = begin; j < end; j += WINDOW)
            sort(&m->w, end - j < WINDOW ? end - j : WINDOW, m->order + j);
    }
}

/* Slots, and where they are in the problem. */
static mpk_status number(making *m, int half) {
    m->w.half = half;
    mpki_rows *rows = m->w.rows;
    mpki_triangle *t = &rows->half[m->w.half];
    const mpki_stages *s = m->w.bf->stages;
    mpk_context *ctx = m->ctx;
    t->start = MPKI_NEW(ctx, STAGE, (int64_t)rows->m + 1, int32_t);
    t->problem = MPKI_NEW(ctx, STAGE, rows->n, int32_t);
    t->position = MPKI_NEW(ctx, STAGE, rows->n, int32_t);
    t->scale = mpki_alloc(ctx, STAGE, rows->n, mpk_scalar_size(m->w.bf->scalar));
    if (!t->start || !t->problem || !t->position || !t->scale) return mpki_failed(ctx);
    int32_t at = 0;
    arrange(m);
    for (int32_t j = 0; j < rows->m; j++) {
        const int32_t f = m->order[j];
        t->start[j] = m->first[f] = at;
        const int32_t p0 = s->blocking->bptr[f], count = s->blocking->bptr[f + 1] - p0;
        for (int32_t k = 0; k < count; k++, at++) { /* backward from the last pivot */
            const int32_t p = p0 + (m->w.pure && m->w.half ? count - 1 - k : k);
            t->position[at] = p;
            t->problem[at] =
                s->blocking->perm[m->w.pure ? p0 + m->w.pivot[s->ldu && m->w.half][p] : p];
        }
    }
    t->start[rows->m] = at;
    MPKI_DISPATCH(m->w.bf->scalar, rows_scale)(&m->w);
    return MPK_OK;
}

static void sum_up(int64_t count, int64_t *ptr) {
    for (int64_t k = 0; k < count; k++) ptr[k + 1] += ptr[k];
}

/* Work of frame j: what its rows hold. */
static int64_t work_of(const mpki_triangle *t, int32_t j) {
    const int32_t r0 = t->start[j], r1 = t->start[j + 1];
    int64_t work = t->ptr[r1] - t->ptr[r0] + ROW_WORK * (r1 - r0);
    if (t->m_ptr) work += t->m_ptr[r1] - t->m_ptr[r0];
    for (int64_t k = t->kept_ptr ? t->kept_ptr[j] : 0; t->kept_ptr && k < t->kept_ptr[j + 1]; k++)
        work += t->kept[k].block.nnz;
    return work;
}

/* Cut the frames into chunks; a level set that fills half of one ends it. chunk NULL: only count.
 */
static int32_t cut(const mpki_triangle *t, const mpki_levels *v, int32_t m, int half,
                   int32_t *chunk) {
    int32_t count = 0, level = half ? v->count - 1 : 1;
    int64_t work = 0;
    for (int32_t j = 0; j < m; j++) {
        int32_t edge;
        if (half)
            while ((edge = level > 0 ? m - v->ptr[level] : m) < j) level--;
        else
            while ((edge = level < v->count ? v->ptr[level] : m) < j) level++;
        if (j == 0 || work >= CHUNK_WORK || (edge == j && work >= CHUNK_WORK / 2)) {
            if (chunk) chunk[count] = j;
            count++, work = 0;
        }
        work += work_of(t, j);
    }
    if (chunk) chunk[count] = m;
    return count;
}

/* The last slot before `begin` that the frames j0 .. j1-1 need; -1: none. */
static int32_t last_needed(const mpki_triangle *t, int half, int32_t j0, int32_t j1) {
    const int32_t begin = t->start[j0];
    int32_t most = -1;
    for (int64_t k = t->ptr[begin]; k < t->ptr[t->start[j1]]; k++)
        if (t->col[k] < begin && t->col[k] > most) most = t->col[k];
    for (int64_t k = t->kept_ptr ? t->kept_ptr[j0] : 0; t->kept_ptr && k < t->kept_ptr[j1]; k++) {
        const mpki_block *b = &t->kept[k].block;
        const int32_t last = t->kept[k].from + (half ? b->rows : b->cols) - 1;
        if (last < begin && last > most) most = last;
    }
    return most;
}

static mpk_status cut_chunks(making *m) {
    mpki_rows *rows = m->w.rows;
    mpki_triangle *t = &rows->half[m->w.half];
    mpk_context *ctx = m->ctx;
    const mpki_levels *v = &m->w.bf->stages->levels;
    t->chunks = cut(t, v, rows->m, m->w.half, NULL);
    t->chunk = MPKI_NEW(ctx, STAGE, (int64_t)t->chunks + 1, int32_t);
    t->need = MPKI_NEW(ctx, STAGE, t->chunks, int32_t);
    if (!t->chunk || !t->need) return mpki_failed(ctx);
    cut(t, v, rows->m, m->w.half, t->chunk);
    for (int32_t c = 0; c < t->chunks; c++) {
        const int32_t slot = last_needed(t, m->w.half, t->chunk[c], t->chunk[c + 1]);
        int32_t low = -1, high = c; /* chunk `low` begins at or before the slot */
        while (slot >= 0 && high - low > 1) {
            const int32_t middle = low + (high - low) / 2;
            if (t->start[t->chunk[middle]] <= slot)
                low = middle;
            else
                high = middle;
        }
        t->need[c] = low;
    }
    return MPK_OK;
}

static mpk_status make_half(making *m, int half) {
    mpki_rows *rows = m->w.rows;
    mpki_triangle *t = &rows->half[half];
    mpk_context *ctx = m->ctx;
    const int64_t n = rows->n, portions = ((int64_t)rows->m + PORTION - 1) / PORTION;
    const size_t size = mpk_scalar_size(m->w.bf->scalar);
    m->w.half = half;
    t->ptr = MPKI_ZNEW(ctx, STAGE, n + 1, int64_t);
    t->m_ptr = MPKI_ZNEW(ctx, STAGE, n + 1, int64_t);
    t->kept_ptr = MPKI_ZNEW(ctx, STAGE, (int64_t)rows->m + 1, int64_t);
    if (!t->ptr || !t->m_ptr || !t->kept_ptr) return mpki_failed(ctx);
    mpki_pool_for(m->pool, 0, portions, count_item, &m->w);
    if (mpki_cancelled(ctx)) return mpki_stopped(ctx, STAGE);
    sum_up(n, t->ptr);
    sum_up(n, t->m_ptr);
    sum_up(rows->m, t->kept_ptr);
    bool plain = t->m_ptr[n] == 0;
    for (int32_t f = 0; plain && !m->w.pure && f < rows->m; f++) {
        const mpki_frame *frame = &m->w.bf->frame[f];
        plain = mpki_as_rows(half ? &frame->n : &frame->m);
    }
    if (plain) {
        mpki_release(ctx, t->m_ptr);
        t->m_ptr = NULL;
    }
    t->col = MPKI_NEW(ctx, STAGE, t->ptr[n], int32_t);
    t->val = mpki_alloc(ctx, STAGE, t->ptr[n], size);
    t->kept = MPKI_NEW(ctx, STAGE, t->kept_ptr[rows->m], mpki_kept);
    if (!t->col || !t->val || !t->kept) return mpki_failed(ctx);
    if (t->m_ptr) {
        t->m_col = MPKI_NEW(ctx, STAGE, t->m_ptr[n], int32_t);
        t->m_val = mpki_alloc(ctx, STAGE, t->m_ptr[n], size);
        t->pivot = MPKI_NEW(ctx, STAGE, rows->m, mpki_block);
        if (!t->m_col || !t->m_val || !t->pivot) return mpki_failed(ctx);
    }
    mpki_pool_for(m->pool, 0, portions, fill_item, &m->w);
    if (mpki_cancelled(ctx)) return mpki_stopped(ctx, STAGE);
    if (t->kept_ptr[rows->m] == 0) {
        mpki_release(ctx, t->kept_ptr);
        t->kept_ptr = NULL;
    }
    return cut_chunks(m);
}

/* Values of the blocks that stay, to rows->values. */
static mpk_status move_blocks(making *m, int64_t bytes) {
    const mpki_blocks *bf = m->w.bf;
    const mpki_ibcsr *x = &bf->stages->index;
    mpk_context *ctx = m->ctx;
    const int64_t count = x->nblocks + x->m;
    const size_t size = mpk_scalar_size(bf->scalar);
    const int halves = bf->upper != bf->lower ? 2 : 1;
    int64_t used = 0;
    if (bytes == 0) return MPK_OK;
    char *to = m->w.rows->values = mpki_alloc(ctx, STAGE, bytes + 64, 1); /* kernels read on */
    m->w.moved = MPKI_NEW(ctx, STAGE, count * halves, int64_t);
    if (!to || !m->w.moved) return mpki_failed(ctx);
    for (int half = 0; half < halves; half++)
        for (int64_t k = 0; k < count; k++) {
            const bool pivot = k >= x->nblocks;
            const mpki_frame *frame = pivot ? &bf->frame[k - x->nblocks] : NULL;
            const mpki_block *b = pivot  ? (half ? &frame->n : &frame->m)
                                  : half ? &bf->upper[k]
                                         : &bf->lower[k];
            if (b->format == MPKI_EMPTY || mpki_as_rows(b)) continue;
            if (!pivot && x->rows[k] == x->cols[k]) continue;
            const int64_t more = mpki_stored_bytes(b, size);
            m->w.moved[half * count + k] = used;
            memcpy(to + used, b->data, (size_t)more);
            used += more;
        }
    return MPK_OK;
}

static int64_t half_bytes(const mpki_triangle *t, int64_t n, size_t size) {
    int64_t bytes = t->ptr[n] * (int64_t)(size + sizeof(int32_t)) + n * (int64_t)sizeof *t->ptr;
    if (t->m_ptr)
        bytes += t->m_ptr[n] * (int64_t)(size + sizeof(int32_t)) + n * (int64_t)sizeof *t->m_ptr;
    return bytes;
}

/* From slots of the last sweep to those of the first, and back. */
static mpk_status turn(making *m) {
    mpki_rows *rows = m->w.rows;
    mpk_context *ctx = m->ctx;
    int32_t *slot = MPKI_NEW(ctx, STAGE, rows->n, int32_t); /* by position */
    rows->turn = MPKI_NEW(ctx, STAGE, rows->n, int32_t);
    m->w.other = MPKI_NEW(ctx, STAGE, rows->n, int32_t);
    if (slot && rows->turn && m->w.other) {
        for (int32_t k = 0; k < rows->n; k++) slot[rows->half[0].position[k]] = k;
        for (int32_t k = 0; k < rows->n; k++) rows->turn[k] = slot[rows->half[1].position[k]];
        for (int32_t k = 0; k < rows->n; k++) m->w.other[rows->turn[k]] = k;
    }
    mpki_release(ctx, slot);
    return mpki_failed(ctx);
}

/* D^-1, and the roots. */
static mpk_status make_pivots(making *m) {
    mpki_rows *rows = m->w.rows;
    mpk_context *ctx = m->ctx;
    const mpk_scalar scalar = m->w.bf->scalar;
    const size_t size = mpk_scalar_size(scalar);
    MPKI_DISPATCH(scalar, rows_pivots)(&m->w);
    rows->dinv = mpki_alloc(ctx, STAGE, (int64_t)rows->n * (1 + rows->pairs), size);
    if (m->w.rooted) rows->root = mpki_alloc(ctx, STAGE, rows->n, size);
    if (!rows->dinv || (m->w.rooted && !rows->root)) return mpki_failed(ctx);
    MPKI_DISPATCH(scalar, rows_pivots)(&m->w);
    return MPK_OK;
}

/* The second half from the first; the blocks are needed no more. */
static mpk_status transpose(making *m) {
    mpki_rows *rows = m->w.rows;
    mpki_triangle *t = &rows->half[1];
    mpk_context *ctx = m->ctx;
    const mpk_scalar scalar = m->w.bf->scalar;
    const int64_t n = rows->n;
    t->ptr = MPKI_ZNEW(ctx, STAGE, n + 1, int64_t);
    int64_t *next = MPKI_NEW(ctx, STAGE, n, int64_t);
    if (t->ptr && next) {
        m->w.half = 1;
        MPKI_DISPATCH(scalar, rows_count_transposed)(&m->w);
        sum_up(n, t->ptr);
        t->col = MPKI_NEW(ctx, STAGE, t->ptr[n], int32_t);
        t->val = mpki_alloc(ctx, STAGE, t->ptr[n], mpk_scalar_size(scalar));
        if (t->col && t->val) MPKI_DISPATCH(scalar, rows_transpose)(&m->w, next);
    }
    mpki_release(ctx, next);
    return mpk_failed(mpki_failed(ctx)) ? mpki_failed(ctx) : cut_chunks(m);
}

static void find_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    making *m = arg;
    const mpki_rows_making *w = &m->w;
    const int64_t end = (item + 1) * PORTION < w->rows->m ? (item + 1) * PORTION : w->rows->m;
    for (int64_t f = item * PORTION; f < end && !atomic_load(&m->impure); f++)
        if (!MPKI_DISPATCH(w->bf->scalar, rows_invertible)(w, (int32_t)f))
            atomic_store(&m->impure, true);
}

/* Sets pure, if all frames allow it. */
static mpk_status find_pivots(making *m) {
    mpki_rows_making *w = &m->w;
    const mpki_blocks *bf = w->bf;
    mpk_context *ctx = m->ctx;
    const int halves = bf->upper != bf->lower ? 2 : 1;
    for (w->half = 0; w->half < halves; w->half++) {
        w->pivot[w->half] = MPKI_NEW(ctx, STAGE, w->rows->n, uint8_t);
        w->step[w->half] = MPKI_NEW(ctx, STAGE, w->rows->n, uint8_t);
        w->inner[w->half] = MPKI_NEW(ctx, STAGE, w->rows->n, uint8_t);
        if (!w->pivot[w->half] || !w->step[w->half] || !w->inner[w->half]) return mpki_failed(ctx);
        mpki_pool_for(m->pool, 0, ((int64_t)w->rows->m + PORTION - 1) / PORTION, find_item, m);
    }
    w->pure = !atomic_load(&m->impure);
    return MPK_OK;
}

static mpk_status fill(making *m, int64_t kept_bytes) {
    const mpki_blocks *bf = m->w.bf;
    const mpki_stages *s = bf->stages;
    mpki_rows *rows = m->w.rows;
    const size_t size = mpk_scalar_size(bf->scalar);
    m->w.first = m->first = MPKI_NEW(m->ctx, STAGE, rows->m, int32_t);
    m->w.order = m->order = MPKI_NEW(m->ctx, STAGE, rows->m, int32_t);
    rows->entries = MPKI_NEW(m->ctx, STAGE, s->index.nblocks, uint16_t);
    if (!m->first || !m->order || !rows->entries) return mpki_failed(m->ctx);
    for (int64_t b = 0; b < s->index.nblocks; b++) rows->entries[b] = (uint16_t)bf->lower[b].nnz;
    mpk_status status = move_blocks(m, kept_bytes);
    if (!mpk_failed(status)) status = number(m, 0);
    if (!mpk_failed(status)) status = make_half(m, 0);
    if (!mpk_failed(status)) status = number(m, 1);
    if (!mpk_failed(status)) status = turn(m);
    if (!mpk_failed(status)) status = make_pivots(m);
    const mpki_triangle *t = &rows->half[0];
    const bool transposed = bf->upper == bf->lower && !t->m_ptr && !t->kept_ptr;
    if (!mpk_failed(status) && !transposed) status = make_half(m, 1);
    if (!mpk_failed(status) && m->of) mpki_blocks_drop(m->of);
    if (!mpk_failed(status) && transposed) status = transpose(m);
    if (mpk_failed(status)) return status;
    rows->held = rows->half[0].ptr[rows->n];
    const int64_t maps = (int64_t)(3 * sizeof(int32_t) + size) * rows->n;
    const int64_t kept = s->ldu ? kept_bytes / 2 : kept_bytes;
    rows->swept = half_bytes(&rows->half[0], rows->n, size) + kept;
    rows->bytes = half_bytes(&rows->half[0], rows->n, size) +
                  half_bytes(&rows->half[1], rows->n, size) + kept_bytes + 2 * maps +
                  (int64_t)size * rows->n * (1 + rows->pairs + m->w.rooted) + 2 * s->index.nblocks;
    return MPK_OK;
}

mpk_status mpki_rows_make(mpk_context *ctx, const mpki_blocks *bf, mpki_blocks *drop, bool inverted,
                          mpki_pool *pool, mpki_rows **out) {
    int64_t kept_bytes;
    bool pure;
    *out = NULL;
    if (bf->stages->index.m == 0 || bf->border || bf->stages->symmetry == MPK_GENERAL ||
        !mpki_rows_pay(ctx, bf, &kept_bytes, &pure))
        return MPK_OK;
    mpki_rows *rows = MPKI_ZNEW(ctx, STAGE, 1, mpki_rows);
    if (!rows) return mpki_failed(ctx);
    rows->n = bf->stages->blocking->n;
    rows->m = bf->stages->index.m;
    making m = {.ctx = ctx, .w = {.bf = bf, .rows = rows}, .of = drop, .pool = pool};
    m.w.rooted = bf->stages->options->factor_type == MPK_TYPE_LLT && rows->m == rows->n;
    mpk_status status = pure && inverted ? find_pivots(&m) : MPK_OK;
    if (!mpk_failed(status)) status = fill(&m, m.w.pure ? 0 : kept_bytes);
    for (int half = 0; half < 2; half++) {
        mpki_release(ctx, m.w.pivot[half]);
        mpki_release(ctx, m.w.step[half]);
        mpki_release(ctx, m.w.inner[half]);
    }
    mpki_release(ctx, m.first);
    mpki_release(ctx, m.order);
    mpki_release(ctx, m.w.moved);
    mpki_release(ctx, m.w.other);
    if (mpk_failed(status)) mpki_rows_free(ctx, &rows);
    *out = rows;
    return status;
}
