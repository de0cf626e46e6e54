/* SPDX-License-Identifier: BSD-3-Clause */
/** A picture with a palette as PNG (ISO/IEC 15948): signature, IHDR, PLTE, IDAT, IEND. */
#include "report.h"

#include <string.h>
#include <zlib.h>

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

mpk_status mpki_png_write(mpk_context *ctx, int32_t width, int32_t height, const uint8_t *pixels,
                          const uint8_t (*palette)[3], int32_t colours, mpki_buffer *out) {
    /* each line begins with its filter: 2 = difference to the line above, since cells repeat lines
     */
    int64_t row = (int64_t)width + 1, size = row * height;
    uLong packed_size = compressBound((uLong)size);
    uint8_t *lines = MPKI_NEW(ctx, "plot", size, uint8_t);
    uint8_t *packed = MPKI_NEW(ctx, "plot", (int64_t)packed_size, uint8_t);
    mpk_status status = MPK_ERR_MEMORY;
    if (!lines || !packed) goto done;
    for (int32_t y = 0; y < height; y++) {
        const uint8_t *here = pixels + (int64_t)y * width;
        lines[y * row] = 2;
        for (int32_t x = 0; x < width; x++)
            lines[y * row + 1 + x] = (uint8_t)(here[x] - (y ? here[x - width] : 0));
    }
    if (compress2(packed, &packed_size, lines, (uLong)size, 9) != Z_OK) goto done;

    uint8_t head[13] = {[8] = 8 /* bits */, [9] = 3 /* palette */};
    put_be32(head, (uint32_t)width);
    put_be32(head + 4, (uint32_t)height);
    mpki_buffer_bytes(out, "\x89PNG\r\n\x1a\n", 8);
    chunk(out, "IHDR", head, sizeof head);
    chunk(out, "PLTE", palette, 3 * (uint32_t)colours);
    chunk(out, "IDAT", packed, (uint32_t)packed_size);
    chunk(out, "IEND", "", 0);
    status = out->status;
done:
    mpki_release(ctx, lines);
    mpki_release(ctx, packed);
    return status;
}
