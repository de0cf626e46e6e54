/* SPDX-License-Identifier: BSD-3-Clause */
/* Updates of a front by its pivots (rank.h). */
#include "low_rank.h"
#include "tiles.h"

#include <string.h>

void FN(rank_rows)(const FN(rank) * u, const FN(front_work) * work, int64_t r0, int64_t r1) {
    const FN(front) *f = u->f;
    int overwrite = u->overwrite;
    if (f->low) {
        FN(low_rows)(u, work, r0, r1);
        return;
    }
    for (int64_t k0 = u->k0, k1; k0 < u->k1; k0 = k1, overwrite = 0) {
        k1 = FN(rank_step_end)(f, k0, u->k1);
        if (FN(front_stopped)(u->rules, (double)(r1 - r0) * u->cols * (double)(k1 - k0))) return;
        FN(rank_step)(u, work->packed, r0, r1, k0, k1, overwrite);
    }
}

static int64_t packed_width(const FN(rank) * u) {
    const int nc = u->rules->k->nc;
    return (u->cols + nc - 1) / nc * nc;
}

static void pack_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const FN(rank) *u = arg;
    const FN(front) *f = u->f;
    int64_t k0 = u->k0, k1 = FN(rank_step_end)(f, k0, u->k1);
    (void)pool, (void)worker;
    for (; item > 0; item--) k0 = k1, k1 = FN(rank_step_end)(f, k0, u->k1);
    u->rules->k->pack(u->cols, (int)(k1 - k0), at(f, u->col0, k0), ld(f, k0), f->d + 2 * k0,
                      u->rules->hermitian, f->right + packed_width(u) * (k0 - u->k0));
}

void FN(rank_pack)(const FN(rank) * u, mpki_pool *pool, int worker) {
    int64_t items = 0;
    for (int64_t k = u->k0; k < u->k1; items++) k = FN(rank_step_end)(u->f, k, u->k1);
    mpki_pool_for(pool, worker, items, pack_item, (void *)(uintptr_t)u);
}

static void packed_rows(const FN(rank) * u, int64_t r0, int64_t r1) {
    const FN(front) *f = u->f;
    T *c = u->c + (r0 - u->row0);
    for (int64_t k0 = u->k0, k1; k0 < u->k1; k0 = k1) {
        k1 = FN(rank_step_end)(f, k0, u->k1);
        if (FN(front_stopped)(u->rules, (double)(r1 - r0) * u->cols * (double)(k1 - k0))) return;
        u->rules->k->multiply(r1 - r0, u->cols, (int)(k1 - k0), at(f, r0, k0), ld(f, k0),
                              f->right + packed_width(u) * (k0 - u->k0), c, u->ldc, 0,
                              r0 - u->col0);
    }
}

enum { SMALL_ROWS = ROWS_PER_ITEM / 4 };

/* Rows that are cut into small items: the last ones, some for each thread. */
static int64_t small_rows(int64_t rows, mpki_pool *pool) {
    int64_t most = (int64_t)mpki_pool_threads(pool) * ROWS_PER_ITEM;
    return rows < most ? rows : rows - (rows - most) / ROWS_PER_ITEM * ROWS_PER_ITEM;
}

int64_t FN(rank_packed_items)(int64_t rows, mpki_pool *pool) {
    int64_t small = small_rows(rows, pool);
    return (rows - small) / ROWS_PER_ITEM + (small + SMALL_ROWS - 1) / SMALL_ROWS;
}

/* First row of an item; for the item after the last, the end. */
static int64_t item_row(int64_t rows, mpki_pool *pool, int64_t item) {
    int64_t large = (rows - small_rows(rows, pool)) / ROWS_PER_ITEM;
    if (item <= large) return item * ROWS_PER_ITEM;
    int64_t row = large * ROWS_PER_ITEM + (item - large) * SMALL_ROWS;
    return row < rows ? row : rows;
}

void FN(rank_packed_item)(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const FN(rank) *u = arg;
    const int64_t rows = u->row1 - u->row0;
    (void)worker;
    packed_rows(u, u->row0 + item_row(rows, pool, item), u->row0 + item_row(rows, pool, item + 1));
}

/* Rows in `items` items of whole strips. */
static int64_t item_rows(int64_t rows, int64_t items) {
    enum { MOST = 16 };
    const int64_t strips = (rows + STRIP - 1) / STRIP, each = (strips + items - 1) / items;
    return STRIP * (each < 1 ? 1 : each > MOST ? MOST : each);
}

int64_t FN(rank_item_rows)(int64_t rows, mpki_pool *pool) {
    return item_rows(rows, 3 * (int64_t)mpki_pool_threads(pool));
}

static void rank_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    const FN(rank) *u = arg;
    int64_t r0 = u->row0 + item * u->step, r1 = r0 + u->step;
    FN(rank_rows)(u, &u->works[worker], r0, r1 < u->row1 ? r1 : u->row1);
}

static void rank_update(FN(rank) * u, FN(front_work) * work, mpki_pool *pool, int worker) {
    if (u->k1 <= u->k0 || u->cols <= 0 || u->row1 <= u->row0) return;
    if (u->f->right) {
        FN(rank_pack)(u, pool, worker);
        mpki_pool_for(pool, worker, FN(rank_packed_items)(u->row1 - u->row0, pool),
                      FN(rank_packed_item), u);
        return;
    }
    u->step = FN(rank_item_rows)(u->row1 - u->row0, pool);
    int64_t items = (u->row1 - u->row0 + u->step - 1) / u->step;
    if (!pool || items < 2)
        FN(rank_rows)(u, work, u->row0, u->row1);
    else
        mpki_pool_for(pool, worker, items, rank_item, u);
}

