/* SPDX-License-Identifier: BSD-3-Clause */
/* What the methods share: turning a triangle by half a turn, blocks of a factor, the update of a
 * triangle, and what D and L tell. */
#include "host.h"

#include <string.h>

/* ---- upper and lower ------------------------------------------------------------------------- */

typedef struct turn_job {
    int64_t n, ld;
    T *a;
} turn_job;

static void turn_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const turn_job *t = arg;
    const int64_t n = t->n, last = n - 1;
    (void)pool, (void)worker;
    for (int64_t j = item * 64; j < item * 64 + 64 && j < n; j++) {
        T *x = t->a + j * t->ld, *y = t->a + last + (last - j) * t->ld;
        for (int64_t i = j + 1; i < n; i++) { /* strictly lower against strictly upper */
            T swap = x[i];
            x[i] = y[-i];
            y[-i] = swap;
        }
        if (j < last - j) {
            T swap = x[j];
            x[j] = y[-j];
            y[-j] = swap;
        }
    }
}

void FN(turn)(int64_t n, T *a, int64_t ld, mpki_pool *pool) {
    turn_job t = {n, ld, a};
    mpki_pool_for(pool, 0, (n + 63) / 64, turn_item, &t);
}

void FN(reverse_rows)(const mpki_dense_call *call, int32_t nrhs, T *x, int64_t ldx) {
    const int64_t n = call->dense.n;
    if (call->dense.uplo != MPK_UPPER) return;
    for (int32_t c = 0; c < nrhs; c++)
        for (int64_t i = 0, j = n - 1; i < j; i++, j--) {
            T t = x[i + c * ldx];
            x[i + c * ldx] = x[j + c * ldx];
            x[j + c * ldx] = t;
        }
}

const T *FN(factor_block_at)(const mpki_dense_call *call, int64_t i0, int64_t rows, int64_t j0,
                             int64_t cols, T *buffer, int64_t *ld) {
    const T *f = call->f->f;
    const int64_t ldf = call->f->ldf, last = call->dense.n - 1;
    if (call->dense.uplo != MPK_UPPER) {
        *ld = ldf;
        return f + i0 + j0 * ldf;
    }
    for (int64_t j = 0; j < cols; j++) {
        const T *from = f + (last - i0) + (last - j0 - j) * ldf;
        T *to = buffer + j * rows;
        for (int64_t i = 0; i < rows; i++) to[i] = from[-i];
    }
    *ld = rows;
    return buffer;
}

/* ---- C -= A B^T, lower ----------------------------------------------------------------------- */

typedef struct update_job {
    const FN(lower) * s;
    int64_t n, lda, ldb, ldc, strips;
    int depth;
    const T *a, *b;
    T *c, *packs;
} update_job;

/* One strip of rows of a block of columns; a strip above the diagonal is empty. */
static void update_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const update_job *u = arg;
    const FN(kernels) *k = u->s->k;
    const int64_t j0 = item / u->strips * MPKI_BLOCK, first = item % u->strips * MPKI_STRIP;
    const int cols = (int)(u->n - j0 < MPKI_BLOCK ? u->n - j0 : MPKI_BLOCK);
    const int64_t r0 = j0 + first, r1 = r0 + MPKI_STRIP < u->n ? r0 + MPKI_STRIP : u->n;
    (void)pool;
    if (r0 >= r1 || FN(lower_stopped)(u->s)) return;
    T *packed = u->packs + (int64_t)worker * MPKI_BLOCK * u->depth;
    k->pack(cols, u->depth, u->b + j0, u->ldb, NULL, 0, packed);
    k->multiply(r1 - r0, cols, u->depth, u->a + r0, u->lda, packed, u->c + r0 + j0 * u->ldc, u->ldc,
                0, r0 - j0);
}

void FN(lower_update)(const FN(lower) * s, int64_t n, int depth, const T *a, int64_t lda,
                      const T *b, int64_t ldb, T *c, int64_t ldc, T *packs) {
    update_job u = {s, n, lda, ldb, ldc, (n + MPKI_STRIP - 1) / MPKI_STRIP, depth, a, b, c, packs};
    if (n > 0 && depth > 0)
        mpki_pool_for(s->pool, 0, u.strips * ((n + MPKI_BLOCK - 1) / MPKI_BLOCK), update_item, &u);
}

void FN(pack_plain)(const FN(kernels) * k, int depth, int cols, const T *b, int64_t ldb,
                    T *packed) {
    const int nc = k->nc;
    for (int j = 0; j < cols; j += nc, packed += (int64_t)nc * depth) {
        const int width = cols - j < nc ? cols - j : nc;
        for (int c = 0; c < width; c++)
            for (int i = 0; i < depth; i++) packed[i * nc + c] = b[i + (j + c) * ldb];
        for (int c = width; c < nc; c++)
            for (int i = 0; i < depth; i++) packed[i * nc + c] = t_make(0, 0);
    }
}

