/* SPDX-License-Identifier: BSD-3-Clause */
/* Communication-avoiding Aasen: P A P^T = L T L^T with T block tridiagonal, by block columns
 * (Ballard et al. 2014, SIAM J. Matrix Anal. Appl. 35; figure 1b of Baboulin et al. 2017). The
 * first block column of L is that of the identity; L(:, J+1) and, above its diagonal, the U of the
 * panel's LU lie in block column J of A. Panels by recursive LU with partial pivoting (Toledo
 * 1997); T, a band of half width nb, is factored by band_t.c. We depart from the papers in two
 * points: T(J,J) is formed without the symmetrising half of Y, its lower triangle counts; and the
 * pivots' exchanges reach the panel's other columns in one pass over each column. */
#include "core/ascending.h"
#include "engines/cpu/isa/cpu.h"
#include "band.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 128, LEAF = 8, SWAP_COLUMNS = 32, ROWS = 96, LU_ROWS = 384 };

int32_t FN(aasen_width)(const mpki_dense_call *call) {
    return call->dense.tile ? call->dense.tile : call->dense.n < 1500 ? 32 : 64;
}

typedef struct aasen {
    const FN(lower) * s;
    int32_t nb;
    int64_t nt, j;  /* blocks; the one at work */
    int64_t known;  /* rows of H that are known: steps are packed as soon as all of their rows
                       are */
    int64_t packed; /* of these, rows in whole steps that are packed */
    T *minus;       /* -T: for block J nb x nb each of -T(J,J), -T(J+1,J), -T(J,J+1) */
    T *lpack;       /* L(J, K)^T packed, nb x nb for each K (and a sliver) */
    T *h;           /* n x nb: H(1..J, J) */
    T *hpack;       /* the same, packed in steps of DEPTH */
    T *square;      /* 3 nb x nb */
    int64_t each;   /* entries of a packed block */
    int32_t *swaps; /* nb: the pivots' exchanges of rows of the panel */
    T *ones;        /* 2 nb: D^-1 = I for the kernel that solves with L(J, J) */
    int32_t *moved; /* 2 nb: the indices that the panel's pivots move, ascending */
    int32_t *from;  /* 2 nb: from[x] is the index in `moved` of the row that comes to moved[x] */
    mpki_dense_call *call;
    FN(band) band; /* the LU of T, some blocks behind */
} aasen;

static int64_t rows_of(const aasen *q, int64_t block) {
    int64_t left = q->s->n - block * q->nb;
    return left < q->nb ? left : q->nb;
}
static T *minus_t(const aasen *q, int64_t block, int part) {
    return q->minus + (3 * block + part) * (int64_t)q->nb * q->nb;
}
/* L(I, K), K >= 1 */
static T *l_block(const aasen *q, int64_t i, int64_t k) {
    return q->s->a + i * q->nb + (k - 1) * q->nb * q->s->ld;
}

/* ---- H --------------------------------------------------------------------------------------- */

static void pack_l_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const aasen *q = arg;
    const int64_t k = item + 1;
    const int rows = (int)rows_of(q, q->j);
    (void)pool, (void)worker;
    T *to = q->lpack + k * q->each;
    if (k < q->j) {
        q->s->k->pack(rows, q->nb, l_block(q, q->j, k), q->s->ld, NULL, q->s->hermitian, to);
    } else { /* L(J, J) is unit triangular, with U stored above it */
        T *l = q->square;
        for (int c = 0; c < rows; c++)
            for (int r = 0; r < rows; r++)
                l[r + c * rows] = r > c ? l_block(q, q->j, k)[r + c * q->s->ld] : t_make(r == c, 0);
        q->s->k->pack(rows, rows, l, rows, NULL, q->s->hermitian, to);
    }
}

/* H(I, J) = sum over K = I-1, I, I+1 of T(I, K) L(J, K)^T, K up to J */
static void h_block(const aasen *q, int64_t i, T *h, int64_t ldh) {
    const int cols = (int)rows_of(q, q->j), rows = (int)rows_of(q, i);
    int overwrite = 1;
    for (int64_t k = i > 1 ? i - 1 : 1; k <= i + 1 && k <= q->j; k++) {
        const T *t = k == i ? minus_t(q, i, 0) : k < i ? minus_t(q, k, 1) : minus_t(q, i, 2);
        q->s->k->multiply(rows, cols, (int)rows_of(q, k), t, q->nb, q->lpack + k * q->each, h, ldh,
                          overwrite, INT64_MAX / 2);
        overwrite = 0;
    }
}

