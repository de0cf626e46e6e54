/* SPDX-License-Identifier: BSD-3-Clause */
/* L U of a square front: panels of 32 columns are eliminated column by column, from the left, and
 * blocks of 128 update all later columns at once; the rows beside the block follow when all pivots
 * are known. */
#include "square.h"

#include <string.h>

enum {
    CHUNK = 64,        /* columns that a worker updates at a time */
    ROWS = 192,        /* rows of U that a worker solves for at a time */
    DEPTH = MPKI_PANEL /* pivots of one update */
};

/* What the parts of one elimination share. */
typedef struct elimination {
    FN(square) * f;
    const FN(front_rules) * rules;
    FN(front_work) * works;
    mpki_pool *pool;
    int worker;
    mpki_pivots *pivots;
    bool force; /* every column gets a pivot, and small ones are replaced */
} elimination;

static void swap_columns(FN(square) * f, int64_t i, int64_t j) {
    if (i == j) return;
    T *restrict x = f->a + i * f->ld, *restrict y = f->a + j * f->ld;
    for (int64_t r = 0; r < f->nrows; r++) {
        const T t = x[r];
        x[r] = y[r], y[r] = t;
    }
    const int32_t name = f->col[i];
    f->col[i] = f->col[j], f->col[j] = name;
}

/* The exchanges of pivots k0 .. k1-1 in columns c0 .. c1-1. */
static void exchange_rows(const elimination *z, int64_t k0, int64_t k1, int64_t c0, int64_t c1) {
    for (int64_t j = c0; j < c1; j++) {
        T *x = z->f->a + j * z->f->ld;
        for (int64_t k = k0; k < k1; k++) {
            const int32_t r = z->f->exchange[k];
            if (r == k) continue;
            const T t = x[k];
            x[k] = x[r], x[r] = t;
        }
    }
}

/* x, rows k0 .. k1-1 of a column, := L^-1 x */
static void solve_column(const FN(square) * f, int64_t k0, int64_t k1, T *x) {
    for (int64_t t = k0; t + 1 < k1; t++) {
        const T *l = f->a + t * f->ld, xt = x[t];
        if (!(t_abs1(xt) > 0)) continue;
        for (int64_t i = t + 1; i < k1; i++) x[i] -= t_mul(l[i], xt);
    }
}

/* ---- a panel --------------------------------------------------------------------------------- */

/* Column j, which pivots before k0 have updated, by those before k1. */
static void bring(const elimination *z, int64_t j, int64_t k0, int64_t k1) {
    const FN(square) *f = z->f;
    T *x = f->a + j * f->ld;
    if (k0 == k1) return;
    solve_column(f, k0, k1, x);
    z->rules->k->gemv(f->nrows - k1, (int)(k1 - k0), f->a + k1 + k0 * f->ld, f->ld, x + k0, x + k1);
}

/* The row of a pivot for column k, among the fully summed ones from k on; -1: none. *finite [out] */
static int64_t choose(const elimination *z, int64_t k, bool *finite) {
    const FN(square) *f = z->f;
    const T *x = f->a + k * f->ld;
    R most = 0, below = 0, check = 0; /* not 0 where NaN or Inf was met */
    int64_t row = k, own = -1;
    for (int64_t i = k; i < f->w; i++) {
        const R size = t_abs1(x[i]);
        check += size - size;
        if (size > most) most = size, row = i;
        if (f->row[i] == f->col[k]) own = i;
    }
    for (int64_t i = f->w; i < f->nrows; i++) {
        const R size = t_abs1(x[i]);
        check += size - size;
        if (size > below) below = size;
    }
    *finite = check == 0;
    const R least = z->rules->u * (below > most ? below : most);
    if (own >= 0 && t_abs1(x[own]) > z->rules->small && t_abs1(x[own]) >= least) return own;
    if (z->force || (most > z->rules->small && most >= least)) return row;
    return -1;
}

