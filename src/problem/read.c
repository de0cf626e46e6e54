/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads a matrix: which format it is in, by its content, and the reader of that. */
#include "../core/floats.h"
#include "npy.h"
#include "text.h"

#include <string.h>

static const char STAGE[] = "read";

/* A file of numbers has no NUL and few control characters. */
static bool looks_binary(const char *p, const char *end) {
    for (; p < end && *p != '\n'; p++)
        if ((unsigned char)*p < 32 && *p != '\t' && *p != '\r' && *p != '\f') return true;
    return false;
}

mpk_status mpki_text_first(mpki_text *text, char *line, size_t size) {
    bool found;
    const char *p;
    mpk_status status = mpki_text_next(text, &p);
    if (mpk_failed(status)) return status;
    if (!p) return mpki_text_error(text, MPK_ERR_FORMAT, "the file is empty");
    if (looks_binary(p, text->end))
        return mpki_text_error(text, MPK_ERR_FORMAT, "this is a binary file");
    static const char MARK[] = "\xEF\xBB\xBF"; /* of UTF-8, as some editors put it first */
    if (text->end - p >= 3 && !memcmp(p, MARK, 3)) text->cursor = p + 3;
    text->line--; /* again, as a copy */
    return mpki_text_copy(text, line, size, &found);
}

mpk_status mpki_problem_read_stream(mpk_context *ctx, mpki_stream *stream, mpk_problem **problem) {
    mpki_text text = {.ctx = ctx, .stream = stream};
    char first[256];
    bool npy = false;
    mpk_status status = mpki_npy_is(stream, &npy);
    if (npy) return mpki_npy_read(ctx, stream, problem);
    if (!mpk_failed(status)) status = mpki_text_first(&text, first, sizeof first);
    if (mpk_failed(status)) return status;
    if (mpki_is_matrix_market(first)) return mpki_read_matrix_market(&text, first, problem);
    return mpki_read_rutherford_boeing(&text, problem);
}

mpk_status mpk_problem_read(mpk_context *ctx, const char *path, mpk_problem **problem) {
    MPKI_CALM;
    if (!ctx) return MPK_ERR_ARGUMENT;
    mpki_clear_error(ctx);
    if (!path || !problem || *problem)
        return mpki_error(ctx, MPK_ERR_ARGUMENT, STAGE, -1,
                          "the path is NULL, or the place for the problem does not hold NULL");
    mpki_stream *stream = NULL;
    mpk_status status = mpki_stream_open(ctx, path, &stream);
    if (!mpk_failed(status)) status = mpki_problem_read_stream(ctx, stream, problem);
    mpki_stream_close(&stream);
    return status;
}
