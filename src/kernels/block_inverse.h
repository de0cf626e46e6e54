/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_BLOCK_INVERSE_H
#define MPKI_BLOCK_INVERSE_H
/** What LDL^T and LDU of a diagonal block share: the explicit M, and the butterfly. */
#include "block_row.h"

/** m := m B^T. */
static void block_butterfly_of_m(int w, T *m, int ld, const R *butterfly) {
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

/* rows i .. i+n-1 of m from the rows before them, nv vectors from column `at` on */
INLINE void inverse_strip(const int n, const int nv, int i, const T *lt, int ld,
                          const int32_t *index, T *m, int at) {
    vec re[4][4];
#if MPKI_COMPLEX
    vec im[4][4];
#endif
    const T *l[4];
#pragma GCC unroll 4
    for (int r = 0; r < n; r++) {
        l[r] = lt + index[i + r];
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) {
            re[r][j] = v_load((const R *)(m + (i + r) * ld + at) + j * LANES);
#if MPKI_COMPLEX
            im[r][j] = (vec){0};
#endif
        }
    }
    for (int k = 0; k < i; k++) {
        const R *x = (const R *)(m + k * ld + at);
#pragma GCC unroll 4
        for (int r = 0; r < n; r++) {
            const R *a = (const R *)(l[r] + k * ld);
            vec a0 = v_all(a[0]);
#if MPKI_COMPLEX
            vec a1 = v_all(a[1]);
#endif
#pragma GCC unroll 4
            for (int j = 0; j < nv; j++) {
                re[r][j] -= v_load(x + j * LANES) * a0;
#if MPKI_COMPLEX
                im[r][j] -= v_load(x + j * LANES) * a1;
#endif
            }
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < n; r++) {
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) {
#if MPKI_COMPLEX
            re[r][j] += v_times_i(im[r][j]);
#endif
#pragma GCC unroll 4
            for (int k = 0; k < r; k++) re[r][j] -= FN(v_scaled)(re[k][j], l[r][(i + k) * ld]);
            v_store((R *)(m + (i + r) * ld + at) + j * LANES, re[r][j]);
        }
    }
}

/** m := L^-1 P B^T, with zeros in the padding. lt [in] row k holds column k of the unit lower L,
 * row i of L at index[i]; perm[i] = old row at position i; butterfly: w reals or NULL. Row i of
 * L^-1 P is e(perm[i]) minus the sum of L(i,k) times row k, and no row has an entry in the column
 * of a later pivot, so nothing need be sorted. */
static void block_inverse(int w, const T *lt, int ld, const int32_t *index, const int32_t *perm,
                          const R *butterfly, T *m) {
    int vectors = (w + ENTRIES - 1) / ENTRIES;
    memset(m, 0, (size_t)w * (size_t)ld * sizeof(T));
    for (int i = 0; i < w; i++) m[i * ld + perm[i]] = t_make(1, 0);
    for (int i = 0, n; i < w; i += n) {
        n = i + 4 <= w ? 4 : 1;
        for (int v = 0, nv; v < vectors; v += nv) {
            int at = v * ENTRIES;
            nv = n == 1 ? 1 : vectors - v >= 4 ? 4 : vectors - v >= 2 ? 2 : 1;
            if (n == 1)
                inverse_strip(1, 1, i, lt, ld, index, m, at);
            else if (nv == 4)
                inverse_strip(4, 4, i, lt, ld, index, m, at);
            else if (nv == 2)
                inverse_strip(4, 2, i, lt, ld, index, m, at);
            else
                inverse_strip(4, 1, i, lt, ld, index, m, at);
        }
    }
    if (butterfly) block_butterfly_of_m(w, m, ld, butterfly);
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
    vec top = {0}, bad = {0}, top2 = {0}, bad2 = {0};
    R most = 0, wrong = 0;
    for (int k = 0; k < w; k++)
        for (int j = 0; j < w; j += 2 * ENTRIES) {
            const R *at = (const R *)(m + k * ld + j);
            vec x = v_load(at), y = j + ENTRIES < ld ? v_load(at + LANES) : (vec){0};
#if MPKI_COMPLEX
            vec xi = v_times_i(x), yi = v_times_i(y);
            x = x * x + xi * xi, y = y * y + yi * yi;
#endif
            top = v_max(top, v_abs(x)), top2 = v_max(top2, v_abs(y));
            bad += x * 0, bad2 += y * 0;
        }
    top = v_max(top, top2), bad += bad2;
    for (int k = 0; k < LANES; k++) {
        most = top[k] > most ? top[k] : most;
        wrong += bad[k];
    }
    if (wrong == 0) return MPKI_COMPLEX ? r_sqrt(most) : most;
    most = 0; /* a square left the range, or an entry is not finite */
    for (int i = 0; i < w; i++)
        for (int k = 0; k < w; k++) {
            R z = t_abs(m[i * ld + k]);
            if (z != z) return z;
            most = z > most ? z : most;
        }
    return most;
}

#endif
