/* SPDX-License-Identifier: BSD-3-Clause */
/* Which GPUs there are, or why there is none; copies to and from them. */
#include "engines/interface/device.h"
#include "core/sizes.h"
#include "config.h"
#include "engines/cuda/accelerator/accelerator.h"
#include "engines/cuda/module/engine.h"
#include "engines/cuda/module/load.h"
#include <metapack/device.h>

#include <stdio.h>
#include <string.h>

static const char STAGE[] = "device";

mpk_status mpk_accelerator_cuda(mpk_context *ctx, int number, const mpk_accelerator **table) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!table || number < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, number,
                          table ? "device %d: they count from 0" : "table must not be NULL",
                          number);
    *table = NULL;
#if MPKI_HAVE_CUDA
    return mpki_cuda_accelerator(ctx, number, table);
#else
    return mpki_error(ctx, MPK_ERR_DEVICE, STAGE, number, "METAPACK was built without CUDA");
#endif
}

#if MPKI_HAVE_CUDA
bool mpki_device_opens(mpk_context *ctx, int number) {
    return mpki_cuda_open(ctx, number) != NULL;
}

void mpki_device_begin(mpk_context *ctx, int number, mpk_scalar scalar) {
    mpki_cuda_open_ahead(ctx, number, scalar);
}

void mpki_device_prepare(mpk_context *ctx, int number, const mpki_tree_view *tree, double limit) {
    if (mpki_cuda_open(ctx, number)) mpki_cuda_direct_prepare(ctx, tree, limit);
    mpki_clear_error(ctx);
}

void mpki_device_forget(mpk_context *ctx, const int32_t *perm) {
    if (perm) mpki_cuda_drop_ahead(ctx, perm);
}

mpk_status mpk_device_info_get(mpk_context *ctx, int number, mpk_device_info *info) {
    mpk_device_info found = {0};
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!info || number < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, number,
                          info ? "device %d: they count from 0" : "info must not be NULL", number);
    const mpki_device *d = mpki_cuda_open(ctx, number);
    if (!d) return mpki_failed(ctx);
    const int status = d->table->describe(d->cuda, found.text, sizeof found.text, &found.free_bytes,
                                          &found.total_bytes);
    if (mpk_failed(status))
        return mpki_error(ctx, (mpk_status)status, STAGE, number, "%s",
                          d->table->last_error(d->cuda));
    snprintf(found.name, sizeof found.name, "%.*s", (int)strcspn(found.text, ","), found.text);
    *info = found;
    return MPK_OK;
}

mpk_status mpk_device_copy(mpk_context *ctx, int number, void *to, int64_t to_pitch,
                           const void *from, int64_t from_pitch, int64_t width, int64_t columns) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (number < 0 || width < 0 || columns < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, number,
                          "device %d, %lld columns of %lld bytes: none may be negative", number,
                          (long long)columns, (long long)width);
    if (width == 0 || columns == 0) return MPK_OK;
    if (columns > 1 && (to_pitch < width || from_pitch < width))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, number,
                          "columns of %lld bytes overlap where they are %lld bytes apart",
                          (long long)width,
                          (long long)(to_pitch < from_pitch ? to_pitch : from_pitch));
    if (!mpki_fits(columns, columns > 1 ? to_pitch : width, 1) ||
        !mpki_fits(columns, columns > 1 ? from_pitch : width, 1))
        return mpki_error(ctx, MPK_ERR_SIZE, STAGE, columns,
                          "%lld columns of %lld bytes do not fit any memory", (long long)columns,
                          (long long)width);
    const mpki_device *d = mpki_cuda_open(ctx, number);
    if (!d) return mpki_failed(ctx);
    const bool to_device = to && d->table->is_device(d->cuda, to);
    const bool from_device = from && d->table->is_device(d->cuda, from);
    if (to_device == from_device || !to || !from)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, number,
                          "of source and target one must lie in the memory of CUDA device %d, and "
                          "the other in the host's",
                          number);
    if (columns == 1) to_pitch = from_pitch = width;
    const int status = mpki_cuda_copy(d, to, to_pitch, from, from_pitch, width, columns, to_device);
    return mpki_cuda_status(ctx, STAGE, status);
}

mpk_status mpk_device_set_stream(mpk_context *ctx, int number, void *stream) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (number < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, number, "device %d: they count from 0",
                          number);
    return mpki_cuda_set_stream(ctx, number, true, stream);
}

