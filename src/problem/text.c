/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers, words and errors of a text file, with the line that they are in. */
#include "text.h"
#include "number.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char STAGE[] = "read";

mpk_status mpki_text_next_slow(mpki_text *text, const char **p) {
    *p = NULL;
    mpk_status status = mpki_stream_lines(text->stream, &text->cursor, &text->end);
    if (mpk_failed(status) || text->cursor == text->end) return status;
    text->line++;
    *p = text->cursor;
    return MPK_OK;
}

void mpki_text_skip(mpki_text *text, const char *p) {
    const char *stop = memchr(p, '\n', (size_t)(text->end - p));
    text->cursor = stop ? stop + 1 : text->end;
}

mpk_status mpki_text_copy(mpki_text *text, char *line, size_t size, bool *found) {
    const char *p;
    *found = false;
    line[0] = '\0';
    mpk_status status = mpki_text_next(text, &p);
    if (mpk_failed(status) || !p) return status;
    mpki_text_skip(text, p);
    size_t length = (size_t)(text->cursor - p) - 1;
    if (length >= size) length = size - 1;
    memcpy(line, p, length);
    while (length > 0 && mpki_is_blank(line[length - 1])) length--;
    line[length] = '\0';
    *found = true;
    return MPK_OK;
}

mpk_status mpki_text_error(const mpki_text *text, mpk_status status, const char *format, ...) {
    char message[384];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return mpki_error(text->ctx, status, STAGE, text->line, "%s:%lld: %s",
                      mpki_stream_name(text->stream), (long long)text->line, message);
}

mpk_status mpki_text_order(const mpki_text *text, int64_t rows, int64_t cols, int64_t nnz) {
    const int64_t free_rows = 1 << 20; /* 8 MB of column pointers */
    if (rows != cols)
        return mpki_text_error(text, MPK_ERR_INPUT, "the matrix is not square: %lld x %lld",
                               (long long)rows, (long long)cols);
    if (rows == 0) return mpki_text_error(text, MPK_ERR_INPUT, "the matrix is empty: 0 x 0");
    if (rows > INT32_MAX)
        return mpki_text_error(text, MPK_ERR_SIZE, "%lld rows: at most %d can be had",
                               (long long)rows, INT32_MAX);
    if (rows > free_rows && rows / 2 > nnz)
        return mpki_text_error(text, MPK_ERR_INPUT,
                               "%lld rows but only %lld entries: most rows are empty",
                               (long long)rows, (long long)nnz);
    return MPK_OK;
}

/* The header says how much there will be; entries that come sorted, as in most files, take no more
 * than themselves. */
static mpk_status check_memory(const mpki_text *text, mpk_scalar scalar, int64_t nnz) {
    char what[96];
    snprintf(what, sizeof what, "%.60s: the matrix", mpki_stream_name(text->stream));
    return mpki_memory_check(text->ctx, STAGE, what,
                             mpki_assemble_bytes(0, (double)nnz, scalar, true), 0);
}

mpk_status mpki_text_entries(const mpki_text *text, mpk_scalar scalar, int64_t nnz, int64_t bytes,
                             mpki_entries *entries) {
    const int64_t cautious = 64 << 10;
    int64_t left = mpki_stream_left(text->stream);
    if (left >= 0) left += text->end - text->cursor;
    if (left >= 0 && nnz > left / bytes + 1)
        return mpki_text_error(text, MPK_ERR_FORMAT,
                               "%lld entries are declared but only %lld characters follow",
                               (long long)nnz, (long long)left);
    const mpk_status status = check_memory(text, scalar, nnz);
    if (mpk_failed(status)) return status;
    int64_t first = left >= 0 || nnz < cautious ? nnz : cautious;
    return mpki_entries_reserve(text->ctx, STAGE, scalar, entries, first);
}

mpk_status mpki_text_grow(const mpki_text *text, mpk_scalar scalar, int64_t most,
                          mpki_entries *entries) {
    int64_t capacity = entries->capacity < most / 2 ? 2 * entries->capacity : most;
    return mpki_entries_reserve(text->ctx, STAGE, scalar, entries, capacity);
}
