/* SPDX-License-Identifier: BSD-3-Clause */
/* Tiles of a front as tasks (tiles.h). */
#include "tiles.h"

#include <string.h>

enum {
    MOST_ROWS = 8 * STRIP, /* of a tile */
    MOST_STEPS = 4         /* panels that update it in one task, once all pivots are known */
};
static const double LEAST_FLOPS = 2e7; /* of a front */

/* ---- what tiles there are ---------------------------------------------------------------------- */

/* Rows of a strip of the front: one strip for each worker, but no less than register tiles want. */
static int64_t own_rows(int64_t rows, int workers) {
    const int64_t one = (int64_t)STRIP * workers, each = (rows + one - 1) / one * STRIP;
    return each < STRIP ? STRIP : each < MOST_ROWS ? each : MOST_ROWS;
}

/* Of the contribution: so many that the last ones make nobody wait long. */
static int64_t other_rows(int64_t m, int workers) {
    const double strips = 0.5 * (double)m * (double)m / MPKI_PANEL / STRIP,
                 each = strips / (8.0 * workers);
    const int64_t rows = STRIP * (int64_t)each;
    return rows < STRIP ? STRIP : rows < MOST_ROWS ? rows : MOST_ROWS;
}

static int64_t panels(int64_t columns) {
    return (columns + MPKI_PANEL - 1) / MPKI_PANEL;
}

/* Panel k of a front, as far as its size goes; first: its first tile. */
static mpki_tile_panel panel_of(int64_t nrows, int64_t w, int workers, int64_t k, int32_t first) {
    const int64_t own = panels(w), m = nrows - w;
    mpki_tile_panel t = {.first = first};
    if (k < own) {
        t.row0 = (k + 1) * MPKI_PANEL < w ? (k + 1) * MPKI_PANEL : w;
        t.step = own_rows(nrows - MPKI_PANEL, workers);
    } else {
        t.row0 = w + (k - own) * MPKI_PANEL;
        t.step = other_rows(m, workers);
    }
    t.count = (int32_t)((nrows - t.row0 + t.step - 1) / t.step);
    return t;
}

/* Where things lie in the memory that is given. */
typedef struct places {
    int64_t panel, tile, perm, end;
} places;

static places places_of(int64_t nrows, int64_t w, int workers) {
    const int64_t all = panels(w) + panels(nrows - w);
    int64_t tiles = 0;
    for (int64_t k = 0; k < all; k++) tiles += panel_of(nrows, w, workers, k, 0).count;
    places at;
    at.panel = (int64_t)sizeof(FN(tiles));
    at.tile = at.panel + all * (int64_t)sizeof(mpki_tile_panel);
    at.perm = at.tile + tiles * (int64_t)sizeof(mpki_tile);
    at.end = at.perm + w * (int64_t)sizeof(int32_t);
    return at;
}

int64_t FN(tiles_bytes)(int64_t nrows, int64_t w, int workers) {
    const double m = (double)(nrows - w), e = (double)w;
    if (workers < 2 || w <= MPKI_PANEL || e * (e * e / 3 + e * m + m * m) < LEAST_FLOPS) return 0;
    return places_of(nrows, w, workers).end;
}

FN(tiles) * FN(tiles_set)(void *memory, int64_t nrows, int64_t w, int workers, T *c) {
    const places at = places_of(nrows, w, workers);
    char *base = memory;
    FN(tiles) *t = memory;
    *t = (FN(tiles)){.c = c};
    if (!mpki_lock_init(&t->lock)) return NULL;
    t->own = (int32_t)panels(w);
    t->all = t->own + (c ? (int32_t)panels(nrows - w) : 0);
    t->panel = (mpki_tile_panel *)(void *)(base + at.panel);
    t->tile = (mpki_tile *)(void *)(base + at.tile);
    t->perm = (int32_t *)(void *)(base + at.perm);
    int32_t first = 0;
    for (int32_t k = 0; k < t->all; k++) {
        t->panel[k] = panel_of(nrows, w, workers, k, first);
        first += t->panel[k].count;
    }
    memset(t->tile, 0, (size_t)first * sizeof *t->tile);
    return t;
}

void FN(tiles_end)(FN(tiles) * t) {
    if (t) mpki_lock_end(&t->lock);
}

/* ---- what can be done, under the lock ----------------------------------------------------------- */

/* How far the tiles of panel k may come: updates by what is accepted, and its own pivots. */
static int32_t limit(const FN(tiles) * t, int32_t k, bool block) {
    return t->accepted < k ? t->accepted : k + (k == t->accepted && (block || t->solved));
}

/* Its tiles, of which none had reached what is its limit now. */
static void open_panel(FN(tiles) * t, int32_t k) {
    mpki_tile_panel *p = &t->panel[k];
    const int32_t open = p->count - p->busy;
    atomic_fetch_add(&t->flow.ready, open - p->open);
    p->open = open;
}

