/* SPDX-License-Identifier: BSD-3-Clause */
/* From a finished factor on blocks to approximate inverses of its triangles. */
#include "inverse.h"
#include "core/trace.h"
#include "inverse_frames.h"
#include "rows.h"
#include "tuning.h"

#include <string.h>

static const char STAGE[] = "factorize";

void mpki_block_isai_free(mpk_context *ctx, mpki_block_isai **handle) {
    mpki_block_isai *s = *handle;
    if (!s) return;
    for (int half = 0; half < 2; half++) {
        mpki_sparse_free(ctx, &s->m[half]);
        mpki_sparse_free(ctx, &s->t[half]);
        mpki_release(ctx, s->scale[half]);
    }
    mpki_isai_frames_free(ctx, &s->frames);
    mpki_release(ctx, s->entries);
    mpki_release(ctx, s->dinv);
    mpki_release(ctx, s->pivots);
    mpki_release(ctx, s);
    *handle = NULL;
}

/* What is needed on the way. */
typedef struct making {
    mpki_blocks *bf;
    mpki_pool *pool;
    mpki_block_isai *isai;
    int32_t *start;    /* by frame: its first row in the order of places */
    int32_t *position; /* by row in that order */
    int32_t *group;    /* likewise: its frame; NULL: frames have one row */
    bool in_order;     /* positions are in that order, too */
    mpki_sparse graph; /* of A in that order, by columns; or empty */
    mpki_sparse l;     /* L^, or U^^T, by columns in that order */
    mpki_sparse m;     /* the inverse, likewise */
} making;

static size_t size_of(const making *k) {
    return mpk_scalar_size(k->bf->scalar);
}

/* ---- the order of places, and A in it -------------------------------------------------------- */

static mpk_status number_rows(making *k) {
    const mpki_stages *s = k->bf->stages;
    mpk_context *ctx = s->ctx;
    const int32_t n = s->blocking->n;
    int32_t at = 0;
    k->start = MPKI_NEW(ctx, STAGE, s->index.m, int32_t);
    k->position = MPKI_NEW(ctx, STAGE, n, int32_t);
    if (s->blocking->largest > 1) k->group = MPKI_NEW(ctx, STAGE, n, int32_t);
    if (mpk_failed(mpki_failed(ctx))) return mpki_failed(ctx);
    k->in_order = true;
    for (int32_t place = 0; place < s->index.m; place++) {
        const int32_t f = s->index.frame[place];
        k->start[f] = at;
        for (int32_t p = s->blocking->bptr[f]; p < s->blocking->bptr[f + 1]; p++, at++) {
            k->position[at] = p;
            k->in_order = k->in_order && p == at;
            if (k->group) k->group[at] = f;
        }
    }
    return MPK_OK;
}

static int64_t row_items(int32_t n) {
    return ((int64_t)n + INVERSE_ROWS_EACH - 1) / INVERSE_ROWS_EACH;
}

static int32_t row_end(int32_t n, int64_t item) {
    return (int32_t)((item + 1) * INVERSE_ROWS_EACH < n ? (item + 1) * INVERSE_ROWS_EACH : n);
}

typedef struct ordering {
    making *k;
    const mpki_full *a;
    int32_t *row; /* of each index, in the order of places */
    bool fill;
} ordering;

static void order_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const ordering *w = arg;
    const mpki_full *a = w->a;
    making *k = w->k;
    const int32_t n = k->isai->n;
    for (int32_t j = (int32_t)(item * INVERSE_ROWS_EACH); j < row_end(n, item); j++) {
        const int32_t old = k->bf->stages->blocking->perm[k->position[j]];
        if (!w->fill) {
            w->row[old] = j;
            k->graph.ptr[j + 1] = a->ptr[old + 1] - a->ptr[old];
            continue;
        }
        int32_t *to = k->graph.index + k->graph.ptr[j];
        for (int64_t e = a->ptr[old]; e < a->ptr[old + 1]; e++) *to++ = w->row[a->col[e]];
    }
}

