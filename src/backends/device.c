/* SPDX-License-Identifier: BSD-3-Clause */
/* mpk_device_info_get: which GPUs there are, or why there is none. */
#include "config.h"
#include "cuda/load.h"
#include <metapack/device.h>

#include <stdio.h>
#include <string.h>

#if MPKI_HAVE_CUDA
mpk_status mpk_device_info_get(mpk_context *ctx, int number, mpk_device_info *info) {
    mpk_device_info found = {0};
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!info || number < 0)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "device", number,
                          info ? "device %d: they count from 0" : "info must not be NULL", number);
    const mpki_device *d = mpki_cuda_open(ctx, number);
    if (!d) return mpki_failed(ctx);
    const int status = d->table->describe(d->cuda, found.text, sizeof found.text, &found.free_bytes,
                                          &found.total_bytes);
    if (mpk_failed(status))
        return mpki_error(ctx, (mpk_status)status, "device", number, "%s",
                          d->table->last_error(d->cuda));
    snprintf(found.name, sizeof found.name, "%.*s", (int)strcspn(found.text, ","), found.text);
    *info = found;
    return MPK_OK;
}
#else
mpk_status mpk_device_info_get(mpk_context *ctx, int number, mpk_device_info *info) {
    (void)info;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    return mpki_error(ctx, MPK_ERR_DEVICE, "device", number, "METAPACK was built without CUDA");
}
#endif