static void open_block(FN(tiles) * t, int32_t k) {
    mpki_tile *block = &t->panel[k].block;
    if (block->open || block->busy || block->at >= limit(t, k, true)) return;
    block->open = true;
    atomic_fetch_add(&t->flow.ready, 1);
}

/* The next panel's pivots and rows below are done. */
static void verdict(FN(tiles) * t) {
    const int64_t left = t->f->w - (int64_t)t->accepted * MPKI_PANEL;
    const int32_t b = left < MPKI_PANEL ? (int32_t)left : MPKI_PANEL;
    t->failed = t->np < b || atomic_load(&t->good) < b;
    if (t->failed) return;
    t->accepted++;
    t->solved = false;
    for (int32_t k = t->accepted; k < t->all; k++) {
        if (k < t->own) open_block(t, k);
        open_panel(t, k);
    }
}

/* One task: a tile of panel k, from where it is to `to`. */
typedef struct job {
    int32_t k, to;
    mpki_tile *tile;
    bool block;
} job;

static int32_t reach(const FN(tiles) * t, const job *j) {
    const int32_t most = limit(t, j->k, j->block), steps = t->accepted < t->own ? 1 : MOST_STEPS;
    return most - j->tile->at > steps ? j->tile->at + steps : most;
}

/* The first panel comes first, and there what is on the diagonal. */
static bool take(FN(tiles) * t, job *j) {
    for (j->k = t->accepted; j->k < t->all; j->k++) {
        mpki_tile_panel *p = &t->panel[j->k];
        j->block = p->block.open;
        j->tile = &p->block;
        if (!j->block && p->open == 0) continue;
        if (j->block) {
            p->block.open = false;
        } else {
            do {
                j->tile = &t->tile[p->first + p->next];
                p->next = p->next + 1 < p->count ? p->next + 1 : 0;
            } while (j->tile->busy || j->tile->at >= limit(t, j->k, false));
            p->open--;
            p->busy++;
        }
        j->tile->busy = true;
        j->to = reach(t, j);
        atomic_fetch_sub(&t->flow.ready, 1);
        return true;
    }
    return false;
}

static void put(FN(tiles) * t, const job *j, int32_t np) {
    mpki_tile_panel *p = &t->panel[j->k];
    j->tile->at = j->to;
    j->tile->busy = false;
    if (j->block && j->to > j->k) {
        t->np = np;
        t->solved = true;
        open_panel(t, j->k);
        if (p->count == 0) verdict(t);
    } else if (j->block) {
        open_block(t, j->k);
    } else {
        p->busy--;
        if (j->to < limit(t, j->k, false)) {
            p->open++;
            atomic_fetch_add(&t->flow.ready, 1);
        }
        if (j->to > j->k && ++p->below == p->count) verdict(t);
    }
}

/* ---- what is done ------------------------------------------------------------------------------- */

static int64_t first_pivot(const FN(tiles) * t, int32_t k) {
    const int64_t p = (int64_t)k * MPKI_PANEL;
    return p < t->f->w ? p : t->f->w;
}

/* Rows r0 .. r1-1 of panel k by the pivots of panels from .. to-1. */
static void update(const FN(tiles) * t, int32_t k, int64_t r0, int64_t r1, int32_t from, int32_t to,
                   int worker) {
    const FN(front) *f = t->f;
    FN(rank) u = {.f = f, .rules = t->rules, .works = t->works, .row1 = f->nrows};
    u.k0 = first_pivot(t, from), u.k1 = first_pivot(t, to);
    if (k < t->own) {
        u.col0 = u.row0 = first_pivot(t, k);
        u.cols = (int32_t)(first_pivot(t, k + 1) - u.col0);
        u.c = at(f, u.row0, u.col0);
        u.ldc = ld(f, u.col0);
    } else {
        const int64_t j = (int64_t)(k - t->own) * MPKI_PANEL, m = f->nrows - f->w;
        u.col0 = u.row0 = f->w + j;
        u.cols = (int32_t)(m - j < MPKI_PANEL ? m - j : MPKI_PANEL);
        u.c = t->c + mpki_panel_offset(mpki_leading(m), j / MPKI_PANEL);
        u.ldc = mpki_leading(m) - j;
        u.overwrite = from == 0;
    }
    FN(rank_rows)(&u, &t->works[worker], r0, r1);
}

/* The pivots of the block at p. */
static int32_t factor(FN(tiles) * t, int64_t p, int32_t b, int worker) {
    FN(front) *f = t->f;
    for (int32_t j = 0; j < b; j++)
        memcpy(t->own_work->backup + j + (int64_t)j * b, at(f, p + j, p + j),
               (size_t)(b - j) * sizeof(T));
    const int32_t np = t->factor(f, t->rules, &t->works[worker], p, b, t->perm + p);
    if (np > 0 && f->nrows > p + b)
        t->rules->k->pack(b, np, at(f, p, p), ld(f, p), NULL, t->rules->hermitian,
                          t->own_work->packed2);
    atomic_store(&t->good, np);
    return np;
}

