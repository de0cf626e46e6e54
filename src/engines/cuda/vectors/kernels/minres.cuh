/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_MINRES_CUH
#define MPKI_CUDA_VECTORS_MINRES_CUH
/** Iterations of MINRES without the host, as solve/krylov/minres_t.c has them. Where that changes
 *  the names of vectors, these passes move them, so that every iteration is the same to a graph. */
#include "steps.cuh"

namespace mpki {

/** v := u / beta. */
template <class E> struct minres_direction_pass : step_pass<0, 4> {
    typedef E item;
    typedef E scalars;
    const E *u;
    E *v;
    __device__ scalars begin() const { return to_entry<E>(1 / this->state->beta[0], 0); }
    __device__ item load(int64_t i) const { return u[i]; }
    __device__ void use(int64_t i, const item &x, const E &by, double *) const { v[i] = by * x; }
};

/** -beta / beta_before, the coefficient of r1 in the Lanczos step; 0 in the first one. By each
 *  thread for itself; no barrier. */
template <class E> __device__ inline E minres_back(const mpki_cuda_state *s) {
    return to_entry<E>(s->oldb > 0 ? -s->beta[0] / s->oldb : 0, 0);
}

/** Returns y_i = t + by r1_i for t = (A v)_i; adds v^H y, ||v||^2, ||t||^2, nonfinite(t) to
 *  sums. By each thread for itself; no barrier. */
template <class E>
__device__ inline E minres_alpha(E t, E v, const E *r1, int64_t i, const E &by, double (&sums)[5]) {
    const number a = to_number(v), b = to_number(t);
    const E y = is_zero(by) ? t : t + by * r1[i];
    double none = 0;
    add_product<E>(1, a, to_number(y), sums[0], none);
    sums[2] += square(a);
    sums[3] += square(b);
    sums[4] += nonfinite(b);
    return y;
}

/** alpha := v^H y, after the tests; v: the sums of minres_alpha(). By one thread; no barrier. */
__device__ inline void minres_alpha_end(mpki_cuda_state *s, const double (&v)[5]) {
    if (!(v[4] == 0)) return fail(s, MPKI_CUDA_A_BAD);
    update_norm(s, v[2], v[3]);
    s->alpha[0] = v[0];
}

/** y := A v + by r1, where y holds A v; alpha. */
template <class E> struct minres_alpha_pass : step_pass<5, 2> {
    typedef pair<E> item;
    typedef E scalars;
    const E *v, *r1;
    E *y;
    __device__ scalars begin() const { return minres_back<E>(this->state); }
    __device__ item load(int64_t i) const { return {v[i], y[i]}; }
    __device__ void use(int64_t i, const item &x, const E &by, double (&sums)[5]) const {
        y[i] = minres_alpha<E>(x.y, x.x, r1, i, by, sums);
    }
    __device__ void end(const double (&sums)[5]) const { minres_alpha_end(this->state, sums); }
};

/** As minres_alpha_pass, of A v entry by entry as the product makes it. */
template <class E> struct put_minres {
    enum { SUMS = 5 };
    mpki_cuda_state *state;
    const E *v, *r1;
    E *y;
    __device__ bool skip() const { return *(volatile int32_t *)&state->end != MPKI_CUDA_GO; }
    __device__ void operator()(int64_t i, E t, double (&sums)[5]) const {
        y[i] = minres_alpha<E>(t, v[i], r1, i, minres_back<E>(state), sums);
    }
    __device__ void end(const double (&sums)[5]) const { minres_alpha_end(state, sums); }
};

/** r1 := r2, r2 := y - alpha / beta r2. */
template <class E> struct minres_lanczos_pass : step_pass<0, 4> {
    typedef pair<E> item;
    typedef E scalars;
    const E *y;
    E *r1, *r2;
    __device__ scalars begin() const {
        return to_entry<E>(-this->state->alpha[0] / this->state->beta[0], 0);
    }
    __device__ item load(int64_t i) const { return {y[i], r2[i]}; }
    __device__ void use(int64_t i, const item &x, const E &by, double *) const {
        r1[i] = x.y;
        r2[i] = x.x + by * x.y;
    }
};

/** r2^H z, z = M^-1 r2; then beta and the next plane rotation. */
template <class E> struct minres_beta_pass : preconditioned_product_pass<E> {
    __device__ void end(const double (&v)[5]) const {
        mpki_cuda_state *s = this->state;
        if (!(v[4] == 0)) return fail(s, MPKI_CUDA_M_BAD);
        const double alfa = s->alpha[0], oldb = s->beta[0], eps = unit_of<E>();
        const double beta = sqrt(fmax(v[0], 0.0)), oldeps = s->epsln;
        const double delta = s->cs * s->dbar + s->sn * alfa, gbar = s->sn * s->dbar - s->cs * alfa;
        s->oldb = oldb, s->beta[0] = beta, s->oldeps = oldeps, s->delta = delta;
        s->epsln = s->sn * beta;
        s->dbar = -s->cs * beta;
        const double gamma = s->gamma = hypot(gbar, beta);
        if (!(gamma > eps * (fabs(alfa) + oldb + beta))) return fail(s, MPKI_CUDA_A_VANISHES);
        s->cs = gbar / gamma;
        s->sn = beta / gamma;
        s->phi = s->cs * s->phibar;
        s->phibar *= s->sn;
        s->whole = !(beta > eps * (fabs(alfa) + oldb));
        s->unfit = v[0] < 0 && !vanishes<E>({v[0], v[1]}, v[2], v[3]);
        s->r2_of_r = s->whole ? 0 : -s->phibar * s->cs / beta;
    }
};

/** w := (v - oldeps w1 - delta w2) / gamma, x := x + phi w, the residual r, ||r||^2. w2 is the
 *  direction of the iteration before, w1 that of the one before it. */
template <class E> struct minres_iterate_pass : step_pass<1, 2> {
    enum { RESIDENT = 2 };
    struct item {
        E v, w1, w2, x, r2, r;
    };
    struct scalars {
        E v, w1, w2, x, r2, r;
    };
    const E *v, *r2;
    E *w1, *w2, *x, *r;
    __device__ scalars begin() const {
        const mpki_cuda_state *s = this->state;
        return {to_entry<E>(1 / s->gamma, 0),         to_entry<E>(-s->oldeps / s->gamma, 0),
                to_entry<E>(-s->delta / s->gamma, 0), to_entry<E>(s->phi, 0),
                to_entry<E>(s->r2_of_r, 0),           to_entry<E>(s->sn * s->sn, 0)};
    }
    __device__ item load(int64_t i) const { return {v[i], w1[i], w2[i], x[i], r2[i], r[i]}; }
    __device__ void use(int64_t i, const item &at, const scalars &by, double (&sums)[1]) const {
        E w = by.v * at.v;
        w = w + by.w1 * at.w1;
        w = w + by.w2 * at.w2;
        w1[i] = at.w2;
        w2[i] = w;
        x[i] = at.x + by.x * w;
        const E updated = by.r2 * at.r2 + by.r * at.r;
        r[i] = updated;
        sums[0] += square(to_number(updated));
    }
    __device__ void end(const double (&sums)[1]) const {
        mpki_cuda_state *s = this->state;
        count_step(s, sqrt(sums[0]), 0);
        if (s->whole)
            fail(s, MPKI_CUDA_M_VANISHES);
        else if (s->unfit)
            fail(s, MPKI_CUDA_M_UNFIT);
        if (this->last) report(s, this->reporter);
    }
};

} // namespace mpki

#endif
