/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_BLOCK_FACTOR_ENTRIES_CUH
#define MPKI_CUDA_BLOCK_FACTOR_ENTRIES_CUH
/** Numbers: parts of entries, scaled entries of A, and 2x2 pivots, as core/scaled.h,
 *  engines/cpu/block_factor/entry.h and kernels/block_pivot.h have them. */
#include "engines/cuda/batch/kernels/tile.cuh"
#include "block_factor.h"

namespace mpki {

template <class T> struct parts_of { typedef typename scalar_of<T>::real R; };

/** The imaginary part; 0 of real numbers. By each thread for itself; no barrier. */
__device__ inline float im(float) {
    return 0;
}
__device__ inline double im(double) {
    return 0;
}
template <class F> __device__ inline F im(cx<F> a) {
    return a.y;
}

/** The float re; the imaginary part is dropped. By each thread for itself; no barrier. */
__device__ inline float entry(float re, float) {
    return re;
}

/** The entry re + i im. */
template <class T> struct of_parts {
    __device__ static T make(double re, double) { return (T)re; }
};
template <class F> struct of_parts<cx<F>> {
    __device__ static cx<F> make(double re, double im) { return {(F)re, (F)im}; }
};

/** The entry re + i im, rounded to T. By each thread for itself; no barrier. */
template <class T> __device__ inline T from_parts(double re, double im) {
    return of_parts<T>::make(re, im);
}
/** x / s for real s, part by part. By each thread for itself; no barrier. */
__device__ inline float over(float x, float s) {
    return x / s;
}
__device__ inline double over(double x, double s) {
    return x / s;
}
template <class F> __device__ inline cx<F> over(cx<F> x, F s) {
    return {x.x / s, x.y / s};
}

/** x s for real s, part by part. By each thread for itself; no barrier. */
template <class T, class R> __device__ inline T times(T x, R s) {
    return x * s;
}

/** The smallest normal number of R. By each thread for itself; no barrier. */
template <class R> __device__ inline R tiny() {
    return sizeof(R) == 4 ? (R)1.17549435082228751e-38 : (R)2.2250738585072014e-308;
}

/** The largest number of R. By each thread for itself; no barrier. */
template <class R> __device__ inline R huge_of() {
    return sizeof(R) == 4 ? (R)3.40282346638528860e+38 : (R)1.7976931348623157e+308;
}

/** Is |re x| + |im x| finite? Not so for NaN. By each thread for itself; no barrier. */
template <class T> __device__ inline bool in_range(T x) { /* not so for NaN */
    typedef typename scalar_of<T>::real R;
    return abs1(x) <= huge_of<R>();
}

/** Is x not 0? NaN is not zero. By each thread for itself; no barrier. */
template <class T> __device__ inline bool nonzero(T x) { /* NaN is not zero */
    return !(re(x) == 0 && im(x) == 0);
}

/** The square root of x. By each thread for itself; no barrier. */
__device__ inline float root(float x) {
    return sqrtf(x);
}
__device__ inline double root(double x) {
    return sqrt(x);
}

/** sqrt(x^2 + y^2). By each thread for itself; no barrier. */
__device__ inline float hypotenuse(float x, float y) {
    return hypotf(x, y);
}
__device__ inline double hypotenuse(double x, double y) {
    return hypot(x, y);
}

/** s a t, also where s t is beyond the range. By each thread for itself; no barrier. */
__device__ inline double scaled(double a, double s, double t) {
    const double p = s * t;
    if (p > 0x1p-1000 && p < 0x1p+1000) return a * p;
    const double least = s < t ? s : t, most = s < t ? t : s;
    return fabs(a) < 1 ? a * most * least : a * least * most;
}

/** s x_e t, rounded to T after it is scaled; `single`: x is in single precision. By each thread
 *  for itself; no barrier. */
template <class T>
__device__ inline T scaled_entry(bool single, const void *x, int64_t e, double s, double t) {
    const int64_t k = scalar_of<T>::complex ? 2 * e : e;
    double a, b = 0;
    if (single)
        a = ((const float *)x)[k];
    else
        a = ((const double *)x)[k];
    if (scalar_of<T>::complex) b = single ? ((const float *)x)[k + 1] : ((const double *)x)[k + 1];
    return from_parts<T>(scaled(a, s, t), scalar_of<T>::complex ? scaled(b, s, t) : 0);
}

/* ---- 2x2 pivots [a conj(o); o c] ------------------------------------------------------------- */

/** The inverse of the 2 x 2 pivot [d11 conj(d21); d21 d22], scaled by d21. */
template <class T> struct pair_inverse {
    T i11, i21, i22;
    /** Computes it; `hermitian`: the diagonal stays real. By each thread for itself; no barrier. */
    __device__ pair_inverse(T d11, T d21, T d22, int hermitian) {
        const T o = inverse(d21), oc = cj(hermitian, o);
        const T e11 = d11 * oc, e22 = d22 * o;
        const T t = inverse(e11 * e22 - make<T>(1));
        i11 = (e22 * t) * oc;
        i21 = make<T>(0) - t * oc;
        i22 = (e11 * t) * o;
        if (hermitian) i11 = make<T>((double)re(i11)), i22 = make<T>((double)re(i22));
    }
};

/** The eigenvalues of [a o; o c], |large| >= |small|; o: a modulus. By each thread for itself;
 *  no barrier. */
template <class R> __device__ inline void pair_eigen(R a, R o, R c, R *large, R *small) {
    const R mean = (a + c) / 2, r = hypotenuse((a - c) / 2, o);
    *large = mean < 0 ? mean - r : mean + r;
    *small = *large != 0 ? a / *large * c - o / *large * o : 0;
}

/** The singular values of the complex symmetric [a o; o c]. By each thread for itself; no
 *  barrier. */
template <class T, class R>
__device__ inline void pair_singular(T a, T o, T c, R *large, R *small) {
    R s = abs1(a);
    s = abs1(o) > s ? abs1(o) : s;
    s = abs1(c) > s ? abs1(c) : s;
    *large = *small = 0;
    if (!(s > 0)) return;
    a = over(a, s), o = over(o, s), c = over(c, s);
    const R det = modulus(a * c - o * o);
    const R aa = modulus(a), oo = modulus(o), cc = modulus(c);
    const R sum = aa * aa + 2 * oo * oo + cc * cc;
    const R under = (sum - 2 * det) * (sum + 2 * det);
    const R top = root((sum + root(under > 0 ? under : (R)0)) / 2);
    *large = s * top, *small = s * (det / top);
}

/** The moduli of the eigenvalues of [a o; o c], or its singular values where it is complex
 *  symmetric. By each thread for itself; no barrier. */
template <class T, class R>
__device__ inline void pair_moduli(T a, T o, T c, int hermitian, R *large, R *small) {
    if (scalar_of<T>::complex && !hermitian) {
        pair_singular(a, o, c, large, small);
        return;
    }
    pair_eigen(re(a), modulus(o), re(c), large, small);
    *large = abs1(*large), *small = abs1(*small);
}

/** Replaces the eigenvalues of [a o; o c] up to `floor` by +-floor; what is up to `nothing`
 *  counts as 0. Returns how many were replaced. By each thread for itself; no barrier. */
template <class T, class R> __device__ inline int raise_real(R floor, R nothing, R *a, T *o, R *c) {
    R value[2];
    const R size = modulus(*o), x = *a, z = *c;
    const T y = *o;
    int raised = 0;
    pair_eigen(x, size, z, &value[0], &value[1]);
    if (!(abs1(value[0]) > nothing)) {
        *a = *c = floor, *o = make<T>(0);
        return 2;
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        if (abs1(value[k]) > floor) continue;
        const R more = (value[k] < -nothing ? -floor : floor) - value[k];
        T v = make<T>((double)(value[k] - z)), u = y;
        if (abs1(value[k] - x) > abs1(value[k] - z))
            v = conj(y), u = make<T>((double)(value[k] - x));
        R norm = hypotenuse(modulus(v), modulus(u));
        if (!(norm > 0)) v = make<T>(k == 0), u = make<T>(k == 1), norm = 1;
        v = over(v, norm), u = over(u, norm);
        *a += more * re(v * conj(v));
        *c += more * re(u * conj(u));
        *o = *o + times(u * conj(v), more);
        ++raised;
    }
    return raised;
}

/** Replaces the singular values of the complex symmetric [a o; o c] up to `floor`; returns how
 *  many. By each thread for itself; no barrier. */
template <class T, class R>
__device__ inline int raise_complex(R floor, R nothing, T *a, T *o, T *c) {
    R large, small;
    pair_singular(*a, *o, *c, &large, &small);
    if (!(large > floor)) {
        *a = *c = make<T>((double)floor), *o = make<T>(0);
        return 2;
    }
    if (small > floor) return 0;
    const T x = over(*a, large), y = over(*o, large), z = over(*c, large);
    const R h11 = re(conj(x) * x + conj(y) * y), h22 = re(conj(y) * y + conj(z) * z);
    const R value = (small / large) * (small / large);
    const T h21 = conj(y) * x + conj(z) * y;
    T v1 = make<T>((double)(value - h22)), v2 = h21;
    if (abs1(value - h11) > abs1(value - h22)) v1 = conj(h21), v2 = make<T>((double)(value - h11));
    const R norm = hypotenuse(modulus(v1), modulus(v2));
    v1 = over(v1, norm), v2 = over(v2, norm);
    const T t = v1 * (*a * v1 + *o * v2) + v2 * (*o * v1 + *c * v2);
    const T phase = modulus(t) > nothing ? over(t, modulus(t)) : make<T>(1);
    const T more = times(phase, floor - small);
    *a = *a + more * (conj(v1) * conj(v1));
    *o = *o + more * (conj(v2) * conj(v1));
    *c = *c + more * (conj(v2) * conj(v2));
    return 1;
}

} // namespace mpki
#endif