static void h_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const aasen *q = arg;
    (void)pool, (void)worker;
    h_block(q, item + 1, q->h + item * q->nb, q->s->n);
}

/* H's blocks up to `known`, from step `packed` on */
static void pack_h_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const aasen *q = arg;
    const int64_t k0 = q->packed + item * DEPTH, all = q->known, cols = rows_of(q, q->j);
    const int64_t padded = (cols + 15) / 16 * 16;
    (void)pool, (void)worker;
    FN(pack_plain)
    (q->s->k, (int)(all - k0 < DEPTH ? all - k0 : DEPTH), (int)cols, q->h + k0, q->s->n,
     q->hpack + k0 * padded);
}

/* C (rows r0 .. r1-1 of block column J) -= L(rows, 1..J) H, columns k0 .. k1-1 of L */
static void subtract(const aasen *q, int64_t r0, int64_t r1, int64_t k0, int64_t k1, T *c,
                     int64_t ldc) {
    const int64_t cols = rows_of(q, q->j), padded = (cols + 15) / 16 * 16;
    for (; k0 < k1; k0 += DEPTH)
        q->s->k->multiply(r1 - r0, (int)cols, (int)(k1 - k0 < DEPTH ? k1 - k0 : DEPTH),
                          q->s->a + r0 + k0 * q->s->ld, q->s->ld, q->hpack + k0 * padded, c, ldc, 0,
                          INT64_MAX / 2);
}

/* Rows in whole steps of DEPTH that are known before T(J, J) is. */
static int64_t early(const aasen *q) {
    return q->j > 1 ? (q->j - 1) * q->nb / DEPTH * DEPTH : 0;
}

static void panel_rows(const aasen *q, int64_t item, int64_t k0, int64_t k1) {
    const int64_t n = q->s->n, r0 = (q->j + 1) * q->nb + item * ROWS;
    const int64_t r1 = r0 + ROWS < n ? r0 + ROWS : n;
    subtract(q, r0, r1, k0, k1, q->s->a + r0 + q->j * q->nb * q->s->ld, q->s->ld);
}

static void panel_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const aasen *q = arg;
    (void)pool, (void)worker;
    if (!FN(lower_stopped)(q->s)) panel_rows(q, item, early(q), q->j * q->nb);
}

/* ---- small triangular solves with L(J, J) ---------------------------------------------------- */

/* X := X L^-T (L^-H), X rows x cols */
static void solve_right(const aasen *q, int64_t rows, int64_t cols, T *x, int64_t ldx) {
    const T *l = l_block(q, q->j, q->j);
    if (cols > MPKI_BLOCK) { /* wider than the kernel takes */
        for (int64_t k = 0; k < cols; k++)
            for (int64_t c = k + 1; c < cols; c++) {
                const T m = conj_if(q->s->hermitian, l[c + k * q->s->ld]);
                for (int64_t i = 0; i < rows; i++) x[i + c * ldx] -= t_mul(x[i + k * ldx], m);
            }
        return;
    }
    q->s->k->apply(rows, (int)cols, (int)cols, x, ldx, NULL, l, q->s->ld, q->lpack + q->j * q->each,
                   q->ones, q->s->hermitian, (R)1);
}

/* X (rows x rows) := X^T (X^H), ld nb */
static void transpose(const aasen *q, int64_t rows, T *x) {
    for (int64_t k = 0; k < rows; k++)
        for (int64_t i = k; i < rows; i++) {
            const T t = x[i + k * q->nb];
            x[i + k * q->nb] = conj_if(q->s->hermitian, x[k + i * q->nb]);
            x[k + i * q->nb] = conj_if(q->s->hermitian, t);
        }
}

