/* SPDX-License-Identifier: BSD-3-Clause */
/* The lists by which a gang of blocks does a system, made once and sent to the device. */
#include "state.h"

#include <string.h>

static const char STAGE[] = "systems";

/* Lists in one piece of host memory, and where each of them begins. */
typedef struct lists {
    int64_t bytes;
    char *p;
} lists;

static int64_t reserve(lists *x, int64_t count, size_t size) {
    const int64_t at = x->bytes;
    x->bytes += (count * (int64_t)size + 255) / 256 * 256;
    return at;
}

/* What the parts of a plan take, and where they begin. */
typedef struct layout {
    int64_t entries, below, full, given, codes, vectors, more;
    int64_t part, phase, front, entry, code, vector, more_at, rows, perm, pair, matched, ptr, col,
        from, gather_ptr, gather_mirror, gather, diagonal;
} layout;

static int64_t rows_below(const mpki_tree_view *t, int32_t s) {
    return t->rptr[s + 1] - t->rptr[s];
}
static int64_t rows_of(const mpki_tree_view *t, int32_t s) {
    return t->sptr[s + 1] - t->sptr[s] + rows_below(t, s);
}

static layout count(const mpki_systems_view *view, const mpki_cuda_parts *parts, int64_t more,
                    lists *x) {
    const mpki_tree_view *t = &view->tree;
    layout y = {.entries = t->scatter_ptr[t->nsuper],
                .below = t->rptr[t->nsuper],
                .given = view->gather ? view->gather_ptr[t->nnz] : 0,
                .more = more};
    for (int32_t s = 0; s < t->nsuper; s++) {
        y.codes += rows_of(t, s) * (rows_of(t, s) + 1) / 2;
        y.vectors += rows_of(t, s);
    }
    y.full = 2 * t->nnz; /* at most */
    y.front = reserve(x, t->nsuper, sizeof(mpki_cuda_systems_front));
    y.entry = reserve(x, y.entries, sizeof(mpki_cuda_systems_entry));
    y.code = reserve(x, y.codes, sizeof(int32_t));
    y.vector = reserve(x, y.vectors, sizeof(int32_t));
    y.more_at = reserve(x, y.more, sizeof(int32_t));
    y.rows = reserve(x, y.below, sizeof(int32_t));
    y.part = reserve(x, parts->parts, sizeof(mpki_cuda_systems_part));
    y.phase = reserve(x, parts->phases, sizeof(mpki_cuda_systems_phase));
    y.perm = reserve(x, t->n, sizeof(int32_t));
    y.pair = reserve(x, t->n, 1);
    y.matched = view->matched ? reserve(x, t->n, sizeof(double)) : -1;
    y.ptr = reserve(x, (int64_t)t->n + 1, sizeof(int32_t));
    y.col = reserve(x, y.full, sizeof(int32_t));
    y.from = reserve(x, y.full, sizeof(int32_t));
    y.diagonal = reserve(x, t->n, sizeof(int32_t));
    y.gather_ptr = view->gather ? reserve(x, t->nnz + 1, sizeof(int32_t)) : -1;
    y.gather_mirror = view->gather ? reserve(x, t->nnz, sizeof(int32_t)) : -1;
    y.gather = view->gather ? reserve(x, y.given, sizeof(int32_t)) : -1;
    return y;
}

/* Number of row i of column j in a front of r rows. */
static int64_t number(int64_t r, int64_t i, int64_t j) {
    return i + j * (r - 1) - j * (j - 1) / 2;
}

/* Sources of the entries of one front, or of its vector, on their way to codes. A front comes twice:
 * how many sources an entry has, then where they are. */
typedef struct sources {
    int32_t *of;     /* of each entry: how many; then where their list goes on */
    int32_t *code;   /* of all fronts */
    int32_t *more;   /* lists; NULL: they are only counted */
    int64_t at, end; /* codes of this front begin; lists end */
} sources;

