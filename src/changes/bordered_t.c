/* SPDX-License-Identifier: BSD-3-Clause */
/* The loops of changed matrices over entries. */
#include "../core/precision.h"
#include "bordered.h"

#include <math.h>
#include <string.h>

/* Column b of place p, by the law of A, times y: b^H y, or b^T y. */
static T along(const mpk_bordered *w, int32_t p, const T *y) {
    const mpki_change *b = &w->place[p];
    const T *value = b->value;
    if (b->kind == MPKI_REMOVED) return y[b->removed];
    T sum = t_make(0, 0);
    for (int32_t k = 0; k < b->count; k++)
        sum += t_mul(conj_if(w->hermitian, value[k]), y[b->row[k]]);
    return sum;
}

/* Its terms, by their sizes. */
static double sizes_along(const mpk_bordered *w, int32_t p, const T *y) {
    const mpki_change *b = &w->place[p];
    const T *value = b->value;
    if (b->kind == MPKI_REMOVED) return (double)t_abs1(y[b->removed]);
    double sum = 0;
    for (int32_t k = 0; k < b->count; k++)
        sum += (double)t_abs1(value[k]) * (double)t_abs1(y[b->row[k]]);
    return sum;
}

void FN(bordered_corner)(mpk_bordered *w, int32_t p) {
    const int64_t ld = w->capacity;
    const T *c = w->c;
    T *s = w->s;
    w->place[p].noise = (double)t_abs1(c[p + p * ld]) + sizes_along(w, p, w->place[p].x);
    for (int32_t q = 0; q < w->capacity; q++) {
        if (w->place[q].kind == MPKI_FREE) continue;
        T x = c[q + p * ld] - along(w, q, w->place[p].x);
        if (q == p && w->hermitian) x = t_make(t_re(x), 0);
        s[q + p * ld] = x;
        s[p + q * ld] = conj_if(w->hermitian, x);
    }
}

void FN(bordered_keep)(const mpk_bordered *w, const void *v, void *vy) {
    T *y = vy;
    memcpy(y, v, (size_t)w->n * sizeof(T));
}

void FN(bordered_condense)(const mpk_bordered *w, const void *vv, const void *vy, void *vt) {
    const T *v = vv, *y = vy;
    T *t = vt;
    for (int32_t k = 0; k < mpki_changes(w); k++)
        t[k] = v[w->n + w->order[k]] - along(w, w->order[k], y);
}

void FN(bordered_expand)(const mpk_bordered *w, bool whole, const void *vz, void *vy, void *vv) {
    enum { ROWS = 512 };
    const int32_t n = w->n, changes = mpki_changes(w);
    const T *z = vz;
    T *y = vy, *v = vv;
    for (int32_t i0 = 0; i0 < n;
         i0 += ROWS) { /* a stretch of y stays near while all columns pass */
        const int32_t i1 = n - i0 < ROWS ? n : i0 + ROWS;
        for (int32_t k = 0; k < changes; k++) {
            const T *restrict x = w->place[w->order[k]].x;
            const T zk = z[k];
            for (int32_t i = i0; i < i1; i++) y[i] -= t_mul(x[i], zk);
        }
    }
    memcpy(v, y, (size_t)n * sizeof(T));
    memset(v + n, 0, (size_t)w->capacity * sizeof(T));
    for (int32_t k = 0; k < changes; k++) {
        const mpki_change *b = &w->place[w->order[k]];
        if (b->kind == MPKI_ADDED || whole) v[n + w->order[k]] = z[k];
        if (b->kind == MPKI_REMOVED && !whole) v[b->removed] = t_make(0, 0);
    }
}

