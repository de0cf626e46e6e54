/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_KRYLOV_VECTORS_H
#define MPKI_KRYLOV_VECTORS_H
/** What the iterative methods are written in, for one precision: scalars W, double or double
 *  complex also for single precision, and the engine's operations on vectors (k->ops). Whatever two
 *  vectors yield in one pass is asked for in one call: these loops run at the speed of memory. */
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
static inline double w_im(W x) {
    return (void)x, 0;
}
static inline double w_abs(W x) {
    return fabs(x);
}
static inline W w_conj(W x) {
    return x;
}
#endif
static inline bool w_finite(W x) {
    return isfinite(w_abs(x));
}

/* ---- operations of the engine: mpki_vector_ops has what they do ------------------------------ */

typedef struct product {
    W dot;
    double norm_x, norm_y;
} product;

static inline bool vanishes(product p) { /* accepted, not rejected: NaN vanishes too */
    return !(w_abs(p.dot) > 4 * (double)R_EPS * p.norm_x * p.norm_y);
}
static inline mpki_number number(W x) {
    return (mpki_number){w_re(x), w_im(x)};
}
static inline W w_of(mpki_number x) {
    return w_make(x.re, x.im);
}

static inline void vec_copy(mpki_krylov *k, const T *x, T *y) {
    k->ops->copy(k->space, x, y);
}
static inline void vec_zero(mpki_krylov *k, T *x) {
    k->ops->zero(k->space, x);
}
static inline product vec_product(mpki_krylov *k, int hermitian, const T *x, const T *y) {
    const mpki_product p = k->ops->product(k->space, hermitian, x, y);
    return (product){w_of(p.dot), p.norm_x, p.norm_y};
}
static inline W vec_dot(mpki_krylov *k, int hermitian, const T *x, const T *y) {
    return w_of(k->ops->dot(k->space, hermitian, x, y));
}
static inline double vec_norm(mpki_krylov *k, const T *x) {
    return k->ops->norm(k->space, x);
}
static inline void vec_axpy(mpki_krylov *k, W a, const T *x, T *y) {
    k->ops->axpy(k->space, number(a), x, y);
}
static inline double vec_axpy_norm(mpki_krylov *k, W a, const T *x, T *y) {
    return k->ops->axpy_norm(k->space, number(a), x, y);
}
static inline void vec_axpby(mpki_krylov *k, W a, const T *x, W b, T *y) {
    k->ops->axpby(k->space, number(a), x, number(b), y);
}
static inline double vec_axpby_norm(mpki_krylov *k, W a, const T *x, W b, T *y) {
    return k->ops->axpby_norm(k->space, number(a), x, number(b), y);
}
static inline void vec_scale(mpki_krylov *k, W a, const T *x, T *y) {
    k->ops->scale(k->space, number(a), x, y);
}
static inline void vec_random(mpki_krylov *k, T *x) {
    k->ops->random(k->space, &k->random, x);
}
static inline bool vec_finite(mpki_krylov *k, const T *x) {
    return k->ops->finite(k->space, x);
}

/* ---- what steps_t.c gives the methods -------------------------------------------------------- */

/** y := A x and y := M^-1 x, counted and timed. False: it failed, as k->status tells, or
 *  *event says that x had overflowed before. */
bool FN(krylov_product)(mpki_krylov *k, const T *x, T *y);
bool FN(krylov_precondition)(mpki_krylov *k, const T *x, T *y);
/** To be called after each iteration, with the residual norm as the method has it (absolute):
 *  counts, reports progress, looks at the true residual when it is time. Not MPKI_GO: the cycle
 *  ends and returns it. */
mpki_event FN(krylov_step)(mpki_krylov *k, double recurred_norm);
/** Goes on from what `batch` says, in batches of the engine's (k->ops->batch), until the cycle
 *  ends. batch: method, v, x and the start are set; a_vanishes .. m_unfit: the method's words for
 *  these. */
typedef struct batch_words {
    const char *a_vanishes, *m_vanishes, *a_unfit, *m_unfit;
} batch_words;
mpki_event FN(krylov_batches)(mpki_krylov *k, mpki_batch *batch, const batch_words *words);
/** End a cycle by breakdown, with the reason in words; or by failure where that was the reason. */
mpki_event FN(krylov_break)(mpki_krylov *k, const char *reason);
/** And for restarts: the true residual of the iterate, into k->r and k->truth; the best iterate is
 *  kept. False: an operator failed. */
bool FN(krylov_truth)(mpki_krylov *k);
/** ||A|| of a caller's operator is known from products alone, and the vectors of a method may all
 *  avoid what is large in A. A product with a vector of random signs, which has no reason to,
 *  helps. False: it failed. */
bool FN(krylov_probe_norm)(mpki_krylov *k);
static inline T *vec(const mpki_krylov *k, int which) {
    return k->v[which];
}

#endif
