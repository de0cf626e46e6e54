/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the arguments of the verbs of metapack/dense.h: are they there, do they fit, do they
 * overlap? */
#include "check.h"
#include "../core/sizes.h"

#include <float.h>
#include <math.h>

double mpki_dense_eps(mpk_scalar scalar) {
    return scalar == MPK_S || scalar == MPK_C ? FLT_EPSILON : DBL_EPSILON;
}

bool mpki_dense_read(const mpk_dense *given, mpk_dense *d) {
    mpk_dense_init(d);
    return mpki_read_struct(d, sizeof *d, given, offsetof(mpk_dense, condition));
}

bool mpki_dense_factor_filled(const mpk_dense_factor *f) {
    return f && f->struct_size >= offsetof(mpk_dense_factor, inertia) + sizeof f->inertia;
}

mpk_status mpki_dense_resolve(mpk_context *ctx, const mpk_dense *given, mpk_dense *d) {
    if (!given) MPKI_REFUSE(-1, "dense is NULL");
    if (!mpki_dense_read(given, d)) MPKI_REFUSE(-1, "dense was not filled by mpk_dense_init()");
    if ((unsigned)d->scalar > MPK_Z || (unsigned)d->symmetry > MPK_HERMITIAN)
        MPKI_REFUSE(-1, "no such scalar or symmetry: dense matrices are symmetric or Hermitian");
    if (d->symmetry == MPK_HERMITIAN && d->scalar < MPK_C)
        MPKI_REFUSE(-1, "real matrices are symmetric, not Hermitian");
    if (d->uplo != MPK_LOWER && d->uplo != MPK_UPPER)
        MPKI_REFUSE(d->uplo, "uplo is neither lower nor upper");
    if (d->n < 0) MPKI_REFUSE(d->n, "n is negative");
    if (d->n > INT32_MAX - 8)
        return mpki_error(ctx, MPK_ERR_SIZE, "dense", d->n, "n is above 2^31");
    if ((unsigned)d->memory > MPK_DEVICE) MPKI_REFUSE(d->memory, "no such memory");
    if ((unsigned)d->method >= MPK_DENSE_COUNT) MPKI_REFUSE(d->method, "no such method");
    if ((unsigned)d->precision > MPK_DENSE_HALF) MPKI_REFUSE(d->precision, "no such precision");
    if ((unsigned)d->refinement > MPK_DENSE_REFINE_GMRES)
        MPKI_REFUSE(d->refinement, "no such refinement");
    if (!(d->pivot_threshold > 0 && d->pivot_threshold <= 0.5))
        MPKI_REFUSE(-1, "pivot_threshold is not in (0, 0.5]");
    if (d->tile != 0 && (d->tile < 32 || d->tile > 256))
        MPKI_REFUSE(d->tile, "tile is not in 32 .. 256");
    if (d->depth < 1 || d->depth > 2) MPKI_REFUSE(d->depth, "depth is neither 1 nor 2");
    if (d->refine < 0 || d->threads < 0) MPKI_REFUSE(-1, "refine or threads is negative");
    if (d->threads > MPKI_THREADS_MOST)
        MPKI_REFUSE(d->threads, "threads is above %d", MPKI_THREADS_MOST);
    if (isnan(d->zero_tolerance) || isnan(d->accuracy)) MPKI_REFUSE(-1, "a tolerance is NaN");
    if (d->precision == MPK_DENSE_SINGLE && (d->scalar == MPK_S || d->scalar == MPK_C))
        d->precision = MPK_DENSE_WORKING;
    if (d->accuracy < 0) {
        const double root = sqrt((double)d->n);
        d->accuracy = mpki_dense_eps(d->scalar) * (root > 4 ? root : 4);
    }
    return MPK_OK;
}

mpk_status mpki_dense_check_size(mpk_context *ctx, const mpk_dense *d, int32_t nrhs) {
    /* methods keep less than 8 matrices and 64 columns for each right-hand side */
    const double n = (double)d->n, most = 8 * n * (n + 1024) + 64 * n * (double)nrhs;
    if (nrhs < 0) MPKI_REFUSE(nrhs, "nrhs is negative");
    if (most * (double)mpk_scalar_size(d->scalar) > 0x1p62)
        return mpki_error(ctx, MPK_ERR_SIZE, "dense", d->n,
                          "n = %lld with %d right-hand sides: that is more than any memory has",
                          (long long)d->n, nrhs);
    return MPK_OK;
}

mpk_scalar mpki_dense_factor_scalar(const mpk_dense *d) {
    if (d->precision == MPK_DENSE_WORKING) return d->scalar;
    return d->scalar == MPK_D || d->scalar == MPK_S ? MPK_S : MPK_C;
}

mpk_status mpki_dense_check_matrix(mpk_context *ctx, const mpk_dense *d, const char *name,
                                   const void *a, int64_t lda, size_t size) {
    if (!a && d->n > 0) MPKI_REFUSE(-1, "%s is NULL", name);
    if (lda < d->n || lda < 1)
        MPKI_REFUSE(lda, "the leading dimension of %s is %lld, less than n = %lld", name,
                    (long long)lda, (long long)d->n);
    if (d->n > 0 && lda > INT64_MAX / d->n / (int64_t)size)
        return mpki_error(ctx, MPK_ERR_SIZE, "dense", lda, "%s does not fit", name);
    return MPK_OK;
}

