/* SPDX-License-Identifier: BSD-3-Clause */
/* L D L^T of a tile of at most 32 columns with complete pivoting (Bunch & Parlett 1971, SIAM J.
 * Numer. Anal. 8). Both triangles are kept, so a row is a column and every loop runs along memory;
 * the largest entry for the next step is found during this step's update. */
#include "alpha.h"
#include "isa.h"
#include "pivot.h"
#include "vector.h"

enum { LD = 32 };

INLINE void swap_t(T *a, T *b) {
    T t = *a;
    *a = *b;
    *b = t;
}

/* exchange rows and columns p and q of all n, including the rows of finished columns */
static void exchange(int n, T *a, int32_t *perm, int p, int q) {
    if (p == q) return;
    for (int k = 0; k < n; k++) swap_t(&a[p + k * LD], &a[q + k * LD]);
    for (int k = 0; k < n; k++) swap_t(&a[k + p * LD], &a[k + q * LD]);
    int32_t t = perm[p];
    perm[p] = perm[q];
    perm[q] = t;
}

/* a(:, j) -= l1 u1 (+ l2 u2) for rows from s on; most(i) = the largest modulus seen in row i. By
 * whole vectors: rows before s are not read again, rows beyond n are zeros. */
#if MPKI_COMPLEX
static void update_column(int s, int n, T *restrict a, const T *l1, T u1, const T *l2, T u2,
                          R *restrict most) {
    for (int i = s; i < n; i++) {
        a[i] -= l2 ? t_mul(l1[i], u1) + t_mul(l2[i], u2) : t_mul(l1[i], u1);
        R x = t_abs1(a[i]);
        most[i] = x > most[i] ? x : most[i];
    }
}
#else
INLINE void update_column(int s, int n, T *restrict a, const T *l1, T u1, const T *l2, T u2,
                          R *restrict most) {
    vec v1 = v_all(u1), v2 = v_all(u2);
    for (int i = s / LANES * LANES; i < n; i += LANES) {
        vec x = v_load(a + i) - v_load(l1 + i) * v1;
        if (l2) x -= v_load(l2 + i) * v2;
        v_store(a + i, x);
        v_store(most + i, v_max(v_abs(x), v_load(most + i)));
    }
}
#endif

int ISA_FN(tile)(int n, T *a, int32_t *perm, T *d, T *dinv, int hermitian, R small) {
    const R alpha = (R)MPKI_ALPHA;
    R most[LD] __attribute__((aligned(64))); /* most[i] = max over remaining j of |a(i, j)| */
    for (int i = 0; i < LD; i++) most[i] = 0;
    for (int i = 0; i < n; i++) perm[i] = i;
    for (int j = 0; j < n; j++)
        update_column(0, n, a + j * LD, a, t_make(0, 0), NULL, t_make(0, 0), most);
    int p = 0;
    while (p < n) {
        int r = p, dmax = p;
        for (int i = p + 1; i < n; i++) {
            if (most[i] > most[r]) r = i;
            if (t_abs1(a[i + i * LD]) > t_abs1(a[dmax + dmax * LD])) dmax = i;
        }
        if (!(most[r] > small)) break;
        R diag = t_abs1(a[dmax + dmax * LD]);
        int width = 1;
        if (diag >= alpha * most[r]) {
            exchange(n, a, perm, p, dmax);
        } else {
            /* partner of r: where its row is largest off the diagonal; by row, as `most` was
             * formed, since the triangles may differ by rounding */
            int c = r == p ? p + 1 : p;
            for (int j = p; j < n; j++)
                if (j != r && t_abs1(a[r + j * LD]) > t_abs1(a[r + c * LD])) c = j;
            exchange(n, a, perm, p, r);
            exchange(n, a, perm, p + 1, c == p ? r : c);
            width = 2;
        }
        T u[LD], v[LD]; /* columns p (and p+1) before scaling */
        int s = p + width;
        for (int i = 0; i < LD; i++) most[i] = 0;
        if (width == 1) {
            T dk = hermitian ? t_make(t_re(a[p + p * LD]), 0) : a[p + p * LD];
            T di = t_inv(dk);
            d[2 * p] = dk, dinv[2 * p] = di;
            d[2 * p + 1] = dinv[2 * p + 1] = t_make(0, 0);
            for (int i = s; i < n; i++) {
                u[i] = a[i + p * LD];
                a[i + p * LD] = t_mul(u[i], di);
            }
            for (int j = s; j < n; j++)
                update_column(s, n, a + j * LD, a + p * LD, conj_if(hermitian, u[j]), NULL,
                              t_make(0, 0), most);
        } else {
            T d11 = a[p + p * LD], d22 = a[p + 1 + (p + 1) * LD];
            T d21 = conj_if(hermitian, a[p + (p + 1) * LD]);
            if (hermitian) d11 = t_make(t_re(d11), 0), d22 = t_make(t_re(d22), 0);
            FN(pivot) q = FN(pivot_inverse)(d11, d21, d22, hermitian);
            d[2 * p] = d11, d[2 * p + 1] = d21, d[2 * p + 2] = d22, d[2 * p + 3] = t_make(0, 0);
            dinv[2 * p] = q.i11, dinv[2 * p + 1] = q.i21, dinv[2 * p + 2] = q.i22;
            dinv[2 * p + 3] = t_make(0, 0);
            for (int i = s; i < n; i++) {
                u[i] = a[i + p * LD], v[i] = a[i + (p + 1) * LD];
                a[i + p * LD] = t_mul(u[i], q.i11) + t_mul(v[i], q.i21);
                a[i + (p + 1) * LD] = t_mul(u[i], q.i12) + t_mul(v[i], q.i22);
            }
            a[p + 1 + p * LD] = t_make(0, 0); /* L(p+1,p) is 0 inside a 2x2 pivot */
            for (int j = s; j < n; j++)
                update_column(s, n, a + j * LD, a + p * LD, conj_if(hermitian, u[j]),
                              a + (p + 1) * LD, conj_if(hermitian, v[j]), most);
        }
        p = s;
    }
    return p;
}
