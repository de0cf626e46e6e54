/* SPDX-License-Identifier: BSD-3-Clause */
/** MINRES (Paige & Saunders 1975), preconditioned by a positive definite M: the residual is minimal
 *  in the norm of M^-1 over the Krylov space, so it never grows in that norm. Names are those of
 *  their paper and of Choi, Paige & Saunders 2011. We also carry the residual vector, r_k = s_k^2
 *  r_{k-1} - phibar_k c_k v_{k+1}, so that the residual reported is a 2-norm. */
#include "vectors.h"

static const batch_words words = {"A is singular on the Krylov space",
                                  "the Krylov space is invariant and holds no solution", NULL,
                                  "the preconditioner is not positive definite"};

mpki_event FN(minres)(mpki_krylov *k) {
    T *r1 = vec(k, 0), *r2 = vec(k, 1), *y = vec(k, 2), *v = vec(k, 3);
    T *w = vec(k, 4), *w1 = vec(k, 5), *w2 = vec(k, 6), *r = vec(k, 7);
    vec_copy(k, k->r, r);
    vec_copy(k, k->r, r2);
    vec_zero(k, w);
    vec_zero(k, w2);
    if (!FN(krylov_precondition)(k, r2, y)) return FN(krylov_break)(k, "overflow");
    product p = vec_product(k, 1, r2, y);
    double beta = sqrt(fmax(w_re(p.dot), 0)), oldb = 0, dbar = 0, epsln = 0, phibar = beta;
    double cs = -1, sn = 0;
    if (!(w_re(p.dot) > 0)) {
        k->reason = words.m_unfit;
        return MPKI_UNFIT;
    }
    if (k->ops->batch) {
        vec_zero(k, w1);
        mpki_batch batch = {
            .method = MPK_KRYLOV_MINRES, .hermitian = 1, .v = k->v, .x = k->x, .beta = beta};
        return FN(krylov_batches)(k, &batch, &words);
    }
    for (bool first = true;; first = false) {
        vec_scale(k, w_make(1 / beta, 0), y, v);
        if (!FN(krylov_product)(k, v, y)) return FN(krylov_break)(k, "overflow");
        if (!first) vec_axpy(k, w_make(-beta / oldb, 0), r1, y);
        const double alfa = w_re(vec_dot(k, 1, v, y));
        vec_axpy(k, w_make(-alfa / beta, 0), r2, y);
        T *free = r1; /* r1 := r2, r2 := y */
        r1 = r2;
        r2 = y;
        y = free;
        if (!FN(krylov_precondition)(k, r2, y)) return FN(krylov_break)(k, "overflow");
        p = vec_product(k, 1, r2, y);
        oldb = beta;
        beta = sqrt(fmax(w_re(p.dot), 0));
        const double oldeps = epsln, delta = cs * dbar + sn * alfa, gbar = sn * dbar - cs * alfa;
        epsln = sn * beta;
        dbar = -cs * beta;
        const double gamma = hypot(gbar, beta);
        /* relative to the row of T: a zero there says that A is singular on the space */
        if (!(gamma > (double)R_EPS * (fabs(alfa) + oldb + beta)))
            return FN(krylov_break)(k, words.a_vanishes);
        cs = gbar / gamma;
        sn = beta / gamma;
        const double phi = cs * phibar;
        phibar *= sn;
        free = w1; /* w1 := w2, w2 := w */
        w1 = w2;
        w2 = w;
        w = free;
        vec_scale(k, w_make(1 / gamma, 0), v, w);
        vec_axpy(k, w_make(-oldeps / gamma, 0), w1, w);
        vec_axpy(k, w_make(-delta / gamma, 0), w2, w);
        vec_axpy(k, w_make(phi, 0), w, k->x);
        const bool whole = !(beta > (double)R_EPS * (fabs(alfa) + oldb));
        const double norm = vec_axpby_norm(k, w_make(whole ? 0 : -phibar * cs / beta, 0), r2,
                                           w_make(sn * sn, 0), r);
        const mpki_event event = FN(krylov_step)(k, norm);
        if (event != MPKI_GO) return event;
        if (whole) return FN(krylov_break)(k, words.m_vanishes);
        if (w_re(p.dot) < 0 && !vanishes(p)) {
            k->reason = words.m_unfit;
            return MPKI_UNFIT;
        }
    }
}
