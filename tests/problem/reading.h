/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_PROBLEM_READING_H
#define TEST_PROBLEM_READING_H
/** Matrices from texts in memory, as the readers' tests want them. */
#include "support.h"
#include "problem/problem.h"
#include "problem/text.h"

static inline mpk_status read_text(mpk_context *ctx, const char *text, mpk_problem **p) {
    mpki_stream *stream = NULL;
    mpki_clear_error(ctx);
    mpk_status status = mpki_stream_memory(ctx, "text", text, strlen(text), &stream);
    if (!mpk_failed(status)) status = mpki_problem_read_stream(ctx, stream, p);
    mpki_stream_close(&stream);
    return status;
}

/* A text that is no matrix, and what is said of it. */
typedef struct refused_text {
    const char *text;
    mpk_status status;
    const char *said;
} refused_text;

static inline void assert_refused(const refused_text *cases, size_t count) {
    mpk_context *ctx = new_context();
    for (size_t k = 0; k < count; k++) {
        mpk_problem *p = NULL;
        int64_t held = -1;
        mpk_status status = read_text(ctx, cases[k].text, &p);
        if (status != cases[k].status) print_message("case %zu: %s\n", k, cases[k].text);
        assert_int_equal(status, cases[k].status);
        assert_null(p);
        assert_said(ctx, cases[k].said);
        mpk_memory_usage(ctx, &held, NULL);
        assert_int_equal(held, 0);
    }
    mpk_context_destroy(&ctx);
}

#endif
