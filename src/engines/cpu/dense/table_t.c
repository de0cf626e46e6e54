/* SPDX-License-Identifier: BSD-3-Clause */
/* The methods of one precision, and the operations on its vectors. Before a method factors a matrix
 * it is loaded into f and, if it is an upper triangle, turned into a lower one. */
#include "engines/cpu/isa/cpu.h"
#include "host.h"
#include "methods_t.h"

#include <string.h>

enum { COLUMNS = 32, ROWS = 128 };

/* ---- factorizations -------------------------------------------------------------------------- */

/* entry k of a, scaled before it is rounded to the factor's precision */
static T rounded(const mpki_dense_call *call, int64_t k) {
    switch (call->dense.scalar) {
    case MPK_S:
        return t_make((R)(((const float *)call->a)[k] * call->scale), 0);
    case MPK_D:
        return t_make((R)(((const double *)call->a)[k] * call->scale), 0);
    case MPK_C: {
        const float *x = (const float *)call->a + 2 * k;
        return t_make((R)(x[0] * call->scale), (R)(x[1] * call->scale));
    }
    default: {
        const double *x = (const double *)call->a + 2 * k;
        return t_make((R)(x[0] * call->scale), (R)(x[1] * call->scale));
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
            for (int64_t i = i0; i < i1; i++) to[i] = rounded(call, from + i);
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

/* ---- sums over the whole matrix from one triangle ----------------------------------------------
 * Sums are in double. */

enum { GROUPS = 16, COLUMNS_AT_ONCE = 4 };

typedef struct product {
    const mpki_dense_call *call;
    const T *x; /* NULL: sums of moduli alone */
    T *r;
    const T *b;
    double *sums; /* for each task: row sums of moduli; or the largest entry and the largest row
                     sum */
    int64_t ldx;
    double *size, *y, *w;     /* |x|; for each group of columns, A x and |A| |x| */
    bool nothing;             /* x = 0 */
    int64_t edge[GROUPS + 1]; /* columns of the groups */
} product;

#define PARTS (MPKI_COMPLEX ? 2 : 1)

/* |x|; by hypot, which costs ten times as much, only where squares leave the range */
static inline double modulus(T x) {
#if MPKI_COMPLEX
    const double re = fabs((double)t_re(x)), im = fabs((double)t_im(x)), most = re > im ? re : im;
    if (most < 1e150 && most > 1e-150) return sqrt(re * re + im * im);
#endif
    return (double)t_abs(x);
}

static void add(double *sum, T a, T x) {
    sum[0] += (double)t_re(a) * (double)t_re(x) - (double)t_im(a) * (double)t_im(x);
    if (MPKI_COMPLEX)
        sum[PARTS - 1] += (double)t_re(a) * (double)t_im(x) + (double)t_im(a) * (double)t_re(x);
}

/* A x and |A| |x| in one pass over the triangle: groups of columns of about the same area, each
 * with sums of its own, which are added in order. */
static int64_t group_edge(const mpk_dense *d, int group) {
    const double share = (double)group / GROUPS;
    if (d->uplo == MPK_UPPER) return (int64_t)((double)d->n * sqrt(share));
    return group == GROUPS ? d->n : (int64_t)((double)d->n * (1 - sqrt(1 - share)));
}

/* entry (i, j), i not j, and its mirror */
static inline void add_entry(const product *p, double *y, double *w, int64_t i, int64_t j, T e) {
    const double m = modulus(e);
    add(y + PARTS * i, e, p->x[j]);
    add(y + PARTS * j, conj_if(p->call->dense.symmetry == MPK_HERMITIAN, e), p->x[i]);
    w[i] += m * p->size[j];
    w[j] += m * p->size[i];
}

/* columns j .. j+cols-1, rows i0 .. i1-1, none of them on the diagonal */
static inline void add_columns(const product *p, double *y, double *w, const int cols, int64_t j,
                               int64_t i0, int64_t i1) {
    const int64_t lda = p->call->lda;
    const T *a = (const T *)p->call->a + j * lda;
#if MPKI_COMPLEX
    for (int c = 0; c < cols; c++)
        for (int64_t i = i0; i < i1; i++) add_entry(p, y, w, i, j + c, a[i + c * lda]);
#else
    double s[COLUMNS_AT_ONCE] = {0}, q[COLUMNS_AT_ONCE] = {0};
    double xj[COLUMNS_AT_ONCE] = {0}, size[COLUMNS_AT_ONCE] = {0};
    for (int c = 0; c < cols; c++) xj[c] = (double)p->x[j + c], size[c] = p->size[j + c];
    for (int64_t i = i0; i < i1; i++) {
        const double xi = (double)p->x[i], mi = p->size[i];
        double yi = 0, wi = 0;
        for (int c = 0; c < cols; c++) {
            const double e = (double)a[i + c * lda], m = fabs(e);
            yi += e * xj[c], wi += m * size[c];
            s[c] += e * xi, q[c] += m * mi;
        }
        y[i] += yi, w[i] += wi;
    }
    for (int c = 0; c < cols; c++) y[j + c] += s[c], w[j + c] += q[c];
#endif
}

static void group_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const product *p = arg;
    const mpk_dense *d = &p->call->dense;
    const bool upper = d->uplo == MPK_UPPER;
    const int64_t n = d->n, j0 = p->edge[item], j1 = p->edge[item + 1];
    const int64_t i0 = upper ? 0 : j0, i1 = upper ? j1 : n; /* rows that these columns touch */
    double *y = p->y + item * n * PARTS, *w = p->w + item * n;
    (void)pool, (void)worker;
    memset(y + i0 * PARTS, 0, (size_t)((i1 - i0) * PARTS) * sizeof *y);
    memset(w + i0, 0, (size_t)(i1 - i0) * sizeof *w);
    for (int64_t j = j0; j < j1; j += COLUMNS_AT_ONCE) {
        const int cols = (int)(j1 - j < COLUMNS_AT_ONCE ? j1 - j : COLUMNS_AT_ONCE);
        for (int64_t c = j; c < j + cols; c++) { /* the corner */
            const T *a = (const T *)p->call->a + c * p->call->lda;
            const T diagonal = d->symmetry == MPK_HERMITIAN ? t_make(t_re(a[c]), 0) : a[c];
            add(y + PARTS * c, diagonal, p->x[c]);
            w[c] += modulus(diagonal) * p->size[c];
            for (int64_t i = upper ? j : c + 1; i < (upper ? c : j + cols); i++)
                add_entry(p, y, w, i, c, a[i]);
        }
        const int64_t first = upper ? 0 : j + cols, last = upper ? j : n;
        if (cols == COLUMNS_AT_ONCE)
            add_columns(p, y, w, COLUMNS_AT_ONCE, j, first, last);
        else
            add_columns(p, y, w, cols, j, first, last);
    }
}

static void residual_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const product *p = arg;
    const mpk_dense *d = &p->call->dense;
    const int64_t n = d->n, r0 = item * ROWS, r1 = r0 + ROWS < n ? r0 + ROWS : n;
    const bool upper = d->uplo == MPK_UPPER;
    double omega = 0, most = 0;
    bool far = false;
    (void)pool, (void)worker;
    for (int64_t i = r0; i < r1; i++) {
        double sum[2] = {0, 0}, w = 0;
        for (int g = 0; g < GROUPS; g++) {
            if (upper ? p->edge[g + 1] <= i : p->edge[g] > i) continue;
            for (int h = 0; h < PARTS; h++) sum[h] += p->y[(g * n + i) * PARTS + h];
            w += p->w[g * n + i];
        }
        T b = p->b ? p->b[i] : t_make(0, 0);
        double re = (double)t_re(b) - sum[0];
        double im = MPKI_COMPLEX ? (double)t_im(b) - sum[1] : 0;
        double size = MPKI_COMPLEX ? hypot(re, im) : fabs(re), bound = w + modulus(b);
        double q = size == 0 ? 0 : size / bound;
        omega = mpki_larger(omega, q);
        most = mpki_larger(most, size);
        if (!(bound < 1e300) || !(bound > 1e-270 || (bound == 0 && p->nothing))) far = true;
        p->r[i] = t_make((R)re, (R)im);
    }
    double *sums = p->sums + 2 * item;
    sums[0] = omega == omega ? omega : INFINITY;
    sums[1] = far ? INFINITY : most;
}

static double norm_inf(int64_t n, const T *x) {
    double most = 0;
    for (int64_t i = 0; x && i < n; i++) {
        most = mpki_larger(most, modulus(x[i]));
    }
    return most == most ? most : INFINITY;
}

static int64_t residual_bytes(const mpki_dense_call *call, int32_t nrhs) {
    const int64_t n = call->dense.n;
    (void)nrhs;
    return (2 * ((n + ROWS - 1) / ROWS) + 8 + n + GROUPS * n * (PARTS + 1)) * 8;
}

static mpk_status residual(mpki_dense_call *call, int32_t nrhs, const void *vx, int64_t ldx,
                           const void *vb, int64_t ldb, void *vr, int64_t ldr,
                           mpki_dense_error *error, char *work) {
    const int64_t n = call->dense.n, items = (n + ROWS - 1) / ROWS;
    for (int32_t c = 0; c < nrhs; c++) {
        if (mpki_stop_wanted(call->ctx, "solve")) return mpki_stopped(call->ctx, "solve");
        product p = {.call = call, .sums = (double *)work, .ldx = ldx};
        p.x = (const T *)vx + c * ldx, p.r = (T *)vr + c * ldr;
        p.b = vb ? (const T *)vb + c * ldb : NULL;
        for (int g = 0; g <= GROUPS; g++) p.edge[g] = group_edge(&call->dense, g);
        p.size = p.sums + 2 * items;
        p.w = p.size + n, p.y = p.w + GROUPS * n;
        p.nothing = true; /* x = 0: rows of zeros are no underflow */
        for (int64_t i = 0; i < n; i++) {
            p.size[i] = modulus(p.x[i]);
            p.nothing &= p.size[i] == 0;
        }
        mpki_pool_for(call->pool, 0, GROUPS, group_item, &p);
        mpki_pool_for(call->pool, 0, items, residual_item, &p);
        if (!error) continue;
        error[c] = (mpki_dense_error){0, 0, norm_inf(n, p.x), norm_inf(n, p.b), false};
        for (int64_t k = 0; k < items; k++) {
            error[c].omega = fmax(error[c].omega, p.sums[2 * k]);
            error[c].r_inf = fmax(error[c].r_inf, p.sums[2 * k + 1]);
        }
        error[c].far = !isfinite(error[c].r_inf);
        if (!isfinite(error[c].x_inf)) error[c].omega = INFINITY;
    }
    return MPK_OK;
}

static void largest_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const product *p = arg;
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
        if (p->ldx) {
            double m[4] = {modulus(diagonal), 0, 0, 0};
            for (int64_t k = k0; k < k1; k++) m[k & 3] += modulus(col[k]);
            w[i - r0] += m[0] + m[1] + m[2] + m[3];
        }
    }
    if (p->ldx) /* only for the norm: the rest of the rows */
        for (int64_t j = upper ? r0 : 0; j < (upper ? n : r1); j++) {
            int64_t i0 = r0, i1 = r1;
            if (upper && i1 > j) i1 = j;
            if (!upper && i0 < j + 1) i0 = j + 1;
            for (int64_t i = i0; i < i1; i++) w[i - r0] += modulus(a[i + j * lda]);
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
    product p = {.call = call, .sums = s, .ldx = norm != NULL};
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
                    void *dst, int64_t ldd) {
    T *to = dst;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < rows; i++)
            to[i + j * ldd] = src ? t_load(from, src, i + j * lds) : t_make(0, 0);
}

static mpk_status axpy(mpki_dense_call *call, int64_t cols, const double alpha[2], const void *vx,
                       int64_t ldx, void *vy, int64_t ldy) {
    const T *x = vx, m = t_make((R)alpha[0], (R)alpha[1]);
    T *y = vy;
    for (int64_t j = 0; j < cols; j++)
        for (int64_t i = 0; i < call->dense.n; i++) y[i + j * ldy] += t_mul(x[i + j * ldx], m);
    return MPK_OK;
}

static mpk_status dot(mpki_dense_call *call, const void *vx, const void *vy, double result[2]) {
    const T *x = vx, *y = vy;
    double sum[2] = {0, 0};
    for (int64_t i = 0; i < call->dense.n; i++) add(sum, t_conj(x[i]), y[i]);
    result[0] = sum[0], result[1] = sum[1];
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
    .residual = residual,
    .residual_bytes = residual_bytes};
