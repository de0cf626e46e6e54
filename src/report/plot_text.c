/* SPDX-License-Identifier: BSD-3-Clause */
/* Words in the picture of a run. */
#include "plot.h"

/* Text for XML, without control characters and invalid UTF-8. */
static void put_escaped(mpki_buffer *out, const char *text) {
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int length = mpki_utf8_length(s);
        if (*s == '&')
            mpki_buffer_printf(out, "&amp;");
        else if (*s == '<')
            mpki_buffer_printf(out, "&lt;");
        else if (*s == '>')
            mpki_buffer_printf(out, "&gt;");
        else if (*s < 0x20 || *s == 0x7f || length == 0)
            mpki_buffer_printf(out, "?");
        else
            mpki_buffer_bytes(out, s, length);
        s += length ? length : 1;
    }
}

void mpki_plot_text(mpki_buffer *out, double x, double y, const char *class, const char *text) {
    mpki_buffer_printf(out, "<text x=\"%.0f\" y=\"%.0f\" class=\"%s\">", x, y, class);
    put_escaped(out, text);
    mpki_buffer_printf(out, "</text>\n");
}
