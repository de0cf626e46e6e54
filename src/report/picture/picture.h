/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PICTURE_H
#define MPKI_PICTURE_H
/** Pictures of other kinds from the SVG that this project writes, and from no other: svg.c reads it
 *  and calls a surface, of which there are two. */
#include "../report.h"

/** How a shape is painted: colours 0xrrggbb, -1: not at all. */
typedef struct mpki_paint {
    int32_t fill, stroke;
    double width;   /* of the stroke */
    double dash[2]; /* drawn and left out; 0, 0: all is drawn */
} mpki_paint;

/** How a text looks. */
typedef struct mpki_letters {
    double size;
    bool bold;
    int32_t colour;
} mpki_letters;

/** What draws: in CSS pixels, y downwards. */
typedef struct mpki_surface {
    void *self;
    void (*begin)(void *self, double width, double height);
    /** A polygon, or where it is open a line along its corners. xy [in] 2 * count */
    void (*shape)(void *self, const double *xy, int count, bool closed, const mpki_paint *paint);
    /** UTF-8 from (x, y) on, turned by a quarter to the left where `upright` is false. */
    void (*text)(void *self, double x, double y, bool upright, const mpki_letters *letters,
                 const char *text);
    double (*text_width)(void *self, const mpki_letters *letters, const char *text);
    /** A PNG of mpki_png_write(), stretched over the rectangle. */
    void (*image)(void *self, double x, double y, double w, double h, const uint8_t *png,
                  int64_t size);
    /** What follows is seen in this rectangle alone; w < 0: everywhere. */
    void (*clip)(void *self, double x, double y, double w, double h);
} mpki_surface;

/** Read the picture and draw it. svg [in] zero-terminated. */
mpk_status mpki_svg_draw(mpk_context *ctx, const char *svg, const mpki_surface *surface);

/** The picture as a file of another kind, added to `out`. */
mpk_status mpki_picture_pdf(mpk_context *ctx, const char *svg, mpki_buffer *out);
mpk_status mpki_picture_png(mpk_context *ctx, const char *svg, mpki_buffer *out);

/** The palette picture in a PNG of ours. pixels [out] width * height indices, allocated: release
 *                                                     it;
 *  palette [out] `colours` triplets inside `png`; packed [out] its compressed lines inside `png` */
typedef struct mpki_png {
    int32_t width, height, colours;
    const uint8_t *palette, *packed;
    int64_t packed_size;
} mpki_png;
bool mpki_png_parts(const uint8_t *png, int64_t size, mpki_png *parts);

#endif
