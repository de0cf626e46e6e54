/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks of L in low rank (low_rank.h). */
#include "low_rank.h"

#include <string.h>

enum {
    SIDE = MPKI_PANEL,
    BLOCK = SIDE * SIDE,
    PACKED = SIDE * (SIDE + 16), /* a right operand in whole slivers */
    MOST = SIDE / 2              /* rank from which on a block of 128 x 128 takes no less room */
};

int64_t FN(low_space)(void) {
    return 3 * BLOCK + 2 * PACKED + 4 * SIDE;
}

/* A worker's space: products that wait, left and right operand of 128 rows each; a small matrix;
 * packed operands; -D */
typedef struct space {
    T *left, *right, *small, *packed, *packed2, *minus;
} space;

static space space_of(const FN(front_work) * work) {
    T *at = work->low;
    return (space){at,
                   at + BLOCK,
                   at + 2 * BLOCK,
                   at + 3 * BLOCK,
                   at + 3 * BLOCK + PACKED,
                   at + 3 * BLOCK + 2 * PACKED};
}

static mpki_low_block *block_at(const FN(front) * f, int64_t panel, int64_t i) {
    return &f->low->block[panel * f->low->count + i];
}
static int64_t first_of(const FN(front) * f, int64_t i) {
    return mpki_low_first(f->w, i);
}
static int64_t rows_in(const FN(front) * f, int64_t i) {
    return mpki_low_end(f->nrows, f->w, i) - first_of(f, i);
}

/* ---- updates --------------------------------------------------------------------------------- */

/* Rows of one block, r0 .. r0+rows-1, of an update of columns in one block. */
typedef struct segment {
    const FN(rank) * u;
    space s;
    T *c;
    int64_t r0, rows, i, j; /* i, j: blocks of the rows, and of the columns as rows */
    int64_t in_i, in_j;     /* where they begin there */
    int depth;              /* of the products that wait */
    int overwrite;
    double flops;
} segment;

static void flush(segment *g) {
    const FN(rank) *u = g->u;
    if (g->depth == 0) return;
    u->rules->k->pack(u->cols, g->depth, g->s.right, SIDE, NULL, u->rules->hermitian, g->s.packed);
    u->rules->k->multiply(g->rows, u->cols, g->depth, g->s.left, SIDE, g->s.packed, g->c, u->ldc,
                          g->overwrite, g->r0 - u->col0);
    g->flops += 2.0 * (double)g->rows * u->cols * g->depth;
    g->overwrite = 0;
    g->depth = 0;
}

static void copy_rows(int64_t rows, int cols, const T *from, int64_t ld, T *to) {
    for (int k = 0; k < cols; k++)
        memcpy(to + (int64_t)k * SIDE, from + k * ld, (size_t)rows * sizeof(T));
}

/* z D x^T (x^H), or minus that, for z of `rows` and x of `cols` rows, both 128 wide: out, SIDE
 * apart. d: D, or -D for the product itself */
static void middle(segment *g, int64_t rows, const T *z, int64_t ldz, int cols, const T *x,
                   int64_t ldx, const T *d, T *out) {
    const FN(kernels) *k = g->u->rules->k;
    k->pack(cols, SIDE, x, ldx, d, g->u->rules->hermitian, g->s.packed2);
    k->multiply(rows, cols, SIDE, z, ldz, g->s.packed2, out, SIDE, 1, INT64_MAX / 2);
    g->flops += 2.0 * (double)rows * cols * SIDE;
}

/* out := -x m^T (x m^H), m of `cols` x depth, SIDE apart */
static void outside(segment *g, int64_t rows, int cols, int depth, const T *x, int64_t ldx,
                    const T *m, T *out) {
    const FN(kernels) *k = g->u->rules->k;
    k->pack(cols, depth, m, SIDE, NULL, g->u->rules->hermitian, g->s.packed2);
    k->multiply(rows, cols, depth, x, ldx, g->s.packed2, out, SIDE, 1, INT64_MAX / 2);
    g->flops += 2.0 * (double)rows * cols * depth;
}

