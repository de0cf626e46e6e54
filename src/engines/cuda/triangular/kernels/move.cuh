/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_TRIANGULAR_MOVE_CUH
#define MPKI_CUDA_TRIANGULAR_MOVE_CUH
/** Vectors between the caller's order and slots, and D. */
#include "packet.cuh"

namespace mpki {

/* ---- the caller's entries: of S's kind, in either precision ---- */

/** The imaginary part; 0 of real numbers. By each thread for itself; no barrier. */
__host__ __device__ inline double im(float) {
    return 0;
}
__host__ __device__ inline double im(double) {
    return 0;
}
template <class F> __host__ __device__ inline double im(cx<F> a) {
    return (double)a.y;
}

/** build<S>::of(re, im): the S nearest to re + i im. By each thread for itself; no barrier. */
template <class S> struct build;
template <> struct build<float> {
    __device__ static float of(double r, double) { return (float)r; }
    typedef double widened;
};
template <> struct build<double> {
    __device__ static double of(double r, double) { return r; }
    typedef double widened;
};
template <class F> struct build<cx<F>> {
    __device__ static cx<F> of(double r, double i) { return {(F)r, (F)i}; }
    typedef cx<double> widened;
};

/** 1, or the power of two that brings *most near 1 where it is beyond 2^-40 .. 2^40: vectors in
 *  double precision and a factor in single precision. By each thread for itself; no barrier. */
__device__ inline double unit_of(const double *most) {
    const double x = most ? *most : 0;
    int exponent;
    if (!(x > 0) || x > 1.7976931348623157e308) return 1;
    if (x > 9.094947017729282379150390625e-13 && x < 1099511627776.0) return 1; /* 2^-40, 2^40 */
    frexp(x, &exponent);
    return ldexp(1.0, exponent < -1000 ? 1000 : -exponent);
}

/** *most := max_k |scale_k x_k|, by parts. A thread takes rows in turns; shuffles and an atomic
 *  maximum. */
template <class S, class W> __global__ void most_kernel(const mpki_sweeps_move m) {
    double most = 0;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < m.n;
         k += (int64_t)gridDim.x * blockDim.x)
        for (int r = 0; r < m.nrhs; ++r) {
            const W x = ((const W *)m.x)[m.index[k] + r * m.ldx];
            most = fmax(most, fmax(fabs((double)re(x)), fabs(im(x))) * (m.scale ? m.scale[k] : 1));
        }
    for (int d = 16; d; d /= 2) most = fmax(most, __shfl_xor_sync(0xffffffffu, most, d));
    if ((threadIdx.x & 31) == 0) /* numbers >= 0 are ordered as their bits are */
        atomicMax((unsigned long long *)m.most, (unsigned long long)__double_as_longlong(most));
}

/** y := scale x by slot; marks the vectors that are waited for, and sets tickets to 0. S:
 *  entries of y, W of x. A thread takes a slot; no barrier. */
template <class S, class W> __global__ void in_kernel(const mpki_sweeps_move m) {
    typedef typename scalar_of<S>::real R;
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= m.n) return;
    const double scale = m.scale ? m.scale[k] : 1, unit = unit_of(m.most);
    const int32_t i = m.index[k];
    for (int64_t t = k; t < m.tickets; t += m.n) m.ticket[t] = 0;
    for (int r = 0; r < m.slot_width; ++r) {
        S y = make<S>(0);
        if (r < m.nrhs) {
            const W x = ((const W *)m.x)[i + r * m.ldx];
            y = unit == 1 ? build<S>::of((double)re(x), im(x)) * (R)scale
                          : build<S>::of((double)re(x) * scale * unit, im(x) * scale * unit);
        }
        ((S *)m.y)[k * m.slot_width + r] = y;
        for (int j = 0; j < 2; ++j)
            if (m.wait[j]) mark(((typename widened_of<S>::type *)m.wait[j])[k * m.slot_width + r]);
    }
}

/** x := scale y in the caller's order. A thread takes a row of x; no barrier. */
template <class S, class W> __global__ void out_kernel(const mpki_sweeps_move m) {
    typedef typename scalar_of<S>::real R;
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m.n) return;
    const double scale = m.scale ? m.scale[i] : 1, unit = unit_of(m.most);
    const int64_t k = m.index[i];
    for (int r = 0; r < m.nrhs; ++r) {
        const S y = ((const S *)m.y)[k * m.slot_width + r], x = y * (R)scale;
        ((W *)m.x)[i + r * m.ldx] =
            unit == 1 ? build<W>::of((double)re(x), im(x))
                      : build<W>::of((double)re(y) * scale / unit, im(y) * scale / unit);
    }
}

/** p_k := the mark of what is not there yet, k < count. A thread takes an entry; no barrier. */
template <class V> __global__ void mark_kernel(V *p, int64_t count) {
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < count) mark(p[k]);
}

