/* SPDX-License-Identifier: BSD-3-Clause */
/* Triangular solves with a factor that is held by rows: exact, alone or by threads, and by Jacobi
 * sweeps. */
#include "engines/cpu/isa/cpu.h"
#include "core/precision.h"
#include "rows.h"
#include "sweeps.h"
#include "widened.h"

#include <string.h>

/* One pass over all rows of one half: to_i := M_i (b_i - sum_k L_ik from_k). */
typedef struct walk {
    mpki_block_solver *s;
    const mpki_triangle *t;
    int half, nrhs;
    const T *from; /* Jacobi: the iterate before; exact: the vector that is being written */
    const T *b;
    T *to;
    T *x; /* the caller's vector, where it is read and written on the way */
    bool absolute;
    _Atomic int64_t next;
} walk;

#define ALWAYS static inline __attribute__((always_inline))

/* Prefetch entries some rows ahead; the hardware's prefetcher misses them where rows are short. */
ALWAYS void fetch(const bool single, const void *val, const int32_t *col, int64_t k) {
    const size_t size = single ? sizeof(single_entry) : sizeof(T);
    __builtin_prefetch((const char *)val + (size_t)k * size + 2048);
    __builtin_prefetch(col + k + 2 * 2048 / size);
}

/* A row times x. Four sums, so that a long row does not wait for its own additions; their order is
 * fixed. */
ALWAYS T row_dot_of(const bool single, int64_t k, int64_t end, const int32_t *col, const void *val,
                    const T *x) {
    T s0 = t_make(0, 0), s1 = s0, s2 = s0, s3 = s0;
    for (; k + 4 <= end; k += 4) {
        fetch(single, val, col, k);
        s0 += t_mul(widened_at(single, val, k), x[col[k]]);
        s1 += t_mul(widened_at(single, val, k + 1), x[col[k + 1]]);
        s2 += t_mul(widened_at(single, val, k + 2), x[col[k + 2]]);
        s3 += t_mul(widened_at(single, val, k + 3), x[col[k + 3]]);
    }
    for (; k < end; k++) s0 += t_mul(widened_at(single, val, k), x[col[k]]);
    return (s0 + s1) + (s2 + s3);
}
static inline T row_dot(bool single, int64_t k, int64_t end, const int32_t *col, const void *val,
                        const T *x) {
    return single ? row_dot_of(true, k, end, col, val, x) : row_dot_of(false, k, end, col, val, x);
}

/* acc -= a row times several vectors. */
ALWAYS void row_many(const int nrhs, bool single, int64_t k, int64_t end, const int32_t *col,
                     const void *val, const T *x, T *acc) {
    T sum[MPKI_SWEEP_RHS];
    for (int r = 0; r < nrhs; r++) sum[r] = acc[r];
    for (; k < end; k++) {
        const T *from = x + (int64_t)col[k] * nrhs, v = widened_at(single, val, k);
        for (int r = 0; r < nrhs; r++) sum[r] -= t_mul(v, from[r]);
    }
    for (int r = 0; r < nrhs; r++) acc[r] = sum[r];
}

static void rows_many(int nrhs, bool single, int64_t k, int64_t end, const int32_t *col,
                      const void *val, const T *x, T *acc) {
    if (nrhs == 8)
        row_many(8, single, k, end, col, val, x, acc);
    else if (nrhs == 4)
        row_many(4, single, k, end, col, val, x, acc);
    else if (nrhs == 2)
        row_many(2, single, k, end, col, val, x, acc);
    else
        row_many(nrhs, single, k, end, col, val, x, acc);
}