static void below(FN(tiles) * t, int64_t p, int32_t b, int64_t r0, int64_t r1) {
    const FN(front) *f = t->f;
    const int good = t->rules->k->apply(r1 - r0, b, t->np, at(f, r0, p), ld(f, p), t->perm + p,
                                        at(f, p, p), ld(f, p), t->own_work->packed2,
                                        f->dinv + 2 * p, t->rules->hermitian, 1 / t->rules->u);
    int seen = atomic_load(&t->good);
    while (good < seen && !atomic_compare_exchange_weak(&t->good, &seen, good)) {}
}

/* Returns the pivots of the block, if it was that. */
static int32_t run(FN(tiles) * t, const job *j, int worker) {
    const mpki_tile_panel *panel = &t->panel[j->k];
    const int64_t p = first_pivot(t, j->k), end = first_pivot(t, j->k + 1);
    const int32_t from = j->tile->at, to = j->to < j->k ? j->to : j->k;
    int64_t r0 = p, r1 = end;
    if (!j->block) {
        r0 = panel->row0 + (j->tile - &t->tile[panel->first]) * panel->step;
        r1 = r0 + panel->step < t->f->nrows ? r0 + panel->step : t->f->nrows;
    }
    if (to > from) update(t, j->k, r0, r1, from, to, worker);
    if (j->to == to) return 0;
    if (j->block) return factor(t, p, (int32_t)(end - p), worker);
    below(t, p, (int32_t)(end - p), r0, r1);
    return 0;
}

/* Tasks, as long as there are any. */
static void work_on(mpki_pool *pool, int worker, void *arg, int64_t item) {
    FN(tiles) *t = arg;
    int64_t more = 0;
    job j;
    (void)item;
    mpki_lock_take(&t->lock);
    while (take(t, &j)) {
        mpki_lock_give(&t->lock);
        if (more > 0) mpki_pool_more(pool, &t->flow, more);
        const int32_t np = run(t, &j, worker);
        mpki_lock_take(&t->lock);
        const int64_t before = atomic_load(&t->flow.ready);
        put(t, &j, np);
        more = atomic_load(&t->flow.ready) - before - 1; /* than this worker takes */
    }
    mpki_lock_give(&t->lock);
}

/* ---- the orders that blocks chose, for the rows of the columns before them ----------------------- */

static void permute_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const FN(tiles) *t = arg;
    const FN(front) *f = t->f;
    const int64_t c0 = first_pivot(t, (int32_t)item), c1 = c0 + MPKI_PANEL;
    (void)pool, (void)worker;
    for (int32_t k = (int32_t)item + 1; k < t->accepted + t->failed; k++) {
        const int64_t p = first_pivot(t, k);
        const int32_t b = (int32_t)(first_pivot(t, k + 1) - p), *perm = t->perm + p;
        int32_t same = 0;
        while (same < b && perm[same] == same) same++;
        for (int64_t c = c0; same < b && c < c1; c++) {
            T row[MPKI_PANEL], *to = at(f, p, c);
            memcpy(row, to, (size_t)b * sizeof(T));
            for (int32_t i = same; i < b; i++) to[i] = row[perm[i]];
        }
    }
}

static void permute(FN(tiles) * t, mpki_pool *pool, int worker) {
    FN(front) *f = t->f;
    const int32_t tried = t->accepted + t->failed;
    mpki_pool_for(pool, worker, tried - 1, permute_item, t);
    for (int32_t k = 0; k < tried; k++) {
        const int64_t p = first_pivot(t, k), b = first_pivot(t, k + 1) - p;
        int32_t id[MPKI_PANEL];
        memcpy(id, f->id + p, (size_t)b * sizeof *id);
        for (int64_t i = 0; i < b; i++) f->id[p + i] = id[t->perm[p + i]];
    }
}

int64_t FN(tiles_run)(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                      FN(tiles_block) factor_block, mpki_pool *pool, int worker) {
    FN(tiles) *t = f->tiles;
    t->f = f;
    t->rules = rules;
    t->own_work = work;
    t->works = work - (pool ? worker : 0);
    t->factor = factor_block;
    open_block(t, 0);
    mpki_pool_flow(pool, worker, &t->flow, work_on, t);
    permute(t, pool, worker);
    if (t->failed) {
        const int64_t p = first_pivot(t, t->accepted), b = first_pivot(t, t->accepted + 1) - p;
        memcpy(work->perm, t->perm + p, (size_t)b * sizeof *work->perm);
    }
    t->updated = t->c ? first_pivot(t, t->accepted) : 0;
    return first_pivot(t, t->accepted);
}
