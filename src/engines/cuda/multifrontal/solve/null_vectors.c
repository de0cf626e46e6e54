/* SPDX-License-Identifier: BSD-3-Clause */
/* A's kernel on the device. */
#include "null_vectors.h"

static const char STAGE[] = "solve";

static int64_t padded(int64_t bytes) {
    return (bytes + 255) & ~(int64_t)255;
}

static int64_t bytes_beside(const mpki_direct *f, int32_t columns) {
    return padded(columns * (int64_t)f->tree.n * (int64_t)sizeof(double)) +
           padded(columns * (int64_t)sizeof(int32_t));
}

static int32_t chunks(const mpki_direct *f) {
    enum { MOST = 128 };
    const int32_t all =
        (int32_t)(((int64_t)f->tree.n + MPKI_CUDA_NULL_CHUNK - 1) / MPKI_CUDA_NULL_CHUNK);
    return all > MOST ? MOST : all;
}

static int64_t bytes_of_vectors(const mpki_direct *f, int32_t count) {
    return padded(count * (int64_t)f->tree.n * (int64_t)mpk_scalar_size(f->tree.scalar));
}

static int64_t bytes_with_vectors(const mpki_direct *f, int32_t columns, int32_t count) {
    return bytes_of_vectors(f, count) +
           (int64_t)columns * count * chunks(f) * MPKI_CUDA_NULL_SUMS * (int64_t)sizeof(double);
}

static void release(const mpki_direct *f, void **memory) {
    if (*memory) f->device->table->release(f->device->cuda, *memory);
    *memory = NULL;
}

void mpki_cuda_nulls_free(const mpki_direct *f, mpki_cuda_nulls *z) {
    release(f, &z->beside);
    release(f, &z->memory);
    *z = (mpki_cuda_nulls){0};
}

int64_t mpki_cuda_nulls_bytes(const mpki_direct *f, const mpki_cuda_nulls *z) {
    return (z->beside ? bytes_beside(f, z->columns) : 0) +
           (z->memory ? bytes_with_vectors(f, z->columns, z->room) : 0);
}

static bool allocate(const mpki_direct *f, int64_t bytes, void **memory) {
    if (f->limit > 0 && (double)bytes + (double)mpki_cuda_direct_held(f) > f->limit) return false;
    if (!mpk_failed(f->device->table->alloc(f->device->cuda, bytes, memory))) return true;
    *memory = NULL;
    return false;
}

bool mpki_cuda_nulls_make(const mpki_direct *f, int32_t columns, mpki_cuda_nulls *z) {
    if (z->beside && z->columns >= columns) return true;
    mpki_cuda_nulls_free(f, z);
    if (!allocate(f, bytes_beside(f, columns), &z->beside)) return false;
    z->columns = columns;
    z->w = z->beside;
    z->on = (mpki_cuda_null){
        .n = f->tree.n,
        .chunks = chunks(f),
        .symmetric = f->tree.scalar >= MPK_C && f->tree.symmetry == MPK_SYMMETRIC,
        .scale = f->given_scale,
        .outside = (int32_t *)(void *)((char *)z->beside + bytes_beside(f, columns) -
                                       padded(columns * (int64_t)sizeof(int32_t)))};
    return true;
}

mpk_status mpki_cuda_nulls_bring(mpk_context *ctx, const mpki_direct *f,
                                 const mpki_kernel_source *source, bool all, mpki_cuda_nulls *z,
                                 bool *fits) {
    mpki_kernel_vectors have;
    mpk_status status = source->give(source->self, all, false, &have);
    *fits = false;
    if (mpk_failed(status)) return status;
    if (have.count > MPKI_CUDA_NULL_MOST) return MPK_OK;
    if (have.count > z->room) {
        release(f, &z->memory);
        z->room = 0, z->stamp = 0;
        if (!allocate(f, bytes_with_vectors(f, z->columns, have.count), &z->memory)) return MPK_OK;
        z->room = have.count;
    }
    z->on.v = z->memory, z->on.count = have.count;
    z->on.partial = (double *)(void *)((char *)z->memory + bytes_of_vectors(f, z->room));
    *fits = true;
    if (have.count == 0 || (have.stamp && have.stamp == z->stamp && have.count <= z->there))
        return MPK_OK;
    z->stamp = 0;
    status = source->give(source->self, all, true, &have);
    if (mpk_failed(status)) return status;
    const mpki_device *d = f->device;
    const mpki_cuda_direct_table *to = d->table->direct;
    const int64_t bytes =
        have.count * (int64_t)f->tree.n * (int64_t)mpk_scalar_size(f->tree.scalar);
    /* what is in host memory may go before the copy has gone */
    if (mpk_failed(to->copy(d->cuda, z->memory, have.v, bytes, 1)) || mpk_failed(to->wait(d->cuda)))
        return mpki_error(ctx, MPK_ERR_DEVICE, STAGE, -1, "%s", d->table->last_error(d->cuda));
    z->stamp = have.stamp, z->there = have.count;
    return MPK_OK;
}