/* T(J, J) from A(J, J) and H, into minus_t */
static void diagonal(const aasen *q) {
    const FN(lower) *s = q->s;
    const int64_t j = q->j, rows = rows_of(q, j), nb = q->nb;
    T *c = q->square + nb * nb, *y = c + nb * nb, *to = minus_t(q, j, 0);
    const T *a = s->a + j * nb * (s->ld + 1);
    for (int64_t k = 0; k < rows; k++)
        for (int64_t i = k; i < rows; i++) {
            c[i + k * nb] = a[i + k * s->ld];
            c[k + i * nb] = conj_if(s->hermitian, a[i + k * s->ld]);
        }
    if (j > 1) { /* L(J, 1..J-1) H(1..J-1, J), then L(J,J) T(J,J-1) L(J,J-1)^T */
        subtract(q, j * nb, j * nb + rows, 0, (j - 1) * nb, c, nb);
        s->k->multiply(rows, (int)rows, (int)nb, minus_t(q, j - 1, 1), nb,
                       q->lpack + (j - 1) * q->each, y, nb, 1, INT64_MAX / 2);
        /* what pack_l_item left in `square` is L(J,J) with its zeros; lpack's first block is free
         */
        FN(pack_plain)(s->k, (int)rows, (int)rows, y, nb, q->lpack);
        s->k->multiply(rows, (int)rows, (int)rows, q->square, rows, q->lpack, c, nb, 0,
                       INT64_MAX / 2);
    }
    if (j > 0) {
        solve_right(q, rows, rows, c, nb);
        transpose(q, rows, c);
        solve_right(q, rows, rows, c, nb);
        transpose(q, rows, c);
    }
    for (int64_t k = 0; k < rows; k++)
        for (int64_t i = k; i < rows; i++) {
            T x = t_make(0, 0) - c[i + k * nb];
            if (s->hermitian && i == k) x = t_make(t_re(x), 0);
            to[i + k * nb] = x;
            to[k + i * nb] = conj_if(s->hermitian, x);
        }
}

/* What needs T(J-1, J-1) only: T(J, J), the LU of the T before it, and most of the panel. */
static void early_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    aasen *q = arg;
    (void)pool, (void)worker;
    if (FN(lower_stopped)(q->s)) return;
    if (item == 0)
        diagonal(q);
    else if (item == 1)
        FN(band_follow)(q->call, &q->band, q->nb, q->j);
    else
        panel_rows(q, item - 2, 0, early(q));
}

/* ---- the panel ------------------------------------------------------------------------------- */

static void swap_rows(T *a, int64_t ld, int64_t cols, int64_t i, int64_t p) {
    for (int64_t c = 0; c < cols && i != p; c++) {
        T t = a[i + c * ld];
        a[i + c * ld] = a[p + c * ld];
        a[p + c * ld] = t;
    }
}

/* Columns of the panel from row 0 on; swaps[k]: the row that came to row k. */
static void leaf(T *a, int64_t ld, int64_t m, int c0, int c1, int32_t *swaps) {
    for (int k = c0; k < c1 && k < m; k++) {
        T *col = a + k * ld;
        int64_t p = k;
        R most = t_abs1(col[k]);
        for (int64_t i = k + 1; i < m; i++)
            if (t_abs1(col[i]) > most) most = t_abs1(col[i]), p = i;
        swaps[k] = (int32_t)p;
        swap_rows(a + c0 * ld, ld, c1 - c0, k, p);
        if (!(most > 0)) continue; /* a column of zeros: nothing to eliminate */
        const T inv = t_inv(col[k]);
        for (int64_t i = k + 1; i < m; i++) col[i] = t_mul(col[i], inv);
        for (int c = k + 1; c < c1; c++) {
            const T u = a[k + c * ld];
            T *x = a + c * ld;
            for (int64_t i = k + 1; i < m; i++) x[i] -= t_mul(col[i], u);
        }
    }
}

typedef struct trailing {
    const aasen *q;
    T *a;
    int64_t m;
    int c0, mid, c1;
} trailing;

static void trailing_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const trailing *t = arg;
    const int64_t ld = t->q->s->ld, r0 = t->mid + item * LU_ROWS;
    (void)pool, (void)worker;
    t->q->s->k->multiply(t->m - r0 < LU_ROWS ? t->m - r0 : LU_ROWS, t->c1 - t->mid, t->mid - t->c0,
                         t->a + r0 + t->c0 * ld, ld, t->q->square, t->a + r0 + t->mid * ld, ld, 0,
                         INT64_MAX / 2);
}

