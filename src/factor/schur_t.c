/* SPDX-License-Identifier: BSD-3-Clause */
/* A Schur complement made whole, and rows of vectors that are taken out and put back. */
#include "schur.h"
#include "../core/precision.h"
#include "../core/scaled.h"

bool FN(schur_finish)(const mpki_split *split, bool hermitian, const void *corner, void *vs,
                      int64_t lds) {
    enum { SIDE = 32 };
    const T *a = corner;
    T *s = vs;
    const int32_t m = split->outer;
    R check = 0; /* not 0 where NaN or Inf was met */
    for (int32_t j = 0; j < m; j++)
        for (int64_t k = split->corner_ap[j]; k < split->corner_ap[j + 1]; k++)
            s[split->corner_ai[k] + j * lds] += a[k];
    for (int32_t j = 0; hermitian && j < m; j++) s[j + j * lds] = t_make(t_re(s[j + j * lds]), 0);
    for (int32_t j0 = 0; j0 < m;
         j0 += SIDE) /* squares: a column of the other triangle is far away */
        for (int32_t i0 = j0; i0 < m; i0 += SIDE)
            for (int32_t j = j0; j < j0 + SIDE && j < m; j++)
                for (int32_t i = i0 < j ? j : i0; i < i0 + SIDE && i < m; i++) {
                    const T x = s[i + j * lds];
                    const R size = t_abs1(x);
                    check += size - size;
                    s[j + i * lds] = i > j ? conj_if(hermitian, x) : x;
                }
    return check == 0;
}

void FN(rows_in)(int32_t m, const int32_t *list, int32_t nrhs, const void *vx, int64_t ldx,
                 void *vy, int64_t ldy) {
    const T *x = vx;
    T *y = vy;
    for (int32_t r = 0; r < nrhs; r++)
        for (int32_t k = 0; k < m; k++) y[k + r * ldy] = x[list[k] + r * ldx];
}

void FN(rows_out)(int32_t m, const int32_t *list, int32_t nrhs, const void *vy, int64_t ldy,
                  void *vx, int64_t ldx) {
    const T *y = vy;
    T *x = vx;
    for (int32_t r = 0; r < nrhs; r++)
        for (int32_t k = 0; k < m; k++) x[list[k] + r * ldx] = y[k + r * ldy];
}

void FN(rows_add)(int32_t m, const int32_t *list, int32_t nrhs, const void *vx, int64_t ldx,
                  void *vy, int64_t ldy) {
    const T *x = vx;
    T *y = vy;
    for (int32_t r = 0; r < nrhs; r++)
        for (int32_t k = 0; k < m; k++) y[k + r * ldy] += x[list[k] + r * ldx];
}

static inline T by_two(T x, double s, double t) {
    return t_make((R)mpki_scaled((double)t_re(x), s, t), (R)mpki_scaled((double)t_im(x), s, t));
}

void FN(schur_scale)(int32_t m, void *vs, double *scale, double *most) {
    enum { SWEEPS = 12 };
    T *s = vs;
    bool done = false;
    for (int32_t i = 0; i < m; i++) scale[i] = 1;
    for (int sweep = 0; sweep < SWEEPS && !done; sweep++) {
        done = true;
        for (int32_t j = 0; j < m; j++) {
            most[j] = 0;
            for (int32_t i = 0; i < m; i++) {
                const double x = (double)t_abs1(s[i + (int64_t)j * m]);
                most[j] = fmax(most[j], mpki_scaled(x, scale[i], scale[j]));
            }
        }
        for (int32_t j = 0; j < m; j++) {
            int exponent;
            if (!(most[j] > 0) || !isfinite(most[j])) continue;
            (void)frexp(most[j], &exponent);
            scale[j] = ldexp(scale[j], -exponent / 2);
            done = done && exponent > -2 && exponent < 2;
        }
    }
    for (int32_t j = 0; j < m; j++)
        for (int32_t i = 0; i < m; i++)
            s[i + (int64_t)j * m] = by_two(s[i + (int64_t)j * m], scale[i], scale[j]);
}

void FN(schur_rows_scale)(int32_t m, const double *scale, int32_t nrhs, void *vx, int64_t ldx) {
    T *x = vx;
    for (int32_t r = 0; r < nrhs; r++)
        for (int32_t k = 0; k < m; k++) x[k + r * ldx] = by_two(x[k + r * ldx], scale[k], 1);
}
