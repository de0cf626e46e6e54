/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_INVERSE_H
#define MPKI_BLOCK_INVERSE_H
/** What LDL^T and LDU of a diagonal block share: the explicit M, and the butterfly. */
#include "block_row.h"

/** m := L^-1 P B^T. lt [in] row k holds column k of the unit lower L beyond the diagonal; perm[k] =
 * old row at place k; butterfly: w reals or NULL. x: w ld entries of work. Padding is zeroed. */
static void block_inverse(int w, const T *lt, int ld, const int32_t *perm, const R *butterfly, T *m,
                          T *x) {
    memset(x, 0, (size_t)w * (size_t)ld * sizeof(T));
    for (int k = 0; k < w; k++) x[k * ld + k] = t_make(1, 0);
    for (int i = 1; i < w; i++)
        for (int k = 0; k < i; k++) FN(row_minus)(0, k + 1, x + i * ld, lt[k * ld + i], x + k * ld);
    memset(m, 0, (size_t)w * (size_t)ld * sizeof(T));
    for (int i = 0; i < w; i++)
        for (int k = 0; k <= i; k++) m[i * ld + perm[k]] = x[i * ld + k];
    if (!butterfly) return;
    int half = w / 2;
    const R s = (R)0.70710678118654752440;
    for (int i = 0; i < w; i++) {
        T *row = m + i * ld;
        for (int k = 0; k < half; k++) {
            T a = t_mul(row[k], t_make(s * butterfly[k], 0));
            T b = t_mul(row[half + k], t_make(s * butterfly[half + k], 0));
            row[k] = a + b, row[half + k] = a - b;
        }
        if (w % 2) row[w - 1] = t_mul(row[w - 1], t_make(butterfly[w - 1], 0));
    }
}

/** c := U^T c V for butterflies of depth 1 (Parker 1995; Baboulin et al. 2014):
 *  1/sqrt(2) [R S; R -S] of halves R, S of the w reals; the last row of an odd w stands alone. */
static void block_butterfly(int w, T *c, int ld, const R *u, const R *v) {
    int half = w / 2;
    const R s = (R)0.70710678118654752440;
    for (int i = 0; i < w; i++) {
        T *row = c + i * ld;
        for (int k = 0; k < half; k++) {
            T a = row[k], b = row[half + k];
            row[k] = t_mul(a + b, t_make(s * v[k], 0));
            row[half + k] = t_mul(a - b, t_make(s * v[half + k], 0));
        }
        if (w % 2) row[w - 1] = t_mul(row[w - 1], t_make(v[w - 1], 0));
    }
    for (int i = 0; i < half; i++) {
        T *row = c + i * ld, *other = c + (half + i) * ld;
        for (int k = 0; k < w; k++) {
            T a = row[k], b = other[k];
            row[k] = t_mul(a + b, t_make(s * u[i], 0));
            other[k] = t_mul(a - b, t_make(s * u[half + i], 0));
        }
    }
    for (int k = 0; k < w && w % 2; k++)
        c[(w - 1) * ld + k] = t_mul(c[(w - 1) * ld + k], t_make(u[w - 1], 0));
}

/** Largest modulus in m; not finite if anything is not. */
static R block_norm(int w, const T *m, int ld) {
    R most = 0, sum = 0;
    for (int i = 0; i < w; i++)
        for (int k = 0; k < w; k++) {
            R x = t_re(m[i * ld + k]), y = t_im(m[i * ld + k]), z = x * x + y * y;
            most = z > most ? z : most;
            sum += 0 * z;
        }
    if (sum == 0) return r_sqrt(most);
    most = 0; /* a square left the range, or something is not finite */
    for (int i = 0; i < w; i++)
        for (int k = 0; k < w; k++) {
            R z = t_abs(m[i * ld + k]);
            most = z > most || z != z ? z : most;
            if (most != most) return most;
        }
    return most;
}

#endif