static void recursive_lu(const aasen *q, T *a, int64_t m, int c0, int c1, int32_t *swaps) {
    const int64_t ld = q->s->ld;
    if (c1 - c0 <= LEAF || c0 >= m) {
        leaf(a, ld, m, c0, c1, swaps);
        return;
    }
    const int mid = c0 + (c1 - c0) / 2, last = mid < m ? mid : (int)m;
    recursive_lu(q, a, m, c0, mid, swaps);
    for (int k = c0; k < last; k++) swap_rows(a + mid * ld, ld, c1 - mid, k, swaps[k]);
    for (int c = mid; c < c1; c++) /* U12 */
        for (int k = c0; k < last; k++) {
            const T u = a[k + c * ld];
            for (int i = k + 1; i < last; i++) a[i + c * ld] -= t_mul(a[i + k * ld], u);
        }
    if (last < mid || mid >= m) return;
    FN(pack_plain)(q->s->k, mid - c0, c1 - mid, a + c0 + mid * ld, ld, q->square);
    trailing t = {q, a, m, c0, mid, c1};
    mpki_pool_for(q->s->pool, 0, (m - mid + LU_ROWS - 1) / LU_ROWS, trailing_item, &t);
    recursive_lu(q, a, m, mid, c1, swaps);
    for (int k = mid; k < c1 && k < m; k++) swap_rows(a + c0 * ld, ld, mid - c0, k, swaps[k]);
}

static void earlier_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const aasen *q = arg;
    const int64_t r0 = (q->j + 1) * q->nb, cols = q->j * q->nb, c0 = item * SWAP_COLUMNS;
    const int64_t pivots = rows_of(q, q->j + 1);
    (void)pool, (void)worker;
    for (int64_t c = c0; c < c0 + SWAP_COLUMNS && c < cols; c++)
        for (int64_t k = 0; k < pivots; k++)
            swap_rows(q->s->a + r0 + c * q->s->ld, 1, 1, k, q->swaps[k]);
}

/* The rows and columns that pivots move are taken out whole and put back in their new order, by all
 * threads at once: one exchange after the other would walk along rows, a page for each entry. */
typedef struct exchange {
    const aasen *q;
    T *w; /* (n - r0) x count */
    int64_t r0;
    const int32_t *moved, *from;
    int32_t count;
} exchange;

enum { EXCHANGE_ROWS = 128 };

static void take_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const exchange *e = arg;
    const FN(lower) *s = e->q->s;
    const int64_t i0 = e->r0 + item * EXCHANGE_ROWS, ldw = s->n - e->r0;
    const int64_t i1 = i0 + EXCHANGE_ROWS < s->n ? i0 + EXCHANGE_ROWS : s->n;
    (void)pool, (void)worker;
    for (int64_t i = i0; i < i1; i++)
        for (int32_t x = e->count - 1; x >= 0 && e->moved[x] > i; x--)
            e->w[i - e->r0 + x * ldw] = conj_if(s->hermitian, s->a[e->moved[x] + i * s->ld]);
    for (int32_t x = 0; x < e->count && e->moved[x] < i1; x++) {
        const int64_t first = e->moved[x] > i0 ? e->moved[x] : i0;
        memcpy(e->w + first - e->r0 + x * ldw, s->a + first + e->moved[x] * s->ld,
               (size_t)(i1 - first) * sizeof(T));
    }
}

static void put_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const exchange *e = arg;
    const FN(lower) *s = e->q->s;
    const int64_t i0 = e->r0 + item * EXCHANGE_ROWS, ldw = s->n - e->r0;
    const int64_t i1 = i0 + EXCHANGE_ROWS < s->n ? i0 + EXCHANGE_ROWS : s->n;
    int32_t before = 0; /* how many of those moved come before i0 */
    (void)pool, (void)worker;
    while (before < e->count && e->moved[before] < i0) before++;
    int32_t y = before;
    for (int64_t i = i0; i < i1; i++) { /* columns that stay: their rows that move */
        if (y < e->count && e->moved[y] == i) {
            y++;
            continue;
        }
        for (int32_t x = y; x < e->count; x++)
            s->a[e->moved[x] + i * s->ld] =
                conj_if(s->hermitian, e->w[i - e->r0 + e->from[x] * ldw]);
    }
    for (int32_t x = 0; x < e->count && e->moved[x] < i1; x++) { /* the columns that move, whole */
        const int64_t first = e->moved[x] > i0 ? e->moved[x] : i0;
        const T *w = e->w + e->from[x] * ldw;
        T *a = s->a + e->r0 + e->moved[x] * s->ld;
        memcpy(a + first - e->r0, w + first - e->r0, (size_t)(i1 - first) * sizeof(T));
        for (int32_t z = before; z < e->count && e->moved[z] < i1; z++)
            if (e->moved[z] >= first) a[e->moved[z] - e->r0] = w[e->moved[e->from[z]] - e->r0];
    }
}

