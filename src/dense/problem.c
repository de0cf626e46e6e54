/* SPDX-License-Identifier: BSD-3-Clause */
/* A problem as one dense matrix: its lower triangle by columns, in the memory of whatever
 * solves. */
#include "problem.h"

#include <metapack/device.h>
#include <stdio.h>
#include <string.h>

static const char STAGE[] = "dense";

enum { TEXT = 512 };
enum { DEVICE_FROM = 1000 }; /* device auto: smaller matrices are solved before a GPU has begun */

mpk_dense_method mpki_dense_method_of(const char *name) {
    int k = 0;
    while (k < MPK_DENSE_COUNT && strcmp(mpk_dense_method_name((mpk_dense_method)k), name)) k++;
    return (mpk_dense_method)k;
}

const char *mpki_dense_idle(const mpk_option *option, const mpk_options *options,
                            mpk_dense_method method) {
    const char *const key = option->key;
    const bool unpivoted = method == MPK_DENSE_BUTTERFLY || method == MPK_DENSE_NONE;
    if (!(option->methods & MPK_READ_DENSE)) return "";
    if (!strcmp(key, "pivot_threshold") && method != MPK_DENSE_AUTO && method != MPK_DENSE_TILE)
        return ", but by auto and tile";
    if (!strcmp(key, "zero_tolerance") && unpivoted) return ", which takes no pivot for zero";
    if (!strcmp(key, "seed") && method != MPK_DENSE_BUTTERFLY) return ", but by butterfly";
    if (!strcmp(key, "deterministic") && options->deterministic == MPK_OFF)
        return ", which is deterministic anyway";
    if (!strncmp(key, "device_", strlen("device_")) && options->device == MPK_ON_CPU)
        return " without device cuda or auto";
    return NULL;
}

/* What a solve is given, all in the memory that dense.memory names. */
typedef struct place {
    mpk_context *ctx;
    mpk_dense dense;
    mpk_dense_sizes sizes;
    void *a, *b, *x, *f, *pivots, *extra;
} place;

static void *take(place *p, int64_t bytes) {
    void *memory = NULL;
    if (p->dense.memory == MPK_HOST) return mpki_alloc(p->ctx, STAGE, bytes + 64, 1);
    (void)mpk_device_alloc(p->ctx, p->dense.device, bytes + 64, &memory);
    return memory;
}

static void give_back(place *p, void **memory) {
    if (p->dense.memory == MPK_HOST)
        mpki_release(p->ctx, *memory);
    else
        (void)mpk_device_free(p->ctx, p->dense.device, memory);
    *memory = NULL;
}

static mpk_status move(place *p, void *to, const void *from, int64_t bytes) {
    if (p->dense.memory != MPK_HOST)
        return mpk_device_copy(p->ctx, p->dense.device, to, bytes, from, bytes, bytes, 1);
    memcpy(to, from, (size_t)bytes);
    return MPK_OK;
}

/* Zeros where nothing is stored; NULL: no memory. */
static void *unpack(mpk_context *ctx, const mpk_problem_view *a) {
    const size_t size = mpk_scalar_size(a->scalar), n = (size_t)a->n;
    char *full = mpki_calloc(ctx, STAGE, (int64_t)(n * n), size);
    for (size_t j = 0; full && j < n; j++)
        for (int64_t k = a->ap[j]; k < a->ap[j + 1]; k++)
            memcpy(full + ((size_t)a->ai[k] + j * n) * size, (const char *)a->ax + (size_t)k * size,
                   size);
    return full;
}

/* The matrix, in p's memory. */
static mpk_status put_matrix(place *p, const mpk_problem_view *a) {
    void *full = unpack(p->ctx, a);
    if (!full) return mpki_failed(p->ctx);
    if (p->dense.memory == MPK_HOST) {
        p->a = full;
        return MPK_OK;
    }
    const int64_t bytes = (int64_t)a->n * a->n * (int64_t)mpk_scalar_size(a->scalar);
    p->a = take(p, bytes);
    const mpk_status status = p->a ? move(p, p->a, full, bytes) : mpki_failed(p->ctx);
    mpki_release(p->ctx, full);
    return status;
}

/* What is to be taken, of the memory where it is taken. */
static mpk_status check_memory(place *p, const mpk_options *options, double matrix, double sides) {
    const bool host = p->dense.memory == MPK_HOST;
    const double bytes = matrix + sides + (double)p->sizes.factor_bytes +
                         (double)p->sizes.extra_bytes + (double)p->sizes.sysv_bytes;
    mpk_device_info info;
    mpk_status status =
        mpki_memory_check(p->ctx, STAGE, "A as a dense matrix, its factors and the work on them",
                          host ? bytes : matrix, options->memory_limit);
    if (mpk_failed(status) || host) return status;
    status = mpk_device_info_get(p->ctx, p->dense.device, &info);
    if (mpk_failed(status)) return status;
    const double limit =
        options->device_memory_limit > 0 ? options->device_memory_limit : (double)info.free_bytes;
    if (bytes <= limit) return MPK_OK;
    return mpki_error(p->ctx, MPK_ERR_MEMORY, STAGE, (int64_t)bytes,
                      "A as a dense matrix, its factors and the work on them would take %.0f bytes "
                      "of the device: more than the %.0f that %s",
                      bytes, limit,
                      options->device_memory_limit > 0 ? "device_memory_limit allows"
                                                       : "it has free");
}

