/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_BICGSTAB_CUH
#define MPKI_CUDA_VECTORS_BICGSTAB_CUH
/** Iterations of BiCGStab without the host, as solve/krylov/bicgstab_t.c has them. */
#include "steps.cuh"

namespace mpki {

/** x y, of real entries of their real parts. By each thread for itself; no barrier. */
template <class E> __device__ inline number times(number x, number y) {
    if (!scalar_of<E>::complex) return {x.x * y.x, 0};
    return {x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x};
}

/** p := r + beta (p - omega v). */
template <class E> struct bicg_direction_pass : step_pass<0, 2> {
    struct item {
        E r, p, v;
    };
    struct scalars {
        E beta, omega;
    };
    const E *r, *v;
    E *p;
    __device__ scalars begin() const {
        const mpki_cuda_state *s = this->state;
        return {to_entry<E>(s->beta[0], s->beta[1]), to_entry<E>(-s->omega[0], -s->omega[1])};
    }
    __device__ item load(int64_t i) const { return {r[i], p[i], v[i]}; }
    __device__ void use(int64_t i, const item &x, const scalars &k, double *) const {
        p[i] = is_zero(k.beta) ? x.r : x.r + k.beta * (x.p + k.omega * x.v);
    }
};

/* Of a product t = A u, u = M^-1 of something: with x, which is the shadow (alpha) or r (omega): re
 * and im of the product that is divided by, squares of both, of u, and what is not finite in u and
 * in t. */
enum { BICG_SUMS = 7 };

/** Adds the product and squares of t = A u and of x to sums: OMEGA t^H x, else x^H t; ||t||^2,
 *  ||x||^2, ||u||^2, nonfinite(u), nonfinite(t). By each thread for itself; no barrier. */
template <class E, bool OMEGA>
__device__ inline void bicg_add(E u, E t, E x, double (&sums)[BICG_SUMS]) {
    const number a = to_number(u), b = to_number(t), c = to_number(x);
    add_product<E>(1, OMEGA ? b : c, OMEGA ? c : b, sums[0], sums[1]);
    sums[2] += square(b);
    sums[3] += square(c);
    sums[4] += square(a);
    sums[5] += nonfinite(a);
    sums[6] += nonfinite(b);
}

/** alpha := rho / (x^H t), or OMEGA omega := t^H x / ||t||^2, kept from 0 as bicgstab_t.c does;
 *  v: the sums of bicg_add(). By one thread; no barrier. */
template <class E, bool OMEGA>
__device__ inline void bicg_end(mpki_cuda_state *s, const double (&v)[BICG_SUMS]) {
    if (!(v[5] == 0)) return fail(s, OMEGA ? MPKI_CUDA_SECOND_M_BAD : MPKI_CUDA_M_BAD);
    if (!(v[6] == 0)) return fail(s, OMEGA ? MPKI_CUDA_SECOND_A_BAD : MPKI_CUDA_A_BAD);
    update_norm(s, v[4], v[2]);
    const number dot = {v[0], v[1]};
    if (vanishes<E>(dot, v[2], v[3]))
        return fail(s, OMEGA ? MPKI_CUDA_OMEGA : MPKI_CUDA_A_VANISHES);
    if (!OMEGA) {
        const number alpha = divide<E>(of(s->rho), dot);
        s->alpha[0] = alpha.x, s->alpha[1] = alpha.y;
        return;
    }
    const double kappa = 0.7, norm_t = sqrt(v[2]), norm_r = sqrt(v[3]);
    const double cosine = size_of<E>(dot) / (norm_t * norm_r);
    const double by = cosine < kappa ? kappa / cosine : 1;
    const number omega = divide<E>(dot, {norm_t * norm_t, 0});
    s->omega[0] = omega.x * by, s->omega[1] = omega.y * by;
}

/** The sums of bicg_add() for vectors that are there; then bicg_end(). */
template <class E, bool OMEGA> struct bicg_product_pass : step_pass<BICG_SUMS, 2> {
    struct item {
        E u, t, x;
    };
    const E *u, *t, *x;
    __device__ item load(int64_t i) const { return {u[i], t[i], x[i]}; }
    template <class N>
    __device__ void use(int64_t, const item &v, const N &, double (&sums)[BICG_SUMS]) const {
        bicg_add<E, OMEGA>(v.u, v.t, v.x, sums);
    }
    __device__ void end(const double (&sums)[BICG_SUMS]) const {
        bicg_end<E, OMEGA>(this->state, sums);
    }
};

/** As bicg_product_pass, of t = A u entry by entry as the product makes it. */
template <class E, bool OMEGA> struct put_bicg {
    enum { SUMS = BICG_SUMS };
    mpki_cuda_state *state;
    const E *u, *x;
    E *t;
    __device__ bool skip() const { return *(volatile int32_t *)&state->end != MPKI_CUDA_GO; }
    __device__ void operator()(int64_t i, E v, double (&sums)[BICG_SUMS]) const {
        t[i] = v;
        bicg_add<E, OMEGA>(u[i], v, x[i], sums);
    }
    __device__ void end(const double (&sums)[BICG_SUMS]) const { bicg_end<E, OMEGA>(state, sums); }
};

/** x := x + alpha z, r := r - alpha v, ||r||^2; ends the batch where that is small enough. */
template <class E> struct bicg_half_pass : step_pass<1, 2> {
    struct item {
        E z, v, x, r;
    };
    typedef E scalars;
    const E *z, *v;
    E *x, *r;
    __device__ scalars begin() const {
        return to_entry<E>(this->state->alpha[0], this->state->alpha[1]);
    }
    __device__ item load(int64_t i) const { return {z[i], v[i], x[i], r[i]}; }
    __device__ void use(int64_t i, const item &at, const E &alpha, double (&sums)[1]) const {
        const E updated = at.r - alpha * at.v;
        x[i] = at.x + alpha * at.z;
        r[i] = updated;
        sums[0] += square(to_number(updated));
    }
    __device__ void end(const double (&sums)[1]) const {
        mpki_cuda_state *s = this->state;
        const double norm = sqrt(sums[0]);
        if (!isfinite(norm)) return fail(s, MPKI_CUDA_OVERFLOW);
        if (norm / s->b_norm > s->target) return;
        count_step(s, norm, 0);
        fail(s, MPKI_CUDA_HALF);
    }
};

/** x := x + omega zs, r := r - omega t, shadow^H r; then beta and rho. */
template <class E> struct bicg_iterate_pass : step_pass<4, 2> {
    enum { RESIDENT = 2 };
    struct item {
        E zs, t, x, r, shadow;
    };
    typedef E scalars;
    const E *zs, *t, *shadow;
    E *x, *r;
    __device__ scalars begin() const {
        return to_entry<E>(this->state->omega[0], this->state->omega[1]);
    }
    __device__ item load(int64_t i) const { return {zs[i], t[i], x[i], r[i], shadow[i]}; }
    __device__ void use(int64_t i, const item &at, const E &omega, double (&sums)[4]) const {
        const E updated = at.r - omega * at.t;
        x[i] = at.x + omega * at.zs;
        r[i] = updated;
        const number a = to_number(at.shadow), b = to_number(updated);
        add_product<E>(1, a, b, sums[0], sums[1]);
        sums[2] += square(a);
        sums[3] += square(b);
    }
    __device__ void end(const double (&v)[4]) const {
        mpki_cuda_state *s = this->state;
        const number dot = {v[0], v[1]};
        count_step(s, sqrt(v[3]), 0);
        if (vanishes<E>(dot, v[2], v[3])) fail(s, MPKI_CUDA_M_VANISHES);
        const number beta =
            times<E>(divide<E>(dot, of(s->rho)), divide<E>(of(s->alpha), of(s->omega)));
        s->beta[0] = beta.x, s->beta[1] = beta.y;
        s->rho[0] = dot.x, s->rho[1] = dot.y;
        if (this->last) report(s, this->reporter);
    }
};

} // namespace mpki

#endif