/* out := rows r0 .. r1-1 of b - L from, without the blocks that stayed blocks. */
static void plain_rows(const walk *w, int32_t r0, int32_t r1, T *out) {
    const mpki_triangle *t = w->t;
    const int64_t *ptr = t->ptr;
    const int32_t *col = t->col;
    const void *val = t->val;
    const T *b = w->b, *from = w->from;
    const bool single = w->s->single;
    const int nrhs = w->nrhs;
    if (nrhs == 1) {
        for (int32_t r = r0; r < r1; r++)
            out[r - r0] = b[r] - row_dot(single, ptr[r], ptr[r + 1], col, val, from);
        return;
    }
    for (int32_t r = r0; r < r1; r++) {
        T acc[MPKI_SWEEP_RHS];
        const size_t bytes = (size_t)nrhs * sizeof(T);
        memcpy(acc, b + (int64_t)r * nrhs, bytes);
        rows_many(nrhs, single, ptr[r], ptr[r + 1], col, val, from, acc);
        memcpy(out + (int64_t)(r - r0) * nrhs, acc, bytes);
    }
}

/* to := M acc for the rows of frame j, from r0 on. */
static inline __attribute__((always_inline)) void times_m(const walk *w, int32_t j, int32_t r0,
                                                          int32_t rows, int hermitian, const T *acc,
                                                          widened_block *scratch) {
    const FN(block_kernels) *kernels = w->s->kernels;
    const mpki_triangle *t = w->t;
    const bool single = w->s->single;
    const int nrhs = w->nrhs;
    const size_t bytes = (size_t)rows * (size_t)nrhs * sizeof(T);
    T *to = w->to + (int64_t)r0 * nrhs;
    if (!t->m_ptr || (t->pivot[j].format == MPKI_EMPTY && t->m_ptr[r0] == t->m_ptr[r0 + rows])) {
        memcpy(to, acc, bytes);
    } else if (t->pivot[j].format != MPKI_EMPTY) {
        const mpki_block *m = widened_block_of(scratch != NULL, &t->pivot[j], scratch);
        memset(to, 0, bytes);
        if (w->half)
            kernels->apply_t(m, acc, nrhs, hermitian, to);
        else
            kernels->apply(m, acc, nrhs, to);
    } else if (nrhs == 1) {
        for (int32_t r = 0; r < rows; r++)
            to[r] =
                row_dot(single, t->m_ptr[r0 + r], t->m_ptr[r0 + r + 1], t->m_col, t->m_val, acc);
    } else {
        memset(to, 0, bytes);
        for (int32_t r = 0; r < rows; r++)
            rows_many(nrhs, single, t->m_ptr[r0 + r], t->m_ptr[r0 + r + 1], t->m_col, t->m_val, acc,
                      to + (int64_t)r * nrhs);
        for (int64_t k = 0; k < (int64_t)rows * nrhs; k++) to[k] = -to[k];
    }
}

static inline __attribute__((always_inline)) void frame_with(const walk *w, int32_t j,
                                                             widened_block *scratch) {
    const FN(block_kernels) *kernels = w->s->kernels;
    const mpki_blocks *bf = w->s->bf;
    const mpki_triangle *t = w->t;
    const int nrhs = w->nrhs, hermitian = bf->stages->hermitian;
    const int32_t r0 = t->start[j], rows = t->start[j + 1] - r0;
    T acc[MPKI_BLOCK_MAX * MPKI_SWEEP_RHS];
    plain_rows(w, r0, r0 + rows, acc);
    for (int64_t k = t->kept_ptr ? t->kept_ptr[j] : 0; t->kept_ptr && k < t->kept_ptr[j + 1]; k++) {
        const T *v = w->from + (int64_t)t->kept[k].from * nrhs;
        const mpki_block *block = widened_block_of(scratch != NULL, &t->kept[k].block, scratch);
        if (w->half)
            kernels->apply_t(block, v, nrhs, hermitian, acc);
        else
            kernels->apply(block, v, nrhs, acc);
    }
    times_m(w, j, r0, rows, hermitian, acc, scratch);
}

/* Apart, for it takes much of the stack. */
static __attribute__((noinline)) void frame_of_singles(const walk *w, int32_t j) {
    widened_block scratch;
    frame_with(w, j, &scratch);
}

static void frame(const walk *w, int32_t j) {
    if (w->s->single)
        frame_of_singles(w, j);
    else
        frame_with(w, j, NULL);
}

static void through_rows(const walk *w, int32_t r0, int32_t r1);

