/* SPDX-License-Identifier: BSD-3-Clause */
/* PNGs, decoded again. */
#include "support.h"

#include <zlib.h>

static uint32_t be32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Decode what was encoded: chunks with right checksums, the filter undone, the same pixels. */
static void round_trip(void **state) {
    (void)state;
    enum { WIDTH = 7, HEIGHT = 5 };
    static const uint8_t palette[][3] = {{255, 255, 255}, {1, 2, 3}, {4, 5, 6}};
    uint8_t pixels[WIDTH * HEIGHT], lines[(WIDTH + 1) * HEIGHT];
    for (int k = 0; k < WIDTH * HEIGHT; k++) pixels[k] = (uint8_t)(k * k % 3);
    mpk_context *ctx = new_context();
    mpki_buffer png;
    mpki_buffer_init(&png, ctx);
    assert_int_equal(mpki_png_write(ctx, WIDTH, HEIGHT, pixels, palette, 3, &png), MPK_OK);
    const uint8_t *p = (const uint8_t *)png.data, *end = p + png.size;
    assert_memory_equal(p, "\x89PNG\r\n\x1a\n", 8);
    char order[64] = "";
    for (p += 8; p < end; p += 12 + be32(p)) {
        uint32_t size = be32(p);
        assert_true(p + 12 + size <= end);
        assert_int_equal(be32(p + 8 + size), crc32(0, p + 4, size + 4));
        strncat(order, (const char *)p + 4, 4);
        if (!memcmp(p + 4, "IHDR", 4))
            assert_true(size == 13 && be32(p + 8) == WIDTH && be32(p + 12) == HEIGHT &&
                        p[16] == 8 && p[17] == 3);
        if (!memcmp(p + 4, "PLTE", 4)) assert_memory_equal(p + 8, palette, 9);
        if (!memcmp(p + 4, "IDAT", 4)) {
            uLongf length = sizeof lines;
            assert_int_equal(uncompress(lines, &length, p + 8, size), Z_OK);
            assert_int_equal(length, sizeof lines);
        }
    }
    assert_string_equal(order, "IHDRPLTEIDATIEND");
    for (int y = 0; y < HEIGHT; y++) {
        uint8_t *here = lines + y * (WIDTH + 1);
        assert_int_equal(here[0], 2);
        for (int x = 1; x <= WIDTH; x++) {
            if (y) here[x] = (uint8_t)(here[x] + here[x - WIDTH - 1]);
            assert_int_equal(here[x], pixels[y * WIDTH + x - 1]);
        }
    }
    mpki_buffer_free(&png);
    mpk_context_destroy(&ctx);
}

static mpk_status encode(mpk_context *ctx) {
    static const uint8_t palette[][3] = {{0, 0, 0}};
    static const uint8_t pixels[4];
    mpki_buffer png;
    mpki_buffer_init(&png, ctx);
    mpk_status status = mpki_png_write(ctx, 2, 2, pixels, palette, 1, &png);
    mpki_buffer_free(&png);
    return status;
}

static void no_memory(void **state) {
    (void)state;
    sweep_allocations(encode);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(round_trip), cmocka_unit_test(no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