mpk_status mpki_dense_check_factor(mpk_context *ctx, const mpk_dense *d, const mpk_dense_factor *f,
                                   int64_t extra) {
    if (!f) MPKI_REFUSE(-1, "f is NULL");
    if (!mpki_dense_factor_filled(f))
        MPKI_REFUSE(-1, "f->struct_size is not sizeof(mpk_dense_factor)");
    mpk_status status = mpki_dense_check_matrix(ctx, d, "f", f->f, f->ldf,
                                                mpk_scalar_size(mpki_dense_factor_scalar(d)));
    if (mpk_failed(status)) return status;
    if (!f->pivots && d->n > 0) MPKI_REFUSE(-1, "f->pivots is NULL");
    if (!f->extra && extra > 0 && d->n > 0) MPKI_REFUSE(-1, "f->extra is NULL");
    if (extra > 0 && (uintptr_t)f->extra % 64)
        MPKI_REFUSE(-1, "f->extra is not aligned to 64 bytes");
    return MPK_OK;
}

mpk_status mpki_dense_check_work(mpk_context *ctx, const mpki_dense_work *work, int64_t wanted) {
    if (!work->memory) return MPK_OK;
    if ((uintptr_t)work->memory % 64) MPKI_REFUSE(-1, "work is not aligned to 64 bytes");
    if (work->bytes < wanted)
        MPKI_REFUSE(work->bytes, "work has %lld bytes of %lld", (long long)work->bytes,
                    (long long)wanted);
    return MPK_OK;
}

/* ---- overlaps -------------------------------------------------------------------------------- */

typedef struct range {
    const char *first, *last;
} range;

static range span(const void *x, int64_t rows, int64_t cols, int64_t ld, size_t size) {
    const char *first = x;
    if (!x || rows == 0 || cols == 0) return (range){first, first};
    return (range){first, first + ((size_t)(cols - 1) * (size_t)ld + (size_t)rows) * size};
}

/* What a call uses of it, however much there is said to be. */
static range work_span(const mpki_dense_work *work, const mpk_dense_sizes *sizes) {
    const int64_t bytes = work->bytes < sizes->sysv_bytes ? work->bytes : sizes->sysv_bytes;
    return span(work->memory, bytes > 0 ? bytes : 0, 1, 1, 1);
}

static bool overlap(range a, range b) {
    return a.first < b.last && b.first < a.last;
}

/* a, f, work and x as the caller gave them: only a and f may be the same memory */
mpk_status mpki_dense_check_overlap(mpk_context *ctx, const mpk_dense *d, const void *a,
                                    int64_t lda, const mpk_dense_factor *f,
                                    const mpk_dense_sizes *sizes, const mpki_dense_work *work,
                                    bool writes) {
    const range ra = span(a, d->n, d->n, lda, mpk_scalar_size(d->scalar));
    const range rf = span(f->f, d->n, d->n, f->ldf, mpk_scalar_size(mpki_dense_factor_scalar(d)));
    const range rw = work_span(work, sizes);
    const range re = span(f->extra, sizes->extra_bytes, 1, sizes->extra_bytes, 1);
    const range rp = span(f->pivots, sizes->pivots, 1, sizes->pivots, sizeof(int32_t));
    const bool in_place =
        writes && a == f->f && lda == f->ldf && mpki_dense_factor_scalar(d) == d->scalar;
    if (a == f->f && a && d->n > 0 && !in_place)
        MPKI_REFUSE(-1, writes ? "in place: f and a must agree in leading dimension and precision"
                               : "a is f: the matrix is gone, it cannot refine");
    if ((!in_place && overlap(ra, rf)) || overlap(ra, rw) || overlap(rf, rw) || overlap(ra, re) ||
        overlap(rf, re) || overlap(re, rw) || overlap(rp, ra) || overlap(rp, rf) ||
        overlap(rp, rw) || overlap(rp, re))
        MPKI_REFUSE(-1, "a, f, pivots, extra and work overlap");
    return MPK_OK;
}

mpk_status mpki_dense_check_sides(const mpki_dense_call *call, const mpk_dense_sizes *sizes,
                                  const mpki_dense_sides *given, const mpki_dense_work *work) {
    mpk_context *ctx = call->ctx;
    const mpk_dense *d = &call->dense;
    const mpk_dense_factor *f = call->f;
    const size_t size = mpk_scalar_size(d->scalar);
    if (given->nrhs == 0 || d->n == 0) return MPK_OK;
    const mpki_sides sides = {.n = d->n,
                              .nrhs = given->nrhs,
                              .size = size,
                              .b = given->b,
                              .ldb = given->ldb,
                              .x = given->x,
                              .ldx = given->ldx,
                              .may_be_same = true,
                              .equal_steps = true};
    if (mpk_failed(mpki_check_sides(ctx, "dense", &sides))) return mpki_failed(ctx);
    const range rb = span(given->b, d->n, given->nrhs, given->ldb, size);
    const range rx = span(given->x, d->n, given->nrhs, given->ldx, size);
    const range ra = span(call->a, d->n, d->n, call->lda, size);
    const range rf = span(f->f, d->n, d->n, f->ldf, mpk_scalar_size(mpki_dense_factor_scalar(d)));
    const range rw = work_span(work, sizes);
    if (overlap(rx, ra) || overlap(rx, rf) || overlap(rx, rw) || overlap(rb, rw) || overlap(rb, rf))
        MPKI_REFUSE(-1, "b, x, a, f and work overlap");
    return MPK_OK;
}
