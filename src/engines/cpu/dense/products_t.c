/* SPDX-License-Identifier: BSD-3-Clause */
/* Residuals of many solutions: A X and |A| |X| as products of matrices, by strips of rows, so that
 * A is read twice for up to 128 columns. Strips are independent; the sums of each have one order,
 * whatever the number of threads. A strip's rows come from the triangle and, mirrored, from the
 * columns below; they are made double first, so that the sums are in every precision. */
#include "engines/cpu/isa/cpu.h"
#include "methods_t.h"
#include "residual_t.h"

#include <string.h>

enum {
    STRIP = 256, /* rows of a task */
    LD = STRIP + 8,
    DEPTH = 128, /* columns of A at a time */
    MOST = 128,  /* right-hand sides at a time */
    FEW = 4,     /* fewer take a pass over A each */
    MIRROR = 8   /* columns that are turned at a time: a line of the cache */
};

#if MPKI_COMPLEX
typedef double complex wide;
#define WIDE(name) mpki_z_wide_##name
#else
typedef double wide;
#define WIDE(name) mpki_d_wide_##name
#endif

/* ---- what doubles do for every precision ----------------------------------------------------- */

#if MPKI_PRECISION == 1 || MPKI_PRECISION == 3
void FN(wide_product)(int64_t rows, int cols, int depth, const void *a, int64_t lda,
                      const void *packed, void *y, int64_t ldy, bool first) {
    FN(cpu_kernels)()->multiply(rows, cols, depth, a, lda, packed, y, ldy, first, INT64_MAX / 2);
}

int FN(wide_sliver)(void) {
    return FN(cpu_kernels)()->nc;
}
#endif

static wide widen(T x) {
#if MPKI_COMPLEX
    const double parts[2] = {(double)t_re(x), (double)t_im(x)};
    wide z;
    memcpy(&z, parts, sizeof z);
    return z;
#else
    return (double)x;
#endif
}

/* ---- the product ----------------------------------------------------------------------------- */

typedef struct products {
    const mpki_dense_call *call;
    int cols;
    const T *x, *b;
    T *r;
    int64_t ldx, ldb, ldr;
    int sliver, sliver_size;     /* columns side by side in `packed` and in `sizes` */
    int64_t padded, padded_size; /* columns of these */
    wide *packed;                /* X: blocks of DEPTH rows */
    double *sizes;               /* |X| */
    char *buffers;               /* of the threads */
    double *found;      /* for each strip and column: the largest omega, the largest entry of r */
    bool nothing[MOST]; /* x = 0 */
} products;

static int64_t blocks_of(int64_t n) {
    return (n + DEPTH - 1) / DEPTH;
}

static int64_t strips_of(int64_t n) {
    return (n + STRIP - 1) / STRIP;
}

static int64_t buffer_bytes(int64_t cols) {
    return (LD * DEPTH + STRIP * cols) * (int64_t)(sizeof(wide) + sizeof(double)) + 256;
}

/* rows of X of block `item`, widened, and their moduli, as right operands */
static void pack_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const products *p = arg;
    const int64_t n = p->call->dense.n, i0 = item * DEPTH;
    const int depth = (int)(n - i0 < DEPTH ? n - i0 : DEPTH);
    wide *packed = p->packed + i0 * p->padded;
    double *sizes = p->sizes + i0 * p->padded_size;
    (void)pool, (void)worker;
    for (int64_t c = 0; c < p->padded || c < p->padded_size; c++) {
        const T *x = p->x + i0 + c * p->ldx;
        const int64_t at = c / p->sliver * p->sliver * depth + c % p->sliver;
        const int64_t at_size = c / p->sliver_size * p->sliver_size * depth + c % p->sliver_size;
        for (int i = 0; i < depth; i++) {
            const T v = c < p->cols ? x[i] : t_make(0, 0);
            if (c < p->padded) packed[at + i * p->sliver] = widen(v);
            if (c < p->padded_size) sizes[at_size + i * p->sliver_size] = FN(modulus)(v);
        }
    }
}

static inline void put(wide *t, double *m, T a) {
    *t = widen(a), *m = FN(modulus)(a);
}

/* t, m := rows r0 .. r0 + rows - 1 of columns j0 .. j0 + depth - 1 of A and of |A|, all of them
 * stored (mirror = false), or all of them stored as their mirror's */
