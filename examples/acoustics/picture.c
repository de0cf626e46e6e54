/* SPDX-License-Identifier: BSD-3-Clause */
/* The modulus of the field around the obstacle, in colours (ISO/IEC 15948). */
#include "acoustics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { SIDE = 240 };
static const double REACH = 3; /* half the width, in radii */

static void chunk(FILE *file, const char *type, const unsigned char *data, size_t size) {
    unsigned char word[4];
    const unsigned long crc =
        crc32(crc32(crc32(0, Z_NULL, 0), (const unsigned char *)type, 4), data, (unsigned)size);
    for (int k = 0; k < 4; k++) word[k] = (unsigned char)(size >> (24 - 8 * k));
    fwrite(word, 1, 4, file);
    fwrite(type, 1, 4, file);
    fwrite(data, 1, size, file);
    for (int k = 0; k < 4; k++) word[k] = (unsigned char)(crc >> (24 - 8 * k));
    fwrite(word, 1, 4, file);
}

/* Dark to bright, even for the eye. */
static void colour(double share, unsigned char rgb[3]) {
    static const double stop[5][3] = {
        {68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}};
    const double at = 4 * fmin(fmax(share, 0), 1);
    const int k = at >= 4 ? 3 : (int)at;
    for (int c = 0; c < 3; c++)
        rgb[c] = (unsigned char)(stop[k][c] + (at - k) * (stop[k + 1][c] - stop[k][c]));
}

/* |u| at the middle of each pixel; inside the obstacle -1. The wave travels to the right. */
static double sample(const surface *s, double k, const float complex *x, double *value) {
    double most = 0;
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            const double z = REACH * (2 * (column + 0.5) / SIDE - 1);
            const double at[3] = {REACH * (1 - 2 * (row + 0.5) / SIDE), 0, z};
            const double r = hypot(at[0], z), direction[3] = {at[0] / r, 0, z / r};
            const int inside = r < s->radius(direction) * 1.005;
            double *u = &value[row * SIDE + column];
            *u = inside ? -1 : cabs(boundary_field(s, k, x, at));
            most = fmax(most, *u);
        }
    return most;
}

int picture_write(const char *path, const surface *s, double k, const float complex *x) {
    const size_t line = 1 + 3 * SIDE, size = line * SIDE;
    unsigned long packed_size = compressBound(size);
    double *value = malloc(sizeof *value * SIDE * SIDE);
    unsigned char *pixels = calloc(size, 1), *packed = malloc(packed_size);
    FILE *file = NULL;
    int status = -1;
    if (!value || !pixels || !packed) goto done;
    const double most = sample(s, k, x, value);
    for (int row = 0; row < SIDE; row++)
        for (int column = 0; column < SIDE; column++) {
            const double u = value[row * SIDE + column];
            unsigned char *rgb = &pixels[(size_t)row * line + 1 + 3 * (size_t)column];
            if (u < 0)
                memset(rgb, 255, 3);
            else
                colour(u / most, rgb);
        }
    if (compress2(packed, &packed_size, pixels, size, 9) != Z_OK) goto done;
    file = fopen(path, "wb");
    if (!file) goto done;
    const unsigned char head[13] = {0, 0, SIDE >> 8, SIDE & 255, 0, 0, SIDE >> 8, SIDE & 255, 8, 2};
    fwrite("\x89PNG\r\n\x1a\n", 1, 8, file);
    chunk(file, "IHDR", head, sizeof head);
    chunk(file, "IDAT", packed, packed_size);
    chunk(file, "IEND", head, 0);
    status = ferror(file) ? -1 : 0;
done:
    if (file && fclose(file)) status = -1;
    free(value);
    free(pixels);
    free(packed);
    return status;
}