/* Regions whose columns are cut into panels, and their rows into strips of `step`. */
typedef struct regions {
    FN(front) * f;
    const FN(front_rules) * rules;
    FN(front_work) * works;
    const mpki_rank_region *region;
    int count;
    int64_t k0, k1, step;
} regions;

static int64_t next_panel(const mpki_rank_region *r, int64_t j) {
    const int64_t edge = (j / MPKI_PANEL + 1) * MPKI_PANEL;
    return edge < r->c1 ? edge : r->c1;
}

static int64_t rows_of(const mpki_rank_region *r, int64_t j) {
    const int64_t rows = r->row1 - (r->row0 > j ? r->row0 : j);
    return rows > 0 ? rows : 0;
}

/* The panel that begins with column j. */
static FN(rank) panel_of(const regions *s, const mpki_rank_region *r, int64_t j) {
    const int64_t r0 = r->row0 > j ? r->row0 : j;
    return (FN(rank)){s->f,
                      s->rules,
                      s->works,
                      r0,
                      r->row1,
                      j,
                      s->k0,
                      s->k1,
                      (int32_t)(next_panel(r, j) - j),
                      at(s->f, r0, j),
                      ld(s->f, j),
                      0,
                      0};
}

/* Panels with rows, all their rows, and strips of these. */
static int64_t count_strips(const regions *s, int64_t *panels, int64_t *rows) {
    int64_t strips = 0;
    *panels = *rows = 0;
    for (const mpki_rank_region *r = s->region; r < s->region + s->count; r++)
        for (int64_t j = r->c0; j < r->c1; j = next_panel(r, j)) {
            const int64_t of = rows_of(r, j);
            *panels += of > 0;
            *rows += of;
            strips += (of + s->step - 1) / s->step;
        }
    return strips;
}

static void region_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const regions *s = arg;
    (void)pool;
    for (const mpki_rank_region *r = s->region; r < s->region + s->count; r++)
        for (int64_t j = r->c0; j < r->c1; j = next_panel(r, j)) {
            const int64_t strips = (rows_of(r, j) + s->step - 1) / s->step;
            if (item >= strips) {
                item -= strips;
                continue;
            }
            const FN(rank) u = panel_of(s, r, j);
            const int64_t r0 = u.row0 + item * s->step, r1 = r0 + s->step;
            FN(rank_rows)(&u, &s->works[worker], r0, r1 < u.row1 ? r1 : u.row1);
            return;
        }
}

void FN(rank_regions)(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                      mpki_pool *pool, int worker, const mpki_rank_region *region, int count,
                      int64_t k0, int64_t k1) {
    regions s = {f, rules, work - (pool ? worker : 0), region, count, k0, k1, 1};
    int64_t panels = 0, rows = 0;
    if (k1 <= k0) return;
    if (pool && !f->right) count_strips(&s, &panels, &rows);
    if (panels > 1) { /* in one loop: of few rows a panel has work for few */
        s.step = item_rows(rows, 3 * (int64_t)mpki_pool_threads(pool));
        mpki_pool_for(pool, worker, count_strips(&s, &panels, &rows), region_item, &s);
        return;
    }
    for (const mpki_rank_region *r = region; r < region + count; r++)
        for (int64_t j = r->c0; j < r->c1; j = next_panel(r, j)) {
            FN(rank) u = panel_of(&s, r, j);
            rank_update(&u, work, pool, worker);
        }
}

/* ---- the contribution: panels of columns, cut into strips, in one loop ------------------------ */

typedef struct whole {
    const FN(front) * f;
    const FN(front_rules) * rules;
    FN(front_work) * works;
    T *c;
    int64_t m, step; /* rows of c, and of an item */
    int64_t k0;      /* pivots that it has already */
} whole;

static FN(rank) panel_at(const whole *u, int64_t j) {
    const int64_t ldm = mpki_leading(u->m), left = u->m - j;
    return (FN(rank)){u->f,
                      u->rules,
                      u->works,
                      u->f->w + j,
                      u->f->nrows,
                      u->f->w + j,
                      u->k0,
                      u->f->nelim,
                      (int32_t)(left < MPKI_PANEL ? left : MPKI_PANEL),
                      u->c + mpki_panel_offset(ldm, j / MPKI_PANEL),
                      ldm - j,
                      u->k0 == 0,
                      0};
}

static int64_t strips_of(const whole *u, int64_t j) {
    return (u->m - j + u->step - 1) / u->step;
}

static void whole_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const whole *u = arg;
    int64_t j = 0;
    (void)pool;
    for (; item >= strips_of(u, j); j += MPKI_PANEL) item -= strips_of(u, j);
    const FN(rank) r = panel_at(u, j);
    const int64_t r0 = r.row0 + item * u->step, r1 = r0 + u->step;
    FN(rank_rows)(&r, &u->works[worker], r0, r1 < r.row1 ? r1 : r.row1);
}

void FN(front_update)(const FN(front) * f, const FN(front_rules) * rules, FN(front_work) * works,
                      T *c, mpki_pool *pool, int worker) {
    whole u = {f, rules, works, c, f->nrows - f->w, 0, f->tiles ? f->tiles->updated : 0};
    int64_t rows = 0, items = 0;
    if (f->nelim == 0) {
        memset(c, 0, (size_t)mpki_trapezoid(u.m, u.m) * sizeof(T));
        return;
    }
    if (f->nelim == u.k0) return;
    for (int64_t j = 0; j < u.m; j += MPKI_PANEL) rows += u.m - j;
    u.step = pool ? item_rows(rows, 4 * (int64_t)mpki_pool_threads(pool)) : u.m;
    for (int64_t j = 0; j < u.m; j += MPKI_PANEL) items += strips_of(&u, j);
    mpki_pool_for(pool, worker, items, whole_item, &u);
}
