/* SPDX-License-Identifier: BSD-3-Clause */
/* Blocks below a pivot: C M^T D^-1, a product whose right factor M^T D^-1 is formed once for all
 * rows. Its error is bounded by |M^T| |D^-1|, as is that of the two steps one after the other. */
#include "block_isa.h"
#include "block_tile.h"
#include "block_turn.h"

/* vector at column j of column k of M^T D^-1 (M^H D^-1), stored as a row */
INLINE vec scaled_row(int k, int w, const T *m, int ld_m, const T *dinv, int hermitian, int j) {
    T e = dinv[2 * k], f = t_make(0, 0);
    const T *row = m + k * ld_m + j, *other = row;
    if (k + 1 < w && t_abs1(dinv[2 * k + 1]) > 0)
        f = dinv[2 * k + 1], other = row + ld_m;
    else if (k > 0 && t_abs1(dinv[2 * k - 1]) > 0)
        f = conj_if(hermitian, dinv[2 * k - 1]), other = row - ld_m;
    vec x = v_load((const R *)row), y = v_load((const R *)other);
    x = FN(v_conj_if)(hermitian, x), y = FN(v_conj_if)(hermitian, y);
    x = FN(v_scaled)(x, e);
    return other != row ? x + FN(v_scaled)(y, f) : x;
}

/* p: columns from .. from + nv vectors of M^T D^-1, w rows (rounded up) of nv vectors */
static void pack(int nv, int from, int w, const T *m, int ld_m, const T *dinv, int hermitian,
                 T *p) {
    for (int b = 0; b < nv; b++)
        for (int j = 0; j < w; j += TURN) {
            vec v[LANES_MAX];
#pragma GCC unroll 16
            for (int i = 0; i < TURN; i++) {
                int k = from + b * TURN + i;
                v[i] = k < w ? scaled_row(k, w, m, ld_m, dinv, hermitian, j) : (vec){0};
            }
            turn(v);
#pragma GCC unroll 16
            for (int i = 0; i < TURN; i++) v_store((R *)(p + ((j + i) * nv + b) * TURN), v[i]);
        }
}

INLINE void product_tile(const int mr, const int nv, int depth, const T *c, int ld, const T *p,
                         T *out) {
    tile t;
    tile_sum(mr, nv, depth, c, ld, p, nv * ENTRIES, &t);
#pragma GCC unroll 8
    for (int i = 0; i < mr; i++)
#pragma GCC unroll 4
        for (int j = 0; j < nv; j++) v_store((R *)(out + i * ld) + j * LANES, tile_at(&t, i, j));
}

/* out, a strip of nv vectors: rows of c times p */
static void product(int nv, int rows, int depth, const T *c, int ld, const T *p, T *out) {
    int mr = tile_rows(nv);
    for (int r = 0; r < rows; r += mr) {
        while (mr > rows - r) mr /= 2;
#define PRODUCT(mr, nv) product_tile(mr, nv, depth, c + r * ld, ld, p, out + r * ld)
        TILE_SHAPES(mr, nv, PRODUCT)
#undef PRODUCT
    }
}

/* c := from (which may be c); adds the squares of each column to norm2; returns the largest
 * modulus, squared for complex entries, and NaN if an entry is */
static R take(int rows, int w, int ld, const T *from, T *c, R *norm2) {
    R most = 0, bad = 0;
    for (int k = 0; k < w; k += ENTRIES) {
        vec sum = {0}, top = {0};
        for (int r = 0; r < rows; r++) {
            vec x = v_load((const R *)(from + r * ld + k));
            if (from != c) v_store((R *)(c + r * ld + k), x);
#if MPKI_COMPLEX
            vec y = v_times_i(x);
            x = x * x + y * y;
            sum += x;
            top = v_max(top, x);
#else
            sum += x * x;
            top = v_max(top, v_abs(x));
#endif
        }
        for (int i = 0; i < ENTRIES && k + i < w; i++) {
            norm2[k + i] += sum[i * PARTS];
            if (!(top[i * PARTS] <= most)) most = top[i * PARTS];
            if (sum[i * PARTS] != sum[i * PARTS]) bad = (R)NAN;
        }
    }
    return most + bad;
}

static R largest_modulus(int rows, int w, int ld, const T *c) {
    R most = 0;
    for (int r = 0; r < rows; r++)
        for (int k = 0; k < w; k++) {
            R x = t_abs(c[r * ld + k]);
            if (x != x) return x;
            most = x > most ? x : most;
        }
    return most;
}

R ISA_FN(block_solve)(int rows, int w, T *c, int ld, const T *m, int ld_m, const T *dinv,
                      int hermitian, T *work, R *norm2) {
    T p[MPKI_BLOCK_MAX * TILE_NV * ENTRIES] __attribute__((aligned(64)));
    int vectors = (w + ENTRIES - 1) / ENTRIES, once = vectors <= TILE_NV;
    T *out = once ? c : work; /* c is read again for every strip */
    for (int v = 0, nv; v < vectors; v += nv) {
        nv = tile_strip(vectors - v);
        pack(nv, v * ENTRIES, w, m, ld_m, dinv, hermitian, p);
        product(nv, rows, w, c, ld, p, out + v * ENTRIES);
    }
    R most = take(rows, w, ld, out, c, norm2);
    if (!MPKI_COMPLEX) return most;
    if (most > R_TINY / R_EPS && most < 1 / R_TINY) return r_sqrt(most);
    return largest_modulus(rows, w, ld, c); /* a square may have left the range */
}
