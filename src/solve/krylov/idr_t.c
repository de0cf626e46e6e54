/* SPDX-License-Identifier: BSD-3-Clause */
/** IDR(s), the biorthogonal variant of van Gijzen & Sonneveld 2011 (ACM TOMS 38, algorithm 913),
 *  preconditioned from the right; omega as there, by "maintaining the convergence" with 0.7. Every
 *  product with A counts as an iteration. The shadow space is random and orthonormal, another one
 *  after each restart. */
#include "vectors.h"

static const double KAPPA = 0.7;

/* s random vectors, orthonormal by Gram-Schmidt done twice. */
static void shadow_space(mpki_krylov *k, int32_t s) {
    for (int32_t i = 0; i < s; i++) {
        T *p = vec(k, i);
        vec_random(k, p);
        for (int pass = 0; pass < 2; pass++)
            for (int32_t j = 0; j < i; j++) vec_axpy(k, -vec_dot(k, 1, vec(k, j), p), vec(k, j), p);
        const double norm = vec_norm(k, p);
        vec_scale(k, w_make(norm > 0 ? 1 / norm : 0, 0), p, p);
    }
}

mpki_event FN(idr)(mpki_krylov *k) {
    const int32_t s = k->task.shadow;
    T *const *p = (T *const *)k->v, *const *u = p + s, *const *g = u + s;
    T *r = vec(k, 3 * s), *v = vec(k, 3 * s + 1), *t = vec(k, 3 * s + 2);
    W *m = (W *)(void *)k->small, *f = m + (int64_t)s * s, *c = f + s; /* m: s x s by columns */
    W omega = w_make(1, 0);
    shadow_space(k, s);
    vec_copy(k, k->r, r);
    for (int32_t i = 0; i < s; i++) {
        vec_zero(k, u[i]);
        vec_zero(k, g[i]);
        for (int32_t j = 0; j < s; j++) m[j + i * s] = w_make(i == j, 0);
    }
    for (;;) {
        for (int32_t i = 0; i < s; i++) f[i] = vec_dot(k, 1, p[i], r);
        for (int32_t j = 0; j < s; j++) {
            vec_copy(k, r, t);
            for (int32_t i = j; i < s; i++) { /* c := M^-1 f, lower triangular */
                W sum = f[i];
                for (int32_t l = j; l < i; l++) sum -= w_mul(m[i + l * s], c[l]);
                c[i] = w_div(sum, m[i + i * s]);
                vec_axpy(k, -c[i], g[i], t);
            }
            if (!FN(krylov_precondition)(k, t, v)) return FN(krylov_break)(k, "overflow");
            vec_axpby(k, omega, v, c[j], u[j]);
            for (int32_t i = j + 1; i < s; i++) vec_axpy(k, c[i], u[i], u[j]);
            if (!FN(krylov_product)(k, u[j], g[j])) return FN(krylov_break)(k, "overflow");
            for (int32_t i = 0; i < j; i++) {
                const W a = w_div(vec_dot(k, 1, p[i], g[j]), m[i + i * s]);
                vec_axpy(k, -a, g[i], g[j]);
                vec_axpy(k, -a, u[i], u[j]);
            }
            product q = {0};
            for (int32_t i = s - 1; i >= j; i--) {
                q = vec_product(k, 1, p[i], g[j]);
                m[i + j * s] = q.dot;
            }
            if (vanishes(q)) return FN(krylov_break)(k, "the shadow space is orthogonal to A u");
            const W beta = w_div(f[j], m[j + j * s]);
            const double norm = vec_axpy_norm(k, -beta, g[j], r);
            vec_axpy(k, beta, u[j], k->x);
            const mpki_event event = FN(krylov_step)(k, norm);
            if (event != MPKI_GO) return event;
            for (int32_t i = j + 1; i < s; i++) f[i] -= w_mul(beta, m[i + j * s]);
        }
        if (!FN(krylov_precondition)(k, r, v) || !FN(krylov_product)(k, v, t))
            return FN(krylov_break)(k, "overflow");
        const product q = vec_product(k, 1, t, r);
        if (vanishes(q)) return FN(krylov_break)(k, "omega vanishes");
        omega = w_div(q.dot, w_make(q.norm_x * q.norm_x, 0));
        const double cosine = w_abs(q.dot) / (q.norm_x * q.norm_y);
        if (cosine < KAPPA) omega *= KAPPA / cosine;
        vec_axpy(k, omega, v, k->x);
        const double norm = vec_axpy_norm(k, -omega, t, r);
        const mpki_event event = FN(krylov_step)(k, norm);
        if (event != MPKI_GO) return event;
    }
}
