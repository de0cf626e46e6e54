/* SPDX-License-Identifier: BSD-3-Clause */
/** Conjugate gradients, preconditioned (Hestenes & Stiefel 1952). A may be negative definite as
 * well as positive: what matters is that q^H A q keeps its sign. */
#include "vectors.h"

mpki_event FN(cg)(mpki_krylov *k) {
    T *r = vec(k, 0), *z = vec(k, 1), *q = vec(k, 2), *t = vec(k, 3);
    vec_copy(k, k->r, r);
    double rho = 0, sign = 0;
    for (;;) {
        if (!FN(krylov_precondition)(k, r, z)) return FN(krylov_break)(k, "overflow");
        product p = vec_product(k, 1, r, z);
        if (vanishes(p)) return FN(krylov_break)(k, "r^H M^-1 r vanishes");
        const double now = w_re(p.dot);
        if (!(now > 0)) {
            k->reason = "the preconditioner is not positive definite";
            return MPKI_UNFIT;
        }
        vec_axpby(k, w_make(1, 0), z, w_make(rho > 0 ? now / rho : 0, 0), q);
        rho = now;
        if (!FN(krylov_product)(k, q, t)) return FN(krylov_break)(k, "overflow");
        p = vec_product(k, 1, q, t);
        if (vanishes(p)) return FN(krylov_break)(k, "q^H A q vanishes");
        const double sigma = w_re(p.dot);
        if (sign == 0) sign = sigma;
        if (!(sign * sigma > 0)) {
            k->reason = "the matrix is not definite";
            return MPKI_UNFIT;
        }
        vec_axpy(k, w_make(rho / sigma, 0), q, k->x);
        const double norm = vec_axpy_norm(k, w_make(-rho / sigma, 0), t, r);
        const mpki_event event = FN(krylov_step)(k, norm);
        if (event != MPKI_GO) return event;
    }
}
