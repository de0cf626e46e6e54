/* SPDX-License-Identifier: BSD-3-Clause */
/* Approximate inverses by frames: patterns of blocks, and what is applied. */
#include "inverse_frames.h"
#include "core/ascending.h"
#include "engines/interface/largest.h"
#include "sweeps.h"
#include "tuning.h"

#include <stdlib.h>
#include <string.h>

static const char STAGE[] = "factorize";

static void half_free(mpk_context *ctx, mpki_isai_blocks *m) {
    mpki_release(ctx, m->ptr);
    mpki_release(ctx, m->row);
    mpki_release(ctx, m->at);
    mpki_release(ctx, m->val);
    mpki_sparse_free(ctx, &m->turn);
    *m = (mpki_isai_blocks){0};
}

void mpki_isai_frames_free(mpk_context *ctx, mpki_isai_frames **handle) {
    if (!*handle) return;
    for (int half = 0; half < 2; half++) half_free(ctx, &(*handle)->half[half]);
    mpki_release(ctx, *handle);
    *handle = NULL;
}

/* What is needed on the way. */
typedef struct making {
    const mpki_blocks *bf;
    mpki_pool *pool;
    mpk_isai_info *info;
    int32_t m;
    int half;
    mpki_sparse graph; /* of frames by places: the factor's half, or A */
} making;

static mpk_context *context_of(const making *k) {
    return k->bf->stages->ctx;
}

static int rows_at(const making *k, int32_t place) {
    return mpki_frame_rows(k->bf->stages->blocking, k->bf->stages->index.frame[place]);
}

/* The first column of the frame at a place. */
static int32_t column_of(const making *k, int32_t place) {
    int32_t column = 0;
    for (int32_t p = 0; p < place; p++) column += rows_at(k, p);
    return column;
}

/* Items of the pool are so many frames. */
static int64_t items(int32_t m) {
    return ((int64_t)m + INVERSE_FRAMES_EACH - 1) / INVERSE_FRAMES_EACH;
}

static int32_t item_end(int32_t m, int64_t item) {
    const int64_t end = (item + 1) * INVERSE_FRAMES_EACH;
    return (int32_t)(end < m ? end : m);
}

/* ---- graphs of frames ------------------------------------------------------------------------ */

/* The blocks of the half that are not empty, by columns: below the diagonal, or of U above it. */
static mpk_status graph_of_factor(making *k) {
    const mpki_ibcsr *x = &k->bf->stages->index;
    const mpki_block *blocks = k->half ? k->bf->upper : k->bf->lower;
    int64_t count = 0;
    k->graph.ptr = MPKI_NEW(context_of(k), STAGE, (int64_t)k->m + 1, int64_t);
    k->graph.index = MPKI_NEW(context_of(k), STAGE, x->nblocks, int32_t);
    if (!k->graph.ptr || !k->graph.index) return mpki_failed(context_of(k));
    k->graph.ptr[0] = 0;
    for (int32_t place = 0; place < k->m; place++) {
        const int32_t f = x->frame[place];
        const int64_t begin = k->half ? x->ptr[f] : x->diagonal[f] + 1;
        const int64_t end = k->half ? x->diagonal[f] : x->ptr[f + 1];
        for (int64_t e = begin; e < end; e++)
            if (blocks[x->entry[e].block].format != MPKI_EMPTY)
                k->graph.index[count++] = x->place[x->entry[e].other];
        k->graph.ptr[place + 1] = count;
    }
    return MPK_OK;
}

