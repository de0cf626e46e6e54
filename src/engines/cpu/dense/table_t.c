/* SPDX-License-Identifier: BSD-3-Clause */
/* The methods of one precision, and the operations on its vectors. Before a method factors a matrix
 * it is loaded into f and, if it is an upper triangle, turned into a lower one. */
#include "engines/cpu/isa/cpu.h"
#include "host.h"
#include "methods_t.h"
#include "residual_t.h"

#include <string.h>

enum { COLUMNS = 32, ROWS = 128 };

/* ---- factorizations -------------------------------------------------------------------------- */

/* entry k of x times m, rounded to T once */
static T scaled(mpk_scalar from, const void *x, int64_t k, double m) {
    switch (from) {
    case MPK_S:
        return t_make((R)(((const float *)x)[k] * m), 0);
    case MPK_D:
        return t_make((R)(((const double *)x)[k] * m), 0);
    case MPK_C: {
        const float *z = (const float *)x + 2 * k;
        return t_make((R)(z[0] * m), (R)(z[1] * m));
    }
    default: {
        const double *z = (const double *)x + 2 * k;
        return t_make((R)(z[0] * m), (R)(z[1] * m));
    }
    }
}

static void load_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const mpki_dense_call *call = arg;
    const mpk_dense *d = &call->dense;
    const bool upper = d->uplo == MPK_UPPER;
    T *f = call->f->f;
    (void)pool, (void)worker;
    for (int64_t j = item * COLUMNS; j < item * COLUMNS + COLUMNS && j < d->n; j++) {
        const int64_t i0 = upper ? 0 : j, i1 = upper ? j + 1 : d->n;
        const int64_t from = j * call->lda;
        T *to = f + j * call->f->ldf;
        if (f == call->a) {
            /* in place, unscaled */
        } else if (d->scalar == (mpk_scalar)MPKI_PRECISION && call->scale == 1) {
            memcpy(to + i0, (const T *)call->a + from + i0, (size_t)(i1 - i0) * sizeof(T));
        } else {
            for (int64_t i = i0; i < i1; i++)
                to[i] = scaled(call->dense.scalar, call->a, from + i, call->scale);
        }
        if (d->symmetry == MPK_HERMITIAN)
            f[j + j * call->f->ldf] = t_make(t_re(f[j + j * call->f->ldf]), 0);
    }
}

/* The kernels' register tiles reach above the diagonal by less than a block: what stands there is
 * saved, n x MPKI_BLOCK entries, and put back. */
typedef struct band_job {
    const FN(lower) * s;
    T *band;
    bool back;
} band_job;

static void band_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const band_job *b = arg;
    const FN(lower) *s = b->s;
    (void)pool, (void)worker;
    for (int64_t j = item * COLUMNS; j < item * COLUMNS + COLUMNS && j < s->n; j++) {
        const int64_t rows = j < MPKI_BLOCK ? j : MPKI_BLOCK;
        T *a = s->a + j - rows + j * s->ld, *kept = b->band + j * MPKI_BLOCK;
        memcpy(b->back ? a : kept, b->back ? kept : a, (size_t)rows * sizeof(T));
    }
}

static void band_above(const FN(lower) * s, T *band, bool back) {
    band_job b = {s, band, back};
    mpki_pool_for(s->pool, 0, (s->n + COLUMNS - 1) / COLUMNS, band_item, &b);
}

static int64_t band_bytes(int64_t n) {
    return n * MPKI_BLOCK * (int64_t)sizeof(T);
}

static mpk_status with_band(mpk_status status, const mpki_dense_call *call, mpki_dense_need *need) {
    need->factorize_bytes = (need->factorize_bytes + 63) / 64 * 64 + band_bytes(call->dense.n);
    return status;
}

static mpk_status tile_need(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need) {
    return with_band(FN(tile_need)(call, nrhs, need), call, need);
}

static mpk_status butterfly_need(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need) {
    return with_band(FN(butterfly_need)(call, nrhs, need), call, need);
}

static mpk_status aasen_need(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need) {
    return with_band(FN(aasen_need)(call, nrhs, need), call, need);
}

static mpk_status lapack_need(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need) {
    return with_band(FN(lapack_need)(call, nrhs, need), call, need);
}

