/* SPDX-License-Identifier: BSD-3-Clause */
/* A picture as a PNG: shapes are filled line by line, each pixel by how much of it they cover;
 * lines are areas, letters are lines (glyphs.c). */
#include "glyphs.h"
#include "picture.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

enum { SCALE = 2, SUB = 4, CROSSINGS = 4096, LARGEST = 8000, ROUND = 12 };

typedef struct canvas {
    mpk_context *ctx;
    int32_t width, height;
    uint8_t *rgb; /* 3 * width * height */
    float *cover; /* of a line of pixels, width + 1 */
    double crossing[CROSSINGS];
    double clip[4]; /* left, top, right, bottom in pixels */
    mpk_status status;
} canvas;

static void everywhere(canvas *c) {
    c->clip[0] = c->clip[1] = 0;
    c->clip[2] = c->width, c->clip[3] = c->height;
}

static void begin(void *self, double width, double height) {
    canvas *c = self;
    const double w = fmin(LARGEST, ceil(SCALE * width)), h = fmin(LARGEST, ceil(SCALE * height));
    c->width = w > 1 ? (int32_t)w : 1;
    c->height = h > 1 ? (int32_t)h : 1;
    c->rgb = MPKI_NEW(c->ctx, "plot", 3 * (int64_t)c->width * c->height, uint8_t);
    c->cover = MPKI_NEW(c->ctx, "plot", (int64_t)c->width + 1, float);
    if (!c->rgb || !c->cover) {
        c->status = mpki_failed(c->ctx);
        return;
    }
    memset(c->rgb, 255, 3 * (size_t)c->width * (size_t)c->height);
    everywhere(c);
}

/* ---- areas ----------------------------------------------------------------------------------- */

/* Add `weight` for the pixels from x0 to x1, of those at the ends their part. */
static void cover(canvas *c, double x0, double x1, float weight) {
    x0 = fmax(x0, c->clip[0]), x1 = fmin(x1, c->clip[2]);
    if (!(x1 > x0)) return;
    const int first = (int)x0, last = (int)x1;
    if (first == last) {
        c->cover[first] += weight * (float)(x1 - x0);
        return;
    }
    c->cover[first] += weight * (float)(first + 1 - x0);
    for (int x = first + 1; x < last; x++) c->cover[x] += weight;
    c->cover[last] += weight * (float)(x1 - last);
}

static void sort(double *x, int count) {
    for (int i = 1; i < count; i++) {
        const double value = x[i];
        int at = i;
        for (; at > 0 && x[at - 1] > value; at--) x[at] = x[at - 1];
        x[at] = value;
    }
}

static void blend(canvas *c, int y, int32_t colour) {
    const float rgb[] = {(float)(colour >> 16 & 255), (float)(colour >> 8 & 255),
                         (float)(colour & 255)};
    for (int x = 0; x < c->width; x++) {
        const float a = c->cover[x] < 1 ? c->cover[x] : 1;
        uint8_t *to = c->rgb + 3 * ((size_t)y * (size_t)c->width + (size_t)x);
        if (a > 0)
            for (int k = 0; k < 3; k++)
                to[k] = (uint8_t)((float)to[k] + a * (rgb[k] - (float)to[k]) + 0.5f);
    }
}

