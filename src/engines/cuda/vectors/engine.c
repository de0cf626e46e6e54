/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's engine of vectors for Krylov methods: the slots of engines/interface/engine.h over
 * the module's kernels (vectors/), but for those of a matrix (vectors/matrix.c) and of iterations
 * (vectors/iterate.c). */
#include "core/random.h"
#include "space.h"

#include <math.h>

static const char STAGE[] = "solve";

/* Nothing more is queued after a failure. */
static bool lost(const mpki_space *s) {
    return mpk_failed(s->status);
}

static mpk_status space_status(const mpki_space *s) {
    return s->status;
}

/* ---- operations ------------------------------------------------------------------------------ */

static void take(mpki_space *s, const void *b, void *x) {
    if (!lost(s)) good(s, s->f->copy(s->d->cuda, &s->at, b, x, 1));
}

static void copy(mpki_space *s, const void *x, void *y) {
    if (!lost(s)) good(s, s->f->copy(s->d->cuda, &s->at, x, y, 0));
}

static void zero(mpki_space *s, void *x) {
    if (!lost(s)) good(s, s->k->zero(s->d->cuda, &s->at, x));
}

static mpki_product product(mpki_space *s, int hermitian, const void *x, const void *y) {
    double v[4];
    if (lost(s) || !good(s, s->k->product(s->d->cuda, &s->at, hermitian, x, y, v)))
        return (mpki_product){{NAN, NAN}, NAN, NAN};
    return (mpki_product){{v[0], v[1]}, sqrt(v[2]), sqrt(v[3])};
}

static mpki_number dot(mpki_space *s, int hermitian, const void *x, const void *y) {
    return product(s, hermitian, x, y).dot;
}

static double norm(mpki_space *s, const void *x) {
    return product(s, 0, x, x).norm_x;
}

static double update(mpki_space *s, mpki_number a, const void *x, mpki_number b, void *y,
                     bool wants_norm) {
    double square = NAN;
    if (!lost(s))
        good(s, s->k->axpby(s->d->cuda, &s->at, &a.re, x, &b.re, y, wants_norm ? &square : NULL));
    return sqrt(square);
}
static const mpki_number ONE = {1, 0};

static void axpy(mpki_space *s, mpki_number a, const void *x, void *y) {
    update(s, a, x, ONE, y, false);
}
static double axpy_norm(mpki_space *s, mpki_number a, const void *x, void *y) {
    return update(s, a, x, ONE, y, true);
}
static void axpby(mpki_space *s, mpki_number a, const void *x, mpki_number b, void *y) {
    update(s, a, x, b, y, false);
}
static double axpby_norm(mpki_space *s, mpki_number a, const void *x, mpki_number b, void *y) {
    return update(s, a, x, b, y, true);
}
static void scale(mpki_space *s, mpki_number a, const void *x, void *y) {
    update(s, a, x, (mpki_number){0, 0}, y, false);
}

static double project(mpki_space *s, int32_t count, void *const *v, void *w, mpki_number *h,
                      double *before) {
    double squares[2] = {NAN, NAN};
    *before = NAN;
    for (int32_t k = 0; k < count && !lost(s); k += MPKI_CUDA_BASIS) {
        const int32_t some = count - k < MPKI_CUDA_BASIS ? count - k : MPKI_CUDA_BASIS;
        if (!good(s, s->k->project(s->d->cuda, &s->at, some, v + k, w, &h[k].re, squares)))
            return NAN;
        if (k == 0) *before = sqrt(squares[0]);
    }
    return sqrt(squares[1]);
}

static void combine(mpki_space *s, int32_t count, void *const *v, const mpki_number *c,
                    const void *x, void *y) {
    const int64_t size = (int64_t)mpk_scalar_size(s->at.scalar);
    for (int32_t k = 0; k < count && !lost(s); k += MPKI_CUDA_BASIS) {
        const int32_t some = count - k < MPKI_CUDA_BASIS ? count - k : MPKI_CUDA_BASIS;
        const int64_t stride = some > 1 ? ((char *)v[k + 1] - (char *)v[k]) / size : 0;
        double less[2 * MPKI_CUDA_BASIS];
        for (int32_t i = 0; i < some; i++)
            less[2 * i] = -c[k + i].re, less[2 * i + 1] = -c[k + i].im;
        good(s, s->k->combine(s->d->cuda, &s->at, some, v[k], stride, less, k ? y : x, y));
    }
}

