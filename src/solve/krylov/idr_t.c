/* SPDX-License-Identifier: BSD-3-Clause */
/** IDR(s), the biorthogonal variant of van Gijzen & Sonneveld 2011 (ACM TOMS 38, algorithm 913),
 *  preconditioned from the right; omega as there, by "maintaining the convergence" with 0.7. Every
 *  product with A counts as an iteration. The shadow space is random and orthonormal, another one
 *  after each restart. */
#include "vectors.h"

#include <string.h>

static const double KAPPA = 0.7;

/* s random vectors, orthonormal by Gram-Schmidt done twice. */
static void shadow_space(mpki_krylov *k, int32_t s) {
    for (int32_t i = 0; i < s; i++) {
        T *p = vec(k, i);
        FN(vec_random)(k->n, &k->random, p);
        for (int pass = 0; pass < 2; pass++)
            for (int32_t j = 0; j < i; j++)
                FN(vec_axpy)(k->n, -FN(vec_dot)(k->n, 1, vec(k, j), p), vec(k, j), p);
        const double norm = FN(vec_norm)(k->n, p);
        FN(vec_scale)(k->n, w_make(norm > 0 ? 1 / norm : 0, 0), p, p);
    }
}

mpki_event FN(idr)(mpki_krylov *k) {
    const int32_t n = k->n, s = k->task.shadow;
    T *const *p = (T *const *)k->v, *const *u = p + s, *const *g = u + s;
    T *r = vec(k, 3 * s), *v = vec(k, 3 * s + 1), *t = vec(k, 3 * s + 2);
    W *m = (W *)(void *)k->small, *f = m + (int64_t)s * s, *c = f + s; /* m: s x s by columns */
    const size_t bytes = (size_t)n * sizeof(T);
    W omega = w_make(1, 0);
    shadow_space(k, s);
    memcpy(r, k->r, bytes);
    for (int32_t i = 0; i < s; i++) {
        memset(u[i], 0, bytes);
        memset(g[i], 0, bytes);
        for (int32_t j = 0; j < s; j++) m[j + i * s] = w_make(i == j, 0);
    }
    for (;;) {
        for (int32_t i = 0; i < s; i++) f[i] = FN(vec_dot)(n, 1, p[i], r);
        for (int32_t j = 0; j < s; j++) {
            memcpy(t, r, bytes);
            for (int32_t i = j; i < s; i++) { /* c := M^-1 f, lower triangular */
                W sum = f[i];
                for (int32_t l = j; l < i; l++) sum -= w_mul(m[i + l * s], c[l]);
                c[i] = w_div(sum, m[i + i * s]);
                FN(vec_axpy)(n, -c[i], g[i], t);
            }
            if (!FN(krylov_precondition)(k, t, v)) return FN(krylov_break)(k, "overflow");
            FN(vec_axpby)(n, omega, v, c[j], u[j]);
            for (int32_t i = j + 1; i < s; i++) FN(vec_axpy)(n, c[i], u[i], u[j]);
            if (!FN(krylov_product)(k, u[j], g[j])) return FN(krylov_break)(k, "overflow");
            for (int32_t i = 0; i < j; i++) {
                const W a = w_div(FN(vec_dot)(n, 1, p[i], g[j]), m[i + i * s]);
                FN(vec_axpy)(n, -a, g[i], g[j]);
                FN(vec_axpy)(n, -a, u[i], u[j]);
            }
            product q = {0};
            for (int32_t i = s - 1; i >= j; i--) {
                q = FN(vec_product)(n, 1, p[i], g[j]);
                m[i + j * s] = q.dot;
            }
            if (vanishes(q)) return FN(krylov_break)(k, "the shadow space is orthogonal to A u");
            const W beta = w_div(f[j], m[j + j * s]);
            const double norm = FN(vec_axpy_norm)(n, -beta, g[j], r);
            FN(vec_axpy)(n, beta, u[j], k->x);
            const mpki_event event = FN(krylov_step)(k, norm);
            if (event != MPKI_GO) return event;
            for (int32_t i = j + 1; i < s; i++) f[i] -= w_mul(beta, m[i + j * s]);
        }
        if (!FN(krylov_precondition)(k, r, v) || !FN(krylov_product)(k, v, t))
            return FN(krylov_break)(k, "overflow");
        const product q = FN(vec_product)(n, 1, t, r);
        if (vanishes(q)) return FN(krylov_break)(k, "omega vanishes");
        omega = w_div(q.dot, w_make(q.norm_x * q.norm_x, 0));
        const double cosine = w_abs(q.dot) / (q.norm_x * q.norm_y);
        if (cosine < KAPPA) omega *= KAPPA / cosine;
        FN(vec_axpy)(n, omega, v, k->x);
        const double norm = FN(vec_axpy_norm)(n, -omega, t, r);
        const mpki_event event = FN(krylov_step)(k, norm);
        if (event != MPKI_GO) return event;
    }
}
