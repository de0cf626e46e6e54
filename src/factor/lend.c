/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays of a caller's that lie in a device's memory. */
#include "lend.h"

bool mpki_is_there(mpk_context *ctx, const mpki_engine *engine, const void *p) {
    return p && engine->is_here && engine->is_here(ctx, p);
}

void *mpki_fetch(mpk_context *ctx, const mpki_engine *engine, const char *stage, const void *from,
                 int64_t width, int64_t pitch, int32_t columns) {
    char *host = mpki_alloc(ctx, stage, columns, (size_t)width);
    if (host && mpk_failed(engine->copy(ctx, host, width, from, pitch, width, columns, false))) {
        mpki_release(ctx, host);
        return NULL;
    }
    return host;
}