static int32_t place_of(const int32_t *moved, int32_t count, int32_t index) {
    int32_t low = 0;
    for (int32_t high = count; high - low > 1;) {
        const int32_t mid = (low + high) / 2;
        *(moved[mid] <= index ? &low : &high) = mid;
    }
    return low;
}

static void interchange(aasen *q) {
    const int64_t r0 = (q->j + 1) * q->nb, pivots = rows_of(q, q->j + 1);
    int32_t *moved = q->moved, *from = q->from, count = 0, given = 0;
    mpki_pool_for(q->s->pool, 0, (q->j * q->nb + SWAP_COLUMNS - 1) / SWAP_COLUMNS, earlier_item, q);
    for (int32_t k = 0; k < pivots; k++)
        if (q->swaps[k] != k)
            moved[given++] = (int32_t)r0 + k, moved[given++] = (int32_t)r0 + q->swaps[k];
    qsort(moved, (size_t)given, sizeof *moved, mpki_ascending);
    for (int32_t x = 0; x < given; x++)
        if (count == 0 || moved[x] != moved[count - 1]) moved[count++] = moved[x];
    for (int32_t x = 0; x < count; x++) from[x] = x;
    for (int32_t k = 0; k < pivots; k++) {
        if (q->swaps[k] == k) continue;
        const int64_t i = r0 + k, p = r0 + q->swaps[k];
        int32_t *x = &from[place_of(moved, count, (int32_t)i)],
                *y = &from[place_of(moved, count, (int32_t)p)], t = *x;
        *x = *y, *y = t;
        t = q->s->pivots[i];
        q->s->pivots[i] = q->s->pivots[p];
        q->s->pivots[p] = t;
    }
    exchange e = {q, q->lpack, r0, moved, from, count}; /* over lpack and h */
    const int64_t items = count > 0 ? (q->s->n - r0 + EXCHANGE_ROWS - 1) / EXCHANGE_ROWS : 0;
    mpki_pool_for(q->s->pool, 0, items, take_item, &e);
    mpki_pool_for(q->s->pool, 0, items, put_item, &e);
}

/* T(J+1, J) = U L(J,J)^-T, and its mirror */
static void beside(const aasen *q) {
    const FN(lower) *s = q->s;
    const int64_t nb = q->nb, rows = rows_of(q, q->j + 1);
    const T *u = s->a + (q->j + 1) * nb + q->j * nb * s->ld;
    T *t = minus_t(q, q->j, 1), *mirror = minus_t(q, q->j, 2);
    for (int64_t c = 0; c < nb; c++)
        for (int64_t i = 0; i < rows; i++)
            t[i + c * nb] = i <= c ? t_make(0, 0) - u[i + c * s->ld] : t_make(0, 0);
    if (q->j > 0) solve_right(q, rows, nb, t, nb);
    for (int64_t c = 0; c < nb; c++)
        for (int64_t i = 0; i < rows; i++)
            mirror[c + i * nb] = conj_if(s->hermitian, t[i + c * nb]);
}

/* ---- the method ------------------------------------------------------------------------------ */

static int64_t work_entries(int64_t n, int64_t nb) {
    const int64_t nt = (n + nb - 1) / nb, each = nb * (nb + 16);
    return nt * each + n * nb + (n + DEPTH) * (nb + 16) + 3 * nb * (nb + 16) + 8 * nb + 256;
}

mpk_status FN(aasen_need)(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need) {
    const int64_t n = call->dense.n, nb = FN(aasen_width)(call), nt = (n + nb - 1) / nb;
    *need = (mpki_dense_need){.pivots = 2 * n};
    need->extra_bytes = (3 * nt * nb * nb + (3 * nb + 1) * n) * (int64_t)sizeof(T);
    need->factorize_bytes = work_entries(n, nb) * (int64_t)sizeof(T);
    need->solve_bytes = (n + 8) * nrhs * (int64_t)sizeof(T) + FN(sweep_bytes)(call, nrhs);
    need->inertia_bytes = FN(band_inertia_bytes)(nb);
    return MPK_OK;
}

