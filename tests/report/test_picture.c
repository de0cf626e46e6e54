/* SPDX-License-Identifier: BSD-3-Clause */
/* Pictures as PNG and PDF: what is drawn is where it should be, and the files are well-formed. */
#define _GNU_SOURCE
#include "problem/support.h"
#include "report/picture/picture.h"

#include <unistd.h>
#include <zlib.h>

/* A bit of all that our pictures have. */
static const char picture[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"60\" height=\"40\" viewBox=\"0 0 60 40\">\n"
    "<style>text{fill:#1d2733;font-size:10px}.e{text-anchor:end}.l{stroke:#00f;fill:none}</style>\n"
    "<clipPath id=\"c\"><rect x=\"0\" y=\"0\" width=\"60\" height=\"40\" "
    "fill=\"#000\"/></clipPath>\n"
    "<rect width=\"100%\" height=\"100%\" style=\"fill:#fff;stroke:none\"/>\n"
    "<g transform=\"translate(10 20)\"><rect x=\"0\" y=\"0\" width=\"10\" height=\"10\" "
    "fill=\"#f00\"/></g>\n"
    "<svg width=\"30\" height=\"40\"><rect x=\"25\" y=\"0\" width=\"20\" height=\"5\" "
    "fill=\"#0a0\"/></svg>\n"
    "<path class=\"l\" d=\"M40 10H50V30\"/><path d=\"M2 2H8\" stroke=\"#00f\" "
    "marker-end=\"url(#a)\"/>\n"
    "<polyline points=\"40,30 45,35 50,30\" fill=\"none\" stroke=\"#000\" stroke-dasharray=\"2 "
    "1\"/>\n"
    "<circle cx=\"45\" cy=\"20\" r=\"3\" fill=\"#ff0\"/><line x1=\"0\" x2=\"9\" y1=\"39\" "
    "y2=\"39\"/>\n"
    "<text x=\"58\" y=\"38\" class=\"e\">a &lt; \xc2\xb5<tspan dy=\"-3\" "
    "font-size=\"6\">2</tspan></text>\n"
    "<text x=\"5\" y=\"20\" transform=\"rotate(-90 5 20)\">W</text>\n"
    "</svg>\n";

static uint32_t be32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* RGB of a PNG of ours, twice as large as the picture. */
static uint8_t *pixels_of(const mpki_buffer *png, uint32_t *width, uint32_t *height) {
    const uint8_t *p = (const uint8_t *)png->data;
    assert_memory_equal(p, "\x89PNG\r\n\x1a\n", 8);
    *width = be32(p + 16), *height = be32(p + 20);
    assert_int_equal(p[25], 2); /* colours */
    const uint8_t *idat = memmem(p, (size_t)png->size, "IDAT", 4);
    const size_t row = 3 * *width + 1;
    uLongf size = row * *height;
    uint8_t *lines = malloc(size);
    assert_int_equal(uncompress(lines, &size, idat + 4, be32(idat - 4)), Z_OK);
    assert_int_equal(size, row * *height);
    for (uint32_t y = 1; y < *height; y++)
        for (size_t x = 1; x < row; x++)
            lines[y * row + x] = (uint8_t)(lines[y * row + x] + lines[(y - 1) * row + x]);
    return lines;
}

static void png(void **state) {
    (void)state;
    static const struct {
        int x, y; /* of the picture */
        uint32_t rgb;
    } spots[] = {{15, 25, 0xff0000}, {22, 25, 0xffffff}, {9, 25, 0xffffff}, {27, 2, 0x00aa00},
                 {33, 2, 0xffffff},  {45, 20, 0xffff00}, {45, 25, 0xffffff}};
    mpk_context *ctx = new_context();
    mpki_buffer out;
    uint32_t width, height;
    mpki_buffer_init(&out, ctx);
    assert_int_equal(mpki_picture_png(ctx, picture, &out), MPK_OK);
    uint8_t *lines = pixels_of(&out, &width, &height);
    assert_int_equal(width, 120);
    assert_int_equal(height, 80);
    for (size_t k = 0; k < sizeof spots / sizeof *spots; k++) {
        const uint8_t *p =
            lines + 2 * (size_t)spots[k].y * (3 * width + 1) + 1 + 6 * (size_t)spots[k].x;
        const uint32_t rgb = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        if (rgb != spots[k].rgb) fail_msg("(%d, %d): %06x", spots[k].x, spots[k].y, rgb);
    }
    int dark = 0; /* the letters, right of the middle and below */
    for (uint32_t y = 60; y < 78; y++)
        for (uint32_t x = 70; x < 118; x++) dark += lines[y * (3 * width + 1) + 1 + 3 * x] < 100;
    assert_true(dark > 40);
    free(lines);
    mpki_buffer_free(&out);
    mpk_context_destroy(&ctx);
}

/* Each object stands where the table says. */
static void pdf(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    mpki_buffer out;
    mpki_buffer_init(&out, ctx);
    assert_int_equal(mpki_picture_pdf(ctx, picture, &out), MPK_OK);
    assert_memory_equal(out.data, "%PDF-1.4\n", 9);
    const char *end = memmem(out.data, (size_t)out.size, "startxref\n", 10);
    assert_non_null(end);
    const char *table = out.data + atol(end + 10), *entry;
    int count = 0;
    assert_int_equal(sscanf(table, "xref\n0 %d\n", &count), 1);
    assert_int_equal(count, 7);
    entry = strchr(table + 5, '\n') + 1;
    for (int k = 1; k < count; k++) {
        char want[24];
        snprintf(want, sizeof want, "%d 0 obj\n", k);
        assert_memory_equal(out.data + atol(entry + 20 * k), want, strlen(want));
    }
    assert_non_null(memmem(out.data, (size_t)out.size, "/MediaBox [0 0 60.0 40.0]", 25));
    mpki_buffer_free(&out);
    mpk_context_destroy(&ctx);
}

static char name[] = "/tmp/metapack-picture-XXXXXX.pdf";

static mpk_status write_as(mpk_context *ctx, const char *ending) {
    memcpy(name + strlen(name) - 4, ending, 4);
    return mpk_text_write(ctx, name, picture, (int64_t)strlen(picture));
}

static mpk_status write_pdf(mpk_context *ctx) {
    return write_as(ctx, ".pdf");
}
static mpk_status write_png(mpk_context *ctx) {
    return write_as(ctx, ".png");
}
static mpk_status write_text(mpk_context *ctx) {
    return write_as(ctx, ".svg");
}

/* No memory leaves nothing; what is no picture of ours is written as it is. */
static void faults(void **state) {
    (void)state;
    const int file = mkstemps(name, 4);
    assert_true(file >= 0);
    close(file);
    unlink(name);
    mpk_status (*const verbs[])(mpk_context *) = {write_pdf, write_png, write_text};
    for (int k = 0; k < 3; k++) {
        sweep_allocations(verbs[k]);
        assert_int_equal(unlink(name), 0);
    }
    mpk_context *ctx = new_context();
    memcpy(name + strlen(name) - 4, ".png", 4);
    assert_int_equal(mpk_text_write(ctx, name, "text", 4), MPK_OK);
    assert_int_equal(mpk_text_write(ctx, NULL, "text", 4), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_text_write(ctx, name, NULL, 4), MPK_ERR_ARGUMENT);
    assert_int_equal(mpk_text_write(ctx, name, "text", -4), MPK_ERR_ARGUMENT);
    unlink(name);
    mpk_context_destroy(&ctx);
}

/* A picture that is cut off anywhere is drawn as far as it goes. */
static void cut_off(void **state) {
    (void)state;
    mpk_context *ctx = new_context();
    for (size_t length = 0; length < strlen(picture); length += 3) {
        char part[sizeof picture];
        mpki_buffer out;
        mpki_buffer_init(&out, ctx);
        memcpy(part, picture, length), part[length] = '\0';
        (void)mpki_picture_pdf(ctx, part, &out);
        if (length % 2) (void)mpki_picture_png(ctx, part, &out);
        mpki_buffer_free(&out);
    }
    mpk_context_destroy(&ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(png), cmocka_unit_test(pdf),
                                       cmocka_unit_test(faults), cmocka_unit_test(cut_off)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
