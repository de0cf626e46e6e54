/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PRECISION_H
#define MPKI_PRECISION_H
/** A templated file is ordinary C on T (entry), R (its real type) and FN(name); CMake compiles it
 *  four times with MPKI_PRECISION = 0..3 (s d c z); 1 when nothing is said, so that editors work.
 *  FN(solve) is mpki_d_solve there, and a definition reads `FN(solve)(`: that is what to search
 *  for, where an editor does not expand macros. Kernels, which are compiled once per instruction
 *  set as well, put its name between the two (ISA_FN in kernels/isa.h, which is made of FN). */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <metapack/types.h>

#ifndef MPKI_PRECISION
#define MPKI_PRECISION 1
#endif

#if MPKI_PRECISION == 0
typedef float T;
typedef float R;
#define MPKI_COMPLEX 0
#define FN(name) mpki_s_##name
#define R_EPS FLT_EPSILON
#define R_TINY FLT_MIN
#elif MPKI_PRECISION == 1
typedef double T;
typedef double R;
#define MPKI_COMPLEX 0
#define FN(name) mpki_d_##name
#define R_EPS DBL_EPSILON
#define R_TINY DBL_MIN
#elif MPKI_PRECISION == 2
typedef float complex T;
typedef float R;
#define MPKI_COMPLEX 1
#define FN(name) mpki_c_##name
#define R_EPS FLT_EPSILON
#define R_TINY FLT_MIN
#else
typedef double complex T;
typedef double R;
#define MPKI_COMPLEX 1
#define FN(name) mpki_z_##name
#define R_EPS DBL_EPSILON
#define R_TINY DBL_MIN
#endif

#if MPKI_PRECISION == 0 || MPKI_PRECISION == 2
#define r_abs fabsf
#define r_sqrt sqrtf
#define r_hypot hypotf
#define r_cbrt cbrtf
#else
#define r_abs fabs
#define r_sqrt sqrt
#define r_hypot hypot
#define r_cbrt cbrt
#endif

#if MPKI_COMPLEX
/* products by parts: C99's own call __muldc3 for its rules of infinities */
static inline R t_re(T x) {
    return ((const R *)&x)[0];
}
static inline R t_im(T x) {
    return ((const R *)&x)[1];
}
static inline T t_make(R re, R im) {
    T x;
    ((R *)&x)[0] = re;
    ((R *)&x)[1] = im;
    return x;
}
static inline T t_conj(T x) {
    return t_make(t_re(x), -t_im(x));
}
static inline T t_mul(T x, T y) {
    return t_make(t_re(x) * t_re(y) - t_im(x) * t_im(y), t_re(x) * t_im(y) + t_im(x) * t_re(y));
}
static inline R t_abs(T x) {
    return r_hypot(t_re(x), t_im(x));
}
/* |re| + |im|: within sqrt(2) of the modulus, and cheap: for comparisons */
static inline R t_abs1(T x) {
    return r_abs(t_re(x)) + r_abs(t_im(x));
}
static inline T t_inv(T x) {
    R a = t_re(x), b = t_im(x);
    if (r_abs(a) >= r_abs(b)) {
        R r = b / a, d = a + b * r;
        return t_make(1 / d, -r / d);
    }
    R r = a / b, d = a * r + b;
    return t_make(r / d, -1 / d);
}
#else
static inline R t_re(T x) {
    return x;
}
static inline R t_im(T x) {
    return (void)x, (R)0;
}
static inline T t_make(R re, R im) {
    return (void)im, re;
}
static inline T t_conj(T x) {
    return x;
}
static inline T t_mul(T x, T y) {
    return x * y;
}
static inline R t_abs(T x) {
    return r_abs(x);
}
static inline R t_abs1(T x) {
    return r_abs(x);
}
static inline T t_inv(T x) {
    return 1 / x;
}
#endif
static inline T conj_if(int hermitian, T x) {
    return hermitian ? t_conj(x) : x;
}

/** Entry i of an array whose entries are `scalar`: of T's kind, in single or double precision. */
static inline T t_load(mpk_scalar scalar, const void *x, int64_t i) {
#if MPKI_COMPLEX
    if (scalar == MPK_C) return (T)((const float complex *)x)[i];
    return (T)((const double complex *)x)[i];
#else
    if (scalar == MPK_S) return (T)((const float *)x)[i];
    return (T)((const double *)x)[i];
#endif
}
/** real and imaginary part of entry i, in double */
static inline void t_parts(mpk_scalar scalar, const void *x, int64_t i, double *re, double *im) {
#if MPKI_COMPLEX
    const int64_t k = 2 * i;
    *re = scalar == MPK_C ? ((const float *)x)[k] : ((const double *)x)[k];
    *im = scalar == MPK_C ? ((const float *)x)[k + 1] : ((const double *)x)[k + 1];
#else
    *re = scalar == MPK_S ? ((const float *)x)[i] : ((const double *)x)[i];
    *im = 0;
#endif
}
static inline void t_store(mpk_scalar scalar, void *x, int64_t i, T value) {
#if MPKI_COMPLEX
    if (scalar == MPK_C)
        ((float complex *)x)[i] = (float complex)value;
    else
        ((double complex *)x)[i] = (double complex)value;
#else
    if (scalar == MPK_S)
        ((float *)x)[i] = (float)value;
    else
        ((double *)x)[i] = (double)value;
#endif
}

#endif
