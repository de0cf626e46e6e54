/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_VECTORS_STEPS_CUH
#define MPKI_CUDA_VECTORS_STEPS_CUH
/** Iterations of SQMR and CG whose scalars never leave the device. Each kernel is a pass over
 *  vectors whose last block computes the scalars of the next one. What solve/krylov/sqmr_t.c and
 *  cg_t.c do between the passes is done here in the same order with the same tests; anything that
 *  ends an iteration there sets state.end, and the kernels after it do nothing. The host
 *  (steps_t.c) then finds the same event at the same iteration. */
#include "product.cuh"

#include <float.h>

namespace mpki {

/** The machine epsilon of entries E. By each thread for itself; no barrier. */
template <class E> __device__ inline double unit_of() {
    return sizeof(typename scalar_of<E>::real) == 4 ? (double)FLT_EPSILON : DBL_EPSILON;
}

/** The complex number that the state keeps as two doubles. By each thread for itself; no
 *  barrier. */
__device__ inline number of(const double (&a)[2]) {
    return {a[0], a[1]};
}
/** x / y, scaled so that |y|^2 stays in the range. By each thread for itself; no barrier. */
template <class E> __device__ inline number divide(number x, number y) {
    if (!scalar_of<E>::complex) return {x.x / y.x, 0};
    const double s = 1 / fmax(fabs(y.x), fabs(y.y));
    const double re = y.x * s, im = y.y * s, m = s / (re * re + im * im);
    return {(x.x * re + x.y * im) * m, (x.y * re - x.x * im) * m};
}

/** |x|. By each thread for itself; no barrier. */
template <class E> __device__ inline double size_of(number x) {
    return scalar_of<E>::complex ? hypot(x.x, x.y) : fabs(x.x);
}

/** |dot| <= 4 eps ||x|| ||y||, or NaN: the product of two vectors is rounding. xx, yy: their
 *  squares. By each thread for itself; no barrier. */
template <class E> __device__ inline bool vanishes(number dot, double xx, double yy) {
    return !(size_of<E>(dot) > 4 * unit_of<E>() * sqrt(xx) * sqrt(yy));
}

/* ---- between passes: one thread ---- */

/** Counts an iteration with the norms of its residual, recurred and quasi-minimal; ends the
 *  batch where the first one is at the target or not finite. By one thread; no barrier. */
__device__ inline void count_step(mpki_cuda_state *s, double recurred, double quasi) {
    s->recurred[s->steps] = recurred;
    s->quasi[s->steps] = quasi;
    s->steps++;
    if (!isfinite(recurred / s->b_norm))
        s->end = MPKI_CUDA_OVERFLOW;
    else if (recurred / s->b_norm <= s->target)
        s->end = MPKI_CUDA_REACHED;
}

/** Ends the batch with the event `end`, unless another one has ended it before. By one thread;
 *  no barrier. */
__device__ inline void fail(mpki_cuda_state *s, int end) {
    if (s->end == MPKI_CUDA_GO || s->end == MPKI_CUDA_REACHED) s->end = end;
}

/** Raises the estimate of ||A|| to ||t|| / ||q||, t = A q, from their squares tt and qq. By one
 *  thread; no barrier. */
__device__ inline void update_norm(mpki_cuda_state *s, double qq, double tt) {
    const double ratio = sqrt(tt) / sqrt(qq);
    if (qq > 0 && ratio > s->a_norm && isfinite(ratio)) s->a_norm = ratio;
}

/** Writes what a batch has done, then its sequence number, to page-locked memory for the host.
 *  By one thread; no barrier. */
__device__ inline void report(const mpki_cuda_state *s, mpki_cuda_vectors_report *to) {
    mpki_cuda_state *out = &to->state;
    out->end = s->end, out->steps = s->steps, out->a_norm = s->a_norm;
    for (int k = 0; k < s->steps; ++k)
        out->recurred[k] = s->recurred[k], out->quasi[k] = s->quasi[k];
    __threadfence_system();
    *(volatile double *)&to->sequence = *(volatile double *)&to->next;
}

/** alpha := rho / (q^T t), after the tests of sqmr_t.c, or of cg_t.c with `cg`. v: re and im of
 *  q^T t, ||q||^2, ||t||^2, and NaN where t is not finite. By one thread; no barrier. */
template <class E>
__device__ inline void alpha_of(mpki_cuda_state *s, bool cg, const double (&v)[5]) {
    if (!(v[4] == 0)) return fail(s, MPKI_CUDA_A_BAD);
    update_norm(s, v[2], v[3]);
    if (vanishes<E>({v[0], v[1]}, v[2], v[3])) return fail(s, MPKI_CUDA_A_VANISHES);
    if (cg) {
        if (s->sign == 0) s->sign = v[0];
        if (!(s->sign * v[0] > 0)) return fail(s, MPKI_CUDA_A_UNFIT);
        s->alpha[0] = s->rho[0] / v[0];
        s->alpha[1] = 0;
        return;
    }
    const number alpha = divide<E>(of(s->rho), {v[0], v[1]});
    s->alpha[0] = alpha.x, s->alpha[1] = alpha.y;
    if (!isfinite(size_of<E>(alpha))) fail(s, MPKI_CUDA_OVERFLOW);
}

/* ---- passes ---- */

/** A pass of a batch of iterations: it does nothing once an event has ended the batch. */
template <int K, int U> struct step_pass : pass<K, U> {
    mpki_cuda_state *state;
    mpki_cuda_vectors_report *reporter;
    int last; /* of the batch: it reports */
    /** Has an event ended the batch? The last pass reports then all the same. By each thread; no
     *  barrier. */
    __device__ bool skip() const {
        const bool ended = *(volatile int32_t *)&state->end != MPKI_CUDA_GO;
        if (ended && last && blockIdx.x == 0 && threadIdx.x == 0) report(state, reporter);
        return ended;
    }
};

/** q := u + beta q. */
template <class E> struct direction_pass : step_pass<0, 4> {
    typedef pair<E> item;
    typedef E scalars;
    const E *u;
    E *q;
    __device__ scalars begin() const {
        return to_entry<E>(this->state->beta[0], this->state->beta[1]);
    }
    __device__ item load(int64_t i) const { return {u[i], q[i]}; }
    __device__ void use(int64_t i, const item &v, const E &beta, double *) const {
        q[i] = is_zero(beta) ? v.x : v.x + beta * v.y;
    }
};

/** q^T t (q^H t where `hermitian`), ||q||^2, ||t||^2; then alpha_of(). */
template <class E, bool CG> struct alpha_pass : step_pass<5, 4> {
    typedef pair<E> item;
    int hermitian;
    const E *q, *t;
    __device__ item load(int64_t i) const { return {q[i], t[i]}; }
    template <class N>
    __device__ void use(int64_t, const item &v, const N &, double (&sums)[5]) const {
        const number a = to_number(v.x), b = to_number(v.y);
        add_product<E>(hermitian, a, b, sums[0], sums[1]);
        sums[2] += square(a);
        sums[3] += square(b);
        sums[4] += nonfinite(b);
    }
    __device__ void end(const double (&sums)[5]) const { alpha_of<E>(this->state, CG, sums); }
};

/** As alpha_pass, of t = A q entry by entry as the product makes it; t is stored. */
template <class E, bool CG> struct put_alpha {
    enum { SUMS = 5 };
    mpki_cuda_state *state;
    int hermitian;
    const E *q;
    E *t;
    __device__ bool skip() const { return *(volatile int32_t *)&state->end != MPKI_CUDA_GO; }
    __device__ void operator()(int64_t i, E v, double (&sums)[5]) const {
        const number a = to_number(q[i]), b = to_number(v);
        t[i] = v;
        add_product<E>(hermitian, a, b, sums[0], sums[1]);
        sums[2] += square(a);
        sums[3] += square(b);
        sums[4] += nonfinite(b);
    }
    __device__ void end(const double (&sums)[5]) const { alpha_of<E>(state, CG, sums); }
};

/** r := r - alpha t, ||r||^2; then theta, c^2 and tau of SQMR. */
template <class E> struct residual_pass : step_pass<1, 4> {
    typedef pair<E> item;
    typedef E scalars;
    const E *t;
    E *r;
    __device__ scalars begin() const {
        return to_entry<E>(-this->state->alpha[0], -this->state->alpha[1]);
    }
    __device__ item load(int64_t i) const { return {t[i], r[i]}; }
    __device__ void use(int64_t i, const item &v, const E &alpha, double (&sums)[1]) const {
        const E updated = v.y + alpha * v.x;
        r[i] = updated;
        sums[0] += square(to_number(updated));
    }
    __device__ void end(const double (&sums)[1]) const {
        mpki_cuda_state *s = this->state;
        const double norm = sqrt(sums[0]);
        if (!isfinite(norm)) return fail(s, MPKI_CUDA_OVERFLOW);
        s->before = s->theta;
        s->theta = norm / s->tau;
        s->c2 = 1 / (1 + s->theta * s->theta);
        s->tau *= s->theta * sqrt(s->c2);
    }
};

/** d := c^2 alpha q + c^2 theta_before^2 d, x := x + d, s := c^2 r + (1 - c^2) s; sums of r^T u,
 *  ||r||^2, ||u||^2, ||s||^2; then beta and rho. */
template <class E> struct iterate_pass : step_pass<6, 2> {
    enum { RESIDENT = sizeof(E) == 16 ? 2 : 4 }; /* or registers would not suffice */
    struct item {
        E q, d, x, r, s, u;
    };
    struct scalars {
        E a, b, c, e;
    };
    int hermitian;
    const E *q, *r, *u;
    E *d, *x, *s;
    __device__ scalars begin() const {
        const mpki_cuda_state *st = this->state;
        const double c2 = st->c2;
        return {to_entry<E>(c2 * st->alpha[0], c2 * st->alpha[1]),
                to_entry<E>(c2 * st->before * st->before, 0), to_entry<E>(c2, 0),
                to_entry<E>(1 - c2, 0)};
    }
    __device__ item load(int64_t i) const { return {q[i], d[i], x[i], r[i], s[i], u[i]}; }
    __device__ void use(int64_t i, const item &v, const scalars &k, double (&sums)[6]) const {
        const E dn = k.a * v.q + k.b * v.d, sn = k.c * v.r + k.e * v.s;
        d[i] = dn;
        x[i] = v.x + dn;
        s[i] = sn;
        const number a = to_number(v.r), b = to_number(v.u);
        add_product<E>(hermitian, a, b, sums[0], sums[1]);
        sums[2] += square(a);
        sums[3] += square(b);
        sums[4] += nonfinite(b);
        sums[5] += square(to_number(sn));
    }
    __device__ void end(const double (&v)[6]) const {
        mpki_cuda_state *st = this->state;
        count_step(st, sqrt(v[5]), st->tau);
        if (!(v[4] == 0)) {
            fail(st, MPKI_CUDA_M_BAD);
        } else if (vanishes<E>({v[0], v[1]}, v[2], v[3])) {
            fail(st, MPKI_CUDA_M_VANISHES);
        } else {
            const number beta = divide<E>({v[0], v[1]}, of(st->rho));
            st->beta[0] = beta.x, st->beta[1] = beta.y;
            st->rho[0] = v[0], st->rho[1] = v[1];
        }
        if (this->last) report(st, this->reporter);
    }
};

/** r^H z, z = M^-1 r: re, im, ||r||^2, ||z||^2, and NaN where z is not finite. */
template <class E> struct preconditioned_product_pass : step_pass<5, 4> {
    typedef pair<E> item;
    const E *r, *z;
    __device__ item load(int64_t i) const { return {r[i], z[i]}; }
    template <class N>
    __device__ void use(int64_t, const item &v, const N &, double (&sums)[5]) const {
        const number a = to_number(v.x), b = to_number(v.y);
        add_product<E>(1, a, b, sums[0], sums[1]);
        sums[2] += square(a);
        sums[3] += square(b);
        sums[4] += nonfinite(b);
    }
};

/** r^H z; then beta := rho / rho_before of CG. */
template <class E> struct beta_pass : preconditioned_product_pass<E> {
    __device__ void end(const double (&v)[5]) const {
        mpki_cuda_state *s = this->state;
        if (!(v[4] == 0)) return fail(s, MPKI_CUDA_M_BAD);
        if (vanishes<E>({v[0], v[1]}, v[2], v[3])) return fail(s, MPKI_CUDA_M_VANISHES);
        if (!(v[0] > 0)) return fail(s, MPKI_CUDA_M_UNFIT);
        s->beta[0] = s->rho[0] > 0 ? v[0] / s->rho[0] : 0;
        s->beta[1] = 0;
        s->rho[0] = v[0];
    }
};

/** x := x + alpha q, r := r - alpha t, ||r||^2. */
template <class E> struct cg_pass : step_pass<1, 2> {
    struct item {
        E q, t, x, r;
    };
    typedef E scalars;
    const E *q, *t;
    E *x, *r;
    __device__ scalars begin() const { return to_entry<E>(this->state->alpha[0], 0); }
    __device__ item load(int64_t i) const { return {q[i], t[i], x[i], r[i]}; }
    __device__ void use(int64_t i, const item &v, const E &alpha, double (&sums)[1]) const {
        const E updated = v.r - alpha * v.t;
        x[i] = v.x + alpha * v.q;
        r[i] = updated;
        sums[0] += square(to_number(updated));
    }
    __device__ void end(const double (&sums)[1]) const {
        count_step(this->state, sqrt(sums[0]), 0);
        if (this->last) report(this->state, this->reporter);
    }
};

} // namespace mpki

#endif
