/* SPDX-License-Identifier: BSD-3-Clause */
/* Tile LDL^T with a-posteriori pivoting. The columns of a front, by position:
 *
 *     0 .. p-1       eliminated
 *     p .. end-1     untried: not yet updated by the pivots base .. p-1 of this pass (pull)
 *     end .. w-1     rejected: every entry with an index here is up to date (push)
 *
 * A block of at most 128 untried columns is pulled, its diagonal block is factored with pivots from
 * inside, the rows below follow, and the leading columns whose entries stay within 1/u are
 * accepted. */
#include "low_rank.h"
#include "tiles.h"

#include <float.h>
#include <string.h>

int64_t FN(front_work_size)(int64_t n) {
    return mpki_front_work(n);
}

void FN(front_work_set)(FN(front_work) * work, int64_t n, T *memory) {
    const int64_t block = mpki_front_block(n);
    work->packed = memory;
    work->packed2 = memory + block;
    work->block = memory + 2 * block;
    work->backup = memory + 3 * block;
    work->inner = memory + 4 * block;
    work->dd = work->inner + 4 * MPKI_TILE * MPKI_PANEL;
    work->perm = (int32_t *)(work->dd + 4 * MPKI_PANEL);
}

/* ---- a diagonal block ------------------------------------------------------------------------ */

static void pass(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                 mpki_pool *pool, int worker, int32_t tile, int64_t *rejected);

/* Of few numbers, for which memcpy() takes longer. */
static inline void copy(int32_t count, const T *restrict from, T *restrict to) {
    for (int32_t i = 0; i < count; i++) to[i] = from[i];
}

/* Factor a tile of b <= 32 columns at p in place. Returns the columns eliminated. */
static int32_t factor_tile(FN(front) * f, const FN(front_rules) * rules, int64_t p, int32_t b,
                           int32_t *perm) {
    T s[MPKI_TILE * MPKI_TILE] __attribute__((aligned(64)));
    const int32_t whole = (b + 15) & ~15; /* vectors of any width end there */
    for (int32_t j = 0; j < b; j++) {
        const T *col = at(f, p + j, p + j);
        T *sj = s + j * MPKI_TILE;
        sj[j] = col[0];
        for (int32_t i = j + 1; i < b; i++) {
            sj[i] = col[i - j];
            s[j + i * MPKI_TILE] = conj_if(rules->hermitian, col[i - j]);
        }
        for (int32_t i = b; i < whole; i++) sj[i] = t_make(0, 0);
    }
    const R least = rules->small > rules->noise ? rules->small : rules->noise;
    int32_t np = rules->k->tile(b, s, perm, f->d + 2 * p, f->dinv + 2 * p, rules->hermitian, least);
    for (int32_t j = 0; j < b; j++) copy(b - j, s + j + j * MPKI_TILE, at(f, p + j, p + j));
    return np;
}

/* Factor a block of b <= 128 columns at p, as a small front of its own. */
static int32_t factor_block(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                            int64_t p, int32_t b, int32_t *perm) {
    FN(front)
    g = {.nrows = b,
         .w = b,
         .ld0 = mpki_leading(b),
         .a = work->block,
         .id = perm,
         .d = work->dd,
         .dinv = work->dd + 2 * MPKI_PANEL};
    for (int32_t j = 0; j < b; j++) {
        perm[j] = j;
        memcpy(at(&g, j, j), at(f, p + j, p + j), (size_t)(b - j) * sizeof(T));
    }
    FN(front_work)
    inner = {.packed = work->packed,
             .packed2 = work->packed2,
             .backup = work->inner,
             .perm = work->perm + MPKI_PANEL};
    int64_t rejected = 0;
    int32_t before;
    do {
        before = g.nelim;
        pass(&g, rules, &inner, NULL, 0, MPKI_TILE, &rejected);
    } while (g.nelim < b && g.nelim > before);
    for (int32_t j = 0; j < b; j++)
        memcpy(at(f, p + j, p + j), at(&g, j, j), (size_t)(b - j) * sizeof(T));
    memcpy(f->d + 2 * p, g.d, 2 * (size_t)b * sizeof(T));
    memcpy(f->dinv + 2 * p, g.dinv, 2 * (size_t)b * sizeof(T));
    return g.nelim;
}

