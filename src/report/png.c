/* SPDX-License-Identifier: BSD-3-Clause */
/** A picture as PNG (ISO/IEC 15948): signature, IHDR, PLTE, IDAT, IEND. */
#include "picture/picture.h"

#include <string.h>
#include <zlib.h>

static const char SIGNATURE[] = "\x89PNG\r\n\x1a\n";

static void put_be32(uint8_t *out, uint32_t x) {
    for (int k = 0; k < 4; k++) out[k] = (uint8_t)(x >> (24 - 8 * k));
}

static void chunk(mpki_buffer *out, const char *type, const void *data, uint32_t size) {
    uint8_t word[4];
    uLong crc = crc32(crc32(0, Z_NULL, 0), (const Bytef *)type, 4);
    if (size) crc = crc32(crc, data, size);
    put_be32(word, size);
    mpki_buffer_bytes(out, word, 4);
    mpki_buffer_bytes(out, type, 4);
    mpki_buffer_bytes(out, data, size);
    put_be32(word, (uint32_t)crc);
    mpki_buffer_bytes(out, word, 4);
}

/* Lines of `bytes` each become a PNG; palette NULL: pixels of three bytes. Each line begins with
 * its filter: 2 = difference to the line above, since cells repeat lines. */
static mpk_status write_lines(mpk_context *ctx, int32_t width, int32_t height, int64_t bytes,
                              const uint8_t *pixels, const uint8_t (*palette)[3], int32_t colours,
                              mpki_buffer *out) {
    int64_t row = bytes + 1, size = row * height;
    uLong packed_size = compressBound((uLong)size);
    uint8_t *lines = MPKI_NEW(ctx, "plot", size, uint8_t);
    uint8_t *packed = MPKI_NEW(ctx, "plot", (int64_t)packed_size, uint8_t);
    mpk_status status = MPK_ERR_MEMORY;
    if (!lines || !packed) goto done;
    for (int32_t y = 0; y < height; y++) {
        const uint8_t *here = pixels + y * bytes;
        lines[y * row] = 2;
        for (int64_t x = 0; x < bytes; x++)
            lines[y * row + 1 + x] = (uint8_t)(here[x] - (y ? here[x - bytes] : 0));
    }
    if (compress2(packed, &packed_size, lines, (uLong)size, 9) != Z_OK) goto done;

    uint8_t head[13] = {[8] = 8 /* bits */, [9] = palette ? 3 : 2 /* of an index, of a colour */};
    put_be32(head, (uint32_t)width);
    put_be32(head + 4, (uint32_t)height);
    mpki_buffer_bytes(out, SIGNATURE, 8);
    chunk(out, "IHDR", head, sizeof head);
    if (palette) chunk(out, "PLTE", palette, 3 * (uint32_t)colours);
    chunk(out, "IDAT", packed, (uint32_t)packed_size);
    chunk(out, "IEND", "", 0);
    status = out->status;
done:
    mpki_release(ctx, lines);
    mpki_release(ctx, packed);
    return status;
}

mpk_status mpki_png_write(mpk_context *ctx, int32_t width, int32_t height, const uint8_t *pixels,
                          const uint8_t (*palette)[3], int32_t colours, mpki_buffer *out) {
    return write_lines(ctx, width, height, width, pixels, palette, colours, out);
}

mpk_status mpki_png_write_rgb(mpk_context *ctx, int32_t width, int32_t height,
                              const uint8_t *pixels, mpki_buffer *out) {
    return write_lines(ctx, width, height, 3 * (int64_t)width, pixels, NULL, 0, out);
}

static uint32_t be32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

bool mpki_png_parts(const uint8_t *png, int64_t size, mpki_png *parts) {
    enum { AROUND = 12 }; /* bytes of a chunk that are not its data */
    *parts = (mpki_png){0};
    if (size < 8 || memcmp(png, SIGNATURE, 8)) return false;
    for (int64_t at = 8; at + AROUND <= size;) {
        const uint8_t *type = png + at + 4, *data = type + 4;
        const int64_t length = be32(png + at);
        if (length > size - at - AROUND) return false;
        if (!memcmp(type, "IHDR", 4) && length == 13) {
            if (data[8] != 8 || data[9] != 3) return false;
            parts->width = (int32_t)be32(data), parts->height = (int32_t)be32(data + 4);
        } else if (!memcmp(type, "PLTE", 4)) {
            parts->palette = data, parts->colours = (int32_t)(length / 3);
        } else if (!memcmp(type, "IDAT", 4)) {
            parts->packed = data, parts->packed_size = length;
        }
        at += length + AROUND;
    }
    return parts->width > 0 && parts->height > 0 && parts->palette && parts->packed;
}
