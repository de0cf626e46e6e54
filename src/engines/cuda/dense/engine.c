/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's engine for dense matrices: the slots of engines/interface/dense.h over the module's
 * entries. */
#include "engines/interface/dense.h"
#include "engines/cuda/module/load.h"

#include <math.h>
#include <string.h>

static const mpki_device *device_of(const mpki_dense_call *call) {
    return call->state;
}

static const mpki_cuda_entries *entries_of(const mpki_dense_call *call, mpk_scalar scalar) {
    return device_of(call)->table->entries[scalar];
}

/* The status of a function of the module; the text of a failure becomes the context's. */
static mpk_status status_of(const mpki_dense_call *call, int status) {
    const mpki_device *d = device_of(call);
    if (!mpk_failed(status)) return (mpk_status)status;
    return mpki_error(call->ctx, (mpk_status)status, "dense", -1, "%s",
                      d->table->last_error(d->cuda));
}

/* A host pointer would make the device fault, and nothing recovers from that. */
static mpk_status on_device(const mpki_dense_call *call, const char *name, const void *p) {
    const mpki_device *d = device_of(call);
    if (d->table->is_device(d->cuda, p)) return MPK_OK;
    return mpki_error(call->ctx, MPK_ERR_ARGUMENT, "dense", -1,
                      "%s does not lie in the device's memory, as memory = MPK_DEVICE says", name);
}

static int method_of(mpk_dense_method method) {
    switch (method) {
    case MPK_DENSE_TILE:
        return MPKI_CUDA_TILE;
    case MPK_DENSE_BUNCH_KAUFMAN:
        return MPKI_CUDA_BUNCH_KAUFMAN;
    case MPK_DENSE_ROOK:
        return MPKI_CUDA_ROOK;
    case MPK_DENSE_AASEN:
        return MPKI_CUDA_AASEN;
    case MPK_DENSE_BUTTERFLY:
        return MPKI_CUDA_BUTTERFLY;
    default:
        return MPKI_CUDA_NONE;
    }
}

static bool upper(const mpki_dense_call *call) {
    return call->dense.uplo == MPK_UPPER;
}

/* Bunch-Kaufman, rook: pivots are LAPACK's ipiv; permutation and kinds of pivots lie in extra. */
static bool lapack_like(const mpki_dense_call *call) {
    return call->dense.method == MPK_DENSE_BUNCH_KAUFMAN || call->dense.method == MPK_DENSE_ROOK;
}

/* What the module works on: the factor itself; for upper triangles a square in the workspace, which
 * holds the lower triangle of the matrix in reverse order. */
typedef struct parts {
    mpki_cuda_matrix d;
    char *square;
    int64_t square_bytes, lists_bytes;
} parts;