mpk_status FN(aasen_factorize)(mpki_dense_call *call, FN(lower) * s) {
    const int64_t n = s->n;
    const int32_t nb = FN(aasen_width)(call);
    aasen q = {
        .s = s, .call = call, .nb = nb, .nt = (n + nb - 1) / nb, .each = (int64_t)nb * (nb + 16)};
    q.minus = call->f->extra;
    memset(q.minus, 0, (size_t)(3 * q.nt * nb * nb) * sizeof(T));
    q.lpack = (T *)call->work;
    q.h = q.lpack + q.nt * q.each;
    q.hpack = q.h + n * nb;
    q.square = q.hpack + (n + DEPTH) * (nb + 16);
    q.ones = q.square + 3 * (int64_t)nb * (nb + 16);
    q.swaps = (int32_t *)(q.ones + 2 * nb);
    q.moved = q.swaps + nb, q.from = q.moved + 2 * nb;
    for (int32_t k = 0; k < nb; k++) q.ones[2 * k] = t_make(1, 0), q.ones[2 * k + 1] = t_make(0, 0);
    for (int64_t k = 0; k < n; k++) s->pivots[k] = (int32_t)k;
    FN(band_begin)(call, s, &q.band, nb);
    for (q.j = 0; q.j < q.nt; q.j++) {
        const int64_t j = q.j, rows = n - (j + 1) * nb; /* below the diagonal block */
        if (FN(lower_stopped)(s)) return mpki_stopped(call->ctx, "factorize");
        mpki_pool_for(s->pool, 0, j, pack_l_item, &q); /* K = 1 .. J */
        q.packed = 0;
        if (j > 1) {
            mpki_pool_for(s->pool, 0, j - 1, h_item, &q); /* I = 1 .. J-1 */
            q.known = (j - 1) * nb;
            mpki_pool_for(s->pool, 0, (q.known + DEPTH - 1) / DEPTH, pack_h_item, &q);
        }
        const int64_t strips = rows > 0 ? (rows + ROWS - 1) / ROWS : 0;
        mpki_pool_for(s->pool, 0, 2 + (early(&q) ? strips : 0), early_item, &q);
        if (rows <= 0) break;
        if (j > 0) {
            h_block(&q, j, q.h + (j - 1) * nb, n);
            q.known = j * nb, q.packed = early(&q);
            mpki_pool_for(s->pool, 0, (q.known - q.packed + DEPTH - 1) / DEPTH, pack_h_item, &q);
            mpki_pool_for(s->pool, 0, strips, panel_item, &q);
        }
        T *panel = s->a + (j + 1) * nb + j * nb * s->ld;
        recursive_lu(&q, panel, rows, 0, nb, q.swaps);
        beside(&q);
        interchange(&q);
    }
    return FN(band_finish)(call, s, &q.band, nb);
}

mpk_status FN(aasen_solve)(mpki_dense_call *call, int32_t nrhs, void *vx, int64_t ldx) {
    const int64_t n = call->dense.n, ldy = (n + 7) / 8 * 8;
    const int32_t nb = FN(aasen_width)(call);
    T *x = vx, *y = (T *)call->work;
    char *work = call->work + (n + 8) * nrhs * (int64_t)sizeof(T);
    mpki_dense_call sub = *call; /* L without its first block column: unit lower of order n - nb */
    mpk_dense_factor f = *call->f;
    bool pair;
    f.f = (T *)f.f + (call->dense.uplo == MPK_UPPER ? nb * f.ldf : nb);
    sub.f = &f;
    sub.dense.n = n - nb;
    if (call->dense.uplo == MPK_UPPER) f.pivots += nb; /* only the signs of the pivots are read */
    FN(reverse_rows)(call, nrhs, x, ldx);
    for (int32_t c = 0; c < nrhs; c++)
        for (int64_t k = 0; k < n; k++) y[k + c * ldy] = x[FN(place)(call, k, &pair) + c * ldx];
    if (n > nb) FN(sweep_forward)(&sub, nrhs, y + nb, ldy, work);
    FN(band_solve)(call, nb, nrhs, y, ldy);
    if (n > nb) FN(sweep_backward)(&sub, nrhs, y + nb, ldy, work);
    for (int32_t c = 0; c < nrhs; c++)
        for (int64_t k = 0; k < n; k++) x[FN(place)(call, k, &pair) + c * ldx] = y[k + c * ldy];
    FN(reverse_rows)(call, nrhs, x, ldx);
    return MPK_OK;
}

mpk_status FN(aasen_inertia)(mpki_dense_call *call, mpk_inertia *inertia) {
    return FN(band_inertia)(call, FN(aasen_width)(call), inertia);
}