/* ---- D ---- */

/** E := |E| = (E^H E)^(1/2) for the 2 x 2 block E of D^-1, as pivot_modulus() of kernels/. By
 *  each thread for itself; no barrier. */
template <class S>
__device__ inline void pair_modulus(S *e11, S *e21, S *e12, S *e22, bool hermitian) {
    typedef typename scalar_of<S>::real R;
    R s = abs1(*e11);
    s = abs1(*e21) > s ? abs1(*e21) : s;
    s = abs1(*e22) > s ? abs1(*e22) : s;
    if (!(s > 0)) return;
    /* by a power of two near s, so that no quotient is rounded */
    int exponent;
    frexp((double)s, &exponent);
    const R up = (R)ldexp(1.0, -exponent), down = (R)ldexp(1.0, exponent);
    const S a = *e11 * up, o = *e21 * up, c = *e22 * up;
    if (hermitian || !scalar_of<S>::complex) {
        const R x = re(a), y = re(c), oo = re(conj(o) * o), trace = x + y, det = x * y - oo;
        R f = trace < 0 ? -1 : 1, g = 0;
        if (det < 0) {
            const R root = (R)sqrt((double)(trace * trace - 4 * det));
            f = trace / root, g = -2 * det / root;
        }
        *e11 = make<S>((double)((x * f + g) * down)), *e22 = make<S>((double)((y * f + g) * down));
        *e21 = o * f * down, *e12 = conj(*e21);
        return;
    }
    const R h11 = re(conj(a) * a) + re(conj(o) * o), h22 = re(conj(o) * o) + re(conj(c) * c);
    const S h21 = conj(o) * a + conj(c) * o;
    const R det = modulus(a * c - o * o), root = (R)sqrt((double)(h11 + h22 + 2 * det));
    *e11 = make<S>((double)((h11 + det) / root * down));
    *e22 = make<S>((double)((h22 + det) / root * down));
    *e21 = h21 * (1 / root) * down, *e12 = conj(*e21);
}

/** The coefficients of D^-1 and of |D|^-1 for a slot, and for the next where it is a `pair`, and
 *  who is with whom. dinv: from the slot's entry on. By each thread for itself; no barrier. */
template <class S>
__device__ inline void put_pivot(const S *dinv, bool pair, bool hermitian, S *inverse, S *absolute,
                                 int8_t *partner) {
    for (int k = 0; k < 2; ++k) {
        S *const to = k ? absolute : inverse;
        S e11 = dinv[0], e21 = dinv[1], e22, e12 = hermitian ? conj(e21) : e21;
        if (!pair) {
            to[0] = k ? make<S>((double)modulus(e11)) : e11, to[1] = make<S>(0);
            continue;
        }
        e22 = dinv[2];
        if (k) pair_modulus(&e11, &e21, &e12, &e22, hermitian);
        to[0] = e11, to[1] = e12, to[2] = e22, to[3] = e21;
    }
    partner[0] = pair;
    if (pair) partner[1] = -1;
}

/** put_pivot() for all pivots, by forward slot. A thread takes a frame; no barrier. */
template <class S>
__global__ void pivots_kernel(const mpki_cuda_packing p, const mpki_cuda_store s) {
    const int64_t f = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (f >= s.m) return;
    const int width = s.bptr[f + 1] - s.bptr[f];
    const S *const dinv = (const S *)s.dinv + 2 * (int64_t)s.bptr[f];
    for (int k = 0; k < width; ++k) {
        const int64_t slot = p.slot[0][f] + k;
        const bool pair = k + 1 < width && abs1(dinv[2 * k + 1]) > 0;
        put_pivot(dinv + 2 * k, pair, s.hermitian != 0, (S *)p.diagonal[0] + 2 * slot,
                  (S *)p.diagonal[1] + 2 * slot, p.partner + slot);
        k += pair;
    }
}

/** y := D^-1 y, by forward slot. S: entries of D^-1, V of y. A thread takes a pivot; no barrier. */
template <class S, class V>
__global__ void scale_kernel(const mpki_sweeps_move m, const S *diagonal, const int8_t *partner) {
    const int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= m.n || partner[k] < 0) return;
    V d[4] = {};
    for (int j = 0; j < (partner[k] ? 4 : 1); ++j)
        d[j] = build<V>::of((double)re(diagonal[2 * k + j]), im(diagonal[2 * k + j]));
    for (int r = 0; r < m.slot_width; ++r) {
        V *y = (V *)m.y + k * m.slot_width + r;
        const V x = y[0];
        y[0] = d[0] * x;
        if (!partner[k]) continue;
        V *z = y + m.slot_width;
        y[0] = y[0] + d[1] * z[0];
        z[0] = d[2] * z[0] + d[3] * x;
    }
}

} // namespace mpki

#endif
