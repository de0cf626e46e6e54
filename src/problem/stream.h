/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef MPKI_PROBLEM_STREAM_H
#define MPKI_PROBLEM_STREAM_H
/** Text from a file, standard input or memory, decompressed on the way, handed out in whole lines.
 */
#include "../core/core.h"

typedef struct mpki_stream mpki_stream;

/** Open. path "-": standard input. What is gzip or xz is told by its first bytes. */
mpk_status mpki_stream_open(mpk_context *ctx, const char *path, mpki_stream **stream);
/** The same from memory, borrowed until close; `name` is for messages. */
mpk_status mpki_stream_memory(mpk_context *ctx, const char *name, const void *data, size_t size,
                              mpki_stream **stream);
void mpki_stream_close(mpki_stream **stream);

/** Whole lines that are ready: [*cursor, *end), the last character before *end is '\n' (one is
 * added to a last line without). Call again when they are used up; *cursor == *end: the stream is
 * at its end. Lines already handed out are gone after the next call. */
mpk_status mpki_stream_lines(mpki_stream *stream, const char **cursor, const char **end);

/** Does it begin with these bytes? Nothing is used up. Before all else. */
mpk_status mpki_stream_begins(mpki_stream *stream, const char *magic, size_t size, bool *so);
/** The next bytes, whatever they are; fewer than size: the stream is at its end. Not between calls
 *  of mpki_stream_lines(). */
mpk_status mpki_stream_bytes(mpki_stream *stream, void *to, size_t size, size_t *got);

/** Most characters that are still to come, where that is known (plain file, memory); else -1. */
int64_t mpki_stream_left(const mpki_stream *stream);
/** For messages. */
const char *mpki_stream_name(const mpki_stream *stream);

#endif
