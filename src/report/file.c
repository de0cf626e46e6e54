/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that are there as a whole, to files; pictures also as PNG and PDF. */
#define _GNU_SOURCE
#include "../problem/sink.h"
#include "picture/picture.h"

#include <locale.h>
#include <string.h>

static mpk_status write_bytes(mpk_context *ctx, const char *path, const char *bytes, int64_t size) {
    mpki_sink *sink = NULL;
    mpk_status status = mpki_sink_open(ctx, path, &sink);
    if (!mpk_failed(status)) status = mpki_sink_bytes(sink, bytes, size);
    return mpki_sink_close(&sink, status);
}

typedef mpk_status drawer(mpk_context *ctx, const char *svg, mpki_buffer *out);

/* A copy of the picture, which ends with a zero, drawn in a locale with a decimal point. */
static mpk_status write_drawn(mpk_context *ctx, const char *path, const char *svg, int64_t size,
                              drawer *draw) {
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    char *text = MPKI_NEW(ctx, "plot", size + 1, char);
    mpki_buffer out;
    mpki_buffer_init(&out, ctx);
    mpk_status status = text ? MPK_OK : mpki_failed(ctx);
    if (text) {
        memcpy(text, svg, (size_t)size);
        text[size] = '\0';
        const locale_t before = c ? uselocale(c) : (locale_t)0;
        status = draw(ctx, text, &out);
        if (c) uselocale(before);
    }
    if (!mpk_failed(status)) status = write_bytes(ctx, path, out.data, out.size);
    mpki_buffer_free(&out);
    mpki_release(ctx, text);
    if (c) freelocale(c);
    return status;
}

mpk_status mpk_text_write(mpk_context *ctx, const char *path, const char *text, int64_t size) {
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!path || size < 0 || (!text && size > 0))
        return mpki_error(ctx, MPK_ERR_ARGUMENT, "write", -1, "path or text is NULL, or size < 0");
    const bool svg = size > 5 && !memcmp(text, "<svg ", 5);
    if (svg && mpki_name_ends(path, ".png"))
        return write_drawn(ctx, path, text, size, mpki_picture_png);
    if (svg && mpki_name_ends(path, ".pdf"))
        return write_drawn(ctx, path, text, size, mpki_picture_pdf);
    return write_bytes(ctx, path, text, size);
}
