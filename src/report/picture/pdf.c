/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture as a PDF of one page (ISO 32000-1): lines and areas as such, texts in Helvetica, which
 * every viewer has, embedded PNGs with their lines as they are compressed. */
#include "picture.h"

#include <string.h>
#include <zlib.h>

enum { IMAGES = 8, OBJECTS = 7 + IMAGES, FIRST_IMAGE = 7 };

/* Widths of Helvetica from the blank to the tilde, in thousandths of its size. */
static const short widths[] = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};
static const double BOLD = 1.06; /* its widths, on the mean */

typedef struct page {
    mpk_context *ctx;
    double width, height;
    mpki_buffer content;
    mpki_buffer image[IMAGES]; /* whole objects, but for their numbers */
    int images;
} page;

static void put(page *p, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(page *p, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    mpki_print_list(text, sizeof text, format, args);
    va_end(args);
    mpki_buffer_printf(&p->content, "%s", text);
}

static void begin(void *self, double width, double height) {
    page *p = self;
    p->width = width, p->height = height;
}

static void put_colour(page *p, int32_t colour, const char *verb) {
    put(p, "%.3f %.3f %.3f %s\n", (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
        (colour & 255) / 255.0, verb);
}

static void shape(void *self, const double *xy, int count, bool closed, const mpki_paint *paint) {
    page *p = self;
    const bool fills = paint->fill >= 0, strokes = paint->stroke >= 0;
    if (!fills && !strokes) return;
    if (fills) put_colour(p, paint->fill, "rg");
    if (strokes) {
        put_colour(p, paint->stroke, "RG");
        put(p, "%.2f w [", paint->width);
        if (paint->dash[0] > 0) put(p, "%.1f %.1f", paint->dash[0], paint->dash[1]);
        put(p, "] 0 d\n");
    }
    for (int k = 0; k < count; k++)
        put(p, "%.2f %.2f %s\n", xy[2 * k], p->height - xy[2 * k + 1], k ? "l" : "m");
    if (closed) put(p, "h ");
    put(p, "%s\n", fills && strokes ? "B" : fills ? "f" : "S");
}

/* The next character in WinAnsi, whose upper half but for 128 to 159 is that of Unicode. */
static int next_code(const char **text) {
    const unsigned char *s = (const unsigned char *)*text;
    const int length = mpki_utf8_length(s);
    *text += length > 0 ? length : 1;
    if (length == 1) return s[0];
    if (length == 2 && s[0] <= 0xc3) return (s[0] & 3) << 6 | (s[1] & 63);
    return '?';
}

static double text_width(void *self, const mpki_letters *letters, const char *text) {
    double sum = 0;
    (void)self;
    while (*text) {
        const int code = next_code(&text);
        sum += code >= 32 && code < 127 ? widths[code - 32] : 556;
    }
    return sum * letters->size / 1000 * (letters->bold ? BOLD : 1);
}

static void put_text(void *self, double x, double y, bool upright, const mpki_letters *letters,
                     const char *text) {
    page *p = self;
    put_colour(p, letters->colour, "rg");
    put(p, "BT /F%d %.1f Tf %s %.2f %.2f Tm <", letters->bold ? 2 : 1, letters->size,
        upright ? "1 0 0 1" : "0 1 -1 0", x, p->height - y);
    while (*text) put(p, "%02x", next_code(&text));
    put(p, "> Tj ET\n");
}

static void put_image(void *self, double x, double y, double w, double h, const uint8_t *png,
                      int64_t size) {
    page *p = self;
    mpki_png parts;
    if (p->images == IMAGES || !mpki_png_parts(png, size, &parts)) return;
    mpki_buffer *out = &p->image[p->images++];
    put(p, "q %.2f 0 0 %.2f %.2f %.2f cm /I%d Do Q\n", w, h, x, p->height - y - h, p->images - 1);
    mpki_buffer_printf(
        out,
        "<< /Type /XObject /Subtype /Image /Width %d /Height %d /BitsPerComponent 8\n"
        "/Filter /FlateDecode /DecodeParms << /Predictor 15 /Colors 1 "
        "/BitsPerComponent 8 /Columns %d >>\n/ColorSpace [/Indexed /DeviceRGB %d <",
        parts.width, parts.height, parts.width, parts.colours - 1);
    for (int k = 0; k < 3 * parts.colours; k++) mpki_buffer_printf(out, "%02x", parts.palette[k]);
    mpki_buffer_printf(out, ">] /Length %lld >>\nstream\n", (long long)parts.packed_size);
    mpki_buffer_bytes(out, parts.packed, parts.packed_size);
    mpki_buffer_printf(out, "\nendstream");
}

static void clip(void *self, double x, double y, double w, double h) {
    page *p = self;
    if (w < 0)
        put(p, "Q\n");
    else
        put(p, "q %.2f %.2f %.2f %.2f re W n\n", x, p->height - y - h, w, h);
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Objects by number, and where each began. */
typedef struct objects {
    mpki_buffer *out;
    int64_t at[OBJECTS];
    int count;
} objects;

static void open_object(objects *o) {
    o->at[o->count++] = o->out->size;
    mpki_buffer_printf(o->out, "%d 0 obj\n", o->count);
}

static void put_content(page *p, mpki_buffer *out) {
    uLong size = compressBound((uLong)p->content.size);
    uint8_t *packed = MPKI_NEW(p->ctx, "plot", (int64_t)size, uint8_t);
    if (!packed || compress2(packed, &size, (const Bytef *)p->content.data, (uLong)p->content.size,
                             9) != Z_OK) {
        out->status = MPK_ERR_MEMORY;
        size = 0;
    }
    mpki_buffer_printf(out, "<< /Filter /FlateDecode /Length %lu >>\nstream\n", size);
    mpki_buffer_bytes(out, packed, (int64_t)size);
    mpki_buffer_printf(out, "\nendstream\nendobj\n");
    mpki_release(p->ctx, packed);
}

static void put_file(page *p, mpki_buffer *out) {
    objects o = {.out = out};
    char w[32], h[32];
    mpki_print(w, sizeof w, "%.1f", p->width);
    mpki_print(h, sizeof h, "%.1f", p->height);
    mpki_buffer_printf(out, "%%PDF-1.4\n%%\xe2\xe3\xcf\xd3\n");
    open_object(&o);
    mpki_buffer_printf(out, "<< /Type /Catalog /Pages 2 0 R >>\nendobj\n");
    open_object(&o);
    mpki_buffer_printf(out, "<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n");
    open_object(&o);
    mpki_buffer_printf(out,
                       "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %s %s] /Contents 6 0 R\n"
                       "/Resources << /Font << /F1 4 0 R /F2 5 0 R >> /XObject <<",
                       w, h);
    for (int k = 0; k < p->images; k++) mpki_buffer_printf(out, " /I%d %d 0 R", k, FIRST_IMAGE + k);
    mpki_buffer_printf(out, " >> >> >>\nendobj\n");
    for (int bold = 0; bold < 2; bold++) {
        open_object(&o);
        mpki_buffer_printf(out,
                           "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica%s "
                           "/Encoding /WinAnsiEncoding >>\nendobj\n",
                           bold ? "-Bold" : "");
    }
    open_object(&o);
    put_content(p, out);
    for (int k = 0; k < p->images; k++) {
        open_object(&o);
        mpki_buffer_bytes(out, p->image[k].data, p->image[k].size);
        mpki_buffer_printf(out, "\nendobj\n");
    }
    const int64_t table = out->size;
    mpki_buffer_printf(out, "xref\n0 %d\n0000000000 65535 f \n", o.count + 1);
    for (int k = 0; k < o.count; k++)
        mpki_buffer_printf(out, "%010lld 00000 n \n", (long long)o.at[k]);
    mpki_buffer_printf(out, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%lld\n%%%%EOF\n",
                       o.count + 1, (long long)table);
}

mpk_status mpki_picture_pdf(mpk_context *ctx, const char *svg, mpki_buffer *out) {
    page p = {.ctx = ctx};
    const mpki_surface surface = {&p, begin, shape, put_text, text_width, put_image, clip};
    mpki_buffer_init(&p.content, ctx);
    for (int k = 0; k < IMAGES; k++) mpki_buffer_init(&p.image[k], ctx);
    mpk_status status = mpki_svg_draw(ctx, svg, &surface);
    if (!mpk_failed(status)) put_file(&p, out);
    if (!mpk_failed(status)) status = out->status;
    if (!mpk_failed(status)) status = p.content.status;
    for (int k = 0; k < IMAGES; k++) {
        if (!mpk_failed(status)) status = p.image[k].status;
        mpki_buffer_free(&p.image[k]);
    }
    mpki_buffer_free(&p.content);
    return status;
}
