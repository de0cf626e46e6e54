/* SPDX-License-Identifier: BSD-3-Clause */
/** BiCGStab (van der Vorst 1992), preconditioned from the right, with the choice of omega of
 *  Sleijpen & van der Vorst 1995, which keeps a small angle between s and A M^-1 s from spoiling
 *  the coefficients. An iteration takes two products. After a restart the shadow residual is r plus
 *  a random part, so that a product that vanished need not vanish again. */
#include "vectors.h"

static const double KAPPA = 0.7;

static const batch_words words = {"the shadow residual is orthogonal to A p",
                                  "the shadow residual is orthogonal to r", NULL, NULL};

mpki_event FN(bicgstab)(mpki_krylov *k) {
    T *r = vec(k, 0), *shadow = vec(k, 1), *p = vec(k, 2), *v = vec(k, 3), *z = vec(k, 4);
    T *t = vec(k, 5), *zs = vec(k, 6);
    vec_copy(k, k->r, r);
    vec_copy(k, r, shadow);
    vec_copy(k, r, p);
    double norm = vec_norm(k, r);
    if (k->attempt > 0) {
        vec_random(k, shadow);
        vec_axpby(k, w_make(1, 0), r, w_make(norm / vec_norm(k, shadow), 0), shadow);
    }
    product q = vec_product(k, 1, shadow, r);
    W rho = q.dot;
    if (k->ops->batch && !vanishes(q)) {
        vec_zero(k, v);
        mpki_batch batch = {.method = MPK_KRYLOV_BICGSTAB,
                            .hermitian = 1,
                            .v = k->v,
                            .x = k->x,
                            .rho = number(rho)};
        return FN(krylov_batches)(k, &batch, &words);
    }
    for (;;) {
        if (vanishes(q)) return FN(krylov_break)(k, words.m_vanishes);
        if (!FN(krylov_precondition)(k, p, z) || !FN(krylov_product)(k, z, v))
            return FN(krylov_break)(k, "overflow");
        q = vec_product(k, 1, shadow, v);
        if (vanishes(q)) return FN(krylov_break)(k, words.a_vanishes);
        const W alpha = w_div(rho, q.dot);
        norm = vec_axpy_norm(k, -alpha, v, r); /* r is now s */
        vec_axpy(k, alpha, z, k->x);
        if (!isfinite(norm)) return FN(krylov_break)(k, "overflow");
        W omega = w_make(0, 0);
        if (norm / k->b_norm > k->target) { /* otherwise half a step was enough */
            if (!FN(krylov_precondition)(k, r, zs) || !FN(krylov_product)(k, zs, t))
                return FN(krylov_break)(k, "overflow");
            q = vec_product(k, 1, t, r);
            if (vanishes(q)) return FN(krylov_break)(k, "omega vanishes");
            omega = w_div(q.dot, w_make(q.norm_x * q.norm_x, 0));
            const double cosine = w_abs(q.dot) / (q.norm_x * q.norm_y);
            if (cosine < KAPPA) omega *= KAPPA / cosine;
            vec_axpy(k, omega, zs, k->x);
            norm = vec_axpy_norm(k, -omega, t, r);
        }
        const mpki_event event = FN(krylov_step)(k, norm);
        if (event != MPKI_GO) return event;
        if (w_abs(omega) == 0) return MPKI_DRIFT; /* the half step was not enough after all */
        q = vec_product(k, 1, shadow, r);
        const W beta = w_mul(w_div(q.dot, rho), w_div(alpha, omega));
        rho = q.dot;
        vec_axpy(k, -omega, v, p);
        vec_axpby(k, w_make(1, 0), r, beta, p);
    }
}