/* The frames that A joins, by columns of A. */
static mpk_status graph_of_matrix(making *k) {
    const mpki_stages *s = k->bf->stages;
    const mpki_full *a = s->at ? s->at : s->a; /* by rows: columns of A */
    const mpki_blocking *cut = s->blocking;
    mpk_context *ctx = s->ctx;
    int32_t *place = MPKI_NEW(ctx, STAGE, cut->n, int32_t); /* of each index of the matrix */
    int32_t *last = MPKI_NEW(ctx, STAGE, k->m, int32_t);
    int64_t count = 0;
    k->graph.ptr = MPKI_NEW(ctx, STAGE, (int64_t)k->m + 1, int64_t);
    k->graph.index = MPKI_NEW(ctx, STAGE, a->nnz, int32_t);
    if (place && last && k->graph.ptr && k->graph.index) {
        for (int32_t p = 0; p < k->m; p++) {
            const int32_t f = s->index.frame[p];
            last[p] = -1;
            for (int32_t i = cut->bptr[f]; i < cut->bptr[f + 1]; i++) place[cut->perm[i]] = p;
        }
        k->graph.ptr[0] = 0;
        for (int32_t p = 0; p < k->m; p++) {
            const int32_t f = s->index.frame[p];
            for (int32_t i = cut->bptr[f]; i < cut->bptr[f + 1]; i++)
                for (int64_t e = a->ptr[cut->perm[i]]; e < a->ptr[cut->perm[i] + 1]; e++) {
                    const int32_t to = place[a->col[e]];
                    if (last[to] == p) continue;
                    last[to] = p;
                    k->graph.index[count++] = to;
                }
            qsort(k->graph.index + k->graph.ptr[p], (size_t)(count - k->graph.ptr[p]),
                  sizeof *k->graph.index, mpki_ascending);
            k->graph.ptr[p + 1] = count;
        }
    }
    mpki_release(ctx, place);
    mpki_release(ctx, last);
    return mpki_failed(ctx);
}

/* ---- patterns -------------------------------------------------------------------------------- */

/* Entries of each column of a frame, with its diagonal. */
static int64_t entries_of(const making *k, const int64_t *ptr, const int32_t *row, int32_t place) {
    int64_t entries = 1;
    for (int64_t b = ptr[place]; b < ptr[place + 1]; b++) entries += rows_at(k, row[b]);
    return entries;
}

static bool is_over(const making *k, const mpki_sparse *s, int32_t place) {
    const int32_t limit = k->bf->stages->options->isai_limit;
    return limit > 0 && entries_of(k, s->ptr, s->index, place) > limit;
}

static mpk_status power(const making *k, int steps, mpki_sparse *s) {
    const mpki_isai_rule rule = {.kind = k->half ? MPK_ISAI_UPPER : MPK_ISAI_LOWER,
                                 .source = MPK_ISAI_POWER,
                                 .power = steps};
    return mpki_isai_make_pattern(context_of(k), k->pool, k->m, &k->graph, &rule, s, k->info);
}

/* Columns of `s` that are over the limit become those of `less`. */
static mpk_status replace(const making *k, mpki_sparse *s, const mpki_sparse *less) {
    mpk_context *ctx = context_of(k);
    mpki_sparse to = {0};
    to.ptr = MPKI_NEW(ctx, STAGE, (int64_t)k->m + 1, int64_t);
    to.index = MPKI_NEW(ctx, STAGE, s->ptr[k->m], int32_t); /* a smaller power is no longer */
    if (!to.ptr || !to.index) {
        mpki_sparse_free(ctx, &to);
        return mpki_failed(ctx);
    }
    to.ptr[0] = 0;
    for (int32_t p = 0; p < k->m; p++) {
        const mpki_sparse *from = is_over(k, s, p) ? less : s;
        const int64_t count = from->ptr[p + 1] - from->ptr[p];
        memcpy(to.index + to.ptr[p], from->index + from->ptr[p], (size_t)count * sizeof *to.index);
        to.ptr[p + 1] = to.ptr[p] + count;
    }
    mpki_sparse_free(ctx, s);
    *s = to;
    return MPK_OK;
}

