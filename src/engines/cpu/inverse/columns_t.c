/* SPDX-License-Identifier: BSD-3-Clause */
/* Columns of the approximate inverse of a triangle, by substitution on sparse columns; a triangle
 * taken apart. */
#include "core/precision.h"
#include "inverse.h"

#include <math.h>

/* The first of ascending rows that is not before `row`. */
static int64_t find(const int32_t *index, int64_t begin, int64_t end, int32_t row) {
    while (begin < end) {
        const int64_t middle = begin + (end - begin) / 2;
        if (index[middle] < row)
            begin = middle + 1;
        else
            end = middle;
    }
    return begin;
}

/* x -= x_r a_r on the rows of J: `count` rows in `rows`, row i of them at place[i - rows[0]]. */
static void subtract(const mpki_isai_columns *c, int32_t r, T xr, int64_t count,
                     const int32_t *rows, const int32_t *place, T *x) {
    const int32_t first = rows[0], last = rows[count - 1];
    enum { LONG = 16 }; /* so many times longer than J: look each row of J up */
    const int64_t begin = c->begin ? c->begin[r] : c->a->ptr[r];
    const int64_t end = c->end ? c->end[r] : c->a->ptr[r + 1];
    const int32_t *index = c->a->index;
    const T *val = c->a->val;
    if (end - begin > LONG * (count + 1)) {
        int64_t e = begin;
        for (int64_t k = 0; k < count && e < end; k++) {
            e = find(index, e, end, rows[k]);
            if (e < end && index[e] == rows[k]) x[k] -= t_mul(val[e], xr);
        }
        return;
    }
    for (int64_t e = begin; e < end; e++) {
        if (index[e] < first || index[e] > last) continue;
        const int32_t k = place[index[e] - first];
        if (k >= 0) x[k] -= t_mul(val[e], xr);
    }
}

static bool is_finite(T x) {
    return isfinite(t_re(x)) && isfinite(t_im(x));
}

/* Algorithm 1 of Anzt et al., column j: the rows of J are eliminated in the order of the triangle.
 * False: not finite. */
static bool column(const mpki_isai_columns *c, int32_t j, int32_t *place) {
    const int64_t begin = c->m->ptr[j], count = c->m->ptr[j + 1] - begin;
    const int32_t *rows = c->m->index + begin;
    const T *dinv = c->dinv;
    T *x = (T *)c->m->val + begin;
    const T xj = dinv ? dinv[j] : t_make(1, 0);
    bool good = is_finite(xj);
    if (count == 0) return good;
    for (int64_t k = 0; k < count; k++) {
        place[rows[k] - rows[0]] = (int32_t)k;
        x[k] = t_make(0, 0);
    }
    subtract(c, j, xj, count, rows, place, x);
    for (int64_t step = 0; step < count; step++) {
        const int64_t k = c->upper ? count - 1 - step : step;
        if (dinv) x[k] = t_mul(x[k], dinv[rows[k]]);
        good = good && is_finite(x[k]);
        if (step + 1 < count && t_abs1(x[k]) > 0) subtract(c, rows[k], x[k], count, rows, place, x);
    }
    for (int64_t k = 0; k < count; k++) place[rows[k] - rows[0]] = -1;
    return good;
}

int32_t FN(isai_columns)(const mpki_isai_columns *c, int32_t j0, int32_t j1, int32_t *place) {
    int32_t bad = c->n;
    for (int32_t j = j0; j < j1; j++)
        if (!column(c, j, place) && bad == c->n) bad = j;
    return bad;
}

/* ---- the largest entries of a column --------------------------------------------------------- */

/* The k-th largest (from 0) of count numbers, which change their order. */
static R select_largest(R *a, int64_t count, int64_t k) {
    int64_t low = 0, high = count - 1;
    while (low < high) {
        const R pivot = a[low + (high - low) / 2];
        int64_t i = low, j = high;
        while (i <= j) {
            while (a[i] > pivot) i++;
            while (pivot > a[j]) j--;
            if (i > j) break;
            const R swap = a[i];
            a[i++] = a[j], a[j--] = swap;
        }
        if (k <= j)
            high = j;
        else if (k >= i)
            low = i;
        else
            break;
    }
    return a[k];
}

void FN(isai_prune)(int64_t count, int64_t most, int32_t *rows, void *val, void *work) {
    T *x = val;
    R *size = work;
    int64_t larger = 0, to = 0;
    if (most == 0 || count <= most) return;
    for (int64_t k = 0; k < count; k++) size[k] = t_abs1(x[k]);
    const R bound = select_largest(size, count, most - 1);
    for (int64_t k = 0; k < count; k++) larger += t_abs1(x[k]) > bound;
    int64_t equal = most - larger; /* of those at the bound the first ones stay */
    for (int64_t k = 0; k < count; k++) {
        const R s = t_abs1(x[k]);
        if (!(s > bound) && !(s == bound && equal-- > 0)) continue;
        rows[to] = rows[k], x[to++] = x[k];
    }
}

/* ---- a triangle with all entries ------------------------------------------------------------- */

int32_t FN(isai_split)(const mpki_isai_split *s, int32_t j0, int32_t j1) {
    const T *val = s->val;
    T *dinv = s->dinv;
    int32_t bad = INT32_MAX;
    for (int32_t j = j0; j < j1; j++) {
        const int64_t begin = s->ptr[j], end = s->ptr[j + 1];
        const bool at_front = begin < end && s->row[begin] == j; /* as in a lower triangle */
        const int64_t middle = at_front ? begin : find(s->row, begin, end, j);
        const bool there = middle < end && s->row[middle] == j;
        const T d = there ? val[middle] : t_make(0, 0);
        s->cut[j] = s->upper ? middle : middle + there;
        dinv[j] = t_inv(d);
        if ((!(t_abs1(d) > 0) || !is_finite(d)) && bad == INT32_MAX) bad = j;
    }
    return bad;
}

bool FN(isai_finite)(int64_t count, const void *val, int64_t *bad) {
    for (*bad = 0; *bad < count; ++*bad)
        if (!is_finite(((const T *)val)[*bad])) return false;
    return true;
}

bool FN(isai_to_single)(int64_t count, const void *val, void *single) {
    const R *from = val;
    float *to = single;
    bool good = true;
    for (int64_t k = 0; k < count * (MPKI_COMPLEX + 1); k++) {
        to[k] = (float)from[k];
        good = good && isfinite(to[k]);
    }
    return good;
}
