/* SPDX-License-Identifier: BSD-3-Clause */
/* Findings as text, at most 100 columns. */
#include "doctor.h"

#include <string.h>

enum { WIDTH = 100, INDENT = 4 };

/* Columns of so many bytes of UTF-8. */
static int columns(const char *text, int bytes) {
    int count = 0;
    for (int k = 0; k < bytes; k++) count += ((unsigned char)text[k] & 0xc0) != 0x80;
    return count;
}

static void paragraph(FILE *out, char mark, const char *text) {
    int column = fprintf(out, "  %c ", mark);
    for (bool first = true; *text; first = false) {
        const int length = (int)strcspn(text, " "), wide = columns(text, length);
        if (!first && column + 1 + wide > WIDTH)
            column = fprintf(out, "\n%*s", INDENT, "") - 1;
        else if (!first)
            column += fprintf(out, " ");
        fprintf(out, "%.*s", length, text);
        column += wide;
        text += length + strspn(text + length, " ");
    }
    fputc('\n', out);
}

void doctor_write_text(const doctor_facts *d, const doctor_findings *f, FILE *out) {
    static const char marks[] = " +!#";
    fprintf(out, "%s\n", d->source);
    paragraph(out, ' ', f->title);
    for (int s = 0; s < SECTIONS; s++) {
        bool any = false;
        for (int k = 0; k < f->count; k++) {
            if (f->list[k].section != (doctor_section)s) continue;
            if (!any) fprintf(out, "\n%s\n", doctor_section_titles[s]);
            any = true;
            paragraph(out, marks[f->list[k].severity], f->list[k].text);
        }
    }
    fprintf(out, "\n+ good, ! care, # bad\n");
}