static void chunk(const walk *w, int32_t c) {
    const mpki_triangle *t = w->t;
    const int32_t j0 = t->chunk[c], j1 = t->chunk[c + 1], r0 = t->start[j0];
    if (w->x)
        through_rows(w, r0, t->start[j1]);
    else if (!t->m_ptr && !t->kept_ptr)
        plain_rows(w, r0, t->start[j1], w->to + (int64_t)r0 * w->nrhs);
    else
        for (int32_t j = j0; j < j1; j++) frame(w, j);
}

/* Workers claim chunks in their order; each waits until all chunks up to the last one that it needs
 * are done, which were claimed before. */
static void claim_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker, (void)item;
    walk *w = arg;
    mpki_block_solver *s = w->s;
    int32_t known = -1; /* all chunks up to this one are done */
    for (int64_t c; (c = atomic_fetch_add(&w->next, 1)) < w->t->chunks;) {
        for (int spins = 0; known < w->t->need[c];)
            if (atomic_load_explicit(&s->done[known + 1], memory_order_acquire) == s->generation)
                known++;
            else
                mpki_sweep_wait(&spins);
        chunk(w, (int32_t)c);
        atomic_store_explicit(&s->done[c], s->generation, memory_order_release);
    }
}

/* A chunk of a Jacobi sweep, in which none depends on another. */
static void jacobi_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    (void)pool, (void)worker;
    chunk(arg, (int32_t)item);
}

static void exact(mpki_block_solver *s, walk *w) {
    const bool shared = mpki_sweep_share(s);
    const double start = mpki_now_s();
    if (!w->x) w->b = w->from = w->to = s->y;
    s->generation++;
    if (shared)
        mpki_pool_for(s->pool, 0, s->threads, claim_item, w);
    else
        for (int32_t c = 0; c < w->t->chunks; c++) chunk(w, c);
    mpki_sweep_note(s, shared, mpki_now_s() - start);
}

void FN(rows_triangle)(mpki_block_solver *s, int half, int nrhs) {
    const mpki_rows *rows = s->rows;
    walk w = {.s = s, .t = &rows->half[half], .half = half, .nrhs = nrhs};
    if (!s->jacobi) {
        exact(s, &w);
        return;
    }
    /* x := M b, then `jacobi` sweeps of x := M (b - (L - M^-1) x) */
    memset(s->z, 0, (size_t)rows->n * (size_t)nrhs * sizeof(T));
    T *from = s->z, *to = s->other;
    w.b = s->y;
    for (int sweep = 0; sweep <= s->jacobi; sweep++) {
        w.from = from, w.to = to;
        mpki_pool_for(s->pool, 0, w.t->chunks, jacobi_item, &w);
        T *swap = from;
        from = to, to = swap;
    }
    s->z = s->y, s->other = to, s->y = from;
}

void FN(rows_root)(mpki_block_solver *s, int half, int nrhs) {
    const mpki_rows *rows = s->rows;
    T *y = s->y;
    for (int32_t k = 0; rows->root && k < rows->n; k++) {
        const T root = widened_at(s->single, rows->root, half ? rows->turn[k] : k);
        for (int r = 0; r < nrhs; r++)
            y[(int64_t)k * nrhs + r] = t_mul(root, y[(int64_t)k * nrhs + r]);
    }
}

/* y := D^-1 y where pivots are of order 2, too. */
static void diagonal_of_pairs(const mpki_block_solver *s, int nrhs, bool absolute, T *y) {
    enum { PORTION = 256 };
    const mpki_rows *rows = s->rows;
    const FN(block_kernels) *kernels = s->kernels;
    const int hermitian = s->bf->stages->hermitian;
    T scratch[2 * PORTION + 2];
    if (!s->single) {
        kernels->diagonal(rows->n, NULL, rows->dinv, absolute, hermitian, nrhs, y);
        return;
    }
    for (int32_t k = 0, count; k < rows->n; k += count) {
        count = rows->n - k < PORTION ? rows->n - k : PORTION;
        widen(2 * count, (const single_entry *)rows->dinv + 2 * (int64_t)k, scratch);
        if (k + count < rows->n && t_abs1(scratch[2 * count - 1]) > 0) { /* not through a pair */
            widen(2, (const single_entry *)rows->dinv + 2 * ((int64_t)k + count),
                  scratch + 2 * count);
            count++;
        }
        kernels->diagonal(count, NULL, scratch, absolute, hermitian, nrhs, y + (int64_t)k * nrhs);
    }
}

