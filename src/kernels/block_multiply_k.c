/* SPDX-License-Identifier: BSD-3-Clause */
/* The factors of a diagonal block, M and D, times vectors. */
#include "block_isa.h"
#include "block_pivot.h"

void ISA_FN(block_multiply)(int w, const T *m, int ld, const T *x, int nrhs, T *y) {
    for (int i = 0; i < w * nrhs; i++) y[i] = t_make(0, 0);
    for (int i = 0; i < w; i++)
        for (int k = 0; k < w; k++)
            for (int r = 0; r < nrhs; r++) y[i * nrhs + r] += t_mul(m[i * ld + k], x[k * nrhs + r]);
}

void ISA_FN(block_multiply_t)(int w, const T *m, int ld, const T *x, int nrhs, int conjugate,
                              T *y) {
    for (int i = 0; i < w * nrhs; i++) y[i] = t_make(0, 0);
    for (int i = 0; i < w; i++)
        for (int k = 0; k < w; k++) {
            T a = conj_if(conjugate, m[i * ld + k]);
            for (int r = 0; r < nrhs; r++) y[k * nrhs + r] += t_mul(a, x[i * nrhs + r]);
        }
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