static int32_t diagonal_block(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                              int64_t p, int32_t b, int32_t *perm) {
    return b <= MPKI_TILE ? factor_tile(f, rules, p, b, perm)
                          : factor_block(f, rules, work, p, b, perm);
}

/* Rows p .. p+b-1 of the columns before p, and the names, brought into the order that the block
 * chose. */
typedef struct reorder {
    FN(front) * f;
    int64_t p;
    int32_t b, first; /* rows before first stay */
    const int32_t *perm;
} reorder;

enum { COLUMNS_PER_ITEM = 256 };

static void reorder_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const reorder *s = arg;
    const int32_t b = s->b, *perm = s->perm;
    T t[MPKI_PANEL];
    int64_t k0 = item * COLUMNS_PER_ITEM, k1 = k0 + COLUMNS_PER_ITEM;
    (void)pool, (void)worker;
    for (int64_t k = k0; k < k1 && k < s->p; k++) {
        T *row = at(s->f, s->p, k);
        memcpy(t, row, (size_t)b * sizeof(T));
        for (int32_t i = s->first; i < b; i++) row[i] = t[perm[i]];
    }
}

static void permute_rows(FN(front) * f, int64_t p, int32_t b, const int32_t *perm, mpki_pool *pool,
                         int worker) {
    int32_t id[MPKI_PANEL], first = 0;
    while (first < b && perm[first] == first) first++;
    if (first == b) return;
    reorder s = {f, p, b, first, perm};
    mpki_pool_for(pool, worker, (p + COLUMNS_PER_ITEM - 1) / COLUMNS_PER_ITEM, reorder_item, &s);
    memcpy(id, f->id + p, (size_t)b * sizeof *id);
    for (int32_t i = 0; i < b; i++) f->id[p + i] = id[perm[i]];
    if (f->low) FN(low_permute)(f, p, b, perm);
}

/* ---- the rows below -------------------------------------------------------------------------- */

typedef struct below {
    FN(front) * f;
    const FN(front_rules) * rules;
    int64_t p;
    int32_t b, np;
    const int32_t *perm;
    const T *packed;
    int64_t step;
    _Atomic int good; /* leading columns that pass */
} below;

static void below_rows(below *s, int64_t r0, int64_t r1) {
    FN(front) *f = s->f;
    const R finite = sizeof(R) == 4 ? (R)FLT_MAX : (R)DBL_MAX;
    for (int64_t r = r0, end; r < r1; r = end) {
        const bool judged = r < f->nrows - f->free;
        end = judged && r1 > f->nrows - f->free ? f->nrows - f->free : r1;
        int good = s->rules->k->apply(end - r, s->b, s->np, at(f, r, s->p), ld(f, s->p), s->perm,
                                      at(f, s->p, s->p), ld(f, s->p), s->packed, f->dinv + 2 * s->p,
                                      s->rules->hermitian, judged ? 1 / s->rules->u : finite);
        int seen = atomic_load(&s->good);
        while (good < seen && !atomic_compare_exchange_weak(&s->good, &seen, good)) {}
    }
}

static void below_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool;
    (void)worker;
    below *s = arg;
    int64_t r0 = s->p + s->b + item * s->step, r1 = r0 + s->step;
    below_rows(s, r0, r1 < s->f->nrows ? r1 : s->f->nrows);
}

/* Update columns c0 .. c1-1 by pivots k0 .. k1-1: their rows among the untried, and the rows
 * below. */
static void pull(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                 mpki_pool *pool, int worker, int64_t c0, int64_t c1, int64_t end, int64_t k0,
                 int64_t k1) {
    const bool all = end == f->w;
    const mpki_rank_region parts[2] = {{c0, c1, c0, all ? f->nrows : end},
                                       {c0, c1, f->w, f->nrows}};
    FN(rank_regions)(f, rules, work, pool, worker, parts, all ? 1 : 2, k0, k1);
}