mpk_status mpk_device_unset_stream(mpk_context *ctx, int number) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (number < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, number, "device %d: they count from 0",
                          number);
    return mpki_cuda_set_stream(ctx, number, false, NULL);
}

mpk_status mpk_device_set_allocator(mpk_context *ctx, int number,
                                    const mpk_device_allocator *allocator) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (number < 0 || (allocator && (!allocator->alloc || !allocator->release)))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, number,
                          number < 0 ? "device %d: they count from 0"
                                     : "device %d: the allocator lacks a function",
                          number);
    const mpki_device *d = mpki_cuda_open(ctx, number);
    if (!d) return mpki_failed(ctx);
    mpki_cuda_allocator given = {0};
    mpki_cuda_drop_ahead(ctx, NULL); /* it is CUDA's memory, and nobody has it yet */
    if (allocator)
        given = (mpki_cuda_allocator){allocator->alloc, allocator->release, allocator->user};
    return mpki_cuda_status(ctx, STAGE,
                            d->table->set_allocator(d->cuda, allocator ? &given : NULL));
}

mpk_status mpk_device_alloc(mpk_context *ctx, int number, int64_t bytes, void **ptr) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (number < 0 || bytes < 0 || !ptr || *ptr)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, number,
                          ptr ? *ptr ? "*ptr must be NULL"
                                     : "device %d, %lld bytes: none may be negative"
                              : "ptr must not be NULL",
                          number, (long long)bytes);
    if (bytes == 0) return MPK_OK;
    const mpki_device *d = mpki_cuda_open(ctx, number);
    if (!d) return mpki_failed(ctx);
    const int status = d->table->alloc(d->cuda, bytes, ptr);
    if (mpk_failed(status)) *ptr = NULL;
    return mpki_cuda_status(ctx, STAGE, status);
}

mpk_status mpk_device_free(mpk_context *ctx, int number, void **ptr) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!ptr || !*ptr) return MPK_OK;
    if (number < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, number, "device %d: they count from 0",
                          number);
    const mpki_device *d = mpki_cuda_open(ctx, number);
    if (!d) return mpki_failed(ctx);
    if (!d->table->is_device(d->cuda, *ptr))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, number,
                          "this is not memory of CUDA device %d", number);
    const int status = mpki_cuda_begin(d);
    if (mpk_failed(status)) return mpki_cuda_status(ctx, STAGE, status);
    d->table->release(d->cuda, *ptr);
    *ptr = NULL;
    return MPK_OK;
}
#else
static mpk_status without_cuda(mpk_context *ctx, int number) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    return mpki_error(ctx, MPK_ERR_DEVICE, STAGE, number, "METAPACK was built without CUDA");
}

bool mpki_device_opens(mpk_context *ctx, int number) {
    (void)without_cuda(ctx, number);
    return false;
}

void mpki_device_begin(mpk_context *ctx, int number, mpk_scalar scalar) {
    (void)ctx, (void)number, (void)scalar;
}

void mpki_device_prepare(mpk_context *ctx, int number, const mpki_tree_view *tree, double limit) {
    (void)ctx, (void)number, (void)tree, (void)limit;
}

void mpki_device_forget(mpk_context *ctx, const int32_t *perm) {
    (void)ctx, (void)perm;
}

mpk_status mpk_device_info_get(mpk_context *ctx, int number, mpk_device_info *info) {
    (void)info;
    return without_cuda(ctx, number);
}

mpk_status mpk_device_copy(mpk_context *ctx, int number, void *to, int64_t to_pitch,
                           const void *from, int64_t from_pitch, int64_t width, int64_t columns) {
    (void)to, (void)to_pitch, (void)from, (void)from_pitch, (void)width, (void)columns;
    return without_cuda(ctx, number);
}

mpk_status mpk_device_alloc(mpk_context *ctx, int number, int64_t bytes, void **ptr) {
    (void)bytes, (void)ptr;
    return without_cuda(ctx, number);
}

mpk_status mpk_device_set_stream(mpk_context *ctx, int number, void *stream) {
    (void)stream;
    return without_cuda(ctx, number);
}

mpk_status mpk_device_unset_stream(mpk_context *ctx, int number) {
    return without_cuda(ctx, number);
}

mpk_status mpk_device_set_allocator(mpk_context *ctx, int number,
                                    const mpk_device_allocator *allocator) {
    (void)allocator;
    return without_cuda(ctx, number);
}

mpk_status mpk_device_free(mpk_context *ctx, int number, void **ptr) {
    (void)ptr;
    return without_cuda(ctx, number);
}
#endif
