/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that are there as a whole, to files. */
#include "../problem/sink.h"
#include "report.h"

mpk_status mpk_text_write(mpk_context *ctx, const char *path, const char *text, int64_t size) {
    mpki_sink *sink = NULL;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!path || size < 0 || (!text && size > 0))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "write", -1, "path or text is NULL, or size < 0");
    mpk_status status = mpki_sink_open(ctx, path, &sink);
    if (!mpk_failed(status)) status = mpki_sink_bytes(sink, text, size);
    return mpki_sink_close(&sink, status);
}