/* The pivot that stands at (k, k): L, and what is told of it. */
static void divide(const elimination *z, int64_t k) {
    FN(square) *f = z->f;
    T *x = f->a + k * f->ld;
    R size = t_abs(x[k]);
    if (z->force && size < z->rules->shift) {
        x[k] = size > 0 ? x[k] / size * z->rules->shift : t_make(z->rules->shift, 0);
        size = z->rules->shift;
        z->pivots->perturbed++;
    }
    const T inverse = t_inv(x[k]);
    f->dinv[k] = inverse;
    for (int64_t i = k + 1; i < f->nrows; i++) x[i] = t_mul(x[i], inverse);
    z->pivots->positive++;
    if ((double)size > z->pivots->max_d) z->pivots->max_d = (double)size;
    if ((double)size < z->pivots->min_d) z->pivots->min_d = (double)size;
}

/* Eliminate columns p .. end-1; *next [out]: the first that had no pivot. Those stand last, and are
 * up to date. Exchanges are made in these columns alone. */
static mpk_status panel(const elimination *z, int64_t p, int64_t end, int64_t *next) {
    FN(square) *f = z->f;
    int64_t k = p, last = end, upto[MPKI_TILE];
    for (int64_t j = p; j < end; j++) upto[j - p] = p;
    while (k < last) {
        bool finite;
        bring(z, k, upto[k - p], k);
        upto[k - p] = k;
        const int64_t row = choose(z, k, &finite);
        if (!finite) return MPK_ERR_NUMERIC;
        if (row < 0) {
            last--;
            swap_columns(f, k, last);
            const int64_t had = upto[last - p];
            upto[last - p] = upto[k - p], upto[k - p] = had;
            continue;
        }
        z->f->exchange[k] = (int32_t)row;
        if (row != k) {
            exchange_rows(z, k, k + 1, p, end);
            const int32_t name = f->row[k];
            f->row[k] = f->row[row], f->row[row] = name;
        }
        divide(z, k);
        k++;
    }
    for (int64_t j = k; j < end; j++) bring(z, j, upto[j - p], k);
    *next = k;
    return MPK_OK;
}

/* ---- updates of later columns ---------------------------------------------------------------- */

typedef struct update {
    const elimination *z;
    int64_t k0, k1, c0, c1; /* pivots and columns */
} update;

/* rows k0 .. k1-1 of columns c0 .. c1-1 as a kernel's right operand */
static void pack(const FN(square) * f, int nc, int64_t k0, int64_t k1, int64_t c0, int64_t c1,
                 T *packed) {
    for (int64_t j = c0; j < c1; j += nc)
        for (int64_t k = k0; k < k1; k++)
            for (int c = 0; c < nc; c++)
                *packed++ = j + c < c1 ? f->a[k + (j + c) * f->ld] : t_make(0, 0);
}

static void update_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const update *s = arg;
    const elimination *z = s->z;
    const FN(square) *f = z->f;
    const FN(kernels) *k = z->rules->k;
    T *packed = z->works[worker].packed;
    const int64_t c0 = s->c0 + item * CHUNK, c1 = c0 + CHUNK < s->c1 ? c0 + CHUNK : s->c1;
    (void)pool;
    exchange_rows(z, s->k0, s->k1, c0, c1);
    for (int64_t t0 = s->k0; t0 < s->k1; t0 += MPKI_TILE) {
        const int64_t t1 = t0 + MPKI_TILE < s->k1 ? t0 + MPKI_TILE : s->k1;
        for (int64_t j = c0; j < c1; j++) solve_column(f, t0, t1, f->a + j * f->ld);
        if (t1 == s->k1) break;
        pack(f, k->nc, t0, t1, c0, c1, packed);
        k->multiply(s->k1 - t1, (int)(c1 - c0), (int)(t1 - t0), f->a + t1 + t0 * f->ld, f->ld,
                    packed, f->a + t1 + c0 * f->ld, f->ld, 0, INT64_MAX / 2);
    }
    if (f->nrows == s->k1) return;
    pack(f, k->nc, s->k0, s->k1, c0, c1, packed);
    k->multiply(f->nrows - s->k1, (int)(c1 - c0), (int)(s->k1 - s->k0),
                f->a + s->k1 + s->k0 * f->ld, f->ld, packed, f->a + s->k1 + c0 * f->ld, f->ld, 0,
                INT64_MAX / 2);
}