/* Width of the block at p: it does not cross the edge of a panel. */
static int32_t width(int64_t p, int64_t end, int32_t tile) {
    int64_t edge = (p / MPKI_PANEL + 1) * MPKI_PANEL - p;
    int32_t b = (int32_t)(end - p < tile ? end - p : tile);
    return b > edge ? (int32_t)edge : b;
}

/* Look-ahead: the diagonal block at p, and at the same time the pivots before p pulled into the
 * next b2 columns. It is possible because pivots never leave their block. Item 0 is the block; then
 * come strips of rows, those of the untried first. */
typedef struct ahead {
    FN(front) * f;
    const FN(front_rules) * rules;
    FN(front_work) * works;
    int64_t p, next, end, base, step, strips; /* strips: of the untried */
    int32_t b, b2, np;
    int32_t *perm;
    FN(rank) packed; /* flat: the pull, its right operand packed */
} ahead;

static void ahead_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    ahead *s = arg;
    FN(front) *f = s->f;
    (void)pool;
    if (item == 0) {
        s->np = diagonal_block(f, s->rules, &s->works[worker], s->p, s->b, s->perm);
        return;
    }
    if (f->right) {
        FN(rank_packed_item)(pool, worker, &s->packed, item - 1);
        return;
    }
    int64_t first = s->next, last = s->end, k = item - 1;
    if (k >= s->strips) first = f->w, last = f->nrows, k -= s->strips;
    int64_t r0 = first + k * s->step, r1 = r0 + s->step < last ? r0 + s->step : last;
    FN(rank)
    u = {f,     s->rules,           s->works,       r0, r1, s->next, s->base, s->p,
         s->b2, at(f, r0, s->next), ld(f, s->next), 0,  0};
    FN(rank_rows)(&u, &s->works[worker], r0, r1);
}

static void factor_ahead(ahead *s, mpki_pool *pool, int worker) {
    int64_t items = 1;
    if (s->b2 > 0 && s->p > s->base && s->f->right) {
        FN(front) *f = s->f;
        s->packed = (FN(rank)){f,
                               s->rules,
                               s->works,
                               s->next,
                               s->end,
                               s->next,
                               s->base,
                               s->p,
                               s->b2,
                               at(f, s->next, s->next),
                               ld(f, s->next),
                               0,
                               0};
        FN(rank_pack)(&s->packed, pool, worker);
        items += FN(rank_packed_items)(s->end - s->next, pool);
    } else if (s->b2 > 0 && s->p > s->base) {
        s->step = FN(rank_item_rows)(s->f->nrows - s->next, pool);
        s->strips = (s->end - s->next + s->step - 1) / s->step;
        items += s->strips + (s->f->nrows - s->f->w + s->step - 1) / s->step;
    }
    mpki_pool_for(pool, pool ? worker : 0, items, ahead_item, s);
}

/* The rows below the block at p, of whose columns np were eliminated. Returns how many pass. */
static int32_t solve_below(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                           mpki_pool *pool, int worker, int64_t p, int32_t b, int32_t np) {
    const int64_t rows = f->nrows - p - b;
    if (rows == 0) return np;
    if (np > 0 && b > rules->k->nc) /* fewer columns need no operand packed */
        rules->k->pack(b, np, at(f, p, p), ld(f, p), NULL, rules->hermitian, work->packed2);
    below s = {f, rules, p, b, np, work->perm, work->packed2, FN(rank_item_rows)(rows, pool), np};
    const int64_t items = (rows + s.step - 1) / s.step;
    /* the free rows begin a register tile of their own, which items must not shift */
    if (!pool || items < 2 || f->free > 0)
        below_rows(&s, p + b, f->nrows);
    else
        mpki_pool_for(pool, worker, items, below_item, &s);
    return s.good;
}

