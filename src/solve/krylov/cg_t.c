/* SPDX-License-Identifier: BSD-3-Clause */
/** Conjugate gradients, preconditioned (Hestenes & Stiefel 1952). A may be negative definite as
 * well as positive: what matters is that q^H A q keeps its sign. */
#include "vectors.h"

static const batch_words words = {"q^H A q vanishes", "r^H M^-1 r vanishes",
                                  "the matrix is not definite",
                                  "the preconditioner is not positive definite"};

mpki_event FN(cg)(mpki_krylov *k) {
    T *r = vec(k, 0), *z = vec(k, 1), *q = vec(k, 2), *t = vec(k, 3);
    vec_copy(k, k->r, r);
    double rho = 0, sign = 0;
    if (k->ops->batch) {
        mpki_batch batch = {.method = MPK_KRYLOV_CG, .hermitian = 1, .v = k->v, .x = k->x};
        return FN(krylov_batches)(k, &batch, &words);
    }
    for (;;) {
        if (!FN(krylov_precondition)(k, r, z)) return FN(krylov_break)(k, "overflow");
        product p = vec_product(k, 1, r, z);
        if (vanishes(p)) return FN(krylov_break)(k, words.m_vanishes);
        const double now = w_re(p.dot);
        if (!(now > 0)) {
            k->reason = words.m_unfit;
            return MPKI_UNFIT;
        }
        vec_axpby(k, w_make(1, 0), z, w_make(rho > 0 ? now / rho : 0, 0), q);
        rho = now;
        if (!FN(krylov_product)(k, q, t)) return FN(krylov_break)(k, "overflow");
        p = vec_product(k, 1, q, t);
        if (vanishes(p)) return FN(krylov_break)(k, words.a_vanishes);
        const double sigma = w_re(p.dot);
        if (sign == 0) sign = sigma;
        if (!(sign * sigma > 0)) {
            k->reason = words.a_unfit;
            return MPKI_UNFIT;
        }
        vec_axpy(k, w_make(rho / sigma, 0), q, k->x);
        const double norm = vec_axpy_norm(k, w_make(-rho / sigma, 0), t, r);
        const mpki_event event = FN(krylov_step)(k, norm);
        if (event != MPKI_GO) return event;
    }
}
