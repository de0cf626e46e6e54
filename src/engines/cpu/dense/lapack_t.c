/* SPDX-License-Identifier: BSD-3-Clause */
/* Bunch & Kaufman (1977, Math. Comp. 31) and bounded Bunch-Kaufman, "rook" (Ashcraft, Grimes &
 * Lewis 1998, SIAM J. Matrix Anal. Appl. 20), blocked: a panel is factored left-looking with W = L
 * D beside it (Anderson & Dongarra 1989, LAPACK working note 19), then the trailing triangle takes
 * L W^T by all threads. The choice of pivots, ties included, and the form of the result are those
 * of LAPACK's xSYTRF, xHETRF and their _ROOK twins, so the factors can be handed over; departures:
 * a column that is not above s->small is a zero pivot (LAPACK: exactly zero), L is then zero. */
#include "lapack.h"
#include "engines/cpu/isa/cpu.h"
#include "kernels/alpha.h"
#include "kernels/pivot.h"

#include <string.h>

enum {
    GEMV_ROWS = 512,
    GEMV_LEAST = 60000,
    MANY = 4 /* right-hand sides from which on a copy of L pays */
};

/* The panel at j0: columns of A from there, and W (rows j0 .. n-1, ld n). */
typedef struct panel {
    const FN(lower) * s;
    T *w;
    int64_t j0, ldw;
    R small;
} panel;

static inline T *a_at(const panel *p, int64_t i, int64_t j) {
    return p->s->a + i + j * p->s->ld;
}
static inline T *w_at(const panel *p, int64_t i, int64_t j) {
    return p->w + i + (j - p->j0) * p->ldw;
}

static R size_of(const panel *p, T x, bool diagonal) {
    return diagonal && p->s->hermitian ? r_abs(t_re(x)) : t_abs1(x);
}

typedef struct gemv_job {
    const FN(kernels) * k;
    int64_t rows, lda;
    int cols;
    const T *a, *x;
    T *y;
} gemv_job;

static void gemv_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const gemv_job *g = arg;
    int64_t r = item * GEMV_ROWS, m = g->rows - r < GEMV_ROWS ? g->rows - r : GEMV_ROWS;
    (void)pool, (void)worker;
    g->k->gemv(m, g->cols, g->a + r, g->lda, g->x, g->y + r);
}

/* y (rows k .. n-1) -= A(k:, j0:k) W(row, j0:k)^T */
static void update_candidate(const panel *p, int64_t k, int64_t row, T *y) {
    T x[MPKI_WIDEST];
    const int cols = (int)(k - p->j0);
    if (cols == 0) return;
    for (int j = 0; j < cols; j++) x[j] = *w_at(p, row, p->j0 + j);
    gemv_job g = {p->s->k, p->s->n - k, p->s->ld, cols, a_at(p, k, p->j0), x, y};
    int64_t items = (g.rows + GEMV_ROWS - 1) / GEMV_ROWS;
    mpki_pool_for(g.rows * cols >= GEMV_LEAST ? p->s->pool : NULL, 0, items, gemv_item, &g);
}

/* column `c` of what is left, brought up to date, to W's column `to`, rows k .. n-1 */
static void fetch(const panel *p, int64_t k, int64_t c, int64_t to) {
    const int hermitian = p->s->hermitian;
    T *w = w_at(p, 0, to);
    for (int64_t i = k; i < c; i++) w[i] = conj_if(hermitian, *a_at(p, c, i));
    memcpy(w + c, a_at(p, c, c), (size_t)(p->s->n - c) * sizeof(T));
    if (hermitian) w[c] = t_make(t_re(w[c]), 0);
    update_candidate(p, k, c, w + k);
    if (hermitian) w[c] = t_make(t_re(w[c]), 0);
}

/* the first row of the largest modulus among rows i0 .. i1-1; NaN wins */
static R largest(const T *w, int64_t i0, int64_t i1, int64_t *place) {
    R most = -1;
    for (int64_t i = i0; i < i1; i++) {
        R x = t_abs1(w[i]);
        if (!(x <= most)) {
            most = x, *place = i;
            if (!(x == x)) break;
        }
    }
    return most < 0 ? 0 : most;
}

typedef struct choice {
    int64_t p, kp; /* the row that comes to k (rook's 2x2), and to the last column of the pivot */
    int width;     /* 1, 2; 0: a zero pivot; -1: not finite */
} choice;