/* Lists for those of the entries 0 .. count - 1 of a front that have several sources. */
static void open_lists(sources *y, int64_t count) {
    for (int64_t e = 0; e < count; e++) {
        const int32_t of = y->of[e];
        if (y->more) y->code[y->at + e] = 0;
        y->of[e] = -1;
        if (of <= 1) continue;
        if (y->more) {
            y->code[y->at + e] = 2 * (int32_t)y->end + 2;
            y->more[y->end] = of;
            y->of[e] = (int32_t)y->end + 1;
        }
        y->end += of + 1;
    }
}

/* Number k of what children left comes to entry e. */
static void add_source(sources *y, int64_t e, int64_t k) {
    if (y->of[e] < 0)
        y->code[y->at + e] = 2 * (int32_t)k + MPKI_FROM_CHILD;
    else
        y->more[y->of[e]++] = (int32_t)k;
}

/* Codes of what a front gets, y->at behind them: its entries, or its vector. */
static void fill_codes(const mpki_tree_view *t, const mpki_cuda_parts *parts, int32_t s,
                       bool vector, sources *y) {
    const int64_t r = rows_of(t, s), count = vector ? r : r * (r + 1) / 2;
    for (int64_t e = 0; e < count; e++) y->of[e] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t q = t->child_ptr[s]; q < t->child_ptr[s + 1]; q++) {
            const int32_t c = t->child[q];
            const int32_t *rel = t->rel + t->rptr[c];
            const int64_t m = rows_below(t, c);
            int64_t from = vector ? parts->u[c] : parts->c[c];
            for (int64_t j = 0; j < (vector ? 1 : m); j++)
                for (int64_t i = j; i < m; i++, from++) {
                    const int64_t e = vector ? rel[i] : number(r, rel[i], rel[j]);
                    if (pass == 0)
                        y->of[e]++;
                    else
                        add_source(y, e, from);
                }
        }
        if (pass == 0) open_lists(y, count);
        if (!y->more) break;
    }
    y->at += count;
}

/* The lists of all fronts' entries, then those of their vectors. front: NULL: they are counted. */
static void fill_all_codes(const mpki_tree_view *t, const mpki_cuda_parts *parts, int32_t *code,
                           int32_t *vector, mpki_cuda_systems_front *front, sources *y) {
    y->end = 0;
    y->at = 0, y->code = code;
    for (int32_t k = 0; k < t->nsuper; k++) {
        const int64_t begin = y->end;
        fill_codes(t, parts, parts->order[k], false, y);
        if (front) front[k].more = (int32_t)begin, front[k].mores = (int32_t)(y->end - begin);
    }
    y->at = 0, y->code = vector;
    for (int32_t k = 0; k < t->nsuper; k++) fill_codes(t, parts, parts->order[k], true, y);
}

static void fill_fronts(const mpki_systems_view *view, const mpki_cuda_parts *parts,
                        const layout *y, const lists *x) {
    const mpki_tree_view *t = &view->tree;
    mpki_cuda_systems_front *front = (void *)(x->p + y->front);
    mpki_cuda_systems_entry *entry = (void *)(x->p + y->entry);
    int64_t code = 0, vector = 0;
    for (int32_t k = 0; k < t->nsuper; k++) {
        const int32_t s = parts->order[k], w = t->sptr[s + 1] - t->sptr[s];
        const int64_t r = rows_of(t, s), begin = t->scatter_ptr[s], end = t->scatter_ptr[s + 1];
        front[k] = (mpki_cuda_systems_front){.first = t->sptr[s],
                                             .w = w,
                                             .r = (int32_t)r,
                                             .ahead = parts->ahead[k],
                                             .behind = parts->behind[k],
                                             .row = (int32_t)t->rptr[s],
                                             .u = (int32_t)parts->u[s],
                                             .vector = (int32_t)vector,
                                             .l = view->l[s],
                                             .c = parts->c[s],
                                             .code = code};
        code += r * (r + 1) / 2, vector += r;
        for (int64_t e = begin; e < end; e++) {
            const mpki_scatter of = mpki_scatter_at(&t->scatter, e), *a = &of;
            const int32_t row = a->row < 0 ? ~a->row : a->row;
            const int32_t at = row < w ? t->sptr[s] + row : t->ridx[t->rptr[s] + row - w];
            entry[e] =
                (mpki_cuda_systems_entry){.from = a->row < 0 ? ~(int32_t)a->src : (int32_t)a->src,
                                          .to = (int32_t)(view->l[s] + number(r, row, a->col)),
                                          .i = t->perm[at],
                                          .j = t->perm[t->sptr[s] + a->col]};
        }
    }
}