/* L_i D L_j^T of one panel joins the products that wait: left times right^T. At least one of the
 * two blocks is compressed. */
static void append(segment *g, int64_t panel) {
    const FN(rank) *u = g->u;
    const FN(front) *f = u->f;
    const mpki_low_block *bi = block_at(f, panel, g->i), *bj = block_at(f, panel, g->j);
    const int ri = bi->rank, rj = bj->rank, rank = ri < 0 ? rj : rj < 0 || ri < rj ? ri : rj;
    const int64_t ldi = rows_in(f, g->i), ldj = rows_in(f, g->j), p = panel * SIDE;
    if (rank == 0) return; /* one of them is zero */
    const T *ui = ri > 0 ? (const T *)bi->u + g->in_i : NULL;
    const T *uj = rj > 0 ? (const T *)bj->u + g->in_j : NULL;
    const T *d = f->d + 2 * p;
    if (g->depth + rank > SIDE) flush(g);
    T *left = g->s.left + (int64_t)g->depth * SIDE, *right = g->s.right + (int64_t)g->depth * SIDE;
    if (ri < 0 || rj < 0) {
        for (int k = 0; k < 2 * SIDE; k++) g->s.minus[k] = -d[k];
        d = g->s.minus;
    }
    if (ri < 0) { /* (L_i D Z_j^T) U_j^T */
        middle(g, g->rows, at(f, g->r0, p), ld(f, p), rj, bj->z, rj, d, left);
        copy_rows(u->cols, rj, uj, ldj, right);
    } else if (rj < 0) { /* U_i (L_j D Z_i^T)^T */
        copy_rows(g->rows, ri, ui, ldi, left);
        middle(g, u->cols, at(f, u->col0, p), ld(f, p), ri, bi->z, ri, d, right);
    } else if (rj <= ri) { /* (U_i (Z_i D Z_j^T)) U_j^T */
        middle(g, rj, bj->z, rj, ri, bi->z, ri, d, g->s.small);
        outside(g, g->rows, rj, ri, ui, ldi, g->s.small, left);
        copy_rows(u->cols, rj, uj, ldj, right);
    } else { /* U_i (U_j (Z_j D Z_i^T))^T */
        copy_rows(g->rows, ri, ui, ldi, left);
        middle(g, ri, bi->z, ri, rj, bj->z, rj, d, g->s.small);
        outside(g, u->cols, ri, rj, uj, ldj, g->s.small, right);
    }
    g->depth += rank;
}

static bool is_full(const mpki_low_block *b) {
    return b->rank < 0;
}

static void segment_update(segment *g, T *packed) {
    const FN(rank) *u = g->u;
    const FN(front) *f = u->f;
    for (int64_t k0 = u->k0, k1; k0 < u->k1; k0 = k1) {
        k1 = FN(rank_step_end)(f, k0, u->k1);
        const int64_t panel = k0 / SIDE;
        const bool compressed = panel < f->low->done && k0 == panel * SIDE && k1 == k0 + SIDE;
        if (FN(front_stopped)(u->rules, (double)g->rows * u->cols * (double)(k1 - k0))) return;
        if (!compressed ||
            (is_full(block_at(f, panel, g->i)) && is_full(block_at(f, panel, g->j)))) {
            FN(rank_step)(u, packed, g->r0, g->r0 + g->rows, k0, k1, g->overwrite);
            g->overwrite = 0;
            g->flops += 2.0 * (double)g->rows * u->cols * (double)(k1 - k0);
        } else if (block_at(f, panel, g->i)->rank != 0 && block_at(f, panel, g->j)->rank != 0) {
            append(g, panel);
        }
    }
    flush(g);
    if (!g->overwrite) return;
    for (int32_t j = 0; j < u->cols; j++) /* nothing of what is above the diagonal is read */
        memset(g->c + j * u->ldc, 0, (size_t)g->rows * sizeof(T));
}