static mpk_status find_pattern(const making *k, mpki_sparse *s) {
    const mpk_options *o = k->bf->stages->options;
    int steps = o->isai_power;
    bool counted = false;
    mpk_status status = power(k, steps, s);
    for (bool over = true; !mpk_failed(status) && over && o->isai_over != MPK_ISAI_LARGEST;) {
        over = false;
        for (int32_t p = 0; p < k->m; p++) {
            if (!is_over(k, s, p)) continue;
            if (o->isai_over == MPK_ISAI_REFUSE)
                return mpki_isai_refuse(context_of(k), column_of(k, p),
                                        entries_of(k, s->ptr, s->index, p), o->isai_limit);
            over = true;
            if (!counted) k->info->over += rows_at(k, p);
        }
        counted = true;
        if (!over || steps == 0) break;
        mpki_sparse less = {0};
        status = power(k, --steps, &less);
        if (!mpk_failed(status)) status = replace(k, s, &less);
        mpki_sparse_free(context_of(k), &less);
    }
    return status;
}

/* *m := the pattern with places for its values, and by rows. The pattern is taken. */
static mpk_status settle(const making *k, mpki_sparse *s, mpki_isai_blocks *m) {
    mpk_context *ctx = context_of(k);
    const int64_t blocks = s->ptr[k->m];
    half_free(ctx, m);
    m->ptr = s->ptr, m->row = s->index;
    *s = (mpki_sparse){0};
    m->at = MPKI_NEW(ctx, STAGE, blocks + 1, int64_t);
    if (!m->at) return mpki_failed(ctx);
    int64_t values = 0;
    for (int32_t p = 0; p < k->m; p++)
        for (int64_t b = m->ptr[p]; b < m->ptr[p + 1]; b++) {
            m->at[b] = values;
            values += (int64_t)rows_at(k, m->row[b]) * rows_at(k, p);
        }
    m->at[blocks] = values;
    const mpki_sparse by_columns = {m->ptr, m->row, m->at};
    const mpk_status status =
        mpki_sparse_turn(ctx, k->pool, k->m, sizeof *m->at, &by_columns, &m->turn);
    if (mpk_failed(status)) return status;
    m->val = mpki_alloc(ctx, STAGE, values, mpk_scalar_size(k->bf->scalar));
    return mpki_failed(ctx);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void column_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    mpki_frames_making *w = arg;
    const int32_t m = w->bf->stages->index.m;
    if (mpki_stop_wanted(w->bf->stages->ctx, STAGE)) return;
    for (int32_t p = (int32_t)(item * INVERSE_FRAMES_EACH); p < item_end(m, item); p++) {
        if (MPKI_DISPATCH(w->bf->scalar, isai_frames_column)(w, p, worker)) continue;
        int32_t first = atomic_load(&w->bad);
        while (p < first && !atomic_compare_exchange_weak(&w->bad, &first, p)) continue;
    }
}

static mpk_status find_values(const making *k, mpki_isai_blocks *m) {
    mpk_context *ctx = context_of(k);
    const int workers = mpki_pool_threads(k->pool);
    mpki_frames_making w = {.bf = k->bf, .m = m, .half = k->half, .bad = k->m};
    mpk_status status = MPK_OK;
    for (int32_t p = 0; p < k->m; p++) {
        const int64_t rows = entries_of(k, m->ptr, m->row, p) - 1;
        if (rows > w.rows) w.rows = rows;
    }
    w.mark = MPKI_NEW(ctx, STAGE, (int64_t)workers * k->m, int32_t);
    w.work = mpki_alloc(ctx, STAGE, workers * w.rows * MPKI_SWEEP_RHS + 1,
                        mpk_scalar_size(k->bf->scalar));
    if (w.mark && w.work) {
        memset(w.mark, -1, (size_t)workers * (size_t)k->m * sizeof *w.mark);
        mpki_pool_for_near(k->pool, 0, items(k->m), column_item, &w);
        if (mpki_cancelled(ctx)) status = mpki_stopped(ctx, STAGE);
    } else {
        status = mpki_failed(ctx);
    }
    if (!mpk_failed(status) && w.bad < k->m) {
        const int32_t column = column_of(k, w.bad);
        status = mpki_error(ctx, MPK_ERR_NUMERIC, "isai", column,
                            "a column of the approximate inverse from column %d on overflows",
                            column + 1);
    }
    mpki_release(ctx, w.mark);
    mpki_release(ctx, w.work);
    return status;
}