static int64_t up(int64_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static parts parts_of(const mpki_dense_call *call) {
    parts p;
    const mpk_dense *dense = &call->dense;
    const int64_t n = dense->n, size = (int64_t)mpk_scalar_size(call->factor_scalar);
    memset(&p, 0, sizeof p);
    p.lists_bytes = up(3 * n * (int64_t)sizeof(int32_t)) + 256;
    p.square_bytes = upper(call) ? up(n * n * size) : 0;
    p.d.scalar = call->factor_scalar;
    p.d.hermitian = dense->symmetry == MPK_HERMITIAN;
    p.d.method = method_of(dense->method);
    p.d.n = (int)n;
    p.d.lda = n;
    p.d.u = dense->pivot_threshold;
    p.d.zero_tolerance = dense->zero_tolerance;
    p.d.tf32 = dense->precision == MPK_DENSE_TF32     ? 1
               : dense->precision == MPK_DENSE_HALF   ? 2
               : dense->precision == MPK_DENSE_SINGLE ? 3
                                                      : 0;
    p.d.depth = dense->depth;
    p.d.seed = dense->seed;
    p.d.stream = dense->stream;
    if (!call->work) return p;
    char *at = (char *)(((uintptr_t)call->work + 255) / 256 * 256);
    p.d.perm = (int *)at, p.d.kind = p.d.perm + n, p.d.ipiv = p.d.kind + n;
    at = call->work + p.lists_bytes;
    at = (char *)(((uintptr_t)at + 255) / 256 * 256);
    p.square = upper(call) ? at : NULL;
    p.d.work = at + p.square_bytes;
    p.d.work_bytes = call->work + call->work_bytes - (char *)p.d.work;
    p.d.A = upper(call) ? p.square : call->f->f;
    p.d.lda = upper(call) ? n : call->f->ldf;
    p.d.extra = call->f->extra;
    if (lapack_like(call)) p.d.perm = call->f->extra, p.d.kind = p.d.perm + n;
    return p;
}

static mpk_status need_of(const mpki_dense_call *call, int32_t nrhs, mpki_dense_need *need) {
    parts p = parts_of(call);
    const mpki_device *d = device_of(call);
    int64_t factorize, solve, extra;
    const mpk_dense_precision precision = call->dense.precision;
    if (precision == MPK_DENSE_HALF && call->dense.scalar >= MPK_C)
        return mpki_error(call->ctx, MPK_ERR_UNSUPPORTED, "dense", precision,
                          "the device has no complex factorization in half precision");
    mpk_status status =
        status_of(call, entries_of(call, call->factor_scalar)
                            ->workspace(d->cuda, &p.d, nrhs, &factorize, &solve, &extra));
    if (mpk_failed(status)) return status;
    need->pivots = call->dense.n;
    need->extra_bytes = lapack_like(call) ? 2 * call->dense.n * (int64_t)sizeof(int32_t) : extra;
    need->factorize_bytes = p.lists_bytes + 512 + p.square_bytes + factorize;
    need->solve_bytes = p.lists_bytes + 512 + p.square_bytes + solve;
    need->inertia_bytes = p.lists_bytes + 512 + p.square_bytes;
    return MPK_OK;
}

/* Aasen: the growth of T. Its inertia takes an elimination: aasen_inertia(). */
static mpk_status read_band(mpki_dense_call *call, const parts *p) {
    mpk_dense_info *info = call->info;
    const double most = call->most * call->scale;
    info->inertia = (mpk_inertia){0};
    info->inertia.zero = p->d.zeros;
    info->growth = most > 0 ? p->d.top / most : 0;
    if (!isfinite(p->d.top))
        return mpki_error(call->ctx, MPK_ERR_NUMERIC, "dense", -1, "the factors are not finite");
    return MPK_OK;
}

static mpk_status read_pivots(mpki_dense_call *call, const parts *p, mpk_inertia *inertia) {
    const mpki_device *d = device_of(call);
    mpki_cuda_pivots found;
    mpk_dense_info *info = call->info;
    mpk_status status =
        status_of(call, entries_of(call, call->factor_scalar)->pivots(d->cuda, &p->d, &found));
    if (mpk_failed(status)) return status;
    const bool complex_symmetric = call->factor_scalar >= MPK_C && !p->d.hermitian;
    *inertia = (mpk_inertia){0};
    inertia->zero = found.zero;
    if (!complex_symmetric) {
        inertia->positive = found.positive, inertia->negative = found.negative;
    }
    info->two_by_two = found.pairs;
    const double most = call->most * call->scale;
    info->growth = most > 0 ? found.most / most : 0;
    if (!isfinite(found.most))
        return mpki_error(call->ctx, MPK_ERR_NUMERIC, "dense", -1, "the factors are not finite");
    return MPK_OK;
}

static mpk_status factorize(mpki_dense_call *call) {
    parts p = parts_of(call);
    const mpki_device *d = device_of(call);
    const mpki_cuda_entries *e = entries_of(call, call->factor_scalar);
    const mpk_dense *dense = &call->dense;
    const int n = p.d.n;
    int status = on_device(call, "a", call->a);
    if (!mpk_failed(status)) status = on_device(call, "f", call->f->f);
    if (!mpk_failed(status)) status = on_device(call, "pivots", call->f->pivots);
    if (mpk_failed(status)) return (mpk_status)status;
    p.d.most = p.d.method == MPKI_CUDA_BUTTERFLY ? 0 : call->most * call->scale;
    if (upper(call) || call->a != call->f->f)
        status = e->triangle(d->cuda, n, dense->scalar, call->a, call->lda, upper(call),
                             call->scale, p.d.A, p.d.lda, 0, dense->stream);
    if (!mpk_failed(status)) status = e->factorize(d->cuda, &p.d);
    if (mpk_failed(status)) return status_of(call, status);
    mpk_dense_info *info = call->info;
    info->delayed = p.d.delayed;
    info->zero_pivots = p.d.zeros;
    info->max_l = p.d.max_l;
    mpk_status read =
        p.d.method == MPKI_CUDA_AASEN ? read_band(call, &p) : read_pivots(call, &p, &info->inertia);
    if (mpk_failed(read)) return read;
    const bool pivoted = p.d.method != MPKI_CUDA_NONE && p.d.method != MPKI_CUDA_BUTTERFLY;
    if (!pivoted && p.d.zeros > 0)
        return mpki_error(call->ctx, MPK_ERR_NUMERIC, "dense", -1,
                          "without pivoting a zero pivot stops the factorization");
    if (upper(call))
        status = e->triangle(d->cuda, n, call->factor_scalar, p.d.A, p.d.lda, 1, 1, call->f->f,
                             call->f->ldf, 1, dense->stream);
    if (!mpk_failed(status))
        status = d->table->pivots_out(
            d->cuda, n, upper(call), lapack_like(call) ? p.d.ipiv : p.d.perm,
            lapack_like(call) ? NULL : p.d.kind, call->f->pivots, dense->stream);
    if (mpk_failed(status)) return status_of(call, status);
    return p.d.zeros > 0 ? MPK_SINGULAR : MPK_OK;
}

static mpk_status solve(mpki_dense_call *call, int32_t nrhs, void *x, int64_t ldx) {
    parts p = parts_of(call);
    const mpki_device *d = device_of(call);
    const mpki_cuda_entries *e = entries_of(call, call->factor_scalar);
    void *stream = call->dense.stream;
    int status = on_device(call, "f", call->f->f);
    if (!mpk_failed(status)) status = on_device(call, "x", x);
    if (mpk_failed(status)) return (mpk_status)status;
    if (!lapack_like(call))
        status = d->table->pivots_in(d->cuda, p.d.n, upper(call), call->f->pivots, p.d.perm,
                                     p.d.kind, stream);
    if (!mpk_failed(status) && upper(call)) {
        status = e->triangle(d->cuda, p.d.n, call->factor_scalar, call->f->f, call->f->ldf, 1, 1,
                             p.d.A, p.d.lda, 0, stream);
        if (!mpk_failed(status)) status = e->reverse(d->cuda, p.d.n, nrhs, x, ldx, stream);
    }
    if (!mpk_failed(status)) status = e->solve(d->cuda, &p.d, nrhs, x, ldx);
    if (!mpk_failed(status) && upper(call))
        status = e->reverse(d->cuda, p.d.n, nrhs, x, ldx, stream);
    return status_of(call, status);
}

/* Inertia of T. Its blocks, O(n nb) entries, are brought to the host, where Aasen's method keeps
 * them in the same form. */
static mpk_status aasen_inertia(mpki_dense_call *call, mpk_inertia *inertia) {
    const mpki_device *d = device_of(call);
    const int64_t n = call->dense.n;
    mpki_dense_call host = *call;
    mpk_dense_factor f = *call->f;
    mpki_dense_need need;
    host.dense.memory = MPK_HOST;
    host.dense.scalar = call->factor_scalar;
    host.dense.tile = entries_of(call, call->factor_scalar)->width(d->cuda, (int)n);
    host.f = &f, host.state = NULL, host.pool = NULL, host.threads = 1;
    const mpki_dense_method *aasen = &call->host->method[MPK_DENSE_AASEN];
    mpk_status status = aasen->need(&host, 0, &need);
    if (mpk_failed(status)) return status;
    const int64_t nb = host.dense.tile, nt = (n + nb - 1) / nb,
                  bytes = 3 * nt * nb * nb * (int64_t)mpk_scalar_size(call->factor_scalar);
    f.extra = mpki_alloc(call->ctx, "dense", bytes, 1);
    host.work = mpki_alloc(call->ctx, "dense", need.inertia_bytes, 1);
    host.work_bytes = need.inertia_bytes;
    if (!f.extra || !host.work) status = mpki_failed(call->ctx);
    if (!mpk_failed(status))
        status = status_of(call, d->table->copy(d->cuda, f.extra, bytes, call->f->extra, bytes,
                                                bytes, 1, 0, call->dense.stream));
    if (!mpk_failed(status))
        status = status_of(call, d->table->synchronize(d->cuda, call->dense.stream));
    if (!mpk_failed(status)) status = aasen->inertia(&host, inertia);
    mpki_release(call->ctx, host.work);
    mpki_release(call->ctx, f.extra);
    return status;
}

static const char *name(void) {
    return "cuda";
}

static mpk_status begin(mpki_dense_call *call) {
    const mpki_device *d = mpki_cuda_open(call->ctx, call->dense.device);
    call->state = (void *)(uintptr_t)d;
    return d ? MPK_OK : mpki_failed(call->ctx);
}

static void end(mpki_dense_call *call) {
    const mpki_device *d = device_of(call);
    if (d) d->table->synchronize(d->cuda, call->dense.stream);
}

static void *take(mpki_dense_call *call, int64_t bytes) {
    void *p = NULL;
    const mpki_device *d = device_of(call);
    return mpk_failed(status_of(call, d->table->alloc(d->cuda, bytes, &p))) ? NULL : p;
}

static void release(mpki_dense_call *call, void *ptr) {
    const mpki_device *d = device_of(call);
    d->table->release(d->cuda, ptr);
}

static mpk_status largest(mpki_dense_call *call, double *max, double *norm_inf) {
    mpk_status status = on_device(call, "a", call->a);
    if (mpk_failed(status)) return status;
    return status_of(call,
                     entries_of(call, call->dense.scalar)
                         ->largest(device_of(call)->cuda, (int)call->dense.n, call->a, call->lda,
                                   upper(call), max, norm_inf, call->dense.stream));
}

static mpk_status copy(mpki_dense_call *call, int64_t rows, int64_t cols, mpk_scalar from,
                       const void *src, int64_t lds, mpk_scalar to, void *dst, int64_t ldd,
                       const double *scale) {
    return status_of(call, entries_of(call, to)->copy(device_of(call)->cuda, rows, cols, from, src,
                                                      lds, dst, ldd, scale, call->dense.stream));
}

static mpk_status axpy(mpki_dense_call *call, int64_t cols, const double alpha[2], const void *x,
                       int64_t ldx, void *y, int64_t ldy) {
    return status_of(call, entries_of(call, call->dense.scalar)
                               ->axpy(device_of(call)->cuda, call->dense.n, cols, alpha, x, ldx, y,
                                      ldy, call->dense.stream));
}

static mpk_status dot(mpki_dense_call *call, int64_t cols, const void *x, int64_t ldx,
                      const void *y, int64_t ldy, double *result) {
    return status_of(call, entries_of(call, call->dense.scalar)
                               ->dot(device_of(call)->cuda, call->dense.n, cols, x, ldx, y, ldy,
                                     result, call->dense.stream));
}

static mpk_status residual(mpki_dense_call *call, int32_t nrhs, const void *x, int64_t ldx,
                           const void *b, int64_t ldb, void *r, int64_t ldr,
                           mpki_dense_error *error, char *work) {
    enum { SOME = 256 };
    const mpki_device *d = device_of(call);
    const mpki_cuda_entries *e = entries_of(call, call->dense.scalar);
    const int64_t size = (int64_t)mpk_scalar_size(call->dense.scalar);
    int status = MPK_OK;
    for (int32_t c = 0; c < nrhs && !mpk_failed(status); c += SOME) {
        const int32_t cols = nrhs - c < SOME ? nrhs - c : SOME;
        mpki_cuda_error some[SOME];
        status = e->residual(
            d->cuda, (int)call->dense.n, call->dense.symmetry == MPK_HERMITIAN, upper(call),
            call->a, call->lda, cols, (const char *)x + c * ldx * size, ldx,
            b ? (const char *)b + c * ldb * size : NULL, ldb, (char *)r + c * ldr * size, ldr,
            error ? some : NULL, work, call->dense.stream);
        for (int32_t k = 0; error && k < cols && !mpk_failed(status); k++)
            error[c + k] =
                (mpki_dense_error){some[k].omega, some[k].r, some[k].x, some[k].b, false};
    }
    return status_of(call, status);
}

static int64_t residual_bytes(const mpki_dense_call *call, int32_t nrhs) {
    return entries_of(call, call->dense.scalar)->residual_bytes(call->dense.n, nrhs);
}

static mpk_status transfer(mpki_dense_call *call, const void *from, void *to, int to_device) {
    const mpki_device *d = device_of(call);
    const int64_t bytes = call->dense.n * (int64_t)mpk_scalar_size(call->dense.scalar);
    int status =
        d->table->copy(d->cuda, to, bytes, from, bytes, bytes, 1, to_device, call->dense.stream);
    if (!mpk_failed(status)) status = d->table->synchronize(d->cuda, call->dense.stream);
    return status_of(call, status);
}

static mpk_status put(mpki_dense_call *call, const void *host, void *y) {
    return transfer(call, host, y, 1);
}

static mpk_status get(mpki_dense_call *call, const void *y, void *host) {
    return transfer(call, y, host, 0);
}

#define METHOD                                                                                     \
    { need_of, factorize, solve, NULL }

static const mpki_dense_engine table = {
    .name = name,
    .method = {[MPK_DENSE_TILE] = METHOD,
               [MPK_DENSE_BUNCH_KAUFMAN] = METHOD,
               [MPK_DENSE_ROOK] = METHOD,
               [MPK_DENSE_AASEN] = {need_of, factorize, solve, aasen_inertia},
               [MPK_DENSE_BUTTERFLY] = METHOD,
               [MPK_DENSE_NONE] = METHOD},
    /* below, panels take all that the products gain; complex ones multiply no faster
     * (bench/results/dense-gpu.md, mixed precision) */
    .ladder = {{MPK_DENSE_TILE, MPK_DENSE_SINGLE, 16384, 0},
               {MPK_DENSE_TILE, MPK_DENSE_WORKING, 0, 0},
               {MPK_DENSE_ROOK, MPK_DENSE_WORKING, 0, 0}},
    .begin = begin,
    .end = end,
    .alloc = take,
    .release = release,
    .largest = largest,
    .copy = copy,
    .axpy = axpy,
    .dot = dot,
    .residual = residual,
    .residual_bytes = residual_bytes,
    .put = put,
    .get = get,
};

const mpki_dense_engine *mpki_cuda_dense_engine(mpk_context *ctx, int device) {
    const mpki_device *d = mpki_cuda_open(ctx, device);
    if (d && !d->table->entries[MPK_D])
        mpki_error(ctx, MPK_ERR_DEVICE, "device", device,
                   "the CUDA module was built without dense matrices (METAPACK_CUDA_ROOMS)");
    return d && d->table->entries[MPK_D] ? &table : NULL;
}