static void pass(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                 mpki_pool *pool, int worker, int32_t tile, int64_t *rejected) {
    const int64_t w = f->w;
    int64_t base = f->nelim; /* all that is left has been updated by the pivots before it */
    const int32_t widest = tile;
    int64_t p = base, end = w;
    int32_t *perm = work->perm;
    int clean = 0;      /* blocks without a rejection since the last that had one */
    bool tried = false; /* the next block is, by its tiles */
    if (f->tiles && !f->tiles->f) {
        p = base = FN(tiles_run)(f, rules, work, diagonal_block, pool, worker);
        tried = f->tiles->failed;
    }
    int64_t seen = base, ready = base; /* those before `seen` reached those before `ready` */
    while (p < end &&
           !FN(front_stopped)(rules, (double)f->nrows * (double)(p - base + tile) * tile)) {
        const int32_t b = width(p, end, tile);
        int32_t b2 = 0, np, good;
        if (tried) {
            np = f->tiles->np, good = f->tiles->good;
            tried = false;
        } else {
            const int64_t split = ready < p ? p : ready < p + b ? ready : p + b;
            pull(f, rules, work, pool, worker, p, split, end, seen, p);
            pull(f, rules, work, pool, worker, split, p + b, end, base, p);
            const bool look_ahead = tile > MPKI_TILE && tile == widest && !f->low;
            if (look_ahead && p + b < end && p > base) b2 = width(p + b, end, tile);

            for (int32_t j = 0; j < b; j++)
                copy(b - j, at(f, p + j, p + j), work->backup + j + (int64_t)j * b);
            ahead s0 = {
                f,    rules, work - (pool ? worker : 0), p, p + b, end, base, 0, 0, b, b2, 0,
                perm, {0}};
            factor_ahead(&s0, pool, worker);
            np = s0.np;
            seen = p, ready = p + b + b2;
            permute_rows(f, p, b, perm, pool, worker);
            good = solve_below(f, rules, work, pool, worker, p, b, np);
        }
        int32_t ne = good;
        if (f->nrows > p + b) {
            if (ne > 0 && is_pair(f, p + ne - 1)) ne--;
            if (ne < np) {
                FN(rank_back) t = {f, rules, work - (pool ? worker : 0), p, b, ne, np};
                FN(rank_take_back)(&t, work, perm, pool, worker);
            }
        }
        for (int32_t j = ne; j < b; j++) f->d[2 * (p + j) + 1] = t_make(0, 0);

        int64_t left = b - ne, untried = end - (p + b);
        if (left > 0 && b2 > 0) { /* columns will change places: bring all to the same state */
            pull(f, rules, work, pool, worker, ready, end, end, base, p);
            base = p;
        }
        if (left > 0) ready = seen = base;
        if (end < w &&
            ne > 0) { /* push to the rejected: their rows of untried columns, and their columns */
            const mpki_rank_region parts[2] = {{p + b, end, end, w}, {end, w, end, f->nrows}};
            FN(rank_regions)(f, rules, work, pool, worker, parts, 2, p, p + ne);
        }
        for (int64_t k = 0; k < left && k < untried; k++)
            FN(front_swap)(f, rules->hermitian, p + ne + k, end - 1 - k);
        clean =
            left ? 0
                 : clean +
                       1; /* after rejections in small blocks, which lose less by one bad column */
        tile = left ? MPKI_TILE : clean >= 4 ? widest : tile;
        *rejected += left;
        end -= left;
        p += ne;
        if (f->low) FN(low_panels)(f, rules, work - (pool ? worker : 0), p, pool, worker);
    }
    f->nelim = (int32_t)p;
}