static choice choose(const panel *q, int rook, int64_t k) {
    const R alpha = (R)MPKI_ALPHA;
    const int64_t n = q->s->n;
    T *w = w_at(q, 0, k), *v = k + 1 < n ? w + q->ldw : NULL;
    fetch(q, k, k, k);
    int64_t imax = k;
    R diag = size_of(q, w[k], true), most = largest(w, k + 1, n, &imax);
    if (!(diag - diag == 0) || !(most - most == 0)) return (choice){k, k, -1};
    if (!(diag > q->small) && !(most > q->small)) return (choice){k, k, 0};
    if (diag >= alpha * most) return (choice){k, k, 1};
    for (int64_t p = k;;) {
        int64_t jmax = k, other = k;
        fetch(q, k, imax, k + 1);
        R row = largest(v, k, imax, &jmax), below = largest(v, imax + 1, n, &other);
        if (!(below <= row)) row = below, jmax = other;
        R corner = size_of(q, v[imax], true);
        if (!(row - row == 0) || !(corner - corner == 0)) return (choice){k, k, -1};
        if (!rook && diag >= alpha * most * (most / row)) return (choice){k, k, 1};
        const bool single = corner >= alpha * row;
        if (single || (rook && p != jmax && row > most))
            memcpy(w + k, v + k, (size_t)(n - k) * sizeof(T));
        if (single) return (choice){k, imax, 1};
        if (!rook || p == jmax || !(row > most)) return (choice){p, imax, 2};
        p = imax, most = row, imax = jmax;
    }
}

/* The column `from`, not yet updated, goes to where column `to` > from is; of the panel's finished
 * columns, and of W up to column `last`, two rows change places. */
static void interchange(const panel *q, int64_t from, int64_t to, int64_t k, int64_t last) {
    const int hermitian = q->s->hermitian;
    const int64_t n = q->s->n;
    if (from == to) return;
    *a_at(q, to, to) = *a_at(q, from, from);
    for (int64_t i = from + 1; i < to; i++) *a_at(q, to, i) = conj_if(hermitian, *a_at(q, i, from));
    memcpy(a_at(q, to, to) + 1, a_at(q, from, from) + (to - from) + 1,
           (size_t)(n - to - 1) * sizeof(T));
    for (int64_t j = q->j0; j < k; j++) {
        T t = *a_at(q, from, j);
        *a_at(q, from, j) = *a_at(q, to, j);
        *a_at(q, to, j) = t;
    }
    for (int64_t j = q->j0; j <= last; j++) {
        T t = *w_at(q, from, j);
        *w_at(q, from, j) = *w_at(q, to, j);
        *w_at(q, to, j) = t;
    }
}

static void store_single(const panel *q, int64_t k) {
    const int hermitian = q->s->hermitian;
    const int64_t n = q->s->n;
    T *w = w_at(q, 0, k), *a = a_at(q, 0, k);
    T d = hermitian ? t_make(t_re(w[k]), 0) : w[k], di = t_inv(d);
    a[k] = d;
    for (int64_t i = k + 1; i < n; i++) a[i] = t_mul(w[i], di);
    for (int64_t i = k; hermitian && i < n; i++) w[i] = t_conj(w[i]);
}

static void store_pair(const panel *q, int64_t k) {
    const int hermitian = q->s->hermitian;
    const int64_t n = q->s->n;
    T *w = w_at(q, 0, k), *v = w + q->ldw, *a = a_at(q, 0, k), *b = a_at(q, 0, k + 1);
    FN(pivot) d = FN(pivot_inverse)(w[k], w[k + 1], v[k + 1], hermitian);
    a[k] = w[k], a[k + 1] = w[k + 1], b[k + 1] = v[k + 1];
    for (int64_t i = k + 2; i < n; i++) {
        a[i] = t_mul(w[i], d.i11) + t_mul(v[i], d.i21);
        b[i] = t_mul(w[i], d.i12) + t_mul(v[i], d.i22);
    }
    for (int64_t i = k; hermitian && i < n; i++) w[i] = t_conj(w[i]), v[i] = t_conj(v[i]);
}

static void store_zero(const panel *q, int64_t k) {
    memset(a_at(q, k, k), 0, (size_t)(q->s->n - k) * sizeof(T));
    memset(w_at(q, k, k), 0, (size_t)(q->s->n - k) * sizeof(T));
}

/* Bring the rows of the panel's columns back to where they stood at each column's own step. */
static void undo(const panel *q, int rook, int64_t end) {
    const int32_t *ipiv = q->s->pivots;
    for (int64_t j = end - 1; j > q->j0;) {
        int64_t place[2] = {j, 0}, with[2] = {0, 0};
        int count = 1;
        if (ipiv[j] < 0) {
            with[0] = -(int64_t)ipiv[j] - 1;
            if (rook) place[1] = j - 1, with[1] = -(int64_t)ipiv[j - 1] - 1, count = 2;
            j--;
        } else {
            with[0] = ipiv[j] - 1;
        }
        j--;
        for (int c = 0; c < count; c++)
            if (with[c] != place[c])
                for (int64_t i = q->j0; i <= j; i++) {
                    T t = *a_at(q, place[c], i);
                    *a_at(q, place[c], i) = *a_at(q, with[c], i);
                    *a_at(q, with[c], i) = t;
                }
    }
}