void FN(low_rows)(const FN(rank) * u, const FN(front_work) * work, int64_t r0, int64_t r1) {
    const FN(front) *f = u->f;
    const int64_t j = mpki_low_of(f->w, u->col0);
    double flops = 0;
    /* Whole blocks, those that begin in these rows, so that bits do not depend on where loops cut */
    const int64_t of_r0 = mpki_low_of(f->w, r0);
    if (r0 > u->row0 && r0 > first_of(f, of_r0)) r0 = mpki_low_end(f->nrows, f->w, of_r0);
    for (int64_t r = r0, end; r < r1; r = end) {
        const int64_t i = mpki_low_of(f->w, r), last = mpki_low_end(f->nrows, f->w, i);
        end = last < u->row1 ? last : u->row1;
        segment g = {.u = u,
                     .s = space_of(work),
                     .c = u->c + (r - u->row0),
                     .r0 = r,
                     .rows = end - r,
                     .i = i,
                     .j = j,
                     .in_i = r - first_of(f, i),
                     .in_j = u->col0 - first_of(f, j),
                     .overwrite = u->overwrite};
        segment_update(&g, work->packed);
        flops += g.flops;
    }
    atomic_fetch_add(&f->low->flops, (int64_t)flops);
}

/* ---- compression ----------------------------------------------------------------------------- */

/* What a panel's columns are weighed with: |D|^1/2, of a 2x2 pivot the same for both. */
static void weights(const FN(front) * f, int64_t p, int cols, R *t) {
    for (int k = 0; k < cols; k++) {
        const T *d = f->d + 2 * (p + k);
        R size = t_abs(d[0]);
        const bool pair = k + 1 < cols && t_abs1(d[1]) > 0;
        if (pair) size = (R)fmax(fmax(size, t_abs(d[1])), t_abs(d[2]));
        t[k] = size > 0 ? r_sqrt(size) : 1;
        if (pair) t[k + 1] = t[k], k++;
    }
}

typedef struct panel {
    FN(front) * f;
    const FN(front_rules) * rules;
    FN(front_work) * works;
    int64_t number;
    int cols;
    bool again; /* those alone that became whole again */
    R t[SIDE];
} panel;

/* The largest rank at which two thin blocks take at most three quarters of the room. */
static int most_of(int64_t rows, int cols) {
    const int most = (int)(3 * rows * cols / (4 * (rows + cols)));
    return most < MOST ? most : MOST;
}

static void compress(const panel *p, FN(front_work) * work, int64_t i) {
    FN(front) *f = p->f;
    FN(low_rank) *low = f->low;
    mpki_low_block *b = block_at(f, p->number, i);
    const space s = space_of(work);
    const int64_t rows = rows_in(f, i), first = first_of(f, i), k0 = p->number * SIDE;
    const int cols = p->cols;
    b->rank = MPKI_LOW_FULL;
    for (int j = 0; j < cols; j++) {
        const T *from = at(f, first, k0 + j);
        T *to = s.left + (int64_t)j * SIDE;
        for (int64_t r = 0; r < rows; r++) to[r] = from[r] * p->t[j];
    }
    const int most = most_of(rows, cols);
    const int rank = p->rules->k->compress((int)rows, cols, s.left, SIDE, low->tolerance, most,
                                           s.right, SIDE, s.small, MOST);
    atomic_fetch_add(&low->flops, 4 * rows * cols * (rank < 0 ? most : rank));
    if (rank < 0) return;
    const int64_t u_bytes = (rows * rank * (int64_t)sizeof(T) + 63) & ~(int64_t)63;
    char *memory = NULL;
    if (rank > 0) {
        memory = low->room(low->self, u_bytes + (int64_t)rank * cols * (int64_t)sizeof(T));
        if (!memory) {
            atomic_store(&low->failed, true);
            return;
        }
        T *u = b->u = memory, *z = b->z = memory + u_bytes;
        for (int k = 0; k < rank; k++)
            memcpy(u + k * rows, s.right + (int64_t)k * SIDE, (size_t)rows * sizeof(T));
        for (int j = 0; j < cols; j++)
            for (int k = 0; k < rank; k++) z[k + j * rank] = s.small[k + j * MOST] / p->t[j];
    }
    b->rank = rank;
}

