/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_CUDA_MODULE_SCALAR_CUH
#define MPKI_CUDA_MODULE_SCALAR_CUH
/** The four kinds of entries on the device: float, double, and complex numbers of our own, laid out
 *  as C99's. A templated file, *_t.cu, is plain CUDA C++ on T (entry) and R (its real type) and is
 *  compiled once for each MPKI_PRECISION = 0..3 (s d c z). */
#include <cuda_runtime.h>
#include <stdint.h>

namespace mpki {

template <class F> struct alignas(2 * sizeof(F)) cx { F x, y; };

template <class T> struct scalar_of {
    typedef T real;
    static const bool complex = false;
};
template <class F> struct scalar_of<cx<F>> {
    typedef F real;
    static const bool complex = true;
};

/** a + b. By each thread for itself; no barrier. */
template <class F> __host__ __device__ inline cx<F> operator+(cx<F> a, cx<F> b) {
    return {a.x + b.x, a.y + b.y};
}

/** a - b. By each thread for itself; no barrier. */
template <class F> __host__ __device__ inline cx<F> operator-(cx<F> a, cx<F> b) {
    return {a.x - b.x, a.y - b.y};
}

/** -a. By each thread for itself; no barrier. */
template <class F> __host__ __device__ inline cx<F> operator-(cx<F> a) {
    return {-a.x, -a.y};
}

/** a b, without C99's tests for infinities. By each thread for itself; no barrier. */
template <class F> __host__ __device__ inline cx<F> operator*(cx<F> a, cx<F> b) {
    return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}

/** a b for real b. By each thread for itself; no barrier. */
template <class F> __host__ __device__ inline cx<F> operator*(cx<F> a, F b) {
    return {a.x * b, a.y * b};
}

/** The complex conjugate of a. By each thread for itself; no barrier. */
__host__ __device__ inline float conj(float a) {
    return a;
}
__host__ __device__ inline double conj(double a) {
    return a;
}
template <class F> __host__ __device__ inline cx<F> conj(cx<F> a) {
    return {a.x, -a.y};
}
/** conj(a) for Hermitian matrices (H), a for symmetric ones. By each thread for itself; no
 *  barrier. */
template <bool H, class T> __host__ __device__ inline T cj(T a) {
    return H ? conj(a) : a;
}

/** The real part of a. By each thread for itself; no barrier. */
__host__ __device__ inline float re(float a) {
    return a;
}
__host__ __device__ inline double re(double a) {
    return a;
}
template <class F> __host__ __device__ inline F re(cx<F> a) {
    return a.x;
}

template <class T> struct make_;
template <> struct make_<float> {
    __host__ __device__ static float of(double r) { return (float)r; }
};
template <> struct make_<double> {
    __host__ __device__ static double of(double r) { return r; }
};
template <class F> struct make_<cx<F>> {
    __host__ __device__ static cx<F> of(double r) { return {(F)r, (F)0}; }
};

/** The entry r + 0 i. By each thread for itself; no barrier. */
template <class T> __host__ __device__ inline T make(double r) {
    return make_<T>::of(r);
}
/** A diagonal entry: its imaginary part is dropped where the matrix is Hermitian (H). By each
 *  thread for itself; no barrier. */
template <bool H, class T> __host__ __device__ inline T diagonal(T a) {
    return H ? make<T>((double)re(a)) : a;
}

/** |re a| + |im a|, LAPACK's measure of a pivot, within sqrt(2) of the modulus. By each thread
 *  for itself; no barrier. */
__host__ __device__ inline float abs1(float a) {
    return fabsf(a);
}
__host__ __device__ inline double abs1(double a) {
    return fabs(a);
}
template <class F> __host__ __device__ inline F abs1(cx<F> a) {
    return abs1(a.x) + abs1(a.y);
}

/** |a|. By each thread for itself; no barrier. */
__host__ __device__ inline float modulus(float a) {
    return fabsf(a);
}
__host__ __device__ inline double modulus(double a) {
    return fabs(a);
}
__host__ __device__ inline float modulus(cx<float> a) {
    return hypotf(a.x, a.y);
}
__host__ __device__ inline double modulus(cx<double> a) {
    return hypot(a.x, a.y);
}

/** c -= a b, by fused multiply-adds. By each thread for itself; no barrier. */
__device__ inline void nfma(float &c, float a, float b) {
    c = fmaf(-a, b, c);
}
__device__ inline void nfma(double &c, double a, double b) {
    c = fma(-a, b, c);
}
template <class F> __device__ inline void nfma(cx<F> &c, cx<F> a, cx<F> b) {
    nfma(c.x, a.x, b.x);
    nfma(c.y, a.x, b.y);
    nfma(c.x, -a.y, b.y);
    nfma(c.y, a.y, b.x);
}

/** c += a b, by fused multiply-adds. By each thread for itself; no barrier. */
template <class T> __device__ inline void pfma(T &c, T a, T b) {
    nfma(c, -a, b);
}

/** 1 / a for a not zero; complex by Smith's division. By each thread for itself; no barrier. */
__host__ __device__ inline float inverse(float a) {
    return 1.0f / a;
}
__host__ __device__ inline double inverse(double a) {
    return 1.0 / a;
}
template <class F> __host__ __device__ inline cx<F> inverse(cx<F> a) {
    if (abs1(a.x) >= abs1(a.y)) {
        F r = a.y / a.x, d = a.x + a.y * r;
        return {1 / d, -r / d};
    }
    F r = a.x / a.y, d = a.x * r + a.y;
    return {r / d, -1 / d};
}

/** Is a exactly 0? By each thread for itself; no barrier. */
template <class T> __host__ __device__ inline bool is_zero(T a) {
    return abs1(a) == 0;
}

/** abs1(a) as an unsigned integer in the same order: all bits of a float, the upper 32 of a
 *  double. Two doubles within 2^-20 of each other may compare equal, which does no harm in a
 *  choice of pivots. NaN is the largest. By each thread for itself; no barrier. */
__device__ inline unsigned key(float a) {
    return __float_as_uint(fabsf(a));
}
__device__ inline unsigned key(double a) {
    return (unsigned)__double2hiint(a) & 0x7fffffffu; /* fabs would be an addition */
}
template <class F> __device__ inline unsigned key(cx<F> a) {
    return key(abs1(a));
}
/** By how much a key falls when its number is divided by 4. */
template <class R> struct key_quarter {
    static const unsigned value = sizeof(R) == 4 ? 2u << 23 : 2u << 20;
};
template <class R> __device__ inline R unkey(unsigned k);
template <> __device__ inline float unkey<float>(unsigned k) {
    return __uint_as_float(k);
}
template <> __device__ inline double unkey<double>(unsigned k) {
    return __hiloint2double((int)k, 0);
}

/** The a of lane `lane`. By all lanes of a warp; a shuffle. */
template <class T> __device__ inline T shfl(T a, int lane) {
    return __shfl_sync(0xffffffffu, a, lane);
}
template <class F> __device__ inline cx<F> shfl(cx<F> a, int lane) {
    return {__shfl_sync(0xffffffffu, a.x, lane), __shfl_sync(0xffffffffu, a.y, lane)};
}

/** The a of the lane whose number differs by `mask`. By all lanes of a warp; a shuffle. */
template <class T> __device__ inline T shfl_xor(T a, int mask) {
    return __shfl_xor_sync(0xffffffffu, a, mask);
}
template <class F> __device__ inline cx<F> shfl_xor(cx<F> a, int mask) {
    return {__shfl_xor_sync(0xffffffffu, a.x, mask), __shfl_xor_sync(0xffffffffu, a.y, mask)};
}

/** v[0] := the sum of v[lane / (32 / W)] over the warp; in each step a lane sends half of its
 *  entries away. By all lanes of a warp; shuffles. */
template <int W, class G> __device__ inline void fold(G (&v)[W]) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int w = W / 2, o = 16; o; w /= 2, o /= 2) {
        const bool high = lane & o;
        if (w == 0) {
            v[0] = v[0] + shfl_xor(v[0], o);
            continue;
        }
#pragma unroll
        for (int k = 0; k < W / 2; ++k) {
            if (k >= w) break;
            const G gone = high ? v[k] : v[k + w], kept = high ? v[k + w] : v[k];
            v[k] = kept + shfl_xor(gone, o);
        }
    }
}

/** 1 / a to some 20 bits, for numbers far from the ends of the range. By each thread for itself;
 *  no barrier. */
__device__ inline double nearly_inverse(double a) {
#ifdef __CUDA_ARCH__
    double x;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(x) : "d"(a));
    return x;
#else
    return __hiloint2double(__double2hiint(1 / a), 0);
#endif
}

} // namespace mpki

#ifndef MPKI_PRECISION
#define MPKI_PRECISION 1
#endif
#if MPKI_PRECISION == 0
typedef float T;
#define FN(name) mpki_s_##name
#elif MPKI_PRECISION == 1
typedef double T;
#define FN(name) mpki_d_##name
#elif MPKI_PRECISION == 2
typedef mpki::cx<float> T;
#define FN(name) mpki_c_##name
#else
typedef mpki::cx<double> T;
#define FN(name) mpki_z_##name
#endif
typedef mpki::scalar_of<T>::real R;

#endif
