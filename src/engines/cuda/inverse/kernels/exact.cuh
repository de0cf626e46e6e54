/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_INVERSE_EXACT_CUH
#define MPKI_CUDA_INVERSE_EXACT_CUH
/** Arithmetic with a rounding after each operation: what the processor does, so that columns have
 *  the same bits. These kernels wait for memory, not for the second instruction. */
#include "engines/cuda/module/rounding.cuh"
#include "engines/cuda/module/scalar.cuh"

namespace mpki {

template <class F> __device__ inline cx<F> add_rn(cx<F> a, cx<F> b) {
    return {add_rn(a.x, b.x), add_rn(a.y, b.y)};
}
template <class F> __device__ inline cx<F> sub_rn(cx<F> a, cx<F> b) {
    return {sub_rn(a.x, b.x), sub_rn(a.y, b.y)};
}
template <class F> __device__ inline cx<F> mul_rn(cx<F> a, cx<F> b) {
    return {sub_rn(mul_rn(a.x, b.x), mul_rn(a.y, b.y)), add_rn(mul_rn(a.x, b.y), mul_rn(a.y, b.x))};
}
/** x - a b, rounded after each operation. By each thread for itself; no barrier. */
template <class T> __device__ inline T subtract(T x, T a, T b) {
    return sub_rn(x, mul_rn(a, b));
}

/** |a|^2, rounded after each operation. By each thread for itself; no barrier. */
__device__ inline float square(float a) {
    return mul_rn(a, a);
}
__device__ inline double square(double a) {
    return mul_rn(a, a);
}
template <class F> __device__ inline F square(cx<F> a) {
    return add_rn(mul_rn(a.x, a.x), mul_rn(a.y, a.y));
}
/** a / d for real d. By each thread for itself; no barrier. */
__device__ inline float quotient(float a, float d) {
    return div_rn(a, d);
}
__device__ inline double quotient(double a, double d) {
    return div_rn(a, d);
}
template <class F> __device__ inline cx<F> quotient(cx<F> a, F d) {
    return {div_rn(a.x, d), div_rn(a.y, d)};
}

/** 1 / a with the operations of t_inv() of the processor. By each thread for itself; no barrier. */
__device__ inline float invert(float a) {
    return div_rn(1.0f, a);
}
__device__ inline double invert(double a) {
    return div_rn(1.0, a);
}
template <class F> __device__ inline cx<F> invert(cx<F> a) {
    if (fabs(a.x) >= fabs(a.y)) {
        const F r = div_rn(a.y, a.x), d = add_rn(a.x, mul_rn(a.y, r));
        return {div_rn((F)1, d), div_rn(-r, d)};
    }
    const F r = div_rn(a.x, a.y), d = add_rn(mul_rn(a.x, r), a.y);
    return {div_rn(r, d), div_rn((F)-1, d)};
}

/** Is no part of a infinite or NaN? By each thread for itself; no barrier. */
__device__ inline bool is_finite(float a) {
    return fabsf(a) <= 3.402823466e38f;
}
__device__ inline bool is_finite(double a) {
    return fabs(a) <= 1.7976931348623157e308;
}
template <class F> __device__ inline bool is_finite(cx<F> a) {
    return is_finite(a.x) && is_finite(a.y);
}

/** The a of lane `lane` of the caller's group of W lanes. By all lanes of a warp; a shuffle. */
template <int W, class X> __device__ inline X of_lane(X a, int lane) {
    return __shfl_sync(0xffffffffu, a, lane, W);
}
template <int W, class F> __device__ inline cx<F> of_lane(cx<F> a, int lane) {
    return {of_lane<W>(a.x, lane), of_lane<W>(a.y, lane)};
}

} // namespace mpki

#endif