int64_t FN(lapack_work)(int64_t n, int32_t nb, int threads) {
    return (n + 8) * (nb + 1) + (int64_t)threads * MPKI_BLOCK * (nb + 8) + 64;
}

mpk_status FN(lapack_core)(const FN(lower) * s, int rook, int32_t nb, T *work) {
    const int64_t n = s->n, ldw = n;
    T *packs = work + (ldw * (nb + 1) + 7) / 8 * 8;
    mpk_status status = MPK_OK;
    mpki_asking asking = {s->ctx, "factorize", 0};
    for (int64_t j0 = 0, k; j0 < n; j0 = k) {
        panel q = {s, work, j0, ldw, s->small};
        const int64_t end = n - j0 <= nb ? n : j0 + nb - 1; /* a whole pair must fit */
        for (k = j0; k < end;) {
            if (mpki_asks(&asking, (n - k) * (k - j0 + 1)))
                return mpki_stopped(s->ctx, "factorize");
            choice c = choose(&q, rook, k);
            if (c.width < 0) return MPK_ERR_NUMERIC;
            if (c.width == 0) {
                store_zero(&q, k);
                s->pivots[k] = (int32_t)(k + 1);
                status = MPK_SINGULAR;
                k++;
                continue;
            }
            const int64_t kk = k + c.width - 1;
            if (c.width == 2) interchange(&q, k, c.p, k, kk);
            interchange(&q, kk, c.kp, k, kk);
            if (c.width == 1) {
                store_single(&q, k);
                s->pivots[k] = (int32_t)(c.kp + 1);
            } else {
                store_pair(&q, k);
                s->pivots[k] = (int32_t)(rook ? -(c.p + 1) : -(c.kp + 1));
                s->pivots[k + 1] = (int32_t) - (c.kp + 1);
            }
            k += c.width;
        }
        if (k < n) FN(lower_update)
        (s, n - k, (int)(k - j0), s->a + k + j0 * s->ld, s->ld, work + k, ldw, s->a + k + k * s->ld,
         s->ld, packs);
        undo(&q, rook, k);
    }
    return status;
}

void FN(lapack_finish)(const FN(lower) * s, int rook, int32_t *order, unsigned char *first) {
    const int64_t n = s->n;
    const int32_t *ipiv = s->pivots;
    for (int64_t k = 0; k < n; k++) order[k] = (int32_t)k, first[k] = 0;
    for (int64_t k = 0; k < n;) {
        const int width = ipiv[k] < 0 ? 2 : 1;
        int64_t place[2] = {k, k + width - 1}, with[2];
        with[1] = (ipiv[k + width - 1] < 0 ? -(int64_t)ipiv[k + width - 1] : ipiv[k]) - 1;
        with[0] = width == 2 && rook ? -(int64_t)ipiv[k] - 1 : k;
        for (int c = 0; c < 2; c++) {
            if (place[c] == with[c]) continue;
            int32_t t = order[place[c]];
            order[place[c]] = order[with[c]];
            order[with[c]] = t;
            for (int64_t j = 0; j < k; j++) {
                T x = s->a[place[c] + j * s->ld];
                s->a[place[c] + j * s->ld] = s->a[with[c] + j * s->ld];
                s->a[with[c] + j * s->ld] = x;
            }
        }
        first[k] = width == 2;
        k += width;
    }
}

/* ---- the method ------------------------------------------------------------------------------ */

static int32_t panel_width(const mpki_dense_call *call) {
    const int64_t n = call->dense.n;
    return call->dense.tile ? call->dense.tile : n < 400 ? 32 : n < 1500 ? 48 : 64;
}

mpk_status FN(lapack_need)(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need) {
    const int64_t n = call->dense.n, few = (int64_t)call->threads * (n + 8) * (int64_t)sizeof(T);
    const int64_t many = nrhs < MANY ? 0 : FN(sweep_bytes)(call, nrhs);
    *need = (mpki_dense_need){.pivots = n};
    need->factorize_bytes =
        FN(lapack_work)(n, panel_width(call), call->threads) * (int64_t)sizeof(T);
    need->solve_bytes = few > many ? few : many;
    return MPK_OK;
}

mpk_status FN(lapack_factorize)(mpki_dense_call *call, FN(lower) * s) {
    return FN(lapack_core)(s, call->dense.method == MPK_DENSE_ROOK, panel_width(call),
                           (T *)call->work);
}

/* ---- solving: the columns of L with the interchanges between them ---------------------------- */

