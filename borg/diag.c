/* SPDX-License-Identifier: BSD-3-Clause */
/* What the compiler says of its input: kept in the order of the source, nothing twice. */
#include "borg/diag.h"
#include <stdlib.h>
#include <string.h>

void borg_report(borg_diags *diags, borg_severity severity, borg_loc loc, const char *format, ...) {
    borg_sink sink = {.arena = diags->arena};
    va_list arguments;
    va_start(arguments, format);
    borg_vput(&sink, format, arguments);
    va_end(arguments);
    for (borg_diag *d = diags->first; d; d = d->next) {
        if (d->loc.file == loc.file && d->loc.line == loc.line && d->loc.column == loc.column &&
            strcmp(d->message, sink.text ? sink.text : "") == 0)
            return;
    }
    int limit = diags->limit ? diags->limit : 50;
    diags->errors += severity == BORG_ERROR;
    diags->warnings += severity == BORG_WARNING;
    if ((severity == BORG_ERROR ? diags->errors : diags->warnings) > limit) return;
    borg_diag *d = BORG_NEW(diags->arena, 1, borg_diag);
    d->severity = severity;
    d->loc = loc;
    d->message = sink.text ? sink.text : borg_copy_text(diags->arena, "", 0);
    if (diags->last) {
        diags->last->next = d;
    } else {
        diags->first = d;
    }
    diags->last = d;
}

const borg_text *borg_text_of(const borg_diags *diags, borg_loc loc) {
    return loc.file > 0 ? &diags->included[loc.file - 1] : &diags->source;
}

static int before(const borg_diag *a, const borg_diag *b) {
    if (a->loc.file != b->loc.file) return a->loc.file < b->loc.file;
    return a->loc.line != b->loc.line ? a->loc.line < b->loc.line : a->loc.column < b->loc.column;
}

/* The source line and a caret below it; control bytes are shown as '?', a tab as a blank. */
static void print_line(const borg_text *source, borg_loc loc, borg_sink *sink) {
    const char *text = source->text, *end = text + source->length;
    for (int line = 1; line < loc.line && text < end; ++line) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        text = newline ? newline + 1 : end;
    }
    if (text >= end) return;
    const char *newline = memchr(text, '\n', (size_t)(end - text));
    size_t length = (size_t)((newline ? newline : end) - text);
    size_t start = loc.column > 80 ? (size_t)loc.column - 60 : 0, shown = 0;
    borg_put(sink, "  ");
    for (size_t i = start; i < length && shown < 120; ++i, ++shown) {
        char c = text[i] == '\t' || text[i] == '\r' ? ' ' : text[i];
        if ((unsigned char)c < 32 || c == 127) c = '?';
        borg_put_text(sink, &c, 1);
    }
    borg_put(sink, "\n  ");
    for (size_t i = start + 1; i < (size_t)loc.column; ++i) borg_put_text(sink, " ", 1);
    borg_put_text(sink, "^", 1);
    for (int i = 1; i < loc.length && (size_t)(loc.column - 1 + i) < length && i < 60; ++i)
        borg_put_text(sink, "~", 1);
    borg_put_text(sink, "\n", 1);
}

static void print_one(const borg_diags *diags, const borg_diag *d, borg_sink *sink) {
    static const char *const words[] = {"note", "warning", "error"};
    const borg_text *source = borg_text_of(diags, d->loc);
    borg_put(sink, "%s:", source->file ? source->file : "<text>");
    if (d->loc.line > 0) borg_put(sink, "%d:%d:", d->loc.line, d->loc.column);
    borg_put(sink, " %s: %s\n", words[d->severity], d->message);
    if (d->loc.line > 0 && source->text) print_line(source, d->loc, sink);
}

void borg_diags_print(const borg_diags *diags, borg_sink *sink) {
    size_t count = 0;
    for (borg_diag *d = diags->first; d; d = d->next) ++count;
    borg_diag **sorted = BORG_NEW(sink->arena, count + 1, borg_diag *);
    count = 0;
    for (borg_diag *d = diags->first; d;
         d = d->next) { /* an insertion sort: messages of the same place keep their order */
        size_t at = count++;
        for (; at > 0 && before(d, sorted[at - 1]); --at) sorted[at] = sorted[at - 1];
        sorted[at] = d;
    }
    for (size_t i = 0; i < count; ++i) print_one(diags, sorted[i], sink);
    int limit = diags->limit ? diags->limit : 50;
    if (diags->errors > limit)
        borg_put(sink, "%s: %d more errors\n", diags->source.file ? diags->source.file : "<text>",
                 diags->errors - limit);
}