/* Pivots k0 .. k1-1 in columns c0 .. c1-1, which have nothing of them yet. */
static void update_columns(const elimination *z, int64_t k0, int64_t k1, int64_t c0, int64_t c1) {
    update s = {z, k0, k1, c0, c1};
    if (k0 == k1 || c0 >= c1) return;
    mpki_pool_for(z->pool, z->worker, (c1 - c0 + CHUNK - 1) / CHUNK, update_item, &s);
}

/* Columns first .. end-1 go to the end of those before `limit`. */
static void put_last(FN(square) * f, int64_t first, int64_t end, int64_t limit) {
    for (int64_t i = 0; i < end - first && i < limit - end; i++)
        swap_columns(f, first + i, limit - 1 - i);
}

/* Eliminate columns c0 .. c1-1, at most a panel; *next [out]: the first without a pivot. */
static mpk_status block(const elimination *z, int64_t c0, int64_t c1, int64_t *next) {
    int64_t k = c0, limit = c1;
    while (k < limit) {
        const int64_t p = k, end = k + MPKI_TILE < limit ? k + MPKI_TILE : limit;
        const mpk_status status = panel(z, p, end, &k);
        if (mpk_failed(status)) return status;
        exchange_rows(z, p, k, c0, p);
        update_columns(z, p, k, end, c1);
        put_last(z->f, k, end, limit);
        limit -= end - k;
    }
    *next = k;
    return MPK_OK;
}

/* One try of columns first .. w-1; *next [out]: the first without a pivot. */
static mpk_status pass(const elimination *z, int64_t first, int64_t *next) {
    FN(square) *f = z->f;
    int64_t k = first, limit = f->w;
    while (k < limit) {
        const int64_t c0 = k, c1 = k + DEPTH < limit ? k + DEPTH : limit;
        const mpk_status status = block(z, c0, c1, &k);
        if (mpk_failed(status)) return status;
        exchange_rows(z, c0, k, 0, c0);
        update_columns(z, c0, k, c1, f->w);
        if (FN(front_stopped)(z->rules, (double)(f->nrows * f->w) * (double)(k - c0)))
            return MPK_ERR_CANCELLED;
        put_last(f, k, c1, limit);
        limit -= c1 - k;
    }
    *next = k;
    return MPK_OK;
}

/* ---- the rows beside the block --------------------------------------------------------------- */

/* Rows r0 .. of U12^T := U12^T L^-T, in the order of pivots. */
static void solve_rows(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const elimination *z = arg;
    const FN(square) *f = z->f;
    const FN(kernels) *k = z->rules->k;
    const int64_t r0 = item * ROWS, m = f->nrows - f->w, rows = m - r0 < ROWS ? m - r0 : ROWS;
    T *u = f->u + r0, *packed = z->works[worker].packed, line[MPKI_TILE];
    (void)pool;
    for (int64_t s0 = 0; s0 < f->w; s0 += MPKI_TILE) {
        const int64_t s1 = s0 + MPKI_TILE < f->w ? s0 + MPKI_TILE : f->w;
        const int64_t before = s0 < f->nelim ? s0 : f->nelim;
        for (int64_t d0 = 0; d0 < before; d0 += DEPTH) {
            const int64_t d1 = d0 + DEPTH < before ? d0 + DEPTH : before;
            k->pack((int)(s1 - s0), (int)(d1 - d0), f->a + s0 + d0 * f->ld, f->ld, NULL, 0, packed);
            k->multiply(rows, (int)(s1 - s0), (int)(d1 - d0), u + d0 * f->ldu, f->ldu, packed,
                        u + s0 * f->ldu, f->ldu, 0, INT64_MAX / 2);
        }
        for (int64_t j = before + 1; j < s1; j++) {
            const int64_t end = j < f->nelim ? j : f->nelim;
            if (end <= before) break;
            for (int64_t t = before; t < end; t++) line[t - before] = f->a[j + t * f->ld];
            k->gemv(rows, (int)(end - before), u + before * f->ldu, f->ldu, line, u + j * f->ldu);
        }
    }
}

