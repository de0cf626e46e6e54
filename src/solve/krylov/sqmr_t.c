/* SPDX-License-Identifier: BSD-3-Clause */
/** Simplified QMR for J-symmetric operators: A M^-1 is J-symmetric with J = M^-1, so that each step
 *  multiplies one vector, not two. Freund & Nachtigal 1994 (Software for simplified Lanczos and QMR
 *  algorithms, alg. 3.2) and 1995; Freund & Jarre 1997 for indefinite M. Preconditioned from the
 *  right, so that the quasi-residual belongs to the norm of the true residual. In addition to their
 *  recurrence we carry the residual vector of the QMR iterate itself, s_n = (1 - c_n^2) s_{n-1} +
 *  c_n^2 r_n: its norm, not the quasi-residual tau_n, is what we call the recurred residual. */
#include "vectors.h"

static const batch_words words = {"q^T A q vanishes", "r^T M^-1 r vanishes", NULL, NULL};

mpki_event FN(sqmr)(mpki_krylov *k) {
    T *r = vec(k, 0), *q = vec(k, 1), *t = vec(k, 2), *u = vec(k, 3), *d = vec(k, 4),
      *s = vec(k, 5);
    vec_copy(k, k->r, r);
    vec_copy(k, k->r, s);
    vec_zero(k, d);
    double tau = vec_norm(k, r), theta = 0;
    if (!FN(krylov_precondition)(k, r, u)) return FN(krylov_break)(k, "overflow");
    product p = vec_product(k, k->hermitian, r, u);
    if (vanishes(p)) return FN(krylov_break)(k, words.m_vanishes);
    W rho = p.dot;
    if (k->ops->batch) {
        mpki_batch batch = {.method = MPK_KRYLOV_SQMR,
                            .hermitian = k->hermitian,
                            .v = k->v,
                            .x = k->x,
                            .rho = number(rho),
                            .tau = tau};
        return FN(krylov_batches)(k, &batch, &words);
    }
    vec_copy(k, u, q);
    for (;;) {
        if (!FN(krylov_product)(k, q, t)) return FN(krylov_break)(k, "overflow");
        p = vec_product(k, k->hermitian, q, t);
        if (vanishes(p)) return FN(krylov_break)(k, words.a_vanishes);
        const W alpha = w_div(rho, p.dot);
        const double norm = vec_axpy_norm(k, -alpha, t, r);
        if (!w_finite(alpha) || !isfinite(norm)) return FN(krylov_break)(k, "overflow");
        const double before = theta;
        theta = norm / tau;
        const double c2 = 1 / (1 + theta * theta);
        tau *= theta * sqrt(c2);
        vec_axpby(k, c2 * alpha, q, w_make(c2 * before * before, 0), d);
        vec_axpy(k, w_make(1, 0), d, k->x);
        const double recurred = vec_axpby_norm(k, w_make(c2, 0), r, w_make(1 - c2, 0), s);
        k->quasi = tau / k->b_norm;
        const mpki_event event = FN(krylov_step)(k, recurred);
        if (event != MPKI_GO) return event;
        if (!FN(krylov_precondition)(k, r, u)) return FN(krylov_break)(k, "overflow");
        p = vec_product(k, k->hermitian, r, u);
        if (vanishes(p)) return FN(krylov_break)(k, words.m_vanishes);
        vec_axpby(k, w_make(1, 0), u, w_div(p.dot, rho), q);
        rho = p.dot;
    }
}