/* A in both triangles by rows, columns in increasing order. */
static void fill_rows(const mpki_tree_view *t, const layout *y, const lists *x) {
    int32_t *ptr = (void *)(x->p + y->ptr), *col = (void *)(x->p + y->col),
            *from = (void *)(x->p + y->from), *diagonal = (void *)(x->p + y->diagonal);
    const bool conjugated = t->symmetry == MPK_HERMITIAN && t->scalar >= MPK_C;
    memset(ptr, 0, ((size_t)t->n + 1) * sizeof *ptr);
    for (int32_t j = 0; j < t->n; j++)
        for (int64_t k = t->ap[j]; k < t->ap[j + 1]; k++) {
            ptr[t->ai[k] + 1]++;
            if (t->ai[k] != j) ptr[j + 1]++;
        }
    for (int32_t i = 0; i < t->n; i++) ptr[i + 1] += ptr[i], diagonal[i] = -1;
    /* rows' lower parts come by column j, and column j's own rows follow its row's lower part */
    for (int32_t j = 0; j < t->n; j++)
        for (int64_t k = t->ap[j]; k < t->ap[j + 1]; k++) {
            const int32_t i = t->ai[k], at = ptr[i]++;
            col[at] = j, from[at] = (int32_t)k;
            if (i == j) {
                diagonal[i] = (int32_t)k;
                continue;
            }
            const int32_t other = ptr[j]++;
            col[other] = i, from[other] = conjugated ? ~(int32_t)k : (int32_t)k;
        }
    for (int32_t i = t->n; i > 0; i--) ptr[i] = ptr[i - 1];
    ptr[0] = 0;
}

static void place_home(mpki_many *many, const mpki_systems_view *view) {
    const mpki_tree_view *t = &view->tree;
    const int64_t size = (int64_t)mpk_scalar_size(many->scalar),
                  real = many->scalar >= MPK_C ? size / 2 : size, n = t->n;
    mpki_cuda_systems_home *home = &many->plan.home;
    int64_t at = 0;
    home->values = at, at += t->nnz * size;
    home->l = at, at += view->l[t->nsuper] * size;
    home->d = at, at += 2 * n * size;
    home->scale = at, at += n * real;
    home->norm = at, at += n * real;
    home->bytes = (at + 127) / 128 * 128;
}