/* The columns of U12^T by the exchanges of their rows. */
static void exchange_beside(const elimination *z) {
    const FN(square) *f = z->f;
    const int64_t m = f->nrows - f->w;
    for (int64_t k = 0; k < f->nelim; k++) {
        const int32_t r = f->exchange[k];
        if (r == k) continue;
        T *restrict x = f->u + k * f->ldu, *restrict y = f->u + r * f->ldu;
        for (int64_t i = 0; i < m; i++) {
            const T t = x[i];
            x[i] = y[i], y[i] = t;
        }
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Columns k .. of a root, of which nothing is left: zero pivots. */
static void give_up(const elimination *z, int64_t k) {
    FN(square) *f = z->f;
    for (int64_t j = k; j < f->w; j++) {
        memset(f->a + k + j * f->ld, 0, (size_t)(f->nrows - k) * sizeof(T));
        f->dinv[j] = t_make(0, 0);
        z->f->exchange[j] = (int32_t)j;
        z->pivots->zero++;
    }
}

mpk_status FN(square_factor)(FN(square) * f, const FN(front_rules) * rules, FN(front_work) * works,
                             mpki_pool *pool, int worker, mpki_pivots *pivots) {
    elimination z = {.f = f,
                     .rules = rules,
                     .works = works,
                     .pool = pool,
                     .worker = worker,
                     .pivots = pivots,
                     .force = rules->shift > 0};
    int64_t k = 0, before;
    const bool root = f->nrows == f->w;
    do {
        before = k;
        const mpk_status status = pass(&z, before, &k);
        if (mpk_failed(status)) return status;
    } while (k > before && k < f->w);
    pivots->rejected += f->w - k;
    if (root && k < f->w) give_up(&z, k), k = f->w;
    f->nelim = (int32_t)k;
    const int64_t m = f->nrows - f->w;
    if (m == 0 || k == 0) return MPK_OK;
    exchange_beside(&z);
    mpki_pool_for(pool, worker, (m + ROWS - 1) / ROWS, solve_rows, &z);
    return MPK_OK;
}

typedef struct contribution {
    const FN(square) * f;
    const FN(front_rules) * rules;
    FN(front_work) * works;
    T *c;
} contribution;

static void contribution_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const contribution *s = arg;
    const FN(square) *f = s->f;
    const FN(kernels) *k = s->rules->k;
    const int64_t m = f->nrows - f->w, ldc = mpki_leading(m), c0 = item * CHUNK;
    const int cols = (int)(m - c0 < CHUNK ? m - c0 : CHUNK);
    T *packed = s->works[worker].packed;
    (void)pool;
    for (int64_t d0 = 0; d0 < f->nelim; d0 += DEPTH) {
        const int depth = (int)(f->nelim - d0 < DEPTH ? f->nelim - d0 : DEPTH);
        if (FN(front_stopped)(s->rules, (double)m * cols * depth)) return;
        k->pack(cols, depth, f->u + c0 + d0 * f->ldu, f->ldu, NULL, 0, packed);
        k->multiply(m, cols, depth, f->a + f->w + d0 * f->ld, f->ld, packed, s->c + c0 * ldc, ldc,
                    d0 == 0, INT64_MAX / 2);
    }
}

void FN(square_update)(const FN(square) * f, const FN(front_rules) * rules, FN(front_work) * works,
                       T *c, mpki_pool *pool, int worker) {
    contribution s = {f, rules, works, c};
    const int64_t m = f->nrows - f->w;
    if (f->nelim == 0)
        memset(c, 0, (size_t)mpki_square_contribution(m) * sizeof(T));
    else
        mpki_pool_for(pool, worker, (m + CHUNK - 1) / CHUNK, contribution_item, &s);
}