static void take(const products *p, int64_t r0, int rows, int64_t j0, int depth, bool mirror,
                 wide *t, double *m) {
    const int64_t lda = p->call->lda;
    const bool hermitian = p->call->dense.symmetry == MPK_HERMITIAN;
    const T *a = p->call->a;
    if (!mirror) {
        for (int j = 0; j < depth; j++)
            for (int i = 0; i < rows; i++)
                put(t + i + j * LD, m + i + j * LD, a[r0 + i + (j0 + j) * lda]);
        return;
    }
    for (int i0 = 0; i0 < rows; i0 += MIRROR) {
        const int i1 = rows - i0 < MIRROR ? rows : i0 + MIRROR;
        for (int j = 0; j < depth; j++)
            for (int i = i0; i < i1; i++)
                put(t + i + j * LD, m + i + j * LD, conj_if(hermitian, a[j0 + j + (r0 + i) * lda]));
    }
}

/* likewise where the diagonal passes through */
static void take_mixed(const products *p, int64_t r0, int rows, int64_t j0, int depth, wide *t,
                       double *m) {
    const mpk_dense *d = &p->call->dense;
    const T *a = p->call->a;
    const bool hermitian = d->symmetry == MPK_HERMITIAN, upper = d->uplo == MPK_UPPER;
    for (int j = 0; j < depth; j++)
        for (int i = 0; i < rows; i++) {
            const int64_t row = r0 + i, col = j0 + j;
            const bool stored = upper ? row <= col : row >= col;
            T v = stored ? a[row + col * p->call->lda]
                         : conj_if(hermitian, a[col + row * p->call->lda]);
            if (row == col && hermitian) v = t_make(t_re(v), 0);
            put(t + i + j * LD, m + i + j * LD, v);
        }
}

/* r = b - A x of a strip; y: -A x, w: -|A| |x| */
static void finish(const products *p, int64_t strip, int64_t r0, int rows, const wide *y,
                   const double *w) {
    for (int c = 0; c < p->cols; c++) {
        double omega = 0, most = 0;
        bool far = false;
        for (int i = 0; i < rows; i++) {
            const T b = p->b ? p->b[r0 + i + c * p->ldb] : t_make(0, 0);
            const wide sum = widen(b) + y[i + c * STRIP];
#if MPKI_COMPLEX
            const double re = creal(sum), im = cimag(sum), size = hypot(re, im);
#else
            const double re = sum, im = 0, size = fabs(re);
#endif
            const double bound = FN(modulus)(b) - w[i + c * STRIP];
            omega = mpki_larger(omega, size == 0 ? 0 : size / bound);
            most = mpki_larger(most, size);
            if (!(bound < 1e300) || !(bound > 1e-270 || (bound == 0 && p->nothing[c]))) far = true;
            p->r[r0 + i + c * p->ldr] = t_make((R)re, (R)im);
        }
        double *found = p->found + 2 * (strip * p->cols + c);
        found[0] = omega == omega ? omega : INFINITY;
        found[1] = far ? INFINITY : most;
    }
}

static void strip_item(mpki_pool *pool, int worker, void *arg, int64_t item) {
    const products *p = arg;
    const mpk_dense *d = &p->call->dense;
    const bool upper = d->uplo == MPK_UPPER;
    const int64_t n = d->n, r0 = item * STRIP;
    const int rows = (int)(n - r0 < STRIP ? n - r0 : STRIP);
    wide *t = (wide *)(p->buffers + worker * buffer_bytes(p->cols)), *y = t + LD * DEPTH;
    double *m = (double *)(y + (int64_t)STRIP * p->cols), *w = m + LD * DEPTH;
    (void)pool;
    for (int64_t j0 = 0; j0 < n; j0 += DEPTH) {
        const int depth = (int)(n - j0 < DEPTH ? n - j0 : DEPTH);
        const bool left = j0 + depth <= r0, right = j0 >= r0 + rows; /* of the diagonal */
        if (left || right)
            take(p, r0, rows, j0, depth, left == upper, t, m);
        else
            take_mixed(p, r0, rows, j0, depth, t, m);
        WIDE(product)(rows, p->cols, depth, t, LD, p->packed + j0 * p->padded, y, STRIP, j0 == 0);
        mpki_d_wide_product(rows, p->cols, depth, m, LD, p->sizes + j0 * p->padded_size, w, STRIP,
                            j0 == 0);
    }
    finish(p, item, r0, rows, y, w);
}