static void compress_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const panel *p = arg;
    const int64_t i = p->number + 1 + item;
    (void)pool;
    if (p->again && block_at(p->f, p->number, i)->rank != MPKI_LOW_MOVED) return;
    if (FN(front_stopped)(p->rules, 4e6)) return;
    compress(p, &p->works[worker], i);
}

static void compress_panel(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * works,
                           int64_t number, bool again, mpki_pool *pool, int worker) {
    const int64_t p = number * SIDE, left = f->nelim - p;
    panel q = {.f = f, .rules = rules, .works = works, .number = number, .again = again};
    q.cols = again && left < SIDE ? (int)left : SIDE;
    weights(f, p, q.cols, q.t);
    mpki_pool_for(pool, pool ? worker : 0, f->low->count - number - 1, compress_item, &q);
}

/* Is half of a 2x2 pivot in another panel? */
static bool splits_pair(const FN(front) * f, int64_t number) {
    const int64_t p = number * SIDE;
    return (p > 0 && is_pair(f, p - 1)) || is_pair(f, p + SIDE - 1);
}

void FN(low_panels)(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * works, int64_t p,
                    mpki_pool *pool, int worker) {
    FN(low_rank) *low = f->low;
    for (; (low->done + 1) * SIDE <= p; low->done++) {
        for (int64_t i = low->done + 1; i < low->count; i++)
            block_at(f, low->done, i)->rank = MPKI_LOW_FULL;
        if (!splits_pair(f, low->done))
            compress_panel(f, rules, works, low->done, false, pool, worker);
    }
}

void FN(low_finish)(FN(front) * f, const FN(front_rules) * rules, FN(front_work) * works,
                    mpki_pool *pool, int worker) {
    FN(low_rank) *low = f->low;
    const int64_t panels = (f->nelim + SIDE - 1) / SIDE;
    for (int64_t k = low->done; k < panels; k++)
        for (int64_t i = k + 1; i < low->count; i++) block_at(f, k, i)->rank = MPKI_LOW_MOVED;
    for (int64_t k = 0; k < panels; k++) compress_panel(f, rules, works, k, true, pool, worker);
    low->done = panels;
}

/* ---- rows change places ---------------------------------------------------------------------- */

void FN(low_permute)(FN(front) * f, int64_t p, int32_t b, const int32_t *perm) {
    const int64_t i = p / SIDE, begin = p - i * SIDE, rows = rows_in(f, i);
    T t[SIDE];
    for (int64_t k = 0; k < f->low->done && k < i; k++) {
        const mpki_low_block *block = block_at(f, k, i);
        for (int c = 0; c < block->rank; c++) {
            T *u = (T *)block->u + c * rows + begin;
            memcpy(t, u, (size_t)b * sizeof(T));
            for (int32_t r = 0; r < b; r++) u[r] = t[perm[r]];
        }
    }
}

void FN(low_swap)(FN(front) * f, int64_t i, int64_t j) {
    const int64_t bi = mpki_low_of(f->w, i), bj = mpki_low_of(f->w, j);
    for (int64_t k = 0; k < f->low->done && k < bi; k++) {
        if (bi == bj) {
            const mpki_low_block *block = block_at(f, k, bi);
            const int64_t rows = rows_in(f, bi);
            for (int c = 0; c < block->rank; c++) {
                T *u = (T *)block->u + c * rows - bi * SIDE, x = u[i];
                u[i] = u[j];
                u[j] = x;
            }
        } else {
            block_at(f, k, bi)->rank = MPKI_LOW_MOVED;
            block_at(f, k, bj)->rank = MPKI_LOW_MOVED;
        }
    }
}