double FN(bordered_gather)(const mpk_bordered *w, void *vm, double *scale) {
    enum { ROUNDS = 3 };
    const int64_t ld = w->capacity;
    const int32_t k = mpki_changes(w);
    const T *s = w->s;
    T *m = vm;
    for (int32_t i = 0; i < k; i++) scale[i] = 1;
    for (int round = 0; round < ROUNDS; round++) /* each row's largest entry comes near 1 */
        for (int32_t i = 0; i < k; i++) {
            double most = 0;
            for (int32_t j = 0; j < k; j++)
                most = fmax(most, (double)t_abs1(s[w->order[i] + w->order[j] * ld]) * scale[i] *
                                      scale[j]);
            int exponent = 0;
            if (most > 0 && most < HUGE_VAL) frexp(most, &exponent);
            scale[i] = ldexp(scale[i], -(exponent / 2));
            if (!(scale[i] > 0x1p-400)) scale[i] = 0x1p-400;
            if (!(scale[i] < 0x1p400)) scale[i] = 0x1p400;
        }
    for (int32_t i = 0; i < k; i++) { /* what cancelled stays small */
        const double noise = w->place[w->order[i]].noise;
        int exponent = 0;
        if (noise > 0 && noise < HUGE_VAL) frexp(noise, &exponent);
        scale[i] = fmin(scale[i], ldexp(1, -(exponent / 2)));
    }
    double most = 0;
    for (int32_t j = 0; j < k; j++)
        for (int32_t i = 0; i < k; i++) {
            const T x = s[w->order[i] + w->order[j] * ld];
            const double by = scale[i] * scale[j];
            const T scaled = t_make((R)((double)t_re(x) * by), (R)((double)t_im(x) * by));
            m[i + (int64_t)j * k] = scaled;
            most = fmax(most, (double)t_abs1(scaled));
        }
    return most;
}

void FN(bordered_scale)(int32_t k, const double *scale, void *vt) {
    T *t = vt;
    for (int32_t i = 0; i < k; i++)
        t[i] = t_make((R)((double)t_re(t[i]) * scale[i]), (R)((double)t_im(t[i]) * scale[i]));
}

void FN(bordered_clean)(const mpk_bordered *w, bool whole, void *vv) {
    T *v = vv;
    for (int32_t p = 0; p < w->capacity; p++) {
        const mpki_change *b = &w->place[p];
        if (b->kind == MPKI_FREE || (b->kind == MPKI_REMOVED && !whole)) v[w->n + p] = t_make(0, 0);
        if (b->kind == MPKI_REMOVED && !whole) v[b->removed] = t_make(0, 0);
    }
}

int64_t FN(bordered_column)(const mpk_bordered *w, const void *va, bool whole, int32_t j,
                            int32_t *next, int32_t *ai, void *vx) {
    const mpk_analysis *an = w->fac->an;
    const int32_t n = w->n;
    const int64_t ld = w->capacity;
    const T *a = va, *c = w->c;
    T *ax = vx;
    int64_t count = 0;
    if (j >= n) {
        const int32_t p = j - n;
        if (w->place[p].kind != MPKI_ADDED) return 0;
        for (int32_t q = p; q < w->capacity; q++) {
            if (w->place[q].kind != MPKI_ADDED || !(t_abs1(c[q + p * ld]) > 0)) continue;
            if (ai) ai[count] = n + q, ax[count] = c[q + p * ld];
            count++;
        }
        return count;
    }
    const bool gone = w->place_of[j] >= 0 && !whole;
    for (int64_t k = an->ap[j]; k < an->ap[j + 1] && !gone; k++) {
        if (w->place_of[an->ai[k]] >= 0 && !whole) continue;
        if (ai) ai[count] = an->ai[k], ax[count] = a[k];
        count++;
    }
    for (int32_t k = 0; k < mpki_changes(w); k++) {
        const int32_t p = w->order[k];
        const mpki_change *b = &w->place[p];
        const T *value = b->value;
        if (b->kind == MPKI_REMOVED) {
            if (!whole || b->removed != j) continue;
            if (ai) ai[count] = n + p, ax[count] = t_make(1, 0);
            count++;
        } else if (next[p] < b->count && b->row[next[p]] == j) {
            const T x = conj_if(w->hermitian, value[next[p]++]);
            if (gone) continue;
            if (ai) ai[count] = n + p, ax[count] = x;
            count++;
        }
    }
    return count;
}

double FN(bordered_step)(int64_t n, const double *scale, const void *vd, const void *vx) {
    const T *d = vd, *x = vx;
    double d_most = 0, x_most = 0;
    for (int64_t i = 0; i < n; i++) {
        const double di = (double)t_abs1(d[i]) / scale[i], xi = (double)t_abs1(x[i]) / scale[i];
        d_most = di > d_most ? di : d_most;
        x_most = xi > x_most ? xi : x_most;
    }
    return d_most > 0 ? d_most / x_most : 0;
}
