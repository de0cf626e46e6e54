/* SPDX-License-Identifier: BSD-3-Clause */
/* Pivots measured with A: the small system of their vectors. */
#include "measured.h"
#include "../core/precision.h"

#include <math.h>
#include <string.h>

static T product(int32_t n, const T *u, const T *x) {
    T sum = t_make(0, 0);
    for (int32_t i = 0; i < n; i++) sum += t_mul(t_conj(u[i]), x[i]);
    return sum;
}

double FN(measured_level)(int32_t n, const void *vv, const double *w) {
    const T *v = vv;
    double sum = 0;
    for (int32_t i = 0; i < n; i++) sum += (double)t_abs(v[i]) * w[i];
    return sum;
}

bool FN(measured_inverse)(int32_t n, int count, const void *vu, const void *vr, const double *level,
                          void *inverse) {
    enum { CLEAR = 1000 };
    const T *u = vu, *r = vr;
    T t[MPKI_WEAK_MOST][MPKI_WEAK_MOST], *out = inverse;
    double size[MPKI_WEAK_MOST]; /* pivots differ by many orders of magnitude */
    double noise = 0;            /* of t so scaled */
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            t[i][j] = -product(n, u + (int64_t)i * n, r + (int64_t)j * n);
    for (int i = 0; i < count; i++) {
        const double tii = (double)t_abs(t[i][i]);
        noise = fmax(noise, CLEAR * (double)R_EPS * level[i] / tii);
        if (!(noise < 1) || !isfinite(tii)) return false;
        size[i] = sqrt(tii);
    }
    for (int j = 0; j < count; j++) {
        T b[MPKI_WEAK_MOST][MPKI_WEAK_MOST], c[MPKI_WEAK_MOST];
        for (int i = 0; i < count; i++) {
            c[i] = t_make(i == j, 0);
            for (int k = 0; k < count; k++) b[i][k] = t[i][k] / (R)size[i] / (R)size[k];
        }
        if (FN(null_solve)(count, b, c) < count) return false;
        for (int i = 0; i < count; i++) {
            if (!((double)t_abs(c[i]) * noise < 1)) return false;
            out[j * count + i] = c[i] / (R)size[i] / (R)size[j];
            if (!isfinite((double)t_abs(out[j * count + i]))) return false;
        }
    }
    return true;
}

void FN(measured_part)(int32_t n, const struct mpki_measured *m, const void *x, void *vc) {
    const T *u = m->u, *inverse = m->inverse;
    T *c = vc;
    memset(c, 0, (size_t)m->count * sizeof *c);
    for (int j = 0; j < m->count; j++) {
        const T part = product(n, u + (int64_t)j * n, x);
        for (int i = 0; i < m->count; i++) c[i] += t_mul(inverse[j * m->count + i], part);
    }
}

void FN(measured_add)(int32_t n, const struct mpki_measured *m, const void *vc, void *vx) {
    const T *u = m->u, *c = vc;
    T *x = vx;
    for (int j = 0; j < m->count; j++)
        for (int32_t i = 0; i < n; i++) x[i] += t_mul(u[(int64_t)j * n + i], c[j]);
}