mpk_status mpki_cuda_systems_plan_make(mpk_context *ctx, mpki_many *many,
                                       const mpki_systems_view *view,
                                       const mpki_cuda_parts *parts) {
    const mpki_tree_view *t = &view->tree;
    lists x = {0};
    if (t->nnz > INT32_MAX / 2 || t->rptr[t->nsuper] > INT32_MAX || view->given > INT32_MAX)
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, t->nnz,
                          "a pattern of that size is not for many systems on a GPU");
    const int64_t most = (int64_t)t->max_front * (t->max_front + 1) / 2;
    int32_t *memory = MPKI_NEW(ctx, STAGE, most, int32_t);
    sources from = {.of = memory};
    if (!memory) return mpki_failed(ctx);
    fill_all_codes(t, parts, NULL, NULL, NULL, &from);
    const layout y = count(view, parts, from.end, &x);
    mpk_status status = MPK_OK;
    if (parts->contributions >= MPKI_FROM_MOST || y.more >= MPKI_FROM_MOST ||
        view->l[t->nsuper] > INT32_MAX)
        status = mpki_error(ctx, MPK_ERR_SIZE, STAGE, t->nnz,
                            "a pattern of that size is not for many systems on a GPU");
    if (!mpk_failed(status)) x.p = mpki_calloc(ctx, STAGE, x.bytes, 1);
    if (!mpk_failed(status) && !x.p) status = mpki_failed(ctx);
    if (mpk_failed(status)) {
        mpki_release(ctx, memory);
        return status;
    }
    from.more = (void *)(x.p + y.more_at);
    fill_fronts(view, parts, &y, &x);
    fill_all_codes(t, parts, (void *)(x.p + y.code), (void *)(x.p + y.vector),
                   (void *)(x.p + y.front), &from);
    mpki_release(ctx, memory);
    mpki_cuda_systems_plan plan = {.phases = parts->phases,
                                   .wide = parts->wide,
                                   .contributions = parts->contributions,
                                   .vectors = parts->vectors};
    memcpy(x.p + y.part, parts->list, (size_t)parts->parts * sizeof *parts->list);
    memcpy(x.p + y.phase, parts->phase, (size_t)parts->phases * sizeof *parts->phase);
    fill_rows(t, &y, &x);
    memcpy(x.p + y.rows, t->ridx, (size_t)y.below * sizeof(int32_t));
    memcpy(x.p + y.perm, t->perm, (size_t)t->n * sizeof(int32_t));
    memcpy(x.p + y.pair, view->pair, (size_t)t->n);
    if (view->matched) memcpy(x.p + y.matched, view->matched, (size_t)t->n * sizeof(double));
    if (view->gather) {
        memcpy(x.p + y.gather_ptr, view->gather_ptr, ((size_t)t->nnz + 1) * sizeof(int32_t));
        memcpy(x.p + y.gather_mirror, view->gather_mirror, (size_t)t->nnz * sizeof(int32_t));
        memcpy(x.p + y.gather, view->gather, (size_t)y.given * sizeof(int32_t));
    }
    status = mpki_cuda_room_make(ctx, many, &many->lists, x.bytes);
    if (!mpk_failed(status))
        status = mpki_cuda_systems_copy(ctx, many, many->lists.p, x.p, x.bytes, true);
    if (!mpk_failed(status)) {
        const mpki_device *d = many->device;
        status = mpki_cuda_status(ctx, STAGE, d->table->systems->wait(d->cuda));
    }
    mpki_release(ctx, x.p);
    if (mpk_failed(status)) return status;
    const char *at = many->lists.p;
    plan.n = t->n;
    plan.nsuper = t->nsuper;
    plan.max_front = t->max_front;
    plan.hermitian = t->symmetry == MPK_HERMITIAN && t->scalar >= MPK_C;
    plan.nnz = (int32_t)t->nnz;
    plan.entries = (int32_t)y.entries;
    plan.given = (int32_t)view->given;
    plan.front = (const void *)(at + y.front);
    plan.entry = (const void *)(at + y.entry);
    plan.code = (const void *)(at + y.code);
    plan.vector = (const void *)(at + y.vector);
    plan.more = (const void *)(at + y.more_at);
    plan.rows = (const void *)(at + y.rows);
    plan.perm = (const void *)(at + y.perm);
    plan.pair = (const void *)(at + y.pair);
    plan.matched = view->matched ? (const void *)(at + y.matched) : NULL;
    plan.ptr = (const void *)(at + y.ptr);
    plan.col = (const void *)(at + y.col);
    plan.from = (const void *)(at + y.from);
    plan.gather_ptr = view->gather ? (const void *)(at + y.gather_ptr) : NULL;
    plan.gather_mirror = view->gather ? (const void *)(at + y.gather_mirror) : NULL;
    plan.gather = view->gather ? (const void *)(at + y.gather) : NULL;
    plan.symmetry_noise = view->symmetry_noise;
    plan.diagonal = (const void *)(at + y.diagonal);
    plan.part = (const void *)(at + y.part);
    plan.phase = (const void *)(at + y.phase);
    many->plan = plan;
    place_home(many, view);
    return MPK_OK;
}