/* The pattern of A, by columns (its transpose's where that is asked for). */
static mpk_status order_matrix(making *k) {
    const mpki_stages *s = k->bf->stages;
    mpk_context *ctx = s->ctx;
    const int32_t n = s->blocking->n;
    ordering w = {.k = k, .a = s->at ? s->at : s->a}; /* by rows: columns of A */
    w.row = MPKI_NEW(ctx, STAGE, n, int32_t);
    k->graph.ptr = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int64_t);
    k->graph.index = MPKI_NEW(ctx, STAGE, w.a->nnz, int32_t);
    if (w.row && k->graph.ptr && k->graph.index) {
        k->graph.ptr[0] = 0;
        mpki_pool_for(k->pool, 0, row_items(n), order_item, &w);
        mpki_sparse_sum(k->pool, n, k->graph.ptr);
        w.fill = true;
        mpki_pool_for(k->pool, 0, row_items(n), order_item, &w);
    }
    mpki_release(ctx, w.row);
    return mpki_failed(ctx);
}

/* ---- triangles ------------------------------------------------------------------------------- */

typedef struct gathering {
    mpki_isai_gather g;
    bool fill;
} gathering;

static void gather_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const gathering *w = arg;
    const int64_t m = w->g.bf->stages->index.m;
    const int64_t end = (item + 1) * INVERSE_FRAMES_EACH < m ? (item + 1) * INVERSE_FRAMES_EACH : m;
    for (int64_t f = item * INVERSE_FRAMES_EACH; f < end; f++)
        MPKI_DISPATCH(w->g.bf->scalar, isai_gather)(&w->g, (int32_t)f, w->fill);
}

/* k->l := L^ (half 1: U^^T) by columns. */
static mpk_status gather(making *k, int half) {
    const mpki_blocks *bf = k->bf;
    mpk_context *ctx = bf->stages->ctx;
    const int32_t n = k->isai->n;
    const int64_t portions =
        ((int64_t)bf->stages->index.m + INVERSE_FRAMES_EACH - 1) / INVERSE_FRAMES_EACH;
    gathering w = {.g = {.bf = bf, .start = k->start, .half = half, .l = &k->l}};
    mpki_sparse_free(ctx, &k->l);
    k->l.ptr = MPKI_ZNEW(ctx, STAGE, (int64_t)n + 1, int64_t);
    if (!k->l.ptr) return mpki_failed(ctx);
    mpki_pool_for(k->pool, 0, portions, gather_item, &w);
    mpki_sparse_sum(k->pool, n, k->l.ptr);
    k->l.index = MPKI_NEW(ctx, STAGE, k->l.ptr[n], int32_t);
    k->l.val = mpki_alloc(ctx, STAGE, k->l.ptr[n], size_of(k));
    if (!k->l.index || !k->l.val) return mpki_failed(ctx);
    w.fill = true;
    mpki_pool_for(k->pool, 0, portions, gather_item, &w);
    return MPK_OK;
}

/* ---- their inverses -------------------------------------------------------------------------- */

/* k->m := the inverse of the triangle `a`, by columns. */
static mpk_status invert(making *k, const mpki_sparse *a, bool upper) {
    const mpki_stages *s = k->bf->stages;
    const mpk_options *o = s->options;
    mpk_isai_info *info = &k->isai->info;
    const mpki_isai_rule rule = {.kind = upper ? MPK_ISAI_UPPER : MPK_ISAI_LOWER,
                                 .source = o->isai_pattern == MPK_ISAI_OF_BLOCKS ? MPK_ISAI_BLOCKS
                                                                                 : MPK_ISAI_POWER,
                                 .power = o->isai_power,
                                 .block = o->isai_block,
                                 .limit = o->isai_limit,
                                 .over = o->isai_over,
                                 .group = k->group};
    const mpki_isai_columns c = {.ctx = s->ctx,
                                 .scalar = k->bf->scalar,
                                 .n = k->isai->n,
                                 .upper = upper,
                                 .a = a,
                                 .m = &k->m};
    const mpki_sparse *graph = o->isai_pattern == MPK_ISAI_OF_MATRIX ? &k->graph : a;
    const double start = mpki_now_s();
    int64_t over = 0;
    mpki_sparse_free(s->ctx, &k->m);
    mpk_status status = mpki_isai_make_pattern(s->ctx, k->pool, c.n, graph, &rule, &k->m, info);
    const double values = mpki_now_s();
    info->time_pattern_s += values - start;
    if (!mpk_failed(status)) status = mpki_isai_invert(k->pool, &c);
    if (!mpk_failed(status) && o->isai_limit > 0 && o->isai_over == MPK_ISAI_LARGEST) {
        status = mpki_isai_cut(s->ctx, c.scalar, c.n, o->isai_limit, &k->m, &over);
        info->over += over;
        if (!mpk_failed(status) && over > 0) status = mpki_isai_invert(k->pool, &c);
    }
    if (!mpk_failed(status)) mpki_isai_count(k->pool, c.n, &k->m, info);
    info->time_values_s += mpki_now_s() - values;
    return status;
}

