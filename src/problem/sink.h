/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_SINK_H
#define MPKI_PROBLEM_SINK_H
/** Text to a file that appears whole or not at all, or to standard output; compressed on the way.
 */
#include "../core/core.h"

typedef struct mpki_sink mpki_sink;

/** Does the name end so, in small or large letters, with something before it? */
bool mpki_name_ends(const char *path, const char *end);

/** Open for writing. path "-": standard output; a name that ends in ".gz" or ".xz" is compressed.
 *  What is replaced and what is written to: core/output.h. */
mpk_status mpki_sink_open(mpk_context *ctx, const char *path, mpki_sink **sink);

/** Formatted text, at most 256 characters; in the C locale whatever the caller's is. */
mpk_status mpki_sink_print(mpki_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Any bytes. */
mpk_status mpki_sink_bytes(mpki_sink *sink, const void *bytes, int64_t count);

/** A short piece of a line; mpki_sink_end_line() after at most 200 characters. */
void mpki_sink_text(mpki_sink *sink, const char *text);
void mpki_sink_integer(mpki_sink *sink, int64_t value);
void mpki_sink_blank(mpki_sink *sink);
/** The k-th entry of an array of `scalar`, so that reading it gives the same bits; complex: two
 * numbers. */
void mpki_sink_value(mpki_sink *sink, mpk_scalar scalar, const void *values, int64_t k);
/** End the line; write out when the buffer is full enough. */
mpk_status mpki_sink_end_line(mpki_sink *sink);

/** Finish; with a status other than MPK_OK, or when writing fails, the file is as before. Returns
 * the status, or the failure. sink may point to NULL. */
mpk_status mpki_sink_close(mpki_sink **sink, mpk_status status);

#endif