static void count_pivots(const FN(front) * f, int hermitian, mpki_pivots *s) {
    for (int32_t k = 0; k < f->nelim; k++) {
        const T *d = f->d + 2 * k;
        double a = (double)t_re(d[0]), most = (double)t_abs(d[0]), least = most;
        if (t_abs1(d[1]) > 0) {
            double c = (double)t_re(d[2]), off = (double)t_abs(d[1]), dc = (double)t_abs(d[2]);
            s->two_by_two++;
            most = most > off ? most : off;
            most = most > dc ? most : dc;
            if (!MPKI_COMPLEX || hermitian) {
                double mean = (a + c) / 2, half = hypot((a - c) / 2, off);
                double large = fabs(mean) + half;
                /* the smaller eigenvalue from the determinant, without cancellation */
                least = large > 0 ? fabs((a / large) * c - (off / large) * off) : 0;
                int same =
                    (a / (large > 0 ? large : 1)) * c > (off / (large > 0 ? large : 1)) * off;
                s->positive += same ? (mean > 0 ? 2 : 0) : 1;
                s->negative += same ? (mean > 0 ? 0 : 2) : 1;
            } else {
                T det = t_mul(d[0], d[2]) - t_mul(d[1], d[1]);
                least = most > 0 ? (double)t_abs(det) / most : 0;
            }
            k++;
        } else if (most == 0) {
            s->zero++;
            continue;
        } else if (!MPKI_COMPLEX || hermitian) {
            if (a > 0)
                s->positive++;
            else
                s->negative++;
        }
        if (most > s->max_d) s->max_d = most;
        if (least < s->min_d) s->min_d = least;
    }
}

bool FN(front_single)(FN(front) * f, const FN(front_rules) * rules, mpki_pivots *pivots) {
    T *l = f->a;
    const T d = rules->hermitian ? t_make(t_re(l[0]), 0) : l[0];
    const R size = t_abs1(d), bound = size / rules->u;
    const R finite = sizeof(R) == 4 ? (R)FLT_MAX : (R)DBL_MAX;
    const int64_t judged = f->nrows - f->free;
    int within = 1; /* |L| <= 1/u for all rows but the free ones; false for NaN */
    for (int64_t i = 1; i < judged; i++) within &= t_abs1(l[i]) <= bound;
    for (int64_t i = judged; i < f->nrows; i++) within &= t_abs1(l[i]) <= finite;
    if (!(size > rules->small) || !within || !(size - size == 0)) return false;
    const T di = t_inv(d);
    for (int64_t i = 1; i < f->nrows; i++) l[i] = t_mul(l[i], di);
    f->d[0] = d, f->dinv[0] = di;
    f->d[1] = f->dinv[1] = t_make(0, 0);
    f->nelim = 1;
    count_pivots(f, rules->hermitian, pivots);
    return true;
}

void FN(front_passes)(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                      mpki_pool *pool, int worker, bool again, mpki_pivots *pivots) {
    const int32_t tile = f->w <= MPKI_TILE ? MPKI_TILE : MPKI_PANEL;
    pass(f, rules, work, pool, worker, tile, &pivots->rejected);
    while (again && f->nelim < f->w) { /* while a pass gains a good part */
        int64_t ignored = 0;
        int32_t before = f->nelim, left = f->w - before;
        if (left <= 4 || FN(front_stopped)(rules, (double)f->nrows * left * left)) break;
        pass(f, rules, work, pool, worker, tile, &ignored);
        if (f->nelim - before < left / 8 + 1) break;
    }
}

mpk_status FN(front_factor)(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * work,
                            mpki_pool *pool, int worker, mpki_pivots *pivots) {
    f->nelim = 0;
    if (f->w == 1 && FN(front_single)(f, rules, pivots)) return MPK_OK;
    memset(f->d, 0, 2 * (size_t)f->w * sizeof(T));
    memset(f->dinv, 0, 2 * (size_t)f->w * sizeof(T));
    if (f->w > 1)
        FN(front_passes)(f, rules, work, pool, worker, true, pivots);
    else
        pivots->rejected += f->w;
    const double flops = (double)f->nrows * f->w * f->w;
    mpk_status status = FN(front_stopped)(rules, flops) ? MPK_ERR_CANCELLED : MPK_OK;
    if (!mpk_failed(status) && f->nelim < f->w)
        status = FN(front_threshold)(f, rules, f->nrows == f->w || f->last, pivots);
    count_pivots(f, rules->hermitian, pivots);
    return status;
}
