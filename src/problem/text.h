/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_TEXT_H
#define MPKI_PROBLEM_TEXT_H
/** A stream as numbered lines, and what the readers of the formats share. */
#include "assemble.h"
#include "stream.h"

typedef struct mpki_text {
    mpk_context *ctx;
    mpki_stream *stream;
    const char *cursor, *end; /* complete lines not yet used */
    int64_t line;             /* number of the line last begun */
} mpki_text;

/** Start the next line: *p points to it, up to its '\n'; NULL at the end of the text. When done
 * with it set text->cursor after its '\n'. */
mpk_status mpki_text_next_slow(mpki_text *text, const char **p);
static inline mpk_status mpki_text_next(mpki_text *text, const char **p) {
    if (text->cursor == text->end) return mpki_text_next_slow(text, p);
    text->line++;
    *p = text->cursor;
    return MPK_OK;
}
/** Put the cursor after the line that p is in; its length counts from `p`. */
void mpki_text_skip(mpki_text *text, const char *p);
/** The next line as a string: line breaks and blanks at the end are cut off, it ends with '\0' and
 * is cut at `size` characters. *found = false at the end of the text. */
mpk_status mpki_text_copy(mpki_text *text, char *line, size_t size, bool *found);

/** Errors: "name:line: ..." with the line number as index. */
mpk_status mpki_text_error(const mpki_text *text, mpk_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** n >= 1, fits int32, and is not huge beside nnz entries (a few bytes of text must not cost
 * gigabytes). */
mpk_status mpki_text_order(const mpki_text *text, int64_t rows, int64_t cols, int64_t nnz);
/** Room for the first of nnz declared entries of at least `bytes` characters each: all of them
 * where the size of the file makes them believable. */
mpk_status mpki_text_entries(const mpki_text *text, mpk_scalar scalar, int64_t nnz, int64_t bytes,
                             mpki_entries *entries);
/** Twice the room, at most `most`. */
mpk_status mpki_text_grow(const mpki_text *text, mpk_scalar scalar, int64_t most,
                          mpki_entries *entries);

/* ---- the formats ----------------------------------------------------------------------------- */

/** Is this the first line of a Matrix Market file? */
bool mpki_is_matrix_market(const char *line);
/** Read what follows the first line. */
mpk_status mpki_read_matrix_market(mpki_text *text, const char *first, mpk_problem **problem);
/** Read Rutherford-Boeing or Harwell-Boeing; the title, its first line, was read. MPK_ERR_FORMAT
 * when the third line does not say such a type: then this is some other file. */
mpk_status mpki_read_rutherford_boeing(mpki_text *text, mpk_problem **problem);

/** First line of a file, cut to size; refuses empty and binary files. */
mpk_status mpki_text_first(mpki_text *text, char *line, size_t size);
/** A whole file from an open stream: mpk_problem_read() after its start. */
mpk_status mpki_problem_read_stream(mpk_context *ctx, mpki_stream *stream, mpk_problem **problem);

/** A dense block from an open stream: mpk_rhs_read() after its start. */
mpk_status mpki_rhs_read_stream(mpk_context *ctx, mpki_stream *stream, int32_t n, mpk_scalar scalar,
                                int32_t *nrhs, void **b);

#endif