/* ---- the form that is applied ---------------------------------------------------------------- */

typedef struct moving {
    const making *k;
    const mpki_sparse *from;
    mpki_sparse *to;
    bool fill;
} moving;

static void move_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    const moving *w = arg;
    const int32_t *position = w->k->position;
    const size_t size = size_of(w->k);
    for (int32_t i = (int32_t)(item * INVERSE_ROWS_EACH); i < row_end(w->k->isai->n, item); i++) {
        const int64_t begin = w->from->ptr[i], count = w->from->ptr[i + 1] - begin;
        if (!w->fill) {
            w->to->ptr[position[i] + 1] = count;
            continue;
        }
        const int64_t at = w->to->ptr[position[i]];
        for (int64_t e = 0; e < count; e++)
            w->to->index[at + e] = position[w->from->index[begin + e]];
        memcpy((char *)w->to->val + (size_t)at * size,
               (const char *)w->from->val + (size_t)begin * size, (size_t)count * size);
    }
}

/* Rows and columns by position; what was in the order of places is released or moved. */
static mpk_status by_position(making *k, mpki_sparse *from, mpki_sparse *to) {
    mpk_context *ctx = k->bf->stages->ctx;
    const int32_t n = k->isai->n;
    moving w = {.k = k, .from = from, .to = to};
    if (k->in_order) {
        *to = *from;
        *from = (mpki_sparse){0};
        return MPK_OK;
    }
    to->ptr = MPKI_NEW(ctx, STAGE, (int64_t)n + 1, int64_t);
    to->index = MPKI_NEW(ctx, STAGE, from->ptr[n], int32_t);
    to->val = mpki_alloc(ctx, STAGE, from->ptr[n], size_of(k));
    if (!to->ptr || !to->index || !to->val) return mpki_failed(ctx);
    to->ptr[0] = 0;
    mpki_pool_for(k->pool, 0, row_items(n), move_item, &w);
    mpki_sparse_sum(k->pool, n, to->ptr);
    w.fill = true;
    mpki_pool_for(k->pool, 0, row_items(n), move_item, &w);
    mpki_sparse_free(ctx, from);
    return MPK_OK;
}

/* *to := the transpose of what is by columns: rows by position. */
static mpk_status turned(making *k, const mpki_sparse *from, mpki_sparse *to) {
    mpki_sparse t = {0};
    mpk_status status =
        mpki_sparse_turn(k->bf->stages->ctx, k->pool, k->isai->n, size_of(k), from, &t);
    if (!mpk_failed(status)) status = by_position(k, &t, to);
    mpki_sparse_free(k->bf->stages->ctx, &t);
    return status;
}

static mpk_status make_symmetric(making *k) {
    mpki_block_isai *s = k->isai;
    const bool relaxed = k->bf->stages->options->isai_relax > 0;
    mpk_status status = gather(k, 0);
    if (!mpk_failed(status)) status = invert(k, &k->l, false);
    if (!mpk_failed(status)) status = turned(k, &k->m, &s->m[0]);
    if (!mpk_failed(status)) status = by_position(k, &k->m, &s->m[1]);
    if (!mpk_failed(status) && relaxed) status = turned(k, &k->l, &s->t[0]);
    if (!mpk_failed(status) && relaxed) status = by_position(k, &k->l, &s->t[1]);
    return status;
}

