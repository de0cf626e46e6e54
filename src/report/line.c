/* SPDX-License-Identifier: BSD-3-Clause */
/* A line of a report's text: a label of 14 columns, then a sentence, at most 100 columns. */
#include "report.h"

#include <stdarg.h>
#include <string.h>

/* File names and other texts may contain anything: control characters and invalid UTF-8 become
 * question marks. */
static void tame(char *text) {
    for (unsigned char *s = (unsigned char *)text; *s;) {
        int length = mpki_utf8_length(s);
        const bool control = *s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0);
        if (length == 0 || control) memset(s, '?', (size_t)(length = length ? length : 1));
        s += length;
    }
}

/* How many bytes of `text` fit into `room` columns, ending between words. */
static int fit(const char *text, int room) {
    int at = 0, blank = 0;
    for (int column = 0; text[at] && column < room; column++) {
        if (text[at] == ' ') blank = at;
        at += mpki_utf8_length((const unsigned char *)text + at);
    }
    return !text[at] || text[at] == ' ' || blank == 0 ? at : blank; /* or inside a long word */
}

/* One paragraph: the label, then the text, broken between words. */
void mpki_line(mpki_buffer *out, const char *label, const char *format, ...) {
    char text[1024];
    va_list args;
    va_start(args, format);
    const int size = mpki_print_list(text, sizeof text, format, args);
    va_end(args);
    if (size >= (int)sizeof text) memcpy(text + sizeof text - 4, "...", 4);
    tame(text);
    for (size_t end = strlen(text); end > 0 && text[end - 1] == ' ';) text[--end] = '\0';
    const char *rest = text;
    do {
        while (*rest == ' ') rest++;
        const int length = fit(rest, MPKI_WIDTH - MPKI_LABEL);
        mpki_buffer_printf(out, "%-*s%.*s\n", MPKI_LABEL, label, length, rest);
        rest += length;
        label = "";
    } while (*rest);
}