void FN(rows_diagonal)(mpki_block_solver *s, int nrhs, bool absolute, bool part) {
    const mpki_rows *rows = s->rows;
    const bool turned = rows->pairs || (part && rows->root); /* D was done, or is I */
    T *from = s->y, *to = s->z;
    if (rows->pairs) diagonal_of_pairs(s, nrhs, absolute, from);
    for (int32_t k = 0; k < rows->n; k++) {
        const T *y = from + (int64_t)rows->turn[k] * nrhs;
        T e = turned ? t_make(1, 0) : widened_at(s->single, rows->dinv, k);
        if (absolute && !turned) e = t_make(t_abs(e), 0);
        for (int r = 0; r < nrhs; r++) to[(int64_t)k * nrhs + r] = turned ? y[r] : t_mul(e, y[r]);
    }
    s->y = to, s->z = from;
}

/* ---- one vector through all of a plain factor ---------------------------------------------------
 * The caller's vector is read in the forward sweep and written in the backward one. */

/* Rows r0 .. r1-1: y := S x - L y; backward z := D^-1 y - L^T z, x := S z. */
static void through_rows(const walk *w, int32_t r0, int32_t r1) {
    const mpki_triangle *t = w->t;
    const mpki_rows *rows = w->s->rows;
    const int64_t *ptr = t->ptr;
    const int32_t *col = t->col, *problem = t->problem, *turn = rows->turn;
    const T *val = t->val, *y = w->s->y, *dinv = rows->dinv;
    const bool pairs = rows->pairs; /* then D^-1 was applied in between */
    const R *scale = t->scale;
    T *x = w->x, *to = w->to;
    if (!w->half) {
        for (int32_t r = r0; r < r1; r++)
            to[r] = scale[r] * x[problem[r]] - row_dot(false, ptr[r], ptr[r + 1], col, val, to);
        return;
    }
    for (int32_t r = r0; r < r1; r++) {
        T e = y[turn[r]];
        if (!pairs) e = t_mul(w->absolute ? t_make(t_abs(dinv[r]), 0) : dinv[r], e);
        to[r] = e - row_dot(false, ptr[r], ptr[r + 1], col, val, to);
        x[problem[r]] = scale[r] * to[r];
    }
}

/* The same where there is nothing but D. */
static void by_diagonal(const mpki_rows *rows, bool absolute, T *x) {
    const int32_t *problem = rows->half[1].problem;
    const T *dinv = rows->dinv;
    const R *scale = rows->half[1].scale;
    for (int32_t k = 0; k < rows->n; k++) {
        const T e = absolute ? t_make(t_abs(dinv[k]), 0) : dinv[k];
        x[problem[k]] = scale[k] * t_mul(e, scale[k] * x[problem[k]]);
    }
}

bool FN(rows_through)(mpki_block_solver *s, bool absolute, void *x) {
    const mpki_rows *rows = s->rows;
    if (s->jacobi || s->bf->scalar != s->bf->stages->scalar) return false;
    for (int half = 0; half < 2; half++)
        if (rows->half[half].m_ptr || rows->half[half].kept_ptr) return false;
    if (!rows->pairs && rows->half[0].ptr[rows->n] == 0 && rows->half[1].ptr[rows->n] == 0) {
        by_diagonal(rows, absolute, x);
        return true;
    }
    for (int half = 0; half < 2; half++) {
        walk w = {.s = s,
                  .t = &rows->half[half],
                  .half = half,
                  .nrhs = 1,
                  .absolute = absolute,
                  .x = x,
                  .to = half ? s->z : s->y};
        if (half && rows->pairs)
            ((const FN(block_kernels) *)s->kernels)
                ->diagonal(rows->n, NULL, rows->dinv, absolute, s->bf->stages->hermitian, 1, s->y);
        exact(s, &w);
    }
    return true;
}