static mpk_status make_general(making *k) {
    mpki_block_isai *s = k->isai;
    mpk_context *ctx = k->bf->stages->ctx;
    const bool relaxed = k->bf->stages->options->isai_relax > 0;
    mpki_sparse u = {0}; /* by columns */
    mpk_status status = gather(k, 0);
    if (!mpk_failed(status)) status = invert(k, &k->l, false);
    if (!mpk_failed(status)) status = turned(k, &k->m, &s->m[0]);
    if (!mpk_failed(status) && relaxed) status = turned(k, &k->l, &s->t[0]);
    if (!mpk_failed(status)) status = gather(k, 1);
    if (!mpk_failed(status)) status = mpki_sparse_turn(ctx, k->pool, s->n, size_of(k), &k->l, &u);
    if (!mpk_failed(status)) status = invert(k, &u, true);
    if (!mpk_failed(status)) status = turned(k, &k->m, &s->m[1]);
    if (!mpk_failed(status) && relaxed) status = by_position(k, &k->l, &s->t[1]);
    mpki_sparse_free(ctx, &u);
    return status;
}

/* Values of M in single precision. */
static mpk_status to_single(making *k) {
    mpki_block_isai *s = k->isai;
    mpk_context *ctx = k->bf->stages->ctx;
    const mpk_scalar scalar = k->bf->scalar;
    mpk_status status = MPK_OK;
    for (int half = 0; half < 2 && s->single && !mpk_failed(status); half++) {
        void *single = NULL;
        status = mpki_isai_to_single(ctx, scalar, s->m[half].ptr[s->n], s->m[half].val, &single);
        if (mpk_failed(status)) break;
        mpki_release(ctx, s->m[half].val);
        s->m[half].val = single;
    }
    return status;
}

static int64_t count_bytes(const making *k, const mpki_sparse *a, bool single) {
    if (!a->ptr) return 0;
    const int64_t size = (int64_t)size_of(k) / (single ? 2 : 1) + (int64_t)sizeof(int32_t);
    return (int64_t)(k->isai->n + 1) * (int64_t)sizeof *a->ptr + a->ptr[k->isai->n] * size;
}

static void set_steps(making *k) {
    mpki_block_isai *s = k->isai;
    for (int half = 0; half < 2; half++) {
        mpki_isai_step *step = &s->step[half];
        step->relax = k->bf->stages->options->isai_relax;
        step->m = (mpki_isai_product){
            .n = s->n, .a = &s->m[half], .single = s->single, .conjugate = half && s->conjugate};
        step->a =
            (mpki_isai_product){.n = s->n, .a = &s->t[half], .conjugate = half && s->conjugate};
        s->info.bytes +=
            count_bytes(k, &s->m[half], s->single) + count_bytes(k, &s->t[half], false);
    }
}

/* ---- the pivots ------------------------------------------------------------------------------ */

static mpk_status number_pivots(making *k) {
    mpki_block_isai *s = k->isai;
    mpk_context *ctx = k->bf->stages->ctx;
    for (int half = 0; half < 2; half++) s->scale[half] = mpki_alloc(ctx, STAGE, s->n, size_of(k));
    s->dinv = mpki_alloc(ctx, STAGE, s->n, size_of(k));
    if (!s->scale[0] || !s->scale[1] || !s->dinv) return mpki_failed(ctx);
    const bool scaled =
        MPKI_DISPATCH(k->bf->scalar, isai_scales)(k->bf, s->scale[0], s->scale[1], s->dinv);
    s->info.bytes += (scaled ? 3 : 1) * s->n * (int64_t)size_of(k);
    for (int half = 0; half < 2 && !scaled; half++) {
        mpki_release(ctx, s->scale[half]);
        s->scale[half] = NULL;
    }
    return MPK_OK;
}

/* The frames' values leave the arena, whose other blocks are needed no more. */
static mpk_status move_pivots(making *k) {
    mpki_blocks *bf = k->bf;
    const mpki_stages *s = bf->stages;
    const size_t size = size_of(k);
    int64_t bytes = 0, used = 0;
    for (int pass = 0; pass < 2; pass++) {
        char *to = k->isai->pivots;
        if (pass && !to) return mpki_failed(s->ctx);
        for (int32_t f = 0; f < s->index.m; f++) {
            mpki_frame *frame = &bf->frame[f];
            const bool both = frame->n.data != frame->m.data;
            const int64_t d =
                ((int64_t)mpki_frame_rows(s->blocking, f) * 2 * (int64_t)size + 63) / 64 * 64;
            const int64_t m = mpki_stored_bytes(&frame->m, size);
            const int64_t n = both ? mpki_stored_bytes(&frame->n, size) : 0;
            bytes += m + n + d;
            if (!pass) continue;
            if (m) memcpy(to + used, frame->m.data, (size_t)m);
            frame->m.data = to + used;
            used += m;
            if (n) memcpy(to + used, frame->n.data, (size_t)n);
            frame->n.data = both ? to + used : frame->m.data;
            used += n;
            memcpy(to + used, frame->dinv, (size_t)mpki_frame_rows(s->blocking, f) * 2 * size);
            frame->d = NULL; /* not read when D^-1 is applied */
            frame->dinv = to + used;
            used += d;
        }
        if (!pass) k->isai->pivots = mpki_alloc(s->ctx, STAGE, bytes + 64, 1); /* kernels read on */
    }
    k->isai->info.bytes += bytes / 2 + s->index.m * (int64_t)sizeof *bf->frame;
    return MPK_OK;
}

