/* SPDX-License-Identifier: BSD-3-Clause */
/* One column of an approximate inverse that is not triangular: a small dense system, by LU with
 * partial pivoting, or by Cholesky's method. */
#include "core/precision.h"
#include "inverse.h"

#include <math.h>

static bool is_finite(T x) {
    return isfinite(t_re(x)) && isfinite(t_im(x));
}

/* The rows of J, j among them. */
static int32_t row_of(const int32_t *rows, int64_t at, int32_t j, int64_t k) {
    return k < at ? rows[k] : k == at ? j : rows[k - 1];
}

/* a (w x w, by columns) := A(J, J); returns a_jj. */
static T gather(const mpki_isai_small *c, const int32_t *rows, int64_t at, int32_t j, int64_t w,
                const int32_t *place, T *a) {
    const int32_t first = row_of(rows, at, j, 0), last = row_of(rows, at, j, w - 1);
    const T *val = c->a->val;
    for (int64_t k = 0; k < w; k++) {
        const int32_t col = row_of(rows, at, j, k);
        T *to = a + k * w;
        for (int64_t i = 0; i < w; i++) to[i] = t_make(0, 0);
        for (int64_t e = c->a->ptr[col]; e < c->a->ptr[col + 1]; e++) {
            const int32_t i = c->a->index[e];
            if (i >= first && i <= last && place[i - first] >= 0) to[place[i - first]] = val[e];
        }
    }
    return a[at * w + at];
}

/* a x = e_at. False: singular: a pivot is nothing but rounding beside its column. */
static bool solve(int64_t w, int64_t at, T *a, T *x) {
    for (int64_t i = 0; i < w; i++) x[i] = t_make(i == at, 0);
    for (int64_t k = 0; k < w; k++) {
        T *col = a + k * w;
        R size = 0;
        int64_t pivot = k;
        for (int64_t i = 0; i < w; i++) { /* the column as it was: U above, what is left below */
            const R modulus = t_abs1(col[i]);
            if (!(modulus <= size)) size = modulus;
            if (i > k && t_abs1(col[i]) > t_abs1(col[pivot])) pivot = i;
        }
        if (!(t_abs1(col[pivot]) > R_EPS * size) || !isfinite(size)) return false;
        if (pivot != k) {
            for (int64_t q = 0; q < w; q++) {
                const T swap = a[q * w + k];
                a[q * w + k] = a[q * w + pivot], a[q * w + pivot] = swap;
            }
            const T swap = x[k];
            x[k] = x[pivot], x[pivot] = swap;
        }
        const T inverse = t_inv(col[k]);
        for (int64_t i = k + 1; i < w; i++) col[i] = t_mul(col[i], inverse);
        for (int64_t q = k + 1; q < w; q++) {
            const T u = a[q * w + k];
            if (!(t_abs1(u) > 0)) continue;
            for (int64_t i = k + 1; i < w; i++) a[q * w + i] -= t_mul(col[i], u);
        }
        for (int64_t i = k + 1; i < w; i++) x[i] -= t_mul(col[i], x[k]);
    }
    for (int64_t k = w - 1; k >= 0; k--) {
        x[k] = t_mul(x[k], t_inv(a[k * w + k]));
        for (int64_t i = 0; i < k; i++) x[i] -= t_mul(a[k * w + i], x[k]);
    }
    return true;
}

/* a = C C^H, x := C^-H e_last. False: a is not positive definite. */
static bool solve_definite(int64_t w, T *a, T *x) {
    for (int64_t k = 0; k < w; k++) {
        T *col = a + k * w;
        R d = t_re(col[k]);
        const R was = d;
        for (int64_t q = 0; q < k; q++) {
            const T u = a[q * w + k];
            d -= t_re(u) * t_re(u) + t_im(u) * t_im(u);
            for (int64_t i = k + 1; i < w; i++) col[i] -= t_mul(a[q * w + i], t_conj(u));
        }
        if (!(d > R_EPS * was) || !isfinite(d)) return false;
        d = r_sqrt(d);
        col[k] = t_make(d, 0);
        for (int64_t i = k + 1; i < w; i++) col[i] = t_make(t_re(col[i]) / d, t_im(col[i]) / d);
    }
    for (int64_t i = 0; i < w; i++) x[i] = t_make(i == w - 1, 0);
    for (int64_t k = w - 1; k >= 0; k--) {
        /* the last first, as they become known: the order of a device */
        for (int64_t i = w - 1; i > k; i--) x[k] -= t_mul(t_conj(a[k * w + i]), x[i]);
        const R d = t_re(a[k * w + k]);
        x[k] = t_make(t_re(x[k]) / d, t_im(x[k]) / d);
    }
    return true;
}

void FN(isai_small)(const mpki_isai_small *c, int32_t j, void *matrix, void *rhs, int32_t *place) {
    const int64_t begin = c->s->ptr[j], w = c->s->ptr[j + 1] - begin + 1;
    const int32_t *rows = c->s->index + begin;
    T *a = matrix, *x = rhs, *val = (T *)c->val + begin, *diagonal = c->diagonal;
    int64_t at = 0;
    while (at < w - 1 && rows[at] < j) at++;
    const int32_t first = row_of(rows, at, j, 0);
    for (int64_t k = 0; k < w; k++) place[row_of(rows, at, j, k) - first] = (int32_t)k;
    const T own = gather(c, rows, at, j, w, place, a);
    for (int64_t k = 0; k < w; k++) place[row_of(rows, at, j, k) - first] = -1;
    c->failed[j] = !(c->definite ? solve_definite(w, a, x) : solve(w, at, a, x));
    if (c->failed[j]) {
        for (int64_t k = 0; k < w; k++) x[k] = t_make(0, 0);
        x[at] = !(t_abs1(own) > 0) ? t_make(1, 0)
                : c->definite      ? t_make(1 / r_sqrt(t_abs(own)), 0)
                                   : t_inv(own);
    }
    for (int64_t k = 0; k < w; k++)
        if (!is_finite(x[k])) c->failed[j] = 2;
    diagonal[j] = x[at];
    for (int64_t k = 0; k < w - 1; k++) val[k] = x[k < at ? k : k + 1];
}
