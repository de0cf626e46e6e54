/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_DEVICE_KRYLOV_H
#define TESTS_DEVICE_KRYLOV_H
/** mpk_krylov_solve() with its vectors on a device: operators that work in host memory get copies.
 *  The name of the library's function is then that of this header. */
#include "support.h"

#include "../device_there.h"

/* An operator of the host's, for vectors on the device. */
typedef struct device_operator {
    mpk_operator host;
    mpk_context *ctx;
    int64_t bytes;
    char *x, *y;
} device_operator;

static mpk_status device_apply(void *self, const void *x, void *y) {
    device_operator *op = self;
    const mpki_device *d = mpki_cuda_open(op->ctx, 0);
    void *stream = (void *)(uintptr_t)1; /* cudaStreamLegacy: that of a task without a stream */
    const int64_t bytes = op->bytes;
    if (!d->table->is_device(d->cuda, x) || !d->table->is_device(d->cuda, y)) abort();
    if (d->table->copy(d->cuda, op->x, bytes, x, bytes, bytes, 1, 0, stream) ||
        d->table->synchronize(d->cuda, stream))
        return MPK_ERR_DEVICE;
    const mpk_status status = op->host.apply(op->host.self, op->x, op->y);
    if (mpk_failed(status)) return status;
    if (d->table->copy(d->cuda, y, bytes, op->y, bytes, bytes, 1, 1, stream) ||
        d->table->synchronize(d->cuda, stream))
        return MPK_ERR_DEVICE;
    return MPK_OK;
}

static mpk_operator device_operator_of(device_operator *op, mpk_context *ctx, mpk_operator host,
                                       int64_t bytes) {
    *op = (device_operator){host, ctx, bytes, calloc(1, (size_t)bytes + 16),
                            calloc(1, (size_t)bytes + 16)};
    return (mpk_operator){host.apply ? device_apply : NULL, op};
}

static inline mpk_status device_krylov_solve(mpk_context *ctx, const mpk_krylov_task *task,
                                             const void *b, void *x, mpk_krylov_info *info) {
    if (!task || task->n < 0 || (unsigned)task->scalar > MPK_Z || !ctx)
        return mpk_krylov_solve(ctx, task, b, x, info);
    device_operator a, m;
    mpk_krylov_task there = *task;
    const int64_t bytes = task->n * (int64_t)mpk_scalar_size(task->scalar);
    there.memory = MPK_DEVICE;
    there.a = device_operator_of(&a, ctx, task->a, bytes);
    there.m = device_operator_of(&m, ctx, task->m, bytes);
    const mpk_status status = mpk_krylov_solve(ctx, &there, b, x, info);
    free(a.x), free(a.y), free(m.x), free(m.y);
    return status;
}

#undef mpk_krylov_solve /* metapack/krylov.h: with the size of the report */
#define mpk_krylov_solve device_krylov_solve

#endif