static mpk_status keep_counts(making *k) {
    const mpki_ibcsr *x = &k->bf->stages->index;
    k->isai->entries = MPKI_NEW(k->bf->stages->ctx, STAGE, x->nblocks, uint16_t);
    if (!k->isai->entries) return mpki_failed(k->bf->stages->ctx);
    for (int64_t b = 0; b < x->nblocks; b++) k->isai->entries[b] = (uint16_t)k->bf->lower[b].nnz;
    return MPK_OK;
}

static void free_making(making *k) {
    mpk_context *ctx = k->bf->stages->ctx;
    mpki_release(ctx, k->start);
    mpki_release(ctx, k->position);
    mpki_release(ctx, k->group);
    mpki_sparse_free(ctx, &k->graph);
    mpki_sparse_free(ctx, &k->l);
    mpki_sparse_free(ctx, &k->m);
}

static mpk_status by_columns(making *k) {
    const mpki_blocks *bf = k->bf;
    mpk_status status = number_rows(k);
    if (!mpk_failed(status) && bf->stages->options->isai_pattern == MPK_ISAI_OF_MATRIX)
        status = order_matrix(k);
    if (!mpk_failed(status)) status = bf->upper == bf->lower ? make_symmetric(k) : make_general(k);
    return mpk_failed(status) ? status : to_single(k);
}

mpk_status mpki_block_isai_make(mpki_blocks *bf, mpki_pool *pool) {
    const mpki_stages *stages = bf->stages;
    mpk_context *ctx = stages->ctx;
    making k = {.bf = bf, .pool = pool};
    const double began = mpki_trace_begin(ctx);
    mpki_block_isai *s = bf->isai = k.isai = MPKI_ZNEW(ctx, STAGE, 1, mpki_block_isai);
    if (!s) return mpki_failed(ctx);
    s->n = stages->blocking->n;
    s->conjugate = stages->hermitian;
    s->single = stages->options->isai_precision == MPK_PRECISION_SINGLE &&
                (bf->scalar == MPK_D || bf->scalar == MPK_Z);
    s->info.first_fallback = -1;
    /* frames of one row have nothing to share */
    const bool frames = stages->options->isai_frames == MPK_ON && stages->blocking->largest > 1;
    mpk_status status = frames ? mpki_isai_frames_make(bf, pool) : by_columns(&k);
    if (!mpk_failed(status)) status = keep_counts(&k);
    if (!mpk_failed(status) && stages->blocking->largest == 1 && !bf->border)
        status = number_pivots(&k);
    if (!mpk_failed(status) && !frames) set_steps(&k);
    free_making(&k);
    mpki_trace_end(ctx, MPKI_LANE_CALLER, "approximate inverses", 0, began);
    if (mpk_failed(status)) mpki_block_isai_free(ctx, &bf->isai);
    return status;
}

mpk_status mpki_block_isai_settle(mpki_blocks *bf) {
    making k = {.bf = bf, .isai = bf->isai};
    const bool frames = bf->isai->dinv == NULL;
    /* relaxation by frames reads the factor itself */
    if (bf->isai->frames && bf->stages->options->isai_relax > 0) {
        bf->isai->info.bytes +=
            mpki_arena_bytes(&bf->arena) +
            bf->capacity * (int64_t)sizeof *bf->lower * (bf->upper == bf->lower ? 1 : 2) +
            bf->stages->index.m * (int64_t)sizeof *bf->frame;
        return MPK_OK;
    }
    const mpk_status status = frames ? move_pivots(&k) : MPK_OK;
    if (!mpk_failed(status)) mpki_blocks_keep_frames(bf, frames);
    return status;
}
