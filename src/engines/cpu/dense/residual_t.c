/* SPDX-License-Identifier: BSD-3-Clause */
/* The residual of one solution: A x and |A| |x| in one pass over the triangle. Sums are in
 * double. */
#include "residual_t.h"
#include "methods_t.h"

#include <string.h>

enum { ROWS = 128, GROUPS = 16, COLUMNS_AT_ONCE = 4 };

typedef struct product {
    const mpki_dense_call *call;
    const T *x;
    T *r;
    const T *b;
    double *sums;             /* for each task: the largest omega and the largest entry of r */
    double *size, *y, *w;     /* |x|; for each group of columns, A x and |A| |x| */
    bool nothing;             /* x = 0 */
    int64_t edge[GROUPS + 1]; /* columns of the groups */
} product;

/* A x and |A| |x| in one pass over the triangle: groups of columns of about the same area, each
 * with sums of its own, which are added in order. */
static int64_t group_edge(const mpk_dense *d, int group) {
    const double share = (double)group / GROUPS;
    if (d->uplo == MPK_UPPER) return (int64_t)((double)d->n * sqrt(share));
    return group == GROUPS ? d->n : (int64_t)((double)d->n * (1 - sqrt(1 - share)));
}

/* entry (i, j), i not j, and its mirror */
static inline void add_entry(const product *p, double *y, double *w, int64_t i, int64_t j, T e) {
    const double m = FN(modulus)(e);
    FN(add)(y + PARTS * i, e, p->x[j]);
    FN(add)(y + PARTS * j, conj_if(p->call->dense.symmetry == MPK_HERMITIAN, e), p->x[i]);
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
            FN(add)(y + PARTS * c, diagonal, p->x[c]);
            w[c] += FN(modulus)(diagonal) * p->size[c];
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
        double size = MPKI_COMPLEX ? hypot(re, im) : fabs(re), bound = w + FN(modulus)(b);
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

int64_t FN(dense_residual_one_bytes)(const mpki_dense_call *call) {
    const int64_t n = call->dense.n;
    return (2 * ((n + ROWS - 1) / ROWS) + 8 + n + GROUPS * n * (PARTS + 1)) * 8;
}

void FN(dense_residual_one)(const mpki_dense_call *call, const T *x, const T *b, T *r,
                            mpki_dense_error *error, char *work) {
    const int64_t n = call->dense.n, items = (n + ROWS - 1) / ROWS;
    product p = {.call = call, .sums = (double *)work, .x = x, .b = b, .r = r};
    for (int g = 0; g <= GROUPS; g++) p.edge[g] = group_edge(&call->dense, g);
    p.size = p.sums + 2 * items;
    p.w = p.size + n, p.y = p.w + GROUPS * n;
    p.nothing = true; /* x = 0: rows of zeros are no underflow */
    for (int64_t i = 0; i < n; i++) {
        p.size[i] = FN(modulus)(p.x[i]);
        p.nothing &= p.size[i] == 0;
    }
    mpki_pool_for(call->pool, 0, GROUPS, group_item, &p);
    mpki_pool_for(call->pool, 0, items, residual_item, &p);
    for (int64_t k = 0; error && k < items; k++) {
        error->omega = fmax(error->omega, p.sums[2 * k]);
        error->r_inf = fmax(error->r_inf, p.sums[2 * k + 1]);
    }
}
