/* SPDX-License-Identifier: BSD-3-Clause */
/* A plain face of straight strokes on a grid of 5 by 9, drawn for this file. */
#include "glyphs.h"

static const char *const glyphs[] = {
    "2",                                 /* blank */
    "11i1e 1d1c",                        /* ! */
    "31i1g 2i2g",                        /* " */
    "51d2h 3d4h 0e4e 1g5g",              /* # */
    "44h3i1i0h0g1f3f4e4d3c1c0d 2i2c",    /* $ */
    "40c4i 0h0i1i1h0h 3c3d4d4c3c",       /* % */
    "44c1h1i2i2h0e0d1c2c4e",             /* & */
    "11i1g",                             /* ' */
    "22i1h1d2c",                         /* ( */
    "20i1h1d0c",                         /* ) */
    "42h2d 0g4e 4g0e",                   /* * */
    "42d2h 0f4f",                        /* + */
    "11d1c0b",                           /* , */
    "30f3f",                             /* - */
    "11c1d",                             /* . */
    "30c3i",                             /* / */
    "41c0d0h1i3i4h4d3c1c",               /* 0 */
    "41h2i2c 1c3c",                      /* 1 */
    "40h1i3i4h4g0c4c",                   /* 2 */
    "40h1i3i4h4g3f1f 3f4e4d3c1c0d",      /* 3 */
    "43c3i0e4e",                         /* 4 */
    "44i0i0f3f4e4d3c1c0d",               /* 5 */
    "44h3i1i0h0d1c3c4d4e3f1f0e",         /* 6 */
    "40i4i1c",                           /* 7 */
    "41f0g0h1i3i4h4g3f1f0e0d1c3c4d4e3f", /* 8 */
    "40d1c3c4d4h3i1i0h0g1f3f4g",         /* 9 */
    "11g1f 1d1c",                        /* : */
    "11g1f 1d1c0b",                      /* ; */
    "44h0f4d",                           /* < */
    "40g4g 0e4e",                        /* = */
    "40h4f0d",                           /* > */
    "40h1i3i4h4g2f2e 2d2c",              /* ? */
    "43e3g1g1e3e4e4h3i1i0h0d1c4c",       /* @ */
    "40c2i4c 1e3e",                      /* A */
    "40c0i3i4h4g3f0f 3f4e4d3c0c",        /* B */
    "44h3i1i0h0d1c3c4d",                 /* C */
    "40c0i2i4g4e2c0c",                   /* D */
    "44i0i0c4c 0f3f",                    /* E */
    "44i0i0c 0f3f",                      /* F */
    "44h3i1i0h0d1c3c4d4f2f",             /* G */
    "40c0i 4c4i 0f4f",                   /* H */
    "10c0i",                             /* I */
    "33i3d2c1c0d",                       /* J */
    "40c0i 4i0e 1f4c",                   /* K */
    "40i0c4c",                           /* L */
    "50c0i2e4i4c",                       /* M */
    "40c0i4c4i",                         /* N */
    "41c0d0h1i3i4h4d3c1c",               /* O */
    "40c0i3i4h4g3f0f",                   /* P */
    "41c0d0h1i3i4h4d3c1c 2e4c",          /* Q */
    "40c0i3i4h4g3f0f 2f4c",              /* R */
    "44h3i1i0h0g1f3f4e4d3c1c0d",         /* S */
    "40i4i 2i2c",                        /* T */
    "40i0d1c3c4d4i",                     /* U */
    "40i2c4i",                           /* V */
    "60i1c3g5c6i",                       /* W */
    "40c4i 0i4c",                        /* X */
    "40i2f4i 2f2c",                      /* Y */
    "40i4i0c4c",                         /* Z */
    "22i0i0c2c",                         /* [ */
    "30i3c",                             /* \ */
    "20i2i2c0c",                         /* ] */
    "40g2i4g",                           /* ^ */
    "40b4b",                             /* _ */
    "20i1h",                             /* ` */
    "30f1g2g3f3c 3e1e0d1c2c3d",          /* a */
    "30i0c 0d1c2c3d3f2g1g0f",            /* b */
    "33f2g1g0f0d1c2c3d",                 /* c */
    "33i3c 3d2c1c0d0f1g2g3f",            /* d */
    "30e3e3f2g1g0f0d1c2c3d",             /* e */
    "22i1h1c 0g2g",                      /* f */
    "33g3b2a1a0b 3d2c1c0d0f1g2g3f",      /* g */
    "30i0c 0f1g2g3f3c",                  /* h */
    "00g0c 0i0h",                        /* i */
    "11g1b0a 1i1h",                      /* j */
    "30i0c 3g0d 1e3c",                   /* k */
    "00i0c",                             /* l */
    "50g0c 0f1g2f2c 2f3g4f4c",           /* m */
    "30g0c 0f1g2g3f3c",                  /* n */
    "31c0d0f1g2g3f3d2c1c",               /* o */
    "30g0a 0f1g2g3f3d2c1c0d",            /* p */
    "33g3a 3f2g1g0f0d1c2c3d",            /* q */
    "20g0c 0f1g2g",                      /* r */
    "33f2g1g0f1e2e3d2c1c0d",             /* s */
    "21i1d2c 0g2g",                      /* t */
    "30g0d1c2c3d 3g3c",                  /* u */
    "40g2c4g",                           /* v */
    "40g1c2f3c4g",                       /* w */
    "30g3c 0c3g",                        /* x */
    "40g2c 4g2c1a0a",                    /* y */
    "30g3g0c3c",                         /* z */
    "22i1h1g0f1e1d2c",                   /* { */
    "11i1a",                             /* | */
    "20i1h1g2f1e1d0c",                   /* } */
    "40f1g3f4g",                         /* ~ */
};

const char *mpki_glyph(int code) {
    if (code == 0xb5) return "30g0a 0d1c2c3d 3g3c"; /* micro */
    return glyphs[(code >= ' ' && code <= '~' ? code : '?') - ' '];
}