static void columns(mpki_space *s, int32_t count, mpki_number *out) {
    if (!lost(s)) good(s, s->f->columns(s->d->cuda, &s->at, count, &out->re));
}

static void vector_random(mpki_space *s, uint64_t *state, void *x) {
    const uint64_t each = s->at.scalar >= MPK_C ? 2 : 1;
    if (!lost(s)) good(s, s->k->random(s->d->cuda, &s->at, *state, x));
    *state += MPKI_GOLDEN * each * (uint64_t)s->at.n;
}

static void signs(mpki_space *s, void *x) {
    if (!lost(s)) good(s, s->k->signs(s->d->cuda, &s->at, x));
}

static bool vector_finite(mpki_space *s, const void *x) {
    double bad;
    return !lost(s) && good(s, s->k->finite(s->d->cuda, &s->at, x, &bad)) && bad == 0;
}

static int64_t first_nonfinite(mpki_space *s, const void *x) {
    if (vector_finite(s, x) || lost(s)) return -1;
    const bool single = s->at.scalar == MPK_S || s->at.scalar == MPK_C;
    const int64_t each = s->at.scalar >= MPK_C ? 2 : 1;
    void *host = mpki_alloc(s->ctx, STAGE, s->at.n, mpk_scalar_size(s->at.scalar));
    int64_t i = 0;
    if (!host) s->status = mpki_failed(s->ctx);
    if (host && good(s, s->f->copy(s->d->cuda, &s->at, x, host, 1)))
        while (i < each * s->at.n &&
               (single ? isfinite(((float *)host)[i]) : isfinite(((double *)host)[i])))
            i++;
    mpki_release(s->ctx, host);
    return i / each;
}

static double largest(mpki_space *s, const void *x) {
    double most;
    return !lost(s) && good(s, s->k->largest(s->d->cuda, &s->at, x, &most)) ? most : NAN;
}

static bool equal(mpki_space *s, const void *x, const void *y) {
    double count;
    return !lost(s) && good(s, s->k->differ(s->d->cuda, &s->at, x, y, &count)) && count == 0;
}

/* ---- the engine ------------------------------------------------------------------------------ */

static const mpki_vector_ops ops = {.make = mpki_cuda_space_make,
                                    .free = mpki_cuda_space_free,
                                    .status = space_status,
                                    .take = take,
                                    .give = take,
                                    .copy = copy,
                                    .zero = zero,
                                    .product = product,
                                    .dot = dot,
                                    .norm = norm,
                                    .axpy = axpy,
                                    .axpy_norm = axpy_norm,
                                    .axpby = axpby,
                                    .axpby_norm = axpby_norm,
                                    .scale = scale,
                                    .random = vector_random,
                                    .signs = signs,
                                    .finite = vector_finite,
                                    .first_nonfinite = first_nonfinite,
                                    .largest = largest,
                                    .equal = equal,
                                    .project = project,
                                    .combine = combine,
                                    .batch = mpki_cuda_iterate,
                                    .cycle_most = MPKI_CUDA_BASIS - 1,
                                    .columns = columns};

const mpki_vector_engine mpki_cuda_vectors = {.matrix_make = mpki_cuda_matrix_make,
                                              .matrix_of = mpki_cuda_matrix_of,
                                              .matrix_values = mpki_cuda_matrix_values,
                                              .row_sums = mpki_cuda_row_sums,
                                              .equilibrate = mpki_cuda_equilibrate,
                                              .matrix_free = mpki_cuda_matrix_free,
                                              .matrix_bytes = mpki_cuda_matrix_bytes,
                                              .multiply = mpki_cuda_multiply,
                                              .residual = mpki_cuda_residual,
                                              .measure = mpki_cuda_measure,
                                              .shift = mpki_cuda_shift,
                                              .scales_make = mpki_cuda_scales_make,
                                              .scales_free = mpki_cuda_scales_free,
                                              .scales_apply = mpki_cuda_scales_apply,
                                              .ops = {&ops, &ops, &ops, &ops}};