static int64_t up(int64_t bytes) {
    return (bytes + 63) / 64 * 64;
}

static int64_t many_bytes(const mpki_dense_call *call, int32_t nrhs) {
    const int64_t n = call->dense.n, cols = nrhs < MOST ? nrhs : MOST, padded = cols + 16;
    return up(2 * strips_of(n) * cols * 8) + up(n * padded * (int64_t)sizeof(wide)) +
           up(n * padded * 8) + call->threads * up(buffer_bytes(cols)) + 64;
}

static void many(products *p, mpki_dense_error *error, char *work) {
    const mpki_dense_call *call = p->call;
    const int64_t n = call->dense.n, strips = strips_of(n);
    p->sliver = WIDE(sliver)(), p->sliver_size = mpki_d_wide_sliver();
    p->padded = (p->cols + p->sliver - 1) / p->sliver * p->sliver;
    p->padded_size = (p->cols + p->sliver_size - 1) / p->sliver_size * p->sliver_size;
    work = (char *)(((uintptr_t)work + 63) / 64 * 64);
    p->found = (double *)work, work += up(2 * strips * p->cols * 8);
    p->packed = (wide *)work, work += up(n * p->padded * (int64_t)sizeof(wide));
    p->sizes = (double *)work, work += up(n * p->padded_size * 8);
    p->buffers = work;
    for (int c = 0; c < p->cols; c++) {
        const T *x = p->x + c * p->ldx;
        p->nothing[c] = true; /* x = 0: rows of zeros are no underflow */
        for (int64_t i = 0; i < n && p->nothing[c]; i++) p->nothing[c] = FN(modulus)(x[i]) == 0;
    }
    mpki_pool_for(call->pool, 0, blocks_of(n), pack_item, p);
    mpki_pool_for(call->pool, 0, strips, strip_item, p);
    for (int64_t k = 0; error && k < strips * p->cols; k++) {
        mpki_dense_error *e = &error[k % p->cols];
        e->omega = fmax(e->omega, p->found[2 * k]);
        e->r_inf = fmax(e->r_inf, p->found[2 * k + 1]);
    }
}

/* ---- the slot -------------------------------------------------------------------------------- */

static double norm_inf(int64_t n, const T *x) {
    double most = 0;
    for (int64_t i = 0; x && i < n; i++) most = mpki_larger(most, FN(modulus)(x[i]));
    return most == most ? most : INFINITY;
}

int64_t FN(dense_residual_bytes)(const mpki_dense_call *call, int32_t nrhs) {
    const int64_t one = FN(dense_residual_one_bytes)(call);
    const int64_t more = nrhs < FEW ? 0 : many_bytes(call, nrhs);
    return one > more ? one : more;
}

mpk_status FN(dense_residual)(mpki_dense_call *call, int32_t nrhs, const void *vx, int64_t ldx,
                              const void *vb, int64_t ldb, void *vr, int64_t ldr,
                              mpki_dense_error *error, char *work) {
    const int64_t n = call->dense.n;
    int32_t cols = 1;
    for (int32_t c = 0; c < nrhs; c += cols) {
        if (mpki_stop_wanted(call->ctx, "solve")) return mpki_stopped(call->ctx, "solve");
        const T *x = (const T *)vx + c * ldx, *b = vb ? (const T *)vb + c * ldb : NULL;
        T *r = (T *)vr + c * ldr;
        cols = nrhs - c < FEW ? 1 : nrhs - c < MOST ? nrhs - c : MOST;
        for (int32_t k = 0; error && k < cols; k++)
            error[c + k] = (mpki_dense_error){0, 0, norm_inf(n, x + k * ldx),
                                              norm_inf(n, b ? b + k * ldb : NULL), false};
        if (cols == 1) {
            FN(dense_residual_one)(call, x, b, r, error ? error + c : NULL, work);
        } else {
            products p = {.call = call, .cols = (int)cols, .x = x, .ldx = ldx};
            p.b = b, p.ldb = ldb, p.r = r, p.ldr = ldr;
            many(&p, error ? error + c : NULL, work);
        }
        for (int32_t k = c; error && k < c + cols; k++) {
            error[k].far = !isfinite(error[k].r_inf);
            if (!isfinite(error[k].x_inf)) error[k].omega = INFINITY;
        }
    }
    return MPK_OK;
}