/* Why the last call ended as it did: the next one forgets it. */
static void keep_text(mpk_context *ctx, char why[TEXT]) {
    const char *text = NULL;
    mpk_last_error(ctx, NULL, NULL, &text);
    snprintf(why, TEXT, "%s", text ? text : "");
}

static mpk_status solve_there(place *p, const mpk_problem_view *a, const mpk_options *options,
                              int32_t nrhs, void *x, mpk_dense_info *info) {
    const double size = (double)mpk_scalar_size(a->scalar), n = a->n;
    mpk_status status = mpk_dense_query(p->ctx, &p->dense, nrhs, &p->sizes);
    if (!mpk_failed(status)) status = check_memory(p, options, n * n * size, 2 * n * nrhs * size);
    if (!mpk_failed(status)) status = put_matrix(p, a);
    if (mpk_failed(status)) return status;
    const int64_t bytes = (int64_t)a->n * nrhs * (int64_t)mpk_scalar_size(a->scalar);
    mpk_dense_factor f = {.struct_size = sizeof f, .ldf = a->n};
    p->b = take(p, bytes);
    p->x = p->b ? take(p, bytes) : NULL;
    f.f = p->f = p->x ? take(p, p->sizes.factor_bytes) : NULL;
    f.extra = p->extra = p->f ? take(p, p->sizes.extra_bytes) : NULL;
    f.pivots = p->pivots = p->extra ? take(p, p->sizes.pivots * (int64_t)sizeof(int32_t)) : NULL;
    if (!p->pivots) return mpki_failed(p->ctx);
    status = move(p, p->b, x, bytes);
    if (mpk_failed(status)) return status;
    status = mpk_dense_sysv(p->ctx, &p->dense, p->a, a->n, &f, nrhs, p->b, a->n, p->x, a->n, NULL,
                            0, info);
    if (mpk_failed(status)) return status;
    char why[TEXT];
    keep_text(p->ctx, why);
    mpk_status more = MPK_OK;
    if (info->method == MPK_DENSE_AASEN)
        more = mpk_dense_inertia(p->ctx, &p->dense, &f, NULL, 0, &info->inertia);
    if (!mpk_failed(more)) more = move(p, x, p->x, bytes);
    if (mpk_failed(more)) return more;
    return status == MPK_OK ? MPK_OK : mpki_error(p->ctx, status, STAGE, -1, "%s", why);
}

/* The same, with nothing left behind but the outcome and its text. */
static mpk_status solve(place *p, const mpk_problem_view *a, const mpk_options *options,
                        int32_t nrhs, void *x, mpk_dense_info *info) {
    const mpk_status status = solve_there(p, a, options, nrhs, x, info);
    char why[TEXT];
    keep_text(p->ctx, why);
    void **const all[] = {&p->a, &p->b, &p->x, &p->f, &p->pivots, &p->extra};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) give_back(p, all[k]);
    mpki_clear_error(p->ctx);
    return status == MPK_OK ? MPK_OK : mpki_error(p->ctx, status, STAGE, -1, "%s", why);
}

mpk_status mpki_dense_solve_problem(mpk_context *ctx, const mpk_problem_view *a,
                                    const mpk_options *options, mpk_dense_method method,
                                    int32_t nrhs, void *x, mpk_dense_info *info) {
    place p = {.ctx = ctx};
    mpk_dense *d = &p.dense;
    mpk_dense_init(d);
    d->scalar = a->scalar, d->symmetry = a->symmetry, d->n = a->n;
    d->method = method, d->threads = options->threads;
    d->precision =
        options->precision == MPK_PRECISION_SINGLE ? MPK_DENSE_SINGLE : MPK_DENSE_WORKING;
    if (options->pivot_threshold > 0) d->pivot_threshold = options->pivot_threshold;
    d->zero_tolerance = options->zero_tolerance;
    d->refine = options->refine, d->accuracy = options->accuracy;
    d->condition = options->condition, d->seed = options->seed;
    d->device = options->device_number;
    const bool either = options->device == MPK_ON_AUTO;
    if (options->device == MPK_ON_CUDA || (either && a->n >= DEVICE_FROM)) {
        d->memory = MPK_DEVICE;
        const mpk_status status = solve(&p, a, options, nrhs, x, info);
        const bool cannot =
            status == MPK_ERR_DEVICE || status == MPK_ERR_MEMORY || status == MPK_ERR_UNSUPPORTED;
        if (!either || !cannot) return status;
        mpki_clear_error(ctx);
        d->memory = MPK_HOST;
    }
    return solve(&p, a, options, nrhs, x, info);
}
