/* SPDX-License-Identifier: BSD-3-Clause */
/** SYMMLQ (Paige & Saunders 1975), preconditioned by a positive definite M. The iterate offered is
 *  the point of conjugate gradients on the same space, x_L + zeta_bar w_bar, wherever that exists:
 *  their algorithm ends with it, and its residual is a multiple of the next Lanczos vector, so that
 *  its 2-norm costs nothing. */
#include "vectors.h"

static bool form(mpki_krylov *k) {
    vec_axpby(k, w_make(1, 0), k->x, w_make(0, 0), k->iterate);
    vec_axpy(k, w_make(k->small[0], 0), vec(k, 4), k->iterate);
    return true;
}

mpki_event FN(symmlq)(mpki_krylov *k) {
    T *r1 = vec(k, 0), *r2 = vec(k, 1), *y = vec(k, 2), *v = vec(k, 3), *w = vec(k, 4);
    k->iterate = vec(k, 5);
    k->form = form;
    k->small[0] = 0; /* zeta_bar */
    vec_copy(k, k->x, k->iterate);
    vec_copy(k, k->r, r2);
    if (!FN(krylov_precondition)(k, r2, y)) return FN(krylov_break)(k, "overflow");
    product p = vec_product(k, 1, r2, y);
    const double beta1 = sqrt(fmax(w_re(p.dot), 0));
    double beta = beta1, oldb = 0, gbar = 0, dbar = 0, epsln = 0, cs = -1, sn = 0, sines = 1;
    double rhs1 = beta1, rhs2 = 0, zeta = 0, told = vec_norm(k, r2);
    if (!(w_re(p.dot) > 0)) {
        k->reason = "the preconditioner is not positive definite";
        return MPKI_UNFIT;
    }
    for (bool first = true;; first = false) {
        vec_scale(k, w_make(1 / beta, 0), y, v);
        if (first) {
            vec_copy(k, v, w);
        } else { /* the step to x_L of the previous space, which needs this step's v */
            vec_axpy(k, w_make(zeta * cs, 0), w, k->x);
            vec_axpy(k, w_make(zeta * sn, 0), v, k->x);
            vec_axpby(k, w_make(-cs, 0), v, w_make(sn, 0), w);
        }
        if (!FN(krylov_product)(k, v, y)) return FN(krylov_break)(k, "overflow");
        if (!first) vec_axpy(k, w_make(-beta / oldb, 0), r1, y);
        const double alfa = w_re(vec_dot(k, 1, v, y));
        vec_axpy(k, w_make(-alfa / beta, 0), r2, y);
        T *free = r1;
        r1 = r2;
        r2 = y;
        y = free;
        if (!FN(krylov_precondition)(k, r2, y)) return FN(krylov_break)(k, "overflow");
        p = vec_product(k, 1, r2, y);
        oldb = beta;
        beta = sqrt(fmax(w_re(p.dot), 0));
        if (first) {
            gbar = alfa;
            dbar = beta;
        } else {
            const double delta = cs * dbar + sn * alfa;
            gbar = sn * dbar - cs * alfa;
            epsln = sn * beta;
            dbar = -cs * beta;
            rhs1 = rhs2 - delta * zeta;
            rhs2 = -epsln * zeta;
            sines *= sn;
        }
        const bool exists = fabs(gbar) > (double)R_EPS * (fabs(alfa) + oldb + beta);
        k->small[0] = exists ? rhs1 / gbar : 0;
        if (exists) told = sines * beta1 * p.norm_x / fabs(gbar);
        const mpki_event event = FN(krylov_step)(k, told);
        if (event != MPKI_GO) {
            if (!k->fresh && event != MPKI_FAILURE) form(k);
            return event;
        }
        const bool whole = !(beta > (double)R_EPS * (fabs(alfa) + oldb));
        if (whole || (w_re(p.dot) < 0 && !vanishes(p))) {
            form(k);
            if (whole)
                return FN(krylov_break)(k, "the Krylov space is invariant and holds no solution");
            k->reason = "the preconditioner is not positive definite";
            return MPKI_UNFIT;
        }
        const double gamma = hypot(gbar, beta);
        cs = gbar / gamma;
        sn = beta / gamma;
        zeta = rhs1 / gamma;
    }
}