/* ---- the largest blocks ---------------------------------------------------------------------- */

/* Columns over the limit keep the largest blocks that fit: a pattern. Returns how many columns. */
static int64_t cut(const making *k, const mpki_isai_blocks *m, mpki_ranked *rank, mpki_sparse *s) {
    const int32_t limit = k->bf->stages->options->isai_limit;
    int64_t over = 0;
    s->ptr[0] = 0;
    for (int32_t p = 0; p < k->m; p++) {
        const int64_t begin = m->ptr[p], count = m->ptr[p + 1] - begin;
        const bool whole = entries_of(k, m->ptr, m->row, p) <= limit;
        for (int64_t b = 0; b < count; b++) {
            const int32_t row = m->row[begin + b];
            rank[b] = (mpki_ranked){0, row, rows_at(k, row)};
            if (!whole)
                rank[b].norm2 = MPKI_DISPATCH(k->bf->scalar, isai_frames_norm2)(m, begin + b);
        }
        if (!whole) over += rows_at(k, p);
        s->ptr[p + 1] =
            s->ptr[p] + mpki_largest(count, rank, (int64_t)limit - 1, s->index + s->ptr[p]);
    }
    return over;
}

static mpk_status keep_largest(const making *k, mpki_isai_blocks *m) {
    mpk_context *ctx = context_of(k);
    mpki_sparse s = {0};
    const int64_t blocks = m->ptr[k->m];
    mpki_ranked *rank = MPKI_NEW(ctx, STAGE, blocks, mpki_ranked);
    s.ptr = MPKI_NEW(ctx, STAGE, (int64_t)k->m + 1, int64_t);
    s.index = MPKI_NEW(ctx, STAGE, blocks, int32_t);
    mpk_status status = mpki_failed(ctx);
    if (!mpk_failed(status)) {
        const int64_t over = cut(k, m, rank, &s);
        k->info->over += over;
        if (over > 0) status = settle(k, &s, m);
        if (over > 0 && !mpk_failed(status)) status = find_values(k, m);
    }
    mpki_release(ctx, rank);
    mpki_sparse_free(ctx, &s);
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static mpk_status to_single(const making *k, mpki_isai_blocks *m) {
    void *single = NULL;
    const mpk_status status =
        mpki_isai_to_single(context_of(k), k->bf->scalar, m->at[m->ptr[k->m]], m->val, &single);
    if (mpk_failed(status)) return status;
    mpki_release(context_of(k), m->val);
    m->val = single;
    return MPK_OK;
}

static void count(const making *k, const mpki_isai_blocks *m) {
    const bool single = k->bf->isai->single;
    const int64_t blocks = m->ptr[k->m], size = (int64_t)mpk_scalar_size(k->bf->scalar);
    for (int32_t p = 0; p < k->m; p++) {
        const int64_t entries = entries_of(k, m->ptr, m->row, p);
        k->info->columns[mpki_isai_class(entries)] += rows_at(k, p);
        k->info->entries += entries * rows_at(k, p);
        if (entries > k->info->longest) k->info->longest = (int32_t)entries;
    }
    k->info->bytes += m->at[blocks] * (single ? size / 2 : size) +
                      2 * ((int64_t)k->m + 1) * (int64_t)sizeof *m->ptr +
                      blocks * (int64_t)(2 * sizeof *m->row + 2 * sizeof *m->at);
}

static mpk_status make_half(making *k, mpki_isai_blocks *m) {
    const mpk_options *o = k->bf->stages->options;
    const double start = mpki_now_s();
    const bool of_matrix = o->isai_pattern == MPK_ISAI_OF_MATRIX;
    mpki_sparse s = {0};
    mpk_status status = MPK_OK;
    if (!of_matrix) mpki_sparse_free(context_of(k), &k->graph);
    if (!k->graph.ptr) status = of_matrix ? graph_of_matrix(k) : graph_of_factor(k);
    if (!mpk_failed(status)) status = find_pattern(k, &s);
    if (!mpk_failed(status)) status = settle(k, &s, m);
    mpki_sparse_free(context_of(k), &s);
    const double values = mpki_now_s();
    k->info->time_pattern_s += values - start;
    if (!mpk_failed(status)) status = find_values(k, m);
    if (!mpk_failed(status) && o->isai_limit > 0 && o->isai_over == MPK_ISAI_LARGEST)
        status = keep_largest(k, m);
    if (!mpk_failed(status) && k->bf->isai->single) status = to_single(k, m);
    if (!mpk_failed(status)) count(k, m);
    k->info->time_values_s += mpki_now_s() - values;
    return status;
}

mpk_status mpki_isai_frames_make(mpki_blocks *bf, mpki_pool *pool) {
    mpk_context *ctx = bf->stages->ctx;
    mpki_block_isai *isai = bf->isai;
    making k = {.bf = bf, .pool = pool, .info = &isai->info, .m = bf->stages->index.m};
    mpki_isai_frames *s = isai->frames = MPKI_ZNEW(ctx, STAGE, 1, mpki_isai_frames);
    if (!s) return mpki_failed(ctx);
    s->ldu = bf->upper != bf->lower;
    mpk_status status = MPK_OK;
    for (k.half = 0; k.half <= s->ldu && !mpk_failed(status); k.half++)
        status = make_half(&k, &s->half[k.half]);
    mpki_sparse_free(ctx, &k.graph);
    return status;
}

/* ---- applications ---------------------------------------------------------------------------- */

static void times_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const mpki_frames_product *p = arg;
    const int32_t m = p->bf->stages->index.m;
    for (int32_t k = (int32_t)(item * INVERSE_FRAMES_EACH); k < item_end(m, item); k++)
        MPKI_DISPATCH(p->bf->scalar, isai_frames_times)(p, k);
}

