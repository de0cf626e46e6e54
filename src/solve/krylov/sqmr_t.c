/* SPDX-License-Identifier: BSD-3-Clause */
/** Simplified QMR for J-symmetric operators: A M^-1 is J-symmetric with J = M^-1, so that each step
 *  multiplies one vector, not two. Freund & Nachtigal 1994 (Software for simplified Lanczos and QMR
 *  algorithms, alg. 3.2) and 1995; Freund & Jarre 1997 for indefinite M. Preconditioned from the
 *  right, so that the quasi-residual belongs to the norm of the true residual. In addition to their
 *  recurrence we carry the residual vector of the QMR iterate itself, s_n = (1 - c_n^2) s_{n-1} +
 *  c_n^2 r_n: its norm, not the quasi-residual tau_n, is what we call the recurred residual. */
#include "vectors.h"

#include <string.h>

mpki_event FN(sqmr)(mpki_krylov *k) {
    T *r = vec(k, 0), *q = vec(k, 1), *t = vec(k, 2), *u = vec(k, 3), *d = vec(k, 4),
      *s = vec(k, 5);
    const int32_t n = k->n;
    const size_t bytes = (size_t)n * sizeof(T);
    memcpy(r, k->r, bytes);
    memcpy(s, k->r, bytes);
    memset(d, 0, bytes);
    double tau = FN(vec_norm)(n, r), theta = 0;
    if (!FN(krylov_precondition)(k, r, u)) return FN(krylov_break)(k, "overflow");
    product p = FN(vec_product)(n, k->hermitian, r, u);
    if (vanishes(p)) return FN(krylov_break)(k, "r^T M^-1 r vanishes");
    W rho = p.dot;
    memcpy(q, u, bytes);
    for (;;) {
        if (!FN(krylov_product)(k, q, t)) return FN(krylov_break)(k, "overflow");
        p = FN(vec_product)(n, k->hermitian, q, t);
        if (vanishes(p)) return FN(krylov_break)(k, "q^T A q vanishes");
        const W alpha = w_div(rho, p.dot);
        const double norm = FN(vec_axpy_norm)(n, -alpha, t, r);
        if (!w_finite(alpha) || !isfinite(norm)) return FN(krylov_break)(k, "overflow");
        const double before = theta;
        theta = norm / tau;
        const double c2 = 1 / (1 + theta * theta);
        tau *= theta * sqrt(c2);
        FN(vec_axpby)(n, c2 * alpha, q, w_make(c2 * before * before, 0), d);
        FN(vec_axpy)(n, w_make(1, 0), d, k->x);
        const double recurred = FN(vec_axpby)(n, w_make(c2, 0), r, w_make(1 - c2, 0), s);
        k->quasi = tau / k->b_norm;
        const mpki_event event = FN(krylov_step)(k, recurred);
        if (event != MPKI_GO) return event;
        if (!FN(krylov_precondition)(k, r, u)) return FN(krylov_break)(k, "overflow");
        p = FN(vec_product)(n, k->hermitian, r, u);
        if (vanishes(p)) return FN(krylov_break)(k, "r^T M^-1 r vanishes");
        FN(vec_axpby)(n, w_make(1, 0), u, w_div(p.dot, rho), q);
        rho = p.dot;
    }
}
