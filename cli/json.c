/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings of JSON from any bytes, such as names of files. */
#include "cli.h"

/* Bytes of the UTF-8 character at s; 0: not valid. */
static int character(const unsigned char *s) {
    const int length = s[0] < 0x80                   ? 1
                       : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
                       : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                       : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                     : 0;
    for (int k = 1; k < length; k++)
        if ((s[k] & 0xc0) != 0x80) return 0;
    /* no overlong forms, surrogates or codes above U+10FFFF */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0)) return 0;
    if ((s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90)) return 0;
    return length;
}

void cli_print_json_string(FILE *out, const char *text) {
    fputc('"', out);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        const int length = character(s);
        if (length == 0)
            fputs("\\ufffd", out);
        else if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if (*s < 0x20 || *s == 0x7f)
            fprintf(out, "\\u%04x", *s);
        else
            fwrite(s, 1, (size_t)length, out);
        s += length ? length : 1;
    }
    fputc('"', out);
}