static void turn_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const mpki_frames_residual *w = arg;
    const int32_t m = w->s->bf->stages->index.m;
    for (int32_t f = (int32_t)(item * INVERSE_FRAMES_EACH); f < item_end(m, item); f++)
        MPKI_DISPATCH(w->s->bf->scalar, isai_frames_turn)(w, f);
}

static void residual_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const mpki_frames_residual *w = arg;
    const int32_t m = w->s->bf->stages->index.m;
    for (int32_t f = (int32_t)(item * INVERSE_FRAMES_EACH); f < item_end(m, item); f++)
        MPKI_DISPATCH(w->s->bf->scalar, isai_frames_residual)(w, f);
}

void mpki_isai_frames_relax(mpki_block_solver *s, int nrhs, bool backward) {
    const mpki_blocks *bf = s->bf;
    const mpki_isai_frames *frames = bf->isai->frames;
    const int64_t portions = items(bf->stages->index.m);
    const size_t size = (size_t)bf->stages->blocking->n * (size_t)nrhs * mpk_scalar_size(s->scalar);
    mpki_frames_product times = {.bf = bf,
                                 .m = &frames->half[backward && frames->ldu],
                                 .transposed = backward && !frames->ldu,
                                 .conjugate = backward && bf->isai->conjugate,
                                 .single = bf->isai->single,
                                 .nrhs = nrhs,
                                 .x = s->y,
                                 .y = s->z};
    mpki_frames_residual residual = {.s = s,
                                     .backward = backward,
                                     .nrhs = nrhs,
                                     .b = s->y,
                                     .x = s->z,
                                     .turned = (char *)s->other + size,
                                     .r = s->other};
    mpki_pool_for(s->pool, 0, portions, times_item, &times);
    times.x = s->other, times.add = true;
    for (int sweep = 0; sweep < bf->stages->options->isai_relax; sweep++) {
        if (mpki_stop_wanted(s->ctx, "solve")) return;
        if (!backward) mpki_pool_for(s->pool, 0, portions, turn_item, &residual);
        mpki_pool_for(s->pool, 0, portions, residual_item, &residual);
        mpki_pool_for(s->pool, 0, portions, times_item, &times);
    }
}