/* 0, but NaN for NaN and Inf */
static R nothing(T x) {
    return (t_re(x) - t_re(x)) + (t_im(x) - t_im(x));
}

void FN(scan)(int64_t count, const T *x, R *most, R *check) {
    enum { LANES = 8 }; /* sums side by side, since the compiler may not reorder one sum */
    R m[LANES] = {0}, c[LANES] = {0};
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int h = 0; h < LANES; h++) {
            R a = t_abs1(x[i + h]);
            c[h] += nothing(x[i + h]);
            m[h] = a > m[h] ? a : m[h];
        }
    for (; i < count; i++) {
        R a = t_abs1(x[i]);
        c[0] += nothing(x[i]);
        m[0] = a > m[0] ? a : m[0];
    }
    for (int h = 0; h < LANES; h++) {
        *check += c[h];
        *most = m[h] > *most ? m[h] : *most;
    }
}

/* ---- what the factors tell ------------------------------------------------------------------- */

/* Does a 2x2 pivot begin at k, the first column of some pivot? */
static inline bool pair_at(const FN(lower) * s, int64_t k) {
    return k + 1 < s->n && s->pivots[k] < 0;
}

typedef struct largest_job {
    const FN(lower) * s;
    double *most; /* of each block of columns */
} largest_job;

static void largest_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const largest_job *l = arg;
    const FN(lower) *s = l->s;
    R most = 0, check = 0;
    int64_t k = 0;
    (void)pool, (void)worker;
    for (int64_t j = item * 64; j < item * 64 + 64 && j < s->n; j++) {
        const T *a = s->a + j * s->ld;
        while (k < j) k += pair_at(s, k) ? 2 : 1;
        const int64_t i = j + 1 + (k == j && pair_at(s, j));
        if (i < s->n) FN(scan)(s->n - i, a + i, &most, &check);
    }
    l->most[item] = check == 0 ? (double)most : (double)INFINITY;
}

mpk_status FN(account)(mpki_dense_call *call, const FN(lower) * s) {
    mpk_dense_info *info = call->info;
    const bool signs = !MPKI_COMPLEX || s->hermitian;
    double most = 0, max_l = 0;
    bool finite = true;
    info->inertia = (mpk_inertia){0};
    info->two_by_two = info->zero_pivots = 0;
    for (int64_t k = 0; k < s->n;) {
        const T *d = s->a + k + k * s->ld;
        double a = (double)t_re(d[0]), big = (double)t_abs(d[0]);
        finite &= isfinite(big);
        if (pair_at(s, k)) {
            double c = (double)t_re(d[1 + s->ld]), dc = (double)t_abs(d[1 + s->ld]);
            double off = (double)t_abs(d[1]);
            info->two_by_two++;
            big = big > off ? big : off;
            big = big > dc ? big : dc;
            finite &= isfinite(big) && isfinite(off) && isfinite(dc);
            if (signs) { /* eigenvalues: mean +- half */
                double mean = (a + c) / 2, half = hypot((a - c) / 2, off), top = fabs(mean) + half;
                double det = top > 0 ? (a / top) * c - (off / top) * off : 0;
                info->inertia.positive += det > 0 ? (mean > 0 ? 2 : 0) : 1;
                info->inertia.negative += det > 0 ? (mean > 0 ? 0 : 2) : 1;
            }
            k += 2;
        } else {
            k++;
            if (big == 0) {
                info->zero_pivots++;
                continue;
            }
            if (signs && a > 0) info->inertia.positive++;
            if (signs && !(a > 0)) info->inertia.negative++;
        }
        most = big > most ? big : most;
    }
    largest_job l = {s, (double *)call->work};
    /* the tile method has compared every entry of L with its bound already, NaN included */
    const int64_t items = call->dense.method == MPK_DENSE_TILE ? 0 : (s->n + 63) / 64;
    mpki_pool_for(s->pool, 0, items, largest_item, &l);
    for (int64_t k = 0; k < items; k++) max_l = l.most[k] > max_l ? l.most[k] : max_l;
    const double scaled = call->most * call->scale;
    info->inertia.zero = info->zero_pivots;
    info->growth = scaled > 0 ? most / scaled : 0;
    info->max_l = max_l;
    if (!finite || !isfinite(max_l))
        return mpki_error(call->ctx, MPK_ERR_NUMERIC, "dense", -1, "the factors overflow");
    return info->zero_pivots ? MPK_SINGULAR : MPK_OK;
}