static void reverse_pivots(const mpki_dense_call *call, bool lapack) {
    const int64_t n = call->dense.n;
    int32_t *p = call->f->pivots;
    for (int64_t i = 0, j = n - 1; i <= j; i++, j--) {
        int32_t x = p[i], y = p[j];
#define REVERSED(v)                                                                                \
    (lapack ? ((v) < 0 ? -(int32_t)(n + 1 + (v)) : (int32_t)(n + 1 - (v)))                         \
            : ((v) < 0 ? ~(int32_t)(n - 1 - ~(v)) : (int32_t)(n - 1 - (v))))
        p[i] = REVERSED(y);
        p[j] = REVERSED(x);
#undef REVERSED
    }
}

static mpk_status factorize(mpki_dense_call *call) {
    const mpk_dense *d = &call->dense;
    const int64_t n = d->n;
    const bool upper = d->uplo == MPK_UPPER;
    const bool lapack = d->method == MPK_DENSE_BUNCH_KAUFMAN || d->method == MPK_DENSE_ROOK;
    mpk_status status;
    mpki_pool_for(call->pool, 0, (n + COLUMNS - 1) / COLUMNS, load_item, call);
    FN(lower)
    s = {FN(cpu_kernels)(),
         call->pool,
         call->threads,
         d->symmetry == MPK_HERMITIAN,
         n,
         call->f->ldf,
         (T *)call->f->f,
         call->f->pivots,
         0,
         call->ctx};
    s.small = (R)(d->zero_tolerance * call->most * call->scale);
    if (upper) FN(turn)(n, s.a, s.ld, call->pool);
    T *band = (T *)call->work;
    call->work += band_bytes(n);
    band_above(&s, band, false);
    switch (d->method) {
    case MPK_DENSE_BUNCH_KAUFMAN:
    case MPK_DENSE_ROOK:
        status = FN(lapack_factorize)(call, &s);
        break;
    case MPK_DENSE_AASEN:
        status = FN(aasen_factorize)(call, &s);
        break;
    case MPK_DENSE_BUTTERFLY:
        status = FN(butterfly_factorize)(call, &s);
        break;
    default:
        status = FN(tile_factorize)(call, &s);
        break;
    }
    if (FN(lower_stopped)(&s)) status = mpki_stopped(call->ctx, "factorize");
    if (!mpk_failed(status) && d->method != MPK_DENSE_AASEN) status = FN(account)(call, &s);
    band_above(&s, band, true);
    call->work -= band_bytes(n);
    if (upper) {
        FN(turn)(n, s.a, s.ld, call->pool);
        if (!mpk_failed(status)) reverse_pivots(call, lapack);
    }
    if (status == MPK_ERR_NUMERIC && !mpk_failed(mpki_failed(call->ctx)))
        mpki_error(call->ctx, status, "dense", -1, "the factors overflow");
    return status;
}

/* ---- the largest entry ----------------------------------------------------------------------- */

typedef struct scan {
    const mpki_dense_call *call;
    double *sums; /* for each task: the largest entry and the largest row sum */
    bool norm;
} scan;