typedef struct solve_job {
    const mpki_dense_call *call;
    int32_t nrhs;
    T *x;
    int64_t ldx;
    int rook;
} solve_job;

/* rows i, i + 1 ... of column k of the lower factor; a reversed copy where the factor is upper */
static const T *column(const mpki_dense_call *call, int64_t k, T *buffer) {
    int64_t ld;
    return FN(factor_block_at)(call, k, call->dense.n - k, k, 1, buffer, &ld) - k;
}

static void swap_rows(const solve_job *s, int32_t c, int64_t i, int64_t j) {
    T *x = s->x + c * s->ldx, t = x[i];
    x[i] = x[j], x[j] = t;
}

static void solve_columns(const solve_job *s, int32_t c0, int32_t c1, T *buffer) {
    const mpki_dense_call *call = s->call;
    const int64_t n = call->dense.n;
    const int hermitian = call->dense.symmetry == MPK_HERMITIAN;
    bool pair;
    mpki_asking asking = {call->ctx, "solve", 0};
    for (int64_t k = 0; k < n;) { /* L, then D */
        if (mpki_asks(&asking, (n - k) * (c1 - c0))) return;
        int64_t p = FN(lapack_pivot)(call, k, &pair), kp = p;
        const int width = pair ? 2 : 1;
        if (pair) kp = FN(lapack_pivot)(call, k + 1, &pair);
        for (int32_t c = c0; c < c1; c++) {
            if (width == 2 && s->rook) swap_rows(s, c, k, p);
            swap_rows(s, c, k + width - 1, kp);
        }
        const T *l1 = column(call, k, buffer);
        T d11 = l1[k], d21 = width == 2 ? l1[k + 1] : t_make(0, 0);
        for (int32_t c = c0; c < c1; c++) {
            T *x = s->x + c * s->ldx, m = x[k];
            for (int64_t i = k + width; i < n; i++) x[i] -= t_mul(l1[i], m);
        }
        if (width == 1) {
            T di = t_abs1(d11) > 0 ? t_inv(d11) : t_make(0, 0);
            for (int32_t c = c0; c < c1; c++)
                s->x[k + c * s->ldx] = t_mul(s->x[k + c * s->ldx], di);
        } else {
            const T *l2 = column(call, k + 1, buffer);
            FN(pivot) d = FN(pivot_inverse)(d11, d21, l2[k + 1], hermitian);
            for (int32_t c = c0; c < c1; c++) {
                T *x = s->x + c * s->ldx, m1 = x[k], m2 = x[k + 1];
                for (int64_t i = k + 2; i < n; i++) x[i] -= t_mul(l2[i], m2);
                x[k] = t_mul(d.i11, m1) + t_mul(d.i12, m2);
                x[k + 1] = t_mul(d.i21, m1) + t_mul(d.i22, m2);
            }
        }
        k += width;
    }
    for (int64_t k = n - 1; k >= 0;) { /* L^T, L^H */
        if (mpki_asks(&asking, (n - k) * (c1 - c0))) return;
        int64_t kp = FN(lapack_pivot)(call, k, &pair), p = kp;
        const int width = pair ? 2 : 1;
        if (pair) p = FN(lapack_pivot)(call, k - 1, &pair);
        for (int64_t j = k - width + 1; j <= k; j++) {
            const T *l = column(call, j, buffer);
            for (int32_t c = c0; c < c1; c++) {
                T *x = s->x + c * s->ldx, sum = x[j];
                FN(cpu_kernels)()->gemvt(n - k - 1, 1, l + k + 1, n, x + k + 1, &sum, hermitian);
                x[j] = sum;
            }
        }
        for (int32_t c = c0; c < c1; c++) {
            swap_rows(s, c, k, kp);
            if (width == 2 && s->rook) swap_rows(s, c, k - 1, p);
        }
        k -= width;
    }
}

static void solve_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const solve_job *s = arg;
    (void)pool;
    solve_columns(s, (int32_t)item, (int32_t)item + 1,
                  (T *)s->call->work + worker * (s->call->dense.n + 8));
}

mpk_status FN(lapack_solve)(mpki_dense_call *call, int32_t nrhs, void *x, int64_t ldx) {
    solve_job s = {call, nrhs, x, ldx, call->dense.method == MPK_DENSE_ROOK};
    FN(reverse_rows)(call, nrhs, x, ldx);
    if (nrhs >= MANY) {
        FN(sweep_forward)(call, nrhs, x, ldx, call->work);
        FN(sweep_diagonal)(call, nrhs, x, ldx);
        FN(sweep_backward)(call, nrhs, x, ldx, call->work);
    } else {
        mpki_pool_for(call->pool, 0, nrhs, solve_item, &s);
    }
    FN(reverse_rows)(call, nrhs, x, ldx);
    return MPK_OK;
}