/* Of a polygon whose corners are in pixels, by its crossings with SUB lines in each row. */
static void fill(canvas *c, const double *xy, int count, int32_t colour) {
    double top = INFINITY, bottom = -INFINITY;
    for (int k = 0; k < count; k++) {
        top = fmin(top, xy[2 * k + 1]);
        bottom = fmax(bottom, xy[2 * k + 1]);
    }
    top = fmax(top, c->clip[1]), bottom = fmin(bottom, c->clip[3]);
    if (!(bottom > top)) return;
    for (int y = (int)top; y < bottom && y < c->height; y++) {
        memset(c->cover, 0, ((size_t)c->width + 1) * sizeof(float));
        for (int s = 0; s < SUB; s++) {
            const double at = y + (s + 0.5) / SUB;
            int found = 0;
            if (at < top || at > bottom) continue;
            for (int k = 0; k < count && found < CROSSINGS; k++) {
                const double *a = xy + 2 * k, *b = xy + 2 * ((k + 1) % count);
                if ((a[1] <= at) != (b[1] <= at))
                    c->crossing[found++] = a[0] + (at - a[1]) / (b[1] - a[1]) * (b[0] - a[0]);
            }
            sort(c->crossing, found);
            for (int k = 0; k + 1 < found; k += 2)
                cover(c, c->crossing[k], c->crossing[k + 1], 1.0f / SUB);
        }
        blend(c, y, colour);
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void dot(canvas *c, double x, double y, double radius, int32_t colour) {
    double xy[2 * ROUND];
    for (int k = 0; k < ROUND; k++) {
        xy[2 * k] = x + radius * cos(2 * M_PI * k / ROUND);
        xy[2 * k + 1] = y + radius * sin(2 * M_PI * k / ROUND);
    }
    fill(c, xy, ROUND, colour);
}

static void segment(canvas *c, const double *a, const double *b, double half, int32_t colour) {
    const double length = hypot(b[0] - a[0], b[1] - a[1]);
    if (!(length > 0)) return;
    const double dx = half * (b[1] - a[1]) / length, dy = half * (a[0] - b[0]) / length;
    const double xy[] = {a[0] + dx, a[1] + dy, b[0] + dx, b[1] + dy,
                         b[0] - dx, b[1] - dy, a[0] - dx, a[1] - dy};
    fill(c, xy, 4, colour);
}

/* A line in parts that are drawn and left out; *at [in, out]: how far along them. */
static void dashed(canvas *c, const double *a, const double *b, double half, const double *dash,
                   double *at, int32_t colour) {
    const double length = hypot(b[0] - a[0], b[1] - a[1]), period = dash[0] + dash[1];
    for (double from = 0; from < length;) {
        const double phase = fmod(*at, period), rest = (phase < dash[0] ? dash[0] : period) - phase;
        const double to = fmin(length, from + fmax(rest, 1e-3));
        const double p[] = {a[0] + (b[0] - a[0]) * from / length,
                            a[1] + (b[1] - a[1]) * from / length,
                            a[0] + (b[0] - a[0]) * to / length, a[1] + (b[1] - a[1]) * to / length};
        if (phase < dash[0]) segment(c, p, p + 2, half, colour);
        *at += to - from;
        from = to;
    }
}

static void stroke(canvas *c, const double *xy, int count, bool closed, const mpki_paint *paint,
                   bool round) {
    const double half = SCALE * paint->width / 2;
    const double dash[] = {SCALE * paint->dash[0], SCALE * paint->dash[1]};
    double at = 0;
    for (int k = 0; k + 1 < count + closed; k++) {
        const double *a = xy + 2 * k, *b = xy + 2 * ((k + 1) % count);
        if (dash[0] > 0)
            dashed(c, a, b, half, dash, &at, paint->stroke);
        else
            segment(c, a, b, half, paint->stroke);
        if (dash[0] <= 0 && (round || ((k > 0 || closed) && half > 0.8)))
            dot(c, a[0], a[1], half, paint->stroke);
    }
    if (round && count > 0) dot(c, xy[2 * count - 2], xy[2 * count - 1], half, paint->stroke);
}

static void shape(void *self, const double *xy, int count, bool closed, const mpki_paint *paint) {
    canvas *c = self;
    if (mpk_failed(c->status) || count < 1) return;
    double *in = MPKI_NEW(c->ctx, "plot", 2 * (int64_t)count, double);
    if (!in) {
        c->status = mpki_failed(c->ctx);
        return;
    }
    for (int k = 0; k < 2 * count; k++) in[k] = SCALE * xy[k];
    if (paint->fill >= 0) fill(c, in, count, paint->fill);
    if (paint->stroke >= 0) stroke(c, in, count, closed, paint, false);
    mpki_release(c->ctx, in);
}

/* ---- letters --------------------------------------------------------------------------------- */

static const double UNIT = 0.105, RISE = 0.12, SPACE = 1.5; /* of a grid, over the size; between */

static int next_code(const char **text) {
    const unsigned char *s = (const unsigned char *)*text;
    const int length = mpki_utf8_length(s);
    *text += length > 0 ? length : 1;
    return length == 1 ? s[0] : length == 2 && s[0] <= 0xc3 ? (s[0] & 3) << 6 | (s[1] & 63) : '?';
}

static double text_width(void *self, const mpki_letters *letters, const char *text) {
    double sum = 0;
    (void)self;
    while (*text) sum += mpki_glyph(next_code(&text))[0] - '0' + SPACE;
    return sum * UNIT * letters->size;
}

/* One line of a glyph, which ends at a blank. Returns where that is. */
static const char *letter_line(canvas *c, const char *g, double x, double y, bool upright,
                               const mpki_letters *l) {
    enum { CORNERS = 24 };
    const mpki_paint paint = {
        .fill = -1, .stroke = l->colour, .width = l->size * (l->bold ? 0.125 : 0.085)};
    double xy[2 * CORNERS];
    int count = 0;
    for (; g[0] && g[0] != ' ' && g[1] && count < CORNERS; g += 2, count++) {
        const double right = UNIT * l->size * (g[0] - '0'), up = RISE * l->size * (g[1] - 'c');
        xy[2 * count] = SCALE * (upright ? x + right : x - up);
        xy[2 * count + 1] = SCALE * (upright ? y - up : y - right);
    }
    stroke(c, xy, count, false, &paint, true);
    return g + (*g == ' ');
}

static void put_text(void *self, double x, double y, bool upright, const mpki_letters *letters,
                     const char *text) {
    canvas *c = self;
    if (mpk_failed(c->status)) return;
    while (*text) {
        const char *g = mpki_glyph(next_code(&text));
        const double step = UNIT * letters->size * (g[0] - '0' + SPACE);
        for (g++; *g;) g = letter_line(c, g, x, y, upright, letters);
        if (upright)
            x += step;
        else
            y -= step;
    }
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void put_image(void *self, double x, double y, double w, double h, const uint8_t *png,
                      int64_t size) {
    canvas *c = self;
    mpki_png p;
    if (mpk_failed(c->status) || !mpki_png_parts(png, size, &p)) return;
    const int64_t row = (int64_t)p.width + 1;
    uLongf length = (uLongf)(row * p.height);
    uint8_t *lines = MPKI_NEW(c->ctx, "plot", row * p.height, uint8_t);
    if (!lines) {
        c->status = mpki_failed(c->ctx);
        return;
    }
    if (uncompress(lines, &length, p.packed, (uLong)p.packed_size) != Z_OK) length = 0;
    for (int32_t r = 1; r < p.height; r++) /* each line is its difference to the one above */
        for (int64_t k = 1; k < row; k++)
            lines[r * row + k] = (uint8_t)(lines[r * row + k] + lines[(r - 1) * row + k]);
    const int left = (int)(SCALE * x), top = (int)(SCALE * y);
    const int wide = (int)(SCALE * w), high = (int)(SCALE * h);
    for (int i = 0; length && i < high && top + i < c->height; i++)
        for (int j = 0; j < wide && left + j < c->width; j++) {
            const uint8_t k =
                lines[(int64_t)i * p.height / high * row + 1 + (int64_t)j * p.width / wide];
            if (k < p.colours && top + i >= 0 && left + j >= 0)
                memcpy(c->rgb + 3 * ((size_t)(top + i) * (size_t)c->width + (size_t)(left + j)),
                       p.palette + 3 * k, 3);
        }
    mpki_release(c->ctx, lines);
}

static void clip(void *self, double x, double y, double w, double h) {
    canvas *c = self;
    everywhere(c);
    if (w < 0) return;
    c->clip[0] = fmax(0, SCALE * x), c->clip[1] = fmax(0, SCALE * y);
    c->clip[2] = fmin(c->width, SCALE * (x + w)), c->clip[3] = fmin(c->height, SCALE * (y + h));
}

mpk_status mpki_picture_png(mpk_context *ctx, const char *svg, mpki_buffer *out) {
    canvas *c = MPKI_ZNEW(ctx, "plot", 1, canvas);
    if (!c) return mpki_failed(ctx);
    c->ctx = ctx;
    const mpki_surface surface = {c, begin, shape, put_text, text_width, put_image, clip};
    mpk_status status = mpki_svg_draw(ctx, svg, &surface);
    if (!mpk_failed(status)) status = c->status;
    if (!mpk_failed(status)) status = mpki_png_write_rgb(ctx, c->width, c->height, c->rgb, out);
    mpki_release(ctx, c->rgb);
    mpki_release(ctx, c->cover);
    mpki_release(ctx, c);
    return status;
}