static void largest_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const scan *p = arg;
    const mpki_dense_call *call = p->call;
    const mpk_dense *d = &call->dense;
    const int64_t n = d->n, lda = call->lda, r0 = item * ROWS, r1 = r0 + ROWS < n ? r0 + ROWS : n;
    const bool upper = d->uplo == MPK_UPPER, hermitian = d->symmetry == MPK_HERMITIAN;
    const T *a = call->a;
    double w[ROWS] = {0}, norm = 0;
    R most = 0, check = 0;
    (void)pool, (void)worker;
    for (int64_t i = r0; i < r1; i++) { /* entries of the triangle in the rows' own columns */
        const T *col = a + i * lda, diagonal = hermitian ? t_make(t_re(col[i]), 0) : col[i];
        const int64_t k0 = upper ? 0 : i + 1, k1 = upper ? i : n;
        FN(scan)(k1 - k0, col + k0, &most, &check);
        FN(scan)(1, &diagonal, &most, &check);
        if (p->norm) {
            double m[4] = {FN(modulus)(diagonal), 0, 0, 0};
            for (int64_t k = k0; k < k1; k++) m[k & 3] += FN(modulus)(col[k]);
            w[i - r0] += m[0] + m[1] + m[2] + m[3];
        }
    }
    if (p->norm) /* only for the norm: the rest of the rows */
        for (int64_t j = upper ? r0 : 0; j < (upper ? n : r1); j++) {
            int64_t i0 = r0, i1 = r1;
            if (upper && i1 > j) i1 = j;
            if (!upper && i0 < j + 1) i0 = j + 1;
            for (int64_t i = i0; i < i1; i++) w[i - r0] += FN(modulus)(a[i + j * lda]);
        }
    for (int64_t i = r0; i < r1; i++) norm = w[i - r0] > norm ? w[i - r0] : norm;
    /* |re| + |im| may leave the range where neither does */
    const double top = sizeof(R) == sizeof(float) ? FLT_MAX : DBL_MAX;
    p->sums[2 * item] = check == 0 ? fmin((double)most, top) : INFINITY;
    p->sums[2 * item + 1] = norm;
}

static mpk_status largest(mpki_dense_call *call, double *max, double *norm) {
    const int64_t items = (call->dense.n + ROWS - 1) / ROWS;
    double *s = (double *)call->work; /* not in use yet */
    scan p = {.call = call, .sums = s, .norm = norm != NULL};
    mpki_pool_for(call->pool, 0, items, largest_item, &p);
    double most = 0, most_norm = 0;
    for (int64_t k = 0; k < items; k++) {
        most = s[2 * k] > most ? s[2 * k] : most;
        most_norm = s[2 * k + 1] > most_norm ? s[2 * k + 1] : most_norm;
    }
    if (max) *max = most;
    if (norm) *norm = most_norm;
    return MPK_OK;
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void convert(int64_t rows, int64_t cols, mpk_scalar from, const void *src, int64_t lds,
                    void *dst, int64_t ldd, const double *scale) {
    T *to = dst;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            to[i + j * ldd] = !src    ? t_make(0, 0)
                              : scale ? scaled(from, src, i + j * lds, scale[j])
                                      : t_load(from, src, i + j * lds);
}

static mpk_status axpy(mpki_dense_call *call, int64_t cols, const double alpha[2], const void *vx,
                       int64_t ldx, void *vy, int64_t ldy) {
    const T *x = vx, m = t_make((R)alpha[0], (R)alpha[1]);
    T *y = vy;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < call->dense.n; i++) y[i + j * ldy] += t_mul(x[i + j * ldx], m);
    return MPK_OK;
}

static mpk_status dot(mpki_dense_call *call, int64_t cols, const void *vx, int64_t ldx,
                      const void *vy, int64_t ldy, double *result) {
    for (int64_t c = 0; c < cols; c++) {
        const T *x = (const T *)vx + c * ldx, *y = (const T *)vy + c * ldy;
        double sum[2] = {0, 0};
        for (int64_t i = 0; i < call->dense.n; i++) FN(add)(sum, t_conj(x[i]), y[i]);
        result[2 * c] = sum[0], result[2 * c + 1] = sum[1];
    }
    return MPK_OK;
}

/* ---- the table ------------------------------------------------------------------------------- */

const mpki_host_methods FN(host) = {
    .method = {[MPK_DENSE_TILE] = {tile_need, factorize, FN(tile_solve), NULL},
               [MPK_DENSE_BUNCH_KAUFMAN] = {lapack_need, factorize, FN(lapack_solve), NULL},
               [MPK_DENSE_ROOK] = {lapack_need, factorize, FN(lapack_solve), NULL},
               [MPK_DENSE_AASEN] = {aasen_need, factorize, FN(aasen_solve), FN(aasen_inertia)},
               [MPK_DENSE_BUTTERFLY] = {butterfly_need, factorize, FN(butterfly_solve), NULL},
               [MPK_DENSE_NONE] = {tile_need, factorize, FN(tile_solve), NULL}},
    .largest = largest,
    .convert = convert,
    .axpy = axpy,
    .dot = dot,
    .residual = FN(dense_residual),
    .residual_bytes = FN(dense_residual_bytes)};
