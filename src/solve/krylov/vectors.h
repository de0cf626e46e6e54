/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_KRYLOV_VECTORS_H
#define MPKI_KRYLOV_VECTORS_H
/** Vector kernels of the iterative methods, for one precision (include after core/precision.h).
 *  Vectors of n entries in host memory. Sums and scalars are W: double, or double complex, also for
 *  single precision. Whatever two vectors yield in one pass is computed in that pass: these loops
 *  run at the speed of memory. */
#include "../../core/precision.h"
#include "krylov.h"

#if MPKI_COMPLEX
typedef double complex W;
static inline double w_re(W x) {
    return ((const double *)&x)[0];
}
static inline double w_im(W x) {
    return ((const double *)&x)[1];
}
static inline W w_make(double re, double im) {
    W w;
    ((double *)&w)[0] = re;
    ((double *)&w)[1] = im;
    return w;
}
static inline W w_mul(W x, W y) {
    return w_make(w_re(x) * w_re(y) - w_im(x) * w_im(y), w_re(x) * w_im(y) + w_im(x) * w_re(y));
}
static inline W w_div(W x, W y) { /* scaled, so that |y|^2 stays in the range */
    const double s = 1 / fmax(fabs(w_re(y)), fabs(w_im(y)));
    const double re = w_re(y) * s, im = w_im(y) * s, m = s / (re * re + im * im);
    return w_make((w_re(x) * re + w_im(x) * im) * m, (w_im(x) * re - w_re(x) * im) * m);
}
static inline double w_abs(W x) {
    return hypot(w_re(x), w_im(x));
}
static inline W w_conj(W x) {
    return w_make(w_re(x), -w_im(x));
}
static inline T narrow(W w) {
    return t_make((R)w_re(w), (R)w_im(w));
}
#else
typedef double W;
static inline double w_re(W x) {
    return x;
}
static inline W w_make(double re, double im) {
    return (void)im, re;
}
static inline W w_mul(W x, W y) {
    return x * y;
}
static inline W w_div(W x, W y) {
    return x / y;
}
static inline double w_abs(W x) {
    return fabs(x);
}
static inline W w_conj(W x) {
    return x;
}
static inline T narrow(W w) {
    return (T)w;
}
#endif
static inline bool w_finite(W x) {
    return isfinite(w_abs(x));
}

/** The product of two vectors with their norms: |dot| beside norm_x norm_y tells whether it is more
 *  than rounding. */
typedef struct product {
    W dot;
    double norm_x, norm_y;
} product;

static inline bool vanishes(product p) { /* accepted, not rejected: NaN vanishes too */
    return !(w_abs(p.dot) > 4 * (double)R_EPS * p.norm_x * p.norm_y);
}

/** sum x_i y_i, the first factor conjugated when hermitian. */
product FN(vec_product)(int32_t n, int hermitian, const T *x, const T *y);
W FN(vec_dot)(int32_t n, int hermitian, const T *x, const T *y);
double FN(vec_norm)(int32_t n, const T *x);
/** y += a x */
void FN(vec_axpy)(int32_t n, W a, const T *x, T *y);
/** y += a x; the norm of y */
double FN(vec_axpy_norm)(int32_t n, W a, const T *x, T *y);
/** y := a x + b y; the norm of y. b == 0 does not read y. */
double FN(vec_axpby)(int32_t n, W a, const T *x, W b, T *y);
/** y := a x */
void FN(vec_scale)(int32_t n, W a, const T *x, T *y);
/** Entries in (-1, 1), complex ones in the square. */
void FN(vec_random)(int32_t n, uint64_t *state, T *x);

/* ---- what run_t.c gives the methods ---------------------------------------------------------- */

/** y := A x and y := M^-1 x, counted and timed. False: it failed, as k->status tells, or
 *  *event says that x had overflowed before. */
bool FN(krylov_product)(mpki_krylov *k, const T *x, T *y);
bool FN(krylov_precondition)(mpki_krylov *k, const T *x, T *y);
/** To be called after each iteration, with the residual norm as the method has it (absolute):
 *  counts, reports progress, looks at the true residual when it is time. Not MPKI_GO: the cycle
 *  ends and returns it. */
mpki_event FN(krylov_step)(mpki_krylov *k, double recurred_norm);
/** End a cycle by breakdown, with the reason in words; or by failure where that was the reason. */
mpki_event FN(krylov_break)(mpki_krylov *k, const char *reason);
static inline T *vec(const mpki_krylov *k, int which) {
    return k->v[which];
}

#endif
