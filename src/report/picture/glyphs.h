/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_GLYPHS_H
#define MPKI_GLYPHS_H
/** Letters as strokes, for pictures of pixels. */

/** The strokes of a character: a digit, its width in units, and lines of corners "xy" with x a
 *  digit and y a letter, c the baseline, g the top of an x, i that of an X; a blank begins the next
 *  line. Of what there is no glyph for that of '?'. */
const char *mpki_glyph(int code);

#endif
