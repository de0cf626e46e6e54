/* SPDX-License-Identifier: BSD-3-Clause */
/* The factors of a diagonal block, M and D, times vectors. */
#include "block_dot.h"
#include "block_isa.h"
#include "block_many.h"
#include "block_pivot.h"

static void multiply_many(int w, const T *m, int ld, const T *x, int nrhs, T *y) {
    uint8_t row[MPKI_BLOCK_MAX];
    many_block xs;
    for (int i = 0; i < w; i++) row[i] = (uint8_t)i;
    for (int r = 0, wide; r < nrhs; r += wide) {
        wide = nrhs - r < TILE_NV * TURN ? nrhs - r : TILE_NV * TURN;
        int nv = many_copy(w, NULL, x + r, nrhs, wide, 0, &xs);
        many_dots(nv, w, row, w, m, ld, &xs, y + r, nrhs, wide, 1);
    }
}

void ISA_FN(block_multiply)(int w, const T *m, int ld, const T *x, int nrhs, T *y) {
    if (nrhs != 1) {
        multiply_many(w, m, ld, x, nrhs, y);
        return;
    }
    T out[MPKI_BLOCK_MAX + LANES_MAX];
    spread xs;
    spread_of(w, x, &xs);
    dots(1, w, w, m, ld, &xs, out);
    memcpy(y, out, (size_t)w * sizeof(T));
}

static void multiply_many_t(int w, const T *m, int ld, const T *x, int nrhs, int conjugate, T *y) {
    many_block xs, ys;
    for (int r = 0, wide; r < nrhs; r += wide) {
        wide = nrhs - r < TILE_NV * TURN ? nrhs - r : TILE_NV * TURN;
        int nv = many_copy(w, NULL, x + r, nrhs, wide, conjugate, &xs);
        memset(ys.x, 0, (size_t)(w * nv) * sizeof(vec));
        many_combine(nv, w, w, m, ld, &xs, &ys);
        for (int k = 0; k < w; k++)
            for (int j = 0; j < nv; j++)
                many_set(y + k * nrhs + r, j, wide,
                         FN(v_conj_if)(conjugate, v_load((R *)(ys.x + (k * nv + j) * TURN))));
    }
}

void ISA_FN(block_multiply_t)(int w, const T *m, int ld, const T *x, int nrhs, int conjugate,
                              T *y) {
    if (nrhs != 1) {
        multiply_many_t(w, m, ld, x, nrhs, conjugate, y);
        return;
    }
    T xc[MPKI_BLOCK_MAX]; /* M^H x = conj(M^T conj(x)) */
    for (int i = 0; i < w; i++) xc[i] = conj_if(conjugate, x[i]);
    spread ys;
    combine(1, w, w, m, ld, xc, &ys);
    for (int k = 0; k < w; k += TURN)
        many_set(y, k / TURN, w, FN(v_conj_if)(conjugate, gathered_at(&ys, k)));
}

void ISA_FN(block_diagonal)(int w, const T *d, const T *dinv, int absolute, int hermitian, int nrhs,
                            T *x) {
    (void)d;
    for (int k = 0; k < w; k++) {
        T e11 = dinv[2 * k], e21 = dinv[2 * k + 1], *xk = x + k * nrhs, *yk = xk + nrhs;
        if (k + 1 < w && t_abs1(e21) > 0) {
            T e22 = dinv[2 * k + 2], e12 = conj_if(hermitian, e21);
            if (absolute) FN(pivot_modulus)(&e11, &e21, &e12, &e22, hermitian);
            for (int r = 0; r < nrhs; r++) {
                T a = xk[r], b = yk[r];
                xk[r] = t_mul(e11, a) + t_mul(e12, b);
                yk[r] = t_mul(e21, a) + t_mul(e22, b);
            }
            k++;
        } else {
            if (absolute) e11 = t_make(t_abs(e11), 0);
            for (int r = 0; r < nrhs; r++) xk[r] = t_mul(e11, xk[r]);
        }
    }
}
